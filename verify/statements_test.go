package verify

import (
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/ir/irbuild"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/prove"
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
		{"pow", false, func(g *irbuild.Graph) { g.Output(g.Op("pow", "x", g.Input(1, 8, 4, 4), "y", 3.0)) }},
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
