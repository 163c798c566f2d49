package ir

import (
	"strings"
	"testing"
)

func TestShapeRulesInferOrRefuse(t *testing.T) {
	x := fp(1, 64, 9, 9)
	w := fp(32, 64, 3, 3)
	for _, c := range []struct {
		op, opset string
		a         args
		want      string
	}{
		{op: "add", a: args{"x": fp(2, 1, 4), "y": fp(3, 1)}, want: "fp16[2, 3, 4]"},
		{op: "add", a: args{"x": fp(2, -1), "y": fp(1, 4)}, want: "fp16[2, 4]"},
		{op: "add", a: args{"x": fp(-1), "y": fp(1)}, want: "fp16[?]"},
		{op: "add", a: args{"x": fp(2, 3), "y": fp(2, 4)},
			want: "error: shapes do not broadcast: x is [2, 3], y is [2, 4], 3 against 4 at dimension -1"},
		{op: "add", a: args{"x": fp(2), "y": i32(2)},
			want: "error: y is int32, x is fp16; they must have the same element type"},
		{op: "less", a: args{"x": fp(2), "y": fp()}, want: "bool[2]"},
		{op: "select", a: args{"cond": val(TensorOf(Bool, 4, 1)), "a": fp(3), "b": fp()}, want: "fp16[4, 3]"},
		{op: "cast", a: args{"x": fp(2), "dtype": str("int32")}, want: "int32[2]"},
		{op: "cast", a: args{"x": fp(2), "dtype": str("int8")},
			want: `error: dtype is "int8", must be one of bool, int32, fp16, fp32`},
		{op: "cast", opset: "ios17", a: args{"x": fp(2), "dtype": str("uint8")}, want: "uint8[2]"},

		{op: "conv", a: args{"x": x, "weight": w}, want: "fp16[1, 32, 7, 7]"},
		{op: "conv", a: args{"x": x, "weight": fp(32, 32, 1, 1)},
			want: "error: weight has 32 input channels, x has 64 with groups = 1"},
		{op: "conv", a: args{"x": x, "weight": fp(32, 32, 1, 1), "groups": n(2)}, want: "fp16[1, 32, 9, 9]"},
		{op: "conv", a: args{
			"x":      x,
			"weight": fp(32, 32, 1, 1),
			"groups": n(3),
		}, want: "error: x has 64 channels, not a multiple of groups = 3"},
		{op: "conv", a: args{
			"x":        x,
			"weight":   w,
			"pad_type": str("same"),
			"strides":  ns(2, 2),
		}, want: "fp16[1, 32, 5, 5]"},
		{op: "conv", a: args{"x": x, "weight": w, "dilations": ns(4, 4)}, want: "fp16[1, 32, 1, 1]"},
		{op: "conv", a: args{
			"x":         x,
			"weight":    w,
			"dilations": ns(5, 5),
		}, want: "error: the window covers 11 elements of spatial dimension 0, but x has 9 with 0 of padding"},
		{op: "conv", a: args{
			"x":        x,
			"weight":   w,
			"pad_type": str("custom"),
			"pad":      ns(1, 2, 0, 0),
			"strides":  ns(2, 1),
		}, want: "fp16[1, 32, 5, 7]"},
		{op: "conv", a: args{
			"x":        x,
			"weight":   w,
			"pad_type": str("custom"),
		}, want: "error: pad_type is custom, but pad is missing"},
		{op: "conv", a: args{"x": fp(1, 4, -1), "weight": fp(8, 4, 3)}, want: "fp16[1, 8, ?]"},
		{op: "conv", a: args{"x": fp(1, 4, 5, 6, 7), "weight": fp(8, 4, 1, 2, 3)}, want: "fp16[1, 8, 5, 5, 5]"},
		{op: "conv", a: args{
			"x":      x,
			"weight": w,
			"bias":   floats(FP16, []int64{2}, 1, 2),
		}, want: "error: bias has 2 elements, the number of output channels is 32"},
		{op: "conv_transpose", opset: "ios17", a: args{
			"x":       x,
			"weight":  fp(64, 8, 3, 3),
			"strides": ns(2, 2),
		}, want: "fp16[1, 8, 19, 19]"},
		{op: "conv_transpose", opset: "ios17", a: args{
			"x":        x,
			"weight":   fp(64, 8, 3, 3),
			"strides":  ns(2, 2),
			"pad_type": str("same"),
			"groups":   n(2),
		}, want: "fp16[1, 16, 18, 18]"},
		{op: "conv_transpose", opset: "ios17", a: args{
			"x":        x,
			"weight":   fp(64, 8, 3, 3),
			"strides":  ns(2, 2),
			"pad_type": str("custom"),
			"pad":      ns(1, 1, 0, 1),
		}, want: "fp16[1, 8, 17, 18]"},
		{op: "max_pool", a: args{
			"x":            x,
			"kernel_sizes": ns(2, 2),
			"strides":      ns(2, 2),
			"pad_type":     str("valid"),
		}, want: "fp16[1, 64, 4, 4]"},
		{op: "max_pool", a: args{
			"x":            x,
			"kernel_sizes": ns(2, 2),
			"strides":      ns(2, 2),
			"pad_type":     str("valid"),
			"ceil_mode":    b(true),
		}, want: "fp16[1, 64, 5, 5]"},
		{op: "max_pool", a: args{
			"x":            fp(1, 1, 4),
			"kernel_sizes": ns(1),
			"strides":      ns(3),
			"pad_type":     str("custom"),
			"pad":          ns(0, 1),
			"ceil_mode":    b(true),
		}, want: "fp16[1, 1, 2]"},
		{op: "avg_pool", a: args{
			"x":            fp(1, 2, 7, 8, 9),
			"kernel_sizes": ns(3, 3, 3),
			"pad_type":     str("same_lower"),
			"strides":      ns(2, 2, 2),
		}, want: "fp16[1, 2, 4, 4, 5]"},

		{op: "matmul", a: args{"x": fp(2, 1, 3, 4), "y": fp(5, 4, 6)}, want: "fp16[2, 5, 3, 6]"},
		{op: "matmul", a: args{
			"x":           fp(4, 3),
			"y":           fp(6, 4),
			"transpose_x": b(true),
			"transpose_y": b(true),
		}, want: "fp16[3, 6]"},
		{op: "matmul", opset: "ios17", a: args{"x": floats(FP32, []int64{1, 1}, 1), "y": fp(1, 6)},
			want: "fp16[1, 6]"},
		{op: "matmul", opset: "ios17", a: args{"x": fp(2, 1), "y": floats(FP32, []int64{1, 1}, 1)}, want: "fp16[2, 1]"},
		{op: "matmul", opset: "ios17", a: args{"x": ns(1, 2), "y": fp(2, 3)}, want: "fp16[3]"},
		{op: "matmul", a: args{"x": fp(4), "y": fp(4, 6)}, want: "fp16[6]"},
		{op: "matmul", a: args{"x": fp(4), "y": fp(4)}, want: "fp16[]"},
		{op: "matmul", a: args{"x": fp(3, 4), "y": fp(3, 4)},
			want: "error: x [3, 4] has inner dimension 4, y [3, 4] has 3 (transpose_x = false, transpose_y = false)"},
		{op: "linear", a: args{
			"x":      fp(7, 4),
			"weight": floats(FP16, []int64{2, 4}, 1, 2, 3, 4, 5, 6, 7, 8),
		}, want: "fp16[7, 2]"},
		{op: "linear", a: args{"x": fp(7, 4), "weight": fp(2, 4)},
			want: "error: weight must be known at compile time, but v is computed"},
		{op: "einsum", a: args{
			"values":   []*Value{fp(2, 3, 4), fp(2, 4, 5)},
			"equation": str("bij,bjk->bik"),
		}, want: "fp16[2, 3, 5]"},
		{op: "scaled_dot_product_attention", opset: "ios18", a: args{
			"query": fp(1, 2, 3, 4),
			"key":   fp(1, 2, 5, 4),
			"value": fp(1, 2, 5, 6),
		}, want: "fp16[1, 2, 3, 6]"},

		{op: "reduce_sum", a: args{"x": fp(2, 3, 4), "axes": ns(-1, 0)}, want: "fp16[3]"},
		{op: "reduce_sum", a: args{"x": fp(2, 3, 4), "axes": ns(-1), "keep_dims": b(true)}, want: "fp16[2, 3, 1]"},
		{op: "reduce_sum", a: args{"x": fp(2, 3)}, want: "fp16[]"},
		{op: "reduce_sum", a: args{"x": fp(2, 3), "axes": ns(1, -1)}, want: "error: axes names dimension 1 twice"},
		{op: "reduce_sum", a: args{"x": fp(2, 3), "axes": ns(2)}, want: "error: axes 2 is outside [-2, 1] of rank 2"},
		{op: "reduce_argmax", a: args{"x": fp(2, 3)}, want: "int32[2]"},
		{op: "reduce_argmax", opset: "ios17", a: args{"x": fp(2, 3), "output_dtype": str("uint16")}, want: "uint16[2]"},
		{op: "layer_norm", a: args{
			"x":     fp(2, 3),
			"axes":  ns(-1),
			"gamma": floats(FP16, []int64{2}, 1, 1),
		}, want: "error: gamma is [2], dimension 1 of x is 3"},

		{op: "reshape", a: args{"x": fp(2, 3, 4), "shape": ns(0, -1, 2)}, want: "fp16[2, 6, 2]"},
		{op: "reshape", opset: "ios17", a: args{"x": fp(2, 3, 4), "shape": ns(-1, 0)}, want: "fp16[6, 4]"},
		{op: "reshape", opset: "ios17", a: args{"x": fp(12), "shape": ns(0, 0, 12)}, want: "fp16[1, 1, 12]"},
		{op: "reshape", a: args{"x": fp(2, 3), "shape": ns(4, -1)},
			want: "error: x [2, 3] has 6 elements, not a multiple of 4 in shape [4, -1]"},
		{op: "reshape", a: args{"x": fp(2, 3), "shape": ns(-1, -1)}, want: "error: shape has -1 at both 0 and 1"},
		{op: "reshape", a: args{"x": fp(2, 3), "shape": i32(4)}, want: "fp16[?, ?, ?, ?]"},
		{op: "reshape", a: args{"x": fp(-1, 3), "shape": ns(-1, 3)}, want: "fp16[?, 3]"},
		{op: "expand_dims", a: args{"x": fp(2, 3), "axes": ns(0, -1)}, want: "fp16[1, 2, 3, 1]"},
		{op: "squeeze", a: args{"x": fp(1, 2, 1), "axes": ns(-1)}, want: "fp16[1, 2]"},
		{op: "squeeze", a: args{"x": fp(1, 2, 1)}, want: "fp16[2]"},
		{op: "squeeze", a: args{"x": fp(1, 2), "axes": ns(1)}, want: "fp16[1, 2]"},
		{op: "transpose", a: args{"x": fp(2, 3, 4), "perm": ns(-1, 0, 1)}, want: "fp16[4, 2, 3]"},
		{op: "slice_by_index", a: args{"x": fp(10), "begin": ns(-3), "end": ns(0), "end_mask": bs(1)}, want: "fp16[3]"},
		{op: "slice_by_index", a: args{
			"x":          fp(10),
			"begin":      ns(0),
			"end":        ns(0),
			"begin_mask": bs(1),
			"end_mask":   bs(1),
			"stride":     ns(-3),
		}, want: "fp16[4]"},
		{op: "slice_by_index", a: args{
			"x":            fp(10, 4),
			"begin":        ns(8, 1),
			"end":          ns(2, 2),
			"stride":       ns(-2, 1),
			"squeeze_mask": bs(0, 1),
		}, want: "fp16[3]"},
		{op: "slice_by_index", a: args{"x": fp(10), "begin": ns(2), "end": ns(99)}, want: "fp16[8]"},
		{op: "slice_by_index", a: args{
			"x":            fp(10),
			"begin":        ns(12),
			"end":          ns(13),
			"squeeze_mask": bs(1),
		}, want: "error: begin[0] is 12, dimension 0 of x is 10"},
		{op: "slice_by_index", a: args{"x": fp(10), "begin": i32(1), "end": ns(3)}, want: "fp16[?]"},
		{op: "slice_by_index", a: args{"x": fp(-1), "begin": ns(-1), "end": ns(0), "end_mask": bs(1)}, want: "fp16[1]"},
		{op: "slice_by_size", a: args{"x": fp(5, 5), "begin": ns(1, -2), "size": ns(-1, 2)}, want: "fp16[4, 2]"},
		{op: "slice_by_size", a: args{
			"x":     fp(5),
			"begin": ns(3),
			"size":  ns(3),
		}, want: "error: begin[0] + size[0] is 6, dimension 0 of x is 5"},

		{op: "concat", a: args{"values": []*Value{fp(2, 3), fp(2, 5)}, "axis": n(-1)}, want: "fp16[2, 8]"},
		{op: "concat", a: args{
			"values":     []*Value{fp(2, 3), fp(2, 3)},
			"axis":       n(0),
			"interleave": b(true),
		}, want: "fp16[4, 3]"},
		{op: "concat", a: args{
			"values": []*Value{fp(2, 3), fp(4, 5)},
			"axis":   n(-1),
		}, want: "error: operand 1 is [4, 5], operand 0 is [2, 3]; dimension 0 must be equal"},
		{op: "stack", a: args{"values": []*Value{fp(2, 3), fp(2, 3)}, "axis": n(-1)}, want: "fp16[2, 3, 2]"},
		{op: "split", a: args{
			"x":          fp(2, 6),
			"num_splits": n(3),
			"axis":       n(1),
		}, want: "fp16[2, 2] fp16[2, 2] fp16[2, 2]"},
		{op: "split", a: args{"x": fp(2, 6), "split_sizes": ns(1, 5), "axis": n(-1)}, want: "fp16[2, 1] fp16[2, 5]"},
		{op: "split", a: args{
			"x":          fp(2, 6),
			"num_splits": n(4),
			"axis":       n(1),
		}, want: "error: dimension 1 of x is 6, not a multiple of num_splits = 4"},
		{op: "split", a: args{
			"x":           fp(2, 6),
			"split_sizes": ns(1, 4),
			"axis":        n(1),
		}, want: "error: split_sizes add up to 5, dimension 1 of x is 6"},
		{op: "tile", a: args{"x": fp(2, 3), "reps": ns(2, 1)}, want: "fp16[4, 3]"},
		{op: "tile", a: args{"x": fp(2, 3), "reps": ns(2, 0)}, want: "fp16[4, 3]"},
		{op: "pad", a: args{"x": fp(1, 2, 3), "pad": ns(1, 2)}, want: "fp16[1, 2, 6]"},
		{op: "pad", a: args{
			"x":    fp(1, 2, 3),
			"pad":  ns(3, 0),
			"mode": str("reflect"),
		}, want: "error: reflect padding of 3 and 0 does not fit dimension 2 of x, which is 3"},

		{op: "gather", a: args{"x": fp(5, 6, 7), "indices": i32(2, 3), "axis": n(1)}, want: "fp16[5, 2, 3, 7]"},
		{op: "gather", opset: "ios16", a: args{
			"x":          fp(5, 6, 7),
			"indices":    i32(5, 3),
			"axis":       n(1),
			"batch_dims": n(1),
		}, want: "fp16[5, 3, 7]"},
		{op: "gather_along_axis", a: args{"x": fp(5, 6), "indices": i32(5, 2), "axis": n(1)}, want: "fp16[5, 2]"},
		{op: "gather_nd", a: args{"x": fp(5, 6, 7), "indices": i32(4, 2)}, want: "fp16[4, 7]"},
		{op: "scatter_nd", a: args{"data": fp(5, 6), "indices": i32(4, 1), "updates": fp(4, 6)}, want: "fp16[5, 6]"},
		{op: "topk", a: args{"x": fp(5, 6), "k": n(2)}, want: "fp16[5, 2] int32[5, 2]"},
		{op: "topk", opset: "ios17", a: args{
			"x":                    fp(5, 6),
			"k":                    n(2),
			"output_indices_dtype": str("uint16"),
			"axis":                 n(0),
		}, want: "fp16[2, 6] uint16[2, 6]"},
		{op: "topk", opset: "ios17", a: args{"x": fp(5, 6), "return_indices": b(false)}, want: "fp16[5, 1]"},
		{op: "topk", a: args{"x": fp(5, 6), "k": n(9)}, want: "error: k is 9, dimension 1 of x is 6"},
		{op: "lstm", opset: "ios17", a: args{
			"x":               fp(7, 1, 3),
			"initial_h":       fp(1, 2),
			"initial_c":       fp(1, 2),
			"weight_ih":       floats(FP16, []int64{8, 3}, make([]float64, 24)...),
			"weight_hh":       floats(FP16, []int64{8, 2}, make([]float64, 16)...),
			"output_sequence": b(true),
		}, want: "fp16[7, 1, 2] fp16[1, 2] fp16[1, 2]"},
		{op: "pixel_shuffle", a: args{"x": fp(1, 12, 3, 3), "upscale_factor": n(2)}, want: "fp16[1, 3, 6, 6]"},
		{op: "space_to_depth", a: args{
			"x":          fp(1, 3, 5, 4),
			"block_size": n(2),
		}, want: "error: dimension 2 of x is 5, not a multiple of 2"},
		{op: "upsample_nearest_neighbor", a: args{
			"x":                   fp(1, 2, 3, 4),
			"scale_factor_height": n(2),
			"scale_factor_width":  n(3),
		}, want: "fp16[1, 2, 6, 12]"},
		{op: "range_1d", a: args{"start": n(0), "end": n(7), "step": n(3)}, want: "int32[3]"},
		{op: "range_1d", a: args{
			"start": n(0),
			"end":   n(7),
			"step":  n(0),
		}, want: "error: range from 0 to 7 in steps of 0"},
		{op: "fill", a: args{"shape": ns(2, 3), "value": f16(1)}, want: "fp16[2, 3]"},
		{op: "shape", a: args{"x": fp(-1, 3)}, want: "int32[2]"},
		{op: "softmax", a: args{"x": fp(2), "axis": n(1)}, want: "error: axis 1 is outside [-1, 0] of rank 1"},
		{op: "non_maximum_suppression", opset: "ios17", a: args{
			"boxes":         fp(1, 4, 9),
			"scores":        fp(1, 3, 9),
			"iou_threshold": f16(0.5),
			"max_boxes":     n(5),
		}, want: "fp16[1, 4, 5] fp16[1, 3, 5] int32[1, 5]"},
	} {
		if got := shapesOf(mkop(t, c.op, c.opset, c.a)); got != c.want {
			t.Errorf("%s %s: %s\nwant %s", c.op, c.opset, got, c.want)
		}
	}
}

