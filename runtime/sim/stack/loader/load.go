package loader

import (
	"encoding/binary"
	"errors"
	"slices"
	"sync"

	"github.com/zinc-compiler/zinc/emit/afpp"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
)

// ApertureB is the device address of the aperture of engine registers (modelled: the chapters say only that it differs
// from the address of memory and that each load has its own place in it). The offset of a load's registers is twice the
// address of its firmware container in memory, which is unique among the client's loads.
const ApertureB = 0x2_0000_0000

// Loaded is a program in a client's device memory.
type Loaded struct {
	p    *Program
	ctx  *translation.Context
	task string

	firmware []byte // device memory of the firmware container
	afpp     uint64
	text     uint64   // device address of the text segment
	kernel   uint64   // device address of the coefficients; 0 if there are none
	scratch  []uint64 // device addresses of the scratch segments

	mu   sync.Mutex
	maps []*held // still mapped
}

// held is a mapping of a load.
type held struct {
	*translation.Mapping
	text     bool // of the container's text, which all loads of a client share
	released bool
}

// textUsers counts the loads of each client that share the mapping of the text.
type textUsers struct {
	mu sync.Mutex
	n  map[*translation.Context]int
}

// hold maps the text for a load unless it is already mapped.
func (u *textUsers) hold(c *translation.Context, text []byte, task string) (*translation.Mapping, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	m, err := c.Map(text, translation.Text, task)
	if err == nil {
		if u.n == nil {
			u.n = map[*translation.Context]int{}
		}
		u.n[c]++
	}
	return m, err
}

// unmap ends a load's use of a mapping; the text is unmapped with its last user.
func (l *Loaded) unmap(m *held) error {
	if u := &l.p.texts; m.text {
		u.mu.Lock()
		defer u.mu.Unlock()
		if !m.released {
			if u.n[l.ctx]--; u.n[l.ctx] == 0 {
				delete(u.n, l.ctx)
			}
		}
	}
	if !m.released {
		m.Release()
		m.released = true
	}
	if m.text && l.p.texts.n[l.ctx] > 0 {
		return nil
	}
	return m.Unmap(l.task)
}

// Memory returns how many bytes of a client's aperture a load takes, in whole pages. Coefficients take address space
// twice, in the firmware container and for the constant bars, but memory once.
func (p *Program) Memory() (uint64, error) {
	l, err := afpp.Place(p.packageOf(p.kernel(nil)))
	if err != nil {
		return 0, &Error{Where: "firmware container", Err: err}
	}
	return p.memory(l), nil
}

func (p *Program) memory(l afpp.Layout) uint64 {
	n := pages(uint64(len(p.segments.textBytes))) + pages(l.Size) + pages(l.Programs[0].Bodies[afpp.KindKernel-1].Size)
	for _, s := range p.segments.scratch {
		n += pages(s.VMSize)
	}
	return n
}

func pages(n uint64) uint64 {
	return (n + translation.PageSize - 1) / translation.PageSize * translation.PageSize
}

// kernel returns the coefficients in whole tiles, in dst or, if it is nil and the length is right, in the container's
// own bytes.
func (p *Program) kernel(dst []byte) []byte {
	if dst == nil {
		b := p.file.ConstantBytes()
		if n := len(b) % afpp.Align; n != 0 {
			b = append(slices.Clip(b), make([]byte, afpp.Align-n)...)
		}
		return b
	}
	at := 0
	for _, c := range p.segments.constants {
		at += copy(dst[at:], c.Bytes())
	}
	clear(dst[at:])
	return dst
}

// packageOf returns the typed form of the firmware container, without the addresses of a load.
func (p *Program) packageOf(kernel []byte) *afpp.Package {
	g := &afpp.Program{
		Generic: afpp.Generic{
			Identity: binary.LittleEndian.Uint64(p.digest[:]), Image: uint32(td.V10.Version),
			Base: translation.PageSize, Size: translation.ApertureSize - translation.PageSize, Container: p.digest,
		},
		Kernel:     kernel,
		Text:       afpp.Text{Records: slices.Clone(p.records), Images: p.images},
		Operations: p.ops,
	}
	for _, pr := range p.procs {
		q := afpp.Procedure{Name: pr.name, FirstOperation: uint32(pr.first), Operations: uint32(pr.ops)}
		for _, b := range pr.bars {
			q.Bars = append(q.Bars, afpp.Bar{ID: b.id, Usage: b.usage, Size: b.size})
			switch {
			case b.port == "":
			case b.usage == afpp.UsageOutput:
				q.Outputs = append(q.Outputs, afpp.Port{Name: b.port, Bar: b.id})
			default:
				q.Inputs = append(q.Inputs, afpp.Port{Name: b.port, Bar: b.id})
			}
		}
		g.Procedures = append(g.Procedures, q)
	}
	return &afpp.Package{Programs: []*afpp.Program{g}}
}

