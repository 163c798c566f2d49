package sim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/test/difftest"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// atLimit is an operation with a property of n, for a limit of the target.
type atLimit struct {
	name  string
	limit int
	build func(g *irbuild.Graph, n int64) *ir.Value
}

// summedBytes is the L2 that 32 columns of the elements that a product sums over may take: less than what fits in
// kernel memory, which is a separate limit.
const summedBytes = 2<<20 - 4<<10

func atLimits(t *target.Table) []atLimit {
	conv := func(g *irbuild.Graph, x []int64, w []int64, args ...any) *ir.Value {
		return g.Op("conv", append([]any{"x", g.Input(x...), "weight", g.Weights(w...)}, args...)...)
	}
	relu := func(shape func(n int64) []int64) func(g *irbuild.Graph, n int64) *ir.Value {
		return func(g *irbuild.Graph, n int64) *ir.Value { return g.Op("relu", "x", g.Input(shape(n)...)) }
	}
	pool := func(op string, axis int) func(g *irbuild.Graph, n int64) *ir.Value {
		return func(g *irbuild.Graph, n int64) *ir.Value {
			x, k := []int64{1, 3, 5, 5}, []int64{1, 1}
			x[2+axis], k[axis] = 70, n
			return g.Op(op, "x", g.Input(x...), "kernel_sizes", k, "strides", []int64{1, 1}, "pad_type", "valid")
		}
	}
	sum := func(axis int) func(g *irbuild.Graph, n int64) *ir.Value {
		return func(g *irbuild.Graph, n int64) *ir.Value {
			x := []int64{1, 3, 5, 7}
			x[axis] = n
			return g.Op("reduce_mean", "x", g.Input(x...), "axes", []int{axis}, "keep_dims", true)
		}
	}
	return []atLimit{
		{"kernel width", t.MaxKernelW, func(g *irbuild.Graph, n int64) *ir.Value {
			return conv(g, []int64{1, 4, 5, 40}, []int64{8, 4, 1, n}, "pad_type", "same")
		}},
		{"kernel height", t.MaxKernelH, func(g *irbuild.Graph, n int64) *ir.Value {
			return conv(g, []int64{1, 4, 70, 5}, []int64{8, 4, n, 1}, "pad_type", "same")
		}},
		{"small kernel width", t.SmallKernelW, func(g *irbuild.Graph, n int64) *ir.Value {
			return conv(g, []int64{1, 4, 5, 40}, []int64{8, 4, 3, n}, "pad_type", "same")
		}},
		{"small kernel height", t.SmallKernelH, func(g *irbuild.Graph, n int64) *ir.Value {
			return conv(g, []int64{1, 4, 70, 5}, []int64{8, 4, n, 3}, "pad_type", "same")
		}},
		{"dilated kernel width", t.MaxKernelW, func(g *irbuild.Graph, n int64) *ir.Value {
			return conv(g, []int64{1, 4, 5, 40}, []int64{8, 4, 1, 2}, "pad_type", "same", "dilations",
				[]int64{1, n - 1})
		}},
		{"dilated kernel height", t.MaxKernelH, func(g *irbuild.Graph, n int64) *ir.Value {
			return conv(g, []int64{1, 4, 70, 5}, []int64{8, 4, 2, 1}, "pad_type", "same", "dilations",
				[]int64{n - 1, 1})
		}},
		{"stride along the width", t.MaxStride, func(g *irbuild.Graph, n int64) *ir.Value {
			return conv(g, []int64{1, 4, 5, 40}, []int64{8, 4, 3, 3}, "strides", []int64{1, n}, "pad_type", "valid")
		}},
		{"stride along the height", t.MaxStride, func(g *irbuild.Graph, n int64) *ir.Value {
			return conv(g, []int64{1, 4, 40, 5}, []int64{8, 4, 3, 3}, "strides", []int64{n, 1}, "pad_type", "valid")
		}},
		{"padding of the width", t.MaxPad, func(g *irbuild.Graph, n int64) *ir.Value {
			return conv(g, []int64{1, 4, 5, 40}, []int64{8, 4, 1, 3}, "pad_type", "custom", "pad", []int64{0, 0, n, 0})
		}},
		{"padding of the height", t.MaxPad, func(g *irbuild.Graph, n int64) *ir.Value {
			return conv(g, []int64{1, 4, 5, 40}, []int64{8, 4, 3, 1}, "pad_type", "custom", "pad", []int64{n, 0, 0, 0})
		}},
		{"groups", t.MaxGroups, func(g *irbuild.Graph, n int64) *ir.Value {
			return conv(g, []int64{1, n, 1, 2}, []int64{n, 1, 1, 1}, "groups", n, "pad_type", "valid")
		}},
		{"elements of a group", 2048, func(g *irbuild.Graph, n int64) *ir.Value {
			return conv(g, []int64{1, 2 * n, 1, 2}, []int64{4, n, 1, 1}, "groups", 2, "pad_type", "valid")
		}},
		{"maximum over columns", t.MaxPool, pool("max_pool", 1)},
		{"maximum over rows", t.MaxPool, pool("max_pool", 0)},
		{"average over columns", t.MaxPool, pool("avg_pool", 1)},
		{"average over rows", t.MaxPool, pool("avg_pool", 0)},
		{"rank", t.MaxRank, relu(func(n int64) []int64 { return []int64{1, 2, 3, 2, 5, 7, 1}[:n] })},
		{"last dimension", t.MaxWidth, relu(func(n int64) []int64 { return []int64{1, 3, 2, n} })},
		{"height", t.MaxHeight, relu(func(n int64) []int64 { return []int64{1, 2, n, 3} })},
		{"channels", t.MaxChannels, relu(func(n int64) []int64 { return []int64{1, n, 1, 2} })},
		{"batch", 1 << 16, relu(func(n int64) []int64 { return []int64{n, 1, 1, 2} })},
		{"reduced columns", t.ReduceTranspose, sum(3)},
		{"reduced rows", t.ReduceTranspose, sum(2)},
		{"reduced channels", t.ReduceTranspose, sum(1)},
		{"pixels of a streamed kernel", t.StreamPixels, func(g *irbuild.Graph, n int64) *ir.Value {
			return g.Op("matmul", "x", g.Input(n, 600), "y", g.Weights(600, 40))
		}},
		{"elements summed over", (summedBytes / 32) / 2, func(g *irbuild.Graph, n int64) *ir.Value {
			return g.Op("matmul", "x", g.Input(n, 2), "y", g.Weights(n, 4), "transpose_x", true)
		}},
		{"rows of a product", t.MaxWidth, func(g *irbuild.Graph, n int64) *ir.Value {
			return g.Op("linear", "x", g.Input(n, 3), "weight", g.Weights(5, 3))
		}},
		{"tensors", t.MaxSurfaces, func(g *irbuild.Graph, n int64) *ir.Value {
			vs := []*ir.Value{}
			for range n - 1 {
				vs = append(vs, g.Input(1, 2, 1, 5))
			}
			return g.Op("concat", "values", vs, "axis", 1, "interleave", false)
		}},
	}
}

