package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	pathpkg "path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zinc-compiler/zinc/analysis/lint"
	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/analysis/lint/witness"
	"github.com/zinc-compiler/zinc/analysis/reported"
	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/atomicfile"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/filename"
	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/internal/npy"
	"github.com/zinc-compiler/zinc/internal/sarif"
	"github.com/zinc-compiler/zinc/internal/shellwords"
	"github.com/zinc-compiler/zinc/internal/values"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
	"github.com/zinc-compiler/zinc/transform/reduce"
)

// lintCommand is the state of `zinc lint MODEL`.
type lintCommand struct {
	*env
	compileFlags
	ranges, calibrate []string
	json, sarif, all  bool
	failOn            string
	inputs            string
	work              int64
	reports           bool
	opened            []io.Closer // open models; the models cut out of them share their constants
	flags             *pflag.FlagSet
}

func newLint(e *env) *cobra.Command {
	c := &lintCommand{env: e}
	cmd := &cobra.Command{
		Use:     "lint MODEL",
		GroupID: groupUnderstand,
		Short:   "Find numeric hazards, with inputs that show them",
		Long: fmt.Sprintf(`Lint follows the ranges of the inputs through MODEL and finds the statements whose
values can reach a limit of the engine's arithmetic or of fp16: sums of products at
32768, table ends, lost epsilons, cancellation and others (docs/lint.md lists the
rules). For each it looks for an input that triggers it: one for which an output of the
simulated pair is far from what the interpreter computes in fp32 instead of fp16. Such a
finding is "shown" and is printed with the numbers. If no such input is found, the
statement is cut out as a separate model and run on operands within its ranges: a hazard
found this way is "shown alone" and is printed with the distance of those operands from
the values in runs of the whole model. Other findings are "possible": the ranges allow
them, but no run shows them.

Findings with the same cause, as in repeated layers, are printed once. The most certain
come first, then those whose limit recorded runs come closest to; --all prints every
finding. --write-inputs writes the inputs, with the cut-out model if there is one, and
the text contains the zinc run command that repeats each.

A float input has the range -%d to %d unless --range or --calibrate sets another, an
8-bit integer that of its type, other integers 0 to %d: the ranges of nearly all random
values of zinc verify. A range of NAME=type is every finite value of the type. A state has
the range of zeros and of all that the model writes to it; --range sets another, as for a
state that the application fills. NAME may be a pattern with * and ?. Targets
that zinc cannot write programs for are placed by their own limits and computed with the
arithmetic of h13.

Public reports about Apple's compiler and runtime that apply to MODEL come last, apart
from the findings, with link, chips, systems, and what to write instead; zinc check prints
them too. Those about values apply where the model itself, --range or --calibrate bounds
them. --reports prints the table of all reports instead (docs/reported.md).

With --fail-on the exit status is 1 when there are findings of that state; alone also
counts shown findings, possible counts all.`, witness.Sigmas, witness.Sigmas, verify.MaxRandomInt),
		Example: `  zinc lint model.mlmodelc
  zinc lint model.mil --range audio=-1:1 --write-inputs hazards
  zinc lint model.mil --calibrate x=sample.npy --sarif --fail-on shown >hazards.sarif
  zinc lint --reports`,
		Args: func(cmd *cobra.Command, args []string) error {
			if c.reports {
				return operands(0, 0, "no MODEL with --reports")(cmd, args)
			}
			return operands(1, 1, "one MODEL")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.reports {
				return c.table()
			}
			return c.run(cmd.Context(), args[0])
		},
	}
	f := cmd.Flags()
	c.flags = f
	c.model(f)
	f.Lookup("target").Usage = targetsUsage()
	f.StringArrayVar(&c.ranges, "range", nil,
		"`NAME=LO:HI`: range of an input or state, or NAME=type for the range of its type; NAME may be a pattern, as "+
			"in 'kc*=-8:8' (repeatable)")
	f.StringArrayVar(&c.calibrate, "calibrate", nil, "`NAME=FILE.npy`: range of an input from the values of an "+
		"array of any shape (repeatable; several files for one name extend the range)")
	f.BoolVar(&c.json, "json", false, "print JSON")
	f.BoolVar(&c.sarif, "sarif", false, "print SARIF 2.1.0")
	f.BoolVar(&c.all, "all", false, "print every finding in the text, not one of each kind")
	f.Var(newChoice(&c.failOn, lint.FailOn...), "fail-on", "findings that set exit status 1")
	f.StringVar(&c.inputs, "write-inputs", "", "`FOLDER` for the inputs of findings, one folder each, as npy "+
		"files for zinc run --input, with the cut-out model of those shown alone")
	f.Int64Var(&c.work, "work", lint.DefaultWork,
		"multiply-accumulates per function for the search for inputs; 0 for no search")
	f.BoolVar(&c.reports, "reports", false, "print the table of public reports, without a MODEL (text, --json)")
	exclusive(cmd, "json", "sarif")
	exclusive(cmd, "reports", "sarif")
	return cmd
}

