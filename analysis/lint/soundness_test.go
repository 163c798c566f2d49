package lint

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/analysis/lint/witness"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// drawSample draws an input within a range: its corners, its middle, and what is between.
func drawSample(t ir.Type, r Interval, rnd *rand.Rand, kind int) interp.Tensor {
	n := t.Elems()
	vs := make([]float32, n)
	for i := range vs {
		switch kind % 5 {
		case 0:
			vs[i] = float32(r.Lo)
		case 1:
			vs[i] = float32(r.Hi)
		case 2:
			vs[i] = float32([]float64{r.Lo, r.Hi}[rnd.IntN(2)])
		case 3:
			vs[i] = float32((r.Lo + r.Hi) / 2 * rnd.Float64())
		default:
			vs[i] = float32(r.Lo + (r.Hi-r.Lo)*rnd.Float64())
		}
		vs[i] = float32(interval.Clamp(float64(vs[i]), r))
	}
	x, err := interp.FromFloats(t.DType, vs, t.Shape...)
	if err != nil {
		panic(err)
	}
	return x
}

// contains runs the interpreter in both modes on sampled inputs and compares every value with its range. It returns the
// number of values.
func contains(t *testing.T, f *ir.Func, ranges map[string]Interval, runs int, seed uint64) int {
	t.Helper()
	a := analyse(f, ranges)
	p, err := interp.Prepare(f)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	rnd := rand.New(rand.NewPCG(seed, 5))
	for k := range runs {
		in := map[string]interp.Tensor{}
		for _, v := range f.Body.Params {
			if v.Type.Kind == ir.Tensor {
				in[v.Name] = drawSample(v.Type, ranges[v.Name], rnd, k)
			}
		}
		for _, mode := range []numerics.Mode{numerics.IEEE, numerics.ANE} {
			_, err := p.Run(context.Background(), in, interp.Options{Numerics: mode, Workers: 1,
				Trace: func(op *ir.Op, results []interp.Tensor) {
					for i, r := range results {
						v := op.Results[i]
						if v.Type.Kind != ir.Tensor || r.Type.DType == ir.String {
							continue
						}
						seen += r.Elems()
						iv := a.Range(v)
						for j, y := range r.Const().Floats() {
							if !iv.Has(y) {
								text := ""
								op.Operands(func(p *ir.Param, v *ir.Value) {
									text += fmt.Sprintf(" %s=%s%v", p.Name, v.Type, a.Range(v))
								})
								t.Fatalf("%s (%s), %s: element %d is %g, outside %v; operands%s", op.Def.Name,
									op.Place.Unit, mode, j, y, iv, text)
							}
						}
					}
				}})
			if err != nil {
				t.Logf("run: %v", err)
				return seen
			}
		}
	}
	return seen
}

// outside runs the interpreter on the inputs passed, whose elements are their ranges. It returns the number of values,
// and describes the first that is outside its range.
func outside(f *ir.Func, in tensors) (seen int, bad string) {
	ranges := map[string]Interval{}
	for n, x := range in {
		ranges[n] = interval.OfConst(x.Const())
	}
	a := analyse(f, ranges)
	p, err := interp.Prepare(f)
	if err != nil {
		return 0, ""
	}
	for _, mode := range []numerics.Mode{numerics.IEEE, numerics.ANE} {
		_, err := p.Run(context.Background(), in, interp.Options{Numerics: mode, States: tensors{},
			Trace: func(op *ir.Op, results []interp.Tensor) {
				for i, r := range results {
					v := op.Results[i]
					if v.Type.Kind != ir.Tensor || r.Type.DType == ir.String || bad != "" {
						continue
					}
					iv := a.Range(v)
					for j, y := range r.Const().Floats() {
						seen++
						if !iv.Has(y) {
							bad = fmt.Sprintf("%s (%s), %s: element %d of result %d is %g, outside %v", op.Def.Name,
								op.Place.Unit, mode, j, i, y, iv)
							op.Operands(func(p *ir.Param, v *ir.Value) {
								bad += fmt.Sprintf("; %s %s %v", p.Name, v.Type, a.Range(v))
							})
							break
						}
					}
				}
			}})
		if err != nil || bad != "" {
			break
		}
	}
	return seen, bad
}

