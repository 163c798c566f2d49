package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/ir"
)

// Advice is a change to the model, or to how it is compiled, that makes it faster by zinc's own estimate of the whole.
type Advice struct {
	Recipe     string    `json:"recipe,omitempty"`     // name of the rewrite
	Precision  string    `json:"precision,omitempty"`  // to compile in, instead of a rewrite
	Place      string    `json:"place,omitempty"`      // to compile with, instead of a rewrite
	What       string    `json:"what"`                 // to change
	Where      string    `json:"where"`                // statements that change
	Why        string    `json:"why"`                  // what they cost now
	Note       string    `json:"note,omitempty"`       // condition under which the change is valid
	Retrain    string    `json:"retrain,omitempty"`    // why the changed model must be trained again
	Function   string    `json:"function,omitempty"`   // of the statements
	Statements []Place   `json:"statements,omitempty"` // that change
	Command    string    `json:"command,omitempty"`    // that makes or shows the change
	Ran        bool      `json:"ran"`                  // the change was also run, and agreed with the original
	NotRun     string    `json:"not_run,omitempty"`    // why it was not run
	Before     cost.Time `json:"before_us"`            // estimated time of a call now
	After      cost.Time `json:"after_us"`             // estimated time of a call after the change
	Dispatches [2]int    `json:"dispatches"`           // before and after
	CPUOps     [2]int    `json:"cpu_ops"`              // operations on the CPU, before and after
}

// Place is a statement of the source.
type Place struct {
	Name     string `json:"name"`               // of its result
	Line     int32  `json:"line,omitempty"`     // in the text
	Function string `json:"function,omitempty"` // that it is in
}

// Checked says how a change was checked.
func (a *Advice) Checked() string {
	switch {
	case a.Retrain != "":
		return "estimated; " + a.Retrain
	case a.Ran:
		return "compiled and run"
	case a.NotRun != "":
		return "compiled and estimated, not run (" + a.NotRun + ")"
	}
	return "compiled and estimated, not run"
}

// Search is how advice was looked for.
type Search struct {
	Tried []Tried  `json:"tried"`          // every change that fits the model, in the order of the search
	Left  []string `json:"left,omitempty"` // changes for which no work was left
	Work  int64    `json:"work"`           // work that was done
}

// Tried is a change that was tried.
type Tried struct {
	Name   string    `json:"name"`               // of the rewrite, or the precision or placement
	Option bool      `json:"option,omitempty"`   // it is a way to compile, not a rewrite
	Places int       `json:"places,omitempty"`   // statements that the rewrite fits
	After  cost.Time `json:"after_us,omitempty"` // estimated time of a call, 0 if only what changes was estimated
	Why    string    `json:"why,omitempty"`      // why it is not advised, "" if it is
}

// Nothing says that there is no advice, and what was tried.
func (s *Search) Nothing() string {
	rewrites, places := 0, 0
	var also []string
	if s != nil {
		for _, t := range s.Tried {
			if t.Option {
				also = append(also, t.Name)
				continue
			}
			rewrites++
			places += t.Places
		}
	}
	var tried []string
	if rewrites > 0 {
		tried = append(tried, diag.Count(rewrites, "rewrite", "rewrites")+" at "+
			diag.Count(places, "place", "places"))
	}
	if tried = append(tried, also...); len(tried) == 0 {
		return "no change found: none of the rewrites that zinc knows fits the model. The largest costs are:"
	}
	return "no change found: tried " + join(tried) + "; none makes the model faster. The largest costs are:"
}

// Unfinished says what was not tried.
func (s *Search) Unfinished() string {
	names := slices.Clone(s.Left)
	slices.Sort(names)
	return "not tried, since the work of the search is bounded: " + strings.Join(slices.Compact(names), ", ")
}

// join lists words as a sentence does.
func join(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}

// Cost is one of the largest costs of a call: an operation, or what all dispatches take.
type Cost struct {
	Name  string // of the operation, "" for dispatches
	Time  cost.Time
	What  string
	Bound string
}

// Lengths of the list of costs that is shown where there is no advice, and the share of a call, in per cent, of the
// shortest after the first.
const (
	largest  = 3
	leastPer = 1
)

// Largest returns what takes most of the time of a call.
func Largest(r *compile.Report) (out []Cost) {
	if r.Estimate == nil {
		return nil
	}
	terms := r.Estimate.Terms
	list := []Cost{
		{
			Time: terms[cost.Dispatch], What: diag.Count(r.Dispatches, "dispatch", "dispatches"),
			Bound: "software around the engine",
		},
		{Time: terms[cost.Hand], What: "inputs and outputs", Bound: "the rate of copying them"},
	}
	for i := range r.Ops {
		o := &r.Ops[i]
		c := Cost{Name: o.Name, Time: o.Time(), What: o.Op, Bound: "the CPU's rate, estimated coarsely"}
		if o.Line > 0 {
			c.What += fmt.Sprintf(" in line %d", o.Line)
		}
		c.What += ", " + places[o.Unit]
		if o.Estimate != nil && o.Unit == ir.Engine.String() {
			c.Bound = bounds[o.Estimate.Terms.Binding()]
		}
		list = append(list, c)
	}
	slices.SortStableFunc(list, func(a, b Cost) int { return cmp.Compare(b.Time, a.Time) })
	for i, c := range list[:min(len(list), largest)] {
		if c.Time > 0 && (i == 0 || c.Time*100 >= r.CallTime()*leastPer) {
			out = append(out, c)
		}
	}
	return out
}

// bounds say what bounds a task.
var bounds = [cost.Terms]string{
	cost.Dispatch: "the dispatch", cost.Hand: "handing over", cost.Products: "multiply-accumulates",
	cost.DMA: "DMA of constants and tensors in memory", cost.L2: "tensors in L2",
}

// String names the cost and its bound.
func (c Cost) String() string { return c.What + ", bound by " + c.Bound }
