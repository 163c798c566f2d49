package verify

import (
	"cmp"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// sum is the rule of sums and differences.
func sum(minus bool) rule {
	ends := steps()
	if minus {
		ends = steps(ir.ParamY)
	}
	return func(s *statement, ts []interp.Tensor) ([]*enclosure, error) {
		out, err := ends(s, ts)
		if err != nil || !s.floatResult() {
			return out, err
		}
		// Where a sum cancels, the constants that passes computed err in proportion to the terms.
		if s.constants > 0 {
			x, y := s.terms(ts[0])
			out[0].widen(func(i int, _ float64) float64 { return s.constants * (abs(x[i]) + abs(y[i])) })
		}
		s.rel = fuzz
		return out, nil
	}
}

// terms returns the operands x and y, broadcast to the result.
func (s *statement) terms(t interp.Tensor) (x, y []float32) {
	zero := interp.Tensor{Type: ir.TensorOf(ir.FP32), Data: make([]byte, 4)}
	one := func(p ir.ParamName, other ir.ParamName) []float32 {
		m := s.middles()
		m[s.op.Arg(other)] = zero
		if v := s.op.Arg(p); v == s.op.Arg(other) {
			return s.memory.in32(s.of(v).t).Floats32()
		}
		ts, err := s.wide(s.op, m)
		if err != nil || ts[0].Elems() != t.Elems() {
			return t.Floats32()
		}
		return ts[0].Floats32()
	}
	return one(ir.ParamX, ir.ParamY), one(ir.ParamY, ir.ParamX)
}

func abs(x float32) float64 { return math.Abs(float64(x)) }

// product is the rule of the product of two tensors: the extremes are at the corners.
func product(s *statement, ts []interp.Tensor) ([]*enclosure, error) {
	out := enclosuresOf(ts, false)
	if s.inexact() {
		var err error
		if out, err = s.corners(ts); err != nil {
			return nil, err
		}
	}
	if s.floatResult() {
		s.rel = fuzz + s.constants
	}
	return out, nil
}

// mayBeEngine reports whether the engine may compute a product with weights w: in the source, those that are compressed
// are no constants yet.
func (s *statement) mayBeEngine(w *ir.Value) bool {
	return s.isEngine() || s.engine && s.decomposed && w.Def != nil && w.Def.Def.Class == ir.Compressed
}

// corners returns the enclosure between the results of all combinations of the ends of x and y. If both are one value,
// they are the results of its ends and of what is nearest to zero between them, where a square is least.
func (s *statement) corners(ts []interp.Tensor) ([]*enclosure, error) {
	x, y := s.op.Arg(ir.ParamX), s.op.Arg(ir.ParamY)
	if x == y {
		a := s.of(x)
		lo, hi := a.ends()
		least := make([]float32, len(lo))
		for i := range lo {
			least[i] = max(lo[i], min(0, hi[i]))
		}
		at := func(v []float32) map[*ir.Value]interp.Tensor { return map[*ir.Value]interp.Tensor{x: like(a.t, v)} }
		return s.between(ts, at(lo), at(hi), at(least))
	}
	end := func(v *ir.Value) []interp.Tensor {
		a := s.of(v)
		if a.exact() {
			return []interp.Tensor{a.t}
		}
		lo, hi := a.ends()
		return []interp.Tensor{like(a.t, lo), like(a.t, hi)}
	}
	var all []map[*ir.Value]interp.Tensor
	for _, p := range end(x) {
		for _, q := range end(y) {
			all = append(all, map[*ir.Value]interp.Tensor{x: p, y: q})
		}
	}
	return s.between(ts, all...)
}

// quotient is the rule of x / y. The engine multiplies by the reciprocal of y, from a table or, of a constant, rounded.
func quotient(s *statement, ts []interp.Tensor) ([]*enclosure, error) {
	if !s.floatResult() {
		return enclosuresOf(ts, s.inexact()), nil
	}
	out := enclosuresOf(ts, false)
	if s.inexact() {
		lo, hi := s.operand(ir.ParamY).ends()
		for i := range lo {
			if !(lo[i] > 0 || hi[i] < 0) {
				return enclosuresOf(ts, true), nil
			}
		}
		var err error
		if out, err = s.corners(ts); err != nil {
			return nil, err
		}
	}
	rel := s.relative() + s.constants + fuzz
	if s.isEngine() {
		// The reciprocal is rounded to fp16.
		rel += halfUnit
	}
	s.rel = rel
	return out, nil
}

// relative is the sum of the relative errors of an operation's tables.
func (s *statement) relative() float64 {
	r := 0.0
	for _, t := range s.tables(s.op) {
		r += max(0, t.Worst().Rel)
	}
	return r
}

// errorBound returns part*|x| plus the error of x: its radius and, if the engine flushes, a subnormal x itself.
func (s *statement) errorBound(a *enclosure, part float64) interp.Tensor {
	r, p, small := a.radius(), float32(0), float32(0)
	if part > 0 {
		p = more32(part)
	}
	if s.flush {
		small = numerics.MinNormalFP16
	}
	vs := a.numbers()
	out := s.memory.floats(len(vs))
	for i, x := range vs {
		y, e := float32(math.Abs(float64(x))), float32(0)
		if r != nil {
			e = r[i]
		}
		if y-e < small {
			e = up(float64(e) + min(float64(y)+float64(e), numerics.MinNormalFP16))
		}
		out[i] = float32(p*(y+e)) + e
	}
	return interp.Share32(a.t.Type.Shape, out)
}

// dot is the rule of sums of products with a weight or of two operands. With the errors e and f of factors a and b,
//
//	|error| <= sum part*|a b| + |a| f + |b| e + e f
//
// which is at most the same product of part*(|a|+e) + e and |b| + f + f/part. The bias errs as a constant.
func dot(s *statement, ts []interp.Tensor) ([]*enclosure, error) {
	one, two := ir.ParamX, ir.ParamWeight
	if s.op.Is(ir.OpMatMul, ir.OpEinsum) {
		two = ir.ParamY
	}
	x, w := s.op.Arg(one), s.op.Arg(two)
	if s.op.Is(ir.OpEinsum) {
		vs := s.op.ArgList(ir.ParamValues)
		if len(vs) != 2 {
			return enclosuresOf(ts, true), nil
		}
		x, w = vs[0], vs[1]
	}
	part := s.sum + s.constants + float64(s.count(x, w, ts[0]))*0x1p-23
	b := s.of(w)
	weight := s.errorBound(&enclosure{t: b.t, lo: b.lo, hi: b.hi}, 0) // its error alone
	e := s.memory.copied(weight)                                      // mayLose writes to it
	s.mayLose(e, w)
	with := map[*ir.Value]interp.Tensor{x: s.errorBound(s.of(x), part)}
	if x == w {
		return enclosuresOf(ts, true), nil
	}
	with[w] = s.memory.mapped(b.t, func(i int, y float32) float32 { return up(abs(y) + float64(e[i])*(1+1/part)) })
	if v := s.op.Arg(ir.ParamBias); v != nil {
		with[v] = s.errorBound(s.of(v), s.sum+s.constants) // one more term
	}
	rs, err := s.wide(s.op, with)
	if err != nil {
		return nil, err
	}
	r := rs[0].View32()
	out := s.memory.errs(ts[0], r)
	if s.flush && s.mayBeEngine(w) {
		out.overflow(numerics.MACLimit)
	}
	if s.fixed && s.mayBeEngine(w) {
		err = s.fixedTerms(out, x, w, s.count(x, w, ts[0]))
	}
	return []*enclosure{out}, err
}

// mayLose adds to the errors e of a constant weight the weights that passes may lose when they fold a factor into them:
// the smallest of each output, up to a part of their sum.
func (s *statement) mayLose(e []float32, w *ir.Value) {
	axis := 0
	switch {
	case !s.decomposed || !s.flush && !s.fixed || !s.mayBeEngine(w) || !w.IsConst():
		return
	case s.op.Is(ir.OpConv, ir.OpLinear):
	case s.op.Is(ir.OpMatMul) && w.Type.Rank() == 2:
		if a, err := ir.MatMulAttrs(s.op); err != nil || !a.TransposeY {
			axis = 1
		}
	default:
		return
	}
	shape, inner := w.Type.Shape, int64(1)
	for _, d := range shape[axis+1:] {
		inner *= d
	}
	row := func(i int) int64 { return int64(i) / inner % shape[axis] }
	v := s.of(w).numbers()
	sums, small := make([]float64, shape[axis]), make([][]int, shape[axis])
	for i, x := range v {
		sums[row(i)] += abs(x)
	}
	for i, x := range v {
		if k := row(i); x != 0 && abs(x) <= passes.MaxLost*sums[k] {
			small[k] = append(small[k], i)
		}
	}
	for k, list := range small {
		slices.SortFunc(list, func(i, j int) int { return cmp.Compare(abs(v[i]), abs(v[j])) })
		lost := 0.0
		for _, i := range list {
			if lost += abs(v[i]); lost > passes.MaxLost*(1+halfUnit)*sums[k] {
				break
			}
			e[i] += float32(abs(v[i]))
		}
	}
}

// count returns the terms of each sum: an upper limit, for the rounding of the interpreter's own sums.
func (s *statement) count(x, w *ir.Value, t interp.Tensor) int64 {
	n := s.of(w).t.Type.Elems()
	if sh := s.of(w).t.Type.Shape; s.op.Is(ir.OpConv, ir.OpLinear) && len(sh) > 0 && sh[0] > 0 {
		return n / sh[0]
	}
	if s.op.Is(ir.OpMatMul) {
		if m, err := ir.MatMulAttrs(s.op); err == nil && m.K >= 0 {
			return m.K
		}
	}
	return min(n, s.of(x).t.Type.Elems())
}

// total is the rule of sums and means: a sum of products with one factor. Partial sums and the factor of a mean are
// rounded to fp16.
func total(s *statement, ts []interp.Tensor) ([]*enclosure, error) {
	if !s.floatResult() {
		return enclosuresOf(ts, s.inexact()), nil
	}
	x := s.op.Arg(ir.ParamX)
	part := s.sum + s.constants + 3*halfUnit*s.onEngine() + float64(s.of(x).t.Type.Elems())/
		max(1, float64(ts[0].Elems()))*0x1p-23
	rs, err := s.wide(s.op, map[*ir.Value]interp.Tensor{x: s.errorBound(s.of(x), part)})
	if err != nil {
		return nil, err
	}
	out := s.memory.errs(ts[0], rs[0].View32())
	if s.fixed && s.isEngine() {
		terms := termUnits * float64(s.of(x).t.Type.Elems()) / max(1, float64(ts[0].Elems()))
		out.widen(func(int, float64) float64 { return terms })
	}
	return []*enclosure{out}, nil
}

// squares is the rule of sums of squares, which are rounded before they are added.
func squares(s *statement, ts []interp.Tensor) ([]*enclosure, error) {
	if !s.floatResult() {
		return enclosuresOf(ts, s.inexact()), nil
	}
	x := s.op.Arg(ir.ParamX)
	part := s.sum + 3*halfUnit*s.onEngine() + float64(s.of(x).t.Type.Elems())*0x1p-23
	rs, err := s.wide(s.op, map[*ir.Value]interp.Tensor{x: s.of(x).magnitudes()})
	if err != nil {
		return nil, err
	}
	r := rs[0].View32()
	return []*enclosure{around(ts[0], func(i int, y float64) float64 {
		return float64(r[i])*(1+part) - y + float64(numerics.MinNormalFP16)*s.onEngine()
	})}, nil
}
