package ir

import "github.com/zinc-compiler/zinc/numerics"

// Sorts.
var (
	OpArgsort = newOp("argsort", Ordering, "Indices that sort x along axis, the lowest first among equal elements.").
			err(numerics.Movement)
	OpTopK = newOp("topk", Ordering, "The k largest (ascending: smallest) elements along axis and their indices.").
		err(numerics.Movement).instead("move it to the end of the model, where it does not split a dispatch")
	OpNonMaximumSuppression = newOp("non_maximum_suppression", Ordering,
		"Boxes that do not overlap a better one, per batch, at most max_boxes.")
)

func inferTopK(op *Op) ([]Type, error) {
	x := op.Arg(ParamX).Type
	a, err := AxisAttr(op, ParamAxis, x.Rank())
	if err != nil {
		return nil, err
	}
	k, err := needInt(op, ParamK)
	if err != nil {
		return nil, err
	}
	shape := cloneShape(x.Shape)
	switch {
	case k == -1:
		k = shape[a]
	case k < 1:
		return nil, Rulef(ParamK, "k is %d, must be at least 1, or -1 for all", k)
	case shape[a] >= 0 && k > shape[a]:
		return nil, Rulef(ParamK, "k is %d, dimension %d of x is %d", k, a, shape[a]).and(ParamX)
	}
	shape[a] = k
	t := Int32
	if op.Def.ParamIndex(ParamOutputIndicesDType) >= 0 {
		if t, err = needDType(op, ParamOutputIndicesDType, DTypesOf(Int32, UInt16, Int16, Int8, UInt8)); err != nil {
			return nil, err
		}
	}
	out := []Type{x.WithShape(shape...)}
	if op.Def.ParamIndex(ParamReturnIndices) >= 0 {
		if with, err := needBool(op, ParamReturnIndices); err != nil || !with {
			return out, err
		}
	}
	return append(out, TensorOf(t, shape...)), nil
}

// sortForms are the forms of the operations above.
func sortForms() (out forms) {
	out.add(&OpDef{Operation: OpArgsort,
		Params: params(in(ParamX, clsNum), intP(ParamAxis).or(int64(-1)), boolP(ParamAscending).or(false)),
		Infer: func(op *Op) ([]Type, error) {
			x := op.Arg(ParamX).Type
			if _, err := AxisAttr(op, ParamAxis, x.Rank()); err != nil {
				return nil, err
			}
			return one(x.WithDType(Int32))
		}})
	topk := &OpDef{Operation: OpTopK,
		Params: params(in(ParamX, clsNum), intP(ParamK).or(int64(1)), intP(ParamAxis).or(int64(-1)),
			boolP(ParamAscending).
				or(false)), Infer: inferTopK}
	v16 := topk.since("ios16", func(d *OpDef) {
		d.Params = append(d.Params, boolP(ParamSort).or(true), boolP(ParamReturnIndices).or(true))
	})
	out.add(topk, v16, v16.since("ios17", func(d *OpDef) {
		d.types(clsSmall, ParamX)
		d.types(clsIndex, ParamK)
		d.Params = append(d.Params, stringP(ParamOutputIndicesDType).or("int32"))
	}))

	nms := func(d *OpDef, old bool) {
		d.Operation = OpNonMaximumSuppression
		d.Params = params(in(ParamBoxes, clsFloat).as("T").rank(3, 3), in(ParamScores, clsFloat).as("T").rank(3, 3),
			in(ParamIOUThreshold, clsFloat).as("T").fixed())
		if old {
			d.Params = append(d.Params, in(ParamScoreThreshold, clsFloat).as("T").fixed())
		}
		d.Params = append(d.Params, intP(ParamMaxBoxes), boolP(ParamPerClassSuppression).or(false))
		d.Infer = func(op *Op) ([]Type, error) { return inferNMS(op, old) }
	}
	v15, v17 := &OpDef{}, &OpDef{Since: "ios17"}
	nms(v15, true)
	nms(v17, false)
	out.add(v15, v17)
	return out
}

// inferNMS is the rule of both forms: boxes [n, B, 4] and scores [n, B, K] with
// a count of the boxes kept, or from iOS 17 on [n, 4, B] and [n, K, B] without.
func inferNMS(op *Op, old bool) ([]Type, error) {
	n, err := needInt(op, ParamMaxBoxes)
	if err != nil {
		return nil, err
	}
	b, s := op.Arg(ParamBoxes).Type, op.Arg(ParamScores).Type
	many, per := 1, 2
	if !old {
		many, per = 2, 1
	}
	if !agree(b.Shape[per], 4) {
		return nil, Rulef(ParamBoxes, "dimension %d of boxes is %d, must be 4", per, b.Shape[per])
	}
	if !agree(b.Shape[many], s.Shape[many]) || !agree(b.Shape[0], s.Shape[0]) {
		return nil, Rulef(ParamScores, "scores is %s, boxes is %s", ShapeString(s.Shape),
			ShapeString(b.Shape)).and(ParamBoxes)
	}
	if n < 1 {
		return nil, Rulef(ParamMaxBoxes, "max_boxes is %d, must be at least 1", n)
	}
	batch := known(s.Shape[0], b.Shape[0])
	bs, ss := []int64{batch, n, 4}, []int64{batch, n, s.Shape[per]}
	if !old {
		bs, ss = []int64{batch, 4, n}, []int64{batch, s.Shape[per], n}
	}
	out := []Type{b.WithShape(bs...), s.WithShape(ss...), TensorOf(Int32, batch, n)}
	if old {
		out = append(out, TensorOf(Int32, batch))
	}
	return out, nil
}
