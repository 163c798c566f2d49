package passes

import (
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// reductionDecompositions are the decompositions of reductions over axes.
var reductionDecompositions = []Decomposition{
	{Name: "negated-maximum", Ops: ops{ir.OpReduceMin}, Doc: "reduce_max of the negated, negated",
		apply: negatedMaximum},
	{Name: "absolute-sum", Ops: ops{ir.OpReduceL1Norm}, Doc: "reduce_sum of abs", apply: absoluteSum},
	{Name: "scaled-norm", Ops: ops{ir.OpReduceL2Norm},
		Doc:   "reduce_sum_square of the operand over its largest magnitude, sqrt, times the magnitude",
		apply: scaledNorm},
	{Name: "log-of-sum", Ops: ops{ir.OpReduceLogSum}, Doc: "log of reduce_sum", apply: logOfSum},
	{Name: "first-of-equal", Ops: ops{ir.OpReduceArgmax, ir.OpReduceArgmin}, Also: []ir.DType{ir.Int32}, fp16: true,
		Covers: "up to 2048 elements along the axis, output_dtype int32",
		Doc: "reduce_max of places counted from the end, each times 1 where the difference to the maximum " +
			"(minimum) is 0 " +
			"and else times 0, and a conversion to int32 on the way out", apply: firstOfEqual},
	{Name: "shifted-log-sum", Ops: ops{ir.OpReduceLogSumExp},
		Doc:   "log of the sum of the exponentials of the differences to the maximum, plus the maximum",
		apply: shiftedLogSum},
}

// maxPlaces is the length of the longest axis whose places fp16 can distinguish.
const maxPlaces = 2048

// firstOfEqual counts places from the end, so that the first of equal elements has the largest place. It takes the
// maximum of the places over the axis, with 0 where the operand is not its maximum. The difference from the maximum is
// 0 only for the maximum itself, and greater than 1 once multiplied by 2^30.
func firstOfEqual(c *decomposer) {
	x, axes := c.reduced()
	n := x.Type.Shape[axes[0]]
	if t := c.op.Results[0].Type.DType; t != ir.Int32 {
		c.Fail("the result is %s, want int32", t)
	}
	if n > maxPlaces {
		c.past("places along the axis", n, maxPlaces)
	}
	large, one := c.num(0x1p15), c.num(1)
	var under *ir.Value
	if c.op.Is(ir.OpReduceArgmax) {
		under = c.sub(c.reduce(ir.OpReduceMax, x, axes), x)
	} else {
		under = c.sub(x, c.reduce(ir.OpReduceMin, x, axes))
	}
	equal := c.sub(one, c.min(c.mul(c.mul(under, large), large), one))
	shape := slices.Repeat([]int64{1}, x.Type.Rank())
	shape[axes[0]] = n
	places := c.filled("places from the end", func(i int64) float64 { return float64(n - i) }, shape...)
	first := c.sub(c.num(float64(n)), c.reduce(ir.OpReduceMax, c.mul(equal, places), axes))
	first = c.Reshape(first, c.op.Results[0].Type.Shape...)
	c.become(c.Cast(first, ir.Int32))
}

// reduced returns the operand of a reduction and its axes.
func (c *decomposer) reduced() (*ir.Value, []int) {
	x := c.op.Arg(ir.ParamX)
	a, err := ir.ReduceAttrs(c.op)
	if err != nil {
		c.Fail("%v", err)
	}
	if len(a.Axes) == 0 {
		c.Fail("no axis to reduce")
	}
	return x, a.Axes
}

// again writes another reduction over the axes of the operation, with its keep_dims.
func (c *decomposer) again(o *ir.Operation, x *ir.Value) *ir.Value {
	return c.Do(o, arg(ir.ParamX, x), arg(ir.ParamAxes, c.op.Arg(ir.ParamAxes)),
		arg(ir.ParamKeepDims, c.op.Arg(ir.ParamKeepDims)))
}

func negatedMaximum(c *decomposer) {
	y := c.again(ir.OpReduceMax, c.mul(c.op.Arg(ir.ParamX), c.num(-1)))
	c.become(c.mul(y, c.num(-1)))
}

func absoluteSum(c *decomposer) {
	c.become(c.again(ir.OpReduceSum, c.unary(ir.OpAbs, c.op.Arg(ir.ParamX))))
}

// leastMagnitude keeps divisors away from zero: it is the smallest normal fp16 number.
const leastMagnitude = 0x1p-14

// scaledNorm divides by the largest magnitude first: the square of 256 is not finite in fp16, and the square of 1/4096
// is zero.
func scaledNorm(c *decomposer) {
	x, axes := c.reduced()
	most := c.max(c.reduce(ir.OpReduceMax, c.unary(ir.OpAbs, x), axes), c.num(leastMagnitude))
	y, shift := c.unitParts(x, most, axes)
	root := c.unary(ir.OpSqrt, c.reduce(ir.OpReduceSumSquare, y, axes))
	if shift > 0 {
		root = c.mul(root, c.num(math.Ldexp(1, shift)))
	}
	c.shaped(c.mul(root, most))
}

func logOfSum(c *decomposer) {
	c.become(c.log(c.again(ir.OpReduceSum, c.op.Arg(ir.ParamX))))
}

// log writes a logarithm without an addend.
func (c *decomposer) log(x *ir.Value) *ir.Value {
	return c.Do(ir.OpLog, arg(ir.ParamX, x), arg(ir.ParamEpsilon, c.num(0)))
}

// shiftedLogSum subtracts the maximum before the sum and adds it afterwards, so that no exponential is greater than 1.
func shiftedLogSum(c *decomposer) {
	x, axes := c.reduced()
	most := c.reduce(ir.OpReduceMax, x, axes)
	sum := c.reduce(ir.OpReduceSum, c.unary(ir.OpExp, c.sub(x, most)), axes)
	c.shaped(c.add(c.log(sum), most))
}
