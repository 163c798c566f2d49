package sim_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/frontend/mil/build"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// prepare binds buffers to all ports: inputs that hold in, and empty outputs.
func prepare(t testing.TB, m *sim.Machine, in map[string]interp.Tensor, o sim.Options) (p *sim.Prepared, ins,
	outs map[string][]byte) {
	t.Helper()
	p, err := m.Prepare(m.Functions()[0], o)
	if err != nil {
		t.Fatal(err)
	}
	ins, outs = map[string][]byte{}, map[string][]byte{}
	for _, port := range p.Inputs() {
		b := bytes.Clone(in[port.Name].Data)
		ins[port.Name] = b
		if err := p.BindInput(port.Name, sim.NewBuffer(b)); err != nil {
			t.Fatal(err)
		}
	}
	for _, port := range p.Outputs() {
		b := make([]byte, port.Type.Bytes()+3) // more than is needed
		outs[port.Name] = b
		if err := p.BindOutput(port.Name, sim.NewBuffer(b)); err != nil {
			t.Fatal(err)
		}
	}
	return p, ins, outs
}

// A prepared function returns what Run returns, every time, for every kind of chain.
func TestPreparedRunsEqualPlainOnes(t *testing.T) {
	for i, s := range []sample{
		{name: "convolutions", build: func(g *irbuild.Graph) {
			x := g.Input(1, 16, 10, 11)
			y := g.Op("relu", "x", g.Op("conv", "x", x, "weight", scaled(g, 144, 16, 16, 3, 3), "pad_type", "same"))
			g.Output(g.Op("add", "x", x, "y", y), g.Op("reduce_mean", "x", y, "axes", []int{2, 3}, "keep_dims", false))
		}},
		{name: "attention", build: func(g *irbuild.Graph) { g.Output(attention(g, g.Input(37, 48), 3)) }},
		{name: "fp32", build: func(g *irbuild.Graph) {
			y := g.Op("cast", "x", g.InputOf(ir.FP32, 3, 40), "dtype", "fp16")
			z := g.Op("relu", "x", y)
			g.Output(g.Op("cast", "x", z, "dtype", "fp32"), z, y)
		}},
		{name: "engine, CPU, engine", build: func(g *irbuild.Graph) {
			y := lstm(g, g.Op("relu", "x", g.Input(5, 2, 7)), 4)
			g.Output(g.Op("linear", "x", y, "weight", scaled(g, 4, 3, 4)), y)
		}},
		{name: "several procedures", build: func(g *irbuild.Graph) {
			x := g.Input(4, 33)
			for range 3 {
				x = g.Op("sinh", "x", g.Op("tanh", "x", x))
			}
			g.Output(x)
		}},
		{name: "an input is an output", build: func(g *irbuild.Graph) {
			x := g.Input(3, 5)
			g.Output(g.Op("relu", "x", x), x, g.Weights(2))
		}},
		{name: "no operation", build: func(g *irbuild.Graph) { g.Output(g.Input(3, 5)) }},
	} {
		t.Run(s.name, func(t *testing.T) {
			g := irbuild.New(uint64(i))
			s.build(g)
			c, err := compilePair(g.Program(), compile.Options{Target: target.H13})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range []sim.Dispatcher{nil, &sim.Recorder{M: c.machine}} {
				o := sim.Options{Numerics: numerics.ANE, Dispatcher: d}
				p, ins, outs := prepare(t, c.machine, c.inputs(1, nil), o)
				for seed := range uint64(3) {
					in := c.inputs(seed, nil)
					want, err := c.machine.Run(context.Background(), in, sim.Options{Numerics: numerics.ANE})
					if err != nil {
						t.Fatal(err)
					}
					for name, v := range in {
						copy(ins[name], v.Data)
					}
					if err := p.Run(context.Background()); err != nil {
						t.Fatal(err)
					}
					for name, v := range want {
						if n := len(v.Data); !bytes.Equal(outs[name][:n], v.Data) || !bytes.Equal(outs[name][n:],
							[]byte{0, 0, 0}) {
							t.Errorf("seed %d: output %q is not what Run gives", seed, name)
						}
					}
					for name, v := range in {
						if !bytes.Equal(ins[name], v.Data) {
							t.Errorf("seed %d: input %q was written", seed, name)
						}
					}
				}
			}
		})
	}
}

