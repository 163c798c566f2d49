package numerics

import "math"

// order16 maps fp16 bits to integers that grow with the value; both zeros map
// to 0.
func order16(h uint16) int32 {
	if h&0x8000 != 0 {
		return -int32(h & 0x7fff)
	}
	return int32(h)
}

func isNaN16(h uint16) bool { return h&0x7fff > 0x7c00 }

// ULPDiff16 returns how many fp16 values are between a and b: 0 for equal
// values (both zeros are one value, and NaN equals NaN), 1 for neighbours.
// A NaN against a number is 1<<17, more than any two numbers differ by.
func ULPDiff16(a, b uint16) int {
	if isNaN16(a) || isNaN16(b) {
		if isNaN16(a) && isNaN16(b) {
			return 0
		}
		return 1 << 17
	}
	d := order16(a) - order16(b)
	if d < 0 {
		d = -d
	}
	return int(d)
}

// ULPDiff32 is ULPDiff16 for fp32; a NaN against a number is 1<<33.
func ULPDiff32(a, b float32) int64 {
	if a != a || b != b {
		if a != a && b != b {
			return 0
		}
		return 1 << 33
	}
	order := func(f float32) int64 {
		u := math.Float32bits(f)
		if u&(1<<31) != 0 {
			return -int64(u &^ (1 << 31))
		}
		return int64(u)
	}
	d := order(a) - order(b)
	if d < 0 {
		d = -d
	}
	return d
}

// ULP16 returns the spacing of fp16 values at |x|: 2^-24 for subnormals, 32 at
// the top of the range and beyond it; NaN for NaN.
func ULP16(x float32) float32 {
	switch u := math.Float32bits(x) &^ (1 << 31); {
	case u > 0x7f800000:
		return x
	case u < 0x38800000: // 2^-14
		return 1.0 / (1 << 24)
	case u >= 0x47000000: // 32768
		return 32
	default: // the power of two at or below |x|, ten places down
		return math.Float32frombits(u&0x7f800000 - 10<<23)
	}
}
