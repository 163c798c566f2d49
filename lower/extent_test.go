package lower

import (
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// extremeCases are operations on the longest rows, columns and channels that the rules take: their tasks move channels
// to the width or fold rows, so that an extent of a task may be larger than any of the operands'.
func extremeCases() (cs []ruleCase) {
	shapes := [][]int64{
		{1, 1, 1, 16384}, {1, 1, 16384, 1}, {1, 16384, 1, 1}, {1, 65536, 1, 1}, {1, 20000, 1, 1}, {1, 4096, 1, 8},
		{1, 8, 4096, 1}, {1, 8, 1, 16384}, {1, 64, 64, 64}, {16384, 8}, {8, 16384}, {256, 256}, {64, 1024},
	}
	for _, s := range shapes {
		last, each := int64(len(s)-1), func(name string, build func(g *irbuild.Graph, x *ir.Value) *ir.Value) {
			cs = append(cs, ruleCase{name, func(g *irbuild.Graph) *ir.Value { return build(g, g.Input(s...)) }})
		}
		for axis := range last + 1 {
			for _, name := range []string{"reduce_sum", "reduce_max", "reduce_mean"} {
				each(name, func(g *irbuild.Graph, x *ir.Value) *ir.Value {
					return g.Op(name, "x", x, "axes", []int64{axis}, "keep_dims", true)
				})
			}
			each("softmax", func(g *irbuild.Graph, x *ir.Value) *ir.Value {
				return g.Op("softmax", "x", x, "axis", axis)
			})
			each("layer_norm", func(g *irbuild.Graph, x *ir.Value) *ir.Value {
				return g.Op("layer_norm", "x", x, "axes", []int64{axis}, "epsilon", 1e-5)
			})
		}
		each("tile", func(g *irbuild.Graph, x *ir.Value) *ir.Value {
			reps := make([]int64, len(s))
			for i := range reps {
				reps[i] = 1
			}
			reps[last] = 2
			return g.Op("tile", "x", x, "reps", reps)
		})
		each("transpose", func(g *irbuild.Graph, x *ir.Value) *ir.Value {
			perm := make([]int64, len(s))
			for i := range perm {
				perm[i] = last - int64(i)
			}
			return g.Op("transpose", "x", x, "perm", perm)
		})
		each("abs", func(g *irbuild.Graph, x *ir.Value) *ir.Value { return g.Op("abs", "x", x) })
		if len(s) == 2 {
			each("linear", func(g *irbuild.Graph, x *ir.Value) *ir.Value {
				return g.Op("linear", "x", x, "weight", g.Weights(64, s[1]), "bias", g.Weights(64))
			})
			each("matmul", func(g *irbuild.Graph, x *ir.Value) *ir.Value {
				return g.Op("matmul", "x", x, "y", g.Input(64, s[1]), "transpose_x", false, "transpose_y", true)
			})
		}
	}
	return cs
}

// TestTaskExtentsAreWithinTheTable checks that no task's input or result is wider, higher or has more channels than the
// target's table allows, for the cases of all rules and planners and for the longest operands.
func TestTaskExtentsAreWithinTheTable(t *testing.T) {
	cases := extremeCases()
	for _, cs := range ruleCases {
		cases = append(cases, cs...)
	}
	for _, c := range plannerCases {
		cases = append(cases, c)
	}
	for _, tab := range []*target.Table{target.H13, target.H14} {
		limits := []struct {
			f    td.Field
			most int
		}{
			{td.Win, tab.MaxWidth}, {td.Wout, tab.MaxWidth},
			{td.Hin, tab.MaxHeight}, {td.Hout, tab.MaxHeight},
			{td.Cin, tab.MaxChannels}, {td.Cout, tab.MaxChannels},
		}
		checked := 0
		for _, c := range cases {
			g := irbuild.New(1)
			seg := segmentOf(g, c.build(g))
			if !takes(seg, tab) {
				continue
			}
			b := newBuilder(seg, tab, &weights.Section{})
			if err := b.makeDrafts(seg); err != nil {
				t.Errorf("%s on %s: %v", c.name, tab.Name, err)
				continue
			}
			if err := b.plan(Planners); err != nil {
				t.Errorf("%s on %s: %v", c.name, tab.Name, err)
				continue
			}
			for i, d := range b.drafts {
				task := td.New()
				(&encoder{draft: d, to: task, codec: td.V7}).encode()
				checked++
				for _, l := range limits {
					if n := task.Int(l.f); n > l.most {
						t.Errorf("%s of %s on %s, task %d: %s is %d, the table's limit is %d", c.name,
							seg.Ops[0].Results[0].Type, tab.Name, i, l.f, n, l.most)
					}
				}
			}
		}
		if checked < 1000 {
			t.Errorf("%d tasks on %s, want at least 1000", checked, tab.Name)
		}
	}
}

// takes reports whether the engine of the target takes every operation of a segment.
func takes(seg *Segment, tab *target.Table) bool {
	for _, op := range seg.Ops {
		if _, err := accept(op, tab, nil); err != nil {
			return false
		}
	}
	return true
}
