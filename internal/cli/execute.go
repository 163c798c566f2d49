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
	for _, p := range m.Outputs() {
		x.outputs = append(x.outputs, port{p.Name, p.Type})
	}
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
	for _, v := range r.Reference.Body.Params {
		x.inputs = append(x.inputs, port{v.Name, v.Type})
	}
	for _, v := range r.Reference.Body.Outputs {
		x.outputs = append(x.outputs, port{v.Name, v.Type})
	}
	x.run = func(ctx context.Context, in map[string]interp.Tensor, mode numerics.Mode, workers int) (map[string]interp.Tensor, error) {
		return prog.Run(ctx, in, interp.Options{Numerics: mode, Workers: workers})
	}
	return x, nil
}
