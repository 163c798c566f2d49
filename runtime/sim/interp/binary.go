package interp

import (
	"math"

	"github.com/zinc-compiler/zinc/ir"
)

// binaryOp is one operation of two operands that broadcast.
type binaryOp struct {
	f   func(x, y float32) float32  // on floats; nil: row
	i   func(x, y int64) int64      // on integers and booleans; nil: not defined
	row func(out, xs, ys []float32) // instead of f, on rows of the same length
}

// compare is one comparison.
type compare struct {
	f func(x, y float32) bool
	i func(x, y int64) bool
}

var binaries = map[*ir.Operation]binaryOp{
	ir.OpAdd:      {nil, func(x, y int64) int64 { return x + y }, addRow},
	ir.OpSub:      {func(x, y float32) float32 { return x - y }, func(x, y int64) int64 { return x - y }, nil},
	ir.OpMul:      {nil, func(x, y int64) int64 { return x * y }, mulRow},
	ir.OpRealDiv:  {func(x, y float32) float32 { return x / y }, truncDiv, nil},
	ir.OpFloorDiv: {floorDivFloat, floorDivInt, nil},
	ir.OpMod:      {modFloat, modInt, nil},
	ir.OpPow:      {powFloat, powInt, nil},
	ir.OpMaximum:  {maxFloat, func(x, y int64) int64 { return max(x, y) }, nil},
	ir.OpMinimum:  {minFloat, func(x, y int64) int64 { return min(x, y) }, nil},
}

func addRow(out, xs, ys []float32) {
	xs, ys = xs[:len(out)], ys[:len(out)]
	for i := range out {
		out[i] = xs[i] + ys[i]
	}
}

func mulRow(out, xs, ys []float32) {
	xs, ys = xs[:len(out)], ys[:len(out)]
	for i := range out {
		out[i] = xs[i] * ys[i]
	}
}

var compares = map[*ir.Operation]compare{
	ir.OpEqual:        {func(x, y float32) bool { return x == y }, func(x, y int64) bool { return x == y }},
	ir.OpNotEqual:     {func(x, y float32) bool { return x != y }, func(x, y int64) bool { return x != y }},
	ir.OpLess:         {func(x, y float32) bool { return x < y }, func(x, y int64) bool { return x < y }},
	ir.OpLessEqual:    {func(x, y float32) bool { return x <= y }, func(x, y int64) bool { return x <= y }},
	ir.OpGreater:      {func(x, y float32) bool { return x > y }, func(x, y int64) bool { return x > y }},
	ir.OpGreaterEqual: {func(x, y float32) bool { return x >= y }, func(x, y int64) bool { return x >= y }},
}

var logicals = map[*ir.Operation]func(x, y bool) bool{
	ir.OpLogicalAnd: func(x, y bool) bool { return x && y },
	ir.OpLogicalOr:  func(x, y bool) bool { return x || y },
	ir.OpLogicalXor: func(x, y bool) bool { return x != y },
}

var _ = add(func() map[*ir.Operation]kernel {
	ks := map[*ir.Operation]kernel{ir.OpSelect: selectKernel}
	for n, b := range binaries {
		ks[n] = b.kernel
	}
	for n, b := range compares {
		ks[n] = b.kernel
	}
	for n, f := range logicals {
		ks[n] = func(c *call) []Tensor { return logical(c, f) }
	}
	return ks
}())

// maxFloat propagates a NaN, as numpy's maximum does.
func maxFloat(x, y float32) float32 {
	if x > y || x != x {
		return x
	}
	return y
}

func minFloat(x, y float32) float32 {
	if x < y || x != x {
		return x
	}
	return y
}

func powFloat(x, y float32) float32 {
	if y == 2 {
		return x * x
	}
	return float32(math.Pow(float64(x), float64(y)))
}

// truncDiv divides towards zero; a division by zero returns 0.
func truncDiv(x, y int64) int64 {
	if y == 0 {
		return 0
	}
	return x / y
}

func floorDivInt(x, y int64) int64 {
	if y == 0 {
		return 0
	}
	q := x / y
	if x%y != 0 && (x < 0) != (y < 0) {
		q--
	}
	return q
}

// modInt has the sign of the divisor, like Python's %; x mod 0 is 0.
func modInt(x, y int64) int64 {
	if y == 0 {
		return 0
	}
	m := x % y
	if m != 0 && (m < 0) != (y < 0) {
		m += y
	}
	return m
}

// floorDivFloat is numpy's floor_divide, built on the exact remainder: it is
// not always floor(x/y), which may round up first.
func floorDivFloat(x, y float32) float32 {
	if y == 0 {
		return x / y
	}
	a, b := float64(x), float64(y)
	m := math.Mod(a, b)
	q := (a - m) / b
	if m != 0 && (b < 0) != (m < 0) {
		q--
	}
	if q == 0 {
		return float32(math.Copysign(0, a/b))
	}
	f := math.Floor(q)
	if q-f > 0.5 {
		f++
	}
	return float32(f)
}

func modFloat(x, y float32) float32 {
	a, b := float64(x), float64(y)
	m := math.Mod(a, b)
	if m == 0 {
		return float32(math.Copysign(0, b))
	}
	if (b < 0) != (m < 0) {
		m += b
	}
	return float32(m)
}

// powInt truncates x**y; results past 64 bits wrap.
func powInt(x, y int64) int64 {
	if y < 0 {
		return saturate(ir.Int64, math.Pow(float64(x), float64(y)))
	}
	r := int64(1)
	for ; y > 0; y >>= 1 {
		if y&1 != 0 {
			r *= x
		}
		x *= x
	}
	return r
}

