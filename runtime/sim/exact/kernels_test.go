package exact

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/numerics/field"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// A definition writes an operation, and the same function with other operations. The interpreter must compute nearly
// the same numbers with both, and the field the same elements: a kernel is then the operation that the interpreter has,
// as far as the kernels of the other operations are.
type definition func(g *irbuild.Graph) (op, same *ir.Value)

// of is a definition by an expression of one operand.
func of(op string, same func(g *irbuild.Graph, x *ir.Value) *ir.Value, args ...any) definition {
	return func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
		x := g.Input(2, 3, 4, 6)
		return g.Op(op, append([]any{"x", x}, args...)...), same(g, x)
	}
}

func unaryOp(g *irbuild.Graph, op string, x *ir.Value) *ir.Value { return g.Op(op, "x", x) }

func binaryOp(g *irbuild.Graph, op string, x, y any) *ir.Value { return g.Op(op, "x", x, "y", y) }

// reduced is a reduction over two axes, with the dimensions kept.
func reduced(g *irbuild.Graph, op string, x *ir.Value) *ir.Value {
	return g.Op(op, "x", x, "axes", []int{1, 3}, "keep_dims", true)
}

// chosen returns a where cond is true, and else b.
func chosen(g *irbuild.Graph, cond, a, b any) *ir.Value {
	return g.Op("select", "cond", cond, "a", a, "b", b)
}

// halfway returns rows that x is multiplied by for a mean of neighbours between any two of n elements.
func halfway(g *irbuild.Graph, n int64) *ir.Value {
	return g.Filled(ir.FP16, func(k int64) float64 {
		i, j := k/n, k%n
		return max(0, 1-math.Abs(float64(i)/2-float64(j)))
	}, 2*n-1, n)
}

