package coreml

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// dumpRow is one operation of a dumped graph.
type dumpRow struct {
	model, set, op    string
	in                []string // shapes, such as 1x64x32x32
	out               string
	supported, chosen string
	all               string     // chosen with all units, "-" if that was not dumped
	attributes        string     // of estimates only
	ms                [3]float64 // engine, bnns, classic_cpu; NaN for none
	reason            string
}

// readDump reads a table of the shared folder with the named columns and divides it into graphs.
func readDump(t *testing.T, file string, row func(get func(string) string) dumpRow) (graphs [][]dumpRow) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(shareddir.Find(t), "coreml", file))
	if err != nil {
		t.Skipf("no table of dumped graphs: %v", err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	head := strings.Split(lines[0], "\t")
	for _, l := range lines[1:] {
		f := strings.Split(l, "\t")
		get := func(name string) string { return f[slices.Index(head, name)] }
		r := row(get)
		if get("index") == "0" {
			graphs = append(graphs, nil)
		}
		g := &graphs[len(graphs)-1]
		*g = append(*g, r)
	}
	return graphs
}

func shapes(text string) []string {
	if text == "-" || text == "" {
		return nil
	}
	return strings.Split(text, ";")
}

// dims returns the extents of a shape such as 1x64x32.
func dims(shape string) (out []int64) {
	for _, d := range strings.Split(shape, "x") {
		n, _ := strconv.ParseInt(d, 10, 64)
		out = append(out, n)
	}
	return out
}

// typed returns a type of MIL text.
func typed(dtype, shape string) string {
	return dtype + ", [" + strings.ReplaceAll(shape, "x", ", ") + "]"
}

// plain are the calls of operations whose arguments do not depend on the graph.
var plain = map[string]string{
	"leaky_relu":          "x = $0, alpha = fp16(0x1p-3)",
	"clip":                "x = $0, alpha = fp16(0x0p+0), beta = fp16(0x1p+2)",
	"thresholded_relu":    "x = $0, alpha = fp16(0x1p-3)",
	"gelu":                `x = $0, mode = "EXACT"`,
	"sigmoid_hard":        "x = $0, alpha = fp16(0x1p-3), beta = fp16(0x1p-1)",
	"log":                 "x = $0, epsilon = fp16(0x0p+0)",
	"rsqrt":               "x = $0, epsilon = fp16(0x1p-10)",
	"inverse":             "x = $0, epsilon = fp16(0x1p-10)",
	"local_response_norm": "x = $0, size = 5, alpha = fp16(0x1p-10), beta = fp16(0x1p-1), k = fp16(0x1p+0)",
	"l2_norm":             "x = $0, epsilon = fp16(0x1p-10)",
	"affine": `x = $0, transform_matrix = fp16[1, 6], output_height = 32, output_width = 32, ` +
		`sampling_mode = "bilinear", padding_mode = "constant", padding_value = fp16(0x0p+0), ` +
		`coordinates_mode = "normalized_minus_one_to_one", align_corners = true`,
	"resample": `x = $0, coordinates = $1, sampling_mode = "bilinear", padding_mode = "constant", ` +
		`padding_value = fp16(0x0p+0), coordinates_mode = "normalized_minus_one_to_one", align_corners = true`,
	"sliding_windows":           "x = $0, axis = 2, size = 8, stride = 4",
	"band_part":                 "x = $0, lower = -1, upper = 0",
	"upsample_nearest_neighbor": "x = $0, scale_factor_height = fp32(0x1p+1), scale_factor_width = fp32(0x1p+1)",
	"upsample_bilinear": "x = $0, scale_factor_height = fp32(0x1p+1), scale_factor_width = fp32(0x1p+1), " +
		"align_corners = false",
	"depth_to_space":               "x = $0, block_size = 2",
	"space_to_depth":               "x = $0, block_size = 2",
	"pixel_shuffle":                "x = $0, upscale_factor = 2",
	"pixel_unshuffle":              "x = $0, downscale_factor = uint32(2)",
	"scaled_dot_product_attention": "query = $0, key = $1, value = $2",
	"select":                       "cond = $2, a = $0, b = $1",
	"stack":                        "values = ($0, $1), axis = 1",
	"quantize":                     `input = $0, scale = fp16(0x1p-3), output_dtype = "int8"`,
	"dequantize":                   "input = $0, scale = fp16(0x1p-3)",
	"topk": `x = $0, k = 40, axis = -1, ascending = false, sort = true, return_indices = true, ` +
		`output_indices_dtype = "uint16"`,
	"one_hot":   "indices = $0, one_hot_vector_size = 128, axis = -1, on_value = 1, off_value = 0",
	"gather":    "x = $0, indices = $1, axis = 0, batch_dims = 0, validate_indices = false",
	"non_zero":  "x = $0",
	"range_1d":  "start = 0, end = $0, step = 1",
	"fill_like": "ref_tensor = $0, value = fp16(0x1p+0)",
	"lstm": `x = $0, initial_h = fp16[1, 64], initial_c = fp16[1, 64], weight_ih = fp16[256, 64], ` +
		`weight_hh = fp16[256, 64], direction = "forward", output_sequence = true`,
	"gru": `x = $0, initial_h = fp16[1, 64], weight_ih = fp16[192, 64], weight_hh = fp16[192, 64], ` +
		`direction = "forward", output_sequence = true`,
	"scatter_along_axis": `data = $0, indices = $1, updates = $2, axis = 3, mode = "add"`,
	"instance_norm":      "x = $0, gamma = fp16[64], beta = fp16[64], epsilon = fp16(0x1p-10)",
	"batch_norm": "x = $0, mean = fp16[64], variance = fp16[64], gamma = fp16[64], beta = fp16[64], " +
		"epsilon = fp16(0x1p-10)",
	"concat": "values = ($0, $1), axis = 3, interleave = false",
}

// byModel are the calls of the operation that a graph is named after, where its name says more.
var byModel = map[string]string{
	"gelu_sigmoid":    `x = $0, mode = "SIGMOID_APPROXIMATION"`,
	"gelu_tanh":       `x = $0, mode = "TANH_APPROXIMATION"`,
	"layer_norm_c":    "x = $0, axes = [1], epsilon = fp16(0x1p-10)",
	"layer_norm_hw":   "x = $0, axes = [2, 3], epsilon = fp16(0x1p-10)",
	"layer_norm_chw":  "x = $0, axes = [1, 2, 3], epsilon = fp16(0x1p-10)",
	"softmax_w":       "x = $0, axis = 3",
	"softmax_h":       "x = $0, axis = 2",
	"softmax_c":       "x = $0, axis = 1",
	"cumsum_w":        "x = $0, axis = 3, exclusive = false, reverse = false",
	"transpose_hw":    "x = $0, perm = [0, 1, 3, 2]",
	"transpose_nc":    "x = $0, perm = [1, 0, 2, 3]",
	"transpose_r5":    "x = $0, perm = [0, 2, 1, 4, 3]",
	"slice_c":         "x = $0, begin = [0, 8, 0, 0], end = [1, 40, 32, 32]",
	"slice_w_stride2": "x = $0, begin = [0, 0, 0, 0], end = [1, 64, 32, 32], stride = [1, 1, 1, 2]",
	"pad_const":       `x = $0, pad = [0, 0, 0, 0, 1, 1, 1, 1], mode = "constant", constant_val = fp16(0x0p+0)`,
	"pad_reflect":     `x = $0, pad = [0, 0, 0, 0, 2, 2, 2, 2], mode = "reflect", constant_val = fp16(0x0p+0)`,
	"pad_c":           `x = $0, pad = [0, 0, 4, 4, 0, 0, 0, 0], mode = "constant", constant_val = fp16(0x0p+0)`,
	"resize_bilinear": `x = $0, target_size_height = 48, target_size_width = 48, sampling_mode = "DEFAULT"`,
	"resize_down": `x = $0, shape = [20, 20], resized_dims = uint32(2), interpolation_mode = "LINEAR", ` +
		`sampling_mode = "DEFAULT"`,
	"gather_c":       "x = $0, indices = uint16[32], axis = 1, batch_dims = 0, validate_indices = false",
	"gather_w":       "x = $0, indices = uint16[16], axis = 3, batch_dims = 0, validate_indices = false",
	"reduce_sum_w":   "x = $0, axes = [3], keep_dims = true",
	"global_avg":     "x = $0, axes = [2, 3], keep_dims = true",
	"split_c":        "x = $0, num_splits = 2, axis = 1",
	"squeeze_expand": "x = $0, axes = [2]",
	"avg_pool": `x = $0, kernel_sizes = [2, 2], strides = [2, 2], pad_type = "valid", ` +
		`exclude_padding_from_average = false`,
	"l2_pool": `x = $0, kernel_sizes = [2, 2], strides = [2, 2], pad_type = "valid"`,
	"avg_pool3d": `x = $0, kernel_sizes = [2, 2, 2], strides = [2, 2, 2], pad_type = "valid", ` +
		`exclude_padding_from_average = false`,
	"conv3x3_d2":          `x = $0, weight = fp16[64, 64, 3, 3], pad_type = "same", dilations = [2, 2]`,
	"conv1d":              `x = $0, weight = fp16[64, 64, 3], pad_type = "same"`,
	"conv_dynw":           `x = $0, weight = $1, pad_type = "valid"`,
	"conv_transpose":      `x = $0, weight = fp16[64, 64, 2, 2], strides = [2, 2], pad_type = "valid"`,
	"conv_transpose_k3s2": `x = $0, weight = fp16[64, 64, 3, 3], strides = [2, 2], pad_type = "same"`,
	"conv_transpose_1d":   `x = $0, weight = fp16[64, 64, 4], strides = [2], pad_type = "valid"`,
	"matmul_const":        "x = $0, y = fp16[256, 512], transpose_x = false, transpose_y = false",
}

var (
	square  = regexp.MustCompile(`_k(\d+)$`)
	oblong  = regexp.MustCompile(`_k(\d+)x(\d+)$`)
	strided = regexp.MustCompile(`_s(\d+)$`)
	grouped = regexp.MustCompile(`_g(\d+)$`)
)

// callOf returns the arguments of one operation of a graph. own says that the graph is named after it.
func callOf(r dumpRow, own bool) string {
	in, out := dims(r.in[0]), dims(r.out)
	if call, ok := byModel[r.model]; ok && own {
		return call
	}
	switch r.op {
	case "conv":
		h, w, stride, groups := int64(3), int64(3), "", int64(1)
		number := func(m []string, i int) int64 { n, _ := strconv.ParseInt(m[i], 10, 64); return n }
		if own {
			if m := square.FindStringSubmatch(r.model); m != nil {
				h, w = number(m, 1), number(m, 1)
			} else if m := oblong.FindStringSubmatch(r.model); m != nil {
				h, w = number(m, 1), number(m, 2)
			} else if m := strided.FindStringSubmatch(r.model); m != nil {
				h, w = number(m, 1), number(m, 1)
				stride = fmt.Sprintf(", strides = [%d, %d]", h, w)
			} else if m := grouped.FindStringSubmatch(r.model); m != nil {
				groups = number(m, 1)
			}
		}
		if in[1] > 4096 {
			groups = in[1] // a full weight would be 38 GB
		}
		pad := "same"
		if stride != "" {
			pad = "valid"
		}
		return fmt.Sprintf(`x = $0, weight = fp16[%d, %d, %d, %d], pad_type = "%s", groups = %d%s`, out[1],
			in[1]/groups, h, w, pad, groups, stride)
	case "linear":
		k, n := in[len(in)-1], out[len(out)-1]
		return fmt.Sprintf("x = $0, weight = fp16[%d, %d], bias = fp16[%d]", n, k, n)
	case "matmul":
		return "x = $0, y = $1, transpose_x = false, transpose_y = false"
	case "max_pool", "avg_pool":
		k := square.FindStringSubmatch(r.model)[1]
		args := fmt.Sprintf(`x = $0, kernel_sizes = [%s, %s], strides = [1, 1], pad_type = "same"`, k, k)
		if r.op == "avg_pool" {
			args += ", exclude_padding_from_average = false"
		}
		return args
	case "reshape":
		return fmt.Sprintf("x = $0, shape = [%s]", strings.ReplaceAll(r.out, "x", ", "))
	case "expand_dims":
		return "x = $0, axes = [3]"
	case "squeeze":
		return "x = $0, axes = [0]"
	}
	if call, ok := plain[r.op]; ok {
		return call
	}
	if strings.HasPrefix(r.op, "reduce_") {
		return "x = $0, axes = [1], keep_dims = true"
	}
	if len(r.in) == 2 {
		return "x = $0, y = $1"
	}
	return "x = $0"
}

// typesOf returns the element types of the operands and of the result.
func typesOf(r dumpRow, index int, graph []dumpRow) (in []string, out string) {
	in = make([]string, len(r.in))
	for i := range in {
		in[i] = "fp16"
	}
	out = "fp16"
	all := func(typ string) { // of operands and result
		for i := range in {
			in[i] = typ
		}
		out = typ
	}
	switch {
	case slices.Contains([]string{"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}, r.op):
		out = "bool"
	case strings.HasPrefix(r.op, "logical_"):
		all("bool")
	case r.op == "quantize":
		out = "int8"
	case r.op == "dequantize":
		in[0] = "int8"
	case r.op == "select":
		in[2] = "bool"
	case r.op == "one_hot", r.op == "range_1d", strings.HasSuffix(r.model, "_i32") && r.op != "relu":
		all("int32")
	case r.op == "non_zero":
		out = "int32"
	case r.op == "scatter_along_axis":
		in[1] = "int32"
	}
	return in, out
}

// castTypes are the types of the casts of a graph, in order.
var castTypes = map[string][][2]string{
	"relu_f32":     {{"fp32", "fp16"}, {"fp16", "fp32"}},
	"cast_i32_f16": {{"int32", "fp16"}},
	"cast_f16_f32": {{"fp16", "fp32"}},
	"cast_f16_i8":  {{"fp16", "int8"}, {"int8", "int32"}},
	"quantize_i8":  {{"int8", "int32"}},
	"gather_dyn":   {{"fp16", "int32"}, {"int32", "int32"}, {"int32", "int16"}},
	"nonzero":      {{"int32", "fp16"}},
	"range_1d":     {{"fp16", "int32"}, {"fp16", "int32"}, {"int32", "fp16"}},
}

// write writes a dumped graph as MIL text.
func write(graph []dumpRow) *milText {
	m := new(milText)
	kind := subject(graph)
	casts := castTypes[graph[0].model]
	for i, r := range graph {
		in, out := typesOf(r, i, graph)
		args := callOf(r, i == kind || len(graph) == 1)
		switch {
		case r.op == "cast":
			pair := [2]string{"bool", "fp16"}
			if len(casts) > 0 {
				pair, casts = casts[0], casts[1:]
			}
			in[0], out, args = pair[0], pair[1], fmt.Sprintf(`x = $0, dtype = "%s"`, pair[1])
		case strings.HasPrefix(r.op, "greater") && len(r.in) == 1 && r.model == "gather_dyn":
			in[0], args = "int32", "x = $0, y = 0"
		case r.op == "add" && len(r.in) == 1 && r.model == "gather_dyn":
			in[0], out, args = "int32", "int32", "x = $0, y = 1000"
		case r.op == "select" && r.model == "gather_dyn":
			in[0], in[1], out = "int32", "int32", "int32"
		case r.op == "gather" && r.model == "gather_dyn":
			in[1] = "int16"
		case len(r.in) == 1 && strings.HasSuffix(args, "y = $1"), len(r.in) == 1 && out == "bool" && r.op != "cast":
			args = "x = $0, y = fp16(0x0p+0)"
		case r.model == "range_1d" && r.op == "squeeze":
			in[0], out = "int16", "int16"
		}
		operands := make([]milValue, len(r.in))
		for k := range operands {
			shape := r.in[k]
			if r.model == "range_1d" && (r.op == "range_1d" || r.op == "cast" && i == 2) {
				shape = ""
			}
			operands[k] = m.operand(typed(in[k], shape))
		}
		shape := r.out
		if r.model == "range_1d" && (r.op == "squeeze" || i == 2) {
			shape = ""
		}
		results := []string{typed(out, shape)}
		switch r.op {
		case "lstm":
			results = append(results, typed(out, "1x64"), typed(out, "1x64"))
		case "gru":
			results = append(results, typed(out, "1x64"))
		case "topk":
			results = append(results, typed("uint16", shape))
		case "split":
			results = append(results, results[0])
		}
		m.call(r.op, args, operands, results...)
	}
	return m
}

// subject returns the operation that a graph is about: the first that is not one of the layers around it.
func subject(graph []dumpRow) int {
	for i, r := range graph {
		next := ""
		if i+1 < len(graph) {
			next = graph[i+1].op
		}
		switch {
		case r.op == "relu":
			continue
		case (r.op == "conv" || r.op == "linear") && next == "relu" && slices.Equal(r.in, []string{r.out}):
			continue
		}
		return i
	}
	return len(graph) - 1
}

// documented prints a result, which docs/coreml.md must state.
func documented(t *testing.T, format string, args ...any) {
	t.Helper()
	said := fmt.Sprintf(format, args...)
	t.Log(said)
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "coreml.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(strings.Fields(string(b)), " "), said) {
		t.Errorf("docs/coreml.md does not say %q", said)
	}
}

// word returns the device of a table of dumps.
func word(d Device) string {
	if d == NeuralEngine {
		return "ENGINE"
	}
	return "CPU"
}

// TestDecisions writes every dumped graph of an M4 as MIL text and compares the forecast with what the framework chose:
// the same, another way of the same cost, or wrong.
func TestDecisions(t *testing.T) {
	graphs := readDump(t, "decisions-m4.tsv", func(get func(string) string) dumpRow {
		return dumpRow{model: get("model"), set: get("set"), op: get("operation"), in: shapes(get("in_shapes")),
			out: get("out_shape"), supported: get("supported"), chosen: get("selected"),
			all: get("selected_all_units")}
	})
	exact, ties, wrong, unsupported, operations := 0, 0, 0, 0, 0
	for _, g := range graphs {
		p := write(g).program(t, "ios18")
		plan, err := Forecast(t.Context(), p, Options{Units: CPUEngine})
		if err != nil {
			t.Fatalf("%s %s: %v", g[0].model, g[0].set, err)
		}
		if len(plan.Rows) != len(g) {
			t.Errorf("%s %s: %d operations, want %d", g[0].model, g[0].set, len(plan.Rows), len(g))
			continue
		}
		same, tie := true, true
		for i, r := range g {
			row := &plan.Rows[i]
			operations++
			supported := "CPU"
			if row.Supported.Has(Engine) {
				supported = "CPU,ENGINE"
			}
			if supported != r.supported {
				unsupported++
				t.Errorf("%s %s, operation %d, %s: supported by %s, want %s: %s", r.model, r.set, i, r.op, supported,
					r.supported, row.Reasons[Engine])
			}
			if got := word(row.Chosen.Device()); got != r.chosen {
				same = false
				tie = tie && slices.ContainsFunc(row.Ties, func(d Device) bool { return word(d) == r.chosen })
			}
		}
		switch {
		case same:
			exact++
		case tie && plan.costs(g):
			ties++
		default:
			wrong++
			t.Errorf("%s %s: chosen otherwise", g[0].model, g[0].set)
			for i, r := range g {
				t.Logf("  %d %s %s>%s: %s, want %s", i, r.op, r.in, r.out, plan.Rows[i].Chosen, r.chosen)
			}
		}
	}
	documented(t, "%d graphs, %d operations: %d exact, %d ties, %d wrong; support differs on %d operations",
		len(graphs), operations, exact, ties, wrong, unsupported)
}

// TestDecisionsWithAllUnits compares the forecast for all compute units with the dumps of single operations. The GPU's
// costs are not known: what went there must be named in a note.
func TestDecisionsWithAllUnits(t *testing.T) {
	graphs := readDump(t, "decisions-m4.tsv", func(get func(string) string) dumpRow {
		return dumpRow{model: get("model"), set: get("set"), op: get("operation"), in: shapes(get("in_shapes")),
			out: get("out_shape"), all: get("selected_all_units")}
	})
	same, noted := 0, 0
	for _, g := range graphs {
		if g[0].all == "-" {
			continue
		}
		plan, err := Forecast(t.Context(), write(g).program(t, "ios18"), Options{Units: All})
		if err != nil {
			t.Fatalf("%s: %v", g[0].model, err)
		}
		for i, r := range g {
			switch row := &plan.Rows[i]; {
			case word(row.Chosen.Device()) == r.all:
				same++
			case r.all == "GPU" && strings.Contains(strings.Join(plan.Notes, "\n"), row.place()):
				noted++
			default:
				t.Errorf("%s, %s: %s, want %s", r.model, r.op, row.Chosen, r.all)
			}
		}
	}
	documented(t, "%d operations as chosen, %d on the GPU and noted", same, noted)
}

// costs reports whether the devices of a dump cost as much as the plan, to the femtosecond.
func (p *Plan) costs(g []dumpRow) bool {
	moves := newMoves(p.Rules)
	steps := make([]step, len(g))
	for i := range g {
		for b := range NumBackends {
			steps[i][b] = never
			if p.Rows[i].Supported.Has(b) && word(b.Device()) == g[i].chosen {
				steps[i][b] = costOf(p.Rows[i].Estimates[b])
			}
		}
	}
	return cheapest(steps, &moves).best.MS() == p.Gain.Best
}

// readEstimates reads the graphs whose estimates were dumped.
func readEstimates(t *testing.T) [][]dumpRow {
	t.Helper()
	number := func(text string) float64 {
		if x, err := strconv.ParseFloat(text, 64); err == nil {
			return x
		}
		return math.NaN()
	}
	return readDump(t, "estimates-m4.tsv", func(get func(string) string) dumpRow {
		return dumpRow{model: get("model"), set: get("set"), op: get("operation"), in: shapes(get("in_shapes")),
			out: get("out_shape"), attributes: get("attributes"), reason: get("reason_engine"),
			ms: [3]float64{number(get("est_ane_ms")), number(get("est_bnns_ms")), number(get("est_classic_ms"))}}
	})
}

// TestEstimates compares the estimates of every dumped operation with the framework's own.
func TestEstimates(t *testing.T) {
	graphs := readEstimates(t)
	read, within, far := 0, 0, 0
	for _, g := range graphs {
		p := write(g).program(t, "ios18")
		plan, err := Forecast(t.Context(), p, Options{Units: CPUEngine})
		if err != nil {
			t.Fatalf("%s: %v", g[0].model, err)
		}
		if len(plan.Rows) != len(g) {
			t.Errorf("%s: %d operations, want %d", g[0].model, len(plan.Rows), len(g))
			continue
		}
		for i, r := range g {
			row := &plan.Rows[i]
			if r.reason != "-" && row.Reasons[Engine] != r.reason || r.reason == "-" && row.Reasons[Engine] != "" {
				t.Errorf("%s, %s: the engine's reason is %q, want %q", r.model, r.op, row.Reasons[Engine], r.reason)
			}
			if r.op == "lstm" || r.op == "gru" {
				continue // whose estimate is not known
			}
			for k, b := range []Backend{Engine, BNNS, ClassicCPU} {
				if math.IsNaN(r.ms[k]) {
					continue
				}
				read++
				d := math.Abs(row.Estimates[b]/r.ms[k] - 1)
				if d <= 0.001 {
					within++
				} else {
					far++
					t.Logf("%s %s, operation %d, %s on %s: %.6g ms, want %.6g, off by %.3f %%", r.model, r.set, i, r.op,
						b, row.Estimates[b], r.ms[k], 100*d)
				}
				if !(d <= 0.01) {
					t.Errorf("%s, %s on %s: %.6g ms, want %.6g", r.model, r.op, b, row.Estimates[b], r.ms[k])
				}
			}
		}
	}
	documented(t, "%d estimates: %d within 0.1 %%, %d not", read, within, far)
}
