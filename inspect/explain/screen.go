package explain

import (
	"cmp"
	"context"
	"maps"

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
	ahead    map[string]*ahead       // advisor.ahead
	ran      map[[2]uint64]error     // advisor.ran
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
		left -= int64(len(f.Body.Ops)) * workPerEdit
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
	least := now.CallTime() * worth / 100 // of the whole model it is more
	var group mapfault.Group
	defer group.Wait()
	var whole []*wholeModel
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
			w := one.weighed[weighed]
			x.saves = w.Saves()
			if w.edits != nil && len(c.recipe.Rules) == 0 && x.saves*cost.Time(layers) >= least {
				whole = append(whole, newWholeModel(p, one, w, &group))
			}
		}
		s.outcomes = append(s.outcomes, x)
	}
	group.Wait()
	s.layers, s.left, s.parts = layers, one.left, one.parts
	s.ahead, s.ran = map[string]*ahead{}, map[[2]uint64]error{}
	for _, w := range whole {
		maps.Copy(s.ran, w.ran)
		if w.ahead != nil {
			s.ahead[w.recipe] = w.ahead
		}
	}
	return ctx.Err()
}

// maxAhead limits the operations of a model that is estimated with a change while it is compiled: both take memory.
const maxAhead = 1 << 13

// wholeModel is the part of the search on the whole model that screening does, for a recipe that pays on one layer.
// Recipes for what the CPU does wait, since they need the report of the model.
type wholeModel struct {
	recipe string
	ran    map[[2]uint64]error // advisor.ran
	ahead  *ahead              // nil if there is none
}

// newWholeModel begins to run what w changes in the one layer of one, and to estimate p with its recipe.
func newWholeModel(p *ir.Program, one *advisor, w *weighed, group *mapfault.Group) *wholeModel {
	x := &wholeModel{recipe: w.c.recipe.Name, ran: map[[2]uint64]error{}}
	layer := *one
	layer.ran = x.ran
	group.Go(func() { layer.run(w.c.recipe, w.edits) }) // what comes of it is in ran
	all := newAdvisor(one.ctx, p, &compile.Report{}, one.o, one.left)
	all.parts = maps.Clone(one.parts)
	if all.ops > maxAhead {
		return x
	}
	group.Go(func() {
		kinds, err := all.kinds(w.c)
		if err != nil {
			return
		}
		if keep, _, err := all.paying(w.c, kinds); err == nil && len(keep) > 0 {
			x.ahead = all.changed(w.c, keep)
			x.ahead.kinds = kinds
		}
	})
	return x
}
