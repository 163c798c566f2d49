package explain

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/cost"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// Advice is a change that makes the whole model faster by zinc's own estimate: a recipe for all statements that one
// rule keeps on the CPU, or another precision.
type Advice struct {
	Recipe    string `json:"recipe,omitempty"`    // Name of a row of Recipes
	Precision string `json:"precision,omitempty"` // to compile in; Recipe is then ""
	Doc       string `json:"doc"`                 // what changes
	Rule      string `json:"rule"`                // the rule that the statements break now
	Op        string `json:"op,omitempty"`        // operation of the statements, "" for several
	// Statements are those that change, in order.
	Statements []Changed `json:"statements"`
	Before     cost.Time `json:"before_us"` // of one call of every function, including the CPU
	After      cost.Time `json:"after_us"`
	Dispatches [2]int    `json:"dispatches"` // before and after
	CPUOps     [2]int    `json:"cpu_ops"`
	// Rewrite is the rewrite of the first statement, which was also run; nil for a precision.
	Rewrite *Rewrite `json:"-"`
}

// Changed is a statement of the source.
type Changed struct {
	Name string `json:"name"`
	Line int32  `json:"line,omitempty"`
}

// Saves is the time that the change saves.
func (a *Advice) Saves() cost.Time { return a.Before - a.After }

// Bounds of the search for advice, so that it takes about as long as a few compilations. What exceeds them is left out.
const (
	maxGroups  = 8       // of refused statements: groups with most statements come first
	maxRenames = 4 << 20 // statements of a group by operations of the function: each edit looks at the whole function
)

// Advise looks for changes that make p faster and returns the one that saves most first. Each change was applied to the
// whole program, which was lowered and estimated again, and the recipe's rewrite of the first statement was compiled
// and run as in Explain. now is the report of p with its estimate. Changes that save nothing are left out. Advise does
// not change p.
func Advise(ctx context.Context, p *ir.Program, now *compile.Report, o Options) ([]Advice, error) {
	if o.Compile.Target == nil {
		o.Compile.Target = target.H13
	}
	if o.Compile.Target.TD == 0 || now.Estimate == nil {
		return nil, nil // nothing is estimated for it
	}
	o.Compile.Provenance = false
	s := &advisor{ctx: ctx, p: p, now: now, o: o}
	var out []Advice
	groups := s.groups()
	groups = groups[:min(len(groups), maxGroups)]
	for i, g := range groups {
		if o.Compile.Progress != nil {
			o.Compile.Progress("changes tried", i, len(groups)+1)
		}
		a, err := s.recipe(g)
		if err != nil {
			return nil, err
		}
		out = append(out, a...)
	}
	a, err := s.half()
	if err != nil {
		return nil, err
	}
	out = append(out, a...)
	slices.SortStableFunc(out, func(a, b Advice) int { return cmp.Compare(b.Saves(), a.Saves()) })
	return out, nil
}

// advisor is one search.
type advisor struct {
	ctx context.Context
	p   *ir.Program
	now *compile.Report
	o   Options
}

// refused is a group of statements of one function that a rule keeps on the CPU and that have the same operation.
type refused struct {
	fn   string
	rule string
	op   *ir.Operation
	at   []int // in the function's body
}

// groups lists the refused statements that a recipe may change, largest groups first.
func (s *advisor) groups() []*refused {
	type key struct {
		fn, rule string
		op       *ir.Operation
	}
	by := map[key]*refused{}
	var out []*refused
	reports := map[string]*compile.Report{s.now.Function: s.now}
	for _, r := range s.now.Functions {
		reports[r.Function] = r
	}
	for _, f := range s.p.Funcs {
		r := reports[f.Name]
		if r == nil {
			continue
		}
		refusals := map[string]*compile.OpReport{} // by result
		for i := range r.Ops {
			if o := &r.Ops[i]; o.Refusal != nil && o.Name != "" {
				refusals[o.Name] = o
			}
		}
		for i, op := range f.Body.Ops {
			if len(op.Results) != 1 {
				continue
			}
			o := refusals[op.Results[0].Name]
			if o == nil || o.Op != op.Def.Name {
				continue
			}
			k := key{f.Name, o.Refusal.Rule, op.Def.Operation}
			if by[k] == nil {
				by[k] = &refused{fn: f.Name, rule: k.rule, op: k.op}
				out = append(out, by[k])
			}
			by[k].at = append(by[k].at, i)
		}
	}
	out = slices.DeleteFunc(out, func(g *refused) bool {
		return !slices.ContainsFunc(Recipes, func(r Recipe) bool { return r.For(g.rule, g.op) })
	})
	slices.SortStableFunc(out, func(a, b *refused) int { return cmp.Compare(len(b.at), len(a.at)) })
	return out
}

