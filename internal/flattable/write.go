package flattable

import (
	"fmt"
	"unicode/utf8"

	flatbuffers "github.com/google/flatbuffers/go"
)

// Node is a table about to be written: one value for each field of its table. The Go type of a value follows from its
// kind: uint64 for a scalar (its bits), string, Blob, *Node, Member, []string, []*Node, []uint32, []uint64, []int32,
// []float32.
type Node struct {
	Table  *Table
	Values []any
}

// Blob is a vector of bytes whose first byte must be on a multiple of Align.
type Blob struct {
	Data  []byte
	Align int
}

// Member is a member of a union.
type Member struct {
	Tag  uint8
	Node *Node
}

// NewNode returns a node.
func NewNode(t *Table, values ...any) *Node { return &Node{t, values} }

// Bound returns a number of bytes that n is sure to fit in, including padding. With a buffer of that size the builder
// never moves what it has written.
func (n *Node) Bound() int64 {
	const pad = 16 // length word, alignment, terminator
	b := int64(pad + 4 + 2*n.Table.slots() + len(n.Table.Identifier))
	for i, x := range n.Values {
		b += 8 + pad
		switch x := x.(type) {
		case string:
			b += int64(len(x))
		case Blob:
			b += int64(len(x.Data) + 2*x.Align)
		case *Node:
			b += x.Bound()
		case Member:
			b += x.Node.Bound()
		case []string:
			for _, s := range x {
				b += int64(len(s)) + 4 + pad
			}
		case []*Node:
			for _, c := range x {
				b += 4 + c.Bound()
			}
		case []uint32, []uint64, []int32, []float32:
			b += int64(vectorLen(x) * layouts[n.Table.Fields[i].Kind].elem)
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

// ValueError reports a value that no reader would take.
type ValueError struct {
	Path string // TABLE.FIELD; empty for the whole buffer
	Msg  string // the rule, the value found and the limit
}

func (e *ValueError) Error() string { return e.Path + ": " + e.Msg }

// Encode returns the FlatBuffer whose root is n, with a first buffer of size bytes, such as n.Bound(); the result does
// not depend on size.
func Encode(n *Node, size int64) ([]byte, *ValueError) {
	if size > MaxFile {
		return nil, &ValueError{Msg: fmt.Sprintf("the buffer needs up to %d bytes, the limit of a FlatBuffer is %d",
			size, MaxFile)}
	}
	if err := n.checkText(); err != nil {
		return nil, err
	}
	b := flatbuffers.NewBuilder(int(size))
	if root := put(b, n); n.Table.Identifier != "" {
		b.FinishWithFileIdentifier(root, []byte(n.Table.Identifier))
	} else {
		b.Finish(root)
	}
	return b.FinishedBytes(), nil
}

// checkText refuses strings that no reader would take.
func (n *Node) checkText() (err *ValueError) {
	for i, x := range n.Values {
		texts := []string(nil)
		switch x := x.(type) {
		case string:
			texts = []string{x}
		case []string:
			texts = x
		case *Node:
			err = x.checkText()
		case Member:
			err = x.Node.checkText()
		case []*Node:
			for k := 0; k < len(x) && err == nil; k++ {
				err = x[k].checkText()
			}
		}
		for _, s := range texts {
			if !utf8.ValidString(s) {
				err = &ValueError{n.Table.Name + "." + n.Table.Fields[i].Name, fmt.Sprintf("%.80q is not UTF-8", s)}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// put writes n and the objects that it refers to. Within a table the widest fields come first, and among fields of
// one width the last one: the order of the C++ serializers, which produces the recorded vtable of the root. Every
// field is written, so that the size does not depend on a value, unless the table is sparse.
func put(b *flatbuffers.Builder, n *Node) flatbuffers.UOffsetT {
	refs := make([]flatbuffers.UOffsetT, len(n.Values))
	for i, x := range n.Values {
		if !n.omits(i) {
			refs[i] = putValue(b, x)
		}
	}
	if n.Table.Sparse {
		b.Prep(8, 0)
	}
	b.StartObject(n.Table.slots())
	first := n.Table.Sparse
	for _, width := range [...]int{8, 4, 1} {
		for i := len(n.Values) - 1; i >= 0; i-- {
			k := n.Table.Fields[i].Kind
			slot := i
			if k == Union {
				if width == 1 {
					b.PrependByte(n.Values[i].(Member).Tag)
					b.Slot(i)
				}
				slot++
			}
			if layouts[k].size != width || n.omits(i) {
				continue
			}
			if first {
				// The builder shares a vtable between tables whose fields are at the same offsets, though the last
				// field of one may be wider and its object larger. A sparse table ends 8 bytes after its last offset.
				b.Pad(8 - width)
				first = false
			}
			bits, isScalar := n.Values[i].(uint64)
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

// omits reports whether a value is left out.
func (n *Node) omits(i int) bool {
	if !n.Table.Sparse {
		return false
	}
	switch x := n.Values[i].(type) {
	case uint64:
		return x == 0
	case string:
		return x == ""
	case []string:
		return len(x) == 0
	case []*Node:
		return len(x) == 0
	case Blob:
		return len(x.Data) == 0
	case []uint32, []uint64, []int32, []float32:
		return vectorLen(x) == 0
	}
	return false
}

// putValue writes what a field refers to; a scalar refers to nothing.
func putValue(b *flatbuffers.Builder, x any) flatbuffers.UOffsetT {
	switch x := x.(type) {
	case string:
		return b.CreateString(x)
	case Blob:
		b.Prep(x.Align, len(x.Data))
		return b.CreateByteVector(x.Data)
	case *Node:
		return put(b, x)
	case Member:
		return put(b, x.Node)
	case []string:
		refs := make([]flatbuffers.UOffsetT, len(x))
		for i, s := range x {
			refs[i] = b.CreateString(s)
		}
		return putRefs(b, refs)
	case []*Node:
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
