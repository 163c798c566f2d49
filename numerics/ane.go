package numerics

import "math"

// The scalar rules of the mode ANE. Each takes and returns fp32 values that fp16 can represent; results are already
// rounded by the output port unless stated otherwise. Figures are measured behaviour of the engine unless marked
// "modelled".

const (
	// MACLimit is the magnitude from which the output of a matrix product or a
	// convolution of several taps becomes infinity; 32752 is the largest that passes.
	MACLimit = 32768
	// LogOfZero is the engine's result for log(+0).
	LogOfZero = -45440
	// ExpLimit is the smallest fp16 value whose exponential is infinity.
	ExpLimit = 11.09375
	// WidthSliceLimit is the magnitude from which a value becomes infinity in a
	// slice of the width axis with a nonzero begin: the copy multiplies by 16 in
	// a fixed-point format that ends at 65535.
	WidthSliceLimit = 4096
)

var inf32 = float32(math.Inf(1))

// In is the input port: NaN is read as +infinity, -0 as +0 (so that 1/-0 is
// +infinity).
func In(x float32) float32 {
	if x != x {
		return inf32
	}
	if x == 0 {
		return 0
	}
	return x
}

// Out is the output port of elementwise operations, reductions and convolutions of one
// tap and one channel: one rounding to fp16; a NaN, which the engine never produces,
// is +0; the sign of zero is dropped.
func Out(x float32) float32 {
	if x != x {
		return 0
	}
	if x = Round16(x); x == 0 {
		return 0
	}
	return x
}

// OutMAC is the output port of matrix products and other convolutions: Out,
// with magnitudes of MACLimit and above made infinite after rounding.
func OutMAC(x float32) float32 {
	x = Out(x)
	switch {
	case x >= MACLimit:
		return inf32
	case x <= -MACLimit:
		return -inf32
	}
	return x
}

// MACIn is the input port of the multiply-accumulate: In, with fp16 subnormals flushed to zero.
func MACIn(x float32) float32 {
	x = In(x)
	if x < MinNormalFP16 && x > -MinNormalFP16 {
		return 0
	}
	return x
}

// MACProduct is one product on its way to the accumulator: 0*inf is +0.
func MACProduct(a, b float32) float32 {
	p := a * b
	if p != p {
		return 0
	}
	return p
}

// MACSum is one addition of the accumulator: the sum of infinities of both signs is +0.
func MACSum(a, b float32) float32 {
	s := a + b
	if s != s {
		return 0
	}
	return s
}

// WidthSlice returns what a slice of the width axis with a nonzero begin makes of a value: magnitudes from
// WidthSliceLimit on become infinity.
func WidthSlice(x float32) float32 {
	switch {
	case x >= WidthSliceLimit:
		return inf32
	case x <= -WidthSliceLimit:
		return -inf32
	}
	return x
}

// Sqrt is the engine's square root: negative arguments give +0.
func Sqrt(x float32) float32 { return Out(float32(math.Sqrt(float64(In(x))))) }

// Rsqrt is 1/sqrt(x): negative arguments give +0, both zeros +infinity.
func Rsqrt(x float32) float32 { return Out(float32(1 / math.Sqrt(float64(In(x))))) }

// Inverse is 1/x: +infinity for both zeros.
func Inverse(x float32) float32 { return Out(1 / In(x)) }

// Log is the natural logarithm: LogOfZero for both zeros, +0 for negative arguments, and +0 for +infinity, as in the
// recorded table of log2.
func Log(x float32) float32 {
	x = In(x)
	switch {
	case x == 0:
		return LogOfZero
	case x < 0, x == inf32:
		return 0
	}
	return Out(float32(math.Log(float64(x))))
}

// Exp is the exponential: infinity from ExpLimit on.
func Exp(x float32) float32 {
	x = In(x)
	if x >= ExpLimit {
		return inf32
	}
	return Out(float32(math.Exp(float64(x))))
}

// Softplus is log(1+exp(x)), and 0 for +infinity, which is the table's output above its high bound.
func Softplus(x float32) float32 {
	x = In(x)
	if math.IsInf(float64(x), 1) {
		return 0
	}
	return Out(float32(math.Max(float64(x), 0) + math.Log1p(math.Exp(-math.Abs(float64(x))))))
}

// Softsign is x/(1+|x|); 0 for both infinities (infinity over infinity).
func Softsign(x float32) float32 {
	x = In(x)
	return Out(float32(float64(x) / (1 + math.Abs(float64(x)))))
}
