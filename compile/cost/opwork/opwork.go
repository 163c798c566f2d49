// Package opwork counts what an operation of the intermediate form computes and moves, and estimates its time on the
// CPU.
//
// The compiler weighs operations with it, and the simulated runtime spends the same time on them.
package opwork

import (
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/ir"
)

// sized are operations that use only the extents of their operands.
var sized = []*ir.Operation{ir.OpShape, ir.OpFillLike, ir.OpListLength}

// CPU estimates an operation on the CPU. An operation with an unknown dimension counts as free, and one in place writes
// the part that it changes.
func CPU(op *ir.Op) cost.Time {
	if op.IsView() {
		return 0
	}
	c := op.Def.Curve
	w := cost.Work{
		MACs:  MACs(op),
		Curve: c != nil && c.Table != "" || op.Def.Class == ir.Normalization || op.Def.Class == ir.Pooling,
	}
	note := func(t ir.Type, most int64) {
		if t.Kind == ir.Tensor {
			n := min(t.Elems(), most)
			w.Elements = max(w.Elements, n)
			w.Bytes += max(0, t.WithShape(n).Bytes())
		}
	}
	written, changes := int64(0), int64(math.MaxInt64)
	old, part := op.Updates()
	if op.InPlace {
		changes = max(0, op.Arg(part).Type.Elems())
	}
	for _, v := range op.Results {
		note(v.Type, changes)
		written += max(0, v.Type.Elems())
	}
	op.Operands(func(p *ir.Param, v *ir.Value) {
		switch {
		case op.Is(sized...), op.InPlace && p.Name == old:
		case op.Def.Class == ir.Movement && slices.Contains(op.Def.Picks, p.Name):
			note(v.Type, written) // it reads an element once for each place that it writes it to, or once in all
		default:
			note(v.Type, math.MaxInt64)
		}
	})
	return cost.CPU(w)
}

// MACs returns the multiply-accumulates of an operation: one for each product that a convolution, matrix product,
// attention or recurrent layer sums. It returns 0 for all other operations and where a dimension is unknown.
func MACs(op *ir.Op) int64 {
	if len(op.Results) == 0 || op.Results[0].Type.Elems() < 0 {
		return 0
	}
	out := op.Results[0].Type.Elems()
	switch op.Def.Operation {
	case ir.OpConv:
		w := op.Arg(ir.ParamWeight).Type
		if w.Rank() < 3 || w.Shape[0] <= 0 {
			return 0
		}
		return out * (w.Elems() / w.Shape[0])
	case ir.OpConvTranspose: // each element of x meets every tap of its group's outputs
		x, w := op.Arg(ir.ParamX).Type, op.Arg(ir.ParamWeight).Type
		if w.Rank() < 3 || w.Shape[0] <= 0 || !x.Static() {
			return 0
		}
		return x.Elems() * (w.Elems() / w.Shape[0])
	case ir.OpEinsum:
		return einsumMACs(op)
	case ir.OpScaledDotProductAttention: // the scores, then the weighted sum of values
		q, k := op.Arg(ir.ParamQuery).Type, op.Arg(ir.ParamKey).Type
		if !q.Static() || !k.Static() || q.Rank() < 2 || k.Rank() < 2 {
			return 0
		}
		return (q.Elems() + out) * k.Shape[k.Rank()-2]
	case ir.OpLinear:
		return out * op.Arg(ir.ParamWeight).Type.Shape[1]
	case ir.OpMatMul:
		a, err := ir.MatMulAttrs(op)
		if err != nil || a.K < 0 {
			return 0
		}
		return out * a.K
	case ir.OpLSTM, ir.OpGRU, ir.OpRNN:
		n := op.Arg(ir.ParamX).Type
		if n.Rank() != 3 || !n.Static() {
			return 0
		}
		total := int64(0)
		for _, p := range []ir.ParamName{ir.ParamWeightIH, ir.ParamWeightHH, ir.ParamWeightIHBack,
			ir.ParamWeightHHBack} {
			if w := op.Arg(p); w != nil {
				total += w.Type.Elems()
			}
		}
		return n.Shape[0] * n.Shape[1] * total
	}
	return 0
}

// einsumMACs multiplies the extents of all letters of an equation.
func einsumMACs(op *ir.Op) int64 {
	eq, ok := ir.ArgString(op, ir.ParamEquation)
	if !ok {
		return 0
	}
	terms, _, ok := ir.ParseEinsum(eq)
	xs := op.ArgList(ir.ParamValues)
	if !ok || len(terms) != len(xs) {
		return 0
	}
	extents := map[byte]int64{}
	for i, t := range terms {
		shape := xs[i].Type.Shape
		if len(shape) != len(t) {
			return 0
		}
		for j, d := range shape {
			if d < 0 {
				return 0
			}
			extents[t[j]] = max(extents[t[j]], d)
		}
	}
	n := int64(1)
	for _, d := range extents {
		n *= d
	}
	return n
}
