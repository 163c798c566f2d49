package weights

import (
	"fmt"
	"math"
	"math/bits"
)

// Spec says how a table is made from a function.
type Spec struct {
	// F is the function. Its results are rounded to binary32 before use, so a difference in the last bits of a
	// platform's mathematics library affects a table only where a value is within 2^-24 of an fp16 rounding tie.
	F func(float64) float64
	// Exact is the function of the table, including its bounds, if F is only its part between the bounds; nil if F is
	// the whole function.
	Exact func(float64) float64
	Mode  Mode
	// Step is -log2 of the knot spacing, in 0..24; in a plain table it sets the sampled domain,
	// -16*2^-Step..16*2^-Step, in an odd one 0..32*2^-Step. LinesOnly means a table without a domain: the tails are the
	// function.
	Step int
	// Knots are the knots as fp16, instead of samples of F.
	Knots []uint16
	// Low and High are the tails outside the knots.
	Low, High Tail
}

// Tail is one side of a table outside its knots.
type Tail struct {
	// Bound is where the tail's line ends and Value begins; ignored if Fit is set.
	Bound float64
	// Value is the output at and beyond the bound.
	Value float64
	// Slope and Intercept are the line between bound and knots; ignored if Fit is set.
	Slope, Intercept float64
	// Through uses a line of Slope through the outermost knot.
	Through bool
	// Fit uses the line from the outermost knot to Value at the bound with the smallest worst error.
	Fit bool
}

// Saturate returns a tail fitted towards v.
func Saturate(v float64) Tail { return Tail{Value: v, Fit: true} }

// Line returns a tail without a bound that follows slope*x + intercept; the value at sign*infinity is the line's.
func Line(sign int, slope, intercept float64) Tail {
	t := Tail{Bound: math.Inf(sign), Slope: slope, Intercept: intercept, Value: intercept}
	if slope != 0 {
		t.Value = math.Inf(sign)
		if slope < 0 {
			t.Value = math.Inf(-sign)
		}
	}
	return t
}

// Hold returns a tail that starts at bound and keeps value; a line fills any gap between bound and the knots.
func Hold(bound, value, slope, intercept float64) Tail {
	return Tail{Bound: bound, Value: value, Slope: slope, Intercept: intercept}
}

// Generate samples and fits a table.
func Generate(s Spec) (*Table, error) {
	sp := s.Mode.split()
	if sp == nil {
		return nil, fmt.Errorf("weights: table mode %#x is unknown", uint16(s.Mode))
	}
	if s.F == nil || (s.Step < 0 || s.Step > maxStep) && s.Step != LinesOnly {
		return nil, fmt.Errorf("weights: table step is %d, want 0..%d or %d, and a function", s.Step, maxStep,
			LinesOnly)
	}
	f := func(x float64) float64 { return float64(float32(s.F(x))) }
	t := new(Table)
	start, end := sp.span(s.Step)
	if n := len(s.Knots); n != 0 && n != Knots {
		return nil, fmt.Errorf("weights: a table has %d knots, want %d", n, Knots)
	}
	for i := range Knots {
		x := start + math.Ldexp(float64(i), -s.Step)
		var v uint16
		switch {
		case s.Step == LinesOnly: // as good as zero, with the bounds
			if v = ToFP16(f(0)); s.Exact != nil {
				v = ToFP16(s.Exact(0))
			}
		case s.Knots != nil:
			v = s.Knots[i]
		case x >= sp.first && x <= sp.end || math.IsNaN(sp.first):
			v = ToFP16(f(x))
		}
		if v&0x7fff > 0x7c00 {
			return nil, fmt.Errorf("weights: table function is not a number at knot %d (%g)", i, x)
		}
		if v == 0x8000 {
			v = 0
		}
		t[wordKnots+i] = v
	}
	t[wordStep], t[wordMode] = uint16(s.Step), uint16(s.Mode)
	t.tail(f, s.Low, start, wordLow, wordKnots, wordLowSlope)
	t.tail(f, s.High, end, wordHigh, wordKnots+Knots-1, wordHighSlope)
	return t, t.Check()
}

