package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/zinc-compiler/zinc/internal/atomicfile"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/report"
	"github.com/zinc-compiler/zinc/verify"
)

// reportOutput is one requested report.
type reportOutput struct {
	format *report.Format
	file   string // "" for standard output
}

// reportFlag is the value of --report, which may be repeated.
type reportFlag struct{ list []reportOutput }

// noReport is the value of --report for none.
const noReport = "none"

func (r *reportFlag) register(f *pflag.FlagSet) {
	var docs []string
	for _, x := range report.Formats {
		docs = append(docs, fmt.Sprintf("%s (%s)", x.Name, x.Doc))
	}
	f.Var(r, "report", "write a report to standard output or a file: "+
		strings.Join(docs, ", ")+" (repeatable)")
}

func (r *reportFlag) Type() string { return "FORMAT[=FILE]" }

func (r *reportFlag) String() string {
	var ss []string
	for _, o := range r.list {
		s := o.format.Name
		if o.file != "" {
			s += "=" + o.file
		}
		ss = append(ss, s)
	}
	return strings.Join(ss, ",")
}

// Set implements pflag.Value.
func (r *reportFlag) Set(s string) error {
	name, file, toFile := strings.Cut(s, "=")
	if file == stdoutName {
		file, toFile = "", false
	}
	if name == noReport && !toFile {
		r.list = nil
		return nil
	}
	format := report.Lookup(name)
	switch {
	case format == nil:
		return fmt.Errorf("must be %s or %s, optionally with =FILE", noReport,
			strings.Join(report.Names(), " or "))
	case toFile && file == "":
		return fmt.Errorf("missing file name after %s=", name)
	case !toFile && r.stdout() != nil:
		return fmt.Errorf("%s already goes to standard output; write one of the two to a file with %s=FILE", r.stdout().
			Name, name)
	}
	for _, o := range r.list {
		if toFile && o.file != "" && filepath.Clean(o.file) == filepath.Clean(file) {
			return fmt.Errorf("%s is written twice", file)
		}
	}
	r.list = append(r.list, reportOutput{format, file})
	return nil
}

// stdout returns the format that goes to standard output, nil for none.
func (r *reportFlag) stdout() *report.Format {
	for _, o := range r.list {
		if o.file == "" {
			return o.format
		}
	}
	return nil
}

// apart returns a report's file that is also one of paths, "" for none.
func (r *reportFlag) apart(others ...string) error {
	for _, o := range r.list {
		for _, p := range others {
			if o.file != "" && p != "" && (filepath.Clean(o.file) == filepath.Clean(p) || sameFile(o.file, p)) {
				return usagef("--report %s=%s would replace %s", o.format.Name, o.file, p)
			}
		}
	}
	return nil
}

// files returns the reports that go into files.
func (r *reportFlag) files(d *report.Document) []atomicfile.File {
	var fs []atomicfile.File
	for _, o := range r.list {
		if o.file != "" {
			write := func(w io.Writer) error { return o.format.Write(w, d) }
			fs = append(fs, atomicfile.File{Path: o.file, Write: write})
		}
	}
	return fs
}

// print writes the report for standard output.
func (r *reportFlag) print(e *env, d *report.Document) error {
	switch f := r.stdout(); {
	case f == nil:
		return nil
	case f.Name == report.TextFormat:
		return e.printText(answerTints, func(w io.Writer) error { return f.Write(w, d) })
	default:
		return f.Write(e.out, d)
	}
}

// budgetFlags are the limits of a build.
type budgetFlags struct{ limits map[string]float64 }

func (b *budgetFlags) register(f *pflag.FlagSet) {
	b.limits = map[string]float64{}
	for i := range report.Budgets {
		x := &report.Budgets[i]
		f.Var(&limitFlag{x, b.limits}, x.ID, x.Doc)
	}
}

// runs reports whether one of the limits requires a run.
func (b *budgetFlags) runs() bool {
	_, set := b.limits[report.MaxError]
	return set
}

// run compiles the model of path again and runs it on the random inputs of the first seed, as zinc verify does, if a
// limit requires that.
func (b *budgetFlags) run(ctx context.Context, f *compileFlags, e *env, path string) ([]report.Violation, error) {
	if !b.runs() {
		return nil, nil
	}
	quiet := e.silent() // the model's warnings are printed already
	m, err := f.open(quiet, path)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	p := e.newProgress(f.progress)
	defer p.end()
	o, err := f.options(quiet, m.Path, p)
	if err != nil {
		return nil, err
	}
	r, err := verify.Run(ctx, m.Program, verify.Options{
		Compile:  o,
		Seed:     firstSeed,
		Workers:  f.workers,
		Progress: p.step,
	})
	if fault := (*verify.FaultError)(nil); errors.As(err, &fault) {
		return nil, &internalError{err: err}
	}
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", report.MaxError, err)
	}
	return report.JudgeOutputs(r.Report.Target, outputErrors(r), b.limits), nil
}

// firstSeed is the default seed of random inputs.
const firstSeed = 1

// outputErrors are the largest errors of a run's outputs.
func outputErrors(r *verify.Result) []report.OutputError {
	out := make([]report.OutputError, len(r.Outputs))
	for i, o := range r.Outputs {
		out[i] = report.OutputError{Name: o.Name, Error: float64(o.MaxAbs)}
	}
	return out
}

// compiles returns the name of a limit that requires a compilation, "" for none.
func (b *budgetFlags) compiles() string {
	for _, x := range report.Budgets {
		if _, set := b.limits[x.ID]; set && x.Tasks {
			return x.ID
		}
	}
	return ""
}

// limitFlag is the value of one budget's flag.
type limitFlag struct {
	budget *report.Budget
	limits map[string]float64
}

func (l *limitFlag) Type() string { return "limit" }

func (l *limitFlag) String() string {
	if l.budget == nil { // as pflag requires for an empty value
		return ""
	}
	if v, set := l.limits[l.budget.ID]; set {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return ""
}

// Set implements pflag.Value.
func (l *limitFlag) Set(s string) error {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return errors.New("must be a number")
	}
	if err := l.budget.Check(v); err != nil {
		return err
	}
	l.limits[l.budget.ID] = v
	return nil
}

// violations prints the exceeded budgets, one line each, and returns the error for them, nil for none.
func (e *env) violations(command string, vs []report.Violation) error {
	if len(vs) == 0 {
		return nil
	}
	if e.diagnostics == "json" {
		var list diag.List
		for i := range vs {
			list.Add(diag.Diagnostic{Severity: diag.Error, Message: vs[i].Message()})
		}
		jsonform.Document(e.err, list.Document())
	} else {
		for i := range vs {
			e.complain(fmt.Sprintf("zinc: %s%s\n", command, vs[i].Message()))
		}
	}
	return &exitError{err: errors.New("budgets exceeded"), status: statusBudget, shown: true}
}
