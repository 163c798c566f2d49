package sim_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// TestWorkersDoNotMatter runs a program with all kinds of tasks, each large enough to be divided, with 1, 2 and 8
// workers, by the engine and by the interpreter.
func TestWorkersDoNotMatter(t *testing.T) {
	g := irbuild.New(1)
	x := g.Input(1, 32, 40, 68)
	y := convolution{x: []int64{1, 32, 40, 68}, out: 48, kernel: []int64{3, 3}, padType: "same", bias: true}.of(g, x)
	y = g.Op("gelu", "x", y)
	y = convolution{x: []int64{1, 48, 40, 68}, out: 48, kernel: []int64{3, 3}, groups: 48, padType: "same"}.of(g, y)
	y = g.Op("add", "x", y, "y", g.Weights(1, 48, 1, 1))
	y = g.Op("max_pool", "x", y, "kernel_sizes", []int{2, 2}, "strides", []int{2, 2}, "pad_type", "valid")
	y = g.Op("reshape", "x", y, "shape", []int{1, 48, 680})
	s := g.Op("matmul", "x", y, "y", y, "transpose_x", true) // 680 x 680
	s = g.Op("softmax", "x", g.Op("mul", "x", s, "y", 0.05), "axis", -1)
	y = g.Op("matmul", "x", s, "y", y, "transpose_y", true)
	g.Output(g.Op("layer_norm", "x", y, "axes", []int{-1}, "epsilon", 1e-3), g.Op("reduce_sum", "x", s, "axes",
		[]int{1}))
	p := g.Program()
	fn := p.Funcs[0]
	in := map[string]interp.Tensor{}
	r := rand.New(rand.NewPCG(1, 2))
	vals := make([]float32, 32*40*68)
	for i := range vals {
		vals[i] = float32(r.NormFloat64())
	}
	var err error
	if in[fn.Body.Params[0].Name], err = interp.FromFloats(ir.FP16, vals, 1, 32, 40, 68); err != nil {
		t.Fatal(err)
	}
	c := &compiled{}
	if c.res, err = compile.All(context.Background(), p,
		compile.Options{Target: target.H13, Place: "engine"}); err != nil {
		t.Fatal(err)
	}
	if n := c.res.Report.EngineOps; n < 10 {
		t.Fatalf("%d operations are on the engine", n)
	}
	pair, err := c.res.Pair()
	if err != nil {
		t.Fatal(err)
	}
	if c.machine, err = sim.Open(pair); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []numerics.Mode{numerics.ANE, numerics.ANEWide} {
		for by, run := range map[string]func(workers int) (map[string]interp.Tensor, error){
			"the engine": func(workers int) (map[string]interp.Tensor, error) {
				return c.machine.Run(context.Background(), in, sim.Options{Numerics: mode, Workers: workers})
			},
			"the interpreter": func(workers int) (map[string]interp.Tensor, error) {
				return interp.Run(context.Background(), c.res.Placed, in,
					interp.Options{Numerics: mode, Workers: workers})
			},
		} {
			var first map[string]interp.Tensor
			for _, workers := range []int{1, 2, 8} {
				got, err := run(workers)
				if err != nil {
					t.Fatal(err)
				}
				if first == nil {
					first = got
				}
				for name, v := range got {
					if !v.Equal(first[name]) {
						t.Errorf("%s in the mode %s: %d workers give other bytes of %s than one", by, mode, workers,
							name)
					}
				}
			}
		}
	}
}
