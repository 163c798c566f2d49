package passes

import (
	"math"

	"github.com/zinc-compiler/zinc/ir"
)

// reductionCompositions are those of reductions over axes.
var reductionCompositions = []Composition{
	{Name: "negated-maximum", Ops: ops{ir.OpReduceMin}, Doc: "reduce_max of the negated, negated",
		apply: negatedMaximum},
	{Name: "absolute-sum", Ops: ops{ir.OpReduceL1Norm}, Doc: "reduce_sum of abs", apply: absoluteSum},
	{Name: "scaled-norm", Ops: ops{ir.OpReduceL2Norm},
		Doc:   "reduce_sum_square of the operand over its largest magnitude, sqrt, times the magnitude",
		apply: scaledNorm},
	{Name: "log-of-sum", Ops: ops{ir.OpReduceLogSum}, Doc: "log of reduce_sum", apply: logOfSum},
	{Name: "shifted-log-sum", Ops: ops{ir.OpReduceLogSumExp},
		Doc:   "log of the sum of the exponentials of the differences to the maximum, plus the maximum",
		apply: shiftedLogSum},
}

// reduced returns the operand of a reduction and its axes.
func (c *composer) reduced() (*ir.Value, []int) {
	x := c.op.Arg(ir.ParamX)
	a, err := ir.ReduceAttrs(c.op)
	if err != nil {
		c.decline("%v", err)
	}
	if len(a.Axes) == 0 {
		c.decline("no axis to reduce")
	}
	return x, a.Axes
}

// again writes another reduction over the axes of the operation, with its keep_dims.
func (c *composer) again(o *ir.Operation, x *ir.Value) *ir.Value {
	return c.do(o, arg{ir.ParamX, x}, arg{ir.ParamAxes, c.op.Arg(ir.ParamAxes)},
		arg{ir.ParamKeepDims, c.op.Arg(ir.ParamKeepDims)})
}

func negatedMaximum(c *composer) {
	y := c.again(ir.OpReduceMax, c.mul(c.op.Arg(ir.ParamX), c.num(-1)))
	c.become(c.mul(y, c.num(-1)))
}

func absoluteSum(c *composer) {
	c.become(c.again(ir.OpReduceSum, c.unary(ir.OpAbs, c.op.Arg(ir.ParamX))))
}

// leastMagnitude keeps divisors away from zero: the least normal number of fp16.
const leastMagnitude = 0x1p-14

// scaledNorm divides by the largest magnitude first: the square of 256 is not finite in fp16, and the
// square of 1/4096 is zero.
func scaledNorm(c *composer) {
	x, axes := c.reduced()
	most := c.max(c.reduce(ir.OpReduceMax, c.unary(ir.OpAbs, x), axes), c.num(leastMagnitude))
	y, shift := c.unitParts(x, most, axes)
	root := c.unary(ir.OpSqrt, c.reduce(ir.OpReduceSumSquare, y, axes))
	if shift > 0 {
		root = c.mul(root, c.num(math.Ldexp(1, shift)))
	}
	c.shaped(c.mul(root, most))
}

func logOfSum(c *composer) {
	c.become(c.log(c.again(ir.OpReduceSum, c.op.Arg(ir.ParamX))))
}

// log writes a logarithm without an addend.
func (c *composer) log(x *ir.Value) *ir.Value {
	return c.do(ir.OpLog, arg{ir.ParamX, x}, arg{ir.ParamEpsilon, c.num(0)})
}

// shiftedLogSum takes the maximum out of the sum, so that no exponential is larger than 1.
func shiftedLogSum(c *composer) {
	x, axes := c.reduced()
	most := c.reduce(ir.OpReduceMax, x, axes)
	sum := c.reduce(ir.OpReduceSum, c.unary(ir.OpExp, c.sub(x, most)), axes)
	c.shaped(c.add(c.log(sum), most))
}
