package broker

import (
	"context"
	"errors"
	"net"
	"net/rpc"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zinc-compiler/zinc/internal/locked"
)

// serviceName is the name of the service in a request.
const serviceName = "Broker"

// Call is a request as it crosses the socket. Number is the caller's, for Cancel.
type Call[T any] struct {
	Number uint64
	// After is the virtual time that has passed on a client's side since its last answer, if it has a seat.
	After time.Duration
	Value T
}

// Answer is a reply as it crosses the socket: a value, or an error.
type Answer[T any] struct {
	Err   *Error
	Now   time.Duration // virtual, if the client has a seat
	Value T
}

// Nothing is the value of an answer without content.
type Nothing struct{ Done bool }

// Evaluation is an EvaluateRequest as it crosses the socket: it has the surfaces of inputs that no procedure passes.
type Evaluation struct {
	EvaluateRequest
	Async bool

	ticket *ticket // taken when the call was read, which is in the caller's order
}

// Outputs are the outputs of an evaluation, in the order of the procedures' ports.
type Outputs struct{ Data []byte }

// Serve accepts connections until the listener or the broker is closed, and returns why it ended; nil after
// Broker.Close. With clients in lockstep it also ends, with nil, when the last of them is gone and what they had is
// released. A peer first identifies itself, and Config.Attest vouches for it.
func (b *Broker) Serve(l net.Listener) error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		l.Close()
		return nil
	}
	b.listeners[l] = true
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		delete(b.listeners, l)
		b.mu.Unlock()
		l.Close()
	}()
	var gone <-chan struct{} // nil: never
	if b.lockstep != nil {
		gone = b.lockstep.ended
		go func() {
			<-gone
			l.Close()
		}()
	}
	for {
		c, err := l.Accept()
		b.mu.Lock()
		closed := b.closed
		select {
		case <-gone:
			closed = true
		default:
		}
		full := len(b.peers) >= 2*b.lim.Connections // with those that have not identified themselves
		if err == nil && !closed && !full {
			b.peers[c] = true
		}
		b.mu.Unlock()
		var temporary interface{ Temporary() bool }
		switch {
		case closed:
			if err == nil {
				c.Close()
			}
			return nil
		case errors.As(err, &temporary) && temporary.Temporary():
			time.Sleep(10 * time.Millisecond) // out of file descriptors: back off (wall clock, not virtual)
		case err != nil:
			return err
		case full:
			c.Close()
		default:
			go b.serveConn(c)
		}
	}
}

// serveConn serves one connection and then releases what it owned.
func (b *Broker) serveConn(c net.Conn) { b.newPeer(c).serve() }

