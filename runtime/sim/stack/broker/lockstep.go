package broker

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Clients in lockstep make a conservative discrete-event simulation of processes: each has a seat, and states with
// each call how much virtual time has passed on its side since its last answer. Virtual time stands still while a
// client that has its answer has not sent its next call, so the order and the time of all calls follow from what the
// clients do, and not from how fast they do it.

// Lockstep configures a broker whose clients on the socket run in lockstep.
type Lockstep struct {
	Seats int // clients, which have the seats from 1 on; nothing runs before all are there
	Time  Time
}

// Time is the virtual time of the machine.
type Time interface {
	Now() time.Duration
	// Elapse lets time pass, and runs what timers have brought in the meantime.
	Elapse(d time.Duration) error
	// Call calls f as a timer would.
	Call(f func()) error
	// After has f called when d, at least a nanosecond, has passed, unless it is stopped.
	After(d time.Duration, f func()) (stop func(), err error)
}

// seatState is what a seat's client does.
type seatState uint8

const (
	empty    seatState = iota // it has not come
	thinking                  // the broker waits for its next call
	asking                    // its call waits for its time
	served                    // its call runs
	gone
)

// seat is the place of a client.
type seat struct {
	state seatState
	last  time.Duration // of its last answer
	call  *ticketCall
}

// ticketCall is a call that waits for its time.
type ticketCall struct {
	seat    int
	arrival time.Duration
	run     func() // alone, while nothing is in flight
	// fly, if it is not nil, submits an evaluation and calls its argument when that has ended. It may be used while
	// able reports true.
	fly  func(landed func())
	able func() bool
	last bool // the client is gone after it
	done chan struct{}
	lost bool // done without having run
}

// lockstep runs the calls of all seats in one goroutine.
type lockstep struct {
	time Time

	mu     sync.Mutex
	moved  *sync.Cond
	seats  []seat // from seat 1 on
	closed bool
	ended  chan struct{} // closed when conduct has ended, with the last client or with the broker

	// Only the goroutine of conduct uses these.
	stop   func()   // ends the timer for the next call; nil: none
	flying bool     // due is running
	chores []func() // to do when nothing is in flight
}

func newLockstep(l *Lockstep) *lockstep {
	q := &lockstep{time: l.Time, seats: make([]seat, l.Seats), ended: make(chan struct{})}
	q.moved = sync.NewCond(&q.mu)
	go q.conduct()
	return q
}

// join gives a client its seat and runs connect in the order of the seats when all have come.
func (q *lockstep) join(n int, connect func()) error {
	q.mu.Lock()
	if n < 1 || n > len(q.seats) || q.seats[n-1].state != empty {
		q.mu.Unlock()
		return errorf(mConnect, BadArgument, "seat %d is not free; the machine has the seats 1 to %d", n,
			len(q.seats))
	}
	q.seats[n-1].state = thinking
	q.mu.Unlock()
	return q.ask(&ticketCall{seat: n, run: connect}, 0)
}

// ask has a call run at its time, which is after the client's last answer, and returns when it has ended.
func (q *lockstep) ask(c *ticketCall, after time.Duration) error {
	c.done = make(chan struct{})
	q.mu.Lock()
	s := &q.seats[c.seat-1]
	switch {
	case q.closed:
		q.mu.Unlock()
		return errBrokerClosed
	case s.state != thinking:
		q.mu.Unlock()
		return errorf(mConnect, NoResources, "seat %d has a call under way; clients in lockstep make one at a time",
			c.seat)
	}
	c.arrival = s.last + max(after, 0)
	s.state, s.call = asking, c
	q.moved.Broadcast()
	q.mu.Unlock()
	<-c.done
	if c.lost {
		return errBrokerClosed
	}
	return nil
}

// errBrokerClosed is the answer to calls that the broker's end has overtaken.
var errBrokerClosed = errorf(mConnect, Aborted, "the broker is closed")

// close ends the calls that wait, and returns when no call runs.
func (q *lockstep) close() {
	q.mu.Lock()
	q.closed = true
	q.moved.Broadcast()
	q.mu.Unlock()
	<-q.ended
}

// next waits until no client is awaited and returns the call whose time comes first, for equal times the call of the
// first seat; nil if no client is left.
func (q *lockstep) next() (first *ticketCall, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	awaited := func(s seat) bool { return s.state == empty || s.state == thinking }
	for !q.closed && slices.ContainsFunc(q.seats, awaited) {
		q.moved.Wait()
	}
	for i := range q.seats {
		s := &q.seats[i]
		if s.state == asking && (first == nil || cmp.Compare(s.call.arrival, first.arrival) < 0) {
			first = s.call
		}
	}
	return first, q.closed
}

// take begins a call.
func (q *lockstep) take(c *ticketCall) {
	q.mu.Lock()
	q.seats[c.seat-1].state = served
	q.mu.Unlock()
}

// answered ends a call; its client is awaited.
func (q *lockstep) answered(c *ticketCall) {
	q.mu.Lock()
	s := &q.seats[c.seat-1]
	s.last, s.state, s.call = q.time.Now(), thinking, nil
	if c.last {
		s.state = gone
	}
	q.mu.Unlock()
	close(c.done)
}

// conduct runs the calls.
func (q *lockstep) conduct() {
	defer close(q.ended)
	for {
		for _, do := range q.chores {
			do()
		}
		q.chores = nil
		c, closed := q.next()
		if closed {
			q.abandon()
			return
		}
		if c == nil { // all are gone
			return
		}
		wait := c.arrival - q.time.Now()
		switch {
		case c.fly == nil || !c.able():
			if q.stop != nil {
				q.stop()
				q.stop = nil
			}
			if wait > 0 {
				_ = q.time.Elapse(wait) // fails only at the end of the clock's range
			}
			q.take(c)
			c.run()
			q.answered(c)
		case wait > 0:
			q.arm(c)
			_ = q.time.Elapse(wait)
		default:
			_ = q.time.Call(q.due)
		}
	}
}

// abandon ends the calls that wait when the broker is closed.
func (q *lockstep) abandon() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range q.seats {
		if s := &q.seats[i]; s.state == asking {
			s.state, s.call.lost = gone, true
			close(s.call.done)
		}
	}
}

// due submits the evaluations whose time has come, in their order, and sets a timer for the next one. A call that must
// run alone waits until nothing is in flight, and those after it wait for it. The command gate is held.
func (q *lockstep) due() {
	if q.flying {
		return
	}
	q.flying = true
	defer func() { q.flying = false }()
	for {
		c, closed := q.next()
		if closed || c == nil || c.fly == nil || !c.able() {
			return
		}
		if c.arrival > q.time.Now() {
			q.arm(c)
			return
		}
		q.take(c)
		c.fly(func() {
			q.answered(c)
			q.due()
		})
	}
}

// arm sets the timer for a call, instead of any other.
func (q *lockstep) arm(c *ticketCall) {
	if q.stop != nil {
		q.stop()
	}
	q.stop, _ = q.time.After(max(c.arrival-q.time.Now(), 1), func() { // fails only at the end of the clock's range
		q.stop = nil
		q.due()
	})
}
