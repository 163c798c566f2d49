package verify

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// attentive is a head of attention with a mask, its projection and an activation, then comparisons and a choice.
func attentive() *ir.Program {
	g := irbuild.New(23)
	q, k, v := g.Input(2, 3, 12, 8), g.Input(2, 3, 10, 8), g.Input(2, 3, 10, 8)
	y := g.Op("matmul", "x", q, "y", k, "transpose_y", true)
	y = g.Op("add", "x", g.Op("mul", "x", y, "y", 0.35), "y", g.Weights(1, 1, 12, 10))
	y = g.Op("softmax", "x", y, "axis", 3)
	y = g.Op("matmul", "x", y, "y", v)
	y = g.Op("layer_norm", "x", y, "axes", []int{3}, "gamma", g.Weights(8), "beta", g.Weights(8), "epsilon", 1e-3)
	y = g.Op("gelu", "x", y, "mode", "EXACT")
	y = g.Op("real_div", "x", y, "y", g.Op("exp", "x", q))
	y = g.Op("select", "cond", g.Op("greater", "x", y, "y", 0.1), "a", y, "b", g.Op("sub", "x", q, "y", y))
	y = g.Op("softmax", "x", g.Op("cast", "x", y, "dtype", "fp32"), "axis", 1)
	g.Output(g.Op("matmul", "x", y, "y", g.Weights(8, 5), "transpose_x", false))
	return g.Program()
}

// TestVerdictsDoNotDependOnPieces compares what is verified in pieces of few elements with what is verified whole.
func TestVerdictsDoNotDependOnPieces(t *testing.T) {
	size := pieceElems
	defer func() { pieceElems = size }()
	for name, build := range map[string]func() *ir.Program{"attention": attentive, "block": block, "quiet": quiet} {
		for _, precision := range []string{passes.PrecisionFP16, passes.PrecisionDeclared} {
			var want []byte
			for _, pieceElems = range []int64{math.MaxInt64 / 8, 1, 7, 64} {
				r, err := Run(t.Context(), build(), Options{Seed: 3,
					Compile: compile.Options{Target: target.H13, Precision: precision}})
				if err != nil {
					t.Fatal(err)
				}
				r.Report = nil
				got, err := json.Marshal(r)
				if err != nil {
					t.Fatal(err)
				}
				if want == nil {
					want = got
				}
				if string(got) != string(want) {
					t.Errorf("%s in pieces of %d: %s\nwhole: %s", name, pieceElems, got, want)
				}
			}
		}
	}
}
