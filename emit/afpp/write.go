package afpp

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/lower/td"
)

// Layout says where the bytes of a package are.
type Layout struct {
	Size     uint64 // of the container, bytes
	Programs []ProgramLayout
}

// ProgramLayout is the place of one program, offsets from the container's start.
type ProgramLayout struct {
	At     uint64 // of its header
	Bodies [NumKinds]struct{ At, Size uint64 }
}

// Place returns the writer's layout of a package. It does not depend
// on addresses, so that memory can be mapped before a load's addresses are
// written into it.
func Place(p *Package) (Layout, error) {
	l, _, err := place(p)
	return l, err
}

// parts are the bodies of a program and the counts in their headers.
type parts struct {
	body  [NumKinds][]byte
	count [NumKinds]int
}

func place(p *Package) (Layout, []parts, error) {
	l := Layout{Size: HeaderSize}
	bodies := make([]parts, len(p.Programs))
	for i, g := range p.Programs {
		field := programField(i)
		pl := ProgramLayout{At: alignUp(l.Size)}
		if err := encodable(g, field, int64(pl.At)); err != nil {
			return Layout{}, nil, err
		}
		end := pl.At + bodiesAt
		for _, k := range writeOrder {
			b, n, err := kinds[k].body(g)
			if err != nil {
				return Layout{}, nil, &FormatError{
					Off:   int64(end),
					Field: field + "." + kinds[k].name,
					Rule:  err.Error(),
				}
			}
			bodies[i].body[k], bodies[i].count[k] = b, n
			at, err := bodyAt(g, k, pl.At, end, uint64(len(b)), field)
			if err != nil {
				return Layout{}, nil, err
			}
			pl.Bodies[k].At, pl.Bodies[k].Size = at, uint64(len(b))
			end = max(end, at+uint64(len(b)))
		}
		if end > math.MaxUint32 {
			return Layout{}, nil, &FormatError{
				Off:   12,
				Field: "package.size",
				Rule:  "a container's size is 32 bits",
				Val:   end,
				Limit: uint32(math.MaxUint32),
			}
		}
		l.Size = end
		l.Programs = append(l.Programs, pl)
	}
	return l, bodies, nil
}

// writeOrder is the order in which bodies are placed: coefficients last.
var writeOrder = [NumKinds]Kind{KindGeneric - 1, KindText - 1, KindOperation - 1, KindProcedure - 1, KindKernel - 1}

// bodyAt returns where body k of a program is written: where the program says, or after end.
func bodyAt(g *Program, k Kind, base, end, size uint64, field string) (uint64, error) {
	off := g.Offsets[k]
	fault := func(rule string, limit any) error {
		at := base + HeaderSize + uint64(k)*SectionHeaderSize + 0x14
		return &FormatError{
			Off:   int64(at),
			Field: field + "." + kinds[k].name + ".offset",
			Rule:  rule,
			Val:   off,
			Limit: limit,
		}
	}
	switch {
	case off == 0 && k == KindKernel-1 && size > 0:
		return (end + PageSize - 1) &^ (PageSize - 1), nil
	case off == 0:
		return base + alignUp(end-base), nil
	case off < bodiesAt:
		return 0, fault("a body must come after the headers; 0 lets the writer place it", uint64(bodiesAt))
	case off > math.MaxUint32 || size > math.MaxUint32-SectionHeaderSize || off+size > math.MaxUint32:
		return 0, fault("a program's size is 32 bits", uint32(math.MaxUint32))
	}
	return base + off, nil
}

// Encode returns the bytes of a container. It writes p and passes the bytes to Read, so that an error has the offset
// and field in the container. The loader writes into memory that it has, with [EncodeInto]; Encode is the inverse of
// Read, with which tests check both.
func Encode(p *Package) ([]byte, error) {
	l, bodies, err := place(p)
	if err != nil {
		return nil, err
	}
	out := make([]byte, l.Size)
	return out, encodeInto(out, p, l, bodies)
}

// EncodeInto is like Encode but writes into memory of exactly the layout's size. Coefficients that are already in that
// memory are not copied.
func EncodeInto(dst []byte, p *Package) error {
	l, bodies, err := place(p)
	if err != nil {
		return err
	}
	if uint64(len(dst)) != l.Size {
		return &FormatError{
			Off:   12,
			Field: "package.size",
			Rule:  "the size of the memory differs from the container's",
			Val:   len(dst),
			Limit: l.Size,
		}
	}
	return encodeInto(dst, p, l, bodies)
}

func encodeInto(dst []byte, p *Package, l Layout, bodies []parts) error {
	put := header{p.Version, uint32(len(p.Programs)), l.Size}
	put.write(dst, MagicPackage)
	end := uint64(HeaderSize)
	for i, g := range p.Programs {
		clear(dst[end:l.Programs[i].At])
		end = l.Programs[i].write(dst, g, &bodies[i])
	}
	_, err := Read(dst)
	return err
}

