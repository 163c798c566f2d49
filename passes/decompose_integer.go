package passes

import (
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// integerDecompositions are the decompositions of operations that compute with integers. fp16 represents each byte of
// an integer, and the sum or difference of two bytes, so the results are exact. Products and quotients have none: the
// hardware has no integers wider than a port's byte, and fp16 represents every integer only up to 2048.
var integerDecompositions = []Decomposition{
	{Name: "compared-bytes", Ops: ops{ir.OpEqual, ir.OpNotEqual, ir.OpLess, ir.OpLessEqual, ir.OpGreater,
		ir.OpGreaterEqual},
		Doc:    "signs of the differences of the bytes, each with a greater weight than all lower ones",
		Covers: "integers of 8, 16 and 32 bits", Also: append(integers(), ir.Bool), idle: true, apply: comparedBytes},
	{Name: "chosen-integer", Ops: ops{ir.OpMaximum, ir.OpMinimum}, Doc: "greater or less, and select",
		Covers: "integers of 8, 16 and 32 bits", Also: integers(), idle: true, apply: chosenInteger},
	{Name: "carried-bytes", Ops: ops{ir.OpAdd, ir.OpSub},
		Doc:    "add or sub of each byte with the carry of the one below it",
		Covers: "integers of 8, 16 and 32 bits", Also: integers(), idle: true, apply: carriedBytes},
	{Name: "cast-bytes", Ops: ops{ir.OpCast},
		Doc:    "the bytes that both types have, and the sign above them",
		Covers: "between integers, and between integers and booleans", Also: append(integers(), ir.Bool), idle: true,
		apply: castBytes},
	{Name: "compared-index", Ops: ops{ir.OpOneHot}, Doc: "equal of the indices with all places, and select",
		Covers: "a constant size of up to 2048", Also: append(integers(), ir.Bool), live: true, apply: comparedIndex},
}

// highBit reports whether the highest bit of a byte is set.
func (c *decomposer) highBit(v *ir.Value) *ir.Value {
	return c.Do(ir.OpGreaterEqual, arg(ir.ParamX, v), arg(ir.ParamY, c.num(128)))
}

// pairOfIntegers returns the bytes of x and y.
func (c *decomposer) pairOfIntegers() (x, y []*ir.Value) {
	a, b := c.op.Arg(ir.ParamX), c.op.Arg(ir.ParamY)
	d := a.Type.DType
	if ir.Bytes(d) == 0 || b.Type.DType != d || a.IsConst() && b.IsConst() {
		c.Fail("the operands are %s and %s, not two integers of one type", d, b.Type.DType)
	}
	x, y = c.bytes(a), c.bytes(b)
	return x, y
}

// order compares the integers with bytes x and y: its result has the sign of the difference.
func (c *decomposer) order(x, y []*ir.Value, signed bool) *ir.Value {
	var sum *ir.Value
	last := len(x) - 1
	for k := range x {
		a, b := x[k], y[k]
		if k == last && signed {
			a, b = c.signed(a), c.signed(b)
		}
		d := c.sub(a, b)
		if last == 0 {
			return d
		}
		d = c.mul(c.unary(ir.OpSign, d), c.num(float64(int(1)<<k)))
		if sum == nil {
			sum = d
		} else {
			sum = c.add(sum, d)
		}
	}
	return sum
}

func comparedBytes(c *decomposer) {
	x, y := c.pairOfIntegers()
	signed := c.op.Arg(ir.ParamX).Type.DType.IsSigned() && !c.op.Is(ir.OpEqual, ir.OpNotEqual)
	c.become(c.Do(c.op.Def.Operation, arg(ir.ParamX, c.order(x, y, signed)), arg(ir.ParamY, c.num(0))))
}

func chosenInteger(c *decomposer) {
	x, y := c.pairOfIntegers()
	d := c.op.Results[0].Type.DType
	first := ir.OpGreater
	if c.op.Is(ir.OpMinimum) {
		first = ir.OpLess
	}
	is := c.Do(first, arg(ir.ParamX, c.order(x, y, d.IsSigned())), arg(ir.ParamY, c.num(0)))
	var out []*ir.Value
	for k := range x {
		out = append(out, c.choose(is, x[k], y[k]))
	}
	c.become(c.joinBytes(d, out))
}

// carriedBytes adds or subtracts modulo the size of the type, as the host does.
func carriedBytes(c *decomposer) {
	x, y := c.pairOfIntegers()
	var out []*ir.Value
	var carry *ir.Value // 1 where the byte below has one
	for k := range x {
		v := c.Binary(c.op.Def.Operation, x[k], y[k])
		if carry != nil {
			v = c.Binary(c.op.Def.Operation, v, carry)
		}
		beyond, by := c.Do(ir.OpGreaterEqual, arg(ir.ParamX, v), arg(ir.ParamY, c.num(256))), -256.0
		if c.op.Is(ir.OpSub) {
			beyond, by = c.Do(ir.OpLess, arg(ir.ParamX, v), arg(ir.ParamY, c.num(0))), 256
		}
		carry = c.choose(beyond, c.num(1), c.num(0))
		out = append(out, c.add(v, c.mul(carry, c.num(by))))
	}
	c.become(c.joinBytes(c.op.Results[0].Type.DType, out))
}

// castBytes wraps, as the host does.
func castBytes(c *decomposer) {
	x := c.op.Arg(ir.ParamX)
	from, to := x.Type.DType, c.op.Results[0].Type.DType
	n, m := ir.Bytes(from), ir.Bytes(to)
	var in []*ir.Value
	switch {
	case from == to || x.IsConst() || n == 0 && from != ir.Bool || m == 0 && to != ir.Bool:
		c.Fail("converts %s to %s", from, to)
	case n == 0:
		n, in = 1, []*ir.Value{c.Cast(x, ir.FP16)}
	default:
		in = c.bytes(x)
	}
	if m == 0 {
		sum := in[0]
		for _, v := range in[1:] {
			sum = c.add(sum, v)
		}
		c.become(c.Cast(sum, ir.Bool))
		return
	}
	// Bytes that x lacks repeat its sign; those that the result lacks are dropped.
	out := in[:min(m, n)]
	if m > n {
		above := c.mul(in[0], c.num(0))
		if from.IsSigned() {
			above = c.choose(c.highBit(in[n-1]), c.num(255), c.num(0))
		}
		for range m - n {
			out = append(out, above)
		}
	}
	c.become(c.joinBytes(to, out))
}

// comparedIndex compares every index with all places along the axis.
func comparedIndex(c *decomposer) {
	idx, out := c.op.Arg(ir.ParamIndices), c.op.Results[0].Type
	axis, err := ir.AxisAttr(c.op, ir.ParamAxis, out.Rank())
	if err != nil {
		c.Fail("%v", err)
	}
	if idx.IsConst() {
		c.Fail("indices are constant")
	}
	c.beyondIndexes("indices", out.Shape[axis])
	number := func(name ir.ParamName, absent float64) float64 {
		if v := c.op.Arg(name); v != nil {
			return v.Const.Float(0)
		}
		return absent
	}
	on, off := number(ir.ParamOnValue, 1), number(ir.ParamOffValue, 0)
	if out.DType == ir.Int32 && max(on, -on, off, -off) > maxIndexed {
		c.Fail("on_value %g and off_value %g: want integers of magnitude at most %d", on, off, maxIndexed)
	}
	shape, places := slices.Clone(out.Shape), slices.Repeat([]int64{1}, out.Rank())
	shape[axis], places[axis] = 1, out.Shape[axis]
	hit := c.equal(c.Reshape(c.counted(idx), shape...), c.iota(places...))
	if out.DType == ir.Bool {
		c.become(c.choose(hit, c.Bool(on != 0), c.Bool(off != 0)))
		return
	}
	v := c.choose(hit, c.num(on), c.num(off))
	if out.DType != ir.FP16 {
		v = c.Cast(v, out.DType)
	}
	c.become(v)
}
