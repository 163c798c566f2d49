package broker

import (
	"context"
	"slices"

	"github.com/zinc-compiler/zinc/internal/locked"
)

// Evaluate runs a procedure on surfaces, in place.
func (s *Session) Evaluate(ctx context.Context, req EvaluateRequest) error {
	return s.evaluate(ctx, methodNamed[mEvaluate], &req, false, nil)
}

// EvaluateAsync runs a procedure; done is called when it has run or failed. Calls of one caller on one instance get
// their places in order of arrival.
func (s *Session) EvaluateAsync(ctx context.Context, req EvaluateRequest, done func(error)) {
	t := s.ticket(req.Instance)
	go func() { done(s.evaluate(ctx, methodNamed[mEvaluateAsync], &req, false, t)) }()
}

// ticket is the place of an asynchronous call among the calls of its instance.
type ticket struct {
	before, mine chan struct{}
	passed       bool
}

func (s *Session) ticket(num uint64) *ticket {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	in := s.instances[num]
	if in == nil {
		return nil
	}
	t := &ticket{before: in.last, mine: make(chan struct{})}
	in.last = t.mine
	return t
}

// wait returns when all earlier calls have a place or have been given up.
func (t *ticket) wait(ctx, connection context.Context) {
	if t == nil || t.before == nil {
		return
	}
	select {
	case <-t.before:
	case <-ctx.Done():
	case <-connection.Done():
	}
}

// pass admits the next call after all earlier ones.
func (t *ticket) pass() {
	if t == nil || t.passed {
		return
	}
	t.passed = true
	if t.before != nil {
		select {
		case <-t.before:
		default:
			go func() { <-t.before; close(t.mine) }()
			return
		}
	}
	close(t.mine)
}

// evaluate runs a procedure. If passing is set, the caller does not reuse the slices. Every dispatch takes this path,
// so it allocates only what it must.
func (s *Session) evaluate(ctx context.Context, m *Method, req *EvaluateRequest, passing bool, t *ticket) error {
	n, open := s.open()
	step := s.step(m, n, req)
	err := s.dispatch(ctx, m, req, passing, t, open)
	t.pass()
	step.End(&err)
	if open {
		s.calls.Done()
	}
	return err
}

// admissible refuses an evaluation by its arguments alone.
func (s *Session) admissible(ctx context.Context, m *Method, req *EvaluateRequest, open bool) error {
	if !open {
		return errorf(m.Name, Aborted, "the connection is closed")
	}
	if req.QoS != 0 {
		if err := s.admitQoS(m, req.QoS); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return errorf(m.Name, Aborted, "%v", err)
	}
	if req.Timeout < 0 {
		return errorf(m.Name, BadArgument, "timeout is %v, want >= 0", req.Timeout)
	}
	return nil
}

func (s *Session) dispatch(ctx context.Context, m *Method, req *EvaluateRequest, passing bool, t *ticket,
	open bool) error {
	if err := s.admissible(ctx, m, req, open); err != nil {
		return err
	}
	in, set, err := s.ready(ctx, m, req, passing, t)
	if err != nil {
		return err
	}
	return s.land(m, in, set, s.send(in, set))
}

// launch is evaluate without waiting: done is called with the result, in the virtual time of the completion. The
// program must be wired.
func (s *Session) launch(m *Method, req *EvaluateRequest, done func(error)) {
	n, open := s.open()
	step := s.step(m, n, req)
	end := func(err error) {
		step.End(&err)
		if open {
			s.calls.Done()
		}
		done(err)
	}
	ctx := context.Background()
	if err := s.admissible(ctx, m, req, open); err != nil {
		end(err)
		return
	}
	in, set, err := s.ready(ctx, m, req, true, nil)
	if err != nil {
		end(err)
		return
	}
	err = in.r.svc.SendRequestAsync(&set.request, func(err error) { end(s.land(m, in, set, err)) })
	if err != nil {
		end(s.land(m, in, set, err))
	}
}

// wired reports whether a request of an instance can be launched.
func (s *Session) wired(instance uint64) bool {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	in := s.instances[instance]
	return in != nil && !in.gone && in.r.wired && in.epoch == in.r.epoch
}

// ready waits for a place of the instance, makes sure that its program is wired, and binds the surfaces.
func (s *Session) ready(ctx context.Context, m *Method, req *EvaluateRequest, passing bool, t *ticket) (*instance,
	*bindings, error) {
	in, err := s.instance(m.Name, req.Instance)
	if err != nil {
		return nil, nil, err
	}
	class := in.class
	if req.QoS != 0 {
		class, _ = req.QoS.class()
	}
	t.wait(ctx, s.ctx)
	select {
	case in.tokens <- struct{}{}:
		t.pass()
	case <-ctx.Done():
		return nil, nil, errorf(m.Name, Aborted, "waiting for one of %d places: %v", in.depth, ctx.Err())
	case <-s.ctx.Done():
		return nil, nil, errorf(m.Name, Aborted, "waiting for one of %d places: the connection closed", in.depth)
	}
	b := s.b
	handle, set, err := b.begin(m.Name, in)
	if err != nil {
		<-in.tokens
		return nil, nil, err
	}
	r := &set.request
	*r = Request{
		Handle: handle, Further: len(req.Then), Priority: class.Priority, QoS: class.QoS,
		Timeout: req.Timeout, Inputs: r.Inputs[:0], Outputs: r.Outputs[:0],
	}
	if r.Procedure, set.surfaces, err = in.arrange(m.Name, req, set.surfaces[:0]); err == nil {
		err = set.bind(in.r.svc, in.called(set), req.Then, passing)
	}
	if err != nil {
		return nil, nil, s.land(m, in, set, err)
	}
	return in, set, nil
}

