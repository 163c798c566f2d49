package explain

import (
	"fmt"
	"io"
	"strings"

	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/ir"
)

// Detail selects how much of an answer Text prints.
type Detail struct {
	Tasks int // tasks shown with their fields, the first of the statement's
}

// Text writes the answer for people.
func (a *Answer) Text(w io.Writer, d Detail) error {
	p := &printer{w: w}
	place := ""
	if a.Line > 0 {
		place = fmt.Sprintf("%s:%d:%d: ", a.File, a.Line, a.Column)
	}
	p.f("%s%s %q of function %s, target %s, precision %s\n", place, a.Op, a.Name, a.Function, a.Target, a.Precision)
	if len(a.Passes) > 0 {
		p.f("passes: %s\n", strings.Join(a.Passes, ", "))
	}
	for _, g := range a.Gone {
		if g.By != "" {
			p.f("removed by %s; read instead: %s\n", g.Pass, g.By)
			if g.Refusal != nil {
				p.refusal("this is on the CPU\n", g.Refusal)
			}
		} else {
			p.f("removed by %s\n", g.Pass)
		}
	}
	if a.Op == ir.StmtConst || a.Op == ir.StmtParam {
		p.readers(a)
	} else {
		for i := range a.Operators {
			p.operator(&a.Operators[i])
		}
		if len(a.Operators) == 0 && len(a.Gone) == 0 {
			p.f("nothing of it is in the compiled program\n")
		}
		p.tasks(a.Tasks, d.Tasks)
	}
	p.bytes(a)
	for _, n := range a.Notes {
		p.f("note: %s\n", n)
	}
	if a.CostError != "" {
		p.f("cost: %s\n", a.CostError)
	}
	for _, n := range a.Numerics {
		p.f("numerics: %s\n", n)
	}
	for _, h := range a.Hazards {
		p.f("hazard %s: %s may be from %.4g to %.4g, limit %s. %s\n  instead: %s\n", h.Rule, h.Value,
			float64(h.Interval[0]), float64(h.Interval[1]), h.Limit, h.Why, h.Instead)
	}
	if len(a.Hazards) > 0 {
		p.f("hazards are for inputs in their default ranges; zinc lint accepts other ranges and searches for inputs " +
			"that show them\n")
	}
	p.rewrites(a)
	return p.err
}

// printer keeps the first error of a writer.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) f(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *printer) operator(o *Operator) {
	p.f("%s: %s %q, step %d", o.Unit, o.Op, o.Name, o.Step)
	if o.Refusal == nil {
		if o.Rule != "" {
			p.f(", rule %s", o.Rule)
		}
		if o.Fused != "" {
			p.f(", fused into %q", o.Fused)
		}
		if o.MACs > 0 {
			p.f(", %d multiply-accumulates", o.MACs)
		}
		if o.Reason != "" {
			p.f(": %s", o.Reason)
		}
		p.f("\n")
		p.cost("cost, fused operations included", o.Estimate)
		return
	}
	p.refusal(": "+o.Reason+"\n", o.Refusal)
	if o.CPU > 0 {
		p.f("  cost    %s on the CPU, estimated coarsely\n", o.CPU.Short())
	}
}

// refusal prints the facts of a refusal, each on a line.
func (p *printer) refusal(head string, no *compile.RefusalInfo) {
	p.f("%s  verdict %s\n  rule    %s\n  value   %s: %s\n  limit   %s\n", head, no.Phrase(), no.Rule, no.What,
		no.Value, no.Limit)
	if no.Rewrite != "" {
		p.f("  hint    %s\n", no.Rewrite)
	}
}

// cost prints an estimate. Its known error is printed once, with the numerics.
func (p *printer) cost(what string, e *compile.Estimate) {
	if e == nil || e.Time == 0 {
		return
	}
	p.f("%s: %s, bound by %s, %d cycles, %d bytes of DMA\n", what, e.Time.Short(), e.Bound, e.Cycles, e.DMABytes)
}

