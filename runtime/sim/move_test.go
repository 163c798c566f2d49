package sim_test

import (
	"fmt"
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
)

// Operations that only move data run on the engine next to operations that compute, so every program here starts or
// ends with a clamp, which is also exact.

func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var out [][]int
	for _, p := range permutations(n - 1) {
		for at := range n {
			q := append(append(append([]int(nil), p[:at]...), n-1), p[at:]...)
			out = append(out, q)
		}
	}
	return out
}

// clamped adds two forms of a movement: read from a clamp's result, and read by
// a clamp.
func clamped(samples []sample, name string, shape []int64, f func(g *irbuild.Graph, x *ir.Value) []*ir.Value) []sample {
	return append(samples,
		sample{name: name + " behind", build: func(g *irbuild.Graph) {
			g.Output(f(g, g.Op("relu", "x", g.Input(shape...)))...)
		}},
		sample{name: name + " before", build: func(g *irbuild.Graph) {
			for _, y := range f(g, g.Input(shape...)) {
				g.Output(g.Op("relu", "x", y))
			}
		}})
}

func one(v *ir.Value) []*ir.Value { return []*ir.Value{v} }

func TestTranspose(t *testing.T) {
	var samples []sample
	for _, shape := range [][]int64{{5, 7}, {1, 9}, {9, 1}, {2, 3, 40}, {3, 1, 5}, {2, 3, 4, 37}, {1, 6, 1, 5},
		{2, 1, 33, 1}} {
		for _, p := range permutations(len(shape)) {
			samples = clamped(samples, fmt.Sprint(shape, p), shape, func(g *irbuild.Graph, x *ir.Value) []*ir.Value {
				return one(g.Op("transpose", "x", x, "perm", p))
			})
		}
	}
	for i, p := range permutations(5) {
		if i%7 == 0 {
			shape := []int64{2, 3, 4, 5, 6}
			samples = clamped(samples, fmt.Sprint(shape, p), shape, func(g *irbuild.Graph, x *ir.Value) []*ir.Value {
				return one(g.Op("transpose", "x", x, "perm", p))
			})
		}
	}
	for _, c := range []struct {
		shape []int64
		perm  []int
	}{{[]int64{1500, 384}, []int{1, 0}}, {[]int64{3, 200, 4000}, []int{2, 0, 1}},
		{[]int64{9000, 2, 17}, []int{1, 2, 0}}, {[]int64{64, 60, 50, 8}, []int{3, 1, 0, 2}}} {
		samples = clamped(samples, fmt.Sprint("large ", c.shape, c.perm), c.shape,
			func(g *irbuild.Graph, x *ir.Value) []*ir.Value {
				return one(g.Op("transpose", "x", x, "perm", c.perm))
			})
	}
	runSamples(t, samples)
}

func TestReshape(t *testing.T) {
	var samples []sample
	for _, c := range [][2][]int64{
		{{6}, {2, 3}}, {{2, 3}, {6}}, {{2, 32}, {64}}, {{64}, {2, 32}}, {{2, 3, 32}, {6, 32}}, {{6, 32}, {3, 2, 1, 32}},
		{{2, 3, 5}, {5, 3, 2}}, {{4, 33}, {2, 66}}, {{2, 64}, {4, 32}}, {{1, 1, 48}, {48}}, {{48}, {1, 48, 1}},
		{{48, 1}, {1, 48}},
		{{2, 3, 4, 5, 6}, {6, 4, 30}}, {{6, 4, 30}, {2, 3, 4, 5, 6}}, {{10, 8, 64}, {10, 2, 4, 64}},
		{{10, 64}, {10, 2, 32}}, {{12, 1, 1}, {1, 3, 4}},
		{{3000, 7}, {7, 3000}}, {{1}, {1, 1, 1, 1}}, {{16384}, {128, 128}}, {{5, 96}, {5, 3, 32}}, {{5, 96}, {15, 32}},
		{{300, 320}, {300, 8, 40}}, {{300, 8, 40}, {300, 320}}, {{2, 640}, {2, 8, 80}}, {{1, 6400}, {80, 80}},
		{{80, 80}, {6400}}, {{65, 20, 20}, {65, 400}}, {{33, 50}, {55, 30}}, {{7, 36}, {3, 84}},
		{{2, 16384}, {64, 512}}, {{4, 2, 3, 66}, {4, 6, 11, 6}}, {{4, 6, 11, 6}, {8, 198}},
	} {
		samples = clamped(samples, fmt.Sprint(c[0], c[1]), c[0], func(g *irbuild.Graph, x *ir.Value) []*ir.Value {
			return one(g.Op("reshape", "x", x, "shape", c[1]))
		})
	}
	for axis := -4; axis < 4; axis++ {
		samples = clamped(samples, fmt.Sprint("expand_dims ", axis), []int64{3, 4, 5},
			func(g *irbuild.Graph, x *ir.Value) []*ir.Value {
				return one(g.Op("expand_dims", "x", x, "axes", []int{axis}))
			})
	}
	for _, axes := range [][]int{{0}, {2}, {4}, {0, 2}, {2, 4}, {0, 2, 4}, nil} {
		samples = clamped(samples, fmt.Sprint("squeeze ", axes), []int64{1, 3, 1, 5, 1},
			func(g *irbuild.Graph, x *ir.Value) []*ir.Value {
				if axes == nil {
					return one(g.Op("squeeze", "x", x))
				}
				return one(g.Op("squeeze", "x", x, "axes", axes))
			})
	}
	runSamples(t, samples)
}

