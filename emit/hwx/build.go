package hwx

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// programForms contains, for each layout, the state words of a program from +0x840 on, as they are in the files of that
// age. In every old file 0x11 is at +0x850 and 3 at +0x858; the current files' six further words are unknown and are
// written as zeros (modelled).
var programForms = map[Layout][]uint32{
	TextFirst:     {0, 0, 0, 0, 0x11, 0, 3, 0},
	SurfacesFirst: {0, 0, 0, 0, 0x11, 0, 3, 0, 0, 0, 0, 0, 0, 0},
}

// Past 255 sections a symbol cannot name its own section; it is then absolute (modelled).
const (
	maxSymSect  = 255
	symAbsolute = 0x03
)

// builder places an image: addresses first, then the file.
type builder struct {
	img      *Image
	form     *form
	next     uint64 // next free engine address, on a page
	segments []*Segment
	sections int // assigned so far
	number   map[string]int
	addrs    *Addresses
	text     *Section
	texts    int        // number of text
	consts   []*Section // in sequence in addresses
	first    int        // number of consts[0]
	total    uint64     // bytes of the constants
}

// Build assigns addresses and a file layout to the image. The File refers to the image's Text, Constants and Stream and
// does not copy them: write it before they change. Errors are *BuildError, *SpaceError, or the errors of Validate,
// joined.
func Build(img *Image) (*File, *Addresses, error) {
	b := &builder{img: img, form: cmp.Or(formOf(img.CPUSubtype), &forms[0]), next: Base, number: map[string]int{},
		addrs: &Addresses{Surfaces: map[string]uint64{}}}
	b.total = partsSize(img.Constants)
	if img.Stream != nil {
		b.total = uint64(img.Stream.Size())
	}
	if err := img.check(b.form, b.total); err != nil {
		return nil, nil, err
	}
	b.segment(SegGuard, 0, Page, 0, SegNoReloc)
	if img.Layout == TextFirst {
		b.code()
		b.scratch()
		b.surfaces()
	} else {
		b.scratch()
		b.surfaces()
		b.code()
	}
	if b.next > AddrLimit {
		return nil, nil, &SpaceError{Bytes: b.next - Base}
	}
	if err := b.relocate(); err != nil {
		return nil, nil, err
	}
	f, err := b.file()
	if err != nil {
		return nil, nil, err
	}
	if bad := Validate(f); len(bad) > 0 {
		return nil, nil, fmt.Errorf("hwx: invalid image: %w", errors.Join(bad...))
	}
	return f, b.addrs, nil
}

func up(n, to uint64) uint64 { return (n + to - 1) / to * to }

// segment adds a segment of at least size bytes at addr.
func (b *builder) segment(name string, addr, size uint64, prot, flags uint32, sections ...*Section) *Segment {
	s := &Segment{
		Name:     MakeName(name),
		VMAddr:   addr,
		VMSize:   up(size, Page),
		MaxProt:  prot,
		InitProt: prot,
		Flags:    flags,
		Sections: sections,
	}
	for _, c := range sections {
		c.Segment = s.Name
	}
	b.segments = append(b.segments, s)
	b.sections += len(sections)
	if addr >= Base {
		b.next = addr + s.VMSize
	}
	return s
}

func (b *builder) scratch() {
	if b.img.Scratch == 0 {
		return
	}
	b.addrs.Scratch = b.next
	b.segment(SegScratch, b.next, b.img.Scratch, ProtRead|ProtWrite, SegNoReloc,
		&Section{Name: MakeName(SectBSS), Addr: b.next, Size: b.img.Scratch, Align: 14, Flags: SectZero})
}

// windows contains the properties of a surface's window, by binding.
var windows = map[uint32]struct {
	section     string
	prot, flags uint32
	desc        uint16
}{
	BindInput:  {section: SectConst, prot: ProtRead, flags: SectInput, desc: DescLive},
	BindOutput: {section: SectData, prot: ProtWrite, flags: SectOutput, desc: 0},
}

