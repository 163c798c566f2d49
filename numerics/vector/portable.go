package vector

import (
	"encoding/binary"
	"math"

	"github.com/x448/float16"
)

// addPortable is Add, for operands that were checked.
func addPortable(s Sum, c []float32, ldc int, a []float32, lda, m int, b []float32, at []int, n int) {
	for i := range m {
		c, a := c[i*ldc:][:n], a[i*lda:][:len(at)]
		if s == Staged {
			stagedRow(c, a, b, at)
			continue
		}
		for l, f := range a {
			for j, v := range b[at[l]:][:n] {
				// The conversion keeps compilers from fusing where fusing could change the result.
				c[j] += float32(f * v)
			}
		}
	}
}

// transposePortable copies none of the columns of a matrix that is stored by columns, and returns their number, 0.
func transposePortable([]float32, int, Matrix) int { return 0 }

// sumLimit is the magnitude from which a sum of Staged is infinite when another group
// arrives.
const sumLimit = 1 << 15

// stagedRow adds groups of four products to a row of sums. It is the definition of the
// first stage's arithmetic.
//
// A group begins with its first product. Each of the next three is added to the partial
// sum by an addition that aligns both to the larger of the two exponents and keeps
// twelve bits there (aligned). The partial sum is rounded to twelve bits and then added
// to the sum in fp32. A sum that has reached sumLimit when a group arrives is infinite
// from then on.
func stagedRow(c, a, b []float32, at []int) {
	for l := 0; l < len(a); l += 4 {
		var f [4]float32
		var from [4][]float32
		for i := range from {
			// A group of fewer than four products is filled with zeros.
			from[i] = b[at[min(l+i, len(a)-1)]:][:len(c)]
			if l+i < len(a) {
				f[i] = a[l+i]
			}
		}
		b0, b1, b2, b3 := from[0], from[1], from[2], from[3]
		for j, s := range c {
			part := float32(f[0] * b0[j])
			part = aligned(part, float32(f[1]*b1[j]))
			part = aligned(part, float32(f[2]*b2[j]))
			part = aligned(part, float32(f[3]*b3[j]))
			part = rounded(part)
			if s >= sumLimit {
				s = float32(math.Inf(1))
			} else if s <= -sumLimit {
				s = float32(math.Inf(-1))
			}
			c[j] = s + part
		}
	}
}

const exponentBits = 0x7f800000

// gridFactor is what a power of two is multiplied by so that adding the product rounds to the last of twelve bits below
// that power: the last bit of 1.5 * 2^12 times the power is 23 - 12 = 11 bits below it, and the half keeps the sum with
// a number of either sign between the powers of two around it.
const gridFactor = 1.5 * (1 << 12)

// aligned rounds two numbers, ties to even, to multiples of the last of twelve bits of the one with the larger
// exponent, and adds them. The numbers have at most 24 bits and the sum at most thirteen, so the last addition is
// exact.
func aligned(a, b float32) float32 {
	e := max(math.Float32bits(a)&exponentBits, math.Float32bits(b)&exponentBits)
	grid := float32(math.Float32frombits(e) * gridFactor)
	// Each addition rounds to the grid; the two grids have opposite signs and cancel.
	return (a + grid) + (b - grid)
}

// rounded rounds to twelve bits, ties to even.
func rounded(a float32) float32 {
	grid := float32(math.Float32frombits(math.Float32bits(a)&exponentBits) * gridFactor)
	return (a + grid) - grid
}

func widenPortable(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = fromFP16(binary.LittleEndian.Uint16(src[2*i:]))
	}
}

func narrowPortable(dst []byte, src []float32) {
	for i, f := range src {
		binary.LittleEndian.PutUint16(dst[2*i:], ToFP16(f))
	}
}

func scalePortable(dst, src []byte, factor float32) {
	for i := 0; i < len(src); i += 2 {
		h := ToFP16(fromFP16(binary.LittleEndian.Uint16(src[i:])) * factor)
		if h&0x7fff > 0x7c00 {
			h = 0x7e00
		}
		binary.LittleEndian.PutUint16(dst[i:], h)
	}
}

// fromFP16 returns the value of an fp16 pattern, a NaN as a quiet one.
func fromFP16(h uint16) float32 {
	f := float16.Frombits(h).Float32()
	if f != f {
		return math.Float32frombits(math.Float32bits(f) | quiet)
	}
	return f
}

// quiet is the bit of a NaN that does not signal.
const quiet = 1 << 22

// ToFP16 rounds to fp16, to nearest, ties to even. Magnitudes of 65520 and above become
// infinity; a NaN stays a quiet one with the top of its payload. The bits agree with
// x448/float16 and with the F16C instructions.
func ToFP16(f float32) uint16 {
	u := math.Float32bits(f)
	sign, a := uint16(u>>16)&0x8000, u&0x7fffffff
	switch {
	case a > exponentBits:
		return sign | 0x7e00 | uint16(a>>13)&0x3ff
	case a >= 0x47800000: // 65536
		return sign | 0x7c00
	case a >= 0x38800000: // at least 2^-14: the result is normal, or infinite through the carry
		// Rebias by 112 exponents, add just under half a last place plus the
		// last kept bit: a tie carries only from an odd significand.
		return sign | uint16((a-112<<23+0xfff+(a>>13)&1)>>13)
	}
	// Subnormal or zero: the last place of 0.5 is 2^-24, as for fp16 subnormals, so adding 0.5 rounds, and the low bits
	// are the result.
	return sign | uint16(math.Float32bits(math.Float32frombits(a)+0.5)-0x3f000000)
}
