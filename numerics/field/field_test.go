package field_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"

	"github.com/zinc-compiler/zinc/numerics/field"
)

var prime = big.NewInt(field.P)

func toBig(e field.Elem) *big.Int { return new(big.Int).SetUint64(uint64(e)) }

func random(r *rand.Rand) field.Elem {
	switch r.IntN(8) {
	case 0:
		return field.Elem(r.IntN(3))
	case 1:
		return field.P - 1 - field.Elem(r.IntN(3))
	}
	return field.Elem(r.Uint64N(field.P))
}

func TestArithmeticAgainstBig(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		a, b := random(r), random(r)
		for name, c := range map[string]struct {
			got  field.Elem
			want *big.Int
		}{
			"add": {field.Add(a, b), new(big.Int).Add(toBig(a), toBig(b))},
			"sub": {field.Sub(a, b), new(big.Int).Sub(toBig(a), toBig(b))},
			"mul": {field.Mul(a, b), new(big.Int).Mul(toBig(a), toBig(b))},
			"neg": {field.Neg(a), new(big.Int).Neg(toBig(a))},
		} {
			if w := c.want.Mod(c.want, prime); w.Uint64() != uint64(c.got) {
				t.Fatalf("%s of %d and %d: %d, want %v", name, a, b, c.got, w)
			}
		}
		if i := field.Inv(a); a != 0 && field.Mul(i, a) != 1 {
			t.Fatalf("Inv(%d) = %d", a, i)
		}
	}
}

func TestSumsOfProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, terms := range []int{0, 1, 62, 63, 64, 126, 127, 500} {
		const m, ldw, ldc = 3, 501, 40
		w, b := make([]field.Elem, m*ldw), make([]field.Elem, terms+ldc)
		at := make([]int, terms)
		for _, v := range [][]field.Elem{w, b} {
			for i := range v {
				v[i] = field.P - 1 - field.Elem(r.IntN(2))
			}
		}
		for i := range at {
			at[i] = r.IntN(terms + 1)
		}
		for n := range ldc {
			got := make([]field.Elem, m*ldc)
			got[0] = 5
			field.AddMul(got, ldc, w, ldw, m, b, at, n)
			for i, g := range got {
				want, row, j := field.Elem(0), i/ldc, i%ldc
				if i == 0 {
					want = 5
				}
				for l := range at {
					if j < n {
						want = field.Add(want, field.Mul(w[row*ldw+l], b[at[l]+j]))
					}
				}
				if g != want {
					t.Fatalf("%d terms, %d columns: %d in row %d, column %d, want %d", terms, n, g, row, j, want)
				}
			}
		}
	}
}

