package opref

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

var h13 = []*target.Table{target.H13}

// TestRowsMatchTheirTables compares rows with the tables from which they come.
func TestRowsMatchTheirTables(t *testing.T) {
	rows, err := Rows(target.All)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(ir.Names()) {
		t.Errorf("%d rows of %d operations", len(rows), len(ir.Names()))
	}
	lowered := map[string]bool{}
	for _, r := range lower.Rules {
		for _, o := range r.Ops {
			lowered[o.Name] = true
		}
	}
	for i := range passes.Decompositions {
		for _, o := range passes.Decompositions[i].Ops {
			lowered[o.Name] = true
		}
	}
	for _, r := range rows {
		if len(r.Forms) == 0 || len(r.Placement) != len(target.All) {
			t.Errorf("%s has %d forms, %d placements", r.Name, len(r.Forms), len(r.Placement))
		}
		_, rewritten := passes.RewrittenOps[ir.Named(r.Name)]
		if !r.Interpreted {
			t.Errorf("%s has no kernel", r.Name)
		}
		for _, p := range r.Placement {
			switch {
			case p.Target == "h13" && (p.Unit == "engine") != lowered[r.Name] && !rewritten:
				t.Errorf("%s on h13: %+v", r.Name, p)
			case p.Unit == "cpu" && (p.Reason == "" || p.Rule == ""), p.Unit == "engine" &&
				(p.Rule == "" || p.How == ""):
				t.Errorf("%s on %s: %+v", r.Name, p.Target, p)
			}
		}
	}
}

// TestRowsAboutPassesMatchThePasses compares the rows about passes with the passes.
func TestRowsAboutPassesMatchThePasses(t *testing.T) {
	for o, s := range passes.RewrittenOps {
		if !passes.Known(s.Pass) || s.Doc == "" {
			t.Errorf("%s: %+v", o.Name, s)
		}
	}
}

func TestUnknownOperationsAreRefused(t *testing.T) {
	if _, err := Rows(h13, "convv"); err == nil || !strings.Contains(err.Error(), "did you mean conv?") {
		t.Errorf("convv: %v", err)
	}
}

// TestFormsFollowTheOperationSets compares one operation's forms with the definitions of the operation sets.
func TestFormsFollowTheOperationSets(t *testing.T) {
	rows, err := Rows(h13, "conv", "reduce_argmax", "pad", "sin")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Text(&b, h13, rows, true); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"  ios15: Convolution", "  ios17: Convolution", `pad_type="valid"`, "groups=1", "bias?",
		`output_dtype="int32"`, "kernels up to 13 wide and 29 high",
		"h13:\n    engine, decomposed by first-of-equal",
		"hardware-cannot: the engine has sin from family A15 on; h13 is A13",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := JSON(&b, h13, rows); err != nil {
		t.Fatal(err)
	}
	var d Document
	if err := json.Unmarshal(b.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Operations) != 4 || d.Operations[1].Placement[0].Family != "A15" ||
		d.Operations[1].Placement[0].Native != "native" || d.Natives[0].Native.Operations != 3 ||
		d.Targets[0].Limits == nil {
		t.Errorf("%+v", d)
	}
}
