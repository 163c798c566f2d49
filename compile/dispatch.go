package compile

import (
	"slices"

	"github.com/zinc-compiler/zinc/compile/cost/opwork"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// Causes of a dispatch.
const (
	CauseFirst     = "first"     // the engine's work begins
	CauseCPU       = "cpu"       // operations on the CPU are between it and the previous dispatch
	CauseRegisters = "registers" // the previous procedure has as many tensors as there are registers
	CauseTasks     = "tasks"     // the previous procedure has about as many tasks as fit in a chain
)

// Causes says in words why a dispatch begins, by cause (Dispatch.Why).
var Causes = map[string]string{
	CauseFirst:     "the engine's work begins",
	CauseCPU:       "cut by ",
	CauseRegisters: "cut: the tensors of one procedure are used up",
	CauseTasks:     "cut: the tasks of one procedure are used up",
}

// causeOfCut maps the limit that ended a step to the cause of the next dispatch.
var causeOfCut = map[passes.Cut]string{passes.CutRegisters: CauseRegisters, passes.CutTasks: CauseTasks}

// Dispatch is one engine step and the reason why it is not part of the previous one.
type Dispatch struct {
	Step    int    `json:"step"`            // index of the step of the chain
	Ops     int    `json:"ops"`             // operations of the dispatch
	MACs    int64  `json:"macs"`            // multiply-accumulates of the dispatch
	Inputs  int    `json:"inputs"`          // tensors that it reads
	Outputs int    `json:"outputs"`         // tensors that it writes
	Tasks   int    `json:"tasks,omitempty"` // tasks of the dispatch
	Cause   string `json:"cause"`           // why it is a dispatch of its own
	// Chained is set if the firmware runs it after the previous dispatch, without the host.
	Chained bool `json:"chained,omitempty"`
	// CutBy are the operations on the CPU that the partition waits for and that themselves wait for the engine, as
	// indices into Report.Ops. The first is the most relevant: the others may only convert or move data for it.
	CutBy []int `json:"cut_by,omitempty"`
	// Estimate is the estimate of the tasks and of the dispatch itself, nil in a plan.
	Estimate *Estimate `json:"estimate,omitempty"`
}

// Why says why the dispatch begins. The text for CauseCPU is followed by what the dispatch waits for.
func (d *Dispatch) Why() string {
	if d.Chained {
		return Causes[d.Cause] + "; the firmware runs it after the previous one, without the host"
	}
	return Causes[d.Cause]
}

// dispatches fills in the report's dispatches; index maps an operation to its index in Report.Ops.
func (u *unit) dispatches(index map[*ir.Op]int) {
	steps := u.state.Partitions
	fromEngine := map[*ir.Op]bool{} // depends on an engine operation
	last := -1
	for i, st := range steps {
		for _, op := range st.Ops {
			on := st.Unit == ir.Engine
			op.Reads(func(v *ir.Value) { on = on || v.Def != nil && fromEngine[v.Def] })
			fromEngine[op] = on
		}
		if st.Unit != ir.Engine {
			continue
		}
		x := Dispatch{Step: i, Ops: len(st.Ops), Inputs: len(st.Inputs), Outputs: len(st.Outputs), Cause: CauseFirst}
		for _, op := range st.Ops {
			x.MACs += opwork.MACs(op)
		}
		switch {
		case last < 0:
		case st.Cut != passes.NoCut:
			x.Cause = causeOfCut[st.Cut]
		default:
			x.Cause = CauseCPU
			for _, op := range u.between(steps[last+1:i], st, fromEngine) {
				x.CutBy = append(x.CutBy, index[op])
			}
		}
		u.rep.DispatchList = append(u.rep.DispatchList, x)
		last = i
	}
}

// between returns the operations of the given partitions, none of them on the engine, that an engine one waits for:
// those on the CPU that wait for the engine themselves; if there are none, all on the CPU; and if none is on the CPU or
// produces what the partition reads, all of them.
func (u *unit) between(steps []*passes.Partition, to *passes.Partition, fromEngine map[*ir.Op]bool) []*ir.Op {
	need := map[*ir.Value]bool{}
	for _, v := range to.Inputs {
		need[v] = true
	}
	var all []*ir.Op
	for i := len(steps) - 1; i >= 0; i-- {
		ops := steps[i].Ops
		for j := len(ops) - 1; j >= 0; j-- {
			op := ops[j]
			if !slices.ContainsFunc(op.Results, func(v *ir.Value) bool { return need[v] }) {
				continue
			}
			op.Reads(func(v *ir.Value) { need[v] = true })
			if steps[i].Unit == ir.CPU {
				all = append(all, op)
			}
		}
	}
	slices.Reverse(all)
	if len(all) == 0 {
		for _, st := range steps {
			all = append(all, st.Ops...)
		}
	}
	if on := slices.DeleteFunc(slices.Clone(all), func(op *ir.Op) bool { return !fromEngine[op] }); len(on) > 0 {
		all = on
	}
	// Operations that are on the CPU only because of others come last.
	slices.SortStableFunc(all, func(a, b *ir.Op) int { return u.follows(a) - u.follows(b) })
	return all
}

// follows returns 1 for an operation that is on the CPU only because its neighbours are: the engine would accept it.
func (u *unit) follows(op *ir.Op) int {
	if no := u.state.Refusals[op]; no != nil {
		if v, _ := no.Verdict(); v == target.NotWorthIt {
			return 1
		}
	}
	return 0
}
