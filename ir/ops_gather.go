package ir

// Elements by index.
var (
	OpGather          = newOp("gather", Movement, "Slices of x along axis, selected by index.").picks(ofX...)
	OpGatherAlongAxis = newOp("gather_along_axis", Movement,
		"Elements of x along axis, selected by the index at the same position.").picks(ofX...)
	OpGatherND = newOp("gather_nd", Movement, "Slices of x, selected by coordinates in the last dimension of indices.").
			picks(ofX...)
	OpScatter = newOp("scatter", Scattering, "data with slices along axis combined with updates by index.").
			gate(Never)
	OpScatterAlongAxis = newOp("scatter_along_axis", Scattering,
		"data with elements along axis combined with updates, selected by the index at the same position.").gate(Never)
	OpScatterND = newOp("scatter_nd", Scattering, "data with slices combined with updates by coordinates.").gate(Never)
)

// Gather is the decoded arguments of gather and gather_along_axis.
type Gather struct {
	Axis      int // from the front
	BatchDims int
	Validate  bool // validate_indices
}

// GatherAttrs decodes gather and gather_along_axis.
func GatherAttrs(op *Op) (Gather, error) {
	var g Gather
	var err error
	if g.Axis, err = AxisAttr(op, ParamAxis, op.Arg(ParamX).Type.Rank()); err != nil {
		return g, err
	}
	if op.Def.ParamIndex(ParamBatchDims) >= 0 {
		if g.BatchDims, err = batchDims(op); err != nil {
			return g, err
		}
	}
	if op.Def.ParamIndex(ParamValidateIndices) >= 0 {
		g.Validate, err = needBool(op, ParamValidateIndices)
	}
	return g, err
}

func batchDims(op *Op) (int, error) {
	b, err := needInt(op, ParamBatchDims)
	if err != nil {
		return 0, err
	}
	x, idx := op.Arg(ParamX).Type, op.Arg(ParamIndices).Type
	if b < 0 || b >= int64(max(x.Rank(), 1)) || b > int64(idx.Rank()) {
		return 0, Rulef(ParamBatchDims, "batch_dims is %d, x has rank %d and indices rank %d", b, x.Rank(), idx.Rank())
	}
	for i := range b {
		if !agree(x.Shape[i], idx.Shape[i]) {
			return 0, Rulef(ParamIndices, "batch dimension %d of indices is %d, of x %d", i, idx.Shape[i],
				x.Shape[i]).and(ParamX)
		}
	}
	return int(b), nil
}

func inferGather(op *Op) ([]Type, error) {
	g, err := GatherAttrs(op)
	if err != nil {
		return nil, err
	}
	x, idx := op.Arg(ParamX).Type, op.Arg(ParamIndices).Type
	if g.BatchDims > g.Axis {
		return nil, Rulef(ParamBatchDims, "batch_dims is %d, must not exceed axis %d", g.BatchDims,
			g.Axis).and(ParamAxis)
	}
	out := append(cloneShape(x.Shape[:g.Axis]), idx.Shape[g.BatchDims:]...)
	return one(x.WithShape(append(out, x.Shape[g.Axis+1:]...)...))
}

func inferGatherAlong(op *Op) ([]Type, error) {
	g, err := GatherAttrs(op)
	if err != nil {
		return nil, err
	}
	x, idx := op.Arg(ParamX).Type, op.Arg(ParamIndices).Type
	if err := alongAxis(op, ParamX, x, idx, g.Axis); err != nil {
		return nil, err
	}
	return one(x.WithShape(idx.Shape...))
}

func alongAxis(op *Op, name ParamName, x, idx Type, a int) error {
	if x.Rank() != idx.Rank() {
		return Rulef(ParamIndices, "indices has rank %d, %s has rank %d", idx.Rank(), name, x.Rank()).and(name)
	}
	for i, d := range x.Shape {
		if i != a && !agree(d, idx.Shape[i]) {
			return Rulef(ParamIndices, "dimension %d of indices is %d, of %s %d", i, idx.Shape[i], name, d).and(name)
		}
	}
	return nil
}

