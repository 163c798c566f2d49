package docs

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/cost"
	"github.com/zinc-compiler/zinc/report"
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
	head(w, "flag", "what it does", "commands")
	for _, b := range append(append([]report.Budget(nil), report.Budgets...), report.OutputError) {
		commands := "all three"
		if b.ID == report.MaxError {
			commands = "`zinc verify`"
		}
		row(w, "`--"+b.ID+"`", strings.ReplaceAll(b.Doc, "`", ""), commands)
	}
}
