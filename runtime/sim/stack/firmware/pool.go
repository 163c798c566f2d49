package firmware

import (
	"fmt"
	"sync"
)

// CapacityError reports a full table of fixed size.
type CapacityError struct {
	What     string // the pool or queue
	Capacity int    // its entries, all taken
}

// Error returns the table, the capacity and what to do.
func (e *CapacityError) Error() string {
	return fmt.Sprintf("firmware: %s: all %d are in use; release one first", e.What, e.Capacity)
}

// ValueError reports a value outside its bounds.
type ValueError struct {
	Field    string
	Val      int64
	Min, Max int64 // both allowed
}

// Error returns the field, the value and the bounds.
func (e *ValueError) Error() string {
	return fmt.Sprintf("firmware: %s is %d, want %d to %d", e.Field, e.Val, e.Min, e.Max)
}

// between refuses a value outside min to max.
func between(field string, v, min, max int64) error {
	if v < min || v > max {
		return &ValueError{Field: field, Val: v, Min: min, Max: max}
	}
	return nil
}

// Pool allocates the indices of a table of fixed size, the lowest free one first.
type Pool struct {
	name string
	mu   sync.Mutex
	used []bool
	free int
}

// maxPool bounds a table; the firmware's largest has 288 entries.
const maxPool = 1 << 16

// NewPool makes a pool of 1 to 65536 entries.
func NewPool(name string, capacity int) (*Pool, error) {
	if err := between(name+" pool's capacity", int64(capacity), 1, maxPool); err != nil {
		return nil, err
	}
	return &Pool{name: name, used: make([]bool, capacity), free: capacity}, nil
}

// Take returns a free index, or a *CapacityError.
func (p *Pool) Take() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, u := range p.used {
		if !u {
			p.used[i] = true
			p.free--
			return i, nil
		}
	}
	return 0, &CapacityError{p.name, len(p.used)}
}

// Release returns an index. It refuses an index that is not in use.
func (p *Pool) Release(i int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i < 0 || i >= len(p.used) || !p.used[i] {
		return fmt.Errorf("firmware: %s %d is not in use; it cannot be released", p.name, i)
	}
	p.used[i] = false
	p.free++
	return nil
}

// Arena is a heap of fixed size. Only the number of its bytes in use is modelled.
type Arena struct {
	name       string
	mu         sync.Mutex
	size, used uint64
}

// Take takes n bytes, or returns a *CapacityError.
func (a *Arena) Take(n uint64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n > a.size-a.used {
		return &CapacityError{a.name + ", bytes", int(a.size)}
	}
	a.used += n
	return nil
}

// Release returns n bytes that were taken.
func (a *Arena) Release(n uint64) {
	a.mu.Lock()
	a.used -= n
	a.mu.Unlock()
}

// Report returns the arena's bytes.
func (a *Arena) Report() Report {
	a.mu.Lock()
	defer a.mu.Unlock()
	return Report{a.name, int(a.size), int(a.size - a.used)}
}

// Report is the state of a pool.
type Report struct {
	Name             string
	Total, Available int
}

// Report returns the pool's totals.
func (p *Pool) Report() Report {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Report{p.name, len(p.used), p.free}
}
