package interp

import (
	"math"
	"testing"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
)

// bits16 returns the fp16 bits of a result's elements.
func bits16(x Tensor) []uint16 {
	var out []uint16
	for i := 0; i < len(x.Data); i += 2 {
		out = append(out, uint16(x.Data[i])|uint16(x.Data[i+1])<<8)
	}
	return out
}

// TestANERules runs one operation on the engine for each rule, and compares the bits of the result.
func TestANERules(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	negZero := float32(math.Copysign(0, -1))
	for _, tt := range []struct {
		rule, op string
		x, y     []float32
		want     []float32
	}{
		{rule: "NaN is read as +inf", op: "add", x: []float32{nan}, y: []float32{1}, want: []float32{inf}},
		{rule: "inf - inf gives +0", op: "sub", x: []float32{inf}, y: []float32{inf}, want: []float32{0}},
		{rule: "0 * inf gives +0", op: "mul", x: []float32{0}, y: []float32{inf}, want: []float32{0}},
		{rule: "-0 + 0 gives +0", op: "add", x: []float32{negZero}, y: []float32{negZero}, want: []float32{0}},
		{rule: "-0 * 1 gives +0", op: "mul", x: []float32{negZero}, y: []float32{1}, want: []float32{0}},
		{rule: "1 / -0 gives +inf", op: "real_div", x: []float32{1}, y: []float32{negZero}, want: []float32{inf}},
		{rule: "elementwise keeps the full range", op: "add", x: []float32{32768}, y: []float32{32000},
			want: []float32{64768}},
		{rule: "elementwise saturates past 65504", op: "add", x: []float32{65504}, y: []float32{32},
			want: []float32{inf}},
		{rule: "subnormals are kept elementwise", op: "add", x: []float32{0x1p-24}, y: []float32{0x1p-24},
			want: []float32{0x1p-23}},
		{rule: "sqrt(-1) gives +0", op: "sqrt", x: []float32{-1}, want: []float32{0}},
		{rule: "rsqrt(-1) gives +0", op: "rsqrt", x: []float32{-1}, want: []float32{0}},
		{rule: "rsqrt(-0) gives +inf", op: "rsqrt", x: []float32{negZero}, want: []float32{inf}},
		{rule: "log(-1) gives +0", op: "log", x: []float32{-1}, want: []float32{0}},
		{rule: "log(+0) gives -45440", op: "log", x: []float32{0}, want: []float32{-45440}},
		{rule: "exp is infinite from 11.094", op: "exp", x: []float32{11.09375, 11.0859375},
			want: []float32{inf, 65248}},
		{rule: "softplus of +inf gives 0", op: "softplus", x: []float32{inf}, want: []float32{0}},
		{rule: "softsign of +inf gives 0", op: "softsign", x: []float32{inf}, want: []float32{0}},
		{rule: "a lane of +inf takes all the mass", op: "softmax", x: []float32{1, inf, 2}, want: []float32{0, 1, 0}},
		{rule: "activations are exact", op: "sigmoid", x: []float32{0, 1}, want: []float32{0.5, 0.73095703}},
		{rule: "reductions keep the full range", op: "reduce_sum", x: []float32{32000, 32000}, want: []float32{64000}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			b := newBld(t, "ios15")
			n := []int64{int64(len(tt.x))}
			a := args{"x": b.input("x", floats(t, ir.FP16, n, tt.x...))}
			if tt.y != nil {
				a["y"] = b.input("y", floats(t, ir.FP16, n, tt.y...))
			}
			r := b.op(tt.op, a)
			got := b.onEngine().run(ane, r)[0]
			for i, h := range bits16(got) {
				if h != numerics.Narrow(tt.want[i]) {
					t.Errorf("element %d is %v (%#04x), want %v", i, numerics.Widen(h), h, tt.want[i])
				}
			}
			// The same operation off the engine keeps IEEE arithmetic.
			if tt.rule == "inf - inf gives +0" {
				b.body.Ops[0].Place.Unit = ir.CPU
				if v := b.run(ane, r)[0].Floats32()[0]; v == v {
					t.Errorf("on the CPU: %v, want NaN", v)
				}
			}
		})
	}
}