// TestOperationsAroundLimits compiles operations at each limit of the target, one below and one above. Up to the limit
// the engine runs them and agrees with the interpreter; beyond it either the engine still does, or the refusal names
// the limit.
func TestOperationsAroundLimits(t *testing.T) {
	for _, row := range atLimits(target.H13) {
		for n := row.limit - 1; n <= row.limit+1; n++ {
			t.Run(fmt.Sprint(row.name, " ", n), func(t *testing.T) {
				t.Parallel()
				g := irbuild.New(uint64(n))
				g.Output(row.build(g, int64(n)))
				c, err := compilePair(g.Program(), compile.Options{Target: target.H13, Place: passes.PlaceEngine})
				if err != nil {
					t.Fatalf("%v\n%s", err, c.brief())
				}
				if n <= row.limit {
					if err := c.onEngine(); err != nil {
						t.Error(err)
					}
				} else if err := difftest.Limited(c.res.Report); err != nil {
					t.Error(err)
				}
				for _, o := range c.res.Report.Ops {
					no := o.Refusal
					if o.Unit == ir.CPU.String() && !strings.Contains(no.Limit, fmt.Sprint(row.limit)) &&
						no.Limit != fmt.Sprint(summedBytes) {
						t.Errorf("%s is refused for %s, %s, with the limit %s instead of %d", o.Op, no.What,
							no.Value, no.Limit, row.limit)
					}
				}
				for _, mode := range []numerics.Mode{numerics.ANE, numerics.IEEE} {
					if err := c.check(c.inputs(uint64(n), nil), mode); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}
