package explain

import (
	"math"

	"github.com/zinc-compiler/zinc/ir"
)

// maskedSum chooses by products with a mask, which is exact for finite operands.
func maskedSum(e *edit) {
	cond, t := e.op.Arg("cond"), e.op.Results[0].Type.DType
	if !t.IsFloat() || cond.IsConst() {
		e.not()
		return
	}
	for _, name := range []string{"a", "b"} {
		c := known(e.op.Arg(name))
		for i := int64(0); c != nil && i < c.Elems(); i++ {
			if v := c.Float(i); math.IsNaN(v) || math.IsInf(v, 0) {
				e.fail("%s holds %v, whose product with a zero is NaN; in its place a finite number does, for a "+
					"softmax behind it one like -30000", name, v)
				return
			}
		}
	}
	m := e.do(ir.OpCast, arg{"x", cond}, arg{"dtype", e.str(t.String())})
	var sum []*ir.Value
	if a := e.op.Arg("a"); !zero(a) {
		sum = append(sum, e.do(ir.OpMul, arg{"x", a}, arg{"y", m}))
	}
	if b := e.op.Arg("b"); !zero(b) {
		sum = append(sum, e.do(ir.OpMul, arg{"x", b}, arg{"y", e.do(ir.OpSub, arg{"x", e.num(t, 1)}, arg{"y", m})}))
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
	q, k, v := e.op.Arg("query"), e.op.Arg("key"), e.op.Arg("value")
	mask := e.op.Arg("attn_mask")
	if q == nil || k == nil || v == nil || !q.Type.Static() || q.Type.Rank() == 0 || !q.Type.DType.IsFloat() ||
		mask != nil && !mask.Type.DType.IsFloat() {
		e.not()
		return
	}
	width := q.Type.Shape[q.Type.Rank()-1]
	s := e.do(ir.OpMatMul, arg{"x", q}, arg{"y", k}, arg{"transpose_x", e.bool(false)},
		arg{"transpose_y", e.bool(true)})
	s = e.do(ir.OpMul, arg{"x", s}, arg{"y", e.num(q.Type.DType, 1/math.Sqrt(float64(width)))})
	if mask != nil {
		s = e.do(ir.OpAdd, arg{"x", s}, arg{"y", mask})
	}
	s = e.do(ir.OpSoftmax, arg{"x", s}, arg{"axis", e.int(-1)})
	e.become(e.do(ir.OpMatMul, arg{"x", s}, arg{"y", v}, arg{"transpose_x", e.bool(false)},
		arg{"transpose_y", e.bool(false)}))
}

// shiftedLogSum takes the maximum out of the sum, so that no exponential is large.
func shiftedLogSum(e *edit) {
	x := e.op.Arg("x")
	keep := arg{"keep_dims", e.bool(true)}
	most := e.do(ir.OpReduceMax, arg{"x", x}, arg{"axes", e.op.Arg("axes")}, keep)
	p := e.do(ir.OpExp, arg{"x", e.do(ir.OpSub, arg{"x", x}, arg{"y", most})})
	y := e.do(ir.OpAdd, arg{"x", e.do(ir.OpLog,
		arg{"x", e.do(ir.OpReduceSum, arg{"x", p}, arg{"axes", e.op.Arg("axes")},
			keep)})}, arg{"y", most})
	if want := e.op.Results[0].Type; y != nil && want.Static() && y.Type.Rank() != want.Rank() {
		y = e.reshape(y, want.Shape...)
	}
	e.become(y)
}

// quotient divides 1 by the operand.
func quotient(e *edit) {
	x, t := e.op.Arg("x"), e.op.Results[0].Type.DType
	if eps := e.op.Arg("epsilon"); eps != nil && !zero(eps) {
		x = e.do(ir.OpAdd, arg{"x", x}, arg{"y", eps})
	}
	e.become(e.do(ir.OpRealDiv, arg{"x", e.num(t, 1)}, arg{"y", x}))
}
