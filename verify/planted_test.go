package verify

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/prove"
)

// planted is a fault of a compiler: a change of one statement or constant of a function. It reports whether the
// function has a place for it; at chooses the place, 0 for the first and 1 for the last.
type planted struct {
	name   string
	change func(f *ir.Func, at int) bool
}

// place calls f for the operations of a function from one end until it accepts one.
func place(fn *ir.Func, at int, f func(op *ir.Op) bool) bool {
	ops := slices.Clone(fn.Body.Ops)
	if at == 1 {
		slices.Reverse(ops)
	}
	return slices.ContainsFunc(ops, f)
}

// constant replaces a constant float operand of more than one element, or with one set exactly one, by what change
// makes of its elements.
func constant(op *ir.Op, p ir.ParamName, one bool, change func(vs []float64) bool) bool {
	v := op.Arg(p)
	if v == nil || !v.IsConst() || !v.Type.DType.IsFloat() || (v.Type.Elems() == 1) != one {
		return false
	}
	vs := v.Const.Floats()
	if !change(vs) {
		return false
	}
	c := &ir.Const{Type: v.Type}
	for _, x := range vs {
		c.Data = ir.AppendElem(c.Data, v.Type.DType, x)
	}
	op.SetArg(p, &ir.Value{Name: v.Name, Type: v.Type, Const: c, Pos: v.Pos})
	return true
}

func largest(vs []float64) float64 {
	m := 0.0
	for _, v := range vs {
		m = max(m, math.Abs(v))
	}
	return m
}

// isProduct reports whether an operation is a product with weights, which are its operand p.
func isProduct(op *ir.Op) (p ir.ParamName, ok bool) {
	switch {
	case op.Is(ir.OpConv, ir.OpLinear):
		return ir.ParamWeight, true
	case op.Is(ir.OpMatMul):
		return ir.ParamY, true
	case op.Is(ir.OpLSTM):
		return ir.ParamWeightIH, true
	}
	return "", false
}

// becomes replaces an operation by another one with the operand x.
func becomes(op *ir.Op, o *ir.Operation) bool {
	x := op.Arg(ir.ParamX)
	n := ir.NewOp(o.Forms()[0])
	n.SetArg(ir.ParamX, x)
	op.Def, op.Args = n.Def, n.Args
	return true
}

var faults = []planted{
	{"epsilon times 1,000", func(f *ir.Func, at int) bool {
		return place(f, at, func(op *ir.Op) bool {
			return op.Is(ir.OpLayerNorm, ir.OpBatchNorm, ir.OpInstanceNorm, ir.OpRsqrt) &&
				constant(op, ir.ParamEpsilon, true, func(vs []float64) bool { vs[0] *= 1000; return vs[0] != 0 })
		})
	}},
	{"two neighbouring weights swapped", func(f *ir.Func, at int) bool {
		return place(f, at, func(op *ir.Op) bool {
			p, ok := isProduct(op)
			return ok && constant(op, p, false, func(vs []float64) bool {
				i := len(vs) / 2
				for ; i+1 < len(vs) && vs[i] == vs[i+1]; i++ {
				}
				if i+1 == len(vs) {
					return false
				}
				vs[i], vs[i+1] = vs[i+1], vs[i]
				return true
			})
		})
	}},
	{"one weight off by the largest", func(f *ir.Func, at int) bool {
		return place(f, at, func(op *ir.Op) bool {
			p, ok := isProduct(op)
			return ok && constant(op, p, false, func(vs []float64) bool {
				vs[len(vs)/3] += largest(vs)
				return true
			})
		})
	}},
	{"bias of one output off by the largest", func(f *ir.Func, at int) bool {
		return place(f, at, func(op *ir.Op) bool {
			return constant(op, ir.ParamBias, false, func(vs []float64) bool {
				vs[len(vs)/3] += largest(vs)
				return largest(vs) > 0
			})
		})
	}},
	{"gain shifted by one", func(f *ir.Func, at int) bool {
		return place(f, at, func(op *ir.Op) bool {
			return constant(op, ir.ParamGamma, false, func(vs []float64) bool {
				copy(vs, append(slices.Clone(vs[1:]), vs[0]))
				return slices.Max(vs) != slices.Min(vs)
			})
		})
	}},
	{"another activation", func(f *ir.Func, at int) bool {
		return place(f, at, func(op *ir.Op) bool {
			switch {
			case op.Is(ir.OpSigmoid):
				return becomes(op, ir.OpTanh)
			case op.Is(ir.OpTanh, ir.OpSilu, ir.OpGelu):
				return becomes(op, ir.OpSigmoid)
			case op.Is(ir.OpRelu):
				return becomes(op, ir.OpAbs)
			}
			return false
		})
	}},
	{"difference for a sum", func(f *ir.Func, at int) bool {
		return place(f, at, func(op *ir.Op) bool {
			if !op.Is(ir.OpAdd) || op.Arg(ir.ParamX).IsConst() || op.Arg(ir.ParamY).IsConst() {
				return false
			}
			op.Def = ir.OpSub.Forms()[0]
			return true
		})
	}},
	{"dropped residual", func(f *ir.Func, at int) bool {
		return place(f, at, func(op *ir.Op) bool {
			x, y := op.Arg(ir.ParamX), op.Arg(ir.ParamY)
			return op.Is(ir.OpAdd) && !x.IsConst() && !y.IsConst() && x.Type.Equal(op.Results[0].Type) &&
				becomes(op, ir.OpIdentity)
		})
	}},
}

