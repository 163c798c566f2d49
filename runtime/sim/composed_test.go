package sim_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// TestDecomposedMovementKeepsEveryNumber moves numbers that products and sums lose: infinities, the largest and the
// smallest, and those that differ in the last bit.
func TestDecomposedMovementKeepsEveryNumber(t *testing.T) {
	numbers := []float64{math.Inf(1), math.Inf(-1), 65504, -65504, 0x1p-14, -0x1p-24, 0x1.ffcp-15, 1, 0x1.004p0, 2049}
	for _, call := range []string{
		"tile(x = fp16[3, 5, 7], reps = [2, 3, 2])",
		"reverse(x = fp16[2, 30, 9], axes = [1, 2])",
		"reverse(x = fp16[1, 67], axes = [1])",
		"crop(x = fp16[1, 3, 8, 12], crop_height = [1, 2], crop_width = [3, 0])",
		"slice_update(x = fp16[4, 6, 33], update = fp16[2, 3, 10], begin = [1, 4, 1], end = [3, 0, 31], " +
			"stride = [1, -2, 3], end_mask = [false, true, false])",
		"slice_by_index(x = fp16[4, 6, 35], begin = [3, 5, 34], end = [0, 0, 2], stride = [-2, -2, -3])",
		"pad(x = fp16[2, 5, 33], pad = [1, 1, 4, 2, 9, 3], mode = \"reflect\", constant_val = 0.0)",
		"pad(x = fp16[2, 5, 33], pad = [1, 0, 2, 2, 2, 40], mode = \"replicate\", constant_val = 0.0)",
		"concat(values = (fp16[3, 2, 17], fp16[3, 2, 17], fp16[3, 2, 17]), axis = 2, interleave = true)",
		"sliding_windows(x = fp16[2, 40, 3], axis = 1, size = 5, stride = 2)",
		"depth_to_space(x = fp16[2, 18, 4, 6], block_size = 3)",
		"space_to_batch(x = fp16[2, 3, 5, 6], block_shape = [2, 3], paddings = [[1, 0], [2, 1]])",
		"batch_to_space(x = fp16[12, 3, 5, 6], block_shape = [2, 3], crops = [[1, 0], [2, 1]])",
		"gather(x = fp16[4, 9, 20], indices = [[8, -1, 0], [3, 3, 3]], axis = 1, batch_dims = 0, " +
			"validate_indices = false)",
		"gather_nd(x = fp16[3, 4, 20], indices = [[0, 1], [2, 3], [1, 0]], batch_dims = 0, validate_indices = false)",
		"band_part(x = fp16[2, 9, 35], lower = 3, upper = 5)",
	} {
		t.Run(call, func(t *testing.T) {
			g := irbuild.New(1)
			vs, err := g.Call(call)
			if err != nil {
				t.Fatal(err)
			}
			g.Output(vs[0])
			c, err := compilePair(g.Program(), compile.Options{Target: target.H13, Place: passes.PlaceEngine})
			if err == nil {
				err = c.onEngine()
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, c.brief())
			}
			in := c.inputs(1, func(r *rand.Rand) float64 { return numbers[r.IntN(len(numbers))] })
			for _, mode := range []numerics.Mode{numerics.ANE, numerics.IEEE} {
				if err := c.check(in, mode); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
