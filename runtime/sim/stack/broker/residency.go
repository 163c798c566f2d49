package broker

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"github.com/zinc-compiler/zinc/internal/locked"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// connection is a tenant's connection to the driver. It is open while the tenant has a program.
type connection struct {
	svc      Services
	programs int
}

// residentKey identifies a resident program. Process is 0 if the program is shared, otherwise the only process that
// uses it; adapter is 0, or the program's own number for an adapter, so that adapters never share a program.
type residentKey struct {
	owner   tenant
	digest  [32]byte
	process int
	adapter uint64
}

// resident is a program that the engine can run.
type resident struct {
	id        uint64
	key       residentKey
	class     *QoSClass // of the call that made it
	conn      *connection
	svc       Services
	container []byte
	procs     []Procedure
	program   Handle
	base      *resident // of an adapter

	// Broker.load guards the program's state in the driver, together with Broker.mu for the fields that Evaluate reads.
	wired        bool
	epoch        uint64 // counts preparations; instances of an earlier one are stale
	size         int64  // bytes that it takes when wired
	intermediate uint32

	// Broker.mu guards the rest.
	names     map[string]int // identifiers, and how many loads named each
	holders   int            // loaded models and adapters that use it
	instances map[*instance]bool
	busy      int // evaluations under way
	idle      *sync.Cond
	direct    int // instances that are driven directly: their memory stays
	lastUse   uint64
}

// shared reports whether other processes of the tenant may use the program.
func (r *resident) shared() bool { return r.key.process == 0 && r.key.adapter == 0 }

// mayAttach is the rule of residency: a second client may use a resident program only if its team identifier and
// code-directory hash are the owner's and the program is shared or belongs to its own process.
func (s *Session) mayAttach(r *resident) bool {
	return s.owner == r.key.owner && r.key.adapter == 0 && (r.shared() || r.key.process == s.id.PID)
}

// process returns the process in the keys of a caller's private programs.
func (s *Session) process(share bool) int {
	if share {
		return 0
	}
	return s.id.PID
}

// open finds or opens the tenant's connection to the driver; load is held.
func (b *Broker) open(s *Session) (*connection, error) {
	b.mu.Lock()
	c := b.tenants[s.owner]
	b.mu.Unlock()
	if c != nil {
		return c, nil
	}
	svc, err := b.cfg.Kernel.Open(s.id)
	if err != nil {
		return nil, err
	}
	c = &connection{svc: svc}
	b.mu.Lock()
	b.tenants[s.owner] = c
	b.mu.Unlock()
	return c, nil
}

// release closes the tenant's connection when it has no program left; load is
// held.
func (b *Broker) release(owner tenant, c *connection) {
	if c.programs > 0 {
		return
	}
	b.mu.Lock()
	delete(b.tenants, owner)
	b.mu.Unlock()
	c.svc.Close()
}

// create makes a container resident; load is held. The program is not wired and has no holder yet.
func (b *Broker) create(s *Session, key residentKey, container []byte, procs []Procedure, q QoS) (*resident, error) {
	c, err := b.open(s)
	if err != nil {
		return nil, err
	}
	h, err := c.svc.ProgramCreate(container)
	if err != nil {
		b.release(s.owner, c)
		return nil, err
	}
	c.programs++
	class, _ := q.class()
	r := &resident{
		key: key, class: class, conn: c, svc: c.svc, container: container, procs: procs, program: h,
		size: int64(len(container)), names: map[string]int{}, instances: map[*instance]bool{},
		idle: sync.NewCond(&b.mu),
	}
	b.mu.Lock()
	b.next++
	r.id = b.next
	if r.key.adapter != 0 {
		r.key.adapter = r.id
	}
	b.use++
	r.lastUse = b.use
	b.residents[r.key], b.byID[r.id] = r, r
	b.mu.Unlock()
	return r, nil
}

// drop removes one holder of a program and ends the program with the last one; load is held.
func (b *Broker) drop(r *resident) {
	for r != nil {
		b.mu.Lock()
		r.holders--
		last := r.holders <= 0
		if last {
			delete(b.residents, r.key)
			delete(b.byID, r.id)
			for r.busy > 0 {
				r.idle.Wait()
			}
		}
		b.mu.Unlock()
		if !last {
			return
		}
		b.unwire(r, "no holder")
		r.svc.Destroy(r.program)
		r.conn.programs--
		b.release(r.key.owner, r.conn)
		r = r.base
	}
}

