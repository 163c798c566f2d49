package field

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestKernelsAgree compares the two kernels on random and on the largest elements, and on numbers of fp16, where the
// kernel for integers of 52 bits takes a block at a time.
func TestKernelsAgree(t *testing.T) {
	if !limbs {
		t.Skip("the processor has one of the kernels")
	}
	defer func() { limbs = true }()
	r := rand.New(rand.NewPCG(5, 6))
	kinds := map[string]func() Elem{
		"random":        func() Elem { return Elem(r.Uint64N(P)) },
		"largest":       func() Elem { return P - 1 },
		"fp16":          func() Elem { return FP16Elements()[r.Uint32N(1<<15)&0x7bff|r.Uint32N(2)<<15] },
		"largest fp16":  func() Elem { return FP16Elements()[0x7bff] },
		"least fp16":    func() Elem { return FP16Elements()[0xfbff] },
		"some infinite": func() Elem { return FP16Elements()[r.Uint32N(1<<16)] },
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

// TestRowKernelsAgree compares the kernels of rows with the loops, on rows of every length and with booleans and
// infinite elements in some.
func TestRowKernelsAgree(t *testing.T) {
	if !limbs {
		t.Skip("the processor has no kernels of rows")
	}
	defer func() { limbs = true }()
	r := rand.New(rand.NewPCG(7, 8))
	f := New(3)
	f.MarkBoolean(77)
	special := []Elem{0, 1, P - 1, P - 2, Infinity, P - Infinity, 77, P - 76}
	for n := 1; n < 70; n++ {
		v, b := make([]Elem, n), make([]Elem, n)
		for i := range v {
			v[i], b[i] = Elem(r.Uint64N(P)), Elem(r.Uint64N(P))
			if n%3 == 0 && r.IntN(4) == 0 {
				v[i], b[i] = special[r.IntN(len(special))], special[r.IntN(len(special))]
			}
		}
		for name, row := range map[string]func(v, b []Elem){
			"add": AddRow, "multiply": MulRow, "subtract": f.SubRow, "multiply booleans": f.MulRow,
			"hash":  func(v, _ []Elem) { f.HashRow(5, v) },
			"order": func(v, _ []Elem) { v[0] = f.Orders(v) },
		} {
			for _, b := range [][]Elem{b, b[:1]} {
				got, want := slices.Clone(v), slices.Clone(v)
				limbs = true
				row(got, b)
				limbs = false
				row(want, b)
				if !slices.Equal(got, want) {
					t.Errorf("%s, %d elements with %d: %v, want %v", name, n, len(b), got, want)
				}
			}
		}
	}
}
