package hwx

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// maxProblems limits the errors that Validate reports.
const maxProblems = 100

// Validate checks the structural rules of a container and reports every broken one, up to a hundred. A file from Build
// breaks none. Tasks are walked only for targets whose task layout is known.
func Validate(f *File) []error {
	v := &validator{f: f}
	v.header()
	v.layout()
	v.programs()
	v.bindings()
	v.symbols()
	v.tasks()
	return v.bad
}

type span struct {
	from, to uint64
	name     string
}

type validator struct {
	f     *File
	bad   []error
	spans []span // mapped ranges by address
}

// rule notes a broken rule.
func (v *validator) rule(ok bool, format string, args ...any) {
	switch {
	case ok || len(v.bad) > maxProblems:
	case len(v.bad) == maxProblems:
		v.bad = append(v.bad, errors.New("and more"))
	default:
		v.bad = append(v.bad, fmt.Errorf(format, args...))
	}
}

func (v *validator) header() {
	h := v.f.Header
	v.rule(h.CPUType == CPUType, "cputype is %#x, want %#x", h.CPUType, CPUType)
	v.rule(h.FileType == FileType, "filetype is %d, want %d", h.FileType, FileType)
}

// layout checks segments and sections: addresses, file ranges, relocations.
func (v *validator) layout() {
	guard := false
	number := len(v.f.Sections())
	for _, s := range v.f.Segments() {
		name := s.Name.String()
		guard = guard || name == SegGuard
		v.rule(s.VMAddr%Page == 0, "segment %s at %#x is not aligned to a page of %#x", name, s.VMAddr, Page)
		v.rule(s.VMSize <= AddrLimit && s.VMAddr <= AddrLimit-s.VMSize, "segment %s at %#x of %#x bytes exceeds %#x",
			name, s.VMAddr, s.VMSize, uint64(AddrLimit))
		size := uint64(v.f.Size)
		v.rule(s.FileSize == 0 || s.FileOff <= size && s.FileSize <= size-s.FileOff,
			"segment %s: file range %#x+%#x runs past the file (%#x)", name, s.FileOff, s.FileSize, size)
		if name == SegPort {
			v.rule(s.FileOff == 0 && s.FileSize == 0, "window %s at %#x has bytes in the file", name, s.VMAddr)
		}
		if s.VMSize > 0 {
			v.spans = append(v.spans, span{s.VMAddr, s.VMAddr + s.VMSize, name})
		}
		for _, c := range s.Sections {
			v.section(s, c, number)
		}
	}
	v.rule(guard, "missing guard segment %s", SegGuard)
	v.rule(v.f.Section(SegText, SectText) != nil, "missing section %s,%s", SegText, SectText)
	slices.SortStableFunc(v.spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for i := 1; i < len(v.spans); i++ {
		a, b := v.spans[i-1], v.spans[i]
		v.rule(a.to <= b.from, "segments %s (%#x to %#x) and %s (%#x to %#x) overlap", a.name, a.from, a.to, b.name,
			b.from, b.to)
	}
}

func (v *validator) section(s *Segment, c *Section, sections int) {
	name := s.Name.String() + "," + c.Name.String()
	v.rule(c.Segment == s.Name, "section %s names the segment %s", name, c.Segment)
	v.rule(c.Align < 32 && c.Addr%(1<<c.Align) == 0, "section %s at %#x breaks its alignment 2^%d", name, c.Addr,
		c.Align)
	v.rule(inside(c.Addr, c.Size, s.VMAddr, s.VMSize), "section %s (%#x+%#x) is outside its segment (%#x+%#x)", name,
		c.Addr, c.Size, s.VMAddr, s.VMSize)
	v.rule(!c.inFile() || inside(uint64(c.Offset), c.Size, s.FileOff, s.FileSize),
		"section %s: file range %#x+%#x is outside its segment's (%#x+%#x)", name, c.Offset, c.Size, s.FileOff,
		s.FileSize)
	for _, r := range c.Relocs {
		v.rule(uint64(r.Addr)+4 <= c.Size, "relocation at %#x is outside section %s (%#x bytes)", r.Addr, name,
			c.Size)
		v.rule(r.Section() >= 1 && r.Section() <= sections, "relocation at %#x of section %s names section %d of %d",
			r.Addr, name, r.Section(), sections)
	}
}

// inside reports whether addr+size is within base+room, without overflow.
func inside(addr, size, base, room uint64) bool {
	return addr >= base && addr-base <= room && size <= room-(addr-base)
}

// mapped reports whether addr is in a segment.
func (v *validator) mapped(addr uint64) bool {
	i, found := slices.BinarySearchFunc(v.spans, addr, func(s span, a uint64) int { return cmp.Compare(s.from, a) })
	if found {
		return true
	}
	return i > 0 && addr < v.spans[i-1].to
}

func (v *validator) programs() {
	text := v.f.Section(SegText, SectText)
	form := formOf(v.f.Header.CPUSubtype)
	mains, names := 0, map[string]bool{}
	each(v.f, func(p *Program) {
		v.rule(!names[p.Name], "two procedures are named %q", p.Name)
		names[p.Name] = true
		if p.Main() {
			mains++
		}
		v.rule(form == nil || p.Flavor == form.program || p.Flavor == form.procedure,
			"procedure %q has a descriptor of flavour %d, not the one for the tasks of CPU subtype %d", p.Name,
			p.Flavor, v.f.Header.CPUSubtype)
		for i, a := range p.Bars {
			n := p.barWords()
			v.rule(i%n == 0 || a == 0, "procedure %q: the second half of buffer-access register %d is %#x, want 0",
				p.Name, i/n, a)
			v.rule(i%n != 0 || a == 0 || v.mapped(a),
				"procedure %q: buffer-access register %d is %#x, outside every segment", p.Name, i/n, a)
		}
		if text != nil {
			v.rule(p.Bars[0] == text.Addr, "procedure %q: buffer-access register 0 is %#x, but the text is at %#x",
				p.Name, p.Bars[0], text.Addr)
			v.rule(inside(p.Entry, 1, text.Addr, text.Size), "procedure %q: entry %#x is outside the text", p.Name,
				p.Entry)
		}
	})
	v.rule(mains == 1, "%d program descriptors, want 1", mains)
}

// bindings checks tensors and ports against procedures and windows.
func (v *validator) bindings() {
	procs, ports := map[string]bool{}, map[string]bool{}
	each(v.f, func(p *Program) { procs[p.Name] = true })
	windows := map[uint64]bool{}
	each(v.f, func(s *Segment) {
		if s.Name.String() == SegPort {
			windows[s.VMAddr] = true
		}
	})
	l := v.f.Ports()
	v.rule(len(l) == len(windows), "%d ports for %d windows", len(l), len(windows))
	for _, p := range l {
		v.rule(windows[uint64(p.Addr)], "port %q is bound to %#x, which is not a window", p.Name, p.Addr)
		v.rule(!ports[p.Name], "two ports are named %q", p.Name)
		ports[p.Name] = true
	}
	bound, names := map[uint32]bool{}, map[string]bool{}
	for _, t := range v.f.Tensors() {
		bound[t.Binding] = true
		v.rule(procs[t.Procedure], "tensor %q belongs to the unknown procedure %q", t.Name, t.Procedure)
		v.rule(ports[t.Name], "tensor %q lacks a port", t.Name)
		v.rule(!names[t.Name], "two tensors are named %q", t.Name)
		names[t.Name] = true
	}
	// Without any tensors, only ports and symbols describe the program's inputs and outputs.
	v.rule(bound[BindInput] && bound[BindOutput] || len(names) == 0 && len(l) > 0, "missing input or output tensor")
}

func (v *validator) symbols() {
	sections := v.f.Sections()
	for _, s := range v.f.Symbols() {
		switch {
		case s.Type == symAbsolute:
			v.rule(s.Value == 0 || v.mapped(s.Value) || v.mapped(s.Value-1), "symbol %q is %#x, outside every segment",
				s.Name,
				s.Value)
		case s.Type != SymSection:
		case int(s.Sect) < 1 || int(s.Sect) > len(sections):
			v.rule(false, "symbol %q names section %d of %d", s.Name, s.Sect, len(sections))
		default:
			c := sections[s.Sect-1]
			v.rule(inside(s.Value, 0, c.Addr, c.Size), "symbol %q is %#x, outside section %s,%s (%#x+%#x)", s.Name,
				s.Value, c.Segment, c.Name, c.Addr, c.Size)
		}
	}
}
