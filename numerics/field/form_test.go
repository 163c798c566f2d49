package field_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/numerics/field"
)

// form is a form and vectors of elements.
type form struct {
	*field.Form
	r *rand.Rand
}

func newForm() form { return form{field.NewForm(field.New(1)), rand.New(rand.NewPCG(8, 9))} }

// vectors returns n vectors of k elements, one after the other: numbers of fp16 or any elements.
func (f form) vectors(n, k int, halves bool) []field.Elem {
	v := make([]field.Elem, n*k)
	for i := range v {
		if v[i] = random(f.r); halves {
			v[i] = field.FP16Elements()[f.r.IntN(0x7c00)]
		}
	}
	return v
}

// products returns what stands for the sums of products of each of m vectors and each of n.
func (f form) products(w []field.Elem, m int, x []field.Elem, n int) []field.Elem {
	k := len(w) / m
	c, b, at := make([]field.Elem, m*n), transposed(x, n, k), make([]int, k)
	for l := range at {
		at[l] = l * n
	}
	f.AddMul(c, n, w, k, m, b, at, n)
	return c
}

// of returns what stands for the sum of products of two vectors.
func (f form) of(w, x []field.Elem) field.Elem { return f.products(w, 1, x, 1)[0] }

func transposed(x []field.Elem, m, n int) []field.Elem {
	out := make([]field.Elem, len(x))
	for i := range m {
		for j := range n {
			out[j*m+i] = x[i*n+j]
		}
	}
	return out
}

// TestFormIsTheSameInAnyPieces checks that rows and columns have the same element in any product that they are part of,
// also with both exchanged, and that terms may be cut between blocks and whole blocks be exchanged.
func TestFormIsTheSameInAnyPieces(t *testing.T) {
	f := newForm()
	const m, n = 37, 21
	for _, k := range []int{64, 100, 128, 384, 500} {
		w, x := f.vectors(m, k, true), f.vectors(n, k, false)
		want := f.products(w, m, x, n)
		if got := transposed(f.products(x, n, w, m), n, m); !slices.Equal(got, want) {
			t.Errorf("%d terms: the form is not symmetric", k)
		}
		for range 20 {
			i, j := f.r.IntN(m), f.r.IntN(n)
			high, wide := 1+f.r.IntN(m-i), 1+f.r.IntN(n-j)
			got := f.products(w[i*k:][:high*k], high, x[j*k:][:wide*k], wide)
			for r := range high {
				if !slices.Equal(got[r*wide:][:wide], want[(i+r)*n+j:][:wide]) {
					t.Fatalf("%d terms: %dx%d products from %d, %d on differ in row %d", k, high, wide, i, j, r)
				}
			}
		}
	}
	a, b := f.vectors(1, 512, true), f.vectors(1, 512, false)
	whole := f.of(a, b)
	if parts := field.Add(f.of(a[:128], b[:128]), f.of(a[128:], b[128:])); parts != whole {
		t.Error("a cut between blocks changes the sum")
	}
	swapped := func(v []field.Elem) []field.Elem { return slices.Concat(v[256:384], v[128:256], v[:128], v[384:]) }
	if f.of(swapped(a), swapped(b)) != whole {
		t.Error("an exchange of blocks changes the sum")
	}
}

// TestFormTellsVectorsApart checks that it differs when elements of one vector are exchanged or one is changed,
// wherever they are, and when the operands of two products that are multiplied are exchanged.
func TestFormTellsVectorsApart(t *testing.T) {
	f := newForm()
	for _, k := range []int{64, 65, 300} {
		w, x := f.vectors(2, k, true), f.vectors(2, k, false)
		whole := f.of(w[:k], x[:k])
		for range 500 {
			i, j := f.r.IntN(k), f.r.IntN(k)
			v := slices.Clone(x[:k])
			if v[i], v[j] = v[j], v[i]; v[i] == v[j] {
				v[i] = field.Add(v[i], 1)
			}
			if f.of(w[:k], v) == whole {
				t.Fatalf("%d terms: elements %d and %d may be exchanged", k, i, j)
			}
		}
		straight := field.Mul(whole, f.of(w[k:], x[k:]))
		if field.Mul(f.of(w[:k], x[k:]), f.of(w[k:], x[:k])) == straight {
			t.Errorf("%d terms: the operands of two products may be exchanged", k)
		}
	}
}

// TestFormOfFewTermsIsTheSum checks that few terms are multiplied as they are, and all if there is no form.
func TestFormOfFewTermsIsTheSum(t *testing.T) {
	f := newForm()
	sum := func(w, x []field.Elem) (sum field.Elem) {
		for i := range w {
			sum = field.Add(sum, field.Mul(w[i], x[i]))
		}
		return sum
	}
	w, x := f.vectors(1, 200, true), f.vectors(1, 200, false)
	if got, want := f.of(w[:63], x[:63]), sum(w[:63], x[:63]); got != want || f.Used() {
		t.Errorf("63 terms: %d, want %d; used %v", got, want, f.Used())
	}
	if got := f.of(w, x); got == sum(w, x) || !f.Used() {
		t.Errorf("200 terms are not replaced")
	}
	f.Form = nil
	if got, want := f.of(w, x), sum(w, x); got != want || f.Used() {
		t.Errorf("without a form: %d, want %d; used %v", got, want, f.Used())
	}
}

// TestMemoryIsOfTheRightLength takes elements of many lengths and gives some back.
func TestMemoryIsOfTheRightLength(t *testing.T) {
	var m field.Memory
	r := rand.New(rand.NewPCG(1, 2))
	var held [][]field.Elem
	for i := range 1000 {
		n := r.IntN(40)
		v := m.Zeros(n)
		if len(v) != n || slices.ContainsFunc(v, func(x field.Elem) bool { return x != 0 }) {
			t.Fatalf("%d zeros: %v", n, v)
		}
		for k := range v {
			v[k] = field.Elem(i + 1)
		}
		if held = append(held, v); r.IntN(2) == 0 {
			k := r.IntN(len(held))
			m.Give(held[k])
			held = slices.Delete(held, k, k+1)
		}
	}
	for _, v := range held {
		if slices.ContainsFunc(v, func(x field.Elem) bool { return x != v[0] }) {
			t.Fatal("two who hold elements have the same")
		}
	}
}