// A buffer that an output shares with an input is read before it is written,
// whichever operation of the chain comes first; a run that fails leaves it.
func TestPreparedInPlace(t *testing.T) {
	g := irbuild.New(1)
	x, y := g.Input(4, 8), g.Input(4, 8)
	a := g.Op("add", "x", x, "y", 1.0)                                   // an output that could be written early
	b := g.Op("sinh", "x", g.Op("relu", "x", y))                         // on the CPU
	g.Output(a, g.Op("sub", "x", g.Op("add", "x", b, "y", x), "y", 2.0)) // reads x late
	engineOnly := irbuild.New(1)
	v, w := engineOnly.Input(4, 8), engineOnly.Input(4, 8)
	engineOnly.Output(engineOnly.Op("add", "x", v, "y", 1.0), engineOnly.Op("sub", "x", w, "y", v), w)
	for _, g := range []*irbuild.Graph{g, engineOnly} {
		c, err := compilePair(g.Program(), compile.Options{Target: target.H13})
		if err != nil {
			t.Fatal(err)
		}
		in := c.inputs(3, nil)
		d := &sim.Recorder{M: c.machine}
		p, _, outs := prepare(t, c.machine, in, sim.Options{Numerics: numerics.ANE, Dispatcher: d})
		names := p.Inputs()
		var bufs [2]*sim.Buffer
		for k := range bufs {
			bufs[k] = sim.NewBuffer(bytes.Clone(in[names[k].Name].Data))
		}
		for k, n := range names {
			if err := errors.Join(p.BindInput(n.Name, bufs[k]), p.BindOutput(p.Outputs()[k].Name,
				bufs[k])); err != nil {
				t.Fatal(err)
			}
		}
		for run := range 3 {
			before := map[string]interp.Tensor{}
			for k, n := range names {
				before[n.Name] = interp.Tensor{Type: n.Type, Data: bytes.Clone(bufs[k].Bytes())}
			}
			d.Err = errors.New("stopped")
			if err := p.Run(context.Background()); !errors.Is(err, d.Err) {
				t.Fatalf("a run that fails: %v", err)
			}
			for k, n := range names {
				if !bytes.Equal(bufs[k].Bytes(), before[n.Name].Data) {
					t.Errorf("run %d: a run that failed wrote to %q", run, n.Name)
				}
			}
			d.Err = nil
			want, err := c.machine.Run(context.Background(), before, sim.Options{Numerics: numerics.ANE})
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			for k, o := range p.Outputs() {
				got := outs[o.Name][:o.Type.Bytes()]
				if k < 2 {
					got = bufs[k].Bytes()
				}
				if !bytes.Equal(got, want[o.Name].Data) {
					t.Errorf("run %d: output %q is not what Run gives", run, o.Name)
				}
			}
		}
		if err := p.BindOutput(p.Outputs()[1].Name, bufs[0]); err != nil {
			t.Fatal(err)
		}
		if err := p.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "share bytes") {
			t.Errorf("two outputs in one buffer: %v", err)
		}
	}
}

// States are in bound buffers or are kept by the function.
func TestPreparedStates(t *testing.T) {
	for _, cpu := range []bool{false, true} {
		c, err := compilePair(counter(cpu), compile.Options{Target: target.H13})
		if err != nil {
			t.Fatal(err)
		}
		one, _ := interp.FromFloats(ir.FP16, []float32{1, 2}, 2)
		in := map[string]interp.Tensor{"x": one}
		p, _, outs := prepare(t, c.machine, in, sim.Options{Numerics: numerics.ANE})
		state := sim.NewBuffer(bytes.Clone(one.Data))
		for i := range 6 {
			if i == 3 {
				if err := p.BindState("total", state); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			want := float32(i + 1)
			if i >= 3 {
				want = float32(i - 1)
				if got := (interp.Tensor{Type: one.Type, Data: state.Bytes()}).Floats32()[0]; got != want {
					t.Errorf("run %d: the buffer of the state holds %g, want %g", i, got, want)
				}
			}
			if got := (interp.Tensor{Type: one.Type, Data: outs["y"][:4]}).Floats32()[0]; got != want {
				t.Errorf("run %d gives %g, want %g", i, got, want)
			}
		}
	}
}

// counter adds its input to its state; also on the CPU, if wanted.
func counter(cpu bool) *ir.Program {
	body := "tensor<fp16, [2]> y = relu(x = sum);"
	if cpu {
		body = "tensor<fp16, [2]> y = mod(x = sum, y = fp16(8192));"
	}
	return milProgram(`func main<ios18>(tensor<fp16, [2]> x, state<tensor<fp16, [2]>> total) {
	tensor<fp16, [2]> old = read_state(input = total);
	tensor<fp16, [2]> sum = add(x = old, y = x);
	write_state(input = total, data = sum);
	` + body + `
	} -> (y);`)
}

func TestPreparedRefusals(t *testing.T) {
	g := irbuild.New(1)
	g.Output(g.Op("relu", "x", g.Input(3, 5)))
	c, err := compilePair(g.Program(), compile.Options{Target: target.H13})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.machine.Prepare("other", sim.Options{Numerics: numerics.ANE}); err == nil {
		t.Error("a function that is not there was prepared")
	}
	p, err := c.machine.Prepare(c.machine.Functions()[0], sim.Options{Numerics: numerics.ANE})
	if err != nil {
		t.Fatal(err)
	}
	in, out := p.Inputs()[0].Name, p.Outputs()[0].Name
	for want, err := range map[string]error{
		"has no buffer":  p.Run(context.Background()),
		"the buffer has": p.BindInput(in, sim.NewBuffer(make([]byte, 29))),
		"has no input":   p.BindInput(out, sim.NewBuffer(make([]byte, 30))),
		"has no state":   p.BindState(in, sim.NewBuffer(make([]byte, 30))),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want one with %q", err, want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := errors.Join(p.BindInput(in, sim.NewBuffer(make([]byte, 30))),
		p.BindOutput(out, sim.NewBuffer(make([]byte, 30)))); err != nil {
		t.Fatal(err)
	}
	if err := p.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a run that was cancelled: %v", err)
	}
}

// milProgram builds the IR of MIL functions.
func milProgram(funcs string) *ir.Program {
	tree, list := mil.Parse("test.mil", []byte("program(1.3)\n{\n"+funcs+"\n}\n"))
	if err := list.Err(); err != nil {
		panic(err)
	}
	p, list := build.Program(tree, nil, build.Options{})
	if err := list.Err(); err != nil {
		panic(err)
	}
	return p
}
