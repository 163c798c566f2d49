package lint

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/analysis/lint/witness"
	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/sarif"
	"github.com/zinc-compiler/zinc/target"
)

// Counts returns how many findings are in each of the States.
func (f *Function) Counts() map[string]int {
	n := map[string]int{}
	for _, x := range f.Findings {
		n[x.State]++
	}
	return n
}

// place formats a position as compilers do.
func place(file, model string, line, col int32) string {
	file = cmp.Or(file, model)
	if line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d:%d", file, line, col)
}

// Limits of what Text prints without TextOptions.All.
const (
	MaxGroups = 10 // groups of findings of a function
	maxAlike  = 8  // places of findings like the printed one
	maxRoots  = 5  // values without bounds
)

// TextOptions configure Text.
type TextOptions struct {
	Model string // path of the text
	Path  string // what zinc run takes
	All   bool   // every finding, instead of one for each of MaxGroups groups
	// AllFlag is the flag of the command that sets All, named where findings are omitted.
	AllFlag string
	// Flags are arguments of zinc run with which it compiles the whole model as it was judged; the target is in the
	// report.
	Flags []string
	// Target is the target of zinc run without --target.
	Target string
	// Join joins words to a command line, quoted for a shell; nil joins them with blanks.
	Join func(words []string) string
}

// Text writes the report for people.
func (r *Report) Text(w io.Writer, o TextOptions) error {
	out := &printer{w: w, o: o, target: r.Target}
	for i, f := range r.Functions {
		if i > 0 {
			out.line("")
		}
		if len(r.Functions) > 1 {
			out.function = f.Name
		}
		n := f.Counts()
		out.line("%s, function %s, target %s: %d shown, %d shown alone, %d possible", o.Model, f.Name, r.Target,
			n[Shown], n[ShownAlone], n[Possible])
		for _, in := range f.Inputs {
			out.line("  input %s %s from %s to %s", in.Name, in.Type, interval.Number(float64(in.Range[0])),
				interval.Number(float64(in.Range[1])))
		}
		for _, in := range f.States {
			out.line("  state %s %s from %s to %s", in.Name, in.Type, interval.Number(float64(in.Range[0])),
				interval.Number(float64(in.Range[1])))
		}
		out.groups(f)
		out.roots(f)
		if len(f.Unmodelled) > 0 {
			out.line("ranges known only from the type: %s", strings.Join(f.Unmodelled, ", "))
		}
	}
	return out.err
}

