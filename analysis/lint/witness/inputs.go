package witness

import (
	"math"
	"math/rand/v2"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// Sigmas is the bound of the default range of a float input, in standard deviations of the normal distribution.
const Sigmas = 3

// DefaultRange is the range of an input without one of its own: for floats Sigmas deviations of the values that zinc
// verify draws, for integers and booleans the values that it draws, for 8-bit integers all values of the type.
func DefaultRange(t ir.Type) interval.Interval {
	switch {
	case t.DType.IsFloat():
		return interval.Span(-Sigmas, Sigmas)
	case t.DType == ir.Bool || t.DType == ir.UInt1:
		return interval.Span(0, 1)
	case t.DType == ir.Int8 || t.DType == ir.UInt8:
		return interval.OfType(t.DType)
	}
	return interval.Span(0, verify.MaxRandomInt)
}

// Input is an input that is searched over.
type Input struct {
	Value *ir.Value
	Range interval.Interval
	n     int
}

// NewInput returns an input of a static shape.
func NewInput(v *ir.Value, r interval.Interval) *Input { return &Input{v, r, int(v.Type.Elems())} }

// fill returns a tensor of values, clipped to the input's range.
func (p *Input) fill(at func(i int) float64) (interp.Tensor, error) {
	d := p.Value.Type.DType
	if d.IsInt() {
		vs := make([]int64, p.n)
		for i := range vs {
			vs[i] = int64(math.RoundToEven(interval.Clamp(at(i), p.Range)))
		}
		return interp.FromInts(d, vs, p.Value.Type.Shape...)
	}
	vs := make([]float32, p.n)
	for i := range vs {
		x := at(i)
		if x < p.Range.Lo || x > p.Range.Hi { // keeps the sign of a zero in the range
			x = interval.Clamp(x, p.Range)
		}
		vs[i] = float32(x)
	}
	t, err := interp.FromFloats(d, vs, p.Value.Type.Shape...)
	if err != nil {
		return t, err
	}
	// Rounding to the type may have left the range, whose bounds are elements.
	moved := false
	for i, y := range t.Floats32() {
		if c := interval.Clamp(float64(y), p.Range); c != float64(y) {
			vs[i], moved = float32(c), true
		}
	}
	if moved {
		return interp.FromFloats(d, vs, p.Value.Type.Shape...)
	}
	return t, nil
}

// Candidate is a set of inputs to try.
type Candidate struct {
	Values tensors
	How    string
}

// filled fills every input.
func filled(ports []*Input, how string, at func(q *Input, i int) float64) (Candidate, error) {
	c := Candidate{tensors{}, how}
	for _, q := range ports {
		x, err := q.fill(func(i int) float64 { return at(q, i) })
		if err != nil {
			return c, err
		}
		c.Values[q.Value.Name] = x
	}
	return c, nil
}

// pattern is a way to fill an input; at returns element i.
type pattern struct {
	how string
	at  func(p *Input, i int, rnd *rand.Rand) float64
}

func constant(how string, f func(r interval.Interval) float64) pattern {
	return pattern{how, func(p *Input, _ int, _ *rand.Rand) float64 { return f(p.Range) }}
}

// noisy fills with a number and small differences between elements.
func noisy(how string, at func(r interval.Interval) float64, share float64) pattern {
	return pattern{how, func(p *Input, _ int, rnd *rand.Rand) float64 {
		x := at(p.Range)
		return x - x*share*rnd.Float64()
	}}
}

// boundPatterns is the number of patterns, the first ones, that are tried if runs are expensive.
const boundPatterns = 4

// patterns are tried for every suspicion, each on all inputs at once.
var patterns = []pattern{
	constant("all at the upper bound", func(r interval.Interval) float64 { return r.Hi }),
	constant("all at the lower bound", func(r interval.Interval) float64 { return r.Lo }),
	constant("all 0", func(interval.Interval) float64 { return 0 }),
	{"random corners", func(p *Input, _ int, rnd *rand.Rand) float64 {
		if rnd.IntN(2) == 0 {
			return p.Range.Lo
		}
		return p.Range.Hi
	}},
	{"uniform in the range", func(p *Input, _ int, rnd *rand.Rand) float64 {
		return p.Range.Lo + (p.Range.Hi-p.Range.Lo)*rnd.Float64()
	}},
	constant("all -0", func(interval.Interval) float64 { return math.Copysign(0, -1) }),
	constant("all 2^-17", func(interval.Interval) float64 { return 1.0 / (1 << 17) }),
	{"0 or the smallest fp16 number", func(_ *Input, i int, _ *rand.Rand) float64 { return float64(i%2) / (1 << 24) }},
	noisy("near the upper bound, within a share of 2^-9", func(r interval.Interval) float64 { return r.Hi }, 1.0/512),
	noisy("near the upper bound, within a share of 2^-7", func(r interval.Interval) float64 { return r.Hi }, 1.0/128),
	noisy("near the lower bound, within a share of 2^-8", func(r interval.Interval) float64 { return r.Lo }, 1.0/256),
	noisy("near half of the upper bound, within a share of 2^-6", func(r interval.Interval) float64 {
		return r.Hi / 2
	}, 1.0/64),
	constant("all odd near the upper bound", func(r interval.Interval) float64 { return r.Hi - 1 + math.Mod(r.Hi, 2) }),
}

// searchSeed makes the search deterministic.
const searchSeed = 0x6c696e74

func (p pattern) make(ports []*Input, k int) (Candidate, error) {
	rnd := rand.New(rand.NewPCG(searchSeed, uint64(k)))
	return filled(ports, p.how, func(q *Input, i int) float64 { return p.at(q, i, rnd) })
}
