package reported

import (
	"fmt"

	"github.com/zinc-compiler/zinc/ir"
)

// fewSteps bounds how far a rule follows a value through operations that only pass it on.
const fewSteps = 8

// passes reports whether an operation passes on its x: it moves the elements of one tensor, or converts them.
func passes(op *ir.Op) bool {
	return op.Is(ir.OpCast, ir.OpReshape, ir.OpReshapeLike, ir.OpExpandDims, ir.OpSqueeze, ir.OpTranspose,
		ir.OpFlatten2D, ir.OpIdentity)
}

// source follows a value back through operations that pass it on.
func source(v *ir.Value) *ir.Value {
	for range fewSteps {
		if v == nil || v.Def == nil || !passes(v.Def) {
			break
		}
		v = v.Def.Arg(ir.ParamX)
	}
	return v
}

// constant reports whether a value is known before a run: a constant, or moved or computed from constants alone.
func constant(v *ir.Value) bool {
	for range fewSteps {
		if v == nil || v.Const != nil {
			return true
		}
		if v.Def == nil || !passes(v.Def) {
			break
		}
		v = v.Def.Arg(ir.ParamX)
	}
	if v.Def == nil || len(v.Def.Args) == 0 || !v.Def.Is(ir.OpConcat, ir.OpStack, ir.OpAdd, ir.OpSub, ir.OpMul) {
		return false
	}
	all := true
	v.Def.Operands(func(_ *ir.Param, w *ir.Value) { all = all && w.Const != nil })
	return all
}

// runtimeOffset returns the argument of a slice_update that is known only at run time, "" for none.
func runtimeOffset(op *ir.Op) ir.ParamName {
	for _, name := range []ir.ParamName{ir.ParamBegin, ir.ParamEnd} {
		if v := op.Arg(name); v != nil && !constant(v) {
			return name
		}
	}
	return ""
}

func stateRuntimeWrite(s *search, op *ir.Op) string {
	name := runtimeOffset(op)
	if name == "" {
		return ""
	}
	from := source(op.Arg(ir.ParamX))
	ofState := from.Type.Kind == ir.State || from.Def != nil && (from.Def.Is(ir.OpReadState, ir.OpCoreMLUpdateState) ||
		from.Def.Is(ir.OpSliceUpdate, ir.OpSliceByIndex) && fromState(from.Def))
	for _, r := range s.readers(op.Results[0]) {
		ofState = ofState || r.Is(ir.OpWriteState, ir.OpCoreMLUpdateState)
	}
	if !ofState {
		return ""
	}
	return fmt.Sprintf("%s is %s, which is computed", name, op.Arg(name).Name)
}

// fromState reports whether an operation takes a part of a state.
func fromState(op *ir.Op) bool {
	v := source(op.Arg(ir.ParamX))
	return v.Type.Kind == ir.State || v.Def != nil && v.Def.Is(ir.OpReadState, ir.OpCoreMLUpdateState)
}

var scatters = ops{ir.OpScatter, ir.OpScatterAlongAxis, ir.OpScatterND, ir.OpSliceUpdate}

func scatterRank5(s *search, op *ir.Op) string {
	v := op.Arg(ir.ParamData)
	if op.Is(ir.OpSliceUpdate) {
		if v = op.Arg(ir.ParamX); runtimeOffset(op) == "" {
			return ""
		}
	}
	least := int64(smallCache)
	if s.fp16(v) {
		least = smallState
	}
	if n := v.Type.Elems(); v.Type.Rank() != 5 || !v.Type.DType.IsFloat() || n >= 0 && n <= least {
		return ""
	}
	return "into " + v.Type.String()
}

// heads returns the size of an attention's heads and the number of its keys and queries.
func heads(op *ir.Op) (size, keys, queries int64) {
	q, k := op.Arg(ir.ParamQuery).Type, op.Arg(ir.ParamKey).Type
	if q.Rank() < 2 || k.Rank() < 2 {
		return 0, 0, 0
	}
	return q.Shape[q.Rank()-1], k.Shape[k.Rank()-2], q.Shape[q.Rank()-2]
}

func attentionLargeHeads(s *search) (*ir.Value, string) {
	var at *ir.Value
	n, largest := 0, int64(0)
	ir.Walk(s.fn, func(op *ir.Op) {
		if !op.Is(ir.OpScaledDotProductAttention) {
			return
		}
		if size, _, _ := heads(op); size > largeHead {
			n, largest = n+1, max(largest, size)
			at = op.Results[0]
		}
	})
	if n < 2 {
		return nil, ""
	}
	return at, fmt.Sprintf("%d of them, with heads of up to %d elements", n, largest)
}

func attentionLargeQuery(s *search, op *ir.Op) string {
	size, _, queries := heads(op)
	q := op.Arg(ir.ParamQuery)
	if size <= largeHead || queries < 2 || q.Def == nil || !s.fp16(q) {
		return ""
	}
	return fmt.Sprintf("%d queries of %d elements", queries, size)
}

func attentionKeys(_ *search, op *ir.Op) string {
	if keys := rowLength(op); keys > mostKeys {
		return fmt.Sprintf("%d keys", keys)
	}
	return ""
}

// rowLength returns the length of the rows of probabilities that an attention or a matmul sums over, 0 for others.
func rowLength(op *ir.Op) int64 {
	if op.Is(ir.OpMatMul) {
		return probabilities(op)
	}
	_, keys, _ := heads(op)
	return keys
}

// probabilities returns the length of the rows that softmax normalised and a matmul sums over, 0 if it does not.
func probabilities(op *ir.Op) int64 {
	m, err := ir.MatMulAttrs(op)
	if err != nil {
		return 0
	}
	for _, name := range []ir.ParamName{ir.ParamX, ir.ParamY} {
		if n := normalised(source(op.Arg(name))); n > 0 && n == m.K {
			return n
		}
	}
	return 0
}

// normalised returns the length of the rows of a softmax, or of exponentials divided by their sum; 0 for other values.
func normalised(v *ir.Value) int64 {
	op := v.Def
	switch {
	case op == nil:
		return 0
	case op.Is(ir.OpSoftmax):
		x := op.Arg(ir.ParamX).Type
		if a, err := ir.AxisAttr(op, ir.ParamAxis, x.Rank()); err == nil {
			return max(x.Shape[a], 0)
		}
	case op.Is(ir.OpRealDiv):
		return sumOf(op.Arg(ir.ParamY), source(op.Arg(ir.ParamX)))
	case op.Is(ir.OpMul):
		for _, p := range [][2]ir.ParamName{{ir.ParamX, ir.ParamY}, {ir.ParamY, ir.ParamX}} {
			if by := source(op.Arg(p[1])); by.Def != nil && by.Def.Is(ir.OpInverse) {
				return sumOf(by.Def.Arg(ir.ParamX), source(op.Arg(p[0])))
			}
		}
	}
	return 0
}

// sumOf returns over how many elements v sums exponentials e; 0 if v is not their sum.
func sumOf(v, e *ir.Value) int64 {
	v = source(v)
	if e.Def == nil || !e.Def.Is(ir.OpExp, ir.OpExp2) || v.Def == nil || !v.Def.Is(ir.OpReduceSum) ||
		source(v.Def.Arg(ir.ParamX)) != e {
		return 0
	}
	n, sum := e.Type.Elems(), v.Type.Elems()
	if n <= 0 || sum <= 0 {
		return 0
	}
	return n / sum
}
