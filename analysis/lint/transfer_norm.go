package lint

import (
	"math"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/ir"
)

func normRows() map[*ir.Operation]transfer {
	return map[*ir.Operation]transfer{
		ir.OpSoftmax: softmaxRange, ir.OpLayerNorm: layerNormRange, ir.OpInstanceNorm: instanceNormRange,
		ir.OpBatchNorm: batchNormRange,
		ir.OpL2Norm: func(c *call) []Interval {
			x := c.in(ir.ParamX)
			r := interval.Span(-1, 1).Slack(4, 1)
			if !x.Finite() {
				return one(interval.All)
			}
			if x.Lo >= 0 {
				r.Lo = 0
			}
			// Without an epsilon a row of zeros has no direction.
			r.NaN = c.number(ir.ParamEpsilon) <= 0 && x.Has(0)
			return one(r)
		},
		ir.OpLocalResponseNorm: func(c *call) []Interval {
			k, alpha, beta := c.number(ir.ParamK), c.number(ir.ParamAlpha), c.number(ir.ParamBeta)
			x := c.in(ir.ParamX)
			if !(k > 0 && alpha >= 0 && beta >= 0) || !x.Finite() {
				return one(interval.All)
			}
			return one(interval.Div(x.With(0), interval.Span(math.Pow(k, beta), math.Pow(k, beta))).Slack(4, 0))
		},
	}
}

func softmaxRange(c *call) []Interval {
	x := c.in(ir.ParamX)
	r := interval.Span(0, 1).Slack(4, 0)
	r.NaN = x.NaN || math.IsInf(x.Mag(), 0)
	return one(r)
}

// normalised is (x - mean) / sqrt(variance + eps) over n elements: its magnitude is at most sqrt(n-1), and at most the
// width of x over the root of eps.
func normalised(x Interval, n, eps float64) Interval {
	m := math.Sqrt(max(n-1, 0))
	if x.Empty() {
		return interval.Nothing
	}
	if e := (x.Hi - x.Lo) / math.Sqrt(eps); e == e {
		m = min(m, e)
	}
	r := interval.Span(-m, m).Slack(8, m)
	if eps <= 0 || eps != eps { // a constant row
		return interval.All
	}
	// If a row contains an infinity or a NaN, all of it becomes NaN.
	r.NaN = !x.Finite()
	return r
}

// scaled multiplies a normalised range by gamma and adds beta, pair by pair if both are constants of equal size.
func scaled(c *call, z Interval) Interval {
	g, b := c.constant(ir.ParamGamma), c.constant(ir.ParamBeta)
	if g != nil && b != nil && g.Elems() == b.Elems() {
		r := interval.Nothing
		for i := range g.Elems() {
			r = r.Hull(interval.Add(interval.Mul(z, interval.Span(g.Float(i), g.Float(i))), interval.Span(b.Float(i),
				b.Float(i))))
		}
		return r.Slack(2, r.Mag())
	}
	if c.has(ir.ParamGamma) {
		z = interval.Mul(z, c.in(ir.ParamGamma))
	}
	if c.has(ir.ParamBeta) {
		z = interval.Add(z, c.in(ir.ParamBeta))
	}
	return z.Slack(2, z.Mag())
}

func layerNormRange(c *call) []Interval {
	axes, err := ir.LayerNormAxes(c.op)
	if err != nil {
		return c.unknown()
	}
	n := 1.0
	for _, a := range axes {
		d := c.op.Arg(ir.ParamX).Type.Shape[a]
		if d < 0 {
			return c.unknown()
		}
		n *= float64(d)
	}
	return one(scaled(c, normalised(c.in(ir.ParamX), n, c.number(ir.ParamEpsilon))))
}

func instanceNormRange(c *call) []Interval {
	n := 1.0
	for i, d := range c.op.Arg(ir.ParamX).Type.Shape {
		if d < 0 {
			return c.unknown()
		}
		if i >= 2 {
			n *= float64(d)
		}
	}
	return one(scaled(c, normalised(c.in(ir.ParamX), n, c.number(ir.ParamEpsilon))))
}

func batchNormRange(c *call) []Interval {
	mean, variance := c.constant(ir.ParamMean), c.constant(ir.ParamVariance)
	eps := c.number(ir.ParamEpsilon)
	x := c.in(ir.ParamX)
	if mean == nil || variance == nil || mean.Elems() != variance.Elems() || eps != eps {
		return c.unknown()
	}
	at := func(name ir.ParamName, i int64, def float64) (Interval, bool) {
		if !c.has(name) {
			return interval.Span(def, def), true
		}
		k := c.constant(name)
		if k == nil {
			return c.in(name), true
		}
		if i >= k.Elems() {
			return interval.All, false
		}
		return interval.Span(k.Float(i), k.Float(i)), true
	}
	r := interval.Nothing
	for i := range mean.Elems() {
		g, ok1 := at(ir.ParamGamma, i, 1)
		b, ok2 := at(ir.ParamBeta, i, 0)
		if !ok1 || !ok2 {
			return c.unknown()
		}
		inv := 1 / math.Sqrt(variance.Float(i)+eps)
		if inv != inv {
			return one(interval.All)
		}
		d := interval.Sub(x, interval.Span(mean.Float(i), mean.Float(i)))
		v := interval.Add(interval.Mul(interval.Mul(d, interval.Span(inv, inv)), g), b)
		r = r.Hull(v.Slack(6, v.Mag()+math.Abs(mean.Float(i))*inv*g.Mag()))
	}
	return one(r)
}
