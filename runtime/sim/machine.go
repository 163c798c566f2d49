package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/internal/memlimit"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// Machine is a loaded pair. It may run any number of times, one run at a time,
// and keeps the states of its functions from run to run.
type Machine struct {
	pair  pair.Pair
	funcs []*function // in the descriptor's order
	fn    *function   // chosen; Run runs it unless the inputs fit another configuration
	procs map[string]*procedure
	of    *target.Table // whose programs it runs
	held  uint64        // bytes of memory of all functions, kept while within e5.MaxBytes
}

// function is one prepared function of the descriptor.
type function struct {
	*e5.Function
	ops    []e5.Operation
	calls  map[int]*call     // by operation index
	states map[string]*state // by name
	sizes  map[string]int64  // of the surfaces, by port
	total  uint64            // bytes of its buffers
	passes map[int]bool      // casts that pass a surface on, by operation index
	chains []e5.Chain
	chain  *chain // run by Run; nil before the first
	// shares reports whether a port and a state are one buffer, as the descriptor's aliases say.
	shares func(port, state string) bool
}

// base returns the name without the number of the configuration.
func (f *function) base() string {
	name, _, _ := strings.Cut(f.Name, e5.VariantMark)
	return name
}

// procedure is one task chain and what its buffer-access registers point at.
type procedure struct {
	name   string
	index  int // in the container
	tasks  []td.Placed
	bars   map[int]bar
	consts []byte
}

// bar is a window: constants, scratch, or the surface of a port.
type bar struct {
	port    string
	scratch bool
	segment uint64 // of scratch: address of the segment
	consts  bool
	at      int64 // where in the segment, or among the constants, the window begins
	size    int64
	write   bool
}

// call is a prepared CPU call.
type call struct {
	fn      *ir.Func
	prog    *interp.Program
	inputs  []string
	outputs []string
	time    cost.Time // estimated
}

// Options configure runs.
type Options struct {
	Numerics numerics.Mode // ANE for the mode of the engine that the container is for
	Workers  int           // 0: one per processor; results do not depend on it
	// CallBytes limits the live bytes of a CPU call; 0 for the interpreter's own limit.
	CallBytes int64
	// Trace is called after every operation of the chain and, for the engine,
	// after every task with the name of the procedure.
	Trace func(where string, e *engine.Event)
	// Results is called with the result of each task, as engine.Options describes, and the name of the procedure. It
	// may be nil.
	Results func(where string, task int, extent [5]int, patterns []uint16)
	// Dispatcher, if set, runs the inferences instead of the engine; Trace is then called only for operations of the
	// chain, and Numerics and Workers apply only to CPU calls.
	Dispatcher Dispatcher
	// Host, if set, is informed of the host's work, so that it can let virtual time pass.
	Host Host
}

// Host accounts for the host's work of a chain. An error ends the run.
type Host interface {
	// Bind is called before an inference with the bytes of the surfaces that the host fills and of those that it
	// empties. Surfaces of states stay where they are, and are not counted.
	Bind(op string, in, out int64) error
	// Return is called after an inference.
	Return(op string) error
	// Cast is called after a cast with the names of its operands, for a surface "port" and the port's name. A cast that
	// is not run, because its value stays on the device, is not reported.
	Cast(op, from, to string) error
	// Compute is called after a CPU call with its estimated time.
	Compute(op string, t cost.Time) error
}

// Dispatcher runs one procedure of the container on the surfaces of its ports, in
// place.
type Dispatcher interface {
	// Dispatch gets every port of the procedure by name, with the size that the container states. All runs of one
	// function of a Machine pass the same map and slices, except that the two slices of a value that stays on the
	// device change places. Dispatch must not change the map, nor use the slices after it has returned.
	Dispatch(ctx context.Context, procedure string, surfaces map[string][]byte) error
	// Chain runs consecutive procedures of the container, at least two, one after another for one submission. The
	// surfaces are as for Dispatch.
	Chain(ctx context.Context, segments []Segment) error
}

// Segment is one procedure of a chain.
type Segment struct {
	Procedure string
	Surfaces  map[string][]byte // by port
	// Passed has, by the port that reads it, the port to which an earlier procedure of the chain writes. Both have the
	// same surface.
	Passed map[string]string
}

// chain returns the chain of a function. It releases the memory of other functions when the total would exceed
// e5.MaxBytes.
func (m *Machine) chain(fn *function) *chain {
	if fn.chain != nil {
		return fn.chain
	}
	if m.held+fn.total > e5.MaxBytes {
		for _, f := range m.funcs {
			for _, s := range f.states {
				s.buffer().Bytes() // the value must not be in the memory that is released
			}
			f.chain = nil
		}
		m.held = 0
	}
	m.held += fn.total
	fn.chain = newChain(fn, m.procs, false)
	for _, id := range fn.States {
		fn.chain.kept[id] = fn.chain.resident([]uint32{id}, id)
	}
	return fn.chain
}

// Infer runs one procedure of the container on the engine, on the surfaces of its ports as a Dispatcher gets them.
// Options.Dispatcher is not used.
func (m *Machine) Infer(ctx context.Context, procedure string, surfaces map[string][]byte, o Options) error {
	p := m.procs[procedure]
	if p == nil {
		return fmt.Errorf("the container has no procedure %q", procedure)
	}
	sizes := map[string]int64{}
	for _, b := range p.bars {
		if b.port != "" {
			sizes[b.port] = max(sizes[b.port], b.size)
		}
	}
	s := newStore(&function{sizes: sizes})
	s.proc = p
	for port, size := range sizes {
		if got := int64(len(surfaces[port])); got != size {
			return fmt.Errorf("port %q: got a surface of %d bytes, want %d", port, got, size)
		}
		s.surfaces[port] = surfaces[port]
	}
	n := EngineNumerics(m.Mode(o.Numerics))
	e := engine.New(engine.Options{L2Bytes: m.of.L2Bytes, Numerics: n, Workers: o.Workers})
	return e.Run(ctx, p.tasks, s)
}

