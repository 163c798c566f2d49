package firmware

import (
	"fmt"
	"time"
)

// SoftwareDeadline is how long a task queue may take to quiesce before it is
// aborted, and how long the abort may take to clear (table 29.6: about two
// seconds). No hardware watchdog stands behind it.
const SoftwareDeadline = 2 * time.Second

// Outcome is how a wait for a queue ended.
type Outcome int

// The outcomes.
const (
	Quiesced Outcome = iota // by itself
	Aborted                 // by the abort
	Stuck                   // not at all: the firmware panics
)

// String names the outcome.
func (o Outcome) String() string { return word([]string{"quiesced", "aborted", "stuck"}, int(o)) }

// Target is a task queue that is waited for.
type Target interface {
	Idle() bool
	Abort() // begins a hardware abort
}

// Wait is a wait for a queue to be idle.
type Wait struct {
	clock  *Clock
	target Target
	timer  *Timer
	done   func(Outcome)
	abort  bool // the abort has begun
	ended  bool
}

// Quiesce waits for a queue to be idle, under the software deadline: a queue
// that is not idle when it passes is aborted, and an abort that has not cleared
// when it passes again leaves the queue stuck. Done is called once, possibly
// before Quiesce returns.
func Quiesce(c *Clock, t Target, done func(Outcome)) (*Wait, error) {
	w := &Wait{clock: c, target: t, done: done}
	if t.Idle() {
		w.end(Quiesced)
		return w, nil
	}
	if err := w.arm(); err != nil {
		return nil, fmt.Errorf("firmware: no timer for a queue's deadline: %w", err)
	}
	return w, nil
}

func (w *Wait) arm() (err error) {
	w.timer, err = w.clock.After(SoftwareDeadline, w.expire)
	return err
}

// Poll ends the wait when the queue is idle; the queue's owner calls it when work
// completes.
func (w *Wait) Poll() {
	if !w.ended && w.target.Idle() {
		w.clock.Stop(w.timer)
		w.end(w.outcome())
	}
}

func (w *Wait) outcome() Outcome {
	if w.abort {
		return Aborted
	}
	return Quiesced
}

func (w *Wait) expire() {
	switch {
	case w.ended:
	case w.target.Idle():
		w.end(w.outcome())
	case w.abort:
		w.end(Stuck)
	default:
		w.abort = true
		w.target.Abort()
		if w.target.Idle() {
			w.end(Aborted)
		} else if w.arm() != nil {
			w.end(Stuck) // without a timer nobody would look again
		}
	}
}

func (w *Wait) end(o Outcome) {
	if !w.ended {
		w.ended = true
		w.done(o)
	}
}
