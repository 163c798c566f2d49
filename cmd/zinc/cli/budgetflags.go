package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/inspect/report"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/jsonform"
)

// budgetFlags are the limits of a build.
type budgetFlags struct {
	limits map[string]float64
	base   string // model that limits of growth compare with
}

func (b *budgetFlags) register(f *pflag.FlagSet) {
	b.limits = map[string]float64{}
	for i := range report.Budgets {
		x := &report.Budgets[i]
		f.Var(&limitFlag{x, b.limits}, x.ID, x.Doc)
	}
	f.StringVar(&b.base, "base", "", "`MODEL` that the limits of growth compare with, compiled with the same flags")
}

// check reports a base without a limit that compares with it, and the reverse.
func (b *budgetFlags) check() error {
	var ids []string
	for i := range report.Budgets {
		x := &report.Budgets[i]
		if x.Growth == report.Absolute {
			continue
		}
		if _, set := b.limits[x.ID]; set && b.base == "" {
			return usagef("--%s compares with a base; name it with --base MODEL", x.ID)
		} else if set {
			return nil
		}
		ids = append(ids, "--"+x.ID)
	}
	if b.base != "" {
		return usagef("--base requires a limit that compares with it: %s", strings.Join(ids, ", "))
	}
	return nil
}

// judge compares a report of a model that was compiled with flags f with the limits. It compiles the base.
func (b *budgetFlags) judge(ctx context.Context, f *compileFlags, e *env, r *compile.Report) ([]report.Violation,
	error) {
	if b.base == "" {
		return report.Judge(r, nil, b.limits), nil
	}
	t, err := lookupTarget(f.target)
	if err != nil {
		return nil, usagef("--target: %w", err)
	}
	p := e.newProgress(f.progress)
	base, err := f.reported(ctx, e, b.base, t, p)
	if p.end(); err != nil {
		return nil, fmt.Errorf("--base %s: %w", b.base, err)
	}
	for _, name := range report.Unmatched(r, base) {
		e.note("the base has no function %s, so limits of growth do not judge it", name)
	}
	return report.Judge(r, base, b.limits), nil
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
	text := s
	if l.budget.IsPercent() {
		text = strings.TrimSpace(strings.TrimSuffix(s, "%"))
	}
	v, err := strconv.ParseFloat(text, 64)
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
