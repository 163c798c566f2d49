package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/internal/locked"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/e5rt"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
)

// Model is a compiled model in a process, run through the runtime's calls (package e5rt). Its buffers are bound once
// and refilled.
type Model struct {
	p        *Process
	rt       *e5rt.Runtime
	lib      *e5rt.ProgramLibrary // nil for a container alone
	machine  *sim.Machine
	compiled bool // by the runtime

	mu    sync.Mutex // one run at a time
	spent Spent      // of the last run
	funcs map[string]*runner
	// states are the buffers of the machine's states, by function and name; the configurations of a function share
	// them.
	states map[[2]string]*e5rt.BufferObject
	plain  *plain
	keeps  []keep
	// unsized is set if the runtime cannot hold the model's tensors because their sizes are known only at run time.
	unsized bool
}

// keep is an output and an input of a function that are bound to one buffer.
type keep struct{ function, output, input string }

// kept returns the input whose buffer an output of a function has, "" for none.
func (m *Model) kept(function, output string) string {
	base, _, _ := strings.Cut(function, e5.VariantMark)
	for _, k := range m.keeps {
		if k.function == base && k.output == output {
			return k.input
		}
	}
	return ""
}

// Keep binds an output of the chosen function and one of its inputs of the same type to one buffer object (listing
// 2.3), before the function first runs: each run reads what the run before it has written, and the value stays on the
// device. Run then takes a value of the input, but needs none, and does not return the output. It is zero at first.
func (m *Model) Keep(output, input string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := m.machine.Function()
	at := func(ports []sim.Port, what, name string) (sim.Port, error) {
		i := slices.IndexFunc(ports, func(p sim.Port) bool { return p.Name == name })
		if i < 0 {
			var names []string
			for _, p := range ports {
				names = append(names, p.Name)
			}
			return sim.Port{}, fmt.Errorf("function %q has no %s %q; it has %s", m.machine.Function(), what, name,
				cmp.Or(strings.Join(names, ", "), "none"))
		}
		return ports[i], nil
	}
	out, err := at(m.machine.Outputs(), "output", output)
	if err != nil {
		return err
	}
	in, err := at(m.machine.Inputs(), "input", input)
	switch {
	case err != nil:
		return err
	case !in.Type.Equal(out.Type) || !in.Type.Static():
		return fmt.Errorf("output %q is %s and input %q is %s; want one type of known size", output, out.Type, input,
			in.Type)
	case m.lib == nil || m.machine.Preparable(name) != nil:
		return errors.New("only the ports of a pair whose sizes are known before it runs can be bound to one buffer")
	case m.funcs[name] != nil:
		return fmt.Errorf("function %q has run; bind its ports before", name)
	case len(m.machine.Configurations(name)) > 1:
		return fmt.Errorf("function %q has several configurations, whose buffers differ", name)
	}
	for _, k := range m.keeps {
		if k.function == name && (k.output == output || k.input == input) {
			return fmt.Errorf("output %q is bound to input %q", k.output, k.input)
		}
	}
	m.keeps = append(m.keeps, keep{name, output, input})
	return nil
}

// Kept returns the value of an input of the chosen function that is bound to an output.
func (m *Model) Kept(ctx context.Context, input string) (interp.Tensor, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.runner(ctx, m.machine.Function())
	if err != nil {
		return interp.Tensor{}, err
	}
	for _, b := range r.in {
		if b.Name == input && b.kept {
			return b.Tensor(), nil
		}
	}
	return interp.Tensor{}, fmt.Errorf("input %q is not bound to an output", input)
}

// runner is a function of the model and its operation on a stream.
type runner struct {
	fn     *e5rt.ProgramFunction
	op     *e5rt.ExecutionStreamOperation
	stream *e5rt.ExecutionStream
	in     []bound
	out    []bound
}

// bound is a port with its buffer object.
type bound struct {
	sim.Port
	e5rt.View
	kept bool // an input, also bound to an output
}

// plain runs a model whose sizes are known only at run time, or one without a descriptor: the machine runs the chain,
// and the broker the inferences.
type plain struct {
	dispatcher sim.Dispatcher
	closer     io.Closer
}