func (b *Broker) newPeer(c net.Conn) *peer {
	p := &peer{b: b, conn: c, cancels: map[uint64]context.CancelFunc{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// serve runs the peer's calls until its connection ends.
func (p *peer) serve() {
	b, c := p.b, p.conn
	c.SetReadDeadline(time.Now().Add(b.lim.Handshake))
	server := rpc.NewServer()
	if err := server.RegisterName(serviceName, &service{p}); err == nil {
		server.ServeCodec(newCodec(c, &b.lim, p))
	}
	p.cancel()
	c.Close()
	p.mu.Lock()
	s := p.session
	p.over = true
	p.mu.Unlock()
	switch {
	case s == nil:
	case p.seat == 0:
		s.Close()
	default:
		if b.lockstep.ask(&ticketCall{seat: p.seat, run: func() { s.Close() }, last: true}, 0) != nil {
			s.Close() // with the broker
		}
	}
	b.mu.Lock()
	delete(b.peers, c)
	b.mu.Unlock()
}

// peer is a connection on the socket.
type peer struct {
	b      *Broker
	conn   net.Conn
	ctx    context.Context // ends with the connection
	cancel context.CancelFunc

	mu      sync.Mutex
	session *Session
	seat    int // 0: the client does not run in lockstep, or only looks
	over    bool
	known   atomic.Bool  // the peer has identified itself
	outputs atomic.Int64 // bytes of outputs that have not been sent
	cancels map[uint64]context.CancelFunc
	early   []uint64 // cancelled before they began
}

// maxEarly bounds the remembered numbers of calls to be cancelled.
const maxEarly = 64

// begin returns the session of a call and a context that Cancel ends.
func (p *peer) begin(number uint64) (*Session, context.Context, func(), error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.session != nil:
	case p.known.Load():
		return nil, nil, nil, errorf(mConnect, NotEntitled,
			"the machine's clients run in lockstep; connect with a seat")
	default:
		return nil, nil, nil, errorf(mConnect, NotEntitled, "the peer has not identified itself; call Hello first")
	}
	ctx, cancel := context.WithCancel(p.ctx)
	if p.seat > 0 {
		// What a call does must not depend on when the client ends.
		ctx, cancel = context.WithCancel(context.Background())
	}
	for i, n := range p.early {
		if n == number {
			p.early = append(p.early[:i], p.early[i+1:]...)
			cancel()
			break
		}
	}
	p.cancels[number] = cancel
	return p.session, ctx, func() {
		p.mu.Lock()
		delete(p.cancels, number)
		p.mu.Unlock()
		cancel()
	}, nil
}

// order assigns an asynchronous evaluation its place among the evaluations of its instance. It is called in the order
// in which calls are read.
func (p *peer) order(body any) {
	c, ok := body.(*Call[Evaluation])
	if !ok || !c.Value.Async {
		return
	}
	s := locked.Get(&p.mu, &p.session)
	if s != nil {
		c.Value.ticket = s.ticket(c.Value.Instance)
	}
}

// service has the methods that net/rpc calls.
type service struct{ p *peer }

// serve runs one call of a session.
func serve[A, R any](p *peer, in *Call[A], out *Answer[R], f func(*Session, context.Context, A) (*R, error)) error {
	s, ctx, end, err := p.begin(in.Number)
	if err != nil {
		out.set(nil, err)
		return nil
	}
	defer end()
	if p.seat == 0 {
		out.set(f(s, ctx, in.Value))
		return nil
	}
	c := &ticketCall{seat: p.seat, run: func() { out.set(f(s, ctx, in.Value)) }}
	out.asked(p, c, in.After)
	return nil
}

// asked has a call run in lockstep.
func (a *Answer[R]) asked(p *peer, c *ticketCall, after time.Duration) {
	q := p.b.lockstep
	ended := c.run
	c.run = func() { ended(); a.Now = q.time.Now() }
	if err := q.ask(c, after); err != nil {
		a.set(nil, err)
	}
}

// set sets the value or the error.
func (a *Answer[R]) set(r *R, err error) {
	switch {
	case err == nil:
		a.Value = *r
	case !errors.As(err, &a.Err):
		a.Err = errorf(mConnect, Failed, "%v", err)
	}
}

// done returns a method whose answer has no content.
func done[A any](f func(*Session, context.Context, A) error) func(*Session, context.Context, A) (*Nothing, error) {
	return func(s *Session, ctx context.Context, a A) (*Nothing, error) { return &Nothing{true}, f(s, ctx, a) }
}

// Hello identifies the peer.
func (v *service) Hello(claim *Identity, out *Answer[Tier]) error {
	p := v.p
	s, err := p.hello(*claim)
	if err == nil {
		out.Value = s.tier
		p.conn.SetReadDeadline(time.Time{})
	} else if !errors.As(err, &out.Err) {
		out.Err = errorf(mConnect, NotEntitled, "%v", err)
	}
	return nil
}

func (p *peer) hello(claim Identity) (*Session, error) {
	id, err := p.b.cfg.Attest(p.conn, claim)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	if p.session != nil || p.over || p.known.Load() {
		p.mu.Unlock()
		return nil, errorf(mConnect, BadArgument, "the peer has already identified itself")
	}
	q := p.b.lockstep
	if q == nil {
		defer p.mu.Unlock()
		s, err := p.b.Connect(id)
		p.session = s
		p.known.Store(err == nil)
		return s, err
	}
	p.known.Store(true)
	p.mu.Unlock()
	if id.Seat == 0 {
		return &Session{}, nil // it may only look
	}
	// The number of a process is not the same in two runs, and its seat is.
	id.PID = seatPID + id.Seat
	p.conn.SetReadDeadline(time.Time{}) // it waits for the others
	var s *Session
	if e := q.join(id.Seat, func() { s, err = p.b.Connect(id) }); e != nil {
		return nil, e
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.session, p.seat = s, id.Seat
	return s, err
}

// seatPID is the process number of the client before seat 1, which is modelled.
const seatPID = 1000

// Cancel ends the context of a call.
func (v *service) Cancel(number uint64, out *Answer[Nothing]) error {
	p := v.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if cancel := p.cancels[number]; cancel != nil {
		cancel()
	} else {
		if len(p.early) == maxEarly {
			p.early = p.early[1:]
		}
		p.early = append(p.early, number)
	}
	return nil
}

// Status is Broker.Status, for any peer that has identified itself.
func (v *service) Status(in *Call[Nothing], out *Answer[Status]) error {
	if v.p.known.Load() { // at once, also in lockstep
		st := v.p.b.Status()
		out.set(&st, nil)
		return nil
	}
	_, _, _, err := v.p.begin(in.Number)
	out.set(nil, err)
	return nil
}

// Compile is Session.Compile.
func (v *service) Compile(in *Call[CompileRequest], out *Answer[CompileReply]) error {
	return serve(v.p, in, out, (*Session).Compile)
}

// Load is Session.Load.
func (v *service) Load(in *Call[LoadRequest], out *Answer[LoadReply]) error {
	return serve(v.p, in, out, (*Session).Load)
}

// Attach is Session.Attach.
func (v *service) Attach(in *Call[AttachRequest], out *Answer[LoadReply]) error {
	return serve(v.p, in, out, (*Session).Attach)
}

// CreateInstance is Session.CreateInstance.
func (v *service) CreateInstance(in *Call[InstanceRequest], out *Answer[InstanceReply]) error {
	return serve(v.p, in, out, (*Session).CreateInstance)
}

// CreateInstanceWithWeights is Session.CreateInstanceWithWeights.
func (v *service) CreateInstanceWithWeights(in *Call[WeightsRequest], out *Answer[InstanceReply]) error {
	return serve(v.p, in, out, (*Session).CreateInstanceWithWeights)
}

// OpenDirectPath is Session.OpenDirectPath.
func (v *service) OpenDirectPath(in *Call[DirectPathRequest], out *Answer[DirectPathReply]) error {
	return serve(v.p, in, out, (*Session).OpenDirectPath)
}

// PrepareChaining is Session.PrepareChaining.
func (v *service) PrepareChaining(in *Call[ChainingRequest], out *Answer[ChainingReply]) error {
	return serve(v.p, in, out, (*Session).PrepareChaining)
}

// ReleaseInstance is Session.ReleaseInstance.
func (v *service) ReleaseInstance(in *Call[ReleaseRequest], out *Answer[Nothing]) error {
	return serve(v.p, in, out, done((*Session).ReleaseInstance))
}

// Unload is Session.Unload.
func (v *service) Unload(in *Call[UnloadRequest], out *Answer[Nothing]) error {
	return serve(v.p, in, out, done((*Session).Unload))
}

// Purge is Session.Purge.
func (v *service) Purge(in *Call[PurgeRequest], out *Answer[PurgeReply]) error {
	return serve(v.p, in, out, (*Session).Purge)
}

// Evaluate is Session.Evaluate, on copies of the caller's surfaces.
func (v *service) Evaluate(in *Call[Evaluation], out *Answer[Outputs]) error {
	defer in.Value.ticket.pass()
	p, e := v.p, &in.Value
	if p.seat == 0 {
		return serve(p, in, out, func(s *Session, ctx context.Context, e Evaluation) (*Outputs, error) {
			return s.remote(ctx, p, &e)
		})
	}
	s, ctx, end, err := p.begin(in.Number)
	if err != nil {
		out.set(nil, err)
		return nil
	}
	defer end()
	e.ticket = nil // the client makes one call at a time
	c := &ticketCall{
		seat: p.seat,
		run:  func() { out.set(s.remote(ctx, p, e)) },
		fly: func(landed func()) {
			s.launchRemote(p, e, func(r *Outputs, err error) {
				out.set(r, err)
				out.Now = p.b.lockstep.time.Now()
				landed()
			})
		},
		able: func() bool { return s.wired(e.Instance) },
	}
	out.asked(p, c, in.After)
	return nil
}

// remote runs an evaluation whose inputs came in a message.
func (s *Session) remote(ctx context.Context, peer *peer, e *Evaluation) (*Outputs, error) {
	reply, err := s.received(peer, e)
	if err != nil {
		return nil, err
	}
	if err := s.evaluate(ctx, e.method(), &e.EvaluateRequest, true, e.ticket); err != nil {
		peer.outputs.Add(-int64(len(reply.Data))) // otherwise WriteResponse does it
		return nil, err
	}
	return reply, nil
}

// launchRemote is remote without waiting.
func (s *Session) launchRemote(peer *peer, e *Evaluation, done func(*Outputs, error)) {
	reply, err := s.received(peer, e)
	if err != nil {
		done(nil, err)
		return
	}
	s.launch(e.method(), &e.EvaluateRequest, func(err error) {
		if err != nil {
			peer.outputs.Add(-int64(len(reply.Data)))
			reply = nil
		}
		done(reply, err)
	})
}

// method returns the method that an evaluation calls.
func (e *Evaluation) method() *Method {
	if e.Async {
		return methodNamed[mEvaluateAsync]
	}
	return methodNamed[mEvaluate]
}

// received adds the surfaces of outputs, which start as zeros, and those that procedures pass to an evaluation that
// came in a message. The answer has the outputs.
func (s *Session) received(peer *peer, e *Evaluation) (*Outputs, error) {
	method := e.method().Name
	in, err := s.instance(method, e.Instance)
	if err != nil {
		return nil, err
	}
	p := in.procedure(e.Procedure)
	if p < 0 {
		return nil, errorf(method, NotFound, "the program has no procedure %q", e.Procedure)
	}
	if p+1+len(e.Then) > len(in.r.procs) {
		return nil, errorf(method, BadArgument, "procedure %q has %d procedures after it, want %d", e.Procedure,
			len(in.r.procs)-p-1, len(e.Then))
	}
	procs := in.r.procs[p : p+1+len(e.Then)]
	outputs := uint64(0)
	for i := range procs {
		for _, port := range procs[i].Ports {
			if port.Output {
				outputs += port.Size
			}
		}
	}
	if outputs > uint64(s.b.lim.MessageBytes) {
		return nil, errorf(method, NoMemory,
			"the outputs have %d bytes, more than the %d of a message; evaluate in the broker's process, or on the "+
				"direct path",
			outputs, s.b.lim.MessageBytes)
	}
	if n := peer.outputs.Add(int64(outputs)); n > s.b.lim.MessageBytes {
		peer.outputs.Add(-int64(outputs))
		return nil, errorf(method, NoMemory,
			"%d bytes of outputs would be under way to the peer; the limit is %d; wait for answers", n,
			s.b.lim.MessageBytes)
	}
	reply := &Outputs{Data: make([]byte, outputs)}
	written := map[string][]byte{}
	rest := reply.Data
	for i := range procs {
		surfaces, passed := &e.Surfaces, map[string]string(nil)
		if i > 0 {
			surfaces, passed = &e.Then[i-1].Surfaces, e.Then[i-1].Passed
		}
		if *surfaces == nil { // as an empty one is received
			*surfaces = map[string][]byte{}
		}
		for _, port := range procs[i].Ports {
			if port.Output {
				(*surfaces)[port.Name], rest = rest[:port.Size:port.Size], rest[port.Size:]
				written[port.Name] = (*surfaces)[port.Name]
			} else if from, ok := passed[port.Name]; ok {
				(*surfaces)[port.Name] = written[from]
			}
		}
	}
	return reply, nil
}
