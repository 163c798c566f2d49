package ir

import (
	"strings"
	"testing"
)

func TestShapeRules(t *testing.T) {
	x := fp(1, 64, 9, 9)
	w := fp(32, 64, 3, 3)
	for _, c := range []struct {
		op, opset string
		a         args
		want      string
	}{
		{"add", "", args{"x": fp(2, 1, 4), "y": fp(3, 1)}, "fp16[2, 3, 4]"},
		{"add", "", args{"x": fp(2, -1), "y": fp(1, 4)}, "fp16[2, 4]"},
		{"add", "", args{"x": fp(-1), "y": fp(1)}, "fp16[?]"},
		{"add", "", args{"x": fp(2, 3), "y": fp(2, 4)}, "error: shapes do not broadcast: x is [2, 3], y is [2, 4], 3 against 4 at dimension -1"},
		{"add", "", args{"x": fp(2), "y": i32(2)}, "error: y is int32, x is fp16; they must have one element type"},
		{"less", "", args{"x": fp(2), "y": fp()}, "bool[2]"},
		{"select", "", args{"cond": val(TensorOf(Bool, 4, 1)), "a": fp(3), "b": fp()}, "fp16[4, 3]"},
		{"cast", "", args{"x": fp(2), "dtype": str("int32")}, "int32[2]"},
		{"cast", "", args{"x": fp(2), "dtype": str("int8")}, `error: dtype is "int8", must be one of bool, int32, fp16, fp32`},
		{"cast", "ios17", args{"x": fp(2), "dtype": str("uint8")}, "uint8[2]"},

		{"conv", "", args{"x": x, "weight": w}, "fp16[1, 32, 7, 7]"},
		{"conv", "", args{"x": x, "weight": fp(32, 32, 1, 1)}, "error: weight has 32 input channels, x has 64 with groups = 1"},
		{"conv", "", args{"x": x, "weight": fp(32, 32, 1, 1), "groups": n(2)}, "fp16[1, 32, 9, 9]"},
		{"conv", "", args{"x": x, "weight": fp(32, 32, 1, 1), "groups": n(3)}, "error: x has 64 channels, not a multiple of groups = 3"},
		{"conv", "", args{"x": x, "weight": w, "pad_type": str("same"), "strides": ns(2, 2)}, "fp16[1, 32, 5, 5]"},
		{"conv", "", args{"x": x, "weight": w, "dilations": ns(4, 4)}, "fp16[1, 32, 1, 1]"},
		{"conv", "", args{"x": x, "weight": w, "dilations": ns(5, 5)}, "error: the window covers 11 elements of spatial dimension 0, x has 9 with 0 of padding"},
		{"conv", "", args{"x": x, "weight": w, "pad_type": str("custom"), "pad": ns(1, 2, 0, 0), "strides": ns(2, 1)}, "fp16[1, 32, 5, 7]"},
		{"conv", "", args{"x": x, "weight": w, "pad_type": str("custom")}, "error: pad_type is custom and pad is missing"},
		{"conv", "", args{"x": fp(1, 4, -1), "weight": fp(8, 4, 3)}, "fp16[1, 8, ?]"},
		{"conv", "", args{"x": fp(1, 4, 5, 6, 7), "weight": fp(8, 4, 1, 2, 3)}, "fp16[1, 8, 5, 5, 5]"},
		{"conv", "", args{"x": x, "weight": w, "bias": floats(FP16, []int64{2}, 1, 2)}, "error: bias has 2 elements, the number of output channels is 32"},
		{"conv_transpose", "ios17", args{"x": x, "weight": fp(64, 8, 3, 3), "strides": ns(2, 2)}, "fp16[1, 8, 19, 19]"},
		{"conv_transpose", "ios17", args{"x": x, "weight": fp(64, 8, 3, 3), "strides": ns(2, 2), "pad_type": str("same"), "groups": n(2)}, "fp16[1, 16, 18, 18]"},
		{"conv_transpose", "ios17", args{"x": x, "weight": fp(64, 8, 3, 3), "strides": ns(2, 2), "pad_type": str("custom"), "pad": ns(1, 1, 0, 1)}, "fp16[1, 8, 17, 18]"},
		{"max_pool", "", args{"x": x, "kernel_sizes": ns(2, 2), "strides": ns(2, 2), "pad_type": str("valid")}, "fp16[1, 64, 4, 4]"},
		{"max_pool", "", args{"x": x, "kernel_sizes": ns(2, 2), "strides": ns(2, 2), "pad_type": str("valid"), "ceil_mode": b(true)}, "fp16[1, 64, 5, 5]"},
		{"max_pool", "", args{"x": fp(1, 1, 4), "kernel_sizes": ns(1), "strides": ns(3), "pad_type": str("custom"), "pad": ns(0, 1), "ceil_mode": b(true)}, "fp16[1, 1, 2]"},
		{"avg_pool", "", args{"x": fp(1, 2, 7, 8, 9), "kernel_sizes": ns(3, 3, 3), "pad_type": str("same_lower"), "strides": ns(2, 2, 2)}, "fp16[1, 2, 4, 4, 5]"},

		{"matmul", "", args{"x": fp(2, 1, 3, 4), "y": fp(5, 4, 6)}, "fp16[2, 5, 3, 6]"},
		{"matmul", "", args{"x": fp(4, 3), "y": fp(6, 4), "transpose_x": b(true), "transpose_y": b(true)}, "fp16[3, 6]"},
		{"matmul", "", args{"x": fp(4), "y": fp(4, 6)}, "fp16[6]"},
		{"matmul", "", args{"x": fp(4), "y": fp(4)}, "fp16[]"},
		{"matmul", "", args{"x": fp(3, 4), "y": fp(3, 4)}, "error: x [3, 4] has inner dimension 4, y [3, 4] has 3 (transpose_x = false, transpose_y = false)"},
		{"linear", "", args{"x": fp(7, 4), "weight": floats(FP16, []int64{2, 4}, 1, 2, 3, 4, 5, 6, 7, 8)}, "fp16[7, 2]"},
		{"linear", "", args{"x": fp(7, 4), "weight": fp(2, 4)}, "error: weight must be known at compile time, v is computed"},
		{"einsum", "", args{"values": []*Value{fp(2, 3, 4), fp(2, 4, 5)}, "equation": str("bij,bjk->bik")}, "fp16[2, 3, 5]"},
		{"scaled_dot_product_attention", "ios18", args{"query": fp(1, 2, 3, 4), "key": fp(1, 2, 5, 4), "value": fp(1, 2, 5, 6)}, "fp16[1, 2, 3, 6]"},

		{"reduce_sum", "", args{"x": fp(2, 3, 4), "axes": ns(-1, 0)}, "fp16[3]"},
		{"reduce_sum", "", args{"x": fp(2, 3, 4), "axes": ns(-1), "keep_dims": b(true)}, "fp16[2, 3, 1]"},
		{"reduce_sum", "", args{"x": fp(2, 3)}, "fp16[]"},
		{"reduce_sum", "", args{"x": fp(2, 3), "axes": ns(1, -1)}, "error: axes names dimension 1 twice"},
		{"reduce_sum", "", args{"x": fp(2, 3), "axes": ns(2)}, "error: axes 2 is outside [-2, 1] of rank 2"},
		{"reduce_argmax", "", args{"x": fp(2, 3)}, "int32[2]"},
		{"reduce_argmax", "ios17", args{"x": fp(2, 3), "output_dtype": str("uint16")}, "uint16[2]"},
		{"layer_norm", "", args{"x": fp(2, 3), "axes": ns(-1), "gamma": floats(FP16, []int64{2}, 1, 1)}, "error: gamma is [2], dimension 1 of x is 3"},

		{"reshape", "", args{"x": fp(2, 3, 4), "shape": ns(0, -1, 2)}, "fp16[2, 6, 2]"},
		{"reshape", "ios17", args{"x": fp(2, 3, 4), "shape": ns(-1, 0)}, "fp16[6, 4]"},
		{"reshape", "ios17", args{"x": fp(12), "shape": ns(0, 0, 12)}, "fp16[1, 1, 12]"},
		{"reshape", "", args{"x": fp(2, 3), "shape": ns(4, -1)}, "error: x [2, 3] has 6 elements, not a multiple of 4 in shape [4, -1]"},
		{"reshape", "", args{"x": fp(2, 3), "shape": ns(-1, -1)}, "error: shape has -1 at 0 and at 1"},
		{"reshape", "", args{"x": fp(2, 3), "shape": i32(4)}, "fp16[?, ?, ?, ?]"},
		{"reshape", "", args{"x": fp(-1, 3), "shape": ns(-1, 3)}, "fp16[?, 3]"},
		{"expand_dims", "", args{"x": fp(2, 3), "axes": ns(0, -1)}, "fp16[1, 2, 3, 1]"},
		{"squeeze", "", args{"x": fp(1, 2, 1), "axes": ns(-1)}, "fp16[1, 2]"},
		{"squeeze", "", args{"x": fp(1, 2, 1)}, "fp16[2]"},
		{"squeeze", "", args{"x": fp(1, 2), "axes": ns(1)}, "fp16[1, 2]"},
		{"transpose", "", args{"x": fp(2, 3, 4), "perm": ns(-1, 0, 1)}, "fp16[4, 2, 3]"},
		{"slice_by_index", "", args{"x": fp(10), "begin": ns(-3), "end": ns(0), "end_mask": bs(1)}, "fp16[3]"},
		{"slice_by_index", "", args{"x": fp(10), "begin": ns(0), "end": ns(0), "begin_mask": bs(1), "end_mask": bs(1), "stride": ns(-3)}, "fp16[4]"},
		{"slice_by_index", "", args{"x": fp(10, 4), "begin": ns(8, 1), "end": ns(2, 2), "stride": ns(-2, 1), "squeeze_mask": bs(0, 1)}, "fp16[3]"},
		{"slice_by_index", "", args{"x": fp(10), "begin": ns(2), "end": ns(99)}, "fp16[8]"},
		{"slice_by_index", "", args{"x": fp(10), "begin": ns(12), "end": ns(13), "squeeze_mask": bs(1)}, "error: begin[0] is 12, dimension 0 of x is 10"},
		{"slice_by_index", "", args{"x": fp(10), "begin": i32(1), "end": ns(3)}, "fp16[?]"},
		{"slice_by_index", "", args{"x": fp(-1), "begin": ns(-1), "end": ns(0), "end_mask": bs(1)}, "fp16[1]"},
		{"slice_by_size", "", args{"x": fp(5, 5), "begin": ns(1, -2), "size": ns(-1, 2)}, "fp16[4, 2]"},
		{"slice_by_size", "", args{"x": fp(5), "begin": ns(3), "size": ns(3)}, "error: begin[0] + size[0] is 6, dimension 0 of x is 5"},

		{"concat", "", args{"values": []*Value{fp(2, 3), fp(2, 5)}, "axis": n(-1)}, "fp16[2, 8]"},
		{"concat", "", args{"values": []*Value{fp(2, 3), fp(2, 3)}, "axis": n(0), "interleave": b(true)}, "fp16[4, 3]"},
		{"concat", "", args{"values": []*Value{fp(2, 3), fp(4, 5)}, "axis": n(-1)}, "error: operand 1 is [4, 5], operand 0 is [2, 3]; dimension 0 must be equal"},
		{"stack", "", args{"values": []*Value{fp(2, 3), fp(2, 3)}, "axis": n(-1)}, "fp16[2, 3, 2]"},
		{"split", "", args{"x": fp(2, 6), "num_splits": n(3), "axis": n(1)}, "fp16[2, 2] fp16[2, 2] fp16[2, 2]"},
		{"split", "", args{"x": fp(2, 6), "split_sizes": ns(1, 5), "axis": n(-1)}, "fp16[2, 1] fp16[2, 5]"},
		{"split", "", args{"x": fp(2, 6), "num_splits": n(4), "axis": n(1)}, "error: dimension 1 of x is 6, not a multiple of num_splits = 4"},
		{"split", "", args{"x": fp(2, 6), "split_sizes": ns(1, 4), "axis": n(1)}, "error: split_sizes add up to 5, dimension 1 of x is 6"},
		{"tile", "", args{"x": fp(2, 3), "reps": ns(2, 1)}, "fp16[4, 3]"},
		{"pad", "", args{"x": fp(1, 2, 3), "pad": ns(1, 2)}, "fp16[1, 2, 6]"},
		{"pad", "", args{"x": fp(1, 2, 3), "pad": ns(3, 0), "mode": str("reflect")}, "error: reflect padding of 3 and 0 does not fit dimension 2 of x, which is 3"},

		{"gather", "", args{"x": fp(5, 6, 7), "indices": i32(2, 3), "axis": n(1)}, "fp16[5, 2, 3, 7]"},
		{"gather", "ios16", args{"x": fp(5, 6, 7), "indices": i32(5, 3), "axis": n(1), "batch_dims": n(1)}, "fp16[5, 3, 7]"},
		{"gather_along_axis", "", args{"x": fp(5, 6), "indices": i32(5, 2), "axis": n(1)}, "fp16[5, 2]"},
		{"gather_nd", "", args{"x": fp(5, 6, 7), "indices": i32(4, 2)}, "fp16[4, 7]"},
		{"scatter_nd", "", args{"data": fp(5, 6), "indices": i32(4, 1), "updates": fp(4, 6)}, "fp16[5, 6]"},
		{"topk", "", args{"x": fp(5, 6), "k": n(2)}, "fp16[5, 2] int32[5, 2]"},
		{"topk", "ios17", args{"x": fp(5, 6), "k": n(2), "output_indices_dtype": str("uint16"), "axis": n(0)}, "fp16[2, 6] uint16[2, 6]"},
		{"topk", "ios17", args{"x": fp(5, 6), "return_indices": b(false)}, "fp16[5, 1]"},
		{"topk", "", args{"x": fp(5, 6), "k": n(9)}, "error: k is 9, dimension 1 of x is 6"},
		{"lstm", "ios17", args{"x": fp(7, 1, 3), "initial_h": fp(1, 2), "initial_c": fp(1, 2), "weight_ih": floats(FP16, []int64{8, 3}, make([]float64, 24)...), "weight_hh": floats(FP16, []int64{8, 2}, make([]float64, 16)...), "output_sequence": b(true)}, "fp16[7, 1, 2] fp16[1, 2] fp16[1, 2]"},
		{"pixel_shuffle", "", args{"x": fp(1, 12, 3, 3), "upscale_factor": n(2)}, "fp16[1, 3, 6, 6]"},
		{"space_to_depth", "", args{"x": fp(1, 3, 5, 4), "block_size": n(2)}, "error: dimension 2 of x is 5, not a multiple of 2"},
		{"upsample_nearest_neighbor", "", args{"x": fp(1, 2, 3, 4), "scale_factor_height": n(2), "scale_factor_width": n(3)}, "fp16[1, 2, 6, 12]"},
		{"range_1d", "", args{"start": n(0), "end": n(7), "step": n(3)}, "int32[3]"},
		{"range_1d", "", args{"start": n(0), "end": n(7), "step": n(0)}, "error: range from 0 to 7 in steps of 0"},
		{"fill", "", args{"shape": ns(2, 3), "value": f16(1)}, "fp16[2, 3]"},
		{"shape", "", args{"x": fp(-1, 3)}, "int32[2]"},
		{"softmax", "", args{"x": fp(2), "axis": n(1)}, "error: axis 1 is outside [-1, 0] of rank 1"},
		{"non_maximum_suppression", "ios17", args{"boxes": fp(1, 4, 9), "scores": fp(1, 3, 9), "iou_threshold": f16(0.5), "max_boxes": n(5)}, "fp16[1, 4, 5] fp16[1, 3, 5] int32[1, 5]"},
	} {
		if got := shapesOf(mkop(t, c.op, c.opset, c.a)); got != c.want {
			t.Errorf("%s %s: %s\nwant %s", c.op, c.opset, got, c.want)
		}
	}
}

