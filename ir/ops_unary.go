package ir

import (
	"math"

	"github.com/zinc-compiler/zinc/numerics"
)

// Elementwise operations on one tensor.
var (
	OpAbs = newOp("abs", Pointwise, "Absolute value.").err(numerics.Movement).
		curve(Curve{F: of(math.Abs), Extrema: at(0)})
	OpAcos = newOp("acos", Pointwise, "Arc cosine.").err(numerics.Table).gate(Never).
		curve(Curve{F: of(math.Acos), Domain: unitRange, Extrema: monotone})
	OpAsin = newOp("asin", Pointwise, "Arc sine.").err(numerics.Table).gate(Never).
		curve(Curve{F: of(math.Asin), Domain: unitRange, Extrema: monotone})
	OpAtan = newOp("atan", Pointwise, "Arc tangent.").err(numerics.Table).
		curve(Curve{F: of(math.Atan), Extrema: monotone, Table: "atan"})
	OpAtanh = newOp("atanh", Pointwise, "Inverse hyperbolic tangent.").err(numerics.Table).gate(Never).
		curve(Curve{F: of(math.Atanh), Domain: unitRange, Extrema: monotone})
	OpCeil = newOp("ceil", Pointwise, "Smallest integer >= x.").err(numerics.Movement).
		curve(Curve{F: of(math.Ceil), Extrema: monotone})
	OpCos = newOp("cos", Pointwise, "Cosine.").err(numerics.Table).gate(A15).
		instead("use a table of constants if the argument is a position, as in position embeddings").
		curve(Curve{F: of(math.Cos)})
	OpCosh = newOp("cosh", Pointwise, "Hyperbolic cosine.").err(numerics.Table).gate(Never).
		curve(Curve{F: of(math.Cosh), Extrema: at(0)})
	OpErf = newOp("erf", Pointwise, "Gauss error function.").err(numerics.Table).gate(A13).
		curve(Curve{F: of(math.Erf), Extrema: monotone, Table: "erf"})
	OpExp = newOp("exp", Pointwise, "e to the power x.").err(numerics.Table).
		curve(Curve{F: of(math.Exp), Extrema: monotone, Table: "exp", Relative: true, ZeroTail: true})
	OpExp2 = newOp("exp2", Pointwise, "2 to the power x.").err(numerics.Table).gate(A13).
		curve(Curve{F: of(math.Exp2), Extrema: monotone, Table: "exp2", Relative: true, ZeroTail: true})
	OpFloor = newOp("floor", Pointwise, "Largest integer <= x.").err(numerics.Movement).
		curve(Curve{F: of(math.Floor), Extrema: monotone})
	OpRound = newOp("round", Pointwise, "Nearest integer, halves to even.").err(numerics.Movement).
		curve(Curve{F: of(math.RoundToEven), Extrema: monotone})
	OpSign = newOp("sign", Pointwise, "-1, 0 or 1 by the sign of x.").err(numerics.Movement).
		curve(Curve{F: of(sign), Extrema: monotone})
	OpSin = newOp("sin", Pointwise, "Sine.").err(numerics.Table).gate(A15).
		instead("use a table of constants if the argument is a position, as in position embeddings").
		curve(Curve{F: of(math.Sin)})
	OpSinh = newOp("sinh", Pointwise, "Hyperbolic sine.").err(numerics.Table).gate(Never).
		curve(Curve{F: of(math.Sinh), Extrema: monotone})
	OpSqrt = newOp("sqrt", Pointwise, "Square root.").err(numerics.Rounded).gate(A13).
		curve(Curve{F: of(math.Sqrt), Domain: notNegative, Extrema: monotone, Table: "sqrt"})
	OpSquare = newOp("square", Pointwise, "x times x.").err(numerics.Rounded).
			curve(Curve{F: of(func(x float64) float64 { return x * x }), Extrema: at(0)})
	OpTan  = newOp("tan", Pointwise, "Tangent.").err(numerics.Table).gate(Never).curve(Curve{F: of(math.Tan)})
	OpTanh = newOp("tanh", Pointwise, "Hyperbolic tangent.").err(numerics.Table).gate(A11Legacy).
		curve(Curve{F: of(math.Tanh), Extrema: monotone, Table: "tanh"})
	OpRelu = newOp("relu", Pointwise, "x where positive, else 0.").gate(A11Legacy).picks(ofX...).
		curve(Curve{F: of(relu), Extrema: monotone})
	OpRelu6 = newOp("relu6", Pointwise, "x clamped to 0 and 6.").err(numerics.Movement).
		curve(Curve{F: of(func(x float64) float64 { return math.Min(relu(x), 6) }), Extrema: monotone})
	OpSigmoid = newOp("sigmoid", Pointwise, "1 / (1 + exp(-x)).").err(numerics.Table).gate(A11Legacy).
			curve(Curve{F: of(logistic), Extrema: monotone, Table: "sigmoid", ZeroTail: true})
	OpSilu = newOp("silu", Pointwise, "x times its sigmoid.").err(numerics.Table).gate(A11Legacy).
		curve(Curve{F: of(silu), Extrema: at(-1.278464535395666), Table: "silu"})
	OpSoftplus = newOp("softplus", Pointwise, "log(1 + exp(x)).").err(numerics.Table).
			curve(Curve{F: of(softplus), Extrema: monotone, Table: "softplus", ZeroTail: true})
	OpSoftsign = newOp("softsign", Pointwise, "x / (1 + |x|).").err(numerics.Rounded).
			curve(Curve{F: of(func(x float64) float64 { return x / (1 + math.Abs(x)) }), Extrema: monotone})
	OpInverse = newOp("inverse", Pointwise, "1 / (x + epsilon).").err(numerics.Rounded).
			curve(Curve{Params: epsilon, Shift: true, Table: "reciprocal",
			F: func(x float64, a []float64) float64 { return 1 / (x + a[0]) }})
	OpLog = newOp("log", Pointwise, "Natural logarithm of x + epsilon.").err(numerics.Rounded).
		curve(Curve{Params: epsilon, Shift: true, Domain: notNegative, Extrema: monotone, Table: "log",
			F: func(x float64, a []float64) float64 { return math.Log(x + a[0]) }})
	OpRsqrt = newOp("rsqrt", Pointwise, "1 / sqrt(x + epsilon).").err(numerics.Rounded).gate(A13).
		curve(Curve{Params: epsilon, Shift: true, Domain: notNegative, Extrema: monotone, Table: "rsqrt",
			F: func(x float64, a []float64) float64 { return 1 / math.Sqrt(x+a[0]) }})
	OpLogicalNot = newOp("logical_not", Pointwise, "x negated.").err(numerics.Movement).
			curve(Curve{F: of(func(x float64) float64 { return 1 - x }), Extrema: monotone})
	OpCast = newOp("cast", Pointwise,
		"x converted to another element type; floats are truncated towards zero for integers.").err(numerics.Rounded)
)

