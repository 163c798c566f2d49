package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/internal/atomicfile"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/runtime/sim/stack"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/e5rt"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/inject"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
	"github.com/zinc-compiler/zinc/target"
)

// machineFlags are the flags that configure the machine that runs a pair.
type machineFlags struct {
	inject string
	seed   uint64 // of the faults
	strict bool
	timing bool          // the tasks' times are kept
	limit  time.Duration // virtual, of a run; 0 for none
	// overlap submits each run on two streams at a time
	overlap bool
	fast    bool   // on the low-latency event path
	calls   bool   // no step is a trigger
	ran     func() // is called when the engine has computed a task; may be nil
}

func (f *machineFlags) register(s *pflag.FlagSet) {
	s.StringVar(&f.inject, "inject", "", "`FAULTS` to inject below the runtime: "+
		"KIND[@SITE][:KEY=VALUE,...], separated by semicolons, as in drop@post:count=1; the kinds are "+
		faultKinds())
	s.Uint64Var(&f.seed, "inject-seed", 0, "`SEED` of the faults")
	s.BoolVar(&f.strict, "strict-firmware", false, "fault where the real firmware does, instead of refusing")
}

// registerRun adds the flags of a command that runs a model as often as it is told.
func (f *machineFlags) registerRun(s *pflag.FlagSet) {
	s.BoolVar(&f.timing, "timing", false, "print where the virtual time of the last run goes, by layer and by task")
	s.DurationVar(&f.limit, "timeout", 0, "virtual `TIME` that a run may take, as in 250us; 0 means no limit")
	s.BoolVar(&f.overlap, "overlap", false, "submit each run on two streams at a time, which the M1 does not finish: "+
		"the run ends with an error when its --timeout is over")
	s.BoolVar(&f.fast, "low-latency", false, "with --overlap, take the runtime's low-latency event path, on which "+
		"both streams finish")
	s.BoolVar(&f.calls, "no-chaining", false, "send a call in every step of a model with resident values, and not a "+
		"trigger of a request that the firmware keeps")
}

func faultKinds() string {
	s := ""
	for i, k := range inject.Kinds {
		if i > 0 {
			s += ", "
		}
		s += k.Name
	}
	return s
}

// check returns an error if --inject does not parse, and for a limit that is none.
func (f *machineFlags) check() error {
	switch {
	case f.limit < 0:
		return usagef("--timeout=%v: must be 0 or more", f.limit)
	case f.overlap && f.limit == 0:
		return usagef("--overlap requires --timeout")
	case f.fast && !f.overlap:
		return usagef("--low-latency requires --overlap")
	case f.inject == "":
		return nil
	}
	if _, err := inject.Parse(f.inject); err != nil {
		return usagef("--inject: %w", err)
	}
	return nil
}

// simulation is a simulated machine with a loaded model.
type simulation struct {
	stack   *stack.Stack
	process *stack.Process
	model   *stack.Model
	record  *stack.Record
	events  *trace.Recording // nil: nothing is traced
	inject  *inject.Injector // nil: no faults
	tasks   []stack.TaskTime // of the last run, if they are wanted
	runs    int
	spent   stack.Spent // in all runs
}

// appPID is the ID of the process that runs the model.
const appPID = 501

// loading loads a model into a process of a machine that runs the target's programs.
type loading struct {
	of   *target.Table
	into func(ctx context.Context, p *stack.Process) (*stack.Model, error)
}

// loadingPair returns the loading of a pair.
func loadingPair(p pair.Pair) (loading, error) {
	machine, err := sim.Open(p)
	if err != nil {
		return loading{}, err
	}
	return loadingMachine(machine), nil
}

func loadingMachine(m *sim.Machine) loading {
	return loading{m.Target(), func(ctx context.Context, p *stack.Process) (*stack.Model, error) {
		return p.Load(ctx, m)
	}}
}

