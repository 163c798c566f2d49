package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/internal/npy"
	"github.com/zinc-compiler/zinc/internal/values"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// heldModel is a model that a session has loaded.
type heldModel struct {
	*runCommand
	x       *executor
	mode    numerics.Mode
	running chan struct{} // contains a value while a call runs
	closed  bool          // guarded by running
}

// sessionFunction has the ports of the function that a model runs.
type sessionFunction struct {
	Inputs  []sessionPort `json:"inputs"`
	Outputs []sessionPort `json:"outputs"`
	States  []sessionPort `json:"states"`
}

// sessionPort is an input, an output or a state.
type sessionPort struct {
	sessionArray        // with -1 for a dimension that is not fixed
	MIL          string `json:"mil"` // type in MIL
}

func portsOfSession(ps []port) []sessionPort {
	out := make([]sessionPort, len(ps))
	for i, p := range ps {
		element, _ := values.ArrayType(p.typ.DType)
		out[i] = sessionPort{sessionArray{p.name, element, slices.Clone(p.typ.Shape)}, p.typ.String()}
		if out[i].Shape == nil {
			out[i].Shape = []int64{}
		}
		for k, d := range out[i].Shape {
			if d == ir.Unknown {
				out[i].Shape[k] = -1
			}
		}
	}
	return out
}

// load prepares what `zinc run` would run, and keeps it.
func (t *task) load(ctx context.Context) int {
	args := append([]string{"run"}, t.Args...)
	e := t.environment(args)
	status := e.run(ctx, args)
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.session.held[t.ID]
	switch {
	case m == nil:
		e.unmap()
		if status == statusOK {
			return t.fail(usagef("request %d: the arguments of load name no model to keep", t.ID))
		}
	case status != statusOK:
		delete(t.session.held, t.ID)
		if err := m.close(ctx); err != nil {
			return t.fail(err)
		}
	}
	return status
}

// holds reports whether the request loads a model to keep.
func (t *task) holds() bool { return t != nil && t.Method == "load" }

