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

// TestANERules runs one operation on the engine a rule: fp16 operands, and the
// bits that come out.
func TestANERules(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	negZero := float32(math.Copysign(0, -1))
	for _, tt := range []struct {
		rule, op string
		x, y     []float32
		want     []float32
	}{
		{"NaN is read as +inf", "add", []float32{nan}, []float32{1}, []float32{inf}},
		{"inf - inf gives +0", "sub", []float32{inf}, []float32{inf}, []float32{0}},
		{"0 * inf gives +0", "mul", []float32{0}, []float32{inf}, []float32{0}},
		{"-0 + 0 gives +0", "add", []float32{negZero}, []float32{negZero}, []float32{0}},
		{"-0 * 1 gives +0", "mul", []float32{negZero}, []float32{1}, []float32{0}},
		{"1 / -0 gives +inf", "real_div", []float32{1}, []float32{negZero}, []float32{inf}},
		{"elementwise keeps the full range", "add", []float32{32768}, []float32{32000}, []float32{64768}},
		{"elementwise saturates past 65504", "add", []float32{65504}, []float32{32}, []float32{inf}},
		{"subnormals are kept elementwise", "add", []float32{0x1p-24}, []float32{0x1p-24}, []float32{0x1p-23}},
		{"sqrt(-1) gives +0", "sqrt", []float32{-1}, nil, []float32{0}},
		{"rsqrt(-1) gives +0", "rsqrt", []float32{-1}, nil, []float32{0}},
		{"rsqrt(-0) gives +inf", "rsqrt", []float32{negZero}, nil, []float32{inf}},
		{"log(-1) gives +0", "log", []float32{-1}, nil, []float32{0}},
		{"log(+0) gives -45440", "log", []float32{0}, nil, []float32{-45440}},
		{"exp is infinite from 11.094", "exp", []float32{11.09375, 11.0859375}, nil, []float32{inf, 65248}},
		{"softplus of +inf gives 0", "softplus", []float32{inf}, nil, []float32{0}},
		{"softsign of +inf gives 0", "softsign", []float32{inf}, nil, []float32{0}},
		{"a lane of +inf takes all the mass", "softmax", []float32{1, inf, 2}, nil, []float32{0, 1, 0}},
		{"activations are exact", "sigmoid", []float32{0, 1}, nil, []float32{0.5, 0.73095703}},
		{"reductions keep the full range", "reduce_sum", []float32{32000, 32000}, nil, []float32{64000}},
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
	mm := func(x, y []float32) uint16 {
		b := newBld(t, "ios15")
		k := int64(len(x))
		r := b.op("matmul", args{"x": b.input("x", floats(t, ir.FP16, []int64{1, k}, x...)), "y": b.input("y", floats(t, ir.FP16, []int64{k, 1}, y...))})
		return bits16(b.onEngine().run(ane, r)[0])[0]
	}
	for _, tt := range []struct {
		rule string
		x, y []float32
		want float32
	}{
		{"32752 passes", []float32{32752}, []float32{1}, 32752},
		{"32768 becomes infinite", []float32{32752, 16}, []float32{1, 1}, inf},
		{"-32768 becomes infinite", []float32{-32752, -16}, []float32{1, 1}, -inf},
		{"0*inf counts 0", []float32{0, 3}, []float32{inf, 2}, 6},
		{"inf-inf gives 0", []float32{inf, inf}, []float32{1, -1}, 0},
		{"subnormal operands are flushed", []float32{0x1p-20, 1}, []float32{1024, 0.5}, 0.5},
		{"products are wide", []float32{300, 300}, []float32{300, -299}, 300},
	} {
		if got := mm(tt.x, tt.y); got != numerics.Narrow(tt.want) {
			t.Errorf("%s: %v, want %v", tt.rule, numerics.Widen(got), tt.want)
		}
	}
}

func TestANEConvRangeByTaps(t *testing.T) {
	for taps, want := range map[int64]float32{1: 40000, 2: float32(math.Inf(1))} {
		b := newBld(t, "ios15")
		w := make([]float32, taps)
		w[0] = 2
		r := b.op("conv", args{"x": b.input("x", floats(t, ir.FP16, []int64{1, 1, 1, taps}, append([]float32{20000}, make([]float32, taps-1)...)...)),
			"weight": constant(floats(t, ir.FP16, []int64{1, 1, 1, taps}, w...)), "pad_type": str("valid")})
		if got := b.onEngine().run(ane, r)[0].Floats32()[0]; got != want {
			t.Errorf("%d taps: %v, want %v", taps, got, want)
		}
		b = newBld(t, "ios15")
		r = b.op("conv", args{"x": b.input("x", floats(t, ir.FP16, []int64{1, taps, 1, 1}, append([]float32{20000}, make([]float32, taps-1)...)...)),
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
	x := b.input("x", Tensor{Type: ir.TensorOf(ir.FP16, 3), Data: []byte{0x00, 0x80, 0x01, 0x7e, 0x01, 0x00}}) // -0, NaN, the smallest subnormal
	r := b.op("reverse", args{"x": x})
	got := bits16(b.onEngine().run(ane, r)[0])
	if got[0] != 0x0001 || got[1] != 0x7c00 || got[2] != 0x8000 {
		t.Errorf("%#04x, want 0001 7c00 8000", got)
	}
}