// definitions has the operations whose kernels have one.
var definitions = map[*ir.Operation][]definition{
	ir.OpAbs: {of("abs", func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return binaryOp(g, "maximum", x, binaryOp(g, "mul", x, -1.0))
	})},
	ir.OpRelu: {of("relu", func(g *irbuild.Graph, x *ir.Value) *ir.Value { return binaryOp(g, "maximum", x, 0.0) })},
	ir.OpRelu6: {of("relu6", func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return binaryOp(g, "minimum", binaryOp(g, "maximum", x, 0.0), 6.0)
	})},
	ir.OpClip: {of("clip", func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return binaryOp(g, "minimum", binaryOp(g, "maximum", x, -0.5), 0.75)
	}, "alpha", -0.5, "beta", 0.75)},
	ir.OpThreshold: {of("threshold", func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return binaryOp(g, "maximum", x, 0.25)
	}, "alpha", 0.25)},
	ir.OpMinimum: {of("minimum", func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return binaryOp(g, "mul", binaryOp(g, "maximum", binaryOp(g, "mul", x, -1.0), -0.5), -1.0)
	}, "y", 0.5)},
	ir.OpMaximum: {of("maximum", func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("fill_like", "ref_tensor", x, "value", math.Inf(1))
	}, "y", math.Inf(1))},
	ir.OpUpsampleBilinear: {of("upsample_bilinear", func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		quarters := g.Filled(ir.FP16, func(k int64) float64 { // half pixels: elements stay within the axis
			at := min(max((float64(k/4)+0.5)/2-0.5, 0), 3)
			return max(0, 1-math.Abs(at-float64(k%4)))
		}, 8, 4)
		return binaryOp(g, "matmul", quarters, x)
	}, "scale_factor_height", 2, "scale_factor_width", 1, "align_corners", false)},
	ir.OpResizeBilinear: {of("resize_bilinear", func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("matmul", "x", binaryOp(g, "matmul", halfway(g, 4), x), "y", halfway(g, 6), "transpose_y", true)
	}, "target_size_height", 7, "target_size_width", 11, "sampling_mode", "STRICT_ALIGN_CORNERS")},
	ir.OpResize: {of("resize", func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return g.Op("matmul", "x", x, "y", halfway(g, 6), "transpose_y", true)
	}, "shape", []int{11}, "resized_dims", 1, "interpolation_mode", "LINEAR", "sampling_mode", "ALIGN_CORNERS")},
	ir.OpSquare: {of("square", func(g *irbuild.Graph, x *ir.Value) *ir.Value { return binaryOp(g, "mul", x, x) })},
	ir.OpRealDiv: {of("real_div", func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return binaryOp(g, "mul", x, 4.0)
	}, "y", 0.25), func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
		x, y := g.Input(3, 1, 4), g.Input(2, 1)
		return binaryOp(g, "mul", binaryOp(g, "real_div", x, y), y), binaryOp(g, "add", x, binaryOp(g, "mul", y, 0.0))
	}},
	ir.OpSoftsign: {of("softsign", func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return binaryOp(g, "real_div", x, binaryOp(g, "add", unaryOp(g, "abs", x), 1.0))
	})},
	ir.OpLinearActivation: {of("linear_activation", func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return binaryOp(g, "add", binaryOp(g, "mul", x, 0.5), 3.0)
	}, "alpha", 0.5, "beta", 3.0)},
	ir.OpClampedRelu: {of("clamped_relu", func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return binaryOp(g, "minimum", g.Op("leaky_relu", "x", x, "alpha", 0.25), 0.5)
	}, "alpha", 0.25, "beta", 0.5)},
	ir.OpThresholdedRelu: {of("thresholded_relu", func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return chosen(g, binaryOp(g, "greater_equal", x, 0.5), x, 0.0)
	}, "alpha", 0.5)},
	ir.OpPrelu: {of("prelu", func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		slope := g.Filled(ir.FP16, func(i int64) float64 { return float64(i) / 4 }, 1, 3, 1, 1)
		return binaryOp(g, "maximum", x, binaryOp(g, "mul", x, slope))
	}, "alpha", []float64{0, 0.25, 0.5})},
	ir.OpSoftplusParametric: {of("softplus_parametric", func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		of := func(k float64) *ir.Value {
			return g.Filled(ir.FP16, func(i int64) float64 { return float64(i+1) * k }, 1, 3, 1, 1)
		}
		return binaryOp(g, "mul", unaryOp(g, "softplus", binaryOp(g, "mul", x, of(0.25))), of(0.5))
	}, "alpha", []float64{0.5, 1, 1.5}, "beta", []float64{0.25, 0.5, 0.75})},
	ir.OpSign: {of("sign", func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		above := g.Op("cast", "x", binaryOp(g, "greater", x, 0.0), "dtype", "fp16")
		return binaryOp(g, "sub", above, g.Op("cast", "x", binaryOp(g, "less", x, 0.0), "dtype", "fp16"))
	})},
	ir.OpCeil: {of("ceil", func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return binaryOp(g, "mul", unaryOp(g, "floor", binaryOp(g, "mul", x, -1.0)), -1.0)
	})},
	ir.OpReduceMean: {func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
		x := g.Input(2, 3, 4, 6)
		return reduced(g, "reduce_mean", x), binaryOp(g, "real_div", reduced(g, "reduce_sum", x), 18.0)
	}},
	ir.OpReduceSumSquare: {func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
		x := g.Input(2, 3, 4, 6)
		return reduced(g, "reduce_sum_square", x), reduced(g, "reduce_sum", unaryOp(g, "square", x))
	}},
	ir.OpReduceL1Norm: {func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
		x := g.Input(2, 3, 4, 6)
		return reduced(g, "reduce_l1_norm", x), reduced(g, "reduce_sum", unaryOp(g, "abs", x))
	}},
	ir.OpReduceL2Norm: {func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
		x := g.Input(2, 3, 4, 6)
		return reduced(g, "reduce_l2_norm", x), unaryOp(g, "sqrt", reduced(g, "reduce_sum_square", x))
	}},
	ir.OpReduceMax: {func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
		x := g.Input(2, 3)
		parts := g.All("split", "x", x, "num_splits", 3, "axis", 1)
		return g.Op("reduce_max", "x", x, "axes", []int{1}, "keep_dims", true),
			binaryOp(g, "maximum", parts[0], binaryOp(g, "maximum", parts[1], parts[2]))
	}},
	ir.OpReduceMin: {func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
		x := g.Input(2, 3, 4, 6)
		negative := reduced(g, "reduce_max", binaryOp(g, "mul", x, -1.0))
		return reduced(g, "reduce_min", x), binaryOp(g, "mul", negative, -1.0)
	}},
	ir.OpReduceLogSum: {func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
		x := unaryOp(g, "square", g.Input(2, 3, 4, 6))
		return reduced(g, "reduce_log_sum", x), g.Op("log", "x", reduced(g, "reduce_sum", x), "epsilon", 0.0)
	}},
	ir.OpReduceLogSumExp: {func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
		x := g.Input(2, 3, 4, 6)
		most := reduced(g, "reduce_max", x)
		sum := reduced(g, "reduce_sum", unaryOp(g, "exp", binaryOp(g, "sub", x, most)))
		return reduced(g, "reduce_log_sum_exp", x), binaryOp(g, "add", g.Op("log", "x", sum, "epsilon", 0.0), most)
	}},
	ir.OpSoftmax: {func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
		x := g.Input(2, 5, 4)
		over := func(op string, x *ir.Value) *ir.Value { return g.Op(op, "x", x, "axes", []int{1}, "keep_dims", true) }
		e := unaryOp(g, "exp", binaryOp(g, "sub", x, over("reduce_max", x)))
		return g.Op("softmax", "x", x, "axis", 1), binaryOp(g, "real_div", e, over("reduce_sum", e))
	}},
	ir.OpReduceArgmax: {firstPlace("reduce_argmax", func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return binaryOp(g, "sub", g.Op("reduce_max", "x", x, "axes", []int{2}, "keep_dims", true), x)
	})},
	ir.OpReduceArgmin: {firstPlace("reduce_argmin", func(g *irbuild.Graph, x *ir.Value) *ir.Value {
		return binaryOp(g, "sub", x, g.Op("reduce_min", "x", x, "axes", []int{2}, "keep_dims", true))
	})},
	ir.OpLayerNorm: {func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
		x, gamma, beta := g.Input(2, 5, 8), g.Weights(8), g.Weights(8)
		return g.Op("layer_norm", "x", x, "axes", []int{2}, "gamma", gamma, "beta", beta, "epsilon", 0.25),
			binaryOp(g, "add", binaryOp(g, "mul", normal(g, x, []int{2}), gamma), beta)
	}},
	ir.OpInstanceNorm: {func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
		x, gamma, beta := g.Input(2, 3, 4, 6), []float64{1, 2, 0.5}, []float64{0.5, 0, 1}
		y := binaryOp(g, "mul", normal(g, x, []int{2, 3}), channelsOf(g, gamma))
		return g.Op("instance_norm", "x", x, "gamma", gamma, "beta", beta, "epsilon", 0.25),
			binaryOp(g, "add", y, channelsOf(g, beta))
	}},
	ir.OpL2Norm: {func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
		x := g.Input(2, 3, 4, 6)
		sum := g.Op("reduce_sum_square", "x", x, "axes", []int{1, 2, 3}, "keep_dims", true)
		return g.Op("l2_norm", "x", x, "epsilon", 0.5), binaryOp(g, "mul", x, g.Op("rsqrt", "x", sum, "epsilon", 0.5))
	}},
	ir.OpLocalResponseNorm: responses(0.5, 1, 0.75, 0.3),
	ir.OpL2Pool: {func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
		x := g.Input(2, 3, 5, 6)
		window := []any{"kernel_sizes", []int{3, 2}, "strides", []int{2, 1}, "pad_type", "custom",
			"pad", []int{1, 1, 0, 1}}
		mean := g.Op("avg_pool", append([]any{"x", unaryOp(g, "square", x), "exclude_padding_from_average", false},
			window...)...)
		return g.Op("l2_pool", append([]any{"x", x}, window...)...), unaryOp(g, "sqrt", binaryOp(g, "mul", mean, 6.0))
	}},
	ir.OpAvgPool: {func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
		x := g.Input(2, 3, 5, 6)
		taps := g.Filled(ir.FP16, func(int64) float64 { return 1 }, 3, 1, 3, 2)
		window := []any{"strides", []int{2, 1}, "pad_type", "custom", "pad", []int{1, 1, 0, 1}}
		sum := func(x *ir.Value) *ir.Value {
			return g.Op("conv", append([]any{"x", x, "weight", taps, "groups", 3}, window...)...)
		}
		ones := g.Filled(ir.FP16, func(int64) float64 { return 1 }, 1, 3, 5, 6)
		window = append(window, "kernel_sizes", []int{3, 2})
		in := g.Op("avg_pool", append([]any{"x", x, "exclude_padding_from_average", true}, window...)...)
		all := g.Op("avg_pool", append([]any{"x", x, "exclude_padding_from_average", false}, window...)...)
		window = window[:len(window)-2]
		return binaryOp(g, "add", in, binaryOp(g, "mul", all, 6.0)), binaryOp(g, "add",
			binaryOp(g, "real_div", sum(x), sum(ones)), sum(x))
	}},
	ir.OpMaxPool: {func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
		x := g.Input(2, 3, 5, 6)
		y := g.Op("sliding_windows", "x", g.Op("pad", "x", x, "pad", []int{0, 0, 0, 0, 1, 1, 0, 0}, "mode", "constant",
			"constant_val", math.Inf(-1)), "axis", 2, "size", 3, "stride", 2)
		return g.Op("max_pool", "x", x, "kernel_sizes", []int{3, 1}, "strides", []int{2, 1}, "pad_type", "custom",
			"pad", []int{1, 1, 0, 0}), g.Op("reduce_max", "x", y, "axes", []int{3}, "keep_dims", false)
	}},
	ir.OpPow: {
		of("pow", func(g *irbuild.Graph, x *ir.Value) *ir.Value {
			return binaryOp(g, "mul", x, binaryOp(g, "mul", x, x))
		}, "y", 3.0),
		func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
			x := binaryOp(g, "add", unaryOp(g, "square", g.Input(2, 5)), 0.5)
			return binaryOp(g, "pow", x, -0.5), g.Op("rsqrt", "x", x, "epsilon", 0.0)
		},
		func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
			x, y := binaryOp(g, "add", unaryOp(g, "square", g.Input(2, 5)), 0.5), g.Input(5)
			return binaryOp(g, "pow", x, y),
				unaryOp(g, "exp", binaryOp(g, "mul", y, g.Op("log", "x", x, "epsilon", 0.0)))
		},
	},
	ir.OpOneHot: {func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
		x := g.InputOf(ir.Int32, 2, 3)
		places := g.Filled(ir.FP16, func(i int64) float64 { return float64(i) }, 1, 4, 1)
		wide := g.Op("expand_dims", "x", g.Op("cast", "x", x, "dtype", "fp16"), "axes", []int{1})
		return g.Op("one_hot", "indices", x, "one_hot_vector_size", 4, "axis", 1, "on_value", 2.0, "off_value", -0.5),
			chosen(g, binaryOp(g, "equal", wide, places), 2.0, -0.5)
	}},
	ir.OpQuantize: {func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
		x := g.Input(2, 3, 8)
		y := binaryOp(g, "real_div", x, channelsOf(g, []float64{0.25, 0.5, 0.125}, 3, 1))
		y = unaryOp(g, "round", binaryOp(g, "minimum", binaryOp(g, "maximum", y, -128.0), 127.0))
		return g.Op("cast", "x", g.Op("quantize", "input", x, "scale", []float64{0.25, 0.5, 0.125}, "axis", 1,
			"output_dtype", "int8"), "dtype", "fp16"), y
	}},
	ir.OpDequantize: {func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
		x := g.Op("cast", "x", g.InputOf(ir.Int32, 2, 3, 4), "dtype", "int8")
		zero := g.Filled(ir.Int8, func(i int64) float64 { return float64(i) - 3 }, 3)
		y := binaryOp(g, "sub", g.Op("cast", "x", x, "dtype", "fp16"), channelsOf(g, []float64{-3, -2, -1}, 3, 1))
		return g.Op("dequantize", "input", x, "scale", []float64{0.25, 0.5, 0.125}, "zero_point", zero, "axis", 1),
			binaryOp(g, "mul", y, channelsOf(g, []float64{0.25, 0.5, 0.125}, 3, 1))
	}},
	ir.OpScaledDotProductAttention: {func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
		q, k, v, m := g.Input(2, 2, 3, 16), g.Input(2, 2, 5, 16), g.Input(2, 2, 5, 4), g.Input(2, 1, 3, 5)
		scores := g.Op("matmul", "x", binaryOp(g, "mul", q, 0.25), "y", k, "transpose_y", true)
		share := g.Op("softmax", "x", binaryOp(g, "add", scores, m), "axis", -1)
		return g.Op("scaled_dot_product_attention", "query", q, "key", k, "value", v, "attn_mask", m),
			binaryOp(g, "matmul", share, v)
	}, func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
		q, k, v := g.Input(2, 3, 16), g.Input(2, 5, 16), g.Input(2, 5, 4)
		m := binaryOp(g, "greater", g.Input(1, 3, 5), -1.5)
		scores := g.Op("matmul", "x", binaryOp(g, "mul", q, 0.25), "y", k, "transpose_y", true)
		share := g.Op("softmax", "x", chosen(g, m, scores, -65504.0), "axis", -1)
		return g.Op("scaled_dot_product_attention", "query", q, "key", k, "value", v, "attn_mask", m),
			binaryOp(g, "matmul", share, v)
	}},
	ir.OpLSTM: {recurrent("lstm", 4, nil), recurrent("lstm", 4, []any{"direction", "reverse", "activation", "linear",
		"cell_activation", "relu", "recurrent_activation", "sigmoid_hard", "clip", 0.5})},
	ir.OpGRU: {recurrent("gru", 3, nil), recurrent("gru", 3, []any{"direction", "reverse", "activation", "linear"})},
	ir.OpRNN: {recurrent("rnn", 1, nil), recurrent("rnn", 1, []any{"direction", "reverse", "activation", "relu"})},
	ir.OpLogicalXor: {truth("logical_xor", func(g *irbuild.Graph, x, y *ir.Value) *ir.Value {
		return binaryOp(g, "not_equal", x, y)
	})},
	ir.OpLogicalOr: {truth("logical_or", func(g *irbuild.Graph, x, y *ir.Value) *ir.Value {
		number := func(v *ir.Value) *ir.Value { return g.Op("cast", "x", v, "dtype", "fp16") }
		return g.Op("cast", "x", binaryOp(g, "maximum", number(x), number(y)), "dtype", "bool")
	})},
	ir.OpBandPart: {func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
		x := g.Input(2, 4, 5)
		limit := func(far float64) *ir.Value {
			return g.Filled(ir.FP16, func(i int64) float64 {
				if d := i%5 - i/5; -1 <= d && d <= 2 {
					return far
				}
				return 0
			}, 4, 5)
		}
		return g.Op("band_part", "x", x, "lower", 1, "upper", 2), binaryOp(g, "maximum", binaryOp(g, "minimum", x,
			limit(math.Inf(1))), limit(math.Inf(-1)))
	}},
	ir.OpEinsum: {func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
		x, y := g.Input(2, 3, 4, 5), g.Input(2, 3, 5, 6)
		return g.Op("einsum", "values", []*ir.Value{x, y}, "equation", "nchw,ncwu->nchu"), binaryOp(g, "matmul", x, y)
	}, func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
		x, y := g.Input(4, 1, 5), g.Input(3, 7, 4)
		sum := g.Op("reduce_sum", "x", x, "axes", []int{1, 2}, "keep_dims", true)
		z := binaryOp(g, "mul", g.Op("transpose", "x", y, "perm", []int{2, 0, 1}), sum)
		return g.Op("einsum", "values", []*ir.Value{x, y}, "equation", "acd,bca->cba"),
			g.Op("transpose", "x", z, "perm", []int{2, 1, 0})
	}},
	ir.OpCond: {func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
		x, p := g.Input(4), g.Op("squeeze", "x", binaryOp(g, "greater", g.Input(1), 0.0), "axes", []int{0})
		branch := func(op string) *ir.Block {
			return g.Block(nil, func([]*ir.Value) []*ir.Value { return []*ir.Value{unaryOp(g, op, x)} })
		}
		y, err := g.TryBlocks("cond", []*ir.Block{branch("tanh"), branch("sigmoid")}, "pred", p)
		if err != nil {
			panic(err)
		}
		return y[0], chosen(g, p, unaryOp(g, "tanh", x), unaryOp(g, "sigmoid", x))
	}},
}