// recipe returns the first recipe for a group that saves time, as a list of at most one.
func (s *advisor) recipe(g *refused) ([]Advice, error) {
	fn := func(p *ir.Program) *ir.Func {
		return p.Funcs[slices.IndexFunc(p.Funcs, func(f *ir.Func) bool { return f.Name == g.fn })]
	}
	from := fn(s.p)
	if len(g.at)*len(from.Body.Ops) > maxRenames {
		return nil, nil
	}
	for i := range Recipes {
		r := &Recipes[i]
		if !r.For(g.rule, g.op) {
			continue
		}
		after := ir.CloneProgram(s.p)
		a := Advice{Recipe: r.Name, Doc: r.Writes(g.op), Rule: g.rule, Op: g.op.Name}
		f := fn(after)
		first := -1
		for _, at := range g.at {
			was := from.Body.Ops[at]
			k := slices.IndexFunc(f.Body.Ops, func(op *ir.Op) bool {
				return len(op.Results) == 1 && op.Results[0].Name == was.Results[0].Name
			})
			if k < 0 {
				continue
			}
			e := newEdit(s.o.Compile.Target, f, k)
			if r.apply(e); e.err != nil {
				continue
			}
			if first < 0 {
				first = at
			}
			a.Statements = append(a.Statements, Changed{Name: was.Results[0].Name, Line: was.Pos.Line})
		}
		if first < 0 || ir.Verify(after) != nil || !s.price(&a, after, s.o.Compile) {
			if s.ctx.Err() != nil {
				return nil, s.ctx.Err()
			}
			continue
		}
		op := from.Body.Ops[first]
		w, err := r.try(s.ctx, s.p, &found{fn: from, op: op, value: op.Results[0], index: first}, s.o)
		if s.ctx.Err() != nil {
			return nil, s.ctx.Err()
		}
		if err != nil {
			continue
		}
		a.Rewrite = w
		return []Advice{a}, nil
	}
	return nil, nil
}

// half returns the advice to compile in fp16, as a list of at most one.
func (s *advisor) half() ([]Advice, error) {
	o := s.o.Compile
	if o.Precision != "" && o.Precision != passes.PrecisionDeclared {
		return nil, nil
	}
	a := Advice{Precision: passes.PrecisionFP16, Doc: "operations in fp32 compute in fp16", Rule: target.RuleFloatType}
	for i := range s.now.Ops {
		if x := &s.now.Ops[i]; x.Refusal != nil && x.Refusal.Rule == target.RuleFloatType {
			a.Statements = append(a.Statements, Changed{Name: x.Name, Line: x.Line})
		}
	}
	if len(a.Statements) == 0 {
		return nil, nil
	}
	o.Precision = a.Precision
	if !s.price(&a, ir.CloneProgram(s.p), o) {
		return nil, s.ctx.Err()
	}
	return []Advice{a}, nil
}

// worth is the share of a call's time that a change must save, in per cent: less is within the error of estimates for
// the same engine.
const worth = 1

// price estimates a changed program and reports whether it is worth it. A program that does not compile is not worth
// it.
func (s *advisor) price(a *Advice, changed *ir.Program, o compile.Options) bool {
	o.Progress = nil // it takes less than what is reported
	r, err := compile.Price(s.ctx, changed, o)
	if err != nil {
		return false
	}
	a.Before, a.After = s.now.CallTime(), r.CallTime()
	a.Dispatches = [2]int{s.now.Dispatches, r.Dispatches}
	a.CPUOps = [2]int{s.now.CPUOps, r.CPUOps}
	return a.Saves()*100 >= a.Before*worth && a.Saves() > 0
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