// printer writes lines until one fails.
type printer struct {
	w        io.Writer
	o        TextOptions
	target   string
	function string // for zinc run; "" for the only one
	err      error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// groups prints one finding of each group, or all findings.
func (p *printer) groups(f *Function) {
	left, groups := 0, 0
	for k, g := range f.Groups {
		if k >= MaxGroups && !p.o.All {
			left += len(g.Findings)
			groups++
			continue
		}
		for i, at := range g.Findings {
			if i > 0 && !p.o.All {
				p.alike(f, g.Findings[1:])
				break
			}
			p.finding(f.Findings[at])
		}
	}
	if left > 0 {
		p.line("\n%d more findings of %d other kinds or statements%s", left, groups, p.others())
	}
}

// others states how to print what is omitted.
func (p *printer) others() string {
	if p.o.AllFlag == "" {
		return ""
	}
	return ": " + p.o.AllFlag + " prints them"
}

// alike names the places of the other findings of a group.
func (p *printer) alike(f *Function, rest []int) {
	var places []string
	for i, at := range rest {
		if i == maxAlike {
			more := fmt.Sprintf("%d more", len(rest)-i)
			if p.o.AllFlag != "" {
				more += " (" + p.o.AllFlag + ")"
			}
			places = append(places, more)
			break
		}
		x := f.Findings[at]
		if x.Line > 0 {
			places = append(places, fmt.Sprintf("%d:%d", x.Line, x.Col))
			continue
		}
		places = append(places, x.Statement)
	}
	p.line("  alike: %d more: %s", len(rest), strings.Join(places, ", "))
}

// roots prints where ranges lose their bounds.
func (p *printer) roots(f *Function) {
	if f.Unjudged == 0 {
		return
	}
	p.line("\nnot judged: %d of %d statements, which read values without bounds", f.Unjudged, f.Statements)
	for i, rs := range alikeRoots(f.Roots) {
		if i == maxRoots && !p.o.All {
			p.line("  %d more kinds of such values%s", len(alikeRoots(f.Roots))-i, p.others())
			break
		}
		n := 0
		var places []string
		for k, r := range rs {
			n += r.Behind
			switch {
			case k == 0 || k > maxAlike:
			case k == maxAlike:
				places = append(places, fmt.Sprintf("%d more", len(rs)-k))
			case r.Line > 0:
				places = append(places, fmt.Sprintf("%d:%d", r.Line, r.Col))
			default:
				places = append(places, r.Value)
			}
		}
		r := rs[0]
		what := r.Value
		if r.Op != "" {
			what += " (" + r.Op + ")"
		}
		p.line("  %d after %s, %s", n, what, place(r.File, p.o.Model, r.Line, r.Col))
		if len(places) > 0 {
			p.line("    and %d like it: %s", len(rs)-1, strings.Join(places, ", "))
		}
		if r.Rule != "" {
			p.line("    the finding %s is about it", r.Rule)
			continue
		}
		p.line("    instead: %s", r.Instead)
	}
}

// alikeRoots groups roots by operation and the rule of their finding, the group with the most dependent statements
// first.
func alikeRoots(roots []*Root) [][]*Root {
	var out [][]*Root
	at := map[[2]string]int{}
	sum := map[*Root]int{}
	for _, r := range roots {
		key := [2]string{r.Op, r.Rule}
		i, ok := at[key]
		if !ok || r.Op == "" {
			i = len(out)
			at[key] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], r)
		sum[out[i][0]] += r.Behind
	}
	slices.SortStableFunc(out, func(a, b []*Root) int { return cmp.Compare(sum[b[0]], sum[a[0]]) })
	return out
}

func (p *printer) finding(x *Finding) {
	p.line("\n%s: %s: %s (%s, %s on the %s)", place(x.File, p.o.Model, x.Line, x.Col), x.State, x.Rule, x.Statement,
		x.Op, x.Unit)
	if x.Source != "" {
		p.line("  | %s", x.Source)
	}
	p.line("  interval: %s from %s to %s, limit %s", x.Value, interval.Number(float64(x.Interval[0])),
		interval.Number(float64(x.Interval[1])), x.Limit)
	switch s := x.Seen; {
	case s == nil:
	case s[0] == s[1]:
		p.line("  recorded: always %s in test runs%s", interval.Number(float64(s[0])), times(x.Gap))
	default:
		p.line("  recorded: from %s to %s in test runs%s", interval.Number(float64(s[0])),
			interval.Number(float64(s[1])),
			times(x.Gap))
	}
	if x.Detail != "" {
		p.line("  here: %s", x.Detail)
	}
	p.line("  why: %s", x.Why)
	p.line("  instead: %s", x.Instead)
	if x.Cut != nil {
		p.cut(x)
	}
	if x.How != "" {
		p.line("  input: %s; the limit is met by %s", x.How, interval.Number(float64(*x.Reached)))
	}
	if e := x.told(); e != nil {
		p.line("  output %s[%d]: %s %s, interpreter %s, exact %s", e.Output, e.Index, e.By,
			interval.Number(float64(e.Engine)),
			interval.Number(float64(e.Interpreter)), interval.Number(float64(e.Exact)))
	}
	p.run(x)
	if x.First != "" {
		at := x.First
		if x.FirstLine > 0 {
			at += fmt.Sprintf(" (line %d)", x.FirstLine)
		}
		p.line("  first: repair %s; this finding assumes that it is clipped to its limit", at)
	} else if x.Behind {
		p.line("  earlier: a statement before this one may return infinity or NaN; this one is judged as if no NaN " +
			"resulted")
	}
	if x.Taints > 0 {
		p.line("  later: %s judged as if this result were clipped to its limit", diag.Count(x.Taints,
			"statement is", "statements are"))
	}
	if x.Note != "" {
		p.line("  note: %s", x.Note)
	}
}

