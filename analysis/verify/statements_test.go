package verify

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/analysis/prove"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/target"
)

// TestStatementsThatPassesRewriteAreProved has one operation that passes write with others in each program: its
// definition over the field, or the rounding of its constants, must decide, and not samples.
func TestStatementsThatPassesRewriteAreProved(t *testing.T) {
	for _, c := range []struct {
		name    string
		rounded bool
		write   func(g *irbuild.Graph)
	}{
		{"linear_activation", false, func(g *irbuild.Graph) {
			g.Output(g.Op("linear_activation", "x", g.Input(1, 8, 4, 4), "alpha", 0.5, "beta", 2.0))
		}},
		{"softsign", false, func(g *irbuild.Graph) { g.Output(g.Op("softsign", "x", g.Input(1, 8, 4, 4))) }},
		{"reduce_l1_norm", false, func(g *irbuild.Graph) {
			g.Output(g.Op("reduce_l1_norm", "x", g.Input(1, 8, 4, 4), "axes", []int{3}, "keep_dims", true))
		}},
		{"instance_norm", false, func(g *irbuild.Graph) {
			g.Output(g.Op("instance_norm", "x", g.Input(1, 8, 4, 4), "gamma", g.Weights(8), "beta", g.Weights(8),
				"epsilon", 1e-3))
		}},
		{"scaled_dot_product_attention", false, func(g *irbuild.Graph) {
			g.Output(g.Op("scaled_dot_product_attention", "query", g.Input(1, 4, 3, 16), "key", g.Input(1, 4, 6, 16),
				"value", g.Input(1, 4, 6, 8), "attn_mask", g.Input(1, 1, 3, 6)))
		}},
		{"pow", false, func(g *irbuild.Graph) { g.Output(g.Op("pow", "x", g.Input(1, 8, 4, 4), "y", 3.0)) }},
		{"root by exponentials", false, func(g *irbuild.Graph) {
			x := g.Op("square", "x", g.Input(1, 8, 4, 4))
			g.Output(g.Op("pow", "x", g.Op("add", "x", x, "y", 1.0), "y", -0.5))
		}},
		{"integer that was rounded", false, func(g *irbuild.Graph) {
			n := g.Op("cast", "x", g.Op("floor", "x", g.Input(8)), "dtype", "int32")
			n = g.Op("sub", "x", n, "y", g.Filled(ir.Int32, func(int64) float64 { return 2 }, 1))
			g.Output(g.Op("relu", "x", g.Op("cast", "x", n, "dtype", "fp16")))
		}},
		{"logical_and", false, func(g *irbuild.Graph) {
			x, y := g.Input(1, 8, 4, 4), g.Input(1, 8, 4, 4)
			both := g.Op("logical_and", "x", g.Op("greater", "x", x, "y", 0.5), "y", g.Op("less", "x", y, "y", 0.25))
			g.Output(g.Op("select", "cond", both, "a", x, "b", y))
		}},
		{"cumsum", false, func(g *irbuild.Graph) {
			g.Output(g.Op("cumsum", "x", g.Input(1, 8, 4, 4), "axis", 3))
		}},
		{"einsum", false, func(g *irbuild.Graph) {
			y := g.Op("einsum", "values", []*ir.Value{g.Input(3, 1, 4, 5), g.Input(7, 2, 4, 1)}, "equation",
				"abcd,ebcd->eabd")
			g.Output(g.Op("einsum", "values", []*ir.Value{y, g.Input(7, 3)}, "equation", "eabd,ea->db"))
		}},
		{"einsum with more than 64 products", false, func(g *irbuild.Graph) {
			g.Output(g.Op("einsum", "values", []*ir.Value{g.Input(2, 3, 4, 70), g.Input(2, 70, 4, 5)}, "equation",
				"nchw,nwhu->nchu"))
		}},
		{"local_response_norm", false, func(g *irbuild.Graph) {
			x := g.Input(1, 7, 3, 5)
			for i, beta := range []float64{0.75, 0.5, 1, 0.3} {
				x = g.Op("local_response_norm", "x", x, "size", 2+i, "alpha", 1e-4, "beta", beta, "k", 1.5)
			}
			g.Output(x)
		}},
		{"l2_norm", false, func(g *irbuild.Graph) {
			x := g.Op("l2_norm", "x", g.Input(2, 8, 4, 4), "epsilon", 1e-6)
			g.Output(g.Op("l2_norm", "x", x, "epsilon", 0.5))
		}},
		{"l2_norm of 65536", false, func(g *irbuild.Graph) {
			g.Output(g.Op("l2_norm", "x", g.Input(1, 64, 32, 32), "epsilon", 1e-4))
		}},
		{"l2_pool", false, func(g *irbuild.Graph) {
			x := g.Op("l2_pool", "x", g.Input(1, 8, 9, 7), "kernel_sizes", []int{3, 2}, "strides", []int{2, 2},
				"pad_type", "same", "pad", []int{0, 0, 0, 0})
			g.Output(g.Op("l2_pool", "x", x, "kernel_sizes", []int{2, 2}, "strides", []int{1, 1},
				"pad_type", "custom", "pad", []int{1, 1, 0, 1}))
		}},
		{"reduce_l2_norm", false, func(g *irbuild.Graph) {
			x := g.Op("reduce_l2_norm", "x", g.Input(1, 8, 4, 4), "axes", []int{1}, "keep_dims", true)
			g.Output(g.Op("reduce_l2_norm", "x", x, "axes", []int{2, 3}, "keep_dims", false))
		}},
		{"logarithms of sums", false, func(g *irbuild.Graph) {
			x := g.Input(2, 8, 4)
			g.Output(g.Op("reduce_log_sum_exp", "x", x, "axes", []int{1}, "keep_dims", true),
				g.Op("reduce_log_sum", "x", g.Op("square", "x", x), "axes", []int{2}, "keep_dims", false))
		}},
		{"first of equal elements", false, func(g *irbuild.Graph) {
			x := g.Input(3, 4, 50)
			g.Output(g.Op("reduce_argmax", "x", x, "axis", 2, "keep_dims", false),
				g.Op("reduce_argmin", "x", x, "axis", 1, "keep_dims", true))
		}},
		{"one_hot", false, func(g *irbuild.Graph) {
			x := g.InputOf(ir.Int32, 2, 3)
			g.Output(g.Op("one_hot", "indices", x, "one_hot_vector_size", 5, "axis", 1, "on_value", 2.0,
				"off_value", -0.5))
		}},
		{"lstm in both directions", false, func(g *irbuild.Graph) {
			g.Output(recurrentLayer(g, "lstm", 2, 4, "direction", "bidirectional", "output_sequence", true)...)
		}},
		{"lstm backwards, with other activations", false, func(g *irbuild.Graph) {
			g.Output(recurrentLayer(g, "lstm", 1, 4, "direction", "reverse", "output_sequence", true,
				"recurrent_activation", "sigmoid_hard", "cell_activation", "linear", "activation", "relu",
				"peephole", g.Weights(9), "clip", 0.5)...)
		}},
		{"gru", false, func(g *irbuild.Graph) {
			g.Output(recurrentLayer(g, "gru", 1, 3, "activation", "relu")...)
		}},
		{"gru with reset after", false, func(g *irbuild.Graph) {
			g.Output(recurrentLayer(g, "gru", 1, 3, "reset_after", true, "input_bias", g.Weights(9),
				"direction", "reverse", "output_sequence", true)...)
		}},
		{"rnn", false, func(g *irbuild.Graph) {
			g.Output(recurrentLayer(g, "rnn", 1, 1, "activation", "linear")...)
		}},
		{"attention with a mask of booleans", false, func(g *irbuild.Graph) {
			mask := g.Op("greater", "x", g.Input(1, 1, 3, 6), "y", 0.5)
			g.Output(g.Op("scaled_dot_product_attention", "query", g.Input(1, 4, 3, 16), "key", g.Input(1, 4, 6, 16),
				"value", g.Input(1, 4, 6, 8), "attn_mask", mask))
		}},
		{"attention with a constant mask", false, func(g *irbuild.Graph) {
			mask := g.Filled(ir.Bool, func(i int64) float64 { return float64(i % 7 % 2) }, 1, 1, 6, 6)
			g.Output(g.Op("scaled_dot_product_attention", "query", g.Input(1, 4, 6, 16), "key", g.Input(1, 4, 6, 16),
				"value", g.Input(1, 4, 6, 8), "attn_mask", mask))
		}},
		{"integers by channel", false, func(g *irbuild.Graph) {
			scales := func(k float64) *ir.Value {
				return g.Filled(ir.FP16, func(i int64) float64 { return 0.1 + float64(i)*k }, 4)
			}
			zeros := g.Filled(ir.Int8, func(i int64) float64 { return float64(i*9) - 20 }, 4)
			x := g.Input(2, 4, 3, 5)
			q := g.Op("quantize", "input", x, "scale", scales(0.07), "zero_point", zeros, "axis", 1,
				"output_dtype", "int8")
			y := g.Op("relu", "x", g.Op("dequantize", "input", q, "scale", scales(0.3), "axis", 1))
			q = g.Op("quantize", "input", y, "scale", 0.3, "output_dtype", "uint8")
			g.Output(g.Op("dequantize", "input", q, "scale", 0.3))
		}},
		{"batch_norm", true, func(g *irbuild.Graph) {
			y := g.Op("conv", "x", g.Input(1, 8, 4, 4), "weight", g.Weights(8, 8, 1, 1))
			g.Output(g.Op("batch_norm", "x", y, "mean", g.Weights(8), "variance",
				g.Filled(ir.FP16, func(i int64) float64 { return 0.5 + float64(i) }, 8), "epsilon", 1e-3))
		}},
		{"factor of a product", true, func(g *irbuild.Graph) {
			y := g.Op("linear", "x", g.Input(4, 16), "weight", g.Weights(8, 16), "bias", g.Weights(8))
			g.Output(g.Op("mul", "x", y, "y", g.Weights(8)))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := irbuild.New(5)
			c.write(g)
			r, err := compile.All(t.Context(), g.Program(),
				compile.Options{Target: target.H13, Place: passes.PlaceEngine})
			if err != nil {
				t.Fatal(err)
			}
			res, err := Prove(t.Context(), r, prove.Options{Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			s := res.Functions[0].Source
			if res.Verdict != prove.Proved || s.Verdict != prove.Proved || (s.Rounded > 0) != c.rounded {
				t.Errorf("bytes %s, source %s, %d rounded: %v", res.Verdict, s.Verdict, s.Rounded, s.Statements)
			}
		})
	}
}

// recurrentLayer is a layer of 3 elements by direction, of 5 steps of 2 rows of 4 elements.
func recurrentLayer(g *irbuild.Graph, op string, directions, gates int64, more ...any) []*ir.Value {
	args := append(more, "x", g.Input(5, 2, 4), "initial_h", g.Input(2, 3*directions))
	if op == "lstm" {
		args = append(args, "initial_c", g.Input(2, 3*directions))
	}
	for _, back := range []string{"", "_back"}[:directions] {
		args = append(args, "weight_ih"+back, g.Weights(3*gates, 4), "weight_hh"+back, g.Weights(3*gates, 3),
			"bias"+back, g.Weights(3*gates))
	}
	return g.All(op, args...)
}

// loop makes as many trips as limit says, and a condition in it depends on the trip.
const loop = `program(1.3) {
    func main<ios18>(tensor<fp16, [1, 8]> x, tensor<fp16, [1, 8]> y) {
        int32 n, tensor<fp16, [?, 8]> sum = while_loop(loop_vars = (int32(0), x)) (int32 i, tensor<fp16, [?, 8]> a) {
            bool more = less(x = i, y = int32(LIMIT));
        } -> (more) (int32 i, tensor<fp16, [?, 8]> a) {
            int32 next = add(x = i, y = int32(1));
            bool first = equal(x = i, y = int32(0));
            tensor<fp16, [?, 8]> b = cond(pred = first) () {
                tensor<fp16, [?, 8]> p = mul(x = a, y = y);
            } -> (p) () {
                tensor<fp16, [?, 8]> q = sub(x = a, y = y);
            } -> (q);
            tensor<fp16, [?, 8]> c = relu(x = b);
        } -> (next, c);
        tensor<fp16, [?, 8]> z = sigmoid(x = sum);
    } -> (z);
}
`

// TestLoopsThatConstantsDecideAreProved proves a loop that the placed program unrolls, and finds that it differs from a
// loop with another number of trips.
func TestLoopsThatConstantsDecideAreProved(t *testing.T) {
	compiled := func(limit string) (*sim.Machine, *compile.Result) {
		path := filepath.Join(t.TempDir(), "model.mil")
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(loop, "LIMIT", limit)), 0o666); err != nil {
			t.Fatal(err)
		}
		r, err := compile.All(t.Context(), open(t, path),
			compile.Options{Target: target.H13, Place: passes.PlaceEngine})
		if err != nil {
			t.Fatal(err)
		}
		m, err := Open(r)
		if err != nil {
			t.Fatal(err)
		}
		return m, r
	}
	m, r := compiled("3")
	s := statements(t, m, r)
	if s.Verdict != prove.Proved || s.Proved < 6 {
		t.Errorf("%d statements proved: %s: %v", s.Proved, s.Verdict, s.Statements)
	}
	m, other := compiled("2")
	other.Functions[0].Reference = r.Functions[0].Reference
	s = statements(t, m, other)
	if s.Open == 0 {
		t.Errorf("three trips are proved to be two: %+v", s)
	}
}

