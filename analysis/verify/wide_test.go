package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/internal/testform"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/target"
)

// wideOp is an operation on tensors whose last axis has width w.
type wideOp struct {
	name string
	make func(g *wideGraph, w int64) *ir.Value
}

// wideGraph is a program of one operation on inputs. If it is chained, an engine
// operation computes each input and another reads the result, so that data movement
// runs on the engine too and tensors pass between tasks.
type wideGraph struct {
	*irbuild.Graph
	chained bool
}

func (g *wideGraph) in(shape ...int64) *ir.Value {
	x := g.Input(shape...)
	if g.chained {
		x = g.Op("sigmoid", "x", x)
	}
	return x
}

// wideOps are verified at every width, wideOthers at one width.
var (
	wideOps = []wideOp{
		{"relu", func(g *wideGraph, w int64) *ir.Value { return g.Op("relu", "x", g.in(1, 64, 1, w)) }},
		{"softmax over channels", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("softmax", "x", g.in(1, 16, 4, w), "axis", 1)
		}},
		{"softmax over columns", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("softmax", "x", g.in(1, 4, 2, w), "axis", 3)
		}},
		{"reduce_mean of channels", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("reduce_mean", "x", g.in(1, 16, 4, w), "axes", []int{1}, "keep_dims", true)
		}},
		{"reduce_mean of columns", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("reduce_mean", "x", g.in(1, 16, 4, w), "axes", []int{3}, "keep_dims", true)
		}},
		{"transpose of channels and rows", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("transpose", "x", g.in(1, 16, 4, w), "perm", []int{0, 2, 1, 3})
		}},
		{"transpose of channels and columns", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("transpose", "x", g.in(1, 8, 1, w), "perm", []int{0, 3, 2, 1})
		}},
		{"concat of channels", func(g *wideGraph, w int64) *ir.Value {
			vs := []*ir.Value{g.in(1, 8, 2, w), g.in(1, 5, 2, w)}
			return g.Op("concat", "values", vs, "axis", 1, "interleave", false)
		}},
		{"concat of columns", func(g *wideGraph, w int64) *ir.Value {
			vs := []*ir.Value{g.in(1, 4, 2, w-1000), g.in(1, 4, 2, 1000)}
			return g.Op("concat", "values", vs, "axis", 3, "interleave", false)
		}},
		{"layer_norm of columns", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("layer_norm", "x", g.in(1, 4, w), "axes", []int{2},
				"gamma", g.Weights(w), "beta", g.Weights(w), "epsilon", 1e-5)
		}},
		{"conv 1x1", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("conv", "x", g.in(1, 16, 4, w), "weight", g.Weights(1, 16, 1, 1))
		}},
		{"conv 3x3", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("conv", "x", g.in(1, 4, 4, w), "weight", g.Weights(8, 4, 3, 3), "pad_type", "same")
		}},
	}
	wideOthers = []wideOp{
		{"relu of many rows", func(g *wideGraph, w int64) *ir.Value { return g.Op("relu", "x", g.in(1, 3, 40, w)) }},
		{"gelu", func(g *wideGraph, w int64) *ir.Value { return g.Op("gelu", "x", g.in(1, 8, 2, w)) }},
		{"clip", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("clip", "x", g.in(1, 8, 2, w), "alpha", -1.0, "beta", 1.0)
		}},
		{"square", func(g *wideGraph, w int64) *ir.Value { return g.Op("square", "x", g.in(1, 16, 2, w)) }},
		{"add", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("add", "x", g.in(1, 16, 4, w), "y", g.in(1, 16, 4, w))
		}},
		{"add of a column", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("add", "x", g.in(1, 16, 4, w), "y", g.in(1, 16, 4, 1))
		}},
		{"mul by a row", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("mul", "x", g.in(1, 16, 4, w), "y", g.in(1, 1, 1, w))
		}},
		{"mul by a constant for each channel", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("mul", "x", g.in(1, 16, 4, w), "y", g.Weights(1, 16, 1, 1))
		}},
		{"real_div", func(g *wideGraph, w int64) *ir.Value {
			x, y := g.in(1, 8, 2, w), g.in(1, 8, 2, w)
			return g.Op("real_div", "x", x, "y", g.Op("add", "x", g.Op("abs", "x", y), "y", 1.0))
		}},
		{"softmax over rows", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("softmax", "x", g.in(1, 4, 16, w), "axis", 2)
		}},
		{"reduce_mean of rows", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("reduce_mean", "x", g.in(1, 16, 4, w), "axes", []int{2}, "keep_dims", true)
		}},
		{"reduce_mean of all", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("reduce_mean", "x", g.in(1, 16, 4, w), "axes", []int{1, 2, 3}, "keep_dims", true)
		}},
		{"reduce_max of channels", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("reduce_max", "x", g.in(1, 16, 4, w), "axes", []int{1}, "keep_dims", true)
		}},
		{"transpose of rows and columns", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("transpose", "x", g.in(1, 4, 4, w), "perm", []int{0, 1, 3, 2})
		}},
		{"transpose of a matrix", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("transpose", "x", g.in(16, w), "perm", []int{1, 0})
		}},
		{"layer_norm of channels", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("layer_norm", "x", g.in(1, 16, w), "axes", []int{1},
				"gamma", g.Weights(16), "beta", g.Weights(16), "epsilon", 1e-5)
		}},
		{"conv along one axis", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("conv", "x", g.in(1, 8, w), "weight", g.Weights(4, 8, 5), "pad_type", "same", "strides",
				[]int{2})
		}},
		{"conv of each channel", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("conv", "x", g.in(1, 8, 2, w), "weight", g.Weights(8, 1, 3, 3), "pad_type", "same", "groups", 8)
		}},
		{"max_pool", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("max_pool", "x", g.in(1, 8, 4, w), "kernel_sizes", []int{2, 2},
				"strides", []int{2, 2}, "pad_type", "valid")
		}},
		{"linear over columns", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("linear", "x", g.in(3, w), "weight", g.Weights(4, w))
		}},
		{"linear to columns", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("linear", "x", g.in(3, 8), "weight", g.Weights(w, 8))
		}},
		{"matmul to columns", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("matmul", "x", g.in(1, 4, 16), "y", g.in(1, 16, w))
		}},
		{"matmul over columns", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("matmul", "x", g.in(1, 4, w), "y", g.in(1, w, 4))
		}},
		{"slice_by_index", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("slice_by_index", "x", g.in(1, 8, 2, w),
				"begin", []int{0, 0, 0, 5}, "end", []int64{1, 8, 2, w - 7})
		}},
		{"split", func(g *wideGraph, w int64) *ir.Value {
			vs := g.All("split", "x", g.in(1, 16, 4, w), "num_splits", 2, "axis", 1)
			return g.Op("mul", "x", vs[0], "y", vs[1])
		}},
		{"pad", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("pad", "x", g.in(1, 8, 2, w-8), "pad", []int{0, 0, 0, 0, 1, 1, 3, 5},
				"mode", "constant", "constant_val", 0.0)
		}},
		{"reshape", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("reshape", "x", g.in(1, 16, 4, w), "shape", []int64{1, 64, 1, w})
		}},
		{"stack", func(g *wideGraph, w int64) *ir.Value {
			return g.Op("stack", "values", []*ir.Value{g.in(4, w), g.in(4, w)}, "axis", 1)
		}},
	}
)

