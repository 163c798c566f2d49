package ir

import (
	"math"

	"github.com/zinc-compiler/zinc/numerics"
)

// Activations with parameters.
var (
	OpClip = newOp("clip", Pointwise, "x clamped to alpha and beta.").picks(ofX...).
		curve(Curve{F: clamp, Params: alphaBeta, Extrema: func(a []float64) []float64 { return a[:2] }})
	OpThreshold = newOp("threshold", Pointwise, "The larger of x and alpha.").err(numerics.Movement).
			curve(Curve{Params: alphaOnly, Extrema: atAlpha,
			F: func(x float64, a []float64) float64 { return math.Max(x, a[0]) }})
	OpElu = newOp("elu", Pointwise, "x where positive, else alpha (exp(x) - 1).").err(numerics.Table).
		curve(Curve{Params: alphaOnly, Extrema: at(0), Table: "elu", F: func(x float64, a []float64) float64 {
			if x > 0 {
				return x
			}
			return a[0] * math.Expm1(x)
		}})
	OpLeakyRelu = newOp("leaky_relu", Pointwise, "x where not negative, else alpha x.").err(numerics.Rounded).
			curve(Curve{F: leaky, Params: alphaOnly, Extrema: at(0), Table: "leaky_relu"})
	OpThresholdedRelu = newOp("thresholded_relu", Pointwise, "x where at least alpha, else 0.").err(numerics.Movement).
				curve(Curve{Params: alphaOnly, Extrema: atAlpha, F: func(x float64, a []float64) float64 {
			if x >= a[0] {
				return x
			}
			return 0
		}})
	OpClampedRelu = newOp("clamped_relu", Pointwise, "Leaky relu with slope alpha, at most beta.").
			err(numerics.Rounded).
			curve(Curve{Params: alphaBeta,
			Extrema: func(a []float64) []float64 { return []float64{0, a[1], a[1] / a[0]} },
			F:       func(x float64, a []float64) float64 { return math.Min(leaky(x, a), a[1]) }})
	OpLinearActivation = newOp("linear_activation", Pointwise, "alpha x + beta.").err(numerics.Rounded).
				curve(Curve{Params: alphaBeta, Extrema: monotone,
			F: func(x float64, a []float64) float64 { return float64(a[0]*x) + a[1] }})
	OpScaledTanh = newOp("scaled_tanh", Pointwise, "alpha tanh(beta x).").err(numerics.Table).
			curve(Curve{Params: alphaBeta, Extrema: monotone, Table: "scaled_tanh",
			F: func(x float64, a []float64) float64 { return a[0] * math.Tanh(a[1]*x) }})
	OpSigmoidHard = newOp("sigmoid_hard", Pointwise, "alpha x + beta clamped to 0 and 1.").err(numerics.Rounded).
			curve(Curve{Params: alphaBeta, Extrema: monotone, Table: "sigmoid_hard",
			F: func(x float64, a []float64) float64 { return clamp(float64(a[0]*x)+a[1], []float64{0, 1}) }})
	OpPrelu = newOp("prelu", Pointwise, "x where not negative, else alpha x, with one alpha per channel.").
		err(numerics.Rounded).curve(Curve{F: leaky, Params: alphaOnly, Channels: true, Extrema: at(0)})
	OpSoftplusParametric = newOp("softplus_parametric", Pointwise,
		"alpha log(1 + exp(beta x)), with one alpha and beta per channel.").err(numerics.Table).
		curve(Curve{Params: alphaBeta, Channels: true, Extrema: monotone,
			F: func(x float64, a []float64) float64 { return a[0] * softplus(a[1]*x) }})
	OpGelu = newOp("gelu", Pointwise,
		"x times the normal distribution function of x, exact or approximated according to mode.").
		err(numerics.Table).gate(A11Legacy).modes(map[string]*Curve{
		"EXACT":              {F: of(gelu), Extrema: at(-0.7517915260427106), Table: "gelu"},
		"TANH_APPROXIMATION": {F: of(geluTanh), Extrema: at(-0.7524614111202768), Table: "gelu_tanh_approximation"},
		"SIGMOID_APPROXIMATION": {F: of(geluSigmoid), Extrema: at(-0.7511542405844529),
			Table: "gelu_sigmoid_approximation"},
	})
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
