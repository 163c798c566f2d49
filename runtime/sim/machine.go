package sim

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// Port is an input or output of the compiled function.
type Port struct {
	Name string
	Type ir.Type
}

// Machine is a loaded pair. It may run any number of times, one run at a time,
// and keeps the states of its functions from run to run.
type Machine struct {
	funcs []*function // in the descriptor's order
	fn    *function   // chosen; the one that Run runs unless the inputs choose another configuration
	procs map[string]*procedure
	held  uint64 // bytes that the memory of the functions takes, all of which is kept while it is within MaxBytes
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

// LoadError is a pair that cannot be loaded, and why.
type LoadError struct {
	Where string // "container", "descriptor", or an operation of the chain
	Err   error
}

func (e *LoadError) Error() string { return e.Where + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *LoadError) Unwrap() error { return e.Err }

func loadf(where, format string, args ...any) error {
	return &LoadError{where, fmt.Errorf(format, args...)}
}

// Load checks a pair and prepares it. The slices must stay unchanged while the
// machine is in use.
func Load(container, descriptor []byte) (*Machine, error) {
	f, err := hwx.Read(container)
	if err != nil {
		return nil, &LoadError{"container", err}
	}
	if errs := hwx.Validate(f); len(errs) > 0 {
		return nil, &LoadError{"container", errs[0]}
	}
	d, err := e5.Read(descriptor)
	if err != nil {
		return nil, &LoadError{"descriptor", err}
	}
	if len(d.Functions) == 0 {
		return nil, loadf("descriptor", "it has no functions")
	}
	m := &Machine{procs: map[string]*procedure{}}
	sum := sha256.Sum256(container)
	hash := hex.EncodeToString(sum[:])
	for i := range d.Functions {
		fn := &function{Function: &d.Functions[i], calls: map[int]*call{}}
		for _, o := range m.funcs {
			if o.Name == fn.Name {
				return nil, loadf("descriptor", "function %q is there twice", fn.Name)
			}
		}
		for _, b := range fn.Blocks {
			fn.ops = append(fn.ops, b.Operations...)
		}
		for k := range fn.ops {
			if err := m.prepare(f, fn, k, hash); err != nil {
				return nil, err
			}
		}
		if err := fn.fits(m.procs); err != nil {
			return nil, err
		}
		m.funcs = append(m.funcs, fn)
	}
	m.fn = m.funcs[0]
	m.Reset()
	return m, nil
}

// MaxBytes bounds what the operands of one function, the ports of its procedures
// and their scratch take together: a pair of a few kilobytes may name buffers of
// any size.
const MaxBytes = 8 << 30

// fits refuses a function whose buffers pass MaxBytes.
func (fn *function) fits(procs map[string]*procedure) error {
	total := uint64(0)
	take := func(what, name string, n uint64) error {
		if n > MaxBytes || total+n > MaxBytes {
			return loadf("descriptor", "function %q: %s %q of %d bytes takes its buffers past the limit of %d bytes", fn.Name, what, name, n, uint64(MaxBytes))
		}
		total += n
		return nil
	}
	held := map[string]uint64{} // surfaces by port, the largest use of each
	surface := func(port string, n uint64) error {
		if n <= held[port] {
			return nil
		}
		err := take("port", port, n-held[port])
		held[port] = n
		return err
	}
	for i := range fn.Operands {
		o := &fn.Operands[i]
		err := error(nil)
		if o.Aperture == e5.Surface {
			err = surface(o.Port.Name, o.Port.ByteSize)
		} else {
			err = take("operand", o.Name, o.Port.ByteSize)
		}
		if err != nil {
			return err
		}
	}
	segments := map[uint64]bool{}
	for i := range fn.ops {
		a, ok := fn.ops[i].Attrs.(*e5.AneInferenceAttrs)
		if !ok {
			continue
		}
		p := procs[a.ProcedureName]
		for _, k := range slices.Sorted(maps.Keys(p.bars)) {
			b := p.bars[k]
			err := error(nil)
			switch {
			case b.scratch && !segments[b.segment]:
				segments[b.segment] = true
				err = take("scratch of", p.name, uint64(b.at+b.size))
			case b.port != "":
				err = surface(b.port, uint64(b.size))
			}
			if err != nil {
				return err
			}
		}
	}
	fn.sizes, fn.total = map[string]int64{}, total
	for port, n := range held {
		fn.sizes[port] = int64(n)
	}
	return nil
}

// memory returns the memory of a function, all zeros. What other functions hold is
// let go when all of it would pass MaxBytes.
func (m *Machine) memory(fn *function) *store {
	if fn.store != nil {
		fn.store.clear()
		return fn.store
	}
	if m.held+fn.total > MaxBytes {
		for _, f := range m.funcs {
			f.store = nil
		}
		m.held = 0
	}
	m.held += fn.total
	fn.store = newStore(fn)
	return fn.store
}

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

// States returns the states of the chosen function in order.
func (m *Machine) States() []Port { return m.fn.ports(m.fn.States) }

func (m *Machine) stateOperand(name string) (uint32, error) {
	var names []string
	for _, id := range m.fn.States {
		n := m.fn.Operands[id].Name
		if n == name {
			return id, nil
		}
		names = append(names, n)
	}
	return 0, fmt.Errorf("function %q has no state %q; it has %s", m.fn.Name, name, cmp.Or(strings.Join(names, ", "), "none"))
}

// State returns what a state of the chosen function holds. The bytes must not be
// changed.
func (m *Machine) State(name string) (interp.Tensor, error) {
	id, err := m.stateOperand(name)
	if err != nil {
		return interp.Tensor{}, err
	}
	return m.fn.state(id)
}

// SetState puts a tensor into a state of the chosen function.
func (m *Machine) SetState(name string, t interp.Tensor) error {
	id, err := m.stateOperand(name)
	if err != nil {
		return err
	}
	if want := typeOf(&m.fn.Operands[id].Desc); !t.Type.Equal(want) {
		return fmt.Errorf("state %q is %s, gets %s", name, want, t.Type)
	}
	m.fn.states[name] = t
	return nil
}

// state returns what a state holds, zeros before anything was put there.
func (f *function) state(id uint32) (interp.Tensor, error) {
	o := &f.Operands[id]
	if t, ok := f.states[o.Name]; ok {
		return t, nil
	}
	return interp.Zeros(typeOf(&o.Desc))
}

// prepare checks one operation of the chain against the container.
func (m *Machine) prepare(f *hwx.File, fn *function, i int, hash string) error {
	op := &fn.ops[i]
	switch a := op.Attrs.(type) {
	case *e5.CastAttrs:
		if err := checkCast(&fn.Operands[op.Inputs[0]], &fn.Operands[op.Outputs[0]]); err != nil {
			return &LoadError{op.Name, err}
		}
		return nil
	case *e5.AneInferenceAttrs:
		if a.AneHash != hash {
			return loadf(op.Name, "the descriptor was written for a container with SHA-256 %s, this one has %s", a.AneHash, hash)
		}
		p := m.procs[a.ProcedureName]
		if p == nil {
			var err error
			if p, err = loadProcedure(f, a.ProcedureName); err != nil {
				return &LoadError{op.Name, err}
			}
			m.procs[a.ProcedureName] = p
		}
		for _, id := range append(append([]uint32(nil), op.Inputs...), op.Outputs...) {
			o := &fn.Operands[id]
			found := false
			for _, b := range p.bars {
				if b.port == o.Port.Name && b.port != "" {
					found = true
					if uint64(b.size) < o.Port.ByteSize {
						return loadf(op.Name, "operand %q takes %d bytes, the container's port %q has %d", o.Name, o.Port.ByteSize, b.port, b.size)
					}
				}
			}
			if !found {
				return loadf(op.Name, "procedure %q has no port %q", p.name, o.Port.Name)
			}
		}
		return nil
	case *e5.CpuInferenceAttrs:
		c, err := loadCall(a)
		if err != nil {
			return &LoadError{op.Name, err}
		}
		if len(c.inputs) != len(op.Inputs) || len(c.outputs) != len(op.Outputs) {
			return loadf(op.Name, "program %q takes %d and gives %d tensors, the operation has %d and %d", a.Entry, len(c.inputs), len(c.outputs), len(op.Inputs), len(op.Outputs))
		}
		fn.calls[i] = c
		return nil
	}
	return loadf(op.Name, "operation type %v is not one the runtime executes", op.Type)
}

func loadCall(a *e5.CpuInferenceAttrs) (*call, error) {
	var data []byte
	for _, c := range a.Constants {
		if c.Name == "data" {
			data = c.Data
		}
	}
	p, err := ir.ParseWith("program", []byte(a.Program), data)
	if err != nil {
		return nil, err
	}
	if err := ir.Verify(p); err != nil {
		return nil, err
	}
	fn := p.Func(a.Entry)
	if fn == nil {
		return nil, fmt.Errorf("the program has no function %q", a.Entry)
	}
	prog, err := interp.Prepare(fn)
	if err != nil {
		return nil, err
	}
	c := &call{prog: prog}
	for _, v := range fn.Body.Params {
		c.inputs = append(c.inputs, v.Name)
	}
	for _, v := range fn.Body.Outputs {
		c.outputs = append(c.outputs, v.Name)
	}
	return c, nil
}

// loadProcedure reads a procedure's tasks and finds its windows.
func loadProcedure(f *hwx.File, name string) (*procedure, error) {
	for _, pr := range f.Procedures() {
		if pr.Name != name {
			continue
		}
		text, entry, ok := f.TextOf(pr)
		if !ok {
			return nil, fmt.Errorf("procedure %q has no tasks in __TEXT,__text", name)
		}
		tasks, err := td.DecodeChain(text, int(entry), int(pr.FirstWords))
		if err != nil {
			return nil, fmt.Errorf("procedure %q: %w", name, err)
		}
		if len(tasks) != int(pr.Tasks) {
			return nil, fmt.Errorf("procedure %q: its command says %d tasks, the chain has %d", name, pr.Tasks, len(tasks))
		}
		p := &procedure{name: name, tasks: tasks, bars: map[int]bar{}, consts: f.ConstantBytes()}
		ports := map[uint64]string{}
		for _, port := range f.Ports() {
			ports[uint64(port.Addr)] = port.Name
		}
		for i, addr := range pr.Bars {
			seg := f.SegmentAt(addr)
			if seg == nil {
				return nil, fmt.Errorf("procedure %q: buffer-access register %d points at %#x, where nothing is mapped", name, i, addr)
			}
			switch {
			case seg.Name.String() == hwx.SegPort:
				port, ok := ports[seg.VMAddr]
				if !ok || addr != seg.VMAddr || len(seg.Sections) == 0 {
					return nil, fmt.Errorf("procedure %q: buffer-access register %d points at %#x, which is no port", name, i, addr)
				}
				p.bars[i] = bar{port: port, size: int64(seg.Sections[0].Size), write: seg.InitProt&hwx.ProtWrite != 0}
			case seg.Name.String() == hwx.SegScratch:
				at := addr - seg.VMAddr // within the segment, SegmentAt says
				p.bars[i] = bar{scratch: true, segment: seg.VMAddr, at: int64(at), size: int64(seg.VMSize - at), write: true}
			default:
				// Constants, whichever register points at them; the text needs no
				// window, since no task reads it.
				if at, ok := constantAt(f, addr); ok && at <= int64(len(p.consts)) {
					p.bars[i] = bar{consts: true, at: at, size: int64(len(p.consts)) - at}
				}
			}
		}
		return p, nil
	}
	return nil, fmt.Errorf("the container has no procedure %q", name)
}

// constantAt returns where an address stands among the constants, whose sections
// follow each other in address too.
func constantAt(f *hwx.File, addr uint64) (int64, bool) {
	before := uint64(0)
	for _, s := range f.ConstantSections() {
		if addr >= s.Addr && addr-s.Addr < max(s.Size, 1) {
			return int64(before + addr - s.Addr), true
		}
		before += s.Size
	}
	return 0, false
}

// Inputs returns the function's inputs in order.
func (m *Machine) Inputs() []Port { return m.fn.ports(m.fn.Inputs) }

// Accepts returns the function's inputs as all its configurations take them: a
// dimension that is not the same in all is unknown.
func (m *Machine) Accepts() []Port {
	ports := m.Inputs()
	for _, f := range m.funcs {
		if f.base() != m.fn.base() || len(f.Inputs) != len(ports) {
			continue
		}
		for i, p := range f.ports(f.Inputs) {
			if p.Type.Rank() != ports[i].Type.Rank() {
				continue
			}
			for k, d := range p.Type.Shape {
				if d != ports[i].Type.Shape[k] {
					ports[i].Type.Shape[k] = ir.Unknown
				}
			}
		}
	}
	return ports
}

// Outputs returns the function's outputs in order.
func (m *Machine) Outputs() []Port { return m.fn.ports(m.fn.Outputs) }

func (f *function) ports(ids []uint32) []Port {
	out := make([]Port, len(ids))
	for i, id := range ids {
		o := &f.Operands[id]
		out[i] = Port{o.Name, typeOf(&o.Desc)}
	}
	return out
}

func typeOf(d *e5.TensorDescriptor) ir.Type {
	dt, _ := ir.ParseDType(d.Storage.String())
	t := ir.Type{Kind: ir.Tensor, DType: dt}
	for _, n := range d.Dim {
		if n == e5.UnknownDim {
			t.Shape = append(t.Shape, ir.Unknown)
			continue
		}
		t.Shape = append(t.Shape, int64(n))
	}
	return t
}

// configuration returns the configuration of the chosen function that takes the
// inputs: the chosen one where its shapes fit or where it is the only one.
func (m *Machine) configuration(inputs map[string]interp.Tensor) *function {
	fits := func(f *function) bool {
		for _, id := range f.Inputs {
			o := &f.Operands[id]
			if t, ok := inputs[o.Name]; !ok || !t.Type.Fits(typeOf(&o.Desc)) {
				return false
			}
		}
		return true
	}
	if fits(m.fn) {
		return m.fn
	}
	for _, f := range m.funcs {
		if f.base() == m.fn.base() && fits(f) {
			return f
		}
	}
	return m.fn
}

// Configuration returns the name of the configuration of the chosen function that
// takes the inputs; the chosen one where none does.
func (m *Machine) Configuration(inputs map[string]interp.Tensor) string {
	return m.configuration(inputs).Name
}

// Takes lists what the configurations of the chosen function take as an input,
// in order of size.
func (m *Machine) Takes(name string) string {
	var types []ir.Type
	for _, f := range m.funcs {
		for _, id := range f.Inputs {
			if o := &f.Operands[id]; f.base() == m.fn.base() && o.Name == name {
				types = append(types, typeOf(&o.Desc))
			}
		}
	}
	slices.SortStableFunc(types, func(a, b ir.Type) int { return slices.Compare(a.Shape, b.Shape) })
	var s []string
	for _, t := range types {
		if n := t.String(); !slices.Contains(s, n) {
			s = append(s, n)
		}
	}
	return strings.Join(s, " or ")
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
func (m *Machine) Run(ctx context.Context, inputs map[string]interp.Tensor, o Options) (map[string]interp.Tensor, error) {
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
