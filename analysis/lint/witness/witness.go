package witness

import (
	"context"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// Analysis is what is known about a function without running it.
type Analysis interface {
	Func() *ir.Func
	// Operations are the function's in order, operations of nested blocks before their own.
	Operations() []*ir.Op
	// Range contains everything that the value can be.
	Range(v *ir.Value) interval.Interval
	// Constant returns the constant that a value is or that is computed from constants for it, nil for others.
	Constant(v *ir.Value) *ir.Const
	// Repaired returns the range to which runs clip a value for its readers, since another finding is about it.
	Repaired(v *ir.Value) (interval.Interval, bool)
}

// Judge analyses a function whose inputs have the ranges and returns the suspicions about its statements.
type Judge func(f *ir.Func, ranges map[string]interval.Interval) (Analysis, []*Suspicion)

// Options are the options of a search.
type Options struct {
	Compile compile.Options // how statements that are cut out are compiled
	Judge   Judge           // judges them
	// Samples are arrays of inputs by name: those that have their input's shape are run and recorded.
	Samples []map[string]interp.Tensor
	// Work bounds the multiply-accumulates and elements of all runs together.
	Work    int64
	Workers int
	// Alone omits the runs of the whole function: statements are cut out at once.
	Alone bool
	// Progress is called before each run with the work of all runs so far and Work, which a search need not reach. It
	// may be nil.
	Progress func(done, total int64)

	paid int64 // work of all runs so far, including runs of parts of the function
}

// Subject is the function that is searched.
type Subject struct {
	Analysis Analysis
	Machine  *sim.Machine // has its pair
	Name     string       // in the pair
	Inputs   []*Input
}

// Witness is what a search found for a suspicion: an input of the whole function (Shown), a cut with operands (Cut,
// Local), an input that meets the limit without showing the hazard, or only a Note that states how far the search came.
type Witness struct {
	Shown *Evidence // at the function's outputs
	Local *Evidence // at the statement's own
	Cut   *Cut      // the statement alone, where that shows it
	Met   bool      // by an input
	MetAt float64   // the number with which the limit was met
	Input Candidate // that shows it, else the first that meets the limit
	Note  string
	// Growth is the factor by which recorded values would have to grow to meet the limit, 0 if none were recorded.
	Growth float64
	Seen   interval.Interval // recorded values of the suspicion's value
}

// Search looks for a witness of each suspicion, in two parts of the budget: inputs of the whole function, then the
// remaining statements alone. Witnesses are in the order of the suspicions. An error comes from the context or from
// the preparation of the function: inputs that an operation refuses are omitted.
func Search(ctx context.Context, f Subject, suspicions []*Suspicion, o Options) ([]*Witness, error) {
	b, err := newBench(f.Analysis.Func(), f.Machine, f.Name, o.Workers)
	if err != nil {
		return nil, err
	}
	s := newSearch(ctx, &o, f.Analysis, b, f.Inputs, 0)
	out := make([]*Witness, len(suspicions))
	for i, p := range suspicions {
		s.open = append(s.open, newProof(p))
		out[i] = &s.open[i].Witness
	}
	return out, s.all(o.Work)
}
