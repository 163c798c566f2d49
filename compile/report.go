package compile

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/zinc-compiler/zinc/compile/attest"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/compile/cost/opwork"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/target"
)

// Report says where everything was placed. Its JSON form is stable: fields may be added, none change meaning.
type Report struct {
	Target     string     `json:"target"`         // generation that was compiled for, as h13
	Precision  string     `json:"precision"`      // precision of floats: declared or fp16
	Function   string     `json:"function"`       // name of the function, or names, separated by ", "
	EngineOps  int        `json:"engine_ops"`     // operations on the engine
	CPUOps     int        `json:"cpu_ops"`        // operations on the CPU
	Transfers  int        `json:"transfer_ops"`   // conversions on the way to or from the engine
	EngineMACs int64      `json:"engine_macs"`    // multiply-accumulates on the engine
	CPUMACs    int64      `json:"cpu_macs"`       // multiply-accumulates on the CPU
	Dispatches int        `json:"dispatches"`     // dispatches of one call
	CPUCalls   int        `json:"cpu_calls"`      // calls of programs for the CPU in one call
	Tasks      int        `json:"tasks"`          // tasks of the engine
	Attested   int        `json:"attested_tasks"` // tasks of a kind that recorded programs confirm (compile/attest)
	Weights    int64      `json:"weight_bytes"`   // constant section
	Padding    int64      `json:"padding_bytes"`  // of these, padding
	Scratch    int64      `json:"scratch_bytes"`  // memory for intermediate values that do not fit in L2
	Ops        []OpReport `json:"ops"`            // operations of the compiled program, in order
	// TaskBytes are the words of the tasks, and Between the bytes of tensors that pass from dispatch to dispatch, or
	// from and to the CPU; 0 in a plan.
	TaskBytes int64 `json:"-"`
	Between   int64 `json:"-"`
	// Estimate is the time of one call, or of one call of each function if the pair has several; nil in a plan, which
	// has no tasks.
	Estimate *Estimate `json:"estimate,omitempty"`
	// CPU is the estimated time of the operations on the CPU. It is much coarser than Estimate (cost.CPU) and not
	// included in any Estimate.
	CPU cost.Time `json:"cpu_us"`
	// Call is CallTime, for readers of the JSON; absent in a plan, which has no tasks.
	Call cost.Time `json:"call_us,omitempty"`
	// Band is the interval of times that a call is expected to take by the known error of Call, absent without it.
	Band *cost.Band `json:"call_band,omitempty"`
	// DispatchList has one element per dispatch, in order.
	DispatchList []Dispatch `json:"dispatch_list,omitempty"`
	// TaskList has one element per task, procedure by procedure; set only in the report of a function.
	TaskList   []TaskReport     `json:"task_list,omitempty"`
	Compressed []CompressedInfo `json:"compressed,omitempty"`      // constants that the model stores compressed
	Tables     []TableInfo      `json:"tables,omitempty"`          // lookup tables in use
	Timings    []Timing         `json:"timings_seconds,omitempty"` // times of the stages of the compilation
	// Casts are the layout conversions of one call, absent in a report of a plan, which has no chain.
	Casts  int      `json:"casts,omitempty"`
	States []string `json:"states,omitempty"` // names of the states
	// Flexible are the inputs whose shapes the model leaves open, with the shapes that the report is for.
	Flexible []FlexibleInput `json:"flexible_inputs,omitempty"`
	// Functions are the reports of the functions if the pair has several. The report itself then sums them up, with
	// their operations and steps one function after the other.
	Functions []*Report `json:"functions,omitempty"`

	uses []tableUse // what Tables is found from
}

// tableUse is a lookup table in use, and a function that finds its errors.
type tableUse struct {
	op, name string
	worst    func() weights.WorstCase
}

// FindTables sets Tables in the report and in the reports of its functions. It was called for Sink.Report, not for
// Sink.Estimate, since finding the errors of a few tables takes as long as estimating a small model.
func (r *Report) FindTables() {
	for _, f := range append(slices.Clone(r.Functions), r) {
		for _, t := range f.uses {
			w := t.worst()
			f.Tables = append(f.Tables, TableInfo{
				Op:   t.op,
				Name: t.name,
				Abs:  w.Abs,
				Rel:  w.Rel,
			})
		}
		f.uses = nil
	}
}

