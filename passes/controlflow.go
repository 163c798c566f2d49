package passes

import (
	"errors"
	"fmt"

	"github.com/zinc-compiler/zinc/ir"
)

// Limits of unrolling: beyond them a loop stays a loop, on the CPU.
const (
	MaxTrips       = 64
	MaxUnrolledOps = 10_000
)

// maxCopies limits the operations that all unrolling of a function copies, including those that fold away: the counts
// of nested loops multiply.
const maxCopies = 20 * MaxUnrolledOps

// MaxBranchWork limits the branches of a condition that are both computed, in elements computed.
const MaxBranchWork = 1 << 22

// fold visits one operation of fold-constants. An operation that depends only on constants is computed, a condition on
// a constant becomes the branch it takes, and a loop whose trips constants decide becomes its bodies, one after the
// other.
func (s *State) fold(r *rewriter, op *ir.Op) error {
	if err := narrow(op); err != nil {
		return fmt.Errorf("%s: %w; use smaller shapes", s.label(op), err)
	}
	switch op.Def.Operation {
	case ir.OpCond:
		if done, err := s.foldCond(r, op); done || err != nil {
			return err
		}
	case ir.OpWhileLoop:
		if done, err := s.unroll(r, op); done || err != nil {
			return err
		}
	}
	done, err := s.foldOp(op)
	if err == nil && !done {
		r.keep(op)
	}
	return err
}

// narrow infers again the results of an operation whose shapes are not all known, since folding may have made operands
// known. It returns an error for a result that is larger than any tensor, as after many trips of a loop.
func narrow(op *ir.Op) error {
	static := true
	for _, v := range op.Results {
		static = static && (v.Type.Kind != ir.Tensor || v.Type.Static())
	}
	if static {
		return nil
	}
	ts, err := ir.InferOp(op)
	switch {
	case errors.Is(err, ir.ErrExtent):
		return err
	case err != nil || len(ts) != len(op.Results):
		return nil
	}
	for i, t := range ts {
		if v := op.Results[i]; v.Type.Kind == ir.Tensor && t.Fits(v.Type) {
			v.Type = meet(t, v.Type)
		}
	}
	return nil
}

// meet returns the type that combines what is known from either type.
func meet(a, b ir.Type) ir.Type {
	shape := make([]int64, a.Rank())
	for i := range shape {
		shape[i] = max(a.Shape[i], b.Shape[i])
	}
	return a.WithShape(shape...)
}

// foldCond replaces a condition on a constant by the branch it takes.
func (s *State) foldCond(r *rewriter, op *ir.Op) (bool, error) {
	pred := op.Arg(ir.ParamPred)
	if len(op.Blocks) != 2 || !pred.IsConst() || pred.Type.Elems() != 1 {
		return false, nil
	}
	b := op.Blocks[1]
	if pred.Const.Int(0) != 0 {
		b = op.Blocks[0]
	}
	defer s.visitingInside(op)()
	s.absorb(pred)
	outs, err := s.inline(r, b, nil)
	if err != nil {
		return false, err
	}
	for i, v := range op.Results {
		r.replace(v, outs[i])
	}
	return true, nil
}

// unroll replaces a loop whose trips constants decide by its bodies. It undoes what it has done if a trip depends on
// data or a limit is exceeded.
func (s *State) unroll(r *rewriter, op *ir.Op) (bool, error) {
	if len(op.Blocks) != 2 {
		return false, nil
	}
	for _, b := range op.Blocks {
		if err := s.foldWeights(b); err != nil {
			return false, err
		}
	}
	defer s.visitingInside(op)()
	mark, fresh := len(r.out), s.fresh
	giveUp := func(format string, args ...any) (bool, error) {
		s.why(op, format, args...)
		r.out, s.fresh = r.out[:mark], fresh
		return false, nil
	}
	vars := append([]*ir.Value(nil), op.ArgList(ir.ParamLoopVars)...)
	for trip := 0; ; trip++ {
		if s.copies > maxCopies {
			return giveUp("unrolling it and the loops around it takes more than %d operations", maxCopies)
		}
		test, err := s.inline(r, op.Blocks[0], vars)
		if err != nil {
			return false, err
		}
		if len(test) != 1 || !test[0].IsConst() || test[0].Type.Elems() != 1 {
			return giveUp("whether trip %d is made depends on data", trip+1)
		}
		if test[0].Const.Int(0) == 0 {
			break
		}
		if trip == MaxTrips {
			return giveUp("it makes more than %d trips, the most that are unrolled", MaxTrips)
		}
		if vars, err = s.inline(r, op.Blocks[1], vars); err != nil {
			return false, err
		}
		if len(r.out)-mark > MaxUnrolledOps {
			return giveUp("%d trips are more than %d operations, the most that a loop unrolls to", trip+1,
				MaxUnrolledOps)
		}
	}
	for i, v := range op.Results {
		r.replace(v, vars[i])
	}
	return true, nil
}

// foldWeights makes the compressed constants of a block dense in place, once for all copies.
func (s *State) foldWeights(b *ir.Block) error {
	kept := b.Ops[:0]
	for _, op := range b.Ops {
		done := false
		if ir.IsConstexpr(op) {
			var err error
			if done, err = s.foldOp(op); err != nil {
				return err
			}
		}
		if !done {
			kept = append(kept, op)
		}
	}
	b.Ops = kept
	return nil
}

