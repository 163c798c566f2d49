package weights

import (
	"fmt"
	"math"
	"sync"
)

// Activation is a table and the factors that a task needs with it.
type Activation struct {
	// Function is the name of F with its parameters, which are all that distinguishes functions of one name. It is ""
	// for functions that Activate does not build. Fixed reports that it has no parameters.
	Function string
	Fixed    bool
	Table    Table
	// Scale is the fp16 factor the engine applies before the table (register
	// 0x0c810); 0x3c00 is one.
	Scale uint16
	// After is the fp16 factor that another task applies after the table;
	// 0x3c00 is one.
	After uint16
	// F is the exact function of the input before scaling.
	F func(float64) float64
	// Low and High delimit the inputs the table serves.
	Low, High float64
}

// Worst is the table's error over its domain.
func (a *Activation) Worst() WorstCase {
	return worst(&a.Table, a.F, FromFP16(a.Scale), FromFP16(a.After), a.Low, a.High)
}

// At returns the engine's result for an input.
func (a *Activation) At(x float64) float64 {
	return FromFP16(between(a.Table.Eval, x, FromFP16(a.Scale), FromFP16(a.After)))
}

// function is one row of the table of functions.
type function struct {
	name   string
	params int
	make   func(p []float64) (Spec, error)
	// scale is applied before the table and after is applied after it; 0 means 1.
	scale, after float64
	// f is the exact function if it differs from the Spec's, as with factors.
	f func(float64) float64
	// low and high are the domain; if both are zero, all finite numbers.
	low, high float64
}

const maxFP16 = 65504

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
func gelu(x float64) float64    { return 0.5 * x * math.Erfc(-x/math.Sqrt2) }
func softplus(x float64) float64 {
	return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x)))
}

func geluTanh(x float64) float64 {
	c := math.Sqrt(2 / math.Pi)
	return 0.5 * x * (1 + math.Tanh(c*(x+0.044715*x*x*x)))
}

// plain makes the row of a function sampled around zero.
func plain(f func(float64) float64, step int, low, high Tail) func([]float64) (Spec, error) {
	return func([]float64) (Spec, error) {
		return Spec{F: f, Mode: ModePlain, Step: step, Low: low, High: high}, nil
	}
}

// symmetric builds the row of a function with f(-x) = -f(x), sampled from zero up.
func symmetric(f func(float64) float64, step int, high Tail) func([]float64) (Spec, error) {
	return func([]float64) (Spec, error) {
		return Spec{F: f, Mode: ModeOdd, Step: step, High: high}, nil
	}
}

// ofPositive makes the row of a function of positive numbers.
func ofPositive(f func(float64) float64, m Mode, step int, below, above float64) func([]float64) (Spec, error) {
	return func([]float64) (Spec, error) {
		return Spec{F: f, Mode: m, Step: step, Low: Hold(0, below, 0, 0), High: Hold(math.Inf(1), above, 0, 0)}, nil
	}
}