func (b *builder) surfaces() {
	for i := range b.img.Surfaces {
		s := &b.img.Surfaces[i]
		w := windows[s.Binding]
		b.addrs.Surfaces[s.Name] = b.next
		b.segment(SegPort, b.next, s.Size, w.prot, SegWindow|SegNoReloc,
			&Section{Name: MakeName(w.section), Addr: b.next, Size: s.Size, Align: 14, Flags: w.flags})
		b.number[s.Name] = b.sections
	}
}

// code places the tasks and the constants, which follow them in both layouts.
func (b *builder) code() {
	img := b.img
	relocs := 0
	for _, p := range img.Procedures {
		relocs += len(p.Relocs)
	}
	addr, size := b.next, uint64(len(img.Text))
	b.addrs.Text = addr
	b.text = &Section{
		Name:  MakeName(SectText),
		Addr:  addr,
		Size:  size,
		Align: 14,
		Flags: SectTasks,
		Parts: [][]byte{img.Text},
	}
	flags := uint32(SegNoReloc)
	if relocs > 0 {
		flags = 0
		b.text.Flags |= SectReloc
	}
	b.texts = b.sections + 1
	if !img.Split {
		c := &Section{
			Name:  MakeName(SectConst),
			Addr:  addr + up(size, Granule),
			Size:  b.total,
			Align: 6,
			Flags: SectConstants,
			Parts: img.Constants,
		}
		if b.total == 0 {
			c.Size, c.Parts = Page, [][]byte{make([]byte, Page)}
		}
		c.Streamed = c.Parts == nil
		b.addrs.Constants = c.Addr
		b.segment(SegText, addr, c.Addr+c.Size-addr, ProtRead|ProtExec, flags, b.text, c)
		b.consts, b.first = []*Section{c}, b.sections
		return
	}
	if b.form.kernels {
		c := &Section{Name: MakeName(SectConst), Addr: addr + up(size, Granule), Size: Page, Align: 6,
			Flags: SectConstants, Parts: [][]byte{make([]byte, Page)}}
		b.segment(SegText, addr, c.Addr+c.Size-addr, ProtRead|ProtExec, flags, b.text, c)
	} else {
		b.segment(SegText, addr, size, ProtRead|ProtExec, flags, b.text)
	}
	ceiling := img.MaxKernelSection
	if ceiling == 0 {
		ceiling = MaxKernelSection
	}
	runs := cut(img.Constants, ceiling)
	for i := range int(up(b.total, ceiling) / ceiling) {
		seg, sect := kernelNames(i)
		n := min(b.total-uint64(i)*ceiling, ceiling)
		c := &Section{Name: MakeName(sect), Addr: b.next, Size: n, Align: 6, Flags: SectConstants}
		if c.Streamed = img.Stream != nil; !c.Streamed {
			c.Parts = runs[i]
		}
		b.segment(seg, b.next, n, ProtRead, SegNoReloc, c)
		b.consts = append(b.consts, c)
		if i == 0 {
			b.addrs.Constants, b.first = c.Addr, b.sections
		}
	}
}

func partsSize(parts [][]byte) (n uint64) {
	for _, p := range parts {
		n += uint64(len(p))
	}
	return n
}

// cut splits parts into runs of at most limit bytes; only the last is shorter.
func cut(parts [][]byte, limit uint64) (runs [][][]byte) {
	room := uint64(0)
	for _, p := range parts {
		for len(p) > 0 {
			if room == 0 {
				runs, room = append(runs, nil), limit
			}
			n := min(uint64(len(p)), room)
			last := len(runs) - 1
			runs[last] = append(runs[last], p[:n:n])
			p, room = p[n:], room-n
		}
	}
	return runs
}

// constant returns the number of the section that contains byte off of the constants; the end of the constants counts
// as part of the last section.
func (b *builder) constant(off uint64) int {
	for i, c := range b.consts {
		if off < c.Size {
			return b.first + i
		}
		off -= c.Size
	}
	return b.first + len(b.consts) - 1
}

