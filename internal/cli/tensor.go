package cli

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/zinc-compiler/zinc/internal/npy"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// arrayTypes gives the npy element type in which values of each MIL type
// travel. Types that npy has not travel in the next wider one that it has;
// 8-bit floats, which the interpreter cannot make, do not travel.
var arrayTypes = map[ir.DType]struct {
	name  string
	wider bool
}{
	ir.Bool: {name: "b1"}, ir.FP16: {name: "f2"}, ir.FP32: {name: "f4"}, ir.FP64: {name: "f8"},
	ir.Int8: {name: "i1"}, ir.Int16: {name: "i2"}, ir.Int32: {name: "i4"}, ir.Int64: {name: "i8"},
	ir.UInt8: {name: "u1"}, ir.UInt16: {name: "u2"}, ir.UInt32: {name: "u4"}, ir.UInt64: {name: "u8"},
	ir.BF16: {"f4", true}, ir.Int4: {"i1", true},
	ir.UInt1: {"u1", true}, ir.UInt2: {"u1", true}, ir.UInt3: {"u1", true}, ir.UInt4: {"u1", true}, ir.UInt6: {"u1", true},
}

// irTypes gives the MIL type of each npy element type.
var irTypes = func() map[string]ir.DType {
	m := map[string]ir.DType{}
	for d, a := range arrayTypes {
		if !a.wider {
			m[a.name] = d
		}
	}
	return m
}()

// fromArray makes a tensor of type t, whose shape may have unknown dimensions,
// from an array of the element type that belongs to it.
func fromArray(a npy.Array, t ir.Type) (interp.Tensor, error) {
	want, ok := arrayTypes[t.DType]
	if !ok || t.Kind != ir.Tensor {
		return interp.Tensor{}, fmt.Errorf("a value of type %s cannot come from an npy file", t)
	}
	have := ir.TensorOf(irTypes[a.Type], a.Shape...)
	if a.Type != want.name {
		return interp.Tensor{}, fmt.Errorf("the file holds %s (%s), wanted %s (%s); convert it with numpy's astype(%q)",
			a.Type, have, want.name, t, "<"+want.name)
	}
	if !have.WithDType(t.DType).Fits(t) {
		return interp.Tensor{}, fmt.Errorf("the file's shape is %s, wanted %s", ir.ShapeString(a.Shape), ir.ShapeString(t.Shape))
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
			return out, fmt.Errorf("element %d of the file is %d, which %s does not hold", i, ints[i], t.DType)
		}
	}
	return out, nil
}

// toArray makes an array of a tensor.
func toArray(t interp.Tensor) (npy.Array, error) {
	to, ok := arrayTypes[t.Type.DType]
	if !ok || t.Type.Kind != ir.Tensor {
		return npy.Array{}, fmt.Errorf("a value of type %s cannot go to an npy file", t.Type)
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

// shownElements is how many elements a summary shows.
const shownElements = 8

// summarise prints one line about a tensor: type, range, mean, first elements.
func summarise(w io.Writer, name string, t interp.Tensor) error {
	if t.Type.Kind != ir.Tensor || t.Type.DType == ir.String {
		_, err := fmt.Fprintf(w, "%s  %s\n", name, t.Type)
		return err
	}
	vs := t.Const().Floats()
	lo, hi, sum, odd := math.Inf(1), math.Inf(-1), 0.0, 0
	for _, v := range vs {
		if v-v != 0 {
			odd++
			continue
		}
		lo, hi, sum = min(lo, v), max(hi, v), sum+v
	}
	var s strings.Builder
	fmt.Fprintf(&s, "%s  %s", name, t.Type)
	if n := len(vs) - odd; n > 0 {
		fmt.Fprintf(&s, "  min %.6g max %.6g mean %.6g", lo, hi, sum/float64(n))
	}
	if odd > 0 {
		fmt.Fprintf(&s, "  %d not finite", odd)
	}
	s.WriteString("  [")
	for i, v := range vs[:min(len(vs), shownElements)] {
		if i > 0 {
			s.WriteString(", ")
		}
		fmt.Fprintf(&s, "%.6g", v)
	}
	if len(vs) > shownElements {
		s.WriteString(", ...")
	}
	s.WriteString("]\n")
	_, err := io.WriteString(w, s.String())
	return err
}
