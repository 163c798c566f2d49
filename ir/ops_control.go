package ir

// Nested blocks and lists.
var (
	OpCond      = newOp("cond", Control, "The results of one of two blocks, chosen by pred.")
	OpWhileLoop = newOp("while_loop", Control,
		"Runs the second block on the loop's variables while the first returns true.")
	OpMakeList    = newOp("make_list", Listing, "A list of tensors of one shape.")
	OpListLength  = newOp("list_length", Listing, "The number of elements of a list.")
	OpListRead    = newOp("list_read", Listing, "One element of a list.")
	OpListWrite   = newOp("list_write", Listing, "A list with one element replaced.")
	OpListGather  = newOp("list_gather", Listing, "Elements of a list by index, stacked.")
	OpListScatter = newOp("list_scatter", Listing, "A list with elements replaced by slices of a tensor.")
)

// outputTypes returns the types of a block's outputs.
func outputTypes(b *Block) []Type {
	out := make([]Type, len(b.Outputs))
	for i, v := range b.Outputs {
		out[i] = v.Type
	}
	return out
}

// join returns a type that covers both: dimensions that differ are unknown.
func join(a, b Type) (Type, bool) {
	if a.Kind != b.Kind || a.DType != b.DType || a.Rank() != b.Rank() {
		return a, false
	}
	s := cloneShape(a.Shape)
	for i := range s {
		if s[i] != b.Shape[i] {
			s[i] = Unknown
		}
	}
	if a.Kind == List && a.Len != b.Len {
		a.Len = Unknown
	}
	return a.WithShape(s...), true
}

func inferCond(op *Op) ([]Type, error) {
	a, b := outputTypes(op.Blocks[0]), outputTypes(op.Blocks[1])
	if len(a) != len(b) {
		return nil, Rulef("", "the branches have %d and %d results", len(a), len(b))
	}
	for i := range a {
		t, ok := join(a[i], b[i])
		if !ok {
			return nil, Rulef("", "result %d is %s in the first branch, %s in the second", i, a[i], b[i])
		}
		a[i] = t
	}
	return a, nil
}

// inferLoop is the rule of while_loop: the first block decides whether to continue, the second computes the next values
// of the loop's variables.
func inferLoop(op *Op) ([]Type, error) {
	vars := op.ArgList(ParamLoopVars)
	test, body := op.Blocks[0], op.Blocks[1]
	if len(test.Params) != len(vars) || len(body.Params) != len(vars) {
		return nil, Rulef(ParamLoopVars, "the loop has %d variables, but its blocks have %d and %d parameters",
			len(vars), len(test.Params),
			len(body.Params))
	}
	if len(test.Outputs) != 1 || !oneBool(test.Outputs[0].Type) {
		return nil, Rulef("", "the condition must return one boolean")
	}
	if len(body.Outputs) != len(vars) {
		return nil, Rulef(ParamLoopVars, "the loop has %d variables, but its body returns %d", len(vars),
			len(body.Outputs))
	}
	out := make([]Type, len(vars))
	for i, v := range vars {
		p := body.Params[i].Type
		if !v.Type.Fits(p) || !v.Type.Fits(test.Params[i].Type) {
			return nil, Rulef(ParamLoopVars, "loop variable %d is %s, but the body's parameter is %s", i, v.Type, p)
		}
		t, ok := join(p, body.Outputs[i].Type)
		if !ok {
			return nil, Rulef(ParamLoopVars, "loop variable %d is %s, but the body returns %s", i, p,
				body.Outputs[i].Type)
		}
		out[i] = t
	}
	return out, nil
}

// oneBool reports whether t can be a single boolean; in real programs the condition may be a tensor of one element.
func oneBool(t Type) bool {
	n := t.Elems()
	return t.Kind == Tensor && t.DType == Bool && (n == 1 || n < 0)
}

func listElem(op *Op) Type {
	t := op.Arg(ParamLS).Type
	return TensorOf(t.DType, t.Shape...)
}

func listGiven(op *Op) ([]Type, error) { return one(op.Arg(ParamLS).Type) }

// controlForms are the forms of the operations above.
func controlForms() (out forms) {
	out.add(
		&OpDef{Operation: OpCond, Blocks: 2,
			Params: params(in(ParamPred, clsBool)), Infer: inferCond},
		&OpDef{Operation: OpWhileLoop, Blocks: 2,
			Params: params(in(ParamLoopVars, clsAny).of(AnyKind).many()), Infer: inferLoop})

	ls, v := in(ParamLS, clsElem).of(List), in(ParamValue, clsNumB)
	out.add(
		&OpDef{Operation: OpMakeList,
			Params: params(in(ParamInitLength, clsInt32).or(int64(1)), boolP(ParamDynamicLength).or(true),
				in(ParamElemShape, clsInt32|clsString).many(), stringP(ParamDType).or("fp32")),
			Infer: inferMakeList},
		&OpDef{Operation: OpListLength, Params: params(ls),
			Infer: func(*Op) ([]Type, error) { return one(Scalar(Int32)) }},
		&OpDef{Operation: OpListRead, Params: params(ls, in(ParamIndex, clsInt32)),
			Infer: func(op *Op) ([]Type, error) { return one(listElem(op)) }},
		&OpDef{
			Operation: OpListWrite,
			Params:    params(ls, in(ParamIndex, clsInt32), v),
			Infer:     listGiven,
		},
		&OpDef{Operation: OpListGather,
			Params: params(ls, in(ParamIndices, clsInt32)),
			Infer: func(op *Op) ([]Type, error) {
				n := Unknown
				if idx := op.Arg(ParamIndices).Type; idx.Rank() == 1 {
					n = idx.Shape[0]
				}
				t := listElem(op)
				return one(t.WithShape(append([]int64{n}, t.Shape...)...))
			}},
		&OpDef{
			Operation: OpListScatter,
			Params:    params(ls, in(ParamIndices, clsInt32), v),
			Infer:     listGiven,
		})
	return out
}

func inferMakeList(op *Op) ([]Type, error) {
	t, err := needDType(op, ParamDType, clsElem)
	if err != nil {
		return nil, err
	}
	dynamic, err := needBool(op, ParamDynamicLength)
	if err != nil {
		return nil, err
	}
	n := Unknown
	if v, ok := ArgInt(op, ParamInitLength); ok && !dynamic {
		n = v
	}
	var shape []int64
	for _, v := range op.ArgList(ParamElemShape) {
		switch {
		case v.Const == nil || v.Const.Type.DType == String: // a string is the name of an unknown dimension
			shape = append(shape, Unknown)
		case v.Const.Type.DType.IsInt() && hasElems(v.Const, v.Const.Elems()):
			shape = append(shape, v.Const.Ints()...)
		}
		if len(shape) > maxRank {
			return nil, Rulef(ParamElemShape, "elem_shape has more than %d elements", maxRank)
		}
	}
	return one(Type{Kind: List, DType: t, Shape: shape, Len: n})
}
