package explore

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/cost"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// costAnswer says what a call is estimated to take and where the time goes: the answer to GET cost.
type costAnswer struct {
	// Estimated is set if zinc estimates the engine's work for the target; otherwise only places and reasons are known.
	Estimated bool      `json:"estimated"`
	Total     cost.Time `json:"us"`
	Margin    string    `json:"margin,omitempty"` // error of the engine's part
	// Parts split the total: the terms of package cost, and "cpu".
	Parts      []costPart     `json:"parts"`
	Kinds      []kindCost     `json:"kinds"`
	Causes     []cpuCause     `json:"causes"`
	Statements []opCost       `json:"statements"` // those with operations in the compiled program
	Dispatches []dispatchCost `json:"dispatches"`
	CPUCalls   int            `json:"cpu_calls"`
	EngineMACs int64          `json:"engine_macs"`
	CPUMACs    int64          `json:"cpu_macs"`
}

// costPart is a part of the time of a call.
type costPart struct {
	Name string    `json:"name"`
	Time cost.Time `json:"us"`
}

// kindCost adds up the operations of one name on one unit.
type kindCost struct {
	Op    string    `json:"op"`
	Unit  string    `json:"unit"`
	Count int       `json:"count"`
	Time  cost.Time `json:"us"`
	Bound string    `json:"bound,omitempty"`

	terms cost.Split
}

// cpuCause is the operations that one rule keeps on the CPU.
type cpuCause struct {
	Verdict string    `json:"verdict,omitempty"`
	Rule    string    `json:"rule,omitempty"`
	Ops     []string  `json:"ops"` // names of the operations, without repetitions
	Count   int       `json:"count"`
	Time    cost.Time `json:"us"`
	First   int       `json:"statement"` // the first of them, -1 if it is in no statement
	Why     string    `json:"why"`
}

// opCost is what a statement costs, where its operations run, and why.
type opCost struct {
	Statement int       `json:"statement"`
	Units     []string  `json:"units"` // without repetitions
	Time      cost.Time `json:"us"`
	Bound     string    `json:"bound,omitempty"`
	Tasks     int       `json:"tasks,omitempty"`
	MACs      int64     `json:"macs,omitempty"`
	DMABytes  int64     `json:"dma_bytes,omitempty"`
	Constants int64     `json:"constant_bytes,omitempty"`
	Step      int       `json:"step"`
	Rule      string    `json:"rule,omitempty"`
	// Fused is the statement whose tasks also compute this one, -1 for none.
	Fused int `json:"fused_into"`
	// Reason is why it is on the CPU, Refusal the facts.
	Reason  string               `json:"reason,omitempty"`
	Refusal *compile.RefusalInfo `json:"refusal,omitempty"`

	terms cost.Split
}

// dispatchCost is one dispatch to the engine.
type dispatchCost struct {
	Step  int       `json:"step"`
	Ops   int       `json:"ops"`
	Tasks int       `json:"tasks"`
	Time  cost.Time `json:"us"` // of the tasks, the dispatch and the transfer of its inputs and outputs
	Why   string    `json:"why"`
	// CutBy are the statements on the CPU that separate it from the dispatch before.
	CutBy []int `json:"cut_by,omitempty"`
}

// costView answers with the estimate of a view. Other versions' reports are read as far as they have the figures.
func costView(_ *Server, v *view, _ *http.Request) (any, error) {
	if v.report == nil {
		return nil, &requestError{http.StatusConflict, errFailed}
	}
	r := v.report
	c := &costAnswer{
		Estimated:  r.Estimate != nil,
		Total:      r.Total(),
		Parts:      []costPart{},
		Dispatches: []dispatchCost{},
		CPUCalls:   r.CPUCalls,
		EngineMACs: r.EngineMACs,
		CPUMACs:    r.CPUMACs,
	}
	if r.Estimate != nil {
		c.Margin = cost.Margin()
		for i, t := range r.Estimate.Terms {
			c.Parts = append(c.Parts, costPart{cost.Term(i).String(), t})
		}
	}
	c.Parts = append(c.Parts, costPart{"cpu", r.CPU})
	slices.SortStableFunc(c.Parts, func(a, b costPart) int { return cmp.Compare(b.Time, a.Time) })
	at := v.placesOfOps(r)
	c.Statements = statementCosts(r, at)
	c.Kinds = kindCosts(r)
	c.Causes = cpuCauses(r, at)
	for i := range r.DispatchList {
		c.Dispatches = append(c.Dispatches, dispatchOf(&r.DispatchList[i], at))
	}
	return c, nil
}

// reportsOf returns the reports of the functions of a report.
func reportsOf(r *compile.Report) []*compile.Report {
	if len(r.Functions) > 0 {
		return r.Functions
	}
	return []*compile.Report{r}
}