// Each returns the report of each function.
func (r *Report) Each() []*Report {
	if len(r.Functions) > 0 {
		return r.Functions
	}
	return []*Report{r}
}

// OpReport says where one operation was placed.
type OpReport struct {
	Op   string `json:"op"`               // name of the operation
	Name string `json:"name"`             // of its first result
	Line int32  `json:"line,omitempty"`   // line of the statement, from 1
	Col  int32  `json:"column,omitempty"` // column of the statement, from 1
	Unit string `json:"unit"`             // where it runs: engine, cpu or transfer
	// Lowering rule, also of an operation that a legality rule keeps on the CPU.
	Rule   string `json:"rule,omitempty"`
	Reason string `json:"reason,omitempty"`     // why it is on the CPU
	Fused  string `json:"fused_into,omitempty"` // first result of the operation it is fused into
	MACs   int64  `json:"macs,omitempty"`       // multiply-accumulates
	Step   int    `json:"step"`                 // index of the step of the chain that runs it
	// Type is the type of its first result.
	Type string `json:"type,omitempty"`
	// Scope is the module that the names of its weights suggest, outermost first, as in encoder/layers/0.
	Scope string `json:"scope,omitempty"`
	// Reads are the operations whose results it reads, as indices into the report's operations.
	Reads []int `json:"reads,omitempty"`
	// Tasks is the number of tasks of the operation and of all operations fused into it.
	Tasks int `json:"tasks,omitempty"`
	// Weights are the bytes of the constant section that the operation is the first to read; Padding is the part of
	// them that only fills up rows and parts.
	Weights int64 `json:"weight_bytes,omitempty"`
	Padding int64 `json:"padding_bytes,omitempty"` // part of weight_bytes that only fills up rows and parts
	// Shared are the other bytes that it reads: they count for an earlier operation that reads them too.
	Shared int64 `json:"shared_weight_bytes,omitempty"`
	// Estimate is the estimate of its tasks, nil if it has none.
	Estimate *Estimate `json:"estimate,omitempty"`
	// CPU is the estimated time on the CPU (cost.CPU), 0 on the engine.
	CPU cost.Time `json:"cpu_us,omitempty"`
	// Refusal contains the facts for Reason, nil on the engine.
	Refusal *RefusalInfo `json:"refusal,omitempty"`
}

// Time is what the operation is estimated to take where it runs.
func (o *OpReport) Time() cost.Time {
	return o.EngineTime() + o.CPU
}

// EngineTime is what its tasks are estimated to take.
func (o *OpReport) EngineTime() cost.Time {
	if o.Estimate == nil {
		return 0
	}
	return o.Estimate.Time
}

// TaskReport is one task and the evidence for its words.
type TaskReport struct {
	Procedure string    `json:"procedure"`          // procedure of the task
	Task      int       `json:"task"`               // index in the procedure's chain
	Dispatch  int       `json:"dispatch"`           // index into Report.DispatchList
	Op        string    `json:"op"`                 // first result of the operation it works for
	OpIndex   int       `json:"op_index"`           // of that operation in Report.Ops
	Rule      string    `json:"rule"`               // lowering rule
	Kind      string    `json:"kind"`               // what it computes, without sizes (compile/attest)
	Attested  bool      `json:"attested"`           // recorded programs have tasks of the kind
	Estimate  *Estimate `json:"estimate,omitempty"` // time of the task
	// Alone has the time of each term alone; Estimate.Time is the longest of them.
	Alone cost.Split `json:"alone_us"`
	// Part is the part of a call whose band the task has.
	Part cost.Part `json:"-"`
	// Cases are the recorded programs that contain tasks of the kind, with the words that zinc writes.
	Cases []string `json:"cases,omitempty"`
}

