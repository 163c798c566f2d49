package compile

import (
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/passes"
)

// callTime returns what estimates calls for passes.Options, or nil without a codec for the target.
func (d *driver) callTime() func(s *passes.State) (*passes.CallTime, error) {
	if d.codec == nil {
		return nil
	}
	return func(s *passes.State) (*passes.CallTime, error) {
		t := &driver{
			ctx:   d.ctx,
			o:     Options{Target: d.o.Target, FullTD: d.o.FullTD},
			to:    tasks,
			codec: d.codec,
			names: map[string]int{},
			trial: true,
		}
		t.sec.Workers, t.sec.Endless = d.o.Workers, true
		u := t.unit(s.Func.Name, s)
		u.rep.Estimate = new(Estimate)
		t.units = []*unit{u}
		if err := t.lower(); err != nil {
			return nil, err
		}
		desc, err := t.descriptor()
		if err != nil {
			return nil, err
		}
		ops := map[*ir.Op]int64{}
		for k, p := range u.procs {
			for i, info := range p.Infos {
				ops[info.Op] += int64(u.times[k][i])
			}
		}
		for _, op := range s.Func.Body.Ops {
			u.rep.count(op)
		}
		for _, c := range desc.Functions[0].Chains() {
			for k := range c.Inferences {
				u.rep.Estimate.Terms.Add(dispatchTime(&c, k, d.o.Target))
			}
		}
		return &passes.CallTime{Total: int64(u.rep.CallTime()), Ops: ops, Exceeds: t.exceeds != nil}, nil
	}
}

// timer returns an emitFunc for the next procedure that keeps only the estimated times of its tasks.
func (u *unit) timer() emitFunc {
	k := len(u.times)
	u.times = append(u.times, nil)
	return func(t *td.Task, _ []int, _ int) error {
		c := cost.Estimate(t, u.state.Target)
		u.times[k] = append(u.times[k], c.Time)
		u.rep.Estimate.Terms[c.Bound] += c.Time
		return nil
	}
}
