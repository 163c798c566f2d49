package ir

import (
	"strings"
	"testing"
)

// arg is a value for a test operation.
func val(t Type) *Value         { return &Value{Name: "v", Type: t} }
func lit(c *Const) *Value       { return &Value{Name: "c", Type: c.Type, Const: c} }
func fp(shape ...int64) *Value  { return val(TensorOf(FP16, shape...)) }
func i32(shape ...int64) *Value { return val(TensorOf(Int32, shape...)) }
func ns(vs ...int64) *Value     { return lit(ConstInts(Int32, vs...)) }
func n(v int64) *Value          { return lit(ConstInt(Int32, v)) }
func b(v bool) *Value           { return lit(ConstBool(v)) }
func bs(vs ...int64) *Value     { return lit(ConstInts(Bool, vs...)) }
func str(s string) *Value       { return lit(ConstString(s)) }
func f16(v float64) *Value      { return lit(ConstFloat(FP16, v)) }

func floats(t DType, shape []int64, vs ...float64) *Value {
	var d []byte
	for _, v := range vs {
		d = AppendElem(d, t, v)
	}
	return lit(&Const{Type: TensorOf(t, shape...), Data: d})
}

type args map[ParamName]any // *Value or []*Value

func mkop(t testing.TB, name, opset string, a args) *Op {
	t.Helper()
	d := Lookup(name, opset)
	if d == nil {
		t.Fatalf("no row %s", name)
	}
	op := NewOp(d)
	for k, v := range a {
		if d.ParamIndex(k) < 0 {
			t.Fatalf("%s %s has no parameter %s", name, d.Since, k)
		}
		if one, ok := v.(*Value); ok {
			op.SetArg(k, one)
		} else {
			op.SetArg(k, v.([]*Value)...)
		}
	}
	return op
}

// shapesOf runs the shape rule and returns the types as text, or the error.
func shapesOf(op *Op) string {
	ts, err := InferOp(op)
	if err != nil {
		return "error: " + err.Error()
	}
	var s []string
	for _, t := range ts {
		s = append(s, t.DType.String()+ShapeString(t.Shape))
	}
	return strings.Join(s, " ")
}
