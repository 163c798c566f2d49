package interp

import (
	"math"
	"testing"

	"github.com/zinc-compiler/zinc/ir"
)

func TestEveryRowHasAKernel(t *testing.T) {
	for _, o := range ir.Operations {
		if !Supports(o) {
			t.Errorf("%s has no kernel", o.Name)
		}
	}
}

func TestBinaryOperationsOnFloats(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, tt := range []struct {
		op         string
		x, y, want []float32
	}{
		{op: "add", x: []float32{1, 2}, y: []float32{3, -5}, want: []float32{4, -3}},
		{op: "sub", x: []float32{1, inf}, y: []float32{3, inf}, want: []float32{-2, nan}},
		{op: "mul", x: []float32{3, 0}, y: []float32{-2, inf}, want: []float32{-6, nan}},
		{op: "real_div", x: []float32{7, 1}, y: []float32{2, 0}, want: []float32{3.5, inf}},
		{op: "floor_div", x: []float32{-7, 7, 7}, y: []float32{2, 2, -2}, want: []float32{-4, 3, -4}},
		{op: "mod", x: []float32{-7, 7, 7}, y: []float32{2, 2, -2}, want: []float32{1, 1, -1}},
		{op: "pow", x: []float32{2, 3, 4}, y: []float32{3, 2, 0.5}, want: []float32{8, 9, 2}},
		{op: "maximum", x: []float32{1, nan}, y: []float32{2, 1}, want: []float32{2, nan}},
		{op: "minimum", x: []float32{1, 1}, y: []float32{2, nan}, want: []float32{1, nan}},
	} {
		b := newBld(t, "ios15")
		n := []int64{int64(len(tt.x))}
		r := b.op(tt.op, args{
			"x": b.input("x", floats(t, ir.FP32, n, tt.x...)),
			"y": b.input("y", floats(t, ir.FP32, n, tt.y...)),
		})
		wantFloats(t, b.run(Options{}, r)[0], 1e-6, n, tt.want...)
	}
}

func TestBinaryOperationsOnIntegers(t *testing.T) {
	for _, tt := range []struct {
		op         string
		x, y, want []int64
	}{
		{op: "add", x: []int64{1, math.MaxInt32}, y: []int64{2, 1}, want: []int64{3, math.MinInt32}},
		{op: "real_div", x: []int64{7, -7, 1}, y: []int64{2, 2, 0}, want: []int64{3, -3, 0}},
		{op: "floor_div", x: []int64{7, -7, 1}, y: []int64{2, 2, 0}, want: []int64{3, -4, 0}},
		{op: "mod", x: []int64{7, -7, 7}, y: []int64{-2, 2, 0}, want: []int64{-1, 1, 0}},
		{op: "pow", x: []int64{2, -3, 2}, y: []int64{10, 3, -1}, want: []int64{1024, -27, 0}},
		{op: "maximum", x: []int64{1, -5, 0}, y: []int64{2, -6, 0}, want: []int64{2, -5, 0}},
	} {
		b := newBld(t, "ios15")
		n := []int64{int64(len(tt.x))}
		r := b.op(tt.op, args{
			"x": b.input("x", ints(t, ir.Int32, n, tt.x...)),
			"y": b.input("y", ints(t, ir.Int32, n, tt.y...)),
		})
		for i, v := range b.run(Options{}, r)[0].Ints() {
			if v != tt.want[i] {
				t.Errorf("%s(%d, %d) = %d, want %d", tt.op, tt.x[i], tt.y[i], v, tt.want[i])
			}
		}
	}
}

func TestOperandsBroadcast(t *testing.T) {
	b := newBld(t, "ios15")
	x := b.input("x", floats(t, ir.FP32, []int64{2, 1, 3}, 1, 2, 3, 4, 5, 6))
	y := b.input("y", floats(t, ir.FP32, []int64{2, 1}, 10, 20))
	wantFloats(t, b.run(Options{}, b.op("add", args{"x": x, "y": y}))[0], 0, []int64{2, 2, 3}, 11, 12, 13, 21, 22, 23,
		14, 15, 16, 24, 25, 26)
}

