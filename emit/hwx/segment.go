package hwx

import "fmt"

const (
	segmentSize = 72
	sectionSize = 80
	// RelocSize is the bytes of a relocation.
	RelocSize = 8
)

func (r *reader) segment(b body) (Command, error) {
	if err := b.need(segmentSize, "a segment"); err != nil {
		return nil, err
	}
	s := &Segment{
		Name: Name(b.b[8:24]), VMAddr: b.q(24), VMSize: b.q(32), FileOff: b.q(40), FileSize: b.q(48),
		MaxProt: b.w(56), InitProt: b.w(60), Flags: b.w(68),
	}
	n := b.w(64)
	if room := (len(b.b) - segmentSize) / sectionSize; uint64(n) > uint64(room) {
		return nil, b.bad(64, "nsects", fmt.Sprintf("the command of %#x bytes has room for %d sections", len(b.b),
			room), n)
	}
	if have := uint64(len(r.data)); s.FileSize > 0 && (s.FileOff > have || s.FileSize > have-s.FileOff) {
		err := b.bad(48, "filesize", fmt.Sprintf("segment %s from %#x runs past the end of the file (%#x)", s.Name,
			s.FileOff, have), s.FileSize)
		if r.scan == nil {
			return nil, err
		}
		r.scan.past(err) // its sections say more
	}
	for i := range int(n) {
		if err := r.section(s, b, i); err != nil {
			return nil, err
		}
	}
	if rest := b.b[segmentSize+sectionSize*int(n):]; len(rest) > 0 {
		s.Tail = rest
	}
	return s, nil
}

// section reads section i of a segment.
func (r *reader) section(s *Segment, b body, i int) error {
	q := segmentSize + sectionSize*i
	field := fmt.Sprintf("%s.section %d", b.field, i)
	c := &Section{
		Name: Name(b.b[q : q+16]), Segment: Name(b.b[q+16 : q+32]), Addr: b.q(q + 32), Size: b.q(q + 40),
		Offset: b.w(q + 48), Align: b.w(q + 52), RelocOff: b.w(q + 56), Flags: b.w(q + 64),
		Reserved: [3]uint32{b.w(q + 68), b.w(q + 72), b.w(q + 76)},
	}
	s.Sections = append(s.Sections, c)
	name := c.Segment.String() + "," + c.Name.String()
	if s.FileSize > 0 && c.Offset != 0 && c.Size > 0 {
		cl, err := r.claim(uint64(c.Offset), c.Size, b.at+int64(q)+48, field+".offset", "contents of section "+name)
		if err != nil {
			return err
		}
		r.later = append(r.later, func() error {
			if p := r.bytes(cl); len(p) > 0 {
				c.Parts = [][]byte{p}
			}
			return nil
		})
	}
	if n := uint64(b.w(q + 60)); n > 0 {
		cl, err := r.claim(uint64(c.RelocOff), n*RelocSize, b.at+int64(q)+56, field+".reloff",
			"relocations of section "+name)
		if err != nil {
			return err
		}
		r.later = append(r.later, func() error {
			p := r.bytes(cl)
			c.Relocs = make([]Reloc, len(p)/RelocSize)
			for k := range c.Relocs {
				c.Relocs[k] = Reloc{Addr: le.Uint32(p[RelocSize*k:]), Info: le.Uint32(p[RelocSize*k+4:])}
			}
			return nil
		})
	}
	return nil
}

func (s *Segment) append(b []byte) ([]byte, error) {
	b = append(b, s.Name[:]...)
	for _, v := range [...]uint64{s.VMAddr, s.VMSize, s.FileOff, s.FileSize} {
		b = le.AppendUint64(b, v)
	}
	for _, v := range [...]uint32{s.MaxProt, s.InitProt, uint32(len(s.Sections)), s.Flags} {
		b = le.AppendUint32(b, v)
	}
	for _, c := range s.Sections {
		b = append(b, c.Name[:]...)
		b = append(b, c.Segment[:]...)
		b = le.AppendUint64(b, c.Addr)
		b = le.AppendUint64(b, c.Size)
		for _, v := range [...]uint32{c.Offset, c.Align, c.RelocOff, uint32(len(c.Relocs)), c.Flags, c.Reserved[0],
			c.Reserved[1], c.Reserved[2]} {
			b = le.AppendUint32(b, v)
		}
	}
	return append(b, s.Tail...), nil
}

// appendRelocs appends the section's relocation table.
func (s *Section) appendRelocs(b []byte) []byte {
	for _, r := range s.Relocs {
		b = le.AppendUint32(b, r.Addr)
		b = le.AppendUint32(b, r.Info)
	}
	return b
}
