package afpp

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

// Encode returns the bytes of a container. It writes what p says and hands the
// bytes to Read, so that an error has the offset and field that the container
// would have had.
func Encode(p *Package) ([]byte, error) {
	out := appendHeader(nil, MagicPackage, p.Version, len(p.Programs))
	for i, g := range p.Programs {
		out = pad(out, alignUp(uint64(len(out))))
		if err := encodable(g, programField(i), int64(len(out))); err != nil {
			return nil, err
		}
		b, err := encodeProgram(g, programField(i), int64(len(out)))
		if err != nil {
			return nil, err
		}
		out = append(out, b...)
		if uint64(len(out)) > math.MaxUint32 {
			return nil, &FormatError{int64(len(out)), "package.size", "a container's size is 32 bits", len(out), uint32(math.MaxUint32)}
		}
	}
	binary.LittleEndian.PutUint32(out[12:], uint32(len(out)))
	if _, err := Read(out); err != nil {
		return nil, err
	}
	return out, nil
}

// Write writes the bytes of a container.
func Write(w io.Writer, p *Package) error {
	b, err := Encode(p)
	if err == nil {
		_, err = w.Write(b)
	}
	return err
}

func appendHeader(b []byte, magic, version uint32, count int) []byte {
	if version == 0 {
		version = Version
	}
	le := binary.LittleEndian
	return le.AppendUint32(le.AppendUint32(le.AppendUint32(le.AppendUint32(b, magic), version), uint32(count)), 0)
}

func pad(b []byte, to uint64) []byte { return append(b, make([]byte, to-uint64(len(b)))...) }

// encodable refuses what bytes cannot say, so that Read could not find it.
func encodable(g *Program, field string, at int64) error {
	if g == nil {
		return &FormatError{at, field, "there is no program", nil, nil}
	}
	for i, m := range g.Text.Images {
		if len(m) != ImageSize {
			return &FormatError{at, fmt.Sprintf("%s.text.image %d", field, i), "a register image has one size", len(m), ImageSize}
		}
	}
	return nil
}

// bodiesAt is where the first body may stand.
const bodiesAt = HeaderSize + NumKinds*SectionHeaderSize

func encodeProgram(g *Program, field string, base int64) ([]byte, error) {
	var bodies [NumKinds][]byte
	var counts [NumKinds]int
	offsets := g.Offsets
	end := uint64(bodiesAt)
	for k := range kinds {
		bodies[k], counts[k] = kinds[k].body(g)
		if offsets[k] == 0 {
			offsets[k] = alignUp(end)
		}
		at := uint64(base) + HeaderSize + uint64(k)*SectionHeaderSize + 0x14
		if n := uint64(len(bodies[k])); offsets[k] > math.MaxUint32 || n > math.MaxUint32-SectionHeaderSize || offsets[k]+n > math.MaxUint32 {
			return nil, &FormatError{int64(at), field + "." + kinds[k].name + ".offset", "a program's size is 32 bits", offsets[k], uint32(math.MaxUint32)}
		}
		if offsets[k] < bodiesAt {
			return nil, &FormatError{int64(at), field + "." + kinds[k].name + ".offset", "a body stands behind the headers; 0 lets the writer place it", offsets[k], uint64(bodiesAt)}
		}
		end = max(end, offsets[k]+uint64(len(bodies[k])))
	}
	le := binary.LittleEndian
	b := appendHeader(nil, MagicProgram, g.Version, NumKinds)
	le.PutUint32(b[12:], uint32(end))
	for k, body := range bodies {
		at := len(b)
		b = appendHeader(b, MagicSection, g.Versions[k], counts[k])
		le.PutUint32(b[at+12:], uint32(SectionHeaderSize+len(body)))
		b = le.AppendUint32(b, uint32(k+1))
		b = le.AppendUint64(b, offsets[k])
		b = le.AppendUint64(b, uint64(len(body)))
		b = le.AppendUint32(b, crc32.ChecksumIEEE(body))
	}
	b = pad(b, end)
	for k, body := range bodies {
		copy(b[offsets[k]:], body) // where bodies overlap Read finds it
	}
	return b, nil
}

func genericBody(g *Program) ([]byte, int) {
	le := binary.LittleEndian
	b := le.AppendUint64(nil, g.Generic.Identity)
	for _, v := range []int{int(g.Generic.Image), len(g.Text.Images), len(g.Operations), len(g.Procedures)} {
		b = le.AppendUint32(b, uint32(v))
	}
	b = le.AppendUint64(b, g.Generic.Base)
	b = le.AppendUint64(b, g.Generic.Size)
	return append(b, g.Generic.Container[:]...), 1
}

func kernelBody(g *Program) ([]byte, int) { return g.Kernel, len(g.Kernel) / Align }

func textBody(g *Program) ([]byte, int) {
	le := binary.LittleEndian
	b := append([]byte(nil), streamMagic...)
	b = le.AppendUint16(b, streamVersion)
	b = le.AppendUint16(b, RecordSize)
	for _, r := range g.Text.Records {
		b = r.append(b)
	}
	for _, m := range g.Text.Images {
		b = append(b, m...)
	}
	return b, len(g.Text.Records)
}

// append adds the record's 44 bytes.
func (r Record) append(b []byte) []byte {
	le, at := binary.LittleEndian, len(b)
	b = le.AppendUint32(b, uint32(r.Operands)|uint32(r.Group)<<8|uint32(r.Task)<<16)
	b = le.AppendUint64(b, r.Register)
	b = le.AppendUint64(b, r.Operand[0])
	b = le.AppendUint64(b, r.Operand[1])
	b = le.AppendUint32(b, r.Slot)
	b = append(b, r.BitOffset, r.BitWidth, r.Shift, 0)
	b = le.AppendUint32(b, uint32(r.Bar)|uint32(r.BarOffset)<<16)
	return le.AppendUint32(b, crc32.ChecksumIEEE(b[at:]))
}

func appendName(b []byte, s string) []byte {
	b = append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
	return append(b, make([]byte, -len(s)&3)...)
}

func operationBody(g *Program) (b []byte, count int) {
	le := binary.LittleEndian
	for _, o := range g.Operations {
		b = le.AppendUint32(le.AppendUint32(le.AppendUint32(b, o.Class), o.FirstTask), o.Tasks)
		b = appendName(b, o.Name)
	}
	return b, len(g.Operations)
}

func procedureBody(g *Program) (b []byte, count int) {
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
	return b, len(g.Procedures)
}

// String names a record by task and register.
func (r Record) String() string { return fmt.Sprintf("task %d register %#x", r.Task, r.Register) }