// relocate builds the relocations of the text, by address.
func (b *builder) relocate() error {
	for i, p := range b.img.Procedures {
		for k, at := range p.Relocs {
			field := fmt.Sprintf("Procedures[%d].Relocs[%d]", i, k)
			if at%4 != 0 || uint64(at)+4 > uint64(len(b.img.Text)) {
				return &BuildError{
					Field: field,
					Msg:   fmt.Sprintf("want a word of the text (%#x bytes)", len(b.img.Text)),
					Val:   at,
				}
			}
			off := uint64(le.Uint32(b.img.Text[at:]))
			if off >= b.total {
				return &BuildError{
					Field: field,
					Msg:   fmt.Sprintf("the word at %#x must be an offset into the constants (%#x bytes)", at, b.total),
					Val:   off,
				}
			}
			b.text.Relocs = append(b.text.Relocs, Reloc{Addr: at, Info: relocLocal<<24 | uint32(b.constant(off))})
		}
	}
	slices.SortFunc(b.text.Relocs, func(x, y Reloc) int { return int(int64(x.Addr) - int64(y.Addr)) })
	for i := 1; i < len(b.text.Relocs); i++ {
		if a := b.text.Relocs[i].Addr; a == b.text.Relocs[i-1].Addr {
			return &BuildError{Field: "Procedures.Relocs", Msg: "a word of the text is relocated only once", Val: a}
		}
	}
	return nil
}

// file orders the commands and places every part.
func (b *builder) file() (*File, error) {
	img := b.img
	f := &File{
		Header: Header{CPUType: CPUType, CPUSubtype: img.CPUSubtype, FileType: FileType, Flags: HeaderFlags},
		stream: img.Stream,
	}
	for _, s := range b.segments {
		f.Commands = append(f.Commands, s)
	}
	for _, s := range img.Surfaces {
		f.Commands = append(f.Commands, &Port{Name: s.Name, Addr: uint32(b.addrs.Surfaces[s.Name])})
	}
	for i := range img.Procedures {
		p, err := b.program(i)
		if err != nil {
			return nil, err
		}
		f.Commands = append(f.Commands, p)
	}
	for _, s := range img.tensorOrder() {
		f.Commands = append(f.Commands, s.tensor())
	}
	var banner strings.Builder
	for _, l := range img.Banner {
		banner.WriteString(l + "\n")
	}
	tab := &Symtab{Symbols: b.symbols()}
	f.Commands = append(f.Commands, &Ident{Text: banner.String()}, tab)
	return f, b.place(f, tab)
}

// place assigns file offsets: commands, symbols, strings, relocations, then the
// segments from the next page on.
func (b *builder) place(f *File, tab *Symtab) error {
	head, err := f.head()
	if err != nil {
		return err
	}
	at := uint64(len(head))
	strs := uint64(1)
	for _, s := range tab.Symbols {
		strs += uint64(len(s.Name)) + 1
	}
	symOff := at
	at += SymbolSize * uint64(len(tab.Symbols))
	strOff := at
	at = up(at+strs, 8)
	relocOff := at
	at = up(at+RelocSize*uint64(len(b.text.Relocs)), Page)
	if at >= AddrLimit {
		return &BuildError{Field: "size", Msg: "load commands and symbols do not fit 32-bit file offsets", Val: at}
	}
	tab.SymOff, tab.StrOff, tab.StrSize = uint32(symOff), uint32(strOff), uint32(strs)
	if len(b.text.Relocs) > 0 {
		b.text.RelocOff = uint32(relocOff)
	}
	for _, s := range b.segments {
		if len(s.Sections) == 0 || !s.Sections[0].inFile() {
			continue
		}
		s.FileOff, s.FileSize = at, s.VMSize
		for _, c := range s.Sections {
			off := at + c.Addr - s.VMAddr
			if off >= AddrLimit {
				return &BuildError{Field: "size", Msg: "the file exceeds 4 GiB", Val: off}
			}
			c.Offset = uint32(off)
		}
		at += s.VMSize
	}
	f.Size = int64(at)
	return nil
}

