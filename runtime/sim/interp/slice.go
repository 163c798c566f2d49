package interp

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
)

var _ = add(map[*ir.Operation]kernel{
	ir.OpSliceByIndex: sliceByIndex,
	ir.OpSliceBySize:  sliceBySize,
	ir.OpSliceUpdate:  sliceUpdate,
})

// region is a strided part of a tensor.
type region struct {
	begin, step []int   // one a dimension
	size        []int64 // elements taken a dimension
	squeeze     []bool  // dimensions dropped from the result
}

// shape returns the result's shape.
func (g region) shape() []int64 {
	s := []int64{}
	for i, n := range g.size {
		if !g.squeeze[i] {
			s = append(s, n)
		}
	}
	return s
}

// walk returns the offset of the first element and the strides, over all
// dimensions.
func (g region) walk(shape []int64) (base int, st []int) {
	st = strides(shape)
	for i := range st {
		base += g.begin[i] * st[i]
		st[i] *= g.step[i]
	}
	return base, st
}

// region reads begin, end, stride and the masks as numpy reads a slice: a masked begin starts at the end that the
// stride comes from, negative numbers count from the end, and all are clamped to the dimension. Positions before the
// front are clamped to element 0, even under a negative stride, where numpy allows an end before it: coremltools' shape
// rule does so, and declared types follow it. As in that rule, a step from one negative number to another still takes
// the element that it starts from.
func (c *call) region(shape []int64) region {
	n := len(shape)
	begin, ok1 := c.ints(ir.ParamBegin)
	end, ok2 := c.ints(ir.ParamEnd)
	if c.err == nil && (!ok1 || !ok2 || len(begin) != n || len(end) != n) {
		c.fail("begin has %d and end has %d elements, x has shape %s", len(begin), len(end), ir.ShapeString(shape))
	}
	stride := c.intsN(ir.ParamStride, n, 1)
	beginMask, endMask, squeeze := c.intsN(ir.ParamBeginMask, n, 0), c.intsN(ir.ParamEndMask, n, 0),
		c.intsN(ir.ParamSqueezeMask, n, 0)
	g := region{begin: make([]int, n), step: make([]int, n), size: make([]int64, n), squeeze: make([]bool, n)}
	if c.err != nil {
		return g
	}
	for i, d := range shape {
		b, e, s := begin[i], end[i], stride[i]
		if s == 0 || s <= -maxDim || s >= maxDim {
			c.fail("stride %d of dimension %d is out of range", s, i)
			return g
		}
		if squeeze[i] != 0 {
			if beginMask[i] != 0 {
				b = 0
			}
			if b < 0 {
				b += d
			}
			if b < 0 || b >= d {
				c.fail("index %d is outside dimension %d of %d elements", begin[i], i, d)
				return g
			}
			g.begin[i], g.step[i], g.size[i], g.squeeze[i] = int(b), 1, 1, true
			continue
		}
		lo, hi := int64(0), d // the range of a number counted from the front
		if s < 0 {
			lo, hi = -1, d-1
		}
		hold := func(v int64) int64 {
			if v < 0 {
				v = max(max(v, -1<<62)+d, 0)
			}
			return min(max(v, lo), hi)
		}
		single := s < 0 && beginMask[i] == 0 && endMask[i] == 0 && b < 0 && e < b && b >= -d && e >= b+s
		b, e = hold(b), hold(e)
		if single {
			e = b - 1
		}
		if beginMask[i] != 0 {
			if b = lo; s < 0 {
				b = hi
			}
		}
		if endMask[i] != 0 {
			if e = hi; s < 0 {
				e = lo
			}
		}
		switch {
		case s > 0 && e > b:
			g.size[i] = (e - b + s - 1) / s
		case s < 0 && b > e:
			g.size[i] = (b - e - s - 1) / -s
		default:
			b = 0
		}
		g.begin[i], g.step[i] = int(b), int(s)
	}
	return g
}

func (c *call) slice(x Tensor, size int, g region) []Tensor {
	if c.err != nil {
		return nil
	}
	base, st := g.walk(x.Type.Shape)
	out := c.gatherStrided(x, size, g.size, base, st)
	out.Type = ir.TensorOf(x.Type.DType, g.shape()...)
	if n := len(g.begin); n > 0 && g.begin[n-1] != 0 && (g.step[n-1] == 1 || g.squeeze[n-1]) {
		c.widthCopy(out)
	}
	return results(out)
}

// widthCopy returns a part of the width that does not begin at 0 as the engine copies it: in fixed point.
func (c *call) widthCopy(t Tensor) {
	if !c.ane || c.fixed || t.Type.DType != ir.FP16 {
		return
	}
	for i := 0; i+1 < len(t.Data); i += 2 {
		h := binary.LittleEndian.Uint16(t.Data[i:])
		if v := numerics.Widen(h); math.Abs(float64(v)) >= numerics.WidthSliceLimit {
			binary.LittleEndian.PutUint16(t.Data[i:], numerics.Narrow(numerics.WidthSlice(v)))
		}
	}
}

func sliceByIndex(c *call) []Tensor {
	x, size := c.moved(ir.ParamX)
	return c.slice(x, size, c.region(x.Type.Shape))
}

// sliceBySize takes size elements from begin on; -1 takes the rest.
func sliceBySize(c *call) []Tensor {
	x, size := c.moved(ir.ParamX)
	n := x.Type.Rank()
	begin, ok1 := c.ints(ir.ParamBegin)
	sizes, ok2 := c.ints(ir.ParamSize)
	if c.err == nil && (!ok1 || !ok2 || len(begin) != n || len(sizes) != n) {
		return c.fail("begin has %d and size has %d elements, x has shape %s", len(begin), len(sizes),
			ir.ShapeString(x.Type.Shape))
	}
	g := region{begin: make([]int, n), step: make([]int, n), size: make([]int64, n), squeeze: make([]bool, n)}
	if c.err != nil {
		return nil
	}
	for i, d := range x.Type.Shape {
		b, s := begin[i], sizes[i]
		if b < 0 {
			b += d
		}
		if s == -1 {
			s = d - b
		}
		if b < 0 || b > d || s < 0 || s > d-b {
			return c.fail("begin %d and size %d do not fit dimension %d of %d elements", begin[i], sizes[i], i, d)
		}
		g.begin[i], g.step[i], g.size[i] = int(b), 1, s
	}
	return c.slice(x, size, g)
}

// sliceUpdate is x with the region replaced by update.
func sliceUpdate(c *call) []Tensor {
	x, size := c.moved(ir.ParamX)
	u, _ := c.moved(ir.ParamUpdate)
	g := c.region(x.Type.Shape)
	if c.err != nil {
		return nil
	}
	shape := g.shape()
	if u.Type.DType != x.Type.DType || !slices.Equal(u.Type.Shape, shape) && prod(u.Type.Shape) != prod(shape) {
		return c.fail("update is %s, the region of x has type %s", u.Type, ir.TensorOf(x.Type.DType, shape...))
	}
	if !c.reserve(int64(len(x.Data))) {
		return nil
	}
	out := Tensor{Type: x.Type, Data: slices.Clone(x.Data)}
	if len(u.Data) == 0 {
		return results(out)
	}
	base, st := g.walk(x.Type.Shape)
	n, width := split(g.size)
	step := 0
	if len(st) > 0 {
		step = st[len(st)-1]
	}
	rows(g.size, 0, n, [][]int{st}, func(at int, off []int) {
		to := base + off[0]
		for i := range width {
			copy(out.Data[to*size:(to+1)*size], u.Data[(at+i)*size:])
			to += step
		}
	})
	return results(out)
}
