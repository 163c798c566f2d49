package interp

import (
	"fmt"
	"testing"

	"github.com/zinc-compiler/zinc/ir"
)

// iota1 is a tensor of int32 that counts from 1.
func iota1(t *testing.T, shape ...int64) Tensor {
	vs := make([]int64, prod(shape))
	for i := range vs {
		vs[i] = int64(i + 1)
	}
	return ints(t, ir.Int32, shape, vs...)
}

// TestMovement compares data movement with results computed by hand on small integers: the shape, then the elements.
func TestMovement(t *testing.T) {
	m := floats(t, ir.FP32, []int64{2, 3}, 1, 2, 3, 4, 5, 6)
	im := floats(t, ir.FP32, []int64{1, 4, 2, 1}, 1, 2, 3, 4, 5, 6, 7, 8) // four channels of two pixels
	for _, tt := range []struct {
		op   string
		a    args
		want string
	}{
		{"transpose", args{"perm": vec(1, 0)}, "[3, 2] [1 4 2 5 3 6]"},
		{"reshape", args{"shape": vec(3, -1)}, "[3, 2] [1 2 3 4 5 6]"},
		{"reshape", args{"shape": vec(0, 3)}, "[2, 3] [1 2 3 4 5 6]"},
		{"expand_dims", args{"axes": vec(0, -1)}, "[1, 2, 3, 1] [1 2 3 4 5 6]"},
		{"reverse", args{"axes": vec(1)}, "[2, 3] [3 2 1 6 5 4]"},
		{"reverse_sequence", args{
			"lengths":    vec(2, 1),
			"seq_axis":   num(1),
			"batch_axis": num(0),
		}, "[2, 3] [2 1 3 4 5 6]"},
		{"tile", args{"reps": vec(1, 2)}, "[2, 6] [1 2 3 1 2 3 4 5 6 4 5 6]"},
		{"tile", args{"reps": vec(0, 2)}, "[2, 6] [1 2 3 1 2 3 4 5 6 4 5 6]"},
		{"slice_by_index", args{"begin": vec(0, 2), "end": vec(2, 0), "stride": vec(1, -1)}, "[2, 2] [3 2 6 5]"},
		{"slice_by_index", args{"begin": vec(0, 0), "end": vec(0, 0), "stride": vec(-1, -2),
			"begin_mask": constant(ints(t, ir.Bool, []int64{2}, 1, 1)),
			"end_mask":   constant(ints(t, ir.Bool, []int64{2}, 1, 1))}, "[2, 2] [6 4 3 1]"},
		{"slice_by_index", args{
			"begin":        vec(1, 0),
			"end":          vec(2, 9),
			"squeeze_mask": constant(ints(t, ir.Bool, []int64{2}, 1, 0)),
		}, "[3] [4 5 6]"},
		{"slice_by_size", args{"begin": vec(0, 1), "size": vec(2, -1)}, "[2, 2] [2 3 5 6]"},
		{"pad", args{"pad": vec(1, 1), "mode": str("reflect")}, "[2, 5] [2 1 2 3 2 5 4 5 6 5]"},
		{"pad", args{"pad": vec(1, 0, 0, 1), "mode": str("replicate")}, "[3, 4] [1 2 3 3 1 2 3 3 4 5 6 6]"},
		{"sliding_windows", args{"axis": num(1), "size": num(2)}, "[2, 2, 2] [1 2 2 3 4 5 5 6]"},
		{"band_part", args{"lower": num(0), "upper": num(1)}, "[2, 3] [1 2 0 0 5 6]"},
		{"gather", args{"indices": vec(2, 0), "axis": num(1)}, "[2, 2] [3 1 6 4]"},
		{"gather_along_axis", args{
			"indices": constant(ints(t, ir.Int32, []int64{1, 3}, 1, 0, 1)),
			"axis":    num(0),
		}, "[1, 3] [4 2 6]"},
		{"gather_nd", args{"indices": constant(ints(t, ir.Int32, []int64{2, 2}, 1, 2, 0, 0))}, "[2] [6 1]"},
		{"argsort", args{"axis": num(1)}, "[2, 3] [2 1 0 2 1 0]"},
		{"cumsum", args{"axis": num(1)}, "[2, 3] [1 3 6 4 9 15]"},
		{"cumsum", args{"axis": num(1), "exclusive": truth(true), "reverse": truth(true)}, "[2, 3] [5 3 0 11 6 0]"},
		{"reduce_sum", args{"axes": vec(0)}, "[3] [5 7 9]"},
		{"reduce_max", args{"axes": vec(1), "keep_dims": truth(true)}, "[2, 1] [3 6]"},
		{"reduce_min", args{}, "[] [1]"},
		{"reduce_prod", args{"axes": vec(-1)}, "[2] [6 120]"},
		{"reduce_argmax", args{"axis": num(0)}, "[3] [1 1 1]"},
		{"shape", args{}, "[2] [2 3]"},
		{"non_zero", args{}, "[6, 2] [0 0 0 1 0 2 1 0 1 1 1 2]"},
	} {
		b := newBld(t, "ios15")
		tt.a["x"] = b.input("x", m)
		got := b.run(Options{}, b.op(tt.op, tt.a))[0]
		if s := fmt.Sprint(ir.ShapeString(got.Type.Shape), " ", got.Ints()); s != tt.want {
			t.Errorf("%s: %s, want %s", tt.op, s, tt.want)
		}
	}
	for op, want := range map[string]string{
		"depth_to_space": "[1, 1, 4, 2] [1 3 5 7 2 4 6 8]",
		"pixel_shuffle":  "[1, 1, 4, 2] [1 3 5 7 2 4 6 8]",
	} {
		b := newBld(t, "ios15")
		a := args{"x": b.input("x", im)}
		if op == "pixel_shuffle" {
			a["upscale_factor"] = num(2)
		} else {
			a["block_size"] = num(2)
		}
		got := b.run(Options{}, b.op(op, a))[0]
		if s := fmt.Sprint(ir.ShapeString(got.Type.Shape), " ", got.Ints()); s != want {
			t.Errorf("%s: %s, want %s", op, s, want)
		}
	}
}

