package passes

import (
	"fmt"
	"maps"

	"github.com/zinc-compiler/zinc/ir"
)

// StateBuffer is a state of the function after lower-states: a parameter with the content of the state before the call,
// and the result that is its content afterwards.
type StateBuffer struct {
	Name   string
	Value  *ir.Value // parameter, a plain tensor
	Result int       // index in Func.Body.Outputs; -1 for a state that is only read
	// Origin is the state's parameter with the operations that read and write it; recorded with Options.Origins.
	Origin *ir.Origin
}

// lowerStates turns states into plain tensors. Each state becomes a parameter, a read becomes the value at that point,
// and a write becomes the value from there on; the value after the last write becomes an additional result. Operations
// are then ordered only by their operands, and the engine sees no state.
func lowerStates(s *State) error {
	f := s.Func
	l := &stateLowering{s: s, subst: map[*ir.Value]*ir.Value{}, accesses: map[*ir.Value][]*ir.Origin{}}
	now := map[*ir.Value]*ir.Value{}
	for i, p := range f.Body.Params {
		if p.Type.Kind != ir.State {
			continue
		}
		t := ir.TensorOf(p.Type.DType, p.Type.Shape...)
		if !t.Static() {
			return fmt.Errorf("state %q is %s; a state needs a shape that is known", p.Name, p.Type)
		}
		v := &ir.Value{Name: p.Name, Type: t, Pos: p.Pos, Origin: p.Origin}
		f.Body.Params[i] = v
		now[p] = v
		l.order = append(l.order, p)
		s.States = append(s.States, StateBuffer{Name: p.Name, Value: v, Result: -1})
	}
	if len(s.States) == 0 {
		return nil
	}
	outs := append([]*ir.Value(nil), f.Body.Outputs...)
	if err := l.block(f.Body, now); err != nil {
		return err
	}
	if err := s.keepNames(outs); err != nil {
		return err
	}
	for i, p := range l.order {
		s.States[i].Origin = s.made(append([]*ir.Origin{p.Origin}, l.accesses[p]...)...)
		if v := now[p]; v != s.States[i].Value {
			s.States[i].Result = len(f.Body.Outputs)
			f.Body.Outputs = append(f.Body.Outputs, v)
		}
	}
	return nil
}

// stateLowering records what the walk has replaced.
type stateLowering struct {
	s     *State
	order []*ir.Value // the states, as the source has them
	subst map[*ir.Value]*ir.Value
	// accesses are the origins of what reads and writes each state.
	accesses map[*ir.Value][]*ir.Origin
}

func (l *stateLowering) get(v *ir.Value) *ir.Value {
	for l.subst[v] != nil {
		v = l.subst[v]
	}
	return v
}

// block lowers the operations of a block. now contains the value of each state and is updated to those at the end of
// the block.
func (l *stateLowering) block(b *ir.Block, now map[*ir.Value]*ir.Value) error {
	ops := make([]*ir.Op, 0, len(b.Ops))
	for _, op := range b.Ops {
		for _, a := range op.Args {
			for i, v := range a {
				a[i] = l.get(v)
			}
		}
		if state, value := op.Def.StateParams(); state != "" {
			st := op.Arg(state)
			if now[st] == nil {
				return fmt.Errorf("%s: the state must be a parameter of the function", l.s.label(op))
			}
			if value != "" {
				now[st] = op.Arg(value)
			}
			l.accesses[st] = append(l.accesses[st], op.Origin)
			for _, v := range op.Results {
				l.subst[v] = now[st]
				l.s.standsFor(v, now[st])
			}
			continue
		}
		var err error
		switch op.Def.Operation {
		case ir.OpCond:
			err = l.branches(op, now)
		case ir.OpWhileLoop:
			err = l.loop(op, now)
		default:
			for _, inner := range op.Blocks {
				if err = l.block(inner, now); err != nil {
					break
				}
			}
		}
		if err != nil {
			return err
		}
		ops = append(ops, op)
	}
	b.Ops = ops
	for i, v := range b.Outputs {
		b.Outputs[i] = l.get(v)
	}
	return nil
}

// written returns the states that operations of the block write.
func (l *stateLowering) written(b *ir.Block) map[*ir.Value]bool {
	w := map[*ir.Value]bool{}
	var walk func(b *ir.Block)
	walk = func(b *ir.Block) {
		for _, op := range b.Ops {
			if state, value := op.Def.StateParams(); value != "" {
				w[op.Arg(state)] = true
			}
			for _, inner := range op.Blocks {
				walk(inner)
			}
		}
	}
	walk(b)
	return w
}

func (l *stateLowering) result(op *ir.Op, p *ir.Value) *ir.Value {
	v := &ir.Value{Name: l.s.name("state"), Type: ir.TensorOf(p.Type.DType, p.Type.Shape...), Def: op, Pos: op.Pos}
	op.Results = append(op.Results, v)
	return v
}

func (l *stateLowering) param(b *ir.Block, op *ir.Op, p *ir.Value) *ir.Value {
	v := &ir.Value{Name: l.s.name("state"), Type: ir.TensorOf(p.Type.DType, p.Type.Shape...), Pos: op.Pos}
	b.Params = append(b.Params, v)
	return v
}

// branches adds a result to a cond for each state that a branch writes.
func (l *stateLowering) branches(op *ir.Op, now map[*ir.Value]*ir.Value) error {
	w := map[*ir.Value]bool{}
	var after []map[*ir.Value]*ir.Value
	for _, b := range op.Blocks {
		for p := range l.written(b) {
			w[p] = true
		}
	}
	for _, b := range op.Blocks {
		in := map[*ir.Value]*ir.Value{}
		maps.Copy(in, now)
		if err := l.block(b, in); err != nil {
			return err
		}
		after = append(after, in)
	}
	for _, p := range l.order {
		if !w[p] {
			continue
		}
		for i, b := range op.Blocks {
			b.Outputs = append(b.Outputs, after[i][p])
		}
		now[p] = l.result(op, p)
	}
	return nil
}

// loop adds a variable to a while_loop for each state that its body writes.
func (l *stateLowering) loop(op *ir.Op, now map[*ir.Value]*ir.Value) error {
	if len(op.Blocks) != 2 {
		return fmt.Errorf("%s has %d blocks, want 2", l.s.label(op), len(op.Blocks))
	}
	test, body := op.Blocks[0], op.Blocks[1]
	if len(l.written(test)) > 0 {
		return fmt.Errorf("%s writes a state in its condition; write it in the body", l.s.label(op))
	}
	w := l.written(body)
	inTest, inBody := map[*ir.Value]*ir.Value{}, map[*ir.Value]*ir.Value{}
	k := op.Def.ParamIndex(ir.ParamLoopVars)
	for p, v := range now {
		inTest[p], inBody[p] = v, v
	}
	for _, p := range l.order {
		if !w[p] {
			continue
		}
		op.Args[k] = append(op.Args[k], now[p])
		inTest[p], inBody[p] = l.param(test, op, p), l.param(body, op, p)
	}
	if err := l.block(test, inTest); err != nil {
		return err
	}
	if err := l.block(body, inBody); err != nil {
		return err
	}
	for _, p := range l.order {
		if w[p] {
			body.Outputs = append(body.Outputs, inBody[p])
			now[p] = l.result(op, p)
		}
	}
	return nil
}