// told returns the evidence of a finding: from an output of the whole model or from one of the cut.
func (x *Finding) told() *witness.Evidence {
	if x.Evidence == nil && x.Cut != nil {
		return x.Local
	}
	return x.Evidence
}

// times describes a gap in words.
func times(gap verify.Number) string {
	switch g := float64(gap); {
	case g == 1:
		return "; the limit is among them"
	case math.IsInf(g, 1):
		return ""
	default:
		return fmt.Sprintf("; they reach %.2g %% of the limit", 100/g)
	}
}

// factor formats a factor with its significant digits.
func factor(x float64) string {
	if x >= 100 {
		return interval.Number(math.Round(x))
	}
	return fmt.Sprintf("%.3g", x)
}

// cut prints the operands with which a finding is shown alone.
func (p *printer) cut(x *Finding) {
	c := x.Cut
	what := "the statement"
	if c.Statements > 1 {
		what = fmt.Sprintf("the statement and those around it (%d)", c.Statements)
	}
	p.line("  alone: %s cut out as a model; %s", what, origin(c))
	for _, o := range c.Operands {
		s := fmt.Sprintf("    %s %s from %s to %s", o.Name, o.Type, interval.Number(float64(o.Used[0])),
			interval.Number(float64(o.Used[1])))
		switch {
		case o.From == witness.FromInput:
			s += ": an input of the whole model"
		case o.Seen != nil:
			s += fmt.Sprintf(": recorded %s to %s, interval %s to %s", interval.Number(float64(o.Seen[0])),
				interval.Number(float64(o.Seen[1])), interval.Number(float64(o.Interval[0])),
				interval.Number(float64(o.Interval[1])))
		default:
			s += fmt.Sprintf(": interval %s to %s", interval.Number(float64(o.Interval[0])),
				interval.Number(float64(o.Interval[1])))
		}
		p.line("%s", s)
	}
	var clips []string
	for _, o := range c.Operands {
		if o.Safe != nil && o.Safe[0] < o.Safe[1] {
			clips = append(clips, fmt.Sprintf("%s to %s..%s", o.Name, interval.Number(float64(o.Safe[0])),
				interval.Number(float64(o.Safe[1]))))
		}
	}
	if len(clips) > 0 {
		p.line("    to rule it out: clip %s, or narrow the ranges of the inputs until the operands are in these ranges",
			strings.Join(clips, " and "))
	}
	if c.Reduced != "" {
		p.line("    reduced extents: %s", c.Reduced)
	}
}

// origin describes how far the operands of the cut are from those recorded in the whole model.
func origin(c *witness.Cut) string {
	interval := slices.ContainsFunc(c.Operands, func(o witness.Operand) bool { return o.From == witness.FromInterval })
	switch {
	case !interval && slices.ContainsFunc(c.Operands, func(o witness.Operand) bool {
		return o.From == witness.FromRuns
	}):
		return "its operands are in ranges recorded in runs of the whole model"
	case !interval:
		return "its operands are inputs of the whole model"
	case math.IsInf(float64(c.Factor), 0):
		return "its operands are in their intervals, and are only 0 in recorded runs; no input of the whole model " +
			"is known to produce them"
	case c.Factor == 0:
		return "its operands are in their intervals; no input of the whole model is known to produce them"
	}
	return "its operands have ranges up to " + factor(float64(c.Factor)) + " times as wide as in recorded runs, " +
		"within their intervals; no input of the whole model is known to produce them"
}

