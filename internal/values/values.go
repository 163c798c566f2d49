package values

import (
	"fmt"

	"github.com/zinc-compiler/zinc/internal/npy"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// arrayTypes maps each MIL type to the npy element type for its values. Types that npy
// lacks use the next wider one; 8-bit floats, which the interpreter does not support,
// have none.
var arrayTypes = map[ir.DType]struct {
	name  string
	wider bool
}{
	ir.Bool: {name: "b1"}, ir.FP16: {name: "f2"}, ir.FP32: {name: "f4"}, ir.FP64: {name: "f8"},
	ir.Int8: {name: "i1"}, ir.Int16: {name: "i2"}, ir.Int32: {name: "i4"}, ir.Int64: {name: "i8"},
	ir.UInt8: {name: "u1"}, ir.UInt16: {name: "u2"}, ir.UInt32: {name: "u4"}, ir.UInt64: {name: "u8"},
	ir.BF16: {"f4", true}, ir.Int4: {"i1", true},
	ir.UInt1: {"u1", true}, ir.UInt2: {"u1", true}, ir.UInt3: {"u1", true}, ir.UInt4: {"u1", true},
	ir.UInt6: {"u1", true},
}

// irTypes returns the MIL type of each npy element type.
var irTypes = func() map[string]ir.DType {
	m := map[string]ir.DType{}
	for d, a := range arrayTypes {
		if !a.wider {
			m[a.name] = d
		}
	}
	return m
}()

// FromArray converts an array to a tensor of type t, whose shape may have unknown
// dimensions. The array must have the element type ArrayType(t.DType).
func FromArray(a npy.Array, t ir.Type) (interp.Tensor, error) {
	want, ok := arrayTypes[t.DType]
	if !ok || t.Kind != ir.Tensor {
		return interp.Tensor{}, fmt.Errorf("cannot read a value of type %s from an npy file", t)
	}
	have := ir.TensorOf(irTypes[a.Type], a.Shape...)
	if a.Type != want.name {
		return interp.Tensor{}, fmt.Errorf("the file has %s (%s), want %s (%s); convert it with numpy's astype(%q)",
			a.Type, have, want.name, t, "<"+want.name)
	}
	if !have.WithDType(t.DType).Fits(t) {
		return interp.Tensor{}, fmt.Errorf("the file's shape is %s, want %s", ir.ShapeString(a.Shape),
			ir.ShapeString(t.Shape))
	}
	if !want.wider {
		return interp.NewTensor(have, a.Data)
	}
	wide, err := interp.NewTensor(have, a.Data)
	if err != nil {
		return interp.Tensor{}, err
	}
	if t.DType.IsFloat() {
		return interp.FromFloats(t.DType, wide.Floats32(), a.Shape...)
	}
	ints := wide.Ints()
	out, err := interp.FromInts(t.DType, ints, a.Shape...)
	if err != nil {
		return out, err
	}
	for i, v := range out.Ints() {
		if v != ints[i] {
			return out, fmt.Errorf("element %d of the file is %d, which is out of range for %s", i, ints[i], t.DType)
		}
	}
	return out, nil
}

// TypeOf returns the MIL element type of an npy element type, or the zero value if
// there is none.
func TypeOf(npyType string) ir.DType { return irTypes[npyType] }

// ArrayType returns the npy element type for values of a MIL type, and whether it is the
// same type rather than a wider one. It returns "" for a type that npy files cannot
// contain.
func ArrayType(d ir.DType) (name string, own bool) {
	a := arrayTypes[d]
	return a.name, a.name != "" && !a.wider
}

// ToArray converts a tensor to an array.
func ToArray(t interp.Tensor) (npy.Array, error) {
	to, ok := arrayTypes[t.Type.DType]
	if !ok || t.Type.Kind != ir.Tensor {
		return npy.Array{}, fmt.Errorf("cannot write a value of type %s to an npy file", t.Type)
	}
	if to.wider {
		var err error
		if t.Type.DType.IsFloat() {
			t, err = interp.FromFloats(irTypes[to.name], t.Floats32(), t.Type.Shape...)
		} else {
			t, err = interp.FromInts(irTypes[to.name], t.Ints(), t.Type.Shape...)
		}
		if err != nil {
			return npy.Array{}, err
		}
	}
	return npy.Array{Type: to.name, Shape: t.Type.Shape, Data: t.Data}, nil
}
