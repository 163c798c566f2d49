package lint

import (
	"math"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/ir"
)

// reductions return the range of a reduction of n elements of a range.
var reductions = map[*ir.Operation]func(x Interval, n float64) Interval{
	ir.OpReduceSum:  func(x Interval, n float64) Interval { return x.Scale(n).Slack(1, x.Mag()*n*1e-6) },
	ir.OpReduceMean: func(x Interval, _ float64) Interval { x = meanOf(x); return x.Slack(1, x.Mag()*1e-6) },
	ir.OpReduceMax:  func(x Interval, _ float64) Interval { return x },
	ir.OpReduceMin:  func(x Interval, _ float64) Interval { return x },
	ir.OpReduceSumSquare: func(x Interval, n float64) Interval {
		return squared(x).Scale(n).Slack(1, 0)
	},
	ir.OpReduceL1Norm: func(x Interval, n float64) Interval {
		return plain(ir.OpAbs).apply(x).Scale(n).Slack(1, 0)
	},
	ir.OpReduceL2Norm: func(x Interval, n float64) Interval {
		return plain(ir.OpSqrt).apply(squared(x).Scale(n)).Slack(2, 0)
	},
	ir.OpReduceLogSum: func(x Interval, n float64) Interval {
		return curve(ir.OpLog.Curve, []float64{0}).apply(x.Scale(n)).Slack(1, 1e-6)
	},
	ir.OpReduceLogSumExp: func(x Interval, n float64) Interval {
		r := interval.Add(x, interval.Span(math.Log(n), math.Log(n)))
		r.NaN = x.NaN
		return r.Slack(4, 1e-6)
	},
	ir.OpReduceProd: func(x Interval, n float64) Interval {
		m := math.Pow(x.Mag(), n)
		switch {
		case !x.Finite() || m != m:
			return interval.All
		case x.Lo >= 0:
			return interval.Span(math.Pow(x.Lo, n), m).Slack(n, 0)
		}
		m = max(m, math.Pow(min(x.Mag(), 1), n))
		return interval.Span(-m, m).Slack(n, 0)
	},
}

// squared is the range of squares.
func squared(x Interval) Interval { return plain(ir.OpSquare).apply(x) }

// meanOf is the range of means: opposite infinities have none.
func meanOf(v Interval) Interval {
	n, p := v.Infinite()
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
			if c.op.Results[0].Type.DType.IsInt() && !r.Finite() {
				return one(interval.OfType(c.op.Results[0].Type.DType))
			}
			return one(r)
		}
	}
	return m
}

// reduced returns the number of elements that are reduced to one.
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
	return one(interval.Span(0, float64(max(n-1, 0))))
}

// cumsumRange is the range of cumulative sums: each result is the sum of some elements of an axis, none to all.
func cumsumRange(c *call) []Interval {
	n := 0.0
	for _, d := range c.op.Arg(ir.ParamX).Type.Shape {
		if d < 0 {
			return c.unknown()
		}
		n = max(n, float64(d))
	}
	x := c.in(ir.ParamX)
	r := x.Scale(max(n, 1)).Hull(x).With(0)
	return one(r.Slack(n, x.Mag()*n))
}
