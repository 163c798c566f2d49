package sim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
)

// subsets returns the nonempty sets of axes of a rank.
func subsets(rank int) [][]int {
	var out [][]int
	for bits := 1; bits < 1<<rank; bits++ {
		var s []int
		for i := range rank {
			if bits>>i&1 == 1 {
				s = append(s, i)
			}
		}
		out = append(out, s)
	}
	return out
}

func TestReductionsAgree(t *testing.T) {
	var samples []sample
	for _, op := range []string{"reduce_sum", "reduce_mean", "reduce_max", "reduce_sum_square"} {
		for _, shape := range [][]int64{{9}, {1}, {3, 7}, {4, 1}, {2, 5, 40}, {2, 6, 5, 33}, {2, 3, 4, 5, 6}} {
			for i, axes := range subsets(len(shape)) {
				keep := i%2 == 0
				samples = append(samples, sample{name: fmt.Sprint(op, shape, axes, keep),
					build: func(g *irbuild.Graph) {
						g.Output(g.Op(op, "x", g.Input(shape...), "axes", axes, "keep_dims", keep))
					}})
			}
		}
		for _, c := range []struct {
			shape []int64
			axes  []int
		}{
			{[]int64{1, 16384}, []int{1}},
			{[]int64{300, 4000}, []int{1}},
			{[]int64{300, 4000}, []int{0}},
			{[]int64{5, 2000, 33}, []int{1}},
			{[]int64{64, 90, 170}, []int{0}},
			{[]int64{64, 90, 170}, []int{1, 2}},
			{[]int64{1, 512, 40, 40}, []int{1}},
			{[]int64{1, 512, 40, 40}, []int{2, 3}},
			{[]int64{1, 512, 40, 40}, []int{2}},
			{[]int64{2, 20, 30, 10, 12}, []int{1, 3}},
			{[]int64{2, 20, 30, 10, 12}, []int{0, 2, 4}},
			{[]int64{20000, 30}, []int{0}},
		} {
			samples = append(samples, sample{name: fmt.Sprint("large ", op, c.shape, c.axes),
				fill: func(r *rand.Rand) float64 {
					return r.NormFloat64() / 8
				}, build: func(g *irbuild.Graph) {
					g.Output(g.Op(op, "x", g.Input(c.shape...), "axes", c.axes, "keep_dims", true))
				}})
		}
		samples = append(samples, sample{name: op + " of a negative axis", build: func(g *irbuild.Graph) {
			g.Output(g.Op(op, "x", g.Input(2, 3, 4), "axes", []int{-1, 0}))
		}}, sample{name: op + " of more than L2 holds", cpu: true, build: func(g *irbuild.Graph) {
			g.Output(g.Op(op, "x", g.Op("relu", "x", g.Input(1, 512, 40, 40)), "axes", []int{1, 2, 3}))
		}, fill: func(r *rand.Rand) float64 {
			return r.NormFloat64() / 64
		}}, sample{name: op + " of a slice along four axes", build: func(g *irbuild.Graph) {
			x := rangeOf([]int{0, 1, 1, 1, 1}, []int{2, 3, 3, 5, 6}, nil)(g, g.Input(2, 4, 4, 6, 7))[0]
			g.Output(g.Op(op, "x", x, "axes", []int{0, 1, 2, 4}))
		}}, sample{name: op + " over everything", build: func(g *irbuild.Graph) {
			g.Output(g.Op(op, "x", g.Input(2, 3, 4)))
		}}, sample{name: op + " inside", build: func(g *irbuild.Graph) {
			x := g.Input(2, 3, 40)
			g.Output(g.Op("sub", "x", x, "y", g.Op(op, "x", x, "axes", []int{2}, "keep_dims", true)))
			g.Output(g.Op("sub", "x", x, "y", g.Op(op, "x", x, "axes", []int{1}, "keep_dims", true)))
		}})
	}
	runSamples(t, samples)
}

func TestSoftmaxAgrees(t *testing.T) {
	var samples []sample
	for _, shape := range [][]int64{{9}, {1}, {3, 7}, {4, 1}, {2, 5, 40}, {2, 6, 5, 33}, {2, 3, 4, 5, 6}} {
		for axis := range shape {
			samples = append(samples, sample{name: fmt.Sprint(shape, axis), fill: func(r *rand.Rand) float64 {
				return 3 * r.NormFloat64()
			}, build: func(g *irbuild.Graph) {
				g.Output(g.Op("softmax", "x", g.Input(shape...), "axis", axis))
			}})
		}
	}
	for _, c := range []struct {
		shape []int64
		axis  int
	}{{[]int64{6, 150, 150}, -1}, {[]int64{300, 4000}, 1}, {[]int64{4000, 300}, 0}, {[]int64{1, 8, 200, 200}, 3},
		{[]int64{2, 1500, 40}, 1}} {
		samples = append(samples, sample{name: fmt.Sprint("large ", c.shape, c.axis), build: func(g *irbuild.Graph) {
			g.Output(g.Op("softmax", "x", g.Input(c.shape...), "axis", c.axis))
		}})
	}
	runSamples(t, samples)
}