// firstPlace defines the first place of an element of the last dimension that under is 0 for.
func firstPlace(op string, under func(g *irbuild.Graph, x *ir.Value) *ir.Value) definition {
	return func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
		x := g.Input(2, 3, 7)
		far := binaryOp(g, "mul", binaryOp(g, "mul", under(g, x), 0x1p15), 0x1p15)
		equal := binaryOp(g, "sub", 1.0, binaryOp(g, "minimum", far, 1.0))
		places := g.Filled(ir.FP16, func(i int64) float64 { return float64(7 - i) }, 7)
		marks := g.Op("reduce_max", "x", binaryOp(g, "mul", equal, places), "axes", []int{2}, "keep_dims", false)
		return g.Op(op, "x", x, "axis", 2, "keep_dims", false),
			g.Op("cast", "x", binaryOp(g, "sub", 7.0, marks), "dtype", "int32")
	}
}

// channelsOf is a constant that broadcasts over dimension 1.
func channelsOf(g *irbuild.Graph, vs []float64, shape ...int64) *ir.Value {
	if shape == nil {
		shape = []int64{1, int64(len(vs)), 1, 1}
	}
	return g.Filled(ir.FP16, func(i int64) float64 { return vs[i] }, shape...)
}

// normal is a normalisation with an epsilon of 0.25.
func normal(g *irbuild.Graph, x *ir.Value, axes []int) *ir.Value {
	over := func(op string, x *ir.Value) *ir.Value { return g.Op(op, "x", x, "axes", axes, "keep_dims", true) }
	d := binaryOp(g, "sub", x, over("reduce_mean", x))
	root := g.Op("rsqrt", "x", over("reduce_mean", unaryOp(g, "square", d)), "epsilon", 0.25)
	return binaryOp(g, "mul", d, root)
}

