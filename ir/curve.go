package ir

import "math"

// Curve is the function of one number that an operation applies to each element of x.
type Curve struct {
	// F is the function; a contains the values of Params.
	F func(x float64, a []float64) float64
	// Params are the constant arguments of F: one number each, or with Channels one number per channel.
	Params   []ParamName
	Channels bool
	// Shift reports that F first adds its only parameter to x.
	Shift bool
	// Domain is the least and the greatest x for which F is defined, nil if F is defined for every number.
	Domain *[2]float64
	// Extrema returns the x at which F changes direction or jumps; F is monotone between them. It is nil for a function
	// with poles or infinitely many extrema.
	Extrema func(a []float64) []float64
	// Table names the function of layout/weights whose lookup table computes F on the engine, "" for
	// none. Relative reports that the error of the table is relative to the value, ZeroTail that the
	// table ends in 0 where F is small and positive.
	Table              string
	Relative, ZeroTail bool
}

// CurveOf returns the function of an operation, nil if it has none or its mode is not known.
func CurveOf(op *Op) *Curve {
	if op.Def.Modes == nil {
		return op.Def.Curve
	}
	mode, _ := ArgString(op, ParamMode)
	return op.Def.Modes[mode]
}

// of returns the F of a Curve without parameters.
func of(f func(x float64) float64) func(x float64, a []float64) float64 {
	return func(x float64, _ []float64) float64 { return f(x) }
}

// The functions below return no extrema, extrema at fixed numbers, or one just below the first parameter.
func monotone([]float64) []float64 { return nil }

func at(xs ...float64) func(a []float64) []float64 {
	return func([]float64) []float64 { return xs }
}

func atAlpha(a []float64) []float64 { return []float64{math.Nextafter(a[0], math.Inf(-1)), a[0]} }

var (
	alphaOnly = []ParamName{ParamAlpha}
	alphaBeta = []ParamName{ParamAlpha, ParamBeta}
	epsilon   = []ParamName{ParamEpsilon}

	unitRange   = &[2]float64{-1, 1}
	notNegative = &[2]float64{0, math.Inf(1)}
)

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}

func relu(x float64) float64 { return math.Max(x, 0) }

func logistic(x float64) float64 {
	if x < 0 {
		e := math.Exp(x)
		return e / (1 + e)
	}
	return 1 / (1 + math.Exp(-x))
}

func silu(x float64) float64 {
	if math.IsInf(x, -1) {
		return 0
	}
	return x * logistic(x)
}

func softplus(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

func gelu(x float64) float64 {
	if math.IsInf(x, -1) {
		return 0
	}
	return 0.5 * x * math.Erfc(-x/math.Sqrt2)
}

func geluTanh(x float64) float64 {
	if math.IsInf(x, -1) {
		return 0
	}
	return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

func geluSigmoid(x float64) float64 { return silu(1.702*x) / 1.702 }

func leaky(x float64, a []float64) float64 {
	if x >= 0 {
		return x
	}
	return a[0] * x
}

// clamp limits x to the range from a[0] to a[1]; if they cross, the result is a[1].
func clamp(x float64, a []float64) float64 { return math.Min(math.Max(x, a[0]), a[1]) }
