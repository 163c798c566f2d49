package interp

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/ir"
)

func TestIntermediatesAreFreed(t *testing.T) {
	// Twenty tensors of 4 KB in a chain, in a budget for five with scratch.
	b := newBld(t, "ios15")
	v := b.input("x", floats(t, ir.FP32, []int64{1024}, seq(1024, 1)...))
	for range 20 {
		v = b.op("relu", args{"x": v})
	}
	b.run(Options{MaxBytes: 5 * 4096}, v)
}

func TestMemoryLimit(t *testing.T) {
	b := newBld(t, "ios15")
	r := b.op("fill", args{"shape": vec(1000, 1000, 1000), "value": scalar(ir.FP32, 1)})
	_, err := Run(context.Background(), b.fn(r), nil, Options{MaxBytes: 1 << 20})
	if err == nil || !strings.Contains(err.Error(), "limit of 1048576") {
		t.Errorf("error %v", err)
	}
}

func TestConstantsAreNotCopied(t *testing.T) {
	b := newBld(t, "ios15")
	k := floats(t, ir.FP32, []int64{4}, 1, 2, 3, 4)
	r := b.op("reshape", args{"x": constant(k), "shape": vec(2, 2)})
	got := b.run(Options{MaxBytes: 64}, r)[0]
	if &got.Data[0] != &k.Data[0] {
		t.Error("a reshaped constant has other bytes")
	}
}

