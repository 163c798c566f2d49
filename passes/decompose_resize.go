package passes

import (
	"math"

	"github.com/zinc-compiler/zinc/ir"
)

// resizeDecompositions are the decompositions of operations that change the size of an image.
var resizeDecompositions = []Decomposition{
	{Name: "linear-resize", Ops: ops{ir.OpResizeBilinear, ir.OpUpsampleBilinear, ir.OpResize},
		Doc: "products with a constant matrix for every axis whose elements move, where an infinity in x makes the " +
			"results of its rows and columns NaN",
		Covers: "linear interpolation",
		apply:  linearResize},
	{Name: "nearest-resize",
		Ops:    ops{ir.OpResizeNearestNeighbor, ir.OpUpsampleNearestNeighbor, ir.OpResize},
		Doc:    "slices of every axis whose elements move, or tile where it grows by a whole factor",
		Covers: "the nearest element",
		apply:  nearestResize},
}

// samplingGrids are functions that return the place, in an axis of in elements, from which element i of out elements is
// read.
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

// resizing returns the sampling grid of a resizing operation, and whether it selects the nearest element. The name is a
// key for what is computed from the grid.
func (c *decomposer) resizing() (grid func(i, in, out float64) float64, nearest bool, name string) {
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
		c.Fail("sampling_mode is known only at run time")
	}
	switch {
	case c.op.Is(ir.OpResizeNearestNeighbor, ir.OpUpsampleNearestNeighbor):
		return grid, true, mode
	case c.op.Is(ir.OpResize):
		kind, _ := ir.ArgString(c.op, ir.ParamInterpolationMode)
		if kind == "NEAREST_NEIGHBOR" { // ties go to the higher element
			at := grid
			return func(i, in, out float64) float64 { return at(i, in, out) + 0.5 }, true, mode + " nearest"
		}
	}
	return grid, false, mode
}

// sampled returns the place from which element i of out elements is read, limited to the axis.
func sampled(grid func(i, in, out float64) float64, i, in, out int64) float64 {
	return min(max(grid(float64(i), float64(in), float64(out)), 0), float64(in-1))
}

// resized ends a decomposition that resizes the last axes, two of them unless resized_dims says otherwise, one after
// the other. place is what axis does with the grid: an axis along which every element stays in its place is skipped.
// The grid of OFFSET_CORNERS moves elements of an axis whose size stays too.
func (c *decomposer) resized(place func(i, in, out int64) float64,
	axis func(x *ir.Value, axis int, in, out int64) *ir.Value) {
	x := c.op.Arg(ir.ParamX)
	last := int64(2)
	if c.op.Is(ir.OpResize) {
		last, _ = ir.ArgInt(c.op, ir.ParamResizedDims)
	}
	stays := func(in, out int64) bool {
		for i := range out {
			if in != out || place(i, in, out) != float64(i) {
				return false
			}
		}
		return true
	}
	shape := c.op.Results[0].Type.Shape
	for i := len(shape) - int(last); i < len(shape); i++ {
		if in, out := x.Type.Shape[i], shape[i]; !stays(in, out) {
			x = axis(x, i, in, out)
		}
	}
	c.become(x)
}

func linearResize(c *decomposer) {
	grid, nearest, name := c.resizing()
	if nearest {
		c.Fail("it takes the nearest element")
	}
	place := func(i, in, out int64) float64 { return sampled(grid, i, in, out) }
	c.resized(place, func(x *ir.Value, axis int, in, out int64) *ir.Value {
		weight := func(i int64) float64 {
			p := place(i/in, in, out)
			switch low := math.Floor(p); float64(i%in) - low {
			case 0:
				return 1 - (p - low)
			case 1:
				return p - low
			}
			return 0
		}
		return c.resizeAxis(x, axis, out, func(shape ...int64) *ir.Value {
			return c.filled("linear "+name, weight, shape...)
		})
	})
}

// resizeAxis multiplies an axis of x by a matrix [out, in], which matrix returns in a shape with as many elements.
func (c *decomposer) resizeAxis(x *ir.Value, axis int, out int64, matrix func(shape ...int64) *ir.Value) *ir.Value {
	shape, in := x.Type.Shape, x.Type.Shape[axis]
	before, after := volume(shape[:axis]), volume(shape[axis+1:])
	to := append(append(append([]int64(nil), shape[:axis]...), out), shape[axis+1:]...)
	if axis == len(shape)-1 {
		// Divide the rows into matrices with as many rows as a product can have.
		rows := before
		for most := int64(c.s.Target.MaxWidth); rows > most; {
			rows = largestDivisor(rows, most)
		}
		y := c.MatMul(c.Reshape(x, before/rows, rows, in), matrix(out, in), true)
		return c.Reshape(y, to...)
	}
	// The axis becomes the channels of a 1x1 convolution, which moves nothing.
	v := c.Transpose(c.Reshape(x, before, in, after/shape[len(shape)-1], shape[len(shape)-1]), 1, 0, 2, 3)
	rest := v.Type.Shape
	v = c.conv(c.Reshape(v, 1, rest[0], rest[1]*rest[2], rest[3]), matrix(out, in, 1, 1), nil, []int64{1, 1}, nil,
		[]int64{1, 1}, 1)
	v = c.Transpose(c.Reshape(v, out, rest[1], rest[2], rest[3]), 1, 0, 2, 3)
	return c.Reshape(v, to...)
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

func nearestResize(c *decomposer) {
	grid, nearest, _ := c.resizing()
	if !nearest {
		c.Fail("it interpolates")
	}
	place := func(i, in, out int64) float64 { return math.Floor(sampled(grid, i, in, out)) }
	c.resized(place, func(x *ir.Value, axis int, in, out int64) *ir.Value {
		at := make([]int64, out)
		for i := range at {
			at[i] = int64(place(int64(i), in, out))
		}
		return c.taken(x, axis, at)
	})
}