// unaryForms and binaryForms are operations that random programs choose among.
var unaryForms = []string{"abs", "acos", "asin", "atan", "atanh", "ceil", "cos", "cosh", "erf", "exp", "exp2", "floor",
	"gelu", "identity", "inverse", "log", "relu",
	"relu6", "round", "rsqrt", "sigmoid", "sign", "silu", "sin", "sinh", "softplus", "softsign", "sqrt", "square",
	"tan", "tanh", "softmax", "layer_norm", "l2_norm"}

var binaryForms = []string{"add", "sub", "mul", "real_div", "maximum", "minimum", "mod", "floor_div", "pow", "less",
	"greater", "equal"}

// grow adds a random operation on values of one shape [1, C, H, W].
func grow(g *irbuild.Graph, rnd *rand.Rand, vs []*ir.Value) *ir.Value {
	x := vs[rnd.IntN(len(vs))]
	s := x.Type.Shape
	f := func() float64 { return math.Round(rnd.NormFloat64()*16) / 8 }
	try := func(name string, args ...any) *ir.Value {
		rs, err := g.Try(name, args...)
		if err != nil {
			return nil
		}
		return rs[0]
	}
	switch rnd.IntN(10) {
	case 0, 1:
		n := unaryForms[rnd.IntN(len(unaryForms))]
		switch n {
		case "gelu":
			return try(n, "x", x, "mode", []string{"EXACT", "TANH_APPROXIMATION", "SIGMOID_APPROXIMATION"}[rnd.IntN(3)])
		case "softmax":
			return try(n, "x", x, "axis", rnd.IntN(4))
		case "layer_norm":
			return try(n, "x", x, "axes", []int{1 + rnd.IntN(3)}, "epsilon", 1e-3)
		}
		return try(n, "x", x)
	case 2, 3:
		return try(binaryForms[rnd.IntN(len(binaryForms)-3*rnd.IntN(2))], "x", x, "y", vs[rnd.IntN(len(vs))])
	case 4:
		return try([]string{"add", "mul", "sub", "maximum", "minimum", "pow"}[rnd.IntN(6)], "x", x, "y", f())
	case 5:
		k := 1 + 2*rnd.IntN(2)
		return try("conv", "x", x, "weight", g.Weights(s[1], s[1], int64(k), int64(k)), "pad_type", "same", "bias",
			g.Weights(s[1]))
	case 6:
		switch rnd.IntN(6) {
		case 0:
			p := try("softmax", "x", x, "axis", 3)
			return try("matmul", "x", p, "y", vs[rnd.IntN(len(vs))])
		case 1:
			e := []string{"reduce_max", "reduce_min"}[rnd.IntN(2)]
			return try("sub", "x", x, "y", try(e, "x", x, "axes", []int{1 + rnd.IntN(3)}, "keep_dims", true))
		}
		if rnd.IntN(2) == 0 {
			return try("matmul", "x", x, "y", g.Weights(s[3], s[3]))
		}
		return try("matmul", "x", x, "y", vs[rnd.IntN(len(vs))], "transpose_y", s[2] == s[3] && rnd.IntN(2) == 0)
	case 7:
		n := []string{"reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_sum_square", "reduce_l1_norm",
			"reduce_l2_norm", "reduce_log_sum",
			"reduce_log_sum_exp", "reduce_prod"}[rnd.IntN(10)]
		return try(n, "x", x, "axes", []int{1 + rnd.IntN(3)}, "keep_dims", true)
	case 8:
		a, b := min(f(), 0), max(f(), 0.5)
		switch rnd.IntN(9) {
		case 0:
			return try("clip", "x", x, "alpha", a, "beta", b)
		case 1:
			return try("leaky_relu", "x", x, "alpha", a)
		case 2:
			return try("elu", "x", x, "alpha", b)
		case 3:
			return try("linear_activation", "x", x, "alpha", a, "beta", b)
		case 4:
			return try("scaled_tanh", "x", x, "alpha", a, "beta", b)
		case 5:
			return try("sigmoid_hard", "x", x, "alpha", b, "beta", a)
		case 6:
			return try("prelu", "x", x, "alpha", g.Weights(s[1]))
		case 7:
			return try("clamped_relu", "x", x, "alpha", a, "beta", b)
		}
		return try("thresholded_relu", "x", x, "alpha", b)
	}
	switch rnd.IntN(8) {
	case 0:
		return try("transpose", "x", x, "perm", []int{0, 2, 1, 3})
	case 1:
		return try("pad", "x", x, "pad", []int{0, 0, 0, 0, 1, 1, 1, 1}, "mode", "constant", "constant_val", f())
	case 2:
		return try("avg_pool", "x", x, "kernel_sizes", []int{3, 3}, "strides", []int{1, 1}, "pad_type", "same",
			"exclude_padding_from_average", rnd.IntN(2) == 0)
	case 3:
		return try("max_pool", "x", x, "kernel_sizes", []int{3, 3}, "strides", []int{1, 1}, "pad_type", "same")
	case 4:
		return try("cumsum", "x", x, "axis", 1+rnd.IntN(3), "exclusive", rnd.IntN(2) == 0)
	case 5:
		return try("slice_by_index", "x", x, "begin", []int{0, 0, 0, 1}, "end", []int{1, 1, 1, 2}, "begin_mask",
			[]bool{true, true, true, false}, "end_mask", []bool{true, true, true, false})
	case 6:
		return try("concat", "values", []*ir.Value{x, x}, "axis", 1+rnd.IntN(3), "interleave", false)
	}
	return try("reverse", "x", x, "axes", []int{1})
}

