package docs

import (
	"bytes"
	"fmt"
	"math"
	"slices"
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

// writeRates writes the fitted constants of each chip, with the number of points that determine each.
func writeRates(w *bytes.Buffer) {
	head(w, "chip", "target", "dispatch us", "in GB/s", "out GB/s", "DMA GB/s", "products TFLOP/s")
	for i := range cost.Chips {
		r := &cost.Chips[i]
		cell := func(v float64, rows int) string {
			if rows < 2 {
				return strconv.FormatFloat(v, 'g', 4, 64) + " (-)"
			}
			return fmt.Sprintf("%.4g (%d)", v, rows)
		}
		row(w, r.Chip, r.Target(), cell(r.Dispatch, r.Rows.Dispatch), cell(r.In/1e9, r.Rows.In),
			cell(r.Out/1e9, r.Rows.Out), cell(r.DMA/1e9, r.Rows.DMA), cell(r.Products/1e12, r.Rows.Products))
	}
}

// writeBands writes the factors of each chip's bands.
func writeBands(w *bytes.Buffer) {
	parts := []cost.Part{cost.PartDispatch, cost.PartWork, cost.PartAttention, cost.PartRMSNorm, cost.PartWeights}
	heads := []string{"chip"}
	for _, p := range parts {
		heads = append(heads, p.String())
	}
	head(w, heads...)
	for i := range cost.Chips {
		cells := []string{cost.Chips[i].Chip}
		for _, p := range parts {
			f := cost.Chips[i].Bands[p]
			cells = append(cells, fmt.Sprintf("%g to %g", f.Low, f.High))
		}
		row(w, cells...)
	}
}

// offBy returns how far an estimate is off.
func offBy(v, us float64) string { return fmt.Sprintf("%+.0f %%", 100*(v/us-1)) }

func writeErrors(w *bytes.Buffer) {
	head(w, "chip", "points", "fitted", "each point left out", "each family left out", "in the band")
	for i := range cost.Chips {
		r := &cost.Chips[i]
		var errs [3][]float64
		for _, p := range cost.Points {
			if p.Chip != r.Chip || p.Apart {
				continue
			}
			for k, v := range []float64{p.Estimate, p.Without, p.WithoutFamily} {
				errs[k] = append(errs[k], 100*math.Abs(v/p.US-1))
			}
		}
		cells := []string{r.Chip, strconv.Itoa(r.Points)}
		for _, es := range errs {
			slices.Sort(es)
			median := (es[(len(es)-1)/2] + es[len(es)/2]) / 2
			cells = append(cells, fmt.Sprintf("%.1f %%, %.1f %%", median, es[(9*len(es)+9)/10-1]))
		}
		row(w, append(cells, fmt.Sprintf("%d of %d", r.Held, r.Shown))...)
	}
}

func writePoints(w *bytes.Buffer) {
	head(w, "chip", "graph", "published us", "estimate", "band", "off by", "left out", "family left out", "")
	us := func(v float64) string {
		if v < 100 {
			return strconv.FormatFloat(v, 'f', 1, 64)
		}
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	for _, p := range cost.Points {
		note := ""
		switch {
		case p.Apart:
			note = "not fitted"
		case p.Derived:
			note = "from a rate"
		}
		row(w, p.Chip, "`"+p.Graph+"`", us(p.US), us(p.Estimate), us(p.Low)+" to "+us(p.High), offBy(p.Estimate, p.US),
			offBy(p.Without, p.US), offBy(p.WithoutFamily, p.US), note)
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
