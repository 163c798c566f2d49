package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/ir"
)

// finding is a value of a report and its contributors.
type finding struct {
	function string // "" for a value of all functions together
	value    float64
	band     *cost.Band // of a time of a call
	by       []Contributor
}

// shown is the number of contributors that a violation lists.
const shown = 3

// Judge compares a report with limits, which are keyed by budget ID. base is the report of the model that budgets with
// a growth compare with; it may be nil if none of them is set.
func Judge(r, base *compile.Report, limits map[string]float64) []Violation {
	var out []Violation
	for i := range Budgets {
		b := &Budgets[i]
		limit, set := limits[b.ID]
		if !set || b.Runs {
			continue
		}
		var before []finding
		if b.Growth != Absolute {
			before = b.find(base)
		}
		found := b.find(r)
		for _, f := range found {
			v := Violation{Budget: b.ID, Target: r.Target, Value: Number(f.value), Limit: limit, Unit: b.Unit}
			v.Band = f.band
			if len(r.Functions) > 0 {
				v.Function = f.function
			}
			judged := f.value
			if b.Growth != Absolute {
				i := slices.IndexFunc(before, func(x finding) bool {
					return x.function == f.function || len(before)+len(found) == 2
				})
				if i < 0 {
					continue // Unmatched names it
				}
				judged = b.grows(before[i].value, f.value)
				base, growth := Number(before[i].value), Number(judged)
				v.Base, v.Growth = &base, &growth
				f.by = grown(f.by, before[i].by)
			}
			if judged == limit || judged < limit != b.Least {
				continue
			}
			slices.SortStableFunc(f.by, func(x, y Contributor) int { return cmp.Compare(y.Value, x.Value) })
			v.Contributors = f.by[:min(shown, len(f.by))]
			out = append(out, v)
		}
	}
	return out
}

// grows returns how much a value exceeds the base's, as the budget counts it.
func (b *Budget) grows(base, value float64) float64 {
	switch {
	case b.Growth == Difference || value <= base && base == 0:
		return value - base
	case base == 0:
		return math.Inf(1)
	}
	return 100 * (value - base) / base
}

// grown returns what each contributor exceeds the base's of its name by, if it does. Operations that passes write have
// names with numbers, which another change shifts, so those of one kind are compared together.
func grown(by, before []Contributor) []Contributor {
	key := func(c *Contributor) string {
		if strings.HasPrefix(c.Name, "%") {
			return c.What
		}
		return cmp.Or(c.Name, c.What)
	}
	was := map[string]Number{}
	for i := range before {
		was[key(&before[i])] += before[i].Value
	}
	var all []Contributor
	at := map[string]int{}
	for _, c := range by {
		k := key(&c)
		if i, seen := at[k]; seen {
			all[i] = Contributor{What: c.What, Value: all[i].Value + c.Value}
			continue
		}
		at[k] = len(all)
		c.Value -= was[k]
		all = append(all, c)
	}
	return slices.DeleteFunc(all, func(c Contributor) bool { return c.Value <= 0 })
}

// Unmatched returns the functions of r that base does not have. Budgets with a growth do not judge them.
func Unmatched(r, base *compile.Report) []string {
	if len(r.Functions)+len(base.Functions) == 0 {
		return nil // one function each, whatever their names
	}
	var out []string
	for _, f := range r.Each() {
		if !slices.ContainsFunc(base.Each(), func(b *compile.Report) bool { return b.Function == f.Function }) {
			out = append(out, f.Function)
		}
	}
	return out
}

// OutputError is the largest error of an output in a run; NaN counts as infinite.
type OutputError struct {
	Name  string
	Error float64
}

// JudgeOutputs compares the errors of outputs with the limit of MaxError, if set.
func JudgeOutputs(target string, outputs []OutputError, limits map[string]float64) []Violation {
	limit, set := limits[MaxError]
	if !set || len(outputs) == 0 {
		return nil
	}
	by := slices.Clone(outputs)
	for i := range by {
		if math.IsNaN(by[i].Error) {
			by[i].Error = math.Inf(1)
		}
	}
	slices.SortStableFunc(by, func(a, b OutputError) int { return cmp.Compare(b.Error, a.Error) })
	if by[0].Error <= limit {
		return nil
	}
	v := Violation{Budget: MaxError, Target: target, Value: Number(by[0].Error), Limit: limit}
	v.Unit = budgetOf(MaxError).Unit
	for _, o := range by[:min(shown, len(by))] {
		v.Contributors = append(v.Contributors, Contributor{What: "output", Name: o.Name, Value: Number(o.Error)})
	}
	return []Violation{v}
}

