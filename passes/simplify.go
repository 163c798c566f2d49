package passes

import (
	"fmt"
	"slices"
	"sort"

	"github.com/zinc-compiler/zinc/internal/memlimit"
	"github.com/zinc-compiler/zinc/ir"
)

func selectFunction(s *State) error {
	f, err := s.Program.Entry(s.Options.Func)
	if err != nil {
		return err
	}
	s.Func = f
	if s.Origins {
		ir.RecordOrigins(f)
	}
	s.Program.Funcs = []*ir.Func{f}
	s.VisibleOutputs = len(f.Body.Outputs)
	return nil
}

// foldLimit is the size of the largest result that folding may compute from constants that are not weights: beyond it,
// a tile or fill is better computed at run time.
const foldLimit = 16 << 20

// foldBudget limits the total size of all such results of a program: a few hundred lines could otherwise require any
// number of the largest.
const foldBudget = 512 << 20

func foldConstants(s *State) error {
	before := append([]*ir.Value(nil), s.Func.Body.Outputs...)
	if err := s.rewrite(s.fold); err != nil {
		return err
	}
	return s.keepNames(before)
}

// foldOp makes an operation's results constants if its operands are.
func (s *State) foldOp(op *ir.Op) (bool, error) {
	if len(op.Blocks) > 0 {
		return false, nil
	}
	known, bytes := true, int64(0)
	constexpr := ir.IsConstexpr(op)
	for _, v := range op.Results {
		known = known && (constexpr || v.Type.Bytes() <= foldLimit)
		bytes += max(v.Type.Bytes(), 0)
	}
	if !known || !constexpr && s.folded+bytes > foldBudget {
		return false, nil
	}
	assumed := ir.AssumedWeight(op)
	unpacked := constexpr && assumed == nil
	if limit := memlimit.Bytes(); unpacked && bytes > limit-s.expanded {
		return false, fmt.Errorf("%s %q: decompressed it takes %d bytes, with the %d bytes of those before it more "+
			"than the limit of %d bytes of memory", op.Def.Name, op.Name, bytes, s.expanded, limit)
	}
	cs, err := []*ir.Const{assumed}, error(nil)
	if assumed == nil {
		cs, err = ir.FoldOp(op)
	}
	if err != nil {
		return false, fmt.Errorf("%s %q: %w", op.Def.Name, op.Name, err)
	}
	if cs == nil {
		return false, nil
	}
	if unpacked {
		s.expanded += bytes
	}
	if constexpr {
		s.noteCompressed(op)
	} else {
		for _, c := range cs {
			s.folded += int64(len(c.Data))
		}
		op.Operands(func(_ *ir.Param, v *ir.Value) { s.derive(v, op.Results[0]) })
	}
	for i, v := range op.Results {
		v.Const, v.Def, v.Type = cs[i], nil, cs[i].Type
		s.foldedFrom(v, op)
	}
	return true, nil
}

// dropDeadCode removes pure operations whose results nothing uses.
func dropDeadCode(s *State) error {
	n := uses(s.Func)
	ops := s.Func.Body.Ops
	kept := make([]*ir.Op, 0, len(ops))
	for i := len(ops) - 1; i >= 0; i-- {
		op := ops[i]
		live := op.Def.Effect != ir.Pure && op.Def.Effect != ir.Random || len(op.Blocks) > 0
		for _, v := range op.Results {
			live = live || n.Get(v) > 0
		}
		if !live {
			op.Operands(func(_ *ir.Param, v *ir.Value) {
				if !v.IsConst() {
					n.Set(v, n.Get(v)-1)
				}
			})
			continue
		}
		kept = append(kept, op)
	}
	for i, j := 0, len(kept)-1; i < j; i, j = i+1, j-1 {
		kept[i], kept[j] = kept[j], kept[i]
	}
	s.Func.Body.Ops = kept
	return nil
}

// known reports whether v is a tensor with known dimensions.
func known(v *ir.Value) bool { return v.Type.Kind == ir.Tensor && v.Type.Static() }

// pattern returns what the only result of an operation becomes, or nil to leave it.
type pattern func(s *State, r *rewriter, op *ir.Op) (*ir.Value, error)

