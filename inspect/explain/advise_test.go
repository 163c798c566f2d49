package explain_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/inspect/explain"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/internal/test/irmodels"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
	"github.com/zinc-compiler/zinc/transform/reduce"
)

// advised returns the report of a model and the advice for it.
func advised(t *testing.T, p *ir.Program, o compile.Options) (*compile.Report, []explain.Advice) {
	t.Helper()
	var now *compile.Report
	to := compile.Sink{Estimate: compile.To(&now)}
	if err := compile.Compile(context.Background(), ir.CloneProgram(p), o, to); err != nil {
		t.Fatal(err)
	}
	list, err := explain.Advise(context.Background(), p, now, explain.Options{Compile: o, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return now, list.Advice
}

func printed(t *testing.T, p *ir.Program) string {
	t.Helper()
	var b bytes.Buffer
	if err := ir.Print(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestAdviceSavesWhatItSays applies each piece of advice by other means than Advise does, and compares the estimates.
func TestAdviceSavesWhatItSays(t *testing.T) {
	m := open(t, "products.mil")
	o := compile.Options{Target: target.H13, Precision: "declared", Place: "auto", SplitKernel: true}
	text := printed(t, m.Program)
	now, list := advised(t, m.Program, o)
	if got := printed(t, m.Program); got != text {
		t.Error("the search changed the program")
	}
	var names []string
	for i := range list {
		a := &list[i]
		names = append(names, a.Recipe+a.Precision)
		if a.Before != now.CallTime() || 100*a.Saves() < a.Before {
			t.Errorf("%s: %s to %s us, the model takes %s", names[i], a.Before, a.After, now.CallTime())
		}
		if i > 0 && a.Saves() > list[i-1].Saves() {
			t.Errorf("%s saves more than what is listed before it", names[i])
		}
		changed, co := ir.CloneProgram(m.Program), o
		if a.Precision != "" {
			co.Precision = a.Precision
		}
		// A rewrite of a statement is a program with that statement changed: apply it to one after the other.
		for _, s := range a.Statements {
			if a.Recipe == "" {
				break
			}
			x, err := explain.Explain(context.Background(), changed, explain.Place{Name: s.Name}, explain.Options{
				Compile: o, Rewrites: true, Seed: 1,
			})
			if err != nil {
				t.Fatal(err)
			}
			k := slices.IndexFunc(x.Rewrites, func(r *explain.Rewrite) bool { return r.Name == a.Recipe })
			if k < 0 {
				t.Fatalf("explain has no rewrite %s of %s", a.Recipe, s.Name)
			}
			changed = ir.CloneProgram(x.Rewrites[k].Program())
		}
		r, err := compile.All(context.Background(), changed, co)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Report.CallTime(); got != a.After {
			t.Errorf("%s: the changed model takes %s us, the advice said %s", names[i], got, a.After)
		}
		if got := [2]int{now.Dispatches, r.Report.Dispatches}; got != a.Dispatches {
			t.Errorf("%s: dispatches are %v, the advice said %v", names[i], got, a.Dispatches)
		}
	}
	if want := []string{"fp16", "compute-in-fp16"}; !slices.Equal(names, want) {
		t.Errorf("the advice is %v, want %v", names, want)
	}
}

// TestRunsOfRewritesReportProgress checks that each run of a rewrite reports its first and its last step.
func TestRunsOfRewritesReportProgress(t *testing.T) {
	first, last := map[string]bool{}, map[string]bool{}
	_, err := explain.Explain(t.Context(), open(t, "wide.mil").Program, explain.Place{Name: "y"}, explain.Options{
		Compile: compile.Options{Target: target.H13, SplitKernel: true, Progress: func(stage string, done, total int) {
			first[stage] = first[stage] || done <= 1
			last[stage] = last[stage] || done == total
		}},
		Rewrites: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, stage := range []string{"lower", "simulated run", "reference run", "run of the original",
		"run of the rewrite"} {
		if !first[stage] || !last[stage] {
			t.Errorf("%s: first step %t, last step %t", stage, first[stage], last[stage])
		}
	}
}

// TestAdviceHoldsWhenFollowed writes each model as each piece of its advice says, opens and compiles it, and compares
// the time of a call with what the advice says: for models of the structure of published ones, and for models of the
// shared folder; the short form takes some.
func TestAdviceHoldsWhenFollowed(t *testing.T) {
	want := map[string]string{"unet": "fold-rows", "yolo": "compute-in-fp16"}
	for i := range irmodels.Models {
		m := &irmodels.Models[i]
		t.Run(m.Name, func(t *testing.T) {
			dir := t.TempDir()
			if _, err := reduce.Write(t.Context(), m.Program(), dir); err != nil {
				t.Fatal(err)
			}
			list := follow(t, dir)
			if !slices.ContainsFunc(list, func(a explain.Advice) bool { return nameOf(&a) == want[m.Name] }) {
				t.Errorf("%s is not advised", want[m.Name])
			}
		})
	}
	shared := shareddir.Find(t)
	for _, path := range sharedModels(t, shared) {
		name, _ := filepath.Rel(shared, path)
		t.Run(name, func(t *testing.T) {
			if best := bestAdvice[name]; best != "" || !testing.Short() {
				list := follow(t, path)
				if best != "" && !slices.ContainsFunc(list, func(a explain.Advice) bool { return nameOf(&a) == best }) {
					t.Errorf("%s is not advised", best)
				}
			}
		})
	}
}

// bestAdvice is what a person finds for models of the shared folder; the short form follows only the advice for these.
var bestAdvice = map[string]string{
	"cases/attention-original.mil":               "attention-in-channels",
	"converted/att-orig256.mlpackage":            "attention-in-channels",
	"converted/llm-s16.mlpackage":                "group-queries",
	"corpus/yolov8n-face-relu6":                  "convolve-parts",
	"cases/placement-auto-worse-than-engine.mil": "group-queries",
}

// sharedModels lists the models of the shared folder.
func sharedModels(t *testing.T, shared string) (out []string) {
	t.Helper()
	for _, pattern := range []string{"corpus/*", "converted/*.mlpackage", "cases/*.mil"} {
		list, err := filepath.Glob(filepath.Join(shared, pattern))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, slices.DeleteFunc(list, func(p string) bool { return strings.HasSuffix(p, ".tsv") })...)
	}
	return out
}

// follow follows each piece of the advice for a model, and returns it.
func follow(t *testing.T, path string) []explain.Advice {
	t.Helper()
	o := compile.Options{Target: target.H13, Precision: "declared", Place: "auto", SplitKernel: true}
	m, err := frontend.Open(path, frontend.Options{AssumeWeights: true})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var now *compile.Report
	err = compile.Compile(t.Context(), ir.CloneProgram(m.Program), o, compile.Sink{Estimate: compile.To(&now)})
	if errors.Is(err, ir.ErrExtent) {
		t.Skip(err) // a value grows beyond the limit of a shape
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := explain.Advise(t.Context(), m.Program, now, explain.Options{Compile: o, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Advice {
		a := &s.Advice[i]
		changed, co := m.Program, o
		co.Precision, co.Place = cmp.Or(a.Precision, o.Precision), cmp.Or(a.Place, o.Place)
		if p := a.Program(); p != nil {
			dir := t.TempDir()
			if _, err := reduce.Write(t.Context(), p, dir); err != nil {
				t.Fatal(err)
			}
			changed = reopened(t, dir).Program
		}
		var after *compile.Report
		to := compile.Sink{Estimate: compile.To(&after)}
		if err := compile.Compile(t.Context(), ir.CloneProgram(changed), co, to); err != nil {
			t.Fatalf("%s: %v", nameOf(a), err)
		}
		t.Logf("%s: %s us, promised %s, followed %s", nameOf(a), a.Before, a.After, after.CallTime())
		saved := a.Before - after.CallTime()
		if d := saved - a.Saves(); max(d, -d)*20 > a.Saves() {
			t.Errorf("%s saves %s us, the advice says %s", nameOf(a), saved, a.Saves())
		}
	}
	return s.Advice
}

// reopened opens the model in a folder again.
func reopened(t *testing.T, dir string) *frontend.Model {
	t.Helper()
	m, err := frontend.Open(dir, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestAdviceLeavesOutWhatSavesNothing has rewrites that are valid, of operations that take no time.
func TestAdviceLeavesOutWhatSavesNothing(t *testing.T) {
	for _, file := range []string{"kernel.mil", "fp32.mil"} {
		m := open(t, file)
		_, list := advised(t, m.Program, compile.Options{Target: target.H13, Place: "auto", SplitKernel: true})
		if len(list) > 0 {
			t.Errorf("%s: advice is %+v, want none", file, list)
		}
	}
}

// TestAdviseStopsWhereTheWorkEnds checks that less work gives less advice, that what is left is named, and that the
// work that was done is within the bound and the same each time.
func TestAdviseStopsWhereTheWorkEnds(t *testing.T) {
	m := open(t, "products.mil")
	o := compile.Options{Target: target.H13, Precision: "declared", Place: "auto", SplitKernel: true}
	var now *compile.Report
	to := compile.Sink{Estimate: compile.To(&now)}
	if err := compile.Compile(t.Context(), ir.CloneProgram(m.Program), o, to); err != nil {
		t.Fatal(err)
	}
	search := func(work int64) *explain.Search {
		s, err := explain.Advise(t.Context(), m.Program, now, explain.Options{Compile: o, Seed: 1, Work: work})
		if err != nil {
			t.Fatal(err)
		}
		if s.Work > cmp.Or(work, explain.DefaultWork) {
			t.Errorf("work is %d, want at most %d", s.Work, work)
		}
		return s
	}
	all, again, none := search(0), search(0), search(1)
	if all.Work != again.Work || len(all.Advice) == 0 || len(all.Left) > 0 {
		t.Errorf("work %d and %d, left %v", all.Work, again.Work, all.Left)
	}
	if len(none.Advice) > 0 || len(none.Left) == 0 {
		t.Errorf("without work: %d pieces of advice, left %v", len(none.Advice), none.Left)
	}
}

// nameOf is the recipe of an advice, or the option of the compiler with its value.
func nameOf(a *explain.Advice) string { return cmp.Or(a.Recipe, a.Precision, a.Place) }
