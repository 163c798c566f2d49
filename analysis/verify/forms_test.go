package verify

import (
	"context"
	"fmt"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/target"
)

// TestOddShapesRunOnTheEngine runs operations whose lowering depends on the shape, on
// odd extents and batches. All of them must run on the engine and agree with the
// interpreter.
func TestOddShapesRunOnTheEngine(t *testing.T) {
	shapes := [][]int64{{1, 17, 9, 8}, {1, 80, 8, 9}, {2, 20, 3, 3}, {1, 3, 33, 20}, {1, 8, 1, 64}, {1, 33, 1, 1}}
	axes := [][]int64{{1}, {2}, {3}, {2, 3}, {1, 2, 3}}
	for _, s := range shapes {
		run := func(name string, build func(g *irbuild.Graph) *ir.Value) {
			t.Run(fmt.Sprint(name, s), func(t *testing.T) {
				g := irbuild.New(1)
				g.Output(build(g))
				r, err := Run(context.Background(), g.Program(), Options{Seed: 1, Numerics: numerics.ANE,
					Compile: compile.Options{Target: target.H13}})
				if err != nil {
					t.Fatal(err)
				}
				if r.Verdict == Fail || r.Model.CPUOps != 0 || r.Model.Tasks == 0 {
					t.Errorf("%+v", r.Outputs)
				}
			})
		}
		for _, a := range axes {
			for _, op := range []string{"reduce_max", "reduce_mean"} {
				run(fmt.Sprint(op, a), func(g *irbuild.Graph) *ir.Value {
					return g.Op(op, "x", g.Input(s...), "axes", a, "keep_dims", true)
				})
			}
			run(fmt.Sprint("layer_norm", a), func(g *irbuild.Graph) *ir.Value {
				return g.Op("layer_norm", "x", g.Input(s...), "axes", a, "epsilon", 1e-5)
			})
			if len(a) == 1 {
				run(fmt.Sprint("softmax", a), func(g *irbuild.Graph) *ir.Value {
					return g.Op("softmax", "x", g.Input(s...), "axis", a[0])
				})
			}
		}
		for _, op := range []string{"maximum", "minimum"} {
			run(op+" with a number", func(g *irbuild.Graph) *ir.Value {
				return g.Op(op, "x", g.Input(s...), "y", -0.75)
			})
			run(op+" by channel", func(g *irbuild.Graph) *ir.Value {
				return g.Op(op, "x", g.Input(s...), "y", g.Filled(ir.FP16, func(i int64) float64 {
					return float64(i%7)/4 - 0.5
				}, 1, s[1], 1, 1))
			})
		}
		// Divisors of both signs, away from zero.
		run("real_div", func(g *irbuild.Graph) *ir.Value {
			sign := g.Filled(ir.FP16, func(i int64) float64 { return float64(1 - 2*(i%2)) }, 1, s[1], 1, 1)
			return g.Op("real_div", "x", g.Input(s...), "y", g.Op("mul", "x", g.Op("exp", "x", g.Input(s...)), "y",
				sign))
		})
	}
}
