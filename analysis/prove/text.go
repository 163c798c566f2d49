package prove

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/zinc-compiler/zinc/internal/diag"
)

// Text writes the result as text.
func (r *Result) Text(w io.Writer, o TextOptions) error {
	var b strings.Builder
	for i := range r.Functions {
		f := &r.Functions[i]
		f.text(&b)
		if f.Source != nil {
			f.Source.text(&b, f.Name, o)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (f *FunctionResult) text(b *strings.Builder) {
	elements, wrong := 0, 0
	for i := range f.Outputs {
		elements += f.Outputs[i].Elements
		if f.Outputs[i].Wrong > 0 {
			wrong++
		}
	}
	outputs := diag.Count(len(f.Outputs), "output", "outputs")
	switch f.Verdict {
	case Proved:
		fmt.Fprintf(b, "%s: the bytes are proved: %s of %d elements, %s\n", f.Name, outputs, elements,
			diag.Count(f.Tasks, "task", "tasks"))
		return
	case Wrong:
		fmt.Fprintf(b, "%s: the pair is wrong: %d of %s differ\n", f.Name, wrong, outputs)
	default:
		fmt.Fprintf(b, "%s: the bytes are not concluded: %d of %s differ\n", f.Name, wrong, outputs)
	}
	for i := range f.Outputs {
		if o := &f.Outputs[i]; o.Wrong > 0 {
			fmt.Fprintf(b, "  %s: %d of %d elements differ, the first is %s%s\n", o.Name, o.Wrong, o.Elements,
				indexText(o.Element, o.Index), o.place())
			if o.Missing != 0 {
				fmt.Fprintf(b, "  %s: the pair has %d elements, the program %d\n", o.Name, o.Elements-o.Missing,
					o.Elements)
			}
		}
	}
	if d := f.First; d != nil {
		fmt.Fprintf(b, "  first statement: %s%s; %s\n", d.Statement, line(d.Line), d.missing())
	}
	for _, why := range f.Reasons {
		fmt.Fprintf(b, "  %s\n", why)
	}
}

// missing says which elements of a value are missing.
func (d *Departure) missing() string {
	at := indexText(d.Element, d.Index)
	of := fmt.Sprintf("its %d elements", d.Elements)
	if d.LookedFor > 0 {
		of = fmt.Sprintf("the %d that were looked for of %s", d.LookedFor, of)
	}
	if !d.inPart() {
		return fmt.Sprintf("no task computes any of %s, nor what is computed from it: it is wrong, or a "+
			"statement that is fused with it", of)
	}
	return fmt.Sprintf("task %d of procedure %s computes %d of %s, no task computes %s", d.Task, d.Procedure,
		cmp.Or(d.LookedFor, d.Elements)-d.Missing, of, at)
}

// place describes the position of the first element that differs.
func (o *Output) place() string {
	if o.Where == nil {
		return ""
	}
	by := "which no task wrote"
	if o.Where.Procedure != "" {
		by = fmt.Sprintf("written by task %d of procedure %s", o.Where.Task, o.Where.Procedure)
	}
	return fmt.Sprintf(", at %#x of %s, %s", o.Where.Address, o.Where.Buffer, by)
}

// line names the line of a statement, if it is known.
func line(n int32) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", line %d", n)
}

// TextOptions control the text of a result.
type TextOptions struct {
	All bool // every statement of the source that is not proved exactly, instead of one for each reason
	// AllFlag is what the user sets for All; it is printed where statements are left out. "" for nothing.
	AllFlag string
	// WorkFlag is what the user sets for Options.Work; it is printed if more would compare statements. "" for nothing.
	WorkFlag string
}

// verdicts name the verdicts on statements.
var verdicts = map[Verdict]string{
	Proved:  "proved up to the rounding of constants",
	Checked: "checked",
	Open:    "not concluded",
}

// text writes the counts of statements, and those that are not proved, or with o.All not exactly.
func (r *SourceResult) text(b *strings.Builder, name string, o TextOptions) {
	fmt.Fprintf(b, "%s: the source: %s proved", name, diag.Count(r.Proved, "statement", "statements"))
	if r.Rounded > 0 {
		fmt.Fprintf(b, " (%d up to the rounding of constants)", r.Rounded)
	}
	if r.Checked > 0 {
		fmt.Fprintf(b, ", %d checked by samples", r.Checked)
	}
	if r.Open > 0 {
		fmt.Fprintf(b, ", %d not concluded", r.Open)
	}
	b.WriteString("\n")
	type reason struct {
		verdict Verdict
		why     string
	}
	count := map[reason]int{}
	for _, st := range r.Statements {
		count[reason{st.Verdict, st.Why}]++
	}
	left, work := false, int64(0)
	for _, st := range r.Statements {
		work = max(work, st.Work)
		k := reason{st.Verdict, st.Why}
		n := count[k]
		if !o.All {
			if st.Verdict == Proved || n == 0 {
				continue
			}
			count[k] = 0
		}
		b.WriteString("  " + st.Statement + line(st.Line))
		if !o.All && n > 1 {
			fmt.Fprintf(b, " (and %d more)", n-1)
			left = true
		}
		fmt.Fprintf(b, ": %s: %s\n", verdicts[st.Verdict], st.Why)
	}
	if left && o.AllFlag != "" {
		fmt.Fprintf(b, "  %s lists every statement\n", o.AllFlag)
	}
	if work > 0 && o.WorkFlag != "" {
		fmt.Fprintf(b, "  %s %d compares them on samples\n", o.WorkFlag, work)
	}
}