// run prints the command that repeats a finding whose inputs were written.
func (p *printer) run(x *Finding) {
	if len(x.Files) == 0 {
		return
	}
	names := slices.Sorted(maps.Keys(x.Files))
	words := []string{"zinc", "run"}
	if x.Cut != nil {
		words = append(words, x.Cut.Model)
	} else {
		words = append(append(words, p.o.Path), p.o.Flags...)
		if p.function != "" {
			words = append(words, "--func", p.function)
		}
	}
	if slices.Contains(target.Compiled(), p.target) && p.target != p.o.Target {
		words = append(words, "--target", p.target)
	}
	if e := x.told(); e != nil && e.By == witness.ByANE {
		words = append(words, "--engine", "interp", "--numerics", "ane")
	}
	for _, n := range names {
		words = append(words, "--input", n+"="+x.Files[n])
	}
	if p.o.Join == nil {
		p.line("  run: %s", strings.Join(words, " "))
		return
	}
	p.line("  run: %s", p.o.Join(words))
}

// SARIF returns the findings as one run per target. Findings that fail the command under failOn are errors.
func SARIF(model, version string, reports []*Report, failOn string) (runs []sarif.Run) {
	for _, r := range reports {
		run := sarif.Run{
			Tool:       "zinc",
			Version:    version,
			ID:         "zinc lint/" + r.Target + "/",
			Properties: map[string]any{"target": r.Target},
		}
		for _, rule := range Rules {
			run.Rules = append(run.Rules, sarif.Rule{ID: rule.Name, Doc: rule.Doc, Help: rule.Why + " " + rule.Instead})
		}
		for _, f := range r.Functions {
			for _, x := range f.Findings {
				run.Findings = append(run.Findings, x.sarif(model, f.Name, failOn))
			}
		}
		runs = append(runs, run)
	}
	return runs
}

func (x *Finding) sarif(model, function, failOn string) sarif.Finding {
	level := sarif.Note
	if x.State != Possible {
		level = sarif.Warning
	}
	if Fails(x.State, failOn) {
		level = sarif.Error
	}
	msg := fmt.Sprintf("%s %q: %s is from %s to %s, the limit is %s. %s Instead: %s", x.Op, x.Statement, x.Value,
		interval.Number(float64(x.Interval[0])), interval.Number(float64(x.Interval[1])), x.Limit, x.Why, x.Instead)
	props := map[string]any{
		"state":     x.State,
		"operation": x.Op,
		"function":  function,
		"unit":      x.Unit,
		"limit":     x.Limit,
		"interval":  x.Interval,
	}
	if x.Seen != nil {
		props["recorded"], props["gap"] = x.Seen, x.Gap
	}
	if e := x.told(); e != nil {
		where := "output"
		if x.Cut != nil {
			where = "alone, " + origin(x.Cut) + "; output"
			props["alone"] = x.Cut
		}
		msg += fmt.Sprintf(" Shown: %s %s[%d] is %s on the %s, exactly %s.", where, e.Output, e.Index,
			interval.Number(float64(e.Engine)), e.By, interval.Number(float64(e.Exact)))
		props["evidence"] = e
	}
	if x.First != "" {
		msg += fmt.Sprintf(" Repair %q first: this finding assumes that it is clipped to its limit.", x.First)
		props["first"] = x.First
	}
	if len(x.Files) > 0 {
		props["inputs"] = x.Files
	}
	return sarif.Finding{
		Rule:       x.Rule,
		Level:      level,
		Message:    msg,
		File:       model,
		Line:       int(x.Line),
		Col:        int(x.Col),
		Name:       x.Statement,
		Properties: props,
	}
}

// FailOn are the values that select the findings that fail a command: none, then each a less certain state with all
// those before it.
var FailOn = []string{"none", Shown, "alone", Possible}

// Fails reports whether a finding of a state fails the command under a value of FailOn.
func Fails(state, failOn string) bool {
	return slices.Index(States, state) < slices.Index(FailOn, failOn)
}
