package stack_test

import (
	"context"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/stack"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
	"github.com/zinc-compiler/zinc/target"
)

// sums returns a model that adds n tensors and returns every tenth partial sum. Its tensors are more than a procedure
// has buffer-access registers, and later procedures read partial sums of all earlier ones.
func sums(n int) *irbuild.Graph {
	g := irbuild.New(17)
	sum := g.Input(1, 8, 4, 64)
	for i := 1; i < n; i++ {
		sum = g.Op("add", "x", sum, "y", g.Input(1, 8, 4, 64))
		if i%10 == 0 {
			g.Output(sum)
		}
	}
	g.Output(sum)
	return g
}

// chained returns the pair of a sum of n tensors, and the compilation.
func chained(t *testing.T, n int) (pair.Pair, *compile.Result) {
	t.Helper()
	r, err := compile.All(t.Context(), sums(n).Program(),
		compile.Options{Target: target.H13, Place: passes.PlaceEngine})
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Pair()
	if err != nil {
		t.Fatal(err)
	}
	return p, r
}

// TestProceduresOfOneChainAreOneSubmission runs a model of several procedures: the host posts one inference call, with
// one doorbell and one completion, and the firmware runs its sub-packets one after another. The outputs equal the
// outputs of the engine driven directly, and the time equals the estimate.
func TestProceduresOfOneChainAreOneSubmission(t *testing.T) {
	p, r := chained(t, 64)
	procedures := r.Report.Dispatches
	if chains := r.E5.Functions[0].Chains(); procedures < 3 || len(chains) != 1 {
		t.Fatalf("%d procedures in %d chains, want at least 3 in 1", procedures, len(chains))
	}
	events := &trace.Recording{MaxData: 1}
	s, process := machine(t, stack.Options{Trace: events.Tracer()})
	m := load(t, process, p)
	direct, err := sim.Open(p)
	if err != nil {
		t.Fatal(err)
	}
	for step := range 2 {
		in := inputs(t, direct, uint64(step+1))
		want, err := direct.Run(t.Context(), in, sim.Options{Numerics: numerics.ANE})
		if err != nil {
			t.Fatal(err)
		}
		before := len(events.Events)
		got, err := m.Run(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "outputs", got, want)
		onTime(t, direct.Function(), r.Report, m.Spent())
		seen := map[string]int{}
		for _, e := range events.Events[before:] {
			if e.Phase != trace.End {
				seen[e.Name]++
			}
		}
		if step == 0 {
			continue // the program is loaded in this run
		}
		for name, want := range map[string]int{
			"post CSNE_CMD_INFERENCE_CALL":       1,
			"post CSNE_CMD_PROCEDURE_CALL":       0,
			"ANEHWDevice::doorBellRing":          1,
			"CANE_SUB_PACKET_CMD_PROCEDURE_CALL": procedures,
			"EXEC":                               procedures,
			"interrupt":                          2,
			cost.Bind.String():                   1,
		} {
			if seen[name] != want {
				t.Errorf("%d events %q, want %d", seen[name], name, want)
			}
		}
	}
	if n := s.Device.Recoveries(); n != 0 {
		t.Errorf("%d recoveries without a fault", n)
	}
}

// TestChainsFitASubmission checks that the descriptor's limits of a chain are within the protocol's.
func TestChainsFitASubmission(t *testing.T) {
	if e5.MaxChain > protocol.MaxSubPackets || e5.MaxChainPorts > protocol.MaxProgramBars {
		t.Errorf("a chain has up to %d inferences with %d ports, a submission %d and %d", e5.MaxChain, e5.MaxChainPorts,
			protocol.MaxSubPackets, protocol.MaxProgramBars)
	}
}
