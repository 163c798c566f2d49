package ir

import "github.com/zinc-compiler/zinc/numerics"

// Convolutions and pools.
var (
	OpConv = newOp("conv", Product,
		"Convolution over one to three spatial dimensions; weight is [C_out, C_in/groups, taps...].").
		err(numerics.Rounded).gate(A11Legacy)
	OpConvQuantized = newOp("conv_quantized", Product,
		"Convolution with weights of nbits bits, scaled and shifted per channel.")
	OpConvTranspose = newOp("conv_transpose", Product,
		"Transposed convolution; weight is [C_in, C_out/groups, taps...].").err(numerics.Rounded).gate(A11Legacy)
	OpAvgPool = newOp("avg_pool", Pooling, "Mean over windows.").err(numerics.Rounded).gate(A11Legacy)
	OpMaxPool = newOp("max_pool", Pooling, "Largest element of each window.").gate(A11Legacy).picks(ofX...)
	OpL2Pool  = newOp("l2_pool", Pooling, "Root of the sum of squares over windows.").err(numerics.Rounded)
)

func inferConv(op *Op) ([]Type, error) {
	c, err := ConvAttrs(op)
	if err != nil {
		return nil, err
	}
	x, w := op.Arg(ParamX).Type, op.Arg(ParamWeight).Type
	ci, co := x.Shape[1], w.Shape[0]
	switch {
	case ci >= 0 && ci%c.Groups != 0:
		return nil, Rulef(ParamGroups, "x has %d channels, not a multiple of groups = %d", ci, c.Groups).and(ParamX)
	case co%c.Groups != 0:
		return nil, Rulef(ParamGroups, "weight has %d output channels, not a multiple of groups = %d", co,
			c.Groups).and(ParamWeight)
	case ci >= 0 && w.Shape[1] != ci/c.Groups:
		return nil, Rulef(ParamWeight, "weight has %d input channels, x has %d with groups = %d", w.Shape[1], ci,
			c.Groups).and(ParamX)
	}
	if err := vectorOf(op, ParamBias, co, "the number of output channels"); err != nil {
		return nil, err
	}
	return one(x.WithShape(append([]int64{x.Shape[0], co}, c.Out...)...))
}

func inferConvTranspose(op *Op) ([]Type, error) {
	c, err := ConvAttrs(op)
	if err != nil {
		return nil, err
	}
	x, w := op.Arg(ParamX).Type, op.Arg(ParamWeight).Type
	ci, co := x.Shape[1], w.Shape[1]*c.Groups
	switch {
	case co > maxDim:
		return nil, Rulef(ParamGroups, "groups = %d results in %d output channels", c.Groups, co)
	case ci >= 0 && ci%c.Groups != 0:
		return nil, Rulef(ParamGroups, "x has %d channels, not a multiple of groups = %d", ci, c.Groups).and(ParamX)
	case ci >= 0 && w.Shape[0] != ci:
		return nil, Rulef(ParamWeight, "weight has %d input channels, x has %d", w.Shape[0], ci).and(ParamX)
	}
	if err := vectorOf(op, ParamBias, co, "the number of output channels"); err != nil {
		return nil, err
	}
	n := x.Shape[0]
	if s, ok := ArgInts(op, ParamOutputShape); ok && op.Arg(ParamOutputShape) != nil {
		if !agree(n, s[0]) || s[1] != co || s[0] < 1 {
			return nil, Rulef(ParamOutputShape,
				"output_shape starts with %d, %d; the result has batch %s and %d channels", s[0], s[1], dimString(n),
				co)
		}
		n = s[0]
	}
	return one(x.WithShape(append([]int64{n, co}, c.Out...)...))
}

// windowParams are the parameters common to all convolutions.
func windowParams() []Param {
	return params(intP(ParamStrides).opt(), stringP(ParamPadType).or("valid"), intP(ParamPad).opt(),
		intP(ParamDilations).opt(),
		intP(ParamGroups).or(int64(1)))
}

// convForms are the forms of the operations above.
func convForms() (out forms) {
	conv := &OpDef{Operation: OpConv,
		Params: append(params(in(ParamX, clsFloat).as("T"), in(ParamWeight, clsFloat).as("T"), in(ParamBias, clsFloat).
			as("T").
			fixed().opt()), windowParams()...),
		Infer: inferConv}
	out.add(conv, conv.since("ios17", func(d *OpDef) {
		d.letter("U", ParamWeight, ParamBias)
		d.Params[2].Const = false
	}))
	quantized := conv.since("", func(d *OpDef) {
		d.Operation = OpConvQuantized
		d.types(DTypesOf(UInt8), ParamWeight, ParamBias)
		d.letter("U", ParamWeight, ParamBias)
		d.Params = append(d.Params, stringP(ParamQuantizationType), intP(ParamNBits).or(int64(8)),
			in(ParamQuantScale, clsFloat).as("T").fixed(), in(ParamQuantBias, clsFloat).as("T").fixed())
	})
	out.add(quantized)

	ct := &OpDef{Operation: OpConvTranspose,
		Params: append(params(in(ParamX, clsFloat).as("T"), in(ParamWeight, clsFloat).as("T").fixed(),
			in(ParamBias, clsFloat).
				as("T").fixed().opt(), intP(ParamOutputShape).opt()), windowParams()...),
		Infer: inferConvTranspose}
	out.add(ct, ct.since("ios17", func(d *OpDef) {
		d.letter("U", ParamWeight, ParamBias)
		d.Params[1].Const, d.Params[2].Const = false, false
	}))

	for _, o := range []*Operation{OpAvgPool, OpMaxPool, OpL2Pool} {
		ps := params(in(ParamX, clsFloat).as("T"), intP(ParamKernelSizes), intP(ParamStrides).opt(),
			stringP(ParamPadType),
			intP(ParamPad).opt(), boolP(ParamCeilMode).or(false))
		if o == OpAvgPool {
			ps = append(ps, boolP(ParamExcludePaddingFromAverage).or(false))
		}
		out.add(&OpDef{Operation: o, Params: ps, Infer: func(op *Op) ([]Type, error) {
			p, err := PoolAttrs(op)
			if err != nil {
				return nil, err
			}
			x := op.Arg(ParamX).Type
			return one(x.WithShape(append([]int64{x.Shape[0], x.Shape[1]}, p.Out...)...))
		}})
	}
	return out
}
