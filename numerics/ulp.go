package numerics

import "math"

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