// responses define a response norm with each power, over windows of 1 to 4 channels.
func responses(betas ...float64) []definition {
	var out []definition
	for i, beta := range betas {
		size := int64(i + 1)
		out = append(out, func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
			x := g.Input(2, 5, 4, 3)
			band := g.Filled(ir.FP16, func(i int64) float64 {
				if d := i%5 - i/5; -size/2 <= d && d <= (size-1)/2 {
					return 1
				}
				return 0
			}, 5, 5, 1, 1)
			sum := g.Op("conv", "x", unaryOp(g, "square", x), "weight", band)
			sum = binaryOp(g, "add", binaryOp(g, "mul", sum, 0.5), 2.0)
			return g.Op("local_response_norm", "x", x, "size", size, "alpha", float64(size)/2, "beta", beta, "k", 2.0),
				binaryOp(g, "mul", x, inverseOf(g, sum, beta))
		})
	}
	return out
}

// inverseOf is 1/x^n.
func inverseOf(g *irbuild.Graph, x *ir.Value, n float64) *ir.Value {
	r := g.Op("rsqrt", "x", x, "epsilon", 0.0)
	switch n {
	case 1:
		return binaryOp(g, "real_div", 1.0, x)
	case 0.5:
		return r
	case 0.75:
		return binaryOp(g, "mul", r, unaryOp(g, "sqrt", r))
	}
	return unaryOp(g, "exp", binaryOp(g, "mul", g.Op("log", "x", x, "epsilon", 0.0), -n))
}