func TestJoins(t *testing.T) {
	for _, tt := range []struct {
		op   string
		a    args
		want string
	}{
		{"concat", args{"axis": num(1)}, "[2, 4] [1 2 1 2 3 4 3 4]"},
		{"concat", args{"axis": num(0), "interleave": truth(true)}, "[4, 2] [1 2 1 2 3 4 3 4]"},
		{"stack", args{"axis": num(2)}, "[2, 2, 2] [1 1 2 2 3 3 4 4]"},
	} {
		b := newBld(t, "ios15")
		x := b.input("x", iota1(t, 2, 2))
		tt.a["values"] = []*ir.Value{x, x}
		got := b.run(Options{}, b.op(tt.op, tt.a))[0]
		if s := fmt.Sprint(ir.ShapeString(got.Type.Shape), " ", got.Ints()); s != tt.want {
			t.Errorf("%s: %s, want %s", tt.op, s, tt.want)
		}
	}
	b := newBld(t, "ios15")
	one := b.input("x", iota1(t))
	numbers := b.run(Options{}, b.op("concat", args{"axis": num(0), "values": []*ir.Value{one, one}}))[0]
	if s := fmt.Sprint(ir.ShapeString(numbers.Type.Shape), " ", numbers.Ints()); s != "[2] [1 1]" {
		t.Errorf("concat of numbers: %s", s)
	}
	b = newBld(t, "ios15")
	parts := b.opAs("split", args{"x": b.input("x", iota1(t, 2, 3)), "split_sizes": vec(1, 2), "axis": num(1)})
	got := b.run(Options{}, parts...)
	if s := fmt.Sprint(got[0].Ints(), got[1].Ints()); s != "[1 4] [2 3 5 6]" {
		t.Errorf("split: %s", s)
	}
}

