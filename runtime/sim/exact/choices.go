package exact

import (
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics/field"
)

// firstOfEqual is the first place of the greatest or the least element of a row. An element is the greatest if its
// difference from it is 0, and no difference of numbers of fp16 is below 2^-24; the greatest of the places counted from
// the end is the first.
func firstOfEqual(c *call) []Tensor {
	a, err := ir.ReduceAttrs(c.op)
	out := c.op.Results[0].Type
	if err != nil || !c.floats() || len(a.Axes) == 0 {
		return nil
	}
	convert := Conversion(c.Functions, ir.FP16, out.DType)
	places := make([]field.Elem, out.Elems())
	c.eachRow(c.need(ir.ParamX), a.Axes, nil, func(k int, row []field.Elem) {
		n := int64(len(row))
		most, marks := field.Elem(0), make([]field.Elem, n)
		if c.op.Is(ir.OpReduceArgmax) {
			most = greatest(c, row)
		} else {
			most = least(c, row)
		}
		for i, x := range row {
			under := field.Sub(most, x)
			if c.op.Is(ir.OpReduceArgmin) {
				under = field.Neg(under)
			}
			equal := field.Sub(1, c.Min(field.Mul(under, field.Number(0x1p30)), 1))
			marks[i] = field.Mul(equal, field.Int(n-int64(i)))
		}
		places[k] = convert(field.Sub(field.Int(n), greatest(c, marks)))
	})
	return []Tensor{c.out(0, places)}
}

// same is whether two elements are equal, as comparisons have it.
func (c *call) same(x, y field.Elem) field.Elem {
	below, above := c.Signs(c.Sub(x, y))
	e := field.Sub(field.Sub(1, below), above)
	c.MarkBoolean(e)
	return e
}

// oneHot compares each index with all places.
func oneHot(c *call) []Tensor {
	x, out := c.need(ir.ParamIndices), c.op.Results[0].Type
	axis, err := ir.AxisAttr(c.op, ir.ParamAxis, out.Rank())
	if err != nil || out.Elems() == 0 {
		return nil
	}
	value := func(name ir.ParamName, absent field.Elem) field.Elem {
		if t, ok := c.arg(name); ok {
			return t.Elems[0]
		}
		return absent
	}
	on, off := value(ir.ParamOnValue, 1), value(ir.ParamOffValue, 0)
	convert := Conversion(c.Functions, ir.FP16, out.DType)
	n, inner := int(out.Shape[axis]), int(extent(out.Shape[axis+1:], nil))
	equal := func(x field.Elem, place int) field.Elem { return c.same(x, field.Int(int64(place))) }
	if n == 1 { // a comparison with a number
		is := c.valuation.comparison(0, 0, 1, 0)
		equal = func(x field.Elem, _ int) field.Elem { return is(x) }
	}
	y := make([]field.Elem, out.Elems())
	for i := range y {
		e := equal(x.Elems[i/(n*inner)*inner+i%inner], i/inner%n)
		v := field.Add(field.Mul(e, on), field.Mul(field.Sub(1, e), off))
		if out.DType == ir.Bool {
			c.MarkBoolean(v)
		} else {
			v = convert(v)
		}
		y[i] = v
	}
	return []Tensor{c.out(0, y)}
}
