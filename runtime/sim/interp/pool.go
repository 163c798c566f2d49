package interp

import (
	"github.com/zinc-compiler/zinc/ir"
	"math"
)

var _ = add(map[*ir.Operation]kernel{
	ir.OpMaxPool: func(c *call) []Tensor { return pool(c, maxPool) },
	ir.OpAvgPool: func(c *call) []Tensor { return pool(c, avgPool) },
	ir.OpL2Pool:  func(c *call) []Tensor { return pool(c, l2Pool) },
})

// poolKind says how a pooling combines the elements under a window.
type poolKind uint8

const (
	maxPool poolKind = iota
	avgPool
	l2Pool // root of the sum of squares, without division
)

func pool(c *call, kind poolKind) []Tensor {
	x := c.numeric(ir.ParamX)
	sizes, ok := c.ints(ir.ParamKernelSizes)
	if !ok {
		return c.fail("argument kernel_sizes is missing")
	}
	w := c.newWindow(x, sizes, c.bool(ir.ParamCeilMode, false))
	exclude := kind == avgPool && c.bool(ir.ParamExcludePaddingFromAverage, false)
	if c.err != nil {
		return nil
	}
	n, ch := int(x.Type.Shape[0]), int(x.Type.Shape[1])
	shape := w.shape(n, ch)
	if shapeBytes(c.dtype(0), shape) < 0 {
		return c.fail("the result of a window over %s is too large", x.Type)
	}
	xs, out := c.floats(x), c.buffer(prod(shape))
	if c.err != nil {
		return nil
	}
	in, pos := w.inElems(), w.outElems()
	c.parallel(n*ch, 1+16384/max(1, pos*w.kernelElem), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			if c.r.ctx.Err() != nil {
				return
			}
			for o := range pos {
				out[r*pos+o] = w.pool(xs[r*in:(r+1)*in], w.at(o), kind, exclude)
			}
		}
	})
	return results(c.outFloats(0, shape, out))
}

// pool returns the result of the window at output position p.
func (w window) pool(plane []float32, p [3]int, kind poolKind, exclude bool) float32 {
	var from, to [3]int // input positions covered, in steps of the dilation
	count := 1          // elements that an average divides by
	for d := range 3 {
		start := p[d]*w.stride[d] - w.lead[d]
		end := start + (w.kernel[d]-1)*w.dilation[d]
		from[d], to[d] = start, min(end, w.in[d]-1)
		if start < 0 {
			skip := (-start + w.dilation[d] - 1) / w.dilation[d]
			from[d] = start + skip*w.dilation[d]
		}
		// An average that counts padding counts only the real padding, not what is beyond it when the last window is
		// not full.
		last := min(end, w.in[d]+w.trail[d]-1)
		count *= (last-start)/w.dilation[d] + 1
	}
	best := math.Inf(-1)
	sum, squares, n := 0.0, 0.0, 0
	for d := from[0]; d <= to[0]; d += w.dilation[0] {
		for h := from[1]; h <= to[1]; h += w.dilation[1] {
			for x := from[2]; x <= to[2]; x += w.dilation[2] {
				e := float64(plane[(d*w.in[1]+h)*w.in[2]+x])
				if e > best || e != e {
					best = e
				}
				sum += e
				squares += e * e
				n++
			}
		}
	}
	switch kind {
	case maxPool:
		return float32(best)
	case l2Pool:
		return float32(math.Sqrt(squares))
	}
	if exclude {
		count = n
	}
	if count == 0 {
		return 0
	}
	return float32(sum / float64(count))
}
