package passes

import (
	"fmt"
	"strings"

	"github.com/zinc-compiler/zinc/ir"
)

// rewriter rebuilds the operations of a block in one walk: the operands of each operation are replaced by their
// rewritten values, and the operation is then kept or dropped.
type rewriter struct {
	ir.Rewriter
	s   *State
	out []*ir.Op
}

// rewrite walks the function's body. It calls visit with each operation, whose operands are already replaced; visit
// keeps the operation (keep) or replaces its results (replace).
func (s *State) rewrite(visit func(r *rewriter, op *ir.Op) error) error {
	r := &rewriter{s: s}
	ops := s.Func.Body.Ops
	r.out = make([]*ir.Op, 0, len(ops))
	for _, op := range ops {
		r.Op(op)
		s.visiting(op)
		if err := visit(r, op); err != nil {
			return err
		}
	}
	s.visiting(nil)
	s.Func.Body.Ops = r.out
	for i, v := range s.Func.Body.Outputs {
		s.Func.Body.Outputs[i] = r.Find(v)
	}
	return nil
}

func (r *rewriter) keep(op *ir.Op) { r.out = append(r.out, op) }

// replace makes every later use of old a use of v.
func (r *rewriter) replace(old, v *ir.Value) {
	if old != v {
		r.Replace(old, v)
		r.s.standsFor(old, v)
	}
}

// constant returns a new constant value.
func (s *State) constant(c *ir.Const, pos ir.Pos) *ir.Value {
	return &ir.Value{Name: s.name("const"), Type: c.Type, Const: c, Pos: pos, Origin: s.made()}
}

// name returns a name that no source value has: MIL identifiers contain no '%'.
func (s *State) name(stem string) string {
	s.fresh++
	return fmt.Sprintf("%%%s.%d", stem, s.fresh)
}

// fromSource reports whether the source names v.
func fromSource(v *ir.Value) bool { return !strings.HasPrefix(v.Name, "%") }

// rename returns a new name derived from an old one.
func (s *State) rename(old string) string {
	stem, _, _ := strings.Cut(strings.TrimPrefix(old, "%"), "%")
	return s.name(stem)
}

func arg(name ir.ParamName, v *ir.Value) ir.Arg { return ir.Arg{Param: name, Value: v} }

// makeOp returns a new operation that replaces like, with results inferred.
func (s *State) makeOp(like *ir.Op, o *ir.Operation, args ...ir.Arg) (*ir.Op, error) {
	op, err := ir.NewOpOf(o, s.Func.Opset, like.Pos, s.name, args...)
	if err != nil {
		return nil, fmt.Errorf("%s made of %s %q: %w", o.Name, like.Def.Name, like.Name, err)
	}
	op.Name, op.Origin = like.Name, s.made(like.Origin)
	if of, ok := s.parts[like]; ok {
		s.parts[op] = of
	}
	return op, nil
}

// label names an operation in an error, with its position if the source has one.
func (s *State) label(op *ir.Op) string {
	l := op.Def.Name
	if len(op.Results) > 0 {
		l += fmt.Sprintf(" %q", op.Results[0].Name)
	}
	if at := s.Program.PosString(op.Pos); at != "" {
		l = at + ": " + l
	}
	return l
}

// takeResult makes op define old's value instead of its own only result, so that the name survives.
func takeResult(op *ir.Op, old *ir.Value) {
	old.Def = op
	op.Results[0] = old
}

// uses counts the uses of every value in a function's blocks, including nested ones, that is no constant.
func uses(f *ir.Func) *ir.ValueMap[int] {
	n := ir.NewValueMap[int](ir.Number(f.Body))
	eachUse(f.Body, func(v *ir.Value) {
		if !v.IsConst() {
			n.Set(v, n.Get(v)+1)
		}
	})
	return n
}

// eachUse calls f for every use of a value in a block, including nested ones.
func eachUse(b *ir.Block, f func(*ir.Value)) {
	for _, op := range b.Ops {
		op.Operands(func(_ *ir.Param, v *ir.Value) { f(v) })
		for _, inner := range op.Blocks {
			eachUse(inner, f)
		}
	}
	for _, v := range b.Outputs {
		f(v)
	}
}
