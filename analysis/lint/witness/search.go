package witness

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/compile/cost/opwork"
	"github.com/zinc-compiler/zinc/ir"
)

// search looks for inputs that show suspicions.
type search struct {
	ctx   context.Context
	o     *Options
	a     Analysis
	b     *bench
	ports []*Input
	cost  int64            // of one run, in multiply-accumulates and elements
	until map[*ir.Op]int64 // of a run that ends after an operation
	spent int64
	limit int64 // limit of spent
	out   bool  // something was omitted because the budget was spent

	open     []*proof
	keep     map[*ir.Value]bool
	first    []Candidate                     // to record runs on; nil means Options.Samples and drawn inputs
	recorded int                             // runs
	seen     map[*ir.Value]interval.Interval // in the recorded runs, as their readers see them
	own      map[*ir.Value]interval.Interval // those that are repaired, as computed
	kept     Trace                           // values of the first recorded run
}

// proof is the state of the search for one suspicion.
type proof struct {
	*Suspicion
	Witness
	alone    *region
	aloneErr error
	ran      Trace              // of the first input that meets the limit
	far      interval.Interval  // the value in all runs of the search
	runs     int                // of the engine
	tries    int                // of the interpreter
	upstream map[*ir.Value]bool // what it depends on, nil until it is needed
}

func newProof(p *Suspicion) *proof {
	return &proof{Suspicion: p, Witness: Witness{Seen: interval.Nothing}, far: interval.Nothing}
}

// maxEngineRuns bounds the engine runs spent on one suspicion, maxTries its runs
// of the interpreter towards its own goals.
const (
	maxEngineRuns = 6
	maxTries      = 96
)

func newSearch(ctx context.Context, o *Options, a Analysis, b *bench, ports []*Input, limit int64) *search {
	b.repaired = a.Repaired
	s := &search{
		ctx:   ctx,
		o:     o,
		a:     a,
		b:     b,
		ports: ports,
		limit: limit,
		seen:  map[*ir.Value]interval.Interval{},
		own:   map[*ir.Value]interval.Interval{},
		until: map[*ir.Op]int64{},
	}
	s.cost = 1
	for _, op := range a.Func().Body.Ops {
		s.cost += costOf(op)
		s.until[op] = s.cost
	}
	return s
}

// pay takes a cost out of the budget.
func (s *search) pay(cost int64) bool {
	if s.ctx.Err() != nil || s.spent+cost > s.limit {
		s.out = true
		return false
	}
	s.spent += cost
	s.o.paid += cost
	if s.o.Progress != nil {
		s.o.Progress(s.o.paid, s.o.Work)
	}
	return true
}

// afford takes the cost of n runs out of the budget.
func (s *search) afford(n int64) bool { return s.pay(n * s.cost) }

// reach is the cost of a run that ends after a value.
func (s *search) reach(v *ir.Value) int64 {
	if c, ok := s.until[v.Def]; ok {
		return c
	}
	return s.cost
}

// costOf counts the multiply-accumulates and elements of an operation.
func costOf(op *ir.Op) int64 {
	n := opwork.MACs(op)
	for _, r := range op.Results {
		if e := r.Type.Elems(); e > 0 {
			n += e
		}
	}
	for _, b := range op.Blocks {
		for _, inner := range b.Ops {
			n += costOf(inner)
		}
	}
	return n
}

// wanted collects the values that the suspicions look at.
func (s *search) wanted() {
	s.keep = map[*ir.Value]bool{}
	for _, p := range s.open {
		p.far, p.Seen = interval.Nothing, interval.Nothing
		s.keep[p.Value] = true
		for _, v := range p.Need {
			s.keep[v] = true
		}
		for _, op := range closed(s.a, p.Region) {
			op.Operands(func(_ *ir.Param, v *ir.Value) { s.keep[v] = true })
		}
	}
}

