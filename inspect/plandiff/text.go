package plandiff

import (
	"bytes"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/zinc-compiler/zinc/internal/diag"
)

// shownRows is the length of the list of differences.
const shownRows = 20

// WriteText writes the answer first, then the operations that differ, the heaviest first, and the estimates. all lists
// every difference, every group of estimates and every joined operation.
func (r *Result) WriteText(w io.Writer, all bool) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s, function %s, beside %s (%s)\n", r.Model, r.Function, r.Plan, r.source())
	if r.Summary != nil {
		r.Summary.text(&b)
		r.noteText(&b)
		_, err := w.Write(b.Bytes())
		return err
	}
	r.answer(&b)
	r.noteText(&b)
	if err := r.differenceText(&b, all); err != nil {
		return err
	}
	if err := r.estimateText(&b, all); err != nil {
		return err
	}
	if all {
		if err := r.rowText(&b); err != nil {
			return err
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// source describes the dump and the forecast.
func (r *Result) source() string {
	s := r.Form
	for _, part := range []string{r.Chip, r.System} {
		if part != "" {
			s += ", " + part
		}
	}
	if r.PlanUnits != "" {
		s += ", units " + r.PlanUnits
	}
	return s + "; forecast: rules " + r.Rules + ", units " + r.Units
}

// answer writes how much agrees, and what was joined.
func (r *Result) answer(b *bytes.Buffer) {
	fmt.Fprintf(b, "same device: %d of %d operations%s", r.Agree, r.Compared, percent(r.Agree, r.Compared))
	if r.AgreeWeight != nil {
		fmt.Fprintf(b, "; by the dump's weights %.4g %%", 100**r.AgreeWeight)
	}
	if r.Ties > 0 {
		fmt.Fprintf(b, "; %s of equal cost on both devices", diag.Count(r.Ties, "operation is", "operations are"))
	}
	fmt.Fprintf(b, "\non the engine: %d in the dump, %d in the forecast\n", r.Engine.Plan, r.Engine.Forecast)
	fmt.Fprintf(b, "joined: %s of the dump's %d; only in the dump: %d, and %d that Core ML put in; ",
		diag.Count(r.Joined, "operation", "operations"), r.Operations, r.OnlyInPlan, r.Inserted)
	fmt.Fprintf(b, "only in the model: %d\n", r.OnlyInModel)
	for _, x := range []struct {
		n    int
		what string
	}{{r.GPU, "on the GPU"}, {r.NoDevice, "without a device"}, {r.Elsewhere, "in other functions"}} {
		if x.n > 0 {
			fmt.Fprintf(b, "not compared: %d %s\n", x.n, x.what)
		}
	}
	if w := r.Weights; w != nil {
		fmt.Fprintf(b, "weights, as ratios: %d of %d within 1 %%, %d within 10 %%", w.Within1, w.Count, w.Within10)
		if w.Name != "" {
			fmt.Fprintf(b, "; the worst %.4g (%s)", w.Worst, w.Name)
		}
		fmt.Fprintln(b)
	}
}

// percent returns ", 98.2 %", or "" of nothing.
func percent(n, of int) string {
	if of == 0 {
		return ""
	}
	return fmt.Sprintf(", %.4g %%", 100*float64(n)/float64(of))
}

func (r *Result) noteText(b *bytes.Buffer) {
	for _, n := range r.Notes {
		fmt.Fprintf(b, "note: %s\n", n)
	}
}

// classText says what a class of differences means.
var classText = map[string]string{
	ForecastCannot: "the engine can run it, which the forecast denies",
	PlanCannot:     "the engine cannot run it, which the forecast does not know",
	Choice:         "the engine can run it; the choice differs",
}

// differenceText writes the operations on other devices.
func (r *Result) differenceText(b *bytes.Buffer, all bool) error {
	if len(r.Differences) == 0 {
		return nil
	}
	fmt.Fprintf(b, "\n%s\n", diag.Count(len(r.Differences), "operation on another device",
		"operations on other devices, the heaviest first"))
	tw := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "  line\toperation\tresult\tdump\tforecast\tweight\twhy")
	for i := range r.Differences {
		if i == shownRows && !all {
			break
		}
		d := &r.Differences[i]
		weight := "-"
		if d.Weight != nil {
			weight = fmt.Sprintf("%.4f", *d.Weight)
		}
		fmt.Fprintf(tw, "  %d\t%s\t%s\t%s\t%s\t%s\t%s\n", d.Line, d.Kind, d.Name, d.Row.Plan, d.Forecast, weight,
			d.why())
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if n := len(r.Differences) - shownRows; n > 0 && !all {
		fmt.Fprintf(b, "  and %d more; --all lists them\n", n)
	}
	return nil
}

// why is the class of a difference, with the reasons.
func (d *Difference) why() string {
	s := classText[d.Class]
	if d.PlanReason != "" {
		s += "; Core ML: " + oneLine(d.PlanReason)
	}
	if d.ForecastReason != "" {
		s += "; forecast: " + d.ForecastReason
	}
	return s
}

// oneLine quotes a text of a dump that would break a line.
func oneLine(s string) string {
	for _, c := range s {
		if c < ' ' {
			return fmt.Sprintf("%q", s)
		}
	}
	return s
}

// estimateText writes how the estimates differ, by kind and backend: all of them, or those that are not all within 1 %.
func (r *Result) estimateText(b *bytes.Buffer, all bool) error {
	if len(r.Estimates) == 0 {
		return nil
	}
	total, within := 0, 0
	for _, g := range r.Estimates {
		total, within = total+g.Count, within+g.Within1
	}
	fmt.Fprintf(b, "\nestimates: %d of %d within 1 %%\n", within, total)
	tw := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "  operation\tbackend\tcount\twithin 1 %\twithin 10 %\tdump / forecast\tworst\tof")
	shown := 0
	for _, g := range r.Estimates {
		if g.Within1 == g.Count && !all {
			continue
		}
		if shown++; shown > shownRows && !all {
			continue
		}
		fmt.Fprintf(tw, "  %s\t%s\t%d\t%d\t%d\t%.4f\t%.4f\t%s\n", g.Kind, g.Backend, g.Count, g.Within1, g.Within10,
			g.Median, g.Worst, g.WorstName)
	}
	if shown == 0 {
		return nil
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if n := shown - shownRows; n > 0 && !all {
		fmt.Fprintf(b, "  and %d more; --all lists them\n", n)
	}
	return nil
}

// rowText writes every joined operation.
func (r *Result) rowText(b *bytes.Buffer) error {
	fmt.Fprintln(b, "\njoined operations")
	tw := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "  line\toperation\tresult\tdump\tforecast\tweight\tforecast's\testimates, dump / forecast")
	for i := range r.Rows {
		x := &r.Rows[i]
		weight, estimates := "-", ""
		if x.Weight != nil {
			weight = fmt.Sprintf("%.4f", *x.Weight)
		}
		for _, e := range x.Estimates {
			estimates += fmt.Sprintf("%s %.4f ", e.Backend, e.Ratio)
		}
		fmt.Fprintf(tw, "  %d\t%s\t%s\t%s\t%s\t%s\t%.4f\t%s\n", x.Line, x.Kind, x.Name, x.Plan, x.Forecast, weight,
			x.Share, estimates)
	}
	return tw.Flush()
}

// text writes the comparison of counts.
func (s *SummaryResult) text(b *bytes.Buffer) {
	fmt.Fprintf(b, "on the engine: %d of %d operations in the dump%s", s.Plan.Engine, s.Plan.Total,
		percent(s.Plan.Engine, s.Plan.Total))
	fmt.Fprintf(b, "; %d of %d in the forecast%s\n", s.Forecast.Engine, s.Forecast.Total,
		percent(s.Forecast.Engine, s.Forecast.Total))
	if s.Unreliable != "" {
		fmt.Fprintf(b, "not compared: %s\n", s.Unreliable)
	}
	for _, k := range s.Kinds {
		fmt.Fprintf(b, "  %s: %d off the engine in the dump, %d in the forecast\n", k.Kind, k.Plan, k.Forecast)
	}
}