func TestANEProducts(t *testing.T) {
	inf := float32(math.Inf(1))
	mm := func(mode numerics.Mode, x, y []float32) uint16 {
		b := newBld(t, "ios15")
		k := int64(len(x))
		r := b.op("matmul", args{
			"x": b.input("x", floats(t, ir.FP16, []int64{1, k}, x...)),
			"y": b.input("y", floats(t, ir.FP16, []int64{k, 1}, y...)),
		})
		return bits16(b.onEngine().run(Options{Numerics: mode}, r)[0])[0]
	}
	for _, tt := range []struct {
		rule string
		x, y []float32
		want float32
		wide float32 // in the mode ane-wide; 0 for the same
	}{
		{rule: "32752 passes", x: []float32{32752}, y: []float32{1}, want: 32752},
		{rule: "32768 becomes infinite", x: []float32{32752, 16}, y: []float32{1, 1}, want: inf},
		{rule: "-32768 becomes infinite", x: []float32{-32752, -16}, y: []float32{1, 1}, want: -inf},
		{rule: "0*inf counts 0", x: []float32{0, 3}, y: []float32{inf, 2}, want: 6},
		{rule: "inf-inf gives 0", x: []float32{inf, inf}, y: []float32{1, -1}, want: 0},
		{rule: "inf-inf counts 0", x: []float32{inf, inf, 1}, y: []float32{1, -1, 1}, want: 1},
		{rule: "subnormal operands are flushed", x: []float32{0x1p-20, 1}, y: []float32{1024, 0.5}, want: 0.5},
		{rule: "the first stage keeps twelve bits", x: []float32{300, 300}, y: []float32{300, -299}, want: 288,
			wide: 300},
	} {
		if got := mm(numerics.ANE, tt.x, tt.y); got != numerics.Narrow(tt.want) {
			t.Errorf("%s: %v, want %v", tt.rule, numerics.Widen(got), tt.want)
		}
		if tt.wide == 0 {
			tt.wide = tt.want
		}
		if got := mm(numerics.ANEWide, tt.x, tt.y); got != numerics.Narrow(tt.wide) {
			t.Errorf("%s, ane-wide: %v, want %v", tt.rule, numerics.Widen(got), tt.wide)
		}
	}
}

func TestANEConvRangeByTaps(t *testing.T) {
	for taps, want := range map[int64]float32{1: 40000, 2: float32(math.Inf(1))} {
		b := newBld(t, "ios15")
		w := make([]float32, taps)
		w[0] = 2
		r := b.op("conv", args{"x": b.input("x", floats(t, ir.FP16, []int64{1, 1, 1, taps}, append([]float32{20000},
			make([]float32, taps-1)...)...)),
			"weight": constant(floats(t, ir.FP16, []int64{1, 1, 1, taps}, w...)), "pad_type": str("valid")})
		if got := b.onEngine().run(ane, r)[0].Floats32()[0]; got != want {
			t.Errorf("%d taps: %v, want %v", taps, got, want)
		}
		b = newBld(t, "ios15")
		r = b.op("conv", args{"x": b.input("x", floats(t, ir.FP16, []int64{1, taps, 1, 1}, append([]float32{20000},
			make([]float32, taps-1)...)...)),
			"weight": constant(floats(t, ir.FP16, []int64{1, taps, 1, 1}, w...)), "pad_type": str("valid")})
		if got := b.onEngine().run(ane, r)[0].Floats32()[0]; got != want {
			t.Errorf("%d channels: %v, want %v", taps, got, want)
		}
	}
}

func TestANEWidthSlice(t *testing.T) {
	inf := float32(math.Inf(1))
	x := floats(t, ir.FP16, []int64{2, 3}, 5000, 4094, 4096, 5000, -4096, 1)
	slice := func(begin, size *ir.Value, opt Options) Tensor {
		b := newBld(t, "ios15")
		r := b.op("slice_by_size", args{"x": b.input("x", x), "begin": begin, "size": size})
		return b.onEngine().run(opt, r)[0]
	}
	wantFloats(t, slice(vec(0, 1), vec(2, 2), ane), 0, []int64{2, 2}, 4094, inf, -inf, 1)
	wantFloats(t, slice(vec(0, 0), vec(2, 2), ane), 0, []int64{2, 2}, 5000, 4094, 5000, -4096)
	wantFloats(t, slice(vec(1, 0), vec(1, 3), ane), 0, []int64{1, 3}, 5000, -4096, 1)
	wantFloats(t, slice(vec(0, 1), vec(2, 2), Options{}), 0, []int64{2, 2}, 4094, 4096, -4096, 1)
}

func TestANEMovementKeepsBitsButNaN(t *testing.T) {
	b := newBld(t, "ios15")
	// -0, NaN, the smallest subnormal
	x := b.input("x", Tensor{Type: ir.TensorOf(ir.FP16, 3), Data: []byte{0x00, 0x80, 0x01, 0x7e, 0x01, 0x00}})
	r := b.op("reverse", args{"x": x})
	got := bits16(b.onEngine().run(ane, r)[0])
	if got[0] != 0x0001 || got[1] != 0x7c00 || got[2] != 0x8000 {
		t.Errorf("%#04x, want 0001 7c00 8000", got)
	}
}
