package explore

import (
	"context"
	"errors"
	"net/http"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/inspect/report"
	"github.com/zinc-compiler/zinc/target"
)

// generationsAnswer is the model on each generation of chips: the answer to POST generations.
type generationsAnswer struct {
	Generations []report.Generation     `json:"generations"` // the smallest chip of each, the oldest first
	Table       *report.GenerationTable `json:"table"`       // as the page shows it
}

func generationsView(s *Server, v *view, r *http.Request) (any, error) {
	if err := body(r, &struct{}{}); err != nil {
		return nil, err
	}
	switch {
	case v.report == nil:
		return nil, &requestError{http.StatusConflict, errFailed}
	case s.version(&v.config) != nil:
		return nil, &requestError{http.StatusConflict,
			errors.New("generations are compared by the version that serves the page; choose it to see them")}
	}
	return s.job(r, v, "comparing generations", func(ctx context.Context) (any, error) {
		gs, err := report.Generations(ctx, func(t *target.Table) (*compile.Report, error) { return v.on(ctx, t) })
		if err != nil {
			return nil, err
		}
		return &generationsAnswer{gs, report.Table(gs)}, nil
	})
}

// on returns the report of the view's program for another target.
func (v *view) on(ctx context.Context, t *target.Table) (*compile.Report, error) {
	m, err := v.model.open(v.config.Text)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	o, err := v.config.options(v.model.file)
	if err != nil {
		return nil, err
	}
	o.Target, o.Provenance = t, false
	var r *compile.Report
	sink := compile.Sink{Estimate: compile.To(&r)}
	if t.TD == 0 {
		sink = compile.Sink{Plan: compile.To(&r)}
	}
	err = compile.Compile(ctx, m.Program, o, sink)
	return r, err
}