// TestValuesOfRandomProgramsAreInTheirRanges runs them in both modes, on the engine and off it.
func TestValuesOfRandomProgramsAreInTheirRanges(t *testing.T) {
	seen, ops := 0, map[string]bool{}
	for seed := range uint64(1500) {
		rnd := rand.New(rand.NewPCG(seed, 77))
		g := irbuild.New(seed)
		x := g.Input(1, 4, 4, 4)
		vs := []*ir.Value{x}
		if rnd.IntN(3) == 0 {
			vs = []*ir.Value{g.InputOf(ir.FP32, 1, 4, 4, 4)}
		}
		for range 12 {
			if v := grow(g, rnd, vs); v != nil {
				vs = append(vs, v)
			}
		}
		g.Output(vs[len(vs)-1])
		p := g.Program()
		f := p.Funcs[0]
		for _, op := range f.Body.Ops {
			ops[op.Def.Name] = true
			if op.Results[0].Type.DType == ir.FP16 && rnd.IntN(4) > 0 {
				op.Place.Unit = ir.Engine
			}
		}
		ranges := map[string]Interval{}
		wide := math.Ldexp(1, rnd.IntN(14)-3)
		for _, v := range f.Body.Params {
			ranges[v.Name] = interval.Span(-wide*rnd.Float64(), wide*rnd.Float64()).Round(ir.FP16)
			if rnd.IntN(4) == 0 {
				ranges[v.Name] = interval.Span(0, wide).Round(ir.FP16)
			}
		}
		seen += contains(t, f, ranges, 10, seed)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if seen < 100000 || len(ops) < 60 {
		t.Errorf("checked %d values of %d operations", seen, len(ops))
	}
}

// TestSumsAfterLayerNormAreBounded checks that a row's sum after a layer_norm is bounded by the norms of both, and that
// an input along the row comes close to that bound.
func TestSumsAfterLayerNormAreBounded(t *testing.T) {
	const n, rows = 64, 8
	g := irbuild.New(11)
	x := g.Input(1, 4, n)
	w := g.Filled(ir.FP16, func(i int64) float64 { return float64((i*37+i/n*11)%128-64) / 16 }, rows, n)
	ones := g.Filled(ir.FP16, func(int64) float64 { return 1.5 }, n)
	beta := g.Filled(ir.FP16, func(i int64) float64 { return float64(i%5-2) / 64 }, n)
	z := g.Op("layer_norm", "x", x, "axes", []int{2}, "gamma", ones, "beta", beta, "epsilon", 1e-5)
	y := g.Op("linear", "x", z, "weight", w)
	g.Output(y)
	f := g.Program().Funcs[0]
	ranges := map[string]Interval{x.Name: interval.Span(-8, 8)}
	if contains(t, f, ranges, 40, 7) == 0 {
		t.Fatal("nothing was run")
	}
	a := analyse(f, ranges)
	ws := w.Const.Floats()
	vs := make([]float32, 4*n)
	for i := range vs {
		vs[i] = float32(ws[i%n])
	}
	in, err := interp.FromFloats(ir.FP16, vs, 1, 4, n)
	if err != nil {
		t.Fatal(err)
	}
	out, err := interp.Run(context.Background(), f, tensors{x.Name: in}, interp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := out[y.Name].Const().Floats()[0]
	if !a.Range(y).Has(got) {
		t.Errorf("%g is outside %v", got, a.Range(y))
	}
	sum := 0.0
	for _, v := range ws[:n] {
		sum += math.Abs(v)
	}
	if worst := sum * a.Range(z).Hi; a.Range(y).Hi > worst/2 {
		t.Errorf("the bound %g is not much less than the elementwise bound %g", a.Range(y).Hi, worst)
	}
	if got < a.Range(y).Hi/2 {
		t.Errorf("the sum for an input along the row is %g, the bound %g", got, a.Range(y).Hi)
	}
}

// TestProductsOfMaskedSoftmaxStayInTheirOperand checks a product with masked softmax weights.
func TestProductsOfMaskedSoftmaxStayInTheirOperand(t *testing.T) {
	g := irbuild.New(12)
	x, v := g.Input(1, 2, 4, 16), g.Input(1, 2, 16, 8)
	m := g.InputOf(ir.Bool, 1, 1, 4, 16)
	zero := g.Filled(ir.FP16, func(int64) float64 { return 0 })
	s := g.Op("softmax", "x", x, "axis", -1)
	y := g.Op("matmul", "x", g.Op("select", "cond", m, "a", zero, "b", s), "y", v)
	g.Output(y)
	f := g.Program().Funcs[0]
	ranges := map[string]Interval{
		x.Name: interval.Span(-4, 4),
		v.Name: interval.Span(-100, 100),
		m.Name: interval.Span(0, 1),
	}
	if contains(t, f, ranges, 20, 8) == 0 {
		t.Fatal("nothing was run")
	}
	if r := analyse(f, ranges).Range(y); r.Mag() > 101 {
		t.Errorf("the product is within %v", r)
	}
}

// TestSumsAfterRootMeanSquareAreBounded checks a norm that is written out as operations: elements and sums after it are
// bounded by the row's length, for rows of every magnitude that fp16 represents.
func TestSumsAfterRootMeanSquareAreBounded(t *testing.T) {
	const n, rows = 64, 8
	norms := map[string]func(g *irbuild.Graph, x *ir.Value) *ir.Value{
		"pow": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
			s := g.Op("mul", "x", g.Op("reduce_sum", "x", g.Op("mul", "x", x, "y", x), "axes", []int{1}, "keep_dims",
				true), "y", 1.0/n)
			return g.Op("mul", "x", x, "y", g.Op("pow", "x", g.Op("add", "x", s, "y", 1e-5), "y", -0.5))
		},
		"rsqrt": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
			s := g.Op("reduce_mean", "x", g.Op("square", "x", x), "axes", []int{1}, "keep_dims", true)
			return g.Op("mul", "x", g.Op("rsqrt", "x", s, "epsilon", 2e-6), "y", x)
		},
		"sqrt": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
			s := g.Op("reduce_mean", "x", g.Op("pow", "x", x, "y", 2.0), "axes", []int{1}, "keep_dims", true)
			return g.Op("real_div", "x", x, "y", g.Op("sqrt", "x", g.Op("add", "x", 1e-5, "y", s)))
		},
	}
	for name, norm := range norms {
		for _, unit := range []ir.Unit{ir.CPU, ir.Engine} {
			t.Run(fmt.Sprint(name, " ", unit), func(t *testing.T) {
				g := irbuild.New(13)
				x := g.Input(1, n, 1, 4)
				w := g.Filled(ir.FP16, func(i int64) float64 {
					return float64((i*37+i/n*11)%128-64) / 16
				}, rows, n, 1, 1)
				scale := g.Filled(ir.FP16, func(i int64) float64 { return 1 + float64(i%3)/4 }, 1, n, 1, 1)
				z := norm(g, x)
				y := g.Op("conv", "x", g.Op("mul", "x", z, "y", scale), "weight", w)
				g.Output(y)
				f := g.Program().Funcs[0]
				ir.Walk(f, func(op *ir.Op) { op.Place.Unit = unit })
				for _, m := range []float64{2e-7, 1e-5, 3e-4, 1e-3, 0.03, 2, 100, 3000, 60000} {
					m = fp16(m)
					ranges := map[string]Interval{x.Name: interval.Span(-m, m)}
					if contains(t, f, ranges, 20, 9) == 0 {
						t.Fatal("nothing was run")
					}
					if m > 1 && analyse(f, ranges).calmly().Range(z).Mag() > 9.2 {
						t.Errorf("up to %g: %v, want at most the root of %d", m, analyse(f, ranges).calmly().
							Range(z),
							n)
					}
					// Rows with one large element and rows of equal magnitudes are the extremes.
					for _, one := range []bool{true, false} {
						vs := make([]float32, 4*n)
						for i := range vs {
							if !one || i/4 == 5 {
								vs[i] = float32(m)
							}
						}
						in, err := interp.FromFloats(ir.FP16, vs, x.Type.Shape...)
						if err != nil {
							t.Fatal(err)
						}
						if _, bad := outside(f, tensors{x.Name: in}); bad != "" {
							t.Error(bad)
						}
					}
				}
			})
		}
	}
}