// Load loads the model of a machine into the process. A machine must not be used for two models. A container alone has
// no descriptor for the runtime to read, so the process calls the broker itself.
func (p *Process) Load(ctx context.Context, machine *sim.Machine) (*Model, error) {
	m, err := p.model()
	if err != nil {
		return nil, err
	}
	m.machine = machine
	if machine.Pair().Alone() {
		err = m.open(ctx)
	} else {
		m.lib, err = m.rt.NewProgramLibrary(machine)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Compile compiles the model at a path, or takes it from a cache, with the calls of the runtime's compile phase, and
// loads it into the process. An error of c.Compile is returned as a *CompileError.
func (p *Process) Compile(ctx context.Context, path string, c e5rt.CompilerConfig) (*Model, error) {
	m, err := p.model()
	if err != nil {
		return nil, err
	}
	compile, failed := c.Compile, error(nil)
	c.Compile = func(ctx context.Context, path string) (pair.Pair, error) {
		out, err := compile(ctx, path)
		failed = err
		return out, err
	}
	compiler, err := m.rt.NewCompiler(c)
	if err == nil {
		_, err = compiler.IsNewCompileRequired(ctx, path)
	}
	if err == nil {
		m.lib, err = compiler.Compile(ctx, path)
	}
	switch {
	case failed != nil:
		return nil, &CompileError{failed}
	case err != nil:
		return nil, err
	}
	m.machine, m.compiled = m.lib.Machine(), true
	return m, nil
}

// CompileError is an error of a compiler that a process has called.
type CompileError struct{ Err error }

func (e *CompileError) Error() string { return e.Err.Error() }

// model returns a model without a machine, on a runtime of its own.
func (p *Process) model() (*Model, error) {
	o := p.o
	rt, err := e5rt.New(e5rt.Options{
		Engine: p, Clock: p.clock(), Trace: o.Trace, Client: uint64(p.id.PID),
		Numerics: o.Numerics, Workers: o.Workers, CallBytes: o.CallBytes, OverlapStreams: o.Overlap,
		LowLatency: o.LowLatency,
	})
	if err != nil {
		return nil, err
	}
	return &Model{p: p, rt: rt, funcs: map[string]*runner{}, states: map[[2]string]*e5rt.BufferObject{}}, nil
}

// open makes the container resident without the runtime.
func (m *Model) open(ctx context.Context) error {
	d, c, err := m.p.Open(ctx, m.machine.Pair().Container, len(m.machine.States()) > 0)
	if err != nil {
		return err
	}
	m.plain = &plain{d, c}
	return nil
}

// Compiled reports whether the runtime compiled the model.
func (m *Model) Compiled() bool { return m.compiled }

// Machine returns the machine that was loaded. It describes the functions and their ports, selects the function that
// Run runs, and reads and sets states.
func (m *Model) Machine() *sim.Machine { return m.machine }

// Close unloads the model.
func (m *Model) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(m.funcs)) {
		r := m.funcs[name]
		errs = append(errs, r.stream.Reset(), r.fn.Release())
	}
	m.funcs = map[string]*runner{}
	if m.plain != nil {
		errs = append(errs, m.plain.closer.Close())
		m.plain = nil
	}
	return errors.Join(errs...)
}

// Run runs the machine's chosen function once, in the configuration that fits the inputs. A successful run updates the
// states.
func (m *Model) Run(ctx context.Context, inputs map[string]interp.Tensor) (map[string]interp.Tensor, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lib != nil && !m.unsized {
		r, err := m.runner(ctx, m.machine.Configuration(inputs))
		if err == nil {
			defer m.timed()()
			return m.run(ctx, r, inputs)
		}
		if !errors.Is(err, sim.ErrUnsized) {
			return nil, err
		}
		m.unsized = true
	}
	if m.p.o.Timeout > 0 {
		return nil, errors.New("the time of a run can be limited only for a pair whose sizes are known before it runs")
	}
	if m.plain == nil {
		if err := m.open(ctx); err != nil {
			return nil, err
		}
	}
	defer m.timed()()
	return m.machine.Run(ctx, inputs, sim.Options{
		Numerics:   sim.Mode(m.p.o.Numerics),
		Workers:    m.p.o.Workers,
		CallBytes:  m.p.o.CallBytes,
		Dispatcher: m.plain.dispatcher,
		Host:       m.rt.Host(),
	})
}

// Spent is virtual time by cause.
type Spent = firmware.Spent

// timed starts to measure a run and returns the function that ends it.
func (m *Model) timed() func() {
	if m.p.s == nil {
		return func() {}
	}
	clock := m.p.s.Device.Clock()
	before := clock.Spent()
	return func() { m.spent = clock.Spent().Sub(before) }
}

// Spent returns the virtual time of the last run by cause, zero if the machine is another process's. It does not
// include loading before the run. Time that other processes' work took meanwhile is in it.
func (m *Model) Spent() Spent { return locked.Get(&m.mu, &m.spent) }

// runner prepares a function with the calls of listing 2.4 before the loop.
func (m *Model) runner(ctx context.Context, name string) (*runner, error) {
	if r := m.funcs[name]; r != nil {
		return r, nil
	}
	if err := m.machine.Preparable(name); err != nil {
		return nil, err
	}
	r := &runner{}
	var err error
	if r.fn, err = m.lib.RetainProgramFunction(name); err != nil {
		return nil, err
	}
	if err = r.fn.LoadForExecution(ctx); err == nil {
		err = m.ready(r)
	}
	if err != nil {
		_ = r.fn.Release() // the first error is returned
		return nil, err
	}
	m.funcs[name] = r
	return r, nil
}

