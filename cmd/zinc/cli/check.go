package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/atomicfile"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/internal/sarif"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/report"
	"github.com/zinc-compiler/zinc/target"
)

// checkCommand is the state of `zinc check MODEL`.
type checkCommand struct {
	*env
	compileFlags
	json, sarif   bool
	requireEngine bool
	budgets       budgetFlags
	reports       reportFlag
	flags         *pflag.FlagSet
	path          string // path of the model, as passed
}

func newCheck(e *env) *cobra.Command {
	c := &checkCommand{env: e}
	cmd := &cobra.Command{
		Use:     "check MODEL",
		GroupID: groupModel,
		Short:   "Show where each operation of a model runs, and why",
		Long: `Check places the operations of MODEL for one or more targets, without writing anything.
For each operation it prints engine or CPU; for one on the CPU also the rule that keeps
it there, the value that breaks the rule, the target's limit, and a rewrite if one is
known. For each dispatch it prints what separates it from the one before, and the
command that explains the operations on the CPU and looks for rewrites. Targets that
zinc cannot write programs for can be checked too: their published limits and gates are
used with the rules of h13.

--report writes the reports of the compile command, for one target: with tasks and
estimates if zinc can write programs for it, otherwise only the placement. A report on
standard output replaces the text.

With --require-engine or a budget the exit status is 1 when the model fails on any of
the targets; each exceeded budget has a line with its value, its limit and the largest
contributors. --max-weight-bytes, --max-estimate-us and --max-error require a
compilation, and so a target that zinc can write programs for.`,
		Example: `  zinc check model.mlmodelc
  zinc check model.mil --target h13,h14,h15 --precision fp16
  zinc check model.mil --require-engine --sarif >placement.sarif
  zinc check model.mil --max-dispatches 2 --min-engine-macs 99
  zinc check model.mil --report markdown=placement.md --report html=placement.html`,
		Args: operands(1, 1, "one MODEL"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	c.model(f)
	f.Lookup("target").Usage = "hardware `TARGETS`, separated by commas, or all: " + strings.Join(target.Names(), ", ")
	for _, name := range []string{"split-kernel-section", "td-form", "workers"} {
		f.MarkHidden(name) // nothing is packed
	}
	f.BoolVar(&c.json, "json", false, "print JSON")
	f.BoolVar(&c.sarif, "sarif", false, "print SARIF 2.1.0, a result for each operation on the CPU")
	f.BoolVar(&c.requireEngine, "require-engine", false, "fail if any operation runs on the CPU")
	c.reports.register(f)
	c.budgets.register(f)
	c.flags = f
	return cmd
}

// checkResult is what `zinc check --json` prints.
type checkResult struct {
	Model   string         `json:"model"` // path of the text
	Targets []targetResult `json:"targets"`
}

// targetResult is the placement on one target.
type targetResult struct {
	*compile.Report
	EngineOpsPercent  float64            `json:"engine_ops_percent"`
	EngineMACsPercent float64            `json:"engine_macs_percent"` // 100 if there are none
	Failures          []string           `json:"failures,omitempty"`  // of --require-engine and of budgets, as text
	Violations        []report.Violation `json:"violations,omitempty"`
	// Explain has an element for each operation that the engine refuses.
	Explain []suggestion `json:"explain,omitempty"`
}

func (c *checkCommand) run(ctx context.Context, path string) error {
	c.path = path
	if c.json && c.sarif {
		return usagef("check: --json and --sarif cannot be combined")
	}
	names := strings.Split(c.target, ",")
	if c.target == "all" {
		names = target.Names()
	}
	switch {
	case c.reports.stdout() != nil && (c.json || c.sarif):
		return usagef("check: --report on standard output conflicts with --json and --sarif; choose one, or write "+
			"the report to a file with --report %s=FILE", c.reports.stdout().Name)
	case c.reports.list != nil && len(names) > 1:
		return usagef("check: --report supports one target, --target names %d", len(names))
	}
	flags := make([]compileFlags, len(names))
	for i, n := range names {
		flags[i] = c.compileFlags
		flags[i].target = strings.TrimSpace(n)
		if err := flags[i].check(); err != nil {
			return err
		}
		if b := c.budgets.compiles(); b != "" && !slices.Contains(target.Compiled(), flags[i].target) {
			return usagef("check: --%s requires a compilation, and zinc cannot write programs for %s, only "+
				"for %s", b, flags[i].target, strings.Join(target.Compiled(), ", "))
		}
	}
	var r checkResult
	var doc *report.Document // of the only target where there are reports
	for i := range flags {
		t, text, err := c.place(ctx, &flags[i], path, i == 0)
		if err != nil {
			return err
		}
		if err := c.reports.apart(text); err != nil {
			return err
		}
		r.Model = filepath.ToSlash(text)
		doc = c.document(r.Model, &t)
		r.Targets = append(r.Targets, t)
	}
	if err := atomicfile.Write(ctx, c.reports.files(doc)...); err != nil {
		return err
	}
	if c.reports.stdout() != nil {
		if err := c.reports.print(c.env.out, doc); err != nil {
			return err
		}
	} else if err := c.print(&r); err != nil {
		return err
	}
	var vs []report.Violation
	var fails []string
	for _, t := range r.Targets {
		vs = append(vs, t.Violations...)
		fails = append(fails, t.Failures[:len(t.Failures)-len(t.Violations)]...)
	}
	passed := c.violations("check: ", vs)
	if len(fails) > 0 {
		return errors.New("check: " + strings.Join(fails, "; "))
	}
	return passed
}

// place plans the model for one target. Planning rewrites the program, so each target opens the model again; warnings
// are printed once.
func (c *checkCommand) place(ctx context.Context, f *compileFlags, path string, first bool) (targetResult, string,
	error) {
	quiet := *c.env
	if !first {
		quiet.err = io.Discard
	}
	m, err := f.open(&quiet, path)
	if err != nil {
		return targetResult{}, "", err
	}
	defer m.Close()
	p := c.newProgress(f.progress)
	defer p.end()
	o, err := f.options(c.env, m.Path, p)
	if err != nil {
		return targetResult{}, "", err
	}
	rep, err := c.report(ctx, m.Program, o)
	if err != nil {
		return targetResult{}, "", err
	}
	t := targetResult{
		Report:            rep,
		EngineOpsPercent:  report.Percent(int64(rep.EngineOps), int64(rep.CPUOps)),
		EngineMACsPercent: report.Percent(rep.EngineMACs, rep.CPUMACs),
	}
	rep.Timings = nil // not a fact about the model
	if c.requireEngine && rep.CPUOps > 0 {
		n := rep.CPUOps
		t.Failures = append(t.Failures, fmt.Sprintf("%s on the CPU for %s; --require-engine allows none",
			diag.Count(n, "operation runs", "operations run"), rep.Target))
	}
	t.Explain = newExplains(path, c.flags, rep).list(rep)
	ran, err := c.budgets.run(ctx, f, c.env, path)
	if err != nil {
		return targetResult{}, "", err
	}
	t.Violations = append(report.Judge(rep, c.budgets.limits), ran...)
	for i := range t.Violations {
		t.Failures = append(t.Failures, t.Violations[i].String())
	}
	return t, m.Path, nil
}

// report places the program, or compiles it if a budget or a report requires a compilation.
func (c *checkCommand) report(ctx context.Context, p *ir.Program, o compile.Options) (*compile.Report, error) {
	if c.budgets.compiles() == "" && (c.reports.list == nil || o.Target.TD == 0) {
		return compile.Plan(ctx, p, o)
	}
	r, err := compile.Compile(ctx, p, o)
	if err != nil {
		return nil, err
	}
	return r.Report, nil
}

func (c *checkCommand) print(r *checkResult) error {
	switch {
	case c.json:
		return jsonform.Write(c.env.out, r)
	case c.sarif:
		return sarif.Write(c.env.out, c.sarifRuns(r)...)
	}
	for i := range r.Targets {
		if i > 0 {
			fmt.Fprintln(c.env.out)
		}
		if err := r.Targets[i].text(c.env.out, r.Model); err != nil {
			return err
		}
	}
	return nil
}

// sarifRuns returns one run per target, with one finding per operation on the CPU.
func (c *checkCommand) sarifRuns(r *checkResult) []sarif.Run {
	var runs []sarif.Run
	level := sarif.Note
	if c.requireEngine {
		level = sarif.Error
	}
	for i := range r.Targets {
		runs = append(runs, report.Review(c.document(r.Model, &r.Targets[i]), "zinc check", level))
	}
	return runs
}

// document returns the input of reports: the placement on one target.
func (c *checkCommand) document(model string, t *targetResult) *report.Document {
	return &report.Document{
		Model:      model,
		Report:     t.Report,
		Violations: t.Violations,
		Explain:    newExplains(c.path, c.flags, t.Report).command,
	}
}
