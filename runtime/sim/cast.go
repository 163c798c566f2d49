package sim

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/x448/float16"

	"github.com/zinc-compiler/zinc/emit/e5"
)

// checkCast returns an error for a cast that the runtime cannot carry out. The reader has checked the types and that
// both operands have the same number of elements; here their shapes must also be equal apart from dimensions of one, so
// that both are walked in the same order.
func checkCast(src, dst *e5.Operand) error {
	if dst.Desc.Unknown() || sameElements(src, dst) {
		return nil
	}
	for _, o := range []*e5.Operand{src, dst} {
		if o.Aperture != e5.Surface {
			continue
		}
		if n := o.Desc.ComponentPack; n > 1 {
			return fmt.Errorf("operand %q has component pack %d; the runtime copies only surfaces of pack 1", o.Name, n)
		}
		if n := o.Desc.Storage.Bits(); n == 0 || n%8 != 0 {
			return fmt.Errorf("operand %q is a surface of %v; the runtime copies only elements of whole bytes", o.Name,
				o.Desc.Storage)
		}
	}
	if a, b := long(src.Desc.Dim), long(dst.Desc.Dim); !slices.Equal(a, b) {
		return fmt.Errorf("cast of shape %v to %v; apart from dimensions of one they must be equal", src.Desc.Dim,
			dst.Desc.Dim)
	}
	_, err := converter(src.Desc.Storage, dst.Desc.Storage)
	return err
}

// long returns the extents other than one.
func long(dim []uint64) []uint64 {
	return slices.DeleteFunc(slices.Clone(dim), func(d uint64) bool { return d == 1 })
}

// sameElements reports whether the elements of two host operands have the same layout.
func sameElements(a, b *e5.Operand) bool {
	return a.Aperture != e5.Surface && b.Aperture != e5.Surface && a.Desc.Storage == b.Desc.Storage &&
		slices.Equal(a.Desc.Dim, b.Desc.Dim)
}

// held returns the layout in which the runtime stores an operand: a surface as its descriptor says, a host tensor row
// major and without gaps regardless of the descriptor.
func held(o *e5.Operand) e5.TensorDescriptor {
	if o.Aperture == e5.Surface {
		return o.Desc
	}
	return e5.HostDescriptor(o.Desc.Storage, o.Desc.Dim...)
}

// rowConverter turns n packed elements of one type into another.
type rowConverter func(dst, src []byte, n int)

func converter(from, to e5.StorageType) (rowConverter, error) {
	switch {
	case from == to:
		return nil, nil // copied
	case from == e5.FP32 && to == e5.FP16:
		return func(dst, src []byte, n int) {
			for i := range n {
				f := math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
				binary.LittleEndian.PutUint16(dst[2*i:], float16.Fromfloat32(f).Bits())
			}
		}, nil
	case from == e5.FP16 && to == e5.FP32:
		return func(dst, src []byte, n int) {
			for i := range n {
				h := float16.Frombits(binary.LittleEndian.Uint16(src[2*i:]))
				binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(h.Float32()))
			}
		}, nil
	case from == e5.FP16 && integers[to].size > 0:
		return integers[to].fromFP16, nil
	case to == e5.FP16 && integers[from].size > 0:
		return integers[from].toFP16, nil
	}
	return nil, fmt.Errorf("cannot convert elements of %v to %v", from, to)
}

// integer is a type of integers that the runtime converts from and to fp16.
type integer struct {
	size   int   // bytes
	lo, hi int32 // the least and the greatest integer
	load   func(b []byte) int32
}

// integers are the types of integers that converter accepts.
var integers = map[e5.StorageType]integer{
	e5.Int8:  {size: 1, lo: math.MinInt8, hi: math.MaxInt8, load: func(b []byte) int32 { return int32(int8(b[0])) }},
	e5.Uint8: {size: 1, lo: 0, hi: math.MaxUint8, load: func(b []byte) int32 { return int32(b[0]) }},
	e5.Int16: {
		size: 2,
		lo:   math.MinInt16,
		hi:   math.MaxInt16,
		load: func(b []byte) int32 { return int32(int16(binary.LittleEndian.Uint16(b))) },
	},
	e5.Uint16: {
		size: 2,
		lo:   0,
		hi:   math.MaxUint16,
		load: func(b []byte) int32 { return int32(binary.LittleEndian.Uint16(b)) },
	},
	e5.Int32: {
		size: 4,
		lo:   math.MinInt32,
		hi:   math.MaxInt32,
		load: func(b []byte) int32 { return int32(binary.LittleEndian.Uint32(b)) },
	},
}

