package interp

import (
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

var _ = add(map[*ir.Operation]kernel{
	ir.OpResample:   resample,
	ir.OpAffine:     transformed,
	ir.OpCropResize: cropResize,
})

// farPlace bounds a position in an image, so that it fits an integer.
const farPlace = 1 << 40

// borders returns the element that represents element i, outside an axis of n; -1
// is the padding value.
var borders = map[string]func(i, n int64) int64{
	"constant": func(i, n int64) int64 { return -1 },
	"border":   func(i, n int64) int64 { return min(max(i, 0), n-1) },
	"reflection": func(i, n int64) int64 { // the edge is not repeated: 2 1 | 0 1 2 | 1 0
		if n == 1 {
			return 0
		}
		i = floorMod(i, 2*(n-1))
		return min(i, 2*(n-1)-i)
	},
	"symmetric": func(i, n int64) int64 { // the edge is repeated: 1 0 | 0 1 2 | 2 1
		i = floorMod(i, 2*n)
		return min(i, 2*n-1-i)
	},
}

func floorMod(i, n int64) int64 { return (i%n + n) % n }

// sampler reads images [h, w] at places between their elements.
type sampler struct {
	h, w    int64
	border  func(i, n int64) int64
	pad     float32
	nearest bool
}

// tap is up to four elements of an image with their weights; at < 0 is the
// padding value.
type tap struct {
	at     [4]int
	weight [4]float32
	n      int
}

// tap returns the elements and weights of the sample at (y, x). If the position is NaN, the sample is NaN.
func (s *sampler) tap(y, x float64) tap {
	if y != y || x != x {
		return tap{at: [4]int{-1}, weight: [4]float32{float32(math.NaN())}, n: 1}
	}
	y, x = min(max(y, -farPlace), farPlace), min(max(x, -farPlace), farPlace)
	element := func(y, x int64) int {
		if y < 0 || y >= s.h {
			y = s.border(y, s.h)
		}
		if x < 0 || x >= s.w {
			x = s.border(x, s.w)
		}
		if y < 0 || x < 0 {
			return -1
		}
		return int(y*s.w + x)
	}
	if s.nearest { // halves upward, as resize
		return tap{at: [4]int{element(int64(math.Floor(y+0.5)), int64(math.Floor(x+0.5)))}, weight: [4]float32{1}, n: 1}
	}
	y0, x0 := math.Floor(y), math.Floor(x)
	fy, fx := y-y0, x-x0
	var t tap
	for _, c := range [4]struct {
		dy, dx int64
		w      float64
	}{{0, 0, (1 - fy) * (1 - fx)}, {0, 1, (1 - fy) * fx}, {1, 0, fy * (1 - fx)}, {1, 1, fy * fx}} {
		// An element of weight 0 is not read: were it infinite, it would still count.
		if c.w != 0 {
			t.at[t.n], t.weight[t.n] = element(int64(y0)+c.dy, int64(x0)+c.dx), float32(c.w)
			t.n++
		}
	}
	return t
}

// sample writes the sample t of each of the images in src to dst, one after the other, step apart.
func (s *sampler) sample(t tap, src, dst []float32, step int) {
	size := int(s.h * s.w)
	for c := 0; (c+1)*size <= len(src) && c*step < len(dst); c++ {
		sum := float32(0)
		for k := range t.n {
			v := s.pad
			if t.at[k] >= 0 {
				v = src[c*size+t.at[k]]
			}
			sum += float32(t.weight[k] * v)
		}
		dst[c*step] = sum
	}
}

// images returns a tensor of images, [n, channels, h, w], none of them empty.
func (c *call) images(name ir.ParamName) Tensor {
	x := c.numeric(name)
	if c.err == nil && (x.Type.Rank() != 4 || x.Type.Shape[2] == 0 || x.Type.Shape[3] == 0) {
		c.fail("argument %s has shape %s, needs [n, channels, height, width] with elements", name,
			ir.ShapeString(x.Type.Shape))
	}
	return x
}

// imageSize returns a size that the program states.
func (c *call) imageSize(name ir.ParamName, def int64) int64 {
	n := c.int(name, def)
	if n < 1 || n > maxDim {
		c.fail("argument %s is %d, outside [1, %d]", name, n, int64(maxDim))
		return 1
	}
	return n
}

// sampler reads the arguments that resample and affine share.
func (c *call) sampler(x Tensor) *sampler {
	s := &sampler{pad: float32(c.float(ir.ParamPaddingValue, 0))}
	s.nearest = c.choice(ir.ParamSamplingMode, "bilinear", "bilinear", "nearest") == "nearest"
	s.border = borders[c.choice(ir.ParamPaddingMode, "constant", "constant", "border", "reflection", "symmetric")]
	if c.err == nil {
		s.h, s.w = x.Type.Shape[2], x.Type.Shape[3]
	}
	return s
}

// place returns the function that turns a coordinate into a place in an axis of
// n elements.
func (c *call) place() func(v float64, n int64) float64 {
	align := c.bool(ir.ParamAlignCorners, true)
	// unit is the position of a coordinate on an axis [0, 1]: between the
	// middles of the outer elements, or between their outer edges.
	unit := func(v float64, n int64) float64 {
		if align {
			return v * float64(n-1)
		}
		return v*float64(n) - 0.5
	}
	switch c.choice(ir.ParamCoordinatesMode, "unnormalized", "unnormalized", "normalized_minus_one_to_one",
		"normalized_zero_to_one") {
	case "normalized_minus_one_to_one":
		return func(v float64, n int64) float64 { return unit((v+1)/2, n) }
	case "normalized_zero_to_one":
		return unit
	}
	return func(v float64, _ int64) float64 { return v }
}

// resample reads x at the coordinates [n, h, w, 2], each (x, y).
func resample(c *call) []Tensor {
	x, at := c.images(ir.ParamX), c.numeric(ir.ParamCoordinates)
	s, place := c.sampler(x), c.place()
	if c.err != nil {
		return nil
	}
	xs, as := x.Type.Shape, at.Type.Shape
	if len(as) != 4 || as[0] != xs[0] || as[3] != 2 {
		return c.fail("coordinates has shape %s, needs [%d, height, width, 2]", ir.ShapeString(as), xs[0])
	}
	coords := c.floats(at)
	return c.sampled(x, s, as[1], as[2], func(n, i, _ int) (y, x float64) {
		p := coords[2*(n*int(as[1]*as[2])+i):]
		return place(float64(p[1]), s.h), place(float64(p[0]), s.w)
	})
}

// transformed reads x on a grid that is transformed by [a0, a1, a2, b0, b1, b2]: the element
// at (u, v), -1 to 1 across the result, is read at (a0 u + a1 v + a2, b0 u + b1 v + b2), -1
// to 1 across x.
func transformed(c *call) []Tensor {
	x, m := c.images(ir.ParamX), c.numeric(ir.ParamTransformMatrix)
	h, w := c.imageSize(ir.ParamOutputHeight, 0), c.imageSize(ir.ParamOutputWidth, 0)
	s, place := c.sampler(x), c.place()
	mode := c.string(ir.ParamCoordinatesMode, "")
	align := c.bool(ir.ParamAlignCorners, true)
	if c.err != nil {
		return nil
	}
	if mode != "normalized_minus_one_to_one" {
		return c.fail("argument coordinates_mode is %q, the operation is defined for %q", mode,
			"normalized_minus_one_to_one")
	}
	xs, ms := x.Type.Shape, m.Type.Shape
	if len(ms) != 2 || ms[1] != 6 || ms[0] != 1 && ms[0] != xs[0] {
		return c.fail("transform_matrix has shape %s, needs [1, 6] or [%d, 6]", ir.ShapeString(ms), xs[0])
	}
	// of is the coordinate of element i of n: its middle, with the outer middles
	// or the outer edges at -1 and 1. The only element of an axis is in its middle.
	of := func(i int, n int64) float64 {
		if !align {
			return (2*float64(i)+1)/float64(n) - 1
		}
		if n == 1 {
			return 0
		}
		return 2*float64(i)/float64(n-1) - 1
	}
	f := c.floats(m)
	return c.sampled(x, s, h, w, func(n, i, width int) (y, x float64) {
		a := f[n%int(ms[0])*6:]
		u, v := of(i%width, w), of(i/width, h)
		// This is written so that no platform fuses it.
		at := func(r []float32) float64 {
			return float64(float64(r[0])*u) + float64(float64(r[1])*v) + float64(r[2])
		}
		return place(at(a[3:]), s.h), place(at(a), s.w)
	})
}

// sampled makes result 0 of shape [n, channels, h, w]: where returns the position in image n of element i of a plane of
// the result, whose width is passed.
func (c *call) sampled(x Tensor, s *sampler, h, w int64, where func(n, i, width int) (y, x float64)) []Tensor {
	shape := []int64{x.Type.Shape[0], x.Type.Shape[1], h, w}
	if ir.TensorOf(ir.FP64, shape...).Bytes() < 0 {
		return c.fail("the result of shape %s is too large", ir.ShapeString(shape))
	}
	src, out := c.floats(x), c.buffer(prod(shape))
	if c.err != nil {
		return nil
	}
	in, plane := prod(x.Type.Shape[1:]), int(h*w)
	block := int(shape[1]) * plane
	c.parallel(int(shape[0])*plane, 1+4096/max(1, int(shape[1])), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			n, i := r/plane, r%plane
			y, x := where(n, i, int(w))
			if block > 0 {
				s.sample(s.tap(y, x), src[n*in:(n+1)*in], out[n*block+i:(n+1)*block], plane)
			}
		}
	})
	return results(c.outFloats(0, slices.Clone(shape), out))
}
