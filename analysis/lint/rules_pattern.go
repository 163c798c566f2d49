package lint

import (
	"fmt"
	"math"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/analysis/lint/witness"
	"github.com/zinc-compiler/zinc/ir"
)

// madeBy returns the operation that computes v if it is one of os.
func madeBy(v *ir.Value, os ...*ir.Operation) *ir.Op {
	if v = witness.Unreshaped(v); v == nil || v.Def == nil || !v.Def.Is(os...) {
		return nil
	}
	return v.Def
}

// quotient is a statement that divides an exponential by the sum of itself.
type quotient struct {
	exp, sum *ir.Op
	max      bool // the maximum is subtracted from the exponent
}

// quotientOfSum returns the softmax that a statement writes out as operations, or nil.
func quotientOfSum(op *ir.Op) *quotient {
	var e, sum *ir.Value
	switch op.Def.Operation {
	case ir.OpRealDiv:
		e, sum = op.Arg(ir.ParamX), op.Arg(ir.ParamY)
	case ir.OpMul:
		for _, p := range [][2]ir.ParamName{{ir.ParamX, ir.ParamY}, {ir.ParamY, ir.ParamX}} {
			if inv := madeBy(op.Arg(p[1]), ir.OpInverse); inv != nil {
				e, sum = op.Arg(p[0]), inv.Arg(ir.ParamX)
			}
		}
	}
	x, total := madeBy(e, ir.OpExp, ir.OpExp2), madeBy(sum, ir.OpReduceSum)
	if x == nil || total == nil || madeBy(total.Arg(ir.ParamX), ir.OpExp, ir.OpExp2) != x {
		return nil
	}
	d := madeBy(x.Arg(ir.ParamX), ir.OpSub)
	return &quotient{x, total, d != nil && madeBy(d.Arg(ir.ParamY), ir.OpReduceMax) != nil}
}

// sharedQuotient returns the softmax written out as operations that an exponential is part of.
func sharedQuotient(a *analysis, e *ir.Op) (*quotient, *ir.Op) {
	seen := []*ir.Value{e.Results[0]}
	for i := 0; i < len(seen) && i < 16; i++ {
		for _, u := range a.uses.Get(seen[i]) {
			if q := quotientOfSum(u); q != nil && q.exp == e && !q.max {
				return q, u
			}
			if len(u.Results) == 1 && witness.Unreshaped(u.Results[0]) == e.Results[0] {
				seen = append(seen, u.Results[0])
			}
		}
	}
	return nil, nil
}

func checkSoftmax(s *site) *suspect {
	q, div := sharedQuotient(s.a, s.op)
	if q == nil || !s.isFP16() {
		return nil
	}
	n, ok := reduced(q.sum)
	if !ok {
		return nil
	}
	// The arguments at which the sum exceeds fp16, and at which every exponential rounds to 0.
	x := s.of(ir.ParamX)
	base := 1.0
	if s.op.Is(ir.OpExp2) {
		base = math.Ln2
	}
	high, low := math.Log(half16/n)/base, math.Log(1.0/(1<<25))/base
	if x.Hi < high && x.Lo > low {
		return nil
	}
	sum := q.sum.Results[0]
	p := s.suspect(s.arg(ir.ParamX), x, fmt.Sprintf("%.4g, or below %.4g throughout", high, low))
	p.detail = fmt.Sprintf("a sum of %.0f exponentials", n)
	p.Goals = []witness.Goal{witness.Most(sum, nil)}
	if x.Lo <= low {
		p.Goals = append(p.Goals, witness.Least(sum, nil))
	}
	p.Region = between(s.a, s.op, q.sum, div)
	p.Gap = func(seen func(v *ir.Value) Interval) float64 {
		x := seen(p.Value)
		g := high / max(x.Hi, 0)
		if x.Hi < 0 {
			g = min(g, low/x.Hi)
		}
		return g
	}
	return p.anyOf(sum, func(v float64) bool { return math.IsInf(v, 1) || v == 0 })
}

// between returns operations of the outermost block in their order, with those on the paths between them.
func between(a *analysis, ops ...*ir.Op) []*ir.Op {
	want := map[*ir.Op]bool{}
	for _, op := range ops {
		if op != nil {
			want[op] = true
		}
	}
	// Operations that read a result of one of them and lead to another are on a path.
	leads := map[*ir.Op]bool{}
	body := a.fn.Body.Ops
	for i := len(body) - 1; i >= 0; i-- {
		op := body[i]
		if want[op] {
			leads[op] = true
			continue
		}
		for _, r := range op.Results {
			for _, u := range a.uses.Get(r) {
				leads[op] = leads[op] || leads[u]
			}
		}
	}
	from := map[*ir.Op]bool{}
	var out []*ir.Op
	for _, op := range body {
		comes := want[op]
		op.Operands(func(_ *ir.Param, v *ir.Value) { comes = comes || v.Def != nil && from[v.Def] })
		from[op] = comes
		if comes && leads[op] {
			out = append(out, op)
		}
	}
	return out
}

