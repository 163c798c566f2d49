package sim_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// Two states change places and the old value of one is an output: no value is the
// other's new one, and what a run returned stays when the next run writes the states,
// wherever their memory is.
func TestStatesExchangeInPlace(t *testing.T) {
	c, err := compilePair(milProgram(`func main<ios18>(state<tensor<fp16, [2]>> a, state<tensor<fp16, [2]>> b) {
	tensor<fp16, [2]> x = read_state(input = a);
	tensor<fp16, [2]> y = read_state(input = b);
	write_state(input = a, data = y);
	write_state(input = b, data = x);
	} -> (x);`), compile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := c.machine
	is := func(what string, got interp.Tensor, want ...float32) {
		t.Helper()
		if vs := got.Floats32(); !slices.Equal(vs, want) {
			t.Errorf("%s is %v, want %v", what, vs, want)
		}
	}
	set := func(name string, vs ...float32) {
		t.Helper()
		x, err := interp.FromFloats(ir.FP16, vs, 2)
		if err == nil {
			err = m.SetState(name, x)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	held := func(name string) interp.Tensor {
		t.Helper()
		x, err := m.State(name)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	run := func() interp.Tensor {
		t.Helper()
		out, err := m.Run(t.Context(), nil, sim.Options{Numerics: numerics.ANE})
		if err != nil {
			t.Fatal(err)
		}
		return out[m.Outputs()[0].Name]
	}
	set("a", 1, 2)
	set("b", 3, 4)
	first := run()
	is("a after a run", held("a"), 3, 4)
	is("b after a run", held("b"), 1, 2)
	before := held("b")
	buf := make([]byte, 7)
	if err := m.BindState("b", buf[:3]); err == nil || !strings.Contains(err.Error(), "the buffer has 3") {
		t.Errorf("a buffer that is too small: %v", err)
	}
	if err := m.BindState("b", buf); err != nil {
		t.Fatal(err)
	}
	is("b in a buffer", held("b"), 1, 2)
	is("the second output", run(), 3, 4)
	is("the first output after the second run", first, 1, 2)
	is("b as it was read", before, 1, 2)
	is("the buffer of b", interp.Tensor{Type: before.Type, Data: buf[:4]}, 3, 4)
	if buf[4] != 0 || buf[5] != 0 || buf[6] != 0 {
		t.Errorf("the buffer is %x", buf)
	}
	m.Reset()
	is("a after Reset", held("a"), 0, 0)
	is("the buffer of b after Reset", interp.Tensor{Type: before.Type, Data: buf[:4]}, 0, 0)
}
