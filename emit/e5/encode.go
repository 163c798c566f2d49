package e5

import (
	"fmt"
	"unicode/utf8"

	flatbuffers "github.com/google/flatbuffers/go"
)

// node is a table about to be written: one value for each field of its table. The Go type of a value follows from its
// kind: uint64 for a scalar (its bits), string, blob, *node, union, []string, []*node, []uint32, []uint64, []int32,
// []float32.
type node struct {
	t *table
	v []any
}

// blob is a vector of bytes whose first byte must be on a multiple of align.
type blob struct {
	data  []byte
	align int
}

// union is a member of the union OpAttrs.
type union struct {
	tag uint8
	n   *node
}

func newNode(t *table, v ...any) *node { return &node{t, v} }

// scalar returns the bits of x as a value of a node.
func scalar[T ~uint8 | ~int32 | ~uint32 | ~uint64](x T) uint64 { return uint64(x) }

// bound returns a number of bytes that n is sure to fit in, including padding. With a buffer of that size the builder
// never moves what it has written.
func (n *node) bound() int64 {
	const pad = 16 // length word, alignment, terminator
	b := int64(pad + 4 + 2*n.t.slots())
	for i, x := range n.v {
		b += 8 + pad
		switch x := x.(type) {
		case string:
			b += int64(len(x))
		case blob:
			b += int64(len(x.data) + 2*x.align)
		case *node:
			b += x.bound()
		case union:
			b += x.n.bound()
		case []string:
			for _, s := range x {
				b += int64(len(s)) + 4 + pad
			}
		case []*node:
			for _, c := range x {
				b += 4 + c.bound()
			}
		case []uint32, []uint64, []int32, []float32:
			b += int64(vectorLen(x) * layouts[n.t.fields[i].kind].elem)
		}
	}
	return b
}

func vectorLen(x any) int {
	switch x := x.(type) {
	case []uint32:
		return len(x)
	case []uint64:
		return len(x)
	case []int32:
		return len(x)
	case []float32:
		return len(x)
	}
	return 0
}

// encode writes the FlatBuffer whose root is n, with a first buffer of size bytes; the result does not depend on size.
// Every error is a *ModelError.
func encode(n *node, size int64) ([]byte, error) {
	if size > maxFile {
		return nil, &ModelError{Msg: fmt.Sprintf("descriptor needs up to %d bytes, limit of a FlatBuffer %d", size,
			maxFile)}
	}
	if err := n.checkText(); err != nil {
		return nil, err
	}
	b := flatbuffers.NewBuilder(int(size))
	b.Finish(put(b, n))
	return b.FinishedBytes(), nil
}

// checkText refuses strings that no reader would take.
func (n *node) checkText() error {
	for i, x := range n.v {
		bad := ""
		var err error
		switch x := x.(type) {
		case string:
			if !utf8.ValidString(x) {
				bad = x
			}
		case []string:
			for _, s := range x {
				if !utf8.ValidString(s) {
					bad = s
				}
			}
		case *node:
			err = x.checkText()
		case union:
			err = x.n.checkText()
		case []*node:
			for _, c := range x {
				if err = c.checkText(); err != nil {
					break
				}
			}
		}
		if bad != "" {
			return &ModelError{Path: n.t.name + "." + n.t.fields[i].name, Msg: fmt.Sprintf("%.80q is not UTF-8", bad)}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// put writes n and the objects that it refers to. Within a table the widest fields come first, and among fields of
// one width the last one: the order of the C++ serializers, which produces the recorded vtable of the root. Every
// field is written, so that the size does not depend on a value.
func put(b *flatbuffers.Builder, n *node) flatbuffers.UOffsetT {
	refs := make([]flatbuffers.UOffsetT, len(n.v))
	for i, x := range n.v {
		refs[i] = putValue(b, x)
	}
	b.StartObject(n.t.slots())
	for _, width := range [...]int{8, 4, 1} {
		for i := len(n.v) - 1; i >= 0; i-- {
			k := n.t.fields[i].kind
			slot := i
			if k == kUnion {
				if width == 1 {
					b.PrependByte(n.v[i].(union).tag)
					b.Slot(i)
				}
				slot++
			}
			if layouts[k].size != width {
				continue
			}
			bits, isScalar := n.v[i].(uint64)
			switch {
			case !isScalar:
				b.PrependUOffsetT(refs[i])
			case width == 8:
				b.PrependUint64(bits)
			case width == 4:
				b.PrependUint32(uint32(bits))
			default:
				b.PrependByte(byte(bits))
			}
			b.Slot(slot)
		}
	}
	return b.EndObject()
}

// putValue writes what a field refers to; a scalar refers to nothing.
func putValue(b *flatbuffers.Builder, x any) flatbuffers.UOffsetT {
	switch x := x.(type) {
	case string:
		return b.CreateString(x)
	case blob:
		b.Prep(x.align, len(x.data))
		return b.CreateByteVector(x.data)
	case *node:
		return put(b, x)
	case union:
		return put(b, x.n)
	case []string:
		refs := make([]flatbuffers.UOffsetT, len(x))
		for i, s := range x {
			refs[i] = b.CreateString(s)
		}
		return putRefs(b, refs)
	case []*node:
		refs := make([]flatbuffers.UOffsetT, len(x))
		for i, c := range x {
			refs[i] = put(b, c)
		}
		return putRefs(b, refs)
	case []uint32:
		return putVector(b, 4, x, b.PrependUint32)
	case []uint64:
		return putVector(b, 8, x, b.PrependUint64)
	case []int32:
		return putVector(b, 4, x, b.PrependInt32)
	case []float32:
		return putVector(b, 4, x, b.PrependFloat32)
	}
	return 0
}

func putRefs(b *flatbuffers.Builder, refs []flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	return putVector(b, 4, refs, b.PrependUOffsetT)
}

func putVector[T any](b *flatbuffers.Builder, width int, x []T, prepend func(T)) flatbuffers.UOffsetT {
	b.StartVector(width, len(x), width)
	for i := len(x) - 1; i >= 0; i-- {
		prepend(x[i])
	}
	return b.EndVector(len(x))
}