func TestStateOperationsCheckTypes(t *testing.T) {
	k := val(Type{Kind: State, DType: FP16, Shape: []int64{2, 3}})
	if got := shapesOf(mkop(t, "read_state", "ios18", args{"input": k})); got != "fp16[2, 3]" {
		t.Error(got)
	}
	got := shapesOf(mkop(t, "coreml_update_state", "ios18", args{"state": k, "value": fp(2, 4)}))
	if !strings.Contains(got, "the state is") {
		t.Error(got)
	}
	if got := shapesOf(mkop(t, "read_state", "ios18", args{"input": fp(2)})); !strings.Contains(got,
		"must be a state") {
		t.Error(got)
	}
}

func TestSamePaddingPutsOddElementLast(t *testing.T) {
	op := mkop(t, "conv", "", args{
		"x":        fp(1, 1, 5, 6),
		"weight":   fp(1, 1, 3, 3),
		"strides":  ns(2, 2),
		"pad_type": str("same"),
	})
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

func TestNearestSuggestsNames(t *testing.T) {
	for in, want := range map[string]string{
		"conv2":        "conv",
		"soft_max":     "softmax",
		"reduce_argmx": "reduce_argmax",
		"zzzzzzzz":     "",
	} {
		if got := Nearest(in); got != want {
			t.Errorf("%s: %q", in, got)
		}
	}
	if got := NearestParam(Lookup("conv", ""), "stride"); got != "strides" {
		t.Error(got)
	}
	if d := LookupArgs("constexpr_lut_to_dense", "ios18", []ParamName{"indices", "lut", "shape"}); d.Since != "ios16" {
		t.Error(d.Since)
	}
}
