package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/zinc-compiler/zinc/analysis/prove"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/memlimit"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// Options control a verification.
type Options struct {
	Compile  compile.Options
	Seed     uint64
	Numerics numerics.Mode // of the simulator, ANE for the target's own; the reference is always IEEE
	Workers  int           // goroutines of the runs, 0 for one per processor
	// Inputs replace the random values, by name, in every function and, for
	// functions with states, in every call.
	Inputs map[string]interp.Tensor
	// Exact says that no correct run rounds anything on these inputs: the tolerance is zero.
	Exact bool
	// Through returns a Runner for the functions that are selected on the opened pair, with the arithmetic that it was
	// built with, for example the whole stack; nil for the engine without the layers above it.
	Through func(ctx context.Context, m *sim.Machine) (Runner, error)
	// Progress is called after each operation of a reference run and, without Through, each task
	// of the simulated run. It may be nil.
	Progress func(stage string, done, total int)
	// Prove proves the pair even if no output needs it. The bounds of an output may be too wide to show anything; if a
	// proof shows that bytes and statements compute the right function, all that is left is rounding, and it passes.
	Prove bool
}

// Runner runs the selected function of a machine, with the machine's states.
type Runner interface {
	Run(ctx context.Context, inputs map[string]interp.Tensor) (map[string]interp.Tensor, error)
	Close() error
}

// Reference names the arithmetic of the interpreter: its results are not rounded to narrower types.
const Reference = "fp32"

// Result is the result of a verification.
type Result struct {
	Seed       uint64          `json:"seed"`             // seed of the inputs
	Numerics   string          `json:"numerics"`         // arithmetic of the engine: ane, ane-wide, ane-fixed or ieee
	Reference  string          `json:"reference"`        // arithmetic of the reference
	Verdict    Verdict         `json:"verdict"`          // worst verdict of the outputs
	Pass       bool            `json:"pass"`             // Verdict is Pass
	Statements int             `json:"statements"`       // compared
	Outputs    []Output        `json:"outputs"`          // comparisons of the outputs
	Model      Model           `json:"model"`            // size of the compiled program
	Container  int64           `json:"container_bytes"`  // size of the container
	Descriptor int64           `json:"descriptor_bytes"` // size of the descriptor
	Report     *compile.Report `json:"report"`           // report of the compilation
	Proof      *prove.Result   `json:"proof,omitempty"`  // with Options.Prove, or if bounds alone cannot tell
	First      *Departure      `json:"first,omitempty"`  // the first statement beyond its bound
}

// Model sums up the size of the compiled program.
type Model struct {
	EngineOps  int   `json:"engine_ops"`   // operations on the engine
	CPUOps     int   `json:"cpu_ops"`      // operations on the CPU
	EngineMACs int64 `json:"engine_macs"`  // multiply-accumulates on the engine
	CPUMACs    int64 `json:"cpu_macs"`     // multiply-accumulates on the CPU
	Dispatches int   `json:"dispatches"`   // dispatches of one call
	Tasks      int   `json:"tasks"`        // tasks of the engine
	Weights    int64 `json:"weight_bytes"` // constant section
}

// Open writes the pair of a compilation and opens the bytes in the simulator. Every
// error is a *FaultError, because zinc must be able to open what it compiled.
func Open(r *compile.Result) (*sim.Machine, error) {
	p, err := r.Pair()
	if err != nil {
		return nil, &FaultError{"writing the pair", err}
	}
	m, err := sim.Open(p)
	if err != nil {
		return nil, &FaultError{"loading the pair that was written", err}
	}
	return m, nil
}

// Run compiles p and verifies the result. p must not be used afterwards.
func Run(ctx context.Context, p *ir.Program, o Options) (*Result, error) {
	files := p.Files
	r, err := compile.All(ctx, p, o.Compile)
	if err != nil {
		return nil, err
	}
	m, err := Open(r)
	if err != nil {
		return nil, err
	}
	return Check(ctx, r, m, files, o)
}

