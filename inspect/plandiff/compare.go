package plandiff

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/analysis/coreml"
	"github.com/zinc-compiler/zinc/frontend/computeplan"
	"github.com/zinc-compiler/zinc/internal/diag"
)

// Join joins a plan with the operations of a forecast.
func Join(plan *computeplan.Plan, f *coreml.Plan) *computeplan.Join {
	ops := make([]computeplan.Op, len(f.Rows))
	for i := range f.Rows {
		ops[i] = computeplan.Op{Outputs: f.Rows[i].Outputs, Kind: f.Rows[i].Operator()}
	}
	return plan.Join(f.Function, ops)
}

// Compare compares a plan with the forecast for one function of a model. The caller adds the paths.
func Compare(plan *computeplan.Plan, f *coreml.Plan) *Result {
	r := &Result{
		Function:    f.Function,
		Rules:       f.Rules.Name,
		Units:       string(f.Units),
		Form:        plan.Form,
		Chip:        plan.Machine,
		System:      plan.System,
		PlanUnits:   plan.Units,
		Operations:  len(plan.Operations),
		Differences: []Difference{},
		plan:        plan,
	}
	if plan.Summary != nil {
		r.Summary = summarise(plan.Summary, f)
		return r
	}
	j := Join(plan, f)
	r.Inserted, r.OnlyInPlan, r.Elsewhere = len(j.Inserted), len(j.Extra), j.Other
	c := comparison{Result: r, forecast: f}
	for i := range f.Rows {
		c.row(&f.Rows[i], j.Of[i])
	}
	slices.SortStableFunc(r.Differences, func(a, b Difference) int { return cmp.Compare(b.heaviness(), a.heaviness()) })
	c.weights()
	c.estimates()
	c.note(j)
	return r
}

// heaviness orders differences: by the dump's weight, or the forecast's where it has none.
func (d *Difference) heaviness() float64 {
	if d.Weight != nil {
		return *d.Weight
	}
	return d.Share
}

// A comparison collects a Result.
type comparison struct {
	*Result
	forecast *coreml.Plan

	weight, agreed float64 // sums of the dump's weights: of compared operations, and of those that agree
	weighed        bool
}

// devices are the devices of forecasts in a plan.
var devices = map[coreml.Device]computeplan.Device{
	coreml.CPU: computeplan.CPU, coreml.GPUDevice: computeplan.GPU, coreml.NeuralEngine: computeplan.Engine,
}

// row compares the operation at a position of the plan, or -1, with a row of the forecast.
func (c *comparison) row(row *coreml.Row, at int) {
	o := &computeplan.Operation{Kind: row.Operator(), Preferred: computeplan.Engine} // on the engine, as all others
	switch {
	case at >= 0:
		o = &c.plan.Operations[at]
	case row.Inserted != "":
		return
	case !c.plan.Rest:
		c.OnlyInModel++
		return
	}
	c.Joined++
	x := Row{
		Name:     row.Name,
		Kind:     row.Operator(),
		Line:     row.Pos.Line,
		PlanLine: o.Line,
		Plan:     o.Preferred.String(),
		Forecast: row.Chosen.Device().Word(),
		Share:    row.Weight,
	}
	if o.Kind != "" && o.Kind != x.Kind {
		x.PlanKind = o.Kind
	}
	if o.Weighed {
		w := o.Weight
		x.Weight, c.weighed = &w, true
	}
	x.Estimates = Estimates(Times(o), row.Estimates)
	switch o.Preferred {
	case computeplan.GPU:
		c.GPU++
	case computeplan.NoDevice:
		c.NoDevice++
	default:
		c.judge(&x, o, row)
	}
	c.Rows = append(c.Rows, x)
}

// Times returns the estimates of an operation of a plan in milliseconds, by backend; 0 where it has none.
func Times(o *computeplan.Operation) (ms [coreml.NumBackends]float64) {
	for b := range coreml.NumBackends {
		ms[b], _ = o.Estimate(b.String())
	}
	return ms
}

// Estimates returns the estimates of a plan beside others, in milliseconds by backend, where both are above 0.
func Estimates(plan, others [coreml.NumBackends]float64) (out []BackendEstimate) {
	for b := range coreml.NumBackends {
		if ms, ours := plan[b], others[b]; ms > 0 && ours > 0 {
			out = append(out, BackendEstimate{Backend: b.String(), Plan: ms, Forecast: ours, Ratio: ms / ours})
		}
	}
	return out
}

// judge compares the devices of an operation on the CPU or the engine.
func (c *comparison) judge(x *Row, o *computeplan.Operation, row *coreml.Row) {
	ours := devices[row.Chosen.Device()]
	c.Compared++
	c.weight += o.Weight
	if o.Preferred == computeplan.Engine {
		c.Engine.Plan++
	}
	if ours == computeplan.Engine {
		c.Engine.Forecast++
	}
	onEngine := o.Preferred == computeplan.Engine
	if onEngine == (ours == computeplan.Engine) {
		c.Agree++
		c.agreed += o.Weight
		return
	}
	for _, d := range row.Ties {
		if (devices[d] == computeplan.Engine) == onEngine {
			x.Tie = true
			c.Agree++
			c.Ties++
			c.agreed += o.Weight
			return
		}
	}
	d := Difference{Row: *x, Class: Choice, ForecastReason: row.Reasons[coreml.Engine]}
	for _, why := range o.Reasons {
		if why.Backend == coreml.Engine.String() {
			d.PlanReason = why.Text
		}
	}
	switch can := o.Supported.Has(computeplan.Engine) || onEngine; {
	case can && !row.Supported.Has(coreml.Engine):
		d.Class = ForecastCannot
	case !can && o.Supported != 0 && row.Supported.Has(coreml.Engine):
		d.Class = PlanCannot
	}
	c.Differences = append(c.Differences, d)
}

