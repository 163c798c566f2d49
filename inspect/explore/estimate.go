package explore

import (
	"context"
	"net/http"
	"sync"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/memlimit"
	"github.com/zinc-compiler/zinc/ir"
)

// estimateAnswer is what an edit comes to, known before its pair is built: the answer to POST estimate.
type estimateAnswer struct {
	OK     bool    `json:"ok"`
	Error  string  `json:"error,omitempty"`
	Places []place `json:"places,omitempty"` // diagnostics
	Line   string  `json:"line,omitempty"`   // the placement in one line
	// Assumed are the weight files that are missing.
	Assumed    []string `json:"assumed_weights,omitempty"`
	EngineOps  int      `json:"engine_ops"`
	CPUOps     int      `json:"cpu_ops"`
	Dispatches int      `json:"dispatches"`
	// Statements are the operations of the text, which Cost indexes.
	Statements []statement `json:"statements"`
	Cost       *costAnswer `json:"cost,omitempty"`
}

// memory is what the edits of one model share. One estimate at a time uses it; another one that runs meanwhile does
// without.
type memory struct {
	mu      sync.Mutex
	of      string // target and weight files of the versions
	verdict *compile.Memory
}

// take returns the memory of versions of a model with a target and weight files, and what ends its use.
func (m *memory) take(o *compile.Options, weights string) (*compile.Memory, func()) {
	if !m.mu.TryLock() {
		return nil, func() {}
	}
	if of := o.Target.Name + "\n" + weights; m.verdict == nil || m.of != of {
		m.of, m.verdict = of, compile.NewMemory(o.Target)
	}
	return m.verdict, m.mu.Unlock
}

// estimateRequest answers with what a configuration costs, without building its pair. It is far cheaper than compiling
// and keeps nothing but what the next estimate of the model may use.
func (s *Server) estimateRequest(r *http.Request) (any, error) {
	m, c, err := s.configuration(r)
	if err != nil {
		return nil, err
	}
	if err := c.resolve(m, s.versions); err != nil {
		return nil, &requestError{http.StatusBadRequest, err}
	}
	if c.Version != thisVersion {
		return nil, bad("version is %q, want %q: no other version estimates without compiling", cut(c.Version),
			thisVersion)
	}
	a, err := s.estimate(r.Context(), m, c)
	s.rest()
	return a, err
}

// rest collects garbage while nobody waits for an answer.
func (s *Server) rest() {
	if s.resting.CompareAndSwap(false, true) {
		go func() {
			defer s.resting.Store(false)
			memlimit.Rest()
		}()
	}
}

func (s *Server) estimate(ctx context.Context, m *model, c *Config) (_ *estimateAnswer, err error) {
	leave, err := s.gate.enter(ctx, "estimating")
	if err != nil {
		return nil, err
	}
	defer leave()
	ctx, stop, explain := s.limits.guard(ctx, "estimating")
	defer stop()
	defer s.rescue("estimating "+m.Name, &err)
	a := &estimateAnswer{Statements: []statement{}}
	opened, err := m.open(c.Text)
	if err != nil {
		a.fail(err)
		return a, nil
	}
	defer opened.Close()
	for _, x := range opened.Missing {
		a.Assumed = append(a.Assumed, x.String())
	}
	a.Places = places(opened.Warnings)
	a.Statements = operations(opened.Program)
	o, err := c.options(m.file)
	if err != nil {
		return nil, err
	}
	o.Provenance = false
	var end func()
	o.Memory, end = m.edits.take(&o, opened.WeightStamp())
	defer end()
	var rep *compile.Report
	err = compile.Compile(ctx, opened.Program, o, compile.Sink{Estimate: compile.To(&rep)})
	if err = explain(err); err != nil {
		if isLimit(err) || isFault(err) {
			return nil, err
		}
		a.fail(err)
		return a, nil
	}
	a.OK, a.Line = true, rep.Line()
	a.EngineOps, a.CPUOps, a.Dispatches = rep.EngineOps, rep.CPUOps, rep.Dispatches
	a.Cost = costOf(rep, a.Statements)
	return a, nil
}

// fail records what is wrong with the text.
func (a *estimateAnswer) fail(err error) {
	l := diag.AsList(err)
	if l == nil {
		a.Error = err.Error()
		return
	}
	a.Places, a.Error = places(l), errorCount(l.Errors())
}

// operations lists the operations of a program and its inputs, in the order of the program.
func operations(p *ir.Program) []statement {
	out := []statement{}
	for _, f := range p.Funcs {
		for _, v := range f.Body.Params {
			out = append(out, newStatement(f.Name, ir.StmtParam, v.Name, v.Pos))
		}
		ir.Walk(f, func(op *ir.Op) {
			out = append(out, newStatement(f.Name, op.Def.Name, op.Name, op.Pos))
		})
	}
	return out
}
