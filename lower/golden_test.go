package lower

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

var update = flag.Bool("update", false, "rewrite the golden files from what lowering does")

// A ruleCase is an operation, or an operation and what its tasks carry out as well.
type ruleCase struct {
	name  string
	build func(g *irbuild.Graph) *ir.Value
}

func convOf(g *irbuild.Graph, x *ir.Value, w []int64, pad string, stride, groups int64) *ir.Value {
	return g.Op("conv", "x", x, "weight", g.Weights(w...), "pad_type", pad, "pad", []int64{0, 0, 0, 0},
		"strides", []int64{stride, stride}, "dilations", []int64{1, 1}, "groups", groups)
}

func unary(name string, args ...any) func(g *irbuild.Graph) *ir.Value {
	return func(g *irbuild.Graph) *ir.Value {
		return g.Op(name, append([]any{"x", g.Input(1, 16, 4, 32)}, args...)...)
	}
}

// comparisonCases are all comparisons of two tensors, and one with a number.
func comparisonCases() (cs []ruleCase) {
	for _, o := range keys(comparisons) {
		cs = append(cs, ruleCase{o.Name, func(g *irbuild.Graph) *ir.Value {
			return g.Op(o.Name, "x", g.Input(1, 16, 4, 32), "y", g.Input(1, 16, 1, 32))
		}})
	}
	return append(cs, ruleCase{"with a number", unary("less", "y", 0.5)},
		ruleCase{"less of columns", func(g *irbuild.Graph) *ir.Value {
			return g.Op("less", "x", g.Input(1, 64, 1, 1), "y", g.Input(1, 64, 1, 1))
		}})
}

