package ir

import "slices"

// Joins, cuts and margins.
var (
	OpConcat = newOp("concat", Movement,
		"Tensors concatenated along axis; with interleave, one slice of each in turn.").gate(A11Legacy).
		picks(ParamValues)
	OpStack = newOp("stack", Movement, "Tensors of one shape joined along a new axis.").picks(ParamValues)
	OpSplit = newOp("split", Movement, "x split along axis into equal parts or parts of split_sizes.").picks(ofX...)
	OpTile  = newOp("tile", Movement, "x repeated reps times along every dimension.").gate(A13).picks(ofX...)
	OpPad   = newOp("pad", Movement, "x with elements added around its last dimensions.").picks(ofX...)
)

func inferConcat(op *Op) ([]Type, error) {
	vs := op.ArgList(ParamValues)
	if len(vs) == 0 {
		return nil, Rulef(ParamValues, "values is empty")
	}
	interleave, err := needBool(op, ParamInterleave)
	if err != nil {
		return nil, err
	}
	t := vs[0].Type
	rank := t.Rank()
	if rank == 0 { // scalars are concatenated to a vector
		for i, v := range vs {
			if v.Type.Rank() != 0 {
				return nil, Rulef(ParamValues, "operand %d has rank %d, operand 0 has rank 0", i, v.Type.Rank())
			}
		}
		return one(t.WithShape(int64(len(vs))))
	}
	a, err := AxisAttr(op, ParamAxis, rank)
	if err != nil {
		return nil, err
	}
	out := cloneShape(t.Shape)
	for i, v := range vs[1:] {
		if v.Type.Rank() != rank {
			return nil, Rulef(ParamValues, "operand %d has rank %d, operand 0 has rank %d", i+1, v.Type.Rank(), rank)
		}
		for j, d := range v.Type.Shape {
			switch {
			case j != a || interleave:
				if !agree(out[j], d) {
					return nil, Rulef(ParamValues, "operand %d is %s, operand 0 is %s; dimension %d must be equal", i+1,
						ShapeString(v.Type.Shape), ShapeString(t.Shape), j)
				}
				out[j] = known(out[j], d)
			}
		}
	}
	if interleave {
		if out[a] >= 0 {
			out[a] *= int64(len(vs))
		}
		return one(t.WithShape(out...))
	}
	out[a] = 0
	for _, v := range vs {
		d := v.Type.Shape[a]
		if d < 0 {
			out[a] = Unknown
			break
		}
		out[a] += d
	}
	return one(t.WithShape(out...))
}

func inferStack(op *Op) ([]Type, error) {
	vs := op.ArgList(ParamValues)
	if len(vs) == 0 {
		return nil, Rulef(ParamValues, "values is empty")
	}
	t := vs[0].Type
	a, err := AxisAttr(op, ParamAxis, t.Rank()+1)
	if err != nil {
		return nil, err
	}
	shape := cloneShape(t.Shape)
	for i, v := range vs[1:] {
		if !v.Type.Fits(t.WithShape(shape...)) {
			return nil, Rulef(ParamValues, "operand %d is %s, operand 0 is %s", i+1, v.Type, t)
		}
		for j, d := range v.Type.Shape {
			shape[j] = known(shape[j], d)
		}
	}
	out := append(shape[:a:a], int64(len(vs)))
	return one(t.WithShape(append(out, shape[a:]...)...))
}

// Split is the decoded arguments of split.
type Split struct {
	Axis  int
	Sizes []int64 // one per result; Unknown if x's extent is
}

// SplitAttrs decodes split: split_sizes, or num_splits equal parts. If both are set, split_sizes is used and its length
// must be num_splits.
func SplitAttrs(op *Op) (Split, error) {
	var s Split
	x := op.Arg(ParamX).Type
	var err error
	if s.Axis, err = AxisAttr(op, ParamAxis, x.Rank()); err != nil {
		return s, err
	}
	n := x.Shape[s.Axis]
	num := int64(-1)
	if op.Arg(ParamNumSplits) != nil {
		if num, err = needInt(op, ParamNumSplits); err != nil {
			return s, err
		}
		if num < 1 || num > maxSplits {
			return s, Rulef(ParamNumSplits, "num_splits is %d, must be 1 to %d", num, maxSplits)
		}
	}
	if op.Arg(ParamSplitSizes) != nil {
		if s.Sizes, err = needInts(op, ParamSplitSizes); err != nil {
			return s, err
		}
		if num >= 0 && int64(len(s.Sizes)) != num {
			return s, Rulef(ParamSplitSizes, "split_sizes has %d elements, num_splits is %d", len(s.Sizes),
				num).and(ParamNumSplits)
		}
		sum := int64(0)
		for i, d := range s.Sizes {
			if d < 0 || d > maxDim {
				return s, Rulef(ParamSplitSizes, "split_sizes[%d] is %d", i, d)
			}
			sum += d
		}
		if n >= 0 && sum != n {
			return s, Rulef(ParamSplitSizes, "split_sizes add up to %d, dimension %d of x is %d", sum, s.Axis,
				n).and(ParamX)
		}
		return s, nil
	}
	if num < 0 {
		return s, Rulef(ParamNumSplits, "missing num_splits or split_sizes")
	}
	part := Unknown
	if n >= 0 {
		if n%num != 0 {
			return s, Rulef(ParamNumSplits, "dimension %d of x is %d, not a multiple of num_splits = %d", s.Axis, n,
				num).and(ParamX)
		}
		part = n / num
	}
	for range num {
		s.Sizes = append(s.Sizes, part)
	}
	return s, nil
}

