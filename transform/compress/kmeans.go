package compress

import (
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/numerics"
)

// histogram counts fp16 numbers by their bits.
type histogram [1 << 16]uint32

// infinite is the first exponent pattern that is no number.
const infinite = 0x7c00

// samples are distinct numbers in ascending order with how often they occur, as sums over those before each.
type samples struct {
	x            []float64
	n, sum, sqrs []float64 // n[i] is of x[:i]
}

// samples returns the numbers that are counted. Both zeros are one.
func (h *histogram) samples() *samples {
	s := &samples{n: []float64{0}, sum: []float64{0}, sqrs: []float64{0}}
	add := func(bits int, more uint32) {
		c := float64(h[bits] + more)
		if c == 0 {
			return
		}
		x := float64(numerics.Widen(uint16(bits)))
		i := len(s.x)
		s.x = append(s.x, x)
		s.n, s.sum, s.sqrs = append(s.n, s.n[i]+c), append(s.sum, s.sum[i]+c*x), append(s.sqrs, s.sqrs[i]+c*x*x)
	}
	for b := 0x8000 + infinite - 1; b > 0x8000; b-- {
		add(b, 0)
	}
	add(0, h[0x8000])
	for b := 1; b < infinite; b++ {
		add(b, 0)
	}
	return s
}

// cost returns the sum of squared distances of the numbers i up to j from their mean.
func (s *samples) cost(i, j int) float64 {
	n, sum := s.n[j]-s.n[i], s.sum[j]-s.sum[i]
	return max(s.sqrs[j]-s.sqrs[i]-sum*sum/n, 0)
}

// mean returns the mean of the numbers i up to j.
func (s *samples) mean(i, j int) float64 { return (s.sum[j] - s.sum[i]) / (s.n[j] - s.n[i]) }

// maxBins bounds the groups of neighbouring numbers whose best division is found; what is left of their width
// disappears in the iterations that follow.
const maxBins = 1024

// bins returns the ends of at most maxBins groups of neighbouring numbers. Groups are short where numbers are many and
// where they are far apart, so that rare large numbers have groups of their own.
func (s *samples) bins() []int {
	n := len(s.x)
	if n <= maxBins {
		ends := make([]int, n)
		for i := range ends {
			ends[i] = i + 1
		}
		return ends
	}
	var ends []int
	width := s.x[n-1] - s.x[0]
	for i := range n {
		done := s.n[i+1]/s.n[n] + (s.x[i]-s.x[0])/width // from above 0 to 2
		if int(done/2*maxBins) > len(ends) || i == n-1 {
			ends = append(ends, i+1)
		}
	}
	return ends
}

// divide returns the ends of the k groups of bins with the least sum of squared distances from their means.
func (s *samples) divide(ends []int, k int) []int {
	b := len(ends)
	k = min(k, b)
	start := func(i int) int { // of bin i
		if i == 0 {
			return 0
		}
		return ends[i-1]
	}
	before, now := make([]float64, b), make([]float64, b) // the least sums of the bins up to each, in fewer groups
	for j := range before {
		before[j] = s.cost(0, ends[j])
	}
	cuts := make([][]int16, k) // the first bin of the last group
	for g := 1; g < k; g++ {
		cut := make([]int16, b)
		// Where the last group begins grows with where it ends, which divides the search.
		var solve func(lo, hi, from, to int)
		solve = func(lo, hi, from, to int) {
			if lo > hi {
				return
			}
			mid := (lo + hi) / 2
			best, at := math.Inf(1), max(from, g)
			for c := max(from, g); c <= min(to, mid); c++ {
				if v := before[c-1] + s.cost(start(c), ends[mid]); v < best {
					best, at = v, c
				}
			}
			now[mid], cut[mid] = best, int16(at)
			solve(lo, mid-1, from, at)
			solve(mid+1, hi, at, to)
		}
		solve(g, b-1, g, b-1)
		cuts[g] = cut
		before, now = now, before
	}
	out := make([]int, k)
	for g, at := k-1, b-1; g >= 0; g-- {
		out[g] = ends[at]
		if g > 0 {
			at = int(cuts[g][at]) - 1
		}
	}
	return out
}

// maxIterations bounds the iterations of k-means; on real weights they end after a few dozen.
const maxIterations = 200

// codebook returns k entries, in ascending order, with about the least sum of squared distances of the numbers from
// the nearest of them: the best division of groups of numbers, then iterations of k-means over all numbers. If there
// are fewer numbers, the last entry repeats.
func (h *histogram) codebook(k int) []uint16 {
	s := h.samples()
	var ends []int
	switch n := len(s.x); {
	case n == 0:
		return make([]uint16, k)
	case n <= k:
		for i := range n {
			ends = append(ends, i+1)
		}
	default:
		ends = s.divide(s.bins(), k)
	}
	means := make([]float64, len(ends))
	for range maxIterations {
		for g := range ends {
			from := 0
			if g > 0 {
				from = ends[g-1]
			}
			if from < ends[g] {
				means[g] = s.mean(from, ends[g])
			}
		}
		moved := false
		for g := range len(ends) - 1 {
			at, _ := slices.BinarySearch(s.x, (means[g]+means[g+1])/2)
			moved = moved || at != ends[g]
			ends[g] = at
		}
		if !moved {
			break
		}
	}
	book := make([]uint16, 0, k)
	for _, m := range means {
		book = append(book, numerics.Narrow(float32(m)))
	}
	for len(book) < k {
		book = append(book, book[len(book)-1])
	}
	return book
}

// nearest returns the index of the entry that is nearest to each fp16 number, the lower one of two.
func nearest(book []uint16) *[1 << 16]uint8 {
	at := new([1 << 16]uint8)
	value := func(i int) float32 { return numerics.Widen(book[i]) }
	i := 0
	visit := func(bits int) {
		x := numerics.Widen(uint16(bits))
		for i+1 < len(book) && value(i+1) != value(i) && value(i+1)-x < x-value(i) {
			i++
		}
		at[bits] = uint8(i)
	}
	for b := 0x8000 + infinite - 1; b >= 0x8000; b-- {
		visit(b)
	}
	for b := range infinite {
		visit(b)
	}
	return at
}