// lintResult is what `zinc lint --json` prints.
type lintResult struct {
	Model   string         `json:"model"`   // path of the text
	Targets []*lint.Report `json:"targets"` // findings, in the order of the targets
	// Reported are the public reports that apply.
	Reported []*reported.Finding `json:"reported,omitempty"`
}

// reportsResult is what `zinc lint --reports --json` prints.
type reportsResult struct {
	Rules []reported.Row `json:"rules"` // rules with their reports, in the order of the table
}

// table prints the public reports.
func (c *lintCommand) table() error {
	if c.json {
		return jsonform.Document(c.out, reportsResult{reported.Table()})
	}
	return reported.WriteTable(c.out)
}

func (c *lintCommand) run(ctx context.Context, path string) error {
	if c.work < 0 {
		return usagef("--work=%d: must be 0 or more", c.work)
	}
	names := strings.Split(c.target, ",")
	if c.target == "all" {
		names = target.Names()
	}
	flags := make([]compileFlags, len(names))
	for i, n := range names {
		flags[i] = c.compileFlags
		flags[i].target = strings.TrimSpace(n)
		if err := flags[i].check(); err != nil {
			return err
		}
	}
	given, err := parseLintRanges(c.ranges)
	if err != nil {
		return err
	}
	files, err := calibrations(c.calibrate)
	if err != nil {
		return err
	}
	defer func() {
		for _, m := range c.opened {
			m.Close()
		}
	}()
	var r lintResult
	for i := range flags {
		rep, text, err := c.lint(ctx, &flags[i], path, i == 0, given, files, &r)
		if err != nil {
			return err
		}
		r.Model = filepath.ToSlash(text)
		r.Targets = append(r.Targets, rep)
	}
	if c.inputs != "" {
		if err := c.writeInputs(ctx, r.Targets); err != nil {
			return err
		}
	}
	switch {
	case c.json:
		err = jsonform.Document(c.out, r)
	case c.sarif:
		runs := lint.SARIF(r.Model, compile.Version, r.Targets, c.failOn)
		if len(r.Reported) > 0 {
			runs = append(runs, reported.SARIF(r.Model, r.Reported))
		}
		err = sarif.Write(c.out, runs...)
	default:
		for i, rep := range r.Targets {
			if i > 0 {
				fmt.Fprintln(c.out)
			}
			if err = c.printText(lintTints, func(w io.Writer) error {
				return rep.Text(w, lint.TextOptions{
					Target:  defaultTarget,
					Model:   r.Model,
					Path:    path,
					All:     c.all,
					AllFlag: "--all",
					Flags:   givenFlags(c.flags, sourceFlags),
					Join:    shellwords.Join,
				})
			}); err != nil {
				break
			}
		}
		if err == nil {
			err = c.printText(lintTints, func(w io.Writer) error { return reported.WriteText(w, r.Reported, c.all) })
		}
	}
	if err != nil {
		return err
	}
	return c.failures(&r)
}