// Every finite number is an integer times a power of two, and so its element is.
func TestNumbersAreExact(t *testing.T) {
	check := func(f float64) {
		t.Helper()
		m, e := math.Frexp(f)
		want, two := field.Int(int64(m*(1<<53))), field.Int(2)
		if e -= 53; e < 0 {
			two, e = field.Inv(two), -e
		}
		for range e {
			want = field.Mul(want, two)
		}
		if got := field.Number(f); got != want {
			t.Fatalf("%g is %d, want %d", f, got, want)
		}
	}
	for i, e := range field.FP16Elements() {
		if f := float64(float16.Frombits(uint16(i)).Float32()); math.IsNaN(f) || math.IsInf(f, 1) {
			if e != field.Infinity {
				t.Errorf("pattern %#04x (%g) is %d, want infinity", i, f, e)
			}
		} else if math.IsInf(f, -1) {
			if e != field.Neg(field.Infinity) {
				t.Errorf("pattern %#04x (%g) is %d, want -infinity", i, f, e)
			}
		} else {
			check(f)
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		if f := math.Float64frombits(r.Uint64()); !math.IsNaN(f) && !math.IsInf(f, 0) {
			check(f)
		}
	}
	for _, f := range []float64{0, math.SmallestNonzeroFloat64, -math.MaxFloat64, 0x1p-1022, 0x1.fffffffffffffp-1023} {
		check(f)
	}
}

func TestLawsOfFunctions(t *testing.T) {
	f := field.New(7)
	r := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		a, b, c := random(r), random(r), random(r)
		if f.Unorder(f.Order(a)) != a {
			t.Fatalf("Unorder(Order(%d)) = %d", a, f.Unorder(f.Order(a)))
		}
		if f.Max(a, f.Max(b, c)) != f.Max(f.Max(c, a), b) {
			t.Fatal("a maximum depends on its order")
		}
		if f.Max(a, field.Neg(field.Infinity)) != a || f.Min(a, field.Infinity) != a {
			t.Fatal("an infinity changes a maximum")
		}
		if f.Max(a, b) == a || f.Max(a, b) == b || f.Min(a, b) == f.Max(a, b) {
			t.Fatal("a maximum says which of its operands it is")
		}
		if f.Abs(a) != f.Abs(field.Neg(a)) {
			t.Fatal("the absolute values of a number and its negative differ")
		}
		below, above := f.Signs(a)
		if x, y := f.Signs(field.Neg(a)); x != above || y != below {
			t.Fatal("the signs of a negative are not exchanged")
		}
		both := field.Add(below, above)
		f.MarkBoolean(both)
		for _, v := range []field.Elem{below, above, both, field.Sub(1, below), field.Sub(1, both), f.Max(below, above),
			field.Sub(1, f.Mul(below, both))} {
			if !f.IsBoolean(v) {
				t.Fatalf("%#x is not taken for a boolean", v)
			}
		}
		if field.Mul(f.Rsqrt(a), f.Sqrt(a)) != 1 {
			t.Fatal("Rsqrt is not 1/Sqrt")
		}
		if f.Trunc(field.Neg(a)) != field.Neg(f.Trunc(a)) {
			t.Fatal("Trunc is not odd")
		}
		if f.Hash(1, a) == f.Hash(2, a) || a != b && f.Hash(1, a) == f.Hash(1, b) {
			t.Fatal("hashes of different names or elements are equal")
		}
		if f.Digest(1, []field.Elem{a, b}) == f.Digest(1, []field.Elem{a, b, 0}) {
			t.Fatal("the digest ignores the length")
		}
	}
	if field.New(7).Hash(3, 4) != f.Hash(3, 4) || field.New(8).Hash(3, 4) == f.Hash(3, 4) {
		t.Fatal("the key does not decide")
	}
}

func BenchmarkAddMul(b *testing.B) {
	const m, terms, n = 64, 384, 192
	w, v, c := make([]field.Elem, m*terms), make([]field.Elem, terms*n), make([]field.Elem, m*n)
	at := make([]int, terms)
	for i := range at {
		at[i] = i * n
	}
	for name, of := range map[string]func(i int) field.Elem{
		"elements": func(i int) field.Elem { return field.Elem(i) * 0x123456789 },
		"fp16":     func(i int) field.Elem { return field.FP16Elements()[i%0x7c00] },
	} {
		for i := range w {
			w[i] = of(i)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(m * terms * n)
			for range b.N {
				field.AddMul(c, n, w, terms, m, v, at, n)
			}
		})
	}
}

func TestJoinUndoesBytes(t *testing.T) {
	f := field.New(1)
	for _, x := range []field.Elem{0, 1, 255, field.P - 1, f.Hash(1, 2)} {
		for n := 1; n <= 4; n++ {
			if b := f.Bytes(x, n); len(b) != n || f.Join(b) != x {
				t.Errorf("%d bytes of %d are %v, which join to %d", n, x, b, f.Join(b))
			}
		}
	}
}

// TestBytesOfJoinedBytesAreTheSame cuts an integer that was put together from bytes of others.
func TestBytesOfJoinedBytesAreTheSame(t *testing.T) {
	f := field.New(3)
	a, b := f.Bytes(f.Hash(1, 7), 4), f.Bytes(f.Hash(2, 7), 4)
	for _, want := range [][]field.Elem{{a[0], a[1]}, {a[3], b[2], 0, 0}, {b[0], b[1], b[2], b[3]}} {
		if got := f.Bytes(f.Join(want), len(want)); !slices.Equal(got, want) {
			t.Errorf("bytes %v join to an integer whose bytes are %v", want, got)
		}
	}
}
