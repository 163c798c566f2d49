package translation

import (
	"container/list"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/zinc-compiler/zinc/internal/locked"
)

// Context is one client's address space. Addresses are valid only in their own context.
type Context struct {
	unit   *Unit
	client uint64
	losses atomic.Uint64

	// Guarded by unit.mu.
	slot int
	elem *list.Element
	pins int
	gone bool

	mu     sync.Mutex
	closed bool
	table  pageTable
	maps   []*Mapping // by address
	idle   list.List  // of *Mapping without users, least recently used first
	byHost map[hostKey]*Mapping
}

// hostKey is a buffer's identity: the same bytes under the same usage share
// one mapping.
type hostKey struct {
	at    *byte
	len   int
	usage Usage
}

// Mapping is a host buffer in a client's aperture. Map returns it pinned; Release allows it to be evicted.
type Mapping struct {
	ctx   *Context
	addr  uint64
	host  []byte
	usage Usage
	allow Access

	// Guarded by ctx.mu.
	users int
	elem  *list.Element
	idle  time.Duration // since when it has no user
	gone  bool
}

// Addr returns the device address of the buffer's first byte.
func (m *Mapping) Addr() uint64 { return m.addr }

// Len returns the buffer's length in bytes.
func (m *Mapping) Len() int { return len(m.host) }

// Of reports whether the mapping is of this buffer.
func (m *Mapping) Of(host []byte) bool {
	return len(m.host) == len(host) && unsafe.SliceData(m.host) == unsafe.SliceData(host)
}

func (m *Mapping) pages() uint64 { return pages(len(m.host)) }
func (m *Mapping) end() uint64   { return m.addr + m.pages()*PageSize }

func pages(n int) uint64 { return (uint64(n) + PageSize - 1) / PageSize }

// Client returns the client of the context.
func (c *Context) Client() uint64 { return c.client }

// Losses counts the mappings and streams that the context has lost. A window is valid as long as the count has not
// changed since the window was returned.
func (c *Context) Losses() uint64 { return c.losses.Load() }

// Stream returns the context's current stream, or NoSlot.
func (c *Context) Stream() int { return locked.Get(&c.unit.mu, &c.slot) }

func (c *Context) fault(f Fault) *Fault {
	f.Stream, f.Client = c.Stream(), c.client
	return c.unit.report(&f)
}

// Map maps a buffer where there is room, evicting idle mappings in the order of their last use, and pins it. It returns
// the existing mapping of a buffer that the context has mapped with the same usage.
func (c *Context) Map(host []byte, usage Usage, task string) (*Mapping, error) {
	return c.mapping(host, usage, task, 0, false)
}

// MapAt maps a buffer at a device address that the caller chose: a multiple of PageSize, not 0, with room for the
// buffer. It evicts idle mappings of those pages.
func (c *Context) MapAt(addr uint64, host []byte, usage Usage, task string) (*Mapping, error) {
	return c.mapping(host, usage, task, addr, true)
}

func (c *Context) mapping(host []byte, usage Usage, task string, addr uint64, fixed bool) (*Mapping, error) {
	f := Fault{Task: task, Addr: addr, Len: uint64(len(host))}
	row, ok := usage.row()
	size := pages(len(host)) * PageSize
	switch {
	case !ok:
		f.Reason, f.Limit, f.Advice = BadUsage, uint64(usage), "use one of the codes of Usages"
	case len(host) == 0:
		f.Reason, f.Limit, f.Advice = Empty, 1, "map at least one byte"
	case addr>>32 != 0:
		f.Reason, f.Limit = HighBits, 1<<32-1
	case addr%PageSize != 0:
		f.Reason, f.Limit, f.Advice = Unaligned, PageSize, "map at a multiple of the page size"
	case size > c.unit.cfg.Aperture-PageSize, fixed && (addr == 0 || addr+size > c.unit.cfg.Aperture):
		f.Reason, f.Limit, f.Advice = Outside, c.unit.cfg.Aperture, "the first page is never mapped"
	}
	if f.Reason != 0 {
		return nil, c.fault(f)
	}
	if c.unit.bringIn(c, 1) == NoSlot {
		return nil, c.noStream(f)
	}
	m, evicted, hit, reason := c.place(host, row, addr, size, fixed)
	c.unit.count(func(s *Stats) {
		s.EvictedMappings += uint64(len(evicted))
		switch {
		case hit:
			s.Hits++
		case m != nil:
			s.Maps++
		}
	})
	for _, o := range evicted {
		o.trace(Evicted, task)
	}
	if m == nil {
		c.unit.unpin(c)
		f.Reason, f.Limit, f.Advice = reason, c.unit.cfg.Aperture, "release mappings that are not in use"
		return nil, c.fault(f)
	}
	if hit {
		m.trace(Found, task)
	} else {
		m.trace(Mapped, task)
	}
	return m, nil
}

func (c *Context) noStream(f Fault) *Fault {
	gone := locked.Get(&c.unit.mu, &c.gone)
	f.Reason, f.Limit, f.Advice = NoStream, uint64(c.unit.cfg.Slots), "release mappings of another client"
	if gone {
		f.Reason, f.Advice = Closed, "open the context again"
	}
	return c.fault(f)
}

