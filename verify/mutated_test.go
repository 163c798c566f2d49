package verify

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/ir/irbuild"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/prove"
)

// A mutation changes one thing of an operation that is compiled wrongly. It reports whether the operation has it.
type mutation struct {
	name  string
	apply func(op *ir.Op) bool
}

var mutations = []mutation{
	{"epsilon times 1000", func(op *ir.Op) bool {
		return op.Def.Class == ir.Normalization &&
			rewriteConst(op, ir.ParamEpsilon, func(v []float64) bool { v[0] *= 1000; return true })
	}},
	{"two neighbouring weights exchanged", onWeights(func(v []float64) bool {
		i := slices.IndexFunc(v[1:], func(x float64) bool { return x != v[0] })
		if i < 0 {
			return false
		}
		v[i], v[i+1] = v[i+1], v[i]
		return true
	})},
	{"a weight replaced by the largest", onWeights(func(v []float64) bool {
		top, k := slices.Max(v), len(v)/2
		if v[k] == top {
			top = slices.Min(v)
		}
		v[k], top = top, v[k]
		return v[k] != top
	})},
	{"gain shifted by one", func(op *ir.Op) bool {
		return rewriteConst(op, ir.ParamGamma, func(v []float64) bool {
			was := slices.Clone(v)
			copy(v, append(was[1:len(was):len(was)], was[0]))
			return !slices.Equal(v, was)
		})
	}},
	{"bias dropped", func(op *ir.Op) bool {
		for _, name := range []ir.ParamName{ir.ParamBias, ir.ParamBeta} {
			if op.Arg(name).IsConst() && !op.Is(ir.OpClip) && op.Arg(name).Type.Rank() == 1 {
				return rewriteConst(op, name, func(v []float64) bool {
					any := slices.ContainsFunc(v, func(x float64) bool { return x != 0 })
					clear(v)
					return any
				})
			}
		}
		return false
	}},
	{"another activation", func(op *ir.Op) bool {
		for from, to := range map[*ir.Operation]*ir.Operation{ir.OpRelu: ir.OpSigmoid, ir.OpSigmoid: ir.OpTanh,
			ir.OpTanh: ir.OpSigmoid, ir.OpSilu: ir.OpSigmoid} {
			if op.Is(from) {
				op.Def = to.Forms()[0]
				return true
			}
		}
		return false
	}},
	{"the other sign", func(op *ir.Op) bool {
		if op.Is(ir.OpAdd) {
			op.Def = ir.OpSub.Forms()[0]
			return true
		}
		return rewriteConst(op, ir.ParamWeight, func(v []float64) bool {
			for i := range v {
				v[i] = -v[i]
			}
			return true
		})
	}},
	{"residual dropped", func(op *ir.Op) bool {
		x, y := op.Arg(ir.ParamX), op.Arg(ir.ParamY)
		if !op.Is(ir.OpAdd) || x.IsConst() || y.IsConst() || x == y || !x.Type.Equal(op.Results[0].Type) {
			return false
		}
		zero := &ir.Value{Name: "zero", Type: ir.TensorOf(x.Type.DType)}
		zero.Const = ir.ConstFloat(x.Type.DType, 0)
		op.SetArg(ir.ParamY, zero)
		return true
	}},
}

// onWeights changes the constant of a product.
func onWeights(f func(v []float64) bool) func(op *ir.Op) bool {
	return func(op *ir.Op) bool {
		if op.Is(ir.OpMatMul) {
			return rewriteConst(op, ir.ParamY, f)
		}
		return op.Is(ir.OpConv, ir.OpLinear) && rewriteConst(op, ir.ParamWeight, f)
	}
}

// rewriteConst changes the numbers of a constant operand.
func rewriteConst(op *ir.Op, name ir.ParamName, f func(v []float64) bool) bool {
	v := op.Arg(name)
	if !v.IsConst() || !v.Type.DType.IsFloat() || v.Type.Elems() < 1 {
		return false
	}
	numbers := v.Const.Floats()
	if len(numbers) > 1 || name == ir.ParamEpsilon {
		if !f(numbers) {
			return false
		}
	} else {
		return false
	}
	c := &ir.Const{Type: v.Type}
	for _, x := range numbers {
		c.Data = ir.AppendElem(c.Data, v.Type.DType, x)
	}
	op.SetArg(name, &ir.Value{Name: v.Name, Type: v.Type, Const: c, Pos: v.Pos})
	return true
}

