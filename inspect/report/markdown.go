package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/diag"
)

// Lengths of the lists in a comment, which must stay short.
const (
	markdownGroups = 10
	markdownLayers = 5
)

// md escapes text for a cell: it stays on its line and contains no markup.
func md(s string) string {
	var b strings.Builder
	for _, c := range s {
		switch {
		case c == '\n' || c == '\r' || c == '\t':
			b.WriteByte(' ')
		case c == '<':
			b.WriteString("&lt;")
		case c == '>':
			b.WriteString("&gt;")
		case c == '&':
			b.WriteString("&amp;")
		case strings.ContainsRune("\\`*_[]#|~@", c):
			b.WriteByte('\\')
			b.WriteRune(c)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// MarkdownText escapes text for a paragraph or a cell of a comment: it stays on its line and contains no markup,
// mention or reference to an issue.
func MarkdownText(s string) string { return md(s) }

// grouped returns a number with thousands separated.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}

func writeMarkdown(w io.Writer, d *Document) error {
	var b bytes.Buffer
	title := "zinc"
	if d.Model != "" {
		title += ": " + md(d.Model)
	}
	fmt.Fprintf(&b, "### %s\n\n", title)
	if n := len(d.Violations); n > 0 {
		fmt.Fprintf(&b, "**%s exceeded**\n\n", diag.Count(n, "budget", "budgets"))
		for i := range d.Violations {
			fmt.Fprintf(&b, "- %s\n", md(d.Violations[i].String()))
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "Target %s, precision %s.\n\n", md(d.Target), md(d.Precision))
	if s := Shapes(d.Report); s != "" {
		fmt.Fprintf(&b, "%s.\n\n", md(s))
	}
	b.WriteString("| function | operations on the engine | multiply-accumulates on the engine | dispatches | CPU " +
		"calls | tasks | time of a call | on the engine | on the CPU |\n| --- | ---: | ---: | ---: | ---: | ---: | " +
		"---: | ---: | ---: |\n")
	for _, f := range d.Report.Each() {
		call, engine, cpu := "", "", ""
		if e := f.Estimate; e != nil {
			call, engine, cpu = f.CallText(), e.Time.Short(), f.CPU.Short()
		}
		fmt.Fprintf(&b, "| %s | %d of %d | %s of %s (%.4g %%) | %d | %d | %d | %s | %s | %s |\n", md(f.Function),
			f.EngineOps, f.EngineOps+f.CPUOps,
			grouped(f.EngineMACs), grouped(f.EngineMACs+f.CPUMACs), Percent(f.EngineMACs, f.CPUMACs), f.Dispatches,
			f.CPUCalls, f.Tasks, call, engine, cpu)
	}
	if d.Report.Estimate != nil {
		fmt.Fprintf(&b, "\nConstants for the engine: %s bytes, %s of them padding.\n", grouped(d.Weights),
			grouped(d.Padding))
	}
	if d.CoreML != nil {
		fmt.Fprintf(&b, "\n%s.\n", md(strings.ToUpper(d.CoreML.String()[:1])+d.CoreML.String()[1:]))
	}
	markdownGenerations(&b, d.Generations)
	markdownAdvice(&b, d)
	markdownCPU(&b, d.Report)
	markdownBiggest(&b, d.Report)
	if e := d.Report.Estimate; e != nil {
		fmt.Fprintf(&b, "\nThe estimate is %s.\n", md(e.Known))
	}
	_, err := w.Write(b.Bytes())
	return err
}

func markdownAdvice(b *bytes.Buffer, d *Document) {
	if d.Search == nil {
		return
	}
	b.WriteString("\n#### What to do first\n\n")
	for i := range d.Advice[:min(len(d.Advice), markdownLayers)] {
		a := &d.Advice[i]
		fmt.Fprintf(b, "- save %s: %s: %s (%s)\n", (a.Before - a.After).Short(), md(a.Where), md(a.What),
			md(a.Checked()))
	}
	if len(d.Advice) == 0 {
		fmt.Fprintf(b, "%s\n\n", md(d.Search.Nothing()))
		for _, c := range Largest(d.Report) {
			fmt.Fprintf(b, "- %s: %s\n", c.Time.Short(), md(c.String()))
		}
	}
}

func markdownCPU(b *bytes.Buffer, r *compile.Report) {
	groups := cpuGroups(r)
	if len(groups) == 0 {
		b.WriteString("\nNothing runs on the CPU.\n")
		return
	}
	b.WriteString("\n#### On the CPU\n\n| operation | times | first line | multiply-accumulates | verdict | why | " +
		"rewrite |\n| --- | ---: | ---: | ---: | --- | --- | --- |\n")
	for i, g := range groups {
		if i == markdownGroups {
			fmt.Fprintf(b, "\nand %d more.\n", len(groups)-i)
			break
		}
		fmt.Fprintf(b, "| %s | %d | %d | %s | %s | %s | %s |\n", md(g.Op), g.Count, g.Line, grouped(g.MACs),
			md(g.Verdict), md(g.Why), md(g.Rewrite))
	}
}

// markdownBiggest lists the operations that take most of a call, wherever they run.
func markdownBiggest(b *bytes.Buffer, r *compile.Report) {
	layers := biggest(r, markdownLayers)
	if len(layers) == 0 {
		return
	}
	b.WriteString("\n#### Largest costs\n\n| operation | line | unit | multiply-accumulates | time | share of a call " +
		"| bound by |\n| --- | ---: | --- | ---: | ---: | ---: | --- |\n")
	for _, l := range layers {
		fmt.Fprintf(b, "| %s %s | %d | %s | %s | %s | %s | %s |\n", md(l.Op), md(l.Name), l.Line, md(l.Unit),
			grouped(l.MACs), l.Time.Short(), md(shareOf(l.Time, r.CallTime())), l.Bound)
	}
}