// ruleCases has at least one case for every operation of every rule, and one for each
// form that a rule's tasks take.
var ruleCases = map[string][]ruleCase{
	"compare": comparisonCases(),
	"logical_not": {{"of bytes", func(g *irbuild.Graph) *ir.Value {
		return g.Op("logical_not", "x", g.InputOf(ir.Bool, 1, 16, 4, 32))
	}}},
	"select": {
		{"of tensors", func(g *irbuild.Graph) *ir.Value {
			return g.Op("select", "cond", g.InputOf(ir.Bool, 1, 16, 4, 32), "a", g.Input(1, 16, 4, 32), "b",
				g.Input(1, 16, 4, 32))
		}},
		{"with a number", func(g *irbuild.Graph) *ir.Value {
			return g.Op("select", "cond", g.InputOf(ir.Bool, 1, 1, 4, 32), "a", math.Inf(-1), "b",
				g.Input(1, 16, 4, 32))
		}},
		{"with zero", func(g *irbuild.Graph) *ir.Value {
			return g.Op("select", "cond", g.InputOf(ir.Bool, 1, 1, 4, 32), "a", 0.0, "b", g.Input(1, 16, 4, 32))
		}},
		{"of numbers", func(g *irbuild.Graph) *ir.Value {
			return g.Op("select", "cond", g.InputOf(ir.Bool, 1, 16, 4, 32), "a", 0.5, "b", -2.0)
		}},
		{"of columns", func(g *irbuild.Graph) *ir.Value {
			return g.Op("select", "cond", g.InputOf(ir.Bool, 1, 64, 1, 1), "a", g.Input(1, 64, 1, 1), "b",
				g.Input(1, 64, 1, 1))
		}},
	},
	"sign": {{"sign", unary("sign")}},
	"rounding": {
		{"ceil", unary("ceil")}, {"floor", unary("floor")},
		{"floor of a quotient of columns", func(g *irbuild.Graph) *ir.Value {
			return g.Op("floor", "x", g.Op("real_div", "x", g.Input(1, 64, 1, 1), "y", g.Input(1, 64, 1, 1)))
		}},
	},
	"round": {{"round", unary("round")}},
	"cast": {
		{"to booleans", unary("cast", "dtype", "bool")},
		{"to fp16", func(g *irbuild.Graph) *ir.Value {
			return g.Op("cast", "x", g.InputOf(ir.Bool, 1, 16, 4, 32), "dtype", "fp16")
		}},
	},
	"bytes": {
		{"of bytes", func(g *irbuild.Graph) *ir.Value {
			return g.Op("to_bytes", "x", g.InputOf(ir.UInt8, 1, 16, 4, 32))
		}},
		{"of int32", func(g *irbuild.Graph) *ir.Value {
			return g.All("to_bytes", "x", g.InputOf(ir.Int32, 16, 32))[0]
		}},
		{"to bytes", func(g *irbuild.Graph) *ir.Value {
			return g.Op("from_bytes", "values", []*ir.Value{g.Input(1, 16, 4, 32)}, "dtype", "uint8")
		}},
		{"to int16", func(g *irbuild.Graph) *ir.Value {
			return g.Op("from_bytes", "values", []*ir.Value{g.Input(16, 32), g.Input(16, 32)}, "dtype", "int16")
		}},
	},
	"fill": {
		{"fill", func(g *irbuild.Graph) *ir.Value {
			return g.Op("fill", "shape", []int64{1, 16, 4, 32}, "value", 0.5)
		}},
		{"fill_like", func(g *irbuild.Graph) *ir.Value {
			return g.Op("fill_like", "ref_tensor", g.Input(1, 16, 4, 32), "value", 0.5)
		}},
	},
	"convolution": {
		{"1x1", func(g *irbuild.Graph) *ir.Value {
			return convOf(g, g.Input(1, 16, 16, 16), []int64{32, 16, 1, 1}, "valid", 1, 1)
		}},
		{"3x3 with bias and relu", func(g *irbuild.Graph) *ir.Value {
			c := g.Op("conv", "x", g.Input(1, 16, 16, 16), "weight", g.Weights(32, 16, 3, 3), "bias", g.Weights(32),
				"pad_type", "same", "pad", []int64{0, 0, 0, 0}, "strides", []int64{1, 1}, "dilations", []int64{1, 1},
				"groups", 1)
			return g.Op("relu", "x", c)
		}},
		{"4608 terms", func(g *irbuild.Graph) *ir.Value {
			return convOf(g, g.Input(1, 512, 16, 16), []int64{32, 512, 3, 3}, "valid", 1, 1)
		}},
		{"with relu6", func(g *irbuild.Graph) *ir.Value {
			return g.Op("relu6", "x", convOf(g, g.Input(1, 16, 16, 16), []int64{32, 16, 1, 1}, "valid", 1, 1))
		}},
		{"stride 2 with a table", func(g *irbuild.Graph) *ir.Value {
			return g.Op("sigmoid", "x", convOf(g, g.Input(1, 16, 16, 16), []int64{32, 16, 3, 3}, "valid", 2, 1))
		}},
		{"stride 2", func(g *irbuild.Graph) *ir.Value {
			return convOf(g, g.Input(1, 16, 16, 16), []int64{16, 16, 3, 3}, "valid", 2, 1)
		}},
		{"stride 2, several output groups", func(g *irbuild.Graph) *ir.Value {
			return convOf(g, g.Input(1, 16, 16, 16), []int64{1024, 16, 3, 3}, "same", 2, 1)
		}},
		{"stride 2, cut", func(g *irbuild.Graph) *ir.Value {
			return convOf(g, g.Input(1, 256, 32, 32), []int64{256, 256, 3, 3}, "same", 2, 1)
		}},
		{"groups whose kernels are cut", func(g *irbuild.Graph) *ir.Value {
			return convOf(g, g.Input(1, 512, 16, 16), []int64{512, 256, 3, 3}, "same", 1, 2)
		}},
		{"depthwise", func(g *irbuild.Graph) *ir.Value {
			return convOf(g, g.Input(1, 16, 16, 16), []int64{16, 1, 3, 3}, "same", 1, 16)
		}},
		{"depthwise in pairs of columns", func(g *irbuild.Graph) *ir.Value {
			return convOf(g, g.Input(1, 16, 1, 375), []int64{16, 1, 1, 9}, "valid", 1, 16)
		}},
		{"groups", func(g *irbuild.Graph) *ir.Value {
			return convOf(g, g.Input(1, 16, 16, 16), []int64{32, 4, 3, 3}, "same", 1, 4)
		}},
		{"a long sum with few uses", func(g *irbuild.Graph) *ir.Value {
			return convOf(g, g.Input(1, 1024, 16, 16), []int64{64, 1024, 1, 1}, "same", 1, 1)
		}},
		{"a short sum with many uses", func(g *irbuild.Graph) *ir.Value {
			return convOf(g, g.Input(1, 64, 16, 16), []int64{512, 64, 1, 1}, "same", 1, 1)
		}},
		{"a long sum with many uses", func(g *irbuild.Graph) *ir.Value {
			return convOf(g, g.Input(1, 512, 16, 16), []int64{512, 512, 1, 1}, "same", 1, 1)
		}},
		{"groups in runs of equal length, the last first", func(g *irbuild.Graph) *ir.Value {
			return convOf(g, g.Input(1, 512, 16, 16), []int64{512, 128, 3, 3}, "same", 1, 4)
		}},
		{"512 channels at stride 2, a small result of a larger image", func(g *irbuild.Graph) *ir.Value {
			return convOf(g, g.Input(1, 128, 16, 16), []int64{512, 128, 3, 3}, "same", 2, 1)
		}},
		{"padding apart", func(g *irbuild.Graph) *ir.Value {
			return g.Op("conv", "x", g.Input(1, 16, 16, 16), "weight", g.Weights(16, 16, 1, 1), "pad_type", "custom",
				"pad", []int64{0, 0, 1, 0}, "strides", []int64{1, 1}, "dilations", []int64{1, 1}, "groups", 1)
		}},
	},
	"linear": {
		{"rows", func(g *irbuild.Graph) *ir.Value {
			return g.Op("linear", "x", g.Input(4, 64), "weight", g.Weights(32, 64), "bias", g.Weights(32))
		}},
		{"folded rows", func(g *irbuild.Graph) *ir.Value {
			return g.Op("linear", "x", g.Input(64, 64), "weight", g.Weights(512, 64), "bias", g.Weights(512))
		}},
		{"64 rows with twice as many columns as terms", func(g *irbuild.Graph) *ir.Value {
			return g.Op("linear", "x", g.Input(64, 256), "weight", g.Weights(512, 256), "bias", g.Weights(512))
		}},
		{"16 rows of long sums", func(g *irbuild.Graph) *ir.Value {
			return g.Op("linear", "x", g.Input(16, 2048), "weight", g.Weights(2048, 2048), "bias", g.Weights(2048))
		}},
		{"in a sum with its operand", func(g *irbuild.Graph) *ir.Value {
			x := g.Input(64, 32)
			return g.Op("add", "x", x, "y", g.Op("linear", "x", x, "weight", g.Weights(32, 32), "bias", g.Weights(32)))
		}},
		{"a lower bound after it", func(g *irbuild.Graph) *ir.Value {
			x := g.Op("linear", "x", g.Input(4, 64), "weight", g.Weights(32, 64), "bias", g.Weights(32))
			return g.Op("maximum", "x", x, "y", -0.5)
		}},
		{"a factor and an upper bound after it", func(g *irbuild.Graph) *ir.Value {
			x := g.Op("linear", "x", g.Input(4, 64), "weight", g.Weights(32, 64), "bias", g.Weights(32))
			return g.Op("minimum", "x", 2.0, "y", g.Op("mul", "x", x, "y", 0.5))
		}},
		{"two bounds after it", func(g *irbuild.Graph) *ir.Value {
			x := g.Op("linear", "x", g.Input(4, 64), "weight", g.Weights(32, 64), "bias", g.Weights(32))
			return g.Op("clip", "x", x, "alpha", -0.5, "beta", 2.0)
		}},
		{"two in a row", func(g *irbuild.Graph) *ir.Value {
			x := g.Op("linear", "x", g.Input(4, 64), "weight", g.Weights(32, 64), "bias", g.Weights(32))
			return g.Op("linear", "x", x, "weight", g.Weights(16, 32), "bias", g.Weights(16))
		}},
	},
	"matmul": {
		{"with a constant", func(g *irbuild.Graph) *ir.Value {
			return g.Op("matmul", "x", g.Input(4, 64), "y", g.Weights(64, 32))
		}},
		{"of more than half of L2", func(g *irbuild.Graph) *ir.Value {
			return g.Op("matmul", "x", g.Input(192, 4096), "y", g.Weights(4096, 256))
		}},
		{"of a constant", func(g *irbuild.Graph) *ir.Value {
			return g.Op("matmul", "x", g.Weights(32, 64), "y", g.Input(64, 32))
		}},
		{"at run time, a row a core", func(g *irbuild.Graph) *ir.Value {
			return g.Op("matmul", "x", g.Input(8, 64), "y", g.Input(64, 32))
		}},
		{"at run time, a kernel put together", func(g *irbuild.Graph) *ir.Value {
			return g.Op("matmul", "x", g.Input(64, 64), "y", g.Input(32, 64), "transpose_y", true)
		}},
		{"of transposed matrices", func(g *irbuild.Graph) *ir.Value {
			return g.Op("matmul", "x", g.Input(3, 64, 35), "y", g.Input(3, 64, 32), "transpose_x", true)
		}},
		{"in pieces of the rows", func(g *irbuild.Graph) *ir.Value {
			return g.Op("matmul", "x", g.Input(96, 64), "y", g.Input(64, 64))
		}},
		{"in unequal pieces of the rows", func(g *irbuild.Graph) *ir.Value {
			return g.Op("matmul", "x", g.Input(48, 64), "y", g.Input(64, 64))
		}},
		{"several, of an odd number of rows", func(g *irbuild.Graph) *ir.Value {
			return g.Op("matmul", "x", g.Input(2, 19, 64), "y", g.Input(2, 64, 150))
		}},
		{"several, transposed together", func(g *irbuild.Graph) *ir.Value {
			return g.Op("matmul", "x", g.Input(2, 128, 64), "y", g.Input(2, 64, 128), "transpose_x", true,
				"transpose_y", true)
		}},
		{"at run time, an image that L2 cannot hold", func(g *irbuild.Graph) *ir.Value {
			return g.Op("matmul", "x", g.Input(128, 2048), "y", g.Input(2048, 2048), "transpose_y", true)
		}},
		{"at run time, rows transposed into the kernel's order", func(g *irbuild.Graph) *ir.Value {
			return g.Op("matmul", "x", g.Input(128, 64), "y", g.Input(128, 256), "transpose_x", true)
		}},
		{"of a constant in pieces, narrow units of an image that L2 cannot hold", func(g *irbuild.Graph) *ir.Value {
			return g.Op("matmul", "x", g.Input(256, 8192), "y", g.Weights(8192, 192))
		}},
		{"of constants, rows folded to an image, and a sum", func(g *irbuild.Graph) *ir.Value {
			x := g.Input(64, 64) // chain_block_d512_s64_proj1
			h := g.Op("matmul", "x", g.Op("exp", "x", x), "y", g.Weights(64, 2048))
			return g.Op("add", "x", x, "y", g.Op("matmul", "x", h, "y", g.Weights(2048, 64)))
		}},
		{"at run time, of products with constants", func(g *irbuild.Graph) *ir.Value { // chain_block_d512_s128_proj1
			x := g.Input(64, 256)
			q := g.Op("matmul", "x", x, "y", g.Weights(256, 256))
			k := g.Op("matmul", "x", x, "y", g.Weights(256, 256))
			v := g.Op("matmul", "x", x, "y", g.Weights(256, 256))
			p := g.Op("softmax", "x", g.Op("matmul", "x", q, "y", k, "transpose_y", true), "axis", -1)
			out := g.Op("matmul", "x", g.Op("matmul", "x", p, "y", v), "y", g.Weights(256, 256))
			return g.Op("add", "x", x, "y", out)
		}},
	},
	"elementwise": {
		{"add", func(g *irbuild.Graph) *ir.Value {
			return g.Op("add", "x", g.Input(1, 16, 4, 32), "y", g.Input(1, 16, 4, 32))
		}},
		{"sub, broadcast", func(g *irbuild.Graph) *ir.Value {
			return g.Op("sub", "x", g.Input(1, 16, 4, 32), "y", g.Input(1, 1, 4, 1))
		}},
		{"mul by a scalar", func(g *irbuild.Graph) *ir.Value {
			return g.Op("mul", "x", g.Input(1, 16, 4, 32), "y", 0.5)
		}},
		{"add of one value a channel", func(g *irbuild.Graph) *ir.Value {
			return g.Op("add", "x", g.Input(1, 16, 4, 32), "y", g.Weights(16, 1, 1))
		}},
		{"mul of one value each of 256 channels", func(g *irbuild.Graph) *ir.Value {
			return g.Op("mul", "x", g.Input(1, 256, 8, 8), "y", g.Weights(256, 1, 1))
		}},
		{"mul of a batch", func(g *irbuild.Graph) *ir.Value {
			return g.Op("mul", "x", g.Input(8, 64, 1, 1), "y", g.Input(8, 64, 1, 1))
		}},
		{"mul of a batch by one value a channel", func(g *irbuild.Graph) *ir.Value {
			return g.Op("mul", "x", g.Input(8, 64, 8, 8), "y", g.Input(1, 64, 1, 1))
		}},
		{"mul of 16384 channels", func(g *irbuild.Graph) *ir.Value {
			return g.Op("mul", "x", g.Input(1, 16384, 1, 1), "y", g.Input(1, 16384, 1, 1))
		}},
		{"mul by a constant row, broadcast", func(g *irbuild.Graph) *ir.Value {
			return g.Op("mul", "x", g.Input(1, 16, 4, 32), "y", g.Weights(4, 1))
		}},
		{"maximum with a scalar", func(g *irbuild.Graph) *ir.Value {
			return g.Op("maximum", "x", g.Input(1, 16, 4, 32), "y", 0.5)
		}},
		{"minimum with one value a channel", func(g *irbuild.Graph) *ir.Value {
			return g.Op("minimum", "x", g.Input(1, 16, 4, 32), "y", g.Weights(16, 1, 1))
		}},
		{"real_div", func(g *irbuild.Graph) *ir.Value {
			return g.Op("real_div", "x", g.Input(1, 16, 4, 32), "y", g.Input(1, 16, 4, 32))
		}},
		{"sum that clamps", func(g *irbuild.Graph) *ir.Value {
			x := g.Input(1, 16, 4, 32)
			return g.Op("add", "x", x, "y", g.Op("relu", "x", x))
		}},
		{"sum with a table of its operand", func(g *irbuild.Graph) *ir.Value {
			x := g.Input(1, 16, 4, 32)
			return g.Op("add", "x", x, "y", g.Op("silu", "x", x))
		}},
		{"difference from its operand's floor, whose tables read the operand twice", func(g *irbuild.Graph) *ir.Value {
			x := g.Input(2, 3)
			return g.Op("sub", "x", x, "y", g.Op("floor", "x", x))
		}},
	},
	"square": {{"square", unary("square")}},
	"abs":    {{"abs", unary("abs")}},
	"relu":   {{"relu", unary("relu")}},
	"clip":   {{"clip", unary("clip", "alpha", -0.5, "beta", 2.0)}, {"relu6", unary("relu6")}},
	"table": {
		{"sigmoid", unary("sigmoid")}, {"rsqrt", unary("rsqrt", "epsilon", 1e-3)},
		{"gelu", unary("gelu", "mode", "EXACT")},
		{"elu", unary("elu", "alpha", 1.0)},
	},
	"reduce": {
		{"sum of rows", unary("reduce_sum", "axes", []int64{3}, "keep_dims", true)},
		{"mean of an image", unary("reduce_mean", "axes", []int64{2, 3}, "keep_dims", true)},
		{"mean of an image as a row", unary("reduce_mean", "axes", []int64{2, 3}, "keep_dims", false)},
		{"mean of an image for a product", func(g *irbuild.Graph) *ir.Value {
			m := g.Op("reduce_mean", "x", g.Input(1, 16, 4, 32), "axes", []int64{2, 3}, "keep_dims", false)
			return g.Op("linear", "x", m, "weight", g.Weights(8, 16), "bias", g.Weights(8))
		}},
		{"maximum over channels", unary("reduce_max", "axes", []int64{1}, "keep_dims", true)},
		{"maximum of a column of channels", func(g *irbuild.Graph) *ir.Value {
			return g.Op("reduce_max", "x", g.Input(1, 64, 1, 1), "axes", []int64{1}, "keep_dims", true)
		}},
		{"sum over channels", unary("reduce_sum", "axes", []int64{1}, "keep_dims", true)},
		{"mean of 512 elements of a row", func(g *irbuild.Graph) *ir.Value {
			return g.Op("reduce_mean", "x", g.Input(1, 1, 1, 512), "axes", []int64{3}, "keep_dims", true)
		}},
		{"mean over 128 channels", func(g *irbuild.Graph) *ir.Value {
			return g.Op("reduce_mean", "x", g.Input(1, 128, 16, 16), "axes", []int64{1}, "keep_dims", true)
		}},
		{"sum over rows of 16 columns", func(g *irbuild.Graph) *ir.Value {
			return g.Op("reduce_sum", "x", g.Input(1, 128, 16, 16), "axes", []int64{2}, "keep_dims", true)
		}},
		{"maximum over rows", unary("reduce_max", "axes", []int64{2}, "keep_dims", true)},
		{"maximum of all", func(g *irbuild.Graph) *ir.Value {
			return g.Op("reduce_max", "x", g.Input(1, 128, 16, 16), "axes", []int64{1, 2, 3}, "keep_dims", true)
		}},
		{"sum over one channel", func(g *irbuild.Graph) *ir.Value {
			return g.Op("reduce_sum", "x", g.Input(1, 1, 1, 512), "axes", []int64{1}, "keep_dims", true)
		}},
		{"sum over 8 channels of a row", func(g *irbuild.Graph) *ir.Value {
			return g.Op("reduce_sum", "x", g.Input(1, 8, 1, 64), "axes", []int64{1}, "keep_dims", true)
		}},
		{"sum over 64 channels of a row", func(g *irbuild.Graph) *ir.Value {
			return g.Op("reduce_sum", "x", g.Input(1, 64, 1, 64), "axes", []int64{1}, "keep_dims", true)
		}},
		{"sum of squares", unary("reduce_sum_square", "axes", []int64{3}, "keep_dims", false)},
	},
	"softmax": {
		{"of several matrices between products", func(g *irbuild.Graph) *ir.Value {
			s := g.Op("matmul", "x", g.Input(3, 64, 32), "y", g.Input(3, 64, 32), "transpose_y", true)
			return g.Op("matmul", "x", g.Op("softmax", "x", s, "axis", -1), "y", g.Input(3, 64, 32))
		}},
		{"of 256 rows between products", func(g *irbuild.Graph) *ir.Value {
			s := g.Op("matmul", "x", g.Input(256, 64), "y", g.Input(256, 64), "transpose_y", true)
			return g.Op("matmul", "x", g.Op("softmax", "x", s, "axis", -1), "y", g.Input(256, 64))
		}},
		{"rows", func(g *irbuild.Graph) *ir.Value { return g.Op("softmax", "x", g.Input(16, 32), "axis", -1) }},
		{"rows of a computed matrix", func(g *irbuild.Graph) *ir.Value {
			return g.Op("softmax", "x", g.Op("matmul", "x", g.Input(16, 32), "y", g.Weights(32, 32)), "axis", -1)
		}},
		{"rows of an image", func(g *irbuild.Graph) *ir.Value {
			return g.Op("softmax", "x", g.Input(1, 8, 64, 64), "axis", -1)
		}},
		{"rows of 16 of an image", func(g *irbuild.Graph) *ir.Value {
			return g.Op("softmax", "x", g.Input(1, 128, 16, 16), "axis", -1)
		}},
		{"rows of an image in parts", func(g *irbuild.Graph) *ir.Value {
			return g.Op("softmax", "x", g.Input(1, 8, 128, 128), "axis", -1)
		}},
		{"256 rows of one channel", func(g *irbuild.Graph) *ir.Value {
			return g.Op("softmax", "x", g.Input(1, 1, 256, 256), "axis", -1)
		}},
		{"channels", unary("softmax", "axis", 1)},
		{"column", func(g *irbuild.Graph) *ir.Value { return g.Op("softmax", "x", g.Input(1, 64, 1, 1), "axis", 1) }},
		{"128 rows of one", func(g *irbuild.Graph) *ir.Value {
			return g.Op("softmax", "x", g.Input(1, 128, 1, 1), "axis", -1)
		}},
		{"512 rows of one", func(g *irbuild.Graph) *ir.Value {
			return g.Op("softmax", "x", g.Input(1, 512, 1, 1), "axis", -1)
		}},
		{"one channel", func(g *irbuild.Graph) *ir.Value {
			return g.Op("softmax", "x", g.Input(1, 1, 1, 128), "axis", 1)
		}},
	},
	"layer_norm": {
		{"rows", func(g *irbuild.Graph) *ir.Value {
			return g.Op("layer_norm", "x", g.Input(4, 64), "axes", []int64{1}, "epsilon", 1e-5)
		}},
		{"256 rows for a product", func(g *irbuild.Graph) *ir.Value {
			n := g.Op("layer_norm", "x", g.Input(1, 256, 512), "axes", []int64{2}, "epsilon", 1e-5)
			return g.Op("matmul", "x", n, "y", g.Weights(512, 512), "transpose_y", true)
		}},
		{"rows of an image", func(g *irbuild.Graph) *ir.Value {
			return g.Op("layer_norm", "x", g.Input(1, 64, 8, 8), "axes", []int64{3}, "epsilon", 1e-5)
		}},
		{"image, with factors", func(g *irbuild.Graph) *ir.Value {
			return g.Op("layer_norm", "x", g.Input(1, 4, 8, 8), "axes", []int64{2, 3}, "gamma", g.Weights(8, 8), "beta",
				g.Weights(8, 8), "epsilon", 1e-5)
		}},
		{"channels of an image", func(g *irbuild.Graph) *ir.Value {
			return g.Op("layer_norm", "x", g.Input(1, 64, 8, 8), "axes", []int64{1}, "epsilon", 1e-5)
		}},
		{"channels", func(g *irbuild.Graph) *ir.Value {
			return g.Op("layer_norm", "x", g.Input(1, 64, 1, 8), "axes", []int64{1}, "epsilon", 1e-5)
		}},
	},
	"pool": {
		{"max_pool", unary("max_pool", "kernel_sizes", []int64{2, 2}, "strides", []int64{2, 2}, "pad_type", "valid",
			"pad",
			[]int64{0, 0, 0, 0}, "ceil_mode", false)},
		{"avg_pool", unary("avg_pool", "kernel_sizes", []int64{3, 3}, "strides", []int64{1, 1}, "pad_type", "same",
			"pad",
			[]int64{0, 0, 0, 0}, "exclude_padding_from_average", false, "ceil_mode", false)},
	},
	"concat": {
		{"channels", func(g *irbuild.Graph) *ir.Value {
			return g.Op("concat", "values", []*ir.Value{g.Input(1, 8, 4, 32), g.Input(1, 4, 4, 32)}, "axis", 1,
				"interleave",
				false)
		}},
		{"columns off 64 bytes", func(g *irbuild.Graph) *ir.Value {
			return g.Op("concat", "values", []*ir.Value{g.Input(4, 5), g.Input(4, 3)}, "axis", 1, "interleave", false)
		}},
	},
	"stack": {{"stack", func(g *irbuild.Graph) *ir.Value {
		return g.Op("stack", "values", []*ir.Value{g.Input(4, 32), g.Input(4, 32)}, "axis", 0)
	}}},
	"tile": {
		{"rows", func(g *irbuild.Graph) *ir.Value {
			return g.Op("tile", "x", g.Input(1, 8, 1, 375), "reps", []int64{1, 1, 375, 1})
		}},
		{"rows of one channel with relu", func(g *irbuild.Graph) *ir.Value {
			return g.Op("relu", "x", g.Op("tile", "x", g.Input(1, 1, 375), "reps", []int64{1, 375, 1}))
		}},
		{"channels", func(g *irbuild.Graph) *ir.Value {
			return g.Op("tile", "x", g.Input(1, 1, 8, 40), "reps", []int64{1, 6, 1, 1})
		}},
	},
	"split": {{"split", func(g *irbuild.Graph) *ir.Value {
		return g.All("split", "x", g.Input(1, 8, 4, 32), "num_splits", 2, "axis", 1)[1]
	}}},
	"slice": {
		{"slice_by_index", unary("slice_by_index", "begin", []int64{0, 2, 0, 3}, "end", []int64{1, 6, 4, 19})},
		{"slice_by_size", unary("slice_by_size", "begin", []int64{0, 2, 0, 0}, "size", []int64{1, 4, 4, 32})},
	},
	"pad": {{"pad", unary("pad", "pad", []int64{1, 1, 0, 0}, "mode", "constant", "constant_val", 0.5)}},
	"transpose": {
		{"view", unary("transpose", "perm", []int64{0, 2, 1, 3})},
		{"turn", unary("transpose", "perm", []int64{0, 3, 2, 1})},
	},
	"reshape": {
		{"view", unary("reshape", "shape", []int64{16, 4, 32})},
		{"expand_dims", unary("expand_dims", "axes", []int64{0})},
		{"squeeze", unary("squeeze", "axes", []int64{0})}, {"other rows", unary("reshape", "shape", []int64{16, 128})},
	},
	"identity": {{"identity", unary("identity")}},
}

