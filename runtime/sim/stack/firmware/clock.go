package firmware

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Clock is virtual time: it stands still except Advance.
type Clock struct {
	mu        sync.Mutex
	now       time.Duration
	order     uint64
	timers    []*Timer // by time, then by order
	pool      *Pool
	advancing bool
}

// Timer is one call in the future.
type Timer struct {
	at    time.Duration
	order uint64
	call  func()
	slot  int
}

// NewClock returns a clock at zero with a pool of timers.
func NewClock(timers int) (*Clock, error) {
	p, err := NewPool("timer", timers)
	if err != nil {
		return nil, err
	}
	return &Clock{pool: p}, nil
}

// Now returns the time since the clock began.
func (c *Clock) Now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Timers reports the pool of timers.
func (c *Clock) Timers() Report { return c.pool.Report() }

// After calls f when d, at least a nanosecond, has passed.
func (c *Clock) After(d time.Duration, f func()) (*Timer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d < 1 || c.now > 1<<63-1-d {
		return nil, fmt.Errorf("firmware: a timer of %v: must be at least 1ns, and end before the clock does", d)
	}
	slot, err := c.pool.Take()
	if err != nil {
		return nil, err
	}
	c.order++
	t := &Timer{at: c.now + d, order: c.order, call: f, slot: slot}
	i, _ := slices.BinarySearchFunc(c.timers, t, func(a, b *Timer) int {
		if a.at != b.at {
			return int(min(max(a.at-b.at, -1), 1))
		}
		return -1 // an earlier timer of the same time goes first
	})
	c.timers = slices.Insert(c.timers, i, t)
	return t, nil
}

// Stop removes a timer; false when it has gone off or was stopped.
func (c *Clock) Stop(t *Timer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.timers, t)
	if i < 0 {
		return false
	}
	c.timers = slices.Delete(c.timers, i, i+1)
	return c.pool.Release(t.slot) == nil
}

// Advance lets d pass: timers go off in the order of their time, then of their
// making, with the clock at their time. A timer's call may make timers, which go
// off as well when their time is within d.
func (c *Clock) Advance(d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d < 0 || c.now > 1<<63-1-d {
		return fmt.Errorf("firmware: the clock cannot advance by %v at %v", d, c.now)
	}
	if c.advancing {
		return errors.New("firmware: a timer's call must not advance the clock")
	}
	c.advancing = true
	defer func() { c.advancing = false }()
	end := c.now + d
	for len(c.timers) > 0 && c.timers[0].at <= end {
		t := c.timers[0]
		c.timers = c.timers[1:]
		c.now = t.at
		if err := c.pool.Release(t.slot); err != nil {
			return err
		}
		c.mu.Unlock()
		t.call()
		c.mu.Lock()
	}
	c.now = end
	return nil
}