// mutate applies a mutation to the last operation of a function that has what it changes, so that the change is in what
// the outputs depend on.
func mutate(f *ir.Func, m mutation) (where string) {
	for _, op := range slices.Backward(f.Body.Ops) {
		if m.apply(op) {
			return op.Def.Name + " " + op.Results[0].Name
		}
	}
	return ""
}

// block is a convolution with its norm, a residual and a layer norm with a gain and an addend.
func block() *ir.Program {
	g := irbuild.New(21)
	x := g.Input(1, 16, 6, 8)
	y := g.Op("conv", "x", x, "weight", g.Weights(16, 16, 3, 3), "bias", g.Weights(16), "pad_type", "same")
	variance := g.Filled(ir.FP16, func(i int64) float64 { return 0.5 + float64(i)/16 }, 16)
	y = g.Op("batch_norm", "x", y, "mean", g.Weights(16), "variance", variance, "gamma", g.Weights(16), "beta",
		g.Weights(16), "epsilon", 1e-3)
	y = g.Op("add", "x", g.Op("relu", "x", y), "y", x)
	y = g.Op("layer_norm", "x", y, "axes", []int{3}, "gamma", g.Weights(8), "beta", g.Weights(8), "epsilon", 1e-3)
	g.Output(g.Op("sigmoid", "x", y))
	return g.Program()
}

// TestMutatedPairsAndProgramsAreNotProved compiles models wrongly, in the ways that a tolerance of outputs did not
// notice: the bytes of a changed model against the model, and a changed result of the passes against the source.
func TestMutatedPairsAndProgramsAreNotProved(t *testing.T) {
	programs := map[string]*ir.Program{"block": block()}
	open := func(name, path string) {
		m, err := frontend.Open(path, frontend.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		programs[name] = m.Program
	}
	open("digits", filepath.Join("..", "examples", "digits", "digits.mlmodelc"))
	if !testing.Short() {
		shared := shareddir.Find(t)
		for _, n := range []string{"silero-v6-fp16", "mnist-cnn-inline", "espresso-fused-ffn",
			"espresso-rwkv-fused-two-layer-step"} {
			open(n, shareddir.WithWeights(t, shared, filepath.Join(shared, "corpus", n)))
		}
	}
	kinds := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		source := programs[name]
		o := compile.Options{Place: passes.PlaceEngine, Precision: passes.PrecisionFP16}
		good, err := compile.Compile(t.Context(), ir.CloneProgram(source), o)
		if err != nil {
			t.Fatal(err)
		}
		res, err := Prove(t.Context(), good, prove.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if res.Verdict != prove.Proved || res.Functions[0].Source.Open > 0 {
			var b strings.Builder
			res.Text(&b)
			t.Errorf("%s: as compiled: %s", name, b.String())
		}
		for _, mu := range mutations {
			p := ir.CloneProgram(source)
			if where := mutate(p.Funcs[0], mu); where != "" {
				kinds["bytes: "+mu.name]++
				bad, err := compile.Compile(t.Context(), p, o)
				if err != nil {
					t.Fatalf("%s, %s at %s: %v", name, mu.name, where, err)
				}
				mach, err := Open(bad)
				if err != nil {
					t.Fatal(err)
				}
				res, err := prove.Pair(t.Context(), mach, Provable(good), prove.Options{Seed: 1})
				if err == nil && res.Verdict == prove.Proved {
					t.Errorf("%s, %s at %s: the pair is proved", name, mu.name, where)
				}
			}
			f := Provable(good)[0]
			f.Program = ir.CloneFunc(f.Program, f.Program.Name)
			if where := mutate(f.Program, mu); where != "" {
				kinds["program: "+mu.name]++
				if r := prove.Program(&f, prove.Options{Seed: 1}); r.Open == 0 {
					t.Errorf("%s, %s at %s of the placed program: %d statements proved, %d checked, none is open", name,
						mu.name, where, r.Proved, r.Checked)
				}
			}
		}
	}
	for _, mu := range mutations {
		for _, at := range []string{"bytes: ", "program: "} {
			t.Logf("%s%s: %d models", at, mu.name, kinds[at+mu.name])
			if kinds[at+mu.name] == 0 {
				t.Errorf("no model has %s%s", at, mu.name)
			}
		}
	}
}
