package broker

import (
	"context"
	"maps"
	"net"
	"net/rpc"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zinc-compiler/zinc/internal/locked"
)

// Remote is a connection to a broker over a Unix socket.
type Remote struct {
	rpc    *rpc.Client
	tier   Tier
	number atomic.Uint64

	mu        sync.Mutex
	instances map[uint64]remoteInstance

	seat  int // of a client in lockstep; otherwise 0
	clock RemoteClock
}

// RemoteClock is the virtual clock of a client in lockstep: the time of its last answer, and what it has spent since.
type RemoteClock struct {
	mu    sync.Mutex
	now   time.Duration
	after time.Duration // spent
}

// Now returns the client's time.
func (c *RemoteClock) Now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now + c.after
}

// Advance lets time pass.
func (c *RemoteClock) Advance(d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.after += max(d, 0)
	return nil
}

// take returns the time spent since the last answer.
func (c *RemoteClock) take() time.Duration { return locked.Get(&c.mu, &c.after) }

// answered sets the time of an answer.
func (c *RemoteClock) answered(at time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now, c.after = at, 0
}

// Clock returns the client's clock, nil unless it runs in lockstep.
func (r *Remote) Clock() *RemoteClock {
	if r.seat == 0 {
		return nil
	}
	return &r.clock
}

// remoteInstance is the caller's side of an instance.
type remoteInstance struct {
	model uint64 // 0 for an adapter
	procs []Procedure
}

var _ Client = (*Remote)(nil)

// Dial connects to the broker that listens at a path and claims the identity, which the broker's Attest checks.
func Dial(ctx context.Context, path string, id Identity) (*Remote, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	return NewRemote(ctx, c, id)
}