// failures returns the error that --fail-on requires.
func (c *lintCommand) failures(r *lintResult) error {
	n := 0
	for _, t := range r.Targets {
		for _, f := range t.Functions {
			for state, k := range f.Counts() {
				if lint.Fails(state, c.failOn) {
					n += k
				}
			}
		}
	}
	if n == 0 {
		return nil
	}
	how := map[string]string{
		lint.Shown:    "shown by an input",
		"alone":       "shown by an input or by the statement alone",
		lint.Possible: "possible",
	}[c.failOn]
	return fmt.Errorf("lint: %s %s; --fail-on=%s allows none", diag.Count(n, "hazard is", "hazards are"), how, c.failOn)
}

// lintRange is a range from the command line; all means the range of the type.
type lintRange struct {
	lo, hi float64
	all    bool
}

func parseLintRanges(values []string) (map[string]lintRange, error) {
	m := map[string]lintRange{}
	for _, v := range values {
		name, text, ok := strings.Cut(v, "=")
		if !ok || name == "" {
			return nil, usagef("--range %q: want NAME=LO:HI or NAME=type", v)
		}
		if _, twice := m[name]; twice {
			return nil, usagef("--range: %q is set twice", name)
		}
		if text == "type" {
			m[name] = lintRange{all: true}
			continue
		}
		a, b, ok := strings.Cut(text, ":")
		lo, err1 := strconv.ParseFloat(a, 64)
		hi, err2 := strconv.ParseFloat(b, 64)
		if !ok || err1 != nil || err2 != nil || !(lo <= hi) || math.IsInf(lo, 0) || math.IsInf(hi, 0) {
			return nil, usagef("--range %q: want NAME=LO:HI with two numbers, the lower one first, or NAME=type", v)
		}
		m[name] = lintRange{lo: lo, hi: hi}
	}
	return m, nil
}

// calibrations splits the values of --calibrate; the name "" means the only input.
func calibrations(values []string) ([]named, error) {
	var out []named
	for _, v := range values {
		name, file, ok := strings.Cut(v, "=")
		if !ok {
			name, file = "", v
		}
		if file == "" || ok && name == "" {
			return nil, usagef("--calibrate %q: want NAME=FILE.npy", v)
		}
		out = append(out, named{name, file})
	}
	return out, nil
}

// lint checks the model for one target. Compiling rewrites the program, so each target opens the model again; warnings
// are printed once, and the first sets the public reports of the result.
func (c *lintCommand) lint(ctx context.Context, f *compileFlags, path string, first bool, given map[string]lintRange,
	files []named, r *lintResult) (*lint.Report, string, error) {
	quiet := c.env
	if !first {
		quiet = c.silent()
	}
	f.assume = c.inputs == "" && c.failOn == lint.FailOn[0]
	m, err := f.open(quiet, path)
	if err != nil {
		return nil, "", err
	}
	c.opened = append(c.opened, m)
	searches := c.work > 0
	if len(m.Missing) > 0 && searches {
		searches = false // what inputs show depends on the values
		if first {
			c.note("no inputs are looked for: findings follow from ranges of the assumed values")
		}
	}
	ranges, samples, err := c.inputRanges(path, m.Program, given, files)
	if err != nil {
		return nil, "", err
	}
	if first {
		r.Reported = reported.Find(m.Program, reported.Options{
			Ranges: ranges, FP16: passes.PrecisionOf(f.precision, m.Program) == passes.PrecisionFP16,
		})
	}
	o := lint.Options{
		Ranges:  ranges,
		Work:    c.work,
		Workers: c.workers,
		Source:  m.Source,
		Target:  f.target,
		Samples: samples,
	}
	if !searches {
		o.Work = -1
	}
	p := c.newProgress(f.progress)
	defer p.end()
	if !slices.Contains(target.Compiled(), f.target) {
		if o.Units, err = c.units(ctx, f, path, p); err != nil {
			return nil, "", err
		}
		own := *f
		own.target = defaultTarget
		f = &own
	}
	if o.Compile, err = f.options(c.env, m.Path, p); err != nil {
		return nil, "", err
	}
	o.Progress = p.step
	rep, err := lint.Run(ctx, m.Program, o)
	p.end()
	if fault := (*verify.FaultError)(nil); errors.As(err, &fault) {
		return nil, "", &internalError{err: err}
	}
	return rep, m.Path, err
}

