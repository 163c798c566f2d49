package passes

import "github.com/zinc-compiler/zinc/ir"

// markInPlace marks the operations outside the engine that change a part of a value which nothing reads afterwards:
// their results take its memory. The body is in the order in which it runs. An input's memory is the caller's. The
// memory of a state is free if the operations that change it, one after another, make its next value.
func (s *State) markInPlace() {
	ops := s.Func.Body.Ops
	// last is what reads a value last; held if the value or a view of it is read after the body.
	last, held := ir.NewValueTable[*ir.Op](ir.Number(s.Func.Body)), new(ir.Op)
	for _, op := range ops {
		view := op.IsView() && op.Place.Unit != ir.Engine // which copies what it reads
		op.Reads(func(v *ir.Value) {
			if view {
				last.Set(v, held)
			} else if last.Get(v) != held {
				last.Set(v, op)
			}
		})
	}
	for _, v := range s.Func.Body.Outputs {
		last.Set(v, held)
	}
	// updated returns the value that an operation changes in part, if nothing reads it afterwards.
	updated := func(op *ir.Op) *ir.Value {
		if op == nil || op.Place.Unit == ir.Engine {
			return nil
		}
		old, part := op.Updates()
		if v := op.Arg(old); v != nil && !v.IsConst() && last.Get(v) == op && op.Arg(part) != v {
			return v
		}
		return nil
	}
	for _, op := range ops {
		v := updated(op)
		op.InPlace = v != nil && v.Def != nil && !v.Def.IsView() && len(v.Def.Blocks) == 0
	}
	for _, st := range s.States {
		if st.Result < 0 {
			continue
		}
		for v := s.Func.Body.Outputs[st.Result]; v.Def != nil; {
			op := v.Def
			if v = updated(op); v == nil {
				break
			}
			op.InPlace = op.InPlace || v == st.Value
		}
	}
}
