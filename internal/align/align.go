// Package align aligns two sequences of numbers by a longest common subsequence.
//
// Input: the sequences, and a bound of the work. Output: the pairs of positions of equal elements, in order. The
// algorithm is the linear refinement of Myers (An O(ND) Difference Algorithm, 1986): memory grows with the length of
// the sequences, time with their length times their distance.
//
// Invariants: pairs grow in both positions, and are equal elements. If the bound was reached, the pairs that are
// missing are in a part for which no alignment is returned at all, never one that is not the longest.
package align

// Common returns the pairs of a longest common subsequence, and whether they are all: if more than work comparisons
// were needed, some parts have none.
func Common(a, b []int32, work int64) (pairs [][2]int32, whole bool) {
	s := aligner{a: a, b: b, work: work, whole: true}
	s.align(0, len(a), 0, len(b))
	return s.pairs, s.whole
}

// Strings is Common for sequences of strings.
func Strings(a, b []string, work int64) (pairs [][2]int32, whole bool) {
	numbers := map[string]int32{}
	number := func(list []string) []int32 {
		out := make([]int32, len(list))
		for i, s := range list {
			if _, ok := numbers[s]; !ok {
				numbers[s] = int32(len(numbers))
			}
			out[i] = numbers[s]
		}
		return out
	}
	return Common(number(a), number(b), work)
}

type aligner struct {
	a, b  []int32
	work  int64
	whole bool
	pairs [][2]int32

	forward, backward []int32 // furthest ends on each diagonal; allocated once for the longest part
}

func (s *aligner) keep(i, j int) { s.pairs = append(s.pairs, [2]int32{int32(i), int32(j)}) }

// align aligns a[i:ie] with b[j:je].
func (s *aligner) align(i, ie, j, je int) {
	for i < ie && j < je && s.a[i] == s.b[j] {
		s.keep(i, j)
		i, j = i+1, j+1
	}
	tail := 0
	for i < ie && j < je && s.a[ie-1] == s.b[je-1] {
		ie, je, tail = ie-1, je-1, tail+1
	}
	if i < ie && j < je {
		if x, y, u, v, ok := s.middle(i, ie, j, je); ok {
			s.align(i, x, j, y)
			for k := range u - x {
				s.keep(x+k, y+k)
			}
			s.align(u, ie, v, je)
		} else {
			s.whole = false
		}
	}
	for k := range tail {
		s.keep(ie+k, je+k)
	}
}

// middle returns the beginning and the end of the diagonal in the middle of a shortest edit script; ok is false if the
// work is used up. The parts are not empty and differ in their first and last elements.
func (s *aligner) middle(i, ie, j, je int) (x, y, u, v int, ok bool) {
	n, m := ie-i, je-j
	size := 2*(n+m) + 3
	if s.forward == nil {
		s.forward, s.backward = make([]int32, size), make([]int32, size)
	}
	mid := n + m + 1
	fw, bw := s.forward[:size], s.backward[:size]
	delta := n - m
	odd := delta&1 != 0
	fw[mid+1], bw[mid+1] = 0, 0
	for d := 0; d <= (n+m+1)/2; d++ {
		for k := -d; k <= d; k += 2 {
			from, to := step(fw, mid, k, d)
			for to < n && to-k < m && to-k >= 0 && s.a[i+to] == s.b[j+to-k] {
				to++
				s.work--
			}
			fw[mid+k] = int32(to)
			if c := delta - k; odd && c >= -(d-1) && c <= d-1 && to+int(bw[mid+c]) >= n {
				return i + from, j + from - k, i + to, j + to - k, true
			}
		}
		for k := -d; k <= d; k += 2 {
			from, to := step(bw, mid, k, d)
			for to < n && to-k < m && to-k >= 0 && s.a[ie-1-to] == s.b[je-1-to+k] {
				to++
				s.work--
			}
			bw[mid+k] = int32(to)
			if c := delta - k; !odd && c >= -d && c <= d && to+int(fw[mid+c]) >= n {
				return ie - to, je - to + k, ie - from, je - from + k, true
			}
		}
		if s.work -= int64(2*d + 2); s.work < 0 {
			return 0, 0, 0, 0, false
		}
	}
	return 0, 0, 0, 0, false
}

// step returns the furthest beginning of a diagonal after one more edit, twice: where its run begins and, for now,
// ends.
func step(v []int32, mid, k, d int) (int, int) {
	var x int
	if k == -d || k != d && v[mid+k-1] < v[mid+k+1] {
		x = int(v[mid+k+1])
	} else {
		x = int(v[mid+k-1]) + 1
	}
	return x, x
}