func TestJoin(t *testing.T) {
	var samples []sample
	for _, shape := range [][]int64{{5}, {32}, {3, 5}, {3, 64}, {2, 3, 40}, {2, 3, 4, 33}, {2, 3, 2, 3, 32}} {
		for axis := range shape {
			for _, n := range []int{1, 2, 3} {
				samples = append(samples, sample{name: fmt.Sprint("concat ", shape, axis, n),
					build: func(g *irbuild.Graph) {
						var vs []*ir.Value
						for i := range n {
							s := append([]int64(nil), shape...)
							s[axis] += int64(i)
							vs = append(vs, g.Input(s...))
						}
						vs[0] = g.Op("relu", "x", vs[0])
						g.Output(g.Op("concat", "values", vs, "axis", axis, "interleave", false))
					}})
			}
		}
		if len(shape) < 5 {
			for axis := 0; axis <= len(shape); axis++ {
				samples = append(samples, sample{name: fmt.Sprint("stack ", shape, axis),
					build: func(g *irbuild.Graph) {
						vs := []*ir.Value{g.Op("relu", "x", g.Input(shape...)), g.Input(shape...), g.Weights(shape...)}
						g.Output(g.Op("stack", "values", vs, "axis", axis))
					}})
			}
		}
	}
	samples = append(samples,
		sample{name: "concat of one value twice", build: func(g *irbuild.Graph) {
			x := g.Op("relu", "x", g.Input(3, 5))
			g.Output(g.Op("concat", "values", []*ir.Value{x, x, x}, "axis", 1, "interleave", false))
		}},
		sample{name: "concat with a constant", build: func(g *irbuild.Graph) {
			x := g.Op("relu", "x", g.Input(3, 32))
			g.Output(g.Op("concat", "values", []*ir.Value{g.Weights(3, 7), x, g.Weights(3, 1)}, "axis", 1, "interleave",
				false))
		}},
		sample{name: "concat into conv", build: func(g *irbuild.Graph) {
			x := g.Op("concat", "values", []*ir.Value{g.Input(1, 3, 5, 6), g.Input(1, 4, 5, 6)}, "axis", 1,
				"interleave", false)
			g.Output(g.Op("conv", "x", x, "weight", scaled(g, 63, 6, 7, 3, 3)))
		}},
		sample{name: "large concat", build: func(g *irbuild.Graph) {
			x := g.Op("relu", "x", g.Input(64, 100, 170))
			g.Output(g.Op("concat", "values", []*ir.Value{x, g.Input(64, 100, 171)}, "axis", 2, "interleave", false))
		}},
	)
	runSamples(t, samples)
}

