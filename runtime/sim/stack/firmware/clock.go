package firmware

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/internal/locked"
)

// Clock is a virtual clock, which only Spend and Advance advance. It keeps account of what its time passed for.
type Clock struct {
	mu        sync.Mutex
	now       time.Duration
	spent     Spent
	order     uint64
	timers    []*Timer // by time, then by creation
	pool      *Pool
	advancing bool
}

// Timer is a function call at a future time.
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

// Now returns the time since the clock's start.
func (c *Clock) Now() time.Duration { return locked.Get(&c.mu, &c.now) }

// Timers reports the pool of timers.
func (c *Clock) Timers() Report { return c.pool.Report() }

// After calls f when d, at least a nanosecond, has passed.
func (c *Clock) After(d time.Duration, f func()) (*Timer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d < 1 || c.now > 1<<63-1-d {
		return nil, fmt.Errorf("firmware: the timer is %v, want at least 1ns and an end within the clock's range", d)
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
		return -1 // of timers at the same time, the earlier one is first
	})
	c.timers = slices.Insert(c.timers, i, t)
	return t, nil
}

// Stop removes a timer, or returns false if it has already fired or been stopped.
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

// Spent is the time that has passed for each cause.
type Spent [cost.Causes]time.Duration

// Sub returns the difference of two accounts of one clock.
func (s Spent) Sub(o Spent) Spent {
	for i := range s {
		s[i] -= o[i]
	}
	return s
}

// Add returns the sum of two accounts.
func (s Spent) Add(o Spent) Spent {
	for i := range s {
		s[i] += o[i]
	}
	return s
}

// total returns the sum of some causes.
func (s Spent) total(of func(cost.Cause) bool) cost.Time {
	n := cost.Time(0)
	for c, d := range s {
		if of(cost.Cause(c)) {
			n += cost.Time(d)
		}
	}
	return n
}

// Call returns the time of the causes that are part of a call.
func (s Spent) Call() cost.Time {
	return s.total(func(c cost.Cause) bool { return c < cost.CallCauses })
}

// Engine returns the time in which the engine worked for a call.
func (s Spent) Engine() cost.Time {
	return s.total(func(c cost.Cause) bool { return c < cost.CallCauses && c.Engine() })
}

// Chained returns what data chaining has saved: the time that a call for each run of the firmware takes to enter the
// kernel, build a request and ring, less what was spent on that. It is 0 if every run was a call.
func (s Spent) Chained() cost.Time {
	trip := time.Duration(cost.Firmware.Fixed())
	saved := cost.Time(0)
	for _, c := range []cost.Cause{cost.Enter, cost.Request, cost.Kick} {
		saved += cost.Time(s[cost.Firmware]/trip)*c.Fixed() - cost.Time(s[c])
	}
	return saved
}

// Spent returns the time that has passed for each cause; the sum is Now.
func (c *Clock) Spent() Spent { return locked.Get(&c.mu, &c.spent) }

// Advance advances the clock by d for a wait.
func (c *Clock) Advance(d time.Duration) error { return c.Spend(cost.Waiting, d) }

// Spend advances the clock by d for a cause. Timers fire in the order of their time, then of their creation, with the
// clock at their time. A timer's function may create timers, which also fire if their time is within d.
func (c *Clock) Spend(cause cost.Cause, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d < 0 || c.now > 1<<63-1-d {
		return fmt.Errorf("firmware: the clock cannot advance by %v at %v", d, c.now)
	}
	if c.advancing {
		return errors.New("firmware: a timer's function must not advance the clock")
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
	c.spent[cause] += d
	return nil
}