// Check verifies a program that is compiled and opened: r is the compilation, m the machine of Open(r), and files are
// the names of the source's files, for errors. Options.Compile is not used.
func Check(ctx context.Context, r *compile.Result, m *sim.Machine, files []string, o Options) (_ *Result, err error) {
	written := m.Pair()
	o.Numerics = m.Mode(o.Numerics)
	res := &Result{
		Seed:       o.Seed,
		Numerics:   o.Numerics.String(),
		Reference:  Reference,
		Verdict:    Pass,
		Container:  int64(len(written.Container)),
		Descriptor: int64(len(written.Descriptor)),
		Report:     r.Report,
		Model: Model{
			EngineOps:  r.Report.EngineOps,
			CPUOps:     r.Report.CPUOps,
			EngineMACs: r.Report.EngineMACs,
			CPUMACs:    r.Report.CPUMACs,
			Dispatches: r.Report.Dispatches,
			Tasks:      r.Report.Tasks,
			Weights:    r.Report.Weights,
		},
	}
	var through Runner
	if o.Through != nil {
		if through, err = o.Through(ctx, m); err != nil {
			return nil, &FaultError{"loading the pair that was written", err}
		}
		defer func() { err = errors.Join(err, through.Close()) }()
	}
	engine := m
	if through != nil {
		if engine, err = sim.Open(written); err != nil {
			return nil, &FaultError{"loading the pair that was written", err}
		}
	}
	for _, f := range r.Functions {
		if err := errors.Join(m.Select(f.Name), engine.Select(f.Name)); err != nil {
			return nil, &FaultError{"loading the pair that was written", err}
		}
		from := len(res.Outputs)
		if err := res.function(ctx, m, engine, through, f, o); err != nil {
			return nil, EngineFault(r, files, err)
		}
		for i := range res.Outputs[from:] {
			if out := &res.Outputs[from+i]; len(r.Functions) > 1 {
				out.Name = f.Name + ": " + out.Name
			}
		}
		if d := res.First; d != nil && d.Function == "" {
			d.Function = f.Name
			d.Place = (&ir.Program{Files: files}).PosString(ir.Pos{Line: d.Line, Col: d.Col})
		}
	}
	if err := res.prove(ctx, m, r, &o); err != nil {
		return nil, err
	}
	for i := range res.Outputs {
		if out := &res.Outputs[i]; out.Verdict == Fail || res.Verdict == Pass {
			res.Verdict = out.Verdict
		}
	}
	if res.First != nil {
		res.Verdict = Fail
	}
	res.Pass = res.Verdict == Pass
	return res, nil
}

// Steps is the number of calls of a function with states. Each call has its own
// inputs; the states are zero at first.
const Steps = 3

// function compares every statement, result and state of every call of one function.
func (r *Result) function(ctx context.Context, m, engine *sim.Machine, through Runner, f *compile.Function,
	o Options) error {
	steps, err := inputs(f, o)
	if err != nil {
		return err
	}
	m.Reset()
	if engine != m {
		engine.Reset()
	}
	c := newComparison(ctx, f, &o)
	for i, in := range steps {
		// The reference runs first: it needs memory, and so does what the tasks wrote.
		end, err := c.endToEnd(in, o.stage("reference run"))
		if err != nil {
			return fmt.Errorf("reference run: %w", err)
		}
		x, seen, err := c.observe(ctx, m, engine, through, in, &o)
		if err != nil {
			return err
		}
		if err := x.finish(seen, o.stage("statements")); err != nil {
			return fmt.Errorf("reference run: %w", err)
		}
		number := 0
		if len(steps) > 1 {
			number = i + 1
		}
		if err := r.call(x, end, seen, number, o.Exact); err != nil {
			return err
		}
	}
	return nil
}