// patterns are the rewritings of canonicalise, by operation.
var patterns = map[*ir.Operation]pattern{
	ir.OpIdentity:   func(_ *State, _ *rewriter, op *ir.Op) (*ir.Value, error) { return op.Arg(ir.ParamX), nil },
	ir.OpCast:       simplifyCast,
	ir.OpReshape:    mergeReshape,
	ir.OpExpandDims: mergeReshape,
	ir.OpSqueeze:    mergeReshape,
	ir.OpPow:        constantPower,
	ir.OpBatchNorm:  splitBatchNorm,
	ir.OpTranspose:  mergeTranspose,
	ir.OpMatMul:     scaleProbabilities,
}

func canonicalise(s *State) error { return s.rewriteAll(patterns) }

// rewriteAll writes each operation that has a pattern as the pattern does.
func (s *State) rewriteAll(patterns map[*ir.Operation]pattern) error {
	outs := map[*ir.Value]bool{}
	for _, v := range s.Func.Body.Outputs {
		outs[v] = true
	}
	return s.rewrite(func(r *rewriter, op *ir.Op) error {
		p := patterns[op.Def.Operation]
		if p == nil || len(op.Results) != 1 {
			r.keep(op)
			return nil
		}
		before := len(r.out)
		v, err := p(s, r, op)
		if err != nil {
			return err
		}
		switch old := op.Results[0]; {
		case v == nil:
			r.keep(op)
		case outs[old] && len(r.out) > before && r.out[len(r.out)-1] == v.Def:
			// A result of the function keeps its value.
			takeResult(v.Def, old)
		case outs[old] && v.Def != nil && !outs[v] && !fromSource(v):
			v.Name, outs[v] = old.Name, true
			r.replace(old, v)
		case outs[old]:
			n, err := s.makeOp(op, ir.OpIdentity, arg(ir.ParamX, v))
			if err != nil {
				return err
			}
			takeResult(n, old)
			r.keep(n)
		default:
			r.replace(old, v)
		}
		return nil
	})
}

// simplifyCast drops a cast that changes nothing, merges one with a cast before it that changes no value, and replaces
// an int32 computation between fp16 numbers by one in fp16.
func simplifyCast(s *State, r *rewriter, op *ir.Op) (*ir.Value, error) {
	x, y := op.Arg(ir.ParamX), op.Results[0].Type
	if x.Type.Equal(y) {
		return x, nil
	}
	if x.Def == nil || !x.Def.Is(ir.OpCast) || !skips(x.Def.Arg(ir.ParamX).Type.DType, x.Type.DType, y.DType) {
		return s.integersInFP16(r, op)
	}
	from := x.Def.Arg(ir.ParamX)
	if from.Type.Equal(y) {
		return from, nil
	}
	s.absorb(x)
	n, err := s.makeOp(op, ir.OpCast, arg(ir.ParamX, from), arg(ir.ParamDType, op.Arg(ir.ParamDType)))
	if err != nil {
		return nil, nil // the operation set has no such cast
	}
	r.keep(n)
	return n.Results[0], nil
}

// skips reports whether a cast from one type to another by way of a third is the cast between the two: the cast to the
// third changes no value, and an integer type out of whose range a value may be is reached from one kind of number. A
// cast from fp16 to fp32 remains: the engine computes the fp16 numbers, and the cast applies to a result.
func skips(from, by, to ir.DType) bool {
	if by == ir.FP16 && to == ir.FP32 {
		return false
	}
	return by.Contains(from) && (to.Contains(from) || to.IsFloat() || from.IsFloat() == by.IsFloat())
}

func isReshape(op *ir.Op) bool {
	if op == nil {
		return false
	}
	switch op.Def.Operation {
	case ir.OpReshape, ir.OpExpandDims, ir.OpSqueeze:
		return true
	}
	return false
}

