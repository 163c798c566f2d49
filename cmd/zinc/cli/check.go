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

	"github.com/zinc-compiler/zinc/analysis/reported"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/inspect/advice"
	"github.com/zinc-compiler/zinc/inspect/check"
	"github.com/zinc-compiler/zinc/inspect/explain"
	"github.com/zinc-compiler/zinc/inspect/report"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/internal/sarif"
	"github.com/zinc-compiler/zinc/internal/shellwords"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
	"github.com/zinc-compiler/zinc/transform/reduce"
)

// checkCommand is the state of `zinc check MODEL`.
type checkCommand struct {
	*env
	compileFlags
	json, sarif   bool
	all, cpu      bool
	sort          string
	advice        bool
	apply, output string
	work          int64
	seed          uint64
	requireEngine bool
	coreml        coremlFlags
	dump          dumpFlags
	budgets       budgetFlags
	reports       reportFlag
	flags         *pflag.FlagSet
	path          string // path of the model, as passed
}

func newCheck(e *env) *cobra.Command {
	c := &checkCommand{env: e}
	cmd := &cobra.Command{
		Use:     "check MODEL",
		GroupID: groupUnderstand,
		Short:   "Show where the time goes, what to change, what is on the CPU",
		Long: `Check compiles MODEL for one or more targets, without writing anything, and prints one page:
what a call is estimated to take and where the time goes, the changes that make the
whole model faster, by what they save, the time by kind of operation, and what is on the
CPU and why. A change is listed only if zinc applied it to the whole model and the
estimate is smaller; what a rewrite changes was also run and compared, unless that takes
more than --work, which the line then says. In a model of many equal layers changes are
tried on one of them first. --apply NAME -o FOLDER writes the changed
model. A change after which the model must be trained again says so and comes last. If
nothing helps, check says what was tried, and what bounds the largest costs.

With --all it prints every operation instead: engine or CPU, the time, and for one on the
CPU the rule that keeps it there, the value that breaks the rule, the target's limit, and
the command that explains it; then each dispatch and what separates it from the one
before. --cpu lists only the operations on the CPU. Targets that zinc cannot write
programs for can be checked too, without times: their published limits and gates are used
with the rules of h13. With --target all the answer begins with a table of the generations,
M1 to M6: what the engine accepts, a call with its grade, what stays on the CPU, and
whether zinc writes programs. An estimate is measured if its tasks are the target's own and
the rates are fitted to times of its chip, published if only the rates are its chip's, and
inferred otherwise. If no container has room for a model, its tasks are estimated as
parts of several, and the exit status is 1: zinc split cuts the model. For a model with
states the page says what it is worth as a language model: tokens a second, memory,
programs, and the class of its first load (docs/cost.md).

Public reports about Apple's compiler and runtime that apply to the model come last, apart
from zinc's own verdict: statement, effect, chips, link, and what to write instead
(docs/reported.md). Operations on the engine in a form that Apple's compiler refused in
records are counted apart in the share, and listed with --all.

--report writes the reports of the compile command, for one target: with tasks and
estimates if zinc can write programs for it, otherwise only the placement. With --target
all it is the default target's, with the table of the generations. A report on standard
output replaces the text.

With --as coreml it prints instead where Core ML itself is forecast to run each operation,
by the published rules of a chip and system (--rules; docs/coreml.md has their evidence):
the share on the engine, the segments, what is not on the engine and why, what the engine
gains and how far that is above what reaching it costs, and what would change the answer.

With --compare-plan FILE it compares the forecast with what Core ML decided on a Mac, in a
dump of MLComputePlan or of Core ML's analytics: Xcode's performance report, what
examples/coreml or one of a dozen public tools prints. Which operations are on another
device and why, how estimates and weights differ, and which operations were not joined.
The units are taken from the dump unless --units is set. A difference is not an
error; with --max-plan-differences N more than N are, and the exit status is 4.

A compiled container (.hwx) alone gets the time of its tasks: what a call of each procedure
takes and where it goes, what binds the slowest tasks, or all with --all, and how many are
of kinds recorded from Apple's compiler. --target then names a chip of its generation.

With --require-engine or a budget the exit status is 4 when the model fails on any of
the targets; each exceeded budget has a line with its value, its limit and the largest
contributors. Budgets of time, bytes and errors require a
compilation, and so a target that zinc can write programs for. --max-slowdown,
--max-weight-growth and --max-extra-dispatches compare MODEL with the one of --base,
which is compiled with the same flags.`,
		Example: `  zinc check model.mlmodelc
  zinc check model.mil --all --sort time
  zinc check model.mil --target h13,h14,h15 --precision fp16
  zinc check model.mil --target all
  zinc check model.mil --as coreml --units cpu-ane
  zinc check model.mil --compare-plan plan.json --max-plan-differences 0
  zinc check model.mil --require-engine --sarif >placement.sarif
  zinc check model.mil --max-estimate-us 5000 --min-engine-ops 99
  zinc check model.mil --base old/model.mil --max-slowdown 5%
  zinc check model.mil --apply group-queries -o faster
  zinc check model.mil --report markdown=placement.md --report html=placement.html
  zinc check model.hwx --all`,
		Args: operands(1, 1, "one MODEL"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	c.model(f)
	f.Lookup("target").Usage = targetsUsage()
	for _, name := range []string{"split-kernel-section", "td-form", "operation-symbols", "workers"} {
		f.MarkHidden(name) // nothing is packed
	}
	f.BoolVar(&c.all, "all", false, "print every operation and every dispatch")
	f.BoolVar(&c.cpu, "cpu", false, "print every operation on the CPU")
	f.Var(newChoice(&c.sort, sortProgram, sortTime), "sort",
		"order of operations with --all and --cpu: program or time")
	f.BoolVar(&c.advice, "advice", true, "look for changes that make the model faster")
	f.StringVar(&c.apply, "apply", "", "write the model with the advised rewrite `NAME` applied, to --output")
	f.StringVarP(&c.output, "output", "o", "",
		"`FILE.mil`, a package (.mlpackage) or another folder for the changed model")
	f.Int64Var(&c.work, "work", explain.DefaultWork,
		"bound of the search for changes and, if set, of their runs, in `UNITS` of which a processor does about "+
			"10^9 a second")
	f.Uint64Var(&c.seed, "seed", firstSeed, "seed of the inputs that rewrites are run on")
	f.BoolVar(&c.json, "json", false, "print JSON")
	f.BoolVar(&c.sarif, "sarif", false, "print SARIF 2.1.0, a result for each operation on the CPU")
	f.BoolVar(&c.requireEngine, "require-engine", false, "fail if any operation runs on the CPU")
	c.coreml.register(f)
	c.dump.register(f)
	c.reports.register(f)
	c.budgets.register(f)
	c.flags = f
	exclusive(cmd, "json", "sarif")
	return cmd
}

// allTargets is the value of --target that names every target.
const allTargets = "all"

// Orders of the operations with --all.
const (
	sortProgram = "program"
	sortTime    = "time"
)

func (c *checkCommand) run(ctx context.Context, path string) error {
	c.path = path
	if is, err := c.container(path); is || err != nil {
		return err
	}
	if err := c.dump.check(c.flags); err != nil {
		return err
	}
	switch {
	case c.dump.path != "":
		return c.comparePlan(ctx, path)
	case c.coreml.as == asCoreML:
		return c.forecast(ctx, path)
	}
	if _, err := c.coreml.load(); err != nil {
		return err
	}
	if err := c.budgets.check(); err != nil {
		return err
	}
	names := strings.Split(c.target, ",")
	if c.target == allTargets {
		names = target.Names()
	}
	if err := c.checkSearch(len(names)); err != nil {
		return err
	}
	switch {
	case c.reports.stdout() != nil && (c.json || c.sarif):
		return usagef("check: --report on standard output conflicts with --json and --sarif; choose one, or write "+
			"the report to a file with --report %s=FILE", c.reports.stdout().Name)
	case c.reports.list != nil && len(names) > 1 && c.target != allTargets:
		return usagef("check: --report supports one target, --target names %d", len(names))
	}
	flags := make([]compileFlags, len(names))
	for i, n := range names {
		flags[i] = c.compileFlags
		flags[i].assume = c.budgets.compiles() == "" // placement hardly depends on values
		flags[i].target = strings.TrimSpace(n)
		if err := flags[i].check(); err != nil {
			return err
		}
		if b := c.budgets.compiles(); b != "" && !slices.Contains(target.Compiled(), flags[i].target) {
			return usagef("check: --%s requires a compilation, and zinc cannot write programs for %s, only "+
				"for %s", b, flags[i].target, strings.Join(target.Compiled(), ", "))
		}
	}
	var r check.Result
	var doc *report.Document // of the only target, or of the default among all
	for i := range flags {
		t, text, err := c.place(ctx, &flags[i], path, i == 0)
		if err != nil {
			return err
		}
		if err := c.reports.apart(text); err != nil {
			return err
		}
		r.Model = filepath.ToSlash(text)
		if doc == nil || t.Target == defaultTarget {
			doc = c.document(r.Model, &t)
		}
		r.Targets = append(r.Targets, t)
	}
	if c.target == allTargets && !c.sarif {
		var err error
		if r.Generations, err = c.generations(ctx, path, r.Targets); err != nil {
			return err
		}
		doc.Generations = r.Generations
	}
	if err := c.writeFiles(ctx, c.reports.files(doc)...); err != nil {
		return err
	}
	if c.reports.stdout() != nil {
		if err := c.reports.print(c.env, doc); err != nil {
			return err
		}
	} else if err := c.print(&r); err != nil {
		return err
	}
	var vs []report.Violation
	var fails []string
	for _, t := range r.Targets {
		if t.Err != nil {
			return t.Err
		}
		vs = append(vs, t.Violations...)
		fails = append(fails, t.Failures[:len(t.Failures)-len(t.Violations)]...)
	}
	passed := c.violations("check: ", vs)
	if len(fails) > 0 {
		return &exitError{err: errors.New("check: " + strings.Join(fails, "; ")), status: statusBudget}
	}
	return passed
}

// generations returns the model on the smallest chip of each generation; results has the placements.
func (c *checkCommand) generations(ctx context.Context, path string, results []check.Target) ([]report.Generation,
	error) {
	return report.Generations(ctx, func(t *target.Table) (*compile.Report, error) {
		for i := range results {
			if of, err := target.Lookup(results[i].Target); err == nil && of == t {
				return results[i].Report, nil
			}
		}
		f := c.compileFlags
		f.assume, f.target = true, t.Name
		return f.reported(ctx, c.env, path, t, nil)
	})
}

// place plans the model for one target. Planning rewrites the program, so each target opens the model again; warnings
// are printed once.
func (c *checkCommand) place(ctx context.Context, f *compileFlags, path string, first bool) (check.Target, string,
	error) {
	quiet := c.env
	if !first {
		quiet = c.silent()
	}
	m, err := f.open(quiet, path)
	if err != nil {
		return check.Target{}, "", err
	}
	defer m.Close()
	p := c.newProgress(f.progress)
	defer p.end()
	o, err := f.options(c.env, m.Path, p)
	if err != nil {
		return check.Target{}, "", err
	}
	search, source := c.search(o), m.Program
	if c.advises() {
		source = ir.CloneProgram(m.Program)
		search.Screening = explain.Screen(ctx, source, search)
		defer search.Screening.Close()
	}
	t, err := check.Place(ctx, m, &check.Options{
		Path:          path,
		Compile:       o,
		Open:          func() (*frontend.Model, error) { return f.open(c.silent(), path) },
		Forecast:      c.coreml.forecasts(ctx, m.Program, f),
		SourceFlags:   givenFlags(c.flags, sourceFlags),
		ForecastFlags: givenFlags(c.flags, forecastFlags),
		Tables:        c.json,
		Places:        c.sarif,
		Whole:         c.budgets.compiles() != "" || c.reports.list != nil,
		Fits:          c.budgets.compiles() != "",
	})
	if err != nil {
		return check.Target{}, "", err
	}
	rep := t.Report
	if c.advises() && rep.Estimate != nil {
		found, err := c.advise(ctx, source, rep, search)
		if err != nil {
			return check.Target{}, "", err
		}
		t.Advice, t.Search = found.Advice, found.Search
		if c.apply != "" {
			if err := c.write(ctx, found); err != nil {
				return check.Target{}, "", err
			}
		}
	}
	if c.requireEngine && rep.CPUOps > 0 {
		n := rep.CPUOps
		t.Failures = append(t.Failures, fmt.Sprintf("%s on the CPU for %s; --require-engine allows none",
			diag.Count(n, "operation runs", "operations run"), rep.Target))
	}
	ran, err := c.budgets.run(ctx, f, c.env, path)
	if err != nil {
		return check.Target{}, "", err
	}
	judged, err := c.budgets.judge(ctx, f, c.env, rep)
	if err != nil {
		return check.Target{}, "", err
	}
	t.Violations = append(judged, ran...)
	for i := range t.Violations {
		t.Failures = append(t.Failures, t.Violations[i].String())
	}
	return t, m.Path, nil
}

// checkSearch checks the flags of the search for changes.
func (c *checkCommand) checkSearch(targets int) error {
	switch {
	case (c.apply == "") != (c.output == ""):
		return usagef("check: --apply and --output belong together: the rewrite, and where the model is written")
	case c.work <= 0:
		return usagef("--work=%d: must be more than 0", c.work)
	case c.apply != "" && targets > 1:
		return usagef("check: --apply supports one target, --target names %d", targets)
	}
	return nil
}

// advises reports whether what is printed has advice, or a rewrite is to be written.
func (c *checkCommand) advises() bool {
	page := c.reports.stdout() == nil || c.reports.stdout().Advises
	return c.apply != "" || c.advice && !c.sarif && !c.all && !c.cpu && page
}

// quickRun bounds the run of a change that is advised and not applied: a tenth of a second.
const quickRun = 1 << 27

// search returns the options of the search for changes.
func (c *checkCommand) search(o compile.Options) explain.Options {
	eo := explain.Options{Compile: o, Seed: c.seed, Workers: c.workers, Work: c.work}
	if c.apply == "" && !c.flags.Changed("work") {
		eo.Runs = quickRun
	}
	return eo
}

// advise looks for changes, and puts them into commands.
func (c *checkCommand) advise(ctx context.Context, p *ir.Program, rep *compile.Report, o explain.Options) (
	*advice.Found, error) {
	found, err := advice.Find(ctx, p, rep, o)
	if err != nil {
		return nil, err
	}
	for i := range found.Advice {
		a := &found.Advice[i]
		words := append([]string{"zinc", "check", c.path}, newExplains(c.path, c.flags, rep).Flags...)
		switch {
		case a.Precision != "":
			words = withFlag(words, "--precision", a.Precision)
		case a.Place != "":
			words = withFlag(words, "--place", a.Place)
		default:
			words = append(words, "--apply", a.Recipe, "-o", "FOLDER")
			if a.NotRun == explain.LongRun {
				a.NotRun += ": --apply does it"
			}
		}
		a.Command = shellwords.Join(words)
	}
	return found, nil
}

// withFlag sets a flag in the words of a command.
func withFlag(words []string, flag, value string) []string {
	if i := slices.Index(words, flag); i >= 0 {
		words[i+1] = value
		return words
	}
	return append(words, flag, value)
}

// write writes the model changed as the advice of the recipe says.
func (c *checkCommand) write(ctx context.Context, found *advice.Found) error {
	p := found.Program(c.apply)
	if p == nil {
		var names []string
		for _, a := range found.Advice {
			if a.Recipe != "" {
				names = append(names, a.Recipe)
			}
		}
		if len(names) == 0 {
			return usagef("check: --apply %s: no rewrite makes the model faster", c.apply)
		}
		return usagef("check: --apply %s is not advised for the model; use %s", c.apply, strings.Join(names, ", "))
	}
	_, err := reduce.Write(ctx, p, c.output)
	return err
}

func (c *checkCommand) print(r *check.Result) error {
	switch {
	case c.json:
		return jsonform.Document(c.env.out, r)
	case c.sarif:
		return sarif.Write(c.env.out, c.sarifRuns(r)...)
	}
	if len(r.Generations) > 0 {
		if err := report.WriteGenerations(c.env.out, r.Model, r.Generations); err != nil {
			return err
		}
	}
	for i := range r.Targets {
		if i > 0 {
			fmt.Fprintln(c.env.out)
		}
		if err := c.printText(answerTints, func(w io.Writer) error { return c.text(w, r, &r.Targets[i]) }); err != nil {
			return err
		}
	}
	return nil
}

// text prints the answer, or every operation.
func (c *checkCommand) text(w io.Writer, r *check.Result, t *check.Target) error {
	if c.all || c.cpu {
		return targetText{t}.text(w, r.Model, c.cpu, c.sort)
	}
	all := append([]string{"zinc", "check", c.path}, newExplains(c.path, c.flags, t.Report).Flags...)
	if err := report.WriteAnswer(w, c.document(r.Model, t), shellwords.Join(append(all, "--all"))); err != nil {
		return err
	}
	if t.Decoder != nil {
		if err := t.Decoder.Text(w); err != nil {
			return err
		}
	}
	if err := reported.WriteText(w, reported.Public(t.Reported), false); err != nil {
		return err
	}
	if len(t.Violations) > 0 {
		fmt.Fprintln(w)
	}
	return report.WriteViolations(w, t.Violations)
}

// sarifRuns returns one run per target, with one finding per operation on the CPU.
func (c *checkCommand) sarifRuns(r *check.Result) []sarif.Run {
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
func (c *checkCommand) document(model string, t *check.Target) *report.Document {
	return &report.Document{
		Model:      model,
		Report:     t.Report,
		Exceeds:    t.Exceeds,
		Violations: t.Violations,
		Advice:     t.Advice,
		Search:     t.Search,
		CoreML:     t.CoreML,
		Refused:    t.RefusedInRecords,
		Explain:    newExplains(c.path, c.flags, t.Report).Command,
	}
}
