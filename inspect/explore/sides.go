package explore

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/zinc-compiler/zinc/inspect/compare"
	"github.com/zinc-compiler/zinc/inspect/toolchain"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/mapfault"
)

// maxSides is the number of cached sides of comparisons. Their memory is limited to 1/sideShare of that for past
// compilations.
const (
	maxSides  = 4
	sideShare = 4
)

// sideView is one side of a comparison: a model with its configuration, opened and
// compiled by package compare.
type sideView struct {
	side *compare.Side // nil if the text has errors

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

// openSide opens one side. Errors in the text are part of the side; a returned error is a limit, or a fault of the
// machine or of zinc.
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
	side, err := s.newSide(ctx, m, &c)
	if err = explain(err); isLimit(err) || isFault(err) {
		if side != nil { // it finished, but exceeded the limit
			side.Close()
		}
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

// newSide opens the configuration as a side of a comparison.
func (s *Server) newSide(ctx context.Context, m *model, c *Config) (side *compare.Side, err error) {
	q := compare.Request{Path: m.source.Path, Compiler: c.Version, Passes: true}
	if q.Frontend, err = m.frontend(c.Text); err != nil {
		return nil, err
	}
	if q.Compile, err = c.options(m.file); err != nil {
		return nil, err
	}
	if q.Executable = s.version(c); q.Executable == nil {
		return compare.Open(ctx, q)
	}
	q.Limits, q.Dir = s.toolLimits(), s.folder
	q.Passes = !tooMuchToPrint(m, q.Executable)
	err = s.atPath(m, c, func(path, weights string) (err error) {
		q.Path, q.Frontend.WeightsDir = path, weights
		side, err = compare.Open(ctx, q)
		return err
	})
	var limit *toolchain.LimitError
	if errors.As(err, &limit) {
		err = &limitError{"compiling with " + c.Version, limit.Error(), false}
	}
	return side, err
}

// rescue converts a panic of a job to an error and logs the details.
func (s *Server) rescue(what string, err *error) {
	if r := recover(); r != nil {
		if *err = mapfault.Of(r); *err != nil {
			return
		}
		s.log("%s: %v\n%s", what, r, debug.Stack())
		*err = &faultError{fmt.Errorf("%v", r)}
	}
}
