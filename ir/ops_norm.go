package ir

import "github.com/zinc-compiler/zinc/numerics"

// Normalizations.
var (
	OpSoftmax = newOp("softmax", Normalization, "exp(x) divided by its sum along axis.").err(numerics.Rounded).
			gate(A13)
	OpBatchNorm = newOp("batch_norm", Normalization,
		"gamma (x - mean) / sqrt(variance + epsilon) + beta per channel, with stored statistics.").
		err(numerics.Rounded).gate(A13)
	OpInstanceNorm = newOp("instance_norm", Normalization,
		"x normalised over its spatial dimensions, channel by channel.").err(numerics.Rounded).gate(A13)
	OpL2Norm = newOp("l2_norm", Normalization,
		"x divided by the root of the sum of squares over the last three dimensions, plus epsilon under the root.").
		err(numerics.Rounded)
	OpLayerNorm = newOp("layer_norm", Normalization,
		"x normalised over axes, then scaled by gamma and shifted by beta.").err(numerics.Rounded).gate(A13)
	OpLocalResponseNorm = newOp("local_response_norm", Normalization,
		"x divided by a power of the sum of squares over adjacent channels.").err(numerics.Rounded)
)

// inferChannelNorm checks vectors over the channels (dimension 1) of x.
func inferChannelNorm(op *Op) ([]Type, error) {
	c := op.Arg(ParamX).Type.Shape[1]
	for _, n := range []ParamName{ParamMean, ParamVariance, ParamGamma, ParamBeta} {
		if err := vectorOf(op, n, c, "the channels of x"); err != nil {
			return nil, err
		}
	}
	return sameAsX(op)
}

func inferLayerNorm(op *Op) ([]Type, error) {
	x := op.Arg(ParamX).Type
	as, err := LayerNormAxes(op)
	if err != nil {
		return nil, err
	}
	for _, n := range []ParamName{ParamGamma, ParamBeta} {
		v := op.Arg(n)
		if v == nil {
			continue
		}
		if v.Type.Rank() != len(as) {
			return nil, Rulef(n, "%s has rank %d, but axes has %d dimensions", n, v.Type.Rank(), len(as)).and(ParamAxes)
		}
		for i, a := range as {
			if !agree(v.Type.Shape[i], x.Shape[a]) {
				return nil, Rulef(n, "%s is %s, dimension %d of x is %d", n, ShapeString(v.Type.Shape), a,
					x.Shape[a]).and(ParamX)
			}
		}
	}
	return sameAsX(op)
}

// LayerNormAxes returns the axes of layer_norm in the order of the dimensions of gamma and beta;
// all axes if the argument is absent.
func LayerNormAxes(op *Op) ([]int, error) {
	rank := op.Arg(ParamX).Type.Rank()
	if op.Arg(ParamAxes) == nil {
		as := make([]int, rank)
		for i := range as {
			as[i] = i
		}
		return as, nil
	}
	v, err := needInts(op, ParamAxes)
	if err != nil {
		return nil, err
	}
	return axes(ParamAxes, v, rank)
}

// normForms are the forms of the operations above.
func normForms() (out forms) {
	// Real programs combine x in fp16 with epsilon in fp32, so epsilon has no type variable.
	eps := func(v float64) Param { return in(ParamEpsilon, clsFloat).fixed().or(v) }
	scale := func(name ParamName) Param { return in(name, clsFloat).as("T").fixed().opt() }
	mixed := func(d *OpDef) {
		d.letter("U", ParamMean, ParamVariance, ParamGamma, ParamBeta, ParamAlpha, ParamK)
	}
	for _, d := range []*OpDef{
		{Operation: OpBatchNorm,
			Params: params(in(ParamX, clsFloat).as("T").rank(3, 5), in(ParamMean, clsFloat).as("T").fixed(),
				in(ParamVariance, clsFloat).
					as("T").fixed(), scale(ParamGamma), scale(ParamBeta), eps(1e-5)),
			Infer: inferChannelNorm},
		{Operation: OpInstanceNorm,
			Params: params(in(ParamX, clsFloat).as("T").rank(3, 4), scale(ParamGamma), scale(ParamBeta), eps(1e-5)),
			Infer:  inferChannelNorm},
		{Operation: OpL2Norm,
			Params: params(in(ParamX, clsFloat).as("T").rank(3, maxRank), eps(1e-6)), Infer: sameAsX},
		{Operation: OpLayerNorm,
			Params: params(in(ParamX, clsFloat).as("T"), intP(ParamAxes).opt(), scale(ParamGamma), scale(ParamBeta),
				eps(1e-5)),
			Infer: inferLayerNorm},
		{Operation: OpLocalResponseNorm,
			Params: params(in(ParamX, clsFloat).as("T").rank(3, 5), intP(ParamSize),
				in(ParamAlpha, clsFloat).as("T").fixed().or(1e-4), in(ParamBeta, clsFloat).as("T").fixed().or(0.75),
				in(ParamK, clsFloat).as("T").fixed().or(1.0)),
			Infer: func(op *Op) ([]Type, error) {
				if n, err := needInt(op, ParamSize); err != nil || n < 1 {
					return nil, Rulef(ParamSize, "size must be at least 1")
				}
				return sameAsX(op)
			}},
	} {
		out.add(d, d.since("ios17", mixed))
	}
	out.add(&OpDef{Operation: OpSoftmax, Params: params(in(ParamX, clsFloat).as("T"), intP(ParamAxis).or(int64(-1))),
		Infer: inferAxis})
	return out
}