// mergeReshape turns a reshape of a reshape into one, and one that changes nothing into its operand.
func mergeReshape(s *State, r *rewriter, op *ir.Op) (*ir.Value, error) {
	x, y := op.Arg(ir.ParamX), op.Results[0]
	if !known(x) || !known(y) {
		return nil, nil
	}
	if x.Type.Equal(y.Type) {
		return x, nil
	}
	if x.Def != nil && x.Def.Is(ir.OpTranspose) {
		return s.transposeSqueezed(r, op, x.Def, x.Def.Arg(ir.ParamX), x)
	}
	if !isReshape(x.Def) {
		return nil, nil
	}
	from := x.Def.Arg(ir.ParamX)
	if !known(from) {
		return nil, nil
	}
	if from.Type.Equal(y.Type) {
		return from, nil
	}
	s.absorb(x)
	return s.reshape(r, op, from, y.Type.Shape)
}

// transposeSqueezed rewrites a transposition and a reshape, in either order, as squeeze, transpose, unsqueeze. It
// applies if the tensor between the two ends in a dimension of 1, where each element would take a row of its own, and
// the reshape inserts or removes only such dimensions.
func (s *State) transposeSqueezed(r *rewriter, op, transpose *ir.Op, x, between *ir.Value) (*ir.Value, error) {
	y := op.Results[0]
	perm, err := ir.Perm(transpose)
	if err != nil || !known(x) || !known(between) || !known(y) {
		return nil, nil
	}
	transposed := transpose.Arg(ir.ParamX)
	if between.Type.Elems() == 1 || between.Type.Shape[between.Type.Rank()-1] != 1 ||
		!slices.Equal(withoutOnes(x), withoutOnes(transposed)) ||
		!slices.Equal(withoutOnes(transpose.Results[0]), withoutOnes(y)) {
		return nil, nil
	}
	place := make([]int, len(perm)) // of a dimension among those that are not 1
	kept := 0
	for i, d := range transposed.Type.Shape {
		place[i] = kept
		if d != 1 {
			kept++
		}
	}
	short := make([]int64, 0, kept)
	for _, p := range perm {
		if transposed.Type.Shape[p] != 1 {
			short = append(short, int64(place[p]))
		}
	}
	s.absorb(between)
	v := x
	if shape := withoutOnes(x); !slices.Equal(shape, x.Type.Shape) {
		if v, err = s.reshape(r, op, x, shape); err != nil {
			return nil, err
		}
	}
	if !slices.IsSorted(short) {
		n, err := s.makeOp(op, ir.OpTranspose, arg(ir.ParamX, v),
			arg(ir.ParamPerm, s.constant(ir.ConstInts(ir.Int32, short...), op.Pos)))
		if err != nil {
			return nil, err
		}
		r.keep(n)
		v = n.Results[0]
	}
	if slices.Equal(v.Type.Shape, y.Type.Shape) {
		return v, nil
	}
	return s.reshape(r, op, v, y.Type.Shape)
}

// withoutOnes returns the dimensions of v that are not 1.
func withoutOnes(v *ir.Value) []int64 {
	return slices.DeleteFunc(slices.Clone(v.Type.Shape), func(d int64) bool { return d == 1 })
}

// reshape emits a reshape of x.
func (s *State) reshape(r *rewriter, like *ir.Op, x *ir.Value, shape []int64) (*ir.Value, error) {
	n, err := s.makeOp(like, ir.OpReshape, arg(ir.ParamX, x),
		arg(ir.ParamShape, s.constant(ir.ConstInts(ir.Int32, shape...),
			like.Pos)))
	if err != nil {
		return nil, err
	}
	r.keep(n)
	return n.Results[0], nil
}

