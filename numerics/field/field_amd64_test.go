package field

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestKernelsAgree compares the two kernels, of which processors with instructions for 52 bits use one for whole strips
// and the other beside them, on random and on the largest elements.
func TestKernelsAgree(t *testing.T) {
	if !limbs {
		t.Skip("the processor has one of the kernels")
	}
	defer func() { limbs = true }()
	r := rand.New(rand.NewPCG(5, 6))
	for _, terms := range []int{1, 2, 3, 63, 64, 503, 504, 505, 1009} {
		const m, n = 2, 8
		w, b, at := make([]Elem, m*terms), make([]Elem, terms*n), make([]int, terms)
		for i := range at {
			at[i] = i * n
		}
		for largest := range 2 {
			for _, v := range [][]Elem{w, b} {
				for i := range v {
					if v[i] = P - 1; largest == 0 {
						v[i] = Elem(r.Uint64N(P))
					}
				}
			}
			got, want := make([]Elem, m*n), make([]Elem, m*n)
			limbs = true
			AddMul(got, n, w, terms, m, b, at, n)
			limbs = false
			AddMul(want, n, w, terms, m, b, at, n)
			if !slices.Equal(got, want) {
				t.Errorf("%d terms: %v, want %v", terms, got, want)
			}
		}
	}
}
