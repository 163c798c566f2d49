package ir

import (
	"math"

	"github.com/zinc-compiler/zinc/numerics"
)

// Activations with parameters.
var (
	OpClip = &Operation{
		Name: "clip", Class: Pointwise, Picks: ofX, Doc: "x clamped to alpha and beta.",
		Curve: &Curve{F: clamp, Params: alphaBeta, Extrema: func(a []float64) []float64 { return a[:2] }},
	}
	OpThreshold = &Operation{
		Name: "threshold", Class: Pointwise, Error: numerics.Movement, Doc: "The larger of x and alpha.",
		Curve: &Curve{
			F: func(x float64, a []float64) float64 { return math.Max(x, a[0]) }, Params: alphaOnly, Extrema: atAlpha,
		},
	}
	OpElu = &Operation{
		Name: "elu", Class: Pointwise, Error: numerics.Table, Doc: "x where positive, else alpha (exp(x) - 1).",
		Curve: &Curve{Params: alphaOnly, Extrema: at(0), Table: "elu", F: func(x float64, a []float64) float64 {
			if x > 0 {
				return x
			}
			return a[0] * math.Expm1(x)
		}},
	}
	OpLeakyRelu = &Operation{
		Name: "leaky_relu", Class: Pointwise, Error: numerics.Rounded, Doc: "x where not negative, else alpha x.",
		Curve: &Curve{F: leaky, Params: alphaOnly, Extrema: at(0), Table: "leaky_relu"},
	}
	OpThresholdedRelu = &Operation{
		Name: "thresholded_relu", Class: Pointwise, Error: numerics.Movement, Doc: "x where at least alpha, else 0.",
		Curve: &Curve{Params: alphaOnly, Extrema: atAlpha, F: func(x float64, a []float64) float64 {
			if x >= a[0] {
				return x
			}
			return 0
		}},
	}
	OpClampedRelu = &Operation{
		Name: "clamped_relu", Class: Pointwise, Error: numerics.Rounded,
		Doc: "Leaky relu with slope alpha, at most beta.",
		Curve: &Curve{
			F:      func(x float64, a []float64) float64 { return math.Min(leaky(x, a), a[1]) },
			Params: alphaBeta, Extrema: func(a []float64) []float64 { return []float64{0, a[1], a[1] / a[0]} },
		},
	}
	OpLinearActivation = &Operation{
		Name: "linear_activation", Class: Pointwise, Error: numerics.Rounded, Doc: "alpha x + beta.",
		Curve: &Curve{
			F:      func(x float64, a []float64) float64 { return float64(a[0]*x) + a[1] },
			Params: alphaBeta, Extrema: monotone,
		},
	}
	OpScaledTanh = &Operation{
		Name: "scaled_tanh", Class: Pointwise, Error: numerics.Table, Doc: "alpha tanh(beta x).",
		Curve: &Curve{
			F:      func(x float64, a []float64) float64 { return a[0] * math.Tanh(a[1]*x) },
			Params: alphaBeta, Extrema: monotone, Table: "scaled_tanh",
		},
	}
	OpSigmoidHard = &Operation{
		Name: "sigmoid_hard", Class: Pointwise, Error: numerics.Rounded,
		Doc: "alpha x + beta clamped to 0 and 1.",
		Curve: &Curve{
			F:      func(x float64, a []float64) float64 { return clamp(float64(a[0]*x)+a[1], []float64{0, 1}) },
			Params: alphaBeta, Extrema: monotone, Table: "sigmoid_hard",
		},
	}
	OpPrelu = &Operation{
		Name: "prelu", Class: Pointwise, Error: numerics.Rounded,
		Doc:   "x where not negative, else alpha x, with one alpha per channel.",
		Curve: &Curve{F: leaky, Params: alphaOnly, Channels: true, Extrema: at(0)},
	}
	OpSoftplusParametric = &Operation{
		Name: "softplus_parametric", Class: Pointwise, Error: numerics.Table,
		Doc: "alpha log(1 + exp(beta x)), with one alpha and beta per channel.",
		Curve: &Curve{
			F:      func(x float64, a []float64) float64 { return a[0] * softplus(a[1]*x) },
			Params: alphaBeta, Channels: true, Extrema: monotone,
		},
	}
	OpGelu = &Operation{
		Name: "gelu", Class: Pointwise, Error: numerics.Table, Gate: A11Legacy,
		Doc: "x times the normal distribution function of x, exact or approximated according to mode.",
		Modes: map[string]*Curve{
			"EXACT": {F: of(gelu), Extrema: at(-0.7517915260427106), Table: "gelu"},
			"TANH_APPROXIMATION": {
				F: of(geluTanh), Extrema: at(-0.7524614111202768), Table: "gelu_tanh_approximation",
			},
			"SIGMOID_APPROXIMATION": {
				F: of(geluSigmoid), Extrema: at(-0.7511542405844529), Table: "gelu_sigmoid_approximation",
			},
		},
	}
)

// activationForms are the forms of the operations above.
func activationForms() (out forms) {
	for _, o := range []*Operation{OpClip, OpElu, OpLeakyRelu, OpThresholdedRelu, OpClampedRelu, OpLinearActivation,
		OpScaledTanh, OpSigmoidHard, OpPrelu, OpSoftplusParametric} {
		d := &OpDef{Operation: o, Params: params(in(ParamX, clsFloat).as("T")), Infer: sameAsX}
		for _, p := range o.Curve.Params {
			d.Params = append(d.Params, in(p, clsFloat).as("T").fixed())
		}
		if o.Curve.Channels {
			d.Infer, d.Params[0] = inferChannelParams, d.Params[0].rank(3, 5)
		} else {
			d.Fold = foldCurve(o.Curve)
		}
		out.add(d, d.since("ios17", func(d *OpDef) { d.letter("U", ParamAlpha, ParamBeta) }))
	}
	out.add(
		&OpDef{Operation: OpThreshold, Infer: sameAsX, Fold: foldCurve(OpThreshold.Curve),
			Params: params(in(ParamX, clsNum).as("T"), in(ParamAlpha, clsNum).as("T").fixed())},
		&OpDef{Operation: OpGelu, Infer: sameAsX, Params: params(in(ParamX, clsFloat).as("T"), stringP(ParamMode).
			oneOf("EXACT", "TANH_APPROXIMATION", "SIGMOID_APPROXIMATION").or("EXACT"))})
	return out
}

// inferChannelParams checks that alpha and beta are vectors with one element per channel of x.
func inferChannelParams(op *Op) ([]Type, error) {
	c := op.Arg(ParamX).Type.Shape[1]
	for _, n := range []ParamName{ParamAlpha, ParamBeta} {
		if err := vectorOf(op, n, c, "the channels of x"); err != nil {
			return nil, err
		}
	}
	return sameAsX(op)
}
