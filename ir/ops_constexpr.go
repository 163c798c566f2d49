package ir

import "math/bits"

// Constants in compressed form.
var (
	OpConstexprAffineDequantize = newOp("constexpr_affine_dequantize", Compressed,
		"scale (quantized_data - zero_point), scale and zero_point scalars or vectors along axis.")
	OpConstexprCast       = newOp("constexpr_cast", Compressed, "source_val converted to another element type.")
	OpConstexprLUTToDense = newOp("constexpr_lut_to_dense", Compressed,
		"Entries of lut by packed indices, low bits first.")
	OpConstexprSparseToDense = newOp("constexpr_sparse_to_dense", Compressed,
		"The next value where the mask bit is set, else 0; masks low bits first.")
	OpConstexprBlockwiseShiftScale = newOp("constexpr_blockwise_shift_scale", Compressed,
		"scale (data - offset), with one scale and offset per block of data.")
	OpConstexprLUTToSparse = newOp("constexpr_lut_to_sparse", Compressed,
		"The entries, as a mask and values, for a sparse tensor of table indices.")
	OpConstexprSparseBlockwiseShiftScale = newOp("constexpr_sparse_blockwise_shift_scale", Compressed,
		"Blockwise scale (data - offset) of the values of a sparse tensor: mask and values.")
)

// shapeArg reads the shape attribute of the iOS 16 forms.
func shapeArg(op *Op) ([]int64, error) {
	s, err := needInts(op, ParamShape)
	if err != nil {
		return nil, err
	}
	if len(s) > maxRank {
		return nil, Rulef(ParamShape, "shape has %d elements, the limit is %d", len(s), maxRank)
	}
	for i, d := range s {
		if d < 0 || d > maxDim {
			return nil, Rulef(ParamShape, "shape[%d] is %d", i, d)
		}
	}
	if _, ok := product(s); !ok {
		return nil, Rulef(ParamShape, "shape %s has too many elements", intsText(s))
	}
	return s, nil
}

// packedBytes checks that a vector of bytes holds n packed elements of the given bits.
func packedBytes(op *Op, name ParamName, n int64, bits int64) error {
	if n > 1<<56 {
		return Rulef(ParamShape, "the shape has too many elements")
	}
	t := op.Arg(name).Type
	if want := (n*bits + 7) / 8; t.Elems() != want {
		return Rulef(name, "%s has %d bytes, but %d elements of %d bits need %d", name, t.Elems(), n, bits,
			want).and(ParamShape)
	}
	return nil
}

func inferLUT16(op *Op) ([]Type, error) {
	s, err := shapeArg(op)
	if err != nil {
		return nil, err
	}
	n := op.Arg(ParamLUT).Type.Shape[0]
	b := int64(bits.Len64(uint64(max(n, 1)))) - 1
	if n != 1<<b || b < 1 || b > 8 || b == 3 || b == 5 || b == 7 {
		return nil, Rulef(ParamLUT, "lut has %d entries, must have 2, 4, 16, 64 or 256", n)
	}
	if err := packedBytes(op, ParamIndices, count(s), b); err != nil {
		return nil, err
	}
	return one(TensorOf(op.Arg(ParamLUT).Type.DType, s...))
}

func inferSparse16(op *Op) ([]Type, error) {
	s, err := shapeArg(op)
	if err != nil {
		return nil, err
	}
	if err := packedBytes(op, ParamMask, count(s), 1); err != nil {
		return nil, err
	}
	return one(TensorOf(op.Arg(ParamNonzeroData).Type.DType, s...))
}

// blockwise checks scale and offset against the data they belong to: each dimension of scale divides the dimension of
// data.
func blockwise(op *Op, data Type) error {
	sc := op.Arg(ParamScale).Type
	if sc.Rank() != data.Rank() {
		return Rulef(ParamScale, "scale has rank %d, data has rank %d", sc.Rank(), data.Rank()).and(ParamData)
	}
	for i, d := range sc.Shape {
		if d < 1 || data.Shape[i] < 0 || data.Shape[i]%d != 0 {
			return Rulef(ParamScale, "dimension %d of data is %d, not a multiple of %d in scale", i, data.Shape[i],
				d).and(ParamData)
		}
	}
	if o := op.Arg(ParamOffset); o != nil && !o.Type.WithDType(sc.DType).Equal(sc) {
		return Rulef(ParamOffset, "offset is %s, scale is %s", ShapeString(o.Type.Shape),
			ShapeString(sc.Shape)).and(ParamScale)
	}
	return nil
}

// lookup checks a table of the iOS 18 form, [blocks..., 2^bits, vector], against the indices. It
// returns the shape after the vectors are expanded.
func lookup(op *Op, idx Type) (out []int64, vector int64, err error) {
	lut := op.Arg(ParamLUT).Type
	r := idx.Rank()
	if lut.Rank() != r+2 {
		return nil, 0, Rulef(ParamLUT, "lut has rank %d, must be two more than the indices' rank %d", lut.Rank(),
			r).and(ParamIndices)
	}
	for i := range r {
		if d := lut.Shape[i]; d < 1 || idx.Shape[i] < 0 || idx.Shape[i]%d != 0 {
			return nil, 0, Rulef(ParamLUT, "dimension %d of the indices is %d, not a multiple of %d in lut", i,
				idx.Shape[i], d).and(ParamIndices)
		}
	}
	if n := lut.Shape[r]; n != 1<<idx.DType.Bits() {
		return nil, 0, Rulef(ParamLUT, "lut has %d entries, indices of %s need %d", n, idx.DType,
			1<<idx.DType.Bits()).and(ParamIndices)
	}
	out, vector = cloneShape(idx.Shape), lut.Shape[r+1]
	if vector < 1 {
		return nil, 0, Rulef(ParamLUT, "the vectors of lut have %d elements", vector)
	}
	if vector > 1 || op.Arg(ParamVectorAxis) != nil {
		a, err := AxisAttr(op, ParamVectorAxis, r)
		if err != nil {
			return nil, 0, err
		}
		out[a] *= vector
	}
	return out, vector, nil
}

