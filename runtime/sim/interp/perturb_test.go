package interp

import (
	"math"
	"testing"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
)

// TestNormErrsAtTheScaleOfItsTerms checks that, if beta cancels nearly all of the normalised value or the mean is far
// above the deviation, the error of a result is the rounding of these terms, not of the small rest.
func TestNormErrsAtTheScaleOfItsTerms(t *testing.T) {
	for _, test := range []struct {
		name string
		x    []float32
		beta float32
		want float64 // the largest term, about
	}{
		{name: "plain", x: []float32{-1, 1, -1, 1}, beta: 0, want: 1},
		{name: "beta", x: []float32{-1, 1, -1, 1}, beta: 1024, want: 1024},
		{name: "mean", x: []float32{1023, 1025, 1023, 1025}, beta: 0, want: 1024},
	} {
		for _, op := range []string{"layer_norm", "instance_norm"} {
			b := newBld(t, "ios15")
			x := b.input("x", floats(t, ir.FP16, []int64{1, 1, 4}, test.x...))
			gamma, beta := floats(t, ir.FP16, []int64{1}, 1), floats(t, ir.FP16, []int64{1}, test.beta)
			a := args{"x": x}
			if op == "layer_norm" {
				a["axes"] = vec(2)
				gamma = floats(t, ir.FP16, []int64{4}, 1, 1, 1, 1)
				beta = floats(t, ir.FP16, []int64{4}, test.beta, test.beta, test.beta, test.beta)
			}
			a["gamma"], a["beta"] = constant(gamma), constant(beta)
			y := b.op(op, a)
			y.Def.Place.Unit = ir.Engine
			base := b.run(Options{}, y)[0].Floats32()
			largest := 0.0
			for seed := range uint64(32) {
				bound := func(*ir.Op) numerics.Bound { return numerics.Bound{Acc: 1.0 / 64} }
				for i, v := range b.run(Options{Perturb: &Perturb{Seed: seed, Bound: bound}}, y)[0].Floats32() {
					largest = max(largest, math.Abs(float64(v-base[i])))
				}
			}
			if limit := 1.0 / 64 * test.want; largest < limit/2 || largest > 2*limit {
				t.Errorf("%s, %s: results err by %v, want about %v", op, test.name, largest, limit)
			}
		}
	}
}
