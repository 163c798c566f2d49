package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/prove"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// Perturbations is the number of perturbed runs from which the tolerance is computed.
const Perturbations = 4

// Options control a verification.
type Options struct {
	Compile  compile.Options
	Seed     uint64
	Numerics numerics.Mode // of the simulator; the reference is always IEEE
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
	// Prove also proves the pair.
	Prove bool
}

// Runner runs the selected function of a machine; its states stay those of the machine.
type Runner interface {
	Run(ctx context.Context, inputs map[string]interp.Tensor) (map[string]interp.Tensor, error)
	Close() error
}

// direct is the engine without the layers above it.
type direct struct {
	*sim.Machine
	o sim.Options
}

func (d direct) Run(ctx context.Context, inputs map[string]interp.Tensor) (map[string]interp.Tensor, error) {
	return d.Machine.Run(ctx, inputs, d.o)
}

func (direct) Close() error { return nil }

// Result is the result of a verification.
type Result struct {
	Seed       uint64          `json:"seed"`
	Numerics   string          `json:"numerics"`
	Reference  string          `json:"reference"` // numerics of the reference run
	Pass       bool            `json:"pass"`
	Outputs    []Output        `json:"outputs"`
	Model      Model           `json:"model"`
	Container  int64           `json:"container_bytes"`
	Descriptor int64           `json:"descriptor_bytes"`
	Report     *compile.Report `json:"report"`
	Proof      *prove.Result   `json:"proof,omitempty"` // with Options.Prove
}

