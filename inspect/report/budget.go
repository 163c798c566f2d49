package report

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/compile"
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
	// Growth says how the limit is compared with a base's value, absolute if it is not.
	Growth Growth
	// find returns the findings of the report, for each function or for all together.
	find func(r *compile.Report) []finding
}

// Growth is how a value is compared with a base's.
type Growth int

// Ways to compare a value with a base's.
const (
	Absolute   Growth = iota // not at all
	Percentage               // growth in per cent of the base's value
	Difference               // what the value exceeds the base's by
)

// Budgets are the limits that can be set for a report.
var Budgets = []Budget{
	{ID: "max-dispatches", Doc: "fail when one call of a function takes more than `N` dispatches", Unit: "dispatches",
		One: "dispatch", Whole: true, find: findDispatches},
	{ID: "max-weight-bytes", Doc: "fail when the constants for the engine take more than `N` bytes",
		Unit: "bytes of constants", Whole: true, Tasks: true, find: findWeights},
	{ID: "max-estimate-us", Doc: "fail when one call of a function is estimated to take longer than `US` " +
		"microseconds: dispatches, copying inputs and outputs, engine and CPU", Unit: unitCall, Tasks: true,
		find: findCall},
	{ID: "max-engine-us", Doc: "fail when one call of a function is estimated to take the engine longer than `US` " +
		"microseconds, dispatches included; time on the CPU is not counted", Unit: "us of the engine",
		Tasks: true, find: findEngine},
	{ID: "min-engine-ops", Doc: "fail when less than this `PERCENT` of operations runs on the engine",
		Unit: "% of operations run on the engine", Most: 100, Least: true, find: findOps},
	{ID: "min-engine-macs", Doc: "fail when less than this `PERCENT` of multiply-accumulates runs on the engine",
		Unit: "% of multiply-accumulates run on the engine", Most: 100, Least: true, find: findMACs},
	{ID: "max-slowdown", Doc: "fail when one call of a function is estimated to take over `PERCENT` % longer than in " +
		"the model of --base", Unit: unitCall, Tasks: true, Growth: Percentage, find: findCall},
	{ID: "max-weight-growth", Doc: "fail when the constants for the engine take over `PERCENT` % more bytes than " +
		"those of the model of --base", Unit: "bytes of constants", Tasks: true, Growth: Percentage,
		find: findWeights},
	{ID: "max-extra-dispatches", Doc: "fail when one call of a function takes over `N` dispatches more than in the " +
		"model of --base", Unit: "dispatches", One: "dispatch", Whole: true, Growth: Difference,
		find: findDispatches},
	{ID: MaxError, Doc: "run the pair, as zinc verify does, and fail when any output is more than `E` from the " +
		"reference, in the output's own unit", Unit: "largest error of an output", Tasks: true, Runs: true},
}

// unitCall is the unit of the time of a call.
const unitCall = "us a call"

// MaxError is the ID of the limit on the error of an output, which comes from a run: JudgeOutputs checks it, and Judge
// does not.
const MaxError = "max-error"

// budgetOf returns the budget with an ID, which must exist.
func budgetOf(id string) *Budget {
	return &Budgets[slices.IndexFunc(Budgets, func(b Budget) bool { return b.ID == id })]
}

// IsPercent reports whether the limit is in per cent.
func (b *Budget) IsPercent() bool { return b.Most > 0 || b.Growth == Percentage }

// Check returns an error if a limit is invalid for the budget.
func (b *Budget) Check(limit float64) error {
	most := b.Most
	most = cmp.Or(most, 1<<53)
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
