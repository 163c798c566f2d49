package explain

import (
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// castTo returns the element type that an operation casts to, if it is a cast of one float type to another; 0 if not.
func castTo(op *ir.Op) ir.DType {
	if op == nil || !op.Is(ir.OpCast) || len(op.Results) != 1 || !op.Arg(ir.ParamX).Type.DType.IsFloat() {
		return 0
	}
	return op.Results[0].Type.DType
}

// cast casts v to fp16.
func (e *edit) cast(v *ir.Value) *ir.Value {
	return e.Cast(v, ir.FP16)
}

// island is a set of operations in fp32 whose results nothing else reads but casts to fp16.
type island struct {
	e   *edit
	ops map[*ir.Op]bool
}

// islandOf returns the operations in fp32 that compute what a cast to fp16 reads.
func (e *edit) islandOf(end *ir.Op) *island {
	is := &island{e, map[*ir.Op]bool{}}
	var list, todo []*ir.Op
	for todo = append(todo, end.Arg(ir.ParamX).Def); len(todo) > 0 && len(list) < maxIsland; {
		op := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if op == nil || is.ops[op] || !fp32Only(op) {
			continue
		}
		is.ops[op] = true
		list = append(list, op)
		op.Operands(func(_ *ir.Param, v *ir.Value) { todo = append(todo, v.Def) })
	}
	// What something else reads in fp32 stays, with all that it is computed from.
	for again := true; again; {
		again = false
		for _, op := range list {
			if is.ops[op] && slices.ContainsFunc(op.Results, is.leaves) {
				delete(is.ops, op)
				again = true
			}
		}
	}
	return is
}

// maxIsland is the most operations of an island.
const maxIsland = 256

// fp32Only reports whether every float that an operation reads and computes is in fp32, and it is not a cast.
func fp32Only(op *ir.Op) bool {
	if castTo(op) != 0 || op.Def.Effect != ir.Pure || len(op.Blocks) > 0 || len(op.Results) != 1 {
		return false
	}
	ok := op.Results[0].Type.DType == ir.FP32 && op.Results[0].Type.Static()
	op.Operands(func(_ *ir.Param, v *ir.Value) {
		ok = ok && (!v.Type.DType.IsFloat() || v.Type.DType == ir.FP32)
	})
	return ok
}

// leaves reports whether something outside the island reads a value in fp32.
func (is *island) leaves(v *ir.Value) bool {
	return slices.ContainsFunc(is.e.readers(v), func(op *ir.Op) bool {
		return !is.ops[op] && castTo(op) != ir.FP16
	})
}

// islandInFP16 computes in fp16 what lies between casts to fp32, or inputs in fp32, and a cast to fp16.
func islandInFP16(e *edit) {
	if castTo(e.op) != ir.FP16 || e.op.Arg(ir.ParamX).Type.DType != ir.FP32 {
		e.not()
	}
	is := e.islandOf(e.op)
	if !is.ops[e.op.Arg(ir.ParamX).Def] {
		e.not()
	}
	fp16 := map[*ir.Value]*ir.Value{}
	var value func(v *ir.Value) *ir.Value
	value = func(v *ir.Value) *ir.Value {
		if h := fp16[v]; h != nil {
			return h
		}
		switch {
		case v.Const != nil:
			fp16[v] = e.smaller(v)
		case is.ops[v.Def]:
			fp16[v] = e.copyInFP16(v.Def, value)
		case castTo(v.Def) == ir.FP32 && v.Def.Arg(ir.ParamX).Type.DType == ir.FP16:
			fp16[v] = v.Def.Arg(ir.ParamX)
		default:
			fp16[v] = e.cast(v)
		}
		return fp16[v]
	}
	y := value(e.op.Arg(ir.ParamX))
	e.note = "computes in fp16 what was computed in fp32"
	e.become(y)
}

// smaller is a constant in fp16. It fails if an element becomes zero or infinite.
func (e *edit) smaller(v *ir.Value) *ir.Value {
	for i := range v.Const.Elems() {
		was := v.Const.Float(i)
		now := ir.ConstFloat(ir.FP16, was).Float(0)
		if (now == 0) != (was == 0) || math.IsInf(now, 0) != math.IsInf(was, 0) {
			return e.Fail("fp16 does not hold the constant %g", was)
		}
	}
	return e.constInFP16("half", v.Type, v.Const)
}

// copyInFP16 adds a copy of an operation whose floats are in fp16.
func (e *edit) copyInFP16(op *ir.Op, value func(v *ir.Value) *ir.Value) *ir.Value {
	n := ir.NewOp(op.Def)
	n.Pos = op.Pos
	for i, a := range op.Args {
		for _, v := range a {
			if v.Type.DType == ir.FP32 {
				v = value(v)
			}
			n.Args[i] = append(n.Args[i], v)
		}
	}
	return e.add(n)
}

// halfInputs has the function take in fp16 the inputs that it only casts to fp16, and return in fp16 the results that
// it casts from fp16.
func halfInputs(e *edit) {
	if ir.OpsetNumber(e.fn.Opset) < ir.OpsetNumber("ios16") {
		e.not()
	}
	var r ir.Rewriter
	for _, v := range e.fn.Body.Params {
		readers := e.readers(v)
		narrow := func(op *ir.Op) bool { return castTo(op) == ir.FP16 }
		if v.Type.DType != ir.FP32 || v.Type.Kind != ir.Tensor || len(readers) == 0 ||
			slices.ContainsFunc(readers, func(op *ir.Op) bool { return !narrow(op) }) {
			continue
		}
		v.Type = v.Type.WithDType(ir.FP16)
		for _, op := range readers {
			r.Replace(op.Results[0], v)
			e.gone[op] = true
		}
		e.Ops = append(e.Ops, readers...)
	}
	for _, v := range e.fn.Body.Outputs {
		if op := v.Def; castTo(op) == ir.FP32 && op.Arg(ir.ParamX).Type.DType == ir.FP16 &&
			op.Arg(ir.ParamX).Def != nil && !e.results[op.Arg(ir.ParamX)] && !e.gone[op.Arg(ir.ParamX).Def] &&
			len(e.readers(v)) == 1 {
			x := op.Arg(ir.ParamX)
			x.Name = v.Name
			r.Replace(v, x)
			e.gone[op] = true
			e.Ops = append(e.Ops, op)
		}
	}
	if len(e.Ops) == 0 {
		e.not()
	}
	r.Apply(e.fn)
	e.fn.Body.Ops = slices.DeleteFunc(e.fn.Body.Ops, func(op *ir.Op) bool { return e.gone[op] })
	e.note = "changes the type of inputs and outputs: the caller passes and gets fp16"
}