// loadError returns an error of loading the pair or the model at path: an error of the compiler as it is, and an error
// of loading a compiled model as a bug in zinc.
func loadError(path string, compiled bool, err error) error {
	failed := (*stack.CompileError)(nil)
	switch {
	case errors.As(err, &failed):
		return failed.Err
	case compiled:
		return fmt.Errorf("%s: %w", path, err)
	}
	return &internalError{err: fmt.Errorf("loading the compiled pair: %w", err)}
}

// build creates the machine that the flags describe and loads a model.
func (f *machineFlags) build(ctx context.Context, load loading, mode numerics.Mode, workers int,
	events *trace.Recording) (_ *simulation, err error) {
	r := &simulation{events: events}
	o := stack.Options{Target: load.of, Strict: f.strict, Workers: workers, Numerics: sim.EngineNumerics(mode),
		Ran: f.ran, Timeout: f.limit, Overlap: f.overlap, LowLatency: f.fast, NoChaining: f.calls}
	if events != nil {
		o.Trace = events.Tracer()
	}
	faults := ""
	if f.inject != "" {
		spec, err := inject.Parse(f.inject)
		if err != nil {
			return nil, usagef("--inject: %w", err)
		}
		r.inject = inject.New(spec, f.seed)
		faults, o.Inject = spec.String(), r.inject
	}
	if f.timing {
		o.Tasks = func(t stack.TaskTime) { r.tasks = append(r.tasks, t) }
	}
	if r.stack, err = stack.New(o); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			r.stack.Close()
		}
	}()
	if r.process, err = r.stack.Connect(stack.Application(appPID), 0); err != nil {
		return nil, err
	}
	if r.model, err = load.into(ctx, r.process); err != nil {
		return nil, err
	}
	r.record = stack.NewRecord(r.model.Machine().Pair())
	r.record.Compiled, r.record.Timeout, r.record.Calls = r.model.Compiled(), f.limit, f.calls
	r.record.Numerics, r.record.Strict, r.record.Inject, r.record.Seed = mode.String(), f.strict, faults, f.seed
	return r, nil
}

// injected says which faults were injected, if any were requested.
func (e *env) injected(x *inject.Injector) {
	if x == nil {
		return
	}
	var made []string
	for k := range inject.Kind(inject.NumKinds) {
		if n := x.Made(k); n > 0 {
			made = append(made, fmt.Sprintf("%s %s", k, diag.Count(int(n), "time", "times")))
		}
	}
	if made == nil {
		e.note("no fault was injected: nothing came to its site")
		return
	}
	e.note("injected: %s", strings.Join(made, ", "))
}

// whole runs a model through the whole stack, for verify.
type whole struct{ *simulation }

func (w whole) Run(ctx context.Context, inputs map[string]interp.Tensor) (map[string]interp.Tensor, error) {
	return w.model.Run(ctx, inputs)
}

func (w whole) Close() error { return w.close() }

func (r *simulation) close() error {
	if r.stack == nil {
		return errors.Join(r.model.Close(), r.process.Close())
	}
	return errors.Join(r.model.Close(), r.process.Close(), r.stack.Close())
}

// run runs the model once and, if tracing, records what a replay needs.
func (r *simulation) run(ctx context.Context, inputs, states map[string]interp.Tensor) (map[string]interp.Tensor,
	error) {
	r.tasks = r.tasks[:0]
	out, err := r.model.Run(ctx, inputs)
	r.runs++
	r.spent = r.spent.Add(r.model.Spent())
	if r.events != nil {
		r.record.Add(inputs, states, out, err)
	}
	return out, err
}

// write writes the trace to a file.
func (r *simulation) write(ctx context.Context, file string) error {
	var b bytes.Buffer
	if err := r.record.Write(&b, r.events.Events); err != nil {
		return err
	}
	return atomicfile.Write(ctx, atomicfile.Bytes(file, b.Bytes()))
}

