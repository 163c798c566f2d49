package engine

import (
	"math"
	"sync"

	"github.com/zinc-compiler/zinc/runtime/sim/engine/port"
)

// The arithmetic of the engines of later generations, as it was measured on the M4 and the M6.

// unit is the accumulator's last place, as a number of places below the point.
const unit = 16

// accumulatorEnd is the magnitude, in last places, from which a sum is infinite.
const accumulatorEnd = portEnd << unit

// fixedValues contains the number of every fp16 pattern: the exponent of infinities and NaN is one above the largest.
var fixedValues = sync.OnceValue(func() *[1 << 16]float32 {
	t := new([1 << 16]float32)
	for i := range t {
		t[i] = port.Widen(uint16(i))
		if i&0x7c00 == 0x7c00 {
			t[i] = math.Float32frombits(uint32(i&0x8000)<<16 | 143<<23 | uint32(i&0x3ff)<<13)
		}
	}
	t[0x8000] = 0
	return t
})

// halfAway rounds to fp16, halves away from zero, and drops the sign of zero.
func halfAway(f float32) uint16 {
	b := math.Float32bits(f)
	sign, b := uint16(b>>16&0x8000), b&^signBit
	var h uint32
	switch {
	case b > 0x7f800000: // no number
		return 0
	case b >= 0x477ff000: // 65520
		return sign | 0x7c00
	case b >= 0x38800000: // 2^-14: fp32's last 13 places go, and its exponents begin 112 lower
		h = (b - 112<<23 + 1<<12) >> 13
	default:
		h = uint32(math.Floor(float64(math.Float32frombits(b))*(1<<24) + 0.5))
	}
	if h == 0 {
		return 0
	}
	return sign | uint16(h)
}

// fixedProduct returns a product of two numbers in last places of the accumulator, halves away from zero. It is 0 if
// the exponents of the factors add up to -17 or less; for subnormal numbers -14.
func fixedProduct(a, b float32) int64 {
	p := float64(a) * float64(b)
	if p < 0x1p-15 && p > -0x1p-15 && fp16Exponent(a)+fp16Exponent(b) <= -17 {
		return 0
	}
	p *= 1 << unit // exact
	if p < 0 {
		return int64(p - 0.5)
	}
	return int64(p + 0.5)
}

// fp16Exponent returns the exponent of a number of fp16.
func fp16Exponent(f float32) int { return max(int(math.Float32bits(f)>>23&0xff)-127, -14) }

// addFixed replaces each number of c, m rows of cols that are ldc apart, by the sum of it and of products: of the
// factors of a row of w, step numbers apart, and the numbers of b at the given positions, each col numbers after the
// one before it in the row. What is a single product has the range of elementwise work (open: no source measured it).
func addFixed(c []float32, ldc int, w []float32, ldw, step, m int, b []float32, at []int, cols, col int) {
	for i := range m {
		factors := w[i*ldw:]
		for j := range cols {
			x := &c[i*ldc+j]
			if len(at) == 1 {
				*x += float32(factors[0] * b[at[0]+j*col])
				continue
			}
			*x = accumulate(*x, factors, step, b[j*col:], at)
		}
	}
}

// accumulate adds products to a bias, one after another, and cuts the sum to fp32. A sum that leaves the range is
// infinite from then on.
func accumulate(bias float32, factors []float32, step int, b []float32, at []int) float32 {
	sum := fixedProduct(bias, 1)
	for l := 0; ; l++ {
		switch {
		case sum >= accumulatorEnd:
			return float32(math.Inf(1))
		case sum <= -accumulatorEnd:
			return float32(math.Inf(-1))
		case l == len(at):
			return cut(sum)
		}
		sum += fixedProduct(factors[l*step], b[at[l]])
	}
}

// cut returns a sum in fp32, without the digits that have no place there. They do not change how the eleven digits of
// fp16 are rounded with halves away from zero.
func cut(sum int64) float32 {
	v := float32(sum)
	if math.Abs(float64(v)) > math.Abs(float64(sum)) {
		v = math.Float32frombits(math.Float32bits(v) - 1)
	}
	return v / (1 << unit)
}