func TestLayerNormAgrees(t *testing.T) {
	var samples []sample
	for _, shape := range [][]int64{{33}, {3, 40}, {2, 5, 48}, {2, 3, 5, 33}, {2, 3, 4, 5, 6}} {
		for n := 1; n <= min(3, len(shape)); n++ {
			axes := make([]int, n)
			for i := range axes {
				axes[i] = len(shape) - n + i
			}
			for form := range 4 {
				samples = append(samples, sample{name: fmt.Sprint(shape, axes, form), build: func(g *irbuild.Graph) {
					args := []any{"x", g.Input(shape...), "axes", axes, "epsilon", 1e-4}
					tail := shape[len(shape)-n:]
					if form&1 != 0 {
						args = append(args, "gamma", g.Weights(tail...))
					}
					if form&2 != 0 {
						args = append(args, "beta", g.Weights(tail...))
					}
					g.Output(g.Op("layer_norm", args...))
				}})
			}
		}
	}
	for _, shape := range [][]int64{{150, 384}, {1, 1500, 384}, {3000, 64}, {4, 16384}} {
		samples = append(samples, sample{name: fmt.Sprint("large ", shape), build: func(g *irbuild.Graph) {
			n := shape[len(shape)-1]
			g.Output(g.Op("layer_norm", "x", g.Input(shape...), "axes", []int{-1}, "gamma", g.Weights(n), "beta",
				g.Weights(n), "epsilon", 1e-5))
		}})
	}
	samples = append(samples, sample{name: "of more than L2 holds", cpu: true, build: func(g *irbuild.Graph) {
		g.Output(g.Op("layer_norm", "x", g.Op("relu", "x", g.Input(2, 300, 4000)), "axes", []int{1, 2}, "epsilon",
			1e-3))
	}}, sample{name: "within a block", build: func(g *irbuild.Graph) {
		x := g.Input(1, 9, 48)
		n := g.Op("layer_norm", "x", x, "axes", []int{-1}, "gamma", g.Weights(48), "beta", g.Weights(48), "epsilon",
			1e-5)
		y := g.Op("linear", "x", n, "weight", scaled(g, 48, 48, 48), "bias", g.Weights(48))
		g.Output(g.Op("add", "x", x, "y", y))
	}})
	runSamples(t, samples)
}

func TestPoolingAgrees(t *testing.T) {
	var samples []sample
	for _, op := range []string{"max_pool", "avg_pool"} {
		for _, pad := range []string{"valid", "same", "same_lower", "custom"} {
			for _, two := range []bool{false, true} {
				for k := 1; k <= 3; k++ {
					for s := 1; s <= 3; s++ {
						for form := range 3 {
							if op == "avg_pool" && form == 1 && pad != "valid" || op == "max_pool" && form == 2 {
								continue
							}
							shape, kernel, strides, pads := []int64{2, 5, 11}, []int{k}, []int{s}, []int{k / 2, k - 1}
							if two {
								shape, kernel, strides, pads = []int64{2, 5, 8, 11}, []int{4 - k, k}, []int{s, 4 - s},
									[]int{(4 - k) / 2, 3 - k, k - 1, k / 2}
							}
							samples = append(samples, sample{name: fmt.Sprint(op, pad, shape, kernel, strides, form),
								build: func(g *irbuild.Graph) {
									args := []any{"x", g.Input(shape...), "kernel_sizes", kernel, "strides", strides,
										"pad_type", pad}
									if pad == "custom" {
										args = append(args, "pad", pads)
									}
									if form == 1 {
										args = append(args, "ceil_mode", true)
									}
									if op == "avg_pool" {
										args = append(args, "exclude_padding_from_average", form >= 1)
									}
									g.Output(g.Op(op, args...))
								}})
						}
					}
				}
			}
		}
		samples = append(samples, sample{name: op + " large", build: func(g *irbuild.Graph) {
			g.Output(g.Op(op, "x", g.Input(1, 64, 150, 160), "kernel_sizes", []int{3, 3}, "strides", []int{2, 2},
				"pad_type", "same"))
		}}, sample{name: op + " global", build: func(g *irbuild.Graph) {
			g.Output(g.Op(op, "x", g.Input(1, 40, 7, 7), "kernel_sizes", []int{7, 7}, "strides", []int{1, 1},
				"pad_type", "valid"))
		}}, sample{name: op + " after conv", build: func(g *irbuild.Graph) {
			y := g.Op("relu", "x", g.Op("conv", "x", g.Input(1, 3, 12, 12), "weight", scaled(g, 27, 8, 3, 3, 3),
				"pad_type", "same"))
			g.Output(g.Op(op, "x", y, "kernel_sizes", []int{2, 2}, "strides", []int{2, 2}, "pad_type", "valid"))
		}})
	}
	runSamples(t, samples)
}
