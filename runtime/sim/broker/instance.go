package broker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"unsafe"
)

// instance is an instance of a program, of one connection.
type instance struct {
	InstanceRequest
	num   uint64
	model *model // nil for an adapter
	r     *resident
	class *QoSClass
	depth int

	// Broker.load and Broker.mu guard these, as those of the program.
	handle Handle
	epoch  uint64 // the program's preparation that handle belongs to

	// Broker.mu guards the rest.
	gone    bool
	direct  bool
	running int           // evaluations between begin and finish
	last    chan struct{} // closed when the latest asynchronous call has its place
	free    []*bindings   // sets that nobody uses, the last used on top
	tokens  chan struct{} // one for each set
	made    []*bindings
}

func byNumber(a, c *instance) int { return cmp.Compare(a.num, c.num) }

func (in *instance) options() PrepareOptions {
	return PrepareOptions{
		QoS: in.class.QoS, Priority: in.class.Priority, QueueDepth: in.depth,
		PowerSaving: in.EnablePowerSaving, Aggressive: in.AggressivePowerSaving, KeepWired: in.OptOutOfModelMemoryUnwiring,
	}
}

// CreateInstance makes an instance of a loaded model.
func (s *Session) CreateInstance(ctx context.Context, req InstanceRequest) (reply *InstanceReply, err error) {
	end, err := s.enter(ctx, mInstance, &req)
	if err != nil {
		return nil, err
	}
	defer func() { end(err) }()
	b := s.b
	b.load.Lock()
	defer b.load.Unlock()
	b.mu.Lock()
	m := s.models[req.Model]
	b.mu.Unlock()
	if m == nil {
		return nil, errorf(mInstance, NotFound, "the connection has no model %d", req.Model)
	}
	return s.instantiate(mInstance, req, m, m.r)
}

// instantiate makes an instance; load is held.
func (s *Session) instantiate(method string, req InstanceRequest, m *model, r *resident) (*InstanceReply, error) {
	b := s.b
	if req.AggressivePowerSaving && req.OptOutOfModelMemoryUnwiring {
		return nil, errorf(method, BadArgument, "aggressive power saving takes the memory that opting out of unwiring keeps; ask for one of them")
	}
	if req.QueueDepth < 0 || req.QueueDepth > b.lim.QueueDepth {
		return nil, errorf(method, BadArgument, "queue depth %d: 0 to %d are allowed", req.QueueDepth, b.lim.QueueDepth)
	}
	c, _ := req.QoS.class()
	in := &instance{InstanceRequest: req, model: m, r: r, class: c}
	b.mu.Lock()
	if err := s.mayHold(method, in); err != nil {
		b.mu.Unlock()
		return nil, err
	}
	in.depth = b.grant(s, max(1, req.QueueDepth))
	b.next++
	in.num = b.next
	s.held++
	b.slots += in.depth
	r.instances[in] = true
	b.use++
	r.lastUse = b.use
	b.mu.Unlock()
	in.tokens = make(chan struct{}, in.depth)
	if err := b.wire(method, r, in); err != nil {
		s.end(in)
		return nil, err
	}
	b.mu.Lock()
	closed := s.closed
	if !closed {
		s.instances[in.num] = in
	}
	b.mu.Unlock()
	if closed {
		s.end(in)
		return nil, errorf(method, Aborted, "the connection closed")
	}
	return &InstanceReply{Instance: in.num, QueueDepth: in.depth, Queue: c.Queue, Priority: c.Priority, Procedures: r.procs}, nil
}

// mayHold checks the limits of a further instance; mu is held. A tenant may keep
// half of the memory that can be wired from being unwired (modelled).
func (s *Session) mayHold(method string, in *instance) error {
	b := s.b
	if s.held >= b.lim.Instances {
		return errorf(method, NoResources, "the connection has %d instances, the limit; release one", s.held)
	}
	if !in.OptOutOfModelMemoryUnwiring {
		return nil
	}
	kept := in.r.size
	for _, r := range b.byID {
		if r != in.r && r.key.owner == s.owner && r.kept() {
			kept += r.size
		}
	}
	if kept > b.lim.WiredBytes/2 {
		return errorf(method, NoMemory, "%d bytes would be opted out of unwiring, the limit is %d, half of what can be wired", kept, b.lim.WiredBytes/2)
	}
	return nil
}

