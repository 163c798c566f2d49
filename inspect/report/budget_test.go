package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
)

func TestJudgeListsTheLargestContributors(t *testing.T) {
	one, many := digits(t), several(t)
	us := one.CallTime()
	for _, c := range []struct {
		report *compile.Report
		budget string
		limit  float64
		want   []string // what each violation's line has in it
	}{
		{report: one, budget: "max-dispatches", limit: 1},
		{report: one, budget: "max-dispatches", limit: 0,
			want: []string{"1 dispatch for h13, --max-dispatches allows 0"}},
		{report: one, budget: "max-weight-bytes", limit: 19840},
		{report: one, budget: "max-weight-bytes", limit: 19839,
			want: []string{`19840 bytes of constants for h13, --max-weight-bytes allows 19839; largest: conv ` +
				`"conv3" line 26 16000, conv "conv2" line 21 3072, conv "conv1" line 15 512`}},
		{report: one, budget: "max-estimate-us", limit: float64(us) / 1000},
		{report: one, budget: "max-estimate-us", limit: float64(us-1) / 1000,
			want: []string{`212.991 us (200 to 240, M1) a call for h13, --max-estimate-us allows 212.990 us, which ` +
				`is in that band; largest: dispatch 212 us, inputs and outputs 315 ns, conv "conv3" line 26 253 ns`}},
		{report: one, budget: "min-engine-macs", limit: 100},
		{report: many, budget: "min-engine-macs", limit: 50},
		{report: many, budget: "min-engine-macs", limit: 100,
			want: []string{`% of multiply-accumulates run on the engine for h13, --min-engine-macs requires 100 ` +
				`%; largest: linear "wide"`}},
		{report: many, budget: "max-dispatches", limit: 1,
			want: []string{`function first: 2 dispatches for h13, --max-dispatches allows 1; largest: sin "b" line`}},
		{report: many, budget: "max-dispatches", limit: 2},
		{report: many, budget: "max-estimate-us", limit: 150, want: []string{
			"function first: 450 us (420 to 510, M1) a call",
			"function second: 212 us (200 to 240, M1) a call for h13, --max-estimate-us allows 150 us; largest"}},
	} {
		vs := Judge(c.report, nil, map[string]float64{c.budget: c.limit})
		if len(vs) != len(c.want) {
			t.Errorf("%s of %g: %d exceeded, want %d: %v", c.budget, c.limit, len(vs), len(c.want), vs)
			continue
		}
		for i := range vs {
			if got := vs[i].String(); !strings.Contains(got, c.want[i]) {
				t.Errorf("%s of %g: %q has no %q", c.budget, c.limit, got, c.want[i])
			}
		}
	}
	if vs := Judge(many, nil, nil); vs != nil {
		t.Errorf("no limits, and yet %v", vs)
	}
}

func TestCheckRejectsInvalidLimits(t *testing.T) {
	by := map[string]*Budget{}
	for i := range Budgets {
		by[Budgets[i].ID] = &Budgets[i]
	}
	inf := math.Inf(1)
	for _, c := range []struct {
		id   string
		v    float64
		good bool
	}{
		{"max-dispatches", 0, true}, {"max-dispatches", 1.5, false}, {"max-dispatches", -1, false},
		{"max-weight-bytes", 1 << 40, true},
		{"max-estimate-us", 1.5, true}, {"max-estimate-us", inf, false}, {"max-estimate-us", inf - inf, false},
		{"min-engine-macs", 100, true}, {"min-engine-macs", 100.5, false}, {"max-error", 0, true},
		{"max-error", 1e-3, true}, {"max-error", -1, false},
	} {
		if err := by[c.id].Check(c.v); (err == nil) != c.good {
			t.Errorf("%s of %g: %v", c.id, c.v, err)
		}
	}
}

// TestGrowthOfOperationsOfPasses compares operations whose generated names differ: those of one kind are compared
// together, and what the source names by name.
func TestGrowthOfOperationsOfPasses(t *testing.T) {
	before := []Contributor{
		{What: "concat", Name: "%concat.1", Value: 300}, {What: "concat", Name: "%concat.2", Value: 200},
		{What: "relu", Name: "x", Value: 130},
	}
	after := []Contributor{
		{What: "concat", Name: "%concat.5", Value: 300}, {What: "concat", Name: "%concat.6", Value: 210},
		{What: "real_div", Name: "x", Line: 21, Value: 330}, {What: "abs", Name: "%abs.3", Line: 21, Value: 40},
	}
	want := []Contributor{
		{What: "concat", Value: 10}, {What: "real_div", Name: "x", Line: 21, Value: 200},
		{What: "abs", Name: "%abs.3", Line: 21, Value: 40},
	}
	if got := grown(after, before); !slices.Equal(got, want) {
		t.Errorf("grown = %v, want %v", got, want)
	}
}
