package sim_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
)

// TestHeadTakesOneTaskAStep checks that a convolution with its activation, the mean over the image and a product take
// one task each, and that each of twenty convolutions with its relu6 also takes one.
func TestHeadTakesOneTaskAStep(t *testing.T) {
	image := func(g *irbuild.Graph) *ir.Value {
		c := convolution{x: []int64{1, 3, 32, 32}, out: 16, kernel: []int64{3, 3}, padType: "same", bias: true}
		return g.Op("relu", "x", c.of(g, g.Input(1, 3, 32, 32)))
	}
	head := func(g *irbuild.Graph, row *ir.Value) {
		g.Output(g.Op("linear", "x", row, "weight", scaled(g, 16, 10, 16), "bias", scaled(g, 1, 10)))
	}
	runSamples(t, []sample{
		{name: "mean without kept dimensions", tasks: 3, build: func(g *irbuild.Graph) {
			head(g, g.Op("reduce_mean", "x", image(g), "axes", []int64{2, 3}, "keep_dims", false))
		}},
		{name: "mean and reshape", tasks: 3, build: func(g *irbuild.Graph) {
			m := g.Op("reduce_mean", "x", image(g), "axes", []int64{2, 3}, "keep_dims", true)
			head(g, g.Op("reshape", "x", m, "shape", []int64{1, 16}))
		}},
		{name: "mean and squeeze", tasks: 3, build: func(g *irbuild.Graph) {
			m := g.Op("reduce_mean", "x", image(g), "axes", []int64{2, 3}, "keep_dims", true)
			head(g, g.Op("squeeze", "x", m, "axes", []int64{2, 3}))
		}},
		{name: "mean alone", tasks: 2, build: func(g *irbuild.Graph) {
			g.Output(g.Op("reduce_mean", "x", image(g), "axes", []int64{2, 3}, "keep_dims", false))
		}},
		{name: "twenty convolutions and relu6", tasks: 20, build: func(g *irbuild.Graph) {
			x := g.Input(1, 8, 8, 8)
			for range 20 {
				c := convolution{x: []int64{1, 8, 8, 8}, out: 8, kernel: []int64{3, 3}, padType: "same"}
				x = g.Op("relu6", "x", c.of(g, x))
			}
			g.Output(x)
		}},
	})
}

// TestRowOfSingleElements checks that products read a row whose elements are in separate rows unchanged, and read
// everything else as a row.
func TestRowOfSingleElements(t *testing.T) {
	var samples []sample
	for _, c := range []int64{1, 3, 32, 70} {
		makers := map[string]func(g *irbuild.Graph) *ir.Value{
			"input": func(g *irbuild.Graph) *ir.Value { return g.Input(1, c, 1, 1) },
			"mean": func(g *irbuild.Graph) *ir.Value {
				return g.Op("reduce_mean", "x", g.Input(1, c, 5, 7), "axes", []int64{2, 3}, "keep_dims", true)
			},
			"maximum of rows": func(g *irbuild.Graph) *ir.Value {
				return g.Op("reduce_max", "x", g.Input(c, 9), "axes", []int64{1}, "keep_dims", false)
			},
			"sum of planes": func(g *irbuild.Graph) *ir.Value {
				return g.Op("reduce_sum", "x", g.Input(2, c, 3, 4), "axes", []int64{0, 2, 3}, "keep_dims", false)
			},
			"slice": func(g *irbuild.Graph) *ir.Value {
				x := g.Op("relu", "x", g.Input(1, 2*c, 1, 1))
				return g.Op("slice_by_size", "x", x, "begin", []int64{0, c, 0, 0}, "size", []int64{1, c, 1, 1})
			},
		}
		readers := map[string]func(g *irbuild.Graph, x *ir.Value){
			"linear": func(g *irbuild.Graph, x *ir.Value) {
				g.Output(g.Op("linear", "x", x, "weight", scaled(g, c, 40, c), "bias", scaled(g, 1, 40)))
			},
			"matmul and tanh": func(g *irbuild.Graph, x *ir.Value) {
				g.Output(g.Op("tanh", "x", g.Op("matmul", "x", x, "y", scaled(g, c, c, 24))))
			},
			"two products": func(g *irbuild.Graph, x *ir.Value) {
				g.Output(g.Op("matmul", "x", x, "y", scaled(g, c, c, 24)))
				g.Output(g.Op("matmul", "x", x, "y", scaled(g, c, c, 5)))
			},
			"product and output": func(g *irbuild.Graph, x *ir.Value) {
				g.Output(g.Op("linear", "x", x, "weight", scaled(g, c, 9, c), "bias", scaled(g, 1, 9)), x)
			},
			"square": func(g *irbuild.Graph, x *ir.Value) { g.Output(g.Op("square", "x", x)) },
			"transposed operand": func(g *irbuild.Graph, x *ir.Value) {
				g.Output(g.Op("matmul", "x", x, "y", scaled(g, 1, 1, 6), "transpose_x", true))
			},
		}
		for _, maker := range slices.Sorted(maps.Keys(makers)) {
			for _, reader := range slices.Sorted(maps.Keys(readers)) {
				samples = append(samples, sample{name: fmt.Sprintf("%s of %d, %s", maker, c, reader),
					build: func(g *irbuild.Graph) {
						x := makers[maker](g)
						if x.Type.Rank() != 2 {
							x = g.Op("reshape", "x", x, "shape", []int64{1, c})
						}
						readers[reader](g, x)
					}})
			}
		}
	}
	runSamples(t, samples)
}
