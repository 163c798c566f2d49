package exact

import (
	"maps"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics/field"
)

// choice is a condition as a choice between the results of its branches, which have no effects.
func choice(c *call) []Tensor {
	p := c.need(ir.ParamPred)
	if len(p.Elems) != 1 || len(c.op.Blocks) != 2 {
		return nil
	}
	var sides [2][]Tensor
	for i, b := range c.op.Blocks {
		if !pure(b) {
			return nil
		}
		in := maps.Clone(c.in)
		for _, op := range b.Ops {
			for k, t := range c.Compute(op, in) {
				in[op.Results[k]] = t
			}
		}
		for _, v := range b.Outputs {
			sides[i] = append(sides[i], c.Value(in, v))
		}
	}
	out := make([]Tensor, len(c.op.Results))
	for i, v := range c.op.Results {
		a, b := sides[0][i].Elems, sides[1][i].Elems
		if int64(len(a)) != v.Type.Elems() || len(b) != len(a) {
			return nil
		}
		y := make([]field.Elem, len(a))
		for k := range y {
			y[k] = field.Add(field.Mul(p.Elems[0], a[k]), field.Mul(field.Sub(1, p.Elems[0]), b[k]))
			if v.Type.DType == ir.Bool {
				c.MarkBoolean(y[k])
			}
		}
		out[i] = c.out(i, y)
	}
	return out
}

// pure reports whether the operations of a block only compute their results.
func pure(b *ir.Block) bool {
	for _, op := range b.Ops {
		if op.Def.Effect != ir.Pure || op.Def.Class == ir.Randomness || op.Def.Class == ir.Listing {
			return false
		}
		for _, inner := range op.Blocks {
			if !pure(inner) {
				return false
			}
		}
	}
	return true
}
