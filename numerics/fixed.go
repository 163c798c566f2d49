package numerics

import "math"

// The scalar rules of the mode ANEFixed, which later engines have: what was measured on the M4 and the M6 (751K's
// study), where not stated otherwise.

// FixedBits is the number of fraction bits of the accumulator.
const FixedBits = 16

// fixedEnd is the magnitude from which a sum is infinite, in units of the accumulator.
const fixedEnd = MACLimit << FixedBits

// lostExponent is the largest sum of the exponents of two factors whose product counts as 0.
const lostExponent = -17

// FixedIn is the input port: the largest exponent is one as any other, so that infinity is 65536 and a NaN a number
// up to 131008. -0 is read as +0.
func FixedIn(h uint16) float32 {
	x := Widen(h)
	if x-x != 0 {
		x = (1 + float32(h&0x3ff)/1024) * 65536
		if h&0x8000 != 0 {
			x = -x
		}
	}
	return x + 0
}

// FixedOut is the output port: one rounding to fp16, halves away from zero. Magnitudes from 65520 on are infinite, and
// the sign of zero is dropped.
func FixedOut(x float32) float32 {
	switch {
	case x != x:
		return 0
	case x-x != 0:
		return x
	}
	_, e := math.Frexp(float64(x))
	unit := max(e-11, -24)
	r := math.Ldexp(math.Round(math.Ldexp(float64(x), -unit)), unit)
	if math.Abs(r) > 65504 {
		r = math.Copysign(math.Inf(1), r)
	}
	return float32(r) + 0
}

// FixedSum is the engine's multiply-accumulate for one output: a sum in fixed point with FixedBits fraction bits, to
// which products are added one at a time in the order of channels. A sum that leaves the range is infinite from then
// on.
type FixedSum struct {
	units int64
	over  float32 // the infinity that the sum has become, 0 for none
}

// NewFixedSum returns a sum that begins at a bias.
func NewFixedSum(bias float32) FixedSum {
	s := FixedSum{}
	s.add(float64(bias))
	return s
}

// Add adds the product of two operands that FixedIn returned.
func (s *FixedSum) Add(a, b float32) {
	if exponent(a)+exponent(b) > lostExponent {
		s.add(float64(a) * float64(b))
	}
}

func (s *FixedSum) add(x float64) {
	s.units += int64(math.Round(math.Ldexp(min(max(x, -1<<40), 1<<40), FixedBits)))
	if s.over == 0 && (s.units >= fixedEnd || s.units <= -fixedEnd) {
		s.over = float32(math.Inf(1))
		if s.units < 0 {
			s.over = -s.over
		}
	}
}

// Value returns the sum, cut to what fp32 represents: its first digits decide how the output port rounds it.
func (s *FixedSum) Value() float32 {
	if s.over != 0 {
		return s.over
	}
	exact := float64(s.units) / (1 << FixedBits)
	v := float32(exact)
	if math.Abs(float64(v)) > math.Abs(exact) {
		v = math.Nextafter32(v, 0)
	}
	return v
}

// exponent returns the exponent of a number of fp16, -14 of subnormal ones.
func exponent(x float32) int {
	_, e := math.Frexp(float64(x))
	return max(e-1, -14)
}
