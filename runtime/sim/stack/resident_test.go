package stack_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/runtime/sim/stack"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
	"github.com/zinc-compiler/zinc/target"
)

// posted counts the events of a recording by name.
func posted(events *trace.Recording, name string) (n int) {
	for _, e := range events.Events {
		if e.Name == "post CSNE_CMD_"+name {
			n++
		}
	}
	return n
}

// exchanging returns the pair of two accumulators of one size, where each reads what the other has: a1 = b0 + x and b1
// = a0 * 2. Its outputs and inputs of one place do not feed each other.
func exchanging(t *testing.T) pair.Pair {
	t.Helper()
	g := irbuild.New(3)
	x, a, b := g.Input(1, 8, 4, 32), g.Input(1, 8, 4, 32), g.Input(1, 8, 4, 32)
	g.Output(g.Op("mul", "x", a, "y", 2.0), g.Op("add", "x", b, "y", x), g.Op("add", "x", a, "y", b))
	r, err := compile.All(t.Context(), g.Program(), compile.Options{Target: target.H13, Place: passes.PlaceEngine})
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Pair()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestStepsWithResidentValuesAreTriggers keeps two outputs as inputs over eight steps: one request is installed, and
// every later step is a trigger. The values equal the values of calls, whatever comes between the steps: a value of the
// host, or power off, after which the request is installed again.
func TestStepsWithResidentValuesAreTriggers(t *testing.T) {
	p := exchanging(t)
	direct, err := sim.Open(p)
	if err != nil {
		t.Fatal(err)
	}
	in, out := direct.Inputs(), direct.Outputs()
	for _, noChaining := range []bool{false, true} {
		events := &trace.Recording{MaxData: 1}
		s, err := stack.New(stack.Options{Target: target.H13, Trace: events.Tracer(), NoChaining: noChaining})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		process, err := s.Connect(stack.Application(7), 0)
		if err != nil {
			t.Fatal(err)
		}
		machine, err := sim.Open(p)
		if err != nil {
			t.Fatal(err)
		}
		m, err := process.Load(t.Context(), machine)
		if err != nil {
			t.Fatal(err)
		}
		// The first output, 2a, becomes b, and the second, b + x, becomes a.
		for k, input := range []string{in[2].Name, in[1].Name} {
			if err := m.Keep(out[k].Name, input); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Keep(out[2].Name, in[1].Name); err == nil {
			t.Error("an input is bound to two outputs")
		}
		fill := func(v float32) interp.Tensor {
			x, err := interp.FromFloats(ir.FP16, slices.Repeat([]float32{v}, 8*4*32), 1, 8, 4, 32)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		a, b := fill(0), fill(0)
		for step := range 8 {
			inputs := map[string]interp.Tensor{in[0].Name: fill(float32(step + 1))}
			switch step {
			case 4:
				a = fill(5)
				inputs[in[1].Name] = a
			case 6:
				if err := s.Device.Sleep(); err != nil {
					t.Fatal(err)
				}
			}
			got, err := m.Run(t.Context(), inputs)
			if err != nil {
				t.Fatal(err)
			}
			want, err := direct.Run(t.Context(), map[string]interp.Tensor{
				in[0].Name: inputs[in[0].Name], in[1].Name: a, in[2].Name: b,
			}, sim.Options{Numerics: numerics.ANE})
			if err != nil {
				t.Fatal(err)
			}
			b, a = want[out[0].Name], want[out[1].Name]
			if len(got) != 1 || !got[out[2].Name].Equal(want[out[2].Name]) {
				t.Errorf("step %d: other values than a call's", step)
			}
		}
		if saved := m.Spent().Chained(); (saved > 0) == noChaining {
			t.Errorf("no chaining %v: the last step saved %v us", noChaining, saved)
		}
		if kept, err := m.Kept(t.Context(), in[1].Name); err != nil || !kept.Equal(a) {
			t.Errorf("the value after the last step: %v", err)
		}
		if _, err := m.Kept(t.Context(), in[0].Name); err == nil {
			t.Error("an input that is not bound has a value")
		}
		counted := len(events.Events)
		// While a secure tenant owns the engine, no step of another client runs.
		tenant, err := s.NewProber(p.Container, "prober", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		inputs := map[string]interp.Tensor{in[0].Name: fill(1)}
		for _, c := range []string{"SECURE_MODE_START", "SECURE_MODE_STOP"} {
			if _, err := tenant.Send(command(c)); err != nil {
				t.Fatal(err)
			}
			_, err := m.Run(t.Context(), inputs)
			refused := err != nil && strings.Contains(err.Error(), "secure tenant")
			if refused != (c == "SECURE_MODE_START") {
				t.Errorf("a step after %s: %v", c, err)
			}
		}
		events.Events = events.Events[:counted]
		if err := tenant.Close(); err != nil {
			t.Error(err)
		}
		// The first step is a call. One request is installed, and another after power off. The value that the host sets
		// goes to the buffer that the next step reads.
		want := []int{1, 2, 7}
		if noChaining {
			want = []int{8, 0, 0}
		}
		n := []int{posted(events, "PROCEDURE_CALL"), posted(events, "PROCEDURE_CALL_CACHE_REQUEST"),
			posted(events, "PROCEDURE_CALL_TRIGGER_CACHE_REQUEST")}
		if !slices.Equal(n, want) {
			t.Errorf("%d calls, %d installs, %d triggers, want %v", n[0], n[1], n[2], want)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		if err := process.Close(); err != nil {
			t.Error(err)
		}
	}
}
