package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// Advice is a change that makes the whole model faster by zinc's own estimate: a recipe for some statements, or another
// way to compile.
type Advice struct {
	Recipe    string `json:"recipe,omitempty"`    // name of a row of Recipes
	Precision string `json:"precision,omitempty"` // to compile in, instead of a recipe
	Place     string `json:"place,omitempty"`     // to compile with, instead of a recipe
	Doc       string `json:"doc"`                 // what changes
	Note      string `json:"note,omitempty"`      // condition under which the change is valid
	Rule      string `json:"rule,omitempty"`      // the rule that the statements break now, "" if the engine takes them
	Op        string `json:"op,omitempty"`        // operation of the statements, "" for several
	// Retrain says why the changed model must be trained again; "" if it computes the same.
	Retrain string `json:"retrain,omitempty"`
	// Statements are the statements that change, in order; Function is the function of the first.
	Function   string    `json:"function,omitempty"`
	Statements []Changed `json:"statements"`
	Before     cost.Time `json:"before_us"` // of one call of every function, including the CPU
	After      cost.Time `json:"after_us"`
	Dispatches [2]int    `json:"dispatches"` // before and after
	CPUOps     [2]int    `json:"cpu_ops"`
	// Ran reports that the change was run, at the places that differ in more than their weights, and agreed with the
	// original. NotRun says why it was not.
	Ran    bool   `json:"ran"`
	NotRun string `json:"not_run,omitempty"`

	program *ir.Program
}

// Changed is a statement of the source.
type Changed struct {
	Name     string `json:"name"`
	Line     int32  `json:"line,omitempty"`
	Function string `json:"function,omitempty"`
}

// Saves is the time that the change saves.
func (a *Advice) Saves() cost.Time { return a.Before - a.After }

// Program is the changed program, nil for another way to compile.
func (a *Advice) Program() *ir.Program { return a.program }

// Attempt is a change that was tried.
type Attempt struct {
	Name   string    `json:"name"`               // of the recipe, or the option of the compiler with its value
	Option bool      `json:"option,omitempty"`   // it is a way to compile, not a recipe
	Places int       `json:"places,omitempty"`   // statements that a recipe fits
	After  cost.Time `json:"after_us,omitempty"` // estimated time of a call, 0 if only what changes was estimated
	Why    string    `json:"why,omitempty"`      // why it is not advised, "" if it is
}

// Search is the result of looking for advice.
type Search struct {
	Advice []Advice  // the largest saving first; what must be trained again comes last
	Tried  []Attempt // in order
	// Left are the names of changes for which no work was left.
	Left []string
	Work int64 // work that was done
}

// DefaultWork is the work that Advise does if no other limit is set: a few seconds.
const DefaultWork = 1 << 32

// Costs in units of work. A processor does about a thousand million units a second. They bound the search the same way
// on every machine.
const (
	workPerEdit = 1 << 8  // to copy an operation and see whether a recipe fits it
	workPerOp   = 1 << 17 // to lower and estimate an operation
	workPerRun  = 1 << 3  // to run an operation's multiply-accumulates and elements: simulated, interpreted and bounded
)

