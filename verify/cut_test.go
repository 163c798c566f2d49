package verify

import (
	"path/filepath"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/passes"
)

// TestWhatTheCutLeavesToTheCPUIsRight verifies a model in which the cut leaves operations to the CPU that passes wrote
// for the engine, including a recurrent layer.
func TestWhatTheCutLeavesToTheCPUIsRight(t *testing.T) {
	shared := shareddir.Find(t)
	for _, precision := range []string{"declared", "fp16"} {
		t.Run(precision, func(t *testing.T) {
			m, err := frontend.Open(shareddir.WithWeights(t, shared, filepath.Join(shared, "corpus", "silero-v6-fp16")),
				frontend.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			r, err := Run(t.Context(), m.Program, Options{
				Compile:  compile.Options{Precision: precision, Place: passes.PlaceAuto},
				Seed:     1,
				Numerics: numerics.ANE,
			})
			if err != nil {
				t.Fatal(err)
			}
			if !r.Pass {
				t.Errorf("outside the tolerance: %v", r.Failed())
			}
		})
	}
}
