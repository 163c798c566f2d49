package ir

// views are operations whose result has the elements of their operand in order: it takes no memory of its own.
var views = []*Operation{OpReshape, OpExpandDims, OpSqueeze, OpIdentity, OpFlatten2D, OpReshapeLike}

// IsView reports whether the result of the operation is its operand in another shape.
func (o *Op) IsView() bool { return o.Is(views...) }

// Updates returns the parameters of an operation that changes a part of one operand: this operand, and the one with the
// elements of the part. It returns "" for other operations.
func (o *Op) Updates() (old, part ParamName) {
	switch {
	case o.Is(OpSliceUpdate):
		return ParamX, ParamUpdate
	case o.Is(OpScatter, OpScatterAlongAxis, OpScatterND):
		return ParamData, ParamUpdates
	}
	return "", ""
}