// Advise looks for changes that make p faster. Each was applied to the whole program, which was lowered and estimated
// again, and what it changes was compiled and run alone as in Explain. now is the report of p with its estimate.
// Changes that save nothing are left out. The work is bounded by Options.Work. Advise does not change p.
func Advise(ctx context.Context, p *ir.Program, now *compile.Report, o Options) (*Search, error) {
	if o.Compile.Target.TD == 0 || now.Estimate == nil {
		return &Search{}, nil // nothing is estimated for it
	}
	layer := o.Screening
	if layer == nil {
		layer = Screen(ctx, p, o)
	}
	defer layer.Close()
	s := newAdvisor(ctx, p, now, layer.o, cmp.Or(o.Work, DefaultWork))
	s.least = now.CallTime() * worth / 100
	list, err := s.screened(layer)
	if err != nil {
		return nil, err
	}
	for i, c := range list {
		if o.Compile.Progress != nil {
			o.Compile.Progress("changes tried", i, len(list))
		}
		if err := s.try(c); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(s.weighed, func(a, b *weighed) int {
		if (a.Retrain == "") != (b.Retrain == "") {
			return cmp.Compare(len(a.Retrain), len(b.Retrain))
		}
		if a.Saves() == b.Saves() && (a.edits == nil) != (b.edits == nil) {
			if a.edits != nil {
				return -1 // a rewrite changes what it names alone, and is run
			}
			return 1
		}
		return cmp.Compare(b.Saves(), a.Saves())
	})
	if err := s.runAll(); err != nil {
		return nil, err
	}
	s.out.Work = cmp.Or(o.Work, DefaultWork) - s.left
	return &s.out, nil
}

// newAdvisor returns an advisor that has some work left.
func newAdvisor(ctx context.Context, p *ir.Program, now *compile.Report, o Options, left int64) *advisor {
	s := &advisor{ctx: ctx, p: p, now: now, o: o, left: left, parts: map[[2]uint64]cost.Time{},
		ran: map[[2]uint64]error{}}
	s.refused = refusals(p, now)
	for _, f := range p.Funcs {
		s.ops += int64(len(f.Body.Ops))
	}
	return s
}

// screened returns the candidates to try. Those that save too little in one layer of a model of many equal ones, even
// if each layer saves as much, are done with: they are added to what was tried.
func (s *advisor) screened(layer *Screening) (rest []*candidate, err error) {
	list := s.candidates()
	layer.group.Wait()
	if layer.err != nil || layer.layers == 0 {
		return list, layer.err
	}
	s.left, s.parts, s.ahead, s.ran = layer.left, layer.parts, layer.ahead, layer.ran
	for i, c := range list {
		a := layer.outcomes[i]
		if a.slower || a.Why == "" && a.Name != "" && a.saves < s.least/cost.Time(layer.layers) {
			a.After, a.Why = 0, errSlower.Error()
			s.out.Tried = append(s.out.Tried, a.Attempt)
			continue
		}
		rest = append(rest, c) // it pays there, fits nothing there, or no work was left
	}
	return rest, nil
}

// weighed is advice that was estimated and not run yet.
type weighed struct {
	Advice
	c       *candidate
	edits   *edits // nil for another way to compile
	kinds   []kind // that the edits change
	attempt int    // index in Search.Tried
}

// runAll runs what was found, the largest saving first, and keeps what agrees with the original.
func (s *advisor) runAll() error {
	for i, w := range s.weighed {
		var err error
		if s.o.Compile.Progress != nil {
			s.o.Compile.Progress("changes run", i, len(s.weighed))
		}
		if w.edits != nil {
			w.NotRun, err = s.run(w.c.recipe, w.edits)
			w.Ran = err == nil && w.NotRun == ""
		}
		switch {
		case s.ctx.Err() != nil:
			return s.ctx.Err()
		case err != nil:
			s.out.Tried[w.attempt].Why = err.Error()
		default:
			s.out.Advice = append(s.out.Advice, w.Advice)
		}
	}
	return nil
}

// advisor is one search.
type advisor struct {
	ctx     context.Context
	p       *ir.Program
	now     *compile.Report
	o       Options
	ops     int64     // operations of the program
	left    int64     // work
	least   cost.Time // that a change must save
	refused map[where]string
	parts   map[[2]uint64]cost.Time // what regions save
	ahead   map[string]*ahead       // what Screening has done already, by recipe
	ran     map[[2]uint64]error     // what came of running regions
	// weighed are the changes that are estimated to save time.
	weighed []*weighed
	out     Search
}

// candidate is a change to try: a recipe for all statements that it fits, or options.
type candidate struct {
	recipe           *Recipe
	precision, place string
}

func (c *candidate) name() string {
	switch {
	case c.recipe != nil:
		return c.recipe.Name
	case c.precision != "":
		return "precision " + c.precision
	}
	return "placement " + c.place
}

// candidates lists what is tried: options, then the recipes in their order.
func (s *advisor) candidates() (out []*candidate) {
	o := &s.o.Compile
	if o.Precision == "" || o.Precision == passes.PrecisionDeclared {
		out = append(out, &candidate{precision: passes.PrecisionFP16})
	}
	for _, place := range []string{passes.PlaceAuto, passes.PlaceEngine} {
		if place != o.Place {
			out = append(out, &candidate{place: place})
		}
	}
	for i := range Recipes {
		out = append(out, &candidate{recipe: &Recipes[i]})
	}
	return out
}

// where names a statement: its function, and its first result.
type where struct{ fn, name string }

// refusals returns the rules that keep statements on the CPU.
func refusals(p *ir.Program, now *compile.Report) map[where]string {
	out := map[where]string{}
	reports := map[string]*compile.Report{now.Function: now}
	for _, r := range now.Functions {
		reports[r.Function] = r
	}
	for _, f := range p.Funcs {
		r := reports[f.Name]
		if r == nil {
			continue
		}
		rules := map[string]*compile.OpReport{} // by result
		for i := range r.Ops {
			if o := &r.Ops[i]; o.Refusal != nil && o.Name != "" {
				rules[o.Name] = o
			}
		}
		for _, op := range f.Body.Ops {
			if len(op.Results) != 1 {
				continue
			}
			if o := rules[op.Results[0].Name]; o != nil && o.Op == op.Def.Name {
				out[where{f.Name, o.Name}] = o.Refusal.Rule
			}
		}
	}
	return out
}

// try tries one candidate, and adds it to what was tried, advised or left.
func (s *advisor) try(c *candidate) error {
	a := Attempt{Name: c.name(), Option: c.recipe == nil}
	w, err := s.weigh(c, &a)
	switch {
	case s.ctx.Err() != nil:
		return s.ctx.Err()
	case errors.Is(err, errNot):
		return nil
	case errors.Is(err, errWork):
		s.out.Left = append(s.out.Left, a.Name)
		return nil
	case err != nil:
		a.Why = err.Error()
	default:
		w.c, w.attempt = c, len(s.out.Tried)
		s.weighed = append(s.weighed, w)
	}
	s.out.Tried = append(s.out.Tried, a)
	return nil
}

// errWork means that a candidate needs more work than is left.
var errWork = errors.New("no work is left")

// spend takes work that is done.
func (s *advisor) spend(work int64) error {
	if work > s.left {
		return errWork
	}
	s.left -= work
	return nil
}

// weigh returns the advice of a candidate, errNot if it fits nothing, or why it is not advised.
func (s *advisor) weigh(c *candidate, a *Attempt) (*weighed, error) {
	if c.recipe == nil {
		return s.options(c, a)
	}
	kinds, err := s.kinds(c)
	if err != nil {
		return nil, err
	}
	for i := range kinds {
		a.Places += len(kinds[i].places)
	}
	best, err := s.best(c, kinds)
	if err != nil {
		return nil, err
	}
	a.After = best.After
	if !s.pays(&best.Advice) {
		return nil, errSlower
	}
	return best, nil
}

// kinds returns what a candidate changes where it fits, errNot if it fits nothing.
func (s *advisor) kinds(c *candidate) ([]kind, error) {
	if x := s.ahead[c.recipe.Name]; x != nil {
		return x.kinds, s.spend(s.ops * workPerEdit)
	}
	e, err := s.edited(c.recipe, nil)
	if err != nil {
		return nil, err
	}
	return kindsOf(c.recipe, e)
}

// pays reports whether a change saves enough.
func (s *advisor) pays(a *Advice) bool { return a.Saves() > 0 && a.Saves() >= s.least }

// best estimates the program with the changes of all kinds that pay alone, and, as long as that saves time and there is
// work left for it, without one of them. If no kind pays alone, and the model is small enough to estimate it as a whole
// in any case, it estimates all: changes next to each other may save what one does not.
func (s *advisor) best(c *candidate, kinds []kind) (*weighed, error) {
	keep, rest, err := s.paying(c, kinds)
	switch {
	case err != nil:
		return nil, err
	case len(keep) > 0:
	case len(rest) == 0 || len(rest) == 1 && len(rest[0].places) == 1 || s.ops*workPerOp > s.left/16:
		return nil, errSlower
	default:
		return s.with(c, rest)
	}
	best, err := s.with(c, keep)
	for again := true; err == nil && again && len(keep) > 1; {
		again = false
		if n := int64(len(keep)); n > s.left/(16*s.ops*workPerOp+1) {
			break
		}
		for i := range keep {
			w, err := s.with(c, slices.Delete(slices.Clone(keep), i, i+1))
			if err != nil {
				return nil, err
			}
			if w.After < best.After {
				best, again = w, true
			}
		}
		keep = best.kinds
	}
	return best, err
}

// with estimates the program with a candidate's changes of the given kinds.
func (s *advisor) with(c *candidate, kinds []kind) (*weighed, error) {
	x := s.ahead[c.recipe.Name]
	if x == nil || !slices.EqualFunc(x.keep, kinds, func(a, b kind) bool { return a.signature == b.signature }) {
		x = s.changed(c, kinds)
	} else if err := s.spend(s.ops * (workPerEdit + workPerOp)); err != nil {
		return nil, err
	}
	if x.err != nil {
		return nil, x.err
	}
	x.weighed.judge(s.now, x.report)
	return x.weighed, nil
}

// ahead is what comes of a recipe.
type ahead struct {
	kinds   []kind // all that it changes
	keep    []kind // those with which the program was estimated
	weighed *weighed
	report  *compile.Report // of the changed program
	err     error
}

// changed makes a candidate's changes of the given kinds and estimates the program with them.
func (s *advisor) changed(c *candidate, kinds []kind) *ahead {
	x := &ahead{keep: kinds}
	if x.weighed, x.err = s.edit(c, kinds); x.err == nil {
		x.report, x.err = s.estimate(x.weighed.program, s.o.Compile)
	}
	return x
}

// edit makes a candidate's changes of the given kinds.
func (s *advisor) edit(c *candidate, kinds []kind) (*weighed, error) {
	keep := map[where]bool{}
	for _, k := range kinds {
		for _, at := range k.places {
			keep[at] = true
		}
	}
	e, err := s.edited(c.recipe, keep)
	if err != nil {
		return nil, err
	}
	first := &e.sites[0]
	w := &weighed{edits: e, kinds: kinds}
	w.Recipe, w.Doc, w.Note, w.Rule = c.recipe.Name, c.recipe.Doc, first.note, s.refused[first.at]
	w.Retrain, w.Function, w.program = c.recipe.Retrain, first.at.fn, e.program
	if len(c.recipe.Rules) == 0 {
		w.Rule = ""
	} else {
		w.Doc, w.Op = c.recipe.Writes(first.op.Def.Operation), first.op.Def.Name
	}
	for i := range e.sites {
		x := &e.sites[i]
		w.Statements = append(w.Statements, Changed{Name: x.at.name, Line: x.op.Pos.Line, Function: x.at.fn})
		if x.op.Def != first.op.Def {
			w.Op = ""
		}
	}
	return w, nil
}

// errSlower says why most candidates are not advised.
var errSlower = errors.New("the model is not faster")

// edits is a program with a recipe applied to statements.
type edits struct {
	program *ir.Program
	sites   []placed
}

// placed is a site with its function before and after the edits.
type placed struct {
	site
	at      where
	was, is *side
}

// region returns what the edit of a site changes.
func (x *placed) region(r *Recipe) (*region, error) {
	if r.Interface {
		return &region{x.was.fn, x.is.fn}, nil
	}
	return regionOf(x.was, x.is, x.names)
}

// edited applies a recipe to a copy of the program: to all statements that it fits, or to those in keep.
func (s *advisor) edited(r *Recipe, keep map[where]bool) (*edits, error) {
	if err := s.spend(s.ops * workPerEdit); err != nil {
		return nil, err
	}
	fits := func(f *ir.Func, op *ir.Op) bool {
		if len(op.Results) == 0 || s.o.Compile.Func != "" && s.o.Compile.Func != f.Name {
			return false
		}
		at, rule := where{f.Name, op.Results[0].Name}, ""
		if len(r.Rules) > 0 {
			if rule = s.refused[at]; rule == "" {
				return false
			}
		}
		return (keep == nil || keep[at]) && r.For(rule, op.Def.Operation)
	}
	changes := func(f *ir.Func) bool {
		return slices.ContainsFunc(f.Body.Ops, func(op *ir.Op) bool { return fits(f, op) })
	}
	if !slices.ContainsFunc(s.p.Funcs, changes) {
		return nil, errNot // before the program is copied
	}
	out := &edits{program: ir.CloneProgram(s.p)}
	for i, f := range out.program.Funcs {
		if !changes(f) {
			continue
		}
		e := newEdit(narrower(s.o.Compile.Target, s.o.Compile.Target), f, 0)
		sites := e.each(func(op *ir.Op) *Recipe {
			if fits(f, op) {
				return r
			}
			return nil
		})
		if len(sites) == 0 {
			continue
		}
		was, is := sideOf(s.p.Funcs[i]), sideOf(f)
		for _, x := range sites {
			out.sites = append(out.sites, placed{site: x, at: where{f.Name, x.op.Results[0].Name}, was: was, is: is})
		}
	}
	if len(out.sites) == 0 {
		return nil, errNot
	}
	if err := ir.Verify(out.program); err != nil {
		return nil, fmt.Errorf("the changed program is not valid: %w", err)
	}
	return out, nil
}

// kind is what a recipe changes in the same way, up to the values of weights.
type kind struct {
	signature [2]uint64
	places    []where
	first     *region
}

// kindsOf groups the statements that a recipe changes.
func kindsOf(recipe *Recipe, e *edits) (out []kind, err error) {
	index := map[[2]uint64]int{}
	for i := range e.sites {
		x := &e.sites[i]
		r, err := x.region(recipe)
		if err != nil {
			return nil, err
		}
		k := r.signature()
		if _, ok := index[k]; !ok {
			index[k] = len(out)
			out = append(out, kind{signature: k, first: r})
		}
		same := &out[index[k]]
		same.places = append(same.places, x.at)
	}
	return out, nil
}

// paying returns the kinds that save time where only they are compiled, and those that do not but stay on the engine.
func (s *advisor) paying(c *candidate, kinds []kind) (keep, rest []kind, err error) {
	if c.recipe.Interface || len(c.recipe.Rules) > 0 {
		return kinds, nil, nil // what they save depends on what is around
	}
	for _, k := range kinds {
		less, err := s.less(k.first, k.signature)
		switch {
		case err != nil:
			return nil, nil, err
		case less > 0:
			keep = append(keep, k)
		case less != leaves:
			rest = append(rest, k)
		}
	}
	return keep, rest, nil
}

// leaves is what a change saves alone that takes operations off the engine.
const leaves = math.MinInt64

// less returns how much less time a region takes after the change, both sides compiled alone, with what the engine
// accepts on the engine. A region with work for the CPU counts as a gain, since what that costs depends on what is
// around; leaves if the change adds it.
func (s *advisor) less(r *region, k [2]uint64) (cost.Time, error) {
	if t, ok := s.parts[k]; ok {
		return t, nil
	}
	if err := s.spend(int64(r.ops()) * workPerOp); err != nil {
		return 0, err
	}
	o := s.o.Compile
	o.Func, o.Place, o.Progress, o.Shapes = r.before.Name, passes.PlaceCompute, nil, nil
	var times [2]cost.Time
	var cpu [2]int
	for i, p := range r.programs(s.p) {
		rep, err := estimate(s.ctx, ir.CloneProgram(p), o)
		if err != nil {
			s.parts[k] = 1
			return 1, s.ctx.Err()
		}
		times[i], cpu[i] = rep.CallTime(), rep.CPUOps
	}
	switch {
	case cpu[1] > cpu[0]:
		s.parts[k] = leaves
	case cpu[0] > 0:
		s.parts[k] = 1
	default:
		s.parts[k] = times[0] - times[1]
	}
	return s.parts[k], nil
}

// options returns the advice to compile in another way.
func (s *advisor) options(c *candidate, a *Attempt) (*weighed, error) {
	o := s.o.Compile
	adv := &weighed{Advice: Advice{Precision: c.precision, Place: c.place}}
	if c.precision != "" {
		adv.Doc, adv.Rule = "operations in fp32 compute in fp16", target.RuleFloatType
		o.Precision = c.precision
	} else {
		adv.Doc = "operations are placed another way"
		o.Place = c.place
	}
	for i := range s.now.Ops {
		x := &s.now.Ops[i]
		if x.Refusal != nil && (adv.Rule == "" || x.Refusal.Rule == adv.Rule) {
			adv.Statements = append(adv.Statements, Changed{Name: x.Name, Line: x.Line})
		}
	}
	if len(adv.Statements) == 0 {
		return nil, errNot
	}
	r, err := s.estimate(s.p, o)
	if err != nil {
		return nil, err
	}
	adv.judge(s.now, r)
	a.After = adv.After
	if !s.pays(&adv.Advice) {
		return nil, errSlower
	}
	return adv, nil
}

// worth is the share of a call's time that a change must save, in per cent: less is within the error of estimates for
// the same engine.
const worth = 1

// estimate estimates a changed program.
func (s *advisor) estimate(changed *ir.Program, o compile.Options) (*compile.Report, error) {
	if err := s.spend(s.ops * workPerOp); err != nil {
		return nil, err
	}
	o.Progress = nil // it takes less than what is reported
	r, err := estimate(s.ctx, ir.CloneProgram(changed), o)
	if err != nil {
		return nil, fmt.Errorf("the changed model does not compile: %w", err)
	}
	return r, nil
}

// judge compares the model as it is with the changed one.
func (a *Advice) judge(now, changed *compile.Report) {
	a.Before, a.After = now.CallTime(), changed.CallTime()
	a.Dispatches = [2]int{now.Dispatches, changed.Dispatches}
	a.CPUOps = [2]int{now.CPUOps, changed.CPUOps}
}

// LongRun is why a change was not run that takes more work than Options.Runs.
const LongRun = "its run is long"

// run runs what a recipe changes, once for each kind of place. It returns why it does not.
func (s *advisor) run(r *Recipe, e *edits) (why string, err error) {
	if r.Retrain != "" {
		return r.Retrain, nil
	}
	bound := cmp.Or(s.o.Runs, s.left)
	seen := map[[2]uint64]bool{}
	for i := range e.sites {
		x := &e.sites[i]
		part, err := x.region(r)
		if err != nil {
			return "", err
		}
		k := part.signature()
		if seen[k] {
			continue
		}
		seen[k] = true
		work := part.runWork()
		switch {
		case assumed(part.before):
			return "weights are made up", nil
		case work > bound && s.o.Runs > 0:
			return LongRun, nil
		case s.spend(work) != nil:
			return "no work is left for its run", nil
		}
		bound -= work
		w, o := &Rewrite{program: e.program}, s.o
		o.Compile.Progress = nil
		if len(r.Rules) > 0 {
			if err := r.place(s.ctx, w, x.at.fn, x.ops, x.op.Def.Operation, o.Compile); err != nil {
				return "", err
			}
		}
		err, ran := s.ran[k]
		if !ran {
			err = w.run(s.ctx, r, part.programs(s.p), o)
			s.ran[k] = err
		}
		if err != nil {
			return "", err
		}
	}
	return "", nil
}

// Where says in a few words which statements change.
func (a *Advice) Where() string {
	x := a.Statements[0]
	text := fmt.Sprintf("line %d", x.Line)
	if x.Line == 0 {
		text = fmt.Sprintf("%q", x.Name)
	}
	if a.Op != "" {
		text = a.Op + " in " + text
	}
	if n := len(a.Statements) - 1; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}
