package numerics

import (
	"math"
	"sync"

	"github.com/x448/float16"

	"github.com/zinc-compiler/zinc/numerics/vector"
)

// MinNormalFP16 is the smallest normal fp16 value, 2^-14.
const MinNormalFP16 = 1.0 / 16384

// widenTable returns the fp32 value of every fp16 bit pattern: 256 KB, which fits in a second-level cache, so that
// widening takes one load per element.
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

// Narrow rounds to fp16 as vector.ToFP16 does.
func Narrow(f float32) uint16 { return vector.ToFP16(f) }

// NarrowBytes packs src as little-endian fp16 into dst and returns the number
// of elements converted: the smaller of len(src) and len(dst)/2.
func NarrowBytes(dst []byte, src []float32) int { return vector.Narrow(dst, src) }

// ScaleBytes multiplies packed little-endian fp16 by a factor that fp16 can represent and rounds each product once;
// every NaN becomes the NaN of package math. It returns the number of elements: the smaller of len(dst)/2 and
// len(src)/2.
func ScaleBytes(dst, src []byte, factor float32) int { return vector.Scale(dst, src, factor) }

// Round16 rounds f to the nearest fp16 value.
func Round16(f float32) float32 {
	// In the range of normal numbers fp16 lacks the last 13 bits of fp32.
	if b := math.Float32bits(f); b&0x7fffffff-leastNormal < infinite-leastNormal {
		return math.Float32frombits((b + 0xfff + b>>13&1) &^ 0x1fff)
	}
	return Widen(Narrow(f))
}

// FP16 rounds a number of float64 to the nearest fp16 value, once.
func FP16(f float64) float64 {
	// Rounded to odd, fp32 keeps on which side of a middle between two fp16 values f is.
	x := float32(f)
	if w := float64(x); w != f && f-f == 0 {
		b := math.Float32bits(x)
		if math.Abs(w) > math.Abs(f) {
			b--
		}
		x = math.Float32frombits(b | 1)
	}
	return float64(Round16(x))
}

// Bits of fp32: the least normal number of fp16, 2^-14, and the least that rounds to its infinity, 65520.
const (
	leastNormal = 0x38800000
	infinite    = 0x477ff000
)