// squareOf returns what an operation squares.
func squareOf(v *ir.Value) (*ir.Value, *ir.Op) {
	if op := madeBy(v, ir.OpSquare); op != nil {
		return op.Arg(ir.ParamX), op
	}
	if op := madeBy(v, ir.OpMul); op != nil && op.Arg(ir.ParamX) == op.Arg(ir.ParamY) {
		return op.Arg(ir.ParamX), op
	}
	if op := madeBy(v, ir.OpPow); op != nil {
		if p, ok := ir.ArgFloat(op, ir.ParamY); ok && p == 2 {
			return op.Arg(ir.ParamX), op
		}
	}
	return nil, nil
}

// variance returns the value whose variance a difference of means computes, and the operations that compute it.
func variance(op *ir.Op) (*ir.Value, []*ir.Op) {
	if op == nil || !op.Is(ir.OpSub) {
		return nil, nil
	}
	meanSq := madeBy(op.Arg(ir.ParamX), ir.OpReduceMean)
	m, sqMean := squareOf(op.Arg(ir.ParamY))
	if meanSq == nil || m == nil {
		return nil, nil
	}
	v, sq := squareOf(meanSq.Arg(ir.ParamX))
	mean := madeBy(m, ir.OpReduceMean)
	if v == nil || mean == nil || witness.Unreshaped(mean.Arg(ir.ParamX)) != witness.Unreshaped(v) {
		return nil, nil
	}
	return v, []*ir.Op{sq, meanSq, mean, sqMean, op}
}

// behindVariance reports whether a value is such a variance, with or without an epsilon.
func behindVariance(v *ir.Value) bool {
	if a := madeBy(v, ir.OpAdd, ir.OpMaximum); a != nil {
		for _, n := range []ir.ParamName{ir.ParamX, ir.ParamY} {
			if w := a.Arg(n); w.Const == nil {
				v = w
			}
		}
	}
	w, _ := variance(madeBy(v, ir.OpSub))
	return w != nil
}

func checkVariance(s *site) *suspect {
	v, ops := variance(s.op)
	if v == nil || !s.isFP16() {
		return nil
	}
	r := s.a.Range(v)
	if r.Mag() == 0 {
		return nil
	}
	p := s.suspect(v, r, "deviation over mean 1/32")
	p.Region = between(s.a, ops...)
	p.Gap = func(seen func(v *ir.Value) Interval) float64 { return within1(!seen(v).Empty()) }
	return p.anyPair(s.result(), s.arg(ir.ParamY), func(d, m float64) bool {
		return m > 1.0/1024 && math.Abs(d) < m/256
	})
}

// rounds reports whether an operation computes its result instead of picking elements of its operands.
func rounds(v *ir.Value) *ir.Op {
	v = witness.Unreshaped(v)
	if v == nil || v.Def == nil || v.Def.Def.Picks != nil || v.Def.Is(ir.OpAbs, ir.OpCast) {
		return nil
	}
	return v.Def
}

func checkCancellation(s *site) *suspect {
	x, y := s.of(ir.ParamX), s.of(ir.ParamY)
	p, q := rounds(s.arg(ir.ParamX)), rounds(s.arg(ir.ParamY))
	if !s.isFP16() || s.arg(ir.ParamX) == s.arg(ir.ParamY) || p == nil && q == nil || x.Mag() < 1024 || y.Mag() < 1024 {
		return nil
	}
	if v, _ := variance(s.op); v != nil {
		return nil
	}
	both := interval.Span(max(x.Lo, y.Lo), min(x.Hi, y.Hi))
	if both.Empty() || both.Mag() < 1024 {
		return nil
	}
	f := s.suspect(s.result(), s.a.Range(s.result()), "1024")
	f.detail = fmt.Sprintf("both operands reach %s", interval.Number(both.Mag()))
	f.Region = between(s.a, p, q, s.op)
	f.Gap = func(seen func(v *ir.Value) Interval) float64 {
		return 1024 / min(seen(s.arg(ir.ParamX)).Mag(), seen(s.arg(ir.ParamY)).Mag())
	}
	return f.anyPair(s.arg(ir.ParamX), s.arg(ir.ParamY), func(a, b float64) bool {
		return math.Abs(a) >= 1024 && math.Abs(a-b) < math.Abs(a)/64
	})
}

func checkMeanAxes(s *site) *suspect {
	a, err := ir.ReduceAttrs(s.op)
	x := s.arg(ir.ParamX)
	if err != nil || !s.engine || len(a.Axes) < 2 || !x.Type.Static() {
		return nil
	}
	last := a.Axes[len(a.Axes)-1]
	behind, partial := int64(1), 1.0
	for _, d := range x.Type.Shape[last+1:] {
		behind *= d
	}
	for _, i := range a.Axes[:len(a.Axes)-1] {
		partial *= float64(x.Type.Shape[i])
	}
	r := s.of(ir.ParamX)
	if behind <= 1 || r.Mag()*partial < half16 {
		return nil
	}
	p := s.suspect(s.arg(ir.ParamX), r, interval.Number(half16/partial))
	p.detail = fmt.Sprintf("a partial sum of %.0f elements can reach %s", partial, interval.Number(r.Mag()*partial))
	p.Goals, p.Limit = extremes(s.result(), r, half16/partial, nil), half16/partial
	return p.anyOf(s.result(), func(y float64) bool { return math.Abs(y)*partial >= half16 })
}
