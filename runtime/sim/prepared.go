package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// Prepared is one function made ready to be run again and again on buffers of the
// caller's, which are bound once and read and written in place: packed tensors, row
// major, little endian, of the types that Inputs, Outputs and States give.
//
// It has surfaces, scratch, on-chip memory and, for those that are not bound,
// states of its own, and leaves in them what a run left, as an engine does. A chain
// of casts and engine inferences runs without allocating in this package, CPU calls
// run as Machine.Run runs them. One Prepared runs in one goroutine at a time;
// several of one Machine may run at once, beside Machine.Run too.
type Prepared struct {
	fn      *function
	o       Options
	store   *store
	engine  *engine.Engine // nil: Options.Dispatcher
	procs   map[string]*procedure
	bound   []binding // inputs, outputs, states
	inputs  int       // of bound
	outputs int
	steps   []step   // nil: the chain runs by way of tensors
	mem     [][]byte // by operand: host buffers that are not bound, and surfaces
	planned bool     // the steps fit the bindings
	commits []commit
	slow    *execution
}

// binding is a buffer of the caller's.
type binding struct {
	name string
	id   uint32 // operand
	typ  ir.Type
	size int
	buf  []byte  // nil: not bound
	own  bool    // a state that nothing is bound to
	open bool    // an output whose extents the run finds: size is 0, and buf all of the caller's
	was  ir.Type // of an open one: what the last run found
}

// ErrUnsized is a function that cannot be prepared, but run.
var ErrUnsized = errors.New("its size is not known before it runs; only tensors of known size can be bound")

// Prepare makes a function, or one of its configurations, ready to be run. Buffers
// for inputs and outputs must be bound before the first run. A function with inputs
// whose extents are known at run time only, or with strings, cannot be prepared
// (ErrUnsized): use Run.
func (m *Machine) Prepare(name string, o Options) (*Prepared, error) {
	fn, bound, err := m.bindings(name)
	if err != nil {
		return nil, err
	}
	p := &Prepared{
		fn:      fn,
		o:       o,
		store:   newStore(fn),
		procs:   m.procs,
		bound:   bound,
		inputs:  len(fn.Inputs),
		outputs: len(fn.Outputs),
	}
	if o.Dispatcher == nil {
		p.engine = o.newEngine(p.store, p.traceTask)
	}
	p.steps = p.fast()
	if p.steps == nil {
		p.slow = &execution{
			store:  p.store,
			procs:  m.procs,
			fn:     fn,
			o:      o,
			engine: p.engine,
			host:   map[uint32]interp.Tensor{},
		}
	}
	return p, nil
}

// Preparable reports why a function, or one of its configurations, cannot be
// prepared.
func (m *Machine) Preparable(name string) error {
	_, _, err := m.bindings(name)
	return err
}

// bindings lists what buffers can be bound to: inputs, outputs, states, which have
// buffers of their own at first.
func (m *Machine) bindings(name string) (*function, []binding, error) {
	i := slices.IndexFunc(m.funcs, func(f *function) bool { return f.Name == name })
	if i < 0 {
		return nil, nil, m.noFunction(name)
	}
	fn := m.funcs[i]
	var bound []binding
	for k, ids := range [][]uint32{fn.Inputs, fn.Outputs, fn.States} {
		for _, id := range ids {
			op := &fn.Operands[id]
			b := binding{name: op.Name, id: id, typ: typeOf(&op.Desc)}
			n := b.typ.Bytes()
			b.open = k == 1 && op.Desc.Unknown()
			if n < 0 && !b.open || b.typ.DType == ir.String {
				return nil, nil, fmt.Errorf("function %q: %q is %s: %w", name, op.Name, b.typ, ErrUnsized)
			}
			b.size = max(int(n), 0)
			if k == 2 {
				b.buf, b.own = make([]byte, n), true
			}
			bound = append(bound, b)
		}
	}
	return fn, bound, nil
}

func (p *Prepared) traceTask(e engine.Event) {
	if p.o.Trace != nil && p.store.proc != nil {
		p.o.Trace(p.store.proc.name, &e)
	}
}

// Inputs returns the function's inputs in order.
func (p *Prepared) Inputs() []Port { return p.fn.ports(p.fn.Inputs) }

// Outputs returns the function's outputs in order.
func (p *Prepared) Outputs() []Port { return p.fn.ports(p.fn.Outputs) }

// States returns the function's states in order.
func (p *Prepared) States() []Port { return p.fn.ports(p.fn.States) }

// BindInput binds a buffer to an input: its first bytes, as many as the tensor
// takes. A buffer may be bound to an input and an output, whole or in part: a run
// reads what it held before and writes the new value. It must not be bound to two
// tensors that the function writes. A run that fails leaves the buffers as they were.
func (p *Prepared) BindInput(name string, b []byte) error {
	return p.bind("input", name, b, p.bound[:p.inputs])
}

