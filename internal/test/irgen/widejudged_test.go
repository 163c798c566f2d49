package irgen_test

import (
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/test/difftest"
	"github.com/zinc-compiler/zinc/internal/test/irgen"
	"github.com/zinc-compiler/zinc/internal/testform"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// TestWideTensorsAreRight runs every step on tensors with a dimension up to the limits of the target: at the limit, one
// below and one above. Larger ones run correctly on the CPU, and the refusal names the limit.
func TestWideTensorsAreRight(t *testing.T) {
	n := testform.Of(irgen.Wides/2, irgen.Wides, 4*irgen.Wides)
	e := irgen.Extents{Last: int64(target.H13.MaxWidth), Other: 4096, Limit: int64(target.H13.MaxChannels)}
	for i := range n {
		p := irgen.Wide(i, e)
		s := difftest.Settings{
			Seed:     uint64(i),
			Numerics: []numerics.Mode{numerics.ANE, numerics.IEEE}[i%2],
			Exact:    p.Exact,
			Compile:  compile.Options{Target: target.H13, SplitKernel: i%3 == 0, Workers: 1, Place: passes.PlaceEngine},
		}
		if p.Exact {
			s.Inputs = difftest.Integers(p.IR, s.Seed, p.Top)
		}
		r, err := difftest.Disagreement(t.Context(), p.IR, s)
		if err == nil {
			err = difftest.Limited(r.Report)
		}
		if err != nil {
			t.Errorf("program %d, %s: %v", i, p.Steps, err)
		}
	}
}
