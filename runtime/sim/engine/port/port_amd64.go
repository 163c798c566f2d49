package port

import (
	"slices"
	"unsafe"

	"github.com/zinc-compiler/zinc/numerics/vector"
)

func init() {
	store = storeBytes
	if vector.Accelerated {
		read, write, finish, zeroNaN = readAVX2, writeAVX2, finishAVX2, zeroNaNAVX2
		addRow, multiplyRow = addAVX2, multiplyAVX2
		maximum = func(v []float32) float32 { return extreme(v, max8, slices.Max[[]float32]) }
		minimum = func(v []float32) float32 { return extreme(v, min8, slices.Min[[]float32]) }
	}
}

// The kernels take numbers eight at a time, and the portable ones the rest.

func readAVX2(dst []float32, src []byte, products bool) {
	n := len(dst) &^ 7
	switch {
	case n == 0:
	case products:
		readProducts8(&dst[0], &src[0], n/8)
	default:
		read8(&dst[0], &src[0], n/8)
	}
	readPortable(dst[n:], src[2*n:], products)
}

func writeAVX2(dst []uint16, src []float32) {
	n := len(src) &^ 7
	if n > 0 {
		write8(&dst[0], &src[0], n/8)
	}
	writePortable(dst[n:], src[n:])
}

func finishAVX2(dst, src []float32, f Finish) {
	n := len(src) &^ 7
	if n > 0 {
		finish8(&dst[0], &src[0], n/8, f.Bias, f.Add, f.Scale, f.Limit, f.Floor)
	}
	finishPortable(dst[n:], src[n:], f)
}

// storeBytes copies: the processor is little-endian.
func storeBytes(dst []byte, src []uint16) {
	copy(dst, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(src))), 2*len(src)))
}

func zeroNaNAVX2(v []float32) {
	n := len(v) &^ 7
	if n > 0 {
		zeroNaN8(&v[0], n/8)
	}
	zeroNaNPortable(v[n:])
}

// extreme returns the largest or the smallest number.
func extreme(v []float32, kernel func(acc, v *float32, n int), of func([]float32) float32) float32 {
	n := len(v) &^ 7
	if n == 0 {
		return of(v)
	}
	var all [16]float32
	copy(all[:8], v)
	kernel(&all[0], &v[0], n/8)
	return of(all[:8+copy(all[8:], v[n:])])
}

func addAVX2(v, b []float32, sign float32) { combineAVX2(v, b, sign, add8, addPortable) }

func multiplyAVX2(v, b []float32, sign float32) { combineAVX2(v, b, sign, multiply8, multiplyPortable) }

func combineAVX2(v, b []float32, sign float32, kernel func(v, b *float32, step uintptr, sign float32, n int),
	rest func(v, b []float32, sign float32)) {
	n := len(v) &^ 7
	switch {
	case n == 0:
	case len(b) == 1:
		all := [8]float32{b[0], b[0], b[0], b[0], b[0], b[0], b[0], b[0]}
		kernel(&v[0], &all[0], 0, sign, n/8)
	default:
		kernel(&v[0], &b[0], 32, sign, n/8)
	}
	if len(b) > 1 {
		b = b[n:]
	}
	rest(v[n:], b, sign)
}
