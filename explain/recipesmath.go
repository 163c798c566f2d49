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

// attentionByParts spells scaled dot product attention out.
func attentionByParts(e *edit) {
	q, k, v := e.op.Arg(ir.ParamQuery), e.op.Arg(ir.ParamKey), e.op.Arg(ir.ParamValue)
	mask := e.op.Arg(ir.ParamAttnMask)
	if q == nil || k == nil || v == nil || !q.Type.Static() || q.Type.Rank() == 0 || !q.Type.DType.IsFloat() ||
		mask != nil && !mask.Type.DType.IsFloat() {
		e.not()
		return
	}
	width := q.Type.Shape[q.Type.Rank()-1]
	s := e.do(ir.OpMatMul, arg{ir.ParamX, q}, arg{ir.ParamY, k}, arg{ir.ParamTransposeX, e.bool(false)},
		arg{ir.ParamTransposeY, e.bool(true)})
	s = e.do(ir.OpMul, arg{ir.ParamX, s}, arg{ir.ParamY, e.num(q.Type.DType, 1/math.Sqrt(float64(width)))})
	if mask != nil {
		s = e.do(ir.OpAdd, arg{ir.ParamX, s}, arg{ir.ParamY, mask})
	}
	s = e.do(ir.OpSoftmax, arg{ir.ParamX, s}, arg{ir.ParamAxis, e.int(-1)})
	e.become(e.do(ir.OpMatMul, arg{ir.ParamX, s}, arg{ir.ParamY, v}, arg{ir.ParamTransposeX, e.bool(false)},
		arg{ir.ParamTransposeY, e.bool(false)}))
}

// quotient divides 1 by the operand.
func quotient(e *edit) {
	x, t := e.op.Arg(ir.ParamX), e.op.Results[0].Type.DType
	if eps := e.op.Arg(ir.ParamEpsilon); eps != nil && !zero(eps) {
		x = e.do(ir.OpAdd, arg{ir.ParamX, x}, arg{ir.ParamY, eps})
	}
	e.become(e.do(ir.OpRealDiv, arg{ir.ParamX, e.num(t, 1)}, arg{ir.ParamY, x}))
}