// constexprForms are the forms of the operations above.
func constexprForms() (out forms) {
	q8 := DTypesOf(Int8, UInt8)
	q48 := DTypesOf(Int4, UInt4, Int8, UInt8, FP16, FP32)
	entry := DTypesOf(Int8, UInt8, FP16, FP32)
	idx := DTypesOf(UInt1, UInt2, UInt3, UInt4, UInt6, UInt8)
	u1 := DTypesOf(UInt1)
	cst := func(n ParamName, c DTypes) Param { return in(n, c).fixed() }
	out.add(
		&OpDef{Operation: OpConstexprAffineDequantize, Since: "ios16",
			Params: params(cst(ParamQuantizedData, q8), cst(ParamZeroPoint, q8|DTypesOf(FP32, FP16)),
				cst(ParamScale, clsFloat),
				intP(ParamAxis)),
			Infer: func(op *Op) ([]Type, error) {
				q := op.Arg(ParamQuantizedData).Type
				if _, err := AxisAttr(op, ParamAxis, q.Rank()); err != nil {
					return nil, err
				}
				if err := perAxis(op, ParamQuantizedData); err != nil {
					return nil, err
				}
				return one(q.WithDType(op.Arg(ParamScale).Type.DType))
			}, Fold: foldAffine},
		&OpDef{Operation: OpConstexprCast, Since: "ios16",
			Params: params(cst(ParamSourceVal, DTypesOf(FP16)), stringP(ParamOutputDType)),
			Infer: func(op *Op) ([]Type, error) {
				t, err := needDType(op, ParamOutputDType, DTypesOf(FP32, FP16))
				if err != nil {
					return nil, err
				}
				return one(op.Arg(ParamSourceVal).Type.WithDType(t))
			}, Fold: foldConstexprCast},
		&OpDef{Operation: OpConstexprLUTToDense, Since: "ios16",
			Params: params(cst(ParamIndices, DTypesOf(UInt8)), cst(ParamLUT, entry).rank(1, 1),
				cst(ParamShape, DTypesOf(UInt32, Int32))),
			Infer: inferLUT16, Fold: foldLUT16},
		&OpDef{Operation: OpConstexprSparseToDense, Since: "ios16",
			Params: params(cst(ParamNonzeroData, entry).rank(1, 1), cst(ParamMask, DTypesOf(UInt8)),
				cst(ParamShape, DTypesOf(UInt32, Int32))), Infer: inferSparse16, Fold: foldSparse},

		&OpDef{Operation: OpConstexprBlockwiseShiftScale, Since: "ios18",
			Params: params(cst(ParamData, q48), cst(ParamScale, clsFloat), cst(ParamOffset, q48).opt()),
			Infer: func(op *Op) ([]Type, error) {
				d := op.Arg(ParamData).Type
				if err := blockwise(op, d); err != nil {
					return nil, err
				}
				return one(d.WithDType(op.Arg(ParamScale).Type.DType))
			}, Fold: foldBlockwise},
		&OpDef{Operation: OpConstexprLUTToDense, Since: "ios18",
			Doc:    "Entries or vectors of blockwise tables, selected by index.",
			Params: params(cst(ParamIndices, idx), cst(ParamLUT, entry), intP(ParamVectorAxis).opt()),
			Infer: func(op *Op) ([]Type, error) {
				s, _, err := lookup(op, op.Arg(ParamIndices).Type)
				if err != nil {
					return nil, err
				}
				return one(TensorOf(op.Arg(ParamLUT).Type.DType, s...))
			}, Fold: foldLUT18},
		&OpDef{Operation: OpConstexprSparseToDense, Since: "ios18", Doc: "The next value where the mask is 1, else 0.",
			Params: params(cst(ParamNonzeroData, q48).rank(1, 1), cst(ParamMask, u1)),
			Infer: func(op *Op) ([]Type, error) {
				return one(op.Arg(ParamMask).Type.WithDType(op.Arg(ParamNonzeroData).Type.DType))
			}, Fold: foldSparse},
		&OpDef{Operation: OpConstexprLUTToSparse, Since: "ios18",
			Params: params(cst(ParamIndicesMask, u1), cst(ParamIndicesNonzeroData, idx).rank(1, 1),
				cst(ParamLUT, entry), intP(ParamVectorAxis).opt()),
			Infer: func(op *Op) ([]Type, error) {
				m, nz := op.Arg(ParamIndicesMask).Type, op.Arg(ParamIndicesNonzeroData).Type
				s, vec, err := lookup(op, m.WithDType(nz.DType))
				if err != nil {
					return nil, err
				}
				return []Type{m.WithShape(s...), TensorOf(op.Arg(ParamLUT).Type.DType, times(nz.Shape[0], vec))}, nil
			}, Fold: foldLUTSparse},
		&OpDef{Operation: OpConstexprSparseBlockwiseShiftScale, Since: "ios18",
			Params: params(cst(ParamDataMask, u1), cst(ParamNonzeroData, q48).rank(1, 1), cst(ParamScale, clsFloat),
				cst(ParamOffset, q48).
					opt()),
			Infer: func(op *Op) ([]Type, error) {
				m := op.Arg(ParamDataMask).Type
				if err := blockwise(op, m); err != nil {
					return nil, err
				}
				return []Type{m, op.Arg(ParamNonzeroData).Type.WithDType(op.Arg(ParamScale).Type.DType)}, nil
			}, Fold: foldSparseBlockwise})
	return out
}
