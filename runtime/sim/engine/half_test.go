package engine

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"

	"github.com/zinc-compiler/zinc/lower/td"
)

// TestRowsRoundAsNumbersDo compares the rounding of rows with an independent one: at every number that fp16 has,
// halfway to the next and beside both, and at random bits.
func TestRowsRoundAsNumbersDo(t *testing.T) {
	var v []float32
	for h := range 1 << 16 {
		f := float16.Frombits(uint16(h)).Float32()
		next := float16.Frombits(uint16(h) + 1).Float32()
		for _, f := range []float32{f, f + (next-f)/2} {
			b := math.Float32bits(f)
			v = append(v, f, math.Float32frombits(b+1), math.Float32frombits(b-1))
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1 << 20 {
		v = append(v, math.Float32frombits(rng.Uint32()))
	}
	for _, num := range []Numerics{IEEE, ANE} {
		out := make([]uint16, len(v))
		num.outAll(out, v)
		for i, f := range v {
			want := float16.Fromfloat32(f).Bits()
			switch {
			case f != f && num == IEEE:
				want = uint16(math.Float32bits(f)>>16&0x8000) | 0x7e00
			case num != IEEE && (f != f || want == 0x8000):
				want = 0
			}
			if out[i] != want || num.out(f) != want {
				t.Fatalf("mode %v, %g (%#x): %#x in a row and %#x alone, want %#x", num, f, math.Float32bits(f), out[i],
					num.out(f), want)
			}
		}
	}
}

// TestPostRowSaturatesAndClamps checks the limits of the arithmetic after products, on both sides of each.
func TestPostRowSaturatesAndClamps(t *testing.T) {
	acc := []float32{0, 1, -1, 32759, 32760, -32759, -32760, 65519, 65520, -65520, 1e-8, -1e-8, 6.1e-5, -6.1e-5,
		float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}
	half := func(f float64) uint16 { return float16.Fromfloat32(float32(f)).Bits() }
	for _, c := range []struct {
		num          Numerics
		multi, clamp bool
		want         []uint16
	}{
		{num: IEEE, want: []uint16{0, 0x3c00, 0xbc00, half(32759), half(32760), half(-32759), half(-32760),
			half(65519), 0x7c00, 0xfc00, half(1e-8), half(-1e-8), half(6.1e-5), half(-6.1e-5), 0x7c00, 0xfc00, 0x7e00}},
		{num: ANE, multi: true, want: []uint16{0, 0x3c00, 0xbc00, half(32759), 0x7c00, half(-32759), 0xfc00,
			0x7c00, 0x7c00, 0xfc00, 0, 0, half(6.1e-5), half(-6.1e-5), 0x7c00, 0xfc00, 0}},
		{num: ANE, clamp: true, want: []uint16{0, 0x3c00, 0, half(32759), half(32760), 0, 0, half(65519),
			0x7c00, 0, 0, 0, half(6.1e-5), 0, 0x7c00, 0, 0}},
	} {
		task := td.New().Set(td.PostScale, 0x3c00)
		if c.clamp {
			task.Set(td.Nonlinear, int(td.NonlinReLU))
		}
		out := make([]uint16, len(acc))
		newPost(task, c.num, nil, c.multi).row(out, slices.Clone(acc), 0)
		for i, want := range c.want {
			if out[i] != want {
				t.Errorf("multi %t, clamp %t: %g is %#x, want %#x", c.multi, c.clamp, acc[i], out[i], want)
			}
		}
	}
}

// TestScaledIsLdexp compares scaled with math.Ldexp, at results without a normal number too.
func TestScaledIsLdexp(t *testing.T) {
	for _, y := range []float64{0, math.Copysign(0, -1), 1, -1, 1.0 / 3, 65504, 0x1p-24, 0x1p-1074,
		0x1.fffffffffffffp1023, math.Inf(1), math.Inf(-1)} {
		for exp := -2200; exp <= 2200; exp++ {
			if got, want := scaled(y, exp), math.Ldexp(y, exp); math.Float64bits(got) != math.Float64bits(want) {
				t.Fatalf("%g times 2^%d is %g, want %g", y, exp, got, want)
			}
		}
	}
}
