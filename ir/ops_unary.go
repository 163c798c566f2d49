package ir

import (
	"math"

	"github.com/zinc-compiler/zinc/numerics"
)

// Elementwise operations on one tensor.
var (
	OpAbs = &Operation{
		Name: "abs", Class: Pointwise, Error: numerics.Movement, Doc: "Absolute value.",
		Curve: &Curve{F: of(math.Abs), Extrema: at(0)},
	}
	OpAcos = &Operation{
		Name: "acos", Class: Pointwise, Error: numerics.Table, Gate: Never, Doc: "Arc cosine.",
		Curve: &Curve{F: of(math.Acos), Domain: unitRange, Extrema: monotone},
	}
	OpAsin = &Operation{
		Name: "asin", Class: Pointwise, Error: numerics.Table, Gate: Never, Doc: "Arc sine.",
		Curve: &Curve{F: of(math.Asin), Domain: unitRange, Extrema: monotone},
	}
	OpAtan = &Operation{
		Name: "atan", Class: Pointwise, Error: numerics.Table, Doc: "Arc tangent.",
		Curve: &Curve{F: of(math.Atan), Extrema: monotone, Table: "atan"},
	}
	OpAtanh = &Operation{
		Name: "atanh", Class: Pointwise, Error: numerics.Table, Gate: Never, Doc: "Inverse hyperbolic tangent.",
		Curve: &Curve{F: of(math.Atanh), Domain: unitRange, Extrema: monotone},
	}
	OpCeil = &Operation{
		Name: "ceil", Class: Pointwise, Error: numerics.Movement, Doc: "Smallest integer >= x.",
		Curve: &Curve{F: of(math.Ceil), Extrema: monotone},
	}
	OpCos = &Operation{
		Name: "cos", Class: Pointwise, Error: numerics.Table, Gate: A15, Doc: "Cosine.",
		Curve:   &Curve{F: of(math.Cos)},
		Instead: "use a table of constants if the argument is a position, as in position embeddings",
	}
	OpCosh = &Operation{
		Name: "cosh", Class: Pointwise, Error: numerics.Table, Gate: Never, Doc: "Hyperbolic cosine.",
		Curve: &Curve{F: of(math.Cosh), Extrema: at(0)},
	}
	OpErf = &Operation{
		Name: "erf", Class: Pointwise, Error: numerics.Table, Gate: A13, Doc: "Gauss error function.",
		Curve: &Curve{F: of(math.Erf), Extrema: monotone, Table: "erf"},
	}
	OpExp = &Operation{
		Name: "exp", Class: Pointwise, Error: numerics.Table, Doc: "e to the power x.",
		Curve: &Curve{F: of(math.Exp), Extrema: monotone, Table: "exp", Relative: true, ZeroTail: true},
	}
	OpExp2 = &Operation{
		Name: "exp2", Class: Pointwise, Error: numerics.Table, Gate: A13, Doc: "2 to the power x.",
		Curve: &Curve{F: of(math.Exp2), Extrema: monotone, Table: "exp2", Relative: true, ZeroTail: true},
	}
	OpFloor = &Operation{
		Name: "floor", Class: Pointwise, Error: numerics.Movement, Doc: "Largest integer <= x.",
		Curve: &Curve{F: of(math.Floor), Extrema: monotone},
	}
	OpRound = &Operation{
		Name: "round", Class: Pointwise, Error: numerics.Movement, Doc: "Nearest integer, halves to even.",
		Curve: &Curve{F: of(math.RoundToEven), Extrema: monotone},
	}
	OpSign = &Operation{
		Name: "sign", Class: Pointwise, Error: numerics.Movement, Doc: "-1, 0 or 1 by the sign of x.",
		Curve: &Curve{F: of(sign), Extrema: monotone},
	}
	OpSin = &Operation{
		Name: "sin", Class: Pointwise, Error: numerics.Table, Gate: A15, Doc: "Sine.",
		Curve:   &Curve{F: of(math.Sin)},
		Instead: "use a table of constants if the argument is a position, as in position embeddings",
	}
	OpSinh = &Operation{
		Name: "sinh", Class: Pointwise, Error: numerics.Table, Gate: Never, Doc: "Hyperbolic sine.",
		Curve: &Curve{F: of(math.Sinh), Extrema: monotone},
	}
	OpSqrt = &Operation{
		Name: "sqrt", Class: Pointwise, Error: numerics.Rounded, Gate: A13, Doc: "Square root.",
		Curve: &Curve{F: of(math.Sqrt), Domain: notNegative, Extrema: monotone, Table: "sqrt"},
	}
	OpSquare = &Operation{
		Name: "square", Class: Pointwise, Error: numerics.Rounded, Doc: "x times x.",
		Curve: &Curve{F: of(func(x float64) float64 { return x * x }), Extrema: at(0)},
	}
	OpTan = &Operation{
		Name: "tan", Class: Pointwise, Error: numerics.Table, Gate: Never, Doc: "Tangent.",
		Curve: &Curve{F: of(math.Tan)},
	}
	OpTanh = &Operation{
		Name: "tanh", Class: Pointwise, Error: numerics.Table, Gate: A11Legacy, Doc: "Hyperbolic tangent.",
		Curve: &Curve{F: of(math.Tanh), Extrema: monotone, Table: "tanh"},
	}
	OpRelu = &Operation{
		Name: "relu", Class: Pointwise, Gate: A11Legacy, Picks: ofX, Doc: "x where positive, else 0.",
		Curve: &Curve{F: of(relu), Extrema: monotone},
	}
	OpRelu6 = &Operation{
		Name: "relu6", Class: Pointwise, Error: numerics.Movement, Doc: "x clamped to 0 and 6.",
		Curve: &Curve{F: of(func(x float64) float64 { return math.Min(relu(x), 6) }), Extrema: monotone},
	}
	OpSigmoid = &Operation{
		Name: "sigmoid", Class: Pointwise, Error: numerics.Table, Gate: A11Legacy, Doc: "1 / (1 + exp(-x)).",
		Curve: &Curve{F: of(logistic), Extrema: monotone, Table: "sigmoid", ZeroTail: true},
	}
	OpSilu = &Operation{
		Name: "silu", Class: Pointwise, Error: numerics.Table, Gate: A11Legacy, Doc: "x times its sigmoid.",
		Curve: &Curve{F: of(silu), Extrema: at(-1.278464535395666), Table: "silu"},
	}
	OpSoftplus = &Operation{
		Name: "softplus", Class: Pointwise, Error: numerics.Table, Doc: "log(1 + exp(x)).",
		Curve: &Curve{F: of(softplus), Extrema: monotone, Table: "softplus", ZeroTail: true},
	}
	OpSoftsign = &Operation{
		Name: "softsign", Class: Pointwise, Error: numerics.Rounded, Doc: "x / (1 + |x|).",
		Curve: &Curve{
			F:       of(func(x float64) float64 { return x / (1 + math.Abs(x)) }),
			Extrema: monotone,
		},
	}
	OpInverse = &Operation{
		Name: "inverse", Class: Pointwise, Error: numerics.Rounded, Doc: "1 / (x + epsilon).",
		Curve: &Curve{
			F: func(x float64, a []float64) float64 { return 1 / (x + a[0]) }, Params: epsilon, Shift: true,
			Table: "reciprocal",
		},
	}
	OpLog = &Operation{
		Name: "log", Class: Pointwise, Error: numerics.Rounded, Doc: "Natural logarithm of x + epsilon.",
		Curve: &Curve{
			F: func(x float64, a []float64) float64 { return math.Log(x + a[0]) }, Params: epsilon, Shift: true,
			Domain: notNegative, Extrema: monotone, Table: "log",
		},
	}
	OpRsqrt = &Operation{
		Name: "rsqrt", Class: Pointwise, Error: numerics.Rounded, Gate: A13, Doc: "1 / sqrt(x + epsilon).",
		Curve: &Curve{
			F: func(x float64, a []float64) float64 { return 1 / math.Sqrt(x+a[0]) }, Params: epsilon, Shift: true,
			Domain: notNegative, Extrema: monotone, Table: "rsqrt",
		},
	}
	OpLogicalNot = &Operation{
		Name: "logical_not", Class: Pointwise, Error: numerics.Movement, Doc: "x negated.",
		Curve: &Curve{F: of(func(x float64) float64 { return 1 - x }), Extrema: monotone},
	}
	OpCast = &Operation{
		Name: "cast", Class: Pointwise, Error: numerics.Rounded,
		Doc: "x converted to another element type; floats are truncated towards zero for integers.",
	}
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
