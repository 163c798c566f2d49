package sim_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// What a Dispatcher computes in place is what Run returns; it is passed every port of the procedures, and the same
// memory from run to run.
func TestDispatcherRunsEveryInference(t *testing.T) {
	g := irbuild.New(1)
	x := g.Input(4, 33)
	for range 3 { // the engine has no sinh: three procedures
		x = g.Op("sinh", "x", g.Op("tanh", "x", x))
	}
	g.Output(x, g.Op("abs", "x", x))
	c, err := compilePair(g.Program(), compile.Options{Target: target.H13})
	if err != nil {
		t.Fatal(err)
	}
	in, ctx := c.inputs(1, nil), context.Background()
	want, err := c.machine.Run(ctx, in, sim.Options{Numerics: numerics.ANE})
	if err != nil {
		t.Fatal(err)
	}
	d := &sim.Recorder{M: c.machine}
	for range 3 {
		got, err := c.machine.Run(ctx, in, sim.Options{Numerics: numerics.ANE, Dispatcher: d})
		if err != nil {
			t.Fatal(err)
		}
		if !maps.EqualFunc(got, want, interp.Tensor.Equal) {
			t.Error("the outputs are not those of the engine that Run drives itself")
		}
	}
	n := len(d.First) / 3
	if n < 3 || len(d.First) != 3*n {
		t.Fatalf("%d dispatches in three runs of several procedures", len(d.First))
	}
	ports := map[string]bool{}
	for i, first := range d.First {
		if !maps.Equal(first, d.First[i%n]) {
			t.Errorf("dispatch %d: the surfaces moved", i)
		}
		for port := range first {
			ports[port] = true
		}
	}
	if got, want := slices.Sorted(maps.Keys(ports)), c.machine.PortNames(); !slices.Equal(got, want) {
		t.Errorf("given ports %q, the procedures have %q", got, want)
	}
	d.Err = errors.New("no engine")
	if _, err := c.machine.Run(ctx, in, sim.Options{Numerics: numerics.ANE, Dispatcher: d}); !errors.Is(err, d.Err) {
		t.Errorf("a Dispatcher that fails: %v", err)
	}
}
