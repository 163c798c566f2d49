package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/frontend/mil/build"
	"github.com/zinc-compiler/zinc/inspect/toolchain"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// defaultTarget is the target without --target.
var defaultTarget = target.Default.Name

// compileFlags are the flags of every command that compiles.
type compileFlags struct {
	target       string
	precision    string
	place        string
	split        bool
	textFirst    bool // as the oldest containers, for --emit=anec
	tdForm       string
	symbols      bool
	function     string
	shapes       []string
	weights      string
	follow       bool // links in the model's folder
	workers      int
	progress     bool
	printAfter   []string
	printChanged bool
	elide        bool
	timePasses   bool
	verifyEach   bool
	cache        cacheFlags
	uncached     error // why the model cannot be cached
	provenance   bool  // record what the parts of the pair came from
	assume       bool  // missing weights have assumed values
}

// model registers the flags that set what is compiled and how.
func (c *compileFlags) model(f *pflag.FlagSet) {
	c.form(f)
	c.files(f)
	c.work(f)
}

// files registers the flags that say where a model's files are.
func (c *compileFlags) files(f *pflag.FlagSet) {
	f.StringVar(&c.weights, "weights", "", "`FOLDER` for @model_path (default the model's own)")
	f.BoolVar(&c.follow, "follow", false, "follow links in the model's folder, also to files outside it, as caches of "+
		"models have; the pair is then not cached")
}

// form registers the flags that determine the bytes of a pair.
func (c *compileFlags) form(f *pflag.FlagSet) {
	c.target = defaultTarget
	f.VarP(targetFlag{&c.target}, "target", "t", "hardware `TARGET`: "+strings.Join(target.Compiled(), ", ")+
		chipsToo)
	f.Var(newChoice(&c.precision, passes.PrecisionDeclared, passes.PrecisionFP16), "precision",
		"fp32 operations: declared keeps them on the CPU, but those of neural networks, which declare no types; fp16 "+
			"computes them in fp16 on the engine")
	f.Var(newChoice(&c.place, passes.PlaceAuto, passes.PlaceCompute, passes.PlaceEngine), "place",
		"which operations that the engine can run stay on the CPU: auto, those estimated to be faster there; compute, "+
			"those that only move data; engine, none")
	f.BoolVar(&c.split, "split-kernel-section", true, "put the constants into separate segments, if the "+
		"target's containers have them")
	f.Var(newChoice(&c.tdForm, "sparse", "full"), "td-form", "records of a task: sparse, as current compilers write "+
		"them, or full, as old ones did")
	f.BoolVar(&c.symbols, "operation-symbols", false, "name the operation of each task in the symbol table, "+
		"which dump shows")
	f.StringVar(&c.function, "func", "", "`FUNCTION` to compile (default all, into one pair)")
	f.StringArrayVar(&c.shapes, "shape", nil,
		"`NAME=1x3x224x224`: shape of an input instead of its default; 1x8..64:8 for 8, 16 and so on to 64. Several "+
			"shapes go into one pair, and the inputs of a run select one (repeatable)")
}

// work registers the flags that decide how the work is done.
func (c *compileFlags) work(f *pflag.FlagSet) {
	f.IntVar(&c.workers, "workers", 0, "goroutines to use, 0 for one per processor; results do not depend on it")
	f.BoolVar(&c.progress, "progress", false,
		"show progress on standard error (on a terminal: for long work)")
}

// passes registers the flags that print or check intermediate results of the compiler.
func (c *compileFlags) passes(f *pflag.FlagSet) {
	f.StringSliceVar(&c.printAfter, "print-after", nil,
		"print the program after pass `NAME` (or all) on standard error")
	f.BoolVar(&c.printChanged, "print-changed", false, "print the program after each pass that changed it")
	f.BoolVar(&c.elide, "elide-constants", true,
		fmt.Sprintf("with --print-after, print only size and digest of constants from %d bytes on; "+
			"--elide-constants=false prints their bytes", ir.ElidedBytes))
	f.BoolVar(&c.timePasses, "time-passes", false, "print the time of each stage on standard error")
	f.BoolVar(&c.verifyEach, "verify-each", false, "verify the program after each pass")
}

// looks reports whether a flag requires a compilation even if the pair is in the cache.
func (c *compileFlags) looks() bool {
	return c.printAfter != nil || c.printChanged || c.timePasses || c.verifyEach
}

