package values

import (
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/npy"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// TestConversionsRoundTrip converts 0, 1, 1, 0 of every type to an array and back.
func TestConversionsRoundTrip(t *testing.T) {
	for d := range arrayTypes {
		x, err := interp.FromInts(d, []int64{0, 1, 1, 0}, 2, 2)
		if d.IsFloat() {
			x, err = interp.FromFloats(d, []float32{0, 1, 1, 0}, 2, 2)
		}
		if err != nil {
			t.Errorf("%s: %v", d, err)
			continue
		}
		a, err := ToArray(x)
		if err != nil {
			t.Errorf("%s: %v", d, err)
			continue
		}
		file, err := npy.Encode(a)
		if err != nil {
			t.Fatal(err)
		}
		if a, err = npy.Decode(file); err != nil {
			t.Fatal(err)
		}
		for _, typ := range []ir.Type{ir.TensorOf(d, 2, 2), ir.TensorOf(d, ir.Unknown, 2)} {
			y, err := FromArray(a, typ)
			if err != nil || !y.Equal(x) {
				t.Errorf("%s as %s came back as %v, %v", d, typ, y, err)
			}
		}
	}
}

func TestFromArrayRejectsOtherTypesAndShapes(t *testing.T) {
	array := func(typ string, data ...byte) npy.Array {
		return npy.Array{Type: typ, Shape: []int64{int64(len(data) / npy.Size(typ))}, Data: data}
	}
	for _, c := range []struct {
		name string
		a    npy.Array
		typ  ir.Type
		want string
	}{
		{name: "type", a: array("f4", 0, 0, 0, 0), typ: ir.TensorOf(ir.FP16, 1), want: `astype("<f2")`},
		{name: "sign", a: array("u1", 1), typ: ir.TensorOf(ir.Int8, 1), want: "want i1"},
		{name: "shape", a: array("u1", 1, 2), typ: ir.TensorOf(ir.UInt8, 3), want: "[2], want [3]"},
		{name: "rank", a: array("u1", 1, 2), typ: ir.TensorOf(ir.UInt8, 1, 2), want: "want [1, 2]"},
		{name: "range", a: array("u1", 3, 16), typ: ir.TensorOf(ir.UInt4, 2), want: "element 1 of the file is 16"},
		{name: "negative range", a: array("i1", 0xf7), typ: ir.TensorOf(ir.Int4, 1),
			want: "element 0 of the file is -9"},
		{name: "8-bit float", a: array("f4", 0, 0, 0, 0), typ: ir.TensorOf(ir.FP8E4M3, 1), want: "cannot read a value"},
		{name: "string", a: array("u1", 1), typ: ir.TensorOf(ir.String, 1), want: "cannot read a value"},
		{name: "list", a: array("u1", 1), typ: ir.Type{Kind: ir.List, DType: ir.UInt8}, want: "cannot read a value"},
	} {
		if _, err := FromArray(c.a, c.typ); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}