// TestStatesAndPositionsAreCompared has a cache that is written at a position which an input gives: states are values
// before and after the call, and the decomposition with comparisons is equal over the field for each position tried. A
// fault in it is found.
func TestStatesAndPositionsAreCompared(t *testing.T) {
	g := irbuild.New(5)
	cache := g.State(ir.FP16, 1, 2, 9, 4)
	at := g.InputOf(ir.Int32, 1)
	update := g.Op("relu", "x", g.Input(1, 2, 1, 4))
	number := func(n int64) *ir.Value {
		return g.Filled(ir.Int32, func(int64) float64 { return float64(n) }, 1)
	}
	zero, one := number(0), number(1)
	begin := g.Op("concat", "values", []*ir.Value{zero, zero, at, zero}, "axis", 0, "interleave", false)
	end := g.Op("concat", "values", []*ir.Value{one, number(2), g.Op("add", "x", at, "y", one), number(4)}, "axis", 0,
		"interleave", false)
	old := g.Op("read_state", "input", cache)
	now := g.Op("slice_update", "x", old, "update", update, "begin", begin, "end", end)
	g.Op("coreml_update_state", "state", cache, "value", now)
	g.Output(g.Op("reduce_sum", "x", now, "axes", []int{2}, "keep_dims", true))
	r, err := compile.All(t.Context(), g.Program(), compile.Options{Target: target.H13, Place: passes.PlaceEngine})
	if err != nil {
		t.Fatal(err)
	}
	check := func() *prove.SourceResult {
		res, err := Prove(t.Context(), r, prove.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		return res.Functions[0].Source
	}
	s := check()
	if s.Open > 0 || s.Checked == 0 || !strings.Contains(s.Statements[0].Why, "over the field") {
		t.Errorf("%+v", s)
	}
	for _, st := range s.Statements {
		if strings.Contains(st.Statement, "identity") {
			t.Errorf("%s is not in the source", st.Statement)
		}
	}
	swapped := 0
	for _, op := range r.Functions[0].Placed.Body.Ops {
		op.Operands(func(_ *ir.Param, v *ir.Value) {
			if v.IsConst() && v.Type.DType == ir.FP16 && v.Type.Elems() == 9 {
				c := *v.Const
				c.Data = slices.Clone(c.Data)
				copy(c.Data[4:], v.Const.Data[6:8])
				copy(c.Data[6:], v.Const.Data[4:6])
				v.Const = &c
				swapped++
			}
		})
	}
	if s := check(); swapped == 0 || s.Open == 0 {
		t.Errorf("two positions of %d constants swapped: %+v", swapped, s)
	}
}

// blockStates accesses states inside conditions and a loop that data decide.
const blockStates = `program(1.3) {
    func main<ios18>(state<tensor<fp16, [4]>> s, state<tensor<fp16, [4]>> u, tensor<fp16, [4]> x, tensor<fp16, [1]> p) {
        tensor<bool, [1]> g = greater(x = p, y = fp16(0.0));
        bool c = squeeze(x = g);
        tensor<fp16, [4]> y = cond(pred = c) () {
            tensor<fp16, [4]> r = read_state(input = s);
            tensor<fp16, [4]> w = add(x = r, y = x);
            write_state(data = w, input = s);
            tensor<fp16, [4]> r1 = read_state(input = s);
            tensor<fp16, [4]> v = mul(x = r1, y = x);
        } -> (v) () {
            tensor<fp16, [4]> r2 = read_state(input = u);
            tensor<fp16, [4]> w2 = sub(x = r2, y = x);
        } -> (w2);
        tensor<fp16, [4]> z = while_loop(loop_vars = (y)) (tensor<fp16, [4]> a) {
            tensor<fp16, [1]> t = reduce_max(x = a, axes = [0], keep_dims = true);
            tensor<bool, [1]> l = less(x = t, y = fp16(100.0));
            bool more = squeeze(x = l);
        } -> (more) (tensor<fp16, [4]> b) {
            tensor<fp16, [4]> r3 = read_state(input = u);
            tensor<fp16, [4]> sum = add(x = r3, y = b);
            tensor<fp16, [4]> next = cond(pred = c) () {
                write_state(data = sum, input = u);
                tensor<fp16, [4]> q = add(x = sum, y = sum);
            } -> (q) () {
                tensor<fp16, [4]> q2 = add(x = sum, y = fp16(1.0));
            } -> (q2);
        } -> (next);
        tensor<fp16, [4]> r4 = read_state(input = s);
        tensor<fp16, [4]> o = add(x = r4, y = z);
    } -> (o);
}
`

// TestStatesInsideBlocksAreProved proves the statements of blocks that read and write states, wherever they run.
func TestStatesInsideBlocksAreProved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.mil")
	if err := os.WriteFile(path, []byte(blockStates), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{passes.PlaceAuto, passes.PlaceEngine} {
		concluded(t, path, compile.Options{Target: target.H13, Place: place})
	}
}
