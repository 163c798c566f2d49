package field

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestKernelsAgree compares the two kernels on random and on the largest elements, and on numbers of fp16, of which the
// one for integers of 52 bits takes a block at a time.
func TestKernelsAgree(t *testing.T) {
	if !limbs {
		t.Skip("the processor has one of the kernels")
	}
	defer func() { limbs = true }()
	r := rand.New(rand.NewPCG(5, 6))
	kinds := map[string]func() Elem{
		"random":        func() Elem { return Elem(r.Uint64N(P)) },
		"largest":       func() Elem { return P - 1 },
		"fp16":          func() Elem { return Halves()[r.Uint32N(1<<15)&0x7bff|r.Uint32N(2)<<15] },
		"largest fp16":  func() Elem { return Halves()[0x7bff] },
		"least fp16":    func() Elem { return Halves()[0xfbff] },
		"some infinite": func() Elem { return Halves()[r.Uint32N(1<<16)] },
	}
	for name, of := range kinds {
		for _, terms := range []int{1, 2, 3, 63, 64, 251, 252, 503, 504, 505, 1009} {
			m, n := 2+r.IntN(80), 2+r.IntN(30)
			ldw, ldc := terms+r.IntN(3), n+r.IntN(3)
			w, b, at := make([]Elem, m*ldw), make([]Elem, terms*n), make([]int, terms)
			for i := range at {
				at[i] = r.IntN(terms) * n
			}
			for i := range w {
				w[i] = of()
			}
			for i := range b {
				if b[i] = P - 1; terms%2 == 0 {
					b[i] = Elem(r.Uint64N(P))
				}
			}
			got := make([]Elem, m*ldc)
			for i := range got {
				got[i] = Elem(r.Uint64N(P))
			}
			want := slices.Clone(got)
			limbs = true
			AddMul(got, ldc, w, ldw, m, b, at, n)
			limbs = false
			AddMul(want, ldc, w, ldw, m, b, at, n)
			if !slices.Equal(got, want) {
				t.Errorf("%s, %d rows, %d terms, %d columns: %v, want %v", name, m, terms, n, got, want)
			}
		}
	}
}
