package compile

import (
	"context"
	"strings"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// Plan places p's operations without lowering them, so it also works for targets that zinc cannot write programs for.
// It rewrites p, which must not be used afterwards. The report has no tasks, sizes or tables.
func Plan(ctx context.Context, p *ir.Program, o Options) (*Report, error) {
	r, err := Place(ctx, p, o)
	if err != nil {
		return nil, err
	}
	return r.Report, nil
}

// Place is like Plan but returns more: the result has the functions as they were placed and, with Options.Provenance,
// the record of statements, operators and what passes removed. It has no pair, and its functions have no procedures.
func Place(ctx context.Context, p *ir.Program, o Options) (*Result, error) {
	if o.Target == nil {
		o.Target = target.H13
	}
	d := &driver{ctx: ctx, o: o}
	d.codec, d.noCodec = o.codec()
	if o.Provenance {
		d.prov = newRecorder(p, d)
	}
	jobs, err := o.jobs(p)
	if err != nil {
		return nil, err
	}
	r := new(Result)
	for i := range jobs {
		if strings.Contains(jobs[i].name, VariantMark) {
			continue // another configuration of a function that is already placed
		}
		u, err := d.passes(&jobs[i])
		if err != nil {
			return nil, err
		}
		d.prov.unit(u)
		d.prov.operators(u)
		d.account(u, nil)
		r.Functions = append(r.Functions, &Function{
			Name:      u.name,
			Report:    u.rep,
			Reference: u.state.Reference,
			Placed:    u.state.Func,
		})
	}
	r.Reference, r.Placed = r.Functions[0].Reference, r.Functions[0].Placed
	r.Report = sum(r.Functions)
	if d.prov != nil {
		d.prov.inSourceOrder()
		r.Provenance = d.prov.db
	}
	return r, nil
}

// EstimateCost is like Plan but also lowers the operations, so that the report has tasks, constants and estimates. It
// builds no pair. It serves to compare ways to write a model: it is cheaper than Compile and checks less.
func EstimateCost(ctx context.Context, p *ir.Program, o Options) (*Report, error) {
	if o.Target == nil {
		o.Target = target.H13
	}
	d := newDriver(ctx, o)
	if d.codec == nil {
		return nil, d.noCodec
	}
	d.estimating = true
	if err := d.allPasses(p); err != nil {
		return nil, err
	}
	for _, u := range d.units {
		if err := u.compilable(); err != nil {
			return nil, err
		}
	}
	if err := d.lower(false); err != nil {
		return nil, err
	}
	desc, err := d.descriptor()
	if err != nil {
		return nil, err
	}
	var fs []*Function
	for i, u := range d.units {
		d.account(u, &desc.Functions[i])
		fs = append(fs, &Function{Name: u.name, Report: u.rep})
	}
	d.weigh()
	return sum(fs), nil
}
