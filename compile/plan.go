package compile

import (
	"context"
	"strings"

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
	d := &driver{ctx: ctx, o: o}
	jobs, err := o.jobs(p)
	if err != nil {
		return nil, err
	}
	var fs []*Function
	for i := range jobs {
		if strings.Contains(jobs[i].name, VariantMark) {
			continue // another configuration of what is placed already
		}
		u, err := d.passes(&jobs[i])
		if err != nil {
			return nil, err
		}
		d.account(u, nil)
		fs = append(fs, &Function{Name: u.name, Report: u.rep})
	}
	return sum(fs), nil
}
