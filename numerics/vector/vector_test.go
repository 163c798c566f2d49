package vector

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"
)

var inf = float32(math.Inf(1))

// equal compares bits; all NaNs are equal.
func equal(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

// half returns a number that fp16 can represent: of any exponent, of a similar one, with few bits so that sums have
// ties, or a special value.
func half(r *rand.Rand, kind int) float32 {
	switch {
	case kind == 0:
		return fromFP16(uint16(r.IntN(0x7c00)) | uint16(r.IntN(2))<<15)
	case kind == 1:
		return fromFP16(ToFP16(float32(r.NormFloat64())))
	case kind == 2:
		return float32(math.Ldexp(float64(r.IntN(7)-3), r.IntN(12)))
	case r.IntN(6) == 0:
		return [...]float32{inf, -inf, float32(math.NaN()), 65504, -65504}[r.IntN(5)]
	}
	return float32(r.IntN(9) - 4)
}

func row(r *rand.Rand, n, kind int, s Sum) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = half(r, kind)
		if s == Rounded && r.IntN(2) == 0 {
			v[i] *= 4 * r.Float32()
		}
		if s == Staged && math.Abs(float64(v[i])) < 0x1p-14 {
			v[i] = 0
		}
	}
	return v
}

// TestKernelsGiveThePortableBits compares the platform's kernels with the portable ones, on tiles of all shapes and
// operands and initial results of all kinds.
func TestKernelsGiveThePortableBits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for trial := range 6000 {
		s, kind := Sum(trial%3), trial/3%4
		m, n, k := 1+r.IntN(18), 1+r.IntN(120), 1+r.IntN(40)
		lda, ldc := k+r.IntN(3), n+r.IntN(3)
		a, b := row(r, m*lda, kind, s), row(r, n+200, kind, s)
		at := make([]int, k)
		for i := range at {
			at[i] = r.IntN(200)
		}
		got := row(r, m*ldc, kind, Exact)
		if r.IntN(2) == 0 {
			clear(got)
		}
		want, initial := append([]float32(nil), got...), append([]float32(nil), got...)
		addPortable(s, want, ldc, a, lda, m, b, at, n)
		for _, kernels := range adders {
			copy(got, initial)
			kernels.add(s, got, ldc, a, lda, m, b, at, n)
			for i := range want {
				if !equal(got[i], want[i]) {
					t.Fatalf("trial %d, sum %d, %d x %d of %d, element %d: %x by %s, portable %x", trial, s, m, n, k, i,
						got[i], kernels.name, want[i])
				}
			}
		}
	}
}

// TestSumsAreInOrder compares sums of large matrices, in every storage order and tiling, with the definition.
func TestSumsAreInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for trial := range 120 {
		s := Sum(trial % 3)
		m, n, k := 1+r.IntN(90), 1+r.IntN(90), 1+r.IntN(600)
		a, b := Matrix{Rows: m, Cols: k, RowStep: k, ColStep: 1}, Matrix{Rows: k, Cols: n, RowStep: n, ColStep: 1}
		if r.IntN(2) == 0 {
			a.RowStep, a.ColStep = 1, m
		}
		if r.IntN(2) == 0 {
			b.RowStep, b.ColStep = 1, k
		}
		a.Data, b.Data = row(r, m*k, trial%2, s), row(r, k*n, trial%2, s)
		got := make([]float32, m*n)
		s.Multiply(got, n, a, b)
		for range 20 {
			i, j := r.IntN(m), r.IntN(n)
			x, y, at := make([]float32, k), make([]float32, k), make([]int, k)
			for l := range k {
				x[l], y[l], at[l] = a.Data[i*a.RowStep+l*a.ColStep], b.Data[l*b.RowStep+j*b.ColStep], l
			}
			want := make([]float32, 1)
			addPortable(s, want, 1, x, k, 1, y, at, 1)
			if !equal(got[i*n+j], want[0]) {
				t.Fatalf("trial %d, %d x %d of %d, element %d, %d: %x, want %x", trial, m, n, k, i, j, got[i*n+j],
					want[0])
			}
		}
	}
}

// TestProductsOfHalvesAreExact: the product of any two fp16 numbers is exact in fp32.
func TestProductsOfHalvesAreExact(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200_000 {
		a, b := half(r, 0), half(r, 0)
		if p := a * b; float64(p) != float64(a)*float64(b) {
			t.Fatalf("%x * %x = %x in fp32", a, b, p)
		}
	}
}

// TestEveryPlatformComputesTheSameBits compares sums and conversions with what they were on amd64, so that a processor
// whose compiler fuses, or whose kernels differ, is found out.
func TestEveryPlatformComputesTheSameBits(t *testing.T) {
	for s, want := range [...]string{
		Exact:   "1171809e9a338382",
		Rounded: "b58c08f10b2fcb18",
		Staged:  "4c82ecfd30252706",
	} {
		r, h := rand.New(rand.NewPCG(9, uint64(s))), sha256.New()
		s := Sum(s)
		for trial := range 400 {
			kind := trial % 4
			m, n, k := 1+r.IntN(9), 1+r.IntN(70), 1+r.IntN(300)
			a := Matrix{Data: row(r, m*k, kind, s), Rows: m, Cols: k, RowStep: k, ColStep: 1}
			b := Matrix{Data: row(r, k*n, kind, s), Rows: k, Cols: n, RowStep: n, ColStep: 1}
			c := make([]float32, m*n)
			s.Multiply(c, n, a, b)
			narrow := make([]byte, 2*len(c))
			Narrow(narrow, c)
			wide := make([]float32, len(c))
			Widen(wide, narrow)
			var bits []byte
			for _, f := range append(c, wide...) {
				if f != f {
					f = float32(math.NaN())
				}
				bits = binary.LittleEndian.AppendUint32(bits, math.Float32bits(f))
			}
			h.Write(bits)
		}
		if got := fmt.Sprintf("%x", h.Sum(nil)[:8]); got != want {
			t.Errorf("sum %d: digest %s, want %s", s, got, want)
		}
	}
}