// compareGolden holds got to a file, which it rewrites with -update.
func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) == got {
		return
	}
	w, g := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for i := range w {
		if i >= len(g) || w[i] != g[i] {
			t.Fatalf("%s: line %d is\n%s\nwant\n%s\n(-update rewrites the file)", name, i+1,
				strings.Join(g[i:min(i+1, len(g))], ""),
				w[i])
		}
	}
	t.Fatalf("%s: %d lines more than wanted", name, len(g)-len(w))
}

// TestRulesWriteGoldenDraftsAndTasks holds each rule to golden files: operation, drafts, tasks.
func TestRulesWriteGoldenDraftsAndTasks(t *testing.T) {
	for _, r := range Rules {
		cases := ruleCases[r.Name]
		if len(cases) == 0 {
			t.Errorf("rule %s has no case", r.Name)
		}
		t.Run(r.Name, func(t *testing.T) {
			var out strings.Builder
			for _, c := range cases {
				g := irbuild.New(1)
				seg := segmentOf(g, c.build(g))
				if !slices.ContainsFunc(seg.Ops, func(op *ir.Op) bool { return ruleFor(op) == r }) {
					t.Errorf("%s: no operation is of rule %s", c.name, r.Name)
				}
				fmt.Fprintf(&out, "# %s\n", c.name)
				for _, op := range seg.Ops {
					if _, err := accept(op, target.H13, nil); err != nil {
						t.Errorf("%s: %v", c.name, err)
					}
					fmt.Fprintf(&out, "%s\n", opText(op))
				}
				out.WriteString(lowered(t, seg))
				out.WriteString("\n")
			}
			compareGolden(t, filepath.Join("testdata", "rules", r.Name+".txt"), out.String())
		})
	}
}

