package passes

import "github.com/zinc-compiler/zinc/ir"

// logicalDecompositions are the decompositions of operations on two booleans. No generation has these operations, but
// inside a program a boolean is a number, 0 or 1, and of such numbers the product, the maximum and the difference are
// exact.
var logicalDecompositions = []Decomposition{
	{Name: "product-of-truths", Ops: ops{ir.OpLogicalAnd}, Also: []ir.DType{ir.Bool},
		Doc: "mul of the operands as 0 and 1", apply: func(c *decomposer) { c.truth(ir.OpMul) }},
	{Name: "larger-truth", Ops: ops{ir.OpLogicalOr}, Also: []ir.DType{ir.Bool},
		Doc: "maximum of the operands as 0 and 1", apply: func(c *decomposer) { c.truth(ir.OpMaximum) }},
	{Name: "unequal-truths", Ops: ops{ir.OpLogicalXor}, Also: []ir.DType{ir.Bool},
		Doc: "not_equal of the operands as 0 and 1", apply: func(c *decomposer) {
			c.become(c.Binary(ir.OpNotEqual, c.number(ir.ParamX), c.number(ir.ParamY)))
		}},
}

// truth ends a decomposition with the truth value of the result of o for two operands that are 0 or 1.
func (c *decomposer) truth(o *ir.Operation) {
	c.become(c.Cast(c.Binary(o, c.number(ir.ParamX), c.number(ir.ParamY)), ir.Bool))
}

// number returns a boolean operand as 0 and 1.
func (c *decomposer) number(name ir.ParamName) *ir.Value {
	v := c.op.Arg(name)
	if v.IsConst() {
		return c.computed(v.Const.Float, v.Type.Shape, v)
	}
	return c.Cast(v, ir.FP16)
}
