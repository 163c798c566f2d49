package lint

import (
	"context"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/ir"
)

// search looks for inputs that show suspicions.
type search struct {
	ctx   context.Context
	o     *Options
	co    compile.Options
	a     *analysis
	b     *bench
	ports []*port
	cost  int64 // of one run, in multiply-accumulates and elements
	spent int64
	out   bool // something was left out for want of budget

	open []*proof
	keep map[*ir.Value]bool
}

// proof is a suspicion on its way to being shown.
type proof struct {
	*suspect
	alone     *region
	aloneErr  error
	reachedAt float64
	reached   bool
	input     candidate // the one that shows it, else the first that reaches it
	shown     *Evidence // at the function's outputs
	local     *Evidence // at the statement's own
	note      string
	runs      int // of the engine
	tries     int // of the interpreter
}

// maxEngineRuns bounds the engine runs spent on one suspicion, maxTries its runs
// of the interpreter towards its own goals.
const (
	maxEngineRuns = 6
	maxTries      = 96
)

// afford takes the cost of n runs out of the budget.
func (s *search) afford(n int64) bool {
	if s.ctx.Err() != nil || s.spent+n*s.cost > s.o.work() {
		s.out = true
		return false
	}
	s.spent += n * s.cost
	return true
}

// costOf counts what one run computes.
func costOf(f *ir.Func) int64 {
	n := int64(1)
	ir.Walk(f, func(op *ir.Op) {
		n += compile.MACs(op)
		for _, r := range op.Results {
			if e := r.Type.Elems(); e > 0 {
				n += e
			}
		}
	})
	return n
}

// run looks for inputs by goals and by patterns, and notes how far it came.
func (s *search) run() error {
	s.keep = map[*ir.Value]bool{}
	for _, p := range s.open {
		for _, v := range p.need {
			s.keep[v] = true
		}
		for _, op := range p.region {
			op.Operands(func(_ *ir.Param, v *ir.Value) { s.keep[v] = true })
		}
	}
	// What is asked for by name comes first, a corner of an affine function being its
	// worst case; unless the budget may not last for all goals: a pattern serves all
	// suspicions at once.
	order := []func() error{s.goals, s.patterns}
	if s.cost*int64(runsOfGoal*len(s.open)) > s.o.work() {
		slices.Reverse(order)
	}
	for _, step := range order {
		if err := step(); err != nil {
			return err
		}
	}
	for _, p := range s.open {
		switch {
		case p.shown != nil:
		case p.reached:
			if p.note == "" {
				p.note = "an input reaches the limit, and no output of the function shows it"
			}
		case s.out:
			p.note = "the search ended with its budget (--work)"
		default:
			p.note = "no input was found"
		}
	}
	return s.ctx.Err()
}

// runsOfGoal is about how many runs a goal takes.
const runsOfGoal = 16

// goals goes after the goals of each suspicion.
func (s *search) goals() error {
	for _, p := range s.open {
		for _, g := range p.goals {
			if err := s.pursue(p, g); err != nil {
				return err
			}
		}
	}
	return nil
}

