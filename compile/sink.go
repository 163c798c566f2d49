package compile

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower"
)

// A Sink receives the parts of a compilation, each as soon as it is complete. Parts that no function receives are not
// kept in memory, and a compilation goes only as far as its sink needs: it places operations for Plan and Placed,
// lowers them for Estimate, and builds and checks the pair for what comes after Estimate. An error that a function
// returns ends the compilation with that error, ErrStop without one.
type Sink struct {
	// Snapshot receives the program after pass Options.Until. Nothing else is then received.
	Snapshot func(*Snapshot) error
	// Placed receives the functions after the passes. They have no procedures and states yet.
	Placed func([]*Function) error
	// Plan receives the report without tasks, sizes, tables and estimates. Targets need no task descriptors for it. Of
	// each function it has the default shapes alone.
	Plan func(*Report) error
	// Estimate receives the report without tables (Report.FindTables). For a target without task descriptors it is the
	// report of Plan. It serves to compare ways to write a model: it is cheaper than Report and checks less. If no
	// container has room for the constants, Estimate receives a report as if one had, and Compile returns the error
	// (Exceeds).
	Estimate func(*Report) error

	// Procedure receives each procedure as it is lowered. Only if there is a Function, it has Tasks, Stores and
	// Materialised.
	Procedure func(*lower.Procedure) error
	// Container stores the container, which has size bytes: it calls write with the place that they go to, and returns
	// them, for example as a mapped file, or nil if nobody reads them. Without it only their hash is computed.
	Container func(size int64, write func(w io.Writer) error) ([]byte, error)
	// Built receives the pair after its checks.
	Built func(*Built) error
	// Database receives the debug database and the bytes of all tasks, if Options.Provenance is set. Of a program that
	// is only placed it has statements, operators and what passes removed.
	Database func(db *provenance.DB, text []byte) error
	// Function receives each function of the pair, the one that runs by default first.
	Function func(*Function) error
	// Sums receives the sums of the report: the operations on the CPU are listed in it, and no other part of the pair.
	Sums func(*Report) error
	// Report receives the whole report. If there are several functions, it has the sums of their reports, which are in
	// its field Functions.
	Report func(*Report) error
}

// ErrStop is returned by a function of a sink that needs nothing more.
var ErrStop = errors.New("the sink needs nothing more")

// To returns a function of a sink that sets a variable to what it receives.
func To[T any](to *T) func(T) error {
	return func(part T) error {
		*to = part
		return nil
	}
}

// give passes a part to a function of a sink, which may be nil.
func give[T any](to func(T) error, part T) error {
	if to == nil {
		return nil
	}
	return to(part)
}

// stage is how far a compilation goes.
type stage int

const (
	places stage = iota
	tasks
	whole
)

// stage returns the stage that the sink needs.
func (s *Sink) stage(o *Options) stage {
	switch {
	case s.Procedure != nil || s.Container != nil || s.Built != nil || s.Function != nil || s.Sums != nil ||
		s.Report != nil:
		return whole
	case s.Estimate != nil && o.Target.TD != 0:
		return tasks
	}
	return places
}

// reports reports whether the sink receives a report.
func (s *Sink) reports() bool {
	return s.Plan != nil || s.Estimate != nil || s.Sums != nil || s.Report != nil
}

// Result keeps the parts of a compilation.
type Result struct {
	*Built
	Report *Report
	// Functions are the functions of the pair, the one that runs by default first.
	Functions []*Function
	// Provenance says what the parts of the pair came from; nil without Options.Provenance.
	Provenance *provenance.DB
	// Reference and Placed belong to the first function.
	Reference, Placed *ir.Func
}

// All compiles p and keeps every part. It rewrites p, which must not be used afterwards.
func All(ctx context.Context, p *ir.Program, o Options) (*Result, error) {
	var r Result
	if err := Compile(ctx, p, o, r.All()); err != nil {
		return nil, err
	}
	return &r, nil
}

// All returns a sink that keeps every part in r, and the container in memory.
func (r *Result) All() Sink {
	s := r.Reported()
	s.Function = func(f *Function) error {
		if r.Functions = append(r.Functions, f); len(r.Functions) == 1 {
			r.Reference, r.Placed = f.Reference, f.Placed
		}
		return nil
	}
	return s
}

// Reported returns a sink that keeps in r the pair, the debug database and the report.
func (r *Result) Reported() Sink {
	s := r.Files()
	s.Sums, s.Report = nil, To(&r.Report)
	return s
}

// Files returns a sink that keeps in r the pair, the debug database and the sums of the report.
func (r *Result) Files() Sink {
	return Sink{
		Container: inMemory,
		Built:     To(&r.Built),
		Database:  func(db *provenance.DB, _ []byte) error { r.Provenance = db; return nil },
		Sums:      To(&r.Report),
	}
}

func inMemory(size int64, write func(w io.Writer) error) ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 0, size))
	err := write(b)
	return b.Bytes(), err
}
