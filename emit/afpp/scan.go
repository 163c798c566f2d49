package afpp

import (
	"fmt"
	"hash/crc32"

	"github.com/zinc-compiler/zinc/lower/td"
)

// maxFaults limits the faults that Scan reports.
const maxFaults = 100

// Scan decodes as much of a container as possible: from one that was truncated, or that breaks rules, every complete
// header, record, image and entry, and the coefficients that are present. For a container that Read accepts it returns
// the same Package and no faults. Otherwise the Package is only for inspection, and is nil if not even its header is
// present; for a truncated container the first fault says where it ends. Memory and time are in proportion to the
// length of b.
func Scan(b []byte) (*Package, []*FormatError) {
	p, err := Read(b)
	if err == nil {
		return p, nil
	}
	s := &scan{b: b}
	p = s.container()
	faults := s.faults
	if s.end != nil {
		faults = append([]*FormatError{s.end}, faults...)
	}
	if e, ok := err.(*FormatError); ok && len(faults) == 0 {
		faults = []*FormatError{e}
	}
	return p, faults
}

// scan reads a container that Read rejects.
type scan struct {
	b      []byte
	end    *FormatError // where it ends early
	faults []*FormatError
}

func (s *scan) fault(err error) {
	if e, ok := err.(*FormatError); ok && len(s.faults) < maxFaults {
		s.faults = append(s.faults, e)
	}
}

// cut records that the container ends inside a field, or before it.
func (s *scan) cut(field, rule string, have, want uint64) {
	if s.end == nil {
		s.end = &FormatError{Off: int64(len(s.b)), Field: field, Rule: rule, Val: have, Limit: want}
	}
}

// headerFields are the fields that every header begins with.
var headerFields = [...]string{"magic", "version", "count", "size"}

// cutHeader records that the container ends inside a header at byte at.
func (s *scan) cutHeader(at uint64, field string, size uint64) {
	have := uint64(len(s.b)) - min(at, uint64(len(s.b)))
	name := "kind"
	switch {
	case have/4 < uint64(len(headerFields)):
		name = headerFields[have/4]
	case have >= 0x24:
		name = "crc"
	case have >= 0x1c:
		name = "size"
	case have >= 0x14:
		name = "offset"
	}
	s.cut(field+"."+name, "the container is truncated inside the header", have, size)
}

func (s *scan) container() *Package {
	if len(s.b) < HeaderSize {
		s.cutHeader(0, "package", HeaderSize)
		return nil
	}
	h, err := readHeader(s.b, 0, MagicPackage, "package")
	if err != nil {
		s.fault(err)
		return nil
	}
	p := &Package{Version: h.version}
	at := uint64(HeaderSize)
	for i := range int(min(h.count, MaxPrograms)) {
		base := alignUp(at)
		r := &programReader{
			b:     s.b,
			base:  base,
			field: programField(i),
			p:     &Program{base: base, scanned: []SectionInfo{}},
		}
		if r.base+HeaderSize > uint64(len(s.b)) {
			s.cutHeader(r.base, r.field, HeaderSize)
			break
		}
		if h, err := readHeader(s.b, r.base, MagicProgram, r.field); err != nil {
			s.fault(err)
			break
		} else {
			r.size, r.p.Version = h.size, h.version
		}
		p.Programs = append(p.Programs, r.p)
		s.program(r)
		at = r.base + max(r.size, HeaderSize)
	}
	if h.size > uint64(len(s.b)) {
		s.cut("package.size", "must be the length of the container", uint64(len(s.b)), h.size)
	}
	return p
}