func TestOperandsThatDoNotBroadcastAreRefused(t *testing.T) {
	b := newBld(t, "ios15")
	x := b.input("x", floats(t, ir.FP32, []int64{2}, 1, 2))
	y := b.input("y", floats(t, ir.FP32, []int64{3}, 1, 2, 3))
	b.fails(b.opAs("add", args{"x": x, "y": y}, ir.TensorOf(ir.FP32, 3))[0], "add", "[2]", "[3]", "broadcast")
}

func TestRoundsToDeclaredType(t *testing.T) {
	b := newBld(t, "ios15")
	x := b.input("x", floats(t, ir.FP16, []int64{1}, 2048))
	y := b.input("y", floats(t, ir.FP16, []int64{1}, 1))
	wantFloats(t, b.run(Options{}, b.op("add", args{"x": x, "y": y}))[0], 0, []int64{1}, 2048)
}

func TestUnaryOperations(t *testing.T) {
	for op, tt := range map[string][2]float32{
		"abs": {-2, 2}, "acos": {0.5, 1.0471976}, "asin": {0.5, 0.5235988}, "atan": {1, 0.7853982},
		"atanh": {0.5, 0.54930615},
		"ceil":  {1.2, 2}, "cos": {1, 0.5403023}, "cosh": {1, 1.5430806}, "erf": {0.5, 0.5204999},
		"exp":  {1, 2.7182817},
		"exp2": {3, 8}, "floor": {-1.2, -2}, "round": {2.5, 2}, "sign": {-3, -1}, "sin": {1, 0.84147098},
		"sinh": {1, 1.1752012},
		"sqrt": {9, 3}, "square": {-3, 9}, "tan": {1, 1.5574077}, "tanh": {1, 0.7615942}, "relu": {-1, 0},
		"relu6":   {9, 6},
		"sigmoid": {-1, 0.26894143}, "silu": {2, 1.7615942}, "softplus": {1, 1.3132616}, "softsign": {-3, -0.75},
		"inverse": {2, 0.49997500}, "log": {2, 0.6931472}, "rsqrt": {4, 0.5},
	} {
		b := newBld(t, "ios15")
		r := b.op(op, args{"x": b.input("x", floats(t, ir.FP32, []int64{1}, tt[0]))})
		got := b.run(Options{}, r)[0]
		if !near(got.Floats32()[0], tt[1], 1e-6) {
			t.Errorf("%s(%v) = %v, want %v", op, tt[0], got.Floats32()[0], tt[1])
		}
	}
}

func TestParamActivations(t *testing.T) {
	for _, tt := range []struct {
		op          string
		alpha, beta float64
		x, want     float32
	}{
		{op: "clamped_relu", alpha: 2, beta: 1, x: -1, want: -2}, {op: "clamped_relu", alpha: 2, beta: 1, x: 5,
			want: 1}, {op: "elu", alpha: 2, beta: 0, x: -1, want: -1.2642411}, {op: "leaky_relu", alpha: 0.1, beta: 0,
			x: -2, want: -0.2},
		{op: "linear_activation", alpha: 2, beta: 3, x: 4, want: 11}, {op: "scaled_tanh", alpha: 2, beta: 0.5, x: 1,
			want: 0.92423433}, {op: "sigmoid_hard", alpha: 0.2, beta: 0.5, x: 1, want: 0.7},
		{op: "sigmoid_hard", alpha: 0.2, beta: 0.5, x: 9, want: 1}, {op: "threshold", alpha: 1, beta: 0, x: -4,
			want: 1}, {op: "thresholded_relu", alpha: 1, beta: 0, x: 0.5, want: 0}, {op: "clip", alpha: -1, beta: 1,
			x: -7, want: -1}, {op: "clip", alpha: 2, beta: -2, x: -7, want: -2},
		{op: "clip", alpha: 2, beta: -2, x: 0, want: -2},
	} {
		b := newBld(t, "ios15")
		a := args{"x": b.input("x", floats(t, ir.FP32, []int64{1}, tt.x)), "alpha": scalar(ir.FP32, tt.alpha)}
		if ir.Lookup(tt.op, "ios15").ParamIndex("beta") >= 0 {
			a["beta"] = scalar(ir.FP32, tt.beta)
		}
		wantFloats(t, b.run(Options{}, b.op(tt.op, a))[0], 1e-6, []int64{1}, tt.want)
	}
}

