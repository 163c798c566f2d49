package lint

import (
	"math"

	"github.com/zinc-compiler/zinc/ir"
)

// reductions give the range of n elements of a range taken together.
var reductions = map[*ir.Operation]func(x Interval, n float64) Interval{
	ir.OpReduceSum:  func(x Interval, n float64) Interval { return x.scale(n).slack(1, x.mag()*n*1e-6) },
	ir.OpReduceMean: func(x Interval, _ float64) Interval { x = x.meanOf(); return x.slack(1, x.mag()*1e-6) },
	ir.OpReduceMax:  func(x Interval, _ float64) Interval { return x },
	ir.OpReduceMin:  func(x Interval, _ float64) Interval { return x },
	ir.OpReduceSumSquare: func(x Interval, n float64) Interval {
		return squared(x).scale(n).slack(1, 0)
	},
	ir.OpReduceL1Norm: func(x Interval, n float64) Interval {
		return plain(ir.OpAbs).apply(x).scale(n).slack(1, 0)
	},
	ir.OpReduceL2Norm: func(x Interval, n float64) Interval {
		return plain(ir.OpSqrt).apply(squared(x).scale(n)).slack(2, 0)
	},
	ir.OpReduceLogSum: func(x Interval, n float64) Interval {
		return curve(ir.OpLog.Curve, []float64{0}).apply(x.scale(n)).slack(1, 1e-6)
	},
	ir.OpReduceLogSumExp: func(x Interval, n float64) Interval {
		r := add(x, span(math.Log(n), math.Log(n)))
		r.NaN = x.NaN
		return r.slack(4, 1e-6)
	},
	ir.OpReduceProd: func(x Interval, n float64) Interval {
		m := math.Pow(x.mag(), n)
		switch {
		case !x.finite() || m != m:
			return all
		case x.Lo >= 0:
			return span(math.Pow(x.Lo, n), m).slack(n, 0)
		}
		m = max(m, math.Pow(min(x.mag(), 1), n))
		return span(-m, m).slack(n, 0)
	},
}

// squared is the range of squares.
func squared(x Interval) Interval { return plain(ir.OpSquare).apply(x) }

// meanOf: numbers of opposite infinities have no mean.
func (v Interval) meanOf() Interval {
	n, p := v.infinite()
	v.NaN = v.NaN || n && p
	return v
}

func reduceRows() map[*ir.Operation]transfer {
	m := map[*ir.Operation]transfer{ir.OpReduceArgmax: argRange, ir.OpReduceArgmin: argRange, ir.OpCumsum: cumsumRange}
	for n, f := range reductions {
		m[n] = func(c *call) []Interval {
			k, ok := reduced(c.op)
			if !ok || k == 0 {
				return c.unknown()
			}
			r := f(c.in(ir.ParamX), k)
			if c.op.Results[0].Type.DType.IsInt() && !r.finite() {
				return one(typeRange(c.op.Results[0].Type.DType))
			}
			return one(r)
		}
	}
	return m
}

// reduced returns how many elements become one.
func reduced(op *ir.Op) (float64, bool) {
	a, err := ir.ReduceAttrs(op)
	if err != nil {
		return 0, false
	}
	n := 1.0
	for _, i := range a.Axes {
		d := op.Arg(ir.ParamX).Type.Shape[i]
		if d < 0 {
			return 0, false
		}
		n *= float64(d)
	}
	return n, true
}

func argRange(c *call) []Interval {
	n := int64(0)
	for _, d := range c.op.Arg(ir.ParamX).Type.Shape {
		if d < 0 {
			return c.unknown()
		}
		n = max(n, d)
	}
	return one(span(0, float64(max(n-1, 0))))
}

// cumsumRange: each result is the sum of none to all of an axis.
func cumsumRange(c *call) []Interval {
	n := 0.0
	for _, d := range c.op.Arg(ir.ParamX).Type.Shape {
		if d < 0 {
			return c.unknown()
		}
		n = max(n, float64(d))
	}
	x := c.in(ir.ParamX)
	r := x.scale(max(n, 1)).hull(x).with(0)
	return one(r.slack(n, x.mag()*n))
}
