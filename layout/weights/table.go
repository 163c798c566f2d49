package weights

import (
	"encoding/binary"
	"fmt"
	"math"
)

// TableWords and TableBytes are the size of one lookup table.
const (
	TableWords = 64
	TableBytes = 2 * TableWords
)

// Knots is the number of sampled values of a table.
const Knots = 33

// Table is one activation table as the engine streams it: 64 halfwords.
//
//	word    meaning (fp16 unless said otherwise)
//	0, 1    low and high input bound
//	2, 3    output at or below the low bound, at or above the high bound
//	4..36   33 knots, uniformly 2^-step apart
//	37, 38  slope and intercept between the low bound and the first knot
//	39, 40  slope and intercept between the last knot and the high bound
//	41      step, an integer: -log2 of the knot spacing; LinesOnly for none
//	42      mode, an integer (Mode)
//	rest    zero
//
// Evaluation of an input x, NaN read as +infinity:
//
//  1. By the mode's sign rule a negative x gives +0, or its size is taken and
//     the result of the steps below gets the sign of x back.
//  2. x >= word 1: word 3. x <= word 0: word 2. (Both inclusive: the
//     reciprocal's word 2 is its value at 0, exp's word 3 its value at 16.)
//  3. The mode splits x into a table argument t, whose first knot is at t0,
//     and an exponent e; see Mode.
//  4. Where t is x itself: t < t0: word37*t + word38; t past the last knot:
//     word39*t + word40.
//  5. Else with p = (t-t0)*2^step, i = floor(p) (at most 31):
//     y = knot[i] + (knot[i+1]-knot[i])*(p-i).
//  6. The mode puts e back into y.
//
// Steps 3 to 6 are exact in binary64, and the result is rounded once to fp16, to nearest, ties to even; a zero result
// is +0. Words 0..42 were read off recorded tables; whether the engine rounds intermediate values is not known.
type Table [TableWords]uint16

// Places of the words.
const (
	wordLow = iota
	wordHigh
	wordBelow
	wordAbove
	wordKnots
	wordLowSlope = wordKnots + Knots + iota - 5
	wordLowIntercept
	wordHighSlope
	wordHighIntercept
	wordStep
	wordMode
)

// LinesOnly as a step means that all knots are zero, so that the two lines are the whole function (recorded for
// leaky_relu, and for maximum and minimum with a scalar).
const LinesOnly = 64

// maxStep is the largest step of a table with knots.
const maxStep = 24

// Mode is word 42 of a table: how an input becomes a table argument.
type Mode uint16

// The modes, all from recorded tables. The treatment of negative inputs follows from the functions: tanh needs its sign
// back, and roots and logarithms of negative numbers are measured as +0. It is inferred that a reciprocal gets its sign
// back: its mode shares two bits with tanh's, and a division by run-time numbers is recorded with its table
// (binary_real_div_1x64x8x8).
const (
	// ModePlain: t = x, t0 = -16*2^-step.
	ModePlain Mode = 0x01
	// ModeOdd: t = |x|, t0 = 0, result with the sign of x.
	ModeOdd Mode = 0x60
	// ModeExp2: e = floor(x), t = x-e, t0 = 0, result y*2^e. One octave.
	ModeExp2 Mode = 0x0a
	// ModeReciprocal: |x| = t*2^e with t in [1/2, 1), t0 = 1/2, result y*2^-e
	// with the sign of x.
	ModeReciprocal Mode = 0x67
	// ModeSqrt: x = t*4^e with t in [1/2, 2), t0 = 0, result y*2^e. The knots
	// below 1/2 are zero.
	ModeSqrt Mode = 0xc5
	// ModeRsqrt: as ModeSqrt, result y*2^-e.
	ModeRsqrt Mode = 0xc6
	// ModeLog2: x = t*2^e with t in [1/2, 1), t0 = 1/2, result y + e.
	ModeLog2 Mode = 0xc9
	// ModeFraction: |x| = e + t with t in [0, 1) and e whole, result y + t with the sign of x. The knots of the
	// recorded table (floor) are zeros; the effect of other knots is not known.
	ModeFraction Mode = 0x63
	// ModeWhole: the same, result y + e with the sign of x.
	ModeWhole Mode = 0x64
)