// mutated are six real models of different kinds.
var mutated = []string{"mnist-cnn-inline", "silero-v6-fp16", "parakeet-eou-joint", "parakeet-eou-decoder-lstm",
	"espresso-decode-ffn", "espresso-rwkv-recurrent-step"}

// TestPlantedFaultsAreCaught plants faults in real models and requires that verify or prove finds each. A fault of a
// constant is planted in the bytes: they are those of the changed model, while the program that was lowered is that of
// the model. A fault of an operation is planted in a pass: bytes and lowered program are those of the changed model.
// The proof reads only the lowered program, so the second kind is for verify alone.
func TestPlantedFaultsAreCaught(t *testing.T) {
	shared := shareddir.Find(t)
	count := 0
	for _, name := range mutated {
		m, err := frontend.Open(shareddir.WithWeights(t, shared, filepath.Join(shared, "corpus", name)),
			frontend.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		good, err := compile.Compile(t.Context(), ir.CloneProgram(m.Program), compile.Options{Precision: "fp16"})
		if err != nil {
			t.Fatal(err)
		}
		for _, mu := range faults {
			for at := range 2 {
				p := ir.CloneProgram(m.Program)
				if !mu.change(p.Funcs[0], at) {
					continue
				}
				count++
				t.Run(fmt.Sprintf("%s/%s %d", name, mu.name, at), func(t *testing.T) { plant(t, good, p) })
			}
		}
	}
	if count < 46 {
		t.Errorf("%d faults were planted, want at least 46", count)
	}
}

// plant compiles a changed program and compares it with the good one.
func plant(t *testing.T, good *compile.Result, p *ir.Program) {
	bad, err := compile.Compile(t.Context(), p, compile.Options{Precision: "fp16"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := Open(bad)
	if err != nil {
		t.Fatal(err)
	}
	r := *good
	inBytes := sameShape(good.Functions[0], bad.Functions[0])
	if !inBytes {
		f := *bad.Functions[0]
		f.Reference = good.Functions[0].Reference
		r = *bad
		r.Functions = []*compile.Function{&f}
	}
	res, err := Check(t.Context(), &r, m, nil, Options{Seed: 1, Numerics: numerics.ANE})
	if err != nil {
		t.Fatal(err)
	}
	proof := prove.Open
	if inBytes {
		pr, err := prove.Pair(t.Context(), m, Provable(good), prove.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		proof = pr.Verdict
	}
	where := "in a pass"
	if inBytes {
		where = "in the bytes"
	}
	worst := Number(0)
	for _, o := range res.Outputs {
		worst = max(worst, o.Percent)
	}
	t.Logf("%s: outputs differ by %.3g %%; verify: %s, prove: %s", where, float64(worst), res.Verdict, proof)
	if res.Verdict != Fail && proof != prove.Wrong {
		t.Errorf("not caught: %+v", res.Outputs)
	}
}

// sameShape reports whether two functions were lowered to the same operations and tasks, so that only constants differ.
func sameShape(f, g *compile.Function) bool {
	a, b := f.Placed.Body.Ops, g.Placed.Body.Ops
	if len(a) != len(b) || len(f.Procedures) != len(g.Procedures) {
		return false
	}
	for i := range a {
		if a[i].Def != b[i].Def || a[i].Results[0].Name != b[i].Results[0].Name || a[i].Place.Unit != b[i].Place.Unit {
			return false
		}
		if a[i].Place.Unit != ir.Engine && (&call{}).unchanged(a[i].Results[0], b[i].Results[0]) == false {
			return false
		}
	}
	for i := range f.Procedures {
		if len(f.Procedures[i].Tasks) != len(g.Procedures[i].Tasks) {
			return false
		}
	}
	return true
}
