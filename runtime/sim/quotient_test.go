package sim_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/internal/testform"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// divisors are 200 fp16 numbers: the extremes, the powers of two, small whole numbers, and others of both signs.
func divisors() []float64 {
	ds := []float64{0x1p-24, -0x1p-24, 65504, -65504, 0.1, 0.75, -0.75, 0x1.ffcp-15, 0x1.004p0}
	for e := -16; e <= 15; e++ {
		ds = append(ds, math.Ldexp(1, e), -math.Ldexp(1, e))
	}
	for n := 3.0; n <= 20; n++ {
		ds = append(ds, n, -n)
	}
	r := rand.New(rand.NewPCG(29, 1))
	for len(ds) < 200 {
		if v := numerics.Widen(uint16(r.Uint32())); v-v == 0 && v != 0 {
			ds = append(ds, float64(v))
		}
	}
	for i, d := range ds {
		ds[i] = numerics.FP16(d)
	}
	return ds
}

// floorMod returns floor(x/y) and x - y floor(x/y), rounded to fp16. Both operands are whole multiples of 2^-24.
func floorMod(x, y float64) (quotient, rest float32) {
	a, b := int64(math.Ldexp(x, 24)), int64(math.Ldexp(y, 24))
	q, r := a/b, a%b
	if r != 0 && (r < 0) != (b < 0) {
		q, r = q-1, r+b
	}
	return float32(numerics.FP16(float64(q))), float32(numerics.FP16(math.Ldexp(float64(r), -24)))
}

// TestFloorsOfQuotientsAreExact divides every finite fp16 number by each of the divisors, as floor_div and mod,
// wherever placement puts them, and counts the results that are not the exact ones.
func TestFloorsOfQuotientsAreExact(t *testing.T) {
	in := everyFP16(func(x float32) bool { return x-x != 0 })
	in.Type = ir.TensorOf(ir.FP16, 1, 1, 16, 4096)
	xs := in.Floats32()
	ds := divisors()
	wrong, engine := map[string]int{}, 0
	for i := range testform.Sample(len(ds), 4, 12) {
		d := ds[i]
		g := irbuild.New(1)
		v := g.Input(in.Type.Shape...)
		names := map[string]string{}
		for _, op := range []string{"floor_div", "mod"} {
			y := g.Op(op, "x", v, "y", d)
			g.Output(y)
			names[op] = y.Name
		}
		p, err := compilePair(g.Program(), compile.Options{Target: target.H13, Place: passes.PlaceEngine})
		if err != nil {
			t.Fatalf("divisor %g: %v", d, err)
		}
		for _, mode := range []numerics.Mode{numerics.ANE, numerics.IEEE} {
			out, err := p.machine.Run(t.Context(), map[string]interp.Tensor{v.Name: in}, sim.Options{Numerics: mode})
			if err != nil {
				t.Fatal(err)
			}
			q, m := out[names["floor_div"]].Floats32(), out[names["mod"]].Floats32()
			for i, x := range xs {
				if x-x != 0 {
					continue
				}
				wantQ, wantM := floorMod(float64(x), d)
				if q[i] != wantQ {
					if wrong["floor_div"]++; wrong["floor_div"] < 4 {
						t.Errorf("floor_div(%g, %g) is %g in mode %v, want %g", x, d, q[i], mode, wantQ)
					}
				}
				if m[i] != wantM {
					if wrong["mod"]++; wrong["mod"] < 4 {
						t.Errorf("mod(%g, %g) is %g in mode %v, want %g", x, d, m[i], mode, wantM)
					}
				}
			}
		}
		for _, op := range p.res.Reference.Body.Ops {
			if op.Place.Unit == ir.Engine {
				engine++
			}
		}
	}
	if engine == 0 {
		t.Error("nothing was computed on the engine")
	}
	t.Logf("%v wrong, %d operations on the engine", wrong, engine)
}
