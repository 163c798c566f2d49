package driver

import (
	"fmt"
	"sync"
)

// ReferenceSize is the size of an asyncReference block in bytes (listing 27.2).
const ReferenceSize = 0x20

// Completion is the message that arrives at a wake port.
type Completion struct {
	Reference [ReferenceSize]byte // of the request
	Result    Return
	Reply     [ReplySize]byte // the output in table 27.6
}

// WakePort is the mach port at which asynchronous requests complete. Completions arrive on C in the order in which the
// requests complete.
type WakePort struct {
	C <-chan Completion

	c   chan Completion
	mu  sync.Mutex
	out int // requests that have not completed
	// called, if not nil, gets the completions instead of C.
	called func(Completion)
}

// CallWakePort creates a port that calls f with each completion at the virtual time of the completion, with the command
// gate held: f must neither wait for a request nor advance the clock.
func CallWakePort(f func(Completion)) *WakePort { return &WakePort{called: f} }

// maxPort bounds the places of a wake port.
const maxPort = 1 << 16

// NewWakePort creates a port with room for n completions, 1 to 65536. A request is refused when it is sent if the port
// has no room, so that a completion never waits for its receiver.
func NewWakePort(n int) (*WakePort, error) {
	if n < 1 || n > maxPort {
		return nil, fmt.Errorf("driver: the wake port has room for %d messages, want 1 to %d", n, maxPort)
	}
	c := make(chan Completion, n)
	return &WakePort{C: c, c: c}, nil
}

// reserve reserves a slot for a completion.
func (p *WakePort) reserve() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.called == nil && (p.c == nil || p.out+len(p.c) >= cap(p.c)) {
		return false
	}
	p.out++
	return true
}

// cancel returns a reserved slot.
func (p *WakePort) cancel() {
	p.mu.Lock()
	p.out--
	p.mu.Unlock()
}

// deliver fills a reserved slot.
func (p *WakePort) deliver(c Completion) {
	if p.called != nil {
		p.cancel()
		p.called(c)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out--
	p.c <- c // never blocks: reserve has reserved the slot
}
