package explore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/inspect/advice"
	"github.com/zinc-compiler/zinc/inspect/explain"
	"github.com/zinc-compiler/zinc/inspect/report"
	"github.com/zinc-compiler/zinc/ir"
)

// adviceAnswer is the advice of zinc check: the answer to POST advice.
type adviceAnswer struct {
	Advice []adviceRow    `json:"advice"`           // the largest saving first
	Search *report.Search `json:"search,omitempty"` // how it was looked for
	// Nothing says what was tried if there is no advice; Largest are then the largest costs.
	Nothing    string       `json:"nothing,omitempty"`
	Largest    []largestRow `json:"largest,omitempty"`
	Unfinished string       `json:"unfinished,omitempty"` // what was not tried
	Weights    string       `json:"weights,omitempty"`    // what compressed weights would save
}

// largestRow is one of the largest costs.
type largestRow struct {
	Statement int       `json:"statement"` // -1 for none
	Us        cost.Time `json:"us"`
	What      string    `json:"what"`
}

// adviceRow is a change that was applied to the whole model and estimated again.
type adviceRow struct {
	report.Advice
	Checked    string   `json:"checked"` // how the change was checked
	Names      []string `json:"names"`
	Statements []int    `json:"statements"`
	// No says why the text cannot be changed by a click, "" if it can.
	No string `json:"not_applicable,omitempty"`
}

// rewriteQuery is the body of a request to apply a rewrite.
type rewriteQuery struct {
	Recipe string   `json:"recipe"`
	Func   string   `json:"function"`
	Names  []string `json:"names"` // of the statements, in the order of the program
}

// rewriteAnswer is the changed text and what it saves.
type rewriteAnswer struct {
	Text       string    `json:"text"`
	Before     cost.Time `json:"before_us"`
	After      cost.Time `json:"after_us"`
	Dispatches [2]int    `json:"dispatches"`
	CPUOps     [2]int    `json:"cpu_ops"`
}

// explainQuery is the body of a request for rewrites of a statement.
type explainQuery struct {
	Statement int `json:"statement"`
}

// explainAnswer lists the rewrites of a statement that compile, run and agree with the original.
type explainAnswer struct {
	Rewrites  []rewriteRow    `json:"rewrites"`
	Tried     []explain.Tried `json:"tried"`
	NotSought string          `json:"not_sought,omitempty"`
}

// rewriteRow is a rewrite of one statement.
type rewriteRow struct {
	Recipe string   `json:"recipe"`
	Doc    string   `json:"doc"`
	Note   string   `json:"note,omitempty"`
	Diff   []string `json:"diff"`
	// Before and After are of a call of the whole model, if No is "".
	Before     cost.Time `json:"before_us"`
	After      cost.Time `json:"after_us"`
	Dispatches [2]int    `json:"dispatches"`
	CPUOps     [2]int    `json:"cpu_ops"`
	No         string    `json:"not_applicable,omitempty"`
}

// maxNames bounds the statements that one request rewrites.
const maxNames = 1000

// advised runs f on the view's program as this zinc reads it, as a job within the limits.
func (s *Server) advised(r *http.Request, v *view, f func(ctx context.Context, p *ir.Program,
	o compile.Options) (any, error)) (any, error) {
	switch {
	case v.report == nil:
		return nil, &requestError{http.StatusConflict, errFailed}
	case s.version(&v.config) != nil:
		return nil, &requestError{http.StatusConflict, errors.New("rewrites are of the version that serves the page; " +
			"choose it to see them")}
	case v.placed:
		return nil, &requestError{http.StatusConflict, noPair(v)}
	}
	if err := s.runnable(v); err != nil {
		return nil, err
	}
	return s.job(r, v, "looking for rewrites", func(ctx context.Context) (any, error) {
		m, err := v.model.open(v.config.Text)
		if err != nil {
			return nil, &requestError{http.StatusConflict, errFailed}
		}
		defer m.Close()
		o, err := v.config.options(v.model.file)
		if err != nil {
			return nil, err
		}
		o.Provenance = false
		return f(ctx, m.Program, o)
	})
}

