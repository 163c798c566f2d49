package hwx

import (
	"cmp"
	"slices"
)

// Procedure is a program or procedure command, regardless of its form.
type Procedure struct {
	Name       string
	Main       bool           // the flavour-1 program
	Entry      uint64         // engine address of the first task, after the zero bytes of a packed stream
	FirstWords int            // words of the first task
	Tasks      int            // tasks in the chain
	Bars       map[int]uint64 // buffer-access registers that are not zero
	Program    *Program
}

// each calls do for every command of type T, in file order.
func each[T Command](f *File, do func(T)) {
	for _, c := range f.Commands {
		if c, ok := c.(T); ok {
			do(c)
		}
	}
}

func all[T Command](f *File) (l []T) {
	each(f, func(c T) { l = append(l, c) })
	return l
}

// Segments lists the segments in file order.
func (f *File) Segments() []*Segment { return all[*Segment](f) }

// Ports lists the ports in file order.
func (f *File) Ports() []*Port { return all[*Port](f) }

// Tensors lists the bound tensors in file order.
func (f *File) Tensors() []*Tensor { return all[*Tensor](f) }

// Procedures lists the program and the other procedures in file order.
func (f *File) Procedures() []Procedure {
	var l []Procedure
	text := f.Text()
	each(f, func(p *Program) {
		q := Procedure{Name: p.Name, Main: p.Main(), Entry: p.first(), FirstWords: p.FirstWords(),
			Tasks: int(p.Tasks), Bars: map[int]uint64{}, Program: p}
		if t, off, ok := text.Of(q); ok && p.Packed != nil {
			q.FirstWords, _ = cmp.Or(formOf(f.Header.CPUSubtype), oldestPacked).packedTask(t, uint64(off))
		}
		for i, n := 0, p.barWords(); i < len(p.Bars); i += n {
			if v := p.Bars[i]; v != 0 {
				q.Bars[i/n] = v
			}
		}
		l = append(l, q)
	})
	return l
}

// Symbols lists the symbols of every symbol table.
func (f *File) Symbols() []Symbol {
	var l []Symbol
	each(f, func(t *Symtab) { l = append(l, t.Symbols...) })
	return l
}

// Banner returns the text of the build banner, or "" if there is none.
func (f *File) Banner() string {
	for _, c := range f.Commands {
		if c, ok := c.(*Ident); ok {
			return c.Text
		}
	}
	return ""
}

// Sections lists the sections in file order; the symbol table and relocations
// count them from 1.
func (f *File) Sections() []*Section {
	var l []*Section
	each(f, func(s *Segment) { l = append(l, s.Sections...) })
	return l
}

// Section finds a section by segment and name, or nil.
func (f *File) Section(segment, section string) *Section {
	for _, c := range f.Commands {
		if s, ok := c.(*Segment); ok && s.Name.is(segment) {
			for _, q := range s.Sections {
				if q.Name.is(section) {
					return q
				}
			}
		}
	}
	return nil
}

// SegmentAt returns the segment whose range of engine addresses contains addr, or nil.
func (f *File) SegmentAt(addr uint64) *Segment {
	for _, c := range f.Commands {
		if s, ok := c.(*Segment); ok && addr >= s.VMAddr && addr-s.VMAddr < s.VMSize {
			return s
		}
	}
	return nil
}

// AddressMap finds segments by engine address.
type AddressMap struct{ segments []*Segment } // by address

// AddressMap returns the segments of a file that Validate accepts; they do not overlap.
func (f *File) AddressMap() AddressMap {
	l := slices.DeleteFunc(f.Segments(), func(s *Segment) bool { return s.VMSize == 0 })
	slices.SortStableFunc(l, func(a, b *Segment) int { return cmp.Compare(a.VMAddr, b.VMAddr) })
	return AddressMap{l}
}

// At returns the segment whose range contains addr, or nil.
func (m AddressMap) At(addr uint64) *Segment {
	i, found := slices.BinarySearchFunc(m.segments, addr, func(s *Segment, at uint64) int {
		return cmp.Compare(s.VMAddr, at)
	})
	if !found {
		i--
	}
	if i < 0 || addr-m.segments[i].VMAddr >= m.segments[i].VMSize {
		return nil
	}
	return m.segments[i]
}

// TextBytes returns the task stream, nil without a __TEXT,__text section.
func (f *File) TextBytes() []byte { return f.Text().bytes }

// Text is the task stream of a container.
type Text struct {
	bytes []byte
	addr  uint64
}

// Text returns the task stream, which is empty without a __TEXT,__text section. A container has a segment for every
// port, so what looks at many procedures finds it once.
func (f *File) Text() Text {
	if s := f.Section(SegText, SectText); s != nil {
		return Text{s.Bytes(), s.Addr}
	}
	return Text{}
}

// Of returns the whole task stream and the byte offset in it of the procedure's first task; ok is false when the entry
// is outside it. Offsets in task headers count from the start of the stream, not from the entry.
func (t Text) Of(p Procedure) (text []byte, off int, ok bool) {
	if p.Entry < t.addr || p.Entry-t.addr >= uint64(len(t.bytes)) {
		return nil, 0, false
	}
	return t.bytes, int(p.Entry - t.addr), true
}

// ConstantSections lists the sections with constants, in either form: __KERN_0,__kern_0 and those that follow, or
// __TEXT,__const, which has zeros beside the others from h16 on.
func (f *File) ConstantSections() []*Section {
	type name struct{ segment, section string }
	first := map[name]*Section{}
	each(f, func(s *Segment) {
		for _, q := range s.Sections {
			if k := (name{s.Name.String(), q.Name.String()}); first[k] == nil {
				first[k] = q
			}
		}
	})
	var l []*Section
	for i := 0; ; i++ {
		seg, sect := kernelNames(i)
		s := first[name{seg, sect}]
		if s == nil {
			break
		}
		l = append(l, s)
	}
	if s := first[name{SegText, SectConst}]; s != nil && l == nil {
		l = []*Section{s}
	}
	return l
}

// ConstantBytes returns the constants of either form, nil if there are none or they are streamed. In a file that was
// read they are a slice of the input, even if they span several sections, which follow each other in the file.
// Otherwise the parts are joined.
func (f *File) ConstantBytes() []byte {
	l := f.ConstantSections()
	if len(l) == 1 {
		return l[0].Bytes()
	}
	if b := f.adjacent(l); b != nil {
		return b
	}
	var b []byte
	for _, s := range l {
		b = append(b, s.Bytes()...)
	}
	return b
}

// adjacent returns the sections' contents as one slice of the file that was read, or nil if they are not adjacent.
func (f *File) adjacent(l []*Section) []byte {
	if len(l) == 0 {
		return nil
	}
	start := uint64(l[0].Offset)
	end := start
	for _, s := range l {
		if uint64(s.Offset) != end || len(s.Parts) != 1 || s.Size == 0 || uint64(len(s.Parts[0])) != s.Size ||
			s.Size > uint64(len(f.data)) || end > uint64(len(f.data))-s.Size || &s.Parts[0][0] != &f.data[end] {
			return nil
		}
		end += s.Size
	}
	return f.data[start:end:end]
}
