package sim_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
)

// recuts lists shapes of so many elements that differ from shape, of ranks 1 to 4.
func recuts(shape []int64) (out [][]int64) {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	w := shape[len(shape)-1]
	add := func(to ...[]int64) {
		for _, d := range to {
			if !slices.ContainsFunc(out, func(o []int64) bool { return slices.Equal(o, d) }) {
				out = append(out, d)
			}
		}
	}
	add([][]int64{{n}, {1, n}, {1, 1, n}, {1, 1, 1, n}, {n, 1}, {1, n, 1, 1}}...)
	for _, k := range []int64{2, 3, 4} {
		if n%(k*w) == 0 && n > w {
			add([]int64{n / w / k, k * w}, []int64{1, n / w / k, 1, k * w})
		}
		if w%k == 0 {
			add([]int64{n / w * k, w / k}, []int64{n / w, k, w / k}, []int64{1, k, n / w, w / k})
		}
	}
	return out
}

// TestProductIsReadUnderAnotherShape checks that the result of a product with a constant in L2 is read in the shape of
// a reshape, also if rows are merged or split again.
func TestProductIsReadUnderAnotherShape(t *testing.T) {
	var samples []sample
	for _, d := range [][3]int64{
		{3, 32, 2}, {16, 128, 64}, {2, 32, 32}, {64, 32, 4}, {17, 96, 3}, {5, 64, 7}, {9, 160, 5}, {6, 224, 3},
		{2, 256, 8}, {20, 32, 1},
		{3, 4, 2}, {6, 16, 3}, {4, 33, 5}, {5, 100, 3}, {1, 64, 4}, {32, 320, 8},
	} {
		m, n, k := d[0], d[1], d[2]
		for i, to := range recuts([]int64{m, n}) {
			samples = append(samples, sample{name: fmt.Sprintf("%v to %v", d, to), build: func(g *irbuild.Graph) {
				var y *ir.Value
				if i%2 == 0 {
					y = g.Op("linear", "x", g.Input(m, k), "weight", scaled(g, k, n, k), "bias", scaled(g, 1, n))
				} else {
					y = g.Op("matmul", "x", g.Input(m, k), "y", scaled(g, k, k, n))
				}
				y = g.Op("reshape", "x", y, "shape", to)
				if i%3 == 2 {
					y = g.Op("relu", "x", y)
				}
				g.Output(y)
			}})
		}
	}
	runSamples(t, samples)
}

// residents are operations whose result may stay in L2, on an image of c channels of
// h by w.
var residents = []struct {
	name string
	make func(g *irbuild.Graph, x *ir.Value, c, h, w int64) *ir.Value
}{
	{"relu", func(g *irbuild.Graph, x *ir.Value, _, _, _ int64) *ir.Value { return g.Op("relu", "x", x) }},
	{"square", func(g *irbuild.Graph, x *ir.Value, _, _, _ int64) *ir.Value { return g.Op("square", "x", x) }},
	{"add", func(g *irbuild.Graph, x *ir.Value, c, h, w int64) *ir.Value {
		return g.Op("add", "x", x, "y", g.Weights(1, c, h, w))
	}},
	{"sigmoid", func(g *irbuild.Graph, x *ir.Value, _, _, _ int64) *ir.Value { return g.Op("sigmoid", "x", x) }},
	{"conv", func(g *irbuild.Graph, x *ir.Value, c, _, _ int64) *ir.Value {
		return g.Op("conv", "x", x, "weight", scaled(g, c, c, c, 1, 1), "pad_type", "valid")
	}},
	{"depthwise conv", func(g *irbuild.Graph, x *ir.Value, c, _, _ int64) *ir.Value {
		return g.Op("conv", "x", x, "weight", scaled(g, 9, c, 1, 3, 3), "pad_type", "same", "groups", c)
	}},
	{"max_pool", func(g *irbuild.Graph, x *ir.Value, _, _, _ int64) *ir.Value {
		return g.Op("max_pool", "x", x, "kernel_sizes", []int64{3, 3}, "strides", []int64{1, 1}, "pad_type", "same")
	}},
	{"softmax of rows", func(g *irbuild.Graph, x *ir.Value, _, _, _ int64) *ir.Value {
		return g.Op("softmax", "x", x, "axis", 3)
	}},
	{"softmax of channels", func(g *irbuild.Graph, x *ir.Value, _, _, _ int64) *ir.Value {
		return g.Op("softmax", "x", x, "axis", 1)
	}},
	{"layer_norm", func(g *irbuild.Graph, x *ir.Value, _, _, w int64) *ir.Value {
		return g.Op("layer_norm", "x", x, "axes", []int64{3}, "gamma", g.Weights(w), "epsilon", 1e-3)
	}},
	{"linear", func(g *irbuild.Graph, x *ir.Value, _, _, w int64) *ir.Value {
		return g.Op("linear", "x", x, "weight", scaled(g, w, w, w))
	}},
	{"matmul at run time", func(g *irbuild.Graph, x *ir.Value, _, _, _ int64) *ir.Value {
		y := g.Op("mul", "x", x, "y", 0.125)
		return g.Op("matmul", "x", g.Op("matmul", "x", x, "y", y, "transpose_y", true), "y", y)
	}},
	{"transpose", func(g *irbuild.Graph, x *ir.Value, c, h, w int64) *ir.Value {
		y := g.Op("relu", "x", g.Op("transpose", "x", x, "perm", []int64{0, 3, 1, 2}))
		return g.Op("transpose", "x", y, "perm", []int64{0, 2, 3, 1})
	}},
	{"concat", func(g *irbuild.Graph, x *ir.Value, c, h, w int64) *ir.Value {
		x = g.Op("relu", "x", x)
		half := func(at int64) *ir.Value {
			return g.Op("slice_by_size", "x", x, "begin", []int64{0, 0, 0, at}, "size", []int64{1, c, h, w / 2})
		}
		return g.Op("concat", "values", []*ir.Value{half(w / 2), half(0)}, "axis", 3)
	}},
}

