package lint

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/verify"
)

// Sigmas is how many deviations of the standard normal distribution the default
// range of a float input reaches.
const Sigmas = 3

// DefaultRange is the range of an input that none was given for: of floats the
// Sigmas deviations of the values that zinc verify draws, of integers and truth
// values what it draws, of 8-bit integers what their type holds.
func DefaultRange(t ir.Type) Interval {
	switch {
	case t.DType.IsFloat():
		return span(-Sigmas, Sigmas)
	case t.DType == ir.Bool || t.DType == ir.UInt1:
		return span(0, 1)
	case t.DType == ir.Int8 || t.DType == ir.UInt8:
		return typeRange(t.DType)
	}
	return span(0, verify.MaxRandomInt)
}

// TypeRange is every finite value of an element type.
func TypeRange(d ir.DType) Interval {
	r := largest[d]
	return span(r[0], r[1])
}

// inner returns the range with bounds that are elements of the type and are in it.
func inner(r Interval, d ir.DType) (Interval, error) {
	out := r
	switch {
	case d == ir.FP16:
		out.Lo, out.Hi = step16(r.Lo, 1), step16(r.Hi, -1)
	case d == ir.FP32:
		out.Lo, out.Hi = float64(float32(r.Lo)), float64(float32(r.Hi))
		if out.Lo < r.Lo {
			out.Lo = float64(math.Nextafter32(float32(r.Lo), float32(inf)))
		}
		if out.Hi > r.Hi {
			out.Hi = float64(math.Nextafter32(float32(r.Hi), float32(-inf)))
		}
	case !d.IsFloat():
		out.Lo, out.Hi = math.Ceil(r.Lo), math.Floor(r.Hi)
	}
	t := typeRange(d)
	if out.Lo > out.Hi || !(out.Lo >= t.Lo) || !(out.Hi <= t.Hi) || math.IsInf(out.mag(), 0) {
		return out, fmt.Errorf("the range %s to %s holds no finite values of %s", number(r.Lo), number(r.Hi), d)
	}
	return out, nil
}

// step16 rounds to fp16, towards the inside that dir tells.
func step16(x, dir float64) float64 {
	y := float64(numerics.Round16(float32(x)))
	for range 2 {
		if dir > 0 && y >= x || dir < 0 && y <= x {
			break
		}
		y = next16(y, dir)
	}
	return y
}

// next16 is the neighbouring fp16 number.
func next16(x, dir float64) float64 {
	h := numerics.Narrow(float32(x))
	switch {
	case x == 0:
		return math.Copysign(1.0/(1<<24), dir)
	case (x > 0) == (dir > 0):
		h++
	default:
		h--
	}
	return float64(numerics.Widen(h))
}

// port is an input that is searched over.
type port struct {
	v *ir.Value
	r Interval
	n int
}

// fill makes a tensor of values that are in the port's range once held to it.
func (p *port) fill(at func(i int) float64) (interp.Tensor, error) {
	d := p.v.Type.DType
	if d.IsInt() {
		vs := make([]int64, p.n)
		for i := range vs {
			vs[i] = int64(math.RoundToEven(clampTo(at(i), p.r)))
		}
		return interp.FromInts(d, vs, p.v.Type.Shape...)
	}
	vs := make([]float32, p.n)
	for i := range vs {
		x := at(i)
		if x < p.r.Lo || x > p.r.Hi { // keeps the sign of a zero that is inside
			x = clampTo(x, p.r)
		}
		vs[i] = float32(x)
	}
	t, err := interp.FromFloats(d, vs, p.v.Type.Shape...)
	if err != nil {
		return t, err
	}
	// Rounding to the type may have left the range, whose bounds are elements.
	moved := false
	for i, y := range t.Floats32() {
		if c := clampTo(float64(y), p.r); c != float64(y) {
			vs[i], moved = float32(c), true
		}
	}
	if moved {
		return interp.FromFloats(d, vs, p.v.Type.Shape...)
	}
	return t, nil
}

// candidate is a set of inputs to try.
type candidate struct {
	in  tensors
	how string
}

// pattern is a way to fill an input; it gives element i.
type pattern struct {
	how string
	at  func(p *port, i int, rnd *rand.Rand) float64
}

func constant(how string, f func(r Interval) float64) pattern {
	return pattern{how, func(p *port, _ int, _ *rand.Rand) float64 { return f(p.r) }}
}

// noisy is a number with small differences between elements.
func noisy(how string, at func(r Interval) float64, share float64) pattern {
	return pattern{how, func(p *port, _ int, rnd *rand.Rand) float64 {
		x := at(p.r)
		return x - x*share*rnd.Float64()
	}}
}

// boundPatterns is how many of the patterns represent the rest where a run is dear.
const boundPatterns = 4

// patterns are tried for every suspicion, each on all inputs at once and, where
// there are several, some on each against the others.
var patterns = []pattern{
	constant("all at the upper bound", func(r Interval) float64 { return r.Hi }),
	constant("all at the lower bound", func(r Interval) float64 { return r.Lo }),
	constant("all 0", func(Interval) float64 { return 0 }),
	{"random corners", func(p *port, _ int, rnd *rand.Rand) float64 {
		if rnd.IntN(2) == 0 {
			return p.r.Lo
		}
		return p.r.Hi
	}},
	{"uniform in the range", func(p *port, _ int, rnd *rand.Rand) float64 {
		return p.r.Lo + (p.r.Hi-p.r.Lo)*rnd.Float64()
	}},
	constant("all -0", func(Interval) float64 { return math.Copysign(0, -1) }),
	constant("all 2^-17", func(Interval) float64 { return 1.0 / (1 << 17) }),
	{"0 or the least fp16 number", func(_ *port, i int, _ *rand.Rand) float64 { return float64(i%2) / (1 << 24) }},
	noisy("near the upper bound, within a share of 2^-9", func(r Interval) float64 { return r.Hi }, 1.0/512),
	noisy("near the upper bound, within a share of 2^-7", func(r Interval) float64 { return r.Hi }, 1.0/128),
	noisy("near the lower bound, within a share of 2^-8", func(r Interval) float64 { return r.Lo }, 1.0/256),
	noisy("near a half of the upper bound, within a share of 2^-6", func(r Interval) float64 {
		return r.Hi / 2
	}, 1.0/64),
	constant("all odd near the upper bound", func(r Interval) float64 { return r.Hi - 1 + math.Mod(r.Hi, 2) }),
}

// seedOf makes the search repeatable.
const searchSeed = 0x6c696e74

func (p pattern) make(ports []*port, k int) (candidate, error) {
	c := candidate{tensors{}, p.how}
	rnd := rand.New(rand.NewPCG(searchSeed, uint64(k)))
	for _, q := range ports {
		t, err := q.fill(func(i int) float64 { return p.at(q, i, rnd) })
		if err != nil {
			return c, err
		}
		c.in[q.v.Name] = t
	}
	return c, nil
}

// opposed fills one input with its upper bound and the others with their lower.
func opposed(ports []*port, one int) (candidate, error) {
	c := candidate{tensors{}, fmt.Sprintf("%s at its upper bound, the others at their lower", ports[one].v.Name)}
	for i, q := range ports {
		x := q.r.Lo
		if i == one {
			x = q.r.Hi
		}
		t, err := q.fill(func(int) float64 { return x })
		if err != nil {
			return c, err
		}
		c.in[q.v.Name] = t
	}
	return c, nil
}
