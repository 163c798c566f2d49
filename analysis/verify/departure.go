package verify

import (
	"fmt"
	"io"
	"math"

	"github.com/zinc-compiler/zinc/internal/diag"
)

// Departure is the first statement whose result differs from the interpreter's beyond its bound.
type Departure struct {
	Function  string `json:"function"`            // function of the statement
	Procedure string `json:"procedure,omitempty"` // empty for a value that no task wrote
	// Task is the index, in the procedure's chain, of the task that wrote the element; -1 if none did.
	Task    int    `json:"task"`
	Rule    string `json:"rule,omitempty"`   // the lowering rule of the task
	Step    string `json:"step"`             // as in Statement
	Op      string `json:"op,omitempty"`     // name of the operation
	Value   string `json:"value"`            // the result of the statement
	Call    int    `json:"call,omitempty"`   // for functions with states, counted from 1
	Type    string `json:"type"`             // type of the value
	Line    int32  `json:"line,omitempty"`   // line of the statement, from 1
	Col     int32  `json:"column,omitempty"` // column of the statement, from 1
	Place   string `json:"place,omitempty"`  // file:line:col
	Element int    `json:"element"`          // the first beyond the bound, row major
	Got     Number `json:"got"`              // element of the simulator's result
	Want    Number `json:"want"`             // element of the interpreter's result
	Bound   Number `json:"bound"`            // the difference allowed to the element
	Beyond  int    `json:"beyond"`           // number of elements beyond the bound
	MaxAbs  Number `json:"max_abs"`          // largest difference of two elements
}

// departure returns the first statement of a call that does not pass, or nil.
func (x *call) departure(number int) *Departure {
	for _, s := range x.order {
		if s.Pass {
			continue
		}
		w := s.fit.worst
		d := &Departure{Task: -1, Step: s.Step, Op: s.Op, Value: s.Name, Call: number, Type: s.Type, Element: w.Index,
			Got: w.Got, Want: w.Want, Bound: Number(s.fit.limit), Beyond: s.Beyond, MaxAbs: s.MaxAbs}
		if s.op != nil {
			d.Line, d.Col = s.op.Pos.Line, s.op.Pos.Col
		}
		if s.materialised != nil {
			d.Procedure, d.Task = s.materialised.by.p.Name, s.materialised.task(w.Index)
			d.Rule = s.materialised.by.p.Infos[d.Task].Rule
		}
		return d
	}
	return nil
}

// DepartureText writes the first departure, or that there is none, as text.
func (r *Result) DepartureText(w io.Writer) error {
	d := r.First
	if d == nil {
		_, err := fmt.Fprintf(w, "no departure: %s are within their bounds\nseed %d, engine numerics %s\n",
			diag.Count(r.Statements, "statement", "statements"), r.Seed, r.Numerics)
		return err
	}
	call := ""
	if d.Call > 0 {
		call = fmt.Sprintf(" in call %d", d.Call)
	}
	var err error
	switch {
	case d.Step == stepPasses:
		_, err = fmt.Fprintf(w, "passes changed what %s of function %s computes%s\n", d.Value, d.Function, call)
	case d.Task < 0:
		_, err = fmt.Fprintf(w, "output %s of function %s departs%s; what tasks wrote before it agrees\n", d.Value,
			d.Function, call)
	default:
		_, err = fmt.Fprintf(w, "task %d of procedure %s (rule %s) departs%s\n", d.Task, d.Procedure, d.Rule, call)
	}
	if err == nil && d.Op != "" {
		_, err = fmt.Fprintf(w, "statement: %s = %s, %s, at %s\n", d.Value, d.Op, d.Type, d.Place)
	}
	if err == nil {
		bound := fmt.Sprintf("%.4g", float64(d.Bound))
		if math.IsInf(float64(d.Bound), 0) {
			bound = "unknown"
		}
		_, err = fmt.Fprintf(w, "element %d: simulator %g, interpreter %g, bound %s\n"+
			"%d elements exceed their bound, the largest difference is %.4g\nseed %d, engine numerics %s\n",
			d.Element, float64(d.Got), float64(d.Want), bound, d.Beyond, float64(d.MaxAbs), r.Seed, r.Numerics)
	}
	return err
}