// TestDepthOrders has more channels than one block, for which the two operations differ.
func TestDepthOrders(t *testing.T) {
	for op, want := range map[string]string{
		"depth_to_space": "[1 3 5 7 2 4 6 8]",
		"pixel_shuffle":  "[1 2 3 4 5 6 7 8]",
	} {
		b := newBld(t, "ios15")
		name := map[string]string{"depth_to_space": "block_size", "pixel_shuffle": "upscale_factor"}[op]
		got := b.run(Options{}, b.op(op, args{
			"x":  b.input("x", floats(t, ir.FP32, []int64{1, 8, 1, 1}, 1, 2, 3, 4, 5, 6, 7, 8)),
			name: num(2),
		}))[0]
		if s := fmt.Sprint(got.Ints()); s != want {
			t.Errorf("%s: %s, want %s", op, s, want)
		}
	}
}

func TestTopK(t *testing.T) {
	b := newBld(t, "ios15")
	rs := b.opAs("topk", args{
		"x":    b.input("x", floats(t, ir.FP32, []int64{4}, 2, 7, 2, 7)),
		"k":    num(3),
		"axis": num(0),
	})
	got := b.run(Options{}, rs...)
	wantFloats(t, got[0], 0, []int64{3}, 7, 7, 2)
	if s := fmt.Sprint(got[1].Ints()); s != "[1 3 0]" {
		t.Errorf("indices %s: of equal values the lowest index comes first", s)
	}
}

func TestScatter(t *testing.T) {
	for mode, want := range map[string][]float32{"add": {11, 2, 33}, "update": {10, 2, 20}, "max": {10, 2, 20}} {
		b := newBld(t, "ios15")
		r := b.op("scatter", args{"data": b.input("x", floats(t, ir.FP32, []int64{3}, 1, 2, 3)),
			"indices": vec(0, 2, -1),
			"updates": constant(floats(t, ir.FP32, []int64{3}, 10, 10, 20)), "mode": str(mode)})
		wantFloats(t, b.run(Options{}, r)[0], 0, []int64{3}, want...)
	}
}

func TestProductsOfIntegers(t *testing.T) {
	b := newBld(t, "ios15")
	x := b.input("x", ints(t, ir.Int32, []int64{2, 3}, 1, -2, 3, 4, 5, 6))
	got := b.run(Options{}, b.op("reduce_prod", args{"x": x, "axes": vec(1)}))[0]
	if s := fmt.Sprint(got.Ints()); s != "[-6 120]" {
		t.Errorf("products %s", s)
	}
}

func TestPools(t *testing.T) {
	x := floats(t, ir.FP32, []int64{1, 1, 5}, 1, 2, 3, 4, 5)
	for _, tt := range []struct {
		op   string
		a    args
		want []float32
	}{
		{"max_pool", args{"pad_type": str("valid"), "strides": vec(2)}, []float32{2, 4}},
		{"max_pool", args{"pad_type": str("valid"), "strides": vec(2), "ceil_mode": truth(true)}, []float32{2, 4, 5}},
		{"avg_pool", args{"pad_type": str("custom"), "pad": vec(1, 0), "strides": vec(2)}, []float32{0.5, 2.5, 4.5}},
		{"avg_pool", args{
			"pad_type":                     str("custom"),
			"pad":                          vec(1, 0),
			"strides":                      vec(2),
			"exclude_padding_from_average": truth(true),
		}, []float32{1, 2.5, 4.5}},
		{"avg_pool", args{"pad_type": str("same"), "strides": vec(2)}, []float32{1.5, 3.5, 2.5}},
		{"avg_pool", args{"pad_type": str("valid"), "strides": vec(2), "ceil_mode": truth(true)},
			[]float32{1.5, 3.5, 5}},
		{"l2_pool", args{"pad_type": str("valid"), "strides": vec(3)}, []float32{2.236068, 6.4031243}},
	} {
		b := newBld(t, "ios15")
		tt.a["x"], tt.a["kernel_sizes"] = b.input("x", x), vec(2)
		wantFloats(t, b.run(Options{}, b.op(tt.op, tt.a))[0], 1e-6, []int64{1, 1, int64(len(tt.want))}, tt.want...)
	}
}