// unaryForms are the forms of the operations above.
func unaryForms() (out forms) {
	plain := func(types DTypes, os ...*Operation) {
		for _, o := range os {
			out.add(&OpDef{
				Operation: o,
				Params:    params(in(ParamX, types).as("T")),
				Infer:     sameAsX,
				Fold:      foldCurve(o.Curve),
			})
		}
	}
	plain(clsNum, OpAbs, OpExp2, OpSign, OpSquare)
	plain(clsFloat, OpAcos, OpAsin, OpAtan, OpAtanh, OpCeil, OpCos, OpCosh, OpErf, OpExp, OpFloor, OpRound, OpSin,
		OpSinh,
		OpSqrt, OpTan, OpTanh, OpRelu, OpRelu6, OpSigmoid, OpSilu, OpSoftplus, OpSoftsign)
	for _, r := range []struct {
		*Operation
		epsilon float64
	}{{OpInverse, 1e-4}, {OpLog, 1e-45}, {OpRsqrt, 1e-12}} {
		d := &OpDef{Operation: r.Operation,
			Params: params(in(ParamX, clsFloat).as("T"), in(ParamEpsilon, clsFloat).as("T").fixed().or(r.epsilon)),
			Infer:  sameAsX, Fold: foldCurve(r.Curve)}
		out.add(d, d.since("ios17", func(d *OpDef) { d.letter("U", ParamEpsilon) }))
	}
	out.add(&OpDef{Operation: OpLogicalNot, Params: params(in(ParamX, clsBool)), Infer: sameAsX,
		Fold: foldCurve(OpLogicalNot.Curve)})

	cast := &OpDef{Operation: OpCast, Params: params(in(ParamX, clsNumB), stringP(ParamDType)),
		Infer: func(op *Op) ([]Type, error) {
			t, err := needDType(op, ParamDType, op.Def.Params[0].Types)
			if err != nil {
				return nil, err
			}
			return one(op.Arg(ParamX).Type.WithDType(t))
		}, Fold: foldCast}
	out.add(cast, cast.since("ios17", func(d *OpDef) { d.types(clsSmallB, ParamX) }))
	return out
}
