package e5

import (
	"fmt"
	"math/bits"
	"slices"
)

// UnknownDim is an extent that is known only at run time. It is zinc's own: the vendor's descriptors are not known to
// have such extents. All strides of such a tensor are 0 and so is the size of its buffer; the runtime provides the
// tensor's own shape. An operand that is cast to or from an engine surface cannot have it.
const UnknownDim = 1<<64 - 1

// Unknown reports whether an extent is known only at run time.
func (d *TensorDescriptor) Unknown() bool { return slices.Contains(d.Dim, UnknownDim) }

// HostDescriptor returns the layout of a dense row-major tensor. Rank 0 is a scalar. It does not check the extents;
// Write does.
func HostDescriptor(t StorageType, dim ...uint64) TensorDescriptor {
	d := TensorDescriptor{Dim: dim, Storage: t}
	if len(dim) == 0 {
		return d
	}
	d.Stride = make([]uint64, len(dim))
	if d.Unknown() {
		return d
	}
	s := uint64(t.Bits() / 8)
	last := len(dim) - 1
	d.Stride[last] = s
	run := s * dim[last]
	if t.Bits()%8 != 0 {
		d.Stride[last] = 0
		run = (dim[last]*uint64(t.Bits()) + 7) / 8
	}
	for i := last - 1; i >= 0; i-- {
		d.Stride[i] = run
		run *= dim[i]
	}
	return d
}

// Extent returns how many bytes from its base the tensor reaches: one past the last byte of its last element, 0 for an
// empty tensor and for strings, whose representation in the buffer is up to the runtime. It fails on an invalid layout:
// Dim and Stride of different lengths, too many axes, an unknown type, a bad component pack, or an extent past 2^63.
func (d *TensorDescriptor) Extent() (uint64, error) {
	if len(d.Dim) != len(d.Stride) {
		return 0, fmt.Errorf("%d extents but %d strides", len(d.Dim), len(d.Stride))
	}
	if len(d.Dim) > MaxRank {
		return 0, fmt.Errorf("%d axes, limit %d", len(d.Dim), MaxRank)
	}
	if !d.Storage.Valid() {
		return 0, fmt.Errorf("storage type %d is not in the catalog", int32(d.Storage))
	}
	if d.ComponentPack < 0 {
		return 0, fmt.Errorf("component pack %d is negative", d.ComponentPack)
	}
	pack := uint64(max(d.ComponentPack, 1))
	width := uint64(d.Storage.Bits())
	if pack > 1 && (len(d.Dim) < 3 || width%8 != 0 || width == 0) {
		return 0, fmt.Errorf("component pack %d needs 3 axes and whole bytes, have %d axes of %s", pack, len(d.Dim),
			d.Storage)
	}
	if d.Unknown() {
		for i, s := range d.Stride {
			if s != 0 {
				return 0, fmt.Errorf("axis %d: stride %d of a tensor with unknown extents, must be 0", i, s)
			}
		}
		return 0, nil
	}
	if slices.Contains(d.Dim, 0) {
		return 0, nil
	}
	if width == 0 {
		return 0, nil
	}
	// Offset of the last element, and the bytes that element (or the packed row
	// it ends) takes.
	tail := width / 8
	var off uint64
	for i, n := range d.Dim {
		steps := n - 1
		switch {
		case i == len(d.Dim)-3 && pack > 1:
			tail += (min(n, pack) - 1) * width / 8
			steps /= pack
		case i == len(d.Dim)-1 && width%8 != 0:
			if d.Stride[i] != 0 {
				return 0, fmt.Errorf("innermost stride %d of packed type %s, must be 0", d.Stride[i], d.Storage)
			}
			hi, b := bits.Mul64(n, width)
			if hi != 0 || b > maxExtent {
				return 0, fmt.Errorf("row of %d elements of %s is past 2^63", n, d.Storage)
			}
			tail, steps = (b+7)/8, 0
		}
		hi, lo := bits.Mul64(steps, d.Stride[i])
		if hi != 0 || lo > maxExtent || off > maxExtent-lo {
			return 0, fmt.Errorf("axis %d: extent %d by stride %d reaches past 2^63", i, n, d.Stride[i])
		}
		off += lo
	}
	if len(d.Dim) == 0 {
		tail = (width + 7) / 8
	}
	if off > maxExtent-tail {
		return 0, fmt.Errorf("layout reaches past 2^63")
	}
	return off + tail, nil
}

const maxExtent = 1<<63 - 1

// axes returns the extent and stride of the five named axes, innermost first:
// width, height, channels, batch number, sequence length. A missing axis has
// extent 1 and stride 0.
func (d *TensorDescriptor) axes() (dim, stride [5]uint64) {
	for k := range dim {
		dim[k] = 1
		if i := len(d.Dim) - 1 - k; i >= 0 {
			dim[k], stride[k] = d.Dim[i], d.Stride[i]
		}
	}
	return dim, stride
}

// vectorAxes is the number of entries that dim and stride have at least (listing 23.2).
const vectorAxes = 4

// vectors returns dim and stride as they are in the file: in front of the tensor's axes are axes of extent 1 and stride
// 0 up to four.
func (d *TensorDescriptor) vectors() (dim, stride []uint64) {
	missing := max(vectorAxes-len(d.Dim), 0)
	dim = append(slices.Repeat([]uint64{1}, missing), d.Dim...)
	return dim, append(make([]uint64, missing), d.Stride...)
}

// Offset returns the byte, from the tensor's base, of the element at index, which has one entry per axis, each below
// its extent. In a packed row (a type narrower than a byte) it returns the offset of the row: the element is then
// index*Bits bits further.
func (d *TensorDescriptor) Offset(index ...uint64) uint64 {
	var off uint64
	pack := uint64(max(d.ComponentPack, 1))
	for i, x := range index {
		if pack > 1 && i == len(d.Dim)-3 {
			off += x % pack * uint64(d.Storage.Bits()/8)
			x /= pack
		}
		off += x * d.Stride[i]
	}
	return off
}

// Elements returns the number of elements, or 0 if an extent is unknown. Read and Write reject a layout whose elements
// do not fit its buffer, so the result does not overflow after either.
func (d *TensorDescriptor) Elements() uint64 { n, _ := d.elements(); return n }

// elements returns the number of elements; ok is false if it exceeds 64 bits.
func (d *TensorDescriptor) elements() (n uint64, ok bool) {
	n, ok = 1, true
	if d.Unknown() {
		return 0, true
	}
	for _, x := range d.Dim {
		if x == 0 {
			return 0, true
		}
		hi, lo := bits.Mul64(n, x)
		n, ok = lo, ok && hi == 0
	}
	return n, ok
}