func TestWrongInputsAreRefused(t *testing.T) {
	b := newBld(t, "ios15")
	r := b.op("relu", args{"x": b.input("x", floats(t, ir.FP32, []int64{2}, 1, 2))})
	f := b.fn(r)
	for want, in := range map[string]map[string]Tensor{
		`input "x"`:      {},
		"function takes": {"x": floats(t, ir.FP32, []int64{3}, 1, 2, 3)},
		"needs 8 bytes":  {"x": {Type: ir.TensorOf(ir.FP32, 2), Data: make([]byte, 7)}},
	} {
		if _, err := Run(context.Background(), f, in, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}

// TestHostileFunctions runs functions that no shape rule would accept: each must return an error that names the
// operation and its place.
func TestHostileFunctions(t *testing.T) {
	big := ir.TensorOf(ir.FP32, 1, 1)
	x := floats(t, ir.FP32, []int64{1, 2, 3}, 1, 2, 3, 4, 5, 6)
	img, nan := floats(t, ir.FP32, []int64{1, 1, 2, 2}, 1, 2, 3, 4), float32(math.NaN())
	for _, tt := range []struct {
		op string
		a  args
	}{
		{"conv", args{
			"x":      constant(x),
			"weight": constant(floats(t, ir.FP32, []int64{1, 7, 1}, make([]float32, 7)...)),
		}},
		{"conv", args{
			"x":       constant(x),
			"weight":  constant(floats(t, ir.FP32, []int64{1, 2, 1}, 1, 1)),
			"strides": vec(0),
		}},
		{"conv", args{
			"x":      constant(x),
			"weight": constant(floats(t, ir.FP32, []int64{1, 2, 1}, 1, 1)),
			"groups": num(-3),
		}},
		{"conv", args{
			"x":      constant(x),
			"weight": constant(floats(t, ir.FP32, []int64{1, 2, 9}, make([]float32, 18)...)),
		}},
		{"conv", args{"x": constant(x)}},
		{"max_pool", args{"x": constant(x), "kernel_sizes": vec(0)}},
		{"max_pool", args{"x": constant(x), "kernel_sizes": vec(1, 1, 1)}},
		{"matmul", args{"x": constant(x), "y": constant(x)}},
		{"reshape", args{"x": constant(x), "shape": vec(-1, -1)}},
		{"reshape", args{"x": constant(x), "shape": vec(1<<31-1, 1<<31-1, 1<<31-1)}},
		{"transpose", args{"x": constant(x), "perm": vec(0, 0, 1)}},
		{"transpose", args{"x": constant(x), "perm": vec(0, 1, 9)}},
		{"concat", args{
			"values": []*ir.Value{constant(x), constant(floats(t, ir.FP32, []int64{1}, 1))},
			"axis":   num(0),
		}},
		{"concat", args{"axis": num(0)}},
		{"gather", args{"x": constant(x), "indices": num(0), "axis": num(5)}},
		{"slice_by_index", args{"x": constant(x), "begin": vec(0), "end": vec(1)}},
		{"slice_by_index", args{"x": constant(x), "begin": vec(0, 0, 0), "end": vec(1, 1, 1), "stride": vec(1, 0, 1)}},
		{"slice_by_size", args{"x": constant(x), "begin": vec(0, 0, 2), "size": vec(1, 1, 5)}},
		{"tile", args{"x": constant(x), "reps": vec(1<<30, 1<<30, 1<<30)}},
		{"pad", args{"x": constant(x), "pad": vec(-1, 0)}},
		{"pad", args{"x": constant(x), "pad": vec(5, 5), "mode": str("reflect")}},
		{"split", args{"x": constant(x), "split_sizes": vec(1, 9), "axis": num(2)}},
		{"topk", args{"x": constant(x), "k": num(9)}},
		{"softmax", args{"x": constant(x), "axis": num(-4)}},
		{"layer_norm", args{"x": constant(x), "axes": vec(2), "gamma": constant(floats(t, ir.FP32, []int64{2}, 1, 1))}},
		{"fill", args{"shape": vec(-1)}},
		{"range_1d", args{"start": num(0), "end": num(5), "step": num(0)}},
		{"cond", args{"pred": truth(true)}},
		{"lstm", args{"x": constant(x), "initial_h": constant(x)}},
		{"relu", args{"x": str("text")}},
		{"constexpr_lut_to_dense", args{
			"indices": constant(ints(t, ir.UInt8, []int64{1}, 7)),
			"lut":     constant(x),
			"shape":   vec(100),
		}},
		{"constexpr_sparse_to_dense", args{
			"nonzero_data": constant(x),
			"mask":         constant(ints(t, ir.UInt8, []int64{1}, 255)),
			"shape":        vec(8),
		}},
		{"affine", args{
			"x":                constant(img),
			"transform_matrix": constant(floats(t, ir.FP32, []int64{1, 5}, 1, 2, 3, 4, 5)),
			"output_height":    num(1),
			"output_width":     num(1),
			"coordinates_mode": str("normalized_minus_one_to_one"),
		}},
		{"affine", args{
			"x":                constant(img),
			"transform_matrix": constant(floats(t, ir.FP32, []int64{1, 6}, 1, 2, 3, 4, 5, 6)),
			"output_height":    num(-1),
			"output_width":     num(1),
		}},
		{"affine", args{"x": constant(x), "transform_matrix": constant(x)}},
		{"resample", args{"x": constant(img), "coordinates": constant(x)}},
		{"resample", args{"x": constant(img), "coordinates": constant(img), "padding_mode": str("wrap")}},
		{"resample", args{"x": constant(floats(t, ir.FP32, []int64{1, 1, 0, 2})), "coordinates": constant(img)}},
		{"crop_resize", args{"x": constant(img), "roi": constant(x)}},
		{"crop_resize", args{
			"x":   constant(img),
			"roi": constant(floats(t, ir.FP32, []int64{1, 1, 5, 1, 1}, 7, 0, 0, 1, 1)),
		}},
		{"crop_resize", args{
			"x":             constant(img),
			"roi":           constant(floats(t, ir.FP32, []int64{1, 1, 5, 1, 1}, nan, 0, 0, 1, 1)),
			"target_height": num(1 << 30),
			"target_width":  num(1 << 30),
		}},
		{"non_maximum_suppression", args{"boxes": constant(x), "scores": constant(x), "max_boxes": num(1)}},
		{"non_maximum_suppression", args{
			"boxes":         constant(floats(t, ir.FP32, []int64{1, 1, 4}, 1, 2, 3, 4)),
			"scores":        constant(floats(t, ir.FP32, []int64{1, 1, 1}, 1)),
			"max_boxes":     num(1 << 30),
			"iou_threshold": str("x"),
		}},
		{"classify", args{"probabilities": constant(x), "classes": str("a")}},
		{"classify", args{"probabilities": constant(x)}},
		{"conv_quantized", args{
			"x":                 constant(x),
			"weight":            constant(ints(t, ir.UInt8, []int64{1, 2, 1}, 1, 1)),
			"quantization_type": str("lut"),
			"quant_scale":       scalar(ir.FP32, 1),
			"quant_bias":        scalar(ir.FP32, 1),
		}},
		{"conv_quantized", args{
			"x":                 constant(x),
			"weight":            constant(ints(t, ir.UInt8, []int64{1, 2, 1}, 1, 1)),
			"quantization_type": str("linear"),
			"quant_scale":       constant(x),
			"quant_bias":        scalar(ir.FP32, 1),
		}},
	} {
		b := newBld(t, "ios16")
		types := []ir.Type{big}
		r := b.opAs(tt.op, tt.a, types...)[0]
		b.fails(r, tt.op)
		_, err := Run(context.Background(), b.fn(r), b.in, Options{})
		if err != nil && strings.Contains(err.Error(), "internal error") {
			t.Errorf("%s: the last belt caught it: %v", tt.op, err)
		}
	}
}

func TestBrokenStructure(t *testing.T) {
	def := ir.Lookup("relu", "ios15")
	v := &ir.Value{Name: "v", Type: ir.TensorOf(ir.FP32, 1)}
	w := &ir.Value{Name: "w", Type: v.Type}
	for what, f := range map[string]*ir.Func{
		"no body":       {},
		"nil operation": {Body: &ir.Block{Ops: []*ir.Op{nil}}},
		"no row":        {Body: &ir.Block{Ops: []*ir.Op{{}}}},
		"use before def": {Body: &ir.Block{Ops: []*ir.Op{{Def: def, Args: [][]*ir.Value{{w}},
			Results: []*ir.Value{v}}}}},
		"own result": {Body: &ir.Block{Ops: []*ir.Op{{Def: def, Args: [][]*ir.Value{{v}},
			Results: []*ir.Value{v}}}}},
		"nil argument": {Body: &ir.Block{Ops: []*ir.Op{{Def: def, Args: [][]*ir.Value{{nil}},
			Results: []*ir.Value{v}}}}},
		"nil result":    {Body: &ir.Block{Ops: []*ir.Op{{Def: def, Results: []*ir.Value{nil}}}}},
		"nil output":    {Body: &ir.Block{Outputs: []*ir.Value{nil}}},
		"nil parameter": {Body: &ir.Block{Params: []*ir.Value{nil}}},
		"too many args": {Body: &ir.Block{Ops: []*ir.Op{{Def: def, Args: make([][]*ir.Value, 9),
			Results: []*ir.Value{v}}}}},
		"short constant": {Body: &ir.Block{Outputs: []*ir.Value{{Name: "k", Type: v.Type,
			Const: &ir.Const{Type: v.Type}}}}},
	} {
		if _, err := Run(context.Background(), f, nil, Options{}); err == nil {
			t.Errorf("%s: ran without an error", what)
		}
	}
}

func TestCancelStopsARun(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	b := newBld(t, "ios15")
	r := b.op("relu", args{"x": b.input("x", floats(t, ir.FP32, []int64{1}, 1))})
	if _, err := Run(ctx, b.fn(r), b.in, Options{}); err == nil || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("error %v", err)
	}
}

// loop is while_loop(x < limit) { x + 1 }.
func loop(t *testing.T, limit float64) *bld {
	b := newBld(t, "ios15")
	x := b.input("x", floats(t, ir.FP32, nil, 0))
	block := func(op string, k float64) *ir.Block {
		p := &ir.Value{Name: "p", Type: x.Type}
		in := newBld(t, "ios15")
		r := in.op(op, args{"x": p, "y": scalar(ir.FP32, k)})
		return &ir.Block{Params: []*ir.Value{p}, Ops: in.body.Ops, Outputs: []*ir.Value{r}}
	}
	b.opAs("while_loop", args{"loop_vars": []*ir.Value{x}}, x.Type)
	b.body.Ops[0].Blocks = []*ir.Block{block("less", limit), block("add", 1)}
	return b
}

func TestWhileLoop(t *testing.T) {
	b := loop(t, 10)
	wantFloats(t, b.run(Options{}, b.body.Ops[0].Results[0])[0], 0, nil, 10)
}

func TestEndlessLoopStops(t *testing.T) {
	b := loop(t, 1e30)
	_, err := Run(context.Background(), b.fn(b.body.Ops[0].Results[0]), b.in, Options{MaxSteps: 1000})
	if err == nil || !strings.Contains(err.Error(), "1000 operations") {
		t.Errorf("error %v", err)
	}
}

func TestStatesLastFromCallToCall(t *testing.T) {
	b := newBld(t, "ios18")
	s := &ir.Value{Name: "s", Type: ir.Type{Kind: ir.State, DType: ir.FP16, Shape: []int64{1}}}
	b.body.Params = append(b.body.Params, s)
	v := b.op("read_state", args{"input": s})
	v = b.op("add", args{"x": v, "y": scalar(ir.FP16, 1)})
	b.opAs("write_state", args{"input": s, "data": v}, []ir.Type{}...)
	out := b.op("read_state", args{"input": s})
	states := map[string]Tensor{}
	for i := range 3 {
		wantFloats(t, b.run(Options{States: states}, out)[0], 0, []int64{1}, float32(i+1))
	}
	wantFloats(t, states["s"], 0, []int64{1}, 3)
}

func TestProgressAndTrace(t *testing.T) {
	b := newBld(t, "ios15")
	x := b.input("x", floats(t, ir.FP32, []int64{1}, -1))
	r := b.op("abs", args{"x": b.op("relu", args{"x": x})})
	var names []string
	last := 0
	b.run(Options{
		Trace:    func(op *ir.Op, _ []Tensor) { names = append(names, op.Def.Name) },
		Progress: func(d, n int) { last = d*10 + n },
	}, r)
	if strings.Join(names, " ") != "relu abs" || last != 22 {
		t.Errorf("traced %v, progress %d", names, last)
	}
}

// Lists take memory before anything is written to them, for as long as they live.
func TestListsAreCounted(t *testing.T) {
	const lists, elems = 10, 1000
	for _, together := range []bool{false, true} {
		b := newBld(t, "ios15")
		var made, lengths []*ir.Value
		length := func(l *ir.Value) { lengths = append(lengths, b.op("list_length", args{"ls": l})) }
		for range lists {
			l := b.op("make_list", args{
				"init_length":    num(elems),
				"dynamic_length": truth(true),
				"elem_shape":     []*ir.Value{num(2)},
				"dtype":          str("fp32"),
			})
			if made = append(made, l); !together {
				length(l)
			}
		}
		if together {
			for _, l := range made {
				length(l)
			}
		}
		_, err := Run(context.Background(), b.fn(lengths...), nil, Options{MaxBytes: lists / 2 * elems * listElem})
		if together != (err != nil && strings.Contains(err.Error(), "over the limit")) {
			t.Errorf("lists alive together %v: %v", together, err)
		}
	}
}
