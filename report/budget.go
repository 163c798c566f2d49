package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/cost"
	"github.com/zinc-compiler/zinc/ir"
)

// Budget names one limit that a build may set.
type Budget struct {
	ID    string // as the flag without its dashes
	Doc   string // of the flag
	Unit  string
	One   string  // unit of a single one, "" for Unit
	Whole bool    // the value is a whole number
	Most  float64 // largest value that makes sense, 0 for any
	Least bool    // the value is the least allowed, not the most
	// Tasks reports that the value requires a compilation, not only a plan.
	Tasks bool
	// Runs reports that the value comes from a run of the pair, not from a report.
	Runs bool
	// judge returns the findings of the report, for each function or for all together.
	judge func(r *compile.Report) []finding
}

// finding is a value of a report and its contributors, the largest first.
type finding struct {
	function string
	value    float64
	by       []Contributor
}

// Budgets are the limits that can be set for a report.
var Budgets = []Budget{
	{ID: "max-dispatches", Doc: "fail when one call of a function takes more than `N` dispatches", Unit: "dispatches",
		One: "dispatch", Whole: true, judge: judgeDispatches},
	{ID: "max-weight-bytes", Doc: "fail when the constants for the engine take more than `N` bytes",
		Unit: "bytes of constants", Whole: true, Tasks: true, judge: judgeWeights},
	{ID: "max-estimate-us", Doc: "fail when one call of a function is estimated to take the engine longer than " +
		"`US` microseconds, dispatches included", Unit: "us estimated", Tasks: true, judge: judgeTime},
	{ID: MinEngineMACs, Doc: "fail when less than this `PERCENT` of multiply-accumulates runs on the engine",
		Unit: "% of multiply-accumulates run on the engine", Most: 100, Least: true, judge: judgeMACs},
	{ID: MaxError, Doc: "run the pair, as zinc verify does, and fail when any output is more than `E` from the " +
		"reference, in the output's own unit", Unit: "largest error of an output", Tasks: true, Runs: true},
}

// Budgets that other code refers to by ID. MaxError, the error of an output, comes from
// a run: JudgeOutputs checks it, and Judge does not.
const (
	MinEngineMACs = "min-engine-macs"
	MaxError      = "max-error"
)

// Number is a number that is encoded in JSON as a string if it is not finite.
type Number float64

// MarshalJSON writes the number, or "NaN", "+Inf" or "-Inf".
func (n Number) MarshalJSON() ([]byte, error) {
	if f := float64(n); math.IsNaN(f) || math.IsInf(f, 0) {
		return json.Marshal(strconv.FormatFloat(f, 'g', -1, 64))
	}
	return json.Marshal(float64(n))
}

// Contributor is a part of a value that exceeds its budget.
type Contributor struct {
	What  string `json:"what"`             // operation, output or other kind
	Name  string `json:"name,omitempty"`   // name of the operation or output
	Line  int    `json:"line,omitempty"`   // line of the statement, from 1
	Col   int    `json:"column,omitempty"` // column of the statement, from 1
	Value Number `json:"value"`            // part of the violated value
}

// Violation is a budget that was exceeded.
type Violation struct {
	Budget       string        `json:"budget"`                 // name of the budget
	Target       string        `json:"target,omitempty"`       // target for which it was exceeded
	Function     string        `json:"function,omitempty"`     // if functions are checked separately
	Value        Number        `json:"value"`                  // value of the program
	Limit        float64       `json:"limit"`                  // value that the budget allows
	Unit         string        `json:"unit"`                   // unit of value and limit
	Contributors []Contributor `json:"contributors,omitempty"` // largest parts of the value
}

// shown is the number of contributors that a violation lists.
const shown = 3

// String returns the violation in one line: value, limit, largest contributors.
func (v *Violation) String() string {
	var b strings.Builder
	if v.Function != "" {
		fmt.Fprintf(&b, "function %s: ", v.Function)
	}
	fmt.Fprintf(&b, "%s %s", plain(float64(v.Value)), v.Unit)
	if v.Target != "" {
		fmt.Fprintf(&b, " for %s", v.Target)
	}
	if v.Budget == MinEngineMACs {
		fmt.Fprintf(&b, ", --%s requires %s %%", v.Budget, plain(v.Limit))
	} else {
		fmt.Fprintf(&b, ", --%s allows %s", v.Budget, plain(v.Limit))
	}
	for i, c := range v.Contributors {
		if i == 0 {
			b.WriteString("; largest:")
		} else {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, " %s", c.What)
		if c.Name != "" {
			fmt.Fprintf(&b, " %q", c.Name)
		}
		if c.Line > 0 {
			fmt.Fprintf(&b, " line %d", c.Line)
		}
		fmt.Fprintf(&b, " %s", plain(float64(c.Value)))
	}
	return b.String()
}

