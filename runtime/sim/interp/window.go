package interp

import (
	"math"

	"github.com/zinc-compiler/zinc/ir"
)

// window is how a convolution or a pooling walks its operand: three spatial dimensions, where missing ones at the front
// are 1.
type window struct {
	rank       int // spatial dimensions of the operation: 1, 2 or 3
	in, out    [3]int
	kernel     [3]int
	stride     [3]int
	dilation   [3]int
	lead       [3]int // padding before
	trail      [3]int // padding after, without the part that ceil_mode adds
	kernelElem int
}

// maxDim bounds dimensions, strides and paddings so that their arithmetic stays far from the ends of int; where int has
// 32 bits, no tensor that fits in the memory of a process reaches it.
const maxDim = min(1<<31, math.MaxInt)

// spatial returns the last three dimensions of a shape [N, C, d...], padded
// with ones at the front.
func spatial(shape []int64) (d [3]int) {
	d = [3]int{1, 1, 1}
	for i, v := range shape {
		d[3-len(shape)+i] = int(v)
	}
	return d
}

// newWindow reads strides, dilations, pad_type and pad for a kernel of the given
// spatial sizes over x [N, C, d...] and computes the output sizes. ceil keeps a
// last window that is not full.
func (c *call) newWindow(x Tensor, kernel []int64, ceil bool) window {
	var w window
	if c.err == nil && (x.Type.Rank() < 3 || x.Type.Rank() > 5) {
		c.fail("x has shape %s, needs one to three spatial dimensions after batch and channels",
			ir.ShapeString(x.Type.Shape))
	}
	if c.err != nil {
		return w
	}
	n := x.Type.Rank() - 2
	if len(kernel) != n {
		c.fail("the kernel has %d spatial sizes, x of shape %s has %d", len(kernel), ir.ShapeString(x.Type.Shape), n)
		return w
	}
	strides := c.intsN(ir.ParamStrides, n, 1)
	dilations := c.intsN(ir.ParamDilations, n, 1)
	kind := c.choice(ir.ParamPadType, "valid", "valid", "same", "same_lower", "custom")
	pad := make([]int64, 2*n)
	if kind == "custom" {
		pad = c.intsN(ir.ParamPad, 2*n, 0)
	}
	if c.err != nil {
		return w
	}
	w.rank, w.in, w.kernelElem = n, spatial(x.Type.Shape[2:]), 1
	w.kernel, w.out = spatial(kernel), [3]int{1, 1, 1}
	w.stride, w.dilation = spatial(strides), spatial(dilations)
	for i := range n {
		d := 3 - n + i
		for _, v := range []struct {
			what string
			v    int64
			low  int64
		}{{"kernel size", kernel[i], 1}, {"stride", strides[i], 1}, {"dilation", dilations[i], 1}, {"pad", pad[2*i], 0},
			{"pad", pad[2*i+1], 0}} {
			if v.v < v.low || v.v >= maxDim {
				c.fail("%s %d of spatial dimension %d is outside [%d, 2^31)", v.what, v.v, i, v.low)
				return w
			}
		}
		eff := (w.kernel[d]-1)*w.dilation[d] + 1
		switch kind {
		case "same", "same_lower":
			out := (w.in[d] + w.stride[d] - 1) / w.stride[d]
			total := max(0, (out-1)*w.stride[d]+eff-w.in[d])
			w.lead[d], w.trail[d] = total/2, total-total/2
			if kind == "same_lower" {
				w.lead[d], w.trail[d] = w.trail[d], w.lead[d]
			}
			w.out[d] = out
		default:
			w.lead[d], w.trail[d] = int(pad[2*i]), int(pad[2*i+1])
			span := w.in[d] + w.lead[d] + w.trail[d] - eff
			if span < 0 {
				c.fail("the kernel covers %d elements, spatial dimension %d has %d with padding %d and %d", eff, i,
					w.in[d], w.lead[d], w.trail[d])
				return w
			}
			w.out[d] = span/w.stride[d] + 1
			if ceil && span%w.stride[d] != 0 && w.out[d]*w.stride[d] < w.in[d]+w.lead[d] {
				// The last window must start in the input or the padding before it.
				w.out[d]++
			}
		}
		w.kernelElem *= w.kernel[d]
	}
	return w
}

// shape returns the output shape for n images of ch channels.
func (w window) shape(n, ch int) []int64 {
	s := []int64{int64(n), int64(ch)}
	for i := 3 - w.rank; i < 3; i++ {
		s = append(s, int64(w.out[i]))
	}
	return s
}

func (w window) inElems() int  { return w.in[0] * w.in[1] * w.in[2] }
func (w window) outElems() int { return w.out[0] * w.out[1] * w.out[2] }

// at splits an output position into coordinates.
func (w window) at(o int) (p [3]int) {
	p[2] = o % w.out[2]
	o /= w.out[2]
	p[1] = o % w.out[1]
	p[0] = o / w.out[1]
	return p
}
