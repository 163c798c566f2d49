package sim_test

import (
	"fmt"
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
)

// convolution is one convolution: x [N, C, (H,) W], weight [Out, C/Groups, (KH,) KW].
type convolution struct {
	x       []int64
	out     int64
	kernel  []int64
	groups  int64 // 0: 1
	strides []int
	dil     []int
	padType string // "": valid
	pad     []int
	bias    bool
	then    func(g *irbuild.Graph, y *ir.Value) *ir.Value
}

func (c convolution) build(g *irbuild.Graph) {
	g.Output(c.of(g, g.Input(c.x...)))
}

// of adds the convolution of x.
func (c convolution) of(g *irbuild.Graph, x *ir.Value) *ir.Value {
	groups := max(c.groups, 1)
	ws := append([]int64{c.out, c.x[1] / groups}, c.kernel...)
	terms := c.x[1] / groups
	for _, k := range c.kernel {
		terms *= k
	}
	args := []any{"x", x, "weight", scaled(g, terms, ws...)}
	if c.bias {
		args = append(args, "bias", g.Weights(c.out))
	}
	if c.groups > 0 {
		args = append(args, "groups", c.groups)
	}
	if c.strides != nil {
		args = append(args, "strides", c.strides)
	}
	if c.dil != nil {
		args = append(args, "dilations", c.dil)
	}
	if c.padType != "" {
		args = append(args, "pad_type", c.padType)
	}
	if c.pad != nil {
		args = append(args, "pad", c.pad)
	}
	y := g.Op("conv", args...)
	if c.then != nil {
		y = c.then(g, y)
	}
	return y
}

// scaled returns weights whose sums of the given number of terms have deviation 1.
func scaled(g *irbuild.Graph, terms int64, shape ...int64) *ir.Value {
	w := g.Weights(shape...)
	s := irbuild.Scale(terms)
	return g.Filled(ir.FP16, func(i int64) float64 { return w.Const.Float(i) * s }, shape...)
}

// unary returns a step that applies an operation of one operand.
func unary(op string, args ...any) func(g *irbuild.Graph, y *ir.Value) *ir.Value {
	return func(g *irbuild.Graph, y *ir.Value) *ir.Value {
		return g.Op(op, append([]any{"x", y}, args...)...)
	}
}

