package interp

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
)

// Tensor is a value at run time. Its shape is known in full.
type Tensor struct {
	Type    ir.Type
	Data    []byte   // packed elements, little endian, row major, as ir.Const; never written once made
	Strings []string // elements of a string tensor, row major
	List    []Tensor // elements of a value of kind ir.List; an element not yet written is the zero Tensor
}

// NewTensor returns a tensor after checking that the type is static and data
// has its size.
func NewTensor(t ir.Type, data []byte) (Tensor, error) {
	if want := t.Bytes(); want < 0 || want != int64(len(data)) {
		return Tensor{}, fmt.Errorf("tensor of type %s needs %d bytes, has %d", t, want, len(data))
	}
	return Tensor{Type: t, Data: data}, nil
}

// FromConst returns the constant as a tensor that shares its bytes.
func FromConst(c *ir.Const) Tensor {
	return Tensor{Type: c.Type, Data: c.Data, Strings: c.Strings}
}

// Const returns the tensor as a constant that shares its bytes.
func (t Tensor) Const() *ir.Const {
	return &ir.Const{Type: t.Type, Data: t.Data, Strings: t.Strings}
}

// Zeros returns a tensor of zeros. The shape must be static.
func Zeros(t ir.Type) (Tensor, error) {
	n := t.Bytes()
	if n < 0 || n > math.MaxInt32*64 {
		return Tensor{}, fmt.Errorf("a tensor of type %s cannot be allocated", t)
	}
	return Tensor{Type: t, Data: make([]byte, n)}, nil
}

// FromFloats returns a tensor of element type d made from values that are
// rounded to it (integers truncate and saturate, booleans are v != 0). No
// shape makes a scalar.
func FromFloats(d ir.DType, vs []float32, shape ...int64) (Tensor, error) {
	t := ir.TensorOf(d, shape...)
	if t.Elems() != int64(len(vs)) {
		return Tensor{}, fmt.Errorf("type %s holds %d elements, not %d", t, t.Elems(), len(vs))
	}
	if d.Bits() < 8 {
		return Tensor{}, fmt.Errorf("element type %s cannot be made from floats", d)
	}
	b := make([]byte, t.Bytes())
	packFloats(b, d, vs)
	return Tensor{Type: t, Data: b}, nil
}

// FromInts is FromFloats for integers, which wrap.
func FromInts(d ir.DType, vs []int64, shape ...int64) (Tensor, error) {
	t := ir.TensorOf(d, shape...)
	if t.Elems() != int64(len(vs)) {
		return Tensor{}, fmt.Errorf("type %s holds %d elements, not %d", t, t.Elems(), len(vs))
	}
	if d == ir.String || d == ir.Invalid {
		return Tensor{}, fmt.Errorf("element type %s cannot be made from integers", d)
	}
	b := make([]byte, t.Bytes())
	packInts(b, d, vs)
	return Tensor{Type: t, Data: b}, nil
}

// Elems returns the number of elements.
func (t Tensor) Elems() int { return int(t.Type.Elems()) }

// Floats32 returns all elements as fp32, rounded where the type is wider.
func (t Tensor) Floats32() []float32 {
	out := make([]float32, max(0, t.Elems()))
	unpackFloats(out, t)
	return out
}

// Read32 sets out, which has room for all elements, to Floats32.
func (t Tensor) Read32(out []float32) { unpackFloats(out, t) }

// Ints returns all elements as integers; floats truncate towards zero.
func (t Tensor) Ints() []int64 {
	out := make([]int64, max(0, t.Elems()))
	unpackInts(out, t)
	return out
}

// Bools returns all elements as truth values: nonzero is true.
func (t Tensor) Bools() []bool {
	vs := t.Ints()
	out := make([]bool, len(vs))
	for i, v := range vs {
		out[i] = v != 0
	}
	return out
}

// Equal reports whether two tensors have the same type and the same bits.
func (t Tensor) Equal(u Tensor) bool {
	if !t.Type.Equal(u.Type) || string(t.Data) != string(u.Data) || len(t.Strings) != len(u.Strings) ||
		len(t.List) != len(u.List) {
		return false
	}
	for i := range t.Strings {
		if t.Strings[i] != u.Strings[i] {
			return false
		}
	}
	for i := range t.List {
		if !t.List[i].Equal(u.List[i]) {
			return false
		}
	}
	return true
}

