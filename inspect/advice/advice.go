// Package advice looks for changes that make a model faster, and says them in the words of every report: check, the
// reports of a compilation and the explorer have the same list.
package advice

import (
	"context"
	"fmt"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/inspect/explain"
	"github.com/zinc-compiler/zinc/inspect/report"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/ir"
)

// Found is the advice for a program, as reports show it, and how it was found.
type Found struct {
	Advice []report.Advice // the largest saving first
	Search *report.Search  // nil for a target without estimates
	search *explain.Search
}

// Find looks for changes to p, whose report is rep. It does not change p.
func Find(ctx context.Context, p *ir.Program, rep *compile.Report, o explain.Options) (*Found, error) {
	if rep.Estimate == nil {
		return &Found{}, nil
	}
	s, err := explain.Advise(ctx, p, rep, o)
	if err != nil {
		return nil, err
	}
	f := &Found{Search: &report.Search{Left: s.Left, Work: s.Work}, search: s}
	for i := range s.Advice {
		f.Advice = append(f.Advice, row(&s.Advice[i]))
	}
	for _, a := range s.Tried {
		f.Search.Tried = append(f.Search.Tried, report.Tried{
			Name: a.Name, Option: a.Option, Places: a.Places, After: a.After, Why: a.Why,
		})
	}
	return f, nil
}

// Program is the model changed as a recipe of the advice says; nil if no advice has that recipe.
func (f *Found) Program(recipe string) *ir.Program {
	for i := range f.Advice {
		if f.Advice[i].Recipe == recipe {
			return f.search.Advice[i].Program()
		}
	}
	return nil
}

func row(a *explain.Advice) report.Advice {
	x := report.Advice{
		Recipe: a.Recipe, Precision: a.Precision, Place: a.Place, What: a.Doc, Where: a.Where(), Why: why(a),
		Note: a.Note, Retrain: a.Retrain, Function: a.Function, Ran: a.Ran,
		NotRun: a.NotRun, Before: a.Before, After: a.After,
		Dispatches: a.Dispatches, CPUOps: a.CPUOps,
	}
	for _, s := range a.Statements {
		x.Statements = append(x.Statements, report.Place{Name: s.Name, Line: s.Line, Function: s.Function})
	}
	return x
}

// why says why the change saves time, as far as zinc knows.
func why(a *explain.Advice) string {
	if a.Rule != "" {
		return "now on the CPU by rule " + a.Rule
	}
	if n := a.CPUOps[0] - a.CPUOps[1]; n > 0 {
		return fmt.Sprintf("%s fewer on the CPU", diag.Count(n, "operation", "operations"))
	}
	if a.Retrain != "" {
		return "fewer or cheaper steps, with other results"
	}
	return "the same results in fewer or cheaper steps"
}
