package sim_test

import (
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
)

// attention is one attention head: queries, keys and values from x.
func attention(g *irbuild.Graph, x *ir.Value, heads int64) *ir.Value {
	s := x.Type.Shape // [n, d]
	n, d := s[0], s[1]
	project := func() *ir.Value {
		y := g.Op("linear", "x", x, "weight", scaled(g, d, d, d), "bias", g.Weights(d))
		return g.Op("transpose", "x", g.Op("reshape", "x", y, "shape", []int64{n, heads, d / heads}), "perm",
			[]int{1, 0, 2})
	}
	q, k, v := project(), project(), project()
	w := g.Op("softmax", "x", g.Op("mul", "x", g.Op("matmul", "x", q, "y", k, "transpose_y", true), "y",
		irbuild.Scale(d/heads)), "axis", -1)
	y := g.Op("transpose", "x", g.Op("matmul", "x", w, "y", v), "perm", []int{1, 0, 2})
	return g.Op("reshape", "x", y, "shape", s)
}

func lstm(g *irbuild.Graph, x *ir.Value, hidden int64) *ir.Value {
	n, in := x.Type.Shape[1], x.Type.Shape[2]
	return g.Op("lstm", "x", x, "initial_h", g.Weights(n, hidden), "initial_c", g.Weights(n, hidden),
		"weight_ih", scaled(g, in, 4*hidden, in), "weight_hh", scaled(g, hidden, 4*hidden, hidden), "output_sequence",
		true)
}