// job runs f, which is doing something with a view, within the limits.
func (s *Server) job(r *http.Request, v *view, doing string, f func(ctx context.Context) (any, error)) (out any,
	err error) {
	leave, err := s.gate.enter(r.Context(), doing)
	if err != nil {
		return nil, err
	}
	defer leave()
	ctx, stop, explain := s.limits.guard(r.Context(), doing)
	defer stop()
	defer s.rescue(doing+" of "+v.model.Name, &err)
	out, err = f(ctx)
	return out, explain(err)
}

func adviceView(s *Server, v *view, r *http.Request) (any, error) {
	if err := body(r, &struct{}{}); err != nil {
		return nil, err
	}
	return s.advised(r, v, func(ctx context.Context, p *ir.Program, o compile.Options) (any, error) {
		found, err := advice.Find(ctx, p, v.report, explain.Options{Compile: o, Seed: 1})
		if err != nil {
			return nil, err
		}
		out := &adviceAnswer{Advice: []adviceRow{}, Search: found.Search, Weights: report.Weights(v.report)}
		named := v.named(p)
		for i := range found.Advice {
			out.Advice = append(out.Advice, v.adviceRow(p, &found.Advice[i], named, o))
		}
		if len(found.Advice) == 0 {
			out.Nothing = found.Search.Nothing()
			for _, c := range report.Largest(v.report) {
				out.Largest = append(out.Largest, largestRow{named(c.Name), c.Time, c.String()})
			}
		}
		if found.Search != nil && len(found.Search.Left) > 0 {
			out.Unfinished = found.Search.Unfinished()
		}
		return out, nil
	})
}

// named returns a function that finds a statement by the name of its result, -1 if there is none.
func (v *view) named(p *ir.Program) func(name string) int {
	index := v.statementIndex()
	return func(name string) int {
		for _, f := range p.Funcs {
			if i := index(f.Name, name); i >= 0 {
				return i
			}
		}
		return -1
	}
}

func (v *view) adviceRow(p *ir.Program, a *report.Advice, named func(string) int, o compile.Options) adviceRow {
	x := adviceRow{Advice: *a, Checked: a.Checked(), Names: []string{}, Statements: []int{}}
	for _, s := range a.Statements {
		x.Names = append(x.Names, s.Name)
		if i := named(s.Name); i >= 0 {
			x.Statements = append(x.Statements, i)
		}
	}
	switch {
	case slices.ContainsFunc(a.Statements, func(s report.Place) bool { return s.Function != a.Function }):
		x.No = "it changes several functions"
	case a.Recipe != "":
		x.No = v.applicable(p, x.Recipe, x.Function, x.Names, o)
	case a.Place != "":
		x.No = "the page compiles with one placement; choose it where you compile"
	}
	return x
}

// applicable returns why a rewrite cannot be applied to the text, "" if it can.
func (v *view) applicable(p *ir.Program, recipe, fn string, names []string, o compile.Options) string {
	if v.model.Fixed {
		return errFixed.Error()
	}
	if _, err := explain.Patches(p, recipe, fn, names, o); err != nil {
		return err.Error()
	}
	return ""
}

func explainView(s *Server, v *view, r *http.Request) (any, error) {
	var q explainQuery
	if err := body(r, &q); err != nil {
		return nil, err
	}
	if q.Statement < 0 || q.Statement >= len(v.statements) {
		return nil, bad("statement is %d, want 0 to %d", q.Statement, len(v.statements)-1)
	}
	return s.advised(r, v, func(ctx context.Context, p *ir.Program, o compile.Options) (any, error) {
		st := &v.statements[q.Statement]
		o.Func = st.Func
		a, err := explain.Explain(ctx, p, explain.Place{Name: st.Name}, explain.Options{
			Compile: o, Rewrites: true, Seed: 1,
		})
		if place := (*explain.PlaceError)(nil); errors.As(err, &place) {
			return nil, &requestError{http.StatusUnprocessableEntity, err}
		} else if err != nil {
			return nil, err
		}
		out := &explainAnswer{Rewrites: []rewriteRow{}, Tried: a.Tried, NotSought: a.NotSought}
		if out.Tried == nil {
			out.Tried = []explain.Tried{}
		}
		o.Func = v.config.Func
		for _, w := range a.Rewrites {
			x := rewriteRow{Recipe: w.Name, Doc: w.Doc, Note: w.Note, Diff: w.Diff, Dispatches: w.Dispatches,
				CPUOps: w.CPUOps}
			c, err := v.rewrite(ctx, p, rewriteQuery{Recipe: w.Name, Func: st.Func, Names: []string{st.Name}}, o)
			switch {
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case err != nil:
				x.No = err.Error()
			default:
				x.Before, x.After, x.Dispatches, x.CPUOps = c.Before, c.After, c.Dispatches, c.CPUOps
			}
			out.Rewrites = append(out.Rewrites, x)
		}
		return out, nil
	})
}