// called returns the procedures of the request of a set.
func (in *instance) called(set *bindings) []Procedure {
	r := &set.request
	return in.r.procs[r.Procedure : r.Procedure+1+r.Further]
}

// land ends an evaluation: after one that succeeded, the outputs are copied to the caller's slices.
func (s *Session) land(m *Method, in *instance, set *bindings, err error) error {
	if err == nil {
		set.copyBack(in.called(set))
	}
	clear(set.surfaces)
	s.b.finish(in, set)
	if err != nil {
		return failed(m.Name, "send request", err)
	}
	return nil
}

// procedure returns the index of a procedure: the first for an empty name, -1 if there is none.
func (in *instance) procedure(name string) int {
	return slices.IndexFunc(in.r.procs, func(p Procedure) bool { return name == "" || p.Name == name })
}

// arrange finds the procedures and appends the surfaces in the order of their ports, each as long as its port.
func (in *instance) arrange(method string, req *EvaluateRequest, surfaces [][]byte) (int, [][]byte, error) {
	procs := in.r.procs
	p := in.procedure(req.Procedure)
	if p < 0 {
		return 0, surfaces, errorf(method, NotFound, "the program has no procedure %q", req.Procedure)
	}
	surfaces, err := procs[p].arrange(method, req.Surfaces, surfaces)
	for i := 0; i < len(req.Then) && err == nil; i++ {
		s := &req.Then[i]
		if k := p + 1 + i; k >= len(procs) || procs[k].Name != s.Procedure {
			return 0, surfaces, errorf(method, BadArgument, "procedure %q does not follow %q in the program; one "+
				"request runs consecutive procedures", s.Procedure, procs[min(k, len(procs))-1].Name)
		}
		surfaces, err = procs[p+1+i].arrange(method, s.Surfaces, surfaces)
	}
	return p, surfaces, err
}

// arrange appends the surfaces in the order of the procedure's ports, each as long as its port.
func (p *Procedure) arrange(method string, given map[string][]byte, surfaces [][]byte) ([][]byte, error) {
	for i := range p.Ports {
		port := &p.Ports[i]
		b, ok := given[port.Name]
		if !ok {
			return surfaces, errorf(method, BadArgument, "procedure %q: port %q has no surface", p.Name, port.Name)
		}
		if uint64(len(b)) < port.Size {
			return surfaces, errorf(method, BadArgument,
				"procedure %q: the surface of port %q has %d bytes, want at least %d", p.Name, port.Name, len(b),
				port.Size)
		}
		surfaces = append(surfaces, b[:port.Size:port.Size])
	}
	if len(given) > len(p.Ports) {
		return surfaces, errorf(method, BadArgument,
			"procedure %q has %d ports, got %d surfaces; omit the surfaces that it does not name",
			p.Name, len(p.Ports), len(given))
	}
	return surfaces, nil
}

// begin makes sure that the program is wired, counts the evaluation and assigns it a set of bindings. The caller has a
// token.
func (b *Broker) begin(method string, in *instance) (Handle, *bindings, error) {
	r := in.r
	b.mu.Lock()
	if !in.gone && (!r.wired || in.epoch != r.epoch) {
		b.mu.Unlock()
		b.load.Lock()
		defer b.load.Unlock()
		gone := locked.Get(&b.mu, &in.gone)
		if !gone {
			if err := b.wire(method, r, in); err != nil {
				return 0, nil, err
			}
		}
		b.mu.Lock()
	}
	defer b.mu.Unlock()
	if in.gone {
		return 0, nil, errorf(method, NotFound, "instance %d is released", in.num)
	}
	r.busy++
	in.running++
	b.use++
	r.lastUse = b.use
	var set *bindings
	if n := len(in.free); n > 0 {
		set, in.free = in.free[n-1], in.free[:n-1]
	} else {
		set = &bindings{}
		in.made = append(in.made, set)
	}
	return in.handle, set, nil
}

// finish ends an evaluation and returns its token and bindings. A program whose instances all save power aggressively
// loses its memory when nothing runs.
func (b *Broker) finish(in *instance, set *bindings) {
	r := in.r
	b.mu.Lock()
	r.busy--
	in.running--
	b.use++
	r.lastUse = b.use
	in.free = append(in.free, set)
	<-in.tokens
	save := r.busy == 0 && in.AggressivePowerSaving
	r.idle.Broadcast()
	b.mu.Unlock()
	if !save {
		return
	}
	if b.lockstep != nil { // the command gate is held
		b.lockstep.chores = append(b.lockstep.chores, func() { b.savePower(r) })
		return
	}
	b.savePower(r)
}

// savePower takes the memory of a program whose instances all save power aggressively, unless something runs.
func (b *Broker) savePower(r *resident) {
	b.load.Lock()
	defer b.load.Unlock()
	b.mu.Lock()
	save := r.mayUnwire() && len(r.instances) > 0
	for o := range r.instances {
		save = save && o.AggressivePowerSaving
	}
	b.mu.Unlock()
	if save {
		b.unwire(r, "power saving")
	}
}