func truth(op string, same func(g *irbuild.Graph, x, y *ir.Value) *ir.Value) definition {
	return func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
		x, y := binaryOp(g, "greater", g.Input(4, 5), 0.0), binaryOp(g, "less", g.Input(4, 5), 0.5)
		number := func(v *ir.Value) *ir.Value { return g.Op("cast", "x", v, "dtype", "fp16") }
		return number(binaryOp(g, op, x, y)), number(same(g, x, y))
	}
}

// recurrent defines a layer of two steps of two rows step by step.
func recurrent(op string, gates int64, more []any) definition {
	const steps, in, hidden = 2, 4, 3
	setting := map[string]string{"recurrent_activation": "sigmoid", "cell_activation": "tanh", "activation": "tanh"}
	for i := 0; i+1 < len(more); i += 2 {
		if s, ok := more[i+1].(string); ok {
			setting[more[i].(string)] = s
		}
	}
	return func(g *irbuild.Graph) (*ir.Value, *ir.Value) {
		part := func(k, first int64, shape ...int64) *ir.Value {
			return g.Filled(ir.FP16, func(i int64) float64 { return float64((first+i+k)*k%17)/16 - 0.5 }, shape...)
		}
		activate := func(name string, x *ir.Value) *ir.Value {
			switch s := setting[name]; s {
			case "linear":
				return x
			case "sigmoid_hard":
				return g.Op(s, "x", x, "alpha", 0.2, "beta", 0.5)
			default:
				return unaryOp(g, s, x)
			}
		}
		x, h := g.Input(steps, 2, in), g.Input(2, hidden)
		args := append([]any{"x", x, "initial_h", h, "weight_ih", part(3, 0, hidden*gates, in),
			"weight_hh", part(5, 0, hidden*gates, hidden), "bias", part(7, 0, hidden*gates), "output_sequence", true},
			more...)
		var cell *ir.Value
		if op == "lstm" {
			cell = g.Input(2, hidden)
			args = append(args, "initial_c", cell)
		}
		rows := g.All("split", "x", x, "num_splits", steps, "axis", 0)
		if setting["direction"] == "reverse" {
			rows = slices.Clone(rows)
			slices.Reverse(rows)
		}
		var states []*ir.Value
		for _, row := range rows {
			row = g.Op("squeeze", "x", row, "axes", []int{0})
			fromX := func(q int64) *ir.Value {
				return g.Op("linear", "x", row, "weight", part(3, q*hidden*in, hidden, in))
			}
			fromH := func(q int64, h *ir.Value) *ir.Value {
				y := g.Op("linear", "x", h, "weight", part(5, q*hidden*hidden, hidden, hidden))
				return binaryOp(g, "add", y, part(7, q*hidden, hidden))
			}
			sum := func(q int64) *ir.Value { return binaryOp(g, "add", fromX(q), fromH(q, h)) }
			gate := func(q int64) *ir.Value { return activate("recurrent_activation", sum(q)) }
			switch op {
			case "rnn":
				h = activate("activation", sum(0))
			case "gru":
				o := binaryOp(g, "add", fromX(1), fromH(1, binaryOp(g, "mul", gate(0), h)))
				o, z := activate("activation", o), gate(2)
				h = binaryOp(g, "add", binaryOp(g, "mul", binaryOp(g, "sub", 1.0, z), o), binaryOp(g, "mul", z, h))
			default:
				cell = binaryOp(g, "add", binaryOp(g, "mul", gate(1), cell), binaryOp(g, "mul", gate(0),
					activate("cell_activation", sum(3))))
				if slices.Contains(more, any("clip")) {
					cell = g.Op("clip", "x", cell, "alpha", -0.5, "beta", 0.5)
				}
				h = binaryOp(g, "mul", gate(2), activate("activation", cell))
			}
			states = append(states, h)
		}
		return g.All(op, args...)[0], g.Op("stack", "values", states, "axis", 0)
	}
}

