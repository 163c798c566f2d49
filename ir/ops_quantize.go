package ir

import "github.com/zinc-compiler/zinc/numerics"

// Quantization.
var (
	OpQuantize = &Operation{
		Name: "quantize", Class: Pointwise, Error: numerics.Elementwise,
		Doc: "input / scale rounded half to even, plus zero_point, clipped to output_dtype.",
	}
	OpDequantize = &Operation{
		Name: "dequantize", Class: Pointwise, Error: numerics.Elementwise, Doc: "scale (input - zero_point).",
	}
)

// perAxis checks scale and zero_point: scalars, or vectors along axis of x.
func perAxis(op *Op, x string) error {
	t := op.Arg(x).Type
	for _, n := range []string{"scale", "zero_point"} {
		v := op.Arg(n)
		if v == nil || v.Type.Rank() == 0 {
			continue
		}
		if _, ok := ArgInt(op, "axis"); !ok {
			return Rulef("axis", "axis is missing and %s is %s", n, v.Type)
		}
		a, err := AxisAttr(op, "axis", t.Rank())
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
			Params: params(in("input", clsFloat).as("S"), in("zero_point", q8).fixed().opt(), in("scale", clsFloat).
				as("S").fixed(), intP("axis").opt(), stringP("output_dtype")),
			Infer: func(op *Op) ([]Type, error) {
				t, err := needDType(op, "output_dtype", DTypesOf(Int8, UInt8))
				if err != nil {
					return nil, err
				}
				if z := op.Arg("zero_point"); z != nil && z.Type.DType != t {
					return nil, &RuleError{
						Param: "zero_point",
						Other: "output_dtype",
						Msg:   Rulef("", "zero_point is %s, output_dtype is %s", z.Type.DType, t).Msg,
					}
				}
				if err := perAxis(op, "input"); err != nil {
					return nil, err
				}
				return one(op.Arg("input").Type.WithDType(t))
			}},
		&OpDef{Operation: OpDequantize, Since: "ios17",
			Params: params(in("input", q8).as("S"), in("zero_point", q8).as("S").fixed().opt(), in("scale", clsFloat).
				fixed(), intP("axis").opt()),
			Infer: func(op *Op) ([]Type, error) {
				if err := perAxis(op, "input"); err != nil {
					return nil, err
				}
				return one(op.Arg("input").Type.WithDType(op.Arg("scale").Type.DType))
			}})
	return out
}
