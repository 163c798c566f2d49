package firmware

import (
	"fmt"
	"time"
)

// SoftwareDeadline is how long a task queue may take to quiesce before it is aborted, and how long the abort may take
// to clear (table 29.6: about two seconds). There is no hardware watchdog.
const SoftwareDeadline = 2 * time.Second

// Outcome is the result of a wait for a queue.
type Outcome int

// The outcomes.
const (
	Quiesced Outcome = iota // without an abort
	Aborted                 // by the abort
	Stuck                   // never: the firmware panics
)

// Target is a task queue that a Wait waits for.
type Target interface {
	Idle() bool
	Abort() // starts a hardware abort
}

// wait is a wait for a queue to be idle.
type wait struct {
	clock  *Clock
	target Target
	done   func(Outcome)
	abort  bool // the abort has started
}

// Quiesce waits for a queue to be idle. A queue that is not idle at the software deadline is aborted; if the abort has
// not cleared after the same time again, the queue is stuck. Done is called once, possibly before Quiesce returns.
func Quiesce(c *Clock, t Target, done func(Outcome)) error {
	w := &wait{clock: c, target: t, done: done}
	if t.Idle() {
		done(Quiesced)
		return nil
	}
	if err := w.arm(); err != nil {
		return fmt.Errorf("firmware: no timer for a queue's deadline: %w", err)
	}
	return nil
}

func (w *wait) arm() error {
	_, err := w.clock.After(SoftwareDeadline, w.expire)
	return err
}

func (w *wait) expire() {
	switch {
	case w.target.Idle() && w.abort:
		w.done(Aborted)
	case w.target.Idle():
		w.done(Quiesced)
	case w.abort:
		w.done(Stuck)
	default:
		w.abort = true
		w.target.Abort()
		if w.target.Idle() {
			w.done(Aborted)
		} else if w.arm() != nil {
			w.done(Stuck) // without a timer, nothing would check again
		}
	}
}
