package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// Prepared is a function prepared for repeated runs on the caller's buffers, which are bound once and read and written
// in place. They hold packed tensors, row major and little endian, of the types that Inputs, Outputs and States return.
// A buffer that is bound to a state, or to both an output and inputs, keeps its value on the device between runs where
// it can.
//
// It has its own surfaces, scratch, on-chip memory and unbound states, and keeps their contents from run to run, as an
// engine does. A chain of casts and engine inferences runs without allocations in this package. A Prepared must be used
// by one goroutine at a time; several of one Machine may run at once, also alongside Machine.Run.
type Prepared struct {
	chain   *chain
	o       Options
	engine  *engine.Engine // nil: Options.Dispatcher
	bound   []binding      // inputs, outputs, states
	inputs  int            // of bound
	outputs int
	checked bool            // the bindings allow a run
	results []interp.Tensor // of a run: outputs, states
	bufs    [][]byte        // destinations of results
}

// binding is a port or state and the caller's buffer for it.
type binding struct {
	name string
	id   uint32 // operand
	typ  ir.Type
	size int
	mem  *Buffer // nil: not bound
	buf  []byte  // the part of its memory that the tensor takes
	open bool    // an output whose extents are known after a run: size is 0, and buf the caller's whole buffer
	was  ir.Type // of an open output: its type after the last run
}

// ErrUnsized reports a function that can be run but not prepared.
var ErrUnsized = errors.New("its size is known only at run time; only tensors of known size can be bound")

// Prepare prepares a function, or one of its configurations, for repeated runs. Buffers for inputs and outputs must be
// bound before the first run. A function with strings, or with inputs whose extents are known only at run time, cannot
// be prepared (ErrUnsized): use Run.
func (m *Machine) Prepare(name string, o Options) (*Prepared, error) {
	fn, bound, err := m.bindings(name)
	if err != nil {
		return nil, err
	}
	o.Numerics = m.Mode(o.Numerics)
	p := &Prepared{
		chain:   newChain(fn, m.procs, true),
		o:       o,
		bound:   bound,
		inputs:  len(fn.Inputs),
		outputs: len(fn.Outputs),
		results: make([]interp.Tensor, len(bound)-len(fn.Inputs)),
		bufs:    make([][]byte, len(bound)-len(fn.Inputs)),
	}
	p.engine = p.chain.newEngine(&p.o, m.of.L2Bytes)
	for i := p.inputs + p.outputs; i < len(bound); i++ {
		bound[i].set(NewBuffer(make([]byte, bound[i].size)))
	}
	return p, nil
}

// Preparable returns the error that Prepare would return for a function or one of its configurations.
func (m *Machine) Preparable(name string) error {
	_, _, err := m.bindings(name)
	return err
}

// bindings lists the inputs, outputs and states that buffers can be bound to.
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
			bound = append(bound, b)
		}
	}
	return fn, bound, nil
}

// Inputs returns the function's inputs in order.
func (p *Prepared) Inputs() []Port { return p.chain.fn.ports(p.chain.fn.Inputs) }

// Outputs returns the function's outputs in order.
func (p *Prepared) Outputs() []Port { return p.chain.fn.ports(p.chain.fn.Outputs) }

// States returns the function's states in order.
func (p *Prepared) States() []Port { return p.chain.fn.ports(p.chain.fn.States) }

// BindInput binds the first bytes of a buffer to an input. A buffer may be bound to both an input and an output, wholly
// or in part: a run reads the old value and writes the new one. It must not be bound to two tensors that the function
// writes. A run that fails leaves the buffers unchanged.
func (p *Prepared) BindInput(name string, b *Buffer) error {
	return p.bind("input", name, b, p.bound[:p.inputs])
}

// BindOutput binds a buffer to an output; see BindInput. An output whose extents are known only at run time takes as
// much of the buffer as it needs; a run that needs more fails.
func (p *Prepared) BindOutput(name string, b *Buffer) error {
	return p.bind("output", name, b, p.bound[p.inputs:p.inputs+p.outputs])
}

// BindState binds a buffer to a state, whose value becomes the buffer's; see BindInput. A state without a buffer is all
// zeros before the first run.
func (p *Prepared) BindState(name string, b *Buffer) error {
	return p.bind("state", name, b, p.bound[p.inputs+p.outputs:])
}

