package coreml

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/zinc-compiler/zinc/internal/diag"
)

// Lengths of the lists on the page.
const (
	pageSegments = 12
	pageLeaves   = 8
	pageKinds    = 6
)

// WriteText writes one page: the share on the engine, the segments, what is not on the engine and why, ties, and what
// would change the answer. all is the command that prints every operation, "" for none.
func (p *Plan) WriteText(w io.Writer, model, all string) error {
	var b bytes.Buffer
	p.head(&b, model)
	p.segmentText(&b)
	p.leaveText(&b)
	p.list(&b, "Equal in cost", p.tieText())
	var near, moves []string
	for _, n := range p.Near {
		near = append(near, n.String())
	}
	for _, m := range p.Moves {
		moves = append(moves, m.String())
	}
	p.list(&b, "Near the line", near)
	p.list(&b, "What would change it", moves)
	p.list(&b, "Not known", p.Notes)
	if all != "" {
		fmt.Fprintf(&b, "\nevery operation: %s\n", all)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// Share says in one phrase what runs on the engine.
func (p *Plan) Share() string {
	n := p.Own()
	return fmt.Sprintf("%d of %s on the engine (%.3g %%)", p.OnEngine(), diag.Count(n, "operation", "operations"),
		100*float64(p.OnEngine())/float64(max(1, n)))
}

func (p *Plan) head(b *bytes.Buffer, model string) {
	r := p.Rules
	fmt.Fprintf(b, "%s, function %s: Core ML's own placement, by the rules of an %s with %s (%s), units %s\n",
		model, p.Function, r.Chip, r.System, r.Name, p.Units)
	fmt.Fprintf(b, "\n%s, with %.3g %% of the estimated time\n", p.Share(), 100*p.EngineTime())
	g := p.Gain
	switch {
	case !p.has(Engine):
		fmt.Fprintf(b, "%.3f ms estimated; the engine is not allowed\n", g.Best)
	case !g.Possible():
		fmt.Fprintf(b, "%.3f ms estimated; no operation can run on the engine\n", g.Best)
	case p.OnEngine() > 0:
		fmt.Fprintf(b, "%.3f ms estimated, %.3f on the CPU alone: a gain of %.3f ms after the changes of device\n",
			g.Best, g.CPU, g.Margin())
	default:
		fmt.Fprintf(b, "%.3f ms estimated: the engine would save %.3f ms, %.3f less than the %s that a visit costs\n",
			g.Best, g.Saved(), -g.Margin(), short(g.Visit))
	}
}

// has reports whether the units allow a backend.
func (p *Plan) has(b Backend) bool {
	backends, _ := p.Units.Backends()
	return backends.Has(b)
}

func (p *Plan) segmentText(b *bytes.Buffer) {
	if len(p.Segments) < 2 {
		return
	}
	b.WriteString("\nSegments\n")
	tw := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	for i, s := range p.Segments {
		if i == pageSegments {
			fmt.Fprintf(tw, "  and %d more\n", len(p.Segments)-i)
			break
		}
		first, last := &p.Rows[s.First], &p.Rows[s.Last]
		where := first.place()
		if s.Last != s.First {
			where += " to " + last.place()
		}
		saves := ""
		if s.Device == NeuralEngine {
			saves = fmt.Sprintf("\tsaves %.3f ms, the changes cost %s", s.Saved, short(s.Change))
		}
		fmt.Fprintf(tw, "  %s\t%s\t%s%s\n", s.Device.Word(), diag.Count(s.Last-s.First+1, "operation", "operations"),
			where, saves)
	}
	tw.Flush()
}

// place names a row: its kind, its name and its line.
func (r *Row) place() string { return fmt.Sprintf("%s %q%s", r.Operator(), r.Name, line(r)) }

func (p *Plan) leaveText(b *bytes.Buffer) {
	leaves := p.Leaves()
	if len(leaves) == 0 {
		return
	}
	b.WriteString("\nNot on the engine\n")
	for i, l := range leaves {
		if i == pageLeaves {
			fmt.Fprintf(b, "  and %s\n", diag.Count(len(leaves)-i, "more reason", "more reasons"))
			break
		}
		fmt.Fprintf(b, "  %d  %s: %s%s\n", l.Operations, shortList(l.Kinds, pageKinds), l.Reason, l.where())
	}
}

// where lists the lines of a reason.
func (l *Leave) where() string {
	if len(l.Lines) == 0 {
		return ""
	}
	const few = 4
	var lines []string
	for _, n := range l.Lines[:min(few, len(l.Lines))] {
		lines = append(lines, fmt.Sprint(n))
	}
	s := " (line "
	if l.Operations > 1 {
		s = " (lines "
	}
	s += strings.Join(lines, ", ")
	if l.Operations > len(lines) {
		s += ", ..."
	}
	return s + ")"
}

// shortList joins names, at most n of them.
func shortList(names []string, n int) string {
	if len(names) <= n {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more kinds", strings.Join(names[:n], ", "), len(names)-n)
}

func (p *Plan) tieText() []string {
	ties, first := 0, -1
	for i := range p.Rows {
		if len(p.Rows[i].Ties) > 0 {
			if ties++; first < 0 {
				first = i
			}
		}
	}
	if ties == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s as well elsewhere: the framework may choose either (first %s)",
		diag.Count(ties, "operation would run", "operations would run"), p.Rows[first].place())}
}

// list writes a title and lines, nothing for no lines.
func (p *Plan) list(b *bytes.Buffer, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	for _, l := range lines {
		fmt.Fprintf(b, "  %s\n", l)
	}
}

// WriteTable writes a line for each operation, or only for those that are not on the engine; in program order, or the
// slowest first.
func (p *Plan) WriteTable(w io.Writer, model string, off, slowest bool) error {
	var b bytes.Buffer
	p.head(&b, model)
	b.WriteString("\n")
	tw := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "line\tdevice\tbackend\tms\tweight\tengine ms\toperation\tresult\twhy not the engine")
	order := make([]*Row, len(p.Rows))
	for i := range order {
		order[i] = &p.Rows[i]
	}
	if slowest {
		slices.SortStableFunc(order, func(a, b *Row) int { return cmp.Compare(b.Time(), a.Time()) })
	}
	for _, r := range order {
		if off && r.Chosen == Engine {
			continue
		}
		why := r.Reasons[Engine]
		if r.Inserted != "" {
			why += "; added by the framework: " + r.Inserted
		} else if len(r.Ties) > 0 {
			why += "equal in cost elsewhere"
		}
		fmt.Fprintf(tw, "%d\t%s\t%s\t%s\t%.4f\t%s\t%s%s\t%s\t%s\n", r.Pos.Line, r.Chosen.Device().Word(), r.Chosen,
			milliseconds(r.Estimates[r.Chosen]), r.Weight, milliseconds(r.Estimates[Engine]),
			strings.Repeat("  ", r.Depth), r.Kind, r.Name, why)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for l := range bytes.Lines(b.Bytes()) {
		if _, err := fmt.Fprintf(w, "%s\n", bytes.TrimRight(l, " \n")); err != nil {
			return err
		}
	}
	return nil
}

// short writes milliseconds of a rule, which have few digits.
func short(ms float64) string { return fmt.Sprintf("%.3g", ms) }

// milliseconds writes a time, "-" if it is not known.
func milliseconds(ms float64) string {
	if math.IsNaN(ms) {
		return "-"
	}
	return fmt.Sprintf("%.4g", ms)
}
