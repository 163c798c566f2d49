package explore

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/zinc-compiler/zinc/compare"
	"github.com/zinc-compiler/zinc/internal/diag"
)

// mostSides is how many sides of comparisons are kept, and sideShare what part of
// the bytes that past compilations may take they get: one in so many.
const (
	mostSides = 4
	sideShare = 4
)

// sideView is one side of a comparison: a model with its configuration, opened and
// compiled by package compare.
type sideView struct {
	side *compare.Side // nil of a text that does not open

	list    *diag.List
	failure string
}

func (v *sideView) weight() int64 {
	const least = 1 << 20
	if v.side == nil {
		return least
	}
	return least + v.side.Size()
}

func (v *sideView) close() error {
	if v.side == nil {
		return nil
	}
	return v.side.Close()
}

// openSide opens one side. What is wrong with the text is part of the side; an error
// is a limit, or a fault of the machine or of zinc.
func (s *Server) openSide(ctx context.Context, m *model, c Config) (v *sideView, err error) {
	leave, err := s.gate.enter(ctx, "compiling")
	if err != nil {
		return nil, err
	}
	defer leave()
	ctx, stop, explain := s.limits.guard(ctx, "compiling")
	defer stop()
	defer s.rescue("comparing "+m.Name, &err)
	v = &sideView{}
	side, err := c.side(ctx, m)
	if err = explain(err); isLimit(err) || isFault(err) {
		return nil, err
	}
	switch list := diag.AsList(err); {
	case list != nil:
		v.list = list
	case err != nil:
		v.failure = err.Error()
	default:
		v.side = side
	}
	return v, nil
}

// side opens the configuration as a side of a comparison.
func (c *Config) side(ctx context.Context, m *model) (*compare.Side, error) {
	f, err := m.frontend(c.Text)
	if err != nil {
		return nil, err
	}
	o, err := c.options(m.file)
	if err != nil {
		return nil, err
	}
	return compare.OpenModel(ctx, m.source.Path, f, o)
}

// rescue makes a panic of a job an error, which the log tells more of.
func (s *Server) rescue(what string, err *error) {
	if r := recover(); r != nil {
		s.log("%s: %v\n%s", what, r, debug.Stack())
		*err = &faultError{fmt.Errorf("%v", r)}
	}
}
