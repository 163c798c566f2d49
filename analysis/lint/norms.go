package lint

import (
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/analysis/lint/witness"
	"github.com/zinc-compiler/zinc/ir"
)

// rowNorm bounds the root of the sum of squares of every row of v along one axis, where v is normalised over that axis
// by layer_norm or by its own root mean square: n normalised elements have a norm of at most the root of n. 0 means no
// bound. A hundredth covers the rounding of the norm, its factors and its result to fp16.
func (a *analysis) rowNorm(v *ir.Value) (norm float64, axis int) {
	factor := 1.0
	for range 6 {
		if v.Def == nil || !v.Type.DType.IsFloat() || !v.Type.Static() {
			return 0, 0
		}
		switch {
		case v.Def.Is(ir.OpCast, ir.OpIdentity):
			v = v.Def.Arg(ir.ParamX)
			continue
		case v.Def.Is(ir.OpLayerNorm):
			m, axis := a.layerNorm(v)
			return finiteOr0(m * factor), axis
		case !v.Def.Is(ir.OpMul, ir.OpRealDiv):
			return 0, 0
		}
		if m, axes, ok := a.meanSquared(v.Def); ok && len(axes) == 1 {
			return finiteOr0(1.01*m*factor + float64(v.Type.Shape[axes[0]])*witness.LeastError), axes[0]
		}
		x, y := v.Def.Arg(ir.ParamX), v.Def.Arg(ir.ParamY)
		if v.Def.Is(ir.OpMul) && a.Constant(x) != nil {
			x, y = y, x
		}
		k := a.Constant(y)
		if !v.Def.Is(ir.OpMul) || k == nil || !slices.Equal(x.Type.Shape, v.Type.Shape) {
			return 0, 0
		}
		factor *= 1.001 * a.constOf(k).Mag()
		v = x
	}
	return 0, 0
}

func finiteOr0(x float64) float64 {
	if x > 0 && x < inf {
		return x
	}
	return 0
}

// layerNorm is the bound of the result of a layer_norm over one axis.
func (a *analysis) layerNorm(v *ir.Value) (norm float64, axis int) {
	if !a.Range(v).Finite() {
		return 0, 0
	}
	c := &call{a: a, op: v.Def}
	axes, err := ir.LayerNormAxes(v.Def)
	if err != nil || len(axes) != 1 || v.Type.Shape[axes[0]] < 1 || !(c.number(ir.ParamEpsilon) >= 0) {
		return 0, 0
	}
	n := float64(v.Type.Shape[axes[0]])
	gamma, beta := 1.0, 0.0
	if c.has(ir.ParamGamma) {
		k := c.constant(ir.ParamGamma)
		if k == nil {
			return 0, 0
		}
		gamma = a.constOf(k).Mag()
	}
	if c.has(ir.ParamBeta) {
		k := c.constant(ir.ParamBeta)
		if k == nil {
			return 0, 0
		}
		for _, x := range k.Floats() {
			beta += x * x
		}
	}
	return 1.01*(gamma*math.Sqrt(n)+math.Sqrt(beta)) + n*witness.LeastError, axes[0]
}

