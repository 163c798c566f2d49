package verify

import (
	"maps"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// curve is the rule of functions of one number: between extrema they are monotone.
func curve(s *statement, ts []interp.Tensor) ([]*enclosure, error) {
	k, v := ir.CurveOf(s.op), s.op.Arg(ir.ParamX)
	if v == nil || v.IsConst() {
		return enclosuresOf(ts, true), nil
	}
	a := s.of(v)
	params, known := curveParams(s.op, k)
	out := enclosuresOf(ts, false)
	tables := s.tables(s.op)
	if len(tables) > 0 && s.rounding(v.Def) > 0 && !a.unknown {
		// The sum may be rounded before it enters the table.
		b := *a
		b.lo, b.hi = slices.Clone(a.lo), slices.Clone(a.hi)
		b.scale(halfUnit, tiny)
		a = &b
	}
	if !a.exact() {
		switch {
		case s.op.Is(ir.OpSin, ir.OpCos):
			r := a.radius()
			out = []*enclosure{around(ts[0], func(i int, _ float64) float64 { return float64(r[i]) })}
		case k.Channels || !known || k.Extrema == nil && !s.oneSide(a, params):
			return enclosuresOf(ts, true), nil
		default:
			var err error
			if out, err = steps()(s.replaced(v, a), ts); err != nil {
				return nil, err
			}
			if k.Extrema != nil {
				out[0].extrema(a, k, params)
			}
		}
	}
	if s.floatResult() && (s.op.Def.Error != numerics.Movement) {
		out[0].scale(fuzz, 0)
	}
	for _, t := range tables {
		if !s.tabulated(out[0], a, t, k, params) {
			return enclosuresOf(ts, true), nil
		}
		if s.fixed {
			// The stated errors are of results that are rounded with ties to even.
			out[0].scale(2*halfUnit, 2*tiny)
		}
	}
	return out, nil
}

// replaced returns the statement with another enclosure of an operand.
func (s *statement) replaced(v *ir.Value, a *enclosure) *statement {
	c := *s
	c.args = map[*ir.Value]*enclosure{}
	maps.Copy(c.args, s.args)
	c.args[v] = a
	return &c
}

// curveParams returns the constant parameters of a curve.
func curveParams(op *ir.Op, k *ir.Curve) (ps []float64, ok bool) {
	for _, p := range k.Params {
		x, ok := ir.ArgFloat(op, p)
		if !ok {
			return nil, false
		}
		ps = append(ps, x)
	}
	return ps, true
}

// oneSide reports whether no enclosure of 1/(x+epsilon) contains the pole.
func (s *statement) oneSide(a *enclosure, params []float64) bool {
	if !s.op.Is(ir.OpInverse) || len(params) != 1 {
		return false
	}
	for i := range a.lo {
		if !(float64(a.lo[i])+params[0] > 0 || float64(a.hi[i])+params[0] < 0) {
			return false
		}
	}
	return true
}

// extrema includes the values at the extrema of a curve that are inside the enclosure of its operand.
func (s *enclosure) extrema(a *enclosure, k *ir.Curve, params []float64) {
	for _, t := range k.Extrema(params) {
		y := float32(k.F(t, params))
		for i := range s.lo {
			if float64(a.lo[i]) <= t && t <= float64(a.hi[i]) {
				s.lo[i], s.hi[i] = min(s.lo[i], y), max(s.hi[i], y)
			}
		}
	}
}

// tabulated adds the signed error of a lookup table near the operand a. It reports false if the table states none
// there.
func (s *statement) tabulated(y, a *enclosure, t lower.TableUse, k *ir.Curve, params []float64) bool {
	shift, slack, part := 0.0, 0.0, 0.0
	if t.Table.Scale != td.FP16One {
		// The argument is a multiple of x, rounded or not.
		part = halfUnit
	}
	if k.Shift && len(params) == 1 && params[0] != 0 {
		// The engine adds the shift as an fp16 number, and the sum is rounded to the twelve bits of its first stage.
		// What it rounds is the argument of the function by which the table is indexed.
		shift = roundFP16(float32(params[0]))
		slack, part = math.Abs(shift-params[0]), halfUnit
	}
	lo, hi := a.ends()
	ylo, yhi := y.ends()
	worst := t.Worst()
	out := &enclosure{t: y.t, lo: append([]float32(nil), ylo...), hi: append([]float32(nil), yhi...)}
	for i := range lo {
		// A table has numbers of its own for infinities: softplus of infinity is 0.
		for _, x := range [2]float32{lo[i], hi[i]} {
			if math.IsInf(float64(x), 0) || s.fixed && abs(x) >= 65536 {
				f := float32(t.Table.At(float64(x)))
				out.lo[i], out.hi[i] = min(out.lo[i], f), max(out.hi[i], f)
			}
		}
		if v := lo[i]; v != v || out.lo[i] != out.lo[i] || lo[i]-lo[i] != 0 {
			continue
		}
		from, to := float64(lo[i])+shift, float64(hi[i])+shift
		if part > 0 {
			from, to = from-slack-part*math.Abs(from), to+slack+part*math.Abs(to)
			for _, x := range [2]float64{from, to} {
				if f := k.F(x-shift, params); f == f {
					out.lo[i], out.hi[i] = min(out.lo[i], down(f)), max(out.hi[i], up(f))
				}
			}
		}
		least, greatest, ok := worst.Signed.Between(from, to)
		if !ok {
			least, greatest = -worst.Abs, worst.Abs
			if math.IsInf(worst.Abs, 0) || worst.Abs != worst.Abs {
				return false
			}
		}
		out.lo[i], out.hi[i] = down(float64(out.lo[i])+min(least, 0)), up(float64(out.hi[i])+max(greatest, 0))
		// A statement with the measured result for 0 is right; an output with it is not.
		if s.literal && s.op.Is(ir.OpLog) && math.IsInf(float64(out.lo[i]), -1) {
			out.hi[i] = max(out.hi[i], numerics.LogOfZero)
		}
	}
	*y = *out
	return true
}
