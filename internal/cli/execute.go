package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/verify"
)

// port is an input, an output or a state of what is run.
type port struct {
	name string
	typ  ir.Type
	// fill is the type of values that are made up: typ with the default shape.
	fill ir.Type
}

func portOf(name string, t ir.Type) port { return port{name, t, t} }

// executor runs a pair or a model.
type executor struct {
	inputs, outputs, states []port
	// run takes what the states hold before it and leaves there what they hold
	// after it; absent ones hold zeros.
	run   func(ctx context.Context, inputs, states map[string]interp.Tensor, mode numerics.Mode, workers int) (map[string]interp.Tensor, error)
	close func() error
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
		m, err := c.load(path)
		if err != nil {
			return nil, err
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
	x, err := c.modelExecutor(ctx, m)
	if err != nil {
		m.Close()
		return nil, err
	}
	x.close = m.Close
	return x, nil
}

// load loads a pair, or a container without a descriptor beside it.
func (c *runCommand) load(path string) (*sim.Machine, error) {
	if _, d := pairOf(path); path != d {
		if _, err := os.Stat(d); errors.Is(err, fs.ErrNotExist) {
			container, err := readFile(path)
			if err != nil {
				return nil, err
			}
			m, err := sim.LoadContainer(container)
			if err != nil {
				return nil, fmt.Errorf("%s: without %s beside it: %w", path, d, err)
			}
			fmt.Fprintf(c.err, "zinc: no descriptor %s: running the container's one program on its own tensors\n", d)
			return m, nil
		}
	}
	container, descriptor, err := readPair(path)
	if err != nil {
		return nil, err
	}
	m, err := sim.Load(container, descriptor)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

func (c *runCommand) modelExecutor(ctx context.Context, m *frontend.Model) (*executor, error) {
	// In this mode an operation's place does not change its arithmetic, so the
	// source itself is run: no compilation has to take it first.
	if c.engine == "interp" && c.numerics == "ieee" && c.precision == "declared" {
		f, err := m.Program.Entry(c.function)
		if err != nil {
			return nil, err
		}
		return interpExecutor(f)
	}
	r, err := c.compile(ctx, c.env, m)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(c.err, "zinc: %s\n", r.Report.Line())
	if c.engine == "interp" {
		// The source's function with every operation placed: where an operation
		// runs decides its arithmetic.
		return interpExecutor(r.Reference)
	}
	return compiledExecutor(r)
}

func machineExecutor(m *sim.Machine) *executor {
	x := &executor{close: func() error { return nil }}
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
	x.run = func(ctx context.Context, in, states map[string]interp.Tensor, mode numerics.Mode, workers int) (map[string]interp.Tensor, error) {
		for _, p := range x.states {
			if t, ok := states[p.name]; ok {
				if err := m.SetState(p.name, t); err != nil {
					return nil, err
				}
			}
		}
		out, err := m.Run(ctx, in, sim.Options{Numerics: mode, Workers: workers})
		if err != nil {
			return nil, err
		}
		for _, p := range x.states {
			if states[p.name], err = m.State(p.name); err != nil {
				return nil, err
			}
		}
		return out, nil
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

// interpExecutor runs a function on the reference interpreter.
func interpExecutor(f *ir.Func) (*executor, error) {
	prog, err := interp.Prepare(f)
	if err != nil {
		return nil, err
	}
	x := &executor{}
	for _, v := range f.Body.Params {
		p := portOf(v.Name, v.Type)
		if d := f.Flex.Default[v.Name]; !v.Type.Static() && v.Type.WithShape(d...).Fits(v.Type) {
			p.fill = v.Type.WithShape(d...)
		}
		if v.Type.Kind != ir.State {
			x.inputs = append(x.inputs, p)
			continue
		}
		p.typ.Kind = ir.Tensor // the form in which its content travels
		x.states = append(x.states, p)
	}
	for _, v := range f.Body.Outputs {
		x.outputs = append(x.outputs, portOf(v.Name, v.Type))
	}
	x.run = func(ctx context.Context, in, states map[string]interp.Tensor, mode numerics.Mode, workers int) (map[string]interp.Tensor, error) {
		return prog.Run(ctx, in, interp.Options{Numerics: mode, Workers: workers, States: states})
	}
	return x, nil
}