// check returns an error for a tensor whose parts do not agree.
func (t Tensor) check() error {
	n := t.Type.Elems()
	switch {
	case t.Type.Kind == ir.List:
		return nil
	case n < 0:
		return fmt.Errorf("type %s has dimensions that are not known or a size past 63 bits", t.Type)
	case t.Type.DType == ir.Invalid || t.Type.DType > ir.String:
		return fmt.Errorf("type %s has no valid element type", t.Type)
	case t.Type.DType == ir.String:
		if int64(len(t.Strings)) != n {
			return fmt.Errorf("type %s needs %d strings, has %d", t.Type, n, len(t.Strings))
		}
	case t.Type.Bytes() != int64(len(t.Data)):
		return fmt.Errorf("type %s needs %d bytes, has %d", t.Type, t.Type.Bytes(), len(t.Data))
	}
	return nil
}

func unpackFloats(out []float32, t Tensor) {
	switch t.Type.DType {
	case ir.FP16:
		numerics.WidenBytes(out, t.Data)
	case ir.FP32:
		if s := shared32(t.Data); s != nil {
			copy(out, s)
			return
		}
		for i := range out {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:]))
		}
	case ir.Int32:
		for i := range out {
			out[i] = float32(int32(binary.LittleEndian.Uint32(t.Data[4*i:])))
		}
	case ir.Bool, ir.UInt8:
		for i := range out {
			out[i] = float32(t.Data[i])
		}
	case ir.Int8:
		for i := range out {
			out[i] = float32(int8(t.Data[i]))
		}
	default:
		c := t.Const()
		for i := range out {
			out[i] = float32(c.Float(int64(i)))
		}
	}
}

func unpackInts(out []int64, t Tensor) {
	switch t.Type.DType {
	case ir.Int32:
		for i := range out {
			out[i] = int64(int32(binary.LittleEndian.Uint32(t.Data[4*i:])))
		}
	case ir.Bool, ir.UInt8:
		for i := range out {
			out[i] = int64(t.Data[i])
		}
	default:
		c := t.Const()
		for i := range out {
			out[i] = c.Int(int64(i))
		}
	}
}

// saturate returns v truncated towards zero and clamped to the range of d.
func saturate(d ir.DType, v float64) int64 {
	lo, hi := intRange(d)
	switch {
	case v != v:
		return 0
	case v <= float64(lo):
		return lo
	case v >= float64(hi):
		return hi
	}
	return int64(v)
}

// intRange returns the least and greatest value of an integer type; for uint64 the greatest is the greatest int64.
func intRange(d ir.DType) (lo, hi int64) {
	b := d.Bits()
	switch {
	case d == ir.Bool:
		return 0, 1
	case d.IsSigned():
		return -1 << (b - 1), 1<<(b-1) - 1
	case b >= 64:
		return 0, math.MaxInt64
	}
	return 0, 1<<b - 1
}

func packFloats(b []byte, d ir.DType, vs []float32) {
	switch d {
	case ir.FP16:
		numerics.NarrowBytes(b, vs)
	case ir.FP32:
		if s := shared32(b); s != nil {
			copy(s, vs)
			return
		}
		for i, v := range vs {
			binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(v))
		}
	case ir.Bool:
		for i, v := range vs {
			if v != 0 {
				b[i] = 1
			}
		}
	case ir.BF16, ir.FP64:
		b = b[:0]
		for _, v := range vs {
			b = ir.AppendElem(b, d, float64(v))
		}
	default:
		w := make([]int64, len(vs))
		for i, v := range vs {
			w[i] = saturate(d, float64(v))
		}
		packInts(b, d, w)
	}
}

func packInts(b []byte, d ir.DType, vs []int64) {
	switch {
	case d == ir.Bool:
		for i, v := range vs {
			if v != 0 {
				b[i] = 1
			}
		}
	case d == ir.Int32 || d == ir.UInt32:
		for i, v := range vs {
			binary.LittleEndian.PutUint32(b[4*i:], uint32(v))
		}
	case d.IsFloat():
		w := make([]float32, len(vs))
		for i, v := range vs {
			w[i] = float32(v)
		}
		packFloats(b, d, w)
	case d.Bits() < 8:
		bits := d.Bits()
		for i, v := range vs {
			at := i * bits
			u := uint16(v&(1<<bits-1)) << (at % 8)
			b[at/8] |= byte(u)
			if u>>8 != 0 {
				b[at/8+1] |= byte(u >> 8)
			}
		}
	default:
		b = b[:0]
		for _, v := range vs {
			b = ir.AppendInt(b, d, v)
		}
	}
}

// strides returns the row-major strides of a shape, in elements.
func strides(shape []int64) []int {
	st := make([]int, len(shape))
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		st[i] = n
		n *= int(shape[i])
	}
	return st
}

// prod returns the product of dimensions already known to fit.
func prod(shape []int64) int {
	n := 1
	for _, d := range shape {
		n *= int(d)
	}
	return n
}
