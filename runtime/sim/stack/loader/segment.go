package loader

import (
	"fmt"

	"github.com/zinc-compiler/zinc/emit/afpp"
	"github.com/zinc-compiler/zinc/emit/hwx"
)

// MaxScratch bounds the scratch of a container, in bytes: the vendor's --bss-limit in listing 23.4.
const MaxScratch = 3221225472

// bar is a buffer-access register of a procedure: a part of one of the load's
// buffers, or a port.
type bar struct {
	id    uint32
	usage afpp.Usage
	port  string // of a port
	seg   int    // of scratch: index in segments.scratch
	at    uint64 // offset in the buffer
	size  uint64 // bytes
}

// writable reports whether a task may write through the register.
func (b *bar) writable() bool {
	return b.usage == afpp.UsageOutput || b.usage == afpp.UsageIntermediate
}

// segments sorts a container's address ranges by their role in a load.
type segments struct {
	file      *hwx.File
	byAddress hwx.AddressMap
	text      *hwx.Segment
	textBytes []byte         // of the segment, the container's own; nil for one that is only checked
	section   *hwx.Section   // __TEXT,__text
	scratch   []*hwx.Segment // filled with zeros
	constants []constants
	total     uint64     // bytes of constants
	usage     afpp.Usage // of the constants
	ports     map[uint64]string
}

// constants is a section of coefficients and its offset among them.
type constants struct {
	*hwx.Section
	seg   *hwx.Segment
	start uint64
}

// find sorts the segments and makes the checks that Validate leaves to the load.
func (s *segments) find(f *hwx.File) error {
	s.file, s.byAddress, s.ports = f, f.AddressMap(), map[uint64]string{}
	for _, p := range f.Ports() {
		if err := afpp.CheckName(p.Name); err != nil {
			return &Error{Where: fmt.Sprintf("port %q", p.Name), Err: err}
		}
		s.ports[uint64(p.Addr)] = p.Name
	}
	s.section = f.Section(hwx.SegText, hwx.SectText)
	scratch := uint64(0)
	for _, seg := range f.Segments() {
		if seg.VMSize == 0 {
			continue
		}
		if name := seg.Name.String(); name == hwx.SegScratch {
			if scratch += seg.VMSize; scratch > MaxScratch {
				return &Error{
					Where: "segment " + name,
					Rule:  "the scratch segments together exceed the limit of the compiler; split the model",
					Val:   scratch,
					Limit: uint64(MaxScratch),
				}
			}
			s.scratch = append(s.scratch, seg)
		}
		for _, c := range seg.Sections {
			if c == s.section {
				s.text = seg
			}
		}
	}
	if s.text == nil || s.text.FileSize == 0 || len(s.section.Bytes()) == 0 {
		return &Error{Where: "segment " + hwx.SegText, Rule: "it has no bytes in the file"}
	}
	for _, c := range s.text.Sections {
		if c.Parts != nil && c.Addr-s.text.VMAddr != uint64(c.Offset)-s.text.FileOff {
			return &Error{
				Where: fmt.Sprintf("section %s,%s", hwx.SegText, c.Name),
				Rule:  "its address and its file offset differ within the segment",
				Val:   c.Addr - s.text.VMAddr,
				Limit: uint64(c.Offset) - s.text.FileOff,
			}
		}
	}
	return s.findConstants()
}

// findConstants lists the constants, which are contiguous in memory in the order of the sections.
func (s *segments) findConstants() error {
	s.usage = afpp.UsageWeights
	for _, c := range s.file.ConstantSections() {
		k := constants{c, s.byAddress.At(c.Addr), s.total}
		where := fmt.Sprintf("section %s,%s", c.Segment, c.Name)
		switch {
		case c.Size == 0:
			continue
		case k.seg == nil || c.Present() != c.Size:
			return &Error{Where: where, Rule: "constants must have bytes in the file", Val: c.Size}
		case c.Addr%hwx.Granule != 0:
			return &Error{Where: where, Rule: "constants must begin on a tile", Val: c.Addr, Limit: uint64(hwx.Granule)}
		case k.seg == s.text:
			s.usage = afpp.UsageConstants
		case c.Addr != k.seg.VMAddr || k.start%hwx.Page != 0:
			return &Error{
				Where: where,
				Rule:  "kernel sections must begin with their segments, a page after each other",
				Val:   c.Addr,
				Limit: k.seg.VMAddr,
			}
		}
		s.total += c.Size
		s.constants = append(s.constants, k)
	}
	return nil
}

// bar returns the bar of a register's address, or false if no task can use the address.
func (s *segments) bar(id uint32, addr uint64, where string) (bar, bool, error) {
	b := bar{id: id}
	seg := s.byAddress.At(addr)
	if seg == nil {
		return b, false, &Error{Where: where, Rule: "points at unmapped addresses", Val: addr}
	}
	if addr%hwx.Granule != 0 {
		return b, false, &Error{
			Where: where,
			Rule:  "a buffer must begin on a tile",
			Val:   addr,
			Limit: uint64(hwx.Granule),
		}
	}
	switch seg.Name.String() {
	case hwx.SegPort:
		name, ok := s.ports[seg.VMAddr]
		if !ok || addr != seg.VMAddr || len(seg.Sections) == 0 {
			return b, false, &Error{
				Where: where,
				Rule:  "points into a window, but not at the first byte of a port",
				Val:   addr,
				Limit: seg.VMAddr,
			}
		}
		b.port, b.size, b.usage = name, seg.Sections[0].Size, afpp.UsageInput
		if seg.InitProt&hwx.ProtWrite != 0 {
			b.usage = afpp.UsageOutput
		}
		if b.size == 0 {
			return b, false, &Error{Where: where + ", port " + name, Rule: "the window is empty", Val: b.size}
		}
		return b, true, nil
	case hwx.SegScratch:
		for i, q := range s.scratch {
			if q == seg {
				b.seg, b.at, b.usage = i, addr-seg.VMAddr, afpp.UsageIntermediate
				b.size = seg.VMSize - b.at
			}
		}
		return b, true, nil
	}
	for _, c := range s.constants {
		if addr >= c.Addr && addr-c.Addr < c.Size {
			b.usage, b.at = s.usage, c.start+addr-c.Addr
			b.size = s.total - b.at
			return b, true, nil
		}
	}
	if seg == s.text && addr == s.section.Addr {
		b.usage, b.at, b.size = afpp.UsageText, addr-seg.VMAddr, s.section.Size
		return b, true, nil
	}
	return b, false, nil
}