// operands returns x and y and the shape they broadcast to.
func operands(c *call, a, b ir.ParamName) (x, y Tensor, shape []int64) {
	x, y = c.numeric(a), c.numeric(b)
	if c.err != nil {
		return
	}
	if x.Type.DType != y.Type.DType {
		c.fail("%s is %s and %s is %s: the element types differ", a, x.Type, b, y.Type)
		return
	}
	shape, ok := broadcastShape(x.Type.Shape, y.Type.Shape)
	if !ok {
		c.fail("%s of shape %s and %s of shape %s do not broadcast", a, ir.ShapeString(x.Type.Shape), b,
			ir.ShapeString(y.Type.Shape))
	} else if ir.TensorOf(x.Type.DType, shape...).Bytes() < 0 {
		c.fail("the broadcast shape %s is too large", ir.ShapeString(shape))
	}
	return x, y, shape
}

func (b binaryOp) kernel(c *call) []Tensor {
	x, y, shape := operands(c, ir.ParamX, ir.ParamY)
	if c.err != nil {
		return nil
	}
	if x.Type.DType.IsFloat() {
		xs, ys, out := c.shared(x, readPort), c.shared(y, readPort), c.buffer(prod(shape))
		if c.err != nil {
			return nil
		}
		if b.row != nil {
			zipRows(c, shape, xs, x.Type.Shape, ys, y.Type.Shape, out, b.row)
		} else {
			zip2(c, shape, xs, x.Type.Shape, ys, y.Type.Shape, out, b.f)
		}
		return results(c.outFloats(0, shape, out))
	}
	xs, ys := c.integers(x), c.integers(y)
	if !c.reserve(8 * int64(prod(shape))) {
		return nil
	}
	out := make([]int64, prod(shape))
	zip2(c, shape, xs, x.Type.Shape, ys, y.Type.Shape, out, b.i)
	return results(c.outInts(0, shape, out))
}

func (b compare) kernel(c *call) []Tensor {
	x, y, shape := operands(c, ir.ParamX, ir.ParamY)
	if c.err != nil || !c.reserve(int64(prod(shape))) {
		return nil
	}
	out := make([]bool, prod(shape))
	if x.Type.DType.IsFloat() {
		xs, ys := c.shared(x, readPort), c.shared(y, readPort)
		if c.err != nil {
			return nil
		}
		zip2(c, shape, xs, x.Type.Shape, ys, y.Type.Shape, out, b.f)
	} else {
		xs, ys := c.integers(x), c.integers(y)
		if c.err != nil {
			return nil
		}
		zip2(c, shape, xs, x.Type.Shape, ys, y.Type.Shape, out, b.i)
	}
	return results(c.outBools(0, shape, out))
}

// outBools makes result i, which may be declared of any numeric type, from
// truth values.
func (c *call) outBools(i int, shape []int64, vals []bool) Tensor {
	w := make([]int64, len(vals))
	for j, v := range vals {
		if v {
			w[j] = 1
		}
	}
	return c.outInts(i, shape, w)
}

func logical(c *call, f func(x, y bool) bool) []Tensor {
	x, y, shape := operands(c, ir.ParamX, ir.ParamY)
	if c.err != nil || !c.reserve(int64(prod(shape))+int64(x.Elems())+int64(y.Elems())) {
		return nil
	}
	out := make([]bool, prod(shape))
	zip2(c, shape, x.Bools(), x.Type.Shape, y.Bools(), y.Type.Shape, out, f)
	return results(c.outBools(0, shape, out))
}

// selectKernel copies the bits of a where cond is true, otherwise the bits of b.
func selectKernel(c *call) []Tensor {
	cond := c.numeric(ir.ParamCond)
	a, b, ab := operands(c, ir.ParamA, ir.ParamB)
	if c.err != nil {
		return nil
	}
	shape, ok := broadcastShape(cond.Type.Shape, ab)
	if !ok {
		return c.fail("cond of shape %s does not broadcast with a and b of shape %s", ir.ShapeString(cond.Type.Shape),
			ir.ShapeString(ab))
	}
	d := a.Type.DType
	if d.Bits() < 8 {
		return c.fail("element type %s is not supported", d)
	}
	data := c.bytes(d, shape)
	if c.err != nil {
		return nil
	}
	size := d.Bits() / 8
	cs := cond.Bools()
	a, b = c.port(a), c.port(b)
	st := [][]int{broadcastStrides(cond.Type.Shape, shape), broadcastStrides(a.Type.Shape, shape),
		broadcastStrides(b.Type.Shape, shape)}
	n, width := split(shape)
	last := make([]int, 3)
	if len(shape) > 0 {
		for k := range last {
			last[k] = st[k][len(shape)-1]
		}
	}
	c.parallel(n, 1+16384/max(1, width), func(lo, hi int) {
		rows(shape, lo, hi, st, func(at int, off []int) {
			o := [3]int{off[0], off[1], off[2]}
			for i := range width {
				src, k := a.Data, o[1]
				if !cs[o[0]] {
					src, k = b.Data, o[2]
				}
				copy(data[(at+i)*size:(at+i+1)*size], src[k*size:])
				o[0], o[1], o[2] = o[0]+last[0], o[1]+last[1], o[2]+last[2]
			}
		})
	})
	return results(Tensor{Type: ir.TensorOf(d, shape...), Data: data})
}
