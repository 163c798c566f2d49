package ir

import "slices"

// Other shapes of the same elements.
var (
	OpReshape = newOp("reshape", Movement,
		"x with another shape; 0 copies the dimension of x at the same position, -1 takes the rest.").gate(A11Legacy).
		picks(ofX...)
	OpExpandDims = newOp("expand_dims", Movement, "x with dimensions of 1 inserted at axes of the result.").
			gate(A11Legacy).picks(ofX...)
	OpSqueeze = newOp("squeeze", Movement,
		"x without those dimensions of axes that are 1, or without all dimensions of 1.").gate(A11Legacy).picks(ofX...)
	OpTranspose = newOp("transpose", Movement, "x with its dimensions in the order perm.").gate(A11Legacy).
			picks(ofX...)
	OpFlatten2D   = newOp("flatten2d", Movement, "x as a matrix, its dimensions split at axis.").picks(ofX...)
	OpReshapeLike = newOp("reshape_like", Movement, "x with a shape composed of dimensions of other tensors.").
			picks(ofX...)
)

// ReshapeTarget resolves the shape argument of reshape against x: 0 copies a
// dimension (from the same position up to iOS 16, counted from the right from
// iOS 17 on, where one without a match is 1) and -1 takes the rest. fromRight selects the rule.
func ReshapeTarget(x, shape []int64, fromRight bool) ([]int64, error) {
	out := cloneShape(shape)
	free := -1
	for i, d := range out {
		switch {
		case d == 0 && fromRight:
			if j := len(x) - (len(out) - i); j >= 0 {
				out[i] = x[j]
			} else {
				out[i] = 1
			}
		case d == 0:
			if len(x) != len(out) {
				if slices.Contains(x, 0) {
					continue
				}
				return nil, Rulef(ParamShape,
					"shape has a 0 at %d, which requires at least that many dimensions of x; it has %d",
					i,
					len(x))
			}
			out[i] = x[i]
		case d == -1:
			if free >= 0 {
				return nil, Rulef(ParamShape, "shape has -1 at both %d and %d", free, i)
			}
			free = i
		case d < -1:
			return nil, Rulef(ParamShape, "shape has %d at %d", d, i)
		}
	}
	total, ok := product(x)
	if !ok {
		return nil, Rulef(ParamX, "x %s has too many elements", ShapeString(x))
	}
	rest := make([]int64, 0, len(out))
	for i, d := range out {
		if i != free {
			rest = append(rest, d)
		}
	}
	n, ok := product(rest)
	if !ok {
		return nil, Rulef(ParamShape, "shape %s has too many elements", ShapeString(shape))
	}
	if total >= 0 && n >= 0 {
		switch {
		case free >= 0 && n == 0:
			return nil, Rulef(ParamShape, "shape %s has -1 beside an empty dimension", intsText(shape))
		case free >= 0 && total%n != 0:
			return nil, Rulef(ParamShape, "x %s has %d elements, not a multiple of %d in shape %s", ShapeString(x),
				total, n, intsText(shape)).and(ParamX)
		case free >= 0:
			out[free] = total / n
		case n != total:
			return nil, Rulef(ParamShape, "x %s has %d elements, shape %s has %d", ShapeString(x), total,
				intsText(shape), n).and(ParamX)
		}
	}
	return out, nil
}

func intsText(v []int64) string {
	s := "["
	for i, n := range v {
		if i > 0 {
			s += ", "
		}
		s += itoa(n)
	}
	return s + "]"
}

func inferReshape(fromRight bool) func(op *Op) ([]Type, error) {
	return func(op *Op) ([]Type, error) {
		x, s := op.Arg(ParamX).Type, op.Arg(ParamShape)
		n := s.Type.Shape[0]
		if n < 0 || n > maxRank {
			return nil, Rulef(ParamShape, "shape has %s elements, the limit is %d", dimString(n), maxRank)
		}
		v, ok := ArgInts(op, ParamShape)
		if !ok {
			return one(x.WithShape(unknownShape(int(n))...))
		}
		out, err := ReshapeTarget(x.Shape, v, fromRight)
		if err != nil {
			return nil, err
		}
		return one(x.WithShape(out...))
	}
}

func unknownShape(rank int) []int64 {
	s := slices.Repeat([]int64{Unknown}, rank)
	return s
}

func inferExpandDims(op *Op) ([]Type, error) {
	x := op.Arg(ParamX).Type
	v, err := needInts(op, ParamAxes)
	if err != nil {
		return nil, err
	}
	as, err := axes(ParamAxes, v, x.Rank()+len(v))
	if err != nil {
		return nil, err
	}
	out := make([]int64, 0, x.Rank()+len(v))
	next := 0
	for i := range x.Rank() + len(v) {
		if slices.Contains(as, i) {
			out = append(out, 1)
			continue
		}
		out = append(out, x.Shape[next])
		next++
	}
	return one(x.WithShape(out...))
}

// SqueezeAxes returns the dimensions that squeeze removes, ascending: the ones among axes that are 1, or all that are
// 1. Unknown dimensions stay, as in the types that real programs declare.
func SqueezeAxes(op *Op) ([]int, error) {
	x := op.Arg(ParamX).Type
	var out []int
	if op.Arg(ParamAxes) == nil {
		for i, d := range x.Shape {
			if d == 1 {
				out = append(out, i)
			}
		}
		return out, nil
	}
	v, err := needInts(op, ParamAxes)
	if err != nil {
		return nil, err
	}
	as, err := axes(ParamAxes, v, x.Rank())
	if err != nil {
		return nil, err
	}
	slices.Sort(as)
	for _, a := range as {
		if x.Shape[a] == 1 {
			out = append(out, a)
		}
	}
	return out, nil
}

