package digits

import (
	"math"
	"math/rand/v2"
)

const (
	// Side is the height and the width of an image in pixels.
	Side = 28
	// Classes is the number of digits.
	Classes = 10
)

// Image is one grey image, row by row: 0 is paper, 1 is full ink. Every pixel
// is a multiple of 1/256 and so exact in fp16.
type Image [Side * Side]float32

// Sample is an image and the digit it shows.
type Sample struct {
	Image Image
	Label int
}

// Stream returns the random numbers of a seed. Streams of different names are
// different even under the same seed.
func Stream(seed, name uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, name)) }

// Draw draws the digit label (0 to Classes-1) with a shape, place and noise
// taken from r.
func Draw(r *rand.Rand, label int) Sample {
	var (
		forms  = glyphs[label]
		form   = forms[r.IntN(len(forms))]
		place  = newPlacement(r)
		radius = between(r, 0.7, 1.9) // half the pen's width, in pixels
		nearby [Side * Side]float64   // squared distance of a pixel from the pen's path
	)
	for i := range nearby {
		nearby[i] = math.MaxFloat64
	}
	for _, s := range form {
		path := stroke{s.smooth, make([]point, len(s.points))}
		for i, p := range s.points {
			path.points[i] = point{p.x + between(r, -0.03, 0.03), p.y + between(r, -0.03, 0.03)}
		}
		corners := path.flatten()
		for i := range corners {
			corners[i] = place.apply(corners[i])
		}
		for i := 1; i < len(corners); i++ {
			approach(&nearby, corners[i-1], corners[i], radius+1)
		}
	}

	var (
		out   = Sample{Label: label}
		ink   = between(r, 0.65, 1)
		noise = between(r, 0, 0.12)
	)
	for i, d := range nearby {
		v := float64(ink * clamp01(radius+0.5-math.Sqrt(d)))
		v += float64(noise * bell(r))
		out.Image[i] = float32(math.Floor(float64(clamp01(v)*256)) / 256)
	}
	return out
}

// placement maps a glyph's box onto the image.
type placement struct{ xx, xy, yx, yy, dx, dy float64 }

// newPlacement picks size, slant, turn and shift. The turn is given by the
// tangent t of its half angle, which needs no trigonometric function:
// |t| <= 0.11 is about 12.5 degrees each way.
func newPlacement(r *rand.Rand) placement {
	var (
		height = between(r, 15, 21) // pixels
		width  = float64(height * between(r, 0.6, 0.95))
		slant  = between(r, -0.2, 0.2)
		t      = between(r, -0.11, 0.11)
		tt     = float64(t * t)
		cos    = (1 - tt) / (1 + tt)
		sin    = 2 * t / (1 + tt)
		lean   = float64(slant * height)
	)
	return placement{
		xx: float64(cos * width), xy: -float64(cos*lean) - float64(sin*height),
		yx: float64(sin * width), yy: float64(cos*height) - float64(sin*lean),
		dx: Side/2 + between(r, -2.5, 2.5), dy: Side/2 + between(r, -2.5, 2.5),
	}
}

// apply maps p; the box's middle goes to (dx, dy).
func (m placement) apply(p point) point {
	x, y := p.x-0.5, p.y-0.5
	return point{
		float64(m.xx*x) + float64(m.xy*y) + m.dx,
		float64(m.yx*x) + float64(m.yy*y) + m.dy,
	}
}

// approach lowers the squared distances of the pixels within reach of the line
// from a to b.
func approach(nearby *[Side * Side]float64, a, b point, reach float64) {
	var (
		dx, dy = b.x - a.x, b.y - a.y
		length = float64(dx*dx) + float64(dy*dy)
		x0, x1 = span(min(a.x, b.x)-reach, max(a.x, b.x)+reach)
		y0, y1 = span(min(a.y, b.y)-reach, max(a.y, b.y)+reach)
	)
	for y := y0; y < y1; y++ {
		for x := x0; x < x1; x++ {
			px, py := float64(x)+0.5-a.x, float64(y)+0.5-a.y
			if length > 0 {
				t := clamp01((float64(px*dx) + float64(py*dy)) / length)
				px -= float64(t * dx)
				py -= float64(t * dy)
			}
			d := float64(px*px) + float64(py*py)
			nearby[y*Side+x] = min(nearby[y*Side+x], d)
		}
	}
}

// span returns the pixels [from, to) whose middles may be between lo and hi.
func span(lo, hi float64) (from, to int) {
	return int(max(lo, 0)), int(min(max(hi+1, 0), Side))
}

// between returns a number in [lo, hi).
func between(r *rand.Rand, lo, hi float64) float64 {
	return lo + float64(r.Float64()*(hi-lo))
}

// bell returns a number in (-1, 1) that lies near 0 more often than not: the
// mean of three even ones.
func bell(r *rand.Rand) float64 {
	s := between(r, 0, 1) + between(r, 0, 1) + between(r, 0, 1)
	return float64(s*(2.0/3)) - 1
}

func clamp01(v float64) float64 { return min(max(v, 0), 1) }