func TestPReLUHasOneSlopePerChannel(t *testing.T) {
	b := newBld(t, "ios15")
	x := b.input("x", floats(t, ir.FP32, []int64{1, 2, 2}, -1, 1, -1, 1))
	r := b.op("prelu", args{"x": x, "alpha": constant(floats(t, ir.FP32, []int64{2}, 0.5, 0.25))})
	wantFloats(t, b.run(Options{}, r)[0], 0, []int64{1, 2, 2}, -0.5, 1, -0.25, 1)
}

func TestGeluModes(t *testing.T) {
	for mode, want := range map[string]float32{
		"EXACT":                 0.8413447,
		"TANH_APPROXIMATION":    0.841192,
		"SIGMOID_APPROXIMATION": 0.8457958,
	} {
		b := newBld(t, "ios15")
		r := b.op("gelu", args{"x": b.input("x", floats(t, ir.FP32, []int64{1}, 1)), "mode": str(mode)})
		wantFloats(t, b.run(Options{}, r)[0], 1e-6, []int64{1}, want)
	}
}

func TestSoftmaxOfLargeNumbers(t *testing.T) {
	b := newBld(t, "ios15")
	x := b.input("x", floats(t, ir.FP32, []int64{2, 2}, 1000, 0, 1001, 0))
	r := b.op("softmax", args{"x": x, "axis": num(0)})
	wantFloats(t, b.run(Options{}, r)[0], 1e-6, []int64{2, 2}, 0.26894143, 0.5, 0.7310586, 0.5)
}

func TestCastsSaturateAndTruncate(t *testing.T) {
	b := newBld(t, "ios17")
	x := b.input("x", floats(t, ir.FP32, []int64{4}, 1.9, -1.9, 3e9, float32(math.Inf(-1))))
	r := b.op("cast", args{"x": x, "dtype": str("int32")})
	k := b.op("cast", args{"x": x, "dtype": str("bool")})
	h := b.op("cast", args{"x": x, "dtype": str("fp16")})
	got := b.run(Options{}, r, k, h)
	want := []int64{1, -1, math.MaxInt32, math.MinInt32}
	for i, v := range got[0].Ints() {
		if v != want[i] {
			t.Errorf("int32: %v, want %v", got[0].Ints(), want)
			break
		}
	}
	for _, v := range got[1].Bools() {
		if !v {
			t.Error("a number that is not zero is false")
		}
	}
	wantFloats(t, got[2], 0, []int64{4}, 1.9003906, -1.9003906, float32(math.Inf(1)), float32(math.Inf(-1)))
}

func TestCompareAndSelect(t *testing.T) {
	b := newBld(t, "ios15")
	x := b.input("x", floats(t, ir.FP32, []int64{3}, 1, 2, 3))
	y := b.input("y", floats(t, ir.FP32, []int64{1}, 2))
	for op, want := range map[string][3]bool{"less": {true, false, false}, "less_equal": {true, true, false},
		"greater":       {false, false, true},
		"greater_equal": {false, true, true}, "equal": {false, true, false}, "not_equal": {true, false, true}} {
		got := b.run(Options{}, b.op(op, args{"x": x, "y": y}))[0].Bools()
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: %v, want %v", op, got, want)
			}
		}
	}
	c := b.op("less", args{"x": x, "y": y})
	d := b.op("logical_not", args{"x": c})
	e := b.op("logical_xor", args{"x": c, "y": d})
	s := b.op("select", args{"cond": d, "a": x, "b": b.op("mul", args{"x": x, "y": y})})
	res := b.run(Options{}, e, s)
	for _, v := range res[0].Bools() {
		if !v {
			t.Errorf("a xor not a: %v", res[0].Bools())
		}
	}
	wantFloats(t, res[1], 0, []int64{3}, 2, 2, 3)
}

func TestDefaultEpsilonHasTheTypeOfX(t *testing.T) {
	// 1e-12 is 0 in fp16: rsqrt(0) is infinite there and 1e6 in fp32.
	for d, want := range map[ir.DType]float32{ir.FP16: float32(math.Inf(1)), ir.FP32: 1e6} {
		b := newBld(t, "ios15")
		r := b.op("rsqrt", args{"x": b.input("x", floats(t, d, []int64{1}, 0))})
		wantFloats(t, b.run(Options{}, r)[0], 1e-6, []int64{1}, want)
	}
}
