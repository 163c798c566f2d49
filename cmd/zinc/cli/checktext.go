package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/zinc-compiler/zinc/analysis/reported"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/inspect/check"
	"github.com/zinc-compiler/zinc/inspect/report"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/ir"
)

// targetText writes the placement on one target as text.
type targetText struct{ *check.Target }

// text writes the placement on one target: the shares, each operation, or each on the CPU, the
// dispatches, the rewrites, the compressed constants.
func (t targetText) text(w io.Writer, model string, cpu bool, order string) error {
	fmt.Fprintf(w, "%s, function %s, target %s, precision %s\n", model, t.Function, t.Report.Target, t.Precision)
	fmt.Fprintf(w, "engine: %d of %d operations, %.4g %%; ", t.EngineOps, t.EngineOps+t.CPUOps, t.EngineOpsPercent)
	if macs := t.EngineMACs + t.CPUMACs; macs > 0 {
		fmt.Fprintf(w, "%d of %d multiply-accumulates, %.4g %%\n", t.EngineMACs, macs, t.EngineMACsPercent)
	} else {
		fmt.Fprintln(w, "no multiply-accumulates")
	}
	if t.RefusedInRecords > 0 {
		fmt.Fprintf(w, "%s\n", report.InRecords(t.RefusedInRecords))
	}
	if t.Transfers > 0 {
		fmt.Fprintf(w, "%s done in transfers to and from the engine\n", diag.Count(t.Transfers, "conversion is",
			"conversions are"))
	}
	fmt.Fprintln(w)
	if err := t.table(w, cpu, order); err != nil {
		return err
	}
	if !cpu {
		t.dispatchText(w)
	}
	t.rewriteText(w)
	if len(t.Compressed) > 0 {
		fmt.Fprintln(w, "\ncompressed constants:")
		for _, c := range t.Compressed {
			fmt.Fprintf(w, "  %s, line %d: %s, %d bytes stored, %d streamed; %s\n", c.Name, c.Line, c.Form, c.Stored,
				c.Streamed, c.Why)
		}
	}
	if err := reported.WriteText(w, t.Reported, true); err != nil {
		return err
	}
	if len(t.Violations) > 0 {
		fmt.Fprintln(w)
	}
	return report.WriteViolations(w, t.Violations)
}

// table writes a line for each operation, or for each on the CPU.
func (t targetText) table(w io.Writer, cpu bool, order string) error {
	ops := slices.Clone(t.Ops)
	if cpu {
		ops = slices.DeleteFunc(ops, func(o compile.OpReport) bool { return o.Unit != ir.CPU.String() })
	}
	if order == sortTime {
		slices.SortStableFunc(ops, func(a, b compile.OpReport) int { return cmp.Compare(b.Time(), a.Time()) })
	}
	var table bytes.Buffer
	tw := tabwriter.NewWriter(&table, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "step\tplace\tunit\ttime\toperation\tresult\trule\tverdict\tvalue\tlimit")
	for i := range ops {
		o := &ops[i]
		us := ""
		if x := o.Time(); x > 0 {
			us = x.Short()
		}
		fmt.Fprintf(tw, "%d\t%d:%d\t%s\t%s\t%s\t%s\t", o.Step, o.Line, o.Col, o.Unit, us, o.Op, o.Name)
		switch no := o.Refusal; {
		case no != nil:
			fmt.Fprintf(tw, "%s\t%s\t%s: %s\t%s\n", no.Rule, no.Verdict, no.What, no.Value, no.Limit)
		case o.Fused != "":
			fmt.Fprintf(tw, "%s\t\tfused into %s\t\n", o.Rule, o.Fused)
		default:
			fmt.Fprintf(tw, "%s\t\t\t\n", o.Rule)
		}
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for line := range bytes.Lines(table.Bytes()) {
		fmt.Fprintf(w, "%s\n", bytes.TrimRight(line, " \n"))
	}
	return nil
}

func (t targetText) dispatchText(w io.Writer) {
	fmt.Fprintf(w, "\n%s, %s on the CPU\n", diag.Count(t.Dispatches, "dispatch", "dispatches"),
		diag.Count(t.CPUCalls, "call", "calls"))
	for i, d := range t.DispatchList {
		fmt.Fprintf(w, "  %d: step %d, %s, %d in, %d out; %s", i+1, d.Step, diag.Count(d.Ops, "operation",
			"operations"), d.Inputs, d.Outputs, d.Why())
		if len(d.CutBy) > 0 {
			o := t.Ops[d.CutBy[0]]
			fmt.Fprintf(w, "%s %q, line %d: %s", o.Op, o.Name, o.Line, o.Reason)
			if n := len(d.CutBy) - 1; n > 0 {
				fmt.Fprintf(w, " (and %s with it)", diag.Count(n, "operation", "operations"))
			}
		}
		fmt.Fprintln(w)
	}
}

// rewriteText prints the operations on the CPU, grouped by rule and operation: the count, the
// rewrite if one is known, and the command that explains the first.
func (t targetText) rewriteText(w io.Writer) {
	type group struct{ rule, op, verdict, text string }
	type members struct {
		count   int
		command string
		others  []int32 // lines of those after the first
	}
	by := map[group]*members{}
	var order []group
	for i, k := 0, 0; i < len(t.Ops); i++ {
		o := &t.Ops[i]
		if o.Refusal == nil {
			continue
		}
		g := group{
			rule:    o.Refusal.Rule,
			op:      o.Op,
			verdict: o.Refusal.Phrase(),
			text:    o.Refusal.Rewrite,
		}
		if by[g] == nil {
			by[g] = &members{command: t.Explain[k].Command}
			order = append(order, g)
		} else {
			by[g].others = append(by[g].others, o.Line)
		}
		by[g].count++
		k++
	}
	if len(order) > 0 {
		fmt.Fprintln(w, "\non the CPU:")
	}
	for _, g := range order {
		m := by[g]
		fmt.Fprintf(w, "  %s %s, %s (%s)", g.rule, g.op, diag.Count(m.count, "time", "times"), g.verdict)
		if g.text != "" {
			fmt.Fprintf(w, ": %s", g.text)
		}
		fmt.Fprintf(w, "\n    %s", m.command)
		if len(m.others) > 0 {
			fmt.Fprintf(w, "   (and %s)", more(m.others))
		}
		fmt.Fprintln(w)
	}
}