// wire prepares a program and, if in is not nil, creates its instance in the driver; load is held. Idle programs lose
// their memory when the budget or the driver requires it.
func (b *Broker) wire(method string, r *resident, in *instance) error {
	for !r.wired {
		if r.size > b.lim.WiredBytes {
			return errorf(method, NoMemory, "the program takes %d bytes; all wired programs together may take %d",
				r.size,
				b.lim.WiredBytes)
		}
		if b.wiredBytes()+r.size > b.lim.WiredBytes {
			if !b.unwireOne(r, "budget") {
				return errorf(method, NoMemory, "%d of %d bytes are wired by programs that are in use or opted out "+
					"of unwiring, and the program takes %d; release an instance", b.wiredBytes(), b.lim.WiredBytes,
					r.size)
			}
			continue
		}
		p, err := r.svc.Prepare(r.program, PrepareOptions{QoS: r.class.QoS, Priority: r.class.Priority})
		if err != nil {
			if short(err) && b.unwireOne(r, "driver") {
				continue
			}
			return failed(method, "prepare", err)
		}
		b.mu.Lock()
		r.wired, r.epoch, r.intermediate = true, r.epoch+1, p.Intermediate
		if p.Resident > 0 {
			r.size = p.Resident
		}
		b.wired += r.size
		b.mu.Unlock()
		b.log.Note("wireModel", 0, 0, trace.Number("resident", r.id), trace.Number("bytes", r.size))
	}
	if in == nil || in.epoch == r.epoch {
		return nil
	}
	for {
		h, err := r.svc.CreateInstance(r.program, in.options())
		if err == nil {
			b.mu.Lock()
			in.handle, in.epoch = h, r.epoch
			b.mu.Unlock()
			return nil
		}
		if !short(err) || !b.unwireOne(r, "driver") {
			return failed(method, "create instance", err)
		}
	}
}

func (b *Broker) wiredBytes() int64 { return locked.Get(&b.mu, &b.wired) }

// unwireOne releases the memory of the least recently used idle program: first among programs whose instances all save
// power, then among those that no instance keeps. The caller holds load.
func (b *Broker) unwireOne(but *resident, why string) bool {
	b.mu.Lock()
	var idle []*resident
	for _, r := range b.byID {
		if r != but && r.mayUnwire() {
			idle = append(idle, r)
		}
	}
	if len(idle) == 0 {
		b.mu.Unlock()
		return false
	}
	first := slices.MinFunc(idle, func(a, c *resident) int {
		return cmp.Or(cmp.Compare(a.rank(), c.rank()), cmp.Compare(a.lastUse, c.lastUse))
	})
	b.mu.Unlock()
	b.unwire(first, why)
	return true
}

// mayUnwire reports whether a program's memory may be released; mu is held.
func (r *resident) mayUnwire() bool {
	if !r.wired || r.busy > 0 || r.direct > 0 {
		return false
	}
	return !r.kept()
}

// kept reports whether an instance opts out of unwiring; mu is held.
func (r *resident) kept() bool {
	for in := range r.instances {
		if in.OptOutOfModelMemoryUnwiring {
			return true
		}
	}
	return false
}

// rank returns 0 for a program all of whose instances save power, otherwise 1 (modelled).
func (r *resident) rank() int {
	if len(r.instances) == 0 {
		return 1
	}
	for in := range r.instances {
		if !in.EnablePowerSaving && !in.AggressivePowerSaving {
			return 1
		}
	}
	return 0
}

// unwire releases a program's memory; load is held. If the program is in use, unwire returns false and keeps the
// memory.
func (b *Broker) unwire(r *resident, why string) bool {
	b.mu.Lock()
	if !r.wired || r.busy > 0 {
		b.mu.Unlock()
		return false
	}
	r.wired = false
	b.wired -= r.size
	var made []*instance
	for in := range r.instances {
		if in.epoch == r.epoch {
			made = append(made, in)
			in.epoch = 0
		}
	}
	b.mu.Unlock()
	slices.SortFunc(made, func(a, c *instance) int { return cmp.Compare(a.handle, c.handle) })
	for _, in := range made {
		in.drop()
		r.svc.Unprepare(in.handle)
		r.svc.Destroy(in.handle)
	}
	r.svc.Unprepare(r.program)
	b.log.Note("unwireModel", 0, 0, trace.Number("resident", r.id), trace.Text("why", why))
	return true
}

// short reports whether the driver failed for want of memory or slots.
func short(err error) bool {
	var r returner
	if !errors.As(err, &r) {
		return false
	}
	return r.IOReturn() == codes[NoMemory].ret || r.IOReturn() == codes[NoResources].ret
}

// failed returns an Error for an error of the driver or the compiler.
func failed(method, what string, err error) error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	e := errorf(method, Failed, "%s: %v", what, err)
	e.cause = err
	var r returner
	if errors.As(err, &r) {
		e.Return = r.IOReturn()
	}
	return e
}
