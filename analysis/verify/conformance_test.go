package verify

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/analysis/prove"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/runtime/sim/interp/conformance"
	"github.com/zinc-compiler/zinc/target"
)

// leastEngineShare is the percentage of cases with a native operation that must run entirely on the engine and be
// right; leastShortShare is the share in the quarter that a short test runs.
const leastEngineShare, leastShortShare = 94.3, 94.0

// engineDepartures are the tests that require more precision than fp16 or a table of the engine has, by name prefix.
var engineDepartures = map[string]string{
	"exp-supplement-TestUnary.values-":               "results past 65504 are infinite",
	"exp2-supplement-TestUnary.values-":              "results past 65504 are infinite",
	"gelu-iOS14-TestGeLU.builder_to_backend_stress-": "the lookup table of gelu is off by up to 6e-3 near 0",
}

func engineDeparture(name string) string {
	for prefix, why := range engineDepartures {
		if strings.HasPrefix(name, prefix) {
			return why
		}
	}
	return ""
}

// engineScore counts the cases with an operation that the hardware runs.
type engineScore struct {
	cases, native, engine, right int
	// pure counts the native cases in which the hardware runs every operation, pureRight those that are right on the
	// engine.
	pure, pureRight int
	why             map[string]int // misses by verdict
}

// TestConformanceOnTheEngine compiles the conformance cases in fp16, with every operation that the engine supports
// placed there, and runs the pairs. A case that runs entirely on the engine must return the expected values within the
// precision of fp16. The test logs the share of cases with a native operation that do, and each miss with its verdict
// (`make conformance-engine`).
func TestConformanceOnTheEngine(t *testing.T) {
	s := engineScore{why: map[string]int{}}
	for i, dir := range conformance.Dirs(t) {
		if testing.Short() && i%4 != 0 {
			continue
		}
		if err := s.run(t, dir); err != nil {
			t.Errorf("%s: %v", filepath.Base(dir), err)
		}
	}
	share := 100 * float64(s.right) / float64(s.native)
	t.Logf("%d cases, %d with a native operation; %d of these run entirely on the engine, %d of them right: %.1f %%",
		s.cases, s.native, s.engine, s.right, share)
	least := leastEngineShare
	if testing.Short() {
		least = leastShortShare
	}
	if share < least {
		t.Errorf("%.1f %% of cases with a native operation are right on the engine, want %.1f %%", share, least)
	}
	t.Logf("%d of the native cases have no operation that the hardware lacks; %d of these are right on the engine: "+
		"%.1f %%",
		s.pure, s.pureRight, 100*float64(s.pureRight)/float64(s.pure))
	for _, v := range []target.Verdict{target.HardwareCannot, target.ZincCannotYet, target.NotWorthIt} {
		t.Logf("%4d misses: %s", s.why[string(v)], v)
	}
}

// run compiles and runs one case. It returns an error if the compilation fails, or if a case that runs entirely on the
// engine returns wrong values.
func (s *engineScore) run(t *testing.T, dir string) error {
	c, err := conformance.Read(dir)
	if err != nil {
		return err
	}
	if !c.Trusted() {
		return nil
	}
	s.cases++
	m, err := frontend.Open(dir, frontend.Options{})
	if err != nil {
		return err
	}
	defer m.Close()
	native, lacking := false, false
	ir.Walk(m.Program.Funcs[0], func(op *ir.Op) {
		on := op.Def.Native[target.H13.Family.Generation()]
		native = native || on == ir.Native
		lacking = lacking || on == ir.Gated || on == ir.None
	})
	if !native {
		return nil
	}
	s.native++
	if !lacking {
		s.pure++
	}
	name := filepath.Base(dir)
	r, err := compile.All(context.Background(), m.Program, compile.Options{
		Target:    target.H13,
		Precision: "fp16",
		Place:     passes.PlaceEngine,
		InputName: "model.mil",
	})
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(r.Report.Ops, func(o compile.OpReport) bool { return o.Unit == ir.CPU.String() }); i >= 0 {
		o := firstMiss(r.Report.Ops)
		s.why[string(o.Refusal.Verdict)]++
		t.Logf("%s runs on the CPU: %s, %s (%s): %s", name, o.Op, o.Refusal.Verdict, o.Refusal.Rule, o.Reason)
		return nil
	}
	s.engine++
	proof, err := Prove(context.Background(), r, prove.Options{Seed: 1})
	if err != nil {
		return err
	}
	if err := proof.Err(); err != nil {
		return err
	}
	if err := execute(c, r); err != nil {
		if why := engineDeparture(name); why != "" {
			t.Logf("%s runs on the engine and differs as expected: %v (%s)", name, err, why)
			return nil
		}
		return fmt.Errorf("runs on the engine and is wrong: %w", err)
	}
	s.right++
	if !lacking {
		s.pureRight++
	}
	return nil
}

// firstMiss returns the first operation that is on the CPU because of a limit of its own, or, if all of them are there
// because a dispatch is not worthwhile, the first of those.
func firstMiss(ops []compile.OpReport) *compile.OpReport {
	var first *compile.OpReport
	for i := range ops {
		o := &ops[i]
		if o.Unit != ir.CPU.String() {
			continue
		}
		if o.Refusal.Verdict != target.NotWorthIt {
			return o
		}
		if first == nil {
			first = o
		}
	}
	return first
}

// execute runs the first prediction of a case, with states of zeros, and compares the results. The tolerance is the
// case's or, if larger, fp16's at the magnitude of the tensor.
func execute(c *conformance.Case, r *compile.Result) error {
	m, err := Open(r)
	if err != nil {
		return err
	}
	in, err := c.Input()
	if err != nil {
		return err
	}
	got, err := m.Run(context.Background(), in, sim.Options{Numerics: numerics.ANE})
	if err != nil {
		return err
	}
	return c.Compare(0, got, func(want interp.Tensor) (atol, rtol float64) {
		top := 1.0
		for _, w := range want.Const().Floats() {
			if !math.IsInf(w, 0) && w == w {
				top = max(top, math.Abs(w))
			}
		}
		return max(c.Tolerance.Atol, 2e-3*top), max(c.Tolerance.Rtol, 1e-2)
	})
}
