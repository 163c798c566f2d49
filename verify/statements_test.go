package verify

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/ir/irbuild"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/prove"
	"github.com/zinc-compiler/zinc/runtime/sim"
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
			r, err := compile.Compile(t.Context(), g.Program(), compile.Options{Place: passes.PlaceEngine})
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

// TestLoopsThatConstantsDecideAreProved proves the bodies of a loop, of which the placed program has as many, and finds
// that they are not those of another number of trips.
func TestLoopsThatConstantsDecideAreProved(t *testing.T) {
	compiled := func(limit string) (*sim.Machine, *compile.Result) {
		path := filepath.Join(t.TempDir(), "model.mil")
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(loop, "LIMIT", limit)), 0o666); err != nil {
			t.Fatal(err)
		}
		r, err := compile.Compile(t.Context(), open(t, path), compile.Options{Place: passes.PlaceEngine})
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
// before and after the call, and the composition with comparisons is equal over the field for each position tried. A
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
	r, err := compile.Compile(t.Context(), g.Program(), compile.Options{Place: passes.PlaceEngine})
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
