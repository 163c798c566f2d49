package translation

import "slices"

// Entry is one page in the tables, for dumps and tests.
type Entry struct {
	Addr  uint64
	Root  int // index in the first level
	Index int // index in the second level
	Leaf  Leaf
	Usage Usage
}

// Entries lists the mapped pages by address.
func (c *Context) Entries() []Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	var es []Entry
	for _, m := range c.maps {
		for a := m.addr; a < m.end(); a += PageSize {
			r, l, _ := split(a)
			es = append(es, Entry{Addr: a, Root: r, Index: l, Leaf: c.table.walk(a), Usage: m.usage})
		}
	}
	return es
}

// Window returns the memory at a device address in place: n bytes of one mapping, or a *Fault for the first byte that
// cannot be accessed. The window stays valid while the mapping is pinned.
func (c *Context) Window(addr, n uint64, access Access, task string) ([]byte, error) {
	var out []byte
	err := c.each(addr, n, access, task, func(m *Mapping, lo, hi uint64) {
		out = m.host[lo:hi:hi]
	}, true)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// ReadAt copies from device memory into p, across mappings. It copies nothing if any byte faults.
func (c *Context) ReadAt(p []byte, addr uint64, task string) error {
	return c.each(addr, uint64(len(p)), Read, task, func(m *Mapping, lo, hi uint64) {
		p = p[copy(p, m.host[lo:hi]):]
	}, false)
}

// WriteAt copies p into device memory. It writes nothing if any byte faults.
func (c *Context) WriteAt(p []byte, addr uint64, task string) error {
	return c.each(addr, uint64(len(p)), Write, task, func(m *Mapping, lo, hi uint64) {
		p = p[copy(m.host[lo:hi], p):]
	}, false)
}

// each checks the whole range, page by page through the tables, then calls f for the part in each mapping.
func (c *Context) each(addr, n uint64, access Access, task string, do func(m *Mapping, lo, hi uint64), one bool) error {
	f := Fault{Task: task, Addr: addr, Len: n, Access: access}
	switch {
	case addr>>32 != 0:
		f.Reason, f.Limit = HighBits, 1<<32-1
	case addr >= c.unit.cfg.Aperture || n > c.unit.cfg.Aperture-addr:
		f.Reason, f.Limit = Outside, c.unit.cfg.Aperture
	}
	if f.Reason != 0 {
		return c.fault(f)
	}
	if n == 0 {
		return nil
	}
	// Pinned for the length of the walk, so that the stream in a fault is the
	// one that the walk used.
	if c.unit.bringIn(c, 1) == NoSlot {
		return c.noStream(f)
	}
	defer c.unit.unpin(c)
	c.mu.Lock()
	if bad := c.check(&f, addr, n, access, one); bad {
		c.mu.Unlock()
		return c.fault(f)
	}
	at := c.find(addr)
	for n > 0 {
		m := c.maps[at]
		lo := addr - m.addr
		hi := min(lo+n, uint64(len(m.host)))
		do(m, lo, hi)
		addr, n = addr+(hi-lo), n-(hi-lo)
		at++
	}
	c.mu.Unlock()
	return nil
}

// check walks the tables over a range and fills in the fault of the first byte
// that breaks a rule.
func (c *Context) check(f *Fault, addr, n uint64, access Access, one bool) bool {
	end := addr + n
	var first *Mapping
	for a := addr; a < end; {
		l := c.table.walk(a)
		if !l.Valid() {
			f.Addr, f.Reason, f.Limit, f.Advice = a, Unmapped, c.unit.cfg.Aperture, "map the buffer before the call"
			return true
		}
		m := c.maps[c.find(a)]
		if first == nil {
			first = m
		}
		page := c.unit.frames.get(l.Frame())
		off := a % PageSize
		stop := min(end, a-off+PageSize)
		switch {
		case access&^m.allow != 0:
			f.Addr, f.Reason, f.Limit, f.Advice = a, Protection, uint64(m.allow), "the usage is "+m.usage.String()
			return true
		case a-off+uint64(len(page)) < stop:
			f.Addr, f.Reason, f.Limit = max(a, a-off+uint64(len(page))), PastEnd, m.addr+uint64(len(m.host))
			return true
		case one && m != first:
			f.Addr, f.Reason, f.Limit = a, PastEnd, first.addr+uint64(len(first.host))
			f.Advice = "a window must be in one mapping"
			return true
		}
		a = stop
	}
	return false
}

// find returns the index of the mapping that contains a mapped address.
func (c *Context) find(addr uint64) int {
	at, ok := slices.BinarySearchFunc(c.maps, addr, byAddr)
	if !ok {
		at--
	}
	return at
}
