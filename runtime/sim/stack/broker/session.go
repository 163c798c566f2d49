package broker

import (
	"context"
	"crypto/sha256"
	"reflect"
	"slices"
	"sync"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// Session is a connection in the broker's own process.
type Session struct {
	b        *Broker
	id       Identity
	tier     Tier
	owner    tenant
	num      uint64
	reserved bool // it has one of the reserved slots

	ctx    context.Context
	cancel context.CancelFunc
	calls  sync.WaitGroup

	released chan struct{} // closed when nothing of the session is left

	// Broker.mu guards these.
	closed    bool
	requests  uint64
	models    map[uint64]*model
	instances map[uint64]*instance
	held      int   // instances, with those being made
	bytes     int64 // of the containers of the connection's programs
}

var _ Client = (*Session)(nil)

// model is a caller's use of a resident program.
type model struct {
	id         uint64
	r          *resident
	identifier string
}

// open counts a call and reports whether the connection is open; if so, the caller must end the call with calls.Done.
func (s *Session) open() (n uint64, open bool) {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	s.requests++
	if !s.closed {
		s.calls.Add(1)
	}
	return s.requests, !s.closed
}

// step begins the n-th call of the session in the trace. req is a pointer to its request.
func (s *Session) step(m *Method, n uint64, req any) trace.Step {
	if !s.b.log.On() {
		return trace.Step{}
	}
	args := []trace.Value{trace.Text("tier", s.tier.String())}
	if m.QoS {
		q := s.service(m, req)
		args = append(args, trace.Text("qos", q.String()), trace.Number("priority", ProgramPriority(q)),
			trace.Number("queue", QueueIndex(q)))
	}
	return s.b.log.Step(m.Name, s.num, n, args...)
}

// service returns the class of service of a request: its own, or else the one of the instance or the model that it
// names.
func (s *Session) service(m *Method, req any) QoS {
	if q := m.class(req); q != 0 {
		return q
	}
	named := func(field string) uint64 {
		if f := reflect.ValueOf(req).Elem().FieldByName(field); f.IsValid() && f.CanUint() {
			return f.Uint()
		}
		return 0
	}
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	if in := s.instances[named("Instance")]; in != nil {
		return in.class.QoS
	}
	if model := s.models[named("Model")]; model != nil {
		return model.r.class.QoS
	}
	return QoSDefault
}

// enter admits a call and starts tracing it. The function that it returns ends the call.
func (s *Session) enter(ctx context.Context, name string, req any) (func(error), error) {
	m := methodNamed[name]
	n, open := s.open()
	step := s.step(m, n, req)
	end := func(err error) {
		step.End(&err)
		if open {
			s.calls.Done()
		}
	}
	err := error(nil)
	if !open {
		err = errorf(name, Aborted, "the connection is closed")
	} else if err = s.admit(m, req); err == nil && ctx.Err() != nil {
		err = errorf(name, Aborted, "%v", ctx.Err())
	}
	if err != nil {
		end(err)
		return nil, err
	}
	return end, nil
}

// until returns a context for a long call that ends with the connection.
func (s *Session) until(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// Load makes a container resident, or attaches to the resident program of the
// same tenant.
func (s *Session) Load(ctx context.Context, req LoadRequest) (reply *LoadReply, err error) {
	end, err := s.enter(ctx, mLoad, &req)
	if err != nil {
		return nil, err
	}
	defer func() { end(err) }()
	if len(req.Container) == 0 {
		return nil, errorf(mLoad, BadArgument, "the request has no container")
	}
	b := s.b
	key := residentKey{owner: s.owner, digest: sha256.Sum256(req.Container), process: s.process(req.Share)}
	b.mu.Lock()
	r := b.residents[key]
	b.mu.Unlock()
	var procs []Procedure
	if r == nil { // others may load while this one is read; the first creates it
		if procs, err = b.cfg.Kernel.Procedures(req.Container); err != nil {
			return nil, &Error{Method: mLoad, Code: BadArgument, Msg: err.Error(), Return: codes[BadArgument].ret}
		}
	}
	b.load.Lock()
	defer b.load.Unlock()
	b.mu.Lock()
	if r != nil && b.residents[key] != r { // it has been unloaded, but it has been read
		procs = r.procs
	}
	r = b.residents[key]
	named := s.named(req.Identifier)
	b.mu.Unlock()
	if req.Identifier != "" && named != nil && named != r {
		return nil, errorf(mLoad, BadArgument,
			"identifier %q names another resident program; unload it, or choose another", req.Identifier)
	}
	attached := r != nil
	if r == nil {
		if r, err = b.create(s, key, req.Container, procs, req.QoS); err != nil {
			return nil, failed(mLoad, "create", err)
		}
	}
	return s.take(mLoad, r, req.Identifier, attached)
}

// Attach shares a resident program of another process.
func (s *Session) Attach(ctx context.Context, req AttachRequest) (reply *LoadReply, err error) {
	end, err := s.enter(ctx, mAttach, &req)
	if err != nil {
		return nil, err
	}
	defer func() { end(err) }()
	b := s.b
	b.load.Lock()
	defer b.load.Unlock()
	b.mu.Lock()
	r := b.byID[req.Resident]
	b.mu.Unlock()
	switch {
	case r == nil:
		return nil, errorf(mAttach, NotFound, "there is no resident program %d", req.Resident)
	case !s.mayAttach(r):
		return nil, errorf(mAttach, Mismatch, "resident program %d is not shared with %v: team identifier and "+
			"code-directory hash must be the owner's, and the owner must have loaded it with Share", req.Resident,
			&s.id)
	}
	return s.take(mAttach, r, "", true)
}

// take makes the caller a holder of a program; load is held. If that fails, a program without holders is removed.
func (s *Session) take(method string, r *resident, identifier string, attached bool) (*LoadReply, error) {
	b := s.b
	b.mu.Lock()
	r.holders++
	b.mu.Unlock()
	err := b.wire(method, r, nil)
	b.mu.Lock()
	switch {
	case err != nil:
	case s.closed:
		err = errorf(method, Aborted, "the connection closed")
	case s.bytes+int64(len(r.container)) > b.lim.ModelBytes:
		err = s.tooMany(method, int64(len(r.container)))
	case len(s.models) >= b.lim.Models:
		err = errorf(method, NoResources, "the connection has loaded %d models, which is the limit; unload one",
			len(s.models))
	}
	if err != nil {
		b.mu.Unlock()
		b.drop(r)
		return nil, err
	}
	b.next++
	m := &model{id: b.next, r: r, identifier: identifier}
	s.models[m.id] = m
	s.bytes += int64(len(r.container))
	if identifier != "" {
		r.names[identifier]++
	}
	b.use++
	r.lastUse = b.use
	b.mu.Unlock()
	return &LoadReply{Model: m.id, Resident: r.id, Digest: r.key.digest, Attached: attached, Procedures: r.procs}, nil
}

// mayTake checks that the connection may hold more bytes of containers.
func (s *Session) mayTake(method string, n int64) error {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	if s.bytes+n > s.b.lim.ModelBytes {
		return s.tooMany(method, n)
	}
	return nil
}

func (s *Session) tooMany(method string, n int64) error {
	return errorf(method, NoMemory, "containers of %d bytes and %d more exceed the connection's limit of %d; unload "+
		"a model", s.bytes, n, s.b.lim.ModelBytes)
}

// named returns the caller's resident program with an identifier; mu is held.
func (s *Session) named(identifier string) *resident {
	if identifier == "" {
		return nil
	}
	var found *resident
	for _, r := range s.b.byID {
		if r.names[identifier] > 0 && s.mayAttach(r) && (found == nil || r.id < found.id) {
			found = r
		}
	}
	return found
}

// Unload ends the caller's use of a resident program and releases its instances.
func (s *Session) Unload(ctx context.Context, req UnloadRequest) (err error) {
	end, err := s.enter(ctx, mUnload, &req)
	if err != nil {
		return err
	}
	defer func() { end(err) }()
	b := s.b
	b.load.Lock()
	defer b.load.Unlock()
	b.mu.Lock()
	m := s.models[req.Model]
	b.mu.Unlock()
	if m == nil {
		return errorf(mUnload, NotFound, "the connection has no model %d", req.Model)
	}
	s.unload(m)
	return nil
}

// unload ends a model; load is held.
func (s *Session) unload(m *model) {
	b := s.b
	b.mu.Lock()
	delete(s.models, m.id)
	s.bytes -= int64(len(m.r.container))
	if m.identifier != "" {
		if m.r.names[m.identifier]--; m.r.names[m.identifier] == 0 {
			delete(m.r.names, m.identifier)
		}
	}
	var mine []*instance
	for _, in := range s.instances {
		if in.model == m {
			mine = append(mine, in)
		}
	}
	b.mu.Unlock()
	slices.SortFunc(mine, byNumber)
	for _, in := range mine {
		s.end(in)
	}
	b.drop(m.r)
}

// Close ends the connection: waiting calls are aborted, calls in progress finish, and what the connection owns is
// released before Close returns.
func (s *Session) Close() error {
	b := s.b
	b.mu.Lock()
	if s.closed {
		b.mu.Unlock()
		<-s.released
		return nil
	}
	s.closed = true
	b.mu.Unlock()
	defer close(s.released)
	s.cancel()
	s.calls.Wait()
	b.load.Lock()
	defer b.load.Unlock()
	b.mu.Lock()
	var ins []*instance
	for _, in := range s.instances {
		ins = append(ins, in)
	}
	var models []*model
	for _, m := range s.models {
		models = append(models, m)
	}
	b.mu.Unlock()
	slices.SortFunc(ins, byNumber)
	slices.SortFunc(models, func(a, c *model) int { return int(a.id) - int(c.id) })
	for _, in := range ins {
		s.end(in)
	}
	for _, m := range models {
		s.unload(m)
	}
	b.mu.Lock()
	delete(b.sessions, s.num)
	if !s.reserved {
		b.ordinary--
	}
	b.mu.Unlock()
	b.log.Note("disconnect", s.num, 0)
	return nil
}
