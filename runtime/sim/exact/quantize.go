package exact

import (
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/numerics/field"
)

// perAxis returns an argument with one number, or one for each element of an axis of the input, as a tensor that
// broadcasts over it. Absent ones are a number.
func (c *call) perAxis(name ir.ParamName, absent field.Elem) (Tensor, bool) {
	x := c.op.Arg(ir.ParamInput).Type
	t, ok := c.arg(name)
	if !ok {
		return Tensor{ir.Scalar(x.DType), []field.Elem{absent}}, true
	}
	if t.Type.Rank() == 0 {
		return t, true
	}
	axis, err := ir.AxisAttr(c.op, ir.ParamAxis, x.Rank())
	if err != nil {
		return t, false
	}
	shape := slices.Repeat([]int64{1}, x.Rank())
	shape[axis] = int64(len(t.Elems))
	return Tensor{t.Type.WithShape(shape...), t.Elems}, true
}

// quantize rounds the quotient by the scale and adds the zero point, between the bounds of the integers. The bounds may
// come first, which changes nothing since they are integers.
func quantize(c *call) []Tensor {
	scale, okS := c.perAxis(ir.ParamScale, 1)
	zero, okZ := c.perAxis(ir.ParamZeroPoint, 0)
	out := c.op.Results[0].Type.DType
	low, high := int64(-128), int64(127)
	switch out {
	case ir.UInt8:
		low, high = 0, 255
	case ir.Int8:
	default:
		return nil
	}
	if !okS || !okZ || !c.op.Arg(ir.ParamScale).IsConst() {
		return nil
	}
	least, most := field.Int(low), field.Int(high)
	convert := Conversion(c.Functions, ir.FP16, out)
	// clamped bounds first, and is the integer; rounded bounds last, and is converted.
	clamped := func(q, zero field.Elem) field.Elem {
		q = c.Min(c.Max(q, field.Sub(least, zero)), field.Sub(most, zero))
		return field.Add(c.round(q), zero)
	}
	rounded := func(q, zero field.Elem) field.Elem {
		return convert(c.Clip(field.Add(c.round(q), zero), least, most))
	}
	var alternatives []func() []Tensor
	for _, inverse := range c.inverses(scale, c.op.Arg(ir.ParamScale).Const) {
		for _, f := range []func(q, zero field.Elem) field.Elem{clamped, rounded} {
			alternatives = append(alternatives, func() []Tensor {
				return c.broadcast(func(a []field.Elem) field.Elem { return f(field.Mul(a[0], a[1]), a[2]) },
					c.need(ir.ParamInput), inverse, zero)
			})
		}
	}
	return c.either(alternatives...)
}

// inverses are what a division by constants multiplies by: the exact inverses, or those rounded to fp16.
func (c *call) inverses(t Tensor, of *ir.Const) []Tensor {
	of16 := func(e func(f float64) field.Elem) Tensor {
		r := Tensor{t.Type, make([]field.Elem, len(t.Elems))}
		for i := range r.Elems {
			r.Elems[i] = e(numerics.FP16(1 / of.Float(int64(i))))
		}
		return r
	}
	exact := Tensor{t.Type, make([]field.Elem, len(t.Elems))}
	for i, x := range t.Elems {
		exact.Elems[i] = field.Inv(x)
	}
	return []Tensor{of16(c.valuation.Scalar), exact, of16(field.Number)}
}

func dequantize(c *call) []Tensor {
	scale, okS := c.perAxis(ir.ParamScale, 1)
	zero, okZ := c.perAxis(ir.ParamZeroPoint, 0)
	if !okS || !okZ {
		return nil
	}
	return c.broadcast(func(a []field.Elem) field.Elem { return field.Mul(field.Sub(a[0], a[2]), a[1]) },
		c.need(ir.ParamInput), scale, zero)
}