// placesOfOps returns the statement of each operation of a report, -1 for none: the one at its place or, without
// places, of its name.
func (v *view) placesOfOps(r *compile.Report) []int {
	type place struct {
		fn        string
		line, col int32
	}
	type name struct{ fn, name string }
	places, names := map[place]int{}, map[name]int{}
	for i := range v.statements {
		s := &v.statements[i]
		if s.Op == ir.StmtConst || s.Op == ir.StmtParam || s.Op == ir.StmtFunc {
			continue
		}
		if s.Line > 0 {
			places[place{s.Func, s.Line, s.Col}] = i
		}
		names[name{s.Func, s.Name}] = i
	}
	var out []int
	for _, f := range reportsOf(r) {
		fn, _, _ := strings.Cut(f.Function, compile.VariantMark)
		for k := range f.Ops {
			o := &f.Ops[k]
			i, ok := names[name{fn, o.Name}]
			if !ok {
				i, ok = places[place{fn, o.Line, o.Col}]
			}
			if !ok {
				i = -1
			}
			out = append(out, i)
		}
	}
	return out
}

// timeOf is what an operation takes, on the engine or on the CPU.
func timeOf(o *compile.OpReport) cost.Time {
	if o.Estimate != nil {
		return o.Estimate.Time + o.CPU
	}
	return o.CPU
}

// statementCosts adds up the operations of each statement, in the order of the statements.
func statementCosts(r *compile.Report, at []int) []opCost {
	index := map[int]int{}
	named := map[string]int{}
	for k := range r.Ops {
		if at[k] >= 0 {
			named[r.Ops[k].Name] = at[k]
		}
	}
	out := []opCost{}
	for k := range r.Ops {
		o := &r.Ops[k]
		if at[k] < 0 {
			continue
		}
		i, ok := index[at[k]]
		if !ok {
			i = len(out)
			index[at[k]] = i
			out = append(out, opCost{Statement: at[k], Step: o.Step, Rule: o.Rule, Fused: -1})
		}
		out[i].add(o)
		if lead, ok := named[o.Fused]; ok && lead != at[k] {
			out[i].Fused = lead
		}
	}
	slices.SortStableFunc(out, func(a, b opCost) int { return cmp.Compare(a.Statement, b.Statement) })
	return out
}

// add adds an operation of the statement. The reason is that of the operation that the engine refuses for a rule, not
// of one that only follows its neighbours.
func (c *opCost) add(o *compile.OpReport) {
	if !slices.Contains(c.Units, o.Unit) {
		c.Units = append(c.Units, o.Unit)
	}
	c.Time += timeOf(o)
	c.Tasks += o.Tasks
	c.MACs += o.MACs
	c.Constants += o.Weights
	if e := o.Estimate; e != nil {
		c.DMABytes += e.DMABytes
		c.terms.Add(e.Terms)
		if c.terms.Total() > 0 {
			c.Bound = c.terms.Binding().String()
		}
	}
	if o.Reason != "" && (c.Refusal == nil || c.Refusal.Verdict == target.NotWorthIt) {
		c.Reason, c.Refusal = o.Reason, o.Refusal
	}
}

// kindCosts adds up the operations by name and unit, those with most time first.
func kindCosts(r *compile.Report) []kindCost {
	type key struct{ op, unit string }
	at := map[key]int{}
	out := []kindCost{}
	for k := range r.Ops {
		o := &r.Ops[k]
		if o.Unit == ir.Transfer.String() {
			continue
		}
		i, ok := at[key{o.Op, o.Unit}]
		if !ok {
			i = len(out)
			at[key{o.Op, o.Unit}] = i
			out = append(out, kindCost{Op: o.Op, Unit: o.Unit})
		}
		out[i].Count++
		out[i].Time += timeOf(o)
		if o.Estimate != nil {
			out[i].terms.Add(o.Estimate.Terms)
			out[i].Bound = out[i].terms.Binding().String()
		}
	}
	slices.SortStableFunc(out, func(a, b kindCost) int { return cmp.Compare(b.Time, a.Time) })
	return out
}

// cpuCauses groups the operations on the CPU by verdict and rule, those with most time first.
func cpuCauses(r *compile.Report, at []int) []cpuCause {
	type key struct{ verdict, rule string }
	index := map[key]int{}
	out := []cpuCause{}
	for k := range r.Ops {
		o := &r.Ops[k]
		if o.Unit != ir.CPU.String() {
			continue
		}
		x := key{rule: o.Rule}
		if o.Refusal != nil {
			x = key{string(o.Refusal.Verdict), o.Refusal.Rule}
		}
		i, ok := index[x]
		if !ok {
			i = len(out)
			index[x] = i
			out = append(out, cpuCause{Verdict: x.verdict, Rule: x.rule, First: at[k], Why: o.Reason})
		}
		out[i].Count++
		out[i].Time += o.CPU
		if !slices.Contains(out[i].Ops, o.Op) {
			out[i].Ops = append(out[i].Ops, o.Op)
		}
	}
	slices.SortStableFunc(out, func(a, b cpuCause) int { return cmp.Compare(b.Time, a.Time) })
	return out
}

func dispatchOf(d *compile.Dispatch, at []int) dispatchCost {
	x := dispatchCost{Step: d.Step, Ops: d.Ops, Tasks: d.Tasks, Why: strings.TrimSpace(compile.Causes[d.Cause])}
	if d.Estimate != nil {
		x.Time = d.Estimate.Time
	}
	for _, k := range d.CutBy {
		if k >= 0 && k < len(at) && at[k] >= 0 && !slices.Contains(x.CutBy, at[k]) {
			x.CutBy = append(x.CutBy, at[k])
		}
	}
	return x
}