// RefusalInfo is why an operation is on the CPU, as facts.
type RefusalInfo struct {
	Rule    string `json:"rule"`              // the legality rule: ID of a row of target.Rules
	What    string `json:"what"`              // property of the operation that the rule limits
	Value   string `json:"value"`             // its value
	Limit   string `json:"limit"`             // what is allowed
	Rewrite string `json:"rewrite,omitempty"` // what to write instead
	State   string `json:"state,omitempty"`   // that breaks the rule
	// Verdict says whether the hardware cannot do it, zinc cannot do it yet, or it is not worth it. Source says where a
	// limit of the hardware is known from.
	Verdict target.Verdict `json:"verdict"`
	Source  string         `json:"source,omitempty"` // where a limit of the hardware is known from
	// Native says what the target's hardware does with the operation, "" if no published table lists it.
	Native string `json:"native,omitempty"`
}

// Phrase returns the verdict and its subject: the source of a limit, or what the hardware does with the operation.
func (i *RefusalInfo) Phrase() string {
	switch {
	case i.Source != "":
		return string(i.Verdict) + ": " + i.Source
	case i.Native != "" && i.Verdict == target.ZincCannotYet:
		return string(i.Verdict) + ": the hardware's verdict is " + i.Native
	}
	return string(i.Verdict)
}

// TableInfo is a lookup table in use and its largest errors.
type TableInfo struct {
	Op   string  `json:"op"`             // operation that the table computes
	Name string  `json:"name"`           // name of the table
	Abs  float64 `json:"worst_absolute"` // largest absolute error
	Rel  float64 `json:"worst_relative"` // largest relative error
}

// Timing is the time that one stage took.
type Timing struct {
	Stage   string  `json:"stage"`   // stage or pass
	Seconds float64 `json:"seconds"` // wall time
}

func (r *Report) time(stage string, start time.Time) {
	r.Timings = append(r.Timings, Timing{stage, time.Since(start).Seconds()})
}

// report makes the report and passes it on. desc is nil without tasks.
func (d *driver) report(desc *e5.Program) error {
	s := &d.sink
	if s.Plan == nil && s.Estimate == nil && s.Sums == nil && s.Report == nil && s.Function == nil {
		return nil
	}
	var fs []*Report
	for i, u := range d.units {
		var f *e5.Function
		if desc != nil {
			f = &desc.Functions[i]
		}
		d.account(u, f)
		fs = append(fs, u.rep)
	}
	if desc != nil && !d.sums() {
		d.weigh()
	}
	if d.to < whole {
		r := sum(fs)
		return errors.Join(give(s.Plan, r), give(s.Estimate, r))
	}
	for _, u := range d.units {
		f := u.function()
		f.Report, f.Procedures = u.rep, u.procs
		if err := give(s.Function, f); err != nil {
			return err
		}
	}
	r := sum(fs)
	if s.Report != nil {
		r.FindTables()
	}
	return errors.Join(give(s.Sums, r), give(s.Report, r))
}

// sums reports whether only the sums of the report are wanted.
func (d *driver) sums() bool { return d.to == whole && d.sink.Report == nil }

// account counts what the steps contain, and the casts of the chain f, which may be nil. Tasks and scratch are counted
// when the steps are lowered.
func (d *driver) account(u *unit, f *e5.Function) {
	r := u.rep
	r.Function = u.name
	if f != nil {
		for i := range f.Operands {
			if o := &f.Operands[i]; o.Aperture == e5.Intermediate {
				r.Between += int64(o.Port.ByteSize)
			}
		}
		for _, b := range f.Blocks {
			for i := range b.Operations {
				if b.Operations[i].Type == e5.Cast {
					r.Casts++
				}
			}
		}
	}
	for _, st := range u.state.States {
		r.States = append(r.States, st.Name)
	}
	index := map[*ir.Op]int{}
	var ops []*ir.Op
	types := map[string]string{} // one string for each type
	if !d.sums() {
		n := u.operations()
		r.Ops, ops = make([]OpReport, 0, n), make([]*ir.Op, 0, n)
	}
	for i, st := range u.state.Partitions {
		switch st.Unit {
		case ir.Engine:
			r.Dispatches++
		case ir.CPU:
			r.CPUCalls++
		}
		for _, op := range st.Ops {
			r.count(op)
			if d.sums() && op.Place.Unit != ir.CPU {
				continue
			}
			index[op] = len(r.Ops)
			o := d.opReport(u, op, i)
			if same, ok := types[o.Type]; ok {
				o.Type = same
			} else {
				types[o.Type] = o.Type
			}
			r.Ops = append(r.Ops, o)
			ops = append(ops, op)
		}
	}
	if !d.sums() {
		for lead, es := range u.state.Fused {
			for _, e := range es {
				r.Ops[index[e]].Fused = lead.Results[0].Name
			}
		}
		r.connect(ops, index)
		u.dispatches(index)
		u.compressed()
		u.estimate(index, f)
		u.attest(index, d.o.Target.TD)
	}
	for _, p := range u.procs {
		for _, t := range p.Tables {
			r.uses = append(r.uses, tableUse{t.Op.Def.Name, t.Op.Results[0].Name, t.Worst})
		}
	}
	r.Weights = d.sec.Size()
	r.setCall()
}

