package verify

import (
	"path/filepath"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// TestWhatTheCutLeavesToTheCPUIsRight verifies models in which the cut leaves operations to the CPU that passes wrote
// for the engine, including recurrent layers: a real model, and a small one that is not worth a dispatch.
func TestWhatTheCutLeavesToTheCPUIsRight(t *testing.T) {
	real := func(t *testing.T) *ir.Program {
		shared := shareddir.Find(t)
		m, err := frontend.Open(shareddir.WithWeights(t, shared, filepath.Join(shared, "corpus", "silero-v6-fp16")),
			frontend.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		return m.Program
	}
	small := func(t *testing.T) *ir.Program {
		g := irbuild.New(3)
		rs := recurrentLayer(g, "lstm", 1, 4, "output_sequence", true)
		y := g.Op("layer_norm", "x", g.Op("softmax", "x", rs[0], "axis", 2), "axes", []int{2})
		g.Output(rs[1], rs[2], y, g.Op("argsort", "x", g.Input(1, 7), "axis", 1))
		return g.Program()
	}
	for _, c := range []struct {
		name, precision string
		program         func(*testing.T) *ir.Program
	}{
		{"declared", passes.PrecisionDeclared, real},
		{"small, declared", passes.PrecisionDeclared, small},
		{"small, fp16", passes.PrecisionFP16, small},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := Run(t.Context(), c.program(t), Options{
				Compile:  compile.Options{Target: target.H13, Precision: c.precision, Place: passes.PlaceAuto},
				Seed:     1,
				Numerics: numerics.ANE,
			})
			if err != nil {
				t.Fatal(err)
			}
			if !r.Pass || r.Model.CPUOps == 0 {
				t.Errorf("%s, %d operations on the CPU; outside the tolerance: %v", r.Verdict, r.Model.CPUOps,
					r.Failed())
			}
		})
	}
}
