package explain

import (
	"math"

	"github.com/zinc-compiler/zinc/ir"
)

// maskedSum chooses by products with a mask, which is exact for finite operands.
func maskedSum(e *edit) {
	cond, t := e.op.Arg(ir.ParamCond), e.op.Results[0].Type.DType
	if !t.IsFloat() || cond.IsConst() {
		e.not()
		return
	}
	for _, name := range []ir.ParamName{ir.ParamA, ir.ParamB} {
		c := known(e.op.Arg(name))
		for i := int64(0); c != nil && i < c.Elems(); i++ {
			if v := c.Float(i); math.IsNaN(v) || math.IsInf(v, 0) {
				e.fail("%s holds %v, whose product with a zero is NaN; in its place a finite number does, for a "+
					"softmax behind it one like -30000", name, v)
				return
			}
		}
	}
	m := e.do(ir.OpCast, arg{ir.ParamX, cond}, arg{ir.ParamDType, e.str(t.String())})
	var sum []*ir.Value
	if a := e.op.Arg(ir.ParamA); !zero(a) {
		sum = append(sum, e.do(ir.OpMul, arg{ir.ParamX, a}, arg{ir.ParamY, m}))
	}
	if b := e.op.Arg(ir.ParamB); !zero(b) {
		sum = append(sum, e.do(ir.OpMul, arg{ir.ParamX, b}, arg{ir.ParamY, e.do(ir.OpSub, arg{ir.ParamX, e.num(t, 1)},
			arg{ir.ParamY, m})}))
	}
	if len(sum) == 0 {
		e.not()
		return
	}
	e.note = "holds where both sides are finite: a zero times an infinity is NaN"
	e.become(e.total(sum))
}

// zero reports whether a value is known to be a single zero.
func zero(v *ir.Value) bool {
	c := known(v)
	return c != nil && c.Elems() == 1 && c.Float(0) == 0
}
