package sim

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/x448/float16"

	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// cast copies a tensor from one operand to another, changing layout and, between
// fp16 and fp32, element type.
func (r *execution) cast(from, to uint32) error {
	src, dst := &r.fn.Operands[from], &r.fn.Operands[to]
	if dst.Desc.Unknown() || sameLayout(src, dst) {
		// No bytes change, and nothing writes into a tensor that exists. One whose
		// extents are not known keeps those it has; the reader has checked the types.
		t, ok := r.host[from]
		if !ok {
			return fmt.Errorf("operand %q is not filled", src.Name)
		}
		r.host[to] = t
		return nil
	}
	data, err := r.bytes(src, from)
	if err != nil {
		return err
	}
	var out []byte
	if dst.Aperture == e5.Surface {
		out = r.surface(dst.Port.Name, int64(dst.Port.ByteSize))
	} else {
		out = make([]byte, dst.Port.ByteSize)
	}
	conv, err := converter(src.Desc.Storage, dst.Desc.Storage)
	if err != nil {
		return err
	}
	copyTensor(&src.Desc, data, &dst.Desc, out, conv)
	if dst.Aperture == e5.Surface {
		return nil
	}
	t, err := interp.NewTensor(typeOf(&dst.Desc), out)
	if err != nil {
		return err
	}
	r.host[to] = t
	return nil
}

// sameLayout reports whether two host operands hold their elements alike.
func sameLayout(a, b *e5.Operand) bool {
	return a.Aperture != e5.Surface && b.Aperture != e5.Surface && a.Desc.Storage == b.Desc.Storage &&
		slices.Equal(a.Desc.Dim, b.Desc.Dim) && slices.Equal(a.Desc.Stride, b.Desc.Stride)
}

// bytes returns an operand's bytes.
func (r *execution) bytes(o *e5.Operand, id uint32) ([]byte, error) {
	if o.Aperture == e5.Surface {
		return r.surface(o.Port.Name, int64(o.Port.ByteSize)), nil
	}
	t, ok := r.host[id]
	if !ok {
		return nil, fmt.Errorf("operand %q is not filled", o.Name)
	}
	if o.Desc.Storage == e5.String {
		return nil, fmt.Errorf("operand %q holds strings, which have no layout", o.Name)
	}
	return t.Data, nil
}

// rowConverter turns n packed elements of one type into another.
type rowConverter func(dst, src []byte, n int)

func converter(from, to e5.StorageType) (rowConverter, error) {
	switch {
	case from == to:
		return nil, nil
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
	}
	return nil, fmt.Errorf("no conversion from %v to %v", from, to)
}

// copyTensor copies row by row; the descriptors have equal shapes, which the
// reader has checked to lie inside their buffers.
func copyTensor(sd *e5.TensorDescriptor, src []byte, dd *e5.TensorDescriptor, dst []byte, conv rowConverter) {
	if conv == nil {
		size := int(sd.Storage.Bits() / 8)
		conv = func(dst, src []byte, n int) { copy(dst[:n*size], src[:n*size]) }
	}
	rank := len(dd.Dim)
	if rank == 0 {
		conv(dst, src, 1)
		return
	}
	// The innermost axis is one run where both sides pack it; else every element
	// is a run of its own.
	n, outer := int(dd.Dim[rank-1]), rank-2
	if n > 1 && !(packed(sd) && packed(dd)) {
		n, outer = 1, rank-1
	}
	total := 1
	for _, d := range dd.Dim {
		total *= int(d)
	}
	if total == 0 {
		return
	}
	index := make([]uint64, rank)
	var so, do uint64
	for range total / n {
		conv(dst[do:], src[so:], n)
		for i := outer; i >= 0; i-- {
			index[i]++
			so += sd.Stride[i]
			do += dd.Stride[i]
			if index[i] < dd.Dim[i] {
				break
			}
			so -= index[i] * sd.Stride[i]
			do -= index[i] * dd.Stride[i]
			index[i] = 0
		}
	}
}

// packed reports whether neighbours along the innermost axis touch.
func packed(d *e5.TensorDescriptor) bool {
	return d.Stride[len(d.Stride)-1] <= uint64(d.Storage.Bits()/8)
}