// indexed returns the shape of gather_nd's result and of scatter_nd's updates.
func indexed(op *Op, name ParamName, batch int) ([]int64, error) {
	x, idx := op.Arg(name).Type, op.Arg(ParamIndices).Type
	if idx.Rank() == 0 {
		return nil, Rulef(ParamIndices, "indices has rank 0, must be at least 1")
	}
	k := idx.Shape[idx.Rank()-1]
	if k < 0 {
		return nil, Rulef(ParamIndices, "the last dimension of indices is not known")
	}
	if k > int64(x.Rank()-batch) {
		return nil, Rulef(ParamIndices, "indices have %d coordinates, but %s has rank %d with batch_dims = %d", k,
			name, x.Rank(), batch).and(name)
	}
	return append(cloneShape(idx.Shape[:idx.Rank()-1]), x.Shape[int64(batch)+k:]...), nil
}

func inferGatherND(op *Op) ([]Type, error) {
	b := 0
	var err error
	if op.Def.ParamIndex(ParamBatchDims) >= 0 {
		if b, err = batchDims(op); err != nil {
			return nil, err
		}
	}
	out, err := indexed(op, ParamX, b)
	if err != nil {
		return nil, err
	}
	return one(op.Arg(ParamX).Type.WithShape(out...))
}

var scatterModes = []string{"add", "div", "max", "min", "mul", "sub", "update"}

func inferScatter(op *Op) ([]Type, error) {
	data, idx, up := op.Arg(ParamData).Type, op.Arg(ParamIndices).Type, op.Arg(ParamUpdates).Type
	var want []int64
	switch op.Def.Operation {
	case OpScatterND:
		w, err := indexed(op, ParamData, 0)
		if err != nil {
			return nil, err
		}
		want = w
	default:
		a, err := AxisAttr(op, ParamAxis, data.Rank())
		if err != nil {
			return nil, err
		}
		if op.Is(OpScatterAlongAxis) {
			if err := alongAxis(op, ParamData, data, idx, a); err != nil {
				return nil, err
			}
			want = idx.Shape
		} else {
			want = append(append(cloneShape(data.Shape[:a]), idx.Shape...), data.Shape[a+1:]...)
		}
	}
	if !up.Fits(up.WithShape(want...)) {
		return nil, Rulef(ParamUpdates, "updates is %s, but data and indices require %s", ShapeString(up.Shape),
			ShapeString(want)).and(ParamIndices)
	}
	return one(data)
}

// gatherForms are the forms of the operations above.
func gatherForms() (out forms) {
	validate := func(d *OpDef) { d.Params = append(d.Params, boolP(ParamValidateIndices).or(false)) }
	idx16 := DTypesOf(Int32, UInt16, Int16)
	idx17 := DTypesOf(Int32, Int16, UInt16, Int8, UInt8)
	forms := func(base *OpDef, batch bool) {
		v16 := base.since("ios16", func(d *OpDef) {
			d.types(idx16, ParamIndices)
			if batch {
				d.Params = append(d.Params, intP(ParamBatchDims).or(int64(0)))
			}
		})
		out.add(base, v16, v16.since("ios17", func(d *OpDef) {
			d.types(clsSmall, ParamX)
			d.types(idx17, ParamIndices)
			validate(d)
		}))
	}
	forms(&OpDef{Operation: OpGather,
		Params: params(in(ParamX, clsNum), in(ParamIndices, clsInt32), intP(ParamAxis).or(int64(0))),
		Infer:  inferGather,
		Fold:   foldGather}, true)
	forms(&OpDef{Operation: OpGatherAlongAxis,
		Params: params(in(ParamX, clsNum), in(ParamIndices, clsInt32), intP(ParamAxis).or(int64(0))),
		Infer:  inferGatherAlong},
		false)
	forms(&OpDef{Operation: OpGatherND,
		Params: params(in(ParamX, clsNum), in(ParamIndices, clsInt32)), Infer: inferGatherND}, true)

	for _, o := range []*Operation{OpScatter, OpScatterAlongAxis, OpScatterND} {
		ps := params(in(ParamData, clsNum).as("T"), in(ParamIndices, clsInt32), in(ParamUpdates, clsNum).as("T"))
		if o != OpScatterND {
			ps = append(ps, intP(ParamAxis).or(int64(0)))
		}
		mode := stringP(ParamMode).oneOf(scatterModes...).or("add")
		d := &OpDef{Operation: o, Params: append(ps, mode), Infer: inferScatter}
		out.add(d, d.since("ios17", validate))
	}
	return out
}
