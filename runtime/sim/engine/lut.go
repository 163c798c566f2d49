package engine

import (
	"encoding/binary"
	"math"
)

// lutBytes is the size of a lookup table: 64 halves.
const lutBytes = 128

// knots is the number of samples of a lookup table.
const knots = 33

// Halves of a lookup table.
const (
	lutLow       = 0 // input bounds, and the results at and outside them
	lutHigh      = 1
	lutBelow     = 2
	lutAbove     = 3
	lutKnots     = 4
	lutLowSlope  = 37 // the line between the low bound and the first knot
	lutLowAt     = 38
	lutHighSlope = 39 // the line between the last knot and the high bound
	lutHighAt    = 40
	lutStep      = 41 // an integer: -log2 of the knot spacing
	lutMode      = 42 // an integer, see modes
	lutAddend    = 43 // of a mode that adds the exponent
)

// lut is a lookup table, widened.
type lut struct {
	v       [lutBytes / 2]float64
	diff    [knots]float64 // from each knot to the next
	perUnit float64        // knots per unit of table argument
	mode    *mode
}

// mode says how an input becomes a table argument and what becomes of the
// rest of it. All but plain take in positive inputs or any finite one.
type mode struct {
	number uint16
	first  float64 // argument of the first knot
	split  func(x float64) (arg float64, exp int)
	join   func(y float64, exp int, addend float64) float64
	odd    bool // a negative input has the value of its magnitude, negated
}

func exponent(sign int) func(float64, int, float64) float64 {
	return func(y float64, exp int, _ float64) float64 { return math.Ldexp(y, sign*exp) }
}

// modes lists the known values of the mode half. The first three are in
// recorded tables; the others are modelled.
var modes = []mode{
	{number: 0x01}, // the input itself, knot 16 at zero: see eval
	{number: 0x0a, first: 0, split: func(x float64) (float64, int) {
		i := math.Floor(x)
		return x - i, int(max(min(i, 1<<10), -1<<10))
	}, join: exponent(1)},
	// Odd by inference: divisions by run-time numbers are recorded with this mode.
	{number: 0x67, first: 0.5, split: math.Frexp, join: exponent(-1), odd: true},
	{number: 0x2b, first: 0.25, split: quarter, join: exponent(1)},
	{number: 0x6b, first: 0.25, split: quarter, join: exponent(-1)},
	{number: 0x27, first: 0.5, split: math.Frexp, join: func(y float64, exp int, addend float64) float64 {
		return y + float64(float64(exp)*addend)
	}},
}

// quarter writes x as arg * 4^exp with arg in [1/4, 1).
func quarter(x float64) (arg float64, exp int) {
	arg, exp = math.Frexp(x)
	odd := exp & 1
	return math.Ldexp(arg, -odd), (exp + odd) / 2
}

// newLUT decodes the 128 bytes of a table.
func newLUT(stream string, addr int64, b []byte) (*lut, error) {
	half := func(i int) uint16 { return binary.LittleEndian.Uint16(b[2*i:]) }
	l := new(lut)
	for i := range l.v {
		l.v[i] = float64(widen(half(i)))
	}
	for i := range knots - 1 {
		l.diff[i] = l.v[lutKnots+i+1] - l.v[lutKnots+i]
	}
	step := half(lutStep)
	if step > 24 {
		return nil, badAt(stream, addr+2*lutStep, "lookup table: knot spacing 2^-%d, the exponent must be in 0..24", step)
	}
	l.perUnit = math.Ldexp(1, int(step))
	for i := range modes {
		if modes[i].number == half(lutMode) {
			l.mode = &modes[i]
			return l, nil
		}
	}
	return nil, badAt(stream, addr+2*lutMode, "lookup table: mode %#x is not known", half(lutMode))
}

// eval returns the table's value, before the final rounding. A NaN, which only
// plain IEEE arithmetic brings here, stays one.
func (l *lut) eval(in float32) float32 {
	x := float64(in)
	switch {
	case x != x:
		return in
	case x < 0 && l.mode.odd:
		return -l.eval(-in)
	case x >= l.v[lutHigh]:
		return float32(l.v[lutAbove])
	case x <= l.v[lutLow]:
		return float32(l.v[lutBelow])
	}
	if m := l.mode; m.split != nil {
		arg, exp := m.split(x)
		return float32(m.join(l.interpolate((arg-m.first)*l.perUnit), exp, l.v[lutAddend]))
	}
	p := x*l.perUnit + (knots-1)/2
	switch {
	case p < 0:
		return float32(float64(l.v[lutLowSlope]*x) + l.v[lutLowAt])
	case p > knots-1:
		return float32(float64(l.v[lutHighSlope]*x) + l.v[lutHighAt])
	}
	return float32(l.interpolate(p))
}

// interpolate reads the knots at position p, which is clamped to them.
func (l *lut) interpolate(p float64) float64 {
	i := int(max(0, min(p, knots-2)))
	return l.v[lutKnots+i] + float64((p-float64(i))*l.diff[i])
}