// BindOutput binds a buffer to an output; see BindInput. An output whose extents are
// known at run time only takes as much of the buffer as the run finds that it needs,
// and a run that needs more fails.
func (p *Prepared) BindOutput(name string, b []byte) error {
	return p.bind("output", name, b, p.bound[p.inputs:p.inputs+p.outputs])
}

// BindState binds a buffer to a state, which takes the value that it holds; see
// BindInput. A state that nothing is bound to is zeros before the first run.
func (p *Prepared) BindState(name string, b []byte) error {
	return p.bind("state", name, b, p.bound[p.inputs+p.outputs:])
}

func (p *Prepared) bind(kind, name string, b []byte, among []binding) error {
	for i := range among {
		t := &among[i]
		if t.name != name {
			continue
		}
		if len(b) < t.size {
			return fmt.Errorf("%s %q is %s of %d bytes, the buffer has %d", kind, name, t.typ, t.size, len(b))
		}
		if b == nil {
			b = []byte{} // a tensor of no bytes
		}
		t.buf, t.own = b[:t.size:t.size], false
		if t.open {
			t.buf = b
		}
		p.planned = false
		return nil
	}
	var names []string
	for i := range among {
		names = append(names, among[i].name)
	}
	return fmt.Errorf("function %q has no %s %q; it has %q", p.fn.Name, kind, name, names)
}

// OutputType returns the type of what the last run has left in an output: of one
// whose extents are known at run time only, those that the run found. It is the zero
// Type before the first run and for an output that is not there.
func (p *Prepared) OutputType(name string) ir.Type {
	for i := p.inputs; i < p.inputs+p.outputs; i++ {
		switch b := &p.bound[i]; {
		case b.name != name:
		case b.open:
			return b.was
		default:
			return b.typ
		}
	}
	return ir.Type{}
}

// Check reports what stands against a run: a port that nothing is bound to, or a
// buffer that two written tensors share.
func (p *Prepared) Check() error {
	for i := range p.bound {
		b := &p.bound[i]
		if b.buf == nil {
			kind := "input"
			if i >= p.inputs {
				kind = "output"
			}
			return fmt.Errorf("%s %q has no buffer", kind, b.name)
		}
		if i < p.inputs {
			continue
		}
		for k := range p.bound[p.inputs:i] {
			if c := &p.bound[p.inputs+k]; overlap(b.buf, c.buf) {
				return fmt.Errorf("%q and %q share bytes of one buffer, and the function writes both", c.name, b.name)
			}
		}
	}
	return nil
}

