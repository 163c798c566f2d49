package passes_test

import (
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/passes"
)

// foldedOps counts the operations that remain when constants are folded with left bytes to spend.
func foldedOps(t *testing.T, left int64, build func(g *irbuild.Graph)) *passes.State {
	t.Helper()
	g := irbuild.New(1)
	build(g)
	s, err := passes.RunSpent(g.Program(), options(), left, "select-function", "fold-constants")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestShapesOfKnownTensorsFold checks that the shape of a tensor is known if its dimensions are, whatever the tensor
// contains.
func TestShapesOfKnownTensorsFold(t *testing.T) {
	s := foldedOps(t, 1<<20, func(g *irbuild.Graph) {
		x := g.Input(2, 3)
		g.Output(g.Op("add", "x", g.Op("shape", "x", x), "y", 1))
	})
	out := s.Func.Body.Outputs[0]
	if len(s.Func.Body.Ops) > 1 || len(s.Func.Body.Ops) == 1 && !s.Func.Body.Ops[0].Is(ir.OpIdentity) {
		t.Errorf("%d operations are left, first %s", len(s.Func.Body.Ops), s.Func.Body.Ops[0].Def.Name)
	}
	if d := out.Def; d != nil {
		out = d.Arg("x")
	}
	if c := out.Const; c == nil || c.Elems() != 2 || c.Int(0) != 3 || c.Int(1) != 4 {
		t.Errorf("shape and one is %v", c)
	}
	s = foldedOps(t, 1<<20, func(g *irbuild.Graph) {
		g.Output(g.Op("shape", "x", g.InputOf(ir.FP16, ir.Unknown, 3)))
	})
	if len(s.Func.Body.Ops) != 1 || !s.Func.Body.Ops[0].Is(ir.OpShape) {
		t.Errorf("the shape of a tensor with an unknown dimension folds")
	}
}

// TestFoldingKeepsItsBudget checks that the total of what folds produce is limited, and not only each fold.
func TestFoldingKeepsItsBudget(t *testing.T) {
	s := foldedOps(t, 3<<20, func(g *irbuild.Graph) {
		x := g.Input(1 << 19)
		for i := range 5 { // of a megabyte
			x = g.Op("add", "x", x, "y", g.Op("fill", "shape", []int64{1 << 19}, "value", float64(i)))
		}
		g.Output(x)
	})
	fills := 0
	for _, op := range s.Func.Body.Ops {
		if op.Is(ir.OpFill) {
			fills++
		}
	}
	if fills != 2 {
		t.Errorf("%d of five fills are left, three fit the budget", fills)
	}
}
