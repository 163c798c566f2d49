package passes

import (
	"fmt"
	"math"

	"github.com/zinc-compiler/zinc/ir"
)

// resizeCompositions are those of images that change their size.
var resizeCompositions = []Composition{
	{Name: "linear-resize", Ops: ops{ir.OpResizeBilinear, ir.OpUpsampleBilinear, ir.OpResize},
		Doc:    "products with a constant matrix for every axis that changes",
		Covers: "linear interpolation",
		apply:  linearResize},
	{Name: "nearest-resize",
		Ops:    ops{ir.OpResizeNearestNeighbor, ir.OpUpsampleNearestNeighbor, ir.OpResize},
		Doc:    "gather with constant indices for every axis that changes, or tile where it grows by a whole factor",
		Covers: "the nearest element",
		apply:  nearestResize},
}

// samplingGrids give the place in an axis of in elements that element i of out ones is
// read from.
var samplingGrids = map[string]func(i, in, out float64) float64{
	"DEFAULT":              func(i, in, out float64) float64 { return i * in / out },
	"STRICT_ALIGN_CORNERS": func(i, in, out float64) float64 { return i * (in - 1) / math.Max(out-1, 1) },
	"ALIGN_CORNERS": func(i, in, out float64) float64 {
		if out == 1 {
			return (in - 1) / 2
		}
		return i * (in - 1) / (out - 1)
	},
	"UNALIGN_CORNERS": func(i, in, out float64) float64 { return (2*i+1)*in/(2*out) - 0.5 },
	"OFFSET_CORNERS":  func(i, in, out float64) float64 { return (2*i + 1) * math.Max(in-1, 1) / (2 * out) },
}

// resizing returns the sampling grid of a resizing operation, and whether it takes the
// nearest element. The name is a key for what is made from the grid.
func (c *composer) resizing() (grid func(i, in, out float64) float64, nearest bool, name string) {
	mode := "DEFAULT"
	switch {
	case c.op.Is(ir.OpUpsampleBilinear):
		align, _ := ir.ArgBool(c.op, ir.ParamAlignCorners)
		half, ok := ir.ArgBool(c.op, ir.ParamHalfPixelCenters)
		switch {
		case align:
			mode = "STRICT_ALIGN_CORNERS"
		case half || !ok || c.op.Arg(ir.ParamHalfPixelCenters) == nil:
			mode = "UNALIGN_CORNERS"
		}
	case c.op.Is(ir.OpResizeBilinear, ir.OpResize):
		mode, _ = ir.ArgString(c.op, ir.ParamSamplingMode)
	}
	grid, ok := samplingGrids[mode]
	if !ok {
		c.decline("sampling_mode is known only at run time")
		return nil, false, ""
	}
	switch {
	case c.op.Is(ir.OpResizeNearestNeighbor, ir.OpUpsampleNearestNeighbor):
		return grid, true, mode
	case c.op.Is(ir.OpResize):
		kind, _ := ir.ArgString(c.op, ir.ParamInterpolationMode)
		if kind == "NEAREST_NEIGHBOR" { // halves go to the higher element
			at := grid
			return func(i, in, out float64) float64 { return at(i, in, out) + 0.5 }, true, mode + " nearest"
		}
	}
	return grid, false, mode
}

// sampled is where element i of out ones is read from, held to the axis.
func sampled(grid func(i, in, out float64) float64, i, in, out int64) float64 {
	return min(max(grid(float64(i), float64(in), float64(out)), 0), float64(in-1))
}

func linearResize(c *composer) {
	grid, nearest, name := c.resizing()
	if nearest {
		c.decline("it takes the nearest element")
	}
	x := c.op.Arg(ir.ParamX)
	for axis, out := range c.op.Results[0].Type.Shape {
		if c.err != nil {
			return
		}
		in := x.Type.Shape[axis]
		if in == out {
			continue
		}
		weight := func(r, k int64) float64 {
			p := sampled(grid, r, in, out)
			switch low := math.Floor(p); float64(k) - low {
			case 0:
				return 1 - (p - low)
			case 1:
				return p - low
			}
			return 0
		}
		key := fmt.Sprint("linear ", name)
		x = c.resizeAxis(x, axis, out, func(shape ...int64) *ir.Value {
			return c.filled(key, func(i int64) float64 { return weight(i/in, i%in) }, shape...)
		})
	}
	c.become(x)
}

