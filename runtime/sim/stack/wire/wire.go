// Package wire maps Go structs to structs of bytes that cross a boundary: a user client's, or a statistics buffer. The
// tags of a Go struct are the one description: they give the codec, the checks of sizes, and the printed table.
package wire

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"unsafe"
)

// Field is a field of the struct of bytes.
type Field struct {
	Offset, Width int // bytes; little-endian
	Name          string
	Source        string // the table or listing that states it, or "modelled"
}

// Layout is the struct of bytes of a T.
type Layout[T any] struct {
	Size   int // bytes
	Fields []Field
	steps  []step
}

// step is bytes that are the same in the Go struct and on the wire: one number, or several on a machine that stores the
// low byte first.
type step struct{ at, off, width int }

// little reports that this machine stores the low byte first.
var little = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// New returns the layout of a T, whose fields have the tags at, the offset in bytes, name, and src, the source of the
// field, which is "modelled" without a tag. A field is an unsigned number or an int32, or an array or a struct of
// fields, whose parts follow one another without padding. A field that does not fit size bytes or that overlaps the one
// before is a mistake of the program, which panics.
func New[T any](size int) *Layout[T] {
	l := &Layout[T]{Size: size}
	t := reflect.TypeFor[T]()
	end := 0
	for i := range t.NumField() {
		f := t.Field(i)
		off, err := strconv.ParseInt(f.Tag.Get("at"), 0, 32)
		source, ok := f.Tag.Lookup("src")
		if !ok {
			source = "modelled"
		}
		l.add(f.Type, int(f.Offset), int(off))
		width := widthOf(f.Type)
		if err != nil || int(off) < end || int(off)+width > size || f.Tag.Get("name") == "" {
			panic(fmt.Sprintf("wire: %s.%s: %d bytes tagged `%s` in a struct of %d, the field before ends at %#x",
				t.Name(), f.Name, width, f.Tag, size, end))
		}
		l.Fields = append(l.Fields, Field{Offset: int(off), Width: width, Name: f.Tag.Get("name"), Source: source})
		end = int(off) + width
	}
	return l
}

// widthOf returns the bytes of a field.
func widthOf(t reflect.Type) (n int) {
	switch t.Kind() {
	case reflect.Array:
		return t.Len() * widthOf(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			n += widthOf(t.Field(i).Type)
		}
		return n
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Int32:
		return int(t.Size())
	}
	panic("wire: a field of type " + t.String() + ", want an unsigned number of a fixed size, or an int32")
}

// add appends the steps of a field at byte at of the Go struct and byte off of the wire.
func (l *Layout[T]) add(t reflect.Type, at, off int) {
	switch t.Kind() {
	case reflect.Array:
		for i := range t.Len() {
			l.add(t.Elem(), at+i*int(t.Elem().Size()), off+i*widthOf(t.Elem()))
		}
		return
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			l.add(f.Type, at+int(f.Offset), off)
			off += widthOf(f.Type)
		}
		return
	}
	if n := len(l.steps); little && n > 0 {
		if last := &l.steps[n-1]; last.at+last.width == at && last.off+last.width == off {
			last.width += int(t.Size())
			return
		}
	}
	l.steps = append(l.steps, step{at: at, off: off, width: int(t.Size())})
}

// Decode reads b, which has at least Size bytes.
func (l *Layout[T]) Decode(b []byte, v *T) {
	m := memory(v)
	for _, s := range l.steps {
		move(m[s.at:s.at+s.width], b[s.off:s.off+s.width])
	}
}

// Encode writes v over b, which has at least Size bytes. Bytes between the fields do not change.
func (l *Layout[T]) Encode(b []byte, v *T) {
	m := memory(v)
	for _, s := range l.steps {
		move(b[s.off:s.off+s.width], m[s.at:s.at+s.width])
	}
}

// Append appends v to p.
func (l *Layout[T]) Append(p []byte, v *T) []byte {
	at := len(p)
	p = append(p, make([]byte, l.Size)...)
	l.Encode(p[at:], v)
	return p
}

// memory returns the bytes of a Go struct, which has numbers only.
func memory[T any](v *T) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(v)), unsafe.Sizeof(*v)) }

// move copies between the Go struct and the wire.
func move(dst, src []byte) {
	copy(dst, src)
	if !little {
		slices.Reverse(dst)
	}
}