// verifyWide compiles and verifies a program, and returns its operations on the CPU
// with their reasons.
func verifyWide(t *testing.T, p *ir.Program) map[string]string {
	t.Helper()
	r, err := Run(context.Background(), p, Options{Seed: 5, Numerics: numerics.ANE,
		Compile: compile.Options{Target: target.H13}})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Pass {
		t.Errorf("%+v", r.Outputs)
	}
	cpu := map[string]string{}
	for _, op := range r.Report.Ops {
		if op.Unit == "cpu" {
			cpu[op.Op] = op.Reason
		}
	}
	return cpu
}

// TestEngineComputesWideAxes verifies operations on last axes up to the engine's limit.
// Rows of several channels then exceed what a task can keep in L2 at once.
func TestEngineComputesWideAxes(t *testing.T) {
	ops := map[int64][]wideOp{
		4096:  wideOps,
		8192:  wideOps,
		8400:  append(wideOps[:len(wideOps):len(wideOps)], wideOthers...),
		16384: wideOps,
	}
	type program struct {
		wideOp
		w       int64
		chained bool
	}
	var programs []program
	for _, w := range slices.Sorted(maps.Keys(ops)) {
		for _, op := range ops[w] {
			programs = append(programs, program{op, w, true}, program{op, w, false})
		}
	}
	for i := range testform.Sample(len(programs), 8, 40) {
		p := programs[i]
		t.Run(fmt.Sprintf("%s/%d/chained=%t", p.name, p.w, p.chained), func(t *testing.T) {
			g := &wideGraph{irbuild.New(11), p.chained}
			y := p.make(g, p.w)
			if p.chained {
				y = g.Op("relu", "x", y)
			}
			g.Output(y)
			cpu := verifyWide(t, g.Program())
			if p.chained && len(cpu) > 0 {
				t.Errorf("on the CPU: %v", cpu)
			}
		})
	}
}

// TestDetectorHeadRunsOnTheEngine verifies the head of a detector that computes an
// expectation over 16 bins for each side of 8400 boxes: reshape and transpose of the
// feature, softmax over the bins, and a 1x1 convolution with the bin numbers.
func TestDetectorHeadRunsOnTheEngine(t *testing.T) {
	g := irbuild.New(3)
	x := g.Op("reshape", "x", g.Input(1, 64, 8400), "shape", []int{1, 4, 16, 8400})
	x = g.Op("transpose", "x", x, "perm", []int{0, 2, 1, 3})
	x = g.Op("softmax", "x", x, "axis", 1)
	bins := g.Filled(ir.FP16, func(i int64) float64 { return float64(i) }, 1, 16, 1, 1)
	x = g.Op("conv", "x", x, "weight", bins)
	g.Output(g.Op("reshape", "x", x, "shape", []int{1, 4, 8400}))
	if cpu := verifyWide(t, g.Program()); len(cpu) > 0 {
		t.Errorf("on the CPU: %v", cpu)
	}
}

// TestTooWideAxesRunOnTheCPU also requires that the reason states the limit.
func TestTooWideAxesRunOnTheCPU(t *testing.T) {
	for _, w := range testform.Of([]int64{16385}, []int64{16385}, []int64{16385, 33600}) {
		for i := range testform.Sample(len(wideOps), 5, 100) {
			op := wideOps[i]
			t.Run(fmt.Sprintf("%s/%d", op.name, w), func(t *testing.T) {
				g := &wideGraph{irbuild.New(11), false}
				g.Output(op.make(g, w))
				cpu := verifyWide(t, g.Program())
				for name, reason := range cpu {
					if !strings.Contains(reason, "16384") {
						t.Errorf("%s on the CPU: %q, want the limit of 16384", name, reason)
					}
				}
				if len(cpu) == 0 {
					t.Error("nothing is on the CPU")
				}
			})
		}
	}
}
