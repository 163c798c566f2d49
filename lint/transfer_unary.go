package lint

import (
	"math"

	"github.com/zinc-compiler/zinc/ir"
)

// scalar is a function of one number with its shape.
type scalar struct {
	f func(x float64) float64
	// low and high delimit the domain, outside of which the result is NaN.
	low, high float64
	// turns are the inputs at which the function turns around, with which it is
	// monotone in between.
	turns []float64
}

func real(f func(float64) float64, turns ...float64) scalar {
	return scalar{f: f, low: -inf, high: inf, turns: turns}
}

func domain(f func(float64) float64, low, high float64) scalar {
	return scalar{f: f, low: low, high: high}
}

func sigmoid(x float64) float64 {
	if x < 0 {
		e := math.Exp(x)
		return e / (1 + e)
	}
	return 1 / (1 + math.Exp(-x))
}

func softplus(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

func silu(x float64) float64 {
	if math.IsInf(x, -1) {
		return 0
	}
	return x * sigmoid(x)
}

func relu(x float64) float64 { return max(x, 0) }

func signOf(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

// gelus are the forms of gelu, by mode. The least value of each lies at the turn.
var gelus = map[string]scalar{
	"EXACT":                 real(gelu, turnOf(gelu, -2, 0)),
	"TANH_APPROXIMATION":    real(geluTanh, turnOf(geluTanh, -2, 0)),
	"SIGMOID_APPROXIMATION": real(geluSigmoid, turnOf(geluSigmoid, -2, 0)),
}

func gelu(x float64) float64 {
	if math.IsInf(x, -1) {
		return 0
	}
	return 0.5 * x * math.Erfc(-x/math.Sqrt2)
}

func geluTanh(x float64) float64 {
	if math.IsInf(x, -1) {
		return 0
	}
	return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

func geluSigmoid(x float64) float64 { return silu(1.702*x) / 1.702 }

// turnOf returns the place of the least value of a function that falls and then
// rises between lo and hi.
func turnOf(f func(float64) float64, lo, hi float64) float64 {
	for range 200 {
		a, b := lo+(hi-lo)/3, hi-(hi-lo)/3
		if f(a) < f(b) {
			hi = b
		} else {
			lo = a
		}
	}
	return (lo + hi) / 2
}

// unaries are the operations of x alone. Trigonometric functions have bounds and
// no shape here: see periodic.
var unaries = map[string]scalar{
	"abs":      real(math.Abs, 0),
	"acos":     domain(math.Acos, -1, 1),
	"asin":     domain(math.Asin, -1, 1),
	"atan":     real(math.Atan),
	"atanh":    domain(math.Atanh, -1, 1),
	"ceil":     real(math.Ceil),
	"cosh":     real(math.Cosh, 0),
	"erf":      real(math.Erf),
	"exp":      real(math.Exp),
	"exp2":     real(math.Exp2),
	"floor":    real(math.Floor),
	"relu":     real(relu),
	"relu6":    real(func(x float64) float64 { return min(relu(x), 6) }),
	"round":    real(math.RoundToEven),
	"sigmoid":  real(sigmoid),
	"sign":     real(signOf),
	"silu":     real(silu, turnOf(silu, -3, 0)),
	"sinh":     real(math.Sinh),
	"softplus": real(softplus),
	"softsign": real(func(x float64) float64 { return x / (1 + math.Abs(x)) }),
	"sqrt":     domain(math.Sqrt, 0, inf),
	"square":   real(func(x float64) float64 { return x * x }, 0),
	"tanh":     real(math.Tanh),
}

// engineExtra are results that the engine gives beside the function's own.
var engineExtra = map[string]func(x Interval) []float64{
	"exp": func(x Interval) []float64 {
		if x.Hi >= 11.09 {
			return []float64{inf}
		}
		return nil
	},
	"softplus": atInfinity, "softsign": atInfinity,
}

// atInfinity: the table's output above its high bound is 0.
func atInfinity(x Interval) []float64 {
	if math.IsInf(x.mag(), 0) {
		return []float64{0}
	}
	return nil
}

// apply gives the range of a function over a range.
func (s scalar) apply(x Interval) Interval {
	r := nothing
	r.NaN = x.NaN
	if x.empty() {
		return r
	}
	lo, hi := x.Lo, x.Hi
	if lo < s.low || hi > s.high {
		r.NaN = true
		lo, hi = max(lo, s.low), min(hi, s.high)
	}
	if lo > hi {
		return r
	}
	at := func(p float64) {
		y := s.f(p)
		if y != y {
			r.NaN = true
			r.Lo, r.Hi = -inf, inf
			return
		}
		r = r.with(y)
	}
	at(lo)
	at(hi)
	for _, t := range s.turns {
		if lo < t && t < hi {
			at(t)
		}
	}
	return r
}

// epsilons are the functions of x plus an epsilon, and its default.
var epsilons = map[string]struct {
	def float64
	s   scalar
}{
	"log":   {1e-45, domain(math.Log, 0, inf)},
	"rsqrt": {1e-12, domain(func(x float64) float64 { return 1 / math.Sqrt(x) }, 0, inf)},
}

func unaryRows() map[string]transfer {
	m := map[string]transfer{"cast": castRange, "cos": periodic, "sin": periodic, "tan": tanRange, "gelu": geluRange,
		"inverse": inverseRange, "logical_not": truth, "identity": func(c *call) []Interval { return one(c.in("x")) }}
	for n, s := range unaries {
		m[n] = func(c *call) []Interval {
			x := c.in("x")
			r := s.apply(x)
			if extra := engineExtra[n]; c.engine && extra != nil {
				r = r.with(extra(x)...)
			}
			return one(r.slack(1, 0))
		}
	}
	for n, e := range epsilons {
		m[n] = func(c *call) []Interval {
			x := epsilonAdded(c, e.def)
			r := e.s.apply(x)
			if c.engine && n == "log" && x.Lo <= 0 {
				r = r.with(-45440)
			}
			return one(r.slack(1, 0))
		}
	}
	for n, p := range params {
		m[n] = p.rangeOf
	}
	return m
}

// epsilonAdded is x plus epsilon, with and without the rounding of epsilon to
// the type of x.
func epsilonAdded(c *call, def float64) Interval {
	e := c.number("epsilon", def)
	return add(c.in("x"), span(min(e, fp16(e)), max(e, fp16(e)))).slack(1, 0)
}

func fp16(x float64) float64 { return Interval{Lo: x, Hi: x}.round(ir.FP16).Lo }

func inverseRange(c *call) []Interval {
	return one(div(span(1, 1), epsilonAdded(c, 1e-4)).slack(1, 0))
}

func geluRange(c *call) []Interval {
	mode, ok := ir.ArgString(c.op, "mode")
	s, known := gelus[mode]
	if !ok {
		s, known = gelus["EXACT"], true
	}
	if !known {
		return c.unknown()
	}
	return one(s.apply(c.in("x")).slack(1, 1e-6))
}

// periodic is a sine or a cosine, of which the bounds alone are used.
func periodic(c *call) []Interval {
	x := c.in("x")
	r := span(-1, 1)
	r.NaN = x.NaN || math.IsInf(x.mag(), 0)
	return one(r)
}

func tanRange(c *call) []Interval {
	x := c.in("x")
	if x.finite() && x.mag() < math.Pi/2 {
		return one(real(math.Tan).apply(x).slack(1, 0))
	}
	return one(all)
}

func truth(*call) []Interval { return one(span(0, 1)) }

// castRange: floats to integers truncate and saturate, integers wrap, anything
// that is not zero is true.
func castRange(c *call) []Interval {
	x, to := c.in("x"), c.op.Results[0].Type.DType
	from := c.op.Arg("x").Type.DType
	switch {
	case to == ir.Bool:
		return one(span(0, 1))
	case to.IsInt() && from.IsFloat():
		if x.NaN {
			return one(typeRange(to))
		}
		r := typeRange(to)
		if x.empty() {
			return one(x)
		}
		return one(span(min(max(math.Trunc(x.Lo), r.Lo), r.Hi), min(max(math.Trunc(x.Hi), r.Lo), r.Hi)))
	}
	return one(x)
}

// param is an activation with alpha and beta, each one number or one a channel.
type param struct {
	beta bool
	f    func(x, a, b float64) float64
	// turns are inputs at which the function bends.
	turns func(a, b float64) []float64
}

func atZero(float64, float64) []float64    { return []float64{0} }
func atAlpha(a, _ float64) []float64       { return []float64{math.Nextafter(a, -inf), a} }
func atNothing(float64, float64) []float64 { return nil }
func atBounds(a, b float64) []float64      { return []float64{a, b} }

func leaky(x, a, _ float64) float64 {
	if x < 0 {
		return a * x
	}
	return x
}

func clamp(x, lo, hi float64) float64 {
	if x < lo {
		x = lo
	}
	if x > hi {
		x = hi
	}
	return x
}

var params = map[string]param{
	"clamped_relu": {true, func(x, a, b float64) float64 {
		if x < 0 {
			return min(b, a*x)
		}
		return min(x, b)
	}, func(a, b float64) []float64 { return []float64{0, b, b / a} }},
	"clip": {true, clamp, atBounds},
	"elu": {false, func(x, a, _ float64) float64 {
		if x < 0 {
			return a * math.Expm1(x)
		}
		return x
	}, atZero},
	"leaky_relu":        {false, leaky, atZero},
	"prelu":             {false, leaky, atZero},
	"linear_activation": {true, func(x, a, b float64) float64 { return float64(a*x) + b }, atNothing},
	"scaled_tanh":       {true, func(x, a, b float64) float64 { return a * math.Tanh(b*x) }, atNothing},
	"sigmoid_hard":      {true, func(x, a, b float64) float64 { return clamp(float64(a*x)+b, 0, 1) }, atNothing},
	"softplus_parametric": {true, func(x, a, b float64) float64 {
		return a * softplus(b*x)
	}, atNothing},
	"threshold": {false, func(x, a, _ float64) float64 { return max(x, a) }, atAlpha},
	"thresholded_relu": {false, func(x, a, _ float64) float64 {
		if x < a {
			return 0
		}
		return x
	}, atAlpha},
}

// maxChannels bounds the pairs of parameters that are looked at one by one.
const maxChannels = 1 << 16

func (p param) rangeOf(c *call) []Interval {
	alpha := c.constant("alpha")
	if alpha == nil || alpha.Elems() < 1 || alpha.Elems() > maxChannels {
		return c.unknown()
	}
	beta := []float64{0}
	if p.beta {
		k := c.constant("beta")
		if k == nil || k.Elems() < 1 || k.Elems() > maxChannels || k.Elems() > 1 && alpha.Elems() > 1 &&
			k.Elems() != alpha.Elems() {
			return c.unknown()
		}
		beta = k.Floats()
	}
	x, as := c.in("x"), alpha.Floats()
	r := nothing
	for i := range max(len(as), len(beta)) {
		a, b := as[min(i, len(as)-1)], beta[min(i, len(beta)-1)]
		s := real(func(x float64) float64 { return p.f(x, a, b) }, p.turns(a, b)...)
		r = r.hull(s.apply(x))
	}
	r = r.slack(1, 0)
	if x.NaN { // comparisons with NaN fall through to either branch
		r.NaN = true
	}
	return one(r)
}