// meanSquared recognises x / sqrt(c*sum(x*x) + eps), whose elements and whose norm along the axes of the sum are at
// most the root of 1/c. fp16 loses squares below 2^-25 and rounds each step; eps must be large compared with that, and
// a tenth covers the rest.
func (a *analysis) meanSquared(op *ir.Op) (bound float64, axes []int, ok bool) {
	type pair struct {
		x, sum *ir.Value
		eps    float64
	}
	var ps []pair
	switch op.Def.Operation {
	case ir.OpRealDiv:
		if d := op.Arg(ir.ParamY).Def; d != nil && d.Is(ir.OpSqrt) {
			ps = append(ps, pair{op.Arg(ir.ParamX), d.Arg(ir.ParamX), 0})
		}
	case ir.OpMul:
		for _, n := range [][2]ir.ParamName{{ir.ParamX, ir.ParamY}, {ir.ParamY, ir.ParamX}} {
			d := op.Arg(n[1]).Def
			switch {
			case d == nil:
			case d.Is(ir.OpRsqrt):
				e := (&call{a: a, op: d}).number(ir.ParamEpsilon)
				ps = append(ps, pair{op.Arg(n[0]), d.Arg(ir.ParamX), e})
			case d.Is(ir.OpPow) && a.scalarIs(d.Arg(ir.ParamY), -0.5):
				ps = append(ps, pair{op.Arg(n[0]), d.Arg(ir.ParamX), 0})
			}
		}
	}
	for _, p := range ps {
		if d := p.sum.Def; d != nil && d.Is(ir.OpAdd) {
			for _, n := range [][2]ir.ParamName{{ir.ParamX, ir.ParamY}, {ir.ParamY, ir.ParamX}} {
				if k := a.Constant(d.Arg(n[1])); k != nil {
					r := a.constOf(k)
					p.sum, p.eps = d.Arg(n[0]), p.eps+r.Lo
					break
				}
			}
		}
		c, n, over, ok := a.meanOfSquares(p.sum, p.x)
		if !ok || !slices.Equal(op.Results[0].Type.Shape, p.x.Type.Shape) || !(p.eps >= 1.0/(1<<20)) || !(c > 0) ||
			c*n/(1<<25) > p.eps/20 || !a.Range(p.x).Finite() {
			continue
		}
		return 1.1 * math.Sqrt(1/c), over, true
	}
	return 0, nil, false
}

// scalarIs reports whether every element of a constant is x.
func (a *analysis) scalarIs(v *ir.Value, x float64) bool {
	k := a.Constant(v)
	return k != nil && k.Type.DType != ir.String && a.constOf(k) == Interval{Lo: x, Hi: x}
}

// meanOfSquares recognises c times the sum of the n squares of x along axes.
func (a *analysis) meanOfSquares(v, x *ir.Value) (c, n float64, axes []int, ok bool) {
	c = 1
	d := v.Def
	if d != nil && d.Is(ir.OpMul) {
		for _, s := range [][2]ir.ParamName{{ir.ParamX, ir.ParamY}, {ir.ParamY, ir.ParamX}} {
			if k := a.Constant(d.Arg(s[1])); k != nil && k.Elems() == 1 {
				c *= k.Float(0)
				d = d.Arg(s[0]).Def
				break
			}
		}
	}
	// A factor may broadcast a sum that lost its axes along other ones.
	if d == nil || len(d.Results) != 1 || d.Results[0].Type.Rank() != x.Type.Rank() || !x.Type.Static() {
		return 0, 0, nil, false
	}
	squared := d.Arg(ir.ParamX)
	switch d.Def.Operation {
	case ir.OpReduceSumSquare:
		if squared != x {
			return 0, 0, nil, false
		}
	case ir.OpReduceSum, ir.OpReduceMean:
		s := squared.Def
		if s == nil || s.Arg(ir.ParamX) != x {
			return 0, 0, nil, false
		}
		if !s.Is(ir.OpSquare) && !(s.Is(ir.OpMul) && s.Arg(ir.ParamY) == x) &&
			!(s.Is(ir.OpPow) && a.scalarIs(s.Arg(ir.ParamY), 2)) {
			return 0, 0, nil, false
		}
	default:
		return 0, 0, nil, false
	}
	r, err := ir.ReduceAttrs(d)
	if err != nil || len(r.Axes) == 0 {
		return 0, 0, nil, false
	}
	n = 1
	for _, i := range r.Axes {
		n *= float64(x.Type.Shape[i])
		axes = append(axes, int(i))
	}
	if d.Is(ir.OpReduceMean) {
		c /= n
	}
	return c, n, axes, n >= 1
}
