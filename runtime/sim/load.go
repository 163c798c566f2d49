package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/zinc-compiler/zinc/compile/cost/opwork"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// LoadError reports why a pair cannot be loaded.
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

// Open checks a pair, or a container alone, and prepares it. The bytes must stay unchanged while the machine is in use.
func Open(p pair.Pair) (*Machine, error) {
	f, err := hwx.Read(p.Container)
	if err != nil {
		return nil, &LoadError{"container", err}
	}
	if errs := hwx.Validate(f); len(errs) > 0 {
		return nil, &LoadError{"container", errs[0]}
	}
	sum := sha256.Sum256(p.Container)
	hash := hex.EncodeToString(sum[:])
	var d *e5.Program
	if p.Alone() {
		if d, err = descriptorOf(f, hash); err != nil {
			return nil, &LoadError{"container", err}
		}
	} else if d, err = e5.Read(p.Descriptor); err != nil {
		return nil, &LoadError{"descriptor", err}
	}
	m, err := link(f, d, hash, true)
	if err != nil {
		return nil, err
	}
	m.pair = p
	m.attach(f)
	return m, nil
}

// Check returns the error that Open would return for a container and a descriptor that are not written yet. sum is the
// container's SHA-256 in hexadecimal. Check neither joins the constants nor keeps the tasks.
func Check(f *hwx.File, d *e5.Program, sum string) error {
	if errs := hwx.Validate(f); len(errs) > 0 {
		return &LoadError{"container", errs[0]}
	}
	_, err := link(f, d, sum, false)
	return err
}

// link prepares the functions of a descriptor on a valid container, except for the contents of the constants and,
// unless run is set, the tasks.
func link(f *hwx.File, d *e5.Program, hash string, run bool) (*Machine, error) {
	if len(d.Functions) == 0 {
		return nil, loadf("descriptor", "the descriptor has no functions")
	}
	m := &Machine{procs: map[string]*procedure{}}
	c, err := newContainer(m, f, run)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for i := range d.Functions {
		fn := &function{Function: &d.Functions[i], calls: map[int]*call{}, shares: d.Shares}
		if names[fn.Name] {
			return nil, loadf("descriptor", "function %q is defined twice", fn.Name)
		}
		names[fn.Name] = true
		for _, b := range fn.Blocks {
			fn.ops = append(fn.ops, b.Operations...)
		}
		for k := range fn.ops {
			if err := m.prepare(c, fn, k, hash); err != nil {
				return nil, err
			}
		}
		if err := fn.fits(m.procs); err != nil {
			return nil, err
		}
		m.funcs = append(m.funcs, fn)
	}
	m.fn = m.funcs[0]
	return m, m.shareStates()
}

// attach sets the constants of the procedures.
func (m *Machine) attach(f *hwx.File) {
	b := f.ConstantBytes()
	for _, p := range m.procs {
		p.consts = b
	}
}

