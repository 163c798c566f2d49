package compile

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// TestPartsOfACallAreFound checks which operations have a band of their own: attention of computed values with its
// scale and softmax, and RMS norms, but not products with constants, a softmax by itself, or a norm with a mean.
func TestPartsOfACallAreFound(t *testing.T) {
	mean := func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("reduce_mean", "x", x, "axes", []int{-1}, "keep_dims", true)
	}
	for _, c := range []struct {
		name  string
		build func(g *irbuild.Graph) *ir.Value
		want  string // operation and part, of those with a part
	}{
		{"attention", func(g *irbuild.Graph) *ir.Value {
			q, k, v := g.Input(4, 64, 32), g.Input(4, 64, 32), g.Input(4, 64, 32)
			s := g.Op("mul", "x", g.Op("matmul", "x", q, "y", k, "transpose_y", true), "y", .25)
			return g.Op("relu", "x", g.Op("matmul", "x", g.Op("softmax", "x", s), "y", v))
		}, "matmul 2, mul 2, softmax 2, matmul 2"},
		{"one product of computed values", func(g *irbuild.Graph) *ir.Value {
			return g.Op("softmax", "x", g.Op("matmul", "x", g.Input(64, 32), "y", g.Input(32, 64)))
		}, "matmul 2"},
		{"products with constants", func(g *irbuild.Graph) *ir.Value {
			x := g.Op("matmul", "x", g.Input(64, 32), "y", g.Weights(32, 64))
			return g.Op("matmul", "x", g.Op("softmax", "x", x), "y", g.Weights(64, 32))
		}, ""},
		{"rms norm", func(g *irbuild.Graph) *ir.Value {
			x := g.Input(64, 128)
			r := g.Op("rsqrt", "x", mean(g, g.Op("mul", "x", x, "y", x)))
			return g.Op("relu", "x", g.Op("mul", "x", g.Op("mul", "x", x, "y", r), "y", g.Weights(128)))
		}, "mul 3, reduce_mean 3, rsqrt 3, mul 3, mul 3"},
		{"norm with a mean", func(g *irbuild.Graph) *ir.Value {
			x := g.Input(64, 128)
			d := g.Op("sub", "x", x, "y", mean(g, x))
			return g.Op("mul", "x", d, "y", g.Op("rsqrt", "x", mean(g, g.Op("mul", "x", d, "y", d))))
		}, ""},
		{"reciprocal root", func(g *irbuild.Graph) *ir.Value {
			return g.Op("rsqrt", "x", g.Op("relu", "x", g.Input(64, 128)))
		}, ""},
	} {
		g := irbuild.New(1)
		g.Output(c.build(g))
		ops := g.Program().Funcs[0].Body.Ops
		ops = slices.DeleteFunc(ops, func(op *ir.Op) bool { return op.Def.Name == "const" })
		var got []string
		for i, p := range partsOf(ops) {
			if p != cost.PartWork {
				got = append(got, fmt.Sprintf("%s %d", ops[i].Def.Name, int(p)))
			}
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
	}
}

// TestBandsOfCallsFollowTheirParts compiles a product with a constant and one of computed values, whose band must be
// wider below, and sums the bands of two functions.
func TestBandsOfCallsFollowTheirParts(t *testing.T) {
	low := map[bool]float64{}
	for _, constant := range []bool{true, false} {
		g := irbuild.New(1)
		x, y := g.Input(2048, 2048), (*ir.Value)(nil)
		if constant {
			y = g.Weights(2048, 2048)
		} else {
			y = g.Input(2048, 2048)
		}
		g.Output(g.Op("matmul", "x", x, "y", y))
		r, err := All(t.Context(), g.Program(), Options{Target: target.H13})
		if err != nil {
			t.Fatal(err)
		}
		b := r.Report.Band
		if b == nil || b.Low >= r.Report.Call || b.High < r.Report.Call || b.Chip != "M1" {
			t.Fatalf("constant %t: %s us with band %+v", constant, r.Report.Call, b)
		}
		low[constant] = float64(b.Low) / float64(r.Report.Call)
	}
	if low[false] >= low[true] {
		t.Errorf("a product of computed values takes at least %.2f of its estimate, with a constant %.2f", low[false],
			low[true])
	}
}