func TestConvolutionsAgree(t *testing.T) {
	table := []struct {
		name string
		c    convolution
	}{
		{"1x1", convolution{x: []int64{1, 8, 4, 4}, out: 16, kernel: []int64{1, 1}}},
		{"one channel", convolution{x: []int64{1, 1, 5, 7}, out: 1, kernel: []int64{3, 3}}},
		{"3x3 same bias", convolution{
			x:       []int64{1, 8, 9, 10},
			out:     12,
			kernel:  []int64{3, 3},
			padType: "same",
			bias:    true,
		}},
		{"3x3 same_lower", convolution{
			x:       []int64{1, 4, 9, 10},
			out:     8,
			kernel:  []int64{3, 3},
			padType: "same_lower",
			strides: []int{2, 2},
		}},
		{"even kernel same", convolution{x: []int64{1, 4, 9, 10}, out: 8, kernel: []int64{4, 2}, padType: "same"}},
		{"even kernel same_lower", convolution{
			x:       []int64{1, 4, 9, 10},
			out:     8,
			kernel:  []int64{4, 2},
			padType: "same_lower",
		}},
		{"custom asymmetric", convolution{
			x:       []int64{1, 4, 6, 7},
			out:     8,
			kernel:  []int64{3, 3},
			padType: "custom",
			pad:     []int{2, 0, 1, 3},
		}},
		{"custom wide", convolution{
			x:       []int64{1, 4, 6, 7},
			out:     8,
			kernel:  []int64{3, 5},
			padType: "custom",
			pad:     []int{5, 4, 7, 6},
			bias:    true,
		}},
		{"stride 2", convolution{
			x:       []int64{1, 8, 11, 12},
			out:     16,
			kernel:  []int64{3, 3},
			strides: []int{2, 2},
			bias:    true,
		}},
		{"stride 3", convolution{
			x:       []int64{1, 8, 11, 14},
			out:     16,
			kernel:  []int64{3, 3},
			strides: []int{3, 3},
			padType: "same",
		}},
		{"stride 1 by 2", convolution{x: []int64{1, 8, 11, 14}, out: 5, kernel: []int64{2, 3}, strides: []int{1, 2}}},
		{"stride beyond kernel", convolution{
			x:       []int64{1, 3, 9, 9},
			out:     4,
			kernel:  []int64{1, 1},
			strides: []int{3, 2},
		}},
		{"dilated", convolution{
			x:       []int64{1, 4, 12, 13},
			out:     8,
			kernel:  []int64{3, 3},
			dil:     []int{2, 3},
			padType: "same",
			bias:    true,
		}},
		{"dilated stride", convolution{
			x:       []int64{1, 4, 12, 13},
			out:     8,
			kernel:  []int64{2, 3},
			dil:     []int{3, 1},
			strides: []int{2, 2},
		}},
		{"batch 2", convolution{x: []int64{2, 6, 5, 9}, out: 7, kernel: []int64{3, 3}, padType: "same", bias: true}},
		{"batch 3 one dimension", convolution{
			x:       []int64{3, 6, 33},
			out:     7,
			kernel:  []int64{3},
			padType: "same",
			bias:    true,
		}},
		{"one dimension", convolution{
			x:       []int64{1, 16, 50},
			out:     32,
			kernel:  []int64{5},
			padType: "custom",
			pad:     []int{2, 2},
			bias:    true,
		}},
		{"one dimension stride 2", convolution{
			x:       []int64{1, 16, 51},
			out:     32,
			kernel:  []int64{3},
			strides: []int{2},
			padType: "custom",
			pad:     []int{1, 1},
		}},
		{"one dimension stride 4", convolution{x: []int64{1, 2, 64}, out: 5, kernel: []int64{8}, strides: []int{4}}},
		{"one dimension long kernel", convolution{
			x:       []int64{1, 1, 576},
			out:     6,
			kernel:  []int64{256},
			strides: []int{64},
			bias:    true,
		}},
		{"one dimension dilated", convolution{
			x:       []int64{1, 4, 64},
			out:     9,
			kernel:  []int64{3},
			dil:     []int{5},
			padType: "custom",
			pad:     []int{10, 0},
		}},
		{"out 3", convolution{x: []int64{1, 5, 6, 6}, out: 3, kernel: []int64{3, 3}, bias: true}},
		{"out 17", convolution{x: []int64{1, 5, 6, 6}, out: 17, kernel: []int64{3, 3}, bias: true}},
		{"out 100", convolution{x: []int64{1, 5, 6, 20}, out: 100, kernel: []int64{3, 3}, bias: true}},
		{"out 258", convolution{x: []int64{1, 5, 6, 20}, out: 258, kernel: []int64{3, 3}, bias: true}},
		{"out 258 no bias", convolution{x: []int64{1, 33, 4, 3}, out: 258, kernel: []int64{1, 1}}},
		{"cut kernels", convolution{
			x:       []int64{1, 256, 12, 12},
			out:     256,
			kernel:  []int64{3, 3},
			padType: "same",
			bias:    true,
		}},
		{"cut kernels ragged", convolution{x: []int64{1, 192, 12, 13}, out: 301, kernel: []int64{3, 3}, bias: true}},
		{"streamed kernels", convolution{
			x:       []int64{1, 512, 4, 4},
			out:     512,
			kernel:  []int64{3, 3},
			padType: "same",
			bias:    true,
		}},
		{"wide", convolution{x: []int64{1, 96, 1, 12000}, out: 4, kernel: []int64{1, 3}, padType: "same", bias: true}},
		{"wide stride 2 dilated", convolution{
			x:       []int64{1, 96, 12001},
			out:     4,
			kernel:  []int64{4},
			strides: []int{2},
			dil:     []int{3},
			padType: "custom",
			pad:     []int{3, 2},
		}},
		{"tall", convolution{x: []int64{1, 64, 300, 80}, out: 3, kernel: []int64{3, 3}, padType: "same"}},
		{"tall stride 2", convolution{
			x:       []int64{1, 64, 301, 80},
			out:     3,
			kernel:  []int64{5, 3},
			strides: []int{2, 1},
			padType: "custom",
			pad:     []int{3, 4, 1, 1},
		}},
		{"large plane", convolution{
			x:       []int64{1, 64, 150, 160},
			out:     8,
			kernel:  []int64{3, 3},
			padType: "same",
			bias:    true,
		}},
		{"grouped 2", convolution{x: []int64{1, 8, 6, 7}, out: 12, kernel: []int64{3, 3}, groups: 2, bias: true}},
		{"grouped 3 ragged", convolution{
			x:       []int64{1, 9, 6, 7},
			out:     15,
			kernel:  []int64{3, 3},
			groups:  3,
			padType: "same",
		}},
		{"grouped 4 wide groups", convolution{
			x:      []int64{1, 64, 5, 5},
			out:    128,
			kernel: []int64{1, 1},
			groups: 4,
			bias:   true,
		}},
		{"grouped 4 of 66", convolution{
			x:       []int64{1, 64, 5, 5},
			out:     264,
			kernel:  []int64{3, 1},
			groups:  4,
			bias:    true,
			padType: "same",
		}},
		{"grouped large plane", convolution{
			x:       []int64{1, 32, 40, 40},
			out:     64,
			kernel:  []int64{3, 3},
			groups:  8,
			bias:    true,
			padType: "same",
		}},
		{"grouped one dimension", convolution{
			x:      []int64{2, 12, 40},
			out:    24,
			kernel: []int64{3},
			groups: 4,
			bias:   true,
		}},
		{"depthwise", convolution{
			x:       []int64{1, 24, 6, 7},
			out:     24,
			kernel:  []int64{3, 3},
			groups:  24,
			padType: "same",
			bias:    true,
		}},
		{"depthwise stride 2", convolution{
			x:       []int64{1, 17, 9, 9},
			out:     17,
			kernel:  []int64{3, 3},
			groups:  17,
			strides: []int{2, 2},
		}},
		{"depthwise 1 channel rows", convolution{
			x:       []int64{2, 40, 33},
			out:     40,
			kernel:  []int64{9},
			groups:  40,
			padType: "same",
			bias:    true,
		}},
		{"depthwise tall", convolution{
			x:       []int64{1, 64, 200, 120},
			out:     64,
			kernel:  []int64{3, 3},
			groups:  64,
			padType: "same",
		}},
		{"multiplier 2", convolution{x: []int64{1, 10, 6, 7}, out: 20, kernel: []int64{3, 3}, groups: 10, bias: true}},
		{"multiplier 3 large", convolution{
			x:       []int64{1, 20, 20, 20},
			out:     60,
			kernel:  []int64{3, 3},
			groups:  20,
			padType: "same",
		}},
		{"conv relu", convolution{
			x:      []int64{1, 8, 9, 10},
			out:    12,
			kernel: []int64{3, 3},
			bias:   true,
			then:   unary("relu"),
		}},
		{"conv scale relu", convolution{x: []int64{1, 8, 9, 10}, out: 12, kernel: []int64{3, 3}, bias: true,
			then: func(g *irbuild.Graph, y *ir.Value) *ir.Value {
				return g.Op("relu", "x", g.Op("mul", "x", y, "y", 0.37))
			}}},
		{"conv per channel scale", convolution{x: []int64{1, 8, 9, 10}, out: 12, kernel: []int64{3, 3}, bias: true,
			then: func(g *irbuild.Graph, y *ir.Value) *ir.Value {
				return g.Op("add", "x", g.Op("mul", "x", y, "y", g.Weights(1, 12, 1, 1)), "y", g.Weights(12, 1, 1))
			}}},
		{"conv batch_norm", convolution{x: []int64{1, 8, 9, 10}, out: 12, kernel: []int64{3, 3},
			then: func(g *irbuild.Graph, y *ir.Value) *ir.Value {
				return g.Op("relu", "x", g.Op("batch_norm", "x", y, "mean", g.Weights(12), "variance",
					g.Filled(ir.FP16, func(i int64) float64 {
						return 0.5 + float64(i)/8
					}, 12),
					"gamma", g.Weights(12), "beta", g.Weights(12), "epsilon", 1e-3))
			}}},
		{"conv sigmoid", convolution{
			x:      []int64{1, 8, 9, 10},
			out:    12,
			kernel: []int64{3, 3},
			bias:   true,
			then:   unary("sigmoid"),
		}},
		{"conv gelu", convolution{
			x:      []int64{1, 8, 9, 40},
			out:    130,
			kernel: []int64{3, 3},
			bias:   true,
			then:   unary("gelu", "mode", "EXACT"),
		}},
		{"conv scale tanh", convolution{x: []int64{1, 8, 30}, out: 12, kernel: []int64{3}, then: func(g *irbuild.Graph,
			y *ir.Value) *ir.Value {
			return g.Op("tanh", "x", g.Op("mul", "x", 0.5, "y", y))
		}}},
		{"depthwise silu", convolution{
			x:       []int64{1, 24, 6, 7},
			out:     24,
			kernel:  []int64{3, 3},
			groups:  24,
			padType: "same",
			bias:    true,
			then:    unary("silu"),
		}},
		{"grouped tanh", convolution{
			x:      []int64{1, 8, 6, 7},
			out:    12,
			kernel: []int64{3, 3},
			groups: 2,
			bias:   true,
			then:   unary("tanh"),
		}},
		{"conv clip", convolution{
			x:      []int64{1, 8, 9, 10},
			out:    12,
			kernel: []int64{3, 3},
			then:   unary("clip", "alpha", -0.5, "beta", 0.75),
		}},
		{"conv relu6", convolution{x: []int64{1, 8, 9, 10}, out: 12, kernel: []int64{3, 3}, then: unary("relu6")}},
		{"conv maximum", convolution{
			x:      []int64{1, 8, 9, 10},
			out:    12,
			kernel: []int64{3, 3},
			bias:   true,
			then: func(g *irbuild.Graph, y *ir.Value) *ir.Value {
				return g.Op("maximum", "x", 0.125, "y", y)
			},
		}},
		{"conv scale minimum", convolution{
			x:      []int64{1, 8, 9, 10},
			out:    12,
			kernel: []int64{3, 3},
			then: func(g *irbuild.Graph, y *ir.Value) *ir.Value {
				return g.Op("minimum", "x", g.Op("mul", "x", y, "y", -2.0), "y", 0.5)
			},
		}},
		{"conv leaky_relu", convolution{
			x:      []int64{1, 8, 9, 10},
			out:    12,
			kernel: []int64{3, 3},
			then:   unary("leaky_relu", "alpha", 0.1),
		}},
	}
	var samples []sample
	for _, c := range table {
		samples = append(samples, sample{name: c.name, build: c.c.build})
	}
	runSamples(t, samples)
}

// TestConvolutionGrid combines strides, paddings and kernels of both ranks on a small tensor.
func TestConvolutionGrid(t *testing.T) {
	var samples []sample
	for _, pad := range []string{"valid", "same", "same_lower", "custom"} {
		for s := 1; s <= 3; s++ {
			for k := int64(1); k <= 4; k++ {
				c := convolution{
					x:       []int64{1, 3, 7, 8},
					out:     5,
					kernel:  []int64{k, 5 - k},
					strides: []int{s, 4 - s},
					padType: pad,
					bias:    k%2 == 0,
				}
				if pad == "custom" {
					c.pad = []int{int(k) - 1, 1, 2, int(k) / 2}
				}
				samples = append(samples, sample{
					name:  fmt.Sprintf("%s stride %d kernel %d", pad, s, k),
					build: c.build,
				})
			}
		}
	}
	runSamples(t, samples)
}
