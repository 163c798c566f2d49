package flattable

import (
	flatbuffers "github.com/google/flatbuffers/go"
)

// Record is a table in a verified buffer. Its methods read the field of a name; a number that is absent is 0, and a
// vector that is absent is empty.
type Record struct {
	t   *Table
	tab flatbuffers.Table
}

// Root returns the root of a buffer that Verify has checked against t.
func Root(buf []byte, t *Table) Record {
	return Record{t, flatbuffers.Table{Bytes: buf, Pos: flatbuffers.GetUOffsetT(buf)}}
}

// Off returns the offset of the table in its buffer.
func (r Record) Off() int { return int(r.tab.Pos) }

// FieldOff returns the offset of a field in the buffer, or the table's offset if the field is absent; for bytes, the
// offset of the first one.
func (r Record) FieldOff(name string) int {
	slot := r.t.slot(name)
	if o := r.offset(slot); o != 0 && r.t.Fields[slot].Kind == Bytes {
		return int(r.tab.Vector(o))
	}
	return int(r.tab.Pos + r.offset(slot))
}

// offset returns where in its object the field of a slot is, or 0 if it is absent.
func (r Record) offset(slot int) flatbuffers.UOffsetT {
	return flatbuffers.UOffsetT(r.tab.Offset(flatbuffers.VOffsetT(4 + 2*slot)))
}

// Number returns a number of any kind; a negative one is sign-extended.
func (r Record) Number(name string) uint64 { return r.number(r.t.slot(name)) }

func (r Record) number(slot int) uint64 {
	o := r.offset(slot)
	if o == 0 {
		return 0
	}
	return r.numberAt(o+r.tab.Pos, r.t.Fields[slot].Kind)
}

// numberAt returns the bits of a number of a kind, or of an element of a vector of numbers.
func (r Record) numberAt(at flatbuffers.UOffsetT, k Kind) uint64 {
	switch k {
	case Uint8:
		return uint64(r.tab.GetUint8(at))
	case Int32, Int32s:
		return uint64(r.tab.GetInt32(at))
	case Uint64, Uint64s:
		return r.tab.GetUint64(at)
	}
	return uint64(r.tab.GetUint32(at))
}

// Len returns the number of elements of a vector.
func (r Record) Len(name string) int { return r.length(r.t.slot(name)) }

func (r Record) length(slot int) int {
	if o := r.offset(slot); o != 0 {
		return r.tab.VectorLen(o)
	}
	return 0
}

// Text returns a string.
func (r Record) Text(name string) string { return string(r.Bytes(name)) }

// Bytes returns a string or a vector of bytes, as a slice of the buffer without spare capacity, or nil if it is empty.
func (r Record) Bytes(name string) []byte { return r.bytes(r.t.slot(name)) }

func (r Record) bytes(slot int) []byte {
	n := r.length(slot)
	if n == 0 {
		return nil
	}
	at := int(r.tab.Vector(r.offset(slot)))
	return r.tab.Bytes[at : at+n : at+n]
}

// Texts returns a vector of strings.
func (r Record) Texts(name string) []string { return r.texts(r.t.slot(name)) }

func (r Record) texts(slot int) []string {
	out := make([]string, r.length(slot))
	for i := range out {
		out[i] = string(r.tab.ByteVector(r.element(slot, i, 4)))
	}
	return out
}

// Uint32s and Uint64s return a vector of numbers, nil if it is empty.
func (r Record) Uint32s(name string) []uint32 { return vector(r, name, r.tab.GetUint32) }
func (r Record) Uint64s(name string) []uint64 { return vector(r, name, r.tab.GetUint64) }

func vector[T uint32 | uint64](r Record, name string, get func(flatbuffers.UOffsetT) T) (out []T) {
	slot := r.t.slot(name)
	for i := range r.length(slot) {
		out = append(out, get(r.element(slot, i, layouts[r.t.Fields[slot].Kind].elem)))
	}
	return out
}

// element returns the place of element i of a vector, each of size bytes.
func (r Record) element(slot, i, size int) flatbuffers.UOffsetT {
	return r.tab.Vector(r.offset(slot)) + flatbuffers.UOffsetT(size*i)
}

// Sub returns the table that a field refers to; it must not be absent.
func (r Record) Sub(name string) Record {
	slot := r.t.slot(name)
	return Record{r.t.Fields[slot].Of[0], flatbuffers.Table{Bytes: r.tab.Bytes,
		Pos: r.tab.Indirect(r.tab.Pos + r.offset(slot))}}
}

// Has reports whether a field is present.
func (r Record) Has(name string) bool { return r.offset(r.t.slot(name)) != 0 }

// Subs returns a vector of tables.
func (r Record) Subs(name string) []Record {
	slot := r.t.slot(name)
	out := make([]Record, r.length(slot))
	for i := range out {
		out[i] = r.sub(slot, i)
	}
	return out
}

func (r Record) sub(slot, i int) Record {
	return Record{r.t.Fields[slot].Of[0], flatbuffers.Table{Bytes: r.tab.Bytes,
		Pos: r.tab.Indirect(r.element(slot, i, 4))}}
}

// Member returns the tag of a union and its member.
func (r Record) Member(name string) (tag uint8, m Record) {
	slot := r.t.slot(name)
	tag = r.tab.GetUint8(r.tab.Pos + r.offset(slot))
	var tab flatbuffers.Table
	r.tab.Union(&tab, r.offset(slot+1))
	return tag, Record{r.t.Fields[slot].Of[tag-1], tab}
}
