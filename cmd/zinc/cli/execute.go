package cli

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/zinc-compiler/zinc/passes"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
	"github.com/zinc-compiler/zinc/target"
)

// port is an input, an output or a state of the function that runs.
type port struct {
	name string
	typ  ir.Type
	// fill is the type of generated values: typ with the default shape.
	fill ir.Type
}

func portOf(name string, t ir.Type) port { return port{name, t, t} }

// executor runs a pair or a model.
type executor struct {
	inputs, outputs, states []port
	// run starts from the values of the states, which are zero at first, and replaces them.
	run func(ctx context.Context, inputs map[string]interp.Tensor, mode numerics.Mode,
		workers int) (map[string]interp.Tensor, error)
	setState func(name string, t interp.Tensor) error
	state    func(name string) (interp.Tensor, error)
	timing   func(w io.Writer) // prints the virtual time of the last run; only of the whole stack
	close    func() error
	// bind binds an output and an input to one buffer and returns how the buffer is read. A run then needs no value of
	// the input and returns none of the output. If it is nil, the host hands the value on.
	bind func(output, input string) (read func() (interp.Tensor, error), err error)
	kept []named // outputs, with the inputs that they are bound to in file
}

// read adds the outputs that stayed where the next run reads them to the results of a run.
func (x *executor) read(got map[string]interp.Tensor) (err error) {
	for _, k := range x.kept {
		if got[k.name], err = x.state(k.file); err != nil {
			return err
		}
	}
	return nil
}

// keep makes an input a state that each run replaces by an output. The output has its value as well.
func (x *executor) keep(output, input string) error {
	at := func(of []port, what, name string) (port, error) {
		i := slices.IndexFunc(of, func(p port) bool { return p.name == name })
		if i < 0 {
			return port{}, usagef("--keep %s=%s: unknown %s %q; %ss: %s", output, input, what, name, what, ports(of))
		}
		return of[i], nil
	}
	out, err := at(x.outputs, "output", output)
	if err != nil {
		return err
	}
	in, err := at(x.inputs, "input", input)
	switch {
	case err != nil:
		return err
	case !in.typ.Equal(out.typ) || !in.typ.Static():
		return usagef("--keep %s=%s: the output is %s and the input %s; want one type of known size", output, input,
			out.typ, in.typ)
	}
	value := &interp.Tensor{Type: in.typ, Data: make([]byte, in.typ.Bytes())} // for the next run; nil: it has it
	read := func() (interp.Tensor, error) { return *value, nil }
	if x.bind != nil {
		if read, err = x.bind(output, input); err != nil {
			return usagef("--keep %s=%s: %w", output, input, err)
		}
	}
	run, state, setState := x.run, x.state, x.setState
	x.run = func(ctx context.Context, inputs map[string]interp.Tensor, mode numerics.Mode,
		workers int) (map[string]interp.Tensor, error) {
		if value != nil {
			inputs[input] = *value
		}
		got, err := run(ctx, inputs, mode, workers)
		switch {
		case err != nil:
		case x.bind == nil:
			*value = got[output]
		default:
			value = nil
		}
		return got, err
	}
	x.state = func(name string) (interp.Tensor, error) {
		switch {
		case name != input:
			return state(name)
		case value != nil:
			return *value, nil
		}
		return read()
	}
	x.setState = func(name string, t interp.Tensor) error {
		if name != input {
			return setState(name, t)
		}
		value = &t
		return nil
	}
	x.kept = append(x.kept, named{output, input})
	x.inputs = slices.DeleteFunc(slices.Clone(x.inputs), func(p port) bool { return p.name == input })
	x.states = append(slices.Clone(x.states), in)
	return nil
}

// executor prepares the pair or model at path for the chosen engine.
func (c *runCommand) executor(ctx context.Context, path string, mode numerics.Mode) (*executor, error) {
	compiled, err := c.isPair(path)
	if err != nil {
		return nil, err
	}
	if compiled && c.engine == "interp" {
		return nil, usagef("--engine=interp runs only models; %s is a compiled pair", path)
	}
	if c.engine == "interp" {
		return c.interpreted(ctx, path)
	}
	x, err := c.simulated(ctx, path, compiled, mode)
	if err != nil {
		return nil, err
	}
	run := x.run
	x.run = func(ctx context.Context, in map[string]interp.Tensor, mode numerics.Mode,
		workers int) (map[string]interp.Tensor, error) {
		out, err := run(ctx, in, mode, workers)
		return out, c.runFault(ctx, path, compiled, c.inputs, err)
	}
	if !compiled {
		err = c.defaults(path, x)
	}
	return x, err
}

// simulated prepares a pair, or a model that it compiles, for the engine alone or for the whole stack.
func (c *runCommand) simulated(ctx context.Context, path string, compiled bool, mode numerics.Mode) (x *executor,
	err error) {
	if c.engine == "direct" {
		p, err := c.pair(ctx, path)
		if err != nil {
			return nil, err
		}
		if x, err = c.direct(p); err != nil {
			return nil, loadError(path, compiled, err)
		}
		return x, nil
	}
	load, err := c.loading(path, compiled)
	if err != nil {
		return nil, err
	}
	if x, err = c.stacked(ctx, load, !compiled, mode); err != nil {
		return nil, loadError(path, compiled, err)
	}
	return x, nil
}

