package conformance

import (
	"fmt"
	"iter"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// Emptied yields the programs that differ from p in one extent of one input of its first function, which is 0, where
// the shape rules of all operations allow it, each with a name: the input and the axis.
func Emptied(p *ir.Program) iter.Seq2[string, *ir.Program] {
	return func(yield func(string, *ir.Program) bool) {
		for k, v := range p.Funcs[0].Body.Params {
			for axis := range v.Type.Shape {
				c := ir.CloneProgram(p)
				if empty(c.Funcs[0], k, axis) && !yield(fmt.Sprintf("%s/%d", v.Name, axis), c) {
					return
				}
			}
		}
	}
}

// empty sets an extent of a parameter of the function to 0 and reports whether the shape rules of all operations allow
// it. A function for which they do not is left in pieces.
func empty(f *ir.Func, param, axis int) bool {
	v := f.Body.Params[param]
	s := slices.Clone(v.Type.Shape)
	s[axis] = 0
	v.Type = v.Type.WithShape(s...)
	for _, op := range f.Body.Ops {
		if len(op.Blocks) > 0 {
			return false
		}
		ts, err := ir.InferOp(op)
		if err != nil {
			return false
		}
		for i, r := range op.Results {
			r.Type = ts[i]
		}
	}
	return true
}
