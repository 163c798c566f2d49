package explain_test

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/explain"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/ir/irmodels"
	"github.com/zinc-compiler/zinc/reduce"
	"github.com/zinc-compiler/zinc/target"
)

// advised returns the report of a model and the advice for it.
func advised(t *testing.T, p *ir.Program, o compile.Options) (*compile.Report, []explain.Advice) {
	t.Helper()
	now, err := compile.Price(context.Background(), ir.CloneProgram(p), o)
	if err != nil {
		t.Fatal(err)
	}
	list, err := explain.Advise(context.Background(), p, now, explain.Options{Compile: o, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return now, list
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
			if k < 0 || !x.Rewrites[k].Whole {
				t.Fatalf("explain has no rewrite %s of %s", a.Recipe, s.Name)
			}
			changed = ir.CloneProgram(x.Rewrites[k].Program())
		}
		r, err := compile.Compile(context.Background(), changed, co)
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

// TestFirstAdviceOfWholeModels edits the text of each model as its first advice and the diffs of explain say, opens and
// compiles it, and compares what it saves with what the advice says, within 5 %.
func TestFirstAdviceOfWholeModels(t *testing.T) {
	want := map[string]string{"unet": "fold-rows", "yolo": "fp16"}
	for i := range irmodels.Models {
		m := &irmodels.Models[i]
		if testing.Short() && m.Name == "unet" {
			continue // its rewrites are run, which takes seconds
		}
		t.Run(m.Name, func(t *testing.T) {
			o := compile.Options{Target: target.H13, Precision: "declared", Place: "auto", SplitKernel: true}
			dir := t.TempDir()
			if _, err := reduce.Write(t.Context(), m.Program(), dir); err != nil {
				t.Fatal(err)
			}
			before, list := advised(t, reopened(t, dir).Program, o)
			if len(list) == 0 {
				t.Fatal("no advice")
			}
			a := &list[0]
			if got := a.Recipe + a.Precision; got != want[m.Name] {
				t.Errorf("the first advice is %s, want %s", got, want[m.Name])
			}
			if a.Precision != "" {
				o.Precision = a.Precision
			} else {
				for _, s := range a.Statements {
					editText(t, dir, s.Name, a.Recipe, o)
				}
			}
			r, err := compile.Compile(t.Context(), reopened(t, dir).Program, o)
			if err != nil {
				t.Fatal(err)
			}
			saved := before.CallTime() - r.Report.CallTime()
			if d := saved - a.Saves(); a.Saves() <= 0 || max(d, -d)*20 > a.Saves() {
				t.Errorf("the edited model saves %s us, the advice says %s", saved, a.Saves())
			}
		})
	}
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

// editText edits the text of the model in a folder as the diff of a statement's rewrite says.
func editText(t *testing.T, dir, statement, recipe string, o compile.Options) {
	t.Helper()
	x, err := explain.Explain(t.Context(), reopened(t, dir).Program, explain.Place{Name: statement},
		explain.Options{Compile: o, Rewrites: true, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	k := slices.IndexFunc(x.Rewrites, func(r *explain.Rewrite) bool { return r.Name == recipe })
	if k < 0 {
		t.Fatalf("explain has no rewrite %s of %s", recipe, statement)
	}
	var old, replacement []string
	for _, line := range x.Rewrites[k].Diff {
		if s, ok := strings.CutPrefix(line, "- "); ok {
			old = append(old, s)
		} else if s, ok := strings.CutPrefix(line, "+ "); ok {
			replacement = append(replacement, s)
		}
	}
	path, _ := reduce.Files(dir)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(old) != 1 || strings.Count(string(text), old[0]) != 1 {
		t.Fatalf("the text does not have exactly one statement %q", old)
	}
	edited := strings.Replace(string(text), old[0], strings.Join(replacement, "\n"), 1)
	if err := os.WriteFile(path, []byte(edited), 0o666); err != nil {
		t.Fatal(err)
	}
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
