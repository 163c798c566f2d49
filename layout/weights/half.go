package weights

import "math"

// FromHalf widens fp16 bits; exact.
func FromHalf(h uint16) float64 {
	exp, man := int(h>>10&0x1f), float64(h&0x3ff)
	var v float64
	switch exp {
	case 0:
		v = math.Ldexp(man, -24)
	case 31:
		v = math.Inf(1)
		if man != 0 {
			v = math.NaN()
		}
	default:
		v = math.Ldexp(man+1024, exp-25)
	}
	if h&0x8000 != 0 {
		v = -v
	}
	return v
}

// ToHalf rounds to fp16, nearest, ties to even, in one step from binary64.
func ToHalf(v float64) uint16 {
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
		return sign | uint16(math.RoundToEven(math.Ldexp(v, 24)))
	}
	frac, exp := math.Frexp(v)                      // v = frac * 2^exp, frac in [0.5, 1)
	m := uint16(math.RoundToEven(frac*2048)) - 1024 // 1024 carries into the exponent
	return sign | (uint16(exp+14)<<10 + m)
}
