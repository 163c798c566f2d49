package lint

import (
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/ir"
)

// moves reports whether the results of an operation are elements of the arguments
// that it picks.
func moves(o *ir.Operation) bool { return o.Class == ir.Movement || o == ir.OpMaxPool }

func moveRows() map[*ir.Operation]transfer {
	m := map[*ir.Operation]transfer{ir.OpPad: padRange, ir.OpTopK: topkRange, ir.OpL2Pool: l2PoolRange,
		ir.OpCropResize: func(c *call) []Interval {
			return one(mean(c.in(ir.ParamX).With(c.number(ir.ParamPadValue))))
		},
		ir.OpResample: func(c *call) []Interval { return one(sampled(c)) },
		ir.OpAffine:   func(c *call) []Interval { return one(sampled(c)) },
	}
	for _, o := range []*ir.Operation{ir.OpSpaceToBatch, ir.OpBandPart} { // the result also has zeros
		m[o] = func(c *call) []Interval { return c.each(c.args(o.Picks).With(0)) }
	}
	// Means of elements, with weights that are not negative and add up to one, or
	// to less at a border.
	for _, o := range []*ir.Operation{ir.OpAvgPool, ir.OpUpsampleBilinear, ir.OpResizeBilinear, ir.OpResize} {
		m[o] = func(c *call) []Interval { return one(mean(c.in(ir.ParamX).With(0))) }
	}
	for _, o := range []*ir.Operation{ir.OpSliceByIndex, ir.OpSliceBySize} {
		m[o] = func(c *call) []Interval {
			r := c.sliced()
			if at, ok := beginOfLast(c.op); !ok || at != 0 {
				r = c.widthCopy(r)
			}
			return one(r)
		}
	}
	m[ir.OpSplit] = func(c *call) []Interval {
		v := c.op.Arg(ir.ParamX)
		out := c.each(c.in(ir.ParamX))
		s, err := ir.SplitAttrs(c.op)
		if err != nil || len(s.Sizes) != len(out) {
			return out
		}
		begin := int64(0)
		for i, n := range s.Sizes {
			if n < 0 {
				break
			}
			out[i] = c.part(v, s.Axis, begin, n, 1)
			if begin > 0 && s.Axis == v.Type.Rank()-1 {
				out[i] = c.widthCopy(out[i])
			}
			begin += n
		}
		return out
	}
	return m
}

// widthCopy is the range of a part of the width that does not begin at 0
// (numerics.WidthSlice).
func (c *call) widthCopy(r Interval) Interval {
	if c.engine && r.Hi >= 4095 {
		r.Hi = inf
	}
	if c.engine && r.Lo <= -4095 {
		r.Lo = -inf
	}
	return r
}

// beginOfLast returns the first element that a slice takes of the last axis.
func beginOfLast(op *ir.Op) (int64, bool) {
	s, err := ir.SliceAttrs(op)
	if err != nil || len(s) == 0 {
		return 0, err == nil
	}
	b := s[len(s)-1].Begin
	return b, b != ir.Unknown
}

// args returns the hull of the named arguments.
func (c *call) args(names []ir.ParamName) Interval {
	r := interval.Nothing
	for _, n := range names {
		r = r.Hull(c.list(n))
	}
	return r
}

// mean is the range of means. Opposite infinities have none; neither has zero times infinity, which interpolation
// weights produce.
func mean(x Interval) Interval {
	x.NaN = x.NaN || math.IsInf(x.Mag(), 0)
	return x.Slack(16, x.Mag())
}

func sampled(c *call) Interval {
	r := mean(c.in(ir.ParamX).With(c.number(ir.ParamPaddingValue), 0))
	if v := c.op.Arg(ir.ParamCoordinates); v != nil && !c.read(v).Finite() ||
		c.constant(ir.ParamTransformMatrix) == nil &&
			c.has(ir.ParamTransformMatrix) {
		r.NaN = true // a NaN coordinate has such a sample
	}
	return r
}

func padRange(c *call) []Interval {
	x := c.in(ir.ParamX)
	mode, ok := ir.ArgString(c.op, ir.ParamMode)
	if !ok || mode == "constant" {
		if c.has(ir.ParamConstantVal) {
			x = x.Hull(c.in(ir.ParamConstantVal))
		} else {
			x = x.With(0)
		}
	}
	return one(x)
}

func topkRange(c *call) []Interval {
	out := []Interval{c.in(ir.ParamX)}
	n := int64(1)
	if s := c.op.Arg(ir.ParamX).Type.Shape; slices.Contains(s, ir.Unknown) {
		n = 1 << 31
	} else if len(s) > 0 {
		n = slices.Max(s)
	}
	for range c.op.Results[1:] {
		out = append(out, interval.Span(0, float64(max(n-1, 0))))
	}
	return out
}

func l2PoolRange(c *call) []Interval {
	p, err := ir.PoolAttrs(c.op)
	if err != nil {
		return c.unknown()
	}
	n := 1.0
	for _, k := range p.Kernel {
		n *= float64(k)
	}
	return one(plain(ir.OpSqrt).apply(squared(c.in(ir.ParamX)).With(0).Scale(n)).Slack(n, 0))
}