// Load maps every segment of the container into a client's address space, resolves the relocations and writes the
// firmware container into its memory. Each call binds the buffers of the ports. task names the load in faults. On an
// error, nothing stays mapped; the cause may be a translation fault.
func (p *Program) Load(ctx *translation.Context, task string) (*Loaded, error) {
	pkg := p.packageOf(p.kernel(nil))
	layout, err := afpp.Place(pkg)
	if err != nil {
		return nil, &Error{Where: "firmware container", Err: err}
	}
	if n := p.memory(layout); n > translation.ApertureSize-translation.PageSize {
		return nil, &Error{
			Where: "container",
			Rule:  "text, scratch and constants exceed the aperture of a client",
			Val:   n,
			Limit: uint64(translation.ApertureSize - translation.PageSize),
		}
	}
	l := &Loaded{p: p, ctx: ctx, task: task}
	if err := l.fill(pkg, layout); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// fill maps the segments and writes the firmware container.
func (l *Loaded) fill(pkg *afpp.Package, layout afpp.Layout) error {
	p, g := l.p, pkg.Programs[0]
	for _, s := range p.segments.scratch {
		addr, err := l.mapped(make([]byte, s.VMSize), translation.Intermediate, s.Name.String())
		if err != nil {
			return err
		}
		l.scratch = append(l.scratch, addr)
	}
	text, err := p.texts.hold(l.ctx, p.segments.textBytes, l.task)
	if l.text, err = l.keep(text, err, p.segments.text.Name.String(), true); err != nil {
		return err
	}
	l.firmware = make([]byte, layout.Size)
	if l.afpp, err = l.mapped(l.firmware, translation.Text, "firmware container"); err != nil {
		return err
	}
	if k := layout.Programs[0].Bodies[afpp.KindKernel-1]; k.Size > 0 {
		g.Kernel = p.kernel(l.firmware[k.At : k.At+k.Size : k.At+k.Size])
		if l.kernel, err = l.mapped(g.Kernel, translation.Usage(p.segments.usage), "constants"); err != nil {
			return err
		}
	}
	if err := l.resolve(g); err != nil {
		return err
	}
	if err := afpp.EncodeInto(l.firmware, pkg); err != nil {
		return &Error{Where: "firmware container", Err: err}
	}
	return nil
}

// mapped maps a buffer of the load's own and returns its device address.
func (l *Loaded) mapped(b []byte, usage translation.Usage, what string) (uint64, error) {
	m, err := l.ctx.Map(b, usage, l.task)
	return l.keep(m, err, what, false)
}

// keep records a mapping and returns its device address.
func (l *Loaded) keep(m *translation.Mapping, err error, what string, text bool) (uint64, error) {
	if err != nil {
		return 0, &Error{Where: what, Err: err}
	}
	l.maps = append(l.maps, &held{Mapping: m, text: text})
	return m.Addr(), nil
}

// resolve sets the addresses of this load in the package.
func (l *Loaded) resolve(g *afpp.Program) error {
	lo, hi := l.maps[0].Addr(), uint64(0)
	for _, m := range l.maps {
		lo, hi = min(lo, m.Addr()), max(hi, m.Addr()+pages(uint64(m.Len())))
	}
	g.Generic.Base, g.Generic.Size = lo, hi-lo
	for i, pr := range l.p.procs {
		for k, b := range pr.bars {
			g.Procedures[i].Bars[k].Address = l.address(&b)
		}
	}
	base := l.Registers()
	owner := 0
	for i := range g.Text.Records {
		r := &g.Text.Records[i]
		for r.Task >= l.p.procs[owner].firstTID+l.p.procs[owner].tasks {
			owner++
		}
		addr := uint64(0)
		if r.Slot != 0 {
			b := l.p.procs[owner].bar(r.Bar)
			if b.port != "" {
				continue // the firmware resolves it in each call
			}
			addr = l.address(b)
		}
		if err := r.Resolve(base, addr); err != nil {
			return &Error{Where: "record of " + r.Slot.String(), Err: err}
		}
	}
	return nil
}

// address returns the device address of a bar, or 0 for a port.
func (l *Loaded) address(b *bar) uint64 {
	switch b.usage {
	case afpp.UsageIntermediate:
		return l.scratch[b.seg] + b.at
	case afpp.UsageText:
		return l.text + b.at
	case afpp.UsageWeights, afpp.UsageConstants:
		return l.kernel + b.at
	}
	return 0
}

// Registers returns the device address of the load's engine registers.
func (l *Loaded) Registers() uint64 { return ApertureB + 2*l.afpp }

// AFPP returns the device address of the firmware container, mapped as text, and its length in bytes.
func (l *Loaded) AFPP() (addr uint64, size int) { return l.afpp, len(l.firmware) }

// Firmware returns the memory of the firmware container, which must not be changed.
func (l *Loaded) Firmware() []byte { return l.firmware }

// Close unmaps the load. A mapping that somebody else has pinned stays, and Close returns an error; call Close again
// when it is free. Closing twice is not an error.
func (l *Loaded) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var left []*held
	var bad []error
	for _, m := range slices.Backward(l.maps) {
		err := l.unmap(m)
		// The error means that the context is closed, or that another mapping needed the space.
		if err != nil && !errors.Is(err, &translation.Fault{Reason: translation.Stale}) {
			left = append(left, m)
			bad = append(bad, &Error{Where: "close of " + l.task, Err: err})
		}
	}
	slices.Reverse(left)
	l.maps = left
	return errors.Join(bad...)
}
