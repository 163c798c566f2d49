package slab

import (
	"slices"
	"testing"
)

// TestCopiesAreApart holds that copies do not share memory, whatever their lengths.
func TestCopiesAreApart(t *testing.T) {
	var s Slab[int]
	var kept [][]int
	for n := range 3000 {
		v := s.Many(slices.Repeat([]int{n}, n%700))
		if len(v) != n%700 || cap(v) < len(v) || (v == nil) != (n%700 == 0) {
			t.Fatalf("a copy of %d values has %d", n%700, len(v))
		}
		kept = append(kept, v, append(v, -1)[:len(v)])
		if p := s.One(n); *p != n {
			t.Fatalf("a copy of %d is %d", n, *p)
		}
	}
	for i, v := range kept {
		for _, x := range v {
			if x != i/2 {
				t.Fatalf("copy %d has %d", i/2, x)
			}
		}
	}
}

// TestChunksAreFewAndSmall holds that small values share allocations, and that large ones have their own.
func TestChunksAreFewAndSmall(t *testing.T) {
	if n := testing.AllocsPerRun(1, func() {
		var s Slab[[160]byte]
		for range 10_000 {
			s.One([160]byte{})
		}
	}); n > 10_000/50 {
		t.Errorf("10,000 values take %g allocations", n)
	}
	var s Slab[[2 * maxChunk]byte]
	if n := testing.AllocsPerRun(4, func() { s.One([2 * maxChunk]byte{}) }); n > 1 {
		t.Errorf("a value larger than a chunk takes %g allocations", n)
	}
}
