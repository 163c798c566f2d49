package ir

import "math"

// unaryRow describes an elementwise operation on one tensor.
type unaryRow struct {
	name  string
	class Class
	f     func(x float64) float64 // result is rounded once to x's type
	doc   string
}

func roundHalfEven(x float64) float64 { return math.RoundToEven(x) }

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func init() {
	for _, r := range []unaryRow{
		{"abs", clsNum, math.Abs, "Absolute value."},
		{"acos", clsFloat, math.Acos, "Arc cosine."},
		{"asin", clsFloat, math.Asin, "Arc sine."},
		{"atan", clsFloat, math.Atan, "Arc tangent."},
		{"atanh", clsFloat, math.Atanh, "Inverse hyperbolic tangent."},
		{"ceil", clsFloat, math.Ceil, "Smallest integer not below x."},
		{"cos", clsFloat, math.Cos, "Cosine."},
		{"cosh", clsFloat, math.Cosh, "Hyperbolic cosine."},
		{"erf", clsFloat, math.Erf, "Gauss error function."},
		{"exp", clsFloat, math.Exp, "e to the power x."},
		{"exp2", clsNum, math.Exp2, "2 to the power x."},
		{"floor", clsFloat, math.Floor, "Largest integer not above x."},
		{"round", clsFloat, roundHalfEven, "Nearest integer, halves to the even one."},
		{"sign", clsNum, sign, "-1, 0 or 1 by the sign of x."},
		{"sin", clsFloat, math.Sin, "Sine."},
		{"sinh", clsFloat, math.Sinh, "Hyperbolic sine."},
		{"sqrt", clsFloat, math.Sqrt, "Square root."},
		{"square", clsNum, func(x float64) float64 { return x * x }, "x times x."},
		{"tan", clsFloat, math.Tan, "Tangent."},
		{"tanh", clsFloat, math.Tanh, "Hyperbolic tangent."},
		{"relu", clsFloat, func(x float64) float64 { return math.Max(x, 0) }, "x where positive, else 0."},
		{"relu6", clsFloat, func(x float64) float64 { return math.Min(math.Max(x, 0), 6) }, "x held between 0 and 6."},
		{"sigmoid", clsFloat, logistic, "1 / (1 + exp(-x))."},
		{"silu", clsFloat, func(x float64) float64 { return x * logistic(x) }, "x times its sigmoid."},
		{"softplus", clsFloat, func(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }, "log(1 + exp(x))."},
		{"softsign", clsFloat, func(x float64) float64 { return x / (1 + math.Abs(x)) }, "x / (1 + |x|)."},
	} {
		register(&OpDef{Name: r.name, Doc: r.doc, Params: params(in("x", r.class).as("T")), Infer: sameAsX, Fold: foldUnary(r.f)})
	}
	register(&OpDef{Name: "logical_not", Doc: "The opposite of x.", Params: params(in("x", clsBool)), Infer: sameAsX,
		Fold: foldUnary(func(x float64) float64 { return 1 - x })})

	clip := &OpDef{Name: "clip", Doc: "x held between alpha and beta.",
		Params: params(in("x", clsFloat).as("T"), in("alpha", clsFloat).as("T").fixed(), in("beta", clsFloat).as("T").fixed()),
		Infer:  sameAsX,
		Fold: foldUnaryArgs([]string{"alpha", "beta"}, func(x float64, a []float64) float64 {
			return math.Min(math.Max(x, a[0]), a[1])
		})}
	register(clip, clip.since("ios17", func(d *OpDef) { d.letter("U", "alpha", "beta") }))

	register(&OpDef{Name: "threshold", Doc: "The larger of x and alpha.",
		Params: params(in("x", clsNum).as("T"), in("alpha", clsNum).as("T").fixed()), Infer: sameAsX,
		Fold: foldUnaryArgs([]string{"alpha"}, func(x float64, a []float64) float64 { return math.Max(x, a[0]) })})

	for _, r := range []struct {
		name string
		eps  float64
		f    func(x float64, a []float64) float64
		doc  string
	}{
		{"inverse", 1e-4, func(x float64, a []float64) float64 { return 1 / (x + a[0]) }, "1 / (x + epsilon)."},
		{"log", 1e-45, func(x float64, a []float64) float64 { return math.Log(x + a[0]) }, "Natural logarithm of x + epsilon."},
		{"rsqrt", 1e-12, func(x float64, a []float64) float64 { return 1 / math.Sqrt(x+a[0]) }, "1 / sqrt(x + epsilon)."},
	} {
		d := &OpDef{Name: r.name, Doc: r.doc,
			Params: params(in("x", clsFloat).as("T"), in("epsilon", clsFloat).as("T").fixed().or(r.eps)),
			Infer:  sameAsX, Fold: foldUnaryArgs([]string{"epsilon"}, r.f)}
		register(d, d.since("ios17", func(d *OpDef) { d.letter("U", "epsilon") }))
	}

	cast := &OpDef{Name: "cast", Doc: "x with another element type; floats are truncated towards zero on the way to integers.",
		Params: params(in("x", clsNumB), stringP("dtype")),
		Infer: func(op *Op) ([]Type, error) {
			t, err := needDType(op, "dtype", op.Def.Params[0].Class)
			if err != nil {
				return nil, err
			}
			return one(op.Arg("x").Type.WithDType(t))
		}, Fold: foldCast}
	register(cast, cast.since("ios17", func(d *OpDef) { d.class(clsSmallB, "x") }))
}
