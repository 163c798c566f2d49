package lint

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
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
		m[n] = span(lo, hi)
	}
	return m
}

// lintText lints a text.
func lintText(t *testing.T, text []byte, ranges map[string]Interval) *Report {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.mil")
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := frontend.Open(path, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	r, err := Run(context.Background(), m.Program, Options{
		Compile: compile.Options{Target: target.H13, SplitKernel: true, Workers: 1}, Ranges: ranges, Workers: 1, Source: m.Source,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRules: for each rule a model in which it is found and shown, and a
// rewritten one in which it is not found.
func TestRules(t *testing.T) {
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
				t.Logf("%s %s %s:%d:%d %q interval %v limit %s; %s; %s; note %s; evidence %+v local %+v", f.Rule, f.State, f.Statement, f.Line, f.Col, f.Source, f.Interval, f.Limit, f.Detail, f.How, f.Note, f.Evidence, f.Local)
				if f.Rule != rule.Name {
					continue
				}
				found = true
				if f.State != Shown {
					t.Errorf("not shown: %s", f.Note)
				}
			}
			if !found {
				t.Error("not found")
			}
			r = lintText(t, a.Files[1].Data, parseRanges(t, words["rewritten"]))
			for _, f := range r.Functions[0].Findings {
				t.Logf("rewritten: %s %s %s interval %v; %s; note %s", f.Rule, f.State, f.Statement, f.Interval, f.How, f.Note)
				if f.Rule == rule.Name {
					t.Errorf("the rewritten model has it: %s", f.Detail)
				}
			}
		})
	}
}
