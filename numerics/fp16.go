package numerics

import (
	"math"
	"sync"

	"github.com/x448/float16"

	"github.com/zinc-compiler/zinc/numerics/vector"
)

// MinNormalFP16 is the smallest normal fp16 value, 2^-14.
const MinNormalFP16 = 1.0 / 16384

// widenTable returns the fp32 value of every fp16 bit pattern: 256 KB, which a
// second-level cache holds, for one load an element.
var widenTable = sync.OnceValue(func() *[1 << 16]float32 {
	t := new([1 << 16]float32)
	for i := range t {
		t[i] = float16.Frombits(uint16(i)).Float32()
	}
	return t
})

// Widen returns the value of an fp16 bit pattern. A NaN keeps its payload.
func Widen(h uint16) float32 { return widenTable()[h] }

// WidenBytes fills dst from packed little-endian fp16 and returns the number
// of elements converted: the smaller of len(dst) and len(src)/2.
func WidenBytes(dst []float32, src []byte) int { return vector.Widen(dst, src) }

// Narrow rounds to fp16, to nearest, ties to even. Magnitudes of 65520 and
// above become infinity; a NaN stays a quiet NaN with the top of its payload.
//
// The bits agree with x448/float16 and with the F16C instructions.
func Narrow(f float32) uint16 {
	u := math.Float32bits(f)
	sign := uint16(u>>16) & 0x8000
	a := u & 0x7fffffff
	switch {
	case a >= 0x47800000: // 65536 and above, infinity, NaN
		if a > 0x7f800000 {
			return sign | 0x7e00 | uint16(a>>13)&0x3ff
		}
		return sign | 0x7c00
	case a >= 0x38800000: // at least 2^-14: a normal result (or infinity by the carry)
		// Rebias by 112 exponents, add just under half a last place plus the
		// last kept bit: a tie carries only from an odd significand.
		return sign | uint16((a-0x38000000+0xfff+(a>>13)&1)>>13)
	default: // subnormal or zero
		// 0.5 has a last place of 2^-24, that of fp16 subnormals: adding it lets
		// the adder round to nearest even, and the low bits are the answer.
		return sign | uint16(math.Float32bits(math.Float32frombits(a)+0.5)-0x3f000000)
	}
}

// NarrowBytes packs src as little-endian fp16 into dst and returns the number
// of elements converted: the smaller of len(src) and len(dst)/2.
func NarrowBytes(dst []byte, src []float32) int { return vector.Narrow(dst, src) }

// Round16 rounds f to the nearest fp16 value.
func Round16(f float32) float32 { return Widen(Narrow(f)) }
