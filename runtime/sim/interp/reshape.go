package interp

import (
	"github.com/zinc-compiler/zinc/ir"
)

var _ = add(map[*ir.Operation]kernel{
	ir.OpIdentity:    func(c *call) []Tensor { return identity(c) },
	ir.OpReshape:     reshape,
	ir.OpReshapeLike: reshapeLike,
	ir.OpExpandDims:  expandDims,
	ir.OpSqueeze:     squeeze,
	ir.OpFlatten2D:   flatten2d,
	ir.OpShape:       shapeOf,
})

func identity(c *call) []Tensor {
	x, ok := c.opt(ir.ParamX)
	if !ok {
		return c.fail("argument x is missing")
	}
	return results(c.port(x))
}

// view returns x under another shape of as many elements.
func (c *call) view(x Tensor, shape []int64) []Tensor {
	if c.err != nil {
		return nil
	}
	t := x.Type.WithShape(shape...)
	if len(shape) == 0 {
		t.Shape = nil
	}
	if t.Elems() != x.Type.Elems() {
		return c.fail("x of shape %s has %d elements, shape %s has %d", ir.ShapeString(x.Type.Shape), x.Elems(),
			ir.ShapeString(shape), t.Elems())
	}
	x = c.port(x)
	x.Type = t
	return results(x)
}

// reshape resolves 0 (keep the dimension) and -1 (the rest). Up to iOS 16 a 0
// keeps the dimension at its own position; from iOS 17 on zeros are matched from
// the right, and one that matches no dimension becomes 1.
func reshape(c *call) []Tensor {
	x := c.in(ir.ParamX)
	shape, ok := c.ints(ir.ParamShape)
	if !ok {
		return c.fail("argument shape is missing")
	}
	if c.err != nil {
		return nil
	}
	out := append([]int64(nil), shape...)
	old := x.Type.Shape
	rest, known := -1, int64(1)
	for i, d := range out {
		if d == 0 {
			j := i
			if c.since() >= 17 {
				j = len(old) - (len(out) - i)
			}
			switch {
			case j >= 0 && j < len(old):
				d = old[j]
			case c.since() >= 17:
				d = 1
			default:
				return c.fail("argument shape is %s: 0 at position %d keeps a dimension that x (shape %s) lacks",
					ir.ShapeString(shape), i, ir.ShapeString(old))
			}
			out[i] = d
		}
		switch {
		case d == -1 && rest >= 0:
			return c.fail("argument shape is %v: more than one dimension is -1", shape)
		case d == -1:
			rest = i
		case d < -1:
			return c.fail("argument shape is %v: dimension %d is negative", shape, d)
		case d > 0 && known > int64(1)<<62/d:
			return c.fail("argument shape is %v: too many elements", shape)
		default:
			known *= d
		}
	}
	if rest >= 0 {
		if known == 0 || int64(x.Elems())%known != 0 {
			return c.fail("x of shape %s has %d elements, which %v does not divide", ir.ShapeString(old), x.Elems(),
				shape)
		}
		out[rest] = int64(x.Elems()) / known
	}
	return c.view(x, out)
}

// reshapeLike takes the new shape from pieces of the shapes of other tensors.
func reshapeLike(c *call) []Tensor {
	x := c.in(ir.ParamX)
	refs, begins, ends, masks := c.tuple(ir.ParamRefTensors), c.tuple(ir.ParamBegins), c.tuple(ir.ParamEnds),
		c.tuple(ir.ParamEndMasks)
	if c.err != nil {
		return nil
	}
	if len(begins) != len(refs) || len(ends) != len(refs) || len(masks) != len(refs) {
		return c.fail("has %d ref_tensors, %d begins, %d ends and %d end_masks", len(refs), len(begins), len(ends),
			len(masks))
	}
	var shape []int64
	for i, r := range refs {
		for _, t := range []Tensor{begins[i], ends[i], masks[i]} {
			if t.Elems() != 1 || t.Type.DType.IsFloat() || t.Type.DType == ir.String {
				return c.fail("begins, ends and end_masks must be single integers, one is %s", t.Type)
			}
		}
		n := int64(r.Type.Rank())
		b, e := begins[i].Ints()[0], ends[i].Ints()[0]
		if b < 0 {
			b += n
		}
		if masks[i].Ints()[0] != 0 {
			e = n
		} else if e < 0 {
			e += n
		}
		if b < 0 || b > n || e > n {
			return c.fail("range [%d, %d) is outside the rank %d of ref_tensors[%d]", b, e, n, i)
		}
		if b < e {
			shape = append(shape, r.Type.Shape[b:e]...)
		}
	}
	return c.view(x, shape)
}

// expandDims inserts dimensions of 1 at positions of the result.
func expandDims(c *call) []Tensor {
	x := c.in(ir.ParamX)
	axes, ok := c.ints(ir.ParamAxes)
	if !ok {
		return c.fail("argument axes is missing")
	}
	rank := x.Type.Rank() + len(axes)
	one := make([]bool, rank)
	for _, a := range axes {
		i := c.wrapAxis(ir.ParamAxes, a, rank)
		if c.err == nil && one[i] {
			return c.fail("argument axes is %v: %d appears twice", axes, a)
		}
		if c.err != nil {
			return nil
		}
		one[i] = true
	}
	shape := make([]int64, 0, rank)
	rest := x.Type.Shape
	for _, o := range one {
		if o {
			shape = append(shape, 1)
		} else {
			shape = append(shape, rest[0])
			rest = rest[1:]
		}
	}
	return c.view(x, shape)
}

// squeeze drops dimensions of 1; a dimension that is named but is not 1 stays.
func squeeze(c *call) []Tensor {
	x := c.in(ir.ParamX)
	on := c.axesArg(ir.ParamAxes, x.Type.Rank())
	if c.err != nil {
		return nil
	}
	shape := []int64{}
	for i, d := range x.Type.Shape {
		if !on[i] || d != 1 {
			shape = append(shape, d)
		}
	}
	return c.view(x, shape)
}

// flatten2d multiplies the dimensions before and from axis on.
func flatten2d(c *call) []Tensor {
	x := c.in(ir.ParamX)
	rank := x.Type.Rank()
	a := c.int(ir.ParamAxis, 1)
	if a < 0 {
		a += int64(rank)
	}
	if c.err == nil && (a < 0 || a > int64(rank)) {
		return c.fail("argument axis is %d, outside the rank %d", a, rank)
	}
	if c.err != nil {
		return nil
	}
	return c.view(x, []int64{int64(prod(x.Type.Shape[:a])), int64(prod(x.Type.Shape[a:]))})
}

func shapeOf(c *call) []Tensor {
	x := c.in(ir.ParamX)
	if c.err != nil {
		return nil
	}
	return results(c.outInts(0, []int64{int64(x.Type.Rank())}, append([]int64(nil), x.Type.Shape...)))
}
