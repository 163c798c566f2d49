package digits

// point is a place in a glyph's box: x right, y down, the box being 1 by 1.
type point struct{ x, y float64 }

// stroke is one movement of the pen through its points: along a smooth curve,
// or in straight lines.
type stroke struct {
	smooth bool
	points []point
}

// glyph is one way to write a digit.
type glyph []stroke

// Parts that several glyphs share.
var (
	lowerBowlOfThree = stroke{true, []point{{.42, .48}, {.75, .54}, {.90, .75}, {.72, .95}, {.40, 1}, {.10, .86}}}
	loopOfNine       = stroke{true, []point{{.86, .30}, {.75, .06}, {.48, 0}, {.20, .10}, {.12, .32}, {.28, .50},
		{.52, .53}, {.78, .44}, {.86, .30}}}
	stemOfOne   = stroke{false, []point{{.28, .22}, {.54, 0}, {.54, 1}}}
	hookOfSeven = stroke{false, []point{{.10, 0}, {.90, 0}, {.40, 1}}}
)

// glyphs lists, for each digit, the ways it is written; all are drawn equally
// often.
var glyphs = [Classes][]glyph{
	0: {
		{{true, []point{{.50, 0}, {.82, .15}, {.92, .50}, {.82, .85}, {.50, 1}, {.18, .85}, {.08, .50}, {.18, .15},
			{.50, 0}}}},
	},
	1: {
		{{false, []point{{.50, 0}, {.50, 1}}}},
		{stemOfOne},
		{stemOfOne, {false, []point{{.28, 1}, {.80, 1}}}},
	},
	2: {
		{
			{true, []point{{.12, .25}, {.25, .06}, {.50, 0}, {.78, .08}, {.88, .28}, {.75, .50}, {.45, .75}, {.10, 1}}},
			{false, []point{{.10, 1}, {.92, 1}}},
		},
	},
	3: {
		{{true, []point{{.12, .15}, {.35, .01}, {.65, .02}, {.84, .20}, {.72, .40}, {.42, .48}}}, lowerBowlOfThree},
		{{false, []point{{.12, 0}, {.85, 0}, {.42, .48}}}, lowerBowlOfThree},
	},
	4: {
		{{false, []point{{.68, 1}, {.68, 0}, {.08, .68}, {.95, .68}}}},
		{{false, []point{{.20, 0}, {.12, .52}, {.88, .52}}}, {false, []point{{.76, .05}, {.72, 1}}}},
	},
	5: {
		{
			{false, []point{{.85, 0}, {.22, 0}, {.17, .45}}},
			{true, []point{{.17, .45}, {.45, .37}, {.78, .47}, {.90, .70}, {.76, .93}, {.45, 1}, {.12, .88}}},
		},
	},
	6: {
		{{true, []point{{.75, .02}, {.45, .12}, {.20, .40}, {.10, .70}, {.25, .95}, {.52, 1}, {.80, .90}, {.88, .68},
			{.72, .50}, {.45, .47}, {.20, .58}, {.11, .72}}}},
	},
	7: {
		{hookOfSeven},
		{hookOfSeven, {false, []point{{.32, .50}, {.84, .50}}}},
	},
	8: {
		{
			{true, []point{{.50, .46}, {.22, .36}, {.17, .18}, {.32, .03}, {.50, 0}, {.68, .03}, {.83, .18}, {.78, .36},
				{.50, .46}}},
			{true, []point{{.50, .46}, {.18, .60}, {.10, .78}, {.25, .96}, {.50, 1}, {.75, .96}, {.90, .78}, {.82, .60},
				{.50, .46}}},
		},
	},
	9: {
		{loopOfNine, {true, []point{{.86, .30}, {.84, .60}, {.70, .90}, {.45, 1}}}},
		{loopOfNine, {false, []point{{.86, .30}, {.80, 1}}}},
	},
}

// curvePieces is the number of straight pieces that represent the curve
// between two points of a smooth stroke.
const curvePieces = 6

// flatten returns the stroke as the corners of a polyline. A smooth stroke
// follows the uniform Catmull-Rom spline through its points, its end points
// counted twice.
func (s stroke) flatten() []point {
	if !s.smooth {
		return s.points
	}
	at := func(i int) point { return s.points[min(max(i, 0), len(s.points)-1)] }
	out := []point{s.points[0]}
	for i := range len(s.points) - 1 {
		p0, p1, p2, p3 := at(i-1), at(i), at(i+1), at(i+2)
		for k := 1; k <= curvePieces; k++ {
			t := float64(k) / curvePieces
			out = append(out, point{
				spline(p0.x, p1.x, p2.x, p3.x, t),
				spline(p0.y, p1.y, p2.y, p3.y, t),
			})
		}
	}
	return out
}

// spline evaluates one coordinate of a uniform Catmull-Rom piece from b (t = 0)
// to c (t = 1), whose neighbours are a and d.
func spline(a, b, c, d, t float64) float64 {
	c1 := float64(0.5 * (c - a))
	c2 := a - float64(2.5*b) + float64(2*c) - float64(0.5*d)
	c3 := float64(0.5*(d-a)) + float64(1.5*(b-c))
	v := float64(c3*t) + c2
	v = float64(v*t) + c1
	return float64(v*t) + b
}
