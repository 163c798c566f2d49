package zinc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/zinc-compiler/zinc/internal/values"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/runtime/sim/stack"
)

// RunOptions say how a model runs. The zero value is the simulator of the whole stack with the engine's arithmetic.
type RunOptions struct {
	// Direct drives the engine alone, without runtime, broker, driver and firmware: the same bits, faster.
	Direct bool
	// Numerics is the arithmetic of operations on the engine: "ane" (also ""), as the
	// engine computes, "ane-wide", the same with sums of products in fp32, or "ieee",
	// plain fp16 storage with fp32 arithmetic.
	Numerics string
	// Connect is the socket of a machine that zinc serve runs, on which the model then runs; "" for a machine of its
	// own. Dial has more options.
	Connect string
	// Workers is the number of goroutines of one task, 0 for one per processor. Results do not depend on it.
	Workers int
}

// Port is an input, an output or a state of a function.
type Port struct {
	Name string
	// Type is the element type as named in MIL, such as fp16; Element is the type of the values passed (Tensor.Type).
	Type, Element string
	// Shape has -1 where several sizes are accepted or the size is known only when the function runs.
	Shape []int64
}

// Function is a function of a model, with its ports.
type Function struct {
	Name                    string
	Inputs, Outputs, States []Port
}

// Model is an open pair. Several goroutines may use it; one call runs at a time, and the others wait until it ends or
// until their context ends. To run several at a time, open the Pair several times. States keep their values from call
// to call.
type Model struct {
	running chan struct{} // contains a value while a call runs, and guards the fields below
	machine *sim.Machine
	funcs   []Function
	run     func(ctx context.Context, in map[string]interp.Tensor) (map[string]interp.Tensor, error)
	keep    func(output, input string) error // nil: the engine is driven directly
	kept    func(ctx context.Context, input string) (interp.Tensor, error)
	keeps   map[[2]string]bool // by function and input
	close   func() error
	unload  func() error // of a model on another process's machine
	closed  bool
}

// appPID is the number of the process that runs models.
const appPID = 501

