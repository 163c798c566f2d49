package engine

import (
	"encoding/binary"
	"math"

	"github.com/zinc-compiler/zinc/runtime/sim/engine/port"
)

// lutBytes is the size of a lookup table: 64 words of 16 bits.
const lutBytes = 128

// knots is the number of samples of a lookup table.
const knots = 33

// Words of a lookup table.
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
)

// maxLUTStep bounds -log2 of the spacing of knots; linesOnly means that all knots are zero.
const (
	maxLUTStep = 24
	linesOnly  = 64
)

// lut is a lookup table, widened.
type lut struct {
	v       [lutBytes / 2]float64
	diff    [knots]float64 // from each knot to the next
	perUnit float64        // knots per unit of table argument
	mode    *mode
	bytes   [lutBytes]byte
}

// mode says how an input becomes a table argument and what is done with the rest of it.
type mode struct {
	number uint16
	sign   signRule
	whole  bool    // the argument is the input, with lines beyond the knots
	powers bool    // the argument is what is above the whole number below, whose power of two multiplies the result
	first  float64 // argument of the first knot; NaN to put knot 16 at zero
	split  func(x float64) (arg, rest float64)
	join   func(y, rest float64) float64
	empty  bool // known only with knots of zero
}

// signRule is what a mode does with negative inputs.
type signRule int

const (
	signed   signRule = iota // they are inputs like others
	odd                      // the table is applied to magnitudes, the result gets the sign back
	positive                 // they have no result; the port writes +0 (measured for roots and logarithm)
)

func exponent(sign int) func(y, exp float64) float64 {
	return func(y, exp float64) float64 { return scaled(y, sign*int(exp)) }
}

// scaled is math.Ldexp. A product with a power of two that is a normal number rounds as it does.
func scaled(y float64, exp int) float64 {
	if exp < -1022 || exp > 1023 {
		return math.Ldexp(y, exp)
	}
	return y * math.Float64frombits(uint64(1023+exp)<<52)
}

func addRest(y, rest float64) float64 { return y + rest }

// modes lists the known values of the mode word, all from recorded tables.
var modes = []mode{
	{number: 0x01, whole: true, first: math.NaN()},
	{number: 0x60, sign: odd, whole: true},
	{number: 0x0a, powers: true},
	{number: 0x67, sign: odd, first: 0.5, split: mantissa, join: exponent(-1)},
	{number: 0xc5, sign: positive, first: 0, split: quarter, join: exponent(1)},
	{number: 0xc6, sign: positive, first: 0, split: quarter, join: exponent(-1)},
	{number: 0xc9, sign: positive, first: 0.5, split: mantissa, join: addRest},
	// This mode splits the input into the parts before and after the point (floor_r_1x512x1x1).
	{number: 0x63, sign: odd, split: func(x float64) (float64, float64) {
		_, f := math.Modf(x)
		return f, f
	}, join: addRest, empty: true},
	{number: 0x64, sign: odd, split: func(x float64) (float64, float64) {
		i, f := math.Modf(x)
		return f, i
	}, join: addRest, empty: true},
}

// quarter writes x as arg * 4^exp with arg in [1/2, 2).
func quarter(x float64) (arg, half float64) {
	arg, exp := math.Frexp(x)
	odd := exp & 1
	return scaled(arg, odd), float64((exp - odd) / 2)
}

func mantissa(x float64) (arg, rest float64) {
	arg, exp := math.Frexp(x)
	return arg, float64(exp)
}

// newLUT decodes the 128 bytes of a table.
func newLUT(stream string, addr int64, b []byte) (*lut, error) {
	pattern := func(i int) uint16 { return binary.LittleEndian.Uint16(b[2*i:]) }
	l := new(lut)
	copy(l.bytes[:], b)
	for i := range l.v {
		l.v[i] = float64(port.Widen(pattern(i)))
	}
	for i := range knots - 1 {
		l.diff[i] = l.v[lutKnots+i+1] - l.v[lutKnots+i]
	}
	step := pattern(lutStep)
	if step > maxLUTStep && step != linesOnly {
		return nil, badAt(stream, addr+2*lutStep,
			"lookup table: knot spacing 2^-%d, the exponent must be in 0..%d, or %d for none", step, maxLUTStep,
			linesOnly)
	}
	l.perUnit = math.Ldexp(1, int(step))
	for i := range modes {
		if modes[i].number == pattern(lutMode) {
			l.mode = &modes[i]
			for k, v := range l.v[lutKnots:][:knots] {
				if l.mode.empty && v != 0 {
					return nil, badAt(stream, addr+2*int64(lutKnots+k),
						"lookup table: mode %#x with knots other than zero is not known", modes[i].number)
				}
			}
			return l, nil
		}
	}
	return nil, badAt(stream, addr+2*lutMode, "lookup table: mode %#x is not known", pattern(lutMode))
}

// row replaces inputs by the table's values, before the final rounding. A NaN, which occurs here only in plain IEEE
// arithmetic, stays NaN. Where there is no result it is also NaN, and the port decides.
func (l *lut) row(v []float32) {
	if !l.mode.whole || l.mode.sign != signed {
		for i, x := range v {
			v[i] = l.eval(x)
		}
		return
	}
	low, high, perUnit, start := l.v[lutLow], l.v[lutHigh], l.perUnit, l.start()
	at := (*[knots]float64)(l.v[lutKnots:])
	for i, in := range v {
		x := float64(in)
		p := x*perUnit + start // the product is exact
		if !(x > low && x < high && p >= 0 && p < knots-1) {
			v[i] = l.eval(in)
			continue
		}
		k := int(p)
		v[i] = float32(at[k] + float64((p-float64(k))*l.diff[k]))
	}
}

// eval returns the table's value of one input.
func (l *lut) eval(in float32) float32 {
	m, x := l.mode, float64(in)
	negative := x < 0 && m.sign != signed
	if negative {
		x = -x
	}
	var y float32
	switch {
	case x != x:
		return in
	case negative && m.sign == positive:
		y = float32(math.NaN())
	case x >= l.v[lutHigh]:
		y = float32(l.v[lutAbove])
	case x <= l.v[lutLow]:
		y = float32(l.v[lutBelow])
	case m.whole:
		y = l.whole(x)
	case m.powers:
		n := math.Floor(x)
		y = float32(scaled(l.interpolate((x-n)*l.perUnit), int(max(min(n, 1<<10), -1<<10))))
	default:
		arg, rest := m.split(x)
		y = float32(m.join(l.interpolate((arg-m.first)*l.perUnit), rest))
	}
	if negative {
		y = -y
	}
	return y
}

// start returns the position among the knots of a table argument of 0, if the argument is the input.
func (l *lut) start() float64 {
	if l.mode.first != l.mode.first {
		return (knots - 1) / 2
	}
	return 0
}

// whole evaluates an input that is the argument.
func (l *lut) whole(x float64) float32 {
	p := x*l.perUnit + l.start()
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
	i := max(0, min(int(p), knots-2))
	return l.v[lutKnots+i] + float64((p-float64(i))*l.diff[i])
}