// place finds or creates the mapping under c.mu.
func (c *Context) place(host []byte, row UsageRow, addr, size uint64, fixed bool) (m *Mapping, evicted []*Mapping,
	hit bool, why Reason) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, false, Closed
	}
	evicted = c.expire()
	key := hostKey{unsafe.SliceData(host), len(host), row.Code}
	if old := c.byHost[key]; old != nil && (!fixed || old.addr == addr) {
		c.pin(old)
		return old, evicted, true, 0
	}
	if fixed {
		var over []*Mapping
		for _, o := range c.maps {
			if o.addr < addr+size && addr < o.end() {
				if o.users > 0 {
					return nil, evicted, false, Overlap
				}
				over = append(over, o)
			}
		}
		for _, o := range over {
			c.remove(o)
		}
		evicted = append(evicted, over...)
	} else {
		for addr = c.hole(size); addr == 0; addr = c.hole(size) {
			e := c.idle.Front()
			if e == nil {
				return nil, evicted, false, NoSpace
			}
			o := e.Value.(*Mapping)
			c.remove(o)
			evicted = append(evicted, o)
		}
	}
	m = &Mapping{ctx: c, addr: addr, host: host, usage: row.Code, allow: row.Allow, users: 1}
	for i := uint64(0); i < m.pages(); i++ {
		lo := i * PageSize
		hi := min(lo+PageSize, uint64(len(host)))
		c.table.set(addr+lo, c.unit.frames.add(host[lo:hi:hi]))
	}
	at, _ := slices.BinarySearchFunc(c.maps, addr, byAddr)
	c.maps = slices.Insert(c.maps, at, m)
	if c.byHost[key] == nil {
		c.byHost[key] = m
	}
	return m, evicted, false, 0
}

// expire removes the mappings whose time without a user is over; c.mu is held.
func (c *Context) expire() (gone []*Mapping) {
	ttl := time.Duration(c.unit.ttl.Load())
	if ttl == 0 {
		return nil
	}
	for now, e := c.unit.now(), c.idle.Front(); e != nil; e = c.idle.Front() {
		m := e.Value.(*Mapping)
		if now-m.idle < ttl {
			break
		}
		c.remove(m)
		gone = append(gone, m)
	}
	return gone
}

func byAddr(m *Mapping, addr uint64) int {
	switch {
	case m.addr < addr:
		return -1
	case m.addr > addr:
		return 1
	}
	return 0
}

// hole returns the lowest address with size free bytes, or 0.
func (c *Context) hole(size uint64) uint64 {
	at := uint64(PageSize) // address 0 stays unmapped, so that it can mean "none"
	for _, m := range c.maps {
		if m.addr-at >= size {
			return at
		}
		at = m.end()
	}
	if c.unit.cfg.Aperture-at >= size {
		return at
	}
	return 0
}

func (c *Context) pin(m *Mapping) {
	if m.users++; m.users == 1 {
		c.idle.Remove(m.elem)
		m.elem = nil
	}
}

// remove removes a mapping's pages; c.mu is held.
func (c *Context) remove(m *Mapping) {
	c.losses.Add(1)
	for a := m.addr; a < m.end(); a += PageSize {
		if l := c.table.walk(a); l.Valid() {
			c.unit.frames.remove(l.Frame())
			c.table.clear(a)
		}
	}
	if m.elem != nil {
		c.idle.Remove(m.elem)
		m.elem = nil
	}
	if at, ok := slices.BinarySearchFunc(c.maps, m.addr, byAddr); ok {
		c.maps = slices.Delete(c.maps, at, at+1)
	}
	key := hostKey{unsafe.SliceData(m.host), len(m.host), m.usage}
	if c.byHost[key] == m {
		delete(c.byHost, key)
	}
	m.gone = true
}

// Release ends one use of a mapping. An unused mapping stays until its space is needed, so that the next call with the
// same buffer finds it. Release returns false if the mapping had no user.
func (m *Mapping) Release() bool {
	c := m.ctx
	c.mu.Lock()
	had := m.users > 0
	if had {
		if m.users--; m.users == 0 && !m.gone {
			m.elem, m.idle = c.idle.PushBack(m), c.unit.now()
		}
	}
	c.mu.Unlock()
	if had {
		c.unit.unpin(c)
	}
	return had
}

// Unmap removes an unused mapping.
func (m *Mapping) Unmap(task string) error {
	c := m.ctx
	f := Fault{Task: task, Addr: m.addr, Len: uint64(len(m.host))}
	c.mu.Lock()
	switch {
	case m.gone:
		f.Reason = Stale
	case m.users > 0:
		f.Reason, f.Limit, f.Advice = InUse, uint64(m.users), "release it first"
	default:
		c.remove(m)
	}
	c.mu.Unlock()
	if f.Reason != 0 {
		return c.fault(f)
	}
	c.unit.count(func(s *Stats) { s.Unmaps++ })
	m.trace(Unmaps, task)
	return nil
}

// Flush removes all unused mappings and returns their number.
func (c *Context) Flush() int {
	c.mu.Lock()
	var gone []*Mapping
	for e := c.idle.Front(); e != nil; e = c.idle.Front() {
		m := e.Value.(*Mapping)
		c.remove(m)
		gone = append(gone, m)
	}
	c.mu.Unlock()
	c.unit.count(func(s *Stats) { s.Unmaps += uint64(len(gone)) })
	for _, m := range gone {
		m.trace(Unmaps, "flush")
	}
	return len(gone)
}

// Close ends the context: it removes all mappings, pinned or not, and frees the stream. Later accesses of the client's
// tasks fault.
func (c *Context) Close() {
	c.mu.Lock()
	gone := slices.Clone(c.maps)
	for _, m := range slices.Backward(gone) {
		c.remove(m)
	}
	c.closed = true
	c.mu.Unlock()
	for _, m := range gone {
		m.trace(Unmaps, "close")
	}
	c.unit.mu.Lock()
	defer c.unit.mu.Unlock()
	if !c.gone {
		c.gone = true
		c.unit.stats.Unmaps += uint64(len(gone))
		c.unit.drop(c)
		if c.unit.contexts[c.client] == c {
			delete(c.unit.contexts, c.client)
		}
	}
}