// weights compares the weights of operations on the same device.
func (c *comparison) weights() {
	if c.weighed && c.weight > 0 && !c.plan.Partial {
		share := c.agreed / c.weight
		c.AgreeWeight = &share
	}
	var ratios []float64
	var rows []*Row
	for i := range c.Rows {
		x := &c.Rows[i]
		if x.Weight == nil || *x.Weight <= 0 || x.Share <= 0 || x.Plan != x.Forecast {
			continue
		}
		ratios, rows = append(ratios, *x.Weight/x.Share), append(rows, x)
	}
	if len(ratios) == 0 {
		return
	}
	middle := median(ratios)
	w := &WeightRatios{Count: len(ratios), Worst: 1}
	for i, x := range rows {
		ratio := ratios[i] / middle
		count(ratio, &w.Within1, &w.Within10)
		if far(ratio) > far(w.Worst) {
			w.Worst, w.Name = ratio, x.Name
		}
	}
	c.Weights = w
}

// estimates groups the estimates by kind and backend.
func (c *comparison) estimates() {
	type key struct {
		kind    string
		backend int
	}
	groups := map[key]*EstimateGroup{}
	ratios := map[key][]float64{}
	var order []key
	for i := range c.Rows {
		x := &c.Rows[i]
		for _, e := range x.Estimates {
			b, _ := coreml.ParseBackend(e.Backend)
			k := key{x.Kind, int(b)}
			g := groups[k]
			if g == nil {
				g = &EstimateGroup{Kind: x.Kind, Backend: e.Backend, Worst: 1}
				groups[k], order = g, append(order, k)
			}
			g.Count++
			count(e.Ratio, &g.Within1, &g.Within10)
			if far(e.Ratio) > far(g.Worst) {
				g.Worst, g.WorstName = e.Ratio, x.Name
			}
			ratios[k] = append(ratios[k], e.Ratio)
		}
	}
	slices.SortFunc(order, func(a, b key) int {
		return cmp.Or(cmp.Compare(groups[b].Count, groups[a].Count), cmp.Compare(a.kind, b.kind),
			cmp.Compare(a.backend, b.backend))
	})
	for _, k := range order {
		groups[k].Median = median(ratios[k])
		c.Result.Estimates = append(c.Result.Estimates, *groups[k])
	}
}

// median returns the middle of ratios, which it sorts a copy of.
func median(ratios []float64) float64 {
	sorted := slices.Sorted(slices.Values(ratios))
	return sorted[(len(sorted)-1)/2]
}

// far is how far a ratio is from 1.
func far(ratio float64) float64 { return math.Abs(math.Log(ratio)) }

// count counts a ratio within 1 % and within 10 %.
func count(ratio float64, within1, within10 *int) {
	if math.Abs(ratio-1) <= 0.01 {
		*within1++
	}
	if math.Abs(ratio-1) <= 0.1 {
		*within10++
	}
}

// note adds what a reader must know about the comparison.
func (c *comparison) note(j *computeplan.Join) {
	add := func(format string, args ...any) { c.Notes = append(c.Notes, fmt.Sprintf(format, args...)) }
	if names := j.Functions(); len(names) > 0 {
		add("the dump has the functions %s, not %s", strings.Join(names, ", "), c.Function)
	}
	if c.GPU > 0 {
		add("the dump has %s on the GPU, which is not compared; dump it again with the compute units "+
			"cpuAndNeuralEngine", diag.Count(c.GPU, "operation", "operations"))
	}
	if c.PlanUnits != "" && c.PlanUnits != c.Units {
		add("the dump was made with the compute units %s, the forecast with %s", c.PlanUnits, c.Units)
	}
	if c.plan.ByOrder {
		add("the dump has no names: its operations were aligned by the order of their kinds")
	}
	if !j.Whole {
		add("the sequences of kinds differ too much to align every part: is it the same model?")
	}
	if c.plan.Partial && !c.plan.Rest {
		add("the dump has only operations off the engine, and not all of them")
	}
	if n := len(j.Renamed); n > 0 {
		add("Core ML renamed the kinds of %s", diag.Count(n, "operation", "operations"))
	}
	if c.Joined == 0 {
		add("no operation of the dump is in the model: is it the same model?")
	}
}

// summarise compares counts.
func summarise(s *computeplan.Summary, f *coreml.Plan) *SummaryResult {
	r := &SummaryResult{
		Plan:       EngineCount{s.Engine, s.Total()},
		Forecast:   EngineCount{f.OnEngine(), f.Own()},
		Unreliable: s.Unreliable,
	}
	if s.Unreliable != "" {
		return r
	}
	off := map[string]*KindCount{}
	get := func(kind string) *KindCount {
		if off[kind] == nil {
			off[kind] = &KindCount{Kind: kind}
		}
		return off[kind]
	}
	for _, k := range s.Kinds {
		if k.Device != computeplan.Engine {
			get(k.Kind).Plan += k.Count
		}
	}
	for i := range f.Rows {
		if row := &f.Rows[i]; row.Inserted == "" && row.Chosen != coreml.Engine {
			get(row.Operator()).Forecast++
		}
	}
	for _, k := range off {
		if k.Plan != k.Forecast {
			r.Kinds = append(r.Kinds, *k)
		}
	}
	slices.SortFunc(r.Kinds, func(a, b KindCount) int { return cmp.Compare(a.Kind, b.Kind) })
	return r
}
