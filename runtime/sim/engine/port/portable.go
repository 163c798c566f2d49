package port

import (
	"encoding/binary"
	"math"
	"sync"
)

// Magnitudes, as bits of fp32, between which fp16 has its normal numbers: 2^-14, and 2^16, which is past the largest.
const (
	leastNormal = 0x38800000
	pastNormal  = 0x47800000
)

func readPortable(dst []float32, src []byte, products bool) {
	table := Values(products)
	for i := range dst {
		dst[i] = table[binary.LittleEndian.Uint16(src[2*i:])]
	}
}

// tables returns what Values returns. It computes them when they are first read: most commands run no task, and
// processors with other kernels read them for the ends of rows alone.
var tables = sync.OnceValues(func() (values, products *[1 << 16]float32) {
	values, products = new([1 << 16]float32), new([1 << 16]float32)
	for i := range values {
		f := Widen(uint16(i))
		if f != f {
			f = float32(math.Inf(1))
		}
		values[i] = f
		if i&0x7c00 != 0 {
			products[i] = f
		}
	}
	return values, products
})

func writePortable(dst []uint16, src []float32) {
	for i, f := range src {
		// It is short for the usual numbers, so that the loop contains it.
		if b := math.Float32bits(f); b&0x7fffffff-leastNormal < pastNormal-leastNormal {
			dst[i] = normal(b)
		} else {
			dst[i] = Round(f)
		}
	}
}

// normal rounds the bits of a magnitude from leastNormal to before pastNormal. Rounding may carry into the exponent,
// which is correct.
func normal(b uint32) uint16 {
	m := b & 0x7fffffff
	return uint16(b>>16&0x8000) | uint16((m+0xfff+m>>13&1)>>13-112<<10)
}

func storePortable(dst []byte, src []uint16) {
	for i, h := range src {
		binary.LittleEndian.PutUint16(dst[2*i:], h)
	}
}

func finishPortable(dst, src []float32, f Finish) {
	for i, a := range src {
		y := (a + f.Bias + f.Add) * f.Scale
		if !(y < f.Limit && y > -f.Limit) { // if any step has no value, the last has none either
			switch y = fix(fix(fix(fix(a)+f.Bias)+f.Add) * f.Scale); {
			case y >= f.Limit:
				y = float32(math.Inf(1))
			case y <= -f.Limit:
				y = float32(math.Inf(-1))
			}
		}
		if y <= f.Floor { // of two zeros, the one of Floor
			y = f.Floor
		}
		dst[i] = y
	}
}

func fix(f float32) float32 {
	if f != f {
		return 0
	}
	return f
}

func zeroNaNPortable(v []float32) {
	for i, f := range v {
		if f != f {
			v[i] = 0
		}
	}
}

func addPortable(v, b []float32, sign float32) {
	combine(v, b, sign, func(f, g float32) float32 { return f + g })
}

func multiplyPortable(v, b []float32, sign float32) {
	combine(v, b, sign, func(f, g float32) float32 { return f * g })
}

func combine(v, b []float32, sign float32, op func(f, g float32) float32) {
	step := 1
	if len(b) == 1 {
		step = 0
	}
	for i, f := range v {
		v[i] = fix(op(f, float32(sign*b[i*step])))
	}
}
