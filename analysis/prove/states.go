package prove

import (
	"maps"

	"github.com/zinc-compiler/zinc/ir"
)

// stater makes the states of a function tensors.
type stater struct {
	order []*ir.Value             // the states
	subst map[*ir.Value]*ir.Value // values that blocks read from states
	// written are the operations that replace accesses of states, with these.
	written map[*ir.Op]*ir.Op
}

// stateless makes the states of a function tensors: a parameter is the value before the call, and a read, or a write
// with a result, is the identity of the current value. A condition or a loop whose blocks write a state returns the
// state's value as a further result. It returns the values after the call by the names of the states, and the
// operations that it replaced.
func stateless(f *ir.Func) (after map[string]*ir.Value, written map[*ir.Op]*ir.Op) {
	x := &stater{subst: map[*ir.Value]*ir.Value{}, written: map[*ir.Op]*ir.Op{}}
	now := map[*ir.Value]*ir.Value{}
	for _, v := range f.Body.Params {
		if v.Type.Kind == ir.State {
			v.Type = ir.TensorOf(v.Type.DType, v.Type.Shape...)
			x.order = append(x.order, v)
			now[v] = v
		}
	}
	x.block(f.Body, now, true)
	after = map[string]*ir.Value{}
	for state, v := range now {
		after[state.Name] = v
	}
	return after, x.written
}

// block replaces the accesses of a block. now contains the values of the states, which it updates. Inside an operation,
// a read is replaced by the value, without an operation of its own.
func (x *stater) block(b *ir.Block, now map[*ir.Value]*ir.Value, outermost bool) {
	var ops []*ir.Op
	for _, op := range b.Ops {
		for _, args := range op.Args {
			x.replace(args)
		}
		name, value := op.Def.StateParams()
		if name == "" {
			x.nested(op, now)
			ops = append(ops, op)
			continue
		}
		state := op.Arg(name)
		if value != "" {
			now[state] = op.Arg(value)
		}
		switch {
		case len(op.Results) == 0:
		case outermost:
			own := ir.NewOp(ir.OpIdentity.Forms()[0])
			own.Pos, own.Results = op.Pos, op.Results
			own.SetArg(ir.ParamX, now[state])
			for _, v := range own.Results {
				v.Def = own
			}
			ops, x.written[own] = append(ops, own), op
		default:
			for _, v := range op.Results {
				x.subst[v] = now[state]
			}
		}
	}
	b.Ops = ops
	x.replace(b.Outputs)
}

// replace replaces values that were read from states.
func (x *stater) replace(vs []*ir.Value) {
	for i, v := range vs {
		for x.subst[v] != nil {
			v = x.subst[v]
		}
		vs[i] = v
	}
}

// nested replaces the accesses in the blocks of an operation. Each block begins with the current states; the states
// that a block writes are variables of a loop.
func (x *stater) nested(op *ir.Op, now map[*ir.Value]*ir.Value) {
	if len(op.Blocks) == 0 {
		return
	}
	writes := map[*ir.Value]bool{}
	for _, b := range op.Blocks {
		writtenIn(b, writes)
	}
	var states []*ir.Value
	for _, state := range x.order {
		if writes[state] {
			states = append(states, state)
		}
	}
	inside := make([]map[*ir.Value]*ir.Value, len(op.Blocks))
	for i, b := range op.Blocks {
		inside[i] = maps.Clone(now)
		for _, state := range states {
			if op.Is(ir.OpWhileLoop) {
				v := &ir.Value{Name: state.Name, Type: state.Type, Pos: op.Pos}
				b.Params, inside[i][state] = append(b.Params, v), v
			}
		}
		x.block(b, inside[i], false)
	}
	for _, state := range states {
		if op.Is(ir.OpWhileLoop) {
			k := op.Def.ParamIndex(ir.ParamLoopVars)
			op.Args[k] = append(op.Args[k], now[state])
		}
		for i, b := range op.Blocks {
			if i == 1 || op.Is(ir.OpCond) { // the first block of a loop is its test
				b.Outputs = append(b.Outputs, inside[i][state])
			}
		}
		v := &ir.Value{Name: "state " + state.Name, Type: state.Type, Def: op, Pos: op.Pos}
		op.Results, now[state] = append(op.Results, v), v
	}
}

// writtenIn adds the states that operations of a block write.
func writtenIn(b *ir.Block, states map[*ir.Value]bool) {
	for _, op := range b.Ops {
		if state, value := op.Def.StateParams(); value != "" {
			states[op.Arg(state)] = true
		}
		for _, inner := range op.Blocks {
			writtenIn(inner, states)
		}
	}
}