// direct have operations whose kernels compute small whole numbers as the interpreter does.
var direct = map[*ir.Operation]func(g *irbuild.Graph) *ir.Value{
	ir.OpLess: compared("less"), ir.OpLessEqual: compared("less_equal"), ir.OpGreater: compared("greater"),
	ir.OpGreaterEqual: compared("greater_equal"), ir.OpEqual: compared("equal"), ir.OpNotEqual: compared("not_equal"),
	ir.OpLogicalAnd: func(g *irbuild.Graph) *ir.Value {
		return number(g, binaryOp(g, "logical_and", truthOf(g), truthOf(g)))
	},
	ir.OpLogicalNot: func(g *irbuild.Graph) *ir.Value { return number(g, unaryOp(g, "logical_not", truthOf(g))) },
	ir.OpSelect:     func(g *irbuild.Graph) *ir.Value { return chosen(g, truthOf(g), g.Input(3, 1, 5), g.Input(4, 5)) },
	ir.OpCast:       func(g *irbuild.Graph) *ir.Value { return number(g, truthOf(g)) },
	ir.OpReshapeLike: func(g *irbuild.Graph) *ir.Value {
		return g.Op("reshape_like", "x", g.Input(2, 6), "ref_tensors", []*ir.Value{g.Input(3, 4)}, "begins", []int{0},
			"ends", []int{2}, "end_masks", []bool{false})
	},
	ir.OpFromBytes: func(g *irbuild.Graph) *ir.Value { return number(g, joinedBytes(g)) },
	ir.OpToBytes: func(g *irbuild.Graph) *ir.Value {
		parts := g.All("to_bytes", "x", joinedBytes(g))
		return binaryOp(g, "sub", binaryOp(g, "mul", parts[1], 8.0), parts[0])
	},
}

