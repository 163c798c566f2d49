package sim_test

import (
	"bytes"
	"context"
	"sync"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// Prepared functions of one machine run at once, each with its own memory.
func TestPreparedConcurrently(t *testing.T) {
	g := irbuild.New(1)
	y := lstm(g, g.Op("relu", "x", g.Input(5, 2, 7)), 4) // on both units
	g.Output(g.Op("linear", "x", y, "weight", scaled(g, 4, 3, 4)), y)
	c, err := compilePair(g.Program(), compile.Options{Target: target.H13})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for w := range uint64(4) {
		in := c.inputs(w, nil)
		want, err := c.machine.Run(context.Background(), in, sim.Options{Numerics: numerics.ANE})
		if err != nil {
			t.Fatal(err)
		}
		p, _, outs := prepare(t, c.machine, in, sim.Options{Numerics: numerics.ANE})
		wg.Go(func() {
			for range 5 {
				if err := p.Run(context.Background()); err != nil {
					t.Error(err)
					return
				}
				for name, v := range want {
					if !bytes.Equal(outs[name][:len(v.Data)], v.Data) {
						t.Errorf("worker %d: output %q differs", w, name)
					}
				}
			}
		})
	}
	in := c.inputs(9, nil)
	for range 5 {
		if _, err := c.machine.Run(context.Background(), in, sim.Options{Numerics: numerics.ANE}); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
}

// FuzzPrepare checks that for any descriptor that loads, a prepared function does what Run does, on buffers that are
// bound to both input and output if they fit.
func FuzzPrepare(f *testing.F) {
	g := irbuild.New(1)
	x, y := g.Input(4, 8), g.Input(4, 8)
	z := g.Op("cast", "x", g.Op("add", "x", x, "y", y), "dtype", "fp32")
	g.Output(z, g.Op("sinh", "x", g.Op("relu", "x", y)), x)
	only := irbuild.New(1)
	v := only.Input(4, 8)
	w := only.Op("relu", "x", v)
	only.Output(w, only.Op("mul", "x", w, "y", v))
	var pairs []*compiled
	for _, g := range []*irbuild.Graph{g, only} {
		c, err := compilePair(g.Program(), compile.Options{Target: target.H13})
		if err != nil {
			f.Fatal(err)
		}
		pairs = append(pairs, c)
	}
	state, err := compilePair(counter(true), compile.Options{Target: target.H13})
	if err != nil {
		f.Fatal(err)
	}
	pairs = append(pairs, state)
	for i, c := range pairs {
		f.Add(uint8(i), c.e5)
	}
	f.Fuzz(func(t *testing.T, which uint8, descriptor []byte) {
		m, err := sim.Open(pair.Pair{Container: pairs[int(which)%len(pairs)].hwx, Descriptor: descriptor})
		if err != nil {
			return
		}
		total := int64(0)
		for _, p := range append(append(m.Inputs(), m.Outputs()...), m.States()...) {
			if n := p.Type.Bytes(); n < 0 || n > 1<<16 {
				return
			} else {
				total += n
			}
		}
		o := sim.Options{Numerics: numerics.ANE}
		p, err := m.Prepare(m.Functions()[0], o)
		if err != nil {
			return
		}
		in := map[string]interp.Tensor{}
		shared := sim.NewBuffer(nil)
		for i, port := range p.Inputs() {
			b := make([]byte, port.Type.Bytes())
			for k := range b {
				b[k] = byte(i+k) & 0x3b // finite in every type
			}
			in[port.Name] = interp.Tensor{Type: port.Type, Data: bytes.Clone(b)}
			buf := sim.NewBuffer(b)
			if i == 0 {
				shared = buf
			}
			if err := p.BindInput(port.Name, buf); err != nil {
				t.Fatal(err)
			}
		}
		outs := map[string]*sim.Buffer{}
		for i, port := range p.Outputs() {
			b := sim.NewBuffer(make([]byte, port.Type.Bytes()))
			if i == 0 && shared.Size() >= b.Size() {
				b = shared
			}
			outs[port.Name] = b
			if err := p.BindOutput(port.Name, b); err != nil {
				t.Fatal(err)
			}
		}
		for run := range 3 {
			want, wantErr := m.Run(context.Background(), in, o)
			if err := p.Run(context.Background()); (err == nil) != (wantErr == nil) {
				t.Fatalf("run %d: the prepared function says %v, Run says %v", run, err, wantErr)
			}
			if wantErr != nil {
				return
			}
			for name, v := range want {
				if got := outs[name].Read(); !bytes.Equal(got[:len(v.Data)], v.Data) {
					t.Errorf("run %d: output %q is %x, Run gives %x", run, name, got, v.Data)
				}
			}
			if ports := p.Inputs(); len(ports) > 0 { // the first output may have replaced it
				copy(in[ports[0].Name].Data, shared.Read())
			}
		}
	})
}
