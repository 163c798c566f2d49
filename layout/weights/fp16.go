package weights

import "math"

// mantissaShift is the number of bits by which a binary64 mantissa is longer than a mantissa of fp16; exponentBias is
// the difference of their exponents' biases.
const (
	mantissaShift = 52 - 10
	exponentBias  = 1023 - 15
)

// FromFP16 widens fp16 bits; the result is exact.
func FromFP16(h uint16) float64 {
	sign, exp, man := uint64(h&0x8000)<<48, uint64(h>>10&0x1f), uint64(h&0x3ff)
	switch exp {
	case 0:
		return math.Float64frombits(math.Float64bits(float64(man)*0x1p-24) | sign)
	case 31:
		if man != 0 {
			return math.NaN()
		}
		return math.Float64frombits(sign | 0x7ff<<52)
	}
	return math.Float64frombits(sign | (exp+exponentBias)<<52 | man<<mantissaShift)
}

// ToFP16 rounds to the nearest fp16, ties to even, in one step from binary64.
func ToFP16(v float64) uint16 {
	var sign uint16
	if math.Signbit(v) {
		sign, v = 0x8000, -v
	}
	switch {
	case math.IsNaN(v):
		return 0x7e00
	case v >= 65520: // halfway between the largest finite value and 2^16
		return sign | 0x7c00
	case v < 0x1p-14:
		// Denormals are multiples of 2^-24; 1024 of them is the first normal,
		// which has that very bit pattern.
		return sign | uint16(math.RoundToEven(v*0x1p24))
	}
	b := math.Float64bits(v)
	b += 1<<(mantissaShift-1) - 1 + b>>mantissaShift&1 // ties to even; carries into the exponent
	return sign | uint16(b>>mantissaShift-exponentBias<<10)
}
