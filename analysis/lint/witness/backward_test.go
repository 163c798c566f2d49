package witness

import (
	"context"
	"math"
	"testing"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// TestDerivativesMatchDifferences compares derivatives with differences of two runs.
func TestDerivativesMatchDifferences(t *testing.T) {
	half := func(g *irbuild.Graph, n, k int64) *ir.Value {
		return g.Filled(ir.FP16, func(i int64) float64 { return float64(i*7%11-5) / 8 }, n, n, k, k)
	}
	for name, build := range map[string]func(g *irbuild.Graph, x, z *ir.Value) *ir.Value{
		"conv": func(g *irbuild.Graph, x, _ *ir.Value) *ir.Value {
			return g.Op("conv", "x", x, "weight", half(g, 4, 3), "pad_type", "same", "strides", []int{2, 1})
		},
		"grouped conv": func(g *irbuild.Graph, x, _ *ir.Value) *ir.Value {
			w := g.Filled(ir.FP16, func(i int64) float64 { return float64(i%5) / 4 }, 4, 2, 3, 1)
			return g.Op("conv", "x", x, "weight", w, "groups", 2)
		},
		"matmul": func(g *irbuild.Graph, x, z *ir.Value) *ir.Value { return g.Op("matmul", "x", x, "y", z) },
		"transpose": func(g *irbuild.Graph, x, z *ir.Value) *ir.Value {
			return g.Op("matmul", "x", x, "y", z, "transpose_y", true)
		},
		"products": func(g *irbuild.Graph, x, z *ir.Value) *ir.Value {
			return g.Op("sigmoid", "x", g.Op("mul", "x", g.Op("sub", "x", x, "y", z), "y", z))
		},
		"quotient": func(g *irbuild.Graph, x, z *ir.Value) *ir.Value {
			return g.Op("real_div", "x", x, "y", g.Op("add", "x", g.Op("square", "x", z), "y", 1.0))
		},
		"moves": func(g *irbuild.Graph, x, z *ir.Value) *ir.Value {
			y := g.Op("transpose", "x", g.Op("concat", "values", []*ir.Value{x, z}, "axis", 1, "interleave", false),
				"perm", []int{0, 2, 1, 3})
			parts := g.All("split", "x", y, "num_splits", 2, "axis", 2)
			p := g.Op("pad", "x", parts[1], "pad", []int{0, 0, 0, 0, 1, 1, 0, 0}, "mode", "constant", "constant_val",
				2.0)
			return g.Op("add", "x", g.Op("reverse", "x", p, "axes", []int{3}), "y", g.Op("pad", "x", parts[0], "pad",
				[]int{0, 0, 0, 0, 1, 1, 0, 0}, "mode", "constant", "constant_val", 0.0))
		},
		"reduce": func(g *irbuild.Graph, x, z *ir.Value) *ir.Value {
			m := g.Op("reduce_mean", "x", g.Op("square", "x", x), "axes", []int{3}, "keep_dims", true)
			return g.Op("sqrt", "x", g.Op("add", "x", g.Op("reduce_sum_square", "x", z, "axes", []int{3}, "keep_dims",
				true), "y", m))
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := irbuild.New(3)
			x, z := g.Input(1, 4, 4, 4), g.Input(1, 4, 4, 4)
			g.Output(build(g, x, z))
			b, err := newBench(g.Program().Funcs[0], nil, "main", 1)
			if err != nil {
				t.Fatal(err)
			}
			ctx := context.Background()
			in := tensors{}
			for k, v := range []*ir.Value{x, z} {
				vs := make([]float32, 64)
				for i := range vs {
					vs[i] = float32((i*13+5*k)%17-8) / 16
				}
				in[v.Name], _ = interp.FromFloats(ir.FP16, vs, v.Type.Shape...)
			}
			out := b.wide.Body.Outputs[0]
			at := int(out.Type.Elems())/2 + 5 // off the padding
			run := func() float64 {
				_, tr, err := b.precisely(ctx, in, nil, func(*ir.Op) {})
				if err != nil {
					t.Fatal(err)
				}
				return tr.Floats(out)[at]
			}
			_, tr, err := b.precisely(ctx, in, nil, func(*ir.Op) {})
			if err != nil {
				t.Fatal(err)
			}
			grads := gradient(ctx, b.wide, tr, unit(out, at))
			moved := 0
			for k, v := range []*ir.Value{x, z} {
				gr := grads[b.wide.Body.Params[k]]
				for i := range 64 {
					was := in[v.Name]
					vs := was.Floats32()
					ends := [2]float64{}
					for s, h := range []float32{-1.0 / 16, 1.0 / 16} {
						ws := append([]float32(nil), vs...)
						ws[i] += h
						in[v.Name], _ = interp.FromFloats(ir.FP16, ws, v.Type.Shape...)
						ends[s] = run()
					}
					in[v.Name] = was
					want, got := (ends[1]-ends[0])*8, 0.0
					if gr != nil {
						got = gr[i]
					}
					if want != 0 {
						moved++
					}
					if math.Abs(got-want) > 0.02+0.05*math.Abs(want) {
						t.Fatalf("input %d, element %d: derivative %g, difference %g", k, i, got, want)
					}
				}
			}
			if moved == 0 {
				t.Error("the element depends on nothing")
			}
		})
	}
}

// TestSignsOfAffineFunctionsNameTheExtremeCorner compares the corner that the signs name with other corners.
func TestSignsOfAffineFunctionsNameTheExtremeCorner(t *testing.T) {
	g := irbuild.New(9)
	x := g.Input(1, 3, 2, 2)
	w := g.Weights(2, 3, 1, 1)
	y := g.Op("conv", "x", x, "weight", w)
	g.Output(g.Op("transpose", "x", y, "perm", []int{0, 2, 3, 1}))
	f := g.Program().Funcs[0]
	b, err := newBench(f, nil, "main", 1)
	if err != nil {
		t.Fatal(err)
	}
	r := interval.Span(-1, 2)
	s := newSearch(context.Background(), &Options{}, byType{f}, b, []*Input{NewInput(x, r)}, 1<<40)
	peaks := &Peaks{Axis: 1}
	bounds := make([]float64, 2)
	for k, dir := range []float64{1, -1} {
		for row := range int64(2) {
			sum := 0.0
			for i := range int64(3) {
				v := w.Const.Float(3*row + i)
				sum += max(dir*v*r.Lo, dir*v*r.Hi)
			}
			if row == 0 || sum > dir*bounds[k] {
				bounds[k] = dir * sum
				if k == 0 {
					peaks.Hi = row
				} else {
					peaks.Lo = row
				}
			}
		}
	}
	for k, dir := range []float64{1, -1} {
		cs, err := s.corners(Goal{Value: y, Direction: dir, Near: math.NaN(), Peaks: peaks}, dir, -1)
		if err != nil || len(cs) == 0 {
			t.Fatal("no corner:", err)
		}
		want := bounds[k]
		if math.Abs(cs[0].y-want) > 1e-3*math.Abs(want) {
			t.Errorf("direction %g: %g at the corner, the bound is %g", dir, cs[0].y, want)
		}
	}
}