// functions contains every table that zinc can name. The steps of sigmoid, tanh, silu, gelu, exp2, reciprocal, sqrt,
// rsqrt and log2 are from recorded tables, as is that tanh ends at its last knot; the other parameterless ones in a
// plain or odd mode have the step of least worst error in 0..4, which the tests check. square has no row: the planar
// engine multiplies, and no table covers the range.
var functions = [...]function{
	{name: "sigmoid", make: plain(sigmoid, 1, Saturate(0), Saturate(1))},
	{name: "tanh", make: symmetric(math.Tanh, 3, Hold(4, 1, 0, 1))},
	{name: "silu", make: recordedSiLU.gated(func(x float64) float64 { return x * sigmoid(x) }, 1)},
	{name: "gelu", make: recordedGELU.gated(gelu, 2)},
	{name: "gelu_tanh_approximation", make: plain(geluTanh, 2, Saturate(0), Line(1, 1, 0))},
	{name: "gelu_sigmoid_approximation", make: plain(func(x float64) float64 {
		return x * sigmoid(1.702*x)
	}, 2, Saturate(0), Line(1, 1, 0))},
	{name: "erf", make: symmetric(math.Erf, 4, Saturate(1))},
	// 0 at infinity is measured.
	{name: "softplus", make: plain(softplus, 1, Saturate(0), Hold(math.Inf(1), 0, 1, 0))},
	{name: "exp2", make: exp2, low: -maxFP16, high: maxFP16},
	{name: "exp", make: exp2, scale: math.Log2E, f: math.Exp},
	{name: "reciprocal", make: ofPositive(func(x float64) float64 {
		return 1 / x
	}, ModeReciprocal, 6, math.Inf(1), 0), low: 0x1p-24, high: maxFP16},
	{name: "sqrt", make: ofPositive(math.Sqrt, ModeSqrt, 4, 0, math.Inf(1)), low: 0x1p-24, high: maxFP16},
	{name: "rsqrt", make: ofPositive(func(x float64) float64 {
		return 1 / math.Sqrt(x)
	}, ModeRsqrt, 4, math.Inf(1), 0), low: 0x1p-24, high: maxFP16},
	// Logarithms are factors after log2, whose table returns 0 at infinity.
	{name: "log2", make: log2, low: 0x1p-24, high: maxFP16},
	{name: "log", make: log2, after: math.Ln2, f: math.Log, low: 0x1p-24, high: maxFP16},
	{name: "log10", make: log2, after: math.Log10(2), f: math.Log10, low: 0x1p-24, high: maxFP16},
	// No range reduction is known, so the domain is the range of the knots: one period.
	{name: "sin", make: symmetric(math.Sin, 3, Hold(4, math.Sin(4), 0, 0)), low: -4, high: 4},
	{name: "cos", make: plain(math.Cos, 2, Hold(-4, math.Cos(-4), 0, 0), Hold(4, math.Cos(4), 0, 0)), low: -4, high: 4},
	{name: "atan", make: symmetric(math.Atan, 1, Saturate(math.Pi/2))},
	{name: "relu", make: func([]float64) (Spec, error) { return clip([]float64{0, math.Inf(1)}) }},
	{name: "relu6", make: func([]float64) (Spec, error) { return clip([]float64{0, 6}) }},
	{name: "clip", params: 2, make: clip},
	{name: "threshold", params: 1, make: func(p []float64) (Spec, error) { return clip([]float64{p[0], math.Inf(1)}) }},
	{name: "minimum", params: 1, make: func(p []float64) (Spec, error) { return clip([]float64{math.Inf(-1), p[0]}) }},
	{name: "leaky_relu", params: 1, make: leakyReLU},
	{name: "elu", params: 1, make: elu},
	{name: "sigmoid_hard", params: 2, make: hardSigmoid},
	{name: "scaled_tanh", params: 2, make: scaledTanh},
}

func log2([]float64) (Spec, error) {
	return ofPositive(math.Log2, ModeLog2, 6, math.Inf(-1), 0)(nil)
}

func exp2([]float64) (Spec, error) {
	// 2^-25 is half the smallest number and rounds to zero, 2^16 overflows.
	return Spec{F: math.Exp2, Mode: ModeExp2, Step: 5, Low: Hold(-25, 0, 0, 0), High: Hold(16, math.Inf(1), 0, 0)}, nil
}

// clip is the identity with bounds, which are exact: max(min(x, b), a).
func clip(p []float64) (Spec, error) {
	a, b := p[0], p[1]
	if a > b {
		return Spec{}, fmt.Errorf("weights: clip from %g to %g is empty", a, b)
	}
	return Spec{F: func(x float64) float64 { return x }, Exact: func(x float64) float64 { return max(min(x, b), a) },
		Mode: ModePlain, Step: LinesOnly, Low: Hold(a, a, 1, 0), High: Hold(b, b, 1, 0)}, nil
}

func leakyReLU(p []float64) (Spec, error) {
	a := p[0]
	return Spec{F: func(x float64) float64 {
		if x < 0 {
			return a * x
		}
		return x
	}, Mode: ModePlain, Step: LinesOnly, Low: Line(-1, a, 0), High: Line(1, 1, 0)}, nil
}

func elu(p []float64) (Spec, error) {
	a := p[0]
	return Spec{F: func(x float64) float64 {
		if x < 0 {
			return a * math.Expm1(x)
		}
		return x
	}, Mode: ModePlain, Step: 2, Low: Saturate(-a), High: Line(1, 1, 0)}, nil
}