// units returns where operations run on a target that zinc cannot write programs for.
func (c *lintCommand) units(ctx context.Context, f *compileFlags, path string, p *progress) (map[string]ir.Unit,
	error) {
	t, err := lookupTarget(f.target)
	if err != nil {
		return nil, err
	}
	rep, err := f.reported(ctx, c.env, path, t, p)
	if err != nil {
		return nil, err
	}
	units := map[string]ir.Unit{}
	reports := append([]*compile.Report{rep}, rep.Functions...)
	for _, r := range reports {
		for _, op := range r.Ops {
			for _, u := range []ir.Unit{ir.Engine, ir.CPU, ir.Transfer} {
				if op.Unit == u.String() {
					units[lint.UnitKey(op.Op, op.Name, op.Line, op.Col)] = u
				}
			}
		}
	}
	return units, nil
}

// inputRanges joins the ranges of the command line and the ranges of arrays. samples are the arrays, one map per run:
// the k-th run has the k-th file of each name.
func (c *lintCommand) inputRanges(path string, p *ir.Program, given map[string]lintRange, files []named) (
	out map[string]lint.Interval, samples []map[string]interp.Tensor, err error) {
	types := map[string]ir.Type{}
	var names []string
	for _, f := range p.Funcs {
		for _, v := range f.Body.Params {
			if _, ok := types[v.Name]; !ok {
				types[v.Name] = v.Type
				names = append(names, v.Name)
			}
		}
	}
	known := func(what, n string) error {
		if _, ok := types[n]; ok {
			return nil
		}
		return fmt.Errorf("%s: unknown input %q for %s; inputs: %s", path, n, what, strings.Join(names, ", "))
	}
	by, err := matchRanges(path, names, given)
	if err != nil {
		return nil, nil, err
	}
	out = map[string]lint.Interval{}
	for n, pattern := range by {
		r := given[pattern]
		out[n] = lint.Interval{Lo: r.lo, Hi: r.hi}
		if r.all {
			out[n] = interval.FiniteOf(types[n].DType)
		}
	}
	count := map[string]int{} // of the files of a name
	for _, f := range files {
		if f.name == "" {
			if len(names) != 1 {
				return nil, nil, usagef("--calibrate %s: the model has several inputs (%s); want NAME=FILE.npy",
					f.file, strings.Join(names, ", "))
			}
			f.name = names[0]
		}
		if err := known("--calibrate", f.name); err != nil {
			return nil, nil, err
		}
		if _, ok := by[f.name]; ok {
			return nil, nil, usagef("--range and --calibrate both name %q", f.name)
		}
		t, err := c.calibrationArray(f.file)
		if err != nil {
			return nil, nil, fmt.Errorf("--calibrate %s: %w", f.name, err)
		}
		r, err := arrayRange(t)
		if err != nil {
			return nil, nil, fmt.Errorf("--calibrate %s: %s: %w", f.name, f.file, err)
		}
		if old, ok := out[f.name]; ok {
			r.Lo, r.Hi = min(r.Lo, old.Lo), max(r.Hi, old.Hi)
		}
		out[f.name] = r
		k := count[f.name]
		count[f.name]++
		if k == len(samples) {
			samples = append(samples, map[string]interp.Tensor{})
		}
		samples[k][f.name] = t
	}
	return out, samples, nil
}

