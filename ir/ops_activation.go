package ir

import "math"

// alphaRow describes an activation with constant parameters.
type alphaRow struct {
	name  string
	alpha bool // takes alpha
	beta  bool // takes beta too
	f     func(x float64, a []float64) float64
	doc   string
}

func init() {
	for _, r := range []alphaRow{
		{name: "elu", alpha: true, beta: false, f: func(x float64, a []float64) float64 {
			if x > 0 {
				return x
			}
			return a[0] * math.Expm1(x)
		}, doc: "x where positive, else alpha (exp(x) - 1)."},
		{name: "leaky_relu", alpha: true, beta: false, f: func(x float64, a []float64) float64 {
			if x >= 0 {
				return x
			}
			return a[0] * x
		}, doc: "x where not negative, else alpha x."},
		{name: "thresholded_relu", alpha: true, beta: false, f: func(x float64, a []float64) float64 {
			if x >= a[0] {
				return x
			}
			return 0
		}, doc: "x where at least alpha, else 0."},
		{name: "clamped_relu", alpha: true, beta: true, f: func(x float64, a []float64) float64 {
			if x < 0 {
				x *= a[0]
			}
			return math.Min(x, a[1])
		}, doc: "Leaky relu of slope alpha, not above beta."},
		{name: "linear_activation", alpha: true, beta: true, f: func(x float64, a []float64) float64 {
			return a[0]*x + a[1]
		}, doc: "alpha x + beta."},
		{name: "scaled_tanh", alpha: true, beta: true, f: func(x float64, a []float64) float64 {
			return a[0] * math.Tanh(a[1]*x)
		}, doc: "alpha tanh(beta x)."},
		{name: "sigmoid_hard", alpha: true, beta: true, f: func(x float64, a []float64) float64 {
			return math.Min(math.Max(a[0]*x+a[1], 0), 1)
		}, doc: "alpha x + beta held between 0 and 1."},
	} {
		ps, names := params(in("x", clsFloat).as("T"), in("alpha", clsFloat).as("T").fixed()), []string{"alpha"}
		if r.beta {
			ps, names = append(ps, in("beta", clsFloat).as("T").fixed()), append(names, "beta")
		}
		d := &OpDef{Name: r.name, Doc: r.doc, Params: ps, Infer: sameAsX, Fold: foldUnaryArgs(names, r.f)}
		register(d, d.since("ios17", func(d *OpDef) { d.letter("U", "alpha", "beta") }))
	}
	for _, r := range []alphaRow{
		{name: "prelu", doc: "x where not negative, else alpha of the channel times x."},
		{name: "softplus_parametric", beta: true, doc: "alpha log(1 + exp(beta x)), alpha and beta of the channel."},
	} {
		ps := params(in("x", clsFloat).as("T"), in("alpha", clsFloat).as("T").fixed())
		if r.beta {
			ps = append(ps, in("beta", clsFloat).as("T").fixed())
		}
		d := &OpDef{Name: r.name, Doc: r.doc, Params: ps, Infer: inferChannelParams}
		register(d, d.since("ios17", func(d *OpDef) { d.letter("U", "alpha", "beta") }))
	}

	register(&OpDef{Name: "gelu", Doc: "x times the normal distribution function of x, exact or approximated as " +
		"mode says.",
		Params: params(in("x", clsFloat).as("T"), stringP("mode").or("EXACT")),
		Infer: func(op *Op) ([]Type, error) {
			if _, err := needOneOf(op, "mode", "EXACT", "TANH_APPROXIMATION", "SIGMOID_APPROXIMATION"); err != nil {
				return nil, err
			}
			return sameAsX(op)
		}})
	register(&OpDef{Name: "softmax", Doc: "exp(x) divided by its sum along axis.",
		Params: params(in("x", clsFloat).as("T"), intP("axis").or(int64(-1))),
		Infer: func(op *Op) ([]Type, error) {
			if _, err := AxisAttr(op, "axis", op.Arg("x").Type.Rank()); err != nil {
				return nil, err
			}
			return sameAsX(op)
		}})
}

// inferChannelParams checks that alpha and beta are vectors of x's channels.
func inferChannelParams(op *Op) ([]Type, error) {
	if err := rankIn(op, "x", 3, 5); err != nil {
		return nil, err
	}
	c := op.Arg("x").Type.Shape[1]
	for _, n := range []string{"alpha", "beta"} {
		if err := vectorOf(op, n, c, "the channels of x"); err != nil {
			return nil, err
		}
	}
	return sameAsX(op)
}