func inferSqueeze(op *Op) ([]Type, error) {
	as, err := SqueezeAxes(op)
	if err != nil {
		return nil, err
	}
	x := op.Arg(ParamX).Type
	out := make([]int64, 0, x.Rank())
	for i, d := range x.Shape {
		if !slices.Contains(as, i) {
			out = append(out, d)
		}
	}
	return one(x.WithShape(out...))
}

// Perm returns the permutation of transpose, from the front.
func Perm(op *Op) ([]int, error) {
	v, err := needInts(op, ParamPerm)
	if err != nil {
		return nil, err
	}
	rank := op.Arg(ParamX).Type.Rank()
	if len(v) != rank {
		return nil, Rulef(ParamPerm, "perm has %d elements, x has rank %d", len(v), rank).and(ParamX)
	}
	return axes(ParamPerm, v, rank)
}

func inferTranspose(op *Op) ([]Type, error) {
	p, err := Perm(op)
	if err != nil {
		return nil, err
	}
	x := op.Arg(ParamX).Type
	out := make([]int64, len(p))
	for i, a := range p {
		out[i] = x.Shape[a]
	}
	return one(x.WithShape(out...))
}

func inferFlatten2D(op *Op) ([]Type, error) {
	x := op.Arg(ParamX).Type
	a, err := needInt(op, ParamAxis)
	if err != nil {
		return nil, err
	}
	if a < 0 {
		a += int64(x.Rank())
	}
	if a < 0 || a > int64(x.Rank()) {
		return nil, Rulef(ParamAxis, "axis is outside x's rank %d", x.Rank())
	}
	return one(x.WithShape(count(x.Shape[:a]), count(x.Shape[a:])))
}

func inferReshapeLike(op *Op) ([]Type, error) {
	refs, begins, ends, masks := op.ArgList(ParamRefTensors), op.ArgList(ParamBegins), op.ArgList(ParamEnds),
		op.ArgList(ParamEndMasks)
	if len(begins) != len(refs) || len(ends) != len(refs) || len(masks) != len(refs) {
		return nil, Rulef(ParamRefTensors, "ref_tensors, begins, ends and end_masks have %d, %d, %d and %d elements",
			len(refs), len(begins), len(ends), len(masks))
	}
	var out []int64
	for i, r := range refs {
		b, e, m := begins[i].Const, ends[i].Const, masks[i].Const
		if b == nil || e == nil || m == nil || !hasElems(b, 1) || !hasElems(e, 1) || !hasElems(m, 1) {
			return nil, Rulef(ParamBegins, "begins, ends and end_masks must be constant scalars")
		}
		lo, hi, n := b.Int(0), e.Int(0), int64(r.Type.Rank())
		if lo < 0 {
			lo += n
		}
		if hi < 0 {
			hi += n
		}
		if m.Bool(0) {
			hi = n
		}
		if lo < 0 || hi > n || lo > hi {
			return nil, Rulef(ParamBegins, "dimensions %d to %d of a reference of rank %d", lo, hi, n)
		}
		out = append(out, r.Type.Shape[lo:hi]...)
	}
	x := op.Arg(ParamX).Type
	if a, b := count(x.Shape), count(out); a >= 0 && b >= 0 && a != b {
		return nil, Rulef(ParamRefTensors, "x has %d elements, the references give %s", a, ShapeString(out)).and(ParamX)
	}
	return one(x.WithShape(out...))
}

// reshapeForms are the forms of the operations above.
func reshapeForms() (out forms) {
	later := func(d *OpDef) { d.types(clsSmallB, ParamX); d.types(clsIndex, ParamShape) }

	reshape := &OpDef{Operation: OpReshape,
		Params: params(in(ParamX, clsNumB), in(ParamShape, clsInt32).rank(1, 1)), Infer: inferReshape(false),
		Fold: moving(foldReinterpret)}
	out.add(reshape, reshape.since("ios17", func(d *OpDef) {
		later(d)
		d.Infer = inferReshape(true)
		d.Doc = "x with another shape; 0 copies a dimension of x counted from the right, -1 takes the rest."
	}))
	for _, d := range []*OpDef{
		{Operation: OpExpandDims,
			Params: params(in(ParamX, clsNumB), intP(ParamAxes)), Infer: inferExpandDims,
			Fold: moving(foldReinterpret)},
		{Operation: OpSqueeze,
			Params: params(in(ParamX, clsNumB), intP(ParamAxes).opt()), Infer: inferSqueeze,
			Fold: moving(foldReinterpret)},
		{Operation: OpTranspose,
			Params: params(in(ParamX, clsNumB), intP(ParamPerm)), Infer: inferTranspose, Fold: moving(foldTranspose)},
	} {
		out.add(d, d.since("ios17", later))
	}
	out.add(&OpDef{Operation: OpFlatten2D,
		Params: params(in(ParamX, clsNumB), intP(ParamAxis).or(int64(1))), Infer: inferFlatten2D,
		Fold: moving(foldReinterpret)})
	like := &OpDef{Operation: OpReshapeLike, Since: "ios16",
		Params: params(in(ParamX, clsNumB), in(ParamRefTensors, clsElem).many(), in(ParamBegins, clsInt32).many(),
			in(ParamEnds, clsInt32).many(), in(ParamEndMasks, clsBool).many()),
		Infer: inferReshapeLike, Fold: moving(foldReinterpret)}
	out.add(like, like.since("ios17", later))
	return out
}
