package lower

import (
	"math"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/target"
)

// TestRulesStateLimitsThatExist checks that rules and limits refer to each other and to rows of the registry.
func TestRulesStateLimitsThatExist(t *testing.T) {
	for _, r := range Rules {
		for _, id := range slices.Concat(r.limits, TensorRules) {
			if _, ok := target.RuleOf(id); !ok {
				t.Errorf("rule %s: no rule %q", r.Name, id)
			}
		}
		for _, o := range r.Ops {
			if ruleByOp[o] != r {
				t.Errorf("rules %s and %s lower %s", r.Name, ruleByOp[o].Name, o.Name)
			}
			if r.Moves() != (o.Class == ir.Movement) {
				t.Errorf("rule %s moves data: %t, and lowers %s of class %s", r.Name, r.Moves(), o.Name, o.Class)
			}
			if o.Error == numerics.Unstated {
				t.Errorf("rule %s lowers %s, whose row states no error", r.Name, o.Name)
			}
		}
	}
	for _, o := range ir.Operations {
		if o.Instead != "" && ruleByOp[o] != nil {
			t.Errorf("%s is lowered and its row names operations to use instead", o.Name)
		}
	}
	for id := range limitText {
		if _, ok := target.RuleOf(id); !ok {
			t.Errorf("text for %q, which is not a rule", id)
		}
	}
}

// TestGatedOperationsAreRefused checks operations that are refused with any arguments.
func TestGatedOperationsAreRefused(t *testing.T) {
	h15, err := target.Lookup("h15")
	if err != nil {
		t.Fatal(err)
	}
	h12, err := target.Lookup("h12")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		op   string
		t    *target.Table
		rule string // "" if a rule lowers it
		have string
		lim  string
	}{
		{op: "sin", t: target.H13, rule: target.RuleFamily, have: "A13", lim: "A15"},
		{op: "sin", t: h15, rule: target.RuleNoLowering, have: "sin", lim: "one that a rule lowers"},
		{op: "affine", t: target.H13, rule: target.RuleFamily, have: "A13", lim: "A14"},
		{op: "make_list", t: target.H13, rule: target.RuleNever, have: "make_list", lim: "in no hardware family"},
		{op: "lstm", t: h15, rule: target.RuleNever, have: "lstm", lim: "in no hardware family"},
		{op: "topk", t: target.H13, rule: target.RuleNoCode, have: "topk", lim: "no code generation on h13"},
		{op: "topk", t: h15, rule: target.RuleNoLowering, have: "topk", lim: "one that a rule lowers"},
		{op: "range_1d", t: target.H13, rule: target.RuleBridge, have: "range_1d", lim: "a bridge on the engine"},
		{op: "random_uniform", t: target.H13, rule: target.RuleFamily, have: "A13", lim: "A15"},
		{op: "softmax", t: h12, rule: target.RuleFamily, have: "A12", lim: "A13"},
		{op: "softmax", t: target.H13},
		{op: "softmax", t: target.H16, rule: target.RuleRecord, have: "softmax", lim: target.H16.Recorded()},
		{op: "conv", t: h15, rule: target.RuleRecord, have: "conv", lim: h15.Recorded()},
		{op: "matmul", t: target.H18},
		{op: "sigmoid", t: target.H17},
		{op: "resample", t: target.H13, rule: target.RuleFamily, have: "A13", lim: "A14"},
		{op: "gather", t: target.H13, rule: target.RuleNoLowering, have: "gather", lim: "one that a rule lowers"},
	} {
		_, no := Explain(ir.Named(c.op), c.t)
		if no == nil {
			if c.rule != "" {
				t.Errorf("%s on %s is not refused", c.op, c.t.Name)
			}
			continue
		}
		if no.Rule != c.rule || no.Have != c.have || no.Limit != c.lim {
			t.Errorf("%s on %s: %s, %s, %s", c.op, c.t.Name, no.Rule, no.Have, no.Limit)
		}
	}
	for _, o := range ir.Operations {
		_, no := Explain(o, target.H13)
		if _, ok := target.ParseFamily(string(o.Gate)); o.Gate != "" && o.Gate != ir.Never && !ok {
			t.Errorf("%s has the gate %q, which is not a family", o.Name, o.Gate)
		}
		if o.Gate == ir.Never && (no == nil || no.Rule != target.RuleNever) {
			t.Errorf("%s: %v", o.Name, no)
		}
	}
	for _, tab := range target.All {
		for _, n := range tab.NoCode {
			if ir.Named(n) == nil {
				t.Errorf("%s has no code for %s, which is not an operation", tab.Name, n)
			}
		}
	}
}

// TestTablesComputeTheRegistrysCurves compares the function from which a lookup table is generated with the function in
// the operation's row.
func TestTablesComputeTheRegistrysCurves(t *testing.T) {
	for _, o := range tabled() {
		curves := o.Modes
		if curves == nil {
			curves = map[string]*ir.Curve{"": o.Curve}
		}
		for mode, k := range curves {
			args, params := []float64{0.5, 2}[:len(k.Params)], []float64(nil)
			if k.Shift {
				args = []float64{0}
			} else {
				params = args
			}
			a, err := weights.Activate(k.Table, params...)
			if err != nil {
				t.Errorf("%s %s: %v", o.Name, mode, err)
				continue
			}
			for i := range 256 {
				x := float64(i-128) / 16
				if k.Domain != nil && (x <= k.Domain[0] || x > k.Domain[1]) {
					continue
				}
				if got, want := a.F(x), k.F(x, args); math.Abs(got-want) > 1e-6*math.Max(1, math.Abs(want)) {
					t.Errorf("%s %s of %g is %g in the table, %g in the registry", o.Name, mode, x, got, want)
					break
				}
			}
		}
	}
}
