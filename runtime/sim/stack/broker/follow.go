package broker

import (
	"errors"
	"slices"
	"unsafe"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/driver"
)

// follow is what an instance knows of its last request of a procedure, so that it recognises the next step of a
// computation with resident values: one that reads the buffers that the last step has written, and writes to those that
// it has read. The firmware chains such steps.
type follow struct {
	now, last buffers
	fed       []bool // of the last request, by input: it reads what the request before has written
	chain     Chain  // nil for none
	triggered bool   // the last request was a trigger
	refused   bool   // the driver grants no chain
}

// buffers are the first bytes of the surfaces of a request.
type buffers struct{ in, out []*byte }

// drop ends the chain and forgets the last request.
func (f *follow) drop() {
	if f.chain != nil {
		f.chain.Close()
	}
	*f = follow{refused: f.refused}
}

// drop ends the chains of the instance.
func (in *instance) drop() {
	for i := range in.steps {
		in.steps[i].drop()
	}
}

// step notes the surfaces that a set has bound to the ports of its procedure, sets fed, and reports whether any input
// is, or the request is another one of a computation with states.
func (f *follow) step(set *bindings, ports []Port, stateful bool) bool {
	f.now, f.last = buffers{f.last.in[:0], f.last.out[:0]}, f.now
	for i, known := range set.ports[set.start[set.request.Procedure]:][:len(ports)] {
		to := &f.now.in
		if ports[i].Output {
			to = &f.now.out
		}
		*to = append(*to, unsafe.SliceData(known[0].bytes))
	}
	f.fed = f.fed[:0]
	for i, in := range f.now.in {
		fed := false
		for k, wrote := range f.last.out {
			fed = fed || in == wrote && f.now.out[k] == f.last.in[i]
		}
		f.fed = append(f.fed, fed)
	}
	return slices.Contains(f.fed, true) || stateful && len(f.last.in)+len(f.last.out) > 0
}

// send runs the request of a set: by a trigger of a resident request if it is the next step after the last request and
// nothing else can come between them, otherwise by a call.
func (s *Session) send(in *instance, set *bindings) error {
	r, svc := &set.request, in.r.svc
	if s.b.lockstep != nil || in.depth > 1 || in.AggressivePowerSaving || r.Further > 0 || r.Timeout != 0 ||
		r.QoS != in.class.QoS {
		return svc.SendRequest(r)
	}
	if in.steps == nil {
		in.steps = make([]follow, len(in.r.procs))
	}
	f, p := &in.steps[r.Procedure], &in.r.procs[r.Procedure]
	if chained := f.triggered; f.step(set, p.Ports, in.Stateful) && !f.refused {
		err := f.trigger(svc, in.handle, r, p)
		if !unstarted(err) {
			if err != nil {
				f.drop()
			}
			return err
		}
		f.drop()
		f.refused = !short(err) && !chained
	}
	f.triggered = false
	err := svc.SendRequest(r)
	if err != nil {
		f.drop()
	}
	return err
}

// trigger runs a request by its chain, which it creates if there is none.
func (f *follow) trigger(svc Services, h Handle, r *Request, p *Procedure) (err error) {
	if f.chain == nil {
		if f.chain, err = svc.Chain(h, r.Procedure, p); err != nil {
			return err
		}
	}
	if !f.triggered { // the chain has not written what this step reads
		clear(f.fed)
	}
	f.triggered = true
	return f.chain.Trigger(r, f.fed)
}

// unstarted reports whether the driver has refused a chain or a trigger before anything ran.
func unstarted(err error) bool {
	var r returner
	if !errors.As(err, &r) {
		return false
	}
	switch driver.Return(r.IOReturn()) {
	case driver.NotPrivileged, driver.Unsupported, driver.BadArgument:
		return true
	}
	return short(err)
}