// hardSigmoid is clip(alpha*x+beta, 0, 1): a line between two bounds.
func hardSigmoid(p []float64) (Spec, error) {
	a, b := p[0], p[1]
	if a == 0 || math.Abs(a) < 0x1p-14 {
		return Spec{}, fmt.Errorf("weights: sigmoid_hard slope is %g, want at least 2^-14 in size", a)
	}
	at0, at1 := -b/a, (1-b)/a
	line := func(x float64) float64 { return float64(a*x) + b }
	s := Spec{F: line, Exact: func(x float64) float64 {
		return max(min(line(x), 1), 0)
	}, Mode: ModePlain, Step: LinesOnly,
		Low: Hold(at0, 0, a, b), High: Hold(at1, 1, a, b)}
	if a < 0 {
		s.Low, s.High = Hold(at1, 1, a, b), Hold(at0, 0, a, b)
	}
	return s, nil
}

func scaledTanh(p []float64) (Spec, error) {
	a, b := p[0], p[1]
	if b == 0 {
		return Spec{}, fmt.Errorf("weights: scaled_tanh beta is 0")
	}
	step := 3
	for w := math.Abs(b); w >= math.Sqrt2 && step < 12; w /= 2 {
		step++
	}
	for w := math.Abs(b); w < math.Sqrt2/2 && step > 0; w *= 2 {
		step--
	}
	return Spec{
		F:    func(x float64) float64 { return a * math.Tanh(b*x) },
		Mode: ModeOdd,
		Step: step,
		High: Saturate(math.Copysign(a, a*b)),
	}, nil
}

// Activate builds the table of a named function: sigmoid, tanh, silu, gelu, gelu_tanh_approximation,
// gelu_sigmoid_approximation, erf, softplus, exp2, exp, reciprocal (positive inputs), sqrt, rsqrt, log, log2, log10,
// sin and cos (inputs in -4..4), atan, relu, relu6, clip(low, high), threshold(low), minimum(high), leaky_relu(slope),
// elu(scale), sigmoid_hard(alpha, beta), scaled_tanh(alpha, beta).
//
// Roots and logarithms of negative inputs are +0, as measured on the engine.
//
// An epsilon inside rsqrt, log or the reciprocal is the engine's bias before the table (register 0x0c80c) and not part
// of it; the factor of log and log10 belongs to another task after it.
func Activate(name string, params ...float64) (*Activation, error) {
	for i := range functions {
		fn := &functions[i]
		if fn.name != name {
			continue
		}
		if len(params) != fn.params {
			return nil, fmt.Errorf("weights: table %s has %d parameters, got %d", name, fn.params, len(params))
		}
		for j, p := range params {
			if math.IsNaN(p) || math.Abs(p) > maxFP16 {
				return nil, fmt.Errorf("weights: table %s parameter %d is %g, want an fp16 number", name, j, p)
			}
		}
		if fn.params > 0 {
			return fn.generate(params)
		}
		a, err := fixed[i]()
		if err != nil {
			return nil, err
		}
		own := *a
		return &own, nil
	}
	return nil, fmt.Errorf("weights: unknown table %q", name)
}

// fixed builds the table of each function without parameters once: the least squares of a table take longer than
// everything else about an activation.
var fixed = func() []func() (*Activation, error) {
	out := make([]func() (*Activation, error), len(functions))
	for i := range functions {
		out[i] = sync.OnceValues(func() (*Activation, error) { return functions[i].generate(nil) })
	}
	return out
}()

func (fn *function) generate(params []float64) (*Activation, error) {
	s, err := fn.make(params)
	if err != nil {
		return nil, err
	}
	t, err := Generate(s)
	if err != nil {
		return nil, fmt.Errorf("%w (table %s)", err, fn.name)
	}
	a := fn.activation(s, t)
	if a.Function, a.Fixed = fn.name, fn.params == 0; !a.Fixed {
		a.Function = fmt.Sprint(fn.name, params)
	}
	return a, nil
}

func (fn *function) activation(s Spec, t *Table) *Activation {
	a := &Activation{Table: *t, Scale: 0x3c00, After: 0x3c00, F: s.F, Low: fn.low, High: fn.high}
	if fn.scale != 0 {
		a.Scale = ToFP16(fn.scale)
	}
	if fn.after != 0 {
		a.After = ToFP16(fn.after)
	}
	if s.Exact != nil {
		a.F = s.Exact
	}
	if fn.f != nil {
		a.F = fn.f
	}
	if fn.low == 0 && fn.high == 0 {
		a.Low, a.High = -maxFP16, maxFP16
	}
	return a
}
