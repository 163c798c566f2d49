package docs

import (
	"bytes"
	"os"
	"testing"

	"github.com/zinc-compiler/zinc/analysis/lint"
	"github.com/zinc-compiler/zinc/cmd/zinc/opref"
	"github.com/zinc-compiler/zinc/inspect/explain"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// TestGeneratedOperations compares ops.md with the operation registry.
func TestGeneratedOperations(t *testing.T) {
	h13 := []*target.Table{target.H13}
	rows, err := opref.Rows(h13)
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := opref.Markdown(&want, h13, rows); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("ops.md")
	if err == nil && bytes.Equal(got, want.Bytes()) {
		return
	}
	if !*update {
		t.Fatalf("ops.md is not current (%v); go generate ./docs writes it again", err)
	}
	if err := os.WriteFile("ops.md", want.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestOperationsHaveEveryFacet follows "Adding an operation" for each row of the
// registry: a kernel, and on the engine a rule, a bound, a range for lint and no advice
// against it.
func TestOperationsHaveEveryFacet(t *testing.T) {
	for _, o := range ir.Operations {
		if !interp.Supports(o) {
			t.Errorf("%s has no kernel in the interpreter", o.Name)
		}
		rule, refused := lower.Explain(o, target.H13)
		decomposed := passes.DecompositionsOf(o)
		if refused != nil && decomposed == nil {
			if _, rewritten := passes.RewrittenOps[o]; refused.Reason == "" && !rewritten {
				t.Errorf("%s is refused without a reason", o.Name)
			}
			continue
		}
		if rule != nil && refused == nil && rule.Doc == "" || o.Doc == "" {
			t.Errorf("operation %s or its rule is not documented", o.Name)
		}
		for _, c := range decomposed {
			if c.Name == "" || c.Doc == "" {
				t.Errorf("a decomposition of %s has no name or is not documented", o.Name)
			}
		}
		if o.Error == numerics.Unstated {
			t.Errorf("%s runs on the engine and its row states no error", o.Name)
		}
		if !lint.Modelled(o) {
			t.Errorf("%s runs on the engine and lint has no range for it", o.Name)
		}
		if o.Instead != "" {
			t.Errorf("%s runs on the engine and its row names operations to use instead", o.Name)
		}
		for i := range explain.Recipes {
			if r := &explain.Recipes[i]; r.For(target.RuleNoLowering, o) {
				t.Errorf("%s runs on the engine and the recipe %s replaces it", o.Name, r.Name)
			}
		}
	}
}
