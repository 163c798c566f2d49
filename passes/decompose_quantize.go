package passes

import (
	"math"

	"github.com/zinc-compiler/zinc/ir"
)

// quantizeDecompositions are the decompositions of operations that use integers of 8 bits.
var quantizeDecompositions = []Decomposition{
	{Name: "rounded-pair", Ops: ops{ir.OpDequantize}, Also: []ir.DType{ir.Int8, ir.UInt8},
		Doc: "of a quantize and what reads it: round of the quotient by the scale, between the bounds of the " +
			"integers, plus the difference of the zero points, times the scale",
		Covers: "the input is the result of quantize", apply: roundedPair},
	{Name: "quantized", Ops: ops{ir.OpQuantize},
		Doc:    "real_div, round, add, clip, and a conversion in the transfer",
		Covers: "constant zero points, and constant scales that are powers of two",
		Also:   []ir.DType{ir.Int8, ir.UInt8}, apply: quantized},
	{Name: "dequantized", Ops: ops{ir.OpDequantize},
		Doc:    "a conversion in the transfer, sub and mul",
		Covers: "constant scales and zero points", Also: []ir.DType{ir.Int8, ir.UInt8}, apply: dequantized},
}

// scales are the scale and zero point of quantize or dequantize, one for each element or one for all.
type scales struct {
	shape       []int64 // shape of constants that broadcast over the operand
	scale, zero func(i int64) float64
	from        []*ir.Value
}

func (c *decomposer) scalesOf(op *ir.Op) (s scales) {
	of := func(name ir.ParamName, absent float64) func(i int64) float64 {
		v := op.Arg(name)
		switch {
		case v == nil:
			return func(int64) float64 { return absent }
		case !v.IsConst():
			c.Fail("%s is computed", name)
		}
		s.from = append(s.from, v)
		if v.Type.Rank() > 0 && s.shape == nil {
			rank := op.Arg(ir.ParamInput).Type.Rank()
			axis, err := ir.AxisAttr(op, ir.ParamAxis, rank)
			if err != nil {
				c.Fail("%v", err)
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

// roundedPair stays in fp16 between the two operations, since the integers and their differences are exact there.
// Numbers beyond the bounds of the integers are clamped before rounding, which has the same result.
func roundedPair(c *decomposer) {
	q := c.op.Arg(ir.ParamInput).Def
	if q == nil || !q.Is(ir.OpQuantize) || q.Arg(ir.ParamInput).Type.DType != ir.FP16 {
		c.Fail("input is not the result of a quantize of fp16")
	}
	in, out := c.scalesOf(q), c.scalesOf(c.op)
	least, most := bounds(q)
	made := c.broadcastConst
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

// bounds returns the smallest and the largest result of a quantize.
func bounds(q *ir.Op) (least, most float64) {
	if q.Results[0].Type.DType == ir.UInt8 {
		return 0, 255
	}
	return -128, 127
}

// broadcastConst returns a constant of scales or zero points that broadcasts over the operand.
func (c *decomposer) broadcastConst(s scales, at func(i int64) float64) *ir.Value {
	return c.computed(at, s.shape, s.from...)
}

// quantized rounds in the engine, so that the conversion changes no number. It covers only scales whose reciprocals are
// exact: with others the quotient is off by up to 0.1 at 100, and the integer rounded from it by one.
func quantized(c *decomposer) {
	s := c.scalesOf(c.op)
	for i := range volume(s.shape) {
		if f, e := math.Frexp(s.scale(i)); f != 0.5 || e < -13 || e > 14 {
			c.Fail("scale %g is not a power of two from 2^-14 to 2^13, so its reciprocal in fp16 is rounded",
				s.scale(i))
		}
	}
	v := c.unary(ir.OpRound, c.div(c.op.Arg(ir.ParamInput), c.broadcastConst(s, s.scale)))
	if c.op.Arg(ir.ParamZeroPoint) != nil {
		v = c.add(v, c.broadcastConst(s, s.zero))
	}
	least, most := bounds(c.op)
	v = c.Do(ir.OpClip, arg(ir.ParamX, v), arg(ir.ParamAlpha, c.num(least)), arg(ir.ParamBeta, c.num(most)))
	c.become(c.Cast(v, c.op.Results[0].Type.DType))
}

// dequantized converts on the way to the engine.
func dequantized(c *decomposer) {
	if t := c.op.Results[0].Type.DType; t != ir.FP16 {
		c.Fail("its result is %s; the engine computes in fp16", t)
	}
	s := c.scalesOf(c.op)
	v := c.Cast(c.op.Arg(ir.ParamInput), ir.FP16)
	if c.op.Arg(ir.ParamZeroPoint) != nil {
		v = c.sub(v, c.broadcastConst(s, s.zero))
	}
	c.become(c.mul(v, c.broadcastConst(s, s.scale)))
}
