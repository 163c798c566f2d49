package docs

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/cost"
	"github.com/zinc-compiler/zinc/report"
	"github.com/zinc-compiler/zinc/runtime/sim/e5rt"
	"github.com/zinc-compiler/zinc/target"
)

func writeCosts(w *bytes.Buffer) {
	head(w, "constant", "value", "unit", "source", "known")
	for _, c := range cost.Constants(target.H13) {
		known := "published"
		if c.Modelled {
			known = "modelled"
		}
		row(w, c.Name, strconv.FormatFloat(c.Value, 'g', 5, 64), c.Unit, c.Source, known)
	}
}

func writeComparisons(w *bytes.Buffer) {
	head(w, "compared with", "result")
	for _, c := range cost.Comparisons {
		row(w, c.With, c.Result)
	}
}

func writeBudgets(w *bytes.Buffer) {
	head(w, "flag", "what it does", "asks for")
	for _, b := range report.Budgets {
		asks := "placement"
		switch {
		case b.Runs:
			asks = "a run on the simulator and the interpreter"
		case b.Tasks:
			asks = "a compilation"
		}
		row(w, "`--"+b.ID+"`", strings.ReplaceAll(b.Doc, "`", ""), asks)
	}
}

// TestStagesAgree: the estimate and the modelled stack spend the same on a
// dispatch, stage by stage.
func TestStagesAgree(t *testing.T) {
	stages := cost.Stages(target.H13)
	if len(stages) != len(e5rt.Latency)+1 {
		t.Fatalf("%d stages and the rest, the runtime has %d", len(stages)-1, len(e5rt.Latency))
	}
	for i, s := range e5rt.Latency {
		if time.Duration(stages[i].Time) != s.Cost {
			t.Errorf("%s: %s us, the runtime spends %v", stages[i].Name, stages[i].Time, s.Cost)
		}
	}
}
