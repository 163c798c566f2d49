package prove

import (
	"fmt"
	"io"

	"github.com/zinc-compiler/zinc/internal/diag"
)

// Text writes the result as text.
func (r *Result) Text(w io.Writer) error {
	for i := range r.Functions {
		f := &r.Functions[i]
		if err := f.text(w); err != nil {
			return err
		}
		if f.Source != nil {
			if _, err := io.WriteString(w, f.Source.text(f.Name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *FunctionResult) text(w io.Writer) error {
	elements, wrong := 0, 0
	for i := range f.Outputs {
		elements += f.Outputs[i].Elements
		if f.Outputs[i].Wrong > 0 {
			wrong++
		}
	}
	outputs := diag.Count(len(f.Outputs), "output", "outputs")
	var err error
	if f.Verdict == Proved {
		_, err = fmt.Fprintf(w, "%s: proved: %s of %d elements, %s\n", f.Name, outputs, elements,
			diag.Count(f.Tasks, "task", "tasks"))
		return err
	}
	_, err = fmt.Fprintf(w, "%s: %s: %d of %s differ\n", f.Name, map[Verdict]string{
		Wrong: "the pair is wrong", Open: "cannot conclude",
	}[f.Verdict], wrong, outputs)
	for i := range f.Outputs {
		if o := &f.Outputs[i]; o.Wrong > 0 && err == nil {
			_, err = fmt.Fprintf(w, "  %s: %d of %d elements differ, the first is element %d%s\n", o.Name, o.Wrong,
				o.Elements, o.Element, o.place())
		}
	}
	if d := f.First; d != nil && err == nil {
		_, err = fmt.Fprintf(w, "  first statement: %s%s; task %d of procedure %s computes %d of its elements, no "+
			"task computes element %d\n", d.Statement, d.line(), d.Task, d.Procedure, d.Elements-d.Missing, d.Element)
	}
	for _, why := range f.Reasons {
		if err == nil {
			_, err = fmt.Fprintf(w, "  %s\n", why)
		}
	}
	return err
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

func (d *Departure) line() string {
	if d.Line == 0 {
		return ""
	}
	return fmt.Sprintf(", line %d", d.Line)
}
