package compile

import (
	"slices"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/ir"
)

// partsOf returns the part of a call whose band the tasks of each operation have. The operations are in order.
func partsOf(ops []*ir.Op) []cost.Part {
	parts := map[*ir.Op]cost.Part{}
	markAttention(ops, parts)
	markRMSNorms(ops, parts)
	out := make([]cost.Part, len(ops))
	for i, op := range ops {
		out[i] = cost.PartWork
		if p, ok := parts[op]; ok {
			out[i] = p
		}
	}
	return out
}

// partOf returns the part of a task of an operation, an index into the report's operations.
func (u *unit) partOf(op int, t *cost.Task) cost.Part {
	if p := u.parts[op]; p != cost.PartWork || !t.Weighty {
		return p
	}
	return cost.PartWeights
}

// products are the operations that multiply matrices.
var products = []*ir.Operation{ir.OpMatMul, ir.OpEinsum}

// live reports whether an operation is a product of two computed values.
func live(op *ir.Op) bool {
	if !op.Is(products...) {
		return false
	}
	computed := 0
	op.Reads(func(v *ir.Value) {
		if !v.IsConst() {
			computed++
		}
	})
	return computed > 1
}

// markAttention marks products of two computed values, and what works on elements or rows between two of them: the
// scale, the mask and the softmax of scores.
func markAttention(ops []*ir.Op, parts map[*ir.Op]cost.Part) {
	between := func(op *ir.Op) bool {
		switch op.Def.Class {
		case ir.Pointwise, ir.Normalization, ir.Reduction:
			return true
		}
		return false
	}
	after := map[*ir.Op]bool{} // a live product's result reaches it through such operations
	for _, op := range ops {
		if live(op) {
			parts[op], after[op] = cost.PartAttention, true
		} else if between(op) {
			op.Reads(func(v *ir.Value) { after[op] = after[op] || v.Def != nil && after[v.Def] })
		}
	}
	before := map[*ir.Op]bool{} // its result reaches a live product likewise
	for _, op := range slices.Backward(ops) {
		if !live(op) && !(before[op] && between(op)) {
			continue
		}
		if after[op] {
			parts[op] = cost.PartAttention
		}
		op.Reads(func(v *ir.Value) {
			if v.Def != nil {
				before[v.Def] = true
			}
		})
	}
}

// markRMSNorms marks what divides a value by the root of a sum of its squares: squares, sum, root and the products
// with the reciprocal and with a constant. A norm that subtracts the mean first is not one.
func markRMSNorms(ops []*ir.Op, parts map[*ir.Op]cost.Part) {
	readers := map[*ir.Op][]*ir.Op{}
	for _, op := range ops {
		op.Reads(func(v *ir.Value) {
			if v.Def != nil {
				readers[v.Def] = append(readers[v.Def], op)
			}
		})
	}
	for _, root := range ops {
		if !root.Is(ir.OpRsqrt, ir.OpReduceL2Norm) {
			continue
		}
		norm, of := squaresBelow(root)
		if of == nil || of.Def != nil && of.Def.Is(ir.OpSub) {
			continue
		}
		last := root
		for range 3 { // maximum with a floor, quotient or product, product with a constant
			i := slices.IndexFunc(readers[last], func(r *ir.Op) bool {
				return r.Is(ir.OpMul, ir.OpRealDiv, ir.OpMaximum)
			})
			if i < 0 {
				break
			}
			last = readers[last][i]
			norm = append(norm, last)
		}
		for _, op := range norm {
			parts[op] = cost.PartRMSNorm
		}
	}
}

// squaresBelow returns the operations from a root down to the squares that it is of, and what is squared; nil if it is
// not a root of a sum of squares.
func squaresBelow(root *ir.Op) (norm []*ir.Op, of *ir.Value) {
	for op := root; op != nil; {
		norm = append(norm, op)
		x := op.Arg(ir.ParamX)
		switch {
		case x == nil:
			return nil, nil
		case op.Is(ir.OpReduceL2Norm, ir.OpReduceSumSquare, ir.OpSquare), op.Is(ir.OpMul) && op.Arg(ir.ParamY) == x:
			return norm, x
		case op != root && !op.Is(ir.OpReduceMean, ir.OpReduceSum, ir.OpAdd, ir.OpMul, ir.OpMaximum):
			return nil, nil
		}
		op = x.Def
	}
	return nil, nil
}
