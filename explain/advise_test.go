package explain_test

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/explain"
	"github.com/zinc-compiler/zinc/ir"
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
		if a.Before != now.Total() || 100*a.Saves() < a.Before {
			t.Errorf("%s: %s to %s us, the model takes %s", names[i], a.Before, a.After, now.Total())
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
		if got := r.Report.Total(); got != a.After {
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