// signRule is what a mode does with negative inputs.
type signRule int

const (
	signed   signRule = iota // they are inputs like others
	odd                      // the table is applied to magnitudes, the result gets the sign back
	positive                 // they give +0
)

// split describes a mode, one row per mode.
type split struct {
	mode       Mode
	name       string
	sign       signRule
	whole      bool    // t is the input: lines apply beyond the knots
	start      float64 // t0; NaN: centred on zero
	first, end float64 // knots from first to end are samples, NaN: all
	argue      func(x float64) (t, e float64)
	// apply puts the exponent back.
	apply func(y, e float64) float64
}

var splits = [...]split{
	{mode: ModePlain, name: "plain", sign: signed, whole: true, start: math.NaN(), first: math.NaN(), end: math.NaN(),
		argue: itself, apply: scaleExp(0)},
	{mode: ModeOdd, name: "odd", sign: odd, whole: true, start: 0, first: math.NaN(), end: math.NaN(), argue: itself,
		apply: scaleExp(0)},
	{mode: ModeExp2, name: "exponent split", sign: signed, whole: false, start: 0, first: 0, end: 1,
		argue: func(x float64) (float64, float64) {
			f := math.Floor(x)
			return x - f, f
		}, apply: scaleExp(1)},
	{mode: ModeReciprocal, name: "mantissa, exponent negated", sign: odd, whole: false, start: 0.5, first: 0.5, end: 1,
		argue: frexp, apply: scaleExp(-1)},
	{mode: ModeSqrt, name: "mantissa of 4, exponent", sign: positive, whole: false, start: 0, first: 0.5, end: 2,
		argue: frexp4, apply: scaleExp(1)},
	{mode: ModeRsqrt, name: "mantissa of 4, exponent negated", sign: positive, whole: false, start: 0, first: 0.5,
		end: 2, argue: frexp4, apply: scaleExp(-1)},
	{mode: ModeLog2, name: "mantissa, exponent added", sign: positive, whole: false, start: 0.5, first: 0.5, end: 1,
		argue: frexp, apply: sum},
	{mode: ModeFraction, name: "fraction", sign: odd, whole: false, start: 0, first: 0, end: 1,
		argue: func(x float64) (float64, float64) {
			_, f := math.Modf(x)
			return f, f
		}, apply: sum},
	{mode: ModeWhole, name: "whole part", sign: odd, whole: false, start: 0, first: 0, end: 1,
		argue: func(x float64) (float64, float64) {
			n, f := math.Modf(x)
			return f, n
		}, apply: sum},
}

func sum(y, e float64) float64 { return y + e }

func itself(x float64) (float64, float64) { return x, 0 }

func frexp(x float64) (float64, float64) {
	t, e := math.Frexp(x)
	return t, float64(e)
}

func scaleExp(sign int) func(y, e float64) float64 {
	if sign == 0 {
		return func(y, _ float64) float64 { return y }
	}
	return func(y, e float64) float64 { return math.Ldexp(y, sign*int(e)) }
}

// frexp4 splits x > 0 into t*4^e with t in [1/2, 2).
func frexp4(x float64) (float64, float64) {
	t, e := math.Frexp(x)
	if e&1 != 0 {
		t, e = t*2, e-1
	}
	return t, float64(e / 2)
}

func (m Mode) split() *split {
	for i := range splits {
		if splits[i].mode == m {
			return &splits[i]
		}
	}
	return nil
}

func (m Mode) String() string {
	if s := m.split(); s != nil {
		return s.name
	}
	return fmt.Sprintf("Mode(%#x)", uint16(m))
}

