package docs

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/inspect/report"
	"github.com/zinc-compiler/zinc/target"
)

func writeCosts(w *bytes.Buffer) {
	head(w, "constant", "value", "unit", "source", "known")
	for _, c := range cost.Constants(target.H13) {
		row(w, c.Name, strconv.FormatFloat(c.Value, 'g', 5, 64), c.Unit, c.Source, string(c.Known))
	}
}

func writeComparisons(w *bytes.Buffer) {
	head(w, "compared with", "result")
	for _, c := range cost.Comparisons {
		row(w, c.With, c.Result)
	}
}

func writeMeasured(w *bytes.Buffer) {
	head(w, "graph", "measured us", "estimate", "off by", "published form", "off by", "part")
	us := func(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }
	off := func(v, m float64) string { return fmt.Sprintf("%+.0f %%", 100*(v/m-1)) }
	for _, m := range cost.MeasuredGraphs {
		part := "held out"
		if m.Fitted {
			part = "fitted"
		}
		row(w, m.Name, us(m.US), us(m.Estimate), off(m.Estimate, m.US), us(m.Published), off(m.Published, m.US), part)
	}
	for _, p := range []struct {
		name   string
		fitted bool
	}{{"fitted", true}, {"held out", false}} {
		cell := func(s cost.Spread) string {
			return fmt.Sprintf("median %.0f %%, 90 %% of graphs within %.0f %%", 100*(s.Median-1), 100*(s.P90-1))
		}
		own, form := cost.MeasuredSpread(p.fitted, false), cost.MeasuredSpread(p.fitted, true)
		row(w, fmt.Sprintf("all %d %s", own.Count, p.name), "", "", cell(own), "", cell(form), p.name)
	}
}

func writeFamilies(w *bytes.Buffer) {
	head(w, "family", "tasks", "estimate by header, median", "off by a factor of, median",
		"off by a factor of, 90 % within")
	f := func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }
	for _, x := range cost.Families {
		row(w, x.Name, strconv.Itoa(x.Count), f(x.Ratio), f(x.Median), f(x.P90))
	}
}

func writeBudgets(w *bytes.Buffer) {
	head(w, "flag", "what it does", "requires")
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

func writeReportFormats(w *bytes.Buffer) {
	head(w, "format", "contents")
	for _, f := range report.Formats {
		row(w, "`"+f.Name+"`", f.Contents)
	}
}