// patterns tries inputs that are made without looking at the model.
func (s *search) patterns() error {
	for k, p := range patterns {
		if s.done() || !s.afford(1) {
			break
		}
		c, err := p.make(s.ports, k)
		if err != nil {
			return err
		}
		if err := s.try(c, s.open); err != nil {
			return err
		}
	}
	if len(s.ports) > 1 && len(s.ports) <= 4 {
		for i := range s.ports {
			if s.done() || !s.afford(1) {
				break
			}
			c, err := opposed(s.ports, i)
			if err != nil {
				return err
			}
			if err := s.try(c, s.open); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *search) done() bool {
	return !slices.ContainsFunc(s.open, func(p *proof) bool { return p.shown == nil })
}

// try runs a candidate in the interpreter and looks which suspicions it reaches;
// those it runs on the engine.
func (s *search) try(c candidate, ps []*proof) error {
	_, t, err := s.b.declared(s.ctx, c.in, s.keep)
	if err != nil {
		return s.failed(err)
	}
	for _, p := range ps {
		if p.shown != nil || p.suspect.reached == nil {
			continue
		}
		at, ok := p.suspect.reached(t)
		if !ok {
			continue
		}
		if !p.reached {
			p.reached, p.reachedAt, p.input = true, at, c
		}
		if p.evidence != nil {
			if e := p.evidence(t); e != nil {
				p.shown, p.local, p.input, p.reachedAt = e, e, c, at
			}
			continue
		}
		if p.runs >= maxEngineRuns || !s.afford(3) {
			continue
		}
		p.runs++
		if err := s.show(p, c, t, at); err != nil {
			return err
		}
	}
	return nil
}

// failed tells errors of a run that end the search from those of one input,
// which an operation may refuse.
func (s *search) failed(err error) error {
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	return nil
}

// show runs a candidate on the engine: an output that depends on the statement
// must deviate, and so must the statement by itself on the operands it had.
func (s *search) show(p *proof, c candidate, t trace, at float64) error {
	behind := dependents(s.a, p.op)
	only := func(n string) bool { return behind[n] }
	for _, ane := range []bool{false, true} {
		if ane && !p.ane {
			break
		}
		e, err := s.b.check(s.ctx, c.in, ane, false, only)
		if err != nil {
			return s.failed(err)
		}
		if e == nil {
			continue
		}
		local, err := s.alone(p, t, ane)
		if err != nil {
			p.note = "the outputs deviate, but the statement cannot be run by itself: " + err.Error()
			return s.failed(err)
		}
		if local == nil {
			p.note = "the outputs deviate, but not by this statement: by itself it gives what it should"
			continue
		}
		p.shown, p.local, p.input, p.reachedAt, p.note = e, local, c, at, ""
		return nil
	}
	return nil
}

// alone runs the suspicion's operations by themselves.
func (s *search) alone(p *proof, t trace, ane bool) (*Evidence, error) {
	if ane {
		r, err := newRegion(s.ctx, s.a.fn, p.region, s.co, true, s.o.Workers)
		if err != nil {
			return nil, err
		}
		return r.run(s.ctx, t, true, p.exactly)
	}
	if p.alone == nil && p.aloneErr == nil {
		p.alone, p.aloneErr = newRegion(s.ctx, s.a.fn, p.region, s.co, false, s.o.Workers)
	}
	if p.aloneErr != nil {
		return nil, p.aloneErr
	}
	return p.alone.run(s.ctx, t, false, p.exactly)
}

// dependents returns the names of the function's outputs that depend on an
// operation.
func dependents(a *analysis, op *ir.Op) map[string]bool {
	from := map[*ir.Value]bool{}
	for _, r := range op.Results {
		from[r] = true
	}
	for _, o := range a.fn.Body.Ops {
		hit := false
		o.Operands(func(_ *ir.Param, v *ir.Value) { hit = hit || from[v] })
		for _, b := range o.Blocks {
			for _, inner := range b.Ops {
				hit = hit || inner == op
				inner.Operands(func(_ *ir.Param, v *ir.Value) { hit = hit || from[v] })
			}
		}
		for _, r := range o.Results {
			from[r] = from[r] || hit
		}
	}
	out := map[string]bool{}
	for _, v := range a.fn.Body.Outputs {
		if from[v] {
			out[v.Name] = true
		}
	}
	return out
}

// pursue goes after one goal: to a corner of the ranges by the signs of the
// derivative, which for an affine function is its extreme, and where a number is
// wanted along the way between two corners.
func (s *search) pursue(p *proof, g goal) error {
	if p.shown != nil {
		return nil
	}
	if p.suspect.reached == nil {
		return nil
	}
	for _, q := range s.ports {
		if source(g.v) == q.v {
			return s.fillPort(p, q, g)
		}
	}
	if g.near != g.near {
		cs, err := s.corners(g, g.dir, -1)
		if err != nil {
			return err
		}
		for _, c := range cs {
			if p.shown != nil || !s.afford(1) {
				return nil
			}
			p.tries++
			if err := s.try(c.c, []*proof{p}); err != nil {
				return err
			}
		}
		return nil
	}
	return s.bisect(p, g)
}

// fillPort is a goal on an input itself.
func (s *search) fillPort(p *proof, q *port, g goal) error {
	xs := []float64{q.r.Hi, q.r.Hi * 0.75}
	if g.dir < 0 {
		xs = []float64{q.r.Lo, q.r.Lo * 0.75}
	}
	if g.near == g.near {
		xs = []float64{g.near, g.near / 2, 2 * g.near}
	}
	if g.near != g.near && q.r.Has(0) && g.v != nil && q.r.Hi == 0 {
		xs = append(xs, math.Copysign(0, -1))
	}
	for _, x := range xs {
		if !q.r.Has(x) {
			continue
		}
		// The others at their upper bounds, then all alike.
		for _, same := range []bool{false, true} {
			if p.shown != nil || !s.afford(1) {
				return nil
			}
			c := candidate{tensors{}, q.v.Name + " filled with " + number(x)}
			for _, o := range s.ports {
				v := o.r.Hi
				if o == q || same {
					v = x
				}
				t, err := o.fill(func(int) float64 { return v })
				if err != nil {
					return err
				}
				c.in[o.v.Name] = t
			}
			p.tries++
			if err := s.try(c, []*proof{p}); err != nil {
				return err
			}
			if len(s.ports) == 1 {
				break
			}
		}
	}
	return nil
}

// bisections is how often the way between two corners is halved.
const bisections = 40

// bisect looks for a number between the corners in which an element is largest
// and least.
func (s *search) bisect(p *proof, g goal) error {
	up, err := s.corners(g, 1, -1)
	if err != nil || len(up) == 0 {
		return err
	}
	at := up[0].at
	down, err := s.corners(g, -1, at)
	if err != nil || len(down) == 0 {
		return err
	}
	wv := s.b.wide.of[g.v]
	lo, hi := 0.0, 1.0 // 0: down, 1: up
	for range bisections {
		if p.shown != nil || p.tries > maxTries || !s.afford(2) {
			return nil
		}
		m := (lo + hi) / 2
		c := candidate{tensors{}, "between two corners of the input ranges, where the value meets the limit"}
		for _, q := range s.ports {
			a, b := down[0].c.in[q.v.Name].Const().Floats(), up[0].c.in[q.v.Name].Const().Floats()
			t, err := q.fill(func(i int) float64 { return a[i] + (b[i]-a[i])*m })
			if err != nil {
				return err
			}
			c.in[q.v.Name] = t
		}
		_, t, err := s.b.exact(s.ctx, c.in, true)
		if err != nil {
			return s.failed(err)
		}
		ys := t.floats(wv)
		if at >= len(ys) {
			return nil
		}
		p.tries++
		if err := s.try(c, []*proof{p}); err != nil {
			return err
		}
		if ys[at] < g.near {
			lo = m
		} else {
			hi = m
		}
	}
	return nil
}
