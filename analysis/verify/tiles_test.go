package verify

import (
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
)

// TestLargeOperandsStayOnTheEngine verifies operations that no single task computes: products whose operand, rows by
// columns, is larger than L2 in one direction and the other, and reductions of slices over axes that are separate in
// memory.
func TestLargeOperandsStayOnTheEngine(t *testing.T) {
	for name, c := range map[string]struct {
		build func(g *irbuild.Graph) *ir.Value
		tasks int
	}{
		"many rows": {func(g *irbuild.Graph) *ir.Value {
			return g.Op("matmul", "x", g.Input(256, 8192), "y", g.Weights(8192, 8))
		}, 2},
		"many columns": {func(g *irbuild.Graph) *ir.Value {
			return g.Op("matmul", "x", g.Input(8192, 256), "y", g.Weights(256, 8))
		}, 3},
		"a slice over three of its axes": {func(g *irbuild.Graph) *ir.Value {
			return g.Op("reduce_sum", "x", slice(g), "axes", []int64{0, 2, 4}, "keep_dims", true)
		}, 1},
		"a slice over four of its axes": {func(g *irbuild.Graph) *ir.Value {
			return g.Op("reduce_sum", "x", slice(g), "axes", []int64{0, 1, 3, 4}, "keep_dims", true)
		}, 2},
	} {
		g := irbuild.New(1)
		g.Output(c.build(g))
		r := run(t, g, 1)
		if r.Verdict != Pass || r.Report.CPUOps != 0 || r.Report.Tasks != c.tasks {
			t.Errorf("%s: %s, %d operations on the CPU, %d tasks, want %d", name, r.Verdict, r.Report.CPUOps,
				r.Report.Tasks, c.tasks)
		}
	}
}

// slice returns a part of an input whose axes are not adjacent in memory.
func slice(g *irbuild.Graph) *ir.Value {
	return g.Op("slice_by_size", "x", g.Input(3, 4, 5, 6, 7), "begin", []int64{1, 1, 1, 1, 1}, "size",
		[]int64{2, 3, 4, 5, 6})
}