func contributor(o *compile.OpReport, value float64) Contributor {
	return Contributor{What: o.Op, Name: o.Name, Line: int(o.Line), Col: int(o.Col), Value: Number(value)}
}

// fullProcedure maps the cause of a dispatch to what the previous procedure was full of.
var fullProcedure = []struct{ cause, what string }{
	{compile.CauseRegisters, "the tensors of one procedure"},
	{compile.CauseTasks, "the tasks of one procedure"},
}

// findDispatches attributes each dispatch to the operation that ends the previous one.
func findDispatches(r *compile.Report) []finding {
	var out []finding
	for _, f := range r.Each() {
		x := finding{function: f.Function, value: float64(f.Dispatches)}
		at := map[int]int{}
		full := map[string]int{} // by cause, dispatches that begin because a procedure was full
		for _, d := range f.DispatchList {
			switch {
			case len(d.CutBy) > 0:
				op := d.CutBy[0]
				i, ok := at[op]
				if !ok {
					i = len(x.by)
					at[op] = i
					x.by = append(x.by, contributor(&f.Ops[op], 0))
				}
				x.by[i].Value++
			case d.Cause != compile.CauseFirst:
				full[d.Cause]++
			}
		}
		for _, c := range fullProcedure {
			if n := full[c.cause]; n > 0 {
				x.by = append(x.by, Contributor{What: c.what, Value: Number(n)})
			}
		}
		out = append(out, x)
	}
	return out
}

func findWeights(r *compile.Report) []finding {
	x := finding{value: float64(r.Weights)}
	for _, f := range r.Each() {
		for i := range f.Ops {
			if n := f.Ops[i].Weights; n > 0 {
				x.by = append(x.by, contributor(&f.Ops[i], float64(n)))
			}
		}
	}
	return []finding{x}
}

// findCall attributes the time of a call to dispatches, copies and operations, wherever they run.
func findCall(r *compile.Report) []finding {
	found := findTime(r, (*compile.Report).CallTime, (*compile.OpReport).Time)
	for i, f := range r.Each() {
		found[i].band = f.Band
	}
	return found
}

// findEngine attributes the engine's part of a call.
func findEngine(r *compile.Report) []finding {
	return findTime(r, func(f *compile.Report) cost.Time { return estimate(f).Time }, (*compile.OpReport).EngineTime)
}

func findTime(r *compile.Report, total func(*compile.Report) cost.Time,
	part func(*compile.OpReport) cost.Time) []finding {
	var out []finding
	for _, f := range r.Each() {
		x := finding{function: f.Function, value: inMicros(total(f))}
		add := func(c Contributor, t cost.Time) {
			if c.Value = Number(inMicros(t)); t > 0 {
				x.by = append(x.by, c)
			}
		}
		add(Contributor{What: "dispatch"}, estimate(f).Terms[cost.Dispatch])
		add(Contributor{What: "inputs and outputs"}, estimate(f).Terms[cost.Hand])
		for i := range f.Ops {
			add(contributor(&f.Ops[i], 0), part(&f.Ops[i]))
		}
		out = append(out, x)
	}
	return out
}

// findOps counts the operations on the CPU by name.
func findOps(r *compile.Report) []finding {
	x := finding{value: Percent(int64(r.EngineOps), int64(r.CPUOps))}
	for _, ops := range groupOps(r, func(o *compile.OpReport) (string, bool) {
		return o.Op, o.Unit == ir.CPU.String()
	}) {
		c := contributor(ops[0], float64(len(ops)))
		if len(ops) > 1 {
			c.Name = ""
		}
		x.by = append(x.by, c)
	}
	return []finding{x}
}

// findMACs attributes to each operation the multiply-accumulates that are not on the engine.
func findMACs(r *compile.Report) []finding {
	x := finding{value: Percent(r.EngineMACs, r.CPUMACs)}
	for i := range r.Ops {
		if o := &r.Ops[i]; o.Unit == ir.CPU.String() && o.MACs > 0 {
			x.by = append(x.by, contributor(o, float64(o.MACs)))
		}
	}
	return []finding{x}
}