// setCall sets Call and its band where there are estimates.
func (r *Report) setCall() {
	if r.Estimate != nil {
		r.Call, r.Band = r.CallTime(), r.band()
	}
}

// count adds an operation to the sums.
func (r *Report) count(op *ir.Op) {
	macs := opwork.MACs(op)
	switch op.Place.Unit {
	case ir.Engine:
		r.EngineOps++
		r.EngineMACs += macs
	case ir.CPU:
		r.CPUOps++
		r.CPU += opwork.CPU(op)
		r.CPUMACs += macs
	case ir.Transfer:
		r.Transfers++
	}
}

// opReport returns what is known of an operation of a step alone.
func (d *driver) opReport(u *unit, op *ir.Op, step int) OpReport {
	o := OpReport{
		Op:     op.Def.Name,
		Unit:   op.Place.Unit.String(),
		Rule:   op.Place.Rule,
		Reason: op.Place.Reason,
		Line:   op.Pos.Line,
		Col:    op.Pos.Col,
		Step:   step,
		MACs:   opwork.MACs(op),
	}
	if len(op.Results) > 0 {
		o.Name, o.Type = op.Results[0].Name, op.Results[0].Type.String()
	}
	if op.Place.Unit != ir.CPU {
		return o
	}
	o.CPU = opwork.CPU(op)
	if no := u.state.Refusals[op]; no != nil {
		o.Refusal = &RefusalInfo{
			Rule:    no.Rule,
			What:    no.What,
			Value:   no.Have,
			Limit:   no.Limit,
			Rewrite: no.Hint(),
			State:   no.State,
			Native:  op.Def.Native[d.o.Target.Family.Generation()].String(),
		}
		o.Refusal.Verdict, o.Refusal.Source = no.Verdict()
	}
	return o
}

// connect fills in what the operations read and their scopes. ops are elements of r.Ops, and index has their places in
// it.
func (r *Report) connect(ops []*ir.Op, index map[*ir.Op]int) {
	for i, scope := range scopes(ops) {
		o := &r.Ops[i]
		o.Scope = scope
		ops[i].Reads(func(v *ir.Value) {
			if at, ok := index[v.Def]; ok && !slices.Contains(o.Reads, at) {
				o.Reads = append(o.Reads, at)
			}
		})
	}
}

// attest lists the tasks with their estimates and the evidence for them, in a version of descriptors; index maps an
// operation to its index in Report.Ops.
func (u *unit) attest(index map[*ir.Op]int, version int) {
	if u.procs == nil {
		return // a plan
	}
	r := u.rep
	n := 0
	for _, p := range u.procs {
		n += len(p.Infos)
	}
	r.TaskList = make([]TaskReport, 0, n)
	u.eachTask(index, func(op, dispatch, i int, a *assessment) {
		p := u.procs[dispatch]
		x := TaskReport{
			Estimate:  r.Ops[op].Estimate,
			Alone:     a.cost.Alone,
			Procedure: p.Name,
			Task:      i,
			Dispatch:  dispatch,
			OpIndex:   op,
			Rule:      p.Infos[i].Rule,
			Kind:      a.kind,
			Part:      u.partOf(op, &a.cost),
		}
		if o := p.Infos[i].Op; o != nil && len(o.Results) > 0 {
			x.Op = o.Results[0].Name
		}
		if r.Ops[op].Tasks > 1 {
			x.Estimate = new(Estimate)
			x.Estimate.add(a.cost)
		}
		if x.Cases = attest.Cases(version, x.Kind); x.Cases != nil {
			x.Attested = true
			r.Attested++
		}
		r.TaskList = append(r.TaskList, x)
	})
}