// tail fills in one side: bound, value, line. x0 is the outermost knot.
func (t *Table) tail(f func(float64) float64, tl Tail, x0 float64, bound, knot, slope int) {
	switch {
	case tl.Fit:
		tl = fit(f, tl.Value, x0, FromFP16(t[knot]))
	case tl.Through:
		tl.Intercept = FromFP16(t[knot]) - float64(tl.Slope*x0)
	}
	t[bound], t[bound+2] = ToFP16(tl.Bound), ToFP16(tl.Value)
	t[slope], t[slope+1] = ToFP16(tl.Slope), ToFP16(tl.Intercept)
}

// fit searches the bound past x0 whose chord from (x0, y0) to (bound, v) has the least worst error, including the jump
// to v at the bound. Candidates are every eighth fp16 value up to 256 times x0; the first best wins, so the result does
// not depend on the order of floating comparisons. The bound is not beyond the point where the rounded function is
// already v (the high tail of the recorded sigmoid ends there, its low tail at the bound of least worst error).
func fit(f func(float64) float64, v, x0, y0 float64) Tail {
	const (
		samples = 24
		fitSpan = 8 << 10 // octaves
	)
	best, worst := Tail{Bound: x0, Value: v}, math.Inf(1)
	first := ToFP16(x0)
	for b := first; b&0x7fff <= first&0x7fff+fitSpan && b&0x7fff < 0x7c00; b += 8 {
		bound := FromFP16(b)
		tl := Tail{Bound: bound, Value: v}
		if bound != x0 {
			tl = chord(x0, y0, bound, v)
		}
		e := math.Abs(f(bound) - v)
		for i := 0; i < samples && bound != x0; i++ {
			x := x0 + float64((bound-x0)*float64(i))/samples
			e = max(e, math.Abs(float64(tl.Slope*x)+tl.Intercept-f(x)))
		}
		if e < worst {
			best, worst = tl, e
		}
	}
	for b := first + 1; b&0x7fff < ToFP16(best.Bound)&0x7fff; b++ {
		if bound := FromFP16(b); ToFP16(f(bound)) == ToFP16(v) {
			return chord(x0, y0, bound, v)
		}
	}
	return best
}

// chord returns the tail from (x0, y0) to (bound, v), with its line as a table stores it.
func chord(x0, y0, bound, v float64) Tail {
	slope := FromFP16(ToFP16((v - y0) / (bound - x0)))
	return Tail{Bound: bound, Value: v, Slope: slope, Intercept: FromFP16(ToFP16(y0 - float64(slope*x0)))}
}

// WorstCase is the largest error of a table relative to its function.
type WorstCase struct {
	// Abs is the largest |table - function|, AbsAt the input it occurs at.
	Abs   float64
	AbsAt uint16
	// Rel is the largest |table - function| / |function| where the function is at least 2^-14, the smallest normal
	// number; RelAt is its input.
	Rel   float64
	RelAt uint16
	// Inputs is the number of inputs compared.
	Inputs int
	// Signed has the errors of both signs near each input.
	Signed *SignedError
}

// signedBits are the low bits of an fp16 input that do not choose its group in a SignedError: a group is a sixteenth of
// an octave.
const signedBits = 6

// SignedError is the least and the greatest of table - function in each group of fp16 inputs with the same upper bits.
// A group without inputs in the table's domain has a least error above its greatest.
type SignedError struct {
	low, high [signedGroups]float32
	// ranges has the least and the greatest error of 1<<k groups in the order of the inputs, from each group on, and
	// whether one of them has no input.
	ranges [][signedGroups]errorRange
}

const signedGroups = 1 << (16 - signedBits)