// call compares the outputs and states of one call; number is 0 for the only one.
func (r *Result) call(x *call, end map[string]*enclosure, seen *observed, number int, exact bool) error {
	add := func(name string, v *ir.Value, got interp.Tensor, ok bool) error {
		if !ok {
			return &FaultError{"simulated run", fmt.Errorf("the pair is missing output %q", name)}
		}
		out, err := x.output(name, v, got, end[name], exact)
		if err != nil {
			return &FaultError{"comparison", err}
		}
		if number > 0 {
			out.Name = fmt.Sprintf("%s (call %d)", name, number)
		}
		r.Outputs = append(r.Outputs, out)
		return nil
	}
	r.Statements += len(x.order)
	if r.First == nil {
		r.First = x.departure(number)
	}
	for _, v := range x.f.Reference.Body.Outputs {
		got, ok := seen.outputs[v.Name]
		if err := add(v.Name, x.lowered[v.Name], got, ok); err != nil {
			return err
		}
	}
	for i, n := range x.f.States {
		var v *ir.Value
		if at := x.f.StateResults[i]; at >= 0 {
			v = x.f.Placed.Body.Outputs[at]
		}
		if err := add(statePrefix+n, v, seen.after[n], true); err != nil {
			return err
		}
	}
	return nil
}

// observe runs one call and returns its outputs and states, and the comparison of the statements that tasks computed:
// each is compared as soon as its results are written. With a Runner, the tasks are
// observed on a second machine, which runs the same call on the engine directly.
func (c *comparison) observe(ctx context.Context, m, engine *sim.Machine, through Runner,
	in map[string]interp.Tensor, o *Options) (*call, *observed, error) {
	f, inputs := c.f, maps.Clone(in)
	if err := states(m, f, inputs); err != nil {
		return nil, nil, err
	}
	bytes := int64(0)
	for _, p := range f.Procedures {
		for i := range p.Materialised {
			bytes += materialisedBytes * max(p.Materialised[i].Value.Type.Elems(), 0)
		}
	}
	if err := memlimit.Room(bytes); err != nil {
		return nil, nil, fmt.Errorf("what the tasks of function %s write: %w", f.Name, err)
	}
	x := c.begin(inputs)
	watchers := map[string]*watcher{}
	for _, p := range f.Procedures {
		watchers[p.Name] = watch(p)
	}
	tasks, wrong := 0, error(nil)
	run := sim.Options{Numerics: o.Numerics, Workers: o.Workers}
	run.Results = func(where string, task int, extent [5]int, patterns []uint16) {
		if tasks++; o.Progress != nil {
			o.Progress("simulated run", tasks, max(tasks, f.Report.Tasks))
		}
		if w := watchers[where]; w != nil && wrong == nil {
			w.write(task, extent, patterns)
			wrong = w.finish(task, x.receive)
		}
	}
	got, err := engine.Run(ctx, in, run)
	if err == nil && through != nil {
		got, err = through.Run(ctx, in)
	}
	switch {
	case wrong != nil:
		return nil, nil, fmt.Errorf("reference run: %w", wrong)
	case err != nil:
		return nil, nil, fmt.Errorf("simulated run: %w", err)
	}
	seen := &observed{outputs: got, after: map[string]interp.Tensor{}}
	return x, seen, states(m, f, seen.after)
}

// states copies what the states of a function contain.
func states(m *sim.Machine, f *compile.Function, to map[string]interp.Tensor) error {
	for _, n := range f.States {
		t, err := m.State(n)
		if err != nil {
			return &FaultError{"simulated run", err}
		}
		t.Data = slices.Clone(t.Data)
		to[n] = t
	}
	return nil
}

// materialisedBytes is the memory of an element that a task wrote: its value, and its place while the buffer is not
// complete.
const materialisedBytes = 4

// statePrefix marks the names of states among the names of results.
const statePrefix = "state "

// inputs returns the inputs of each call: the values in o.Inputs, otherwise random ones.
func inputs(f *compile.Function, o Options) ([]map[string]interp.Tensor, error) {
	n := 1
	if len(f.States) > 0 {
		n = Steps
	}
	steps := make([]map[string]interp.Tensor, n)
	var budget Budget
	for i := range steps {
		steps[i] = map[string]interp.Tensor{}
		for _, v := range f.Reference.Body.Params {
			if v.Type.Kind == ir.State {
				continue
			}
			t := concrete(v, f.Reference.Flex.Ranges[v.Name])
			x, given := o.Inputs[v.Name]
			if given && !x.Type.Equal(t) {
				return nil, fmt.Errorf("input %s: the values have type %s, want %s", v.Name, x.Type, t)
			}
			if !given {
				var err error
				// The first call uses the seed unchanged.
				if x, err = budget.Random(t, v.Name, o.Seed+uint64(i)<<32); err != nil {
					return nil, err
				}
			}
			steps[i][v.Name] = x
		}
	}
	return steps, nil
}

