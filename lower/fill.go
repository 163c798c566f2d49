package lower

import (
	"github.com/zinc-compiler/zinc/ir"
)

func acceptFill(op *ir.Op, l *limits) error {
	for _, p := range []ir.ParamName{ir.ParamValue, ir.ParamShape} {
		if v := op.Arg(p); v != nil && !v.IsConst() {
			return unknownNow(p, string(p))
		}
	}
	return l.tensors(op)
}

// lowerFill broadcasts one number of the constant section to the result. The shape of fill_like's
// operand is known, and the operand is not read.
func lowerFill(b *builder, op *ir.Op) error {
	v, _ := ir.ArgFloat(op, ir.ParamValue)
	b.fill(b.resultOf(op.Results[0]), v)
	return nil
}
