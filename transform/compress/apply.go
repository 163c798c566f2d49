package compress

import (
	"fmt"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// choice is how weights are stored; those that it leaves out stay as they are.
type choice map[*weight]*encoded

// apply returns a copy of a program whose weights are stored as chosen, in functions of an opset.
func (c choice) apply(p *ir.Program, opset string) (*ir.Program, error) {
	of := map[*ir.Value]*weight{}
	for w := range c {
		for _, v := range w.values {
			of[v] = w
		}
	}
	out := ir.CloneProgram(p)
	for _, f := range out.Funcs {
		f.Opset = opset
		var ops []*ir.Op
		var dense ir.Rewriter
		var fault error
		for _, op := range f.Body.Ops {
			op.Reads(func(v *ir.Value) {
				w := of[v]
				if w == nil || dense.Find(v) != v || fault != nil {
					return
				}
				var expand *ir.Op
				if expand, fault = c[w].make(v.Name, opset, v.Pos); fault == nil {
					ops = append(ops, expand)
					dense.Replace(v, expand.Results[0])
				}
			})
			dense.Op(op)
			ops = append(ops, op)
		}
		if fault != nil {
			return nil, fault
		}
		f.Body.Ops = ops
		dense.Block(&ir.Block{Outputs: f.Body.Outputs})
	}
	if err := ir.Verify(out); err != nil {
		return nil, fmt.Errorf("the compressed program: %w", err)
	}
	return out, nil
}

// values returns a copy of a function with the values that the chosen weights expand to, for a run.
func (c choice) values(f *ir.Func, opset string) (*ir.Func, error) {
	out := ir.CloneFunc(f, f.Name)
	var dense ir.Rewriter
	for w, e := range c {
		expanded, err := e.expand(opset)
		if err != nil {
			return nil, err
		}
		for _, v := range w.values {
			n := *v
			n.Const = expanded
			dense.Replace(v, &n)
		}
	}
	dense.Apply(out)
	return out, nil
}

// widened returns a copy of a function that computes in fp32 what f computes in fp16, nil if there is no such function.
func widened(p *ir.Program, f *ir.Func) *ir.Func {
	out := ir.CloneFunc(f, f.Name)
	wide := map[*ir.Value]*ir.Value{}
	to32 := func(t *ir.Type) {
		if t.DType == ir.FP16 {
			t.DType = ir.FP32
		}
	}
	var block func(b *ir.Block)
	block = func(b *ir.Block) {
		for _, v := range b.Params {
			to32(&v.Type)
		}
		for _, op := range b.Ops {
			for i, a := range op.Args {
				half := op.Def.Params[i].Name == ir.ParamDType || op.Def.Params[i].Name == ir.ParamOutputDType
				for j, v := range a {
					switch c := v.Const; {
					case c == nil:
						continue
					case wide[v] != nil:
					case half && len(c.Strings) == 1 && c.Strings[0] == ir.FP16.String():
						wide[v] = &ir.Value{Name: v.Name, Type: v.Type, Const: ir.ConstString(ir.FP32.String())}
					case c.Type.DType == ir.FP16:
						wide[v] = inFP32(v)
					default:
						wide[v] = v
					}
					a[j] = wide[v]
				}
			}
			for _, n := range op.Blocks {
				block(n)
			}
			for _, v := range op.Results {
				to32(&v.Type)
			}
		}
	}
	block(out.Body)
	for i, v := range out.Body.Outputs {
		if v.Const != nil && wide[v] != nil {
			out.Body.Outputs[i] = wide[v]
		}
	}
	if ir.Verify(&ir.Program{Version: p.Version, Files: p.Files, Funcs: []*ir.Func{out}}) != nil {
		return nil
	}
	return out
}

// inFP32 returns a constant value with its numbers in fp32.
func inFP32(v *ir.Value) *ir.Value {
	n := *v
	t := interp.Make32(v.Type.Shape, func(vs []float32) { interp.FromConst(v.Const).Read32(vs) })
	n.Type, n.Const = t.Type, t.Const()
	return &n
}
