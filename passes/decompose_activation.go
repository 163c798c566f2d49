package passes

import (
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// activationDecompositions are the decompositions of elementwise functions.
var activationDecompositions = []Decomposition{
	{Name: "scale-and-shift", Ops: ops{ir.OpLinearActivation}, Doc: "mul and add", apply: scaleAndShift},
	{Name: "leaky-and-minimum", Ops: ops{ir.OpClampedRelu}, Doc: "leaky_relu, then minimum", apply: leakyMinimum},
	{Name: "threshold", Ops: ops{ir.OpThreshold}, Doc: "max(x, alpha)", apply: decomposeThreshold},
	{Name: "thresholded-relu", Ops: ops{ir.OpThresholdedRelu}, Doc: "select(x >= alpha, x, 0)",
		apply: decomposeThresholdedRelu},
	{Name: "prelu", Ops: ops{ir.OpPrelu},
		Doc: "max(x, alpha*x) if all alpha <= 1; min(x, alpha*x) if all alpha >= 1; else " +
			"relu(x) - alpha*relu(-x)", apply: decomposePrelu},
	{Name: "scaled-softplus", Ops: ops{ir.OpSoftplusParametric}, Doc: "mul by beta, softplus, mul by alpha",
		apply: scaledSoftplus},
	{Name: "softsign", Ops: ops{ir.OpSoftsign}, Doc: "x / (1 + abs(x))", apply: decomposeSoftsign},
	{Name: "products", Ops: ops{ir.OpPow}, Covers: "exponents that are whole numbers from -8 to 8",
		Doc: "products of the operand by squaring, and 1 divided by them", apply: wholePower},
	{Name: "roots", Ops: ops{ir.OpPow}, Covers: "exponents 0.25 and -0.25", Doc: "sqrt twice, or sqrt of rsqrt",
		apply: fourthRoot},
	{Name: "power-of-constant", Ops: ops{ir.OpPow}, Covers: "a constant base of one positive number",
		Doc: "exp of the exponent times the logarithm of the base", apply: powerOfConstant},
	{Name: "exponential", Ops: ops{ir.OpPow},
		Covers: "bases that are not negative, by the operation that computes them",
		Doc:    "exp of the exponent times log", apply: exponential},
	{Name: "signed-power", Ops: ops{ir.OpPow}, Covers: "computed bases",
		Doc: "exp of the exponent times log of the magnitude; select of the sign by the exponent's parity, from " +
			"floor",
		apply: signedPower},
}

func scaleAndShift(c *decomposer) {
	y := c.mul(c.op.Arg(ir.ParamX), c.scalar(ir.ParamAlpha))
	c.become(c.add(y, c.scalar(ir.ParamBeta)))
}

// scalar returns an attribute as an fp16 number.
func (c *decomposer) scalar(name ir.ParamName) *ir.Value { return c.num(c.float(name)) }

// float returns the value of an attribute.
func (c *decomposer) float(name ir.ParamName) float64 {
	v, ok := ir.ArgFloat(c.op, name)
	if !ok {
		c.Fail("%s is known only at run time", name)
	}
	return v
}

func leakyMinimum(c *decomposer) {
	y := c.Do(ir.OpLeakyRelu, arg(ir.ParamX, c.op.Arg(ir.ParamX)), arg(ir.ParamAlpha, c.scalar(ir.ParamAlpha)))
	c.become(c.min(y, c.scalar(ir.ParamBeta)))
}

func decomposeThreshold(c *decomposer) {
	c.become(c.max(c.op.Arg(ir.ParamX), c.scalar(ir.ParamAlpha)))
}

func decomposeThresholdedRelu(c *decomposer) {
	x := c.op.Arg(ir.ParamX)
	c.become(c.choose(c.Binary(ir.OpGreaterEqual, x, c.scalar(ir.ParamAlpha)), x, c.num(0)))
}

// channels returns a constant vector over the channels of x, as a tensor that broadcasts over x.
func (c *decomposer) channels(name ir.ParamName, x *ir.Value) *ir.Value {
	v := c.op.Arg(name)
	if v == nil || !v.IsConst() {
		return c.Fail("%s is known only at run time", name)
	}
	shape := []int64{1, v.Type.Elems()}
	for range x.Type.Rank() - 2 {
		shape = append(shape, 1)
	}
	return c.computed(v.Const.Float, shape, v)
}

func decomposePrelu(c *decomposer) {
	x := c.op.Arg(ir.ParamX)
	alpha := c.channels(ir.ParamAlpha, x)
	slopes := alpha.Const.Floats()
	switch scaled := func() *ir.Value { return c.mul(x, alpha) }; {
	case slices.Max(slopes) <= 1:
		c.become(c.max(x, scaled()))
	case slices.Min(slopes) >= 1:
		c.become(c.min(x, scaled()))
	default:
		negative := c.unary(ir.OpRelu, c.mul(x, c.num(-1)))
		c.become(c.sub(c.unary(ir.OpRelu, x), c.mul(negative, alpha)))
	}
}

func scaledSoftplus(c *decomposer) {
	x := c.op.Arg(ir.ParamX)
	y := c.unary(ir.OpSoftplus, c.mul(x, c.channels(ir.ParamBeta, x)))
	c.become(c.mul(y, c.channels(ir.ParamAlpha, x)))
}

// decomposeSoftsign returns 0 for infinities, as measured: infinity times the reciprocal of infinity.
func decomposeSoftsign(c *decomposer) {
	x := c.op.Arg(ir.ParamX)
	c.become(c.div(x, c.add(c.unary(ir.OpAbs, x), c.num(1))))
}

// exponent returns the constant exponent of a power, if it is one number.
func (c *decomposer) exponent() float64 {
	y := c.op.Arg(ir.ParamY)
	if !y.IsConst() || y.Type.Elems() != 1 {
		c.Fail("the exponent is not a constant number")
	}
	return y.Const.Float(0)
}

// maxPower is the largest integer exponent for which a power becomes products.
const maxPower = 8

func wholePower(c *decomposer) {
	n := c.exponent()
	if n != math.Trunc(n) || math.Abs(n) > maxPower || n == 0 {
		c.Fail("the exponent %g is not a whole number from -%d to %d but 0", n, maxPower, maxPower)
	}
	var y *ir.Value
	x := c.op.Arg(ir.ParamX)
	for k := int(math.Abs(n)); ; {
		if k&1 == 1 {
			if y == nil {
				y = x
			} else {
				y = c.mul(y, x)
			}
		}
		if k >>= 1; k == 0 {
			break
		}
		x = c.mul(x, x)
	}
	if n < 0 {
		y = c.div(c.num(1), y)
	}
	c.broadcast(y)
}

// broadcast ends a decomposition with v, broadcast to the shape of the result: the constant operand that became part of
// v may have had more dimensions.
func (c *decomposer) broadcast(v *ir.Value) {
	if v.Type.Elems() != c.op.Results[0].Type.Elems() {
		c.Fail("the constant operand is larger than the other")
	}
	c.shaped(v)
}

func fourthRoot(c *decomposer) {
	x := c.op.Arg(ir.ParamX)
	switch n := c.exponent(); n {
	case 0.25:
		c.broadcast(c.unary(ir.OpSqrt, c.unary(ir.OpSqrt, x)))
	case -0.25:
		c.broadcast(c.unary(ir.OpSqrt, c.rsqrt(x)))
	default:
		c.Fail("the exponent is %g", n)
	}
}

// rsqrt writes a reciprocal root without an addend.
func (c *decomposer) rsqrt(x *ir.Value) *ir.Value {
	return c.Do(ir.OpRsqrt, arg(ir.ParamX, x), arg(ir.ParamEpsilon, c.num(0)))
}

func powerOfConstant(c *decomposer) {
	x := c.op.Arg(ir.ParamX)
	if !x.IsConst() || x.Type.Elems() != 1 || !(x.Const.Float(0) > 0) {
		c.Fail("the base is not a constant positive number")
	}
	y := c.op.Arg(ir.ParamY)
	if base := x.Const.Float(0); base == 2 {
		c.broadcast(c.unary(ir.OpExp2, y))
	} else {
		c.broadcast(c.unary(ir.OpExp, c.mul(y, c.num(math.Log(base)))))
	}
}

// exponential computes exp(y log x). For a negative x and an integer y a power is a number although the logarithm of x
// is not.
func exponential(c *decomposer) {
	x := c.op.Arg(ir.ParamX)
	if !notNegative(x, 0) {
		c.Fail("the base may be negative: nothing of how it is computed says otherwise")
	}
	c.become(c.unary(ir.OpExp, c.mul(c.op.Arg(ir.ParamY), c.log(x))))
}

// signedPower computes exponential of the magnitude. A negative base raised to an odd integer is negative, to an even
// integer positive. Raised to another power it is not a number, for which the engine returns 0.
func signedPower(c *decomposer) {
	x, y := c.op.Arg(ir.ParamX), c.op.Arg(ir.ParamY)
	if x.IsConst() {
		c.Fail("the base is constant and negative")
	}
	size := c.unary(ir.OpExp, c.mul(y, c.log(c.unary(ir.OpAbs, x))))
	var signed *ir.Value
	if y.IsConst() {
		signed = c.mul(size, c.computed(func(i int64) float64 {
			switch p := y.Const.Float(i); {
			case p != math.Trunc(p):
				return 0
			case math.Mod(p, 2) != 0:
				return -1
			}
			return 1
		}, y.Type.Shape, y))
	} else {
		odd := c.sub(y, c.mul(c.unary(ir.OpFloor, c.mul(y, c.num(0.5))), c.num(2)))
		signed = c.mul(size, c.sub(c.num(1), c.mul(odd, c.num(2))))
		signed = c.choose(c.equal(c.unary(ir.OpFloor, y), y), signed, c.num(0))
	}
	c.become(c.choose(c.Do(ir.OpLess, arg(ir.ParamX, x), arg(ir.ParamY, c.num(0))), signed, size))
}

// notNegative reports whether the operations that compute a value show that it cannot be negative.
func notNegative(v *ir.Value, depth int) bool {
	if v.IsConst() {
		return !slices.ContainsFunc(v.Const.Floats(), func(f float64) bool { return !(f >= 0) })
	}
	const deep = 8
	op := v.Def
	if op == nil || depth == deep {
		return false
	}
	all := func(names ...ir.ParamName) bool {
		for _, n := range names {
			if !notNegative(op.Arg(n), depth+1) {
				return false
			}
		}
		return true
	}
	switch op.Def.Operation {
	case ir.OpExp, ir.OpExp2, ir.OpAbs, ir.OpSquare, ir.OpSqrt, ir.OpRsqrt, ir.OpRelu, ir.OpRelu6, ir.OpSigmoid,
		ir.OpSoftplus, ir.OpSoftmax, ir.OpReduceL1Norm, ir.OpReduceL2Norm, ir.OpReduceSumSquare, ir.OpSigmoidHard:
		return true
	case ir.OpMul:
		return op.Arg(ir.ParamX) == op.Arg(ir.ParamY) || all(ir.ParamX, ir.ParamY)
	case ir.OpAdd, ir.OpRealDiv, ir.OpMinimum:
		return all(ir.ParamX, ir.ParamY)
	case ir.OpMaximum:
		return all(ir.ParamX) || all(ir.ParamY)
	case ir.OpClip:
		low, ok := ir.ArgFloat(op, ir.ParamAlpha)
		return ok && low >= 0
	case ir.OpReshape, ir.OpTranspose, ir.OpExpandDims, ir.OpSqueeze, ir.OpSliceByIndex, ir.OpSliceBySize, ir.OpSplit,
		ir.OpReduceSum, ir.OpReduceMean, ir.OpReduceMax, ir.OpMaxPool, ir.OpAvgPool, ir.OpIdentity, ir.OpCast:
		return all(ir.ParamX)
	}
	return false
}
