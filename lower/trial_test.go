package lower_test

import (
	"errors"
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// filled adds a weight of ones, which is faster to fill than noise.
func filled(g *irbuild.Graph, shape ...int64) *ir.Value {
	t := ir.TensorOf(ir.FP16, shape...)
	data := make([]byte, t.Bytes())
	for i := 1; i < len(data); i += 2 {
		data[i] = 0x3c
	}
	return g.Const(&ir.Const{Type: t, Data: data})
}

// TestAcceptedOperationsAreLowered checks that what the acceptor accepts is lowered, and that shapes which need too
// many tasks or too much memory are refused with the rule.
func TestAcceptedOperationsAreLowered(t *testing.T) {
	conv := func(g *irbuild.Graph, groups int64, x, w *ir.Value) *ir.Value {
		return g.Op("conv", "x", x, "weight", w, "pad_type", "valid", "pad", []int64{0, 0, 0, 0},
			"strides", []int64{1, 1}, "dilations", []int64{1, 1}, "groups", groups)
	}
	product := func(x, y []int64) func(g *irbuild.Graph) *ir.Value {
		return func(g *irbuild.Graph) *ir.Value {
			return g.Op("matmul", "x", g.Input(x...), "y", g.Input(y...))
		}
	}
	for _, c := range []struct {
		name  string
		rule  string // "" if it is lowered
		limit string
		build func(g *irbuild.Graph) *ir.Value
	}{
		{name: "four million products", rule: target.RuleTasks, limit: "16384",
			build: product([]int64{2048, 2048, 1, 1}, []int64{2048, 2048, 1, 1})},
		{name: "as many products as a program addresses", rule: target.RuleTasks, limit: "16384",
			build: product([]int64{65536, 224, 1, 1}, []int64{65536, 224, 1, 1})},
		{name: "more products than a program addresses", rule: target.RuleExtent, limit: "3489660928",
			build: product([]int64{65536, 1024, 1, 1}, []int64{65536, 1024, 1, 1})},
		{name: "few products of many pieces", rule: target.RuleTasks, limit: "16384",
			build: product([]int64{16384, 16384}, []int64{16384, 16384})},
		{name: "a thousand products", build: product([]int64{8, 128, 1, 1}, []int64{8, 128, 1, 1})},
		{name: "products with a constant each", rule: target.RuleTasks, limit: "16384",
			build: func(g *irbuild.Graph) *ir.Value {
				return g.Op("matmul", "x", g.Input(512, 64, 1, 1), "y", filled(g, 512, 64, 1, 1))
			}},
		{name: "a transposition of single rows", rule: target.RuleTasks, limit: "16384",
			build: func(g *irbuild.Graph) *ir.Value {
				return g.Op("transpose", "x", g.Input(128, 65536, 2, 2), "perm", []int64{1, 0, 3, 2})
			}},
		{name: "images that are many", rule: target.RuleTasks, limit: "16384", build: func(g *irbuild.Graph) *ir.Value {
			return conv(g, 1, g.Input(65536, 1, 1, 1), filled(g, 1, 1, 1, 1))
		}},
		{name: "dense channels of two rows", rule: target.RuleWorkingSet, limit: "2093056",
			build: func(g *irbuild.Graph) *ir.Value {
				return conv(g, 1, g.Input(1, 16384, 2, 64), filled(g, 1, 16384, 2, 1))
			}},
		{name: "depthwise channels of three rows", rule: target.RuleWorkingSet, limit: "2093056",
			build: func(g *irbuild.Graph) *ir.Value {
				return conv(g, 8191, g.Input(1, 8191*8, 4, 1), filled(g, 8191, 8, 3, 1))
			}},
		{name: "dense channels of one row", build: func(g *irbuild.Graph) *ir.Value {
			return conv(g, 1, g.Input(1, 16384, 2, 64), filled(g, 1, 16384, 1, 1))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := irbuild.New(1)
			out := c.build(g)
			_, err := lower.NewAcceptor(target.H13, nil).Accept(out.Def)
			var no *lower.Refusal
			if errors.As(err, &no); err != nil && no == nil {
				t.Fatalf("%v is not a refusal", err)
			}
			if c.rule != "" {
				if no == nil || no.Rule != c.rule || no.Limit != c.limit || no.Have == "" {
					t.Fatalf("refusal %+v, want one by rule %s with limit %s", no, c.rule, c.limit)
				}
				return
			}
			if no != nil {
				t.Fatalf("refused: %+v", no)
			}
			seg := &lower.Segment{
				Codec:   td.V7,
				Name:    "s",
				Ops:     []*ir.Op{out.Def},
				Outputs: []*ir.Value{out},
				Ports:   map[*ir.Value]string{out: "y"},
			}
			out.Def.Operands(func(p *ir.Param, v *ir.Value) {
				if !v.IsConst() {
					seg.Inputs, seg.Ports[v] = append(seg.Inputs, v), string(p.Name)
				}
			})
			if _, err := lower.Lower(seg, target.H13, &weights.Section{}); err != nil {
				t.Error(err)
			}
		})
	}
}