func TestPad(t *testing.T) {
	var samples []sample
	for _, c := range []struct {
		shape []int64
		pad   []int
	}{
		{[]int64{5}, []int{2, 3}}, {[]int64{5}, []int{0, 3}}, {[]int64{5}, []int{32, 1}},
		{[]int64{3, 5}, []int{1, 2, 0, 0}}, {[]int64{3, 5}, []int{1, 2, 3, 4}},
		{[]int64{2, 3, 33}, []int{1, 1, 2, 0, 0, 5}}, {[]int64{2, 3, 33}, []int{4, 5}},
		{[]int64{2, 3, 33}, []int{0, 1, 64, 3}},
		{[]int64{1, 4, 6, 7}, []int{0, 0, 0, 0, 1, 1, 1, 1}}, {[]int64{1, 4, 6, 7}, []int{1, 2, 3, 4}},
		{[]int64{2, 3, 2, 3, 5}, []int{1, 0, 0, 1}},
		{[]int64{3, 5}, []int{0, 0, 0, 0}},
	} {
		for _, v := range []float64{0, -1.5} {
			samples = clamped(samples, fmt.Sprint(c.shape, c.pad, v), c.shape,
				func(g *irbuild.Graph, x *ir.Value) []*ir.Value {
					return one(g.Op("pad", "x", x, "pad", c.pad, "mode", "constant", "constant_val", v))
				})
		}
	}
	runSamples(t, samples)
}

func TestSplit(t *testing.T) {
	var samples []sample
	for _, shape := range [][]int64{{12}, {6, 12}, {2, 12, 40}, {6, 12, 4, 66}, {2, 6, 2, 6, 12}} {
		for axis, d := range shape {
			if d%2 != 0 {
				continue
			}
			samples = clamped(samples, fmt.Sprint("halves ", shape, axis), shape,
				func(g *irbuild.Graph, x *ir.Value) []*ir.Value {
					return g.All("split", "x", x, "axis", axis, "num_splits", 2)
				})
			samples = clamped(samples, fmt.Sprint("ragged ", shape, axis), shape,
				func(g *irbuild.Graph, x *ir.Value) []*ir.Value {
					return g.All("split", "x", x, "axis", axis, "split_sizes", []int64{1, d - 1})
				})
		}
	}
	runSamples(t, samples)
}

// rangeOf slices with a begin and an end, in steps.
func rangeOf(begin, end, stride []int) func(g *irbuild.Graph, x *ir.Value) []*ir.Value {
	return func(g *irbuild.Graph, x *ir.Value) []*ir.Value {
		args := []any{"x", x, "begin", begin, "end", end}
		if stride != nil {
			args = append(args, "stride", stride)
		}
		return one(g.Op("slice_by_index", args...))
	}
}

func TestSlice(t *testing.T) {
	var samples []sample
	for _, c := range []struct {
		shape              []int64
		begin, end, stride []int
	}{
		{shape: []int64{40}, begin: []int{3}, end: []int{11}}, {shape: []int64{40}, begin: []int{32}, end: []int{40}},
		{shape: []int64{40}, begin: []int{39}, end: []int{40}},
		{shape: []int64{5, 40}, begin: []int{1, 33}, end: []int{4, 40}}, {shape: []int64{5, 40}, begin: []int{0, 0},
			end: []int{5, 40}, stride: []int{2, 1}}, {shape: []int64{5, 40}, begin: []int{-3, -7}, end: []int{-1, -2}},
		{shape: []int64{4, 5, 70}, begin: []int{1, 1, 1}, end: []int{4, 5, 70}, stride: []int{2, 3, 1}},
		{shape: []int64{2, 3, 4, 5, 6}, begin: []int{0, 1, 1, 2, 3}, end: []int{1, 3, 3, 5, 6}},
		{shape: []int64{2, 3, 4, 5, 6}, begin: []int{0, 1, 0, 0, 1}, end: []int{2, 3, 4, 5, 6},
			stride: []int{1, 1, 3, 2, 1}},
	} {
		samples = clamped(samples, fmt.Sprint(c.shape, c.begin, c.end, c.stride), c.shape,
			rangeOf(c.begin, c.end, c.stride))
	}
	samples = clamped(samples, "squeezed", []int64{3, 4, 40}, func(g *irbuild.Graph, x *ir.Value) []*ir.Value {
		return one(g.Op("slice_by_index", "x", x, "begin", []int{1, 2, 3}, "end", []int{2, 4, 33}, "squeeze_mask",
			[]bool{true, false, false}))
	})
	samples = clamped(samples, "masked", []int64{3, 4, 40}, func(g *irbuild.Graph, x *ir.Value) []*ir.Value {
		return one(g.Op("slice_by_index", "x", x, "begin", []int{1, 2, 3}, "end", []int{2, 3, 33}, "begin_mask",
			[]bool{true, false, false}, "end_mask", []bool{false, true, true}))
	})
	samples = clamped(samples, "by size", []int64{3, 4, 40}, func(g *irbuild.Graph, x *ir.Value) []*ir.Value {
		return one(g.Op("slice_by_size", "x", x, "begin", []int{1, 0, 5}, "size", []int{2, -1, 30}))
	})
	runSamples(t, samples)
}

