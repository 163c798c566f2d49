package coreml

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/difftest"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/internal/test/irgen"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// checkPlan reports what is wrong with a plan of any program.
func checkPlan(t *testing.T, p *Plan) {
	t.Helper()
	total := 0.0
	for i := range p.Rows {
		r := &p.Rows[i]
		total += r.Weight
		if !r.Supported.Has(r.Chosen) {
			t.Errorf("%s runs on %s, which does not support it", r.place(), r.Chosen)
		}
		for b := range NumBackends {
			if r.Supported.Has(b) && r.Reasons[b] != "" {
				t.Errorf("%s: %s supports it and says %q", r.place(), b, r.Reasons[b])
			}
			if !r.Supported.Has(b) && !math.IsNaN(r.Estimates[b]) {
				t.Errorf("%s: %s does not support it and has an estimate", r.place(), b)
			}
		}
	}
	if len(p.Rows) > 0 && total != 0 && math.Abs(total-1) > 1e-6 {
		t.Errorf("the weights add up to %g", total)
	}
	if n := p.OnEngine() + p.count(CPU) + p.count(GPUDevice); n != p.Own() {
		t.Errorf("%d operations on devices, %d in all", n, p.Own())
	}
	if _, err := json.Marshal(NewDocument("m", []*Plan{p})); err != nil {
		t.Error(err)
	}
}

// TestRandomProgramsHaveForecasts forecasts generated programs of all operations, opsets and flexible shapes, for all
// units and rules, and checks that the source program is not changed.
func TestRandomProgramsHaveForecasts(t *testing.T) {
	reached := map[*ir.Operation]bool{}
	limits := difftest.LimitsOf(target.H13)
	printed := func(p *ir.Program) string {
		var b strings.Builder
		if err := ir.Print(&b, p); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for n := range uint64(400) {
		p := irgen.Random(n, limits)
		before := printed(p.IR)
		for _, f := range p.IR.Funcs {
			ir.Walk(f, func(op *ir.Op) { reached[op.Def.Operation] = true })
			o := Options{Func: f.Name, Units: AllUnits[n%uint64(len(AllUnits))]}
			o.Rules, _ = Named(Names()[n/4%2])
			plan, err := Forecast(t.Context(), p.IR, o)
			if err != nil {
				t.Fatalf("program %d: %v", n, err)
			}
			checkPlan(t, plan)
		}
		if after := printed(p.IR); after != before {
			t.Fatalf("program %d was changed", n)
		}
	}
	t.Logf("%d operations of %d", len(reached), len(ir.Operations))
}

// TestControlFlowIsForecast checks nested blocks: the operation that has them is on the CPU, its blocks' operations
// follow it, each block with a way of its own.
func TestControlFlowIsForecast(t *testing.T) {
	g := irbuild.New(1)
	pred := g.InputOf(ir.Bool)
	x := g.Input(1, 1024, 1024)
	then := g.Block(nil, func([]*ir.Value) []*ir.Value { return g.All("matmul", "x", x, "y", x) })
	other := g.Block(nil, func([]*ir.Value) []*ir.Value { return []*ir.Value{x} })
	vs, err := g.TryBlocks("cond", []*ir.Block{then, other}, "pred", pred)
	if err != nil {
		t.Fatal(err)
	}
	g.Output(vs...)
	plan, err := Forecast(t.Context(), g.Program(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkPlan(t, plan)
	kinds := []string{}
	for i := range plan.Rows {
		kinds = append(kinds, plan.Rows[i].Operator()+" "+plan.Rows[i].Chosen.Device().Word())
	}
	if want := []string{"cond CPU", "matmul engine"}; !slices.Equal(kinds, want) {
		t.Errorf("operations %v, want %v", kinds, want)
	}
}
