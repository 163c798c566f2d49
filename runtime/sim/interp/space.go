package interp

import (
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

var _ = add(map[*ir.Operation]kernel{
	ir.OpDepthToSpace:   func(c *call) []Tensor { return depthToSpace(c, ir.ParamBlockSize, true) },
	ir.OpPixelShuffle:   func(c *call) []Tensor { return depthToSpace(c, ir.ParamUpscaleFactor, false) },
	ir.OpSpaceToDepth:   func(c *call) []Tensor { return spaceToDepth(c, ir.ParamBlockSize, true) },
	ir.OpPixelUnshuffle: func(c *call) []Tensor { return spaceToDepth(c, ir.ParamDownscaleFactor, false) },
	ir.OpSpaceToBatch:   spaceToBatch,
	ir.OpBatchToSpace:   batchToSpace,
})

// permuted makes a tensor by reading x under the shape from, its axes permuted,
// and calling the result's shape to.
func (c *call) permuted(x Tensor, size int, from []int64, perm []int, to []int64) []Tensor {
	st := strides(from)
	shape, walk := make([]int64, len(perm)), make([]int, len(perm))
	for i, p := range perm {
		shape[i], walk[i] = from[p], st[p]
	}
	out := c.gatherStrided(x, size, shape, 0, walk)
	out.Type = ir.TensorOf(x.Type.DType, to...)
	return results(out)
}

// image returns x [N, C, H, W] and a block size that must be positive.
func (c *call) image(name ir.ParamName) (x Tensor, size int, b int64) {
	x, size = c.moved(ir.ParamX)
	b = c.int(name, 0)
	if c.err == nil && x.Type.Rank() != 4 {
		c.fail("x has shape %s, needs [N, C, H, W]", ir.ShapeString(x.Type.Shape))
	}
	if c.err == nil && (b < 1 || b > 1<<15) {
		c.fail("argument %s is %d, must be positive", name, b)
	}
	return x, size, b
}

// depthToSpace moves channels into blocks of b*b pixels. The position in the block is the slow part of the channels
// (depth_to_space: [b, b, C]) or the fast one (pixel_shuffle: [C, b, b]).
func depthToSpace(c *call, name ir.ParamName, slow bool) []Tensor {
	x, size, b := c.image(name)
	if c.err != nil {
		return nil
	}
	n, ch, h, w := x.Type.Shape[0], x.Type.Shape[1], x.Type.Shape[2], x.Type.Shape[3]
	if ch%(b*b) != 0 {
		return c.fail("%d channels are no multiple of %s squared, %d", ch, name, b*b)
	}
	ch /= b * b
	to := []int64{n, ch, h * b, w * b}
	if slow {
		return c.permuted(x, size, []int64{n, b, b, ch, h, w}, []int{0, 3, 4, 1, 5, 2}, to)
	}
	return c.permuted(x, size, []int64{n, ch, b, b, h, w}, []int{0, 1, 4, 2, 5, 3}, to)
}

// spaceToDepth is the inverse of depthToSpace.
func spaceToDepth(c *call, name ir.ParamName, slow bool) []Tensor {
	x, size, b := c.image(name)
	if c.err != nil {
		return nil
	}
	n, ch, h, w := x.Type.Shape[0], x.Type.Shape[1], x.Type.Shape[2], x.Type.Shape[3]
	if h%b != 0 || w%b != 0 {
		return c.fail("an image of %d by %d is no multiple of %s, %d", h, w, name, b)
	}
	from := []int64{n, ch, h / b, b, w / b, b}
	to := []int64{n, ch * b * b, h / b, w / b}
	if slow {
		return c.permuted(x, size, from, []int{0, 3, 5, 1, 2, 4}, to)
	}
	return c.permuted(x, size, from, []int{0, 1, 3, 5, 2, 4}, to)
}

// blocks reads the argument block_shape and a [2, 2] argument of borders.
func (c *call) blocks(borders ir.ParamName) (x Tensor, size int, b []int64, edge []int64) {
	x, size = c.moved(ir.ParamX)
	b = c.intsN(ir.ParamBlockShape, 2, 1)
	t := c.numeric(borders)
	if c.err == nil && (t.Elems() != 4 || t.Type.DType.IsFloat()) {
		c.fail("argument %s is %s, needs [2, 2] integers", borders, t.Type)
	}
	if c.err == nil && x.Type.Rank() != 4 {
		c.fail("x has shape %s, needs [N, C, H, W]", ir.ShapeString(x.Type.Shape))
	}
	if c.err != nil {
		return
	}
	edge = t.Ints()
	for _, v := range slices.Concat(b, edge) {
		if v < 0 || v > 1<<20 {
			c.fail("block_shape %v and %s %v are out of range", b, borders, edge)
		}
	}
	if b[0] == 0 || b[1] == 0 {
		c.fail("block_shape is %v, must be positive", b)
	}
	return
}

// spaceToBatch pads the image with zeros and moves the place in a block into
// the batch, as its slow part.
func spaceToBatch(c *call) []Tensor {
	x, size, b, p := c.blocks(ir.ParamPaddings)
	if c.err != nil {
		return nil
	}
	s := x.Type.Shape
	h, w := s[2]+p[0]+p[1], s[3]+p[2]+p[3]
	if h%b[0] != 0 || w%b[1] != 0 {
		return c.fail("a padded image of %d by %d is no multiple of the block %v", h, w, b)
	}
	full := []int64{s[0], s[1], h, w}
	padded := Tensor{Type: ir.TensorOf(x.Type.DType, full...), Data: c.bytes(x.Type.DType, full)}
	if c.err != nil {
		return nil
	}
	row := int(s[3]) * size
	for i := range prod(s[:3]) {
		plane, y := i/int(s[2]), i%int(s[2])
		copy(padded.Data[((plane*int(h)+y+int(p[0]))*int(w)+int(p[2]))*size:], x.Data[i*row:(i+1)*row])
	}
	from := []int64{s[0], s[1], h / b[0], b[0], w / b[1], b[1]}
	return c.permuted(padded, size, from, []int{3, 5, 0, 1, 2, 4}, []int64{s[0] * b[0] * b[1], s[1], h / b[0],
		w / b[1]})
}

// batchToSpace is the inverse of spaceToBatch: it crops instead of padding.
func batchToSpace(c *call) []Tensor {
	x, size, b, p := c.blocks(ir.ParamCrops)
	if c.err != nil {
		return nil
	}
	s := x.Type.Shape
	if s[0]%(b[0]*b[1]) != 0 {
		return c.fail("a batch of %d is no multiple of the block %v", s[0], b)
	}
	n, h, w := s[0]/(b[0]*b[1]), s[2]*b[0], s[3]*b[1]
	if p[0]+p[1] > h || p[2]+p[3] > w {
		return c.fail("cannot crop %v from an image of %d by %d", p, h, w)
	}
	full := c.permuted(x, size, []int64{b[0], b[1], n, s[1], s[2], s[3]}, []int{2, 3, 4, 0, 5, 1},
		[]int64{n, s[1], h, w})
	if c.err != nil {
		return nil
	}
	st := strides([]int64{n, s[1], h, w})
	return results(c.gatherStrided(full[0], size, []int64{n, s[1], h - p[0] - p[1], w - p[2] - p[3]}, int(p[0])*st[2]+
		int(p[2]), st))
}
