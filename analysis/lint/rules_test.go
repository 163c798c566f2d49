package lint

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/analysis/lint/witness"
	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// parseRanges reads NAME=LO:HI words.
func parseRanges(t *testing.T, words []string) map[string]Interval {
	t.Helper()
	m := map[string]Interval{}
	for _, w := range words {
		n, r, ok := strings.Cut(w, "=")
		a, b, ok2 := strings.Cut(r, ":")
		lo, err1 := strconv.ParseFloat(a, 64)
		hi, err2 := strconv.ParseFloat(b, 64)
		if !ok || !ok2 || err1 != nil || err2 != nil {
			t.Fatalf("range %q", w)
		}
		m[n] = interval.Span(lo, hi)
	}
	return m
}

var options = compile.Options{Target: target.H13, SplitKernel: true, Workers: 1}

// openText opens a text.
func openText(t *testing.T, text []byte) *frontend.Model {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.mil")
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := frontend.Open(path, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// lintText lints a text.
func lintText(t *testing.T, text []byte, ranges map[string]Interval) *Report {
	t.Helper()
	m := openText(t, text)
	r, err := Run(context.Background(), m.Program, Options{
		Compile: options,
		Ranges:  ranges,
		Workers: 1,
		Source:  m.Source,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// same compares two numbers, NaN with NaN.
func same(a, b float64) bool { return a == b || a != a && b != b }

// rerun compiles the text again, runs the finding's inputs on the written pair and in the interpreter, and compares
// both with the finding's numbers.
func rerun(t *testing.T, text []byte, f *Finding, ranges map[string]Interval) {
	t.Helper()
	ctx := context.Background()
	src, err := openText(t, text).Program.Entry("")
	if err != nil {
		t.Fatal(err)
	}
	for n, x := range f.Inputs {
		for i, v := range x.Const().Floats() {
			if !ranges[n].Has(v) {
				t.Errorf("input %s: element %d is %g, outside %v", n, i, v, ranges[n])
			}
		}
	}
	want, err := interp.Run(ctx, src, f.Inputs, interp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := compile.All(ctx, openText(t, text).Program, options)
	if err != nil {
		t.Fatal(err)
	}
	m, err := verify.Open(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Run(ctx, f.Inputs, sim.Options{Numerics: numerics.ANE})
	if err != nil {
		t.Fatal(err)
	}
	if f.Evidence.By == witness.ByANE {
		if got, err = interp.Run(ctx, r.Reference, f.Inputs, interp.Options{Numerics: numerics.ANE}); err != nil {
			t.Fatal(err)
		}
	}
	e := f.Evidence
	g, w := got[e.Output].Const().Floats()[e.Index], want[e.Output].Const().Floats()[e.Index]
	if !same(g, float64(e.Engine)) || !same(w, float64(e.Interpreter)) {
		t.Errorf("run again: engine %g, interpreter %g; the finding has %+v", g, w, *e)
	}
	exact := float64(e.Exact)
	switch d := max(g-exact, exact-g); {
	case g-g != 0 && !same(g, exact): // infinite where the exact number is not
	case g == 0 && (exact != 0): // or 0
	case d > max(exact, -exact)/16:
	default:
		t.Errorf("no hazard: engine %g, exact %g", g, exact)
	}
}

// TestEveryRuleIsFoundAndAvoided has two models for each rule: one in which it is found and shown, and a rewritten one
// in which it is not found.
func TestEveryRuleIsFoundAndAvoided(t *testing.T) {
	for _, rule := range Rules {
		t.Run(rule.Name, func(t *testing.T) {
			a, err := txtar.ParseFile(filepath.Join("testdata", "rules", rule.Name+".txtar"))
			if err != nil {
				t.Fatal(err)
			}
			words := map[string][]string{}
			for l := range strings.Lines(string(a.Comment)) {
				if f := strings.Fields(l); len(f) > 0 {
					words[f[0]] = f[1:]
				}
			}
			r := lintText(t, a.Files[0].Data, parseRanges(t, words["ranges"]))
			found := false
			for _, f := range r.Functions[0].Findings {
				t.Logf("%s %s %s:%d:%d %q interval %v limit %s; %s; %s; note %s; evidence %+v local %+v", f.Rule,
					f.State, f.Statement, f.Line, f.Col, f.Source, f.Interval, f.Limit, f.Detail, f.How, f.Note,
					f.Evidence, f.Local)
				if f.Rule != rule.Name {
					continue
				}
				found = true
				if f.State != Shown {
					t.Errorf("not shown: %s", f.Note)
					continue
				}
				if f.Evidence.By != rule.By {
					t.Errorf("shown by %s, the rule states %s", f.Evidence.By, rule.By)
				}
				if f.Line == 0 || f.Source == "" || f.Why == "" || f.Instead == "" || f.Limit == "" || f.Local == nil {
					t.Errorf("the finding lacks its place or a text: %+v", f)
				}
				rerun(t, a.Files[0].Data, f, parseRanges(t, words["ranges"]))
			}
			if !found {
				t.Error("not found")
			}
			r = lintText(t, a.Files[1].Data, parseRanges(t, words["rewritten"]))
			for _, f := range r.Functions[0].Findings {
				t.Logf("rewritten: %s %s %s interval %v; %s; note %s", f.Rule, f.State, f.Statement, f.Interval, f.How,
					f.Note)
				if f.Rule == rule.Name {
					t.Errorf("the rewritten model has it: %s", f.Detail)
				}
			}
		})
	}
}