// grant reduces a queue depth under contention (modelled): alone, a connection
// gets what is free; when others have instances, at most its share of all slots;
// always at least 1. Depths that were granted stay. mu is held.
func (b *Broker) grant(s *Session, want int) int {
	free := b.lim.QueueSlots - b.slots
	holders := 1
	for _, o := range b.sessions {
		if o != s && o.held > 0 {
			holders++
		}
	}
	if holders > 1 {
		free = min(free, b.lim.QueueSlots/holders)
	}
	return max(1, min(want, free))
}

// end ends an instance, when what it runs is done; load is held. The program of an
// adapter goes with it.
func (s *Session) end(in *instance) {
	b, r := s.b, in.r
	b.mu.Lock()
	delete(s.instances, in.num)
	in.gone = true
	for in.running > 0 {
		r.idle.Wait()
	}
	delete(r.instances, in)
	s.held--
	b.slots -= in.depth
	if in.direct {
		r.direct--
	}
	made := in.epoch != 0 && in.epoch == r.epoch && r.wired
	b.mu.Unlock()
	if made {
		r.svc.Unprepare(in.handle)
		r.svc.Destroy(in.handle)
	}
	for _, set := range in.made {
		set.release(r.svc)
	}
	if in.model == nil {
		b.mu.Lock()
		s.bytes -= int64(len(r.container))
		b.mu.Unlock()
		b.drop(r)
	}
}

// ReleaseInstance ends an instance.
func (s *Session) ReleaseInstance(ctx context.Context, req ReleaseRequest) (err error) {
	end, err := s.enter(ctx, mRelease, &req)
	if err != nil {
		return err
	}
	defer func() { end(err) }()
	s.b.load.Lock()
	defer s.b.load.Unlock()
	in, err := s.instance(mRelease, req.Instance)
	if err != nil {
		return err
	}
	s.end(in)
	return nil
}

// instance finds an instance of the connection.
func (s *Session) instance(method string, num uint64) (*instance, error) {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	if in := s.instances[num]; in != nil {
		return in, nil
	}
	return nil, errorf(method, NotFound, "the connection has no instance %d", num)
}

// OpenDirectPath gives the handles of the direct path.
func (s *Session) OpenDirectPath(ctx context.Context, req DirectPathRequest) (reply *DirectPathReply, err error) {
	end, err := s.enter(ctx, mDirect, &req)
	if err != nil {
		return nil, err
	}
	defer func() { end(err) }()
	b := s.b
	b.load.Lock()
	defer b.load.Unlock()
	in, err := s.instance(mDirect, req.Instance)
	if err != nil {
		return nil, err
	}
	if err := b.wire(mDirect, in.r, in); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !in.direct {
		in.direct = true
		in.r.direct++
	}
	return &DirectPathReply{Program: uint64(in.handle), IntermediateBuffer: uint64(in.r.intermediate)}, nil
}

// Evaluate runs a procedure on surfaces, in place.
func (s *Session) Evaluate(ctx context.Context, req EvaluateRequest) error {
	return s.evaluate(ctx, mEvaluate, req, false, nil)
}

// EvaluateAsync runs a procedure; done is called when it has run, or cannot. Calls
// of one caller on one instance get their places in the order in which they came.
func (s *Session) EvaluateAsync(ctx context.Context, req EvaluateRequest, done func(error)) {
	turn := s.turn(req.Instance)
	go func() { done(s.evaluate(ctx, mEvaluateAsync, req, false, turn)) }()
}

// turn is the place of an asynchronous call among those of its instance.
type turn struct{ before, mine chan struct{} }

func (s *Session) turn(num uint64) *turn {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	in := s.instances[num]
	if in == nil {
		return nil
	}
	t := &turn{in.last, make(chan struct{})}
	in.last = t.mine
	return t
}