// TestSumsAlongOtherAxesBoundNothing checks a sum of squares whose lost axis a factor replaces with another: it is not
// beside its own rows.
func TestSumsAlongOtherAxesBoundNothing(t *testing.T) {
	const n = 8
	g := irbuild.New(14)
	x := g.Input(n, n)
	one := g.Filled(ir.FP16, func(int64) float64 { return 1.0 / n }, 1, 1)
	s := g.Op("mul", "x", g.Op("reduce_sum", "x", g.Op("square", "x", x), "axes", []int{1}, "keep_dims", false), "y",
		one)
	y := g.Op("mul", "x", x, "y", g.Op("rsqrt", "x", s, "epsilon", 1e-3))
	g.Output(y)
	f := g.Program().Funcs[0]
	vs := make([]float32, n*n)
	for i := range n {
		vs[i] = 2 // the first row alone, which the sums of the others divide
	}
	in, err := interp.FromFloats(ir.FP16, vs, x.Type.Shape...)
	if err != nil {
		t.Fatal(err)
	}
	out, err := interp.Run(context.Background(), f, tensors{x.Name: in}, interp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := witness.RangeOf(out[y.Name])
	if r := analyse(f, map[string]Interval{x.Name: interval.Span(-2, 2)}).calmly().Range(y); got.Hi < 20 ||
		!r.Has(got.Hi) {
		t.Errorf("%v is outside %v", got, r)
	}
}

// TestPartsOfProductsHaveTheRangesOfTheirChannels checks a slice and a split.
func TestPartsOfProductsHaveTheRangesOfTheirChannels(t *testing.T) {
	w := func(g *irbuild.Graph, shape ...int64) *ir.Value {
		return g.Filled(ir.FP16, func(i int64) float64 {
			return float64(int64(1)<<(i/8)) / 8 * float64(i%3-1)
		}, shape...)
	}
	products := map[string]func(g *irbuild.Graph) (*ir.Value, int){
		"conv": func(g *irbuild.Graph) (*ir.Value, int) {
			return g.Op("conv", "x", g.Input(1, 8, 2, 2), "weight", w(g, 8, 8, 1, 1)), 1
		},
		"linear": func(g *irbuild.Graph) (*ir.Value, int) {
			return g.Op("linear", "x", g.Input(1, 4, 8), "weight", w(g, 8, 8)), 2
		},
		"matmul y": func(g *irbuild.Graph) (*ir.Value, int) {
			return g.Op("matmul", "x", g.Input(1, 2, 4, 8), "y", w(g, 8, 8), "transpose_y", true), 3
		},
		"matmul x": func(g *irbuild.Graph) (*ir.Value, int) {
			return g.Op("matmul", "x", w(g, 8, 8), "y", g.Input(1, 2, 8, 4)), 2
		},
	}
	for name, product := range products {
		t.Run(name, func(t *testing.T) {
			g := irbuild.New(17)
			y, axis := product(g)
			begin, size := make([]int, y.Type.Rank()), make([]int, y.Type.Rank())
			for i, d := range y.Type.Shape {
				size[i] = int(d)
			}
			begin[axis], size[axis] = 1, 2
			s := g.Op("slice_by_size", "x", y, "begin", begin, "size", size)
			parts := g.All("split", "x", y, "split_sizes", []int{3, 4, 1}, "axis", axis)
			g.Output(s, parts[0], parts[1], parts[2])
			f := g.Program().Funcs[0]
			ranges := map[string]Interval{f.Body.Params[0].Name: interval.Span(-2, 3)}
			if contains(t, f, ranges, 30, 3) == 0 {
				t.Fatal("nothing was run")
			}
			a := analyse(f, ranges)
			whole := a.Range(y).Mag()
			for v, share := range map[*ir.Value]float64{s: 1.0 / 16, parts[0]: 1.0 / 16, parts[1]: 0.6, parts[2]: 1} {
				if m := a.Range(v).Mag(); m > share*whole || m == 0 {
					t.Errorf("%s is within %v, want %v", v.Name, a.Range(v), a.Range(y))
				}
			}
		})
	}
}