// consumers read a tensor of shape [1, 8, 12, 20] in every way that a task reads.
var consumers = map[string]func(g *irbuild.Graph, x *ir.Value) *ir.Value{
	"conv": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("conv", "x", x, "weight", scaled(g, 72, 5, 8, 3, 3), "pad_type", "same")
	},
	"depthwise": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("conv", "x", x, "weight", scaled(g, 9, 8, 1, 3, 3), "groups", 8, "strides", []int{2, 2})
	},
	"matmul left": func(g *irbuild.Graph, x *ir.Value) *ir.Value { return g.Op("matmul", "x", x, "y", g.Input(20, 7)) },
	"matmul left t": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("matmul", "x", x, "y", g.Input(12, 7), "transpose_x", true)
	},
	"matmul right": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("matmul", "x", g.Input(33, 12), "y", x)
	},
	"matmul right t": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("matmul", "x", g.Input(33, 20), "y", x, "transpose_y", true)
	},
	"matmul itself": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("matmul", "x", x, "y", x, "transpose_y", true)
	},
	"linear": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("linear", "x", x, "weight", scaled(g, 20, 9, 20), "bias", g.Weights(9))
	},
	"matmul const": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("matmul", "x", scaled(g, 12, 3, 12), "y", x)
	},
	"matmul const t": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("matmul", "x", x, "y", scaled(g, 12, 12, 9), "transpose_x", true)
	},
	"add first":  func(g *irbuild.Graph, x *ir.Value) *ir.Value { return g.Op("add", "x", x, "y", g.Input(8, 12, 20)) },
	"add second": func(g *irbuild.Graph, x *ir.Value) *ir.Value { return g.Op("sub", "x", g.Input(8, 12, 20), "y", x) },
	"add broadcast": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("mul", "x", g.Input(3, 8, 12, 20), "y", x)
	},
	"add scalar": func(g *irbuild.Graph, x *ir.Value) *ir.Value { return g.Op("add", "x", x, "y", 0.5) },
	"reduce rows": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("reduce_sum", "x", x, "axes", []int{3}, "keep_dims", true)
	},
	"reduce max rows": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("reduce_max", "x", x, "axes", []int{1, 3})
	},
	"reduce channels": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("reduce_mean", "x", x, "axes", []int{1})
	},
	"reduce height": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("reduce_max", "x", x, "axes", []int{2})
	},
	"softmax":        func(g *irbuild.Graph, x *ir.Value) *ir.Value { return g.Op("softmax", "x", x, "axis", -1) },
	"softmax height": func(g *irbuild.Graph, x *ir.Value) *ir.Value { return g.Op("softmax", "x", x, "axis", 2) },
	"layer_norm": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("layer_norm", "x", x, "axes", []int{3}, "epsilon", 1e-3)
	},
	"layer_norm two": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("layer_norm", "x", x, "axes", []int{2, 3}, "epsilon", 1e-3)
	},
	"pool": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("max_pool", "x", x, "kernel_sizes", []int{2, 3}, "strides", []int{2, 1}, "pad_type", "same")
	},
	"sigmoid": func(g *irbuild.Graph, x *ir.Value) *ir.Value { return g.Op("sigmoid", "x", x) },
	"relu":    func(g *irbuild.Graph, x *ir.Value) *ir.Value { return g.Op("relu", "x", x) },
	"clip": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("clip", "x", x, "alpha", -0.5, "beta", 0.5)
	},
	"square": func(g *irbuild.Graph, x *ir.Value) *ir.Value { return g.Op("square", "x", x) },
	"divided": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("real_div", "x", x, "y", positive(g, 12, 20))
	},
	"divisor": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("real_div", "x", g.Input(12, 20), "y", g.Op("add", "x", g.Op("square", "x", x), "y", 1.0))
	},
	"concat": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("relu", "x", g.Op("concat", "values", []*ir.Value{x, g.Input(1, 8, 12, 5)}, "axis", 3, "interleave",
			false))
	},
	"concat channels": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("relu", "x", g.Op("concat", "values", []*ir.Value{x, x}, "axis", 1, "interleave", false))
	},
	"transpose": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("relu", "x", g.Op("transpose", "x", x, "perm", []int{0, 3, 1, 2}))
	},
	"transpose view": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("relu", "x", g.Op("transpose", "x", x, "perm", []int{2, 1, 0, 3}))
	},
	"reshape": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("relu", "x", g.Op("reshape", "x", x, "shape", []int{96, 20}))
	},
	"reshape rows": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("relu", "x", g.Op("reshape", "x", x, "shape", []int{8, 240}))
	},
	"pad": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("relu", "x", g.Op("pad", "x", x, "pad", []int{1, 1, 2, 3}, "mode", "constant", "constant_val", 2.0))
	},
	"stack": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("relu", "x", g.Op("stack", "values", []*ir.Value{x, x}, "axis", 4))
	},
	"split": func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("relu", "x", g.All("split", "x", x, "axis", 3, "split_sizes", []int{7, 13})[1])
	},
}

