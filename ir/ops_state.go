package ir

import "github.com/zinc-compiler/zinc/numerics"

// Accesses of states.
var (
	OpReadState  = newOp("read_state", StateAccess, "The value of a state.").err(numerics.Movement)
	OpWriteState = newOp("write_state", StateAccess, "Writes a tensor to a state; no result.").
			err(numerics.Movement)
	OpCoreMLUpdateState = newOp("coreml_update_state", StateAccess,
		"Writes a tensor to a state and returns the state's value.").err(numerics.Movement)
)

// StateParams returns the parameter of the state that an operation reads or writes, "" if there is
// none, and the parameter of the value that it writes, "" if it only reads.
func (d *OpDef) StateParams() (state, value ParamName) {
	if d.Class != StateAccess {
		return "", ""
	}
	for i := range d.Params {
		if p := &d.Params[i]; p.Kind == State {
			state = p.Name
		} else {
			value = p.Name
		}
	}
	return state, value
}

func stateTensor(op *Op, name ParamName) Type {
	t := op.Arg(name).Type
	return TensorOf(t.DType, t.Shape...)
}

func stateValue(state, value ParamName) func(op *Op) (Type, error) {
	return func(op *Op) (Type, error) {
		t, v := stateTensor(op, state), op.Arg(value).Type
		if !v.Fits(t) {
			return t, Rulef(value, "%s is %s, but the state is %s", value, v, t).and(state)
		}
		return t, nil
	}
}

// stateForms are the forms of the operations above.
func stateForms() (out forms) {
	out.add(
		&OpDef{Operation: OpReadState, Effect: Reads,
			Params: params(in(ParamInput, clsElem).of(State)),
			Infer:  func(op *Op) ([]Type, error) { return one(stateTensor(op, ParamInput)) }},
		&OpDef{Operation: OpWriteState, Effect: Writes,
			Params: params(in(ParamInput, clsElem).of(State), in(ParamData, clsElem)),
			Infer: func(op *Op) ([]Type, error) {
				_, err := stateValue(ParamInput, ParamData)(op)
				return nil, err
			}},
		&OpDef{Operation: OpCoreMLUpdateState, Effect: Writes,
			Params: params(in(ParamState, clsElem).of(State), in(ParamValue, clsElem)),
			Infer: func(op *Op) ([]Type, error) {
				t, err := stateValue(ParamState, ParamValue)(op)
				return []Type{t}, err
			}})
	return out
}