// replayTrace repeats the runs of a trace and compares the traces.
func (c *runCommand) replayTrace(ctx context.Context, path string) error {
	recorded, err := c.stdin.Read(c.replay)
	if err != nil {
		return err
	}
	rec, err := stack.ReadRecord(recorded)
	if err != nil {
		return fmt.Errorf("%s: %w", c.replay, err)
	}
	mode, err := numerics.ParseMode(rec.Numerics)
	if err != nil {
		return fmt.Errorf("%s: %w", c.replay, err)
	}
	p, err := c.pair(ctx, path)
	if err != nil {
		return err
	}
	if err := rec.Check(p); err != nil {
		return fmt.Errorf("%s: %w", c.replay, err)
	}
	f := machineFlags{inject: rec.Inject, seed: rec.Seed, strict: rec.Strict, limit: rec.Timeout, calls: rec.Calls}
	if err := f.check(); err != nil {
		return fmt.Errorf("%s: %w", c.replay, err)
	}
	load, err := loadingPair(p)
	if err != nil {
		return err
	}
	if rec.Compiled {
		load.into = func(ctx context.Context, process *stack.Process) (*stack.Model, error) {
			return process.Compile(ctx, path, e5rt.CompilerConfig{
				Compile: func(context.Context, string) (pair.Pair, error) { return p, nil },
			})
		}
	}
	r, err := f.build(ctx, load, mode, c.workers, &trace.Recording{})
	if err != nil {
		return err
	}
	if rec.Function != "" {
		if err := r.choose(rec.Function); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", c.replay, err), r.close())
		}
	}
	for _, k := range rec.Keep {
		if err := r.keep(k[0], k[1]); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", c.replay, err), r.close())
		}
	}
	for i, run := range rec.Runs {
		inputs, err := stack.Tensors(run.Inputs)
		if err != nil {
			return errors.Join(fmt.Errorf("%s: run %d: input %w", c.replay, i+1, err), r.close())
		}
		states, err := stack.Tensors(run.States)
		if err != nil {
			return errors.Join(fmt.Errorf("%s: run %d: state %w", c.replay, i+1, err), r.close())
		}
		for _, v := range run.States {
			if err := r.model.Machine().SetState(v.Name, states[v.Name]); err != nil {
				return errors.Join(fmt.Errorf("%s: run %d: %w", c.replay, i+1, err), r.close())
			}
		}
		_, _ = r.run(ctx, inputs, states) // the error is recorded and compared below
	}
	if err := r.close(); err != nil && rec.Inject == "" {
		return err
	}
	var again bytes.Buffer
	if err := r.record.Write(&again, r.events.Events); err != nil {
		return err
	}
	if err := stack.Difference(recorded, again.Bytes()); err != nil {
		return fmt.Errorf("%s: %w", c.replay, err)
	}
	fmt.Fprintf(c.out, "%d runs replayed: %d events, all bytes identical\n", len(rec.Runs), len(r.events.Events))
	return nil
}

// keep binds an output and an input to one buffer.
func (r *simulation) keep(output, input string) error {
	r.record.Keep = append(r.record.Keep, [2]string{output, input})
	return r.model.Keep(output, input)
}

// choose selects a function.
func (r *simulation) choose(name string) error {
	r.record.Function = name
	return r.model.Machine().Select(name)
}

// portsOf returns an executor with the ports and states of a machine.
func portsOf(m *sim.Machine) *executor {
	x := &executor{setState: m.SetState, state: m.State}
	defaults := m.Inputs()
	for i, p := range m.Accepts() {
		x.inputs = append(x.inputs, port{p.Name, p.Type, defaults[i].Type})
	}
	for _, p := range m.Outputs() {
		x.outputs = append(x.outputs, portOf(p.Name, p.Type))
	}
	for _, p := range m.States() {
		x.states = append(x.states, portOf(p.Name, p.Type))
	}
	return x
}
