package broker

import (
	"cmp"
	"slices"
)

// Report contains counts of the objects of a broker.
type Report struct {
	Connections, Models, Instances int
	Residents, Wired               int   // programs
	WiredBytes                     int64 // of them
	QueueSlots                     int   // granted
	CachedModels                   int
	CachedBytes                    int64
	Tenants                        int // connections to the driver
}

// Report counts the objects that the broker has now.
func (b *Broker) Report() Report {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := Report{
		Connections: len(b.sessions), Residents: len(b.byID), WiredBytes: b.wired,
		QueueSlots: b.slots, CachedModels: b.cache.len(), CachedBytes: b.cache.bytes, Tenants: len(b.tenants),
	}
	for _, s := range b.sessions {
		r.Models += len(s.models)
		r.Instances += s.held
	}
	for _, p := range b.byID {
		if p.wired {
			r.Wired++
		}
	}
	return r
}

// ResidentProgram describes a program for diagnostics.
type ResidentProgram struct {
	ID         uint64
	Digest     [32]byte
	Identifier string
	Shared     bool
	Adapter    bool
	Wired      bool
	Bytes      int64
	Holders    int
	LastUse    uint64
}

// Residents lists the programs, oldest first.
func (b *Broker) Residents() []ResidentProgram {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []ResidentProgram
	for _, r := range b.byID {
		name := ""
		for n := range r.names {
			if name == "" || n < name {
				name = n
			}
		}
		out = append(out, ResidentProgram{
			ID: r.id, Digest: r.key.digest, Identifier: name, Shared: r.shared(), Adapter: r.base != nil,
			Wired: r.wired, Bytes: r.size, Holders: r.holders, LastUse: r.lastUse,
		})
	}
	slices.SortFunc(out, func(a, c ResidentProgram) int { return cmp.Compare(a.ID, c.ID) })
	return out
}

// len counts the compiled models.
func (c *cache) len() int {
	n := 0
	for _, e := range c.entries {
		if e.ready {
			n++
		}
	}
	return n
}

// Tier returns the tier of the connection.
func (s *Session) Tier() Tier { return s.tier }

// Tier returns the tier of the connection.
func (r *Remote) Tier() Tier { return r.tier }
