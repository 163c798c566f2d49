package decoder

import "github.com/zinc-compiler/zinc/ir"

// tokens returns the positions that a call of a function adds to its states: the extent of what it writes along the
// axis along which a state is longer. 0 if no state is written so; then the elements of an integer input that rows of
// a constant are gathered by.
func tokens(f *ir.Func) int64 {
	written, indices := int64(0), int64(0)
	ir.Walk(f, func(op *ir.Op) {
		switch _, value := op.Def.StateParams(); {
		case value != "":
			written = max(written, added(op.Arg(value)))
		case op.Def.Operation == ir.OpGather:
			v := origin(op.Arg(ir.ParamIndices))
			if table := op.Arg(ir.ParamX); table != nil && table.IsConst() && v.Def == nil && !v.IsConst() {
				indices = max(indices, v.Type.Elems())
			}
		}
	})
	if written > 0 {
		return written
	}
	return max(indices, 0)
}

// passing are operations whose result has the elements of x, in another shape or type.
var passing = map[*ir.Operation]bool{
	ir.OpCast: true, ir.OpIdentity: true, ir.OpReshape: true, ir.OpTranspose: true, ir.OpExpandDims: true,
	ir.OpSqueeze: true,
}

// origin returns the value that conversions and choices between conversions of it come from.
func origin(v *ir.Value) *ir.Value {
	for v.Def != nil {
		switch o := v.Def.Def.Operation; {
		case passing[o]:
			v = v.Def.Arg(ir.ParamX)
		case o == ir.OpSelect: // of negative indices
			v = v.Def.Arg(ir.ParamA)
		default:
			return v
		}
	}
	return v
}

// added returns the extent of what a value that is written to a state adds to the state's old value, 0 if that is not
// known.
func added(v *ir.Value) int64 {
	for v.Def != nil {
		op := v.Def
		switch o := op.Def.Operation; {
		case o == ir.OpCast, o == ir.OpIdentity, o == ir.OpSliceByIndex: // the newest part of both
			v = op.Arg(ir.ParamX)
			continue
		case o == ir.OpSliceUpdate:
			update := op.Arg(ir.ParamUpdate)
			if n := shorter(update.Type.Shape, op.Results[0].Type.Shape); n > 0 {
				return n
			}
			v = update // of the whole, as converters write an assignment
			continue
		case o == ir.OpConcat: // the old value or a part of it, and the new one
			least := int64(0)
			for _, part := range op.ArgList(ir.ParamValues) {
				n := shorter(part.Type.Shape, op.Results[0].Type.Shape)
				if n > 0 && (least == 0 || n < least) {
					least = n
				}
			}
			return least
		case o == ir.OpScatterAlongAxis || o == ir.OpScatter:
			return shorter(op.Arg(ir.ParamUpdates).Type.Shape, op.Results[0].Type.Shape)
		}
		break
	}
	return 0
}

// shorter returns the extent of a part along the axis on which the whole is longer, the longest such axis of the whole;
// 0 if there is none.
func shorter(part, whole []int64) (n int64) {
	if len(part) != len(whole) {
		return 0
	}
	longest := int64(0)
	for i, d := range part {
		if d > 0 && d < whole[i] && whole[i] > longest {
			n, longest = d, whole[i]
		}
	}
	return n
}