// recorder notes the fields that are written.
type recorder struct {
	*td.Task
	fields []td.Field
}

func (r *recorder) Set(f td.Field, v int) *td.Task {
	r.fields = append(r.fields, f)
	return r.Task.Set(f, v)
}

// TestEncodeWritesEachFieldOnce holds the encoder to the order of the field table,
// in which no field comes twice, for every draft of every rule.
func TestEncodeWritesEachFieldOnce(t *testing.T) {
	for name, cases := range ruleCases {
		for _, c := range cases {
			g := irbuild.New(1)
			seg := segmentOf(g, c.build(g))
			b := newBuilder(seg, target.H13, &weights.Section{})
			if err := b.makeDrafts(seg); err != nil {
				t.Fatal(err)
			}
			if err := b.plan(Planners); err != nil {
				t.Fatal(err)
			}
			for i, d := range b.drafts {
				r := &recorder{Task: td.New()}
				(&encoder{draft: d, to: r, codec: td.V7}).encode()
				for k := 1; k < len(r.fields); k++ {
					if r.fields[k] <= r.fields[k-1] {
						t.Fatalf("%s, %s, task %d: %s is written after %s", name, c.name, i, r.fields[k],
							r.fields[k-1])
					}
				}
			}
		}
	}
}

// lowered returns the drafts of a segment, each with its task.
func lowered(t *testing.T, seg *Segment) string {
	t.Helper()
	b := newBuilder(seg, target.H13, &weights.Section{})
	if err := b.makeDrafts(seg); err != nil {
		t.Fatal(err)
	}
	p := newPrinter()
	var drafts []string
	for _, d := range b.drafts {
		drafts = append(drafts, p.draft(d))
	}
	if err := b.plan(Planners); err != nil {
		t.Fatal(err)
	}
	proc, err := b.procedure(seg)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for i, d := range drafts {
		fmt.Fprintf(&out, "%d %s\n  %s", i, d, taskText(t, proc.Tasks[i]))
	}
	return out.String()
}