// tasks prints the first tasks with their fields, and the rest as repeated patterns.
func (p *printer) tasks(ts []Task, fields int) {
	for i := 0; i < len(ts); {
		period, times := 1, 1
		if i >= fields {
			period, times = repeated(ts[i:])
		}
		n := period * times
		t, last := &ts[i], &ts[i+n-1]
		if n == 1 {
			p.f("task %s %d", t.Procedure, t.Index)
		} else {
			p.f("%d tasks %s %d to %d", n, t.Procedure, t.Index, last.Index)
		}
		p.f(": bytes %d to %d of the task section", t.Offset, last.Offset+4*uint64(last.Words)-1)
		if period > 1 {
			p.f(", %d times these %d\n", times, period)
			for k := range ts[i : i+period] {
				p.f(" ")
				p.work(&ts[i+k], "   cost of each")
			}
		} else if p.f(","); times > 1 {
			p.work(t, "  cost of each")
		} else {
			p.work(t, "  cost")
		}
		if i < fields {
			p.words(t.Fields)
			for _, l := range t.Links {
				p.f("  %s\n", l)
			}
		}
		i += n
	}
	if len(ts) > fields {
		p.f("fields omitted: those of %d more tasks\n", len(ts)-max(fields, 0))
	}
}

// work prints what a task does, the evidence for that, and its cost.
func (p *printer) work(t *Task, cost string) {
	known := "modelled"
	if t.Attested {
		known = "attested"
	}
	p.f(" rule %s, kind %s (%s)\n", t.Rule, t.Kind, known)
	p.cost(cost, t.Estimate)
}

// maxPeriod is the longest pattern of tasks that is looked for: the most that one matrix of a batched product takes.
const maxPeriod = 8

// repeated returns the length of the repeating pattern at the start of the tasks, and its number of
// repetitions. It prefers the pattern that covers the most tasks, then the shortest.
func repeated(ts []Task) (period, times int) {
	period, times = 1, 1
	for p := 1; p <= min(maxPeriod, len(ts)/2); p++ {
		n := p
		for n < len(ts) && ts[n-p].like(&ts[n]) && ts[n-1].Index+1 == ts[n].Index {
			n++
		}
		if k := n / p; k > 1 && k*p > period*times {
			period, times = p, k
		}
	}
	return period, times
}

// like reports whether o does the same as t, in the same time.
func (t *Task) like(o *Task) bool {
	return t.Procedure == o.Procedure && t.Rule == o.Rule && t.Kind == o.Kind && t.Attested == o.Attested &&
		(t.Estimate == nil) == (o.Estimate == nil) &&
		(t.Estimate == nil || t.Estimate.Time == o.Estimate.Time && t.Estimate.Bound == o.Estimate.Bound &&
			t.Estimate.DMABytes == o.Estimate.DMABytes)
}

// maxReaders is the maximum number of operations to print for a constant or an input.
const maxReaders = 8

// readers prints the operations that read a constant or an input, without their tasks.
func (p *printer) readers(a *Answer) {
	for i := range a.Operators[:min(len(a.Operators), maxReaders)] {
		p.f("read by ")
		p.operator(&a.Operators[i])
	}
	switch n := len(a.Operators); {
	case n > maxReaders:
		p.f("and by %d more\n", n-maxReaders)
	case n == 0 && len(a.Gone) == 0 && len(a.Tasks) == 0 && len(a.Constants) == 0:
		p.f("no operation of the compiled program reads it\n")
	}
	if n := len(a.Tasks); n > 0 {
		p.f("tasks that read it: %d; explain the operations that read it to see them\n", n)
	}
}

// words prints the fields of a task, one line per word, and equal lanes only once.
func (p *printer) words(fs []Field) {
	first, last, held, single := 0, 0, "", ""
	flush := func() {
		switch {
		case held == "":
		case first == last:
			p.f("  word  %7d  %s\n", first, single)
		default:
			p.f("  words %7s  %s\n", fmt.Sprintf("%d-%d", first, last), strings.ReplaceAll(held, "[]", "[*]"))
		}
	}
	for k := 0; k < len(fs); {
		word := fs[k].Word
		var plain, lanes []string
		for ; k < len(fs) && fs[k].Word == word; k++ {
			name := fs[k].Name
			plain = append(plain, fmt.Sprintf("%s %d", name, fs[k].Value))
			if open := strings.IndexByte(name, '['); open > 0 {
				name = name[:open] + "[]"
			}
			lanes = append(lanes, fmt.Sprintf("%s %d", name, fs[k].Value))
		}
		line := strings.Join(lanes, ", ")
		if line == held && word == last+1 && strings.Contains(line, "[]") {
			last = word
			continue
		}
		flush()
		first, last, held, single = word, word, line, strings.Join(plain, ", ")
	}
	flush()
}

