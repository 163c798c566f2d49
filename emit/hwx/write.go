package hwx

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
)

// zeros fills the space between the parts of a file.
var zeros [Page]byte

// piece is a run of bytes with its place in the file.
type piece struct {
	off    int64
	data   []byte
	stream Stream // instead of data
	what   string
}

func (p *piece) size() int64 {
	if p.stream != nil {
		return p.stream.Size()
	}
	return int64(len(p.data))
}

// pieces returns every part of the file, by offset. They never overlap.
func (f *File) pieces() ([]piece, error) {
	head, err := f.head()
	if err != nil {
		return nil, err
	}
	ps := []piece{{data: head, what: "load commands"}}
	add := func(off int64, b []byte, what string) {
		if len(b) > 0 {
			ps = append(ps, piece{off: off, data: b, what: what})
		}
	}
	for _, c := range f.Commands {
		switch c := c.(type) {
		case *Segment:
			for _, s := range c.Sections {
				what := s.Segment.String() + "," + s.Name.String()
				if len(s.Relocs) > 0 {
					add(int64(s.RelocOff), s.appendRelocs(make([]byte, 0, RelocSize*len(s.Relocs))), "relocations of "+
						what)
				}
				if s.Parts == nil {
					continue
				}
				off := int64(s.Offset)
				for _, p := range s.Parts {
					add(off, p, what)
					off += int64(len(p))
				}
				if n := uint64(off - int64(s.Offset)); n != s.Size {
					return nil, fmt.Errorf("hwx: section %s has %#x bytes, but its size says %#x", what, n, s.Size)
				}
			}
		case *Symtab:
			syms, strs, err := c.tables()
			if err != nil {
				return nil, err
			}
			add(int64(c.SymOff), syms, "symbols")
			add(int64(c.StrOff), strs, "strings")
		}
	}
	if l := f.ConstantSections(); len(l) > 0 && l[0].Streamed {
		ps = append(ps, piece{off: int64(l[0].Offset), stream: f.stream, what: "constants"})
	}
	for _, g := range f.Gaps {
		add(g.Off, g.Data, "gap")
	}
	slices.SortStableFunc(ps, func(a, b piece) int { return cmp.Compare(a.off, b.off) })
	end := int64(0)
	for i, p := range ps {
		if p.off < end {
			return nil, fmt.Errorf("hwx: %s at %#x overlaps %s, which ends at %#x", p.what, p.off, ps[i-1].what, end)
		}
		end = p.off + p.size()
	}
	if end > f.Size {
		return nil, fmt.Errorf("hwx: %s ends at %#x, past the file's size %#x", ps[len(ps)-1].what, end, f.Size)
	}
	return ps, nil
}

// head returns the header and the load commands.
func (f *File) head() ([]byte, error) {
	var b []byte
	for _, v := range [...]uint32{Magic, f.Header.CPUType, f.Header.CPUSubtype, f.Header.FileType,
		uint32(len(f.Commands)), 0, f.Header.Flags, f.Header.Reserved} {
		b = le.AppendUint32(b, v)
	}
	var err error
	for _, c := range f.Commands {
		if b, err = encodeCommand(b, c); err != nil {
			return nil, err
		}
	}
	n := len(b) - headerSize
	if int64(n) > 1<<32-1 {
		return nil, fmt.Errorf("hwx: load commands of %d bytes do not fit a 32-bit size", n)
	}
	le.PutUint32(b[20:], uint32(n))
	return b, nil
}

// writeTo writes the piece to w and, unless it is nil, to also.
func (p *piece) writeTo(w, also io.Writer) (n int64, err error) {
	switch {
	case p.stream == nil:
		return writeBoth(w, also, p.data)
	case also == nil:
		n, err = p.stream.WriteTo(w)
	default:
		n, err = p.stream.WriteBoth(w, also)
	}
	if err == nil && n != p.stream.Size() {
		err = fmt.Errorf("hwx: %s have %#x bytes, but their size says %#x", p.what, n, p.stream.Size())
	}
	return n, err
}

func writeBoth(w, also io.Writer, b []byte) (int64, error) {
	n, err := w.Write(b)
	if also != nil && err == nil {
		n, err = also.Write(b)
	}
	return int64(n), err
}

// Keep sets the contents of all sections to those in data, which WriteTo has written. The File keeps data, and nothing
// of the Image that it was built from.
func (f *File) Keep(data []byte) {
	f.data = data
	for _, s := range f.Sections() {
		if s.inFile() && s.Size > 0 {
			s.Parts, s.Streamed = [][]byte{data[s.Offset:][:s.Size:s.Size]}, false
		}
	}
}

// WriteTo writes the container to w, with section contents straight from their parts or their stream. It writes nothing
// if the File contradicts itself (parts overlap, or the parts of a section do not add up to its size).
func (f *File) WriteTo(w io.Writer) (int64, error) { return f.write(w, nil) }

// WriteBoth is WriteTo for two writers. They are called at the same time where the constants come from a stream.
func (f *File) WriteBoth(w, also io.Writer) (int64, error) { return f.write(w, also) }

func (f *File) write(w, also io.Writer) (int64, error) {
	ps, err := f.pieces()
	if err != nil {
		return 0, err
	}
	at := int64(0)
	fill := func(to int64) error {
		for at < to {
			n, err := writeBoth(w, also, zeros[:min(to-at, int64(len(zeros)))])
			at += n
			if err != nil {
				return err
			}
		}
		return nil
	}
	for _, p := range ps {
		if err := fill(p.off); err != nil {
			return at, err
		}
		n, err := p.writeTo(w, also)
		at += n
		if err != nil {
			return at, err
		}
	}
	err = fill(f.Size)
	return at, err
}

// Encode returns the container's bytes in memory; WriteTo does not copy them.
func Encode(f *File) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(f.Size))
	if _, err := f.WriteTo(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
