package explore

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/inspect/report"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// costAnswer says what a call is estimated to take and where the time goes: the answer to GET cost.
type costAnswer struct {
	// Estimated is set if zinc estimates the engine's work for the target; otherwise only places and reasons are known.
	Estimated bool      `json:"estimated"`
	Total     cost.Time `json:"us"`
	Range     string    `json:"range,omitempty"` // times that the estimate's known error allows, in words
	Error     string    `json:"error,omitempty"` // of the estimate, in one line
	// Parts split the total: the terms of package cost, and "cpu".
	Parts []costPart `json:"parts"`
	// Weights are what the model stores compressed, and the rest.
	Weights    []report.Weighed `json:"weights,omitempty"`
	Kinds      []report.Kind    `json:"kinds"`
	Causes     []cpuCause       `json:"causes"`
	Statements []opCost         `json:"statements"` // those with operations in the compiled program
	Dispatches []dispatchCost   `json:"dispatches"`
	CPUCalls   int              `json:"cpu_calls"`
	EngineMACs int64            `json:"engine_macs"`
	CPUMACs    int64            `json:"cpu_macs"`
}

// costPart is a part of the time of a call.
type costPart struct {
	Name string    `json:"name"`
	Time cost.Time `json:"us"`
}

// cpuCause is the operations that one rule keeps on the CPU.
type cpuCause struct {
	Verdict string    `json:"verdict,omitempty"`
	Rule    string    `json:"rule,omitempty"`
	Ops     []string  `json:"ops"` // names of the operations, the most frequent first
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
	return costOf(v.report, v.statements), nil
}

// drawingView answers with what the charts of a view show.
func drawingView(_ *Server, v *view, _ *http.Request) (any, error) {
	if v.report == nil {
		return nil, &requestError{http.StatusConflict, errFailed}
	}
	return report.Drawn(v.report), nil
}

// costOf returns the estimate of a report by the statements of its source.
func costOf(r *compile.Report, statements []statement) *costAnswer {
	c := &costAnswer{
		Estimated:  r.Estimate != nil,
		Total:      r.CallTime(),
		Parts:      []costPart{},
		Weights:    report.Weigh(r),
		Dispatches: []dispatchCost{},
		CPUCalls:   r.CPUCalls,
		EngineMACs: r.EngineMACs,
		CPUMACs:    r.CPUMACs,
	}
	if r.Estimate != nil {
		c.Error = cost.Error(r.Target)
		if r.Band != nil {
			c.Range = r.Band.Range(c.Total)
		}
		for i, t := range r.Estimate.Terms {
			c.Parts = append(c.Parts, costPart{cost.Term(i).String(), t})
		}
	}
	c.Parts = append(c.Parts, costPart{"cpu", r.CPU})
	slices.SortStableFunc(c.Parts, func(a, b costPart) int { return cmp.Compare(b.Time, a.Time) })
	at := placesOfOps(r, statements)
	c.Statements = statementCosts(r, at)
	c.Kinds = report.Kinds(r)
	c.Causes = cpuCauses(r, at)
	for i := range r.DispatchList {
		c.Dispatches = append(c.Dispatches, dispatchOf(&r.DispatchList[i], at))
	}
	return c
}

// placesOfOps returns the statement of each operation of a report, -1 for none: the one at its place or, without
// places, of its name.
func placesOfOps(r *compile.Report, statements []statement) []int {
	type place struct {
		fn        string
		line, col int32
	}
	type name struct{ fn, name string }
	places, names := make(map[place]int, len(statements)), make(map[name]int, len(statements))
	for i := range statements {
		s := &statements[i]
		if s.Op == ir.StmtConst || s.Op == ir.StmtParam || s.Op == ir.StmtFunc {
			continue
		}
		if s.Line > 0 {
			places[place{s.Func, s.Line, s.Col}] = i
		}
		names[name{s.Func, s.Name}] = i
	}
	var out []int
	for _, f := range r.Each() {
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

// add adds an operation of the statement. The reason comes from the operation that the engine refuses for a rule, not
// of one that only follows its neighbours.
func (c *opCost) add(o *compile.OpReport) {
	if !slices.Contains(c.Units, o.Unit) {
		c.Units = append(c.Units, o.Unit)
	}
	c.Time += o.Time()
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

// cpuCauses are the causes of the operations on the CPU, with their first statements.
func cpuCauses(r *compile.Report, at []int) []cpuCause {
	statement := map[*compile.OpReport]int{}
	for k := range r.Ops {
		statement[&r.Ops[k]] = at[k]
	}
	out := []cpuCause{}
	for _, g := range report.Causes(r) {
		names, _ := g.Names()
		out = append(out, cpuCause{
			Verdict: g.Verdict, Rule: g.Rule, Ops: names, Count: len(g.Ops), Time: g.Time,
			First: statement[g.First()], Why: g.First().Reason,
		})
	}
	return out
}

func dispatchOf(d *compile.Dispatch, at []int) dispatchCost {
	x := dispatchCost{Step: d.Step, Ops: d.Ops, Tasks: d.Tasks, Why: strings.TrimSpace(d.Why())}
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
