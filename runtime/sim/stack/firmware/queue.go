package firmware

import (
	"sync"
)

// Queue is the control block of a bounded message queue: a maximum width, a ring
// of fixed depth, read and write pointers, a lock and two counting semaphores.
type Queue struct {
	name       string
	width      int // bytes of the longest message
	mu         sync.Mutex
	ring       []byte
	length     []int // of the message in each place of the ring
	read       int
	write      int
	room, used chan struct{} // counting semaphores, one token per unit
}

// maxRing bounds the bytes of a queue's ring.
const maxRing = 1 << 24

// NewQueue returns an empty queue for depth messages of at most width bytes.
func NewQueue(name string, depth, width int) (*Queue, error) {
	if err := between(name+" queue's depth", int64(depth), 1, maxPool); err != nil {
		return nil, err
	}
	if err := between(name+" queue's width", int64(width), 1, int64(maxRing/depth)); err != nil {
		return nil, err
	}
	q := &Queue{
		name: name, width: width, ring: make([]byte, depth*width), length: make([]int, depth),
		room: make(chan struct{}, depth), used: make(chan struct{}, depth),
	}
	for range depth {
		q.room <- struct{}{}
	}
	return q, nil
}

// TrySend adds a copy of a message. It returns a *CapacityError for a full queue and a *ValueError for a message that
// is too long.
func (q *Queue) TrySend(m []byte) error {
	if len(m) > q.width {
		return between(q.name+" queue's message length", int64(len(m)), 0, int64(q.width))
	}
	select {
	case <-q.room:
	default:
		return &CapacityError{q.name + " queue", len(q.length)}
	}
	q.put(m)
	return nil
}

func (q *Queue) put(m []byte) {
	q.mu.Lock()
	copy(q.ring[q.write*q.width:], m)
	q.length[q.write] = len(m)
	q.write = (q.write + 1) % len(q.length)
	q.mu.Unlock()
	q.used <- struct{}{}
}

// TryReceive takes the oldest message, or returns false if there is none.
func (q *Queue) TryReceive() ([]byte, bool) {
	select {
	case <-q.used:
		return q.get(), true
	default:
		return nil, false
	}
}

func (q *Queue) get() []byte {
	q.mu.Lock()
	m := append([]byte(nil), q.ring[q.read*q.width:][:q.length[q.read]]...)
	q.read = (q.read + 1) % len(q.length)
	q.mu.Unlock()
	q.room <- struct{}{}
	return m
}

// Report returns the depth and the free slots.
func (q *Queue) Report() Report { return Report{q.name, len(q.length), len(q.room)} }