func (b *builder) program(i int) (*Program, error) {
	e := &b.img.Procedures[i]
	p := &Program{Flavor: b.form.procedure, Entry: b.addrs.Text + e.Offset - b.form.head, Tasks: e.Tasks, Name: e.Name}
	if i == 0 {
		p.Flavor = b.form.program
	}
	if b.form.head == 0 {
		p.FirstLess1, p.Mask = e.FirstWords-1, progMaskValue
		p.Unknown840 = slices.Clone(programForms[b.img.Layout])
	} else {
		s, err := b.form.follow(b.img.Text, e.Offset, int(e.Tasks), nil)
		if err != nil {
			return nil, &BuildError{Field: fmt.Sprintf("Procedures[%d]", i), Msg: err.Error()}
		}
		scratch := uint64(0)
		if slices.ContainsFunc(slices.Collect(maps.Values(e.Bars)), BarRef.scratch) {
			scratch = b.img.Scratch
		}
		p.Packed = b.form.newPacked(e.Offset-b.form.head, s, e.Tasks, scratch)
	}
	for r, ref := range e.Bars {
		r *= p.barWords()
		switch ref.Kind {
		case BarText:
			p.Bars[r] = b.addrs.Text
		case BarConstants:
			p.Bars[r] = b.addrs.Constants
		case BarScratch:
			p.Bars[r] = b.addrs.Scratch
		case BarSurface:
			p.Bars[r] = b.addrs.Surfaces[ref.Surface]
		}
	}
	return p, nil
}

// tensorOrder lists the surfaces in the order of their tensor commands.
func (m *Image) tensorOrder() []*Surface {
	rank := map[string]int{}
	for i, n := range m.TensorOrder {
		rank[n] = i
	}
	proc := map[string]int{}
	for i, p := range m.Procedures {
		proc[p.Name] = i
	}
	l := make([]*Surface, len(m.Surfaces))
	for i := range l {
		l[i] = &m.Surfaces[i]
	}
	slices.SortStableFunc(l, func(a, b *Surface) int {
		return cmp.Or(cmp.Compare(rank[a.Name], rank[b.Name]),
			cmp.Compare(proc[a.Procedure], proc[b.Procedure]), cmp.Compare(a.Binding, b.Binding))
	})
	return l
}

func (s *Surface) tensor() *Tensor {
	t := &Tensor{Unknown10: 3, Binding: s.Binding, Procedure: s.Procedure, Name: s.Name, Element: s.Element,
		Dims: s.Dims, Depth: 1, Strides: s.Strides, BatchBytes: s.BatchBytes, Unknown78: 1, Name2: s.Name, Span: s.Size}
	if s.Binding == BindOutput {
		t.Span, _ = s.span()
	}
	return t
}

// span returns the number of bytes from the start of the first element to the end of the last; ok is false if it
// exceeds the engine's address space.
func (s *Surface) span() (n uint64, ok bool) {
	n = s.Strides[3]
	for i, d := range s.Dims {
		if s.Strides[i] > AddrLimit {
			return 0, false
		}
		if n += uint64(d-1) * s.Strides[i]; n > AddrLimit {
			return 0, false
		}
	}
	return n, true
}

// symbols lists kernel tiles, ports, operations, element types and shapes.
func (b *builder) symbols() (l []Symbol) {
	add := func(name string, sect int, desc uint16, value uint64) {
		s := Symbol{Name: name, Type: SymSection, Sect: uint8(sect), Desc: desc, Value: value}
		if sect > maxSymSect {
			s.Type, s.Sect = symAbsolute, 0
		}
		l = append(l, s)
	}
	for _, k := range b.img.Kernels {
		desc := uint16(0)
		if k.Live {
			desc = DescLive
		}
		add(k.Name, b.constant(k.Offset), desc, b.addrs.Constants+k.Offset)
	}
	for _, s := range b.img.Surfaces {
		add(s.Name, b.number[s.Name], windows[s.Binding].desc, b.addrs.Surfaces[s.Name])
	}
	for _, o := range b.img.Operations {
		add(o.Name, b.texts, 0, b.addrs.Text+o.Offset)
	}
	last := catalogs[b.img.Layout]
	l = append(l, typeSymbols(last)...)
	next := last + 1
	for i := range b.img.Surfaces {
		var s Symbol
		s, next = shapeSymbol(&b.img.Surfaces[i], next)
		l = append(l, s)
	}
	return l
}
