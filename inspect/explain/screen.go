package explain

import (
	"cmp"
	"context"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/internal/mapfault"
	"github.com/zinc-compiler/zinc/ir"
)

// Screening tries the changes of Advise on one layer of a model of many equal ones. It needs no report of the model, so
// it runs while the model is compiled.
type Screening struct {
	o     Options // of the advisor
	stop  context.CancelFunc
	group mapfault.Group

	// What follows is set once the group has ended.

	layers   int // equal layers of the model; 0 if it was not screened
	outcomes []outcome
	left     int64                   // work
	parts    map[[2]uint64]cost.Time // advisor.parts
	err      error                   // of the context
}

// outcome is what came of a candidate; without a name if it fits nothing, or if no work was left.
type outcome struct {
	Attempt
	slower bool
	saves  cost.Time
}

// Screen begins to screen p for Advise with the same options. Neither p nor what it reads may change or be closed
// before Advise or Close returns.
func Screen(ctx context.Context, p *ir.Program, o Options) *Screening {
	o.Compile.Provenance = false
	if o.Compile.Memory == nil {
		o.Compile.Memory = compile.NewMemory(o.Compile.Target)
	}
	s := &Screening{o: o}
	if o.Compile.Target.TD == 0 {
		return s
	}
	ctx, s.stop = context.WithCancel(ctx)
	s.group.Go(func() { s.err = s.run(ctx, p) })
	return s
}

// Close ends the screening and waits for it.
func (s *Screening) Close() {
	if s.stop != nil {
		s.stop()
	}
	s.group.Wait()
}

func (s *Screening) run(ctx context.Context, p *ir.Program) error {
	short, layers := withOneLayer(p)
	if short == nil {
		return nil
	}
	o, left := s.o, cmp.Or(s.o.Work, DefaultWork)
	for _, f := range p.Funcs {
		left -= int64(len(f.Body.Ops)) << 8
	}
	if left < 0 {
		return nil
	}
	o.Compile.Progress = nil
	now, err := estimate(ctx, ir.CloneProgram(short), o.Compile)
	if err != nil || now.Estimate == nil {
		return ctx.Err()
	}
	one := newAdvisor(ctx, short, now, o, left)
	for _, c := range one.candidates() {
		tried, weighed := len(one.out.Tried), len(one.weighed)
		if err := one.try(c); err != nil {
			return err
		}
		var x outcome
		if len(one.out.Tried) > tried {
			x.Attempt = one.out.Tried[tried]
			x.slower = x.Why == errSlower.Error()
		}
		if len(one.weighed) > weighed {
			x.saves = one.weighed[weighed].Saves()
		}
		s.outcomes = append(s.outcomes, x)
	}
	s.layers, s.left, s.parts = layers, one.left, one.parts
	return nil
}