// fromFP16 truncates numbers of fp16 towards zero and clamps them to the range of the type; NaN becomes 0.
func (t integer) fromFP16(dst, src []byte, n int) {
	for i := range n {
		h := float16.Frombits(binary.LittleEndian.Uint16(src[2*i:]))
		var b [4]byte
		binary.LittleEndian.PutUint32(b[:], uint32(min(max(whole(h.Float32()), t.lo), t.hi)))
		copy(dst[i*t.size:], b[:t.size])
	}
}

// toFP16 rounds integers to fp16. The conversion to fp32 rounds only integers that are infinite in fp16.
func (t integer) toFP16(dst, src []byte, n int) {
	for i := range n {
		binary.LittleEndian.PutUint16(dst[2*i:], float16.Fromfloat32(float32(t.load(src[i*t.size:]))).Bits())
	}
}

// whole truncates a number of fp16 towards zero; infinities become the integers at the ends.
func whole(f float32) int32 {
	switch {
	case f > math.MaxInt32:
		return math.MaxInt32
	case f < math.MinInt32:
		return math.MinInt32
	case f != f:
		return 0
	}
	return int32(f)
}

// axes returns the extents other than one with their byte strides, ending in a dimension whose elements are contiguous
// in both tensors.
func axes(a, b *e5.TensorDescriptor) (dim, as, bs []uint64) {
	strides := func(d *e5.TensorDescriptor) (st []uint64) {
		for i, n := range d.Dim {
			if n != 1 {
				st = append(st, d.Stride[i])
			}
		}
		return st
	}
	dim, as, bs = long(a.Dim), strides(a), strides(b)
	aw, bw := uint64(a.Storage.Bits()/8), uint64(b.Storage.Bits()/8)
	if n := len(dim) - 1; n < 0 || as[n] != aw || bs[n] != bw {
		dim, as, bs = append(dim, 1), append(as, aw), append(bs, bw)
	}
	return dim, as, bs
}

// move copies a tensor row by row from one layout to another.
type move struct {
	conv   rowConverter
	dim    []uint64 // extents; the last is a row's
	ss, ds []uint64 // strides in bytes
	rows   int
	index  []uint64 // all zeros except during run
}

// newMove plans a copy. checkCast has checked that the shapes are equal apart from dimensions of one, and the reader
// that the operands are inside their buffers.
func newMove(sd, dd *e5.TensorDescriptor, conv rowConverter) move {
	if conv == nil {
		size := int(sd.Storage.Bits() / 8)
		conv = func(dst, src []byte, n int) { copy(dst[:n*size], src[:n*size]) }
	}
	total := int(dd.Elements())
	if total == 0 {
		return move{}
	}
	dim, ss, ds := axes(sd, dd)
	return move{
		conv:  conv,
		dim:   dim,
		ss:    ss,
		ds:    ds,
		rows:  total / int(dim[len(dim)-1]),
		index: make([]uint64, len(dim)),
	}
}

// run copies. Two goroutines must not run the same move at once.
func (m *move) run(src, dst []byte) {
	if m.rows == 0 {
		return
	}
	rank := len(m.dim)
	n := int(m.dim[rank-1])
	clear(m.index)
	var so, do uint64
	for range m.rows {
		m.conv(dst[do:], src[so:], n)
		for i := rank - 2; i >= 0; i-- {
			m.index[i]++
			so += m.ss[i]
			do += m.ds[i]
			if m.index[i] < m.dim[i] {
				break
			}
			so -= m.index[i] * m.ss[i]
			do -= m.index[i] * m.ds[i]
			m.index[i] = 0
		}
	}
}