func number(g *irbuild.Graph, v *ir.Value) *ir.Value { return g.Op("cast", "x", v, "dtype", "fp16") }

// truthOf is a boolean for each number.
func truthOf(g *irbuild.Graph) *ir.Value { return binaryOp(g, "greater", g.Input(3, 4, 5), g.Input(5)) }

func compared(op string) func(g *irbuild.Graph) *ir.Value {
	return func(g *irbuild.Graph) *ir.Value { return number(g, binaryOp(g, op, g.Input(3, 1, 5), g.Input(4, 5))) }
}

// joinedBytes is an integer of two bytes.
func joinedBytes(g *irbuild.Graph) *ir.Value {
	bytes := []*ir.Value{unaryOp(g, "square", g.Input(6)), unaryOp(g, "square", g.Input(6))}
	return g.Op("from_bytes", "values", bytes, "dtype", "int16")
}

// opaque are operations whose kernels are random functions: nothing that the field computes says which numbers they
// have. What is known of them is in TestFunctionsOfElements and, for tables, in the distance of their numbers.
var opaque = []*ir.Operation{ir.OpFloor, ir.OpRound}

// inputs returns numbers for the parameters of a function.
func inputs(t *testing.T, f *ir.Func, number func(typ ir.DType) float32) map[string]interp.Tensor {
	t.Helper()
	given := map[string]interp.Tensor{}
	for _, v := range f.Body.Params {
		vals := make([]float32, v.Type.Elems())
		for j := range vals {
			vals[j] = number(v.Type.DType)
		}
		x, err := interp.FromFloats(v.Type.DType, vals, v.Type.Shape...)
		if err != nil {
			t.Fatal(err)
		}
		given[v.Name] = x
	}
	return given
}

