package lint

import (
	"math"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/ir"
)

func otherRows() map[*ir.Operation]transfer {
	return map[*ir.Operation]transfer{
		ir.OpFill: func(c *call) []Interval {
			if c.has(ir.ParamValue) {
				return one(c.in(ir.ParamValue))
			}
			return one(interval.Span(0, 0))
		},
		ir.OpFillLike: func(c *call) []Interval {
			if c.has(ir.ParamValue) {
				return one(c.in(ir.ParamValue))
			}
			return one(interval.Span(0, 0))
		},
		ir.OpOneHot: func(c *call) []Interval {
			r := interval.Span(0, 1)
			if c.has(ir.ParamOnValue) {
				r = c.in(ir.ParamOnValue).With(0)
			}
			if c.has(ir.ParamOffValue) {
				r = r.Hull(c.in(ir.ParamOffValue))
			}
			return one(r)
		},
		ir.OpShape: func(c *call) []Interval {
			r := interval.Nothing
			for _, d := range c.op.Arg(ir.ParamX).Type.Shape {
				if d < 0 {
					return one(interval.Span(0, math.MaxInt32))
				}
				r = r.With(float64(d))
			}
			return one(r)
		},
		ir.OpRange1D: func(c *call) []Interval {
			r := c.in(ir.ParamStart).Hull(c.in(ir.ParamEnd))
			return one(r.Slack(1, 0))
		},
		ir.OpArgsort:    argRange,
		ir.OpReadState:  func(c *call) []Interval { return one(c.in(ir.ParamInput)) },
		ir.OpWriteState: func(c *call) []Interval { return nil },
		ir.OpRandomUniform: func(c *call) []Interval {
			return one(c.in(ir.ParamLow).With(0).Hull(c.in(ir.ParamHigh).With(1)).Slack(1, 0))
		},
		ir.OpRandomBernoulli:   truth,
		ir.OpCoreMLUpdateState: func(c *call) []Interval { return c.each(c.in(ir.ParamValue)) },
		ir.OpScatter:           scatterRange, ir.OpScatterAlongAxis: scatterRange, ir.OpScatterND: scatterRange,
		ir.OpDequantize: dequantizeRange,
		ir.OpQuantize:   func(c *call) []Interval { return one(interval.OfType(c.op.Results[0].Type.DType)) },
		ir.OpLSTM:       recurrentRange(ir.ParamActivation, ir.ParamCellActivation),
		ir.OpGRU:        recurrentRange(ir.ParamActivation),
		ir.OpRNN:        recurrentRange(ir.ParamActivation),
	}
}

// foldedRange is the range of the constant that an operation unpacks to.
func foldedRange(c *call) []Interval {
	out := make([]Interval, 0, len(c.op.Results))
	for _, v := range c.op.Results {
		k := c.a.Constant(v)
		if k == nil {
			return c.unknown()
		}
		out = append(out, c.a.constOf(k))
	}
	return out
}

// scatterRange is the range of a scatter: replaced elements are either of the two. The sums and products of repeated
// indices are not followed.
func scatterRange(c *call) []Interval {
	if mode, ok := ir.ArgString(c.op, ir.ParamMode); !ok || mode != "update" {
		return c.unknown()
	}
	return one(c.in(ir.ParamData).Hull(c.in(ir.ParamUpdates)))
}

// dequantizeRange is (input - zero_point) * scale over the extremes of both.
func dequantizeRange(c *call) []Interval {
	z := Interval{}
	if c.has(ir.ParamZeroPoint) {
		z = c.in(ir.ParamZeroPoint)
	}
	return one(interval.Mul(interval.Sub(c.in(ir.ParamInput), z), c.in(ir.ParamScale)).Slack(2, 0))
}

// recurrentRange is the range of recurrent operations. Hidden values are products of a tanh and a gate, or means of
// these and the first hidden value. A cell grows by at most one per step; if the number of steps is unknown, it has the
// range of its type.
func recurrentRange(names ...ir.ParamName) func(c *call) []Interval {
	return func(c *call) []Interval {
		for _, n := range names {
			if s, ok := ir.ArgString(c.op, n); ok && s != "tanh" && s != "sigmoid" {
				return c.unknown()
			}
		}
		if s, ok := ir.ArgString(c.op, ir.ParamRecurrentActivation); ok && s != "sigmoid" && s != "tanh" {
			return c.unknown()
		}
		finite := true
		c.op.Operands(func(p *ir.Param, v *ir.Value) {
			if v.Type.DType.IsFloat() && !c.read(v).Finite() {
				finite = false
			}
		})
		h := interval.Span(-1, 1).Slack(8, 1)
		if c.has(ir.ParamInitialH) {
			h = h.Hull(c.in(ir.ParamInitialH))
		}
		if !finite {
			h.NaN = true
		}
		// A step keeps a share of the cell and adds a share of a number of at most 1.
		cell := interval.All
		if x := c.op.Arg(ir.ParamX); c.op.Is(ir.OpLSTM) && x != nil && x.Type.Rank() > 0 && x.Type.Shape[0] >= 0 {
			n := float64(x.Type.Shape[0])
			if c.has(ir.ParamInitialC) {
				cell = c.in(ir.ParamInitialC)
			} else {
				cell = Interval{}
			}
			m := cell.Mag() + n
			cell = interval.Span(-m, m).Slack(4*n, m)
			cell.NaN = !finite
		}
		out := []Interval{h, h, cell}
		return out[:min(len(out), len(c.op.Results))]
	}
}
