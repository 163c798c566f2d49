package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// Lengths of the lists of the answer, which fits on one screen.
const (
	answerAdvice = 5
	answerKinds  = 8
	answerGroups = 6
)

// WriteAnswer writes one page: where the time of a call goes, what to change first, the time by kind of operation, and
// what is on the CPU. all is the command that prints every operation, "" for none.
func WriteAnswer(w io.Writer, d *Document, all string) error {
	var b bytes.Buffer
	r := d.Report
	fmt.Fprintf(&b, "%s, function %s, target %s, precision %s\n", d.Model, r.Function, r.Target, r.Precision)
	answerTime(&b, d)
	answerPlaces(&b, d)
	answerCoreML(&b, d)
	if r.Estimate != nil {
		answerAdvised(&b, d)
		answerWeights(&b, r)
		answerByKind(&b, r)
	}
	answerCPU(&b, d)
	if all != "" {
		fmt.Fprintf(&b, "\nevery operation: %s\n", all)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// answerTime writes what a call takes and what of it goes where.
func answerTime(b *bytes.Buffer, d *Document) {
	r := d.Report
	switch {
	case d.Exceeds != "" && r.Estimate == nil:
		fmt.Fprintf(b, "\nzinc estimates no times, since no container has room for the program: %s\n", d.Exceeds)
		return
	case r.Estimate == nil:
		fmt.Fprintf(b, "\nzinc estimates no times for %s: it writes no programs for that target\n", r.Target)
		return
	}
	calls := "a call"
	if n := len(r.Functions); n > 0 {
		calls = fmt.Sprintf("a call of each of %d functions", n)
	}
	total := r.CallTime()
	fmt.Fprintf(b, "\n%s %s%s\n%s See docs/cost.md.\n", r.CallText(), calls, asFP16(r), cost.Error(r.Target))
	if d.Exceeds != "" {
		fmt.Fprintf(b, "No container has room for the program, so its tasks are estimated as parts of several: %s\n",
			d.Exceeds)
	}
	if s := Shapes(r); s != "" {
		fmt.Fprintf(b, "%s\n", s)
	}
	for _, p := range r.CallParts() {
		fmt.Fprintf(b, "  %8s  %4s  %s\n", p.Time.Short(), shareOf(p.Time, total), partNamed(p.Use).line(r))
	}
}

// asFP16 says which weights that the model stores compressed are timed as fp16 and which as the engine reads them, ""
// if it stores none for the engine.
func asFP16(r *compile.Report) string {
	var stored, read [2]int64 // of those that stream, and of the others
	for _, c := range r.Compressed {
		i := 1
		if c.Streams {
			i = 0
		}
		if c.Streamed > 0 {
			stored[i], read[i] = stored[i]+c.Stored, read[i]+c.Streamed
		}
	}
	text := ""
	if read[0] > 0 {
		text = fmt.Sprintf(", with %s of weights streamed compressed", ShortBytes(read[0]))
	}
	if read[1] > 0 {
		text += fmt.Sprintf(", with compressed weights timed as fp16 (%s stored, %s read)", ShortBytes(stored[1]),
			ShortBytes(read[1]))
	}
	return text
}

// answerPlaces writes the shares of the engine.
func answerPlaces(b *bytes.Buffer, d *Document) {
	r := d.Report
	fmt.Fprintf(b, "\n%d of %s on the engine (%.3g %%)", r.EngineOps, diag.Count(r.EngineOps+r.CPUOps, "operation",
		"operations"), Percent(int64(r.EngineOps), int64(r.CPUOps)))
	if macs := r.EngineMACs + r.CPUMACs; macs > 0 {
		fmt.Fprintf(b, ", with %.3g %% of %s multiply-accumulates", Percent(r.EngineMACs, r.CPUMACs), short(macs))
	}
	fmt.Fprintf(b, "; %s, %s\n", diag.Count(r.Dispatches, "dispatch", "dispatches"),
		diag.Count(r.CPUCalls, "call of the CPU", "calls of the CPU"))
	if d.Refused > 0 {
		fmt.Fprintf(b, "%s\n", InRecords(d.Refused))
	}
	b.WriteString(unrecorded(r))
	if r.Tasks > 0 {
		fmt.Fprintf(b, "tasks of kinds recorded from Apple's compiler: %d of %d\n", r.Attested, r.Tasks)
	}
}

// unrecorded says how many operations are on the CPU because no recorded program of the target has them, and where the
// estimate of the whole model is; "" for none.
func unrecorded(r *compile.Report) string {
	n := 0
	for i := range r.Ops {
		if no := r.Ops[i].Refusal; no != nil && no.Rule == target.RuleRecord {
			n++
		}
	}
	tab, err := target.Lookup(r.Target)
	if n == 0 || err != nil {
		return ""
	}
	return fmt.Sprintf("%s on the CPU for want of a recorded program (no-record): zinc writes only %s for %s; the "+
		"engine may take more: zinc check MODEL --target all\n", diag.Count(n, "operation is", "operations are"),
		tab.Forms(), tab.Name)
}

// InRecords says how many of the operations on the engine are in a form that Apple's compiler refused.
func InRecords(n int) string {
	return fmt.Sprintf("of them %d: engine in zinc; Apple's compiler refused this form in records", n)
}

func answerAdvised(b *bytes.Buffer, d *Document) {
	b.WriteString("\nWhat to do first\n")
	for i := range d.Advice {
		if i == answerAdvice {
			fmt.Fprintf(b, "  and %d more\n", len(d.Advice)-i)
			break
		}
		a := &d.Advice[i]
		fmt.Fprintf(b, "  %d. save %s%s: %s: %s\n", i+1, (a.Before - a.After).Short(), a.also(), a.Where, a.What)
		fmt.Fprintf(b, "     %s; %s", a.Why, a.Checked())
		if a.Note != "" {
			fmt.Fprintf(b, "; it %s", a.Note)
		}
		if a.Command != "" {
			fmt.Fprintf(b, ": %s", a.Command)
		}
		b.WriteByte('\n')
	}
	s := d.Search
	if len(d.Advice) == 0 {
		fmt.Fprintf(b, "  %s\n", s.Nothing())
		for _, c := range Largest(d.Report) {
			fmt.Fprintf(b, "  %8s  %4s  %s\n", c.Time.Short(), shareOf(c.Time, d.Report.CallTime()), c)
		}
	}
	if s != nil && len(s.Left) > 0 {
		fmt.Fprintf(b, "  %s\n", s.Unfinished())
	}
}

// savedWeights is what compressed weights would save. It is not advice: they are other weights.
type savedWeights struct{ read, saves, why string }

// weightsOf returns what compressed weights would save, nil if that is not worth a line.
func weightsOf(r *compile.Report) *savedWeights {
	if r.Estimate == nil {
		return nil
	}
	var saves, written []string
	most := cost.Time(0)
	for _, x := range r.Estimate.Forms {
		i := slices.IndexFunc(cost.Forms, func(f cost.Form) bool { return f.Name == x.Form })
		saves = append(saves, fmt.Sprintf("%s as %s", x.Saves.Short(), cost.Forms[i].Doc))
		if x.Written {
			written = append(written, cost.Forms[i].Doc)
		}
		most = max(most, x.Saves)
	}
	if most*100 < r.CallTime()*worthALine || most <= 0 {
		return nil
	}
	why := string(target.ZincCannotYet) + ": zinc writes dense fp16 weights only, so a compressed model gains " +
		"nothing here"
	if len(written) > 0 {
		why = "zinc streams them where the model stores them: zinc compress shows what that costs"
		if len(written) < len(saves) {
			why = "zinc streams " + strings.Join(written, " and ") + " where the model stores them"
			why += "; it writes other forms as dense fp16 weights (" + string(target.ZincCannotYet) + ")"
		}
	}
	return &savedWeights{
		read: fmt.Sprintf("DMA reads %s of fp16 weights a call; the hardware also reads compressed ones, which "+
			"would save", ShortBytes(r.Estimate.DenseBytes)),
		saves: strings.Join(saves, ", "),
		why:   why,
	}
}

func (s *savedWeights) String() string { return s.read + " " + s.saves + ". " + s.why + "." }

// Weights says what compressed weights would save, "" if that is not worth a line.
func Weights(r *compile.Report) string {
	if s := weightsOf(r); s != nil {
		return s.String()
	}
	return ""
}

func answerWeights(b *bytes.Buffer, r *compile.Report) {
	if s := weightsOf(r); s != nil {
		fmt.Fprintf(b, "  weights: %s\n     %s\n     %s\n", s.read, s.saves, s.why)
	}
}

// worthALine is the share of a call's time, in per cent, from which compressed weights are mentioned.
const worthALine = 1

// also says which counts change with the time.
func (a *Advice) also() string {
	s := ""
	if n := a.Dispatches[0] - a.Dispatches[1]; n > 0 {
		s += " and " + diag.Count(n, "dispatch", "dispatches")
	} else if n < 0 {
		s += ", with " + diag.Count(-n, "dispatch more", "dispatches more")
	}
	return s
}

func answerByKind(b *bytes.Buffer, r *compile.Report) {
	list := Kinds(r)
	b.WriteString("\nTime by operation\n")
	var rest cost.Time
	ops := 0
	var kinds []string
	for i, k := range list {
		if i >= answerKinds || k.Time == 0 {
			rest += k.Time
			ops += k.Count
			if !slices.Contains(kinds, k.Op) {
				kinds = append(kinds, k.Op)
			}
			continue
		}
		bound := ""
		if k.Bound != "" {
			bound = ", bound by " + k.Bound
		}
		fmt.Fprintf(b, "  %8s  %4s  %s x %d, %s%s%s\n", k.Time.Short(), shareOf(k.Time, r.CallTime()), k.Op, k.Count,
			places[k.Unit], bound, k.where())
	}
	if ops > 0 {
		of := ": " + strings.Join(kinds, ", ")
		if len(kinds) > fewKinds {
			of = " of " + strconv.Itoa(len(kinds)) + " other kinds"
		}
		fmt.Fprintf(b, "  %8s  %4s  %s%s\n", rest.Short(), shareOf(rest, r.CallTime()),
			diag.Count(ops, "other operation", "other operations"), of)
	}
}

// fewKinds is the number of kinds up to which those without a line of their own are named.
const fewKinds = 3

// where names the line of the slowest operation, "" if it takes no time or is not from a line.
func (k *Kind) where() string {
	switch o := k.Slowest; {
	case o.Time() == 0 || o.Line == 0:
		return ""
	case k.Count == 1:
		return fmt.Sprintf("; line %d", o.Line)
	default:
		return fmt.Sprintf("; most in line %d: %s", o.Line, o.Time().Short())
	}
}

// places name the units in running text.
var places = map[string]string{ir.Engine.String(): "engine", ir.CPU.String(): "CPU"}

// answerCPU writes the operations on the CPU, by cause.
func answerCPU(b *bytes.Buffer, d *Document) {
	groups := Causes(d.Report)
	if len(groups) == 0 {
		b.WriteString("\nNothing is on the CPU.\n")
		return
	}
	b.WriteString("\nOn the CPU, and why\n")
	for i, g := range groups {
		if i == answerGroups {
			fmt.Fprintf(b, "  and %s\n", diag.Count(len(groups)-i, "other cause", "other causes"))
			break
		}
		fmt.Fprintf(b, "  %s: %s\n", g.Verdict, strings.Join(g.Counted(), ", "))
		fmt.Fprintf(b, "    line %d: %s\n", g.First().Line, g.First().Reason)
	}
}

// shareOf returns a time's share of a total in whole per cent, "" for a total of 0.
func shareOf(t, total cost.Time) string {
	switch share := 100 * float64(t) / float64(total); {
	case total == 0:
		return ""
	case share > 0 && share < 0.5:
		return "<1 %"
	default:
		return fmt.Sprintf("%.0f %%", share)
	}
}

// short returns a count with a prefix and three digits at most.
func short(n int64) string {
	v := float64(n)
	prefix := ""
	for _, p := range []string{"k", "M", "G", "T"} {
		if v < 999.5 {
			break
		}
		v, prefix = v/1000, p
	}
	return strings.TrimRight(fmt.Sprintf("%.3g %s", v, prefix), " ")
}