// plannerCases has a program for every planner, in which it changes something.
var plannerCases = map[string]ruleCase{
	"lives": {"a chain of two", func(g *irbuild.Graph) *ir.Value {
		return g.Op("sigmoid", "x", g.Op("abs", "x", g.Input(1, 16, 4, 32)))
	}},
	"shape": {"a convolution, a maximum and a difference", func(g *irbuild.Graph) *ir.Value {
		c := convOf(g, g.Input(1, 16, 16, 16), []int64{32, 16, 3, 3}, "same", 1, 1)
		return g.Op("sub", "x", c, "y", g.Op("reduce_max", "x", c, "axes", []int64{3}, "keep_dims", true))
	}},
	"residents": {"a softmax of rows", func(g *irbuild.Graph) *ir.Value {
		return g.Op("softmax", "x", g.Input(16, 32), "axis", -1)
	}},
	"kept-sources": {"a normalisation, whose tasks read one input", func(g *irbuild.Graph) *ir.Value {
		return g.Op("layer_norm", "x", g.Input(4, 64), "axes", []int64{1}, "epsilon", 1e-5)
	}},
	"transients": {"a sum of two inputs beside a buffer that stays", func(g *irbuild.Graph) *ir.Value {
		x, y := g.Input(1, 16, 4, 32), g.Input(1, 16, 4, 32)
		a := g.Op("abs", "x", x)
		return g.Op("add", "x", g.Op("add", "x", x, "y", y), "y", a)
	}},
	"scratch": {"buffers that L2 does not hold", func(g *irbuild.Graph) *ir.Value {
		x := g.Input(1, 64, 128, 128)
		return g.Op("abs", "x", g.Op("sigmoid", "x", g.Op("abs", "x", x)))
	}},
	"cache": {"scratch, an input that two tasks fetch, a port that two write", func(g *irbuild.Graph) *ir.Value {
		x := g.Input(1, 64, 128, 128)
		return g.Op("concat", "values", []*ir.Value{g.Op("abs", "x", x), x}, "axis", 1, "interleave", false)
	}},
	"dependences": {"a softmax over channels", func(g *irbuild.Graph) *ir.Value {
		return g.Op("softmax", "x", g.Input(1, 64, 8, 8), "axis", 1)
	}},
	"older-form": {"a table", func(g *irbuild.Graph) *ir.Value { return g.Op("sigmoid", "x", g.Input(1, 16, 77, 77)) }},
	"time": {"a product and a sum", func(g *irbuild.Graph) *ir.Value {
		return g.Op("reduce_sum", "x", g.Op("linear", "x", g.Input(512, 1024), "weight", g.Weights(64, 1024), "bias",
			g.Weights(64)), "axes", []int64{1}, "keep_dims", true)
	}},
	"live-outs": {"a softmax over channels", func(g *irbuild.Graph) *ir.Value {
		return g.Op("softmax", "x", g.Input(1, 64, 8, 8), "axis", 1)
	}},
	"events": {"a chain of three", func(g *irbuild.Graph) *ir.Value {
		return g.Op("abs", "x", g.Op("sigmoid", "x", g.Op("abs", "x", g.Input(1, 16, 4, 32))))
	}},
}

