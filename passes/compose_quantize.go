package passes

import "github.com/zinc-compiler/zinc/ir"

// quantizeCompositions are those of what goes through integers of 8 bits.
var quantizeCompositions = []Composition{
	{Name: "rounded-pair", Ops: ops{ir.OpDequantize}, Also: []ir.DType{ir.Int8, ir.UInt8},
		Doc: "of a quantize and what reads it: round of the quotient by the scale, between the bounds of the " +
			"integers, plus the difference of the zero points, times the scale",
		Covers: "the input is the result of quantize", apply: roundedPair},
}

// scales are the scale and zero point of quantize or dequantize, by element or one for all.
type scales struct {
	shape       []int64 // of constants that spread over the operand
	scale, zero func(i int64) float64
	from        []*ir.Value
}

func (c *composer) scalesOf(op *ir.Op) (s scales) {
	of := func(name ir.ParamName, absent float64) func(i int64) float64 {
		v := op.Arg(name)
		switch {
		case v == nil:
			return func(int64) float64 { return absent }
		case !v.IsConst():
			c.decline("%s is computed", name)
			return nil
		}
		s.from = append(s.from, v)
		if v.Type.Rank() > 0 && s.shape == nil {
			rank := op.Arg(ir.ParamInput).Type.Rank()
			axis, err := ir.AxisAttr(op, ir.ParamAxis, rank)
			if err != nil {
				c.decline("%v", err)
				return nil
			}
			for range rank {
				s.shape = append(s.shape, 1)
			}
			s.shape[axis] = v.Type.Elems()
		}
		if v.Type.Elems() == 1 {
			return func(int64) float64 { return v.Const.Float(0) }
		}
		return v.Const.Float
	}
	s.scale, s.zero = of(ir.ParamScale, 1), of(ir.ParamZeroPoint, 0)
	return s
}

// roundedPair stays in fp16 between the two: the integers and their differences are exact there. What the bounds of
// the integers cut off is cut before rounding, where it is the same.
func roundedPair(c *composer) {
	q := c.op.Arg(ir.ParamInput).Def
	if q == nil || !q.Is(ir.OpQuantize) || q.Arg(ir.ParamInput).Type.DType != ir.FP16 {
		c.decline("input is not the result of a quantize of fp16")
		return
	}
	in, out := c.scalesOf(q), c.scalesOf(c.op)
	if c.err != nil {
		return
	}
	least, most := -128.0, 127.0
	if q.Results[0].Type.DType == ir.UInt8 {
		least, most = 0, 255
	}
	made := func(s scales, at func(i int64) float64) *ir.Value { return c.computed(at, s.shape, s.from...) }
	y := c.div(q.Arg(ir.ParamInput), made(in, in.scale))
	y = c.max(y, made(in, func(i int64) float64 { return least - in.zero(i) }))
	y = c.min(y, made(in, func(i int64) float64 { return most - in.zero(i) }))
	y = c.unary(ir.OpRound, y)
	if q.Arg(ir.ParamZeroPoint) != nil {
		y = c.add(y, made(in, in.zero))
	}
	if c.op.Arg(ir.ParamZeroPoint) != nil {
		y = c.sub(y, made(out, out.zero))
	}
	c.become(c.mul(y, made(out, out.scale)))
}