// wait returns when all calls before have a place, or were given up.
func (t *turn) wait(ctx, connection context.Context) {
	if t == nil || t.before == nil {
		return
	}
	select {
	case <-t.before:
	case <-ctx.Done():
	case <-connection.Done():
	}
}

// pass lets the next call go, after those before.
func (t *turn) pass() {
	if t == nil {
		return
	}
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

// evaluate runs a procedure. The slices of a passing caller will not come again.
func (s *Session) evaluate(ctx context.Context, method string, req EvaluateRequest, passing bool, t *turn) (err error) {
	passed := false
	pass := func() {
		if !passed {
			passed = true
			t.pass()
		}
	}
	defer pass()
	end, err := s.enter(ctx, method, &req)
	if err != nil {
		return err
	}
	defer func() { end(err) }()
	in, err := s.instance(method, req.Instance)
	if err != nil {
		return err
	}
	p, surfaces, err := in.arrange(method, &req)
	if err != nil {
		return err
	}
	class := in.class
	if req.QoS != 0 {
		class, _ = req.QoS.class()
	}
	t.wait(ctx, s.ctx)
	select {
	case in.tokens <- struct{}{}:
		pass()
	case <-ctx.Done():
		return errorf(method, Aborted, "waiting for one of %d places: %v", in.depth, ctx.Err())
	case <-s.ctx.Done():
		return errorf(method, Aborted, "waiting for one of %d places: the connection closed", in.depth)
	}
	b := s.b
	handle, set, err := b.begin(method, in)
	if err != nil {
		b.leave(in, nil)
		return err
	}
	r := Request{Handle: handle, Procedure: p, Priority: class.Priority, Queue: class.Queue, QoS: class.QoS}
	ports := in.r.procs[p].Ports
	err = set.bind(in.r.svc, p, ports, surfaces, passing, &r)
	if err == nil {
		err = in.r.svc.SendRequest(&r)
		set.settle(p, ports, surfaces, err == nil)
	}
	b.finish(in, set)
	if err != nil {
		return failed(method, "send request", err)
	}
	return nil
}

// procedure is the index of a procedure, the first for no name; -1 without one.
func (in *instance) procedure(name string) int {
	return slices.IndexFunc(in.r.procs, func(p Procedure) bool { return name == "" || p.Name == name })
}

// arrange finds the procedure and puts the surfaces in the order of its ports.
func (in *instance) arrange(method string, req *EvaluateRequest) (int, [][]byte, error) {
	procs := in.r.procs
	p := in.procedure(req.Procedure)
	if p < 0 {
		return 0, nil, errorf(method, NotFound, "the program has no procedure %q", req.Procedure)
	}
	ports := procs[p].Ports
	surfaces := make([][]byte, len(ports))
	for i := range ports {
		b, ok := req.Surfaces[ports[i].Name]
		if !ok {
			return 0, nil, errorf(method, BadArgument, "procedure %q: port %q has no surface", procs[p].Name, ports[i].Name)
		}
		if uint64(len(b)) != ports[i].Size {
			return 0, nil, errorf(method, BadArgument, "procedure %q: port %q has a surface of %d bytes, wanted %d", procs[p].Name, ports[i].Name, len(b), ports[i].Size)
		}
		surfaces[i] = b
	}
	if len(req.Surfaces) > len(ports) {
		return 0, nil, errorf(method, BadArgument, "procedure %q has %d ports, and %d surfaces are given; leave those out that it does not name", procs[p].Name, len(ports), len(req.Surfaces))
	}
	return p, surfaces, nil
}

// begin makes sure that the program is wired, counts the evaluation and gives it a
// set of bindings. The caller has a token.
func (b *Broker) begin(method string, in *instance) (Handle, *bindings, error) {
	r := in.r
	b.mu.Lock()
	if !r.wired || in.epoch != r.epoch {
		b.mu.Unlock()
		b.load.Lock()
		defer b.load.Unlock()
		b.mu.Lock()
		gone := in.gone
		b.mu.Unlock()
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

// finish ends an evaluation; a program whose every instance saves power
// aggressively loses its memory when nothing runs.
func (b *Broker) finish(in *instance, set *bindings) {
	r := in.r
	b.mu.Lock()
	r.busy--
	in.running--
	b.use++
	r.lastUse = b.use
	save := r.busy == 0 && in.AggressivePowerSaving
	r.idle.Broadcast()
	b.mu.Unlock()
	b.leave(in, set)
	if !save {
		return
	}
	b.load.Lock()
	defer b.load.Unlock()
	b.mu.Lock()
	save = r.mayUnwire() && len(r.instances) > 0
	for o := range r.instances {
		save = save && o.AggressivePowerSaving
	}
	b.mu.Unlock()
	if save {
		b.unwire(r, "power saving")
	}
}

// leave gives token and bindings back.
func (b *Broker) leave(in *instance, set *bindings) {
	b.mu.Lock()
	if set != nil {
		in.free = append(in.free, set)
	}
	<-in.tokens
	b.mu.Unlock()
}

// maxBound is how many different slices of one port a set binds in place; what
// comes after is copied through a surface of the set's own.
const maxBound = 4

// bindings are the surfaces of one evaluation at a time: for each port those of
// the caller's slices that were seen before, and one to copy through.
type bindings struct {
	ports [][]bound // by procedure and port, flattened at first use
	start []int
}

type bound struct {
	id    uint32
	bytes []byte
	own   bool // the set's own, to copy through
}

// bind gives every port a surface and writes them into the request.
func (s *bindings) bind(svc Services, p int, ports []Port, surfaces [][]byte, passing bool, r *Request) error {
	for len(s.start) <= p {
		s.start = append(s.start, -1)
	}
	if s.start[p] < 0 {
		s.start[p] = len(s.ports)
		s.ports = append(s.ports, make([][]bound, len(ports))...)
	}
	for i := range ports {
		known := &s.ports[s.start[p]+i]
		id, err := s.surface(svc, known, surfaces[i], passing)
		if err != nil {
			return fmt.Errorf("port %q: %w", ports[i].Name, err)
		}
		if ports[i].Output {
			r.Outputs = append(r.Outputs, id)
		} else {
			r.Inputs = append(r.Inputs, id)
		}
	}
	return nil
}

// surface finds or makes the surface of a slice. The one used comes first.
func (s *bindings) surface(svc Services, known *[]bound, b []byte, passing bool) (uint32, error) {
	find := func(own bool) int {
		return slices.IndexFunc(*known, func(k bound) bool {
			return k.own == own && (own || len(b) > 0 && unsafe.SliceData(k.bytes) == unsafe.SliceData(b) && len(k.bytes) == len(b))
		})
	}
	i := -1
	if !passing {
		i = find(false)
	}
	own := passing || i < 0 && len(*known) > maxBound
	if i < 0 && own {
		i = find(true)
	}
	if i < 0 {
		k := bound{bytes: b, own: own}
		if own {
			k.bytes = make([]byte, len(b))
		}
		if k.id = svc.CreateSurface(k.bytes); k.id == 0 {
			return 0, errNoSurface
		}
		*known = append(*known, k)
		i = len(*known) - 1
	}
	k := (*known)[i]
	copy((*known)[1:i+1], (*known)[:i])
	(*known)[0] = k
	if k.own {
		copy(k.bytes, b)
	}
	return k.id, nil
}

// settle copies what ran through surfaces of the set back to the caller's slices.
func (s *bindings) settle(p int, ports []Port, surfaces [][]byte, ran bool) {
	for i := range ports {
		if k := s.ports[s.start[p]+i][0]; ran && ports[i].Output && k.own {
			copy(surfaces[i], k.bytes)
		}
	}
}

// release gives the surfaces back.
func (s *bindings) release(svc Services) {
	for _, known := range s.ports {
		for _, k := range known {
			svc.ReleaseSurface(k.id)
		}
	}
}