// defaults sets the shapes of random inputs from the model where the pair has none, as in a program of the CPU alone.
func (c *runCommand) defaults(path string, x *executor) error {
	if !c.fill || !slices.ContainsFunc(x.inputs, func(p port) bool { return !p.fill.Static() }) {
		return nil
	}
	m, err := c.open(c.silent(), path)
	if err != nil {
		return err
	}
	defer m.Close()
	f, err := m.Program.Entry(c.function)
	if err != nil {
		return err
	}
	for i := range x.inputs {
		p := &x.inputs[i]
		if d := f.Flex.Default[p.name]; !p.fill.Static() && p.typ.WithShape(d...).Fits(p.typ) {
			p.fill = p.typ.WithShape(d...)
		}
	}
	return nil
}

// interpreted runs a model on the reference interpreter.
func (c *runCommand) interpreted(ctx context.Context, path string) (*executor, error) {
	tab, err := lookupTarget(c.target)
	if err != nil {
		return nil, usagef("--target: %w", err)
	}
	m, err := c.open(c.env, path)
	if err != nil {
		return nil, err
	}
	x, err := c.interpreter(ctx, m, tab)
	if err != nil {
		m.Close()
		return nil, err
	}
	run := x.run
	x.run = func(ctx context.Context, in map[string]interp.Tensor, mode numerics.Mode,
		workers int) (map[string]interp.Tensor, error) {
		out, err := run(ctx, in, mode.On(tab.Arithmetic), workers)
		return out, c.located(m, c.inputs, err)
	}
	x.close = m.Close
	return x, nil
}

func (c *runCommand) interpreter(ctx context.Context, m *frontend.Model, tab *target.Table) (*executor, error) {
	// In this mode an operation's place does not change its arithmetic, so the source runs without being compiled.
	if c.numerics == "ieee" && c.precision == passes.PrecisionDeclared {
		f, err := m.Program.Entry(c.function)
		if err == nil {
			err = compile.CheckSizes(m.Program, f)
		}
		if err != nil {
			return nil, err
		}
		return c.interpExecutor(f)
	}
	var placed []*compile.Function
	sink := (*compile.Result).All
	if !compiles(tab) { // the interpreter needs the places alone
		sink = func(r *compile.Result) compile.Sink {
			return compile.Sink{Plan: compile.To(&r.Report), Placed: compile.To(&placed)}
		}
	}
	r, err := c.compile(ctx, c.env, m, sink)
	if err != nil {
		return nil, err
	}
	c.note("%s", r.Report.Line())
	// The arithmetic of an operation depends on where it runs, so the source runs with every operation placed.
	if placed != nil {
		return c.interpExecutor(placed[0].Reference)
	}
	return c.interpExecutor(r.Reference)
}

// direct runs a pair with the engine driven directly.
func (c *runCommand) direct(p pair.Pair) (*executor, error) {
	m, err := sim.Open(p)
	if err == nil && c.function != "" {
		err = m.Select(c.function)
	}
	if err != nil {
		return nil, err
	}
	x := portsOf(m)
	total := m.Tasks()
	x.close = func() error { return nil }
	x.run = func(ctx context.Context, in map[string]interp.Tensor, mode numerics.Mode,
		workers int) (map[string]interp.Tensor, error) {
		return m.Run(ctx, in, sim.Options{Numerics: mode, Workers: workers,
			Trace: func(_ string, e *engine.Event) {
				if e != nil { // a task, not an operation of the chain
					c.advance(total)
				}
			}})
	}
	return x, nil
}

// stacked runs a model through the whole stack; compile says whether its runtime compiles it.
func (c *runCommand) stacked(ctx context.Context, load loading, compile bool, mode numerics.Mode) (*executor, error) {
	var events *trace.Recording
	if c.trace != "" {
		events = &trace.Recording{}
	}
	var r *simulation
	var err error
	total := 0
	c.ran = func() { c.advance(total) }
	if c.connect.socket != "" {
		r, err = c.connect.simulation(ctx, load, mode, c.workers)
	} else {
		r, err = c.build(ctx, load, mode, c.workers, events)
	}
	if err != nil {
		return nil, err
	}
	if c.function != "" {
		if err := r.choose(c.function); err != nil {
			return nil, errors.Join(err, r.close())
		}
	}
	m := r.model.Machine()
	x := portsOf(m)
	total = m.Tasks()
	set := map[string]interp.Tensor{} // since the last run
	x.setState = func(name string, t interp.Tensor) error {
		set[name] = t
		return m.SetState(name, t)
	}
	x.run = func(ctx context.Context, in map[string]interp.Tensor, _ numerics.Mode,
		_ int) (map[string]interp.Tensor, error) {
		defer clear(set)
		return r.run(ctx, in, set)
	}
	x.bind = func(output, input string) (func() (interp.Tensor, error), error) {
		return func() (interp.Tensor, error) { return r.model.Kept(ctx, input) }, r.keep(output, input)
	}
	x.timing = r.timing
	x.close = func() error {
		err := r.close()
		c.injected(r.inject)
		if c.inject != "" {
			err = nil // the effects of injected faults are not an error of the run
		}
		if events != nil {
			err = errors.Join(err, r.write(ctx, c.trace))
		}
		return err
	}
	return x, nil
}

// interpExecutor runs a function on the reference interpreter.
func (c *runCommand) interpExecutor(f *ir.Func) (*executor, error) {
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
	states := map[string]interp.Tensor{}
	x.setState = func(name string, t interp.Tensor) error {
		states[name] = t
		return nil
	}
	x.state = func(name string) (interp.Tensor, error) { return states[name], nil }
	x.run = func(ctx context.Context, in map[string]interp.Tensor, mode numerics.Mode,
		workers int) (map[string]interp.Tensor, error) {
		return prog.Run(ctx, in, interp.Options{Numerics: mode, Workers: workers, States: states,
			Progress: func(_, total int) { c.advance(total) }})
	}
	return x, nil
}