func TestNorms(t *testing.T) {
	x := floats(t, ir.FP32, []int64{1, 2, 2}, 1, 3, 2, 6)
	two := constant(floats(t, ir.FP32, []int64{2}, 1, 2))
	for op, tt := range map[string]struct {
		a    args
		want []float32
	}{
		"layer_norm": {args{
			"axes":    vec(2),
			"gamma":   two,
			"beta":    two,
			"epsilon": scalar(ir.FP32, 0),
		}, []float32{0, 4, 0, 4}},
		"instance_norm": {args{"gamma": two, "epsilon": scalar(ir.FP32, 0)}, []float32{-1, 1, -2, 2}},
		"batch_norm": {args{
			"mean":     two,
			"variance": constant(floats(t, ir.FP32, []int64{2}, 4, 1)),
			"epsilon":  scalar(ir.FP32, 0),
		}, []float32{0, 1, 0, 4}},
		"l2_norm": {args{"epsilon": scalar(ir.FP32, 14)}, []float32{0.125, 0.375, 0.25, 0.75}},
	} {
		b := newBld(t, "ios15")
		tt.a["x"] = b.input("x", x)
		wantFloats(t, b.run(Options{}, b.op(op, tt.a))[0], 1e-6, []int64{1, 2, 2}, tt.want...)
	}
}

func TestCompressedConstants(t *testing.T) {
	b := newBld(t, "ios16")
	q := b.op("constexpr_affine_dequantize",
		args{"quantized_data": constant(ints(t, ir.Int8, []int64{2, 2}, 1, 2, 3, -4)),
			"zero_point": constant(ints(t, ir.Int8, []int64{2}, 1, 0)),
			"scale":      constant(floats(t, ir.FP16, []int64{2}, 2, 0.5)), "axis": num(0)})
	// Indices 3 0 2 1 of two bits: 0b01_10_00_11.
	l := b.op("constexpr_lut_to_dense", args{"indices": constant(ints(t, ir.UInt8, []int64{1}, 0b01100011)),
		"lut":   constant(floats(t, ir.FP16, []int64{4}, 10, 11, 12, 13)),
		"shape": constant(ints(t, ir.UInt32, []int64{2}, 2, 2))})
	s := b.op("constexpr_sparse_to_dense", args{"nonzero_data": constant(floats(t, ir.FP16, []int64{2}, 5, 6)),
		"mask":  constant(ints(t, ir.UInt8, []int64{1}, 0b1010)),
		"shape": constant(ints(t, ir.UInt32, []int64{1}, 4))})
	got := b.run(Options{}, q, l, s)
	wantFloats(t, got[0], 0, []int64{2, 2}, 0, 2, 1.5, -2)
	wantFloats(t, got[1], 0, []int64{2, 2}, 13, 10, 12, 11)
	wantFloats(t, got[2], 0, []int64{4}, 0, 5, 0, 6)
}

func TestResizeGrids(t *testing.T) {
	for mode, want := range map[string][]float32{
		"DEFAULT": {0, 4, 8, 10, 10}, "STRICT_ALIGN_CORNERS": {0, 2.5, 5, 7.5, 10}, "UNALIGN_CORNERS": {0, 1, 5, 9, 10},
		"OFFSET_CORNERS": {1, 3, 5, 7, 9},
	} {
		b := newBld(t, "ios15")
		r := b.op("resize_bilinear", args{
			"x":                  b.input("x", floats(t, ir.FP32, []int64{1, 1, 2}, 0, 10)),
			"target_size_height": num(1),
			"target_size_width":  num(5),
			"sampling_mode":      str(mode),
		})
		wantFloats(t, b.run(Options{}, r)[0], 1e-6, []int64{1, 1, 5}, want...)
	}
}