// TestPlannersChangeDraftsAsRecorded holds each planner to a golden file: the drafts that it changes, before
// and after.
func TestPlannersChangeDraftsAsRecorded(t *testing.T) {
	for i := range Planners {
		p := &Planners[i]
		c, ok := plannerCases[p.Name]
		if !ok {
			t.Errorf("planner %s has no case", p.Name)
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			g := irbuild.New(1)
			seg := segmentOf(g, c.build(g))
			switch p.Name {
			case "older-form":
				seg.Codec = td.V7Full
			case "live-outs":
				seg.Codec = td.V11
			}
			b := newBuilder(seg, target.H13, &weights.Section{})
			if err := b.makeDrafts(seg); err != nil {
				t.Fatal(err)
			}
			if err := b.plan(Planners[:i]); err != nil {
				t.Fatal(err)
			}
			names := newPrinter()
			var out strings.Builder
			fmt.Fprintf(&out, "# %s: %s\n", p.Name, c.name)
			for k, d := range b.drafts {
				fmt.Fprintf(&out, "%d %s\n", k, names.draft(d))
			}
			plans := func() (lines []string) {
				for k, d := range b.drafts {
					lines = append(lines, fmt.Sprintf("%d %s", k, names.planned(d)))
				}
				return append(lines, fmt.Sprintf("%d bytes of scratch, %d buffers stay in L2", b.scratch, b.resident))
			}
			before := plans()
			if err := b.plan(Planners[i : i+1]); err != nil {
				t.Fatal(err)
			}
			changed := false
			for k, after := range plans() {
				if before[k] != after {
					changed = true
					fmt.Fprintf(&out, "- %s\n+ %s\n", before[k], after)
				}
			}
			if !changed {
				t.Errorf("planner %s changes nothing in its case", p.Name)
			}
			compareGolden(t, filepath.Join("testdata", "planners", p.Name+".txt"), out.String())
		})
	}
}
