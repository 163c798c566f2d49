package passes

import (
	"math"

	"github.com/zinc-compiler/zinc/ir"
)

// dropThresholds writes hard swish as converters write it, t sigmoid_hard(t) where t is x from a bound on and else 0,
// as x sigmoid_hard(x): below the bound the second factor is 0 for x too. It applies if all of it is on the engine,
// where a product with 0 is 0 even for an infinite x, and nothing else reads the values between.
func dropThresholds(s *State) error {
	read := uses(s.Func)
	for _, op := range s.Func.Body.Ops {
		t, hard := hardSwish(op)
		if hard == nil || read.Get(t) != 2 || read.Get(hard.Results[0]) != 1 || hard.Place.Unit != ir.Engine {
			continue
		}
		x, bound, ok := thresholded(t)
		if !ok || !zeroBelow(hard, bound) {
			continue
		}
		s.visiting(op)
		for _, o := range [...]*ir.Op{op, hard} {
			for _, a := range o.Args {
				for i, v := range a {
					if v == t {
						a[i] = x
					}
				}
			}
			o.Origin = s.made(o.Origin, t.Def.Origin)
		}
		hard.Results[0].Name = s.rename(hard.Results[0].Name) // it is no longer what the source says of the name
	}
	s.visiting(nil)
	return dropDeadCode(s)
}

// hardSwish returns t and the operation that computes sigmoid_hard(t) if op is the product of both on the engine.
func hardSwish(op *ir.Op) (t *ir.Value, hard *ir.Op) {
	if !op.Is(ir.OpMul) || op.Place.Unit != ir.Engine {
		return nil, nil
	}
	x, y := op.Arg(ir.ParamX), op.Arg(ir.ParamY)
	for _, p := range [2][2]*ir.Value{{x, y}, {y, x}} {
		if d := p[1].Def; d != nil && d.Is(ir.OpSigmoidHard) && d.Arg(ir.ParamX) == p[0] {
			return p[0], d
		}
	}
	return nil, nil
}

// thresholded returns x and the bound if v is x where that is at least the bound, else 0, on the engine.
func thresholded(v *ir.Value) (x *ir.Value, bound float64, ok bool) {
	choice := v.Def
	if choice == nil || !choice.Is(ir.OpSelect) || choice.Place.Unit != ir.Engine {
		return nil, 0, false
	}
	x = choice.Arg(ir.ParamA)
	test, zero := choice.Arg(ir.ParamCond).Def, choice.Arg(ir.ParamB)
	if test == nil || !test.Is(ir.OpGreaterEqual) || test.Arg(ir.ParamX) != x || !x.Type.Equal(v.Type) {
		return nil, 0, false
	}
	c := test.Arg(ir.ParamY)
	if !isNumber(c) || !isNumber(zero) || zero.Const.Float(0) != 0 {
		return nil, 0, false
	}
	return x, c.Const.Float(0), true
}

// isNumber reports whether v is a constant of one element.
func isNumber(v *ir.Value) bool { return v.IsConst() && v.Type.Elems() == 1 }

// zeroBelow reports whether a sigmoid_hard is 0 for all numbers of fp16 below a bound.
func zeroBelow(hard *ir.Op, bound float64) bool {
	alpha, okA := ir.ArgFloat(hard, ir.ParamAlpha)
	beta, okB := ir.ArgFloat(hard, ir.ParamBeta)
	below := bound - math.Abs(bound)*0x1p-11 // or less
	return okA && okB && alpha > 0 && ir.CurveOf(hard).F(below, []float64{alpha, beta}) == 0
}
