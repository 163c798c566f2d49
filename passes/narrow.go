package passes

import (
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// narrowCasts computes in fp16 what lies between casts from fp16 to fp32 and casts back, if every operation between
// them is exact (ir.Operation.Exact): all its numbers are fp16 numbers, whatever the type in which it computes. Such an
// operation gets fp16 operands, and a cast to fp32 where something else reads its result in fp32. The casts then meet,
// and canonicalise drops the pairs that they form.
func narrowCasts(s *State) error {
	n := &narrowing{s: s, read: s.worthNarrowing(), fp16: map[*ir.Value]*ir.Value{}}
	if len(n.read) == 0 {
		return nil
	}
	return s.rewrite(n.visit)
}

// worthNarrowing returns the exact operations on fp32 values that are fp16 numbers, if what they compute is at last
// read in another type: by a cast, or as the truth or the index that an exact operation returns.
func (s *State) worthNarrowing() map[*ir.Op]bool {
	fp16 := map[*ir.Value]bool{} // fp32 values that are fp16 numbers
	can := map[*ir.Op]bool{}
	for _, op := range s.Func.Body.Ops {
		switch {
		case widens(op):
			fp16[op.Results[0]] = true
		case onlyFP16(op, fp16):
			can[op] = true
			for _, v := range op.Results {
				fp16[v] = v.Type.DType == ir.FP32
			}
		}
	}
	read := map[*ir.Value]bool{} // fp32 values that are at last read in another type
	worth := map[*ir.Op]bool{}
	for i := len(s.Func.Body.Ops) - 1; i >= 0; i-- {
		op := s.Func.Body.Ops[i]
		cast := op.Is(ir.OpCast)
		if !cast && !can[op] {
			continue
		}
		for _, v := range op.Results {
			worth[op] = worth[op] || v.Type.DType != ir.FP32 || read[v]
		}
		if worth[op] {
			op.Operands(func(_ *ir.Param, v *ir.Value) { read[v] = true })
		}
		if cast {
			delete(worth, op)
		}
	}
	return worth
}

// widens reports whether op casts fp16 to fp32.
func widens(op *ir.Op) bool {
	return floatCast(op) && op.Results[0].Type.DType == ir.FP32
}

// onlyFP16 reports whether op is exact and all its fp32 operands are fp16 numbers: values of fp16 or constants.
func onlyFP16(op *ir.Op, fp16 map[*ir.Value]bool) bool {
	if !op.Def.Exact() || op.Def.Effect != ir.Pure || len(op.Blocks) > 0 {
		return false
	}
	var fixed []*ir.Const
	some, all := false, true
	op.Operands(func(_ *ir.Param, v *ir.Value) {
		switch {
		case v.Type.DType != ir.FP32:
		case v.IsConst():
			fixed = append(fixed, v.Const)
		default:
			some, all = true, all && fp16[v]
		}
	})
	return some && all && !slices.ContainsFunc(fixed, func(c *ir.Const) bool { return constInFP16(c) == nil })
}

// constInFP16 returns an fp32 constant in fp16, or nil if that changes a number.
func constInFP16(c *ir.Const) *ir.Const {
	h := &ir.Const{Type: c.Type.WithDType(ir.FP16), Blob: c.Blob}
	for i := range c.Elems() {
		f := c.Float(i)
		h.Data = ir.AppendElem(h.Data, ir.FP16, f)
		if got := h.Float(i); got != f || math.Signbit(got) != math.Signbit(f) {
			return nil
		}
	}
	return h.PackedBy(c, constInFP16)
}

// narrowing rewrites the operations worth narrowing.
type narrowing struct {
	s    *State
	read map[*ir.Op]bool
	fp16 map[*ir.Value]*ir.Value // fp32 value -> the fp16 value with the same numbers
}

func (n *narrowing) visit(r *rewriter, op *ir.Op) error {
	if widens(op) {
		n.fp16[op.Results[0]] = op.Arg(ir.ParamX)
	}
	narrow := n.narrow(op)
	if narrow == nil {
		r.keep(op)
		return nil
	}
	r.keep(narrow)
	for i, old := range op.Results {
		if old.Type.DType != ir.FP32 {
			narrow.Results[i] = old
			old.Def = narrow
			continue
		}
		back, err := n.s.makeOp(op, ir.OpCast, arg(ir.ParamX, narrow.Results[i]),
			arg(ir.ParamDType, n.s.constant(ir.ConstString("fp32"), op.Pos)))
		if err != nil {
			return err
		}
		takeResult(back, old)
		r.keep(back)
		n.fp16[old] = narrow.Results[i]
	}
	return nil
}

// narrow returns op in fp16, or nil if it is not worth it or has no such form.
func (n *narrowing) narrow(op *ir.Op) *ir.Op {
	if !n.read[op] {
		return nil
	}
	var args []ir.Arg
	op.Operands(func(p *ir.Param, v *ir.Value) {
		if v.Type.DType == ir.FP32 {
			if h := n.fp16[v]; h != nil || !v.IsConst() {
				v = h
			} else if c := constInFP16(v.Const); c != nil {
				h = n.s.constant(c, v.Pos)
				n.s.derive(v, h)
				n.s.cameFrom(h, v)
				v = h
			}
		}
		args = append(args, arg(p.Name, v))
	})
	m, err := n.s.makeOp(op, op.Def.Operation, args...)
	if err != nil || len(m.Results) != len(op.Results) {
		return nil
	}
	for i, v := range m.Results {
		want := op.Results[i].Type
		if want.DType == ir.FP32 {
			want = want.WithDType(ir.FP16)
		}
		if !v.Type.Equal(want) {
			return nil
		}
	}
	return m
}