// Open opens the pair at path: a container (.hwx) with its descriptor (.e5) beside it, or a container alone.
func Open(ctx context.Context, path string, o RunOptions) (*Model, error) {
	p, err := ReadPairOrContainer(path)
	if err != nil {
		return nil, err
	}
	m, err := p.Open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// Open returns a Model that runs the pair. The caller must Close it.
func (p *Pair) Open(ctx context.Context, o RunOptions) (*Model, error) {
	o.Numerics = cmp.Or(o.Numerics, "ane")
	mode, err := numerics.ParseMode(o.Numerics)
	if err != nil {
		return nil, err
	}
	m := &Model{running: make(chan struct{}, 1), close: func() error { return nil }}
	if m.machine, err = sim.Open(p.files()); err != nil {
		return nil, ended(ctx, err)
	}
	switch {
	case o.Direct && o.Connect != "":
		return nil, errors.New("RunOptions has both Direct and Connect; want at most one")
	case o.Direct:
		m.direct(mode, o.Workers)
	case o.Connect != "":
		c, err := Dial(ctx, o.Connect, DialOptions{})
		if err != nil {
			return nil, err
		}
		if err := m.remote(ctx, c, nil, mode, o.Workers); err != nil {
			return nil, errors.Join(ended(ctx, err), c.Close())
		}
		m.close = func() error { return errors.Join(m.unload(), c.Close()) }
	default:
		if err := m.stacked(ctx, mode, o.Workers); err != nil {
			return nil, ended(ctx, err)
		}
	}
	return m.named()
}

// named fills in the functions of a model.
func (m *Model) named() (*Model, error) {
	first := ""
	for i, name := range m.machine.Functions() {
		if i == 0 {
			first = name
		}
		if err := m.machine.Select(name); err != nil {
			return nil, errors.Join(err, m.Close())
		}
		m.funcs = append(m.funcs, Function{
			Name:    name,
			Inputs:  ports(m.machine.Accepts()),
			Outputs: ports(m.machine.Outputs()),
			States:  ports(m.machine.States()),
		})
	}
	if first != "" {
		if err := m.machine.Select(first); err != nil {
			return nil, errors.Join(err, m.Close())
		}
	}
	return m, nil
}

func (m *Model) direct(mode numerics.Mode, workers int) {
	m.run = func(ctx context.Context, in map[string]interp.Tensor) (map[string]interp.Tensor, error) {
		return m.machine.Run(ctx, in, sim.Options{Numerics: mode, Workers: workers})
	}
}

func (m *Model) stacked(ctx context.Context, mode numerics.Mode, workers int) (err error) {
	s, err := stack.New(stack.Options{Target: m.machine.Target(), Workers: workers, Numerics: sim.EngineNumerics(mode)})
	if err != nil {
		return err
	}
	process, err := s.Connect(stack.Application(appPID), 0)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	model, err := process.Load(ctx, m.machine)
	if err != nil {
		return errors.Join(err, process.Close(), s.Close())
	}
	m.run, m.keep, m.kept = model.Run, model.Keep, model.Kept
	m.close = func() error { return errors.Join(model.Close(), process.Close(), s.Close()) }
	return nil
}

func ports(ps []sim.Port) []Port {
	var out []Port
	for _, p := range ps {
		element, _ := values.ArrayType(p.Type.DType)
		x := Port{Name: p.Name, Type: p.Type.DType.String(), Element: element, Shape: slices.Clone(p.Type.Shape)}
		for i, d := range x.Shape {
			if d == ir.Unknown {
				x.Shape[i] = -1
			}
		}
		out = append(out, x)
	}
	return out
}

// Functions returns the model's functions; Run runs the first.
func (m *Model) Functions() []Function { return slices.Clone(m.funcs) }

// Run runs the model's first function once on values by name and returns its outputs
// by name. Every floating-point input accepts float32 values. A value that the function does not accept is a
// *ValueError. If ctx ends before the run does, Run returns its error and states are unchanged.
func (m *Model) Run(ctx context.Context, inputs map[string]Tensor) (map[string]Tensor, error) {
	if len(m.funcs) == 0 {
		return nil, &FunctionError{}
	}
	return m.RunFunction(ctx, m.funcs[0].Name, inputs)
}

// begin waits until no other call runs and selects a function on the machine. The call ends with end, which begin calls
// itself if it fails.
func (m *Model) begin(ctx context.Context, function string) (end func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case m.running <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	end = func() { <-m.running }
	switch {
	case m.closed:
		err = ErrClosed
	case !slices.ContainsFunc(m.funcs, func(f Function) bool { return f.Name == function }):
		err = &FunctionError{function, m.machine.Functions()}
	default:
		err = m.machine.Select(function)
	}
	if err != nil {
		end()
		return nil, err
	}
	return end, nil
}

// RunFunction is Run for a function by name; an unknown name is a *FunctionError.
func (m *Model) RunFunction(ctx context.Context, function string, inputs map[string]Tensor) (map[string]Tensor, error) {
	end, err := m.begin(ctx, function)
	if err != nil {
		return nil, err
	}
	defer end()
	wrong := func(name string, err error) error {
		return &ValueError{Function: function, Kind: "input", Name: name, Err: err}
	}
	in := map[string]interp.Tensor{}
	accepts := m.machine.Accepts()
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		t := inputs[name]
		i := slices.IndexFunc(accepts, func(p sim.Port) bool { return p.Name == name })
		if i < 0 {
			return nil, wrong(name, fmt.Errorf("unknown name; the inputs are %s", names(accepts)))
		}
		x, err := t.tensor(accepts[i].Type)
		if err != nil {
			return nil, wrong(name, err)
		}
		in[name] = x
	}
	for _, p := range accepts {
		if _, ok := in[p.Name]; !ok && !m.keeps[[2]string{function, p.Name}] {
			return nil, wrong(p.Name, fmt.Errorf("missing; want %s", p.Type))
		}
	}
	got, err := m.run(ctx, in)
	if err != nil {
		return nil, ended(ctx, err)
	}
	return fromTensors(function, got)
}