// sum returns the report of a pair: the report of its only function, or the sum of all.
func sum(fs []*Report) *Report {
	if len(fs) == 1 {
		return fs[0]
	}
	f := fs[0]
	r := &Report{Target: f.Target, Precision: f.Precision, Weights: f.Weights, Padding: f.Padding}
	step := 0
	for i, o := range fs {
		if i > 0 {
			r.Function += ", "
		}
		r.Function += o.Function
		first, next := len(r.Ops), step
		for _, x := range o.Ops {
			next = max(next, step+x.Step+1)
			x.Step += step
			x.Reads = slices.Clone(x.Reads)
			for k := range x.Reads {
				x.Reads[k] += first
			}
			r.Ops = append(r.Ops, x)
		}
		for _, x := range o.DispatchList {
			x.Step += step
			x.CutBy = slices.Clone(x.CutBy)
			for k := range x.CutBy {
				x.CutBy[k] += first
			}
			r.DispatchList = append(r.DispatchList, x)
		}
		step = next
		r.Compressed = append(r.Compressed, o.Compressed...)
		r.Flexible = append(r.Flexible, o.Flexible...)
		r.uses = append(r.uses, o.uses...)
		r.Functions = append(r.Functions, o)
		r.EngineOps += o.EngineOps
		r.CPUOps += o.CPUOps
		r.Transfers += o.Transfers
		r.EngineMACs += o.EngineMACs
		r.CPUMACs += o.CPUMACs
		r.CPU += o.CPU
		r.Dispatches += o.Dispatches
		r.CPUCalls += o.CPUCalls
		r.Tasks += o.Tasks
		r.Attested += o.Attested
		r.Casts += o.Casts
		r.Scratch = max(r.Scratch, o.Scratch)
		r.Timings = append(r.Timings, o.Timings...)
		if o.Estimate != nil {
			if r.Estimate == nil {
				r.Estimate = o.Estimate.copy()
			} else {
				r.Estimate.merge(o.Estimate)
			}
		}
	}
	r.setCall()
	return r
}

// maxListed is the number of functions that Line describes.
const maxListed = 4

// Line returns the placement in one line.
func (r *Report) Line() string {
	if n := len(r.Functions); n > 0 {
		lines := []string{fmt.Sprintf("%d functions", n)}
		for _, f := range r.Functions[:min(n, maxListed)] {
			lines = append(lines, f.Line())
		}
		if n > maxListed {
			lines = append(lines, fmt.Sprintf("and %d more", n-maxListed))
		}
		return strings.Join(lines, "; ")
	}
	ops := r.EngineOps + r.CPUOps
	s := fmt.Sprintf("%s: %d of %d operations", r.Function, r.EngineOps, ops)
	if total := r.EngineMACs + r.CPUMACs; total > 0 {
		s += fmt.Sprintf(" and %.4g %% of multiply-accumulates", 100*float64(r.EngineMACs)/float64(total))
	}
	s += fmt.Sprintf(" on the engine, %s, %s", diag.Count(r.Dispatches, "dispatch", "dispatches"),
		diag.Count(r.Tasks, "task", "tasks"))
	if r.CPUOps == 0 {
		return s
	}
	seen := map[string]int{}
	var order []string
	for _, o := range r.Ops {
		if o.Unit == ir.CPU.String() {
			if seen[o.Op]++; seen[o.Op] == 1 {
				order = append(order, o.Op)
			}
		}
	}
	s += "; on the CPU:"
	for i, n := range order {
		if i == 8 {
			return s + " and " + diag.Count(len(order)-i, "other kind", "other kinds")
		}
		if i > 0 {
			s += ","
		}
		s += " " + n
		if seen[n] > 1 {
			s += fmt.Sprintf(" x%d", seen[n])
		}
	}
	return s
}

