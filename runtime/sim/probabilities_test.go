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

// TestLongRowsOfProbabilitiesKeepTheirMass multiplies the softmax of long rows with equal values, whose mean is the
// value. The product reads subnormal probabilities as 0.
func TestLongRowsOfProbabilitiesKeepTheirMass(t *testing.T) {
	forms := []struct {
		name string
		of   func(g *irbuild.Graph, x, v *ir.Value, n int64) *ir.Value
	}{
		{"product", func(g *irbuild.Graph, x, v *ir.Value, n int64) *ir.Value {
			return g.Op("matmul", "x", g.Op("softmax", "x", x, "axis", -1), "y", v)
		}},
		{"quotient", func(g *irbuild.Graph, x, v *ir.Value, n int64) *ir.Value {
			top := g.Op("reduce_max", "x", x, "axes", []int{-1}, "keep_dims", true)
			e := g.Op("exp", "x", g.Op("sub", "x", x, "y", top))
			sum := g.Op("reduce_sum", "x", e, "axes", []int{-1}, "keep_dims", true)
			return g.Op("matmul", "x", g.Op("real_div", "x", e, "y", sum), "y", v)
		}},
		{"columns", func(g *irbuild.Graph, x, v *ir.Value, n int64) *ir.Value {
			transposed := g.Op("transpose", "x", x, "perm", []int{0, 1, 3, 2})
			values := g.Op("transpose", "x", v, "perm", []int{0, 1, 3, 2})
			return g.Op("matmul", "x", values, "y", g.Op("softmax", "x", transposed, "axis", 2))
		}},
		{"equation", func(g *irbuild.Graph, x, v *ir.Value, n int64) *ir.Value {
			p := g.Op("softmax", "x", x, "axis", 3)
			return g.Op("einsum", "values", []*ir.Value{p, v}, "equation", "bhqk,bhkd->bhqd")
		}},
		{"attention", func(g *irbuild.Graph, x, v *ir.Value, n int64) *ir.Value {
			q := g.Op("slice_by_size", "x", x, "begin", []int{0, 0, 0, 0}, "size", []int{1, 1, 4, 32})
			k := g.Op("reshape", "x", g.Op("slice_by_size", "x", x, "begin", []int{0, 0, 0, 0}, "size",
				[]int64{1, 1, 1, n}), "shape", []int64{1, 1, n, 1})
			return g.Op("scaled_dot_product_attention", "query", q, "key", g.Op("tile", "x", k, "reps",
				[]int{1, 1, 1, 32}), "value", v)
		}},
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range testform.Of([]int64{2048}, []int64{2048, 16384}, []int64{1024, 2048, 3000, 4096, 8192, 16384}) {
		scores := make([]float32, 4*n)
		for i := range scores {
			scores[i] = float32(r.NormFloat64())
		}
		for _, value := range []float32{1, 100} {
			values := make([]float32, 8*n)
			for i := range values {
				values[i] = value
			}
			for _, f := range forms {
				g := irbuild.NewIn("ios18", 1)
				x, v := g.Input(1, 1, 4, n), g.Input(1, 1, n, 8)
				y := f.of(g, x, v, n)
				g.Output(y)
				c, err := compilePair(g.Program(), compile.Options{Target: target.H13, Place: passes.PlaceEngine})
				if err == nil {
					err = c.onEngine()
				}
				if err != nil {
					t.Errorf("%s of %d: %v", f.name, n, err)
					continue
				}
				in := map[string]interp.Tensor{}
				for _, p := range []struct {
					v  *ir.Value
					to []float32
				}{{x, scores}, {v, values}} {
					if in[p.v.Name], err = interp.FromFloats(ir.FP16, p.to, p.v.Type.Shape...); err != nil {
						t.Fatal(err)
					}
				}
				out, err := c.machine.Run(t.Context(), in, sim.Options{Numerics: numerics.ANE})
				if err != nil {
					t.Fatal(err)
				}
				for _, got := range out[y.Name].Floats32() {
					if e := math.Abs(float64(got/value) - 1); !(e <= 0x1p-9) {
						t.Errorf("%s: the mean of %d times %g is %g", f.name, n, value, got)
						break
					}
				}
			}
		}
	}
}