// hold keeps the model that a run command has prepared.
func (t *task) hold(c *runCommand, x *executor, mode numerics.Mode) error {
	if len(c.reads)+len(c.writes)+len(c.restores)+len(c.saves) > 0 || c.fill || c.trace != "" {
		err := usagef("load takes no arrays, seeds and traces; predict has the arrays of a call")
		return errors.Join(err, x.close())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.session.held[t.ID] = &heldModel{runCommand: c, x: x, mode: mode, running: make(chan struct{}, 1)}
	t.answer.Function = &sessionFunction{
		Inputs:  portsOfSession(x.inputs),
		Outputs: portsOfSession(x.outputs),
		States:  portsOfSession(x.states),
	}
	return nil
}

// model returns the model that a request names.
func (t *task) model() (*heldModel, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m := t.session.held[t.Model]; m != nil {
		return m, nil
	}
	return nil, usagef("request %d: no model %d is loaded", t.ID, t.Model)
}

// predict runs a model once.
func (t *task) predict(ctx context.Context) int {
	err := guarded(func() error {
		m, err := t.model()
		if err != nil {
			return err
		}
		return m.predict(ctx, t)
	})
	if err != nil && ctx.Err() != nil && statusOf(err) == statusInput {
		err = ctx.Err()
	}
	if err != nil {
		return t.fail(err)
	}
	return statusOK
}

// unload releases a model.
func (t *task) unload(ctx context.Context) int {
	m, err := t.model()
	if err == nil {
		err = m.close(ctx)
	}
	if err != nil {
		return t.fail(err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.session.held, t.Model)
	return statusOK
}

// begin waits until no other call runs.
func (m *heldModel) begin(ctx context.Context) error {
	select {
	case m.running <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if m.closed {
		<-m.running
		return errors.New("the model was released")
	}
	return nil
}

func (m *heldModel) end() { <-m.running }

func (m *heldModel) close(ctx context.Context) error {
	if err := m.begin(ctx); err != nil {
		return err
	}
	defer m.end()
	m.closed = true
	defer m.unmap()
	return m.x.close()
}

func (m *heldModel) predict(ctx context.Context, t *task) error {
	if err := m.begin(ctx); err != nil {
		return err
	}
	defer m.end()
	body := t.payload
	inputs, body, err := arraysIn(body, "input", t.Inputs, m.x.inputs)
	if err != nil {
		return err
	}
	for _, p := range m.x.inputs {
		if _, ok := inputs[p.name]; !ok {
			return usagef("missing input: %s", ports([]port{p}))
		}
	}
	states, body, err := arraysIn(body, "state", t.States, m.x.states)
	switch {
	case err != nil:
		return err
	case len(body) > 0:
		return usagef("the body has %d bytes more than its arrays", len(body))
	case len(states) > 0 && len(states) < len(m.x.states):
		return usagef("want all states or none: %s", ports(m.x.states))
	}
	for _, p := range m.x.states {
		if x, ok := states[p.name]; ok {
			if err := m.x.setState(p.name, x); err != nil {
				return err
			}
		}
	}
	m.shown.follow(t)
	defer m.shown.follow(nil)
	got, err := m.x.run(ctx, inputs, m.mode, m.workers)
	if err == nil {
		err = m.x.read(got)
	}
	if err != nil {
		return err
	}
	for _, p := range m.x.outputs {
		if t.answer.Outputs, err = t.put(t.answer.Outputs, p.name, got[p.name]); err != nil {
			return err
		}
	}
	if len(states) == 0 {
		return nil
	}
	for _, p := range m.x.states {
		x, err := m.x.state(p.name)
		if err != nil {
			return err
		}
		if t.answer.States, err = t.put(t.answer.States, p.name, x); err != nil {
			return err
		}
	}
	return nil
}

// put adds an array to the answer.
func (t *task) put(to []sessionArray, name string, x interp.Tensor) ([]sessionArray, error) {
	a, err := values.ToArray(x)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	t.body = append(t.body, slices.Clone(a.Data)) // the next call may use the memory again
	shape := a.Shape
	if shape == nil {
		shape = []int64{}
	}
	return append(to, sessionArray{name, a.Type, shape}), nil
}

// arraysIn returns the arrays at the start of a body as values of ports, and what is after them.
func arraysIn(body []byte, what string, list []sessionArray, want []port) (map[string]interp.Tensor, []byte, error) {
	out := map[string]interp.Tensor{}
	for _, a := range list {
		i := slices.IndexFunc(want, func(p port) bool { return p.name == a.Name })
		if i < 0 {
			return nil, nil, usagef("unknown %s %q; %ss: %s", what, a.Name, what, ports(want))
		}
		if _, ok := out[a.Name]; ok {
			return nil, nil, usagef("%s %q is set twice", what, a.Name)
		}
		n, err := a.bytes()
		if err == nil && n > int64(len(body)) {
			err = fmt.Errorf("needs %d bytes, and the body has %d left", n, len(body))
		}
		if err == nil {
			out[a.Name], err = values.FromArray(npy.Array{Type: a.Type, Shape: a.Shape, Data: body[:n:n]}, want[i].typ)
		}
		if err != nil {
			return nil, nil, usagef("%s %q: %w", what, a.Name, err)
		}
		body = body[n:]
	}
	return out, body, nil
}

// bytes returns the size of an array.
func (a *sessionArray) bytes() (int64, error) {
	n := int64(npy.Size(a.Type))
	if n == 0 {
		return 0, fmt.Errorf("unknown element type %q; the types are %v", a.Type, npy.Types)
	}
	for _, d := range a.Shape {
		if d < 0 || d > 0 && n > maxBody/d {
			return 0, fmt.Errorf("%s is not a valid array shape", ir.ShapeString(a.Shape))
		}
		n *= d
	}
	return n, nil
}

// maxBody is the limit of the size of an array that a request describes; bodies are far smaller.
const maxBody = 1 << 62
