package ir

import (
	"math"

	"github.com/zinc-compiler/zinc/numerics"
)

// Tensors generated, searched and masked.
var (
	OpIdentity = newOp("identity", Movement, "x itself.").picks(ofX...)
	OpShape    = newOp("shape", Filling, "The dimensions of x.").err(numerics.Movement).gate(Never)
	OpFill     = newOp("fill", Filling, "A tensor of one value.").err(numerics.Movement)
	OpFillLike = newOp("fill_like", Filling, "A tensor of one value with the shape of another.").err(numerics.Movement)
	OpRange1D  = newOp("range_1d", Filling, "Numbers from start to end, excluding end.").
			bridge("a constant made by the host")
	OpCumsum = newOp("cumsum", Ordering, "Running sum along axis, optionally excluding the element or from the end.").
			err(numerics.Rounded)
	OpBandPart = newOp("band_part", Movement, "x with elements outside a band around the diagonal set to 0.").
			gate(Never).picks(ofX...)
	OpNonZero = newOp("non_zero", Ordering, "Indices of the nonzero elements, one per row.").gate(Never)
	OpOneHot  = newOp("one_hot", Filling, "on_value at the index along a new axis, off_value elsewhere.").
			err(numerics.Movement).gate(Never)
	// The classes of classify are texts or int64, its probabilities fp32.
	OpClassify = newOp("classify", Ordering, "The class of the highest probability and the probability of each.").
			gate(Never).instead("make the probabilities an output and choose the class in the application")
)

// rangeLength returns the number of elements of range_1d.
func rangeLength(start, end, step float64) (int64, bool) {
	if step == 0 || start != start || end != end || step != step {
		return 0, false
	}
	n := math.Ceil((end - start) / step)
	if n > maxDim {
		return 0, false
	}
	return int64(max(n, 0)), true
}

func inferRange(op *Op) ([]Type, error) {
	for _, n := range []ParamName{ParamStart, ParamEnd, ParamStep} {
		if t := op.Arg(n).Type; t.Rank() != 0 && !(t.Rank() == 1 && agree(t.Shape[0], 1)) {
			return nil, Rulef(n, "%s is %s, must be a scalar", n, t)
		}
	}
	t := op.Arg(ParamStart).Type.DType
	start, ok1 := ArgFloat(op, ParamStart)
	end, ok2 := ArgFloat(op, ParamEnd)
	step, ok3 := ArgFloat(op, ParamStep)
	if !ok1 || !ok2 || !ok3 {
		return one(TensorOf(t, Unknown))
	}
	n, ok := rangeLength(start, end, step)
	if !ok {
		return nil, Rulef(ParamStep, "range from %g to %g in steps of %g", start, end, step)
	}
	return one(TensorOf(t, n))
}

func inferFill(op *Op) ([]Type, error) {
	t := FP32
	if v := op.Arg(ParamValue); v != nil {
		t = v.Type.DType
	}
	s := op.Arg(ParamShape)
	if s.Type.Rank() != 1 {
		return nil, Rulef(ParamShape, "shape has rank %d, must be 1", s.Type.Rank())
	}
	n := s.Type.Shape[0]
	if n < 0 || n > maxRank {
		return nil, Rulef(ParamShape, "shape has %s elements, the limit is %d", dimString(n), maxRank)
	}
	v, ok := ArgInts(op, ParamShape)
	if !ok {
		return one(TensorOf(t, unknownShape(int(n))...))
	}
	for i, d := range v {
		if d < 0 {
			return nil, Rulef(ParamShape, "shape[%d] is %d", i, d)
		}
	}
	return one(TensorOf(t, v...))
}

func inferOneHot(op *Op) ([]Type, error) {
	idx := op.Arg(ParamIndices).Type
	a, err := AxisAttr(op, ParamAxis, idx.Rank()+1)
	if err != nil {
		return nil, err
	}
	t := Int32
	for _, n := range []ParamName{ParamOnValue, ParamOffValue} {
		if v := op.Arg(n); v != nil {
			t = v.Type.DType
		}
	}
	n := Unknown
	if v, ok := ArgInt(op, ParamOneHotVectorSize); ok {
		if v < 0 {
			return nil, Rulef(ParamOneHotVectorSize, "one_hot_vector_size is %d", v)
		}
		n = v
	}
	out := append(cloneShape(idx.Shape[:a]), n)
	return one(TensorOf(t, append(out, idx.Shape[a:]...)...))
}

// tensorForms are the forms of the operations above.
func tensorForms() (out forms) {
	out.add(
		&OpDef{
			Operation: OpIdentity,
			Params:    params(in(ParamX, clsAny).of(AnyKind)),
			Infer:     sameAsX,
			Fold:      foldIdentity,
		},
		&OpDef{Operation: OpShape, Params: params(in(ParamX, clsElem)),
			Infer: func(op *Op) ([]Type, error) {
				return one(TensorOf(Int32, int64(op.Arg(ParamX).Type.Rank())))
			}, Fold: foldShape, ByType: true},
		&OpDef{Operation: OpFill,
			Params: params(in(ParamShape, clsInt32), in(ParamValue, clsNumB).fixed().or(0.0)), Infer: inferFill,
			Fold: foldFill},
		&OpDef{Operation: OpFillLike, Since: "ios16",
			Params: params(in(ParamRefTensor, clsNumB), in(ParamValue, clsNumB).fixed().or(0.0)),
			Infer: func(op *Op) ([]Type, error) {
				t := FP32
				if v := op.Arg(ParamValue); v != nil {
					t = v.Type.DType
				}
				return one(TensorOf(t, op.Arg(ParamRefTensor).Type.Shape...))
			}, Fold: foldFill, ByType: true},
		&OpDef{Operation: OpRange1D,
			Params: params(in(ParamEnd, clsNum).as("T"), in(ParamStart, clsNum).as("T"), in(ParamStep, clsNum).as("T")),
			Infer:  inferRange, Fold: foldRange},
		&OpDef{Operation: OpCumsum,
			Params: params(in(ParamX, clsNum), intP(ParamAxis).or(int64(0)), boolP(ParamExclusive).or(false),
				boolP(ParamReverse).
					or(false)),
			Infer: inferAxis},
		&OpDef{Operation: OpBandPart,
			Params: params(in(ParamX, clsNumB).rank(2, maxRank), intP(ParamLower).or(int64(-1)),
				intP(ParamUpper).or(int64(-1))), Infer: sameAsX},
		&OpDef{Operation: OpNonZero,
			Params: params(in(ParamX, clsNumB)),
			Infer: func(op *Op) ([]Type, error) {
				return one(TensorOf(Int32, Unknown, int64(op.Arg(ParamX).Type.Rank())))
			}},
		&OpDef{Operation: OpOneHot,
			Params: params(in(ParamIndices, clsInt32), in(ParamOneHotVectorSize, clsInt32), intP(ParamAxis).
				or(int64(-1)),
				in(ParamOnValue, clsNumB).as("T").fixed().or(int64(1)), in(ParamOffValue, clsNumB).as("T").fixed().
					or(int64(0))), Infer: inferOneHot, Fold: foldOneHot},
		&OpDef{Operation: OpClassify,
			Params: params(in(ParamProbabilities, DTypesOf(FP32)), in(ParamClasses, DTypesOf(String, Int64)).
				of(AnyKind).
				fixed()),
			Infer: func(op *Op) ([]Type, error) {
				c, p := op.Arg(ParamClasses).Type, op.Arg(ParamProbabilities).Type
				return []Type{Scalar(c.DType), p}, nil
			}})
	return out
}