// Model sums up the size of the compiled program.
type Model struct {
	EngineOps  int   `json:"engine_ops"`
	CPUOps     int   `json:"cpu_ops"`
	EngineMACs int64 `json:"engine_macs"`
	CPUMACs    int64 `json:"cpu_macs"`
	Dispatches int   `json:"dispatches"`
	Tasks      int   `json:"tasks"`
	Weights    int64 `json:"weight_bytes"`
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
	r, err := compile.Compile(ctx, p, o.Compile)
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
	res := &Result{
		Seed:       o.Seed,
		Numerics:   o.Numerics.String(),
		Reference:  numerics.IEEE.String(),
		Pass:       true,
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
	for _, f := range r.Functions {
		if err := m.Select(f.Name); err != nil {
			return nil, &FaultError{"loading the pair that was written", err}
		}
		outs, err := function(ctx, m, through, f, o)
		if err != nil {
			return nil, EngineFault(r, files, err)
		}
		for i := range outs {
			if len(r.Functions) > 1 {
				outs[i].Name = f.Name + ": " + outs[i].Name
			}
			res.Pass = res.Pass && outs[i].Pass
		}
		res.Outputs = append(res.Outputs, outs...)
	}
	if o.Prove {
		res.Proof, err = prove.Pair(ctx, m, Provable(r), prove.Options{Seed: o.Seed, Workers: o.Workers})
	}
	return res, err
}

// Steps is the number of calls of a function with states. Each call has its own
// inputs; the states are zero at first.
const Steps = 3

// function compares every result of every call of one function, and its states
// after each call.
func function(ctx context.Context, m *sim.Machine, through Runner, f *compile.Function, o Options) ([]Output, error) {
	steps, err := inputs(f, o)
	if err != nil {
		return nil, err
	}
	places := pickedBy(f.Reference)
	want, tols, err := reference(ctx, f, steps, places, o)
	if err != nil {
		return nil, fmt.Errorf("reference run: %w", err)
	}
	run := sim.Options{Numerics: o.Numerics, Workers: o.Workers}
	if o.Progress != nil {
		tasks := 0
		run.Trace = func(_ string, e *engine.Event) {
			if e != nil {
				tasks++
				o.Progress("simulated run", tasks, f.Report.Tasks*len(steps))
			}
		}
	}
	if through == nil {
		through = direct{m, run}
	}
	m.Reset()
	var out []Output
	for i, in := range steps {
		got, err := through.Run(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("simulated run: %w", err)
		}
		names, err := results(m, f, got)
		if err != nil {
			return nil, &FaultError{"simulated run", err}
		}
		for _, n := range names {
			c, err := compareResult(n, places, got, want[i], tols[i])
			if err != nil {
				return nil, &FaultError{"comparison", err}
			}
			if len(steps) > 1 {
				c.Name = fmt.Sprintf("%s (call %d)", n, i+1)
			}
			out = append(out, c)
		}
	}
	return out, nil
}

// results adds the states to the outputs of a call and returns the names of both, in order.
func results(m *sim.Machine, f *compile.Function, got map[string]interp.Tensor) ([]string, error) {
	var names []string
	for _, v := range f.Reference.Body.Outputs {
		if _, ok := got[v.Name]; !ok {
			return nil, fmt.Errorf("the pair is missing output %q", v.Name)
		}
		names = append(names, v.Name)
	}
	for _, n := range f.States {
		t, err := m.State(n)
		if err != nil {
			return nil, err
		}
		got[statePrefix+n] = t
		names = append(names, statePrefix+n)
	}
	return names, nil
}

// compareResult compares one result of a call: positions by the elements at them, if that is possible, others by their
// values.
func compareResult(n string, places map[string]picked, got, want map[string]interp.Tensor,
	tols map[string]*tolerance) (Output, error) {
	if p, ok := places[n]; ok {
		x := pickedPrefix + p.of
		if within := tols[x]; within != nil {
			if c, ok := comparePicked(n, got[n], want[n], want[x], p.axis, within); ok {
				return c, nil
			}
		}
	}
	return compare(n, got[n], want[n], tols[n])
}

// statePrefix marks the names of states among those of results.
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

// reference runs the interpreter on the source, call by call: once unperturbed, and
// Perturbations times with every operation on the engine erring within its
// bound.
func reference(ctx context.Context, f *compile.Function, steps []map[string]interp.Tensor, places map[string]picked,
	o Options) ([]map[string]interp.Tensor, []map[string]*tolerance, error) {
	prog, err := interp.Prepare(f.Reference)
	if err != nil {
		return nil, nil, err
	}
	opt := interp.Options{Numerics: numerics.IEEE, Workers: o.Workers, Progress: o.stage("reference run")}
	want, err := calls(ctx, prog, steps, places, opt)
	if err != nil {
		return nil, nil, err
	}
	tols := make([]map[string]*tolerance, len(steps))
	for i := range steps {
		tols[i] = map[string]*tolerance{}
		for n, t := range want[i] {
			tols[i][n] = newTolerance(t)
		}
	}
	if o.Exact {
		for i := range tols {
			for _, t := range tols[i] {
				t.exact = true
			}
		}
		return want, tols, nil
	}
	// Passes rewrite the operations that the engine accepts, and so change where rounding happens, even if the CPU
	// computes them in the end.
	takes := func(op *ir.Op) bool { return op.Place.Unit == ir.Engine }
	if !slices.ContainsFunc(f.Reference.Body.Ops, takes) {
		return want, tols, nil
	}
	// A composition errs in each of its operations, so the program with compositions is the one to perturb.
	// The spread is measured from its own unperturbed run, while outputs are compared with the reference.
	parts, still := prog, want
	if f.Parts != nil {
		if parts, err = interp.Prepare(f.Parts); err != nil {
			return nil, nil, err
		}
		if still, err = calls(ctx, parts, steps, places, opt); err != nil {
			return nil, nil, err
		}
	}
	bound := bounds(f.Report)
	for k := range uint64(Perturbations) {
		opt.Progress = o.stage(fmt.Sprintf("perturbed run %d of %d", k+1, Perturbations))
		opt.Perturb = &interp.Perturb{Seed: o.Seed*Perturbations + k, Bound: bound}
		y, err := calls(ctx, parts, steps, places, opt)
		if err != nil {
			return nil, nil, err
		}
		for i := range steps {
			for n, t := range y[i] {
				if tols[i][n] != nil {
					tols[i][n].add(still[i][n], t)
				}
			}
		}
	}
	return want, tols, nil
}

// calls runs a program once per step, keeps its states from call to call, and returns the results, the states after
// each call, and the tensors whose positions results contain.
func calls(ctx context.Context, prog *interp.Program, steps []map[string]interp.Tensor, places map[string]picked,
	opt interp.Options) ([]map[string]interp.Tensor, error) {
	opt.States = map[string]interp.Tensor{}
	var out []map[string]interp.Tensor
	for _, in := range steps {
		kept := map[string]interp.Tensor{}
		if len(places) > 0 {
			opt.Trace = keep(places, kept)
		}
		y, err := prog.Run(ctx, in, opt)
		if err != nil {
			return nil, err
		}
		maps.Copy(y, kept)
		for n, t := range opt.States {
			y[statePrefix+n] = t
		}
		out = append(out, y)
		if opt.Perturb != nil {
			p := *opt.Perturb
			p.Seed += 1 << 32
			opt.Perturb = &p
		}
	}
	return out, nil
}

// stage returns the Progress callback of one run, or nil.
func (o *Options) stage(name string) func(done, total int) {
	if o.Progress == nil {
		return nil
	}
	return func(done, total int) { o.Progress(name, done, total) }
}

// Text writes the result as text.
func (r *Result) Text(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "output\ttype\tmax abs\tmax ulp\ttolerance\tscale\tresult")
	for _, o := range r.Outputs {
		verdict := "pass"
		if !o.Pass {
			verdict = fmt.Sprintf("FAIL: element %d is %g, reference %g", o.Worst.Index, float64(o.Worst.Got),
				float64(o.Worst.Want))
		}
		if o.Picked {
			verdict += " (by the elements at these places)"
		}
		if o.Loose {
			verdict += fmt.Sprintf(" (loose: the tolerance is %.3g %% of the scale)", float64(o.TolerancePercent))
		}
		if o.NotFinite > 0 {
			verdict += fmt.Sprintf(" (not finite in the reference: %s)", diag.Count(o.NotFinite, "element", "elements"))
		}
		fmt.Fprintf(tw, "%s\t%s\t%.4g\t%d\t%.4g\t%.4g\t%s\n", o.Name, o.Type, float64(o.MaxAbs), o.MaxULP,
			float64(o.Tolerance), float64(o.Scale), verdict)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	m := r.Model
	_, err := fmt.Fprintf(w, "seed %d, engine numerics %s, reference %s\n"+
		"operations: %d on the engine, %d on the CPU\nmultiply-accumulates: %d on the engine, %d on the CPU\n"+
		"%s, %s, %d bytes of weights\n",
		r.Seed, r.Numerics, r.Reference, m.EngineOps, m.CPUOps, m.EngineMACs, m.CPUMACs,
		diag.Count(m.Dispatches, "dispatch", "dispatches"), diag.Count(m.Tasks, "task", "tasks"), m.Weights)
	if r.Proof != nil && err == nil {
		err = r.Proof.Text(w)
	}
	return err
}

// Failed returns the names of the outputs that do not pass.
func (r *Result) Failed() []string {
	var ns []string
	for _, o := range r.Outputs {
		if !o.Pass {
			ns = append(ns, o.Name)
		}
	}
	return ns
}