// check reports values that are wrong for every model.
func (c *compileFlags) check() error {
	for _, n := range c.printAfter {
		if !passes.Known(n) {
			return usagef("--print-after=%s: unknown pass; passes are %s and all", n, strings.Join(passes.Names(),
				", "))
		}
	}
	if _, err := parseShapes(c.shapes); err != nil {
		return err
	}
	if c.workers < 0 {
		return usagef("--workers=%d: must be 0 or more", c.workers)
	}
	if _, err := lookupTarget(c.target); err != nil {
		return usagef("--target: %w", err)
	}
	return nil
}

// options returns the compiler's options for a model with this text file.
func (c *compileFlags) options(e *env, text string, p *progress) (compile.Options, error) {
	t, err := lookupTarget(c.target)
	if err != nil {
		return compile.Options{}, usagef("--target: %w", err)
	}
	shapes, err := parseShapes(c.shapes)
	if err != nil {
		return compile.Options{}, err
	}
	o := compile.Options{
		Target: t, Shapes: shapes, Precision: c.precision, Place: c.place, SplitKernel: c.split,
		FullTD: c.tdForm == "full", TextFirst: c.textFirst, OperationSymbols: c.symbols,
		Func: c.function, Workers: c.workers,
		InputName: filepath.Base(text), Progress: p.step, PrintAfter: c.printAfter, PrintChanged: c.printChanged,
		VerifyEach: c.verifyEach, Log: e.err, Provenance: c.provenance,
	}
	if e.subject != nil {
		e.subject.options = o
	}
	if c.elide && len(c.printAfter) > 0 && !c.printChanged {
		o.PrintAfter, o.Observe = nil, elided(e.err, c.printAfter)
	}
	return o, nil
}

// elided prints the program after the named passes, without the bytes of large constants.
func elided(w io.Writer, after []string) func(pass string, p *ir.Program) {
	elide := toolchain.Eliding()
	return func(pass string, p *ir.Program) {
		if slices.Contains(after, pass) || slices.Contains(after, "all") {
			fmt.Fprintf(w, "// after %s\n", pass)
			ir.PrintElided(w, p, elide) // errors writing to stderr are ignored, as everywhere
		}
	}
}

// wantShape ends errors about --shape.
const wantShape = "want NAME=DIMENSIONS, as in x=1x3x224x224 or, for several shapes, x=1x8..64:8"

// parseShapes reads the values of --shape as configurations. The first shapes of all inputs are one configuration, the
// second shapes another, and so on; an input with one shape has it in all of them.
func parseShapes(values []string) ([]map[string][]int64, error) {
	shapes := map[string][][]int64{}
	count, longest := 0, ""
	for _, v := range values {
		i := strings.LastIndexByte(v, '=')
		if i <= 0 {
			return nil, usagef("--shape %q: %s", v, wantShape)
		}
		name := v[:i]
		expanded, err := expandShape(v[i+1:])
		if err != nil {
			return nil, usagef("--shape %q: %w", v, err)
		}
		shapes[name] = append(shapes[name], expanded...)
		if n := len(shapes[name]); n > count {
			count, longest = n, name
		}
	}
	if count > compile.MaxConfigurations {
		return nil, usagef("--shape: %s has %d shapes, at most %d are compiled together", longest, count,
			compile.MaxConfigurations)
	}
	sets := make([]map[string][]int64, count)
	for i := range sets {
		sets[i] = map[string][]int64{}
	}
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		list := shapes[name]
		if len(list) != 1 && len(list) != count {
			return nil, usagef("--shape: %s has %d shapes and %s has %d; want equal numbers, or one shape for all",
				name, len(list), longest, count)
		}
		for i, set := range sets {
			set[name] = list[min(i, len(list)-1)]
		}
	}
	return sets, nil
}

// expandShape returns the shapes that a text describes, the last dimension changing fastest.
func expandShape(text string) ([][]int64, error) {
	shapes := [][]int64{{}}
	for _, d := range strings.Split(text, "x") {
		extents, err := parseDimension(d)
		if err != nil {
			return nil, err
		}
		if n := len(shapes) * len(extents); n > compile.MaxConfigurations {
			return nil, fmt.Errorf("%d or more shapes, at most %d are compiled together", n, compile.MaxConfigurations)
		}
		var longer [][]int64
		for _, s := range shapes {
			for _, n := range extents {
				longer = append(longer, append(slices.Clone(s), n))
			}
		}
		shapes = longer
	}
	return shapes, nil
}

