package interp

import (
	"math"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
)

// param is an activation with one or two parameters, alpha and beta, each a scalar or one number per channel (axis 1).
type param struct {
	beta       bool // takes beta as well
	perChannel bool
	f          func(x, alpha, beta float64) float64
}

var paramActivations = map[*ir.Operation]param{
	ir.OpClampedRelu: {beta: true, f: func(x, a, b float64) float64 {
		if x < 0 {
			return math.Min(b, a*x)
		}
		return math.Min(x, b)
	}},
	ir.OpClip:             {beta: true, f: clip},
	ir.OpElu:              {f: elu},
	ir.OpLeakyRelu:        {f: leaky},
	ir.OpLinearActivation: {beta: true, f: func(x, a, b float64) float64 { return float64(a*x) + b }},
	ir.OpPrelu:            {perChannel: true, f: leaky},
	ir.OpScaledTanh:       {beta: true, f: func(x, a, b float64) float64 { return a * math.Tanh(b*x) }},
	ir.OpSigmoidHard:      {beta: true, f: func(x, a, b float64) float64 { return clip(float64(a*x)+b, 0, 1) }},
	ir.OpSoftplusParametric: {beta: true, perChannel: true, f: func(x, a, b float64) float64 {
		return a * softplus(b*x)
	}},
	ir.OpThreshold: {f: func(x, a, _ float64) float64 {
		if x < a {
			return a
		}
		return x
	}},
	ir.OpThresholdedRelu: {f: func(x, a, _ float64) float64 {
		if x < a {
			return 0
		}
		return x
	}},
}

// clip is min(max(x, lo), hi), also where lo is above hi; it keeps a NaN.
func clip(x, lo, hi float64) float64 {
	if x < lo {
		x = lo
	}
	if x > hi {
		x = hi
	}
	return x
}

func elu(x, a, _ float64) float64 {
	if x < 0 {
		return a * math.Expm1(x)
	}
	return x
}

func leaky(x, a, _ float64) float64 {
	if x < 0 {
		return a * x
	}
	return x
}

// gelus contains the forms of gelu by mode.
var gelus = map[string]func(x float64) float64{
	"EXACT": func(x float64) float64 { return 0.5 * x * math.Erfc(-x/math.Sqrt2) },
	"TANH_APPROXIMATION": func(x float64) float64 {
		return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
	},
	"SIGMOID_APPROXIMATION": func(x float64) float64 { return x * sigmoid(1.702*x) },
}

var _ = add(func() map[*ir.Operation]kernel {
	ks := map[*ir.Operation]kernel{ir.OpGelu: gelu, ir.OpSoftmax: softmax}
	for n, p := range paramActivations {
		ks[n] = p.kernel
	}
	return ks
}())

// channels returns alpha or beta as one number, or as one per channel.
func (p param) channels(c *call, name ir.ParamName, x Tensor) []float64 {
	t := c.numeric(name)
	if c.err != nil {
		return nil
	}
	n := t.Elems()
	switch {
	case n == 1:
	case !p.perChannel:
		c.fail("argument %s is %s, not a single number", name, t.Type)
		return nil
	case x.Type.Rank() < 2 || int64(n) != x.Type.Shape[1]:
		c.fail("argument %s has %d elements, x of shape %s has other channels", name, n, ir.ShapeString(x.Type.Shape))
		return nil
	}
	return t.Const().Floats()
}

func (p param) kernel(c *call) []Tensor {
	x := c.numeric(ir.ParamX)
	if c.err != nil {
		return nil
	}
	alpha := p.channels(c, ir.ParamAlpha, x)
	beta := []float64{0}
	if p.beta {
		beta = p.channels(c, ir.ParamBeta, x)
	}
	xs := c.floats(x)
	if c.err != nil {
		return nil
	}
	if len(alpha) == 1 && len(beta) == 1 {
		a, b := alpha[0], beta[0]
		mapFloats(c, x, xs, func(v float32) float32 { return float32(p.f(float64(v), a, b)) })
		return results(c.outFloats(0, x.Type.Shape, xs))
	}
	inner, ch := prod(x.Type.Shape[2:]), int(x.Type.Shape[1])
	c.parallel(prod(x.Type.Shape[:2]), 1+4096/max(1, inner), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			a, b := alpha[(r%ch)%len(alpha)], beta[(r%ch)%len(beta)]
			for i, v := range xs[r*inner : (r+1)*inner] {
				xs[r*inner+i] = float32(p.f(float64(v), a, b))
			}
		}
	})
	return results(c.outFloats(0, x.Type.Shape, xs))
}

func gelu(c *call) []Tensor {
	x := c.numeric(ir.ParamX)
	f := gelus[c.choice(ir.ParamMode, "EXACT", "EXACT", "TANH_APPROXIMATION", "SIGMOID_APPROXIMATION")]
	xs := c.floats(x)
	if c.err != nil {
		return nil
	}
	mapFloats(c, x, xs, func(v float32) float32 {
		if math.IsInf(float64(v), -1) {
			return 0
		}
		return float32(f(float64(v)))
	})
	return results(c.outFloats(0, x.Type.Shape, xs))
}

// softmax subtracts the maximum of the axis first, sums in fp64 and divides.
// Where the maximum is +infinity in the mode ANE, its lanes share the mass.
func softmax(c *call) []Tensor {
	x := c.numeric(ir.ParamX)
	axis := c.axis(ir.ParamAxis, -1, x.Type.Rank())
	xs := c.floats(x)
	if c.err != nil || len(xs) == 0 {
		return results(c.outFloats(0, x.Type.Shape, xs))
	}
	n := int(x.Type.Shape[axis])
	inner := prod(x.Type.Shape[axis+1:])
	c.parallel(len(xs)/n, 1+4096/n, func(lo, hi int) {
		for r := lo; r < hi; r++ {
			softmaxLane(xs, r/inner*inner*n+r%inner, inner, n, c.ane)
		}
	})
	return results(c.outFloats(0, x.Type.Shape, xs))
}

// softmaxLane is softmax of the n elements at xs[at], xs[at+step], ...
func softmaxLane(xs []float32, at, step, n int, ane bool) {
	if step == 1 {
		softmaxRow(xs[at:][:n], ane)
		return
	}
	row := make([]float32, n)
	for i := range row {
		row[i] = xs[at+i*step]
	}
	softmaxRow(row, ane)
	for i, v := range row {
		xs[at+i*step] = v
	}
}

func softmaxRow(row []float32, ane bool) {
	m := float32(math.Inf(-1))
	for _, v := range row {
		if v > m || v != v {
			m = v
		}
	}
	sum := 0.0
	for i, v := range row {
		d := float64(v) - float64(m)
		if ane && d != d {
			d = 0 // inf - inf
		}
		e := numerics.Exp64(d)
		sum += e
		row[i] = float32(e)
	}
	for i, v := range row {
		row[i] = float32(float64(v) / sum)
	}
}
