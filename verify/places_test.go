package verify

import (
	"math/rand/v2"
	"testing"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/ir/irbuild"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// TestPlacesOfNearlyEqualElements checks that an order of elements passes although it is not the interpreter's, if the
// elements differ by less than the error of the preceding product.
func TestPlacesOfNearlyEqualElements(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	g := irbuild.New(1)
	w := g.Filled(ir.FP16, func(int64) float64 { return r.NormFloat64() / 16 }, 900, 256)
	y := g.Op("linear", "x", g.Input(3, 256), "weight", w)
	vs, err := g.Try("topk", "x", y, "k", 200, "axis", 1, "ascending", false)
	if err != nil {
		t.Fatal(err)
	}
	g.Output(vs[1], g.Op("reduce_argmax", "x", y, "axis", 0, "keep_dims", false))
	moved := false
	for seed := range uint64(3) {
		res, err := Run(t.Context(), ir.CloneProgram(g.Program()), Options{Seed: seed, Numerics: numerics.ANE})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range res.Outputs {
			if !o.Pass || !o.Picked || o.Tolerance > 0.1 {
				t.Errorf("seed %d: %+v", seed, o)
			}
			moved = moved || o.MaxAbs > 0
		}
	}
	if !moved {
		t.Error("no place differs, so nothing is tested")
	}
}

// TestWrongPlacesFail: places of other elements, beyond the axis, or twice are outside the tolerance.
func TestWrongPlacesFail(t *testing.T) {
	places := func(vs ...float32) interp.Tensor { return shaped(t, vs, ir.TensorOf(ir.Int32, 2, 2)) }
	x := shaped(t, []float32{1, 9, 5, 9.001, 2, 8, 7.999, 3}, ir.TensorOf(ir.FP16, 2, 4))
	want, tol := places(3, 1, 1, 2), newTolerance(x)
	for _, c := range []struct {
		name string
		got  interp.Tensor
		pass bool
	}{
		{"the same", want, true},
		{"exchanged", places(1, 3, 2, 1), true},
		{"another element", places(3, 2, 1, 2), false},
		{"before the axis", places(3, -1, 1, 2), false},
		{"beyond the axis", places(3, 1, 1, 4), false},
		{"one twice", places(3, 3, 1, 2), false},
	} {
		if o, ok := comparePicked("y", c.got, want, x, 1, tol); !ok || o.Pass != c.pass {
			t.Errorf("%s: %v, %+v", c.name, ok, o)
		}
	}
}
