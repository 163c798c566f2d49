package conformance

import (
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// Empty sets an extent of a parameter of the function to 0 and reports whether the shape rules of all operations allow
// it. A function for which they do not is left in pieces.
func Empty(f *ir.Func, param, axis int) bool {
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
