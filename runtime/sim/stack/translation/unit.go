package translation

import (
	"cmp"
	"container/list"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Config sizes a unit. The zero value is the real unit.
type Config struct {
	Slots    int    // streams; 0 means DefaultSlots
	Aperture uint64 // bytes a client may map, a multiple of PageSize; 0 means ApertureSize
	Log      int    // number of faults kept; 0 means 64
	// Trace, if not nil, is called with every step of the unit, outside all locks, by the goroutine that took the step.
	Trace func(Step)
	// Now, if not nil, is the time at which mappings lose their last user; without it SetTTL has no effect.
	Now func() time.Duration
}

// Unit is the translation unit: its streams, the contexts on them, and the
// physical frames that mappings point to.
type Unit struct {
	cfg Config
	ttl atomic.Int64

	mu       sync.Mutex
	contexts map[uint64]*Context
	slots    []*Context
	resident list.List // of *Context, least recently used first
	faults   []*Fault
	stats    Stats

	frames frames
}

// Stats counts what a unit has done.
type Stats struct {
	Maps             uint64 // buffers mapped
	Hits             uint64 // Map calls that returned an existing mapping
	Unmaps           uint64 // mappings removed by Unmap, Flush or Close
	EvictedMappings  uint64 // idle mappings removed to make room, or when their time was over
	EvictedContexts  uint64 // contexts that lost their stream
	Faults           uint64
	FramesInUse      uint64
	ContextsOpen     uint64
	ContextsResident uint64
}

// NewUnit makes a unit.
func NewUnit(cfg Config) (*Unit, error) {
	cfg.Slots = cmp.Or(cfg.Slots, DefaultSlots)
	cfg.Aperture = cmp.Or(cfg.Aperture, ApertureSize)
	cfg.Log = cmp.Or(cfg.Log, 64)
	if cfg.Slots < 1 || cfg.Slots > 256 || cfg.Log < 1 || cfg.Log > 1<<16 {
		return nil, fmt.Errorf("translation: got %d streams and a log of %d, want 1 to 256 and 1 to 65536",
			cfg.Slots, cfg.Log)
	}
	if cfg.Aperture%PageSize != 0 || cfg.Aperture < 2*PageSize || cfg.Aperture > ApertureSize {
		return nil, fmt.Errorf("translation: the aperture has %#x bytes, want a multiple of %#x from %#x to %#x",
			cfg.Aperture, PageSize, 2*PageSize, uint64(ApertureSize))
	}
	return &Unit{cfg: cfg, contexts: map[uint64]*Context{}, slots: make([]*Context, cfg.Slots)}, nil
}

// SetTTL sets how long a mapping stays after its last use; 0 keeps it until its space is needed. Mappings whose time is
// over leave when their context maps a buffer.
func (u *Unit) SetTTL(ttl time.Duration) { u.ttl.Store(int64(ttl)) }

func (u *Unit) now() time.Duration {
	if u.cfg.Now == nil {
		return 0
	}
	return u.cfg.Now()
}

// Context opens the address space of a client, or returns the one it has.
func (u *Unit) Context(client uint64) *Context {
	u.mu.Lock()
	defer u.mu.Unlock()
	c := u.contexts[client]
	if c == nil {
		c = &Context{unit: u, client: client, slot: NoSlot, byHost: map[hostKey]*Mapping{}}
		u.contexts[client] = c
	}
	return c
}

// Stats returns the counts so far.
func (u *Unit) Stats() Stats {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := u.stats
	s.FramesInUse = u.frames.inUse()
	s.ContextsOpen, s.ContextsResident = uint64(len(u.contexts)), uint64(u.resident.Len())
	return s
}

// Faults returns the last faults, oldest first.
func (u *Unit) Faults() []*Fault {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]*Fault(nil), u.faults...)
}

// report logs a fault and returns it.
func (u *Unit) report(f *Fault) *Fault {
	defer u.trace(Step{
		Kind:   Faulted,
		Client: f.Client,
		Stream: f.Stream,
		Addr:   f.Addr,
		Len:    f.Len,
		Task:   f.Task,
		Fault:  f,
	})
	u.mu.Lock()
	defer u.mu.Unlock()
	u.stats.Faults++
	if len(u.faults) == u.cfg.Log {
		u.faults = append(u.faults[:0], u.faults[1:]...)
	}
	u.faults = append(u.faults, f)
	return f
}

func (u *Unit) count(f func(*Stats)) {
	u.mu.Lock()
	f(&u.stats)
	u.mu.Unlock()
}

// bringIn assigns a stream to the context, evicting the least recently used context without a pinned mapping. It
// returns the stream, or NoSlot.
func (u *Unit) bringIn(c *Context, pin int) int {
	u.mu.Lock()
	slot, in, out := u.assign(c, pin)
	u.mu.Unlock()
	if out != nil {
		u.trace(Step{Kind: StreamOut, Client: out.client, Stream: slot})
	}
	if in {
		u.trace(Step{Kind: StreamIn, Client: c.client, Stream: slot})
	}
	return slot
}

// assign is bringIn under u.mu: the stream, whether it is new, and the context
// that lost it.
func (u *Unit) assign(c *Context, pin int) (slot int, in bool, out *Context) {
	if c.gone {
		return NoSlot, false, nil
	}
	if c.slot == NoSlot {
		free := -1
		for i, s := range u.slots {
			if s == nil {
				free = i
				break
			}
		}
		for e := u.resident.Front(); free < 0 && e != nil; e = e.Next() {
			if old := e.Value.(*Context); old.pins == 0 {
				free, out = old.slot, old
				u.drop(old)
				u.stats.EvictedContexts++
				break
			}
		}
		if free < 0 {
			return NoSlot, false, nil
		}
		u.slots[free], c.slot, in = c, free, true
		c.elem = u.resident.PushBack(c)
	}
	u.resident.MoveToBack(c.elem)
	c.pins += pin
	return c.slot, in, out
}

func (u *Unit) unpin(c *Context) {
	u.mu.Lock()
	c.pins--
	u.mu.Unlock()
}

// drop removes a context's stream; u.mu is held.
func (u *Unit) drop(c *Context) {
	if c.slot == NoSlot {
		return
	}
	c.losses.Add(1)
	u.slots[c.slot] = nil
	u.resident.Remove(c.elem)
	c.slot, c.elem = NoSlot, nil
}

// frames holds the physical pages that leaves name. A frame is a window of at most PageSize bytes of a host buffer.
type frames struct {
	mu   sync.RWMutex
	page map[uint64][]byte
	free []uint64
	next uint64
}

func (f *frames) add(b []byte) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.page == nil {
		f.page = map[uint64][]byte{}
	}
	var n uint64
	if k := len(f.free); k > 0 {
		n, f.free = f.free[k-1], f.free[:k-1]
	} else {
		f.next++
		n = f.next
	}
	f.page[n] = b
	return n
}

func (f *frames) remove(n uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.page[n]; ok {
		delete(f.page, n)
		f.free = append(f.free, n)
	}
}

func (f *frames) get(n uint64) []byte {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.page[n]
}

func (f *frames) inUse() uint64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return uint64(len(f.page))
}
