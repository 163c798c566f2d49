package sim_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
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
	} -> (x);`), compile.Options{Target: target.H13})
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
	err = m.BindState("b", sim.NewBuffer(buf[:3]))
	if err == nil || !strings.Contains(err.Error(), "the buffer has 3") {
		t.Errorf("a buffer that is too small: %v", err)
	}
	if err := m.BindState("b", sim.NewBuffer(buf)); err != nil {
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

// casts is a Host that keeps the casts that ran.
type casts struct{ ran []string }

func (h *casts) Cast(_, from, to string) error {
	h.ran = append(h.ran, from+" -> "+to)
	return nil
}
func (h *casts) Bind(string, int64, int64) error { return nil }
func (h *casts) Return(string) error             { return nil }
func (h *casts) Compute(string, cost.Time) error { return nil }
func (h *casts) since() (ran []string)           { ran, h.ran = h.ran, nil; return ran }
func (h *casts) count(operand string) (count int) {
	return strings.Count(strings.Join(h.ran, " "), operand)
}

// A state is cast to the device when the host has set it and from it when the host reads it, and never between runs.
func TestStateStaysOnTheDevice(t *testing.T) {
	c, err := compilePair(counter(false), compile.Options{Target: target.H13})
	if err != nil {
		t.Fatal(err)
	}
	one, err := interp.FromFloats(ir.FP16, []float32{1, 2}, 2)
	if err != nil {
		t.Fatal(err)
	}
	m, h, d := c.machine, &casts{}, &sim.Recorder{M: c.machine}
	for _, o := range []sim.Options{{Host: h}, {Host: h, Dispatcher: d}} {
		m.Reset()
		run := func(loads int, y ...float32) {
			t.Helper()
			out, err := m.Run(t.Context(), map[string]interp.Tensor{"x": one}, o)
			if err != nil {
				t.Fatal(err)
			}
			if got := out[m.Outputs()[0].Name].Floats32(); !slices.Equal(got, y) {
				t.Errorf("the output is %v, want %v", got, y)
			}
			if n := h.count("total -> ") + h.count("-> total"); n != loads {
				t.Errorf("%d casts of the state, want %d: %q", n, loads, h.ran)
			}
			h.since()
		}
		run(1, 1, 2)
		run(0, 2, 4)
		run(0, 3, 6)
		held, err := m.State("total")
		if err != nil || !slices.Equal(held.Floats32(), []float32{3, 6}) {
			t.Errorf("the state is %v, %v", held.Floats32(), err)
		}
		run(0, 4, 8) // reading leaves it on the device
		if err := m.SetState("total", one); err != nil {
			t.Fatal(err)
		}
		run(1, 2, 4)
		d.Err = errors.New("stopped")
		if _, err := m.Run(t.Context(), map[string]interp.Tensor{"x": one}, o); o.Dispatcher != nil &&
			!errors.Is(err, d.Err) {
			t.Errorf("a run that fails: %v", err)
		}
		d.Err = nil
		h.since()
		if o.Dispatcher != nil {
			run(0, 3, 6) // what the run that failed read
		}
	}
}

// One buffer that is bound to an output and to the input that reads it back stays on the device, until it is bound
// elsewhere.
func TestBufferOfOutputAndInputStaysOnTheDevice(t *testing.T) {
	g := irbuild.New(1)
	x, y := g.Input(2), g.Input(2)
	g.Output(g.Op("add", "x", x, "y", y))
	c, err := compilePair(g.Program(), compile.Options{Target: target.H13})
	if err != nil {
		t.Fatal(err)
	}
	one, _ := interp.FromFloats(ir.FP16, []float32{1, 2}, 2)
	in := map[string]interp.Tensor{x.Name: one, y.Name: one}
	h := &casts{}
	p, _, outs := prepare(t, c.machine, in, sim.Options{Host: h})
	sum, out := sim.NewBuffer(bytes.Clone(one.Data)), p.Outputs()[0].Name
	run := func(b *sim.Buffer, casts int, want ...float32) {
		t.Helper()
		if err := p.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := (interp.Tensor{Type: one.Type, Data: b.Read()}).Floats32(); !slices.Equal(got, want) {
			t.Errorf("the buffer holds %v, want %v", got, want)
		}
		if ran := h.since(); len(ran) != casts {
			t.Errorf("%d casts, want %d: %q", len(ran), casts, ran)
		}
	}
	if err := errors.Join(p.BindInput(x.Name, sum), p.BindOutput(out, sum)); err != nil {
		t.Fatal(err)
	}
	run(sum, 2, 2, 4)
	run(sum, 1, 3, 6)
	copy(sum.Bytes(), one.Data) // from the host
	run(sum, 2, 2, 4)
	if err := p.BindInput(y.Name, sum); err != nil { // read twice
		t.Fatal(err)
	}
	run(sum, 2, 4, 8)
	run(sum, 0, 8, 16)
	other := sim.NewBuffer(outs[out][:4])
	if err := p.BindOutput(out, other); err != nil {
		t.Fatal(err)
	}
	run(other, 3, 16, 32)
	run(sum, 3, 8, 16)
}