func TestAddRefusesOperandsOutOfRange(t *testing.T) {
	for name, f := range map[string]func(v []float32){
		"numbers":      func(v []float32) { Exact.Add(v, 8, v, 2, 1, v, []int{0, 1}, 8) },
		"a low row":    func(v []float32) { Exact.Add(v, 8, v, 2, 1, v, []int{-1, 0}, 4) },
		"results":      func(v []float32) { Exact.Add(v, 4, v, 1, 3, v, []int{0}, 4) },
		"coefficients": func(v []float32) { Exact.Add(v, 4, v, 6, 2, v, []int{0, 1, 2}, 2) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("want a panic")
				}
			}()
			f(make([]float32, 8))
		})
	}
}

func TestEveryPatternWidensLikeThePortableCode(t *testing.T) {
	src := make([]byte, 2<<16)
	for i := range 1 << 16 {
		binary.LittleEndian.PutUint16(src[2*i:], uint16(i))
	}
	got, portable := make([]float32, 1<<16), make([]float32, 1<<16)
	Widen(got, src)
	widenPortable(portable, src)
	for i, f := range got {
		want := math.Float32bits(float16.Frombits(uint16(i)).Float32())
		if math.Float32bits(f) != want || math.Float32bits(portable[i]) != want {
			t.Fatalf("%#04x widens to %#08x, portable to %#08x, want %#08x", i, math.Float32bits(f),
				math.Float32bits(portable[i]), want)
		}
	}
	if n := Widen(got[:3], src[:5]); n != 2 {
		t.Errorf("an odd byte was converted to %d elements", n)
	}
}

// TestNarrowRoundsToNearest checks numbers around every fp16 value and every midpoint, and random ones.
func TestNarrowRoundsToNearest(t *testing.T) {
	var src []float32
	for h := range 1 << 16 {
		u := math.Float32bits(fromFP16(uint16(h)))
		for d := uint32(0); d < 3; d++ {
			src = append(src, math.Float32frombits(u+d-1), math.Float32frombits(u+1<<12+d-1))
		}
	}
	r := rand.New(rand.NewPCG(7, 8))
	for range 1 << 20 {
		src = append(src, math.Float32frombits(r.Uint32()))
	}
	got, portable := make([]byte, 2*len(src)), make([]byte, 2*len(src))
	Narrow(got, src)
	narrowPortable(portable, src)
	for i, f := range src {
		want := float16.Fromfloat32(f).Bits()
		g, p := binary.LittleEndian.Uint16(got[2*i:]), binary.LittleEndian.Uint16(portable[2*i:])
		if g != want || p != want {
			t.Fatalf("%x (%#08x) narrows to %#04x, portable to %#04x, want %#04x", f, math.Float32bits(f), g, p, want)
		}
	}
}

// TestScaleRoundsEachProductOnce multiplies all fp16 patterns by numbers of every kind.
func TestScaleRoundsEachProductOnce(t *testing.T) {
	src := make([]byte, 2<<16)
	for i := range 1 << 16 {
		binary.LittleEndian.PutUint16(src[2*i:], uint16(i))
	}
	got, portable := make([]byte, len(src)), make([]byte, len(src))
	for _, f := range []float32{
		1, -1, 0, 0x1p-24, -3 * 0x1p-24, 0x1p-14, 1.0009765625, -0.333251953125, 65504, inf, -inf,
	} {
		Scale(got, src, f)
		scalePortable(portable, src, f)
		for i := range 1 << 16 {
			x := float64(float16.Frombits(uint16(i)).Float32()) * float64(f)
			want := float16.Fromfloat32(float32(x)).Bits() // the product is exact in fp32
			if x != x {
				want = 0x7e00
			}
			g, p := binary.LittleEndian.Uint16(got[2*i:]), binary.LittleEndian.Uint16(portable[2*i:])
			if g != want || p != want {
				t.Fatalf("%#04x by %g is %#04x, portable %#04x, want %#04x", i, f, g, p, want)
			}
		}
	}
	if n := Scale(got[:7], src[:10], 1); n != 3 {
		t.Errorf("an odd byte was scaled: %d elements", n)
	}
}

func BenchmarkMultiply(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ m, n, k int }{{384, 1500, 384}, {1500, 384, 1536}, {1024, 1, 4096}} {
		x, y := row(r, c.m*c.k, 1, Exact), row(r, c.k*c.n, 1, Staged)
		for i, kernels := range adders {
			for s, name := range [...]string{Exact: "exact", Rounded: "rounded", Staged: "staged"} {
				if i < len(adders)-1 {
					name += "-" + kernels.name
				}
				b.Run(fmt.Sprintf("%dx%dx%d/%s", c.m, c.n, c.k, name), func(b *testing.B) {
					saved := inUse
					inUse = kernels
					defer func() { inUse = saved }()
					out := make([]float32, c.m*c.n)
					for b.Loop() {
						Sum(s).Multiply(out, c.n, Matrix{Data: x, Rows: c.m, Cols: c.k, RowStep: c.k, ColStep: 1},
							Matrix{Data: y, Rows: c.k, Cols: c.n, RowStep: c.n, ColStep: 1})
					}
					b.ReportMetric(float64(c.m*c.n*c.k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GMAC/s")
				})
			}
		}
	}
}
