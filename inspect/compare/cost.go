package compare

import (
	"bufio"
	"cmp"
	"fmt"
	"math"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
)

// Figure is one figure of what a call takes, on both sides.
type Figure struct {
	Name string  `json:"name"`           // name of the figure
	Unit string  `json:"unit,omitempty"` // unit of a and b
	A    float64 `json:"a"`              // figure of the first side
	B    float64 `json:"b"`              // figure of the second side
	// The bands of a and b, if they are times of a call.
	ABand *cost.Band `json:"a_band,omitempty"` // times that a's known error allows
	BBand *cost.Band `json:"b_band,omitempty"` // times that b's known error allows
}

// figures compares what a call of every function takes, by the model of package cost; nil if a side has no estimate.
func figures(a, b *Side) []Figure {
	if needsEstimate(a) != "" || needsEstimate(b) != "" {
		return nil
	}
	x, y := a.report, b.report
	us := func(t cost.Time) float64 { return float64(t) / float64(cost.Microsecond) }
	var out []Figure
	add := func(name, unit string, a, b float64) { out = append(out, Figure{Name: name, Unit: unit, A: a, B: b}) }
	add("time of a call", "us", us(x.CallTime()), us(y.CallTime()))
	out[0].ABand, out[0].BBand = x.Band, y.Band
	add("time of the CPU", "us", us(x.CPU), us(y.CPU))
	add("cycles of the engine", "", float64(x.Estimate.Cycles), float64(y.Estimate.Cycles))
	add("DMA", "bytes", float64(x.Estimate.DMABytes), float64(y.Estimate.DMABytes))
	add("constants", "bytes", float64(x.Weights), float64(y.Weights))
	add("dispatches", "", float64(x.Dispatches), float64(y.Dispatches))
	add("tasks", "", float64(x.Tasks), float64(y.Tasks))
	return out
}

// change is the figure of side B relative to side A's.
func (f *Figure) change() string {
	switch {
	case f.A == f.B:
		return "="
	case f.A == 0:
		return "new"
	}
	change := 100 * (f.B - f.A) / f.A
	if math.Abs(change) >= 1000 {
		return fmt.Sprintf("%+.0f %%", change)
	}
	return fmt.Sprintf("%+.3g %%", change)
}

// sides are the two sides of the figure.
func (f *Figure) sides() (a, b string) { return f.number(f.A, f.ABand), f.number(f.B, f.BBand) }

func (f *Figure) number(v float64, band *cost.Band) string {
	switch f.Unit {
	case "us":
		return band.Within(cost.Micros(v))
	case "":
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.0f %s", v, f.Unit)
}

// String is the figure in one line.
func (f *Figure) String() string {
	a, b := f.sides()
	return fmt.Sprintf("%s: %s -> %s (%s)", f.Name, a, b, f.change())
}

// CostLines says which figures differ, a line each; nil if nothing was estimated.
func (r *Result) CostLines() (out []string) {
	for i := range r.Cost {
		if f := &r.Cost[i]; f.A != f.B {
			out = append(out, f.String())
		}
	}
	if len(r.Cost) > 0 && out == nil {
		out = []string{"the same"}
	}
	return out
}

// costText writes the figures that differ.
func (r *Result) costText(b *bufio.Writer) {
	for _, l := range r.CostLines() {
		fmt.Fprintf(b, "cost: %s\n", l)
	}
}

// cost compares the estimated time of each operation.
func (p *pairing) cost() ([]*Change, error) {
	list := func(r *compile.Report, now naming) []record {
		return opRecords(r, now, func(x *record, o *compile.OpReport, _ string) {
			t := o.CPU
			if o.Estimate != nil {
				t = o.Estimate.Time
			}
			x.put("time", t.String()+" us")
		})
	}
	var out []*Change
	for _, c := range records(Cost, list(p.a.report, p.now), list(p.b.report, unchanged)) {
		if c.Kind == Changed { // others are at level Placement
			out = append(out, c)
		}
	}
	return out, nil
}

// needsEstimate returns why a side has no estimates, "" if it has.
func needsEstimate(s *Side) string {
	if why := needsReport(s); why != "" {
		return why
	}
	if s.report.Estimate == nil {
		return cmp.Or(s.noPair, "the report has no estimate")
	}
	return ""
}