// matchRanges returns which range each input and state has: the range of its name, or else of the pattern that it
// matches.
func matchRanges(model string, names []string, given map[string]lintRange) (map[string]string, error) {
	by := map[string]string{}
	for _, pattern := range slices.Sorted(maps.Keys(given)) {
		if slices.Contains(names, pattern) {
			by[pattern] = pattern
			continue
		}
		matched := 0
		for _, n := range names {
			ok, err := pathpkg.Match(pattern, n)
			switch {
			case err != nil:
				return nil, usagef("--range %q: %v; want a name or a pattern with * and ?", pattern, err)
			case !ok:
				continue
			}
			matched++
			if _, exact := given[n]; exact {
				continue // its own range
			}
			if other, twice := by[n]; twice {
				return nil, usagef("--range: %q and %q both match %q", other, pattern, n)
			}
			by[n] = pattern
		}
		if matched == 0 {
			return nil, fmt.Errorf("%s: unknown input %q for --range; inputs: %s", model, pattern,
				strings.Join(names, ", "))
		}
	}
	return by, nil
}

// calibrationArray reads a file of --calibrate.
func (e *env) calibrationArray(file string) (interp.Tensor, error) {
	b, err := e.stdin.Read(file)
	if err != nil {
		return interp.Tensor{}, err
	}
	a, err := npy.Decode(b)
	if err != nil {
		return interp.Tensor{}, fmt.Errorf("%s: %w", file, err)
	}
	t, err := interp.NewTensor(ir.TensorOf(values.TypeOf(a.Type), a.Shape...), a.Data)
	if err != nil {
		return t, fmt.Errorf("%s: %w", file, err)
	}
	return t, nil
}

// arrayRange returns the least and the greatest number of an array.
func arrayRange(t interp.Tensor) (lint.Interval, error) {
	r := lint.Interval{Lo: math.Inf(1), Hi: math.Inf(-1)}
	for i, v := range t.Const().Floats() {
		if v-v != 0 {
			return r, fmt.Errorf("element %d is %g; want finite numbers", i, v)
		}
		r.Lo, r.Hi = min(r.Lo, v), max(r.Hi, v)
	}
	if r.Lo > r.Hi {
		return r, errors.New("the array is empty")
	}
	return r, nil
}

// writeInputs writes the inputs of each finding to a separate folder, with the cut-out model if it is shown alone.
func (c *lintCommand) writeInputs(ctx context.Context, reports []*lint.Report) error {
	var files []atomicfile.File
	n := 0
	for _, r := range reports {
		for _, f := range r.Functions {
			for _, x := range f.Findings {
				if len(x.Inputs) == 0 {
					continue
				}
				n++
				dir := filepath.Join(c.inputs, fmt.Sprintf("%03d-%s-%s", n, x.Rule, fileName(x.Statement)))
				x.Files = map[string]string{}
				for _, name := range slices.Sorted(maps.Keys(x.Inputs)) {
					a, err := values.ToArray(x.Inputs[name])
					if err != nil {
						return fmt.Errorf("input %s: %w", name, err)
					}
					b, err := npy.Encode(a)
					if err != nil {
						return fmt.Errorf("input %s: %w", name, err)
					}
					file := filepath.Join(dir, fileName(name)+".npy")
					x.Files[name] = filepath.ToSlash(file)
					files = append(files, atomicfile.Bytes(file, b))
				}
				if x.Cut != nil {
					model := filepath.Join(dir, "model.mil")
					if _, err := reduce.Write(ctx, x.Cut.Program, model); err != nil {
						return fmt.Errorf("%s alone: %w", x.Statement, err)
					}
					x.Cut.Model = filepath.ToSlash(model)
				}
			}
		}
	}
	return c.writeFiles(ctx, files...)
}

// maxName is how many bytes of a MIL name are in a file name.
const maxName = 80

// fileName returns a file name for a MIL name.
func fileName(s string) string { return filename.Of(s, maxName) }
