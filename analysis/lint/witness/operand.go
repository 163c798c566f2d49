package witness

import (
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// operand is an input of a cut during the search.
type operand struct {
	v          *ir.Value // of the whole function
	name       string
	typ        ir.Type
	limit      interval.Interval // what intervals allow
	seen       interval.Interval
	input, ran bool
}

// at returns the operand's range with the recorded one widened by a factor.
func (o *operand) at(k float64) interval.Interval {
	if o.input || !o.ran || k == inf {
		return o.limit
	}
	r := interval.Interval{Lo: o.seen.Lo * k, Hi: o.seen.Hi * k}
	if o.seen.Lo > 0 {
		r.Lo = o.seen.Lo / k
	}
	if o.seen.Hi < 0 {
		r.Hi = o.seen.Hi / k
	}
	r.Lo, r.Hi = max(r.Lo, o.limit.Lo), min(r.Hi, o.limit.Hi)
	if r.Lo > r.Hi {
		return o.limit
	}
	return r
}

// cutting is a cut model that is searched with ever wider ranges of its operands.
type cutting struct {
	*search
	p  *proof
	b  *bench
	os []*operand
}

// box is a range for each operand.
type box struct {
	r      []interval.Interval
	ranges map[string]interval.Interval
	ports  []*Input
}

// box widens the recorded ranges by a factor.
func (t *cutting) box(k float64) (*box, error) {
	params := map[string]*ir.Value{}
	for _, v := range t.b.fn.Body.Params {
		params[v.Name] = v
	}
	x := &box{ranges: map[string]interval.Interval{}}
	for _, o := range t.os {
		r, err := interval.Inner(o.at(k), o.typ.DType)
		v := params[o.name]
		if err != nil || v == nil {
			return nil, fmt.Errorf("missing range for %s", o.name)
		}
		x.r = append(x.r, r)
		x.ranges[o.name] = r
		x.ports = append(x.ports, NewInput(v, r))
	}
	return x, nil
}

// judge judges the cut in a box; the suspicion is nil if the analysis does not suspect the same.
func (t *cutting) judge(x *box) (Analysis, *Suspicion) {
	a, found := t.o.Judge(t.b.fn, x.ranges)
	i := slices.IndexFunc(found, func(f *Suspicion) bool { return f.Kind == t.p.Kind && f.Op.Pos == t.p.Op.Pos })
	if i < 0 {
		i = slices.IndexFunc(found, func(f *Suspicion) bool { return f.Kind == t.p.Kind })
	}
	if i < 0 {
		return a, nil
	}
	return a, found[i]
}

// try searches the cut in a box, starting with the operands of a recorded run times k.
func (t *cutting) try(x *box, a Analysis, found *Suspicion, k float64, budget int64) (*proof, *search, error) {
	q := &proof{Suspicion: found}
	sub := newSearch(t.ctx, t.o, a, t.b, x.ports, budget)
	sub.open = []*proof{q}
	if c, ok, err := t.grown(x.ports, k); err != nil {
		return nil, nil, err
	} else if ok {
		sub.first = []Candidate{c}
	}
	if len(q.Region) == len(t.b.fn.Body.Ops) {
		q.alone = &region{t.b, t.b.fn.Body.Params} // it is the cut itself
	}
	return q, sub, sub.run()
}

// narrowings is the number of bisections of the factor up to which a cut is safe.
const narrowings = 6

// rule finds for each operand the widest recorded range, between the factors lo and hi, for which the rule does not
// apply.
func (t *cutting) rule(c *Cut, lo, hi float64) {
	if lo < 1 {
		return
	}
	hi = min(hi, 2*lo)
	for range narrowings {
		m := (lo + hi) / 2
		x, err := t.box(m)
		if err != nil {
			return
		}
		if _, found := t.judge(x); found == nil {
			lo = m
		} else {
			hi = m
		}
	}
	x, err := t.box(lo)
	if err != nil {
		return
	}
	for i, o := range t.os {
		if !o.input && o.ran {
			r := Numbers(x.r[i])
			c.Operands[i].Safe = &r
		}
	}
}

// grown are the operands of a recorded run times k.
func (t *cutting) grown(ports []*Input, k float64) (Candidate, bool, error) {
	c := Candidate{tensors{}, "the operands of a recorded run"}
	from := t.kept
	if t.p.ran != nil {
		from, c.How = t.p.ran, "the operands of a run that reaches the limit: "+t.p.Input.How
	}
	switch {
	case k == inf:
		return c, false, nil
	case k > 1:
		c.How += ", times " + interval.Number(k)
	}
	for i, o := range t.os {
		x, ok := from[o.v]
		if !ok {
			return c, false, nil
		}
		vs := crop(x, ports[i].Value.Type.Shape)
		by := k
		if o.input {
			by = 1
		}
		y, err := ports[i].fill(func(j int) float64 { return vs[j] * by })
		if err != nil {
			return c, false, err
		}
		c.Values[o.name] = y
	}
	return c, true, nil
}

// crop returns the leading elements along every axis.
func crop(x interp.Tensor, shape []int64) []float64 {
	vs := x.Const().Floats()
	if slices.Equal(x.Type.Shape, shape) {
		return vs
	}
	n := ir.TensorOf(ir.FP16, shape...).Elems()
	out := make([]float64, n)
	for i := range out {
		at, stride, rest := 0, 1, i
		for d := len(shape) - 1; d >= 0; d-- {
			at += rest % int(shape[d]) * stride
			rest /= int(shape[d])
			stride *= int(x.Type.Shape[d])
		}
		out[i] = vs[at]
	}
	return out
}

// factorOf is the factor by which the operands were actually widened: intervals may limit it.
func factorOf(os []*operand, k float64) verify.Number {
	most := 0.0
	for _, o := range os {
		if o.input || !o.ran {
			continue
		}
		f := inf
		if m := o.seen.Mag(); m > 0 {
			f = max(1, min(k, o.at(k).Mag()/m))
		} else if o.at(k).Mag() == 0 {
			f = 1
		}
		most = max(most, f)
	}
	return verify.Number(most)
}

// told returns the operand for a finding.
func (o *operand) told(used interp.Tensor) Operand {
	u := RangeOf(used)
	x := Operand{
		Name: o.name, Value: ValueLabel(o.v), Type: o.typ.String(), Interval: Numbers(o.limit), Used: Numbers(u),
		From: FromInterval,
	}
	switch {
	case o.input:
		x.From = FromInput
	case o.ran && o.seen.Lo <= u.Lo && u.Hi <= o.seen.Hi:
		x.From = FromRuns
	}
	if o.ran {
		r := Numbers(o.seen)
		x.Seen = &r
	}
	return x
}

// Numbers returns the bounds in their JSON form.
func Numbers(r interval.Interval) [2]verify.Number {
	return [2]verify.Number{verify.Number(r.Lo), verify.Number(r.Hi)}
}