// UnknownExtent is the extent chosen for a dimension without a default, if its range allows it; otherwise the nearest
// extent in the range is chosen.
const UnknownExtent = 2

// concrete returns the type of an input with an extent chosen for every unknown dimension.
func concrete(v *ir.Value, ranges [][2]int64) ir.Type {
	shape := slices.Clone(v.Type.Shape)
	for i, d := range shape {
		if d >= 0 {
			continue
		}
		shape[i] = UnknownExtent
		if i < len(ranges) {
			low, high := ranges[i][0], ranges[i][1]
			if shape[i] = max(shape[i], low); high >= 0 {
				shape[i] = min(shape[i], high)
			}
		}
	}
	return v.Type.WithShape(shape...)
}

// stage returns the Progress callback of one run, or nil.
func (o *Options) stage(name string) func(done, total int) {
	if o.Progress == nil {
		return nil
	}
	return func(done, total int) { o.Progress(name, done, total) }
}

// Text writes the result as text: the answer, then the outputs.
func (r *Result) Text(w io.Writer) error {
	m := r.Model
	_, err := fmt.Fprintf(w, "%s: %s and %s compared\n", r.Verdict, diag.Count(len(r.Outputs), "output", "outputs"),
		diag.Count(r.Statements, "statement", "statements"))
	if err != nil {
		return err
	}
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "output\ttype\tdifference\tbound\tby\tclosest to its bound\tresult")
	for _, o := range r.Outputs {
		used, bound := "-", "-"
		if o.Statement != "" {
			used = fmt.Sprintf("%s, %.0f %%", o.Statement, 100*float64(o.Used))
		}
		if o.By != SameCode && o.By != Equal {
			bound = fmt.Sprintf("%.3g ulp, %.3g %%", float64(o.BoundULP), float64(o.BoundPercent))
		}
		fmt.Fprintf(tw, "%s\t%s\t%.3g ulp, %.3g %%\t%s\t%s\t%s\t%s\n", o.Name, o.Type, float64(o.MaxULP),
			float64(o.Percent), bound, o.By, used, o.result())
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "seed %d, engine numerics %s, reference %s\n"+
		"operations: %d on the engine, %d on the CPU; multiply-accumulates: %d on the engine, %d on the CPU\n"+
		"%s, %s, %d bytes of weights\n",
		r.Seed, r.Numerics, r.Reference, m.EngineOps, m.CPUOps, m.EngineMACs, m.CPUMACs,
		diag.Count(m.Dispatches, "dispatch", "dispatches"), diag.Count(m.Tasks, "task", "tasks"), m.Weights)
	if r.Proof != nil && err == nil {
		err = r.Proof.Text(w, prove.TextOptions{})
	}
	return err
}

// result describes the verdict.
func (o *Output) result() string {
	text := string(o.Verdict)
	if o.Proved {
		text += fmt.Sprintf(" (proved; difference %.2g %%, rounding may reach %.2g %%", float64(o.Percent),
			float64(o.BoundPercent))
		if o.Percent > o.BoundPercent {
			text += " in one statement alone"
		}
		text += ")"
	}
	if o.Why != "" {
		text += ": " + o.Why
	}
	if o.Choice != nil {
		text += "; " + o.Choice.String()
	}
	if o.NotFinite > 0 {
		text += fmt.Sprintf(" (%s of the reference not finite, the first is element %d)",
			diag.Count(o.NotFinite, "element", "elements"), o.FirstNotFinite)
	}
	return text
}

// Failed returns the names of the outputs that fail.
func (r *Result) Failed() []string { return r.named(Fail) }

// Untold returns the names of the outputs that cannot be verified.
func (r *Result) Untold() []string { return r.named(CannotTell) }

func (r *Result) named(v Verdict) []string {
	var ns []string
	for _, o := range r.Outputs {
		if o.Verdict == v {
			ns = append(ns, o.Name)
		}
	}
	return ns
}
