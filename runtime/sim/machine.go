package sim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

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

// Machine is a loaded pair. It may run any number of times, one run at a time.
type Machine struct {
	fn    *e5.Function
	procs map[string]*procedure
	calls map[int]*call // by operation index in the function
	ops   []e5.Operation
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
	consts  bool
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
	// Trace is called after every operation of the chain and, for the engine,
	// after every task with the name of the procedure.
	Trace func(where string, e *engine.Event)
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
	if len(d.Functions) != 1 {
		return nil, loadf("descriptor", "it has %d functions; the runtime takes 1", len(d.Functions))
	}
	m := &Machine{fn: &d.Functions[0], procs: map[string]*procedure{}, calls: map[int]*call{}}
	sum := sha256.Sum256(container)
	hash := hex.EncodeToString(sum[:])
	for _, b := range m.fn.Blocks {
		m.ops = append(m.ops, b.Operations...)
	}
	for i := range m.ops {
		if err := m.prepare(f, i, hash); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// prepare checks one operation of the chain against the container.
func (m *Machine) prepare(f *hwx.File, i int, hash string) error {
	op := &m.ops[i]
	switch a := op.Attrs.(type) {
	case *e5.CastAttrs:
		return nil
	case *e5.AneInferenceAttrs:
		if a.AneHash != hash {
			return loadf(op.Name, "the descriptor was written for a container with SHA-256 %s, this one has %s", a.AneHash, hash)
		}
		p, err := loadProcedure(f, a.ProcedureName)
		if err != nil {
			return &LoadError{op.Name, err}
		}
		m.procs[a.ProcedureName] = p
		for _, id := range append(append([]uint32(nil), op.Inputs...), op.Outputs...) {
			o := &m.fn.Operands[id]
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
		m.calls[i] = c
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
				p.bars[i] = bar{scratch: true, size: int64(seg.VMSize), write: true}
			case i == 1:
				p.bars[i] = bar{consts: true, size: int64(len(p.consts))}
			}
		}
		return p, nil
	}
	return nil, fmt.Errorf("the container has no procedure %q", name)
}

// Inputs returns the function's inputs in order.
func (m *Machine) Inputs() []Port { return m.ports(m.fn.Inputs) }

// Outputs returns the function's outputs in order.
func (m *Machine) Outputs() []Port { return m.ports(m.fn.Outputs) }

func (m *Machine) ports(ids []uint32) []Port {
	out := make([]Port, len(ids))
	for i, id := range ids {
		o := &m.fn.Operands[id]
		out[i] = Port{o.Name, typeOf(&o.Desc)}
	}
	return out
}

func typeOf(d *e5.TensorDescriptor) ir.Type {
	dt, _ := ir.ParseDType(d.Storage.String())
	t := ir.Type{Kind: ir.Tensor, DType: dt}
	for _, n := range d.Dim {
		t.Shape = append(t.Shape, int64(n))
	}
	return t
}

// Run executes the chain once.
func (m *Machine) Run(ctx context.Context, inputs map[string]interp.Tensor, o Options) (map[string]interp.Tensor, error) {
	r := &execution{m: m, o: o, host: map[uint32]interp.Tensor{}, surfaces: map[string][]byte{}}
	mode := engine.ANE
	if o.Numerics == numerics.IEEE {
		mode = engine.IEEE
	}
	r.engine = engine.New(engine.Options{Numerics: mode, Workers: o.Workers, Trace: r.traceTask})
	for _, id := range m.fn.Inputs {
		op := &m.fn.Operands[id]
		t, ok := inputs[op.Name]
		if !ok {
			return nil, fmt.Errorf("input %q is missing; it is %s", op.Name, typeOf(&op.Desc))
		}
		if want := typeOf(&op.Desc); !t.Type.Equal(want) {
			return nil, fmt.Errorf("input %q is %s, want %s", op.Name, t.Type, want)
		}
		r.host[id] = t
	}
	for i := range m.ops {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := r.step(ctx, i); err != nil {
			return nil, fmt.Errorf("%s: %w", m.ops[i].Name, err)
		}
		if o.Trace != nil {
			o.Trace(m.ops[i].Name, nil)
		}
	}
	out := map[string]interp.Tensor{}
	for _, id := range m.fn.Outputs {
		t, ok := r.host[id]
		if !ok {
			return nil, fmt.Errorf("output %q was never written", m.fn.Operands[id].Name)
		}
		out[m.fn.Operands[id].Name] = t
	}
	return out, nil
}
