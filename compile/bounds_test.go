package compile_test

import (
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// TestHugeProducts compiles products whose shapes require billions of matrices, or that go through memory in more tasks
// than a chain can have: they go to the CPU.
func TestHugeProducts(t *testing.T) {
	for _, c := range [][]int64{{65536, 256, 1, 1}, {2048, 2048, 1, 1}} {
		r, _ := built(t, compile.Options{Target: target.H13}, func(g *irbuild.Graph) {
			g.Output(g.Op("matmul", "x", g.Input(c...), "y", g.Input(c...)))
		})
		if r.Report.CPUOps != 1 || r.Report.EngineOps != 0 {
			t.Errorf("%v: %d operations on the CPU, %d on the engine", c, r.Report.CPUOps, r.Report.EngineOps)
		}
	}
}

// A linear layer without inputs has an empty weight, which no factor can be folded into.
func TestEmptyWeightsAreRefused(t *testing.T) {
	built(t, compile.Options{Target: target.H13}, func(g *irbuild.Graph) {
		w := g.Const(&ir.Const{Type: ir.TensorOf(ir.FP16, 0, 4)})
		g.Output(g.Op("mul", "x", g.Op("linear", "x", g.Input(2, 4), "weight", w), "y", 2.0))
	})
}