// resizeAxis multiplies an axis of x with a matrix [out, in], which matrix makes in a shape
// of as many elements.
func (c *composer) resizeAxis(x *ir.Value, axis int, out int64, matrix func(shape ...int64) *ir.Value) *ir.Value {
	if c.err != nil {
		return nil
	}
	shape, in := x.Type.Shape, x.Type.Shape[axis]
	before, after := elements(shape[:axis]), elements(shape[axis+1:])
	to := append(append(append([]int64(nil), shape[:axis]...), out), shape[axis+1:]...)
	if axis == len(shape)-1 {
		// Rows of a matrix are as many as a product takes at once.
		rows := before
		for most := int64(c.s.Target.MaxWidth); rows > most; {
			rows = largestDivisor(rows, most)
		}
		y := c.matmul(c.reshape(x, before/rows, rows, in), matrix(out, in), true)
		return c.reshape(y, to...)
	}
	// The axis becomes the channels of a 1x1 convolution, which moves nothing.
	v := c.transpose(c.reshape(x, before, in, after/shape[len(shape)-1], shape[len(shape)-1]), 1, 0, 2, 3)
	if c.err != nil {
		return nil
	}
	rest := v.Type.Shape
	v = c.do(ir.OpConv, arg{ir.ParamX, c.reshape(v, 1, rest[0], rest[1]*rest[2], rest[3])},
		arg{ir.ParamWeight, matrix(out, in, 1, 1)}, arg{ir.ParamStrides, c.ints(1, 1)},
		arg{ir.ParamPadType, c.str("valid")}, arg{ir.ParamPad, c.ints(0, 0, 0, 0)},
		arg{ir.ParamDilations, c.ints(1, 1)}, arg{ir.ParamGroups, c.int(1)})
	if c.err != nil {
		return nil
	}
	v = c.transpose(c.reshape(v, out, rest[1], rest[2], rest[3]), 1, 0, 2, 3)
	if c.err != nil {
		return nil
	}
	return c.reshape(v, to...)
}

// elements is the product of dimensions.
func elements(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return n
}

// largestDivisor returns the largest divisor of n that is at most most.
func largestDivisor(n, most int64) int64 {
	for d := most; d > 1; d-- {
		if n%d == 0 {
			return d
		}
	}
	return 1
}

func nearestResize(c *composer) {
	grid, nearest, _ := c.resizing()
	if !nearest && c.err == nil {
		c.decline("it interpolates")
	}
	x := c.op.Arg(ir.ParamX)
	for axis, out := range c.op.Results[0].Type.Shape {
		if c.err != nil {
			return
		}
		in := x.Type.Shape[axis]
		if in == out {
			continue
		}
		index := make([]int64, out)
		for i := range index {
			index[i] = int64(sampled(grid, int64(i), in, out))
		}
		x = c.pick(x, axis, index)
	}
	c.become(x)
}

// pick takes elements of an axis by index: copies of the whole where each follows itself as
// often as the others, else a gather.
func (c *composer) pick(x *ir.Value, axis int, index []int64) *ir.Value {
	in, out := x.Type.Shape[axis], int64(len(index))
	whole := out%in == 0
	for i, v := range index {
		whole = whole && v == int64(i)/(out/in)
	}
	if !whole {
		return c.do(ir.OpGather, arg{ir.ParamX, x}, arg{ir.ParamIndices, c.ints(index...)},
			arg{ir.ParamAxis, c.int(int64(axis))})
	}
	copies := make([]*ir.Value, out/in)
	for i := range copies {
		copies[i] = x
	}
	return c.interleave(axis, out, copies)
}
