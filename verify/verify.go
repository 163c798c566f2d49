package verify

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// Perturbations is the number of perturbed runs that the tolerance is made of.
const Perturbations = 4

// Options steer a verification.
type Options struct {
	Compile  compile.Options
	Seed     uint64
	Numerics numerics.Mode // of the simulator; the reference is always IEEE
	Workers  int           // goroutines of the runs, 0 for one a processor
	// Progress is called as the runs go on: operations of a reference run, tasks
	// of the simulated one. Nil for none.
	Progress func(stage string, done, total int)
}

// Result is a verification.
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
}

// Model is what the compiled program costs.
type Model struct {
	EngineOps  int   `json:"engine_ops"`
	CPUOps     int   `json:"cpu_ops"`
	EngineMACs int64 `json:"engine_macs"`
	CPUMACs    int64 `json:"cpu_macs"`
	Dispatches int   `json:"dispatches"`
	Tasks      int   `json:"tasks"`
	Weights    int64 `json:"weight_bytes"`
}

// FaultError says that zinc cannot use what it wrote itself.
type FaultError struct {
	Stage string
	Err   error
}

// Error returns the stage and the cause.
func (e *FaultError) Error() string { return e.Stage + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *FaultError) Unwrap() error { return e.Err }

// Pair returns the bytes of the container and of the descriptor.
func Pair(r *compile.Result) (container, descriptor []byte, err error) {
	var b bytes.Buffer
	b.Grow(int(r.HWX.Size))
	if _, err := r.HWX.WriteTo(&b); err != nil {
		return nil, nil, err
	}
	descriptor, err = e5.Bytes(r.E5)
	return b.Bytes(), descriptor, err
}

// Run compiles p and verifies the result. p must not be used afterwards.
func Run(ctx context.Context, p *ir.Program, o Options) (*Result, error) {
	r, err := compile.Compile(ctx, p, o.Compile)
	if err != nil {
		return nil, err
	}
	container, descriptor, err := Pair(r)
	if err != nil {
		return nil, &FaultError{"writing the pair", err}
	}
	m, err := sim.Load(container, descriptor)
	if err != nil {
		return nil, &FaultError{"loading the pair that was written", err}
	}
	inputs := map[string]interp.Tensor{}
	for _, v := range r.Reference.Body.Params {
		if inputs[v.Name], err = Random(v.Type, v.Name, o.Seed); err != nil {
			return nil, err
		}
	}
	want, tols, err := reference(ctx, r, inputs, o)
	if err != nil {
		return nil, fmt.Errorf("reference run: %w", err)
	}
	run := sim.Options{Numerics: o.Numerics, Workers: o.Workers}
	if o.Progress != nil {
		tasks := 0
		run.Trace = func(_ string, e *engine.Event) {
			if e != nil {
				tasks++
				o.Progress("simulated run", tasks, r.Report.Tasks)
			}
		}
	}
	got, err := m.Run(ctx, inputs, run)
	if err != nil {
		return nil, fmt.Errorf("simulated run: %w", err)
	}

	res := &Result{
		Seed: o.Seed, Numerics: o.Numerics.String(), Reference: numerics.IEEE.String(), Pass: true,
		Container: int64(len(container)), Descriptor: int64(len(descriptor)), Report: r.Report,
		Model: Model{
			EngineOps: r.Report.EngineOps, CPUOps: r.Report.CPUOps, EngineMACs: r.Report.EngineMACs, CPUMACs: r.Report.CPUMACs,
			Dispatches: r.Report.Dispatches, Tasks: r.Report.Tasks, Weights: r.Report.Weights,
		},
	}
	for _, v := range r.Reference.Body.Outputs {
		g, ok := got[v.Name]
		if !ok {
			return nil, &FaultError{"simulated run", fmt.Errorf("the pair has no output %q", v.Name)}
		}
		out, err := compare(v.Name, g, want[v.Name], tols[v.Name])
		if err != nil {
			return nil, &FaultError{"comparison", err}
		}
		res.Pass = res.Pass && out.Pass
		res.Outputs = append(res.Outputs, out)
	}
	return res, nil
}

// reference runs the interpreter on the source: once as it is, and
// Perturbations times with every operation on the engine erring within its
// bound.
func reference(ctx context.Context, r *compile.Result, inputs map[string]interp.Tensor, o Options) (map[string]interp.Tensor, map[string]*tolerance, error) {
	prog, err := interp.Prepare(r.Reference)
	if err != nil {
		return nil, nil, err
	}
	opt := interp.Options{Numerics: numerics.IEEE, Workers: o.Workers, Progress: o.stage("reference run")}
	want, err := prog.Run(ctx, inputs, opt)
	if err != nil {
		return nil, nil, err
	}
	tols := map[string]*tolerance{}
	for n, t := range want {
		tols[n] = newTolerance(t)
	}
	if r.Report.EngineOps == 0 {
		return want, tols, nil
	}
	bound := bounds(r.Report)
	for k := range uint64(Perturbations) {
		opt.Progress = o.stage(fmt.Sprintf("perturbed run %d of %d", k+1, Perturbations))
		opt.Perturb = &interp.Perturb{Seed: o.Seed*Perturbations + k, Bound: bound}
		y, err := prog.Run(ctx, inputs, opt)
		if err != nil {
			return nil, nil, err
		}
		for n, t := range y {
			tols[n].add(t)
		}
	}
	return want, tols, nil
}

// stage returns the progress of one run.
func (o *Options) stage(name string) func(done, total int) {
	if o.Progress == nil {
		return nil
	}
	return func(done, total int) { o.Progress(name, done, total) }
}

// Text writes the result for people.
func (r *Result) Text(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "output\ttype\tmax abs\tmax ulp\ttolerance\tscale\tresult")
	for _, o := range r.Outputs {
		verdict := "pass"
		if !o.Pass {
			verdict = fmt.Sprintf("FAIL: element %d is %g, reference %g", o.Worst.Index, float64(o.Worst.Got), float64(o.Worst.Want))
		}
		if o.Loose {
			verdict += " (loose: the tolerance is near the scale)"
		}
		fmt.Fprintf(tw, "%s\t%s\t%.4g\t%d\t%.4g\t%.4g\t%s\n", o.Name, o.Type, float64(o.MaxAbs), o.MaxULP, float64(o.Tolerance), float64(o.Scale), verdict)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	m := r.Model
	_, err := fmt.Fprintf(w, "seed %d, engine numerics %s, reference %s\n"+
		"operations: %d on the engine, %d on the CPU\nmultiply-accumulates: %d on the engine, %d on the CPU\n"+
		"%d dispatches, %d tasks, %d bytes of weights\n",
		r.Seed, r.Numerics, r.Reference, m.EngineOps, m.CPUOps, m.EngineMACs, m.CPUMACs, m.Dispatches, m.Tasks, m.Weights)
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
	return slices.Clip(ns)
}