func (p *printer) bytes(a *Answer) {
	for _, c := range a.Constants {
		p.f("constant: bytes %d to %d", c.Offset, c.Offset+c.Size-1)
		p.roles(": built from it", c.Roles, true)
		if c.Made {
			p.roles("; with it", c.Roles, false)
		} else {
			p.roles(", read by its tasks", c.Roles, false)
		}
		p.f("\n")
	}
	for _, s := range a.Surfaces {
		dir := "in"
		if s.Output {
			dir = "out"
		}
		p.f("surface: %s %s, %s, value %q, %d bytes at %#x", s.Procedure, s.Name, dir, s.Value, s.Size, s.Address)
		if s.RowBytes > 0 {
			p.f(", rows of %d elements on %d bytes", s.Row, s.RowBytes)
		}
		p.f("\n")
	}
	for _, o := range a.Operations {
		p.f("descriptor: operation %d of %s, %s %q (%s)\n", o.Index, o.Function, o.Kind, o.Name, o.Rule)
	}
}

// roles prints the bytes of the roles that come from the statement, or of those that do not.
func (p *printer) roles(head string, rs []RoleSize, made bool) {
	sep := head + ": "
	for _, r := range rs {
		if r.Made == made {
			p.f("%s%d of %s", sep, r.Bytes, r.Role)
			sep = ", "
		}
	}
}

func (p *printer) rewrites(a *Answer) {
	for _, r := range a.Rewrites {
		p.f("\nrewrite %s: %s\n", r.Name, r.Doc)
		for _, l := range r.Diff {
			p.f("  %s\n", elide(l))
		}
		if r.Note != "" {
			p.f("It %s.\n", r.Note)
		}
		what := "the function"
		if !r.Whole {
			what = "what changes, alone"
		}
		if r.Ran != "" {
			p.f("compiled and run for %s, as zinc does not write every program for %s (%s, seed %d); placed for %s:\n",
				r.Ran, a.Target, what, r.Seed, a.Target)
		} else {
			p.f("compiled and run (%s, seed %d):\n", what, r.Seed)
		}
		for _, l := range r.Engine {
			p.f("  engine  %s\n", l)
		}
		for _, l := range r.Host {
			p.f("  cpu     %s\n", l)
		}
		if r.Before > 0 {
			p.f("  a call of the whole model, estimated: %s before, %s after, %s\n", r.Before.Short(), r.After.Short(),
				saved(r.Before-r.After))
		}
		p.f("  operations on the CPU: %d before, %d after; dispatches: %d before, %d after\n", r.CPUOps[0], r.CPUOps[1],
			r.Dispatches[0], r.Dispatches[1])
		for _, o := range r.Outputs {
			p.f("  output %s, %s: differs from the original by %s, the simulator from the interpreter by %s; "+
				"tolerance %s",
				o.Name, o.Type, number(o.Original), number(o.Simulated), number(o.Tolerance))
			p.f("\n")
		}
	}
	for _, t := range a.Tried {
		p.f("\nrewrite %s was tried and is not offered: %s\n", t.Name, t.Why)
	}
	switch {
	case a.NotSought != "":
		p.f("\nno rewrite was looked for: %s\n", a.NotSought)
	case a.Sought && len(a.Rewrites) == 0:
		p.f("\nno rewrite is known that compiles and runs on the engine\n")
	}
}

// saved says what a change does to the time of a call.
func saved(t cost.Time) string {
	switch {
	case t > 0:
		return t.Short() + " saved"
	case t < 0:
		return (-t).Short() + " more: the change does not make the model faster"
	}
	return "no difference"
}

func number(n verify.Number) string { return fmt.Sprintf("%.3g", float64(n)) }

// maxList is the length up to which the values of a constant are printed.
const maxList = 64

// elide shortens the lists of values in a line of MIL text.
func elide(line string) string {
	var out strings.Builder
	for {
		open := strings.Index(line, "([")
		if open < 0 {
			break
		}
		open++
		end, depth := open, 0
		for ; end < len(line); end++ {
			if line[end] == '[' {
				depth++
			} else if line[end] == ']' {
				if depth--; depth == 0 {
					break
				}
			}
		}
		if list := line[open:end]; len(list) > maxList {
			cut := strings.LastIndexByte(list[:maxList], ',') + 1
			out.WriteString(line[:open] + list[:max(cut, 1)] + " ...")
		} else {
			out.WriteString(line[:end])
		}
		line = line[end:]
	}
	out.WriteString(line)
	return out.String()
}
