package difftest_test

import (
	"context"
	"math"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/internal/test/difftest"
	"github.com/zinc-compiler/zinc/internal/testform"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// TestAutoIsNeverSlower estimates generated programs in all places.
func TestAutoIsNeverSlower(t *testing.T) {
	better := 0
	for k := range uint64(testform.Of(few/20, few/4, 10*few)) {
		p, s := difftest.Trial(*randomFirst+k, target.H13)
		total := func(place string) (cost.Time, error) {
			o := s.Compile
			o.Place = place
			var r *compile.Report
			to := compile.Sink{Estimate: compile.To(&r)}
			if err := compile.Compile(context.Background(), ir.CloneProgram(p.IR), o, to); err != nil {
				return math.MaxInt64, err
			}
			return r.CallTime(), nil
		}
		compute, no := total(passes.PlaceCompute)
		engine, _ := total(passes.PlaceEngine) // may exceed a limit that compute does not
		auto, err := total(passes.PlaceAuto)
		if err != nil && no == nil {
			t.Errorf("program %d: auto: %v", k, err)
		}
		if auto > min(compute, engine) {
			t.Errorf("program %d: %s us with auto, %s with compute, %s with engine", k, auto, compute, engine)
		}
		if auto < min(compute, engine) {
			better++
		}
	}
	if better == 0 {
		t.Error("no program is faster by auto")
	}
}
