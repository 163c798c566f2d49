package driver

import (
	"encoding/binary"
	"fmt"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
)

// StructField is a field of a struct that crosses the boundary to the kernel.
type StructField struct {
	Off, Width int // bytes; little-endian
	Name       string
	Source     string // the table or listing that states it, or "modelled"
}

// Struct is a struct of the ABI.
type Struct struct {
	Name   string
	Size   int // bytes; checked by the selector's record
	Use    string
	Fields []StructField
}

// row is a StructField with a pointer to its value. Pointers are *byte, *uint32, *uint64, *[maxPorts]uint32,
// *[maxEvents]protocol.Event, *[maxRanges]Range or *[maxPorts]readyBuffer.
type row[T any] struct {
	off, width int
	name       string
	source     string
	at         func(*T) any
}

// layout is a Struct with a mapping to a Go struct.
type layout[T any] struct {
	name string
	use  string
	size int
	rows []row[T]
}

func (l *layout[T]) table() Struct {
	s := Struct{Name: l.name, Size: l.size, Use: l.use}
	for _, r := range l.rows {
		s.Fields = append(s.Fields, StructField{Off: r.off, Width: r.width, Name: r.name, Source: r.source})
	}
	return s
}

// decode reads a struct and refuses other sizes.
func (l *layout[T]) decode(b []byte, v *T) error {
	if len(b) != l.size {
		return fmt.Errorf("driver: %s has %d bytes, want %d", l.name, len(b), l.size)
	}
	le := binary.LittleEndian
	for i := range l.rows {
		p := b[l.rows[i].off:]
		switch at := l.rows[i].at(v).(type) {
		case *byte:
			*at = p[0]
		case *uint32:
			*at = le.Uint32(p)
		case *uint64:
			*at = le.Uint64(p)
		case *[maxPorts]uint32:
			for j := range at {
				at[j] = le.Uint32(p[4*j:])
			}
		case *[maxEvents]protocol.Event:
			for j := range at {
				q := p[protocol.EventSize*j:]
				at[j] = protocol.Event{
					Type:       le.Uint32(q),
					TargetMask: le.Uint32(q[4:]),
					ID:         le.Uint64(q[8:]),
					Value:      le.Uint64(q[16:]),
				}
			}
		case *[maxRanges]Range:
			for j := range at {
				at[j] = Range{le.Uint64(p[16*j:]), le.Uint64(p[16*j+8:])}
			}
		case *[maxPorts]readyBuffer:
			for j := range at {
				q := p[24*j:]
				at[j] = readyBuffer{
					surface: le.Uint32(q),
					port:    le.Uint32(q[4:]),
					offset:  le.Uint64(q[8:]),
					size:    le.Uint64(q[16:]),
				}
			}
		}
	}
	return nil
}

// encode writes a struct over b, which has its size. Bytes between the fields do not change.
func (l *layout[T]) encode(b []byte, v *T) {
	le := binary.LittleEndian
	for i := range l.rows {
		p := b[l.rows[i].off:]
		switch at := l.rows[i].at(v).(type) {
		case *byte:
			p[0] = *at
		case *uint32:
			le.PutUint32(p, *at)
		case *uint64:
			le.PutUint64(p, *at)
		case *[maxPorts]uint32:
			for j, x := range at {
				le.PutUint32(p[4*j:], x)
			}
		case *[maxEvents]protocol.Event:
			for j, e := range at {
				q := p[protocol.EventSize*j:]
				le.PutUint32(q, e.Type)
				le.PutUint32(q[4:], e.TargetMask)
				le.PutUint64(q[8:], e.ID)
				le.PutUint64(q[16:], e.Value)
			}
		case *[maxRanges]Range:
			for j, x := range at {
				le.PutUint64(p[16*j:], x.Addr)
				le.PutUint64(p[16*j+8:], x.Size)
			}
		case *[maxPorts]readyBuffer:
			for j, x := range at {
				q := p[24*j:]
				le.PutUint32(q, x.surface)
				le.PutUint32(q[4:], x.port)
				le.PutUint64(q[8:], x.offset)
				le.PutUint64(q[16:], x.size)
			}
		}
	}
}

const modelled = "modelled"
