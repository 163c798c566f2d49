package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/pair"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// Machine is a loaded pair. It may run any number of times, one run at a time,
// and keeps the states of its functions from run to run.
type Machine struct {
	pair  pair.Pair
	funcs []*function // in the descriptor's order
	fn    *function   // chosen; the one that Run runs unless the inputs choose another configuration
	procs map[string]*procedure
	held  uint64 // bytes that the memory of the functions takes, all of which is kept while it is within e5.MaxBytes
}

// function is one function of the descriptor, made ready.
type function struct {
	*e5.Function
	ops    []e5.Operation
	calls  map[int]*call            // by operation index
	states map[string]interp.Tensor // by name, of all configurations; what the last run left
	sizes  map[string]int64         // of the surfaces, by port
	total  uint64                   // bytes of its buffers
	store  *store                   // nil until it runs
}

// base is the name without the number of a configuration.
func (f *function) base() string {
	name, _, _ := strings.Cut(f.Name, e5.VariantMark)
	return name
}

// procedure is one task chain with what its buffer-access registers point at.
type procedure struct {
	name   string
	tasks  []td.Placed
	bars   map[int]bar
	consts []byte
}

// bar is a window: constants, scratch, or the surface of that port.
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
	prog    *interp.Program
	inputs  []string
	outputs []string
}

// Options steer a run.
type Options struct {
	Numerics numerics.Mode
	Workers  int // 0: one a processor; results do not depend on it
	// CallBytes limits the live bytes of a CPU call; 0 for the interpreter's own limit.
	CallBytes int64
	// Trace is called after every operation of the chain and, for the engine,
	// after every task with the name of the procedure.
	Trace func(where string, e *engine.Event)
	// Results is called with what each task gives, as engine.Options says, with the
	// name of the procedure. Nil for none.
	Results func(where string, task int, extent [5]int, patterns []uint16)
	// Dispatcher, when set, takes the engine inferences in the stead of the engine;
	// Trace then sees operations of the chain alone, and Numerics and Workers hold
	// for CPU calls alone.
	Dispatcher Dispatcher
}

// Dispatcher runs one procedure of the container on the surfaces of its ports, in
// place.
type Dispatcher interface {
	// Dispatch gets every port of the procedure by name, with the size that the
	// container gives it. The map and the slices are the same from run to run of one
	// function of a Machine, and must be neither changed (the map) nor kept in use
	// after Dispatch has returned (the bytes).
	Dispatch(ctx context.Context, procedure string, surfaces map[string][]byte) error
}

// memory returns the memory of a function, all zeros. What other functions hold is
// let go when all of it would pass e5.MaxBytes.
func (m *Machine) memory(fn *function) *store {
	if fn.store != nil {
		fn.store.clear()
		return fn.store
	}
	if m.held+fn.total > e5.MaxBytes {
		for _, f := range m.funcs {
			f.store = nil
		}
		m.held = 0
	}
	m.held += fn.total
	fn.store = newStore(fn)
	return fn.store
}

// Pair returns what was opened.
func (m *Machine) Pair() pair.Pair { return m.pair }

// Functions returns the names of the functions; the first is the one that runs
// when none is chosen. Configurations of one function's shapes count once.
func (m *Machine) Functions() []string {
	var names []string
	for _, f := range m.funcs {
		if n := f.base(); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

// Configurations returns the names of a function's configurations, each of which
// Select takes; the first is that of the default shapes.
func (m *Machine) Configurations(name string) []string {
	var names []string
	for _, f := range m.funcs {
		if f.base() == name {
			names = append(names, f.Name)
		}
	}
	return names
}

// Select chooses the function that Run runs, by its name or that of one of its
// configurations.
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
	return fmt.Errorf("the pair has no function %q; it has %s", name, strings.Join(m.Functions(), ", "))
}

// Reset sets the states of all functions to zeros.
func (m *Machine) Reset() {
	held := map[string]map[string]interp.Tensor{}
	for _, f := range m.funcs {
		if held[f.base()] == nil {
			held[f.base()] = map[string]interp.Tensor{}
		}
		f.states = held[f.base()]
	}
}

// newEngine returns an engine as the options ask for, on the memory s.
func (o *Options) newEngine(s *store, trace func(engine.Event)) *engine.Engine {
	eo := engine.Options{Numerics: EngineNumerics(o.Numerics), Workers: o.Workers, Trace: trace}
	if results := o.Results; results != nil {
		eo.Results = func(task int, extent [5]int, patterns []uint16) {
			if s.proc != nil {
				results(s.proc.name, task, extent, patterns)
			}
		}
	}
	return engine.New(eo)
}

// Run executes the chain of the chosen function once. Where the function was
// compiled for several shapes, those of the inputs choose. States keep what the
// run leaves in them, unless it fails.
func (m *Machine) Run(ctx context.Context, inputs map[string]interp.Tensor, o Options) (map[string]interp.Tensor,
	error) {
	fn := m.configuration(inputs)
	r := &execution{store: m.memory(fn), procs: m.procs, fn: fn, o: o, host: map[uint32]interp.Tensor{}}
	if o.Dispatcher == nil {
		r.engine = o.newEngine(r.store, r.traceTask)
	}
	for _, id := range fn.Inputs {
		op := &fn.Operands[id]
		t, ok := inputs[op.Name]
		if !ok {
			return nil, fmt.Errorf("input %q is missing; it is %s", op.Name, typeOf(&op.Desc))
		}
		if want := typeOf(&op.Desc); !t.Type.Fits(want) {
			return nil, fmt.Errorf("input %q is %s, want %s", op.Name, t.Type, m.Takes(op.Name))
		}
		r.host[id] = t
	}
	for _, id := range fn.States {
		t, err := fn.state(id)
		if err != nil {
			return nil, fmt.Errorf("state %q: %w", fn.Operands[id].Name, err)
		}
		r.host[id] = t
	}
	if err := r.run(ctx); err != nil {
		return nil, err
	}
	out := map[string]interp.Tensor{}
	for _, id := range fn.Outputs {
		t, err := r.result(id)
		if err != nil {
			return nil, err
		}
		out[fn.Operands[id].Name] = t
	}
	for _, id := range fn.States {
		fn.states[fn.Operands[id].Name] = r.host[id]
	}
	return out, nil
}

// Procedures returns the procedures of the container that a function runs, in the
// order of their first run; none when there is no such function.
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
