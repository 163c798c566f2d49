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
		{name: "abs", class: clsNum, f: math.Abs, doc: "Absolute value."},
		{name: "acos", class: clsFloat, f: math.Acos, doc: "Arc cosine."},
		{name: "asin", class: clsFloat, f: math.Asin, doc: "Arc sine."},
		{name: "atan", class: clsFloat, f: math.Atan, doc: "Arc tangent."},
		{name: "atanh", class: clsFloat, f: math.Atanh, doc: "Inverse hyperbolic tangent."},
		{name: "ceil", class: clsFloat, f: math.Ceil, doc: "Smallest integer not below x."},
		{name: "cos", class: clsFloat, f: math.Cos, doc: "Cosine."},
		{name: "cosh", class: clsFloat, f: math.Cosh, doc: "Hyperbolic cosine."},
		{name: "erf", class: clsFloat, f: math.Erf, doc: "Gauss error function."},
		{name: "exp", class: clsFloat, f: math.Exp, doc: "e to the power x."},
		{name: "exp2", class: clsNum, f: math.Exp2, doc: "2 to the power x."},
		{name: "floor", class: clsFloat, f: math.Floor, doc: "Largest integer not above x."},
		{name: "round", class: clsFloat, f: roundHalfEven, doc: "Nearest integer, halves to the even one."},
		{name: "sign", class: clsNum, f: sign, doc: "-1, 0 or 1 by the sign of x."},
		{name: "sin", class: clsFloat, f: math.Sin, doc: "Sine."},
		{name: "sinh", class: clsFloat, f: math.Sinh, doc: "Hyperbolic sine."},
		{name: "sqrt", class: clsFloat, f: math.Sqrt, doc: "Square root."},
		{name: "square", class: clsNum, f: func(x float64) float64 { return x * x }, doc: "x times x."},
		{name: "tan", class: clsFloat, f: math.Tan, doc: "Tangent."},
		{name: "tanh", class: clsFloat, f: math.Tanh, doc: "Hyperbolic tangent."},
		{name: "relu", class: clsFloat, f: func(x float64) float64 {
			return math.Max(x, 0)
		}, doc: "x where positive, else 0."},
		{name: "relu6", class: clsFloat, f: func(x float64) float64 {
			return math.Min(math.Max(x, 0), 6)
		}, doc: "x held between 0 and 6."},
		{name: "sigmoid", class: clsFloat, f: logistic, doc: "1 / (1 + exp(-x))."},
		{name: "silu", class: clsFloat, f: func(x float64) float64 {
			return x * logistic(x)
		}, doc: "x times its sigmoid."},
		{name: "softplus", class: clsFloat, f: func(x float64) float64 {
			return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x)))
		}, doc: "log(1 + exp(x))."},
		{name: "softsign", class: clsFloat, f: func(x float64) float64 {
			return x / (1 + math.Abs(x))
		}, doc: "x / (1 + |x|)."},
	} {
		register(&OpDef{
			Name:   r.name,
			Doc:    r.doc,
			Params: params(in("x", r.class).as("T")),
			Infer:  sameAsX,
			Fold:   foldUnary(r.f),
		})
	}
	register(&OpDef{Name: "logical_not", Doc: "The opposite of x.", Params: params(in("x", clsBool)), Infer: sameAsX,
		Fold: foldUnary(func(x float64) float64 { return 1 - x })})

	clip := &OpDef{Name: "clip", Doc: "x held between alpha and beta.",
		Params: params(in("x", clsFloat).as("T"), in("alpha", clsFloat).as("T").fixed(), in("beta", clsFloat).as("T").
			fixed()),
		Infer: sameAsX,
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
		{name: "inverse", eps: 1e-4, f: func(x float64, a []float64) float64 {
			return 1 / (x + a[0])
		}, doc: "1 / (x + epsilon)."},
		{name: "log", eps: 1e-45, f: func(x float64, a []float64) float64 {
			return math.Log(x + a[0])
		}, doc: "Natural logarithm of x + epsilon."},
		{name: "rsqrt", eps: 1e-12, f: func(x float64, a []float64) float64 {
			return 1 / math.Sqrt(x+a[0])
		}, doc: "1 / sqrt(x + epsilon)."},
	} {
		d := &OpDef{Name: r.name, Doc: r.doc,
			Params: params(in("x", clsFloat).as("T"), in("epsilon", clsFloat).as("T").fixed().or(r.eps)),
			Infer:  sameAsX, Fold: foldUnaryArgs([]string{"epsilon"}, r.f)}
		register(d, d.since("ios17", func(d *OpDef) { d.letter("U", "epsilon") }))
	}

	cast := &OpDef{Name: "cast", Doc: "x with another element type; floats are truncated towards zero on the way " +
		"to integers.",
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
