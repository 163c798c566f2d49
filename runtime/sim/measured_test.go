package sim_test

import (
	"math"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// TestMeasured compares the engine, in compiled programs, and the interpreter in the default mode with what was
// measured on the engine.
func TestMeasured(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	triples := func(b float64) (v []float64) {
		for range 16 {
			v = append(v, b, -b, 1)
		}
		return v
	}
	long := []float64{4096}
	for range 1024 {
		long = append(long, 1)
	}
	// sum is a convolution with coefficients of one.
	sum := func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		n := x.Type.Shape[1]
		w := g.Filled(ir.FP16, func(int64) float64 { return 1 }, 4, n, 1, 1)
		return g.Op("conv", "x", x, "weight", w)
	}
	op := func(name string, args ...any) func(*irbuild.Graph, *ir.Value) *ir.Value {
		return func(g *irbuild.Graph, x *ir.Value) *ir.Value { return g.Op(name, append([]any{"x", x}, args...)...) }
	}
	// widthSlice takes elements from 1 on; the sum with zero makes it worth a dispatch.
	widthSlice := func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		n := x.Type.Shape[3]
		part := g.Op("slice_by_index", "x", x, "begin", []int{0, 0, 0, 1}, "end", []int{1, 1, 1, int(n)})
		return g.Op("add", "x", part, "y", part)
	}
	for _, c := range []struct {
		name  string
		build func(*irbuild.Graph, *ir.Value) *ir.Value
		wide  bool // the numbers are the width, not the channels
		in    []float64
		want  []float64 // the first results
	}{
		{name: "triples of 1024", build: sum, in: triples(1024), want: []float64{16}},
		{name: "triples of 3000", build: sum, in: triples(3000), want: []float64{16}},
		{name: "triples of 4090", build: sum, in: triples(4090), want: []float64{16}},
		{name: "triples of 4096", build: sum, in: triples(4096), want: []float64{4}},
		{name: "triples of 8000", build: sum, in: triples(8000), want: []float64{4}},
		{name: "triples of 16000", build: sum, in: triples(16000), want: []float64{4}},
		{name: "triples of 30000", build: sum, in: triples(30000), want: []float64{4}},
		{name: "4096 and 1024 ones", build: sum, in: long, want: []float64{5116}},
		{name: "a running value past 32768", build: sum, in: []float64{20000, 14000, 0, 0, -30000, 0, 0, 0},
			want: []float64{inf}},
		{name: "32752 passes", build: sum, in: []float64{32752, 0}, want: []float64{32752}},
		{name: "32768 does not", build: sum, in: []float64{32752, 16}, want: []float64{inf}},
		{name: "nor -32768", build: sum, in: []float64{-32752, -16}, want: []float64{-inf}},
		{name: "infinities that cancel", build: sum, in: []float64{inf, -inf, 1}, want: []float64{1}},
		{name: "NaN is infinity", build: sum, in: []float64{nan, 1}, want: []float64{inf}},
		{name: "subnormal operands", build: sum, in: []float64{0x1p-15, 0x1p-14}, want: []float64{0x1p-14}},
		{name: "subnormal numbers beside", build: op("add", "y", 0x1p-24), wide: true, in: []float64{0x1p-24},
			want: []float64{0x1p-23}},
		{name: "log", build: op("log", "epsilon", 0.0), wide: true, in: []float64{0, math.Copysign(0, -1), -1, inf},
			want: []float64{-45440, -45440, 0, 0}},
		{name: "softplus", build: op("softplus"), wide: true, in: []float64{inf}, want: []float64{0}},
		{name: "softsign", build: op("softsign"), wide: true, in: []float64{inf, -inf}, want: []float64{0, 0}},
		{name: "roots", build: op("sqrt"), wide: true, in: []float64{-1}, want: []float64{0}},
		{name: "reciprocal roots", build: op("rsqrt", "epsilon", 0.0), wide: true,
			in: []float64{-1, math.Copysign(0, -1)}, want: []float64{0, inf}},
		{name: "exp", build: op("exp"), wide: true, in: []float64{11.09375}, want: []float64{inf}},
		{name: "width slice", build: widthSlice, wide: true, in: []float64{0, 4094, 4096, 5000, -5000, 3},
			want: []float64{8188, inf, inf, -inf, 6}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := irbuild.New(1)
			shape := []int64{1, int64(len(c.in)), 1, 1}
			if c.wide {
				shape = []int64{1, 1, 1, int64(len(c.in))}
			}
			x := g.Input(shape...)
			y := c.build(g, x)
			g.Output(y)
			p, err := compilePair(g.Program(), compile.Options{Target: target.H13})
			if err != nil {
				t.Fatal(err)
			}
			if err := p.onEngine(); err != nil {
				t.Fatal(err)
			}
			numbers := make([]float32, len(c.in))
			for i, v := range c.in {
				numbers[i] = float32(v)
			}
			v, err := interp.FromFloats(ir.FP16, numbers, shape...)
			if err != nil {
				t.Fatal(err)
			}
			in := map[string]interp.Tensor{x.Name: v}
			engine, err := p.machine.Run(t.Context(), in, sim.Options{Numerics: numerics.ANE})
			if err != nil {
				t.Fatal(err)
			}
			reference, err := interp.Run(t.Context(), p.res.Reference, in, interp.Options{Numerics: numerics.ANE})
			if err != nil {
				t.Fatal(err)
			}
			for by, out := range map[string][]float32{
				"the engine":      engine[y.Name].Floats32(),
				"the interpreter": reference[y.Name].Floats32(),
			} {
				for i, want := range c.want {
					if float64(out[i]) != want {
						t.Errorf("%s gives %g at %d, want %g", by, out[i], i, want)
					}
				}
			}
		})
	}
}
