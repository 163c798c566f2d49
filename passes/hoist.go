package passes

import (
	"maps"

	"github.com/zinc-compiler/zinc/ir"
)

// hoistActivations moves an activation of what products compute, joined or reshaped since, to the products, which apply
// it for nothing: relu of the joined planes of a convolution over three dimensions, for example. It applies if the
// engine can fuse the activation with every one of the products, and nothing else reads their results or what lies
// between.
func hoistActivations(s *State) error {
	if s.CanFuse == nil {
		return nil
	}
	read := uses(s.Func)
	after := map[*ir.Op]*ir.Op{} // product -> its activation
	gone := map[*ir.Op]bool{}
	for _, op := range s.Func.Body.Ops {
		x := op.Arg(ir.ParamX)
		if op.Place.Unit != ir.Engine || !activates(op) || !movesAll(x.Def) {
			continue
		}
		s.visiting(op)
		h := &hoist{s: s, op: op, read: read, after: map[*ir.Op]*ir.Op{}}
		if !h.over(x, 0) {
			continue
		}
		h.commit(x.Def)
		maps.Copy(after, h.after)
		gone[op] = true
	}
	s.visiting(nil)
	if len(gone) == 0 {
		return nil
	}
	var ops []*ir.Op
	for _, op := range s.Func.Body.Ops {
		if !gone[op] {
			ops = append(ops, op)
		}
		if a := after[op]; a != nil {
			ops = append(ops, a)
		}
	}
	s.Func.Body.Ops = ops
	return nil
}

// activates reports whether op computes each element from the element of x in its place and from single constants.
func activates(op *ir.Op) bool {
	x := op.Arg(ir.ParamX)
	if op.Def.Class != ir.Pointwise || len(op.Results) != 1 || x == nil || x.IsConst() ||
		!x.Type.Equal(op.Results[0].Type) {
		return false
	}
	alone := true
	op.Operands(func(p *ir.Param, v *ir.Value) {
		alone = alone && (p.Name == ir.ParamX || v.IsConst() && v.Type.Elems() == 1)
	})
	return alone
}

// movesAll reports whether op moves every element of its operands to one place of its only result.
func movesAll(op *ir.Op) bool {
	if op == nil || op.Def.Class != ir.Movement || len(op.Results) != 1 || op.Place.Unit != ir.Engine {
		return false
	}
	n, same := int64(0), true
	for _, p := range op.Def.Picks {
		for _, v := range op.ArgList(p) {
			n += v.Type.Elems()
			same = same && v.Type.DType == op.Results[0].Type.DType
		}
	}
	return same && n == op.Results[0].Type.Elems()
}

// hoist is the move of one activation.
type hoist struct {
	s     *State
	op    *ir.Op
	read  *ir.ValueMap[int]
	moves []*ir.Op
	after map[*ir.Op]*ir.Op // product -> its activation
}

// over finds the products whose results v consists of, and writes the activation of each. It reports whether the
// activation can move there.
func (h *hoist) over(v *ir.Value, depth int) bool {
	const deep = 8
	op := v.Def
	if op == nil || h.read.Get(v) != 1 || op.Place.Unit != ir.Engine || depth > deep {
		return false
	}
	if movesAll(op) {
		h.moves = append(h.moves, op)
		for _, p := range op.Def.Picks {
			for _, of := range op.ArgList(p) {
				if !h.over(of, depth+1) {
					return false
				}
			}
		}
		return true
	}
	var args []ir.Arg
	h.op.Operands(func(p *ir.Param, of *ir.Value) {
		if p.Name == ir.ParamX {
			of = v
		}
		args = append(args, arg(p.Name, of))
	})
	n, err := h.s.makeOp(h.op, h.op.Def.Operation, args...)
	if err != nil || !h.s.CanFuse(op, nil, n) {
		return false
	}
	a, err := h.s.Accept(n)
	if err != nil {
		return false
	}
	n.Place = ir.Place{Unit: ir.Engine, Rule: a.Rule, Reason: h.op.Place.Reason}
	n.Alone = alone(a)
	h.after[op] = n
	return true
}

// commit makes the operations between read the activations, and the last of them compute the result.
func (h *hoist) commit(last *ir.Op) {
	for _, op := range h.moves {
		for _, a := range op.Args {
			for i, v := range a {
				if n := h.after[v.Def]; v.Def != nil && n != nil && n.Arg(ir.ParamX) == v {
					a[i] = n.Results[0]
				}
			}
		}
		if op != last { // what it computes is no longer what the source says of the name
			op.Results[0].Name = h.s.rename(op.Results[0].Name)
		}
	}
	takeResult(last, h.op.Results[0])
}
