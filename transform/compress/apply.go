package compress

import (
	"fmt"

	"github.com/zinc-compiler/zinc/ir"
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
