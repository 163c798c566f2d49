package exact

import (
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics/field"
)

func scaledAndShifted(c *call, n []float64) func(x field.Elem) field.Elem {
	a, b := c.valuation.Scalar(n[0]), c.valuation.Scalar(n[1])
	return func(x field.Elem) field.Elem { return field.Add(field.Mul(x, a), b) }
}

// clampedRelu is the lesser of beta and leaky_relu, which has a table of its own.
func clampedRelu(c *call, n []float64) func(x field.Elem) field.Elem {
	leaky, beta := c.valuation.function(ir.OpLeakyRelu.Forms()[0].Curve, n[:1]), field.Number(n[1])
	return func(x field.Elem) field.Elem { return c.Min(leaky(x), beta) }
}

// thresholded is x times the step function at alpha.
func thresholded(c *call, n []float64) func(x field.Elem) field.Elem {
	step := c.valuation.comparison(n[0], 0, 1, 1)
	return func(x field.Elem) field.Elem { return field.Mul(step(x), x) }
}

// hardSwish returns x and sigmoid_hard if the operation multiplies t by sigmoid_hard(t), where t is x from a bound on
// and else 0, and sigmoid_hard is 0 below the bound: then the product is x * sigmoid_hard(x).
func (c *call) hardSwish() (x Tensor, f func(field.Elem) field.Elem) {
	for _, p := range [2][2]ir.ParamName{{ir.ParamX, ir.ParamY}, {ir.ParamY, ir.ParamX}} {
		t, hard := c.op.Arg(p[0]), c.op.Arg(p[1]).Def
		if hard == nil || !hard.Is(ir.OpSigmoidHard) || hard.Arg(ir.ParamX) != t || t.Def == nil {
			continue
		}
		v, bound := thresholdOf(t.Def)
		x, ok := c.in[v]
		alpha, okA := ir.ArgFloat(hard, ir.ParamAlpha)
		beta, okB := ir.ArgFloat(hard, ir.ParamBeta)
		if !ok || !okA || !okB || len(x.Elems) != len(c.need(p[0]).Elems) {
			continue
		}
		i, _ := slices.BinarySearch(fp16Numbers(), bound)
		curve := ir.CurveOf(hard)
		if alpha > 0 && i > 0 && curve.F(fp16Numbers()[i-1], []float64{alpha, beta}) == 0 {
			f, _ = c.valuation.operation(&call{Evaluator: c.Evaluator, op: hard, in: c.in}, curve)
			return x, f
		}
	}
	return x, nil
}

// thresholdOf returns x and the bound of an operation that returns x where it is at least the bound, and else 0. It
// returns nil for others.
func thresholdOf(op *ir.Op) (x *ir.Value, bound float64) {
	switch {
	case op.Is(ir.OpThresholdedRelu):
		if a, ok := ir.ArgFloat(op, ir.ParamAlpha); ok {
			return op.Arg(ir.ParamX), a
		}
	case op.Is(ir.OpSelect):
		x, zero, test := op.Arg(ir.ParamA), op.Arg(ir.ParamB), op.Arg(ir.ParamCond).Def
		if test == nil || !test.Is(ir.OpGreaterEqual) || test.Arg(ir.ParamX) != x || !zero.IsConst() ||
			zero.Type.Elems() != 1 || zero.Const.Float(0) != 0 {
			return nil, 0
		}
		if n := test.Arg(ir.ParamY); n.IsConst() && n.Type.Elems() == 1 {
			return x, n.Const.Float(0)
		}
	}
	return nil, 0
}

func softsign(c *call, x field.Elem) field.Elem {
	return field.Mul(x, field.Inv(field.Add(c.Abs(x), 1)))
}

// channels returns an argument with a number for each channel as a tensor that broadcasts over x.
func (c *call) channels(name ir.ParamName) (Tensor, bool) {
	t, ok := c.arg(name)
	if !ok {
		return t, false
	}
	shape := []int64{1, int64(len(t.Elems))}
	for range c.op.Arg(ir.ParamX).Type.Rank() - 2 {
		shape = append(shape, 1)
	}
	return Tensor{t.Type.WithShape(shape...), t.Elems}, true
}

func parametric(c *call) []Tensor {
	alpha, okA := c.channels(ir.ParamAlpha)
	beta, okB := c.channels(ir.ParamBeta)
	if !okA || !okB {
		return nil
	}
	f := c.valuation.function(ir.OpSoftplus.Forms()[0].Curve, nil)
	return c.broadcast(func(a []field.Elem) field.Elem {
		return field.Mul(f(field.Mul(a[0], a[2])), a[1])
	}, c.need(ir.ParamX), alpha, beta)
}

// prelu is the larger of x and alpha x if no slope is above 1, the smaller if none is below.
func prelu(c *call) []Tensor {
	alpha, ok := c.channels(ir.ParamAlpha)
	if !ok || !c.op.Arg(ir.ParamAlpha).IsConst() {
		return nil
	}
	slopes := c.op.Arg(ir.ParamAlpha).Const.Floats()
	f := func(x, y, a field.Elem) field.Elem {
		return field.Sub(c.Max(x, 0), field.Mul(a, c.Max(field.Neg(x), 0)))
	}
	switch {
	case slices.Max(slopes) <= 1:
		f = func(x, y, _ field.Elem) field.Elem { return c.Max(x, y) }
	case slices.Min(slopes) >= 1:
		f = func(x, y, _ field.Elem) field.Elem { return c.Min(x, y) }
	}
	return c.broadcast(func(a []field.Elem) field.Elem {
		return f(a[0], field.Mul(a[0], a[1]), a[1])
	}, c.need(ir.ParamX), alpha)
}