// run looks for inputs among recorded runs, goals and patterns, and records how far it came.
func (s *search) run() error {
	s.wanted()
	if err := s.record(); err != nil {
		return err
	}
	for _, step := range s.order() {
		if err := step(); err != nil {
			return err
		}
	}
	for _, p := range s.open {
		switch {
		case p.Shown != nil:
		case p.Met && p.runs == 0 && s.out:
			p.Note = "an input reaches the limit; the work budget ended before the engine ran it"
		case p.Met:
			if p.Note == "" {
				p.Note = "an input reaches the limit, and no output of the function shows it"
			}
		case s.out:
			p.Note = "the search used up its work budget"
		default:
			p.Note = "no input of the whole model was found"
		}
		if p.Shown == nil && !p.Met && !p.far.Empty() && p.Value.Const == nil {
			p.Note += fmt.Sprintf("; the furthest that inputs brought %s: %s to %s", ValueLabel(p.Value),
				interval.Number(p.far.Lo), interval.Number(p.far.Hi))
		}
	}
	return s.ctx.Err()
}

// wholeShare is the share of the budget for inputs of the whole model, after which statements are cut out.
const wholeShare = 1.0 / 2

func (s *search) all(budget int64) error {
	s.limit = int64(float64(budget) * wholeShare)
	if !s.o.Alone {
		if err := s.run(); err != nil {
			return err
		}
	}
	s.limit = budget
	var left []*proof
	for _, p := range s.ranked() {
		if p.Shown == nil {
			left = append(left, p)
		}
	}
	for i, p := range left {
		if err := s.cutOut(p, max(0, s.limit-s.spent)/int64(len(left)-i)); err != nil {
			return err
		}
	}
	return s.ctx.Err()
}

// order is what is tried after the recorded runs. Goals come first, since a corner of an affine function is its worst
// case. If the budget may not last for all of them, a few patterns, which serve all suspicions at once, come before.
func (s *search) order() []func() error {
	first, rest := 0, len(patterns)
	if s.cost*int64(runsOfGoal*len(s.open)) > s.limit {
		first = boundPatterns
	}
	return []func() error{
		func() error { return s.patterns(0, first) },
		s.goals,
		func() error { return s.patterns(first, rest) },
	}
}

// runsOfGoal is the approximate number of runs for a goal.
const runsOfGoal = 16

// ranked is the order in which suspicions are tried: those whose recorded values
// come closest to the limit first.
func (s *search) ranked() []*proof {
	ps := slices.Clone(s.open)
	slices.SortStableFunc(ps, func(p, q *proof) int { return CompareGrowth(p.Growth, q.Growth) })
	return ps
}

// goals tries the goals of each suspicion.
func (s *search) goals() error {
	for _, p := range s.ranked() {
		for _, g := range p.Goals {
			if err := s.attempt(p, g); err != nil {
				return err
			}
		}
	}
	return nil
}

// patterns tries inputs that do not depend on the model: patterns lo to hi.
func (s *search) patterns(lo, hi int) error {
	for k := lo; k < hi; k++ {
		if !slices.ContainsFunc(s.open, func(p *proof) bool { return p.Shown == nil }) || !s.afford(1) {
			break
		}
		c, err := patterns[k].make(s.ports, k)
		if err != nil {
			return err
		}
		if err := s.try(c, s.open); err != nil {
			return err
		}
	}
	return nil
}

// try runs a candidate in the interpreter and looks for the suspicions that it reaches.
func (s *search) try(c Candidate, ps []*proof) error {
	_, t, err := s.b.watched(s.ctx, c.Values, s.keep, nil)
	if err != nil {
		return s.failed(err)
	}
	return s.look(c, t, ps)
}

// look finds the suspicions that a run of the interpreter reached, and runs the candidate on the engine for them.
func (s *search) look(c Candidate, repaired Trace, ps []*proof) error {
	for _, p := range ps {
		if p.Shown != nil || p.Reached == nil {
			continue
		}
		t := repaired
		for v, x := range s.b.raw {
			if p.has(v.Def) { // its own result as computed
				t = maps.Clone(t)
				t[v] = x
			}
		}
		if x, ok := t[p.Value]; ok {
			p.far = p.far.Hull(RangeOf(x))
		}
		at, ok := p.Reached(t)
		if !ok {
			continue
		}
		if !p.Met {
			p.Met, p.MetAt, p.Input, p.ran = true, at, c, t
		}
		if s.after(p) {
			p.Note = "an input reaches the limit only where an earlier finding is repaired"
			continue
		}
		if p.runs >= maxEngineRuns || !s.afford(3) {
			continue
		}
		p.runs++
		show := s.show
		if p.Evidence != nil {
			show = s.showAlone
		}
		if err := show(p, c, t, at); err != nil {
			return err
		}
	}
	return nil
}