// parseDimension returns the extents of a dimension: 8, or from start to stop in steps, as in 8..64:8.
func parseDimension(text string) ([]int64, error) {
	first, rest, ranged := strings.Cut(text, "..")
	last, by, stepped := strings.Cut(rest, ":")
	if !ranged {
		last = first
	}
	if !stepped {
		by = "1"
	}
	start, err1 := strconv.ParseInt(first, 10, 64)
	stop, err2 := strconv.ParseInt(last, 10, 64)
	step, err3 := strconv.ParseInt(by, 10, 64)
	switch {
	case errors.Join(err1, err2, err3) != nil || start < 0:
		return nil, fmt.Errorf("%q is not a dimension; %s", text, wantShape)
	case step < 1:
		return nil, fmt.Errorf("%q has a step of %d, want 1 or more", text, step)
	case stop < start || (stop-start)%step != 0:
		return nil, fmt.Errorf("%q: steps of %d from %d do not reach %d", text, step, start, stop)
	case (stop-start)/step >= compile.MaxConfigurations:
		return nil, fmt.Errorf("%q has more than %d extents, which is how many shapes are compiled together", text,
			compile.MaxConfigurations)
	}
	var out []int64
	for n := start; ; n += step {
		out = append(out, n)
		if n == stop {
			return out, nil
		}
	}
}

// open opens the model and prints its warnings.
func (c *compileFlags) open(e *env, path string) (*frontend.Model, error) {
	if e.subject != nil {
		e.subject.path, e.subject.weights = path, c.weights
	}
	m, err := c.reopen(e, path)
	if err != nil {
		return nil, err
	}
	if len(m.Missing) > 0 {
		fmt.Fprintf(e.err, "zinc: %s\n", assumption(m.Missing))
	}
	if m.Warnings != nil && m.Warnings.Warnings() > 0 {
		e.list(m.Warnings)
	}
	return m, nil
}

// reopen opens a model, which may have been opened before, without saying anything.
func (c *compileFlags) reopen(e *env, path string) (*frontend.Model, error) {
	return frontend.Open(path, frontend.Options{
		WeightsDir:    c.weights,
		Follow:        c.follow,
		AssumeWeights: c.assume,
		Stdin:         e.stdin,
	})
}

// reported opens a model and returns its report for a target, without saying anything: an estimate, or the places alone
// if zinc writes no programs for the target.
func (c *compileFlags) reported(ctx context.Context, e *env, path string, t *target.Table, p *progress) (
	*compile.Report, error) {
	m, err := c.open(e.silent(), path)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	o, err := c.options(e.silent(), m.Path, p)
	if err != nil {
		return nil, err
	}
	if o.Target, o.Provenance = t, false; p == nil {
		o.Progress = nil
	}
	var r *compile.Report
	sink := compile.Sink{Estimate: compile.To(&r)}
	if t.TD == 0 {
		sink = compile.Sink{Plan: compile.To(&r)}
	}
	err = compile.Compile(ctx, m.Program, o, sink)
	return r, err
}

// assumption says which weight files are missing and what is assumed instead of their values.
func assumption(missing []*build.Missing) string {
	s := missing[0].String()
	if n := len(missing) - 1; n > 0 {
		s += fmt.Sprintf(" (and %s more)", diag.Count(n, "file", "files"))
	}
	return s + "; checking with made-up weights. Places and times hold unless they depend on values"
}

// compile compiles an open model and returns what a sink of the result keeps.
func (c *compileFlags) compile(ctx context.Context, e *env, m *frontend.Model,
	sink func(*compile.Result) compile.Sink) (*compile.Result, error) {
	p := e.newProgress(c.progress)
	defer p.end()
	o, err := c.options(e, m.Path, p)
	if err != nil {
		return nil, err
	}
	r := new(compile.Result)
	err = compile.Compile(ctx, m.Program, o, sink(r))
	p.end()
	if err != nil {
		return nil, err
	}
	if c.timePasses {
		total := 0.0
		for _, t := range r.Report.Timings {
			fmt.Fprintf(e.err, "%9.3f ms  %s\n", 1e3*t.Seconds, t.Stage)
			total += t.Seconds
		}
		fmt.Fprintf(e.err, "%9.3f ms  in total\n", 1e3*total)
	}
	return r, nil
}
