package verify

import (
	"context"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/emit/hazard"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/ir/irbuild"
	"github.com/zinc-compiler/zinc/numerics"
)

// TestPadding verifies convolutions by their padding: one that leaves every
// window an element of the image stays with the convolution, other padding is
// added by tasks before it, as many as the kernel's limits ask for.
func TestPadding(t *testing.T) {
	for _, c := range []struct {
		name      string
		x, w      []int64
		groups    int64
		stride    []int64
		dilations []int64
		pad       []int64 // top, bottom, left, right
		tasks     int
	}{
		{"before a row", []int64{1, 8, 8, 7}, []int64{8, 1, 1, 1}, 8, nil, nil, []int64{0, 0, 1, 0}, 2},
		{"behind a row", []int64{1, 8, 8, 7}, []int64{8, 1, 1, 1}, 8, nil, nil, []int64{0, 0, 0, 1}, 2},
		{"above", []int64{1, 8, 7, 8}, []int64{8, 1, 1, 1}, 8, nil, nil, []int64{1, 0, 0, 0}, 2},
		{"below, wide", []int64{1, 8, 40, 300}, []int64{8, 1, 1, 1}, 8, nil, nil, []int64{0, 2, 0, 0}, 2},
		{"all around", []int64{1, 16, 9, 11}, []int64{16, 1, 1, 1}, 16, nil, nil, []int64{2, 1, 3, 4}, 2},
		{"within a kernel", []int64{1, 16, 9, 11}, []int64{16, 1, 3, 3}, 16, nil, nil, []int64{2, 0, 2, 1}, 1},
		{"a kernel wide", []int64{1, 16, 9, 11}, []int64{16, 1, 3, 3}, 16, nil, nil, []int64{1, 1, 3, 0}, 2},
		{"dilated within", []int64{1, 16, 9, 11}, []int64{16, 1, 3, 3}, 16, nil, []int64{2, 2}, []int64{4, 4, 4, 4}, 1},
		{"dense", []int64{1, 20, 9, 40}, []int64{12, 20, 1, 1}, 1, nil, nil, []int64{1, 1, 1, 1}, 2},
		{"dense, in scratch", []int64{1, 24, 100, 400}, []int64{8, 24, 1, 1}, 1, nil, nil, []int64{0, 0, 2, 0}, 2},
		{"odd channels, in scratch", []int64{1, 9, 200, 600}, []int64{9, 1, 1, 1}, 9, nil, nil, []int64{0, 0, 2, 0}, 2},
		{"twelve channels, in scratch", []int64{1, 12, 200, 600}, []int64{12, 1, 1, 1}, 12, nil, nil, []int64{0, 0, 1, 1}, 2},
		{"channels in several tiles", []int64{1, 96, 220, 300}, []int64{96, 1, 1, 1}, 96, nil, nil, []int64{1, 0, 1, 0}, 2},
		{"grouped", []int64{1, 16, 6, 10}, []int64{32, 4, 1, 1}, 4, nil, nil, []int64{0, 0, 1, 1}, 2},
		{"stride, first window outside", []int64{1, 16, 9, 12}, []int64{16, 16, 2, 2}, 1, []int64{2, 2}, nil, []int64{0, 0, 2, 0}, 2},
		{"stride, last step short", []int64{1, 16, 9, 11}, []int64{16, 16, 2, 2}, 1, []int64{2, 2}, nil, []int64{1, 0, 1, 0}, 1},
		{"two batches", []int64{2, 8, 8, 7}, []int64{8, 1, 1, 1}, 8, nil, nil, []int64{0, 0, 1, 0}, 4},
		{"beyond a kernel's width", []int64{1, 8, 8, 20}, []int64{8, 1, 1, 1}, 8, nil, nil, []int64{0, 0, 20, 5}, 4},
		{"beyond a kernel's height", []int64{1, 8, 20, 8}, []int64{8, 1, 1, 1}, 8, nil, nil, []int64{31, 0, 0, 0}, 3},
	} {
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
				v := g.Op("conv", "x", g.Input(c.x...), "weight", g.Weights(c.w...), "bias", g.Weights(c.w[0]), "pad_type", "custom", "strides", stride, "pad", c.pad, "dilations", dilations, "groups", c.groups)
				g.Output(g.Op("relu", "x", v))
				return g.Program()
			}
			r, err := Run(context.Background(), build(), Options{Seed: 3, Numerics: numerics.ANE})
			if err != nil {
				t.Fatal(err)
			}
			if !r.Pass || r.Model.CPUOps != 0 || r.Model.Tasks != c.tasks {
				t.Errorf("%d tasks, want %d; %d operations on the CPU; %+v", r.Model.Tasks, c.tasks, r.Model.CPUOps, r.Outputs)
			}
			p, err := compile.Compile(context.Background(), build(), compile.Options{})
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
