package compile

import (
	"context"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// Plan places p's operations without lowering them, so that it also serves
// targets that zinc writes no programs for. It rewrites p, which must not be
// used afterwards. The report has no tasks, sizes or tables.
func Plan(ctx context.Context, p *ir.Program, o Options) (*Report, error) {
	if o.Target == nil {
		o.Target = target.H13
	}
	d := &driver{ctx: ctx, o: o, rep: &Report{Target: o.Target.Name, Precision: o.precision()}}
	if err := d.passes(p); err != nil {
		return nil, err
	}
	d.account()
	return d.rep, nil
}