func rewriteView(s *Server, v *view, r *http.Request) (any, error) {
	var q rewriteQuery
	if err := body(r, &q); err != nil {
		return nil, err
	}
	if len(q.Names) == 0 || len(q.Names) > maxNames {
		return nil, bad("names has %d elements, want 1 to %d", len(q.Names), maxNames)
	}
	return s.advised(r, v, func(ctx context.Context, p *ir.Program, o compile.Options) (any, error) {
		c, err := v.rewrite(ctx, p, q, o)
		if err != nil && ctx.Err() == nil {
			return nil, &requestError{http.StatusUnprocessableEntity, err}
		}
		return c, err
	})
}

// rewrite applies a rewrite to the text, and estimates what it takes.
func (v *view) rewrite(ctx context.Context, p *ir.Program, q rewriteQuery, o compile.Options) (*rewriteAnswer,
	error) {
	if v.model.Fixed {
		return nil, errFixed
	}
	patches, err := explain.Patches(p, q.Recipe, q.Func, q.Names, o)
	if err != nil {
		return nil, err
	}
	text := v.model.text
	if v.config.Text != nil {
		text = *v.config.Text
	}
	changed, err := patched(text, patches)
	if err != nil {
		return nil, err
	}
	m, err := v.model.open(&changed)
	if err != nil {
		return nil, fmt.Errorf("the changed text does not compile: %w", err)
	}
	defer m.Close()
	var after *compile.Report
	if err := compile.Compile(ctx, m.Program, o, compile.Sink{Estimate: compile.To(&after)}); err != nil {
		return nil, fmt.Errorf("the changed text does not compile: %w", err)
	}
	return &rewriteAnswer{
		Text: changed, Before: v.report.CallTime(), After: after.CallTime(),
		Dispatches: [2]int{v.report.Dispatches, after.Dispatches},
		CPUOps:     [2]int{v.report.CPUOps, after.CPUOps},
	}, nil
}

// patched replaces statements of a text. Each patch goes in the place of its statement, a line a statement, with the
// indentation of the old one.
func patched(text string, patches []explain.Patch) (string, error) {
	tree, list := mil.ParseString("text", text)
	if list.HasErrors() {
		return "", list.Err()
	}
	type edit struct {
		from, to int
		lines    []string
	}
	var edits []edit
	for i := range patches {
		x := &patches[i]
		f := tree.Func(x.Func)
		if f == nil {
			return "", fmt.Errorf("the text has no function %q", x.Func)
		}
		k := slices.IndexFunc(f.Body.Stmts, func(s *mil.Stmt) bool {
			return len(s.Results) == 1 && s.Results[0].Name == x.Name
		})
		if k < 0 {
			return "", fmt.Errorf("the text of function %q has no statement %q", x.Func, x.Name)
		}
		s := f.Body.Stmts[k]
		edits = append(edits, edit{int(s.Pos) - 1, int(s.End) - 1, x.Lines})
	}
	slices.SortFunc(edits, func(a, b edit) int { return a.from - b.from })
	var b strings.Builder
	at := 0
	for _, e := range edits {
		if e.from < at {
			return "", errors.New("two rewrites of one statement")
		}
		line := strings.LastIndexByte(text[:e.from], '\n') + 1
		indent := text[line:e.from]
		if strings.TrimSpace(indent) != "" {
			indent = " " // another statement is on the line
		}
		b.WriteString(text[at:e.from])
		b.WriteString(strings.Join(e.lines, "\n"+indent))
		at = e.to
	}
	b.WriteString(text[at:])
	return b.String(), nil
}