// why records the reason why control flow stays, for placement to report.
func (s *State) why(op *ir.Op, format string, args ...any) {
	if s.stays == nil {
		s.stays = map[*ir.Op]string{}
	}
	s.stays[op] = fmt.Sprintf(format, args...)
}

// inline emits a copy of a block's operations, with its parameters replaced by args, and returns the block's outputs.
// Copies are folded like any operation.
func (s *State) inline(r *rewriter, b *ir.Block, args []*ir.Value) ([]*ir.Value, error) {
	if len(args) != len(b.Params) {
		return nil, fmt.Errorf("a block takes %d parameters, gets %d", len(b.Params), len(args))
	}
	c := &ir.Cloner{Values: map[*ir.Value]*ir.Value{}, Rename: s.rename}
	for i, p := range b.Params {
		c.Values[p] = args[i]
	}
	for _, op := range b.Ops {
		before := c.Ops
		n := c.Op(op)
		s.copies += c.Ops - before
		n.Origin = s.made(n.Origin)
		r.Op(n)
		if err := s.fold(r, n); err != nil {
			return nil, err
		}
	}
	outs := make([]*ir.Value, len(b.Outputs))
	for i, v := range b.Outputs {
		outs[i] = r.Find(c.Value(v))
	}
	return outs, nil
}

// flattenBranches computes both branches of a condition on data and selects between their results, if the branches are
// pure, the engine accepts all of their operations, and together they are cheap: that saves the way to the CPU and
// back.
func flattenBranches(s *State) error {
	before := append([]*ir.Value(nil), s.Func.Body.Outputs...)
	err := s.rewrite(func(r *rewriter, op *ir.Op) error {
		if op.Is(ir.OpCond) {
			if why := s.unflat(op); why != "" {
				s.why(op, "the condition depends on data and %s", why)
			}
		}
		if !op.Is(ir.OpCond) || s.stays[op] != "" {
			r.keep(op)
			return nil
		}
		var sides [2][]*ir.Value
		for k, b := range op.Blocks {
			var err error
			if sides[k], err = s.inline(r, b, nil); err != nil {
				return err
			}
		}
		for i, v := range op.Results {
			sel, err := s.makeOp(op, ir.OpSelect, arg(ir.ParamCond, op.Arg(ir.ParamPred)), arg(ir.ParamA, sides[0][i]),
				arg(ir.ParamB, sides[1][i]))
			if err != nil {
				return err
			}
			takeResult(sel, v)
			r.keep(sel)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.keepNames(before)
}

// unflat returns the reason why the branches of a condition are not both computed, or "" if they are to be.
func (s *State) unflat(op *ir.Op) string {
	if len(op.Blocks) != 2 || len(op.Results) == 0 {
		return "it has no results"
	}
	work, ops := int64(0), 0
	for _, b := range op.Blocks {
		for _, o := range b.Ops {
			if o.Def.Effect != ir.Pure || len(o.Blocks) > 0 {
				return fmt.Sprintf("a branch holds %s, which must run only when it is meant to", o.Def.Name)
			}
			if _, err := s.accept(o); err != nil {
				return fmt.Sprintf("a branch holds %s, which the engine does not run: %v", o.Def.Name, err)
			}
			for _, v := range o.Results {
				n := v.Type.Elems()
				if w := o.Arg(ir.ParamWeight); w != nil && w.Type.Elems() > 0 && w.Type.Shape[0] > 0 {
					n *= w.Type.Elems() / w.Type.Shape[0]
				}
				work += n
			}
			ops++
		}
	}
	switch {
	case ops == 0:
		return "neither branch computes anything"
	case work > MaxBranchWork:
		return fmt.Sprintf("both branches together compute %d elements, more than the %d up to which both are computed",
			work, MaxBranchWork)
	}
	pred := op.Arg(ir.ParamPred).Type
	for i, v := range op.Results {
		a, b := op.Blocks[0].Outputs[i].Type, op.Blocks[1].Outputs[i].Type
		if !known(v) || !a.Equal(b) || pred.Elems() != 1 || pred.Rank() > v.Type.Rank() {
			return fmt.Sprintf("result %q is %s in one branch and %s in the other, on a condition of %s", v.Name, a, b,
				pred)
		}
	}
	return ""
}

// keepNames restores the names that the function's results had before a pass, which before lists: the new value takes
// the name, or is copied if it has a name that must stay.
func (s *State) keepNames(before []*ir.Value) error {
	b := s.Func.Body
	taken := map[*ir.Value]bool{} // named as a result already
	for i, v := range b.Outputs {
		if v == before[i] {
			taken[v] = true
		}
	}
	for i, old := range before[:s.VisibleOutputs] {
		v := b.Outputs[i]
		switch {
		case v == old:
			continue
		case v.IsConst():
			n := s.constant(v.Const, old.Pos)
			n.Name, n.Origin = old.Name, v.Origin
			b.Outputs[i] = n
			continue
		case v.Def != nil && !taken[v]:
			v.Name = old.Name
			taken[v] = true
			continue
		}
		op, err := s.makeOp(old.Def, ir.OpIdentity, arg(ir.ParamX, v))
		if err != nil {
			return err
		}
		op.Results[0].Name = old.Name
		b.Ops = append(b.Ops, op)
		b.Outputs[i] = op.Results[0]
	}
	return nil
}