// Target returns the oldest target whose containers have the CPU subtype of the container.
func (m *Machine) Target() *target.Table { return m.of }

// Mode returns the arithmetic of a run in a mode: ANE is the arithmetic of the engine that the container is for.
func (m *Machine) Mode(mode numerics.Mode) numerics.Mode { return mode.On(m.of.Arithmetic) }

// Pair returns what was opened.
func (m *Machine) Pair() pair.Pair { return m.pair }

// Functions returns the names of the functions; the first runs when none is chosen. The configurations of a function
// count as one.
func (m *Machine) Functions() []string {
	var names []string
	for _, f := range m.funcs {
		if n := f.base(); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

// Function returns the name of the chosen function.
func (m *Machine) Function() string { return m.fn.base() }

// Configurations returns the names of a function's configurations, which Select accepts; the first has the default
// shapes.
func (m *Machine) Configurations(name string) []string {
	var names []string
	for _, f := range m.funcs {
		if f.base() == name {
			names = append(names, f.Name)
		}
	}
	return names
}

// Select chooses the function that Run runs, by its name or the name of one of its configurations.
func (m *Machine) Select(name string) error {
	for _, f := range m.funcs {
		if f.Name == name {
			m.fn = f
			return nil
		}
	}
	return m.noFunction(name)
}

func (m *Machine) noFunction(name string) error {
	return fmt.Errorf("the pair has no function %q; want one of %s", name, strings.Join(m.Functions(), ", "))
}

// Run executes the chain of the chosen function once. If the function was compiled for several shapes, the shapes of
// the inputs select one. A successful run updates the states.
func (m *Machine) Run(ctx context.Context, inputs map[string]interp.Tensor, o Options) (map[string]interp.Tensor,
	error) {
	fn := m.configuration(inputs)
	if fn.chain == nil && fn.total <= e5.MaxBytes {
		if err := memlimit.Room(int64(fn.total)); err != nil {
			return nil, fmt.Errorf("the buffers of function %q: %w", fn.Name, err)
		}
	}
	c := m.chain(fn)
	c.start()
	defer c.start() // drops the values of the operands
	for _, id := range fn.Inputs {
		op := &fn.Operands[id]
		t, ok := inputs[op.Name]
		if !ok {
			return nil, fmt.Errorf("input %q is missing; it is %s", op.Name, typeOf(&op.Desc))
		}
		if want := typeOf(&op.Desc); !t.Type.Fits(want) {
			return nil, fmt.Errorf("input %q is %s, want %s", op.Name, t.Type, m.Takes(op.Name))
		}
		c.fill(id, t)
	}
	for _, id := range fn.States {
		s := fn.states[fn.Operands[id].Name]
		c.hold(id, s.buffer())
		c.fill(id, interp.Tensor{Type: s.typ, Data: s.data()})
	}
	c.clear()
	o.Numerics = m.Mode(o.Numerics)
	e := c.newEngine(&o, m.of.L2Bytes)
	if e != nil {
		defer e.Release()
	}
	if err := c.run(ctx, &o, e); err != nil {
		return nil, err
	}
	results, err := fn.results(c)
	if err != nil {
		return nil, err
	}
	out := map[string]interp.Tensor{}
	for i, id := range fn.Outputs {
		out[fn.Operands[id].Name] = results[i]
	}
	return out, nil
}

// results returns the outputs of a run and stores the new values of the states.
func (f *function) results(c *chain) ([]interp.Tensor, error) {
	var ids []uint32
	var bufs [][]byte
	for _, id := range f.Outputs {
		ids, bufs = append(ids, id), append(bufs, nil)
	}
	for _, id := range f.States {
		if c.kept[id] == nil {
			ids, bufs = append(ids, id), append(bufs, f.states[f.Operands[id].Name].data())
		}
	}
	results := make([]interp.Tensor, len(ids))
	for i, id := range ids {
		var err error
		if results[i], err = c.result(id); err != nil {
			return nil, err
		}
		if b := bufs[i]; b != nil && len(b) != len(results[i].Data) {
			return nil, fmt.Errorf("state %q has %d bytes, want %s", f.Operands[id].Name, len(results[i].Data),
				typeOf(&f.Operands[id].Desc))
		}
	}
	commit(results, bufs)
	for _, id := range f.States {
		c.keep(id, f.states[f.Operands[id].Name].mem)
	}
	return results, nil
}

// Tasks returns the number of tasks that the engine computes in one run of the chosen function.
func (m *Machine) Tasks() int {
	n := 0
	for i := range m.fn.ops {
		if a, ok := m.fn.ops[i].Attrs.(*e5.AneInferenceAttrs); ok {
			n += len(m.procs[a.ProcedureName].tasks)
		}
	}
	return n
}

// Procedures returns the procedures of the container that a function runs, in the order of their first run, or none if
// there is no such function.
func (m *Machine) Procedures(name string) []string {
	var out []string
	for _, f := range m.funcs {
		if f.Name != name {
			continue
		}
		for i := range f.ops {
			if a, ok := f.ops[i].Attrs.(*e5.AneInferenceAttrs); ok && !slices.Contains(out, a.ProcedureName) {
				out = append(out, a.ProcedureName)
			}
		}
	}
	return out
}