// Run executes the chain once on what is bound.
func (p *Prepared) Run(ctx context.Context) error {
	if !p.planned {
		if err := p.Check(); err != nil {
			return err
		}
		p.plan()
		p.planned = true
	}
	if p.steps == nil {
		return p.runTensors(ctx)
	}
	for i := range p.steps {
		s := &p.steps[i]
		if s.proc != nil || i == 0 { // nothing fails once results are written
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if err := p.step(ctx, s); err != nil {
			return opError(&p.fn.ops[i], err)
		}
		if p.o.Trace != nil {
			p.o.Trace(s.name, nil)
		}
	}
	for i := range p.commits {
		copy(p.commits[i].to, p.commits[i].from)
	}
	return nil
}

func (p *Prepared) step(ctx context.Context, s *step) error {
	if s.proc == nil {
		s.move.run(s.src, s.dst)
		return nil
	}
	p.store.proc = s.proc
	if d := p.o.Dispatcher; d != nil {
		return d.Dispatch(ctx, s.proc.name, s.ports)
	}
	return p.engine.Run(ctx, s.proc.tasks, p.store)
}

// runTensors runs the chain as Machine.Run does, on copies of what is bound.
func (p *Prepared) runTensors(ctx context.Context) error {
	r := p.slow
	clear(r.host)
	for i := range p.bound {
		if b := &p.bound[i]; i < p.inputs || i >= p.inputs+p.outputs {
			r.host[b.id] = interp.Tensor{Type: b.typ, Data: slices.Clone(b.buf)}
		}
	}
	if err := r.run(ctx); err != nil {
		return err
	}
	for i := p.inputs; i < len(p.bound); i++ {
		b := &p.bound[i]
		t, err := r.result(b.id)
		if err != nil {
			return err
		}
		switch {
		case b.open && len(t.Data) > len(b.buf):
			return fmt.Errorf("output %q is %s of %d bytes, the buffer has %d", b.name, t.Type, len(t.Data), len(b.buf))
		case !b.open && len(t.Data) != b.size:
			return fmt.Errorf("output %q is %s, the function declares %s", b.name, t.Type, b.typ)
		}
	}
	for i := p.inputs; i < len(p.bound); i++ {
		t := r.host[p.bound[i].id]
		copy(p.bound[i].buf, t.Data)
		p.bound[i].was = t.Type
	}
	return nil
}

// step is one operation of a chain of casts and engine inferences.
type step struct {
	name     string
	from, to uint32 // operands of a cast
	move     move
	src, dst []byte // of this plan
	proc     *procedure
	ports    map[string][]byte // of proc
}

// commit is a buffer that takes its new value when the run has succeeded.
type commit struct{ to, from []byte }

// fast prepares the chain without tensors; nil where it needs them: CPU calls,
// extents that are known at run time only, operands that nothing has filled.
func (p *Prepared) fast() []step {
	steps := make([]step, 0, len(p.fn.ops))
	p.mem = make([][]byte, len(p.fn.Operands))
	filled := make([]bool, len(p.fn.Operands))
	for i := range p.bound {
		if p.bound[i].open {
			return nil
		}
		if i < p.inputs || i >= p.inputs+p.outputs {
			filled[p.bound[i].id] = true
		}
	}
	// place gives an operand its memory, unless it is bound.
	place := func(id uint32) bool {
		o := &p.fn.Operands[id]
		switch {
		case o.Aperture == e5.Surface:
			p.mem[id] = p.store.surface(o.Port.Name)
			return true
		case slices.ContainsFunc(p.bound, func(b binding) bool { return b.id == id }):
			return true
		case o.Aperture != e5.Intermediate || o.Desc.Unknown() || o.Desc.Storage == e5.String:
			return false
		}
		n := typeOf(&o.Desc)
		if p.mem[id] == nil {
			p.mem[id] = make([]byte, n.Bytes())
		}
		return true
	}
	for i := range p.fn.ops {
		op := &p.fn.ops[i]
		s := step{name: op.Name}
		switch a := op.Attrs.(type) {
		case *e5.CastAttrs:
			s.from, s.to = op.Inputs[0], op.Outputs[0]
			src, dst := &p.fn.Operands[s.from], &p.fn.Operands[s.to]
			if !place(s.from) || !place(s.to) || src.Aperture != e5.Surface && !filled[s.from] {
				return nil
			}
			if src.Aperture != e5.Surface && dst.Aperture != e5.Surface && src.Desc.Storage == dst.Desc.Storage {
				s.move = bytesMove(int(typeOf(&dst.Desc).Bytes()))
			} else {
				conv, err := converter(src.Desc.Storage, dst.Desc.Storage)
				if err != nil {
					return nil
				}
				sd, dd := held(src), held(dst)
				s.move = newMove(&sd, &dd, conv)
			}
			filled[s.to] = true
		case *e5.AneInferenceAttrs:
			s.proc = p.procs[a.ProcedureName]
			s.ports = p.store.portsOf(s.proc)
		default:
			return nil
		}
		steps = append(steps, s)
	}
	for _, id := range p.fn.Outputs {
		if !filled[id] {
			return nil
		}
	}
	return steps
}

// plan gives the steps the memory that they read and write. A result goes straight
// into the buffer that is bound to it, unless something may still fail after its
// first byte is written, or read another tensor that lies in the same bytes: it then
// goes to memory of its own, and is copied when the run has succeeded.
func (p *Prepared) plan() {
	p.commits = p.commits[:0]
	if p.steps == nil {
		return
	}
	at := slices.Clone(p.mem)
	for i := range p.bound {
		at[p.bound[i].id] = p.bound[i].buf
	}
	// first is the step that first writes an operand, engine the last inference.
	first, engine := make([]int, len(at)), -1
	for i := range first {
		first[i] = len(p.steps)
	}
	for i := range p.steps {
		if s := &p.steps[i]; s.proc != nil {
			engine = i
		} else {
			first[s.to] = min(first[s.to], i)
		}
	}
	written := slices.Clone(at)
	for i := p.inputs; i < len(p.bound); i++ {
		b := &p.bound[i]
		w := first[b.id]
		if w == len(p.steps) {
			continue
		}
		staged := engine > w
		for k := w; k < len(p.steps) && !staged; k++ {
			s := &p.steps[k]
			staged = s.proc == nil && s.from != b.id && overlap(at[s.from], b.buf)
		}
		if staged {
			m := make([]byte, b.size)
			written[b.id] = m
			p.commits = append(p.commits, commit{b.buf, m})
		}
	}
	for i := range p.steps {
		s := &p.steps[i]
		if s.proc != nil {
			continue
		}
		s.src, s.dst = at[s.from], written[s.to]
		if i > first[s.from] {
			s.src = written[s.from]
		}
	}
}