func names(ps []sim.Port) string {
	var out []string
	for _, p := range ps {
		out = append(out, p.Name)
	}
	return listed(out)
}

func fromTensors(function string, ts map[string]interp.Tensor) (map[string]Tensor, error) {
	out := make(map[string]Tensor, len(ts))
	for name, x := range ts {
		t, err := fromTensor(x)
		if err != nil {
			return nil, &ValueError{Function: function, Kind: "output", Name: name, Err: err}
		}
		out[name] = t
	}
	return out, nil
}

// Keep binds an output of a function and one of its inputs of the same type to one buffer, before the function first
// runs: each run reads what the run before has written, and the value stays on the device. A run then returns no value
// of the output, and needs none of the input, which is zero at first; Kept returns the value. The model must not drive
// the engine directly, and its sizes must be known before it runs.
func (m *Model) Keep(function, output, input string) error {
	end, err := m.begin(context.Background(), function)
	if err != nil {
		return err
	}
	defer end()
	if m.keep == nil {
		return errors.New("RunOptions.Direct has no buffers that keep a value; open the model without it")
	}
	if err := m.keep(output, input); err != nil {
		return err
	}
	if m.keeps == nil {
		m.keeps = map[[2]string]bool{}
	}
	m.keeps[[2]string{function, input}] = true
	return nil
}

// Kept returns the value of an input that Keep has bound to an output. Another name is a *ValueError.
func (m *Model) Kept(ctx context.Context, function, input string) (Tensor, error) {
	end, err := m.begin(ctx, function)
	if err != nil {
		return Tensor{}, err
	}
	defer end()
	if !m.keeps[[2]string{function, input}] {
		return Tensor{}, &ValueError{
			Function: function, Kind: "input", Name: input, Err: errors.New("it is not bound to an output"),
		}
	}
	x, err := m.kept(ctx, input)
	if err != nil {
		return Tensor{}, ended(ctx, err)
	}
	return fromTensor(x)
}

// State returns the value of a state of a function, zeros before the first run. An unknown name is a *ValueError.
func (m *Model) State(function, name string) (Tensor, error) {
	end, err := m.begin(context.Background(), function)
	if err != nil {
		return Tensor{}, err
	}
	defer end()
	x, err := m.state(function, name)
	if err != nil {
		return Tensor{}, err
	}
	return fromTensor(x)
}

// state returns a state of the selected function.
func (m *Model) state(function, name string) (interp.Tensor, error) {
	states := m.machine.States()
	if !slices.ContainsFunc(states, func(p sim.Port) bool { return p.Name == name }) {
		return interp.Tensor{}, &ValueError{
			Function: function,
			Kind:     "state",
			Name:     name,
			Err:      fmt.Errorf("unknown name; the states are %s", names(states)),
		}
	}
	return m.machine.State(name)
}

// SetState sets the value of a state of a function. A value that it does not accept is a *ValueError.
func (m *Model) SetState(function, name string, t Tensor) error {
	end, err := m.begin(context.Background(), function)
	if err != nil {
		return err
	}
	defer end()
	now, err := m.state(function, name)
	if err != nil {
		return err
	}
	x, err := t.tensor(now.Type)
	if err != nil {
		return &ValueError{Function: function, Kind: "state", Name: name, Err: err}
	}
	return m.machine.SetState(name, x)
}

// Close releases the model after the running call has ended. Closing it again does nothing.
func (m *Model) Close() error {
	m.running <- struct{}{}
	defer func() { <-m.running }()
	if m.closed {
		return nil
	}
	m.closed = true
	return m.close()
}
