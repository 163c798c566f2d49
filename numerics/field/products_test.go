package field_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/numerics/field"
)

// TestProductsAreThoseOfTheirOperands multiplies parts of two matrices in random order, also with rows and columns
// exchanged, with memory for all results, for some and for none.
func TestProductsAreThoseOfTheirOperands(t *testing.T) {
	const m, k, n = 70, 100, 90
	r := rand.New(rand.NewPCG(8, 9))
	w, b := make([]field.Elem, m*k), make([]field.Elem, k*n)
	for i := range w {
		w[i] = field.Halves()[r.IntN(0x7c00)]
	}
	for i := range b {
		b[i] = random(r)
	}
	copy(w[20*k:], w[10*k:][:3*k]) // equal rows
	want := make([]field.Elem, m*n)
	at := make([]int, k)
	for l := range at {
		at[l] = l * n
	}
	field.AddMul(want, n, w, k, m, b, at, n)
	for _, results := range []int{0, m * n / 2, 100 * m * n} {
		p := field.NewProducts(field.New(1), results)
		for range 40 {
			rows, columns := r.Perm(m)[:1+r.IntN(m)], r.Perm(n)[:1+r.IntN(n)]
			if r.IntN(2) == 0 {
				slices.Sort(rows)
				slices.Sort(columns)
			}
			x, y := make([]field.Elem, len(rows)*k), make([]field.Elem, k*len(columns))
			for i, row := range rows {
				copy(x[i*k:], w[row*k:][:k])
			}
			for j, col := range columns {
				for l := range k {
					y[l*len(columns)+j] = b[l*n+col]
				}
			}
			high, wide, turned := len(rows), len(columns), r.IntN(2) == 0
			if turned {
				x, y, high, wide = transposed(y, k, wide), transposed(x, high, k), wide, high
			}
			for l := range at {
				at[l] = l * wide
			}
			got := make([]field.Elem, high*wide)
			p.Multiply(got, wide, x, k, high, y, at, wide)
			for i, v := range got {
				row, col := i/wide, i%wide
				if turned {
					row, col = col, row
				}
				if v != want[rows[row]*n+columns[col]] {
					t.Fatalf("%d results, turned %v: element %d is wrong", results, turned, i)
				}
			}
		}
	}
}

func transposed(x []field.Elem, m, n int) []field.Elem {
	out := make([]field.Elem, len(x))
	for i := range m {
		for j := range n {
			out[j*m+i] = x[i*n+j]
		}
	}
	return out
}
