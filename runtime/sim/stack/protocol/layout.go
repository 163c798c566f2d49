package protocol

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Field is one fixed field of a body and the values it may hold.
type Field struct {
	Name  string
	Off   int    // bytes from the body's start
	Width int    // bytes: 4 or 8, little-endian
	Min   uint64 // smallest value allowed
	Max   uint64 // largest value allowed
	Gate  string // the rule, in the firmware's words if known
}

// Layout is the fixed part of a body and the limit of what follows.
type Layout struct {
	Struct string // name of the struct; "" if no source names it
	Fields []Field
	Size   int // bytes of the fixed part
	Tail   int // maximum bytes of the arrays or payload that follow
	Source string
}

// Bounds returns the minimum and maximum size of the body in bytes.
func (l *Layout) Bounds() (least, most int) { return l.Size, l.Size + l.Tail }

// f returns a field without a bound, b one with a bound. Offsets are filled in by pack.
func f(name string, width int) Field {
	return Field{Name: name, Width: width, Max: math.MaxUint64}
}

func b(name string, width int, least, most uint64, gate string) Field {
	return Field{Name: name, Width: width, Min: least, Max: most, Gate: gate}
}

// pack arranges fields in sequence without padding.
func pack(name, source string, tail int, fields ...Field) *Layout {
	l := &Layout{Struct: name, Fields: fields, Tail: tail, Source: source}
	for i := range fields {
		fields[i].Off = l.Size
		l.Size += fields[i].Width
	}
	return l
}

// Get reads field i of a body whose size has been checked.
func (l *Layout) get(body []byte, i int) uint64 {
	f := &l.Fields[i]
	if f.Width == 4 {
		return uint64(binary.LittleEndian.Uint32(body[f.Off:]))
	}
	return binary.LittleEndian.Uint64(body[f.Off:])
}

// Check checks a body's size and the bound of every fixed field.
func (l *Layout) Check(body []byte) error {
	least, most := l.Bounds()
	if len(body) < least || len(body) > most {
		limit := fmt.Sprintf("%d to %d bytes", least, most)
		if least == most {
			limit = fmt.Sprintf("%d bytes", least)
		}
		return bad(0, "size", len(body), limit, "send the whole body and nothing after it")
	}
	for i := range l.Fields {
		f := &l.Fields[i]
		if v := l.get(body, i); v < f.Min || v > f.Max {
			return bad(f.Off, f.Name, v, f.Gate, "")
		}
	}
	return nil
}

// Record is a body of fixed fields, followed by a payload if the layout allows one. It serves commands that need no
// type of their own.
type Record struct {
	Layout *Layout
	Values []uint64 // one per field, in the layout's order
	Tail   []byte
}

// NewRecord returns a record with values in the layout's order.
func NewRecord(l *Layout, tail []byte, values ...uint64) (*Record, error) {
	if len(values) != len(l.Fields) {
		return nil, bad(0, "values", len(values), fmt.Sprintf("%d fields", len(l.Fields)), "")
	}
	r := &Record{l, values, tail}
	for i := range l.Fields {
		if f := &l.Fields[i]; f.Width == 4 && values[i] > math.MaxUint32 {
			return nil, bad(f.Off, f.Name, values[i], "a field of 32 bits", "")
		}
	}
	return r, l.Check(r.Append(nil))
}

// Value returns a field by name, or 0 if the layout does not have it.
func (r *Record) Value(name string) uint64 {
	for i := range r.Layout.Fields {
		if r.Layout.Fields[i].Name == name {
			return r.Values[i]
		}
	}
	return 0
}

// Append appends the record's bytes.
func (r *Record) Append(p []byte) []byte {
	for i, v := range r.Values {
		if r.Layout.Fields[i].Width == 4 {
			p = binary.LittleEndian.AppendUint32(p, uint32(v))
		} else {
			p = binary.LittleEndian.AppendUint64(p, v)
		}
	}
	return append(p, r.Tail...)
}

func decodeRecord(l *Layout, body []byte) (*Record, error) {
	if err := l.Check(body); err != nil {
		return nil, err
	}
	r := &Record{Layout: l}
	if len(l.Fields) > 0 {
		r.Values = make([]uint64, len(l.Fields))
	}
	for i := range l.Fields {
		r.Values[i] = l.get(body, i)
	}
	if len(body) > l.Size {
		r.Tail = append([]byte(nil), body[l.Size:]...)
	}
	return r, nil
}
