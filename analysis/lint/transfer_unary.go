package lint

import (
	"math"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/ir"
)

// scalar is a function of one number with its shape.
type scalar struct {
	f func(x float64) float64
	// low and high delimit the domain; outside it the result is NaN.
	low, high float64
	// extrema are the inputs at which the function changes direction; it is monotone between them.
	extrema []float64
}

func real(f func(float64) float64, extrema ...float64) scalar {
	return scalar{f: f, low: -inf, high: inf, extrema: extrema}
}

// curve is the registry's function for a set of parameters.
func curve(k *ir.Curve, a []float64) scalar {
	s := real(func(x float64) float64 { return k.F(x, a) }, k.Extrema(a)...)
	if k.Domain != nil {
		s.low, s.high = k.Domain[0], k.Domain[1]
	}
	return s
}

// plain is the function of an operation without parameters.
func plain(o *ir.Operation) scalar { return curve(o.Curve, nil) }

// engineExtra are results of the engine that the function itself does not have.
var engineExtra = map[*ir.Operation]func(x Interval) []float64{
	ir.OpExp: func(x Interval) []float64 {
		if x.Hi >= 11.09 {
			return []float64{inf}
		}
		return nil
	},
	ir.OpSoftplus: atInfinity, ir.OpSoftsign: atInfinity,
}

// atInfinity: the table's output above its high bound is 0.
func atInfinity(x Interval) []float64 {
	if math.IsInf(x.Mag(), 0) {
		return []float64{0}
	}
	return nil
}

// apply returns the range of a function over a range.
func (s scalar) apply(x Interval) Interval {
	r := interval.Nothing
	r.NaN = x.NaN
	if x.Empty() {
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
		r = r.With(y)
	}
	at(lo)
	at(hi)
	for _, t := range s.extrema {
		if lo < t && t < hi {
			at(t)
		}
	}
	return r
}

func unaryRows() map[*ir.Operation]transfer {
	return map[*ir.Operation]transfer{ir.OpCast: castRange, ir.OpCos: periodic, ir.OpSin: periodic, ir.OpTan: tanRange,
		ir.OpGelu: geluRange, ir.OpInverse: inverseRange, ir.OpLogicalNot: truth}
}

// maxChannels bounds the pairs of parameters that are evaluated one by one.
const maxChannels = 1 << 16

// curveRange is the range of an operation's function over the range of x.
func curveRange(c *call) []Interval {
	k, o := c.op.Def.Curve, c.op.Def.Operation
	switch {
	case k.Shift:
		x := c.epsilonAdded()
		r := curve(k, []float64{0}).apply(x)
		if c.engine && o == ir.OpLog && x.Lo <= 0 {
			r = r.With(-45440)
		}
		return one(r.Slack(1, 0))
	case len(k.Params) == 0:
		x := c.in(ir.ParamX)
		r := plain(o).apply(x)
		if extra := engineExtra[o]; c.engine && extra != nil {
			r = r.With(extra(x)...)
		}
		return one(r.Slack(1, 0))
	}
	var lists [][]float64
	n := 1
	for _, p := range k.Params {
		v := c.constant(p)
		if v == nil || v.Elems() < 1 || v.Elems() > maxChannels || v.Elems() > 1 && n > 1 && v.Elems() != int64(n) {
			return c.unknown()
		}
		lists = append(lists, v.Floats())
		n = max(n, int(v.Elems()))
	}
	x, a := c.in(ir.ParamX), make([]float64, len(lists))
	r := interval.Nothing
	for i := range n {
		for j, l := range lists {
			a[j] = l[min(i, len(l)-1)]
		}
		r = r.Hull(curve(k, a).apply(x))
	}
	r = r.Slack(1, 0)
	if x.NaN { // comparisons with NaN may take either branch
		r.NaN = true
	}
	return one(r)
}

// epsilonAdded is x plus epsilon, with and without the rounding of epsilon to
// the type of x.
func (c *call) epsilonAdded() Interval {
	e := c.number(ir.ParamEpsilon)
	return interval.Add(c.in(ir.ParamX), interval.Span(min(e, fp16(e)), max(e, fp16(e)))).Slack(1, 0)
}

func fp16(x float64) float64 { return Interval{Lo: x, Hi: x}.Round(ir.FP16).Lo }

func inverseRange(c *call) []Interval {
	return one(interval.Div(interval.Span(1, 1), c.epsilonAdded()).Slack(1, 0))
}

// geluOf is the function of a gelu: the exact one if its mode is computed.
func geluOf(op *ir.Op) *ir.Curve {
	if _, ok := ir.ArgString(op, ir.ParamMode); !ok {
		return ir.OpGelu.Modes["EXACT"]
	}
	return ir.CurveOf(op)
}

func geluRange(c *call) []Interval {
	k := geluOf(c.op)
	if k == nil {
		return c.unknown()
	}
	return one(curve(k, nil).apply(c.in(ir.ParamX)).Slack(1, 1e-6))
}

// periodic is a sine or a cosine, whose bounds alone are used.
func periodic(c *call) []Interval {
	x := c.in(ir.ParamX)
	r := interval.Span(-1, 1)
	r.NaN = x.NaN || math.IsInf(x.Mag(), 0)
	return one(r)
}

func tanRange(c *call) []Interval {
	x := c.in(ir.ParamX)
	if x.Finite() && x.Mag() < math.Pi/2 {
		return one(real(math.Tan).apply(x).Slack(1, 0))
	}
	return one(interval.All)
}

func truth(*call) []Interval { return one(interval.Span(0, 1)) }

// castRange is the range of a cast: floats to integers truncate and saturate, integers wrap, nonzero numbers are true.
func castRange(c *call) []Interval {
	x, to := c.in(ir.ParamX), c.op.Results[0].Type.DType
	from := c.op.Arg(ir.ParamX).Type.DType
	switch {
	case to == ir.Bool:
		return one(interval.Span(0, 1))
	case to.IsInt() && from.IsFloat():
		if x.NaN {
			return one(interval.OfType(to))
		}
		r := interval.OfType(to)
		if x.Empty() {
			return one(x)
		}
		return one(interval.Span(interval.Clamp(math.Trunc(x.Lo), r), interval.Clamp(math.Trunc(x.Hi), r)))
	}
	return one(x)
}