// views read a value under another shape or order, or in parts.
var views = []struct {
	name string
	view func(g *irbuild.Graph, y *ir.Value, c, h, w int64) []*ir.Value
}{
	{"reshape joining rows", func(g *irbuild.Graph, y *ir.Value, c, h, w int64) []*ir.Value {
		return []*ir.Value{g.Op("reshape", "x", y, "shape", []int64{1, c, 1, h * w})}
	}},
	{"reshape joining two rows", func(g *irbuild.Graph, y *ir.Value, c, h, w int64) []*ir.Value {
		return []*ir.Value{g.Op("reshape", "x", y, "shape", []int64{1, c, h / 2, 2 * w})}
	}},
	{"reshape to a vector", func(g *irbuild.Graph, y *ir.Value, c, h, w int64) []*ir.Value {
		return []*ir.Value{g.Op("reshape", "x", y, "shape", []int64{c * h * w})}
	}},
	{"reshape cutting rows", func(g *irbuild.Graph, y *ir.Value, c, h, w int64) []*ir.Value {
		return []*ir.Value{g.Op("reshape", "x", y, "shape", []int64{1, c * h, 2, w / 2})}
	}},
	{"reshape cutting rows into channels", func(g *irbuild.Graph, y *ir.Value, c, h, w int64) []*ir.Value {
		return []*ir.Value{g.Op("reshape", "x", y, "shape", []int64{1, 2 * c, h, w / 2})}
	}},
	{"transpose of channels and rows", func(g *irbuild.Graph, y *ir.Value, c, h, w int64) []*ir.Value {
		transposed := g.Op("transpose", "x", y, "perm", []int64{0, 2, 1, 3})
		return []*ir.Value{g.Op("reshape", "x", transposed, "shape", []int64{1, h, 1, c * w})}
	}},
	{"transpose of rows and columns", func(g *irbuild.Graph, y *ir.Value, c, h, w int64) []*ir.Value {
		return []*ir.Value{g.Op("transpose", "x", y, "perm", []int64{0, 1, 3, 2})}
	}},
	{"split of rows", func(g *irbuild.Graph, y *ir.Value, c, h, w int64) []*ir.Value {
		return g.All("split", "x", y, "num_splits", 2, "axis", 3)
	}},
	{"split of channels", func(g *irbuild.Graph, y *ir.Value, c, h, w int64) []*ir.Value {
		var out []*ir.Value
		for _, v := range g.All("split", "x", y, "num_splits", 2, "axis", 1) {
			out = append(out, g.Op("reshape", "x", v, "shape", []int64{1, 1, 1, c / 2 * h * w}))
		}
		return out
	}},
	{"slice", func(g *irbuild.Graph, y *ir.Value, c, h, w int64) []*ir.Value {
		begin, size := []int64{0, 1, 1, w / 2}, []int64{1, c - 1, h - 1, w / 2}
		return []*ir.Value{g.Op("slice_by_size", "x", y, "begin", begin, "size", size)}
	}},
	{"slice of a joined row", func(g *irbuild.Graph, y *ir.Value, c, h, w int64) []*ir.Value {
		r := g.Op("reshape", "x", y, "shape", []int64{c, h * w})
		return []*ir.Value{g.Op("slice_by_size", "x", r, "begin", []int64{0, w}, "size", []int64{c, w})}
	}},
}

// readers read a view.
var readers = []struct {
	name string
	read func(g *irbuild.Graph, v *ir.Value) *ir.Value
}{
	{"output", func(g *irbuild.Graph, v *ir.Value) *ir.Value { return v }},
	{"relu", func(g *irbuild.Graph, v *ir.Value) *ir.Value { return g.Op("relu", "x", v) }},
	{"square", func(g *irbuild.Graph, v *ir.Value) *ir.Value { return g.Op("square", "x", v) }},
	{"reduce_max", func(g *irbuild.Graph, v *ir.Value) *ir.Value {
		return g.Op("reduce_max", "x", v, "axes", []int64{-1}, "keep_dims", true)
	}},
	{"linear", func(g *irbuild.Graph, v *ir.Value) *ir.Value {
		w := v.Type.Shape[v.Type.Rank()-1]
		return g.Op("linear", "x", v, "weight", scaled(g, w, 32, w))
	}},
}

// TestValueInL2IsReadUnderAnotherShape checks that operations that read a value in L2 under another shape or order, or
// in parts, read its elements, for every operation that left it there.
func TestValueInL2IsReadUnderAnotherShape(t *testing.T) {
	var samples []sample
	for _, s := range [][3]int64{{4, 6, 32}, {2, 8, 8}} {
		c, h, w := s[0], s[1], s[2]
		for _, m := range residents {
			for _, v := range views {
				for _, r := range readers {
					name := fmt.Sprintf("%v %s, %s, %s", s, m.name, v.name, r.name)
					samples = append(samples, sample{name: name, build: func(g *irbuild.Graph) {
						for _, y := range v.view(g, m.make(g, g.Input(1, c, h, w), c, h, w), c, h, w) {
							g.Output(r.read(g, y))
						}
					}})
				}
			}
		}
	}
	runSamples(t, samples)
}