// TestResizeReadsAxesWhoseSizeStays resizes five columns to five, and to one or more from as many.
func TestResizeReadsAxesWhoseSizeStays(t *testing.T) {
	for _, c := range []struct {
		mode string
		want []float32
	}{
		{"OFFSET_CORNERS", []float32{0.4, 1.2, 2, 2.8, 3.6}},
		{"OFFSET_CORNERS", []float32{0.375, 1.125, 1.875, 2.625}},
		{"OFFSET_CORNERS", []float32{0.25, 0.75}},
		{"OFFSET_CORNERS", []float32{0}},
		{"UNALIGN_CORNERS", []float32{0, 1, 2, 3, 4}},
		{"ALIGN_CORNERS", []float32{0, 1, 2, 3}},
		{"DEFAULT", []float32{0, 1, 2}},
		{"STRICT_ALIGN_CORNERS", []float32{0}},
	} {
		n := int64(len(c.want))
		var row []float32
		for i := range c.want {
			row = append(row, float32(i))
		}
		b := newBld(t, "ios17")
		x := b.input("x", floats(t, ir.FP32, []int64{1, 1, n}, row...))
		linear := b.op("resize_bilinear", args{"x": x, "target_size_height": num(1), "target_size_width": num(n),
			"sampling_mode": str(c.mode)})
		kept := b.op("resize", args{"x": x, "shape": vec(0), "resized_dims": constant(ints(t, ir.UInt32, nil, 1)),
			"sampling_mode": str(c.mode)})
		got := b.run(Options{}, linear, kept)
		wantFloats(t, got[0], 1e-6, []int64{1, 1, n}, c.want...)
		wantFloats(t, got[1], 1e-6, []int64{1, 1, n}, c.want...)
	}
}

func TestEinsumBroadcasts(t *testing.T) {
	b := newBld(t, "ios15")
	x := b.input("x", floats(t, ir.FP32, []int64{1, 2}, 1, 2))
	y := b.input("y", floats(t, ir.FP32, []int64{2, 2}, 1, 2, 3, 4))
	r := b.opAs("einsum", args{"values": []*ir.Value{x, y}, "equation": str("ab,ab->a")}, ir.TensorOf(ir.FP32, 2))[0]
	wantFloats(t, b.run(Options{}, r)[0], 0, []int64{2}, 5, 11)
}

func TestEinsum(t *testing.T) {
	b := newBld(t, "ios15")
	x := b.input("x", floats(t, ir.FP32, []int64{1, 2, 1, 2}, 1, 2, 3, 4)) // b c h w, c = 2, w = 2
	y := b.input("y", floats(t, ir.FP32, []int64{1, 2, 2, 1}, 5, 6, 7, 8)) // b w h u needs h = 1
	r := b.opAs("einsum", args{
		"values":   []*ir.Value{x, y},
		"equation": str("bchw,bwch->bch"),
	}, ir.TensorOf(ir.FP32, 1, 2, 1))[0]
	// c = 0: 1*y[w0,c0] + 2*y[w1,c0] = 5 + 14; c = 1: 3*6 + 4*8.
	wantFloats(t, b.run(Options{}, r)[0], 0, []int64{1, 2, 1}, 19, 50)
}

func TestRandomFollowsItsSeed(t *testing.T) {
	draw := func(seed uint64) Tensor {
		b := newBld(t, "ios15")
		return b.run(Options{Seed: seed}, b.op("random_normal", args{
			"shape":  vec(10000),
			"mean":   scalar(ir.FP32, 3),
			"stddev": scalar(ir.FP32, 2),
		}))[0]
	}
	a := draw(1)
	if !a.Equal(draw(1)) || a.Equal(draw(2)) {
		t.Error("the same seed must give the same numbers, another one others")
	}
	mean, variance := moments(a.Floats32())
	if mean < 2.9 || mean > 3.1 || variance < 3.8 || variance > 4.2 {
		t.Errorf("mean %v, variance %v, want 3 and 4", mean, variance)
	}
}
