package ir

func stateTensor(op *Op, name string) Type {
	t := op.Arg(name).Type
	return TensorOf(t.DType, t.Shape...)
}

func stateValue(state, value string) func(op *Op) (Type, error) {
	return func(op *Op) (Type, error) {
		t, v := stateTensor(op, state), op.Arg(value).Type
		if !v.Fits(t) {
			return t, &RuleError{
				Param: value,
				Other: state,
				Msg:   Rulef("", "%s is %s, the state holds %s", value, v, t).Msg,
			}
		}
		return t, nil
	}
}

func init() {
	register(
		&OpDef{Name: "read_state", Effect: Reads, Doc: "The tensor that a state holds.",
			Params: params(in("input", clsElem).of(State)),
			Infer:  func(op *Op) ([]Type, error) { return one(stateTensor(op, "input")) }},
		&OpDef{Name: "write_state", Effect: Writes, Doc: "Puts a tensor into a state; no result.",
			Params: params(in("input", clsElem).of(State), in("data", clsElem)),
			Infer: func(op *Op) ([]Type, error) {
				_, err := stateValue("input", "data")(op)
				return nil, err
			}},
		&OpDef{Name: "coreml_update_state", Effect: Writes,
			Doc:    "Puts a tensor into a state and gives the state's tensor.",
			Params: params(in("state", clsElem).of(State), in("value", clsElem)),
			Infer: func(op *Op) ([]Type, error) {
				t, err := stateValue("state", "value")(op)
				return []Type{t}, err
			}})
}
