package driver

import (
	"fmt"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/wire"
)

// Struct is a struct of the ABI.
type Struct struct {
	Name   string
	Size   int // bytes; checked by the selector's record
	Use    string
	Fields []wire.Field
}

// layout is a Struct with a mapping to a Go struct, whose tags describe the fields.
type layout[T any] struct {
	Struct
	size int
	wire *wire.Layout[T]
}

func describe[T any](name, use string, size int) layout[T] {
	l := wire.New[T](size)
	return layout[T]{Struct: Struct{Name: name, Size: size, Use: use, Fields: l.Fields}, size: size, wire: l}
}

// decode reads a struct and refuses other sizes.
func (l *layout[T]) decode(b []byte, v *T) error {
	if len(b) != l.size {
		return fmt.Errorf("driver: %s has %d bytes, want %d", l.Name, len(b), l.size)
	}
	l.wire.Decode(b, v)
	return nil
}

// encode writes a struct over b, which has its size. Bytes between the fields do not change.
func (l *layout[T]) encode(b []byte, v *T) { l.wire.Encode(b, v) }