// fits returns an error for a function whose buffers exceed e5.MaxBytes.
func (fn *function) fits(procs map[string]*procedure) error {
	total := uint64(0)
	take := func(what, name string, n uint64) error {
		if n > e5.MaxBytes || total+n > e5.MaxBytes {
			return loadf("descriptor", "function %q: with %s %q of %d bytes its buffers exceed the limit of %d bytes",
				fn.Name, what, name, n, uint64(e5.MaxBytes))
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
	fn.sizes, fn.total, fn.passes, fn.chains = map[string]int64{}, total, fn.Passes(), fn.Chains()
	for port, n := range held {
		fn.sizes[port] = int64(n)
	}
	return nil
}

// prepare checks one operation of the chain against the container.
func (m *Machine) prepare(c *container, fn *function, i int, hash string) error {
	op := &fn.ops[i]
	switch a := op.Attrs.(type) {
	case *e5.CastAttrs:
		if err := checkCast(&fn.Operands[op.Inputs[0]], &fn.Operands[op.Outputs[0]]); err != nil {
			return &LoadError{op.Name, err}
		}
		return nil
	case *e5.AneInferenceAttrs:
		if a.AneHash != hash {
			return loadf(op.Name, "the descriptor belongs to a container with SHA-256 %s; this one has %s",
				a.AneHash, hash)
		}
		p := m.procs[a.ProcedureName]
		if p == nil {
			var err error
			if p, err = c.procedure(a.ProcedureName); err != nil {
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
						return loadf(op.Name, "operand %q takes %d bytes; the container's port %q has %d", o.Name,
							o.Port.ByteSize, b.port, b.size)
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
			return loadf(op.Name, "program %q takes %d and returns %d tensors; the operation has %d and %d", a.Entry,
				len(c.inputs), len(c.outputs), len(op.Inputs), len(op.Outputs))
		}
		fn.calls[i] = c
		return nil
	}
	return loadf(op.Name, "operation type %v is not supported", op.Type)
}

func loadCall(a *e5.CpuInferenceAttrs) (*call, error) {
	var data []byte
	for _, c := range a.Constants {
		if c.Name == "data" {
			data = c.Data
		}
	}
	p, err := ir.Parse("program", []byte(a.Program), data)
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
	c := &call{fn: fn, prog: prog}
	for _, op := range fn.Body.Ops {
		c.time += opwork.CPU(op)
	}
	for _, v := range fn.Body.Params {
		c.inputs = append(c.inputs, v.Name)
	}
	for _, v := range fn.Body.Outputs {
		c.outputs = append(c.outputs, v.Name)
	}
	return c, nil
}

// container indexes a container by names and addresses.
type container struct {
	file      *hwx.File
	codec     *td.Codec
	text      hwx.Text
	procs     map[string]hwx.Procedure
	index     map[string]int // of the procedures
	segments  hwx.AddressMap
	ports     map[uint64]string // by address
	constants []*hwx.Section
	bytes     int64 // of constants
	run       bool  // tasks are kept, for running
}

// newContainer reads a container for m, which gets the memory of the container's target.
func newContainer(m *Machine, f *hwx.File, run bool) (*container, error) {
	t, err := f.Target()
	if err != nil {
		return nil, &LoadError{"container", err}
	}
	codec, err := td.CodecFor(f.TaskVersion())
	if err != nil {
		return nil, &LoadError{"container", err}
	}
	m.of = t
	c := &container{
		file:     f,
		codec:    codec,
		text:     f.Text(),
		procs:    map[string]hwx.Procedure{},
		index:    map[string]int{},
		segments: f.AddressMap(),
		ports:    map[uint64]string{},
		run:      run,
	}
	for i, p := range f.Procedures() {
		c.procs[p.Name], c.index[p.Name] = p, i
	}
	for _, p := range f.Ports() {
		c.ports[uint64(p.Addr)] = p.Name
	}
	c.constants = f.ConstantSections()
	for _, s := range c.constants {
		c.bytes += int64(s.Present())
	}
	return c, nil
}

// procedure reads a procedure's tasks and finds its windows.
func (c *container) procedure(name string) (*procedure, error) {
	pr, ok := c.procs[name]
	if !ok {
		return nil, fmt.Errorf("the container has no procedure %q", name)
	}
	text, entry, ok := c.text.Of(pr)
	if !ok {
		return nil, fmt.Errorf("procedure %q has no tasks in __TEXT,__text", name)
	}
	p := &procedure{name: name, index: c.index[name], bars: map[int]bar{}}
	n := 0
	err := c.codec.WalkChain(text, entry, pr.FirstWords, func(t td.Placed) error {
		if n++; c.run {
			p.tasks = append(p.tasks, t.Clone())
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("procedure %q: %w", name, err)
	}
	if n != pr.Tasks {
		return nil, fmt.Errorf("procedure %q: its command states %d tasks; the chain has %d", name, pr.Tasks, n)
	}
	for i, addr := range pr.Bars {
		seg := c.segments.At(addr)
		if seg == nil {
			return nil, fmt.Errorf("procedure %q: buffer-access register %d points at %#x, which is not mapped",
				name, i, addr)
		}
		switch {
		case seg.Name.String() == hwx.SegPort:
			port, ok := c.ports[seg.VMAddr]
			if !ok || addr != seg.VMAddr || len(seg.Sections) == 0 {
				return nil, fmt.Errorf("procedure %q: buffer-access register %d points at %#x, which is not a port",
					name, i, addr)
			}
			p.bars[i] = bar{port: port, size: int64(seg.Sections[0].Size), write: seg.InitProt&hwx.ProtWrite != 0}
		case seg.Name.String() == hwx.SegScratch:
			at := addr - seg.VMAddr // within the segment, as At has checked
			p.bars[i] = bar{
				scratch: true,
				segment: seg.VMAddr,
				at:      int64(at),
				size:    int64(seg.VMSize - at),
				write:   true,
			}
		default:
			// Any register may point at constants. The text needs no window, since no task reads it.
			if at, ok := c.constantAt(addr); ok && at <= c.bytes {
				p.bars[i] = bar{consts: true, at: at, size: c.bytes - at}
			}
		}
	}
	return p, nil
}

// constantAt returns the offset of an address among the constants. Their sections are contiguous in memory too.
func (c *container) constantAt(addr uint64) (int64, bool) {
	before := uint64(0)
	for _, s := range c.constants {
		if addr >= s.Addr && addr-s.Addr < max(s.Size, 1) {
			return int64(before + addr - s.Addr), true
		}
		before += s.Size
	}
	return 0, false
}