// Message returns the line of the violation in a log.
func (v *Violation) Message() string { return "budget exceeded: " + v.String() }

// plain returns a number without an exponent if it is whole.
func plain(v float64) string {
	if math.Abs(v) < 1<<53 && v == math.Trunc(v) {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// WriteViolations writes a line for each violation.
func WriteViolations(w io.Writer, vs []Violation) error {
	for i := range vs {
		if _, err := fmt.Fprintf(w, "%s\n", vs[i].Message()); err != nil {
			return err
		}
	}
	return nil
}

// Check returns an error if a limit is invalid for the budget.
func (b *Budget) Check(limit float64) error {
	most := b.Most
	if most == 0 {
		most = 1 << 53
	}
	switch {
	case !(limit >= 0 && limit <= most):
		if b.Most > 0 {
			return fmt.Errorf("must be 0 to %s", plain(b.Most))
		}
		return errors.New("must be 0 or more")
	case b.Whole && limit != math.Trunc(limit):
		return errors.New("must be a whole number")
	}
	return nil
}

// Judge compares a report with limits, which are keyed by budget ID.
func Judge(r *compile.Report, limits map[string]float64) []Violation {
	var out []Violation
	for i := range Budgets {
		b := &Budgets[i]
		limit, set := limits[b.ID]
		if !set || b.Runs {
			continue
		}
		for _, f := range b.judge(r) {
			if f.value == limit || f.value < limit != b.Least {
				continue
			}
			slices.SortStableFunc(f.by, func(x, y Contributor) int { return cmp.Compare(y.Value, x.Value) })
			unit := b.Unit
			if f.value == 1 && b.One != "" {
				unit = b.One
			}
			out = append(out, Violation{
				Budget: b.ID, Target: r.Target, Function: f.function, Value: Number(f.value), Limit: limit, Unit: unit,
				Contributors: f.by[:min(shown, len(f.by))],
			})
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
	unit := ""
	for i := range Budgets {
		if Budgets[i].ID == MaxError {
			unit = Budgets[i].Unit
		}
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
	v := Violation{Budget: MaxError, Target: target, Value: Number(by[0].Error), Limit: limit, Unit: unit}
	for _, o := range by[:min(shown, len(by))] {
		v.Contributors = append(v.Contributors, Contributor{What: "output", Name: o.Name, Value: Number(o.Error)})
	}
	return []Violation{v}
}

func contributor(o *compile.OpReport, value float64) Contributor {
	return Contributor{What: o.Op, Name: o.Name, Line: int(o.Line), Col: int(o.Col), Value: Number(value)}
}

// name returns a function's name if there are several functions.
func name(r, f *compile.Report) string {
	if f == r {
		return ""
	}
	return f.Function
}

// fullProcedure maps the cause of a dispatch to what the previous procedure was full of.
var fullProcedure = []struct{ cause, what string }{
	{compile.CauseRegisters, "the tensors of one procedure"},
	{compile.CauseTasks, "the tasks of one procedure"},
}

// judgeDispatches attributes each dispatch to the operation that ends the previous one.
func judgeDispatches(r *compile.Report) []finding {
	var out []finding
	for _, f := range r.Each() {
		x := finding{function: name(r, f), value: float64(f.Dispatches)}
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

func judgeWeights(r *compile.Report) []finding {
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

func judgeTime(r *compile.Report) []finding {
	var out []finding
	us := func(t cost.Time) float64 { return float64(t) / float64(cost.Microsecond) }
	for _, f := range r.Each() {
		x := finding{function: name(r, f), value: us(estimate(f).Time)}
		if t := estimate(f).Terms[cost.Dispatch]; t > 0 {
			x.by = append(x.by, Contributor{What: "dispatch", Value: Number(us(t))})
		}
		if t := estimate(f).Terms[cost.Hand]; t > 0 {
			x.by = append(x.by, Contributor{What: "inputs and outputs", Value: Number(us(t))})
		}
		for i := range f.Ops {
			if e := f.Ops[i].Estimate; e != nil {
				x.by = append(x.by, contributor(&f.Ops[i], us(e.Time)))
			}
		}
		out = append(out, x)
	}
	return out
}

// judgeMACs attributes to each operation the multiply-accumulates that are not on the engine.
func judgeMACs(r *compile.Report) []finding {
	x := finding{value: Percent(r.EngineMACs, r.CPUMACs)}
	for i := range r.Ops {
		if o := &r.Ops[i]; o.Unit == ir.CPU.String() && o.MACs > 0 {
			x.by = append(x.by, contributor(o, float64(o.MACs)))
		}
	}
	return []finding{x}
}