// write writes a program and returns where it ends.
func (l *ProgramLayout) write(dst []byte, g *Program, b *parts) uint64 {
	le := binary.LittleEndian
	order := slices.Clone(writeOrder[:])
	slices.SortStableFunc(order, func(x, y Kind) int { return cmp.Compare(l.Bodies[x].At, l.Bodies[y].At) })
	end := l.At + bodiesAt
	for _, k := range order {
		at := l.Bodies[k].At
		if at > end {
			clear(dst[end:at])
		}
		copy(dst[at:], b.body[k]) // if bodies overlap, Read finds it
		end = max(end, at+l.Bodies[k].Size)
	}
	head := header{g.Version, NumKinds, end - l.At}
	head.write(dst[l.At:], MagicProgram)
	for k := range kinds {
		h := dst[l.At+HeaderSize+uint64(k)*SectionHeaderSize:]
		size := l.Bodies[k].Size
		sec := header{g.Versions[k], uint32(b.count[k]), SectionHeaderSize + size}
		sec.write(h, MagicSection)
		le.PutUint32(h[0x10:], uint32(k+1))
		le.PutUint64(h[0x14:], l.Bodies[k].At-l.At)
		le.PutUint64(h[0x1c:], size)
		le.PutUint32(h[0x24:], crc32.ChecksumIEEE(b.body[k]))
	}
	return end
}

// write writes what every header begins with.
func (h header) write(b []byte, magic uint32) {
	le := binary.LittleEndian
	h.version = cmp.Or(h.version, Version)
	le.PutUint32(b, magic)
	le.PutUint32(b[4:], h.version)
	le.PutUint32(b[8:], h.count)
	le.PutUint32(b[12:], uint32(h.size))
}

// encodable returns an error for values that cannot be encoded, which Read could therefore not detect.
func encodable(g *Program, field string, at int64) error {
	if g == nil {
		return &FormatError{Off: at, Field: field, Rule: "missing program"}
	}
	for i, m := range g.Text.Images {
		if len(m) != td.ImageSize {
			return &FormatError{
				Off:   at,
				Field: fmt.Sprintf("%s.text.image %d", field, i),
				Rule:  "a register image has one size",
				Val:   len(m),
				Limit: td.ImageSize,
			}
		}
	}
	return nil
}

// bodiesAt is where the first body may begin.
const bodiesAt = HeaderSize + NumKinds*SectionHeaderSize

func genericBody(g *Program) ([]byte, int, error) {
	le := binary.LittleEndian
	b := le.AppendUint64(nil, g.Generic.Identity)
	for _, v := range []int{int(g.Generic.Image), len(g.Text.Images), len(g.Operations), len(g.Procedures)} {
		b = le.AppendUint32(b, uint32(v))
	}
	b = le.AppendUint64(b, g.Generic.Base)
	b = le.AppendUint64(b, g.Generic.Size)
	return append(b, g.Generic.Container[:]...), 1, nil
}

func kernelBody(g *Program) ([]byte, int, error) { return g.Kernel, len(g.Kernel) / Align, nil }

func textBody(g *Program) ([]byte, int, error) {
	b, err := td.EncodeRecords(g.Text.Records)
	if err != nil {
		return nil, 0, err
	}
	for _, m := range g.Text.Images {
		b = append(b, m...)
	}
	return b, len(g.Text.Records), nil
}

func appendName(b []byte, s string) []byte {
	b = append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
	return append(b, make([]byte, -len(s)&3)...)
}

func operationBody(g *Program) (b []byte, count int, err error) {
	le := binary.LittleEndian
	for _, o := range g.Operations {
		b = le.AppendUint16(le.AppendUint16(b, o.Class), o.Micro)
		b = le.AppendUint32(le.AppendUint32(b, o.FirstTask), o.Tasks)
		b = appendName(b, o.Name)
	}
	return b, len(g.Operations), nil
}

func procedureBody(g *Program) (b []byte, count int, err error) {
	le := binary.LittleEndian
	for _, p := range g.Procedures {
		b = le.AppendUint32(le.AppendUint32(b, p.FirstOperation), p.Operations)
		for _, n := range []int{len(p.Inputs), len(p.Outputs), len(p.Bars)} {
			b = le.AppendUint32(b, uint32(n))
		}
		b = appendName(b, p.Name)
		for _, ports := range [][]Port{p.Inputs, p.Outputs} {
			for _, q := range ports {
				b = appendName(le.AppendUint32(b, q.Bar), q.Name)
			}
		}
		for _, r := range p.Bars {
			b = le.AppendUint32(le.AppendUint32(b, r.ID), uint32(r.Usage))
			b = le.AppendUint64(le.AppendUint64(b, r.Address), r.Size)
		}
	}
	return b, len(g.Procedures), nil
}