// maxSplits is the maximum of num_splits; real models do not split into that many parts.
const maxSplits = 1 << 16

func inferSplit(op *Op) ([]Type, error) {
	s, err := SplitAttrs(op)
	if err != nil {
		return nil, err
	}
	x := op.Arg(ParamX).Type
	out := make([]Type, len(s.Sizes))
	for i, n := range s.Sizes {
		shape := cloneShape(x.Shape)
		shape[s.Axis] = n
		out[i] = x.WithShape(shape...)
	}
	return out, nil
}

// TileReps returns how often tile repeats each dimension of x; ok is false if that is computed. A dimension that is
// repeated 0 times stays as it is: converters of PyTorch's expand divide -1, for an extent that is kept, by the extent.
// A public Kokoro model whose next operation needs the extent shows it.
func TileReps(op *Op) (reps []int64, ok bool) {
	if reps, ok = ArgInts(op, ParamReps); ok {
		reps = slices.Clone(reps)
		for i, r := range reps {
			if r == 0 {
				reps[i] = 1
			}
		}
	}
	return reps, ok
}

func inferTile(op *Op) ([]Type, error) {
	x := op.Arg(ParamX).Type
	if err := vectorOf(op, ParamReps, int64(x.Rank()), "x's rank"); err != nil {
		return nil, err
	}
	reps, ok := TileReps(op)
	if !ok {
		return one(x.WithShape(unknownShape(x.Rank())...))
	}
	out := cloneShape(x.Shape)
	for i, r := range reps {
		if r < 0 || r > maxDim {
			return nil, Rulef(ParamReps, "reps[%d] is %d", i, r)
		}
		if out[i] >= 0 {
			out[i] *= r
		}
	}
	return one(x.WithShape(out...))
}

// PadAmounts returns how many elements pad adds before and after each dimension of x; ok is false
// if they are not known at compile time.
func PadAmounts(op *Op) (before, after []int64, ok bool, err error) {
	rank := op.Arg(ParamX).Type.Rank()
	p := op.Arg(ParamPad)
	if p.Type.Rank() != 1 || p.Type.Shape[0]%2 != 0 && p.Type.Shape[0] >= 0 || p.Type.Shape[0] > int64(2*rank) {
		return nil, nil, false, Rulef(ParamPad,
			"pad is %s, must be a vector of two for each of the last dimensions of x, which has rank %d",
			ShapeString(p.Type.Shape), rank).and(ParamX)
	}
	v, known := ArgInts(op, ParamPad)
	if !known {
		return nil, nil, false, nil
	}
	before, after = make([]int64, rank), make([]int64, rank)
	first := rank - len(v)/2
	for i, n := range v {
		if n < 0 || n > maxDim {
			return nil, nil, false, Rulef(ParamPad, "pad[%d] is %d, must not be negative", i, n)
		}
		if i%2 == 0 {
			before[first+i/2] = n
		} else {
			after[first+i/2] = n
		}
	}
	return before, after, true, nil
}

func inferPad(op *Op) ([]Type, error) {
	mode, err := needOneOf(op, ParamMode, "constant", "reflect", "replicate", "symmetric")
	if err != nil {
		return nil, err
	}
	before, after, ok, err := PadAmounts(op)
	if err != nil {
		return nil, err
	}
	x := op.Arg(ParamX).Type
	out := cloneShape(x.Shape)
	for i, d := range out {
		switch {
		case !ok:
			if n := op.Arg(ParamPad).Type.Shape[0]; n < 0 || i >= len(out)-int(n/2) {
				out[i] = Unknown
			}
			continue
		case d < 0:
			continue
		case mode == "reflect" && max(before[i], after[i]) >= max(d, 1), mode != "constant" && before[i]+after[i] > 0 &&
			d == 0:
			return nil, Rulef(ParamPad, "%s padding of %d and %d does not fit dimension %d of x, which is %d", mode,
				before[i], after[i], i, d).and(ParamX)
		}
		out[i] = d + before[i] + after[i]
	}
	return one(x.WithShape(out...))
}

// joinForms are the forms of the operations above.
func joinForms() (out forms) {
	out.add(
		&OpDef{Operation: OpConcat,
			Params: params(in(ParamValues, clsElem).as("T").many(), intP(ParamAxis), boolP(ParamInterleave).or(false)),
			Infer:  inferConcat, Fold: foldConcat},
		&OpDef{Operation: OpStack,
			Params: params(in(ParamValues, clsElem).as("T").many(), intP(ParamAxis)), Infer: inferStack,
			Fold: foldStack},
		&OpDef{Operation: OpSplit,
			Params: params(in(ParamX, clsSmallB), intP(ParamNumSplits).opt(), intP(ParamSplitSizes).opt(),
				intP(ParamAxis)),
			Infer: inferSplit, Fold: moving(foldSplit)},
		&OpDef{Operation: OpTile,
			Params: params(in(ParamX, clsNumB), in(ParamReps, clsInt32)), Infer: inferTile, Fold: foldTile},
		&OpDef{Operation: OpPad,
			Params: params(in(ParamX, clsFloat).as("T"), in(ParamPad, clsInt32), stringP(ParamMode).or("constant"),
				in(ParamConstantVal, clsFloat).as("T").fixed().or(0.0)), Infer: inferPad})
	return out
}
