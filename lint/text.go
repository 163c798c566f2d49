package lint

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/internal/sarif"
)

// Counts returns how many findings are shown and how many are possible.
func (f *Function) Counts() (shown, possible int) {
	for _, x := range f.Findings {
		if x.State == Shown {
			shown++
		} else {
			possible++
		}
	}
	return shown, possible
}

// place is where a finding stands, as compilers print it.
func (x *Finding) place(model string) string {
	file := x.File
	if file == "" {
		file = model
	}
	if x.Line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d:%d", file, x.Line, x.Col)
}

// Text writes the report for people. model is the path of the text, path what
// zinc run takes.
func (r *Report) Text(w io.Writer, model, path string) error {
	for i, f := range r.Functions {
		if i > 0 {
			fmt.Fprintln(w)
		}
		shown, possible := f.Counts()
		fmt.Fprintf(w, "%s, function %s, target %s: %d shown, %d possible\n", model, f.Name, r.Target, shown, possible)
		for _, in := range f.Inputs {
			fmt.Fprintf(w, "  input %s %s from %s to %s\n", in.Name, in.Type, number(in.Range[0]), number(in.Range[1]))
		}
		for _, state := range []string{Shown, Possible} {
			for _, x := range f.Findings {
				if x.State == state {
					x.text(w, model, path)
				}
			}
		}
		if f.Unjudged > 0 {
			fmt.Fprintf(w, "\nnot judged, since they read values without bounds, mostly behind a finding: %d of %d statements\n", f.Unjudged, f.Statements)
		}
		if len(f.Unmodelled) > 0 {
			fmt.Fprintf(w, "judged by their type alone: %s\n", strings.Join(f.Unmodelled, ", "))
		}
	}
	_, err := io.WriteString(w, "")
	return err
}

func (x *Finding) text(w io.Writer, model, path string) {
	fmt.Fprintf(w, "\n%s: %s: %s (%s, %s on the %s)\n", x.place(model), x.State, x.Rule, x.Statement, x.Op, x.Unit)
	if x.Source != "" {
		fmt.Fprintf(w, "  | %s\n", x.Source)
	}
	fmt.Fprintf(w, "  interval: %s from %s to %s, limit %s\n", x.Value, number(float64(x.Interval[0])), number(float64(x.Interval[1])), x.Limit)
	if x.Detail != "" {
		fmt.Fprintf(w, "  here: %s\n", x.Detail)
	}
	fmt.Fprintf(w, "  why: %s\n", x.Why)
	fmt.Fprintf(w, "  instead: %s\n", x.Instead)
	if x.How != "" {
		fmt.Fprintf(w, "  input: %s; the limit is met by %s\n", x.How, number(float64(*x.Reached)))
	}
	if e := x.Evidence; e != nil {
		fmt.Fprintf(w, "  output %s[%d]: %s %s, interpreter %s, exact %s\n", e.Output, e.Index, e.By, number(float64(e.Engine)), number(float64(e.Interpreter)), number(float64(e.Exact)))
	}
	if len(x.Files) > 0 {
		var names []string
		for n := range x.Files {
			names = append(names, n)
		}
		slices.Sort(names)
		cmd := "zinc run " + path
		if e := x.Evidence; e != nil && e.By != BySimulator {
			mode := "ieee"
			if e.By == ByANE {
				mode = "ane"
			}
			cmd += " --engine interp --numerics " + mode
		}
		for _, n := range names {
			cmd += " --input " + n + "=" + x.Files[n]
		}
		fmt.Fprintf(w, "  run: %s\n", cmd)
	}
	if x.Behind {
		fmt.Fprintln(w, "  behind: an earlier statement may give infinity or NaN; this one is judged as if no NaN came of it")
	}
	if x.Note != "" {
		fmt.Fprintf(w, "  note: %s\n", x.Note)
	}
}

// SARIF writes the findings as a log with a run a target. failOn makes the
// findings that fail the command errors.
func SARIF(w io.Writer, model, version string, reports []*Report, failOn string) error {
	var runs []sarif.Run
	for _, r := range reports {
		run := sarif.Run{Tool: "zinc", Version: version, ID: "zinc lint/" + r.Target + "/", Properties: map[string]any{"target": r.Target}}
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
	return sarif.Write(w, runs...)
}

func (x *Finding) sarif(model, function, failOn string) sarif.Finding {
	level := sarif.Note
	if x.State == Shown {
		level = sarif.Warning
	}
	if failOn == Possible || failOn == x.State {
		level = sarif.Error
	}
	msg := fmt.Sprintf("%s %q: %s is from %s to %s, the limit is %s. %s Instead: %s", x.Op, x.Statement, x.Value,
		number(float64(x.Interval[0])), number(float64(x.Interval[1])), x.Limit, x.Why, x.Instead)
	props := map[string]any{"state": x.State, "operation": x.Op, "function": function, "unit": x.Unit, "limit": x.Limit, "interval": x.Interval}
	if e := x.Evidence; e != nil {
		msg += fmt.Sprintf(" Shown: output %s[%d] is %s by the %s, exactly %s.", e.Output, e.Index, number(float64(e.Engine)), e.By, number(float64(e.Exact)))
		props["evidence"] = e
	}
	if len(x.Files) > 0 {
		props["inputs"] = x.Files
	}
	return sarif.Finding{Rule: x.Rule, Level: level, Message: msg, File: model, Line: int(x.Line), Col: int(x.Col), Name: x.Statement, Properties: props}
}
