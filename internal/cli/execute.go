package cli

import (
	"context"
	"fmt"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/verify"
)

// port is an input or output of what is run.
type port struct {
	name string
	typ  ir.Type
}

// executor runs a pair or a model.
type executor struct {
	inputs, outputs []port
	accepts         []port // inputs as files may have them
	states          []port
	state           func(name string) (interp.Tensor, error)
	setState        func(name string, t interp.Tensor) error
	run             func(ctx context.Context, inputs map[string]interp.Tensor, mode numerics.Mode, workers int) (map[string]interp.Tensor, error)
	close           func() error
}

// executor prepares what path holds for the chosen engine.
func (c *runCommand) executor(ctx context.Context, path string) (*executor, error) {
	pair, err := isPair(path)
	if err != nil {
		return nil, err
	}
	if pair {
		if c.engine == "interp" {
			return nil, usagef("--engine=interp runs models; %s is a compiled pair", path)
		}
		container, descriptor, err := readPair(path)
		if err != nil {
			return nil, err
		}
		m, err := sim.Load(container, descriptor)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if c.function != "" {
			if err := m.Select(c.function); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
		return machineExecutor(m), nil
	}
	m, err := c.open(c.env, path)
	if err != nil {
		return nil, err
	}
	r, err := c.compile(ctx, c.env, m)
	if err != nil {
		m.Close()
		return nil, err
	}
	fmt.Fprintf(c.err, "zinc: %s\n", r.Report.Line())
	var x *executor
	if c.engine == "interp" {
		x, err = interpExecutor(r)
	} else {
		x, err = compiledExecutor(r)
	}
	if err != nil {
		m.Close()
		return nil, err
	}
	x.close = m.Close
	return x, nil
}

func machineExecutor(m *sim.Machine) *executor {
	x := &executor{close: func() error { return nil }}
	for _, p := range m.Inputs() {
		x.inputs = append(x.inputs, port{p.Name, p.Type})
	}
	for _, p := range m.Accepts() {
		x.accepts = append(x.accepts, port{p.Name, p.Type})
	}
	for _, p := range m.Outputs() {
		x.outputs = append(x.outputs, port{p.Name, p.Type})
	}
	for _, p := range m.States() {
		x.states = append(x.states, port{p.Name, p.Type})
	}
	x.state, x.setState = m.State, m.SetState
	x.run = func(ctx context.Context, in map[string]interp.Tensor, mode numerics.Mode, workers int) (map[string]interp.Tensor, error) {
		return m.Run(ctx, in, sim.Options{Numerics: mode, Workers: workers})
	}
	return x
}

// compiledExecutor runs the bytes that a compilation gives.
func compiledExecutor(r *compile.Result) (*executor, error) {
	container, descriptor, err := verify.Pair(r)
	if err != nil {
		return nil, &internalError{err: err}
	}
	m, err := sim.Load(container, descriptor)
	if err != nil {
		return nil, &internalError{err: fmt.Errorf("loading the pair that was compiled: %w", err)}
	}
	return machineExecutor(m), nil
}

// interpExecutor runs the source's function, whose operations the compilation
// has placed: where an operation runs decides its arithmetic.
func interpExecutor(r *compile.Result) (*executor, error) {
	prog, err := interp.Prepare(r.Reference)
	if err != nil {
		return nil, err
	}
	x := &executor{}
	held := map[string]interp.Tensor{}
	for _, v := range r.Reference.Body.Params {
		if v.Type.Kind == ir.State {
			t := ir.TensorOf(v.Type.DType, v.Type.Shape...)
			x.states = append(x.states, port{v.Name, t})
			if held[v.Name], err = interp.Zeros(t); err != nil {
				return nil, fmt.Errorf("state %q: %w", v.Name, err)
			}
			continue
		}
		x.inputs = append(x.inputs, port{v.Name, v.Type})
	}
	for _, v := range r.Reference.Body.Outputs {
		x.outputs = append(x.outputs, port{v.Name, v.Type})
	}
	x.accepts = x.inputs
	x.state = func(name string) (interp.Tensor, error) { return held[name], nil }
	x.setState = func(name string, t interp.Tensor) error { held[name] = t; return nil }
	x.run = func(ctx context.Context, in map[string]interp.Tensor, mode numerics.Mode, workers int) (map[string]interp.Tensor, error) {
		return prog.Run(ctx, in, interp.Options{Numerics: mode, Workers: workers, States: held})
	}
	return x, nil
}
