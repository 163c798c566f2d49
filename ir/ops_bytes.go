package ir

// Integers as the engine moves them. These two operations belong to the intermediate form, not to MIL: decompositions
// insert them where integers enter and leave the engine.
var (
	OpToBytes = newOp("to_bytes", Movement,
		"The bytes of integers, least significant first, each as a tensor of numbers from 0 to 255; an operation "+
			"of the intermediate form.").picks(ofX...)
	OpFromBytes = newOp("from_bytes", Movement,
		"Integers of type dtype from their bytes, least significant first, each a tensor of numbers from 0 to "+
			"255; an operation of the intermediate form.").picks(ParamValues)
)

// clsBytes are the integers that to_bytes takes apart.
var clsBytes = DTypesOf(Int8, UInt8, Int16, UInt16, Int32, UInt32)

// Bytes returns the number of bytes that to_bytes makes from an element type, or 0 for a type that it does not accept.
func Bytes(d DType) int {
	if !clsBytes.Has(d) {
		return 0
	}
	return d.Bits() / 8
}

func bytesForms() (out forms) {
	out.add(
		&OpDef{Operation: OpToBytes, Params: params(in(ParamX, clsBytes)),
			Infer: func(op *Op) ([]Type, error) {
				t := op.Arg(ParamX).Type
				ts := make([]Type, Bytes(t.DType))
				for i := range ts {
					ts[i] = t.WithDType(FP16)
				}
				return ts, nil
			}},
		&OpDef{Operation: OpFromBytes,
			Params: params(in(ParamValues, DTypesOf(FP16)).many(), stringP(ParamDType)),
			Infer: func(op *Op) ([]Type, error) {
				d, err := needDType(op, ParamDType, clsBytes)
				if err != nil {
					return nil, err
				}
				vs := op.ArgList(ParamValues)
				if len(vs) != Bytes(d) {
					return nil, Rulef(ParamValues, "values has %d operands, %s has %d bytes", len(vs), d, Bytes(d))
				}
				t := vs[0].Type
				for i, v := range vs[1:] {
					if !v.Type.Equal(t) {
						return nil, Rulef(ParamValues, "operand %d is %s, operand 0 is %s", i+1, v.Type, t)
					}
				}
				return one(t.WithDType(d))
			}})
	return out
}