func TestChainsOfOperationsAgree(t *testing.T) {
	relu := func(g *irbuild.Graph, x *ir.Value) *ir.Value { return g.Op("relu", "x", x) }
	transpose := func(g *irbuild.Graph, x *ir.Value, perm ...int) *ir.Value {
		return g.Op("transpose", "x", x, "perm", perm)
	}
	runSamples(t, []sample{
		{name: "views of views", build: func(g *irbuild.Graph) {
			x := relu(g, g.Input(4, 6, 70))
			a := g.All("split", "x", x, "axis", 2, "split_sizes", []int{33, 37})
			b := rangeOf([]int{1, 0, 3}, []int{4, 6, 30}, []int{1, 2, 1})(g, a[1])[0]
			c := transpose(g, b, 1, 0, 2)
			d := g.Op("expand_dims", "x", c, "axes", []int{1})
			g.Output(g.Op("add", "x", d, "y", rangeOf([]int{0, 0, 0, 5}, []int{3, 1, 3, 32}, nil)(g,
				g.Input(3, 1, 3, 40))[0]))
		}},
		{name: "slice, transpose, matmul", build: func(g *irbuild.Graph) {
			x := rangeOf([]int{0, 3, 7}, []int{2, 20, 40}, nil)(g, g.Input(2, 21, 50))[0]
			g.Output(g.Op("matmul", "x", transpose(g, x, 0, 2, 1), "y", x))
		}},
		{name: "output is a view", build: func(g *irbuild.Graph) {
			y := relu(g, g.Input(4, 6, 70))
			g.Output(transpose(g, y, 1, 0, 2), rangeOf([]int{0, 0, 9}, []int{4, 6, 20}, nil)(g, y)[0],
				g.Op("reshape", "x", y, "shape", []int{24, 70}))
		}},
		{name: "output is read inside", build: func(g *irbuild.Graph) {
			y := relu(g, g.Input(4, 6, 70))
			z := g.Op("mul", "x", y, "y", 2.0)
			g.Output(y, z, g.Op("add", "x", z, "y", y))
		}},
		{name: "fused value is an output", build: func(g *irbuild.Graph) {
			y := g.Op("linear", "x", g.Input(5, 20), "weight", scaled(g, 20, 30, 20))
			g.Output(relu(g, y), y)
		}},
		{name: "outputs that are all of one split", build: func(g *irbuild.Graph) {
			g.Output(g.All("split", "x", relu(g, g.Input(3, 66)), "axis", 1, "split_sizes", []int{1, 32, 33})...)
		}},
		{name: "identity outputs", build: func(g *irbuild.Graph) {
			y := relu(g, g.Input(3, 66))
			g.Output(y, g.Op("identity", "x", y), g.Op("identity", "x", y))
		}},
		{name: "an input is an output", build: func(g *irbuild.Graph) {
			x := g.Input(3, 5)
			g.Output(relu(g, x), x)
		}},
		{name: "an input is an output first", build: func(g *irbuild.Graph) {
			x := g.Input(3, 5)
			g.Output(x, g.Input(2), relu(g, x))
		}},
		{name: "identity of an input is an output", build: func(g *irbuild.Graph) {
			x := g.Input(3, 5)
			g.Output(g.Op("identity", "x", x), relu(g, x))
		}, cpu: true},
		{name: "view of an input is an output", build: func(g *irbuild.Graph) {
			x := g.Input(3, 5)
			g.Output(g.Op("reshape", "x", x, "shape", []int{15}), g.Op("square", "x", x))
		}, cpu: true},
		{name: "a constant is an output", build: func(g *irbuild.Graph) {
			g.Output(g.Weights(2, 3), relu(g, g.Input(3, 5)), g.Weights(4))
		}},
		{name: "constants alone", build: func(g *irbuild.Graph) { g.Output(g.Weights(2, 3), g.Weights(4)) }, cpu: true},
		{name: "folded constant is an output", build: func(g *irbuild.Graph) {
			w := g.Weights(2, 3)
			g.Output(g.Op("add", "x", w, "y", w), relu(g, g.Input(3, 5)))
		}},
		{name: "an input that nothing reads", build: func(g *irbuild.Graph) {
			g.Input(2, 2)
			g.Output(relu(g, g.Input(3, 5)))
		}},
		{name: "no operation", build: func(g *irbuild.Graph) { g.Output(g.Input(3, 5)) }, cpu: true},
		{name: "scalar input", build: func(g *irbuild.Graph) {
			g.Output(g.Op("mul", "x", g.Input(), "y", g.Input(3, 5)), g.Op("abs", "x", g.Input()))
		}},
		{name: "fp32 in and out", build: func(g *irbuild.Graph) {
			x := g.InputOf(ir.FP32, 3, 40)
			y := g.Op("cast", "x", x, "dtype", "fp16")
			z := relu(g, y)
			g.Output(g.Op("cast", "x", z, "dtype", "fp32"), z, y)
		}},
		{name: "fp32 rows and fp16 products", build: func(g *irbuild.Graph) {
			y := g.Op("cast", "x", g.InputOf(ir.FP32, 3, 40), "dtype", "fp16")
			z := g.Op("linear", "x", y, "weight", scaled(g, 40, 9, 40))
			w := g.Op("cast", "x", z, "dtype", "fp32")
			g.Output(g.Op("sin", "x", w), w)
		}, cpu: true},
		{name: "engine, CPU, engine", build: func(g *irbuild.Graph) {
			y := lstm(g, relu(g, g.Input(5, 2, 7)), 4)
			g.Output(g.Op("linear", "x", y, "weight", scaled(g, 4, 3, 4)), y)
		}, cpu: true},
		{name: "many steps", build: func(g *irbuild.Graph) {
			x := g.Input(4, 33)
			for range 5 {
				x = g.Op("tanh", "x", x)
				x = g.Op("sinh", "x", x)
			}
			g.Output(x)
		}, cpu: true},
		{name: "value of the engine read by both", build: func(g *irbuild.Graph) {
			y := relu(g, g.Input(4, 33))
			g.Output(g.Op("sinh", "x", y), g.Op("abs", "x", y))
		}, cpu: true},
		{name: "attention", build: func(g *irbuild.Graph) { g.Output(attention(g, g.Input(37, 48), 3)) }},
		{name: "encoder block", build: func(g *irbuild.Graph) {
			x := g.Input(40, 64)
			norm := func(v *ir.Value) *ir.Value {
				return g.Op("layer_norm", "x", v, "axes", []int{-1}, "gamma", g.Weights(64), "beta", g.Weights(64),
					"epsilon", 1e-3)
			}
			x = g.Op("add", "x", x, "y", attention(g, norm(x), 2))
			h := g.Op("gelu", "x", g.Op("linear", "x", norm(x), "weight", scaled(g, 64, 200, 64), "bias",
				g.Weights(200)), "mode", "EXACT")
			g.Output(g.Op("add", "x", x, "y", g.Op("linear", "x", h, "weight", scaled(g, 200, 64, 200), "bias",
				g.Weights(64))))
		}},
		{name: "residual convolutions", build: func(g *irbuild.Graph) {
			x := g.Input(1, 16, 10, 11)
			for range 3 {
				y := relu(g, g.Op("conv", "x", x, "weight", scaled(g, 144, 16, 16, 3, 3), "bias", g.Weights(16),
					"pad_type", "same"))
				x = g.Op("add", "x", x, "y", g.Op("conv", "x", y, "weight", scaled(g, 16, 16, 16, 1, 1)))
			}
			g.Output(g.Op("reduce_mean", "x", x, "axes", []int{2, 3}, "keep_dims", false))
		}},
		{name: "spectrum", build: func(g *irbuild.Graph) { // as a voice detector begins
			x := g.Op("pad", "x", g.Input(1, 576), "pad", []int{0, 0, 0, 64}, "mode", "constant", "constant_val", 0.0)
			s := g.Op("conv", "x", g.Op("expand_dims", "x", x, "axes", []int{1}), "weight", scaled(g, 256, 258, 1, 256),
				"strides", []int{128})
			p := g.All("split", "x", s, "axis", 1, "split_sizes", []int{129, 129})
			g.Output(g.Op("sqrt", "x", g.Op("add", "x", g.Op("square", "x", p[0]), "y", g.Op("square", "x", p[1]))))
		}},
		{name: "values joined", build: func(g *irbuild.Graph) {
			var vs []*ir.Value
			for range 12 {
				vs = append(vs, relu(g, g.Input(3, 5)))
			}
			for i := range 12 {
				vs = append(vs, g.Op("mul", "x", vs[i%12], "y", float64(i)))
			}
			g.Output(g.Op("concat", "values", vs, "axis", 0, "interleave", false))
		}},
		{name: "more ports than registers", build: func(g *irbuild.Graph) {
			var s *ir.Value
			for range 40 {
				x := g.Input(3, 5)
				y := g.Op("abs", "x", x)
				g.Output(y)
				if s == nil {
					s = y
				} else {
					s = g.Op("add", "x", s, "y", y)
				}
			}
			g.Output(s)
		}},
		{name: "one operation with more inputs than registers", build: func(g *irbuild.Graph) {
			var vs []*ir.Value
			for range 40 {
				vs = append(vs, g.Input(3, 5))
			}
			g.Output(relu(g, g.Op("concat", "values", vs, "axis", 0, "interleave", false)))
		}, cpu: true},
		{name: "one operation with more outputs than registers", build: func(g *irbuild.Graph) {
			g.Output(g.All("split", "x", relu(g, g.Input(40, 5)), "axis", 0, "num_splits", 40)...)
		}, cpu: true},
	})
}