// bandPart bounds what is inside the band by infinities, and what is outside by 0.
func bandPart(c *call) []Tensor {
	x := c.need(ir.ParamX)
	lower, okL := ir.ArgInt(c.op, ir.ParamLower)
	upper, okU := ir.ArgInt(c.op, ir.ParamUpper)
	if !okL || !okU || !c.floats() || x.Type.Rank() < 2 {
		return nil
	}
	out := make([]field.Elem, len(x.Elems))
	rows, cols := x.Type.Shape[x.Type.Rank()-2], x.Type.Shape[x.Type.Rank()-1]
	parallel(len(out), 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			high, r, k := field.Elem(0), int64(i)/cols%rows, int64(i)%cols
			if (lower < 0 || r-k <= lower) && (upper < 0 || k-r <= upper) {
				high = field.Infinity
			}
			out[i] = c.Max(c.Min(x.Elems[i], high), field.Neg(high))
		}
	})
	return []Tensor{c.out(0, out)}
}

func (c *call) exp(x field.Elem) field.Elem {
	return c.valuation.function(ir.OpExp.Forms()[0].Curve, nil)(x)
}

// log is the logarithm without an addend.
func (c *call) log(x field.Elem) field.Elem {
	return c.valuation.function(ir.OpLog.Forms()[0].Curve, nil)(x)
}

// logSumExp subtracts the maximum first.
func logSumExp(c *call, row []field.Elem) field.Elem {
	most, sum := greatest(c, row), field.Elem(0)
	for _, x := range row {
		sum = field.Add(sum, c.exp(field.Sub(x, most)))
	}
	return field.Add(c.log(sum), most)
}

// power is a product or a root, for exponents that are small integers or halves, or exp(y log(x)): of the magnitude of
// x, with the sign of the power, where x may be negative.
func power(c *call) []Tensor {
	y := c.op.Arg(ir.ParamY)
	if !c.floats() {
		return nil
	}
	exponents := c.need(ir.ParamY)
	if y.IsConst() && y.Type.Elems() == 1 {
		exponents = Tensor{y.Type, []field.Elem{c.valuation.Scalar(y.Const.Float(0))}}
	}
	signs := exponents
	if y.IsConst() {
		signs = Tensor{y.Type, nil}
		for _, p := range y.Const.Floats() {
			signs.Elems = append(signs.Elems, field.Int(signOfPower(p)))
		}
	}
	negative := c.valuation.comparison(0, 1, 0, 0)
	written := func() []Tensor {
		return c.broadcast(func(a []field.Elem) field.Elem { return c.exp(field.Mul(a[1], c.log(a[0]))) },
			c.need(ir.ParamX), exponents)
	}
	signed := func() []Tensor {
		return c.broadcast(func(a []field.Elem) field.Elem {
			size, sign := c.exp(field.Mul(a[1], c.log(c.Abs(a[0])))), a[2]
			if !y.IsConst() {
				sign = c.signOfPower(a[1])
			}
			below := negative(a[0])
			return field.Add(field.Mul(below, field.Mul(size, sign)), field.Mul(field.Sub(1, below), size))
		}, c.need(ir.ParamX), exponents, signs)
	}
	if !y.IsConst() || y.Type.Elems() != 1 {
		return c.either(written, signed)
	}
	n := y.Const.Float(0)
	var f func(x field.Elem) field.Elem
	switch {
	case n == 0.5:
		f = c.Sqrt
	case n == -0.5:
		f = c.Rsqrt
	case n == math.Trunc(n) && math.Abs(n) <= 64:
		f = func(x field.Elem) field.Elem {
			r := field.Elem(1)
			for range int(math.Abs(n)) {
				r = field.Mul(r, x)
			}
			if n < 0 {
				r = field.Inv(r)
			}
			return r
		}
	default:
		return c.either(written, signed)
	}
	each := func() []Tensor {
		return c.pointwise(func(a []field.Elem) field.Elem { return f(a[0]) }, ir.ParamX)
	}
	return c.either(each, written, signed)
}

// signOfPower returns the sign of a negative number raised to p, 0 if the power is not a number.
func signOfPower(p float64) int64 {
	switch {
	case p != math.Trunc(p):
		return 0
	case math.Mod(p, 2) != 0:
		return -1
	}
	return 1
}

// signOfPower is the sign for a computed exponent: 1 - 2 (p - 2 floor(p/2)) if p is its floor.
func (c *call) signOfPower(p field.Elem) field.Elem {
	odd := field.Sub(p, field.Mul(c.floor(field.Mul(p, field.Number(0.5))), 2))
	return field.Mul(c.same(c.floor(p), p), field.Sub(1, field.Mul(odd, 2)))
}

func cumsum(c *call) []Tensor {
	x := c.need(ir.ParamX)
	axis, err := ir.AxisAttr(c.op, ir.ParamAxis, x.Type.Rank())
	exclusive, _ := ir.ArgBool(c.op, ir.ParamExclusive)
	backward, _ := ir.ArgBool(c.op, ir.ParamReverse)
	if err != nil || !c.floats() {
		return nil
	}
	return []Tensor{c.out(0, c.along(x, []int{axis}, func(_ int, row []field.Elem) {
		if backward {
			slices.Reverse(row)
		}
		sum := field.Elem(0)
		for i, x := range row {
			next := field.Add(sum, x)
			if row[i] = next; exclusive {
				row[i] = sum
			}
			sum = next
		}
		if backward {
			slices.Reverse(row)
		}
	}))}
}
