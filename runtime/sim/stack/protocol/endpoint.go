package protocol

import (
	"fmt"
	"sync"

	"github.com/zinc-compiler/zinc/internal/locked"
)

// MaxSlots bounds the messages in a ring, modelled.
const MaxSlots = 4096

// EndpointType is the type in an endpoint's descriptor. The numbers are
// modelled.
type EndpointType uint32

// The endpoint types.
const (
	EndpointControl      EndpointType = 0 // the control channel, bound at bring-up
	EndpointDataChaining EndpointType = 1 // CSNE_CMD_IPC_ENDPOINT_TYPE_DATA_CHAINING, the execution loop's
)

// Endpoint is a ring of messages with the doorbell that its host supplied. Only
// a bound endpoint takes messages.
type Endpoint struct {
	mu      sync.Mutex
	typ     EndpointType
	setDone bool // ipcEndpointSetDone
	max     int  // maxCmdBufSize
	slots   int
	ring    [][]byte // grows to slots, then wraps
	head, n int
	bell    chan struct{}

	// DoorBellReg and DoorBellBit are the pair through which the firmware
	// notifies this host.
	doorBellReg uint64
	doorBellBit uint32
}

// NewEndpoint returns an unbound endpoint whose messages have at most maxCmdBufSize bytes.
func NewEndpoint(maxCmdBufSize int) (*Endpoint, error) {
	if maxCmdBufSize < HeaderSize || maxCmdBufSize > MaxMessage {
		return nil, fmt.Errorf("protocol: maxCmdBufSize is %d, want %d to %d", maxCmdBufSize, HeaderSize,
			MaxMessage)
	}
	return &Endpoint{max: maxCmdBufSize, bell: make(chan struct{}, 1)}, nil
}

// Bind makes the endpoint ready for messages.
func (e *Endpoint) Bind(t EndpointType, slots int, doorBellReg uint64, doorBellBit uint32) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.setDone:
		return fmt.Errorf("%w: ipcEndpointSetDone: endpoint of type %d is bound; unset it first", ErrMalformed, e.typ)
	case slots < 1 || slots > MaxSlots:
		return of(bad(4, "slots", slots, "1 to 4096 slots", ""), "CSNE_CMD_IPC_ENDPOINT_SET", HeaderSize)
	case doorBellBit > 31:
		return of(bad(16, "doorBellBit", doorBellBit, "doorbell index below 32", ""), "CSNE_CMD_IPC_ENDPOINT_SET",
			HeaderSize)
	}
	e.typ, e.slots, e.doorBellReg, e.doorBellBit = t, slots, doorBellReg, doorBellBit
	e.ring, e.head, e.n, e.setDone = nil, 0, 0, true
	return nil
}

// Unbind unbinds the endpoint and returns the number of messages still in it.
func (e *Endpoint) Unbind() (lost int, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.setDone {
		return 0, ErrUnbound
	}
	lost = e.n
	e.ring, e.head, e.n, e.setDone = nil, 0, 0, false
	return lost, nil
}

// Bound reports ipcEndpointSetDone.
func (e *Endpoint) Bound() bool { return locked.Get(&e.mu, &e.setDone) }

// DoorBell returns the register and the mask, one bit, that notify the host.
func (e *Endpoint) DoorBell() (reg uint64, mask uint32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.doorBellReg, 1 << e.doorBellBit
}

// Post copies a message into the ring and rings the firmware's bell.
func (e *Endpoint) Post(msg []byte) error { return e.post(append([]byte(nil), msg...)) }

// post is Post for a message that the caller does not keep.
func (e *Endpoint) post(msg []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case !e.setDone:
		return fmt.Errorf("%w: ipcEndpointSetDone is false; send IPC_ENDPOINT_SET first", ErrUnbound)
	case len(msg) > e.max:
		return bad(0, "message", len(msg), fmt.Sprintf("maxCmdBufSize = %d bytes", e.max), "")
	case e.n == e.slots:
		return fmt.Errorf("%w: all %d slots of the ring hold messages", ErrFull, e.slots)
	}
	if e.n == len(e.ring) && e.head == 0 {
		e.ring = append(e.ring, msg)
	} else if e.n == len(e.ring) { // grow, with the oldest message first
		e.ring = append(append(e.ring[e.head:len(e.ring):len(e.ring)], e.ring[:e.head]...), msg)
		e.head = 0
	} else {
		e.ring[(e.head+e.n)%len(e.ring)] = msg
	}
	e.n++
	select {
	case e.bell <- struct{}{}:
	default:
	}
	return nil
}

// Take returns the oldest message.
func (e *Endpoint) Take() ([]byte, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.n == 0 {
		return nil, false
	}
	msg := e.ring[e.head]
	e.ring[e.head] = nil
	e.head = (e.head + 1) % len(e.ring)
	if e.n--; e.n == 0 {
		e.ring, e.head = e.ring[:0], 0
	}
	return msg, true
}

// Pending returns the number of messages in the ring.
func (e *Endpoint) Pending() int { return locked.Get(&e.mu, &e.n) }