type errorRange struct {
	low, high float32
	empty     bool
}

func (r errorRange) with(o errorRange) errorRange {
	return errorRange{min(r.low, o.low), max(r.high, o.high), r.empty || o.empty}
}

// index prepares Between, once all errors are noted.
func (s *SignedError) index() {
	s.ranges = make([][signedGroups]errorRange, bits.Len(signedGroups))
	for o := range signedGroups {
		i := o - signedGroups/2
		if i < 0 { // a negative input
			i = -1 - i + signedGroups/2
		}
		s.ranges[0][o] = errorRange{s.low[i], s.high[i], s.low[i] > s.high[i]}
	}
	for k, r := range s.ranges[1:] {
		before, half := &s.ranges[k], 1<<k
		for o := range len(r) - 2*half + 1 {
			s.ranges[k+1][o] = before[o].with(before[o+half])
		}
	}
}

func newSignedError() *SignedError {
	s := &SignedError{}
	for i := range s.low {
		s.low[i], s.high[i] = float32(math.Inf(1)), float32(math.Inf(-1))
	}
	return s
}

// add notes the error e at the fp16 input x.
func (s *SignedError) add(x uint16, e float64) {
	i := x >> signedBits
	s.low[i], s.high[i] = min(s.low[i], float32(e)), max(s.high[i], float32(e))
}

// Between returns the least and the greatest error of inputs from lo to hi and of those in the groups of these two, or
// false if one of the groups has no input in the table's domain.
func (s *SignedError) Between(lo, hi float64) (least, greatest float64, ok bool) {
	from, to := signedGroup(lo)+signedGroups/2, signedGroup(hi)+signedGroups/2
	if from > to {
		return math.Inf(1), math.Inf(-1), false
	}
	k := bits.Len(uint(to-from+1)) - 1
	r := s.ranges[k][from].with(s.ranges[k][to+1-1<<k])
	if r.empty {
		return 0, 0, false
	}
	return float64(r.low), float64(r.high), true
}

// signedGroup numbers the group of an input. Numbers grow with the input and are negative for negative inputs.
func signedGroup(x float64) int {
	h := ToFP16(x)
	if h&0x8000 != 0 {
		return -1 - int(h&0x7fff>>signedBits)
	}
	return int(h >> signedBits)
}

// worst compares fp16(table*after), the table applied to fp16(x*scale), with f(x)
// for every finite fp16 x in [low, high]. Inputs where both are infinite or f is
// outside fp16 and the table saturates the same way count as equal.
func worst(t *Table, f func(float64) float64, scale, after, low, high float64) WorstCase {
	w := WorstCase{Signed: newSignedError()}
	split := t.Mode().split()
	eval := func(x uint16) uint16 { return t.eval(split, x) }
	if t.Check() != nil {
		eval = t.Eval
	}
	for i := range 1 << 16 {
		x := uint16(i)
		v := FromFP16(x)
		if !(v >= low && v <= high) || math.IsInf(v, 0) {
			continue
		}
		w.Inputs++
		got, want := between(eval, v, scale, after), f(v)
		if got == ToFP16(want) && got&0x7fff == 0x7c00 {
			w.Signed.add(x, 0)
			continue
		}
		w.Signed.add(x, FromFP16(got)-want)
		e := math.Abs(FromFP16(got) - want)
		if !(e <= w.Abs) {
			w.Abs, w.AbsAt = e, x
		}
		if a := math.Abs(want); a >= 0x1p-14 && !(e/a <= w.Rel) {
			w.Rel, w.RelAt = e/a, x
		}
	}
	w.Signed.index()
	return w
}

// between returns fp16(table*after) of the table applied to fp16(v*scale).
func between(eval func(uint16) uint16, v, scale, after float64) uint16 {
	y := eval(ToFP16(float64(v * scale)))
	if after != 1 {
		y = ToFP16(float64(FromFP16(y) * after))
	}
	return y
}
