package compile_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/internal/testform"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// stack returns the time of a call of layers with square weights in a form on a target: convolutions of one pixel, or
// products of one row.
func stack(t *testing.T, tab *target.Table, layers int, width int64, product bool, form string) cost.Time {
	t.Helper()
	g, r := irbuild.New(1), rand.New(rand.NewPCG(uint64(width), 1))
	weights := func(shape ...int64) *ir.Value {
		full := func(t ir.DType, at func(i int64) float64) *ir.Value { return g.Filled(t, at, shape...) }
		ones := make([]int64, len(shape))
		for i := range ones {
			ones[i] = 1
		}
		switch form {
		case "palette4":
			return g.Op("constexpr_lut_to_dense", "indices", full(ir.UInt4,
				func(i int64) float64 { return float64(i % 16) }),
				"lut", g.Filled(ir.FP16, func(i int64) float64 { return float64(i+1) / 512 }, append(ones, 16, 1)...))
		case "int8":
			return g.Op("constexpr_blockwise_shift_scale", "data", full(ir.Int8, func(i int64) float64 {
				return float64(i%255 - 127)
			}), "scale", g.Filled(ir.FP16, func(int64) float64 { return 1.0 / 4096 }, ones...))
		case "":
			return full(ir.FP16, func(int64) float64 { return 1.0 / 64 })
		}
		var zeros float64 // per cent
		fmt.Sscanf(form, "%f zeros", &zeros)
		kept := make([]bool, ir.TensorOf(ir.FP16, shape...).Elems())
		n := int64(0)
		for i := range kept {
			if kept[i] = r.Float64()*100 >= zeros; kept[i] {
				n++
			}
		}
		return g.Op("constexpr_sparse_to_dense", "nonzero_data",
			g.Filled(ir.FP16, func(int64) float64 { return 1.0 / 64 }, n), "mask", full(ir.UInt1,
				func(i int64) float64 {
					if kept[i] {
						return 1
					}
					return 0
				}))
	}
	x := g.Input(1, width)
	if !product {
		x = g.Input(1, width, 1, 1)
	}
	for range layers {
		if product {
			x = g.Op("linear", "x", x, "weight", weights(width, width))
		} else {
			x = g.Op("conv", "x", x, "weight", weights(width, width, 1, 1))
		}
	}
	p := g.Program()
	if !product {
		p.Funcs[0].Body.Params = p.Funcs[0].Body.Params[1:]
	}
	g.Output(x)
	var rep *compile.Report
	err := compile.Compile(t.Context(), p, compile.Options{Target: tab},
		compile.Sink{Estimate: compile.To(&rep)})
	if err != nil {
		t.Fatal(err)
	}
	return rep.CallTime()
}

// TestCompressedWeightsTakeThePublishedTimes compares the estimates with times of others: of the M1 ratios to fp16 for
// stacks of 1x1 convolutions that reading weights bounds, whose width is not stated (sbryngelson/ane-guide, chapters 7
// and 25), of the M2 Pro the ratios of products of one row by width (chapter 7) and of a width of 4096 in all forms
// (chapter 10).
func TestCompressedWeightsTakeThePublishedTimes(t *testing.T) {
	const within = 0.15
	times := map[string]cost.Time{} // of fp16
	for _, c := range []struct {
		target  *target.Table
		layers  int
		width   int64
		product bool
		form    string
		lo, hi  float64 // time divided by the time of fp16
	}{
		{target.H13, 6, 3072, false, "palette4", 1 / 2.37, 1 / 2.37},
		{target.H13, 6, 4096, false, "palette4", 1 / 2.37, 1 / 2.37},
		{target.H13, 6, 3072, false, "63 zeros", 1 / 1.64, 1 / 1.55},
		{target.H13, 6, 4096, false, "63 zeros", 1 / 1.64, 1 / 1.55},
		{target.H13, 6, 3072, false, "int8", 1, 1}, // folds
		{target.H14, 1, 2048, true, "int8", 0.85, 0.87},
		{target.H14, 1, 4096, true, "int8", 0.60, 0.64},
		{target.H14, 1, 8192, true, "int8", 0.52, 0.52},
		{target.H14, 1, 4096, true, "palette4", 0.270 / 0.690, 0.270 / 0.690},
		{target.H14, 1, 4096, true, "68 zeros", 0.330 / 0.690, 0.54},
	} {
		if c.layers > 1 && c.width > testform.Of[int64](0, 3072, c.width) {
			continue
		}
		key := fmt.Sprint(c.target.Name, c.layers, c.width)
		if times[key] == 0 {
			times[key] = stack(t, c.target, c.layers, c.width, c.product, "")
		}
		dense := times[key]
		got := float64(stack(t, c.target, c.layers, c.width, c.product, c.form)) / float64(dense)
		off := max(got/c.hi-1, c.lo/got-1, 0)
		t.Logf("%s, %d of width %d, %s: %.3f of %s us, published %.3f to %.3f: %.1f %% off", c.target.Name, c.layers,
			c.width, c.form, got, dense, c.lo, c.hi, 100*off)
		if off > within || math.IsNaN(off) {
			t.Errorf("%s, %d of width %d, %s: %.3f of the time of fp16, published %.3f to %.3f", c.target.Name,
				c.layers, c.width, c.form, got, c.lo, c.hi)
		}
	}
}
