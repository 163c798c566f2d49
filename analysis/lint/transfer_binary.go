package lint

import (
	"math"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/ir"
)

// binaryRange returns the range of a function of two.
type binaryRange func(x, y Interval) Interval

var binaries = map[*ir.Operation]binaryRange{
	ir.OpAdd:     interval.Add,
	ir.OpSub:     interval.Sub,
	ir.OpMul:     interval.Mul,
	ir.OpRealDiv: interval.Div,
	ir.OpMaximum: largerOf,
	ir.OpMinimum: func(x, y Interval) Interval { return largerOf(x.Neg(), y.Neg()).Neg() },
	ir.OpMod:     modRange,
	ir.OpPow:     powRange,
	ir.OpFloorDiv: func(x, y Interval) Interval {
		r := interval.Div(x, y)
		if r.Empty() {
			return r
		}
		r.NaN = r.NaN || y.Has(0) || !x.Finite()
		return interval.Span(math.Floor(r.Lo)-1, math.Ceil(r.Hi)+1).Hull(Interval{Lo: inf, Hi: -inf, NaN: r.NaN})
	},
}

func largerOf(x, y Interval) Interval {
	if x.Empty() || y.Empty() {
		return Interval{Lo: inf, Hi: -inf, NaN: x.NaN || y.NaN}
	}
	r := Interval{Lo: max(x.Lo, y.Lo), Hi: max(x.Hi, y.Hi), NaN: x.NaN || y.NaN}
	if r.NaN { // a NaN may win or lose: the result may be either operand
		r = r.Hull(x).Hull(y)
	}
	return r
}

// modRange is the remainder with the sign of the divisor.
func modRange(x, y Interval) Interval {
	r := y.With(0)
	r.NaN = true
	if x.Finite() && y.Finite() && !y.Has(0) {
		r.NaN = false
	}
	return r
}

// powRange follows powers of numbers that are not negative, and integer powers.
func powRange(x, y Interval) Interval {
	if x.Empty() || y.Empty() {
		return Interval{Lo: inf, Hi: -inf, NaN: x.NaN || y.NaN}
	}
	if x.NaN || y.NaN { // 1^NaN and NaN^0 are 1
		r := powRange(Interval{Lo: x.Lo, Hi: x.Hi}, Interval{Lo: y.Lo, Hi: y.Hi}).With(1)
		r.NaN = true
		return r
	}
	if y.Lo == y.Hi {
		p := y.Lo
		f := func(v float64) float64 { return math.Pow(v, p) }
		switch {
		case p == math.Trunc(p) && p >= 0:
			r := real(f, 0).apply(x)
			r.NaN = x.NaN
			return r
		case p > 0 && x.Lo >= 0 || x.Lo > 0:
			return real(f).apply(x)
		}
		return interval.All
	}
	if !(x.Lo > 0) || !x.Finite() || !y.Finite() {
		return interval.All
	}
	r := interval.Nothing
	for _, a := range [2]float64{x.Lo, x.Hi} {
		for _, b := range [2]float64{y.Lo, y.Hi} {
			r = r.With(math.Pow(a, b))
		}
	}
	return r.With(interval.Clamp(1, r)) // x^0 if y contains 0
}

func binaryRows() map[*ir.Operation]transfer {
	m := map[*ir.Operation]transfer{}
	for o, f := range binaries {
		m[o] = func(c *call) []Interval {
			x, y := c.in(ir.ParamX), c.in(ir.ParamY)
			p, q := c.op.Arg(ir.ParamX), c.op.Arg(ir.ParamY)
			r := f(x, y)
			if p == q && p != nil {
				r = sameOperand(o, x, r)
			}
			if o == ir.OpSub && !c.a.Range(p).NaN {
				r = lessExtreme(p, q, r)
			}
			if m, _, ok := c.a.meanSquared(c.op); ok && (o == ir.OpMul || o == ir.OpRealDiv) {
				r.Lo, r.Hi = max(r.Lo, -m), min(r.Hi, m)
			}
			if d := c.op.Results[0].Type.DType; d.IsInt() {
				return one(integerRange(o, x, y, r, d))
			}
			return one(r.Slack(1, 0))
		}
	}
	for _, o := range []*ir.Operation{ir.OpEqual, ir.OpNotEqual, ir.OpLess, ir.OpLessEqual, ir.OpGreater,
		ir.OpGreaterEqual, ir.OpLogicalAnd, ir.OpLogicalOr, ir.OpLogicalXor} {
		m[o] = truth
	}
	m[ir.OpSelect] = func(c *call) []Interval { return one(c.in(ir.ParamA).Hull(c.in(ir.ParamB))) }
	return m
}

// sameOperand narrows the range of an operation on a value and itself.
func sameOperand(o *ir.Operation, x, r Interval) Interval {
	switch o {
	case ir.OpMul:
		s := plain(ir.OpSquare).apply(x)
		s.NaN = x.NaN
		return s
	case ir.OpSub:
		return Interval{NaN: x.NaN || math.IsInf(x.Mag(), 0)}
	}
	return r
}

// lessExtreme narrows the range of x - max(x) and x - min(x), which subtract from each element the extreme of its own
// group.
func lessExtreme(x, y *ir.Value, r Interval) Interval {
	if y.Def == nil {
		return r
	}
	m := y.Def
	if !m.Is(ir.OpReduceMax) && !m.Is(ir.OpReduceMin) || m.Arg(ir.ParamX) != x || r.Empty() {
		return r
	}
	a, err := ir.ReduceAttrs(m)
	if err != nil || !a.KeepDims {
		return r
	}
	if m.Is(ir.OpReduceMax) {
		r.Hi = min(r.Hi, 0)
	} else {
		r.Lo = max(r.Lo, 0)
	}
	return r
}

// integerRange is the range of an operation on integers, which divide to 0 by
// zero and round quotients.
func integerRange(o *ir.Operation, x, y, r Interval, d ir.DType) Interval {
	switch o {
	case ir.OpRealDiv, ir.OpFloorDiv:
		if x.Empty() || y.Empty() {
			return interval.Nothing
		}
		m := x.Mag() + 1
		return interval.Span(-m, m)
	case ir.OpMod:
		return y.With(0)
	case ir.OpPow:
		if y.Lo < 0 || !r.Finite() {
			return interval.OfType(d)
		}
	}
	if r.NaN || !r.Finite() {
		return interval.OfType(d)
	}
	return r
}