// Mode returns word 42.
func (t *Table) Mode() Mode { return Mode(t[wordMode]) }

// Check returns an error for a table that Eval cannot follow.
func (t *Table) Check() error {
	if t.Mode().split() == nil {
		return fmt.Errorf("weights: table word %d is %#x, not a known mode", wordMode, t[wordMode])
	}
	if t[wordStep] > maxStep && t[wordStep] != LinesOnly {
		return fmt.Errorf("weights: table word %d is %d, want a step of 0..%d or %d", wordStep, t[wordStep], maxStep,
			LinesOnly)
	}
	if !(FromFP16(t[wordLow]) <= FromFP16(t[wordHigh])) {
		return fmt.Errorf("weights: table words 0 and 1, %#04x and %#04x, are not an interval", t[wordLow], t[wordHigh])
	}
	if m := t.Mode(); m == ModeFraction || m == ModeWhole {
		for i, k := range t[wordKnots:][:Knots] {
			if k != 0 {
				return fmt.Errorf("weights: table knot %d is %#04x; mode %#x is known with zeros alone", i, k,
					uint16(m))
			}
		}
	}
	return nil
}

// Eval applies the table to one fp16 value, as the type's comment states. A table that fails Check evaluates to +0.
func (t *Table) Eval(x uint16) uint16 {
	if t.Check() != nil {
		return 0
	}
	return t.eval(t.Mode().split(), x)
}

// eval is Eval for a checked table.
func (t *Table) eval(s *split, x uint16) uint16 {
	v := FromFP16(x)
	if s.sign != signed && v < 0 {
		if s.sign == positive {
			return 0
		}
		if y := t.size(s, -v); y != 0 {
			return y ^ 0x8000
		}
		return 0
	}
	return t.size(s, v)
}

// size evaluates an input after the sign rule is applied.
func (t *Table) size(s *split, v float64) uint16 {
	switch {
	case math.IsNaN(v) || v >= FromFP16(t[wordHigh]):
		return t[wordAbove]
	case v <= FromFP16(t[wordLow]):
		return t[wordBelow]
	}
	arg, e := s.argue(v)
	y := s.apply(t.at(s, arg), e)
	if h := ToFP16(y); h != 0x8000 {
		return h
	}
	return 0
}

// powerOfTwo returns 2^n, n from 0 to LinesOnly.
func powerOfTwo(n int) float64 { return math.Float64frombits(uint64(1023+n) << 52) }

// span returns the arguments of the first and the last knot.
func (s *split) span(step int) (first, last float64) {
	h := 1 / powerOfTwo(step)
	first = s.start
	if math.IsNaN(first) {
		first = -(Knots - 1) / 2 * h
	}
	return first, first + (Knots-1)*h
}

// at interpolates the table at argument v.
func (t *Table) at(s *split, v float64) float64 {
	step := int(t[wordStep])
	start, _ := s.span(step)
	p := (v - start) * powerOfTwo(step)
	switch {
	case s.whole && p < 0:
		return float64(FromFP16(t[wordLowSlope])*v) + FromFP16(t[wordLowIntercept])
	case s.whole && p > Knots-1:
		return float64(FromFP16(t[wordHighSlope])*v) + FromFP16(t[wordHighIntercept])
	}
	i := int(min(max(math.Floor(p), 0), Knots-2))
	y0, y1 := FromFP16(t[wordKnots+i]), FromFP16(t[wordKnots+i+1])
	return float64((y1-y0)*(p-float64(i))) + y0
}

// Bytes returns the table as it is stored in the constant section.
func (t *Table) Bytes() []byte {
	b := make([]byte, TableBytes)
	t.put(b)
	return b
}

func (t *Table) put(dst []byte) {
	for i, w := range t {
		binary.LittleEndian.PutUint16(dst[2*i:], w)
	}
}