// set binds a buffer.
func (t *binding) set(b *Buffer) {
	t.mem, t.buf = b, b.data[:t.size:t.size]
	if t.open {
		t.buf = b.data
	}
}

func (p *Prepared) bind(kind, name string, b *Buffer, among []binding) error {
	for i := range among {
		t := &among[i]
		if t.name != name {
			continue
		}
		if b.Size() < t.size {
			return fmt.Errorf("%s %q is %s of %d bytes; the buffer has %d", kind, name, t.typ, t.size, b.Size())
		}
		p.release()
		t.set(b)
		p.checked = false
		return nil
	}
	var names []string
	for i := range among {
		names = append(names, among[i].name)
	}
	return fmt.Errorf("function %q has no %s %q; it has %q", p.chain.fn.Name, kind, name, names)
}

// OutputType returns the type of an output after the last run; extents that are known only at run time are as in that
// run. It is the zero Type before the first run and for an unknown output.
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

// Check returns an error if a port has no buffer or two written tensors share bytes of a buffer.
func (p *Prepared) Check() error {
	for i := range p.bound {
		b := &p.bound[i]
		if b.mem == nil {
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

// arrange finds the values that stay on the device.
func (p *Prepared) arrange() {
	for i := range p.bound {
		b := &p.bound[i]
		reads := []uint32{b.id}
		for k := range p.bound {
			switch o := &p.bound[k]; {
			case k == i || o.id != b.id && !overlap(o.mem.data, b.mem.data):
			case i < p.inputs || i >= p.inputs+p.outputs || k >= p.inputs || o.mem != b.mem || !o.typ.Equal(b.typ):
				reads = nil
			case reads != nil && reads[0] == b.id:
				reads[0] = o.id
			case reads != nil:
				reads = append(reads, o.id)
			}
		}
		if reads == nil || i < p.inputs || i < p.inputs+p.outputs && reads[0] == b.id {
			continue
		}
		if r := p.chain.resident(reads, b.id); r != nil {
			p.chain.kept[b.id] = r
			for _, id := range reads {
				p.chain.kept[id] = r
			}
		}
	}
}

// release returns the values that stay on the device to the host.
func (p *Prepared) release() {
	for i := range p.bound {
		b := &p.bound[i]
		r := p.chain.kept[b.id]
		if r == nil {
			continue
		}
		if b.mem.on == r {
			b.mem.Bytes()
		}
		if p.chain.kept[b.id] = nil; i >= p.inputs {
			r.drop()
		}
	}
}

// Run executes the chain once on the bound buffers.
func (p *Prepared) Run(ctx context.Context) error {
	if !p.checked {
		if err := p.Check(); err != nil {
			return err
		}
		p.arrange()
		p.checked = true
	}
	p.chain.start()
	for i := range p.bound {
		b := &p.bound[i]
		p.chain.hold(b.id, b.mem)
		if i < p.inputs || i >= p.inputs+p.outputs {
			p.chain.fill(b.id, interp.Tensor{Type: b.typ, Data: b.buf})
		}
	}
	if err := p.chain.run(ctx, &p.o, p.engine); err != nil {
		return err
	}
	for i := p.inputs; i < len(p.bound); i++ {
		b := &p.bound[i]
		if p.chain.kept[b.id] != nil {
			p.results[i-p.inputs], p.bufs[i-p.inputs] = interp.Tensor{Type: b.typ}, nil
			continue
		}
		t, err := p.chain.result(b.id)
		if err != nil {
			return err
		}
		switch {
		case b.open && len(t.Data) > len(b.buf):
			return fmt.Errorf("output %q is %s of %d bytes; the buffer has %d", b.name, t.Type, len(t.Data), len(b.buf))
		case !b.open && len(t.Data) != b.size:
			return fmt.Errorf("output %q is %s; the function declares %s", b.name, t.Type, b.typ)
		}
		p.results[i-p.inputs], p.bufs[i-p.inputs] = t, b.buf
	}
	commit(p.results, p.bufs)
	for i := range p.results {
		b := &p.bound[p.inputs+i]
		b.was = p.results[i].Type
		p.chain.keep(b.id, b.mem)
	}
	return nil
}