func TestReadState(t *testing.T) {
	k := val(Type{Kind: State, DType: FP16, Shape: []int64{2, 3}})
	if got := shapesOf(mkop(t, "read_state", "ios18", args{"input": k})); got != "fp16[2, 3]" {
		t.Error(got)
	}
	got := shapesOf(mkop(t, "coreml_update_state", "ios18", args{"state": k, "value": fp(2, 4)}))
	if !strings.Contains(got, "the state holds") {
		t.Error(got)
	}
	if got := shapesOf(mkop(t, "read_state", "ios18", args{"input": fp(2)})); !strings.Contains(got, "must be a state") {
		t.Error(got)
	}
}

func TestPadding(t *testing.T) {
	op := mkop(t, "conv", "", args{"x": fp(1, 1, 5, 6), "weight": fp(1, 1, 3, 3), "strides": ns(2, 2), "pad_type": str("same")})
	c, err := ConvAttrs(op)
	if err != nil {
		t.Fatal(err)
	}
	if c.PadBefore[0] != 1 || c.PadAfter[0] != 1 || c.PadBefore[1] != 0 || c.PadAfter[1] != 1 {
		t.Errorf("same: %v %v", c.PadBefore, c.PadAfter)
	}
	op.SetArg("pad_type", str("same_lower"))
	if c, _ = ConvAttrs(op); c.PadBefore[1] != 1 || c.PadAfter[1] != 0 {
		t.Errorf("same_lower: %v %v", c.PadBefore, c.PadAfter)
	}
}

func TestNearest(t *testing.T) {
	for in, want := range map[string]string{"conv2": "conv", "soft_max": "softmax", "reduce_argmx": "reduce_argmax", "zzzzzzzz": ""} {
		if got := Nearest(in); got != want {
			t.Errorf("%s: %q", in, got)
		}
	}
	if got := NearestParam(Lookup("conv", ""), "stride"); got != "strides" {
		t.Error(got)
	}
	if d := LookupArgs("constexpr_lut_to_dense", "ios18", []string{"indices", "lut", "shape"}); d.Since != "ios16" {
		t.Error(d.Since)
	}
}
