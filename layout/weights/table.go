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
//	41      step, an integer: -log2 of the knot spacing
//	42      mode, an integer (Mode)
//	43      addend a unit of exponent (ModeLog only; modelled)
//	rest    zero
//
// Evaluation of an input x, NaN read as +infinity:
//
//  1. x >= word 1: word 3. x <= word 0: word 2. (Both inclusive: the
//     reciprocal's word 2 is its value at 0, exp's word 3 its value at 16.)
//  2. The mode splits x into a table argument t, whose first knot is at t0,
//     and an exponent e; see Mode.
//  3. Plain mode only: t < t0: word37*t + word38; t past the last knot:
//     word39*t + word40.
//  4. Else with p = (t-t0)*2^step, i = floor(p) (at most 31):
//     y = knot[i] + (knot[i+1]-knot[i])*(p-i).
//  5. The mode puts e back into y.
//
// Steps 2 to 5 are exact (binary64 holds them) and the result is rounded once
// to fp16, to nearest, ties to even; a zero result is +0. Words 0..42 were
// read off recorded tables; where the engine rounds on the way is not known.
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
	wordAddend
)

// Mode is word 42 of a table: how an input becomes a table argument.
type Mode uint16

// The modes. ModePlain, ModeExp2 and ModeReciprocal carry the numbers of
// recorded tables; the others are modelled: their numbers are zinc's own and
// no record confirms them.
const (
	// ModePlain: t = x, t0 = -16*2^-step.
	ModePlain Mode = 0x01
	// ModeExp2: e = floor(x), t = x-e, t0 = 0, result y*2^e. One octave.
	ModeExp2 Mode = 0x0a
	// ModeReciprocal: x = t*2^e with t in [1/2, 1), t0 = 1/2, result y*2^-e. The
	// sign is set aside and put back (inferred: a division by run-time numbers is
	// recorded with this table, binary_real_div_1x64x8x8).
	ModeReciprocal Mode = 0x67
	// ModeSqrt: x = t*4^e with t in [1/4, 1), t0 = 1/4, result y*2^e. The
	// knots run at 1/32 up to t = 1, number 24; the rest are zero. Modelled.
	ModeSqrt Mode = 0x2b
	// ModeRsqrt: as ModeSqrt, result y*2^-e. Modelled.
	ModeRsqrt Mode = 0x6b
	// ModeLog: x = t*2^e with t in [1/2, 1), t0 = 1/2, result y + e*word43.
	// Modelled.
	ModeLog Mode = 0x27
)

// split is what a mode does, one row a mode.
type split struct {
	mode  Mode
	name  string
	start float64 // t0; NaN: centred on zero
	argue func(x float64) (t float64, e int)
	// apply puts the exponent back.
	apply func(y float64, e int, addend float64) float64
}

var splits = [...]split{
	{ModePlain, "plain", math.NaN(), func(x float64) (float64, int) { return x, 0 }, scaleExp(0)},
	{ModeExp2, "exponent split", 0, func(x float64) (float64, int) { f := math.Floor(x); return x - f, int(f) }, scaleExp(1)},
	{ModeReciprocal, "mantissa, exponent negated", 0.5, math.Frexp, scaleExp(-1)},
	{ModeSqrt, "mantissa of 4, exponent", 0.25, frexp4, scaleExp(1)},
	{ModeRsqrt, "mantissa of 4, exponent negated", 0.25, frexp4, scaleExp(-1)},
	{ModeLog, "mantissa, exponent added", 0.5, math.Frexp, func(y float64, e int, a float64) float64 { return y + float64(float64(e)*a) }},
}

func scaleExp(sign int) func(float64, int, float64) float64 {
	return func(y float64, e int, _ float64) float64 { return math.Ldexp(y, sign*e) }
}

// frexp4 splits x > 0 into t*4^e with t in [1/4, 1).
func frexp4(x float64) (float64, int) {
	t, e := math.Frexp(x)
	if e&1 != 0 {
		t, e = t/2, e+1
	}
	return t, e / 2
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

// Check reports a table that Eval cannot follow.
func (t *Table) Check() error {
	if t.Mode().split() == nil {
		return fmt.Errorf("weights: table word %d is %#x, not a known mode", wordMode, t[wordMode])
	}
	if t[wordStep] > 24 {
		return fmt.Errorf("weights: table word %d is %d, want a step of 0..24", wordStep, t[wordStep])
	}
	if !(fromHalf(t[wordLow]) <= fromHalf(t[wordHigh])) {
		return fmt.Errorf("weights: table words 0 and 1, %#04x and %#04x, are no interval", t[wordLow], t[wordHigh])
	}
	return nil
}

// Eval applies the table to one fp16 value, as the type's comment states. A
// table that Check refuses evaluates to +0.
func (t *Table) Eval(x uint16) uint16 {
	s := t.Mode().split()
	v := fromHalf(x)
	switch {
	case t.Check() != nil:
		return 0
	case s.mode == ModeReciprocal && v < 0: // of the other sign
		if y := t.Eval(x & 0x7fff); y != 0 {
			return y ^ 0x8000
		}
		return 0
	case math.IsNaN(v) || v >= fromHalf(t[wordHigh]):
		return t[wordAbove]
	case v <= fromHalf(t[wordLow]):
		return t[wordBelow]
	}
	arg, e := s.argue(v)
	y := s.apply(t.at(s, arg), e, fromHalf(t[wordAddend]))
	if h := toHalf(y); h != 0x8000 {
		return h
	}
	return 0
}

// at interpolates the table at argument v.
func (t *Table) at(s *split, v float64) float64 {
	step := int(t[wordStep])
	start := s.start
	if s.mode == ModePlain {
		start = -math.Ldexp((Knots-1)/2, -step)
	}
	p := math.Ldexp(v-start, step)
	switch {
	case s.mode == ModePlain && p < 0:
		return float64(fromHalf(t[wordLowSlope])*v) + fromHalf(t[wordLowIntercept])
	case s.mode == ModePlain && p > Knots-1:
		return float64(fromHalf(t[wordHighSlope])*v) + fromHalf(t[wordHighIntercept])
	}
	i := int(min(max(math.Floor(p), 0), Knots-2))
	y0, y1 := fromHalf(t[wordKnots+i]), fromHalf(t[wordKnots+i+1])
	return float64((y1-y0)*(p-float64(i))) + y0
}

// Bytes returns the table as the constant section holds it.
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

// ParseTable reads a table back from the constant section.
func ParseTable(b []byte) (*Table, error) {
	if len(b) < TableBytes {
		return nil, fmt.Errorf("weights: table of %d bytes, want %d", len(b), TableBytes)
	}
	t := new(Table)
	for i := range t {
		t[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return t, nil
}
