package interp

import (
	"github.com/zinc-compiler/zinc/ir"
)

// boxOrders says where a box's numbers are: y and x of its start and end, or of its centre and size.
var boxOrders = map[string]struct {
	y, x   int // of the first pair; the second is two further on
	center bool
}{
	"CORNERS_HEIGHT_FIRST":     {0, 1, false},
	"CORNERS_WIDTH_FIRST":      {1, 0, false},
	"CENTER_SIZE_HEIGHT_FIRST": {0, 1, true},
	"CENTER_SIZE_WIDTH_FIRST":  {1, 0, true},
}

// cropSlack is how far outside an image a place may come out by rounding, in
// elements: coordinates are fp32, and their sum over a box is not exact.
const cropSlack = 1e-6

// extent is where a box starts and ends along one axis, in elements.
type extent struct{ from, to float64 }

// place returns where element i of n is read: the box from its first element to its last is sampled as an axis by
// itself. A box whose ends are swapped is read backwards.
func (e extent) place(at func(i, in, out float64) float64, i, n int) float64 {
	span := e.to - e.from
	p := at(float64(i), span+1, float64(n))
	return e.from + min(max(p, min(span, 0)), max(span, 0))
}

// crops is the list of boxes and of the images they are cut from.
type crops struct {
	box   func(i int) []float32 // four numbers
	image []int64               // index of the image; nil: every image
	n     int
	shape []int64 // of the result before the two sizes
	// images is the number of images that each box produces in the result.
	images int
}

// cropResize cuts boxes out of x and resizes all of them to one size.
func cropResize(c *call) []Tensor {
	x := c.images(ir.ParamX)
	h, w := c.imageSize(ir.ParamTargetHeight, 1), c.imageSize(ir.ParamTargetWidth, 1)
	unit := c.bool(ir.ParamNormalizedCoordinates, false)
	scale := c.float(ir.ParamSpatialScale, 1)
	order := boxOrders[c.choice(ir.ParamBoxCoordinateMode, "CORNERS_HEIGHT_FIRST",
		"CORNERS_HEIGHT_FIRST", "CORNERS_WIDTH_FIRST", "CENTER_SIZE_HEIGHT_FIRST", "CENTER_SIZE_WIDTH_FIRST")]
	g := c.samplingGrid()
	// Up to iOS 15 there is no padding value and a position outside the image is clamped to its edge.
	pads := c.op.Def.ParamIndex(ir.ParamPadValue) >= 0
	pad := float32(c.float(ir.ParamPadValue, 0))
	if c.err != nil {
		return nil
	}
	k := c.crops(x)
	if c.err != nil {
		return nil
	}
	shape := append(k.shape, h, w)
	if ir.TensorOf(ir.FP64, shape...).Bytes() < 0 {
		return c.fail("the result of shape %s is too large", ir.ShapeString(shape))
	}
	xs := x.Type.Shape
	s := &sampler{h: xs[2], w: xs[3], border: borders["border"], pad: pad}
	src, out := c.floats(x), c.buffer(prod(shape))
	if c.err != nil {
		return nil
	}
	in, plane := prod(xs[1:]), int(h*w)
	block := int(xs[1]) * plane
	if block == 0 {
		return results(c.outFloats(0, shape, out))
	}
	c.parallel(k.n*k.images, 1+16384/block, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			i, img := r/k.images, r%k.images
			if k.image != nil {
				img = int(k.image[i])
			}
			b := k.box(i)
			axis := func(at int, n int64) extent {
				e := extent{float64(b[at]), float64(b[at+2])}
				if order.center {
					e = extent{e.from - e.to/2, e.from + e.to/2}
				}
				f := scale
				if unit {
					f *= float64(n - 1)
				}
				return extent{e.from * f, e.to * f}
			}
			ys, xs := axis(order.y, s.h), axis(order.x, s.w)
			for p := range plane {
				y, x := ys.place(g.at, p/int(w), int(h)), xs.place(g.at, p%int(w), int(w))
				t := s.tap(y, x)
				if pads && (outside(y, s.h) || outside(x, s.w)) {
					t = tap{at: [4]int{-1}, weight: [4]float32{1}, n: 1}
				}
				s.sample(t, src[img*in:(img+1)*in], out[r*block+p:(r+1)*block], plane)
			}
		}
	})
	return results(c.outFloats(0, shape, out))
}

// outside reports a place that is not in an axis of n elements.
func outside(p float64, n int64) bool { return p < -cropSlack || p > float64(n-1)+cropSlack }

// crops reads the boxes in the form of the operation set: roi [n, 1, 4 or 5, 1, 1],
// of which five numbers start with the index of an image, or boxes [n, 4] with
// box_indices [n].
func (c *call) crops(x Tensor) crops {
	var k crops
	xs := x.Type.Shape
	if c.op.Def.ParamIndex(ir.ParamBoxes) >= 0 {
		b := c.numeric(ir.ParamBoxes)
		if c.err != nil {
			return k
		}
		if b.Type.Rank() != 2 || b.Type.Shape[1] != 4 {
			c.fail("boxes has shape %s, needs [n, 4]", ir.ShapeString(b.Type.Shape))
			return k
		}
		k.n, k.images = int(b.Type.Shape[0]), 1
		k.shape = []int64{b.Type.Shape[0], xs[1]}
		fs := c.floats(b)
		k.box = func(i int) []float32 { return fs[4*i:] }
		if k.image = c.intsN(ir.ParamBoxIndices, k.n, 0); c.op.Arg(ir.ParamBoxIndices) == nil {
			for i := range k.image {
				k.image[i] = int64(i)
			}
		}
	} else {
		r := c.numeric(ir.ParamROI)
		if c.err != nil {
			return k
		}
		s := r.Type.Shape
		if len(s) != 5 || s[1] != 1 || s[2] != 4 && s[2] != 5 || s[3] != 1 || s[4] != 1 {
			c.fail("roi has shape %s, needs [n, 1, 4 or 5, 1, 1]", ir.ShapeString(s))
			return k
		}
		// The shape rule returns all images for every box even if the box names one image, so crop represents each of
		// them.
		k.n, k.images = int(s[0]), int(xs[0])
		k.shape = []int64{s[0], xs[0], xs[1]}
		fs, each := c.floats(r), int(s[2])
		k.box = func(i int) []float32 { return fs[i*each+each-4:] }
		if each == 5 && c.err == nil {
			k.image = make([]int64, k.n)
			for i := range k.image {
				k.image[i] = saturate(ir.Int32, float64(fs[i*each]))
			}
		}
	}
	for i, v := range k.image {
		if v < 0 || v >= xs[0] {
			c.fail("box %d is of image %d, x has %d", i, v, xs[0])
			break
		}
	}
	return k
}