// mergeTranspose drops a transposition that changes nothing and merges two.
func mergeTranspose(s *State, r *rewriter, op *ir.Op) (*ir.Value, error) {
	perm, err := ir.Perm(op)
	if err != nil {
		return nil, nil
	}
	x := op.Arg(ir.ParamX)
	if sort.IntsAreSorted(perm) {
		return x, nil
	}
	if len(perm) > s.Target.MaxRank {
		return s.transposeGroups(r, op, x, perm)
	}
	if isReshape(x.Def) {
		return s.transposeSqueezed(r, op, op, x.Def.Arg(ir.ParamX), x)
	}
	if x.Def == nil || !x.Def.Is(ir.OpTranspose) {
		return nil, nil
	}
	inner, err := ir.Perm(x.Def)
	if err != nil {
		return nil, nil
	}
	both := make([]int64, len(perm))
	same := true
	for i, p := range perm {
		both[i] = int64(inner[p])
		same = same && inner[p] == i
	}
	if same {
		return x.Def.Arg(ir.ParamX), nil
	}
	s.absorb(x)
	n, err := s.makeOp(op, ir.OpTranspose, arg(ir.ParamX, x.Def.Arg(ir.ParamX)),
		arg(ir.ParamPerm, s.constant(ir.ConstInts(ir.Int32, both...), op.Pos)))
	if err != nil {
		return nil, err
	}
	r.keep(n)
	return n.Results[0], nil
}

// transposeGroups emits a transposition of more dimensions than the target has, such as of the windows of an image, as
// a transposition of groups of dimensions that stay adjacent. It is between reshapes, which then merge with the
// reshapes around them. Dimensions of 1 are dropped.
func (s *State) transposeGroups(r *rewriter, op *ir.Op, x *ir.Value, perm []int) (*ir.Value, error) {
	y := op.Results[0]
	if !known(x) || !known(y) {
		return nil, nil
	}
	shape := x.Type.Shape
	var groups [][]int // of the result, in its order: dimensions of x
	next := -1         // the dimension that would continue the last group
	for _, d := range perm {
		if shape[d] == 1 {
			continue
		}
		if d == next {
			groups[len(groups)-1] = append(groups[len(groups)-1], d)
		} else {
			groups = append(groups, []int{d})
		}
		for next = d + 1; next < len(shape) && shape[next] == 1; {
			next++
		}
	}
	if len(groups) > s.Target.MaxRank {
		return nil, nil
	}
	order := make([]int, len(groups))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return groups[a][0] - groups[b][0] })
	merged, transpose := make([]int64, len(groups)), make([]int64, len(groups))
	for at, g := range order {
		merged[at], transpose[g] = 1, int64(at)
		for _, d := range groups[g] {
			merged[at] *= shape[d]
		}
	}
	if isReshape(x.Def) && known(x.Def.Arg(ir.ParamX)) {
		s.absorb(x)
		x = x.Def.Arg(ir.ParamX)
	}
	if len(groups) < 2 { // nothing moves
		return s.reshape(r, op, x, y.Type.Shape)
	}
	v := x
	if !slices.Equal(merged, x.Type.Shape) {
		var err error
		if v, err = s.reshape(r, op, x, merged); err != nil {
			return nil, err
		}
	}
	n, err := s.makeOp(op, ir.OpTranspose, arg(ir.ParamX, v),
		arg(ir.ParamPerm, s.constant(ir.ConstInts(ir.Int32, transpose...), op.Pos)))
	if err != nil {
		return nil, err
	}
	r.keep(n)
	return s.reshape(r, op, n.Results[0], y.Type.Shape)
}

// constantPower replaces the powers for which the engine has units.
func constantPower(s *State, r *rewriter, op *ir.Op) (*ir.Value, error) {
	x, y := op.Arg(ir.ParamX), op.Arg(ir.ParamY)
	if !y.IsConst() || y.Type.Elems() != 1 || !x.Type.DType.IsFloat() || !x.Type.Equal(op.Results[0].Type) {
		return nil, nil
	}
	var n *ir.Op
	var err error
	s.absorb(y)
	switch y.Const.Float(0) {
	case 1:
		return x, nil
	case 2:
		n, err = s.makeOp(op, ir.OpMul, arg(ir.ParamX, x), arg(ir.ParamY, x))
	case 0.5:
		n, err = s.makeOp(op, ir.OpSqrt, arg(ir.ParamX, x))
	case -0.5:
		n, err = s.makeOp(op, ir.OpRsqrt, arg(ir.ParamX, x),
			arg(ir.ParamEpsilon, s.constant(ir.ConstFloat(x.Type.DType, 0),
				op.Pos)))
	default:
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r.keep(n)
	return n.Results[0], nil
}
