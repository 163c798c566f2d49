package loader

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/zinc-compiler/zinc/emit/hwx"
)

// move is a segment and its device address.
type move struct {
	seg *hwx.Segment
	to  uint64
}

// Image returns the loaded program image: the container, byte for byte in the same layout, with its bases resolved for
// this load. It relocates the addresses of the mapped segments and of their sections, the procedures' entries, the
// buffer-access registers and symbols that point into them, and the words of the text that relocations name.
//
// Windows of ports keep the compiler's addresses, since each call binds them. In the older form, where the constants
// are a section of the text, they are mapped with it, and the image's constant bar points there; the firmware
// container's points to its kernel section, which holds the same bytes.
func (l *Loaded) Image() ([]byte, error) {
	data := bytes.Clone(l.p.container)
	f, err := hwx.Read(data)
	if err != nil {
		return nil, &Error{Where: "loaded image", Err: err}
	}
	moves := l.moves(f)
	if err := l.relocate(f, moves); err != nil {
		return nil, err
	}
	shift := func(addr uint64) uint64 { return shifted(moves, addr) }
	for _, c := range f.Commands {
		switch c := c.(type) {
		case *hwx.Program:
			for i, a := range c.Bars {
				if a != 0 {
					c.Bars[i] = shift(a)
				}
			}
			c.Entry = shift(c.Entry)
		case *hwx.Symtab:
			sections := f.Sections()
			for i := range c.Symbols {
				s := &c.Symbols[i]
				switch {
				case s.Type == hwx.SymSection && s.Sect >= 1 && int(s.Sect) <= len(sections):
					// Find the move by section, since a value may be the section's end.
					q := sections[s.Sect-1]
					s.Value = shift(q.Addr) + (s.Value - q.Addr)
				case s.Type == symAbsolute && s.Value != 0:
					s.Value = shift(s.Value-1) + 1
				}
			}
		}
	}
	// Done last, since the code above uses the old addresses.
	for _, m := range moves {
		delta := m.to - m.seg.VMAddr
		m.seg.VMAddr += delta
		for _, c := range m.seg.Sections {
			c.Addr += delta
		}
	}
	b := bytes.NewBuffer(make([]byte, 0, f.Size))
	if _, err := f.WriteTo(b); err != nil {
		return nil, &Error{Where: "loaded image", Err: err}
	}
	return b.Bytes(), nil
}

// symAbsolute is the type of a kernel symbol whose section has no number.
const symAbsolute = 0x03

// moves pairs the segments of a copy of the container with their device addresses.
func (l *Loaded) moves(f *hwx.File) []move {
	s := &l.p.segments
	to := map[uint64]uint64{s.text.VMAddr: l.text}
	for i, q := range s.scratch {
		to[q.VMAddr] = l.scratch[i]
	}
	for _, c := range s.constants {
		if c.seg != s.text {
			to[c.seg.VMAddr] = l.kernel + c.start
		}
	}
	var moves []move
	for _, seg := range f.Segments() {
		if addr, ok := to[seg.VMAddr]; ok && seg.VMSize > 0 {
			moves = append(moves, move{seg, addr})
		}
	}
	return moves
}

// shifted returns the device address of an address of the container.
func shifted(moves []move, addr uint64) uint64 {
	for _, m := range moves {
		if addr >= m.seg.VMAddr && addr-m.seg.VMAddr < m.seg.VMSize {
			return m.to + (addr - m.seg.VMAddr)
		}
	}
	return addr
}

// relocate adds the base of the constants to each word that a relocation names; the word is an offset into them.
func (l *Loaded) relocate(f *hwx.File, moves []move) error {
	s := &l.p.segments
	if len(s.constants) == 0 {
		return nil
	}
	base := shifted(moves, s.constants[0].Addr)
	text := f.Section(hwx.SegText, hwx.SectText)
	b := text.Bytes()
	for i, r := range text.Relocs {
		w := b[r.Addr:][:4]
		v := uint64(binary.LittleEndian.Uint32(w)) + base
		if v >= hwx.AddrLimit {
			return &Error{
				Where: fmt.Sprintf("relocation %d of %s", i, hwx.SectText),
				Rule:  "the resolved word exceeds 32 bits",
				Val:   v,
			}
		}
		binary.LittleEndian.PutUint32(w, uint32(v))
	}
	return nil
}