// NewRemote is Dial on an existing connection, which it closes if the broker refuses.
func NewRemote(ctx context.Context, c net.Conn, id Identity) (*Remote, error) {
	r := &Remote{rpc: rpc.NewClient(c), instances: map[uint64]remoteInstance{}, seat: id.Seat}
	var a Answer[Tier]
	err := r.wait(ctx, r.rpc.Go(serviceName+".Hello", &id, &a, make(chan *rpc.Call, 1)), 0)
	if err == nil && a.Err != nil {
		err = a.Err
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	r.tier = a.Value
	return r, nil
}

// wait waits for a call. When the context ends first, it asks the broker to cancel the call and still waits for the
// answer, since the reply may be written until then.
func (r *Remote) wait(ctx context.Context, c *rpc.Call, number uint64) error {
	select {
	case <-c.Done:
		return c.Error
	case <-ctx.Done():
	}
	if number == 0 {
		r.Close()
	} else {
		r.rpc.Go(serviceName+".Cancel", number, &Answer[Nothing]{}, make(chan *rpc.Call, 1))
	}
	<-c.Done
	return c.Error
}

// pending is a call under way.
type pending[R any] struct {
	call   *rpc.Call
	number uint64
	out    Answer[R]
}

// start sends a call of a method; it has been sent when start returns.
func start[A, R any](r *Remote, method string, a A) *pending[R] {
	p := &pending[R]{number: r.number.Add(1)}
	p.call = r.rpc.Go(serviceName+"."+method, &Call[A]{p.number, r.clock.take(), a}, &p.out, make(chan *rpc.Call, 1))
	return p
}

// answer waits for a call.
func (p *pending[R]) answer(ctx context.Context, r *Remote) (*R, error) {
	if err := r.wait(ctx, p.call, p.number); err != nil {
		return nil, err
	}
	if p.out.Now > 0 {
		r.clock.answered(p.out.Now)
	}
	if p.out.Err != nil {
		return nil, p.out.Err
	}
	return &p.out.Value, nil
}

// call sends a call of a method and waits for its answer.
func call[A, R any](ctx context.Context, r *Remote, method string, a A) (*R, error) {
	return start[A, R](r, method, a).answer(ctx, r)
}

// Status describes what the daemon does.
func (r *Remote) Status(ctx context.Context) (*Status, error) {
	return call[Nothing, Status](ctx, r, "Status", Nothing{})
}

// Compile compiles a model, or finds it in the caller's partition.
func (r *Remote) Compile(ctx context.Context, req CompileRequest) (*CompileReply, error) {
	return call[CompileRequest, CompileReply](ctx, r, "Compile", req)
}

// Load makes a container resident, or attaches to the tenant's resident program.
func (r *Remote) Load(ctx context.Context, req LoadRequest) (*LoadReply, error) {
	return call[LoadRequest, LoadReply](ctx, r, "Load", req)
}

// Attach shares a resident program of another process.
func (r *Remote) Attach(ctx context.Context, req AttachRequest) (*LoadReply, error) {
	return call[AttachRequest, LoadReply](ctx, r, "Attach", req)
}

// CreateInstance creates an instance of a loaded model.
func (r *Remote) CreateInstance(ctx context.Context, req InstanceRequest) (*InstanceReply, error) {
	in, err := call[InstanceRequest, InstanceReply](ctx, r, "CreateInstance", req)
	return r.keep(req.Model, in, err)
}

// CreateInstanceWithWeights creates an instance of a base with weight files.
func (r *Remote) CreateInstanceWithWeights(ctx context.Context, req WeightsRequest) (*InstanceReply, error) {
	in, err := call[WeightsRequest, InstanceReply](ctx, r, "CreateInstanceWithWeights", req)
	return r.keep(0, in, err)
}

// keep remembers what an instance can run.
func (r *Remote) keep(model uint64, in *InstanceReply, err error) (*InstanceReply, error) {
	if err == nil {
		r.mu.Lock()
		r.instances[in.Instance] = remoteInstance{model, in.Procedures}
		r.mu.Unlock()
	}
	return in, err
}

// Evaluate sends the inputs, waits, and writes the outputs into their surfaces.
func (r *Remote) Evaluate(ctx context.Context, req EvaluateRequest) error {
	finish, err := r.evaluate(req, false)
	if err != nil {
		return err
	}
	return finish(ctx)
}

// EvaluateAsync sends the inputs and returns; the outputs are written before done
// is called.
func (r *Remote) EvaluateAsync(ctx context.Context, req EvaluateRequest, done func(error)) {
	finish, err := r.evaluate(req, true)
	go func() {
		if err == nil {
			err = finish(ctx)
		}
		done(err)
	}()
}

// evaluate sends an evaluation; the function that it returns waits for the end.
func (r *Remote) evaluate(req EvaluateRequest, async bool) (func(context.Context) error, error) {
	r.mu.Lock()
	procs := r.instances[req.Instance].procs
	r.mu.Unlock()
	in := &instance{r: &resident{procs: procs}}
	if procs == nil {
		return nil, errorf(mEvaluate, NotFound, "the connection has no instance %d", req.Instance)
	}
	p, surfaces, err := in.arrange(mEvaluate, &req, nil)
	if err != nil {
		return nil, err
	}
	procs = procs[p : p+1+len(req.Then)]
	e := Evaluation{EvaluateRequest: req, Async: async}
	e.Then = nil
	var outputs [][]byte
	wanted := 0
	for k := range procs {
		inputs, passed := map[string][]byte{}, map[string]string(nil)
		if k > 0 {
			passed = req.Then[k-1].Passed
			e.Then = append(e.Then, Segment{procs[k].Name, inputs, passed})
		} else {
			e.Surfaces = inputs
		}
		for i, port := range procs[k].Ports {
			if port.Output {
				outputs = append(outputs, surfaces[i])
				wanted += len(surfaces[i])
			} else if _, ok := passed[port.Name]; !ok {
				inputs[port.Name] = surfaces[i]
			}
		}
		surfaces = surfaces[len(procs[k].Ports):]
	}
	sent := start[Evaluation, Outputs](r, "Evaluate", e)
	return func(ctx context.Context) error {
		out, err := sent.answer(ctx, r)
		if err != nil {
			return err
		}
		if len(out.Data) != wanted {
			return errorf(mEvaluate, Failed, "the broker sent %d bytes of outputs, want %d", len(out.Data), wanted)
		}
		data := out.Data
		for _, b := range outputs {
			data = data[copy(b, data):]
		}
		return nil
	}, nil
}

// OpenDirectPath returns the handles of the direct path.
func (r *Remote) OpenDirectPath(ctx context.Context, req DirectPathRequest) (*DirectPathReply, error) {
	return call[DirectPathRequest, DirectPathReply](ctx, r, "OpenDirectPath", req)
}

// PrepareChaining creates a chain of a procedure of an instance.
func (r *Remote) PrepareChaining(ctx context.Context, req ChainingRequest) (*ChainingReply, error) {
	return call[ChainingRequest, ChainingReply](ctx, r, "PrepareChaining", req)
}

// ReleaseInstance ends an instance.
func (r *Remote) ReleaseInstance(ctx context.Context, req ReleaseRequest) error {
	_, err := call[ReleaseRequest, Nothing](ctx, r, "ReleaseInstance", req)
	if err == nil {
		r.mu.Lock()
		delete(r.instances, req.Instance)
		r.mu.Unlock()
	}
	return err
}

// Unload ends the caller's use of a resident program.
func (r *Remote) Unload(ctx context.Context, req UnloadRequest) error {
	_, err := call[UnloadRequest, Nothing](ctx, r, "Unload", req)
	if err == nil && req.Model != 0 {
		r.mu.Lock()
		maps.DeleteFunc(r.instances, func(_ uint64, in remoteInstance) bool { return in.model == req.Model })
		r.mu.Unlock()
	}
	return err
}

// Purge drops compiled models from the cache.
func (r *Remote) Purge(ctx context.Context, req PurgeRequest) (*PurgeReply, error) {
	return call[PurgeRequest, PurgeReply](ctx, r, "Purge", req)
}

// Close ends the connection; the broker releases what it holds.
func (r *Remote) Close() error { return r.rpc.Close() }
