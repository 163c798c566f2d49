package ir

import "github.com/zinc-compiler/zinc/numerics"

// Quantization.
var (
	OpQuantize = newOp("quantize", Pointwise,
		"input / scale rounded half to even, plus zero_point, clipped to output_dtype.").err(numerics.Rounded)
	OpDequantize = newOp("dequantize", Pointwise, "scale (input - zero_point).").err(numerics.Rounded)
)

// perAxis checks scale and zero_point: scalars, or vectors along axis of x.
func perAxis(op *Op, x ParamName) error {
	t := op.Arg(x).Type
	for _, n := range []ParamName{ParamScale, ParamZeroPoint} {
		v := op.Arg(n)
		if v == nil || v.Type.Rank() == 0 {
			continue
		}
		if _, ok := ArgInt(op, ParamAxis); !ok {
			return Rulef(ParamAxis, "axis is missing, but %s is %s", n, v.Type)
		}
		a, err := AxisAttr(op, ParamAxis, t.Rank())
		if err != nil {
			return err
		}
		if err := vectorOf(op, n, t.Shape[a], "the dimension along axis"); err != nil {
			return err
		}
	}
	return nil
}

// quantizeForms are the forms of the operations above.
func quantizeForms() (out forms) {
	q8 := DTypesOf(Int8, UInt8)
	out.add(
		&OpDef{Operation: OpQuantize, Since: "ios17",
			Params: params(in(ParamInput, clsFloat).as("S"), in(ParamZeroPoint, q8).fixed().opt(),
				in(ParamScale, clsFloat).
					as("S").fixed(), intP(ParamAxis).opt(), stringP(ParamOutputDType)),
			Infer: func(op *Op) ([]Type, error) {
				t, err := needDType(op, ParamOutputDType, DTypesOf(Int8, UInt8))
				if err != nil {
					return nil, err
				}
				if z := op.Arg(ParamZeroPoint); z != nil && z.Type.DType != t {
					return nil, Rulef(ParamZeroPoint, "zero_point is %s, output_dtype is %s", z.Type.DType,
						t).and(ParamOutputDType)
				}
				if err := perAxis(op, ParamInput); err != nil {
					return nil, err
				}
				return one(op.Arg(ParamInput).Type.WithDType(t))
			}},
		&OpDef{Operation: OpDequantize, Since: "ios17",
			Params: params(in(ParamInput, q8).as("S"), in(ParamZeroPoint, q8).as("S").fixed().opt(),
				in(ParamScale, clsFloat).
					fixed(), intP(ParamAxis).opt()),
			Infer: func(op *Op) ([]Type, error) {
				if err := perAxis(op, ParamInput); err != nil {
					return nil, err
				}
				return one(op.Arg(ParamInput).Type.WithDType(op.Arg(ParamScale).Type.DType))
			}})
	return out
}
