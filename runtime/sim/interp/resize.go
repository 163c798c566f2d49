package interp

import (
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

var _ = add(map[*ir.Operation]kernel{
	ir.OpUpsampleNearestNeighbor: func(c *call) []Tensor { return resized(c, (*call).upsampled, nearestFloor) },
	ir.OpResizeNearestNeighbor:   func(c *call) []Tensor { return resized(c, (*call).targeted, nearestFloor) },
	ir.OpUpsampleBilinear:        func(c *call) []Tensor { return resized(c, (*call).upsampled, c.upsampleGrid()) },
	ir.OpResizeBilinear:          func(c *call) []Tensor { return resized(c, (*call).targeted, c.samplingGrid()) },
	ir.OpResize:                  resize,
})

// grid returns the position, in an axis of in elements, that element i of out elements is read from, before it is
// clamped to the axis.
type grid struct {
	at      func(i, in, out float64) float64
	nearest bool // take the element at floor(at) instead of a mean of two
}

// place returns at of the grid within the axis.
func (g *grid) place(i, in, out int64) float64 {
	return min(max(g.at(float64(i), float64(in), float64(out)), 0), float64(in-1))
}

var nearestFloor = grid{func(i, in, out float64) float64 { return math.Floor(i * in / out) }, true}

// grids are the sampling modes.
var grids = map[string]func(i, in, out float64) float64{
	"DEFAULT": func(i, in, out float64) float64 { return i * in / out },
	"STRICT_ALIGN_CORNERS": func(i, in, out float64) float64 {
		if out == 1 {
			return 0
		}
		return i * (in - 1) / (out - 1)
	},
	"ALIGN_CORNERS": func(i, in, out float64) float64 {
		if out == 1 {
			return (in - 1) / 2
		}
		return i * (in - 1) / (out - 1)
	},
	"UNALIGN_CORNERS": func(i, in, out float64) float64 { return (i+0.5)*in/out - 0.5 },
	"OFFSET_CORNERS":  func(i, in, out float64) float64 { return (i + 0.5) * math.Max(1, in-1) / out },
}

func (c *call) samplingGrid() grid {
	m := c.choice(ir.ParamSamplingMode, "DEFAULT", "DEFAULT", "STRICT_ALIGN_CORNERS", "ALIGN_CORNERS",
		"UNALIGN_CORNERS",
		"OFFSET_CORNERS")
	return grid{at: grids[m]}
}

// upsampleGrid reads align_corners and, from iOS 16 on, half_pixel_centers,
// which is the opposite of align_corners where it is absent.
func (c *call) upsampleGrid() grid {
	align := c.bool(ir.ParamAlignCorners, true)
	switch half := c.bool(ir.ParamHalfPixelCenters, !align); {
	case align:
		return grid{at: grids["STRICT_ALIGN_CORNERS"]}
	case half:
		return grid{at: grids["UNALIGN_CORNERS"]}
	}
	return grid{at: grids["DEFAULT"]}
}

// upsampled is the size of an axis times its factor, rounded down; the scale of
// the grid is computed again from that size.
func (c *call) upsampled(h, w int64) (int64, int64) {
	size := func(name ir.ParamName, n int64) int64 {
		f := math.Floor(c.float(name, 1) * float64(n))
		if !(f >= 1) || f > maxDim {
			c.fail("argument %s makes %g of %d elements", name, f, n)
			return 1
		}
		return int64(f)
	}
	return size(ir.ParamScaleFactorHeight, h), size(ir.ParamScaleFactorWidth, w)
}

func (c *call) targeted(int64, int64) (int64, int64) {
	return c.int(ir.ParamTargetSizeHeight, 1), c.int(ir.ParamTargetSizeWidth, 1)
}

// resized resizes the last two dimensions.
func resized(c *call, size func(c *call, h, w int64) (int64, int64), g grid) []Tensor {
	x := c.numeric(ir.ParamX)
	n := x.Type.Rank()
	if c.err == nil && n < 3 {
		return c.fail("x has shape %s, needs at least 3 dimensions", ir.ShapeString(x.Type.Shape))
	}
	if c.err != nil {
		return nil
	}
	shape := slices.Clone(x.Type.Shape)
	shape[n-2], shape[n-1] = size(c, shape[n-2], shape[n-1])
	return c.resample(x, shape, n-2, g)
}

// resize takes the new sizes of the last resized_dims dimensions from the end of shape, where 0 keeps a dimension.
func resize(c *call) []Tensor {
	x := c.numeric(ir.ParamX)
	want, ok := c.ints(ir.ParamShape)
	k := c.int(ir.ParamResizedDims, 0)
	g := c.resizeGrid()
	n := x.Type.Rank()
	if c.err == nil && (!ok || k < 0 || k > int64(n) || k > int64(len(want))) {
		return c.fail("resized_dims is %d, x has shape %s and shape has %d elements", k, ir.ShapeString(x.Type.Shape),
			len(want))
	}
	if c.err != nil {
		return nil
	}
	shape := slices.Clone(x.Type.Shape)
	for i := range int(k) {
		if v := want[len(want)-1-i]; v != 0 {
			shape[n-1-i] = v
		}
	}
	return c.resample(x, shape, n-int(k), g)
}

func (c *call) resizeGrid() grid {
	g := c.samplingGrid()
	if c.choice(ir.ParamInterpolationMode, "LINEAR", "LINEAR", "NEAREST_NEIGHBOR") == "NEAREST_NEIGHBOR" {
		at := g.at
		g = grid{func(i, in, out float64) float64 { return math.Floor(at(i, in, out) + 0.5) }, true}
	}
	return g
}

// Interpolation returns how many of the last axes an operation resizes by linear interpolation, and the place in an
// axis of in elements that element i of out elements is read from: between two elements, its fraction is the weight of
// the higher one. at is nil for other operations, and if the place is known only at run time.
func Interpolation(op *ir.Op) (axes int, at func(i, in, out int64) float64) {
	known := true
	op.Operands(func(p *ir.Param, v *ir.Value) { known = known && (p.Name == ir.ParamX || v.IsConst()) })
	if !known {
		return 0, nil
	}
	c, n := &call{r: new(run), op: op}, int64(2)
	var g grid
	switch op.Def.Operation {
	case ir.OpUpsampleBilinear:
		g = c.upsampleGrid()
	case ir.OpResizeBilinear:
		g = c.samplingGrid()
	case ir.OpResize:
		g, n = c.resizeGrid(), c.int(ir.ParamResizedDims, 0)
	}
	if c.err != nil || g.at == nil || g.nearest {
		return 0, nil
	}
	return int(n), g.place
}

// resample resizes x to another shape of the same rank, one axis after the other from dimension first on. It reads an
// axis whose size stays by its grid as well, which may move the elements.
func (c *call) resample(x Tensor, shape []int64, first int, g grid) []Tensor {
	if c.err != nil {
		return nil
	}
	for d, v := range shape {
		if v < 0 || v >= maxDim || x.Type.Shape[d] == 0 && v != 0 {
			return c.fail("dimension %d of %d elements cannot become %d", d, x.Type.Shape[d], v)
		}
	}
	if ir.TensorOf(ir.FP64, shape...).Bytes() < 0 {
		return c.fail("the result of shape %s is too large", ir.ShapeString(shape))
	}
	if g.nearest {
		return c.resampleNearest(x, shape, first, g)
	}
	xs := c.floats(x)
	now := slices.Clone(x.Type.Shape)
	for d := first; d < len(shape) && c.err == nil; d++ {
		in, out := now[d], shape[d]
		now[d] = out
		inner := prod(now[d+1:])
		next := c.buffer(prod(now))
		if c.err != nil {
			return nil
		}
		c.parallel(prod(now[:d])*int(out), 1+16384/max(1, inner), func(lo, hi int) {
			for r := lo; r < hi; r++ {
				p := g.place(int64(r)%out, in, out)
				low := int(p)
				f := float32(p - float64(low))
				a := xs[(r/int(out)*int(in)+low)*inner:][:inner]
				to := next[r*inner : (r+1)*inner]
				if f == 0 {
					copy(to, a)
					continue
				}
				b := xs[(r/int(out)*int(in)+low+1)*inner:][:inner]
				for i := range to {
					to[i] = float32((1-f)*a[i]) + float32(f*b[i])
				}
			}
		})
		xs = next
	}
	return results(c.outFloats(0, shape, xs))
}

func (c *call) resampleNearest(x Tensor, shape []int64, first int, g grid) []Tensor {
	x, size := c.movedTensor(ir.ParamX, x)
	index := make([][]int, len(shape))
	for d, out := range shape {
		if !c.reserve(8 * out) {
			return nil
		}
		in := x.Type.Shape[d]
		index[d] = make([]int, out)
		for i := range index[d] {
			index[d][i] = i
			if d >= first {
				index[d][i] = int(g.place(int64(i), in, out))
			}
		}
	}
	t := Tensor{Type: ir.TensorOf(x.Type.DType, shape...), Data: c.bytes(x.Type.DType, shape)}
	if c.err != nil {
		return nil
	}
	pick(t.Data, x, size, shape, index, nil)
	return results(t)
}
