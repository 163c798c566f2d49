package firmware

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// ErrLimit reports that Run has reached its limit of messages and tasks are still runnable.
var ErrLimit = errors.New("firmware: the message limit is reached with tasks still runnable")

// StallError reports that nothing can run while tasks wait for room in queues.
type StallError struct{ Tasks []string }

// Error names the tasks and what each waits for.
func (e *StallError) Error() string {
	return "firmware: stalled: " + strings.Join(e.Tasks, ", ")
}

// Run runs messages until nothing is runnable or limit messages have run, and
// returns how many. One goroutine at a time may run a kernel; others may post.
func (k *Kernel) Run(limit int) (n int, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running {
		return 0, errors.New("firmware: the kernel is already running; a handler must return its messages")
	}
	k.running = true
	defer func() { k.running = false }()
	b := budget{limit: limit}
	for k.step(math.MinInt, &b) {
	}
	switch {
	case b.err != nil:
		return b.ran, b.err
	case k.next(math.MinInt) != nil:
		return b.ran, ErrLimit
	}
	return b.ran, k.stalled()
}

// budget counts the messages that a Run may still run.
type budget struct {
	ran, limit int
	err        error
}

// next returns the first runnable task above a priority: the one with the highest priority, then the one runnable for
// longest.
func (k *Kernel) next(above int) (best *Task) {
	for _, t := range k.tasks {
		if t.machine.State() != Runnable || t.current || t.Priority <= above && above != math.MinInt {
			continue
		}
		if best == nil || t.Priority > best.Priority || t.Priority == best.Priority && t.order < best.order {
			best = t
		}
	}
	return best
}

// step runs one message of a task above a priority. It returns false if there is none or the budget is spent.
func (k *Kernel) step(above int, b *budget) bool {
	t := k.next(above)
	if t == nil || b.err != nil {
		return false
	}
	t.current = true
	defer func() { t.current = false }()
	if len(t.outbox) == 0 {
		if t.pending() && b.ran >= b.limit {
			return false
		}
		m, ok := k.take(t)
		if !ok {
			b.note(t.machine.Fire(TaskDrained)) // resumed with nothing to do
			return b.err == nil
		}
		b.ran++
		t.outbox = k.handle(t, m)
	}
	k.send(t, b)
	if t.machine.State() == Runnable {
		if t.pending() {
			k.stamp(t) // after tasks of equal priority
		} else {
			b.note(t.machine.Fire(TaskDrained))
		}
	}
	return b.err == nil
}

func (b *budget) note(err error) { b.err = errors.Join(b.err, err) }

// handle runs a handler without the kernel's lock, so that it may post.
func (k *Kernel) handle(t *Task, m Message) []Post {
	k.mu.Unlock()
	defer k.mu.Lock()
	return t.Handler(m)
}

// take returns a task's next message, first from the interrupt queue, and lets a task that waits for the room send.
func (k *Kernel) take(t *Task) (Message, bool) {
	if m, ok := t.interrupt.TryReceive(); ok {
		r := t.records[0]
		t.records = t.records[1:]
		// The record was taken with the message, so it is released once.
		return Message{true, m}, k.interrupt.Release(r) == nil
	}
	m, ok := t.input.TryReceive()
	if ok {
		k.room(t)
	}
	return Message{false, m}, ok
}

// room sends for the task that has waited longest for room in t's queue.
func (k *Kernel) room(t *Task) {
	var first *Task
	for _, w := range k.tasks {
		if w.full() && w.outbox[0].To == t && (first == nil || w.order < first.order) {
			first = w
		}
	}
	if first == nil || k.post(t, first.outbox[0].Data) != nil {
		return
	}
	first.outbox = first.outbox[1:]
	if first.machine.Fire(TaskRoom) == nil {
		k.stamp(first)
	}
}

// send empties a task's outbox, or parks the task at the first full queue. A message that is too long for the queue
// ends the run with an error.
func (k *Kernel) send(t *Task, b *budget) {
	for len(t.outbox) > 0 && b.err == nil && t.machine.State() == Runnable {
		p := t.outbox[0]
		err := k.post(p.To, p.Data)
		var full *CapacityError
		if errors.As(err, &full) {
			b.note(t.machine.Fire(TaskFull))
			k.stamp(t)
			return
		}
		t.outbox = t.outbox[1:]
		if err != nil {
			b.note(fmt.Errorf("firmware: task %s sends: %w", t.Name, err))
			return
		}
		for k.step(t.Priority, b) {
		}
	}
}

// full reports whether a task waits for room in a queue.
func (t *Task) full() bool { return t.machine.State() == SemWait && len(t.outbox) > 0 }

// stalled names the tasks that wait for room when nothing runs.
func (k *Kernel) stalled() error {
	var names []string
	for _, t := range k.tasks {
		if t.full() {
			names = append(names, fmt.Sprintf("task %s waits for room in the queue of task %s", t.Name,
				t.outbox[0].To.Name))
		}
	}
	if names == nil {
		return nil
	}
	return &StallError{names}
}