// program reads what is present of a program whose header is present.
func (s *scan) program(r *programReader) {
	var bodies [NumKinds][]byte
	for k := range kinds {
		at, field := r.base+uint64(HeaderSize+k*SectionHeaderSize), r.field+"."+kinds[k].name
		if at+SectionHeaderSize > uint64(len(s.b)) {
			s.cutHeader(at, field, SectionHeaderSize)
			break
		}
		h, err := readSectionHeader(s.b, at, field)
		if err != nil {
			s.fault(err)
			break
		}
		if h.kind != uint32(k+1) {
			s.fault(r.fault(uint64(HeaderSize+k*SectionHeaderSize)+0x10, kinds[k].name+".kind",
				"sections must be in the order of their kinds", h.kind, uint32(k+1)))
			break
		}
		x := SectionInfo{
			Kind:    Kind(k + 1),
			Version: h.version,
			Offset:  h.offset,
			Size:    h.body,
			Count:   int(h.count),
			CRC:     h.crc,
		}
		if x.Offset > r.size || x.Size > r.size-x.Offset {
			// Only disjoint bodies of one program bound the cost of reading them.
			s.fault(r.fault(uint64(HeaderSize+k*SectionHeaderSize)+0x14, kinds[k].name+".offset",
				"the body extends past the end of the program", x.Offset, r.size))
			x.Size = 0
		}
		left := uint64(len(s.b)) - r.base
		if x.Offset > left {
			x.Offset, x.Present = min(x.Offset, 1<<62), 0
		} else {
			x.Present = min(x.Size, left-x.Offset)
			bodies[k] = s.b[r.base+x.Offset:][:x.Present:x.Present]
		}
		x.At = int64(r.base) + int64(x.Offset)
		r.p.Versions[k], r.p.Offsets[k] = h.version, x.Offset
		r.p.scanned = append(r.p.scanned, x)
	}
	// The sections are read in the order of the kinds, whose indices lead from one to the next.
	for k := range r.p.scanned {
		s.body(r, k, bodies[k])
	}
	s.firstCut(r)
}

// body reads the body of section k; b is the part that is present.
func (s *scan) body(r *programReader, k int, b []byte) {
	x := &r.p.scanned[k]
	whole := x.Present == x.Size
	if got := crc32.ChecksumIEEE(b); whole && got != x.CRC {
		s.fault(r.fault(uint64(HeaderSize+k*SectionHeaderSize)+0x24, kinds[k].name+".crc",
			"is not the checksum of the body", x.CRC, got))
	}
	c := &cursor{b: b, size: x.Size, base: x.At, where: r.field + "." + kinds[k].name}
	if kinds[k].apart {
		c.note = func(e *FormatError) {
			if whole { // otherwise missing bytes break rules
				s.fault(e)
			}
		}
	}
	kinds[k].read(r, c, x.Count)
	if c.err != nil && whole {
		s.fault(c.err)
	}
}

// firstCut notes the section that the end of the container cuts: of those that are not
// whole, the first in the file.
func (s *scan) firstCut(r *programReader) {
	var first *SectionInfo
	for i := range r.p.scanned {
		if x := &r.p.scanned[i]; x.Present < x.Size && (first == nil || x.At < first.At) {
			first = x
		}
	}
	if first != nil {
		field, rule := r.field+"."+first.Kind.String(), "the container is truncated before the section's body"
		if first.Present > 0 {
			rule = "the container is truncated inside the section's body"
			field += "." + r.fieldAtEnd(first)
		}
		s.cut(field, rule, first.Present, first.Size)
	}
}

// fieldAtEnd names the part of a section that is truncated.
func (r *programReader) fieldAtEnd(x *SectionInfo) string {
	switch x.Kind {
	case KindText:
		n := int(x.Present)
		if n < td.StreamHeader {
			return "stream"
		}
		if i := (n - td.StreamHeader) / td.RecordSize; i < x.Count {
			return fmt.Sprintf("record %d", i)
		}
		return fmt.Sprintf("image %d", len(r.p.Text.Images))
	case KindOperation:
		return fmt.Sprintf("entry %d", len(r.p.Operations))
	case KindProcedure:
		return fmt.Sprintf("entry %d", len(r.p.Procedures))
	case KindKernel:
		return "coefficients"
	}
	return "entry 0"
}
