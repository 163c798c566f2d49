package engine

import (
	"encoding/binary"
	"math"
)

// lutBytes is the size of a lookup table: 64 halves.
const lutBytes = 128

// knots is the number of samples of a lookup table.
const knots = 33

// lut is a lookup table, widened.
type lut struct {
	low, high         float32 // input bounds
	below, above      float32 // results outside them
	knot              [knots]float32
	lowSlope, lowAt   float32 // line between the low bound and the first knot
	highSlope, highAt float32 // line between the last knot and the high bound
	perUnit           float32 // knots per unit of input
	split             func(l *lut, x float32) float32
}

// modes holds what the mode half of a table means.
var modes = map[uint16]func(l *lut, x float32) float32{
	0x01: (*lut).plain,
	0x0a: (*lut).power,
	0x67: (*lut).reciprocal,
}

// newLUT decodes the 128 bytes of a table.
func newLUT(stream string, addr int64, b []byte) (*lut, error) {
	half := func(i int) uint16 { return binary.LittleEndian.Uint16(b[2*i:]) }
	f := func(i int) float32 { return widen(half(i)) }
	l := &lut{
		low: f(0), high: f(1), below: f(2), above: f(3),
		lowSlope: f(37), lowAt: f(38), highSlope: f(39), highAt: f(40),
	}
	for i := range l.knot {
		l.knot[i] = f(4 + i)
	}
	// The spacing is a small signed integer: -log2 of it, at most the range of
	// fp16.
	shift := int(int16(half(41)))
	if shift < -16 || shift > 24 {
		return nil, badAt(stream, addr+2*41, "lookup table: knot spacing 2^-%d, the exponent must be in -16..24", shift)
	}
	l.perUnit = float32(math.Ldexp(1, shift))
	var ok bool
	if l.split, ok = modes[half(42)]; !ok {
		return nil, badAt(stream, addr+2*42, "lookup table: mode %#x is not known", half(42))
	}
	return l, nil
}

// eval returns the table's value, before the final rounding. A NaN, which only
// plain IEEE arithmetic brings here, stays one.
func (l *lut) eval(x float32) float32 {
	switch {
	case x < l.low:
		return l.below
	case x > l.high:
		return l.above
	case x != x:
		return x
	}
	return l.split(l, x)
}

// interpolate reads the knots at position p, which is clamped to them.
func (l *lut) interpolate(p float32) float32 {
	if !(p > 0) {
		return l.knot[0]
	}
	if p >= knots-1 {
		return l.knot[knots-1]
	}
	i := int(p)
	a, b := l.knot[i], l.knot[i+1]
	return a + float32((p-float32(i))*(b-a))
}

// plain is a table over the input itself, knot 16 at zero.
func (l *lut) plain(x float32) float32 {
	p := float32(x*l.perUnit) + (knots-1)/2
	switch {
	case p < 0:
		return line(l.lowSlope, l.lowAt, x)
	case p > knots-1:
		return line(l.highSlope, l.highAt, x)
	}
	return l.interpolate(p)
}

// line is a tail; slope 0 makes it constant up to infinity.
func line(slope, at, x float32) float32 {
	if slope == 0 {
		return at
	}
	return float32(slope*x) + at
}

// power is a table of 2^f over f in [0, 1]; the integer part of the input is
// added to the exponent.
func (l *lut) power(x float32) float32 {
	i := math.Floor(float64(x))
	if math.IsInf(i, 0) {
		if i > 0 {
			return l.above
		}
		return l.below
	}
	v := l.interpolate(float32(float64(x)-i) * l.perUnit)
	return float32(math.Ldexp(float64(v), int(i)))
}

// reciprocal is a table of 1/m over m in [0.5, 1]; the exponent of the input
// is negated.
func (l *lut) reciprocal(x float32) float32 {
	if x == 0 {
		return l.below
	}
	if math.IsInf(float64(x), 0) {
		return l.above
	}
	m, e := math.Frexp(float64(x))
	sign := 1.0
	if m < 0 {
		m, sign = -m, -1
	}
	v := l.interpolate(float32(m-0.5) * l.perUnit)
	return float32(math.Ldexp(sign*float64(v), -e))
}
