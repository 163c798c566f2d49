package verify

import (
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// cast is the rule of conversions. One between floats is the identity here: what is stored is rounded when it is
// compared, and what is not stored by rounding.
func cast(s *statement, ts []interp.Tensor) ([]*enclosure, error) {
	x := s.operand(ir.ParamX)
	from, to := s.op.Arg(ir.ParamX).Type.DType, s.op.Results[0].Type.DType
	if !to.IsFloat() {
		return steps()(s, ts)
	}
	out := &enclosure{t: ts[0], lo: x.lo, hi: x.hi}
	if computedInFP32(to) && !computedInFP32(from) && out.lo != nil {
		out.lo, out.hi = append([]float32(nil), x.lo...), append([]float32(nil), x.hi...)
		out.scale(halfUnit, tiny)
	}
	return []*enclosure{out}, nil
}

// choose is the rule of select: either operand where the condition may be both.
func choose(s *statement, ts []interp.Tensor) ([]*enclosure, error) {
	if !s.inexact() {
		return enclosuresOf(ts, false), nil
	}
	cond := s.op.Arg(ir.ParamCond)
	var all []map[*ir.Value]interp.Tensor
	for end := range 2 {
		for side := range 2 {
			m := s.middles()
			pick := func(v *ir.Value, k int) {
				if a := s.of(v); v != nil && !v.IsConst() && !a.exact() {
					m[v] = like(a.t, [2][]float32{a.lo, a.hi}[k])
				}
			}
			pick(s.op.Arg(ir.ParamA), end)
			pick(s.op.Arg(ir.ParamB), end)
			pick(cond, side)
			all = append(all, m)
		}
	}
	return s.between(ts, all...)
}

// equal is the rule of comparisons for equality: enclosures that overlap may be equal or not.
func equal(s *statement, ts []interp.Tensor) ([]*enclosure, error) {
	if !s.inexact() {
		return enclosuresOf(ts, false), nil
	}
	// x < y and x > y, each for the ends that make it least likely, decide where the two cannot be equal.
	never, err := s.apart(ts[0])
	if err != nil {
		return nil, err
	}
	v := ts[0].Floats32()
	out := &enclosure{t: ts[0], lo: make([]float32, len(v)), hi: make([]float32, len(v))}
	for i := range v {
		if never[i] {
			out.lo[i], out.hi[i] = v[i], v[i]
			continue
		}
		out.hi[i] = 1
	}
	return []*enclosure{out}, nil
}

// apart reports for each element of a comparison whether the enclosures of its operands are disjoint.
func (s *statement) apart(t interp.Tensor) ([]bool, error) {
	x, y := s.op.Arg(ir.ParamX), s.op.Arg(ir.ParamY)
	never := make([]bool, t.Elems())
	for _, flip := range [2]bool{false, true} {
		less := *s.op
		less.Def = ir.Forms(ir.OpLess.Name)[0]
		a, b := s.of(x), s.of(y)
		_, ahi := a.ends()
		blo, _ := b.ends()
		if flip {
			ahi, _ = a.ends()
			_, blo = b.ends()
			less.Def = ir.Forms(ir.OpGreater.Name)[0]
		}
		if x == y {
			return never, nil
		}
		ts, err := s.wide(&less, map[*ir.Value]interp.Tensor{x: like(a.t, ahi), y: like(b.t, blo)})
		if err != nil {
			return nil, err
		}
		for i, v := range ts[0].Floats32() {
			never[i] = never[i] || v != 0
		}
	}
	return never, nil
}

// pick is the rule of operations that return positions: a position is known only if the operand is exact. The elements
// that topk returns are between the results for the ends of the operand.
func pick(s *statement, ts []interp.Tensor) ([]*enclosure, error) {
	out, err := steps()(s, ts)
	if err != nil || !s.inexact() {
		return out, err
	}
	for i, v := range s.op.Results {
		if !v.Type.DType.IsFloat() {
			out[i] = &enclosure{t: ts[i], unknown: true}
		}
	}
	return out, nil
}
