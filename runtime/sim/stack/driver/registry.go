package driver

import (
	"cmp"
	"encoding/binary"
	"runtime"
	"slices"
	"time"
)

// tokenBase is the first token, modelled; each token is tokenStride above the previous one.
const (
	tokenBase   = 0x0000_00a1_0000_0000
	tokenStride = 0x10
)

func putToken(b []byte, h Handle) { binary.LittleEndian.PutUint64(b, uint64(h)) }

// mint returns a new token.
func (d *Device) mint() Handle { return Handle(tokenBase + d.tokens.Add(1)*tokenStride) }

// admit adds a client.
func (d *Device) admit(c *client) Return {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return Closed
	case len(d.clients) == maxClients:
		return NoResources
	}
	d.lastClient++
	c.id = d.lastClient
	d.clients[c.id] = c
	return Success
}

// dismiss removes a closed client. Without functional clients the device is powered off, unless something keeps it
// resident.
func (d *Device) dismiss(c *client) {
	d.mu.Lock()
	delete(d.clients, c.id)
	delete(d.persistent, c.id)
	idle := d.idle()
	d.mu.Unlock()
	if !idle {
		return
	}
	d.hold(nil, "idle", func(time.Duration) (Return, error) {
		d.mu.Lock()
		still := d.idle()
		d.mu.Unlock()
		if still {
			d.hw.sleep()
		}
		return Success, nil
	})
}

// idle reports whether nobody needs the device; d.mu is held.
func (d *Device) idle() bool {
	if len(d.persistent) > 0 {
		return false
	}
	for _, c := range d.clients {
		if c.row.NeedsKey {
			return false
		}
	}
	return true
}

// newSpace opens a client's address space; the caller holds client.mu.
func (d *Device) newSpace(c *client) *space {
	s := &space{ctx: d.unit.Context(c.id), user: uint32(c.id), refs: 1}
	d.hw.cop.Bind(s.user, s.ctx)
	return s
}

// keep and drop count the users of an address space, which ends with the last one.
func (d *Device) keep(s *space) {
	d.mu.Lock()
	s.refs++
	d.mu.Unlock()
}

func (d *Device) drop(s *space) {
	if s == nil {
		return
	}
	d.mu.Lock()
	s.refs--
	last := s.refs == 0
	d.mu.Unlock()
	if last {
		d.hw.cop.Unbind(s.user)
		s.ctx.Close()
	}
}

// enterInstance assigns a token to an instance, and the client's address space to a program that has none.
func (d *Device) enterInstance(i *instance, s *space) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i.handle = d.mint()
	i.p.handles++
	if i.p.space == nil {
		i.p.space = s
		s.refs++
	}
	d.instances[i.handle] = i
}

// instance returns the instance of a token.
func (d *Device) instance(h Handle) *instance {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.instances[h]
}

// dropInstance ends a token; the gate is held.
func (d *Device) dropInstance(i *instance) {
	d.mu.Lock()
	if i.gone.Load() {
		d.mu.Unlock()
		return
	}
	delete(d.instances, i.handle)
	i.gone.Store(true)
	i.p.handles--
	last := i.p.handles == 0
	d.mu.Unlock()
	if last {
		d.drop(i.p.space)
	}
}

// release releases what a closing client owned.
func (d *Device) release(chains []*chain, instances []*instance, maps []userMapping, s *space) {
	if len(chains)+len(instances)+len(maps) == 0 && s == nil {
		return
	}
	d.hold(nil, "release client", func(time.Duration) (Return, error) {
		for _, c := range chains {
			d.dropChain(c)
		}
		for _, i := range instances {
			d.dropChains(i)
			d.hw.unprepare(i)
			d.dropInstance(i)
		}
		for _, m := range maps {
			m.release()
			d.drop(m.space)
		}
		d.drop(s)
		return Success, nil
	})
}

// hold is gated for actions that must happen: it waits for room at the gate.
func (d *Device) hold(c *client, name string, f func(deadline time.Duration) (Return, error)) (Return, error) {
	for {
		ran := false
		r, err := d.gated(c, name, func(t time.Duration) (Return, error) {
			ran = true
			return f(t)
		})
		if ran || r != NoResources {
			return r, err
		}
		runtime.Gosched()
	}
}

// gated runs a driver method on the command gate's workloop.
func (d *Device) gated(c *client, name string, f func(deadline time.Duration) (Return, error)) (Return, error) {
	return d.queued(c, controlPriority, name, f)
}

// queued is gated for a method that waits among the requests of a priority.
func (d *Device) queued(c *client, priority int, name string, f func(deadline time.Duration) (Return,
	error)) (Return, error) {
	var err error
	a := &action{priority: priority, run: func(a *action) {
		var id uint64
		if c != nil {
			id = c.id
		}
		defer d.trace.Step(name, id, 0).End(&err)
		a.result, err = f(d.clock.Now() + commandDeadline)
	}}
	r := d.gate.do(a)
	return r, err
}

// power brings the device up for a client that opens.
func (d *Device) power() (Return, error) {
	return d.gated(nil, "power", d.hw.up)
}

// status returns the output of selector 7.
func (d *Device) status() Status {
	d.mu.RLock()
	s := Status{Clients: uint32(len(d.clients))}
	seen := map[*program]bool{}
	for _, i := range d.instances {
		if i.prepared.Load() && !seen[i.p] {
			seen[i.p] = true
			s.Programs++
		}
	}
	d.mu.RUnlock()
	d.gate.mu.Lock()
	s.Pending = uint32(len(d.gate.pending))
	d.gate.mu.Unlock()
	s.Restarts, s.Boot, s.BootFailure = uint32(d.hw.cop.RestartCount()), d.hw.boot.Load(), d.hw.failures.Load()
	s.Power, s.Ready = word(d.hw.powered.Load()), word(d.hw.ready.Load())
	return s
}

func word(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// openClients lists the clients by number.
func (d *Device) openClients() []*client {
	d.mu.RLock()
	defer d.mu.RUnlock()
	out := make([]*client, 0, len(d.clients))
	for _, c := range d.clients {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b *client) int { return cmp.Compare(a.id, b.id) })
	return out
}