// after reports whether the last run repaired a value that a suspicion depends on: the engine then shows that one.
func (s *search) after(p *proof) bool {
	if len(s.b.raw) == 0 {
		return false
	}
	if p.upstream == nil {
		p.upstream = map[*ir.Value]bool{}
		for open := []*ir.Op{p.Op}; len(open) > 0; {
			op := open[len(open)-1]
			open = open[:len(open)-1]
			op.Reads(func(v *ir.Value) {
				if v.Def != nil && !p.upstream[v] {
					p.upstream[v] = true
					open = append(open, v.Def)
				}
			})
		}
	}
	for v := range s.b.raw {
		if p.upstream[v] && !p.has(v.Def) {
			return true
		}
	}
	return false
}

// failed distinguishes errors of a run that end the search from errors of one input, which an operation may refuse.
func (s *search) failed(error) error {
	return s.ctx.Err()
}

// show runs a candidate on the engine: an output that depends on the statement
// must deviate, and so must the statement by itself on the operands it had.
func (s *search) show(p *proof, c Candidate, t Trace, at float64) error {
	behind := dependents(s.a, p.Op)
	only := func(n string) bool { return behind[n] }
	for _, ane := range []bool{false, true} {
		if ane && !p.ANE {
			break
		}
		e, err := s.b.check(s.ctx, c.Values, ane, false, only)
		if err != nil {
			return s.failed(err)
		}
		if e == nil {
			continue
		}
		local, err := s.local(p, t, ane)
		if err != nil {
			p.Note = "the outputs deviate, but the statement cannot be run by itself: " + err.Error()
			return s.failed(err)
		}
		if local == nil {
			p.Note = "the outputs deviate, but not because of this statement: by itself its result is right"
			continue
		}
		p.Shown, p.Local, p.Input, p.MetAt, p.Note = e, local, c, at, ""
		return nil
	}
	return nil
}

// showAlone runs the pair of the statement alone on the operands of the run, and judges the engine's result.
func (s *search) showAlone(p *proof, c Candidate, t Trace, at float64) error {
	r, err := s.regionOf(p)
	if err != nil {
		p.Note = "the statement cannot be run by itself: " + err.Error()
		return s.failed(err)
	}
	in, err := r.operands(t)
	if err != nil {
		return s.failed(err)
	}
	got, err := r.engine(s.ctx, in, false)
	if err != nil {
		return s.failed(err)
	}
	own := maps.Clone(t)
	for _, v := range p.Op.Results {
		if x, ok := got[v.Name]; ok {
			own[v] = x
		}
	}
	if e := p.Evidence(own); e != nil {
		p.Shown, p.Local, p.Input, p.MetAt, p.Note = e, e, c, at, ""
	}
	return nil
}

// local runs the suspicion's operations by themselves.
func (s *search) local(p *proof, t Trace, ane bool) (*Evidence, error) {
	r, err := (*region)(nil), error(nil)
	if ane {
		r, err = newRegion(s.ctx, s.a, p.Region, s.o.Compile, true, s.o.Workers)
	} else {
		r, err = s.regionOf(p)
	}
	if err != nil {
		return nil, err
	}
	return r.run(s.ctx, t, ane, p.Exactly)
}

// regionOf compiles the suspicion's operations by themselves, once.
func (s *search) regionOf(p *proof) (*region, error) {
	if p.alone == nil && p.aloneErr == nil {
		p.alone, p.aloneErr = newRegion(s.ctx, s.a, p.Region, s.o.Compile, false, s.o.Workers)
	}
	return p.alone, p.aloneErr
}

// dependents returns the names of the function's outputs that depend on an
// operation.
func dependents(a Analysis, op *ir.Op) map[string]bool {
	from := map[*ir.Value]bool{}
	for _, r := range op.Results {
		from[r] = true
	}
	for _, o := range a.Func().Body.Ops {
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
	for _, v := range a.Func().Body.Outputs {
		if from[v] {
			out[v.Name] = true
		}
	}
	return out
}