// computed computes a function over the field, all of whose operations it must know.
func computed(t *testing.T, f *ir.Func, in func(v *ir.Value, fs *field.Functions) Tensor) []Tensor {
	t.Helper()
	fs := field.New(7)
	e := NewEvaluator(fs, nil, NewValuation(fs, f))
	e.Whole = true
	e.Unknown = func(op *ir.Op) bool {
		t.Errorf("the field does not know %s", op.Def.Name)
		return true
	}
	var params []Tensor
	for _, v := range f.Body.Params {
		params = append(params, in(v, fs))
	}
	out, err := e.Func(t.Context(), f, params)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestKernelsAreTheirDefinitions computes each operation and its definition in the interpreter and over the field.
func TestKernelsAreTheirDefinitions(t *testing.T) {
	for op, list := range definitions {
		for i, d := range list {
			g := irbuild.New(uint64(3 + i))
			a, b := d(g)
			g.Output(a, b)
			f := g.Program().Funcs[0]
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for range 4 {
				given := inputs(t, f, func(typ ir.DType) float32 {
					if typ.IsFloat() {
						return float32(r.NormFloat64())
					}
					return float32(r.IntN(4))
				})
				out, err := interp.Run(t.Context(), f, given, interp.Options{Numerics: numerics.IEEE, WideSums: true})
				if err != nil {
					t.Fatalf("%s: %v", op.Name, err)
				}
				x, y := out[a.Name].Floats32(), out[b.Name].Floats32()
				for j := range x {
					u, w := float64(x[j]), float64(y[j])
					if u != w && !(math.Abs(u-w) <= 0x1p-6*max(math.Abs(u), 0.25)) {
						t.Fatalf("%s, definition %d: element %d is %g, by the definition %g", op.Name, i, j, u, w)
					}
				}
			}
			out := computed(t, f, func(v *ir.Value, fs *field.Functions) Tensor {
				x := Tensor{Type: v.Type, Elems: make([]field.Elem, v.Type.Elems())}
				for j := range x.Elems {
					x.Elems[j] = fs.Hash(fs.Name(v.Name), field.Elem(j))
				}
				return x
			})
			if !slices.Equal(out[0].Elems, out[1].Elems) {
				t.Errorf("%s, definition %d: the field has other elements than by the definition", op.Name, i)
			}
		}
	}
}

// TestKernelsOfWholeNumbersAreThoseOfTheInterpreter computes direct operations with both.
func TestKernelsOfWholeNumbersAreThoseOfTheInterpreter(t *testing.T) {
	for op, build := range direct {
		g := irbuild.New(5)
		v := build(g)
		g.Output(v)
		f := g.Program().Funcs[0]
		r := rand.New(rand.NewPCG(1, 2))
		given := inputs(t, f, func(ir.DType) float32 { return float32(r.IntN(7) - 3) })
		want, err := interp.Run(t.Context(), f, given, interp.Options{})
		if err != nil {
			t.Fatalf("%s: %v", op.Name, err)
		}
		got := computed(t, f, func(v *ir.Value, _ *field.Functions) Tensor { return elements(given[v.Name]) })
		if !slices.Equal(got[0].Elems, elements(want[v.Name]).Elems) {
			t.Errorf("%s: the field has %d, the interpreter %v", op.Name, got[0].Elems, want[v.Name].Floats32())
		}
	}
}

// TestFunctionsOfElements requires that opaque operations are functions of one element, and that all of them and of the
// operations with a table differ.
func TestFunctionsOfElements(t *testing.T) {
	ops := slices.Clone(opaque)
	for _, op := range ir.Operations {
		if k := op.Forms()[0].Curve; k != nil && k.Table != "" && len(k.Params) == 0 {
			ops = append(ops, op)
		}
	}
	names := map[field.Elem]string{}
	for _, op := range ops {
		g := irbuild.New(5)
		g.Output(g.Op(op.Name, "x", g.Input(4)))
		out := computed(t, g.Program().Funcs[0], func(v *ir.Value, fs *field.Functions) Tensor {
			a, b := fs.Hash(1, 2), fs.Hash(3, 4)
			return Tensor{v.Type, []field.Elem{a, b, a, a}}
		})[0].Elems
		if out[0] != out[2] || out[0] != out[3] || out[0] == out[1] {
			t.Errorf("%s is no function of one element: %d", op.Name, out)
		}
		if names[out[0]] != "" {
			t.Errorf("%s is the function of %s", op.Name, names[out[0]])
		}
		names[out[0]] = op.Name
	}
}

// TestEveryKernelIsCompared requires a comparison of each kernel with the interpreter.
func TestEveryKernelIsCompared(t *testing.T) {
	for op := range kernels {
		if definitions[op] == nil && direct[op] == nil && !slices.Contains(polynomials, op) &&
			!slices.Contains(opaque, op) {
			t.Errorf("%s has a kernel and no definition in this file", op.Name)
		}
	}
}

// TestHardSwishReadsItsOperand computes t sigmoid_hard(t), where t is x from a bound on and else 0, and the other side
// x sigmoid_hard(x). They are the same only if sigmoid_hard is 0 below the bound.
func TestHardSwishReadsItsOperand(t *testing.T) {
	for _, c := range []struct {
		bound, alpha, beta float64
		selects, same      bool
	}{
		{-3, 1.0 / 6, 0.5, false, true},
		{-3, 1.0 / 6, 0.5, true, true},
		{-3, 0x1.554p-3, 0.5, false, true},
		{-4, 0.25, 0.5, false, true},
		{-2, 1.0 / 6, 0.5, false, false},
		{-2, 1.0 / 6, 0.5, true, false},
		{-3, -1.0 / 6, 0.5, false, false},
	} {
		g := irbuild.New(3)
		x := g.Input(2, 3)
		v := g.Op("thresholded_relu", "x", x, "alpha", c.bound)
		if c.selects {
			v = chosen(g, binaryOp(g, "greater_equal", x, c.bound), x, 0.0)
		}
		hard := func(x *ir.Value) *ir.Value { return g.Op("sigmoid_hard", "x", x, "alpha", c.alpha, "beta", c.beta) }
		short := binaryOp(g, "mul", x, hard(x))
		y := binaryOp(g, "mul", v, hard(v))
		g.Output(y)
		f := g.Program().Funcs[0]

		fs := field.New(7)
		e := NewEvaluator(fs, nil, NewValuation(fs, f))
		in := Scope{x: {Type: x.Type, Elems: make([]field.Elem, 6)}}
		for i := range in[x].Elems {
			in[x].Elems[i] = fs.Hash(1, field.Elem(i))
		}
		for _, op := range f.Body.Ops {
			if op == y.Def {
				want := in[short].Elems
				e.Computed = func(x field.Elem) (bool, bool) { return slices.Contains(want, x), true }
			}
			for i, t := range e.Compute(op, in) {
				in[op.Results[i]] = t
			}
		}
		if slices.Equal(in[y].Elems, in[short].Elems) != c.same {
			t.Errorf("%+v: equal is %t", c, !c.same)
		}
	}
}