// ready makes an operation of a loaded function, with its buffers and a stream.
func (m *Model) ready(r *runner) error {
	inputs := map[string]*e5rt.BufferObject{}
	opts, err := e5rt.CreateWithProgramFunction(r.fn)
	if err != nil {
		return err
	}
	if r.op, err = e5rt.CreatePrecompiledComputeOperationWithOptions(opts); err != nil {
		return err
	}
	for _, side := range []struct {
		names  []string
		retain func(string) (*e5rt.IOPort, error)
		alloc  func(string, e5rt.TensorDescriptor) (*e5rt.BufferObject, error)
		to     *[]bound // nil: nothing is copied in or out
	}{
		{names: r.op.InputNames(), retain: r.op.RetainInputPort, alloc: m.alloc, to: &r.in},
		{names: r.op.OutputNames(), retain: r.op.RetainOutputPort, alloc: m.alloc, to: &r.out},
		{names: r.op.StateNames(), retain: r.op.RetainStatePort, alloc: m.state},
	} {
		for _, name := range side.names {
			port, err := side.retain(name)
			if err != nil {
				return err
			}
			d := port.TensorDescriptor()
			input := ""
			if side.to == &r.out {
				input = m.kept(r.fn.Name(), name)
			}
			buf := inputs[input]
			if buf == nil {
				if buf, err = side.alloc(name, d); err != nil {
					return err
				}
			}
			if err := port.BindBufferObject(buf); err != nil {
				return err
			}
			if input != "" {
				r.in[slices.IndexFunc(r.in, func(b bound) bool { return b.Name == input })].kept = true
			}
			if side.to == nil || input != "" {
				continue
			}
			if side.to == &r.in {
				inputs[name] = buf
			}
			v, err := buf.View(d)
			if err != nil {
				return err
			}
			*side.to = append(*side.to, bound{Port: sim.Port{Name: name, Type: d.Type}, View: v})
		}
	}
	r.stream, err = m.rt.NewExecutionStream()
	return err
}

// alloc returns a buffer for a tensor. A tensor without elements gets one byte, because a port must be bound before a
// run and no buffer may be empty.
func (m *Model) alloc(name string, d e5rt.TensorDescriptor) (*e5rt.BufferObject, error) {
	if !d.Type.Static() {
		return nil, fmt.Errorf("%q is %s: %w", name, d.Type, sim.ErrUnsized)
	}
	return m.rt.BufferObjectAlloc(max(d.Size, 1), e5rt.BufferTypeDefault)
}

// state returns the buffer of a state of the chosen function, which becomes its memory.
func (m *Model) state(name string, d e5rt.TensorDescriptor) (*e5rt.BufferObject, error) {
	at := [2]string{m.machine.Function(), name}
	if b := m.states[at]; b != nil {
		return b, nil
	}
	b, err := m.alloc(name, d)
	if err != nil {
		return nil, err
	}
	m.states[at] = b
	return b, m.machine.BindState(name, b.Memory())
}

// run is one iteration of the loop of listing 2.4.
func (m *Model) run(ctx context.Context, r *runner, inputs map[string]interp.Tensor) (map[string]interp.Tensor, error) {
	for _, b := range r.in {
		t, ok := inputs[b.Name]
		if !ok && b.kept {
			continue
		}
		if !ok {
			return nil, fmt.Errorf("input %q is missing; it is %s", b.Name, b.Type)
		}
		if !t.Type.Equal(b.Type) {
			return nil, fmt.Errorf("input %q is %s, want %s", b.Name, t.Type, m.machine.Takes(b.Name))
		}
		if err := b.Set(t); err != nil {
			return nil, err
		}
	}
	err := r.op.PrepareOpForEncode()
	if err == nil {
		err = r.stream.EncodeOperation(r.op)
	}
	switch {
	case err != nil:
	case m.p.o.Overlap:
		err = m.overlapped(ctx, r, inputs)
	default:
		err = m.execute(ctx, r.stream)
	}
	err = cmp.Or(err, r.stream.Reset())
	if err != nil {
		return nil, err
	}
	out := map[string]interp.Tensor{}
	for _, b := range r.out {
		out[b.Name] = b.Tensor()
	}
	return out, nil
}

// overlapped submits an encoded stream, and beside it another one with the same inputs.
func (m *Model) overlapped(ctx context.Context, r *runner, inputs map[string]interp.Tensor) error {
	second := &runner{fn: r.fn}
	if err := m.ready(second); err != nil {
		return err
	}
	for _, b := range second.in {
		if err := b.Set(inputs[b.Name]); err != nil {
			return err
		}
	}
	err := second.op.PrepareOpForEncode()
	if err == nil {
		err = second.stream.EncodeOperation(second.op)
	}
	if err != nil {
		return err
	}
	var waits [2]*e5rt.Submission
	for i, s := range []*e5rt.ExecutionStream{r.stream, second.stream} {
		if waits[i], err = s.SubmitAsync(ctx, m.p.o.Timeout, nil); err != nil {
			return err
		}
	}
	return errors.Join(waits[0].Wait(ctx), waits[1].Wait(ctx), second.stream.Reset())
}

// execute runs an encoded stream, with the runtime's asynchronous call if the run may take a limited time only.
func (m *Model) execute(ctx context.Context, s *e5rt.ExecutionStream) error {
	if m.p.o.Timeout == 0 {
		return s.ExecuteSync(ctx)
	}
	b, err := s.SubmitAsync(ctx, m.p.o.Timeout, nil)
	if err != nil {
		return err
	}
	return b.Wait(ctx)
}
