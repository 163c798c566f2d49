package verify

import (
	"context"
	"math"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/emit/hazard"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/internal/testform"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/target"
)

// TestPaddingBeyondWindowsNeedsMoreTasks verifies convolutions with padding. Padding that
// leaves at least one element of the image in every window is part of the convolution;
// other padding is added by preceding tasks, as many as the kernel's limits require.
func TestPaddingBeyondWindowsNeedsMoreTasks(t *testing.T) {
	for _, c := range []struct {
		name      string
		x, w      []int64
		groups    int64
		stride    []int64
		dilations []int64
		pad       []int64 // top, bottom, left, right
		tasks     int
	}{
		{name: "before a row", x: []int64{1, 8, 8, 7}, w: []int64{8, 1, 1, 1}, groups: 8, pad: []int64{0, 0, 1, 0},
			tasks: 2},
		{name: "after a row", x: []int64{1, 8, 8, 7}, w: []int64{8, 1, 1, 1}, groups: 8, pad: []int64{0, 0, 0, 1},
			tasks: 2},
		{name: "above", x: []int64{1, 8, 7, 8}, w: []int64{8, 1, 1, 1}, groups: 8, pad: []int64{1, 0, 0, 0}, tasks: 2},
		{name: "below, wide", x: []int64{1, 8, 40, 300}, w: []int64{8, 1, 1, 1}, groups: 8, pad: []int64{0, 2, 0, 0},
			tasks: 2},
		{name: "on all sides", x: []int64{1, 16, 9, 11}, w: []int64{16, 1, 1, 1}, groups: 16, pad: []int64{2, 1, 3, 4},
			tasks: 2},
		{name: "within a kernel", x: []int64{1, 16, 9, 11}, w: []int64{16, 1, 3, 3}, groups: 16,
			pad: []int64{2, 0, 2, 1}, tasks: 1},
		{name: "a kernel wide", x: []int64{1, 16, 9, 11}, w: []int64{16, 1, 3, 3}, groups: 16, pad: []int64{1, 1, 3, 0},
			tasks: 2},
		{name: "dilated within", x: []int64{1, 16, 9, 11}, w: []int64{16, 1, 3, 3}, groups: 16,
			dilations: []int64{2, 2}, pad: []int64{4, 4, 4, 4}, tasks: 1},
		{name: "dense", x: []int64{1, 20, 9, 40}, w: []int64{12, 20, 1, 1}, groups: 1, pad: []int64{1, 1, 1, 1},
			tasks: 2},
		{name: "dense, in scratch", x: []int64{1, 24, 100, 400}, w: []int64{8, 24, 1, 1}, groups: 1,
			pad: []int64{0, 0, 2, 0}, tasks: 2},
		{name: "odd channels, in scratch", x: []int64{1, 9, 200, 600}, w: []int64{9, 1, 1, 1}, groups: 9,
			pad: []int64{0, 0, 2, 0}, tasks: 2},
		{name: "twelve channels, in scratch", x: []int64{1, 12, 200, 600}, w: []int64{12, 1, 1, 1}, groups: 12,
			pad: []int64{0, 0, 1, 1}, tasks: 2},
		{name: "channels in several tiles", x: []int64{1, 96, 220, 300}, w: []int64{96, 1, 1, 1}, groups: 96,
			pad: []int64{1, 0, 1, 0}, tasks: 2},
		{name: "grouped", x: []int64{1, 16, 6, 10}, w: []int64{32, 4, 1, 1}, groups: 4, pad: []int64{0, 0, 1, 1},
			tasks: 2},
		{name: "stride, first window outside", x: []int64{1, 16, 9, 12}, w: []int64{16, 16, 2, 2}, groups: 1,
			stride: []int64{2, 2}, pad: []int64{0, 0, 2, 0}, tasks: 2},
		{name: "stride, last step short", x: []int64{1, 16, 9, 11}, w: []int64{16, 16, 2, 2}, groups: 1,
			stride: []int64{2, 2}, pad: []int64{1, 0, 1, 0}, tasks: 1},
		{name: "two batches", x: []int64{2, 8, 8, 7}, w: []int64{8, 1, 1, 1}, groups: 8, pad: []int64{0, 0, 1, 0},
			tasks: 4},
		{name: "beyond a kernel's width", x: []int64{1, 8, 8, 20}, w: []int64{8, 1, 1, 1}, groups: 8,
			pad: []int64{0, 0, 20, 5}, tasks: 4},
		{name: "beyond a kernel's height", x: []int64{1, 8, 20, 8}, w: []int64{8, 1, 1, 1}, groups: 8,
			pad: []int64{31, 0, 0, 0}, tasks: 3},
	} {
		if c.x[1]*c.x[2]*c.x[3] > testform.Of[int64](1<<18, 1<<21, math.MaxInt64) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			build := func() *ir.Program {
				g := irbuild.New(7)
				one := []int64{1, 1}
				stride, dilations := one, one
				if c.stride != nil {
					stride = c.stride
				}
				if c.dilations != nil {
					dilations = c.dilations
				}
				v := g.Op("conv", "x", g.Input(c.x...), "weight", g.Weights(c.w...), "bias", g.Weights(c.w[0]),
					"pad_type", "custom", "strides", stride, "pad", c.pad, "dilations", dilations, "groups", c.groups)
				g.Output(g.Op("relu", "x", v))
				return g.Program()
			}
			r, err := Run(context.Background(), build(), Options{Seed: 3, Numerics: numerics.ANE,
				Compile: compile.Options{Target: target.H13}})
			if err != nil {
				t.Fatal(err)
			}
			if !r.Pass || r.Model.CPUOps != 0 || r.Model.Tasks != c.tasks {
				t.Errorf("%d tasks, want %d; %d operations on the CPU; %+v", r.Model.Tasks, c.tasks, r.Model.CPUOps,
					r.Outputs)
			}
			p, err := compile.All(context.Background(), build(), compile.Options{Target: target.H13})
			if err != nil {
				t.Fatal(err)
			}
			h, err := hazard.Check(p.HWX)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range h.Hazards {
				t.Errorf("hazard: %v", f)
			}
		})
	}
}
