package ir

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/x448/float16"
)

// folds runs the fold and returns the results as text: type and elements.
func folds(op *Op) string {
	cs, err := FoldOp(op)
	if err != nil {
		return "error: " + err.Error()
	}
	var out []string
	for _, c := range cs {
		s := c.Type.DType.String() + ShapeString(c.Type.Shape)
		for i := range c.Elems() {
			s += fmt.Sprintf(" %g", c.Float(i))
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

func u8(bs ...int64) *Value { return lit(ConstInts(UInt8, bs...)) }

func packedConst(t DType, shape []int64, data ...byte) *Value {
	return lit(&Const{Type: TensorOf(t, shape...), Data: data})
}

func h(shape []int64, vs ...float64) *Value { return floats(FP16, shape, vs...) }

func TestFoldsComputeConstants(t *testing.T) {
	m23 := h([]int64{2, 3}, 1, 2, 3, 4, 5, 6)
	for _, c := range []struct {
		op, opset string
		a         args
		want      string
	}{
		{op: "add", a: args{"x": m23, "y": h([]int64{2, 1}, 10, 20)}, want: "fp16[2, 3] 11 12 13 24 25 26"},
		{op: "add", a: args{"x": h(nil, 2048), "y": h(nil, 1)}, want: "fp16[] 2048"}, // tie to even
		{op: "add", a: args{"x": h(nil, 2050), "y": h(nil, 1)}, want: "fp16[] 2052"},
		{op: "mul", a: args{"x": f16(65504), "y": f16(2)}, want: "fp16[] +Inf"},
		{op: "floor_div", a: args{"x": ns(-7, 7), "y": ns(2, -2)}, want: "int32[2] -4 -4"},
		{op: "real_div", a: args{"x": ns(-7, 7), "y": ns(2, -2)}, want: "int32[2] -3 -3"},
		{op: "real_div", a: args{"x": ns(1), "y": ns(0)}},
		{op: "mod", a: args{"x": ns(-7, 7), "y": ns(3, -3)}, want: "int32[2] 2 -2"},
		{op: "mod", a: args{"x": f16(-7), "y": f16(3)}, want: "fp16[] 2"},
		{op: "floor_div", a: args{"x": f16(-7), "y": f16(2)}, want: "fp16[] -4"},
		{op: "pow", a: args{"x": ns(2, -3), "y": ns(10, 3)}, want: "int32[2] 1024 -27"},
		{op: "equal", a: args{"x": f16(math.NaN()), "y": f16(math.NaN())}, want: "bool[] 0"},
		{op: "logical_xor", a: args{"x": bs(0, 1), "y": bs(1, 1)}, want: "bool[2] 1 0"},
		{op: "logical_not", a: args{"x": bs(0, 1)}, want: "bool[2] 1 0"},
		{op: "select", a: args{"cond": bs(1, 0), "a": h([]int64{2, 1}, 1, 2), "b": f16(9)}, want: "fp16[2, 2] 1 9 2 9"},
		{op: "cast", a: args{
			"x":     h([]int64{4}, -1.9, 1.9, 0, 70000),
			"dtype": str("int32"),
		}, want: "int32[4] -1 1 0 2.147483647e+09"},
		{op: "cast", opset: "ios17", a: args{"x": ns(300, -1), "dtype": str("uint8")}, want: "uint8[2] 44 255"},
		{op: "cast", opset: "ios17", a: args{
			"x":     h([]int64{2}, 300, -1),
			"dtype": str("uint8"),
		}, want: "uint8[2] 255 0"},
		{op: "cast", a: args{"x": ns(2049, 2051), "dtype": str("fp16")}, want: "fp16[2] 2048 2052"},
		{op: "clip", a: args{"x": m23, "alpha": f16(2), "beta": f16(5)}, want: "fp16[2, 3] 2 2 3 4 5 5"},
		{op: "rsqrt", a: args{"x": f16(4)}, want: "fp16[] 0.5"},
		{op: "inverse", a: args{"x": f16(0)}, want: "fp16[] 10000"}, // 1/0.00010002, spacing 8
		{op: "round", a: args{"x": h([]int64{3}, 0.5, 1.5, -2.5)}, want: "fp16[3] 0 2 -2"},
		{op: "transpose", a: args{"x": m23, "perm": ns(1, 0)}, want: "fp16[3, 2] 1 4 2 5 3 6"},
		{op: "reshape", a: args{"x": m23, "shape": ns(3, -1)}, want: "fp16[3, 2] 1 2 3 4 5 6"},
		{op: "concat", a: args{
			"values": []*Value{m23, h([]int64{2, 1}, 7, 8)},
			"axis":   n(1),
		}, want: "fp16[2, 4] 1 2 3 7 4 5 6 8"},
		{op: "concat", a: args{
			"values":     []*Value{m23, h([]int64{2, 3}, 7, 8, 9, 10, 11, 12)},
			"axis":       n(0),
			"interleave": b(true),
		}, want: "fp16[4, 3] 1 2 3 7 8 9 4 5 6 10 11 12"},
		{op: "concat", a: args{"values": []*Value{n(4), n(5)}, "axis": n(0)}, want: "int32[2] 4 5"},
		{op: "stack", a: args{"values": []*Value{ns(1, 2), ns(3, 4)}, "axis": n(-1)}, want: "int32[2, 2] 1 3 2 4"},
		{op: "split", a: args{
			"x":           m23,
			"split_sizes": ns(1, 2),
			"axis":        n(1),
		}, want: "fp16[2, 1] 1 4; fp16[2, 2] 2 3 5 6"},
		{op: "tile", a: args{"x": h([]int64{1, 2}, 1, 2), "reps": ns(2, 2)}, want: "fp16[2, 4] 1 2 1 2 1 2 1 2"},
		{op: "slice_by_index", a: args{
			"x":        m23,
			"begin":    ns(0, 2),
			"end":      ns(0, 0),
			"end_mask": bs(1, 1),
			"stride":   ns(1, -1),
		}, want: "fp16[2, 3] 3 2 1 6 5 4"},
		{op: "slice_by_index", a: args{
			"x":            ns(1, 2, 3),
			"begin":        ns(-1),
			"end":          ns(9),
			"squeeze_mask": bs(1),
		}, want: "int32[] 3"},
		{op: "slice_update", opset: "ios18", a: args{
			"x":            m23,
			"update":       h([]int64{2}, 8, 9),
			"begin":        ns(0, -1),
			"end":          ns(9, 9),
			"squeeze_mask": bs(0, 1),
		}, want: "fp16[2, 3] 1 2 8 4 5 9"},
		{op: "slice_update", opset: "ios18", a: args{ // all of x, backwards
			"x":        val(TensorOf(FP16, 2, 3)),
			"update":   m23,
			"begin":    ns(0, 2),
			"end":      ns(2, 0),
			"end_mask": bs(0, 1),
			"stride":   ns(1, -1),
		}, want: "fp16[2, 3] 3 2 1 6 5 4"},
		{op: "slice_update", opset: "ios18", a: args{ // a part of what is unknown
			"x":      val(TensorOf(FP16, 2, 3)),
			"update": h([]int64{2, 2}, 1, 2, 3, 4),
			"begin":  ns(0, 0),
			"end":    ns(2, 2),
		}},
		{op: "slice_by_size", a: args{"x": m23, "begin": ns(1, 1), "size": ns(1, -1)}, want: "fp16[1, 2] 5 6"},
		{op: "gather", a: args{"x": m23, "indices": ns(-1, 0), "axis": n(1)}, want: "fp16[2, 2] 3 1 6 4"},
		{op: "gather", a: args{"x": m23, "indices": n(3), "axis": n(1)}},
		{op: "range_1d", a: args{"start": n(5), "end": n(0), "step": n(-2)}, want: "int32[3] 5 3 1"},
		{op: "fill", a: args{"shape": ns(2), "value": f16(3)}, want: "fp16[2] 3 3"},
		{op: "one_hot", a: args{
			"indices":             ns(2, -1, 0),
			"one_hot_vector_size": n(3),
			"axis":                n(0),
		}, want: "int32[3, 3] 0 0 1 0 0 0 1 0 0"},
		{op: "one_hot", a: args{
			"indices":             ns(1, 3),
			"one_hot_vector_size": n(2),
			"on_value":            f16(3),
			"off_value":           f16(-1),
		}, want: "fp16[2, 2] -1 3 -1 -1"},
		{op: "one_hot", a: args{"indices": ns(1), "one_hot_vector_size": n(2), "on_value": ns(3, 4)}},
		{op: "fill", a: args{"shape": ns(1<<30, 4), "value": f16(3)}}, // the result is too large for the arguments
		{op: "shape", a: args{"x": fp(2, 5)}, want: "int32[2] 2 5"},
		{op: "shape", a: args{"x": fp(-1, 5)}},

		{op: "constexpr_affine_dequantize", opset: "ios16", a: args{"quantized_data": packedConst(Int8, []int64{2, 2},
			1, 0xff, 10, 20),
			"scale": h([]int64{2}, 0.5, 2), "zero_point": packedConst(Int8, nil, 1), "axis": n(0)},
			want: "fp16[2, 2] 0 -1 18 38"},
		{op: "constexpr_cast", opset: "ios16", a: args{
			"source_val":   m23,
			"output_dtype": str("fp32"),
		}, want: "fp32[2, 3] 1 2 3 4 5 6"},
		{op: "constexpr_lut_to_dense", opset: "ios16", a: args{
			"indices": u8(0b11_10_01_00, 0b01),
			"lut":     h([]int64{4}, 5, 6, 7, 8),
			"shape":   lit(ConstInts(UInt32, 5)),
		}, want: "fp16[5] 5 6 7 8 6"},
		{op: "constexpr_lut_to_dense", opset: "ios16", a: args{
			"indices": u8(0),
			"lut":     h([]int64{4}, 5, 6, 7, 8),
			"shape":   lit(ConstInts(UInt32, 5)),
		}, want: "error: indices has 1 bytes, but 5 elements of 2 bits need 2"},
		{op: "constexpr_sparse_to_dense", opset: "ios16", a: args{
			"nonzero_data": h([]int64{2}, 5, 6),
			"mask":         u8(0b10010),
			"shape":        lit(ConstInts(UInt32, 5)),
		}, want: "fp16[5] 0 5 0 0 6"},
		{op: "constexpr_sparse_to_dense", opset: "ios16", a: args{
			"nonzero_data": h([]int64{2}, 5, 6),
			"mask":         u8(0b10011),
			"shape":        lit(ConstInts(UInt32, 5)),
		}, want: "error: nonzero_data has 2 elements, mask has 3 bits set"},
		{op: "constexpr_sparse_to_dense", opset: "ios18", a: args{
			"nonzero_data": packedConst(Int4, []int64{3}, 0x21, 0x0f),
			"mask":         packedConst(UInt1, []int64{4}, 0b1101),
		}, want: "int4[4] 1 0 2 -1"},
		{op: "constexpr_blockwise_shift_scale", opset: "ios18", a: args{"data": packedConst(Int4, []int64{2, 4}, 0x21,
			0x43, 0xf7, 0x8e),
			"scale": h([]int64{2, 2}, 1, 2, 3, 4), "offset": packedConst(Int4, []int64{2, 2}, 0x10, 0x00)},
			want: "fp16[2, 4] 1 2 4 6 21 -3 -8 -32"},
		{op: "constexpr_lut_to_dense", opset: "ios18", a: args{"indices": packedConst(UInt1, []int64{2, 2}, 0b1001),
			"lut": h([]int64{2, 1, 2, 1}, 1, 2, 3, 4)}, want: "fp16[2, 2] 2 1 3 4"},
		{op: "constexpr_lut_to_dense", opset: "ios18", a: args{"indices": packedConst(UInt1, []int64{2, 2}, 0b1001),
			"vector_axis": n(0),
			"lut":         h([]int64{1, 1, 2, 2}, 1, 2, 3, 4)}, want: "fp16[4, 2] 3 1 4 2 1 3 2 4"},
		{op: "constexpr_lut_to_sparse", opset: "ios18", a: args{"indices_mask": packedConst(UInt1, []int64{4}, 0b1010),
			"indices_nonzero_data": packedConst(UInt1, []int64{2}, 0b01),
			"lut":                  h([]int64{1, 2, 1}, 5, 6)}, want: "uint1[4] 0 1 0 1; fp16[2] 6 5"},
		{op: "constexpr_sparse_blockwise_shift_scale", opset: "ios18",
			a: args{"data_mask": packedConst(UInt1, []int64{1, 4}, 0b1010), "nonzero_data": packedConst(Int8,
				[]int64{2}, 3, 5),
				"scale": h([]int64{1, 2}, 2, 10)}, want: "uint1[1, 4] 0 1 0 1; fp16[2] 6 50"},
	} {
		if got := folds(mkop(t, c.op, c.opset, c.a)); got != c.want {
			t.Errorf("%s %s: %q\nwant %q", c.op, c.opset, got, c.want)
		}
	}
}

// 6-bit indices cross bytes; the result must not depend on the number of workers.
func TestFoldDoesNotDependOnWorkers(t *testing.T) {
	const elems = 3 * chunk / 2
	idx := make([]byte, elems*6/8)
	for i := range elems {
		setBits(idx, i*6, 6, uint64(i*7%64))
	}
	var lut []float64
	for i := range 64 {
		lut = append(lut, float64(i))
	}
	op := mkop(t, "constexpr_lut_to_dense", "ios16", args{
		"indices": packedConst(UInt8, []int64{int64(len(idx))}, idx...),
		"lut":     h([]int64{64}, lut...),
		"shape":   lit(ConstInts(UInt32, elems)),
	})
	many, err := FoldOp(op)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(elems) {
		if got := many[0].Int(i); got != i*7%64 {
			t.Fatalf("element %d is %d", i, got)
		}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one, err := FoldOp(op)
	if err != nil || !bytes.Equal(one[0].Data, many[0].Data) {
		t.Error("the result differs with one worker", err)
	}
}

// The result of a table of long vectors is much larger than its arguments: a fold must not turn two megabytes into a
// terabyte.
func TestLookupFoldLimitsGrowth(t *testing.T) {
	const elems, vector = 1 << 20, 1 << 20
	lut := &Value{Name: "lut", Type: TensorOf(FP16, 1, 1, 2, vector)}
	lut.Const = &Const{Type: lut.Type, Data: make([]byte, 4*vector)}
	mask := packedConst(UInt1, []int64{1024, elems / 1024}, make([]byte, elems/8)...)
	for _, op := range []*Op{
		mkop(t, "constexpr_lut_to_dense", "ios18", args{"indices": mask, "lut": lut, "vector_axis": n(0)}),
		mkop(t, "constexpr_lut_to_sparse", "ios18", args{
			"indices_mask":         mask,
			"indices_nonzero_data": packedConst(UInt1, []int64{0}),
			"lut":                  lut,
			"vector_axis":          n(0),
		}),
	} {
		if cs, err := FoldOp(op); cs != nil || err != nil {
			t.Errorf("%s folds to %v, %v", op.Def.Name, cs, err)
		}
	}
	// The largest growth that weights of single bits need is allowed.
	small := &Value{Name: "lut", Type: TensorOf(FP32, 1, 1, 2, 8)}
	small.Const = &Const{Type: small.Type, Data: make([]byte, 64)}
	op := mkop(t, "constexpr_lut_to_dense", "ios18", args{"indices": mask, "lut": small, "vector_axis": n(0)})
	if cs, err := FoldOp(op); err != nil || len(cs) != 1 || len(cs[0].Data) != 32*elems {
		t.Errorf("vectors of eight do not fold: %v", err)
	}
}

func TestNarrowRoundsToNearestEven(t *testing.T) {
	for bits := range 1 << 16 {
		f := float16.Frombits(uint16(bits))
		if f.IsNaN() {
			continue
		}
		if got := uint16(narrow(float64(f.Float32()), 10, 5)); got != f.Bits() {
			t.Fatalf("%#x gives %#x", bits, got)
		}
	}
	for _, c := range []struct {
		v    float64
		want uint16
	}{
		// Just above a tie: through float32 it would become the tie and round down.
		{1 + 0x1p-11 + 0x1p-40, 0x3c01},
		{1 + 0x1p-11, 0x3c00}, {1 + 3*0x1p-11, 0x3c02},
		{65519.99, 0x7bff}, {65520, 0x7c00}, {0x1p-25, 0}, {0x1.8p-25, 1}, {-0x1p-24, 0x8001}, {0x1.ffcp-15, 0x0400},
		{1e-300, 0},
	} {
		if got := uint16(narrow(c.v, 10, 5)); got != c.want {
			t.Errorf("%g: %#x, want %#x", c.v, got, c.want)
		}
	}
	for _, v := range []float32{1, 1.00390625, 3.4e38, 1e-39, -2.5} {
		if got := uint16(narrow(float64(v), 7, 8)); got != bf16(v) {
			t.Errorf("bf16 %g: %#x, want %#x", v, got, bf16(v))
		}
	}
}

func BenchmarkFoldLUT(b *testing.B) {
	const elems = 16 << 20
	op := mkop(b, "constexpr_lut_to_dense", "ios16", args{
		"indices": packedConst(UInt8, []int64{elems / 2}, make([]byte, elems/2)...),
		"lut":     h([]int64{16}, make([]float64, 16)...),
		"shape":   lit(ConstInts(UInt32, elems)),
	})
	b.SetBytes(2 * elems)
	for b.Loop() {
		FoldOp(op)
	}
}

func BenchmarkFoldAffine(b *testing.B) {
	const elems = 16 << 20
	op := mkop(b, "constexpr_affine_dequantize", "ios16", args{
		"quantized_data": packedConst(Int8, []int64{1024, elems / 1024}, make([]byte, elems)...),
		"scale":          h([]int64{1024}, make([]float64, 1024)...),
		"zero_point":     packedConst(Int8, nil, 1),
		"axis":           n(0),
	})
	b.SetBytes(2 * elems)
	for b.Loop() {
		FoldOp(op)
	}
}

func BenchmarkFoldBlockwise(b *testing.B) {
	const elems = 16 << 20
	op := mkop(b, "constexpr_blockwise_shift_scale", "ios18", args{
		"data":  packedConst(Int4, []int64{1024, elems / 1024}, make([]byte, elems/2)...),
		"scale": h([]int64{1024, 512}, make([]float64, 1024*512)...),
	})
	b.SetBytes(2 * elems)
	for b.Loop() {
		FoldOp(op)
	}
}
