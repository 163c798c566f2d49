package compress

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/numerics"
)

// distortion is the sum of squared distances of numbers from the nearest entries, by definition.
func distortion(xs []float64, book []float64) (sum float64) {
	for _, x := range xs {
		best := math.Inf(1)
		for _, b := range book {
			best = min(best, (x-b)*(x-b))
		}
		sum += best
	}
	return sum
}

func counted(halves []uint16) *histogram {
	h := new(histogram)
	for _, x := range halves {
		h[x]++
	}
	return h
}

func widened64(halves []uint16) (out []float64) {
	for _, x := range halves {
		out = append(out, float64(numerics.Widen(x)))
	}
	return out
}

// TestDivisionIsBest tries every division of few numbers into groups.
func TestDivisionIsBest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := 1; n < 12; n++ {
		var halves []uint16
		for range n {
			halves = append(halves, numerics.Narrow(float32(r.NormFloat64())))
		}
		s := counted(halves).samples()
		for k := 1; k <= len(s.x); k++ {
			ends := s.divide(s.bins(), k)
			got, from := 0.0, 0
			for _, e := range ends {
				got += s.cost(from, e)
				from = e
			}
			var best func(from, k int) float64
			best = func(from, k int) float64 {
				if k == 1 {
					return s.cost(from, len(s.x))
				}
				least := math.Inf(1)
				for e := from + 1; e <= len(s.x)-k+1; e++ {
					least = min(least, s.cost(from, e)+best(e, k-1))
				}
				return least
			}
			if want := best(0, k); len(ends) != k || got > want+1e-12 {
				t.Errorf("%d numbers in %d groups: %d groups of cost %g, want %g", n, k, len(ends), got, want)
			}
		}
	}
}

// TestCodebooksOfNormalNumbersAreOptimal compares with the distortion of the best quantizer of the normal distribution
// (J. Max, Quantizing for Minimum Distortion, 1960): 0.009497 for 16 values; for 256 the error by Panter and Dite's
// formula.
func TestCodebooksOfNormalNumbersAreOptimal(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	halves := make([]uint16, 1<<18)
	for i := range halves {
		halves[i] = numerics.Narrow(float32(r.NormFloat64()))
	}
	xs := widened64(halves)
	variance := 0.0
	for _, x := range xs {
		variance += x * x
	}
	for k, want := range map[int]float64{16: 0.009497, 256: math.Sqrt(3) * math.Pi / 2 / 256 / 256} {
		got := distortion(xs, widened64(counted(halves).codebook(k))) / variance
		if got > want*1.02 {
			t.Errorf("%d entries: distortion %.6g, want at most %.6g", k, got, want)
		}
	}
}

// TestRareLargeNumbersHaveEntries has numbers far from the others, which a codebook must not lump together.
func TestRareLargeNumbersHaveEntries(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var halves []uint16
	for range 1 << 16 {
		halves = append(halves, numerics.Narrow(float32(r.NormFloat64()/100)))
	}
	for _, far := range []float32{-300, 8, 9, 70, 1000} {
		halves = append(halves, numerics.Narrow(far))
	}
	xs, book := widened64(halves), counted(halves).codebook(16)
	if !slices.IsSortedFunc(widened64(book), func(a, b float64) int { return int(math.Copysign(1, a-b)) }) {
		t.Errorf("the entries are not in order: %v", widened64(book))
	}
	if d := distortion(xs[1<<16:], widened64(book)); d > 1 {
		t.Errorf("large numbers are %g from their entries: %v", d, widened64(book))
	}
}

func TestCodebooksOfFewNumbersAreExact(t *testing.T) {
	for _, halves := range [][]uint16{{}, {0}, {0x8000, 0}, {0x3c00}, {0x3c00, 0xbc00, 1, 0x8001, 0x7bff, 0xfbff}} {
		book := counted(halves).codebook(16)
		if len(book) != 16 {
			t.Fatalf("%d entries, want 16", len(book))
		}
		if d := distortion(widened64(halves), widened64(book)); d != 0 {
			t.Errorf("%x: distortion %g, want 0", halves, d)
		}
	}
}

// TestNearestIsNearest compares with a search for each fp16 number.
func TestNearestIsNearest(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, k := range []int{16, 256} {
		h := new(histogram)
		for range 5000 {
			h[numerics.Narrow(float32(r.NormFloat64()))]++
		}
		book := h.codebook(k)
		at := nearest(book)
		for bits := range 1 << 16 {
			if bits&infinite == infinite {
				continue
			}
			x := numerics.Widen(uint16(bits))
			best := float32(math.Inf(1))
			for _, b := range book {
				best = min(best, float32(math.Abs(float64(numerics.Widen(b)-x))))
			}
			if got := float32(math.Abs(float64(numerics.Widen(book[at[bits]]) - x))); got != best {
				t.Fatalf("%g has an entry %g away, the nearest is %g away", x, got, best)
			}
		}
	}
}
