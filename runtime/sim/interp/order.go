package interp

import (
	"cmp"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

var _ = add(map[*ir.Operation]kernel{
	ir.OpTopK:     topk,
	ir.OpArgsort:  argsort,
	ir.OpCumsum:   cumsum,
	ir.OpRange1D:  range1d,
	ir.OpFill:     fill,
	ir.OpFillLike: fillLike,
	ir.OpOneHot:   oneHot,
	ir.OpNonZero:  nonZero,
})

// lanes calls f for the elements of every lane along an axis: the offset of its
// first element and the step between two.
func lanes(shape []int64, axis int, f func(lane, at, step int)) {
	n, inner := int(shape[axis]), prod(shape[axis+1:])
	for l := range prod(shape[:axis]) * inner {
		f(l, l/inner*inner*n+l%inner, inner)
	}
}

// sorted returns the order of the elements of a lane: ascending or descending,
// equal ones by index, a NaN after every number.
func sorted(n int, val func(i int) float64, ascending bool) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := val(a), val(b)
		switch {
		case x != x || y != y:
			if (x != x) != (y != y) {
				if x != x {
					return 1
				}
				return -1
			}
		case x != y && (x < y) == ascending:
			return -1
		case x != y:
			return 1
		}
		return cmp.Compare(a, b)
	})
	return order
}

// values returns the elements of a tensor as fp64 for comparison.
func (c *call) values(t Tensor) []float64 {
	if t.Type.DType == ir.String || !c.reserve(8*int64(t.Elems())) {
		c.fail("%s cannot be ordered", t.Type)
		return nil
	}
	out := make([]float64, t.Elems())
	if t.Type.DType.IsFloat() {
		for i, v := range c.floats(t) {
			out[i] = float64(v)
		}
		return out
	}
	for i, v := range t.Ints() {
		out[i] = float64(v)
	}
	return out
}

// topk returns the k largest (or smallest) elements of an axis and their indices. They are in order even if sort is
// false, which leaves the order unspecified.
func topk(c *call) []Tensor {
	x, size := c.moved(ir.ParamX)
	axis := c.axis(ir.ParamAxis, -1, x.Type.Rank())
	k := c.int(ir.ParamK, 1)
	ascending := c.bool(ir.ParamAscending, false)
	withIndices := c.bool(ir.ParamReturnIndices, true)
	if c.err != nil {
		return nil
	}
	n := x.Type.Shape[axis]
	if k == -1 {
		k = n
	}
	if k < 0 || k > n {
		return c.fail("k is %d, axis %d of x has %d elements", k, axis, n)
	}
	shape := slices.Clone(x.Type.Shape)
	shape[axis] = k
	out := Tensor{Type: ir.TensorOf(x.Type.DType, shape...), Data: c.bytes(x.Type.DType, shape)}
	vals := c.values(x)
	if c.err != nil || !c.reserve(8*int64(prod(shape))) {
		return nil
	}
	ind := make([]int64, prod(shape))
	inner := prod(shape[axis+1:])
	if len(ind) > 0 {
		lanes(x.Type.Shape, axis, func(l, at, step int) {
			order := sorted(int(n), func(i int) float64 { return vals[at+i*step] }, ascending)[:k]
			for i, o := range order {
				to := l/inner*inner*int(k) + l%inner + i*inner
				ind[to] = int64(o)
				copy(out.Data[to*size:(to+1)*size], x.Data[(at+o*step)*size:])
			}
		})
	}
	if !withIndices || len(c.op.Results) < 2 {
		return results(out)
	}
	return results(out, c.outInts(1, shape, ind))
}

func argsort(c *call) []Tensor {
	x := c.numeric(ir.ParamX)
	axis := c.axis(ir.ParamAxis, -1, x.Type.Rank())
	ascending := c.bool(ir.ParamAscending, false)
	if c.err != nil {
		return nil
	}
	vals := c.values(x)
	if c.err != nil || !c.reserve(8*int64(len(vals))) {
		return nil
	}
	out := make([]int64, len(vals))
	if len(out) > 0 {
		lanes(x.Type.Shape, axis, func(_, at, step int) {
			for i, o := range sorted(int(x.Type.Shape[axis]), func(i int) float64 {
				return vals[at+i*step]
			}, ascending) {
				out[at+i*step] = int64(o)
			}
		})
	}
	return results(c.outInts(0, x.Type.Shape, out))
}

// cumsum adds up along an axis; exclusive leaves each element out of its own
// sum, reverse starts at the end.
func cumsum(c *call) []Tensor {
	x := c.numeric(ir.ParamX)
	axis := c.axis(ir.ParamAxis, 0, x.Type.Rank())
	exclusive, reverse := c.bool(ir.ParamExclusive, false), c.bool(ir.ParamReverse, false)
	if c.err != nil {
		return nil
	}
	n := int(x.Type.Shape[axis])
	order := func(i int) int {
		if reverse {
			return n - 1 - i
		}
		return i
	}
	if x.Type.DType.IsFloat() {
		xs := c.floats(x)
		if c.err != nil || len(xs) == 0 {
			return results(c.outFloats(0, x.Type.Shape, xs))
		}
		lanes(x.Type.Shape, axis, func(_, at, step int) {
			s := 0.0
			for i := range n {
				p := at + order(i)*step
				v := float64(xs[p])
				if exclusive {
					xs[p] = float32(s)
				}
				if s += v; !exclusive {
					xs[p] = float32(s)
				}
			}
		})
		return results(c.outFloats(0, x.Type.Shape, xs))
	}
	xs := c.integers(x)
	if c.err != nil || len(xs) == 0 {
		return results(c.outInts(0, x.Type.Shape, xs))
	}
	lanes(x.Type.Shape, axis, func(_, at, step int) {
		s := int64(0)
		for i := range n {
			p := at + order(i)*step
			v := xs[p]
			if exclusive {
				xs[p] = s
			}
			if s += v; !exclusive {
				xs[p] = s
			}
		}
	})
	return results(c.outInts(0, x.Type.Shape, xs))
}

