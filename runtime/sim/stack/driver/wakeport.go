package driver

import (
	"fmt"
	"sync"
)

// ReferenceSize is the size of an asyncReference block in bytes (listing 27.2).
const ReferenceSize = 0x20

// Completion is the message that arrives at a wake port.
type Completion struct {
	Reference [ReferenceSize]byte // as the request gave it
	Result    Return
	Reply     [ReplySize]byte // table 27.6's output
}

// WakePort is the mach port at which asynchronous requests complete. Completions
// arrive on C in the order in which the requests did.
type WakePort struct {
	C <-chan Completion

	c   chan Completion
	mu  sync.Mutex
	out int // requests whose completion has still to come
}

// maxPort bounds the places of a wake port.
const maxPort = 1 << 16

// NewWakePort makes a port with room for n completions, 1 to 65536. A request
// for which the port has no room left is refused when it is sent, so that a
// completion never waits for its receiver.
func NewWakePort(n int) (*WakePort, error) {
	if n < 1 || n > maxPort {
		return nil, fmt.Errorf("driver: a wake port of %d messages: 1 to %d are allowed", n, maxPort)
	}
	c := make(chan Completion, n)
	return &WakePort{C: c, c: c}, nil
}

// reserve takes a place for a completion.
func (p *WakePort) reserve() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.c == nil || p.out+len(p.c) >= cap(p.c) {
		return false
	}
	p.out++
	return true
}

// cancel gives a reserved place back.
func (p *WakePort) cancel() {
	p.mu.Lock()
	p.out--
	p.mu.Unlock()
}

// deliver fills a reserved place.
func (p *WakePort) deliver(c Completion) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out--
	p.c <- c // reserve kept the room
}