// Text returns the report as text.
func (r *Report) Text(w io.Writer) error {
	for i, f := range r.Functions {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := f.Text(w); err != nil {
			return err
		}
	}
	if len(r.Functions) > 0 {
		return nil
	}
	fmt.Fprintf(w, "target %s, precision %s, function %s\n", r.Target, r.Precision, r.Function)
	fmt.Fprintf(w, "operations: %d on the engine, %d on the CPU, %s between\n", r.EngineOps, r.CPUOps,
		diag.Count(r.Transfers, "conversion", "conversions"))
	fmt.Fprintf(w, "multiply-accumulates: %d on the engine, %d on the CPU\n", r.EngineMACs, r.CPUMACs)
	fmt.Fprintf(w, "%s, %s, %s, %d bytes of constants, %d bytes of scratch, %s\n",
		diag.Count(r.Dispatches, "dispatch", "dispatches"), diag.Count(r.CPUCalls, "CPU call", "CPU calls"),
		diag.Count(r.Tasks, "task", "tasks"), r.Weights, r.Scratch,
		diag.Count(r.Casts, "layout conversion", "layout conversions"))
	if len(r.States) > 0 {
		fmt.Fprintf(w, "states: %s\n", strings.Join(r.States, ", "))
	}
	if r.Estimate != nil {
		fmt.Fprintf(w, "estimate: %s a call, %s of it on the CPU, by rates of all its work (docs/cost.md)\n",
			r.CallTime().Short(), r.CPU.Short())
		r.Estimate.text(w)
	}
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "step\tunit\toperation\tresult\tline\ttasks\ttime\tbinding\trule\tverdict\twhy")
	for _, o := range r.Ops {
		why := o.Reason
		if o.Fused != "" {
			why = "fused into " + o.Fused
		}
		tasks, took, bound, verdict := "", "", "", ""
		if t := o.Time(); t > 0 {
			took = t.Short()
		}
		if o.Refusal != nil {
			verdict = string(o.Refusal.Verdict)
		}
		if e := o.Estimate; e != nil {
			tasks, bound = strconv.Itoa(o.Tasks), e.Bound
		}
		fmt.Fprintf(tw, "%d\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", o.Step, o.Unit, o.Op, o.Name, o.Line, tasks,
			took, bound, o.Rule, verdict, why)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if r.Tasks > 0 {
		if err := r.attestation(w); err != nil {
			return err
		}
	}
	for _, c := range r.Compressed {
		fmt.Fprintf(w, "constant %s, line %d: %s, %d bytes stored, %d streamed; %s\n", c.Name, c.Line, c.Form, c.Stored,
			c.Streamed, c.Why)
	}
	return r.tables(w)
}

// tables prints the error of each kind of table once.
func (r *Report) tables(w io.Writer) error {
	type kind struct {
		op       string
		abs, rel float64
	}
	uses := map[kind][]string{}
	var order []kind
	for _, t := range r.Tables {
		k := kind{t.Op, t.Abs, t.Rel}
		if uses[k] = append(uses[k], t.Name); len(uses[k]) == 1 {
			order = append(order, k)
		}
	}
	for _, k := range order {
		more := ""
		if n := len(uses[k]) - 1; n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		if _, err := fmt.Fprintf(w, "table %s for %s%s: worst error of the table %.3g absolute, %.3g relative\n", k.op,
			uses[k][0], more, k.abs, k.rel); err != nil {
			return err
		}
	}
	return nil
}

// attestation prints how many tasks of each rule are confirmed by recorded programs.
func (r *Report) attestation(w io.Writer) error {
	type count struct {
		rule            string
		tasks, attested int
	}
	var counts []*count
	for _, t := range r.TaskList {
		i := slices.IndexFunc(counts, func(c *count) bool { return c.rule == t.Rule })
		if i < 0 {
			i = len(counts)
			counts = append(counts, &count{rule: t.Rule})
		}
		counts[i].tasks++
		if t.Attested {
			counts[i].attested++
		}
	}
	fmt.Fprintf(w, "attested by recorded programs: %d of %d tasks", r.Attested, r.Tasks)
	sep := "; "
	for _, c := range counts {
		fmt.Fprintf(w, "%s%s %d of %d", sep, c.rule, c.attested, c.tasks)
		sep = ", "
	}
	_, err := fmt.Fprintln(w)
	return err
}