// producers return a tensor of shape [1, 8, 12, 20] whose layout is not plain.
var producers = map[string]func(g *irbuild.Graph) *ir.Value{
	"slice of width": func(g *irbuild.Graph) *ir.Value {
		return rangeOf([]int{0, 0, 0, 7}, []int{1, 8, 12, 27}, nil)(g, g.Input(1, 8, 12, 50))[0]
	},
	"slice of width far": func(g *irbuild.Graph) *ir.Value {
		return rangeOf([]int{0, 0, 0, 45}, []int{1, 8, 12, 65}, nil)(g, g.Input(1, 8, 12, 70))[0]
	},
	"slice of all": func(g *irbuild.Graph) *ir.Value {
		return rangeOf([]int{1, 2, 1, 3}, []int{2, 10, 13, 23}, nil)(g, g.Input(2, 11, 14, 50))[0]
	},
	"steps": func(g *irbuild.Graph) *ir.Value {
		return rangeOf([]int{0, 1, 2, 0}, []int{1, 17, 38, 20}, []int{1, 2, 3, 1})(g, g.Input(1, 18, 40, 20))[0]
	},
	"transposed": func(g *irbuild.Graph) *ir.Value {
		return g.Op("transpose", "x", g.Input(12, 1, 8, 20), "perm", []int{1, 2, 0, 3})
	},
	"transposed slice": func(g *irbuild.Graph) *ir.Value {
		return g.Op("transpose", "x", rangeOf([]int{0, 0, 0, 3}, []int{12, 1, 8, 23}, nil)(g, g.Input(12, 1, 9, 33))[0],
			"perm", []int{1, 2, 0, 3})
	},
	"exchanged": func(g *irbuild.Graph) *ir.Value {
		return g.Op("transpose", "x", rangeOf([]int{0, 0, 0, 3}, []int{1, 8, 20, 15}, nil)(g, g.Input(1, 9, 21, 16))[0],
			"perm", []int{0, 1, 3, 2})
	},
	"reshaped slice": func(g *irbuild.Graph) *ir.Value {
		return g.Op("reshape", "x", rangeOf([]int{0, 5}, []int{96, 25}, nil)(g, g.Input(97, 40))[0], "shape",
			[]int{1, 8, 12, 20})
	},
	"split": func(g *irbuild.Graph) *ir.Value {
		return g.All("split", "x", g.Input(1, 8, 12, 41), "axis", 3, "split_sizes", []int{9, 20, 12})[1]
	},
	"squeezed": func(g *irbuild.Graph) *ir.Value {
		return g.Op("slice_by_index", "x", g.Input(1, 8, 5, 12, 33), "begin", []int{0, 0, 3, 0, 11}, "end",
			[]int{1, 8, 4, 12, 31}, "squeeze_mask", []bool{false, false, true, false, false})
	},
	"computed": func(g *irbuild.Graph) *ir.Value {
		return g.Op("transpose", "x", g.Op("relu", "x", g.Input(1, 12, 8, 20)), "perm", []int{0, 2, 1, 3})
	},
	"computed slice": func(g *irbuild.Graph) *ir.Value {
		return rangeOf([]int{0, 0, 0, 1}, []int{1, 8, 12, 21}, nil)(g, g.Op("relu", "x", g.Input(1, 8, 12, 22)))[0]
	},
}

// TestViews reads every kind of view in every way.
func TestViews(t *testing.T) {
	var samples []sample
	for pn, p := range producers {
		for cn, c := range consumers {
			samples = append(samples, sample{
				name:  pn + " to " + cn,
				build: func(g *irbuild.Graph) { g.Output(c(g, p(g))) },
			})
		}
	}
	runSamples(t, samples)
}
