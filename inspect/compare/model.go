package compare

import (
	"context"
	"errors"
	"fmt"

	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/inspect/toolchain"
	"github.com/zinc-compiler/zinc/ir"
)

// Request describes a side.
type Request struct {
	Path     string // of a model
	Frontend frontend.Options
	Compile  compile.Options
	// Compiler names the zinc that compiles, if the sides may use different ones; "" otherwise.
	Compiler string
	// Executable is the zinc that compiles; nil means this one.
	Executable *toolchain.Executable
	// Extra are further flags for the executable, which this zinc may not know.
	Extra  []string
	Passes bool // keep the programs after each pass, for level Passes
	// EstimateOnly skips the pair, which takes most of the time. There remain the levels of the source, without the
	// packed constants, Placement and Cost. It is ignored with an executable and for a target without programs.
	EstimateOnly bool
	// Limits bound the executable, and Dir is its working folder; see toolchain.Request.
	Limits toolchain.Limits
	Dir    string
}

// Open opens a model and compiles it. For a target without programs it only places the operations, as the Result says.
// A model that does not compile is compared by its text and constants. A model compiled by another executable has no
// program of operations: level Passes compares what the executable printed. Errors come from frontend.Open, or are
// exceeded limits of executables, or context.Canceled.
func Open(ctx context.Context, q Request) (*Side, error) {
	q.Frontend.KeepTree = true
	m, err := frontend.Open(q.Path, q.Frontend)
	if err != nil {
		return nil, err
	}
	o := q.Compile
	s := &Side{name: q.Path, model: m, target: o.Target, files: m.Program.Files, compiler: q.Compiler, extra: q.Extra}
	if s.text = m.Tree; s.text == nil && m.Source != nil {
		if p, list := mil.ParseString(m.Source.Name, m.Source.Src); list.Err() == nil {
			s.text = p
		}
	}
	s.consts = gather(m.Program)
	if q.Passes {
		s.trace = newTrace()
	}
	o.Provenance, o.InputName = !q.EstimateOnly, inputName
	if s.trace != nil {
		o.Observe = s.trace.observe
	}
	s.options = &o
	switch {
	case q.Executable != nil:
		err = s.compileWith(ctx, &q)
	case q.EstimateOnly && o.Target.TD != 0:
		err = s.estimateCost(ctx, m.Program, o)
	default:
		err = s.compile(ctx, m.Program, o)
	}
	if err != nil {
		m.Close()
		return nil, err
	}
	return s, nil
}

// compile sets the fields that follow from the program. It records a refusal and does not return it.
func (s *Side) compile(ctx context.Context, p *ir.Program, o compile.Options) error {
	if o.Target.TD == 0 {
		s.noPair = "zinc writes no programs for target " + o.Target.Name
		if err := compile.Compile(ctx, p, o, compile.Sink{Plan: compile.To(&s.report)}); err != nil {
			s.noPlaces = err.Error()
		}
		return ctx.Err()
	}
	r, err := compile.All(ctx, p, o)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		s.noPair = "it does not compile: " + err.Error()
		s.noPlaces, s.refused = s.noPair, err.Error()
		return nil
	}
	s.report, s.db, s.told = r.Report, r.Provenance, r.Provenance
	for _, f := range r.Functions {
		s.placed = append(s.placed, f.Placed)
	}
	written, err := r.Pair()
	if err != nil {
		return &verify.FaultError{Stage: "writing the pair", Err: err}
	}
	if err := s.load(written); err != nil {
		return &verify.FaultError{Stage: "reading the pair that was written", Err: err}
	}
	return nil
}

// notBuilt is why a side that is only estimated has no pair.
const notBuilt = "no pair was built"

// estimateCost is compile without the pair.
func (s *Side) estimateCost(ctx context.Context, p *ir.Program, o compile.Options) error {
	s.noPair = notBuilt
	err := compile.Compile(ctx, p, o, compile.Sink{Estimate: compile.To(&s.report)})
	if err != nil && ctx.Err() == nil {
		s.noPair = "it does not compile: " + err.Error()
		s.noPlaces, s.refused = s.noPair, err.Error()
	}
	return ctx.Err()
}

// maxPrograms bounds the programs read from an executable, in bytes.
const maxPrograms = 64 << 20

// compileWith compiles the model with another zinc. It records refusals and unreadable output and does not return them.
func (s *Side) compileWith(ctx context.Context, q *Request) error {
	x, limits := q.Executable, q.Limits
	if limits.Programs <= 0 {
		limits.Programs = maxPrograms
	}
	r, err := x.Compile(ctx, toolchain.Request{
		Model: q.Path, WeightsDir: q.Frontend.WeightsDir, Target: q.Compile.Target.Name,
		Flags: append(Flags(&q.Compile), q.Extra...), NoPasses: !q.Passes,
		Limits: limits, Dir: q.Dir,
	})
	var refused *toolchain.RefusedError
	if errors.As(err, &refused) && refused.Status != 2 { // status 2, a wrong command line, is an error of the caller
		s.noPair = "it does not compile: " + refused.Error()
		if refused.Status != 1 {
			s.noPair = refused.Error()
		}
		s.noPlaces, s.refused = s.noPair, refused.Error()
		s.trace, s.noTrace = nil, s.noPair
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close()
	const lacks = "%s does not know %s"
	s.noPlaced = "another executable compiled it; level passes compares its text"
	if s.trace != nil {
		if err := s.trace.read(r.Passes); err != nil {
			return err
		}
		if len(r.Passes) == 0 {
			s.trace, s.noTrace = nil, fmt.Sprintf(lacks, x.Path, "--print-after")
		}
	}
	s.noPlaces = fmt.Sprintf(lacks, x.Path, "--report")
	if r.Report != nil {
		if report, err := ReportOf(r); err != nil {
			s.noPlaces = fmt.Sprintf("the report of %s: %s", x.Path, err)
		} else {
			s.report = report
		}
	}
	p, err := PairOf(r)
	if err == nil {
		err = s.load(p)
	}
	if err != nil {
		s.noPair = fmt.Sprintf("the output of %s cannot be read: %s", x.Path, err)
		return nil
	}
	if db := DatabaseOf(r, p.Container); db != nil {
		s.db, s.told = db, db
	}
	return nil
}