// range1d counts from start to end, end excluded, by step.
func range1d(c *call) []Tensor {
	for _, n := range []ir.ParamName{ir.ParamStart, ir.ParamEnd, ir.ParamStep} {
		c.numeric(n)
	}
	start, end, step := c.float(ir.ParamStart, 0), c.float(ir.ParamEnd, 0), c.float(ir.ParamStep, 1)
	if c.err != nil {
		return nil
	}
	n := math.Ceil((end - start) / step)
	if !(n > 0) || step == 0 {
		n = 0
	}
	if step == 0 || n > 1<<40 || start-start != 0 || step-step != 0 {
		return c.fail("start %g, end %g, step %g give no range", start, end, step)
	}
	shape := []int64{int64(n)}
	d := c.dtype(0)
	if d.IsFloat() {
		out := c.buffer(int(n))
		for i := range out {
			out[i] = float32(start + float64(float64(i)*step))
		}
		return results(c.outFloats(0, shape, out))
	}
	if !c.reserve(8 * int64(n)) {
		return nil
	}
	out := make([]int64, int(n))
	from, by := c.int(ir.ParamStart, 0), c.int(ir.ParamStep, 1)
	for i := range out {
		out[i] = from + int64(i)*by
	}
	return results(c.outInts(0, shape, out))
}

// filled makes result 0 of the given shape with one value everywhere.
func (c *call) filled(shape []int64) []Tensor {
	d := c.dtype(0)
	for _, n := range shape {
		if n < 0 {
			return c.fail("argument shape is %v: %d is negative", shape, n)
		}
	}
	v := c.element(ir.ParamValue, d)
	b := c.bytes(d, shape)
	if c.err != nil {
		return nil
	}
	for i := 0; i < len(b); i += len(v) {
		copy(b[i:], v)
	}
	return results(Tensor{Type: ir.TensorOf(d, shape...), Data: b})
}

func fill(c *call) []Tensor {
	shape, ok := c.ints(ir.ParamShape)
	if !ok {
		return c.fail("argument shape is missing")
	}
	return c.filled(shape)
}

func fillLike(c *call) []Tensor { return c.filled(c.in(ir.ParamRefTensor).Type.Shape) }

// oneHot inserts an axis that contains on_value at the index and off_value elsewhere; for an index outside the axis it
// contains only off_value.
func oneHot(c *call) []Tensor {
	ind := c.numeric(ir.ParamIndices)
	n := c.int(ir.ParamOneHotVectorSize, 0)
	axis := c.axis(ir.ParamAxis, -1, ind.Type.Rank()+1)
	d := c.dtype(0)
	on, off := c.element(ir.ParamOnValue, d), c.element(ir.ParamOffValue, d)
	if c.err != nil {
		return nil
	}
	if _, given := c.opt(ir.ParamOnValue); !given {
		if d.IsFloat() {
			packFloats(on, d, []float32{1})
		} else {
			packInts(on, d, []int64{1})
		}
	}
	if n < 1 || n >= maxDim {
		return c.fail("argument one_hot_vector_size is %d, must be positive", n)
	}
	shape := slices.Insert(slices.Clone(ind.Type.Shape), axis, n)
	b := c.bytes(d, shape)
	vs := c.integers(ind)
	if c.err != nil {
		return nil
	}
	inner := prod(shape[axis+1:])
	for i := range len(b) / len(on) {
		lane := i/(int(n)*inner)*inner + i%inner
		v := vs[lane]
		if v < 0 && c.since() < 17 {
			v += n
		}
		if v == int64(i/inner)%n {
			copy(b[i*len(on):], on)
		} else {
			copy(b[i*len(on):], off)
		}
	}
	return results(Tensor{Type: ir.TensorOf(d, shape...), Data: b})
}

// nonZero lists the coordinates of the elements that are not zero, in row-major
// order.
func nonZero(c *call) []Tensor {
	x := c.numeric(ir.ParamX)
	vals := c.values(x)
	if c.err != nil {
		return nil
	}
	rank := x.Type.Rank()
	if !c.reserve(8 * int64(len(vals)*rank)) {
		return nil
	}
	st := strides(x.Type.Shape)
	var out []int64
	n := int64(0)
	for i, v := range vals {
		if v != 0 {
			n++
			for d := range rank {
				out = append(out, int64(i/st[d])%x.Type.Shape[d])
			}
		}
	}
	return results(c.outInts(0, []int64{n, int64(rank)}, out))
}
