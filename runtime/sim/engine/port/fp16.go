package port

import "math"

// Widen returns the value of a pattern of fp16.
func Widen(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp, man := uint32(h>>10&31), uint32(h&0x3ff)
	switch exp {
	case 0:
		// man * 2^-24 is exact.
		v := float32(man) / (1 << 24)
		return math.Float32frombits(math.Float32bits(v) | sign)
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | man<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | man<<13)
}

// Narrow rounds to the nearest fp16, ties to even, as IEEE 754 has it.
func Narrow(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b >> 16 & 0x8000)
	b &= 0x7fffffff
	switch {
	case b >= pastNormal: // 65536 and more, infinity, NaN
		if b > 0x7f800000 {
			return sign | 0x7e00
		}
		return sign | 0x7c00
	case b < leastNormal: // below 2^-14: the fp16 spacing is 2^-24
		// Adding 0.5 puts the value in units of 2^-24 in the low bits, rounded to nearest even by the addition itself.
		v := math.Float32frombits(b) + 0.5
		return sign | uint16(math.Float32bits(v)-0x3f000000)
	}
	return sign | normal(b)
}

// Round rounds one number as Write does.
func Round(f float32) uint16 {
	if f != f {
		return 0
	}
	if h := Narrow(f); h != 0x8000 {
		return h
	}
	return 0
}

// Values returns what Read reads for every pattern.
func Values(products bool) *[1 << 16]float32 {
	values, multiplied := tables()
	if products {
		return multiplied
	}
	return values
}
