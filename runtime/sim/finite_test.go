package sim_test

import (
	"math"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// TestFactorsAndAddendsThatAreNotFinite runs operations whose constants, multiplied or added in advance, are infinite
// while the result has a value: folding them would lose it.
func TestFactorsAndAddendsThatAreNotFinite(t *testing.T) {
	inf := math.Inf(1)
	x, err := interp.FromFloats(ir.FP16, []float32{-1, 0.25, 0.75, 2}, 1, 1, 1, 4)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		of   func(g *irbuild.Graph, x *ir.Value) *ir.Value
		want []float64
	}{
		{"infinite gamma", func(g *irbuild.Graph, x *ir.Value) *ir.Value {
			return g.Op("batch_norm", "x", x, "mean", []float64{0.5}, "variance", []float64{1}, "gamma", []float64{inf},
				"beta", []float64{1}, "epsilon", 0.0)
		}, []float64{-inf, -inf, inf, inf}},
		{"infinite addend", func(g *irbuild.Graph, x *ir.Value) *ir.Value {
			return g.Op("batch_norm", "x", g.Op("add", "x", x, "y", 30000.0), "mean", []float64{30000}, "variance",
				[]float64{0x1p-10}, "gamma", []float64{1}, "beta", []float64{0}, "epsilon", 0.0)
		}, []float64{0, 0, 0, 0}},
		{"infinite bias", func(g *irbuild.Graph, x *ir.Value) *ir.Value {
			y := g.Op("conv", "x", x, "weight", g.Filled(ir.FP16, func(int64) float64 { return -3000 },
				1, 1, 1, 1),
				"bias", []float64{6000}, "strides", []int{1, 1}, "pad_type", "valid", "pad", []int{0, 0, 0, 0},
				"dilations", []int{1, 1}, "groups", 1)
			return g.Op("mul", "x", y, "y", 16.0)
		}, []float64{inf, inf, 60000, 0}},
	} {
		g := irbuild.New(1)
		v := g.Input(1, 1, 1, 4)
		y := c.of(g, v)
		g.Output(y)
		p, err := compilePair(g.Program(), compile.Options{Target: target.H13, Place: passes.PlaceEngine})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		in := map[string]interp.Tensor{v.Name: x}
		for _, mode := range []numerics.Mode{numerics.ANE, numerics.IEEE} {
			out, err := p.machine.Run(t.Context(), in, sim.Options{Numerics: mode})
			if err != nil {
				t.Fatal(err)
			}
			for i, got := range out[y.Name].Floats32() {
				if want := numerics.FP16(c.want[i]); float64(got) != want {
					t.Errorf("%s: element %d is %g in mode %v, want %g", c.name, i, got, mode, want)
				}
			}
		}
	}
}
