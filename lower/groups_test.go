package lower

import (
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower/td"
)

// TestPairsOfMatricesAreGroups compares a product of eight pairs of live matrices with the recorded program of h14: a
// copy to scratch, eight rows side by side, then one task that multiplies.
func TestPairsOfMatricesAreGroups(t *testing.T) {
	tasks := packedTasks(t, func(g *irbuild.Graph) *ir.Value {
		return g.Op("matmul", "x", g.Input(8, 375, 128), "y", g.Input(8, 128, 375), "transpose_x", false,
			"transpose_y", false)
	})
	if len(tasks) != 2 {
		t.Fatalf("%d tasks, recorded 2", len(tasks))
	}
	for i, want := range []map[td.Field]uint32{
		{td.NumGroups: 8, td.Cin: 375, td.Win: 128, td.DstInterleave: 8, td.DstPlane: 0x800, td.DstGroup: 0x17800,
			td.ExeCycles: 45},
		{td.NumGroups: 8, td.Cin: 128, td.Cout: 375, td.Win: 375, td.OCGSize: 3, td.LaneGroups: 1, td.ActiveNE: 4,
			td.DPECategory: 7, td.KernelGroup: 0x17800, td.KernelBlock: 0x8000, td.CoeffBase.At(15): 0x7800,
			td.CoeffSize.At(15): 0x800, td.SrcGroup: 0x18000, td.DstGroup: 0x46500, td.SrcCfgRest: 0x10014,
			td.ResCfgRest: 0x40014, td.ExeCycles: 93},
	} {
		for f, want := range want {
			if got := tasks[i].Get(f); got != want {
				t.Errorf("%s of task %d: %#x, recorded %#x", f, i, got, want)
			}
		}
	}
}

// TestPairsThatL2CannotHoldAreProductsOfTheirOwn lowers pairs of which L2 holds one and not all: of their first
// matrices, which a copy reads, or of their second ones.
func TestPairsThatL2CannotHoldAreProductsOfTheirOwn(t *testing.T) {
	for _, dims := range [][4]int64{{12, 384, 384, 64}, {32, 128, 1024, 128}, {24, 16, 1024, 256}} {
		pairs, rows, terms, columns := dims[0], dims[1], dims[2], dims[3]
		products := int64(0)
		for _, x := range packedTasks(t, func(g *irbuild.Graph) *ir.Value {
			return g.Op("matmul", "x", g.Input(pairs, rows, terms), "y", g.Input(pairs, terms, columns), "transpose_x",
				false, "transpose_y", false)
		}) {
			if x.LiveKernel() {
				products++
			}
		}
		if products < pairs {
			t.Errorf("%v: %d products", dims, products)
		}
	}
}
