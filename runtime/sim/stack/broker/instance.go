package broker

import (
	"cmp"
	"context"
	"io"
)

// instance is an instance of a program, of one connection.
type instance struct {
	InstanceRequest
	num   uint64
	model *model // nil for an adapter
	r     *resident
	class *QoSClass
	depth int

	// Broker.load and Broker.mu guard these fields, like the fields of the program.
	handle Handle
	epoch  uint64 // the program's preparation that handle belongs to

	// Broker.mu guards the rest.
	gone    bool
	direct  bool
	revoke  []io.Closer   // connections that use the instance, closed before it is released
	chains  Services      // the connection of its chains
	running int           // evaluations between begin and finish
	last    chan struct{} // closed when the latest asynchronous call has its place
	free    []*bindings   // unused sets, the last used on top
	tokens  chan struct{} // one for each set
	made    []*bindings

	// steps, by procedure, are guarded by the one token of an instance of depth 1; while nothing runs, by Broker.load.
	steps []follow
}

func byNumber(a, c *instance) int { return cmp.Compare(a.num, c.num) }

func (in *instance) options() PrepareOptions {
	return PrepareOptions{
		QoS: in.class.QoS, Priority: in.class.Priority, QueueDepth: in.depth,
		PowerSaving: in.EnablePowerSaving, Aggressive: in.AggressivePowerSaving,
		KeepWired: in.OptOutOfModelMemoryUnwiring,
	}
}

// CreateInstance creates an instance of a loaded model.
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

// instantiate creates an instance; load is held.
func (s *Session) instantiate(method string, req InstanceRequest, m *model, r *resident) (*InstanceReply, error) {
	b := s.b
	if req.AggressivePowerSaving && req.OptOutOfModelMemoryUnwiring {
		return nil, errorf(method, BadArgument,
			"aggressive power saving takes the memory that opting out of unwiring keeps; ask for one of them")
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
	return &InstanceReply{
		Instance:   in.num,
		QueueDepth: in.depth,
		Queue:      QueueIndex(c.QoS),
		Priority:   c.Priority,
		Procedures: r.procs,
	}, nil
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
		return errorf(method, NoMemory, "%d bytes would be opted out of unwiring; the limit is %d, half of what "+
			"can be wired", kept, b.lim.WiredBytes/2)
	}
	return nil
}

// grant reduces a queue depth under contention (modelled): the only connection with instances gets what is free;
// otherwise a connection gets at most its share of all slots, and always at least 1. Depths that were granted stay. mu
// is held.
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

// end ends an instance when its evaluations have finished; load is held. The program of an adapter ends with it.
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
	revoke := in.revoke
	in.revoke = nil
	b.mu.Unlock()
	in.drop()
	for _, c := range revoke {
		c.Close()
	}
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
