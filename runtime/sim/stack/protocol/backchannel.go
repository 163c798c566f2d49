package protocol

import (
	"encoding/binary"
	"fmt"
	"sync"
)

// The back channel: the firmware calls into the driver.
const (
	BackChannelMagic  = 0x55aa55aa
	BackChannelCap    = 0x800000 // payload bytes
	BackChannelEvents = 2        // GetDirectProcCallEventPoolAvailNum() >= 2
	BackChannelSlots  = 16       // length of RPCEventMap, modelled
)

var backChannelLayout = pack("", "chapter 30: magic and length; order and slot modelled", BackChannelCap,
	b("magic", 4, BackChannelMagic, BackChannelMagic, "magic == 0x55aa55aa"),
	b("length", 4, 0, BackChannelCap, "length <= 0x800000"),
	b("slot", 4, 0, BackChannelSlots-1, "a slot of RPCEventMap"))

// BackChannel is the body of BACK_CHANNEL_RPC, both the firmware's call and the driver's acknowledgement.
type BackChannel struct {
	Slot    uint32 // in RPCEventMap
	Payload []byte
}

// Append appends the body's bytes.
func (b *BackChannel) Append(p []byte) []byte {
	le := binary.LittleEndian
	p = le.AppendUint32(le.AppendUint32(le.AppendUint32(p, BackChannelMagic), uint32(len(b.Payload))), b.Slot)
	return append(p, b.Payload...)
}

func decodeBackChannel(body []byte) (*BackChannel, error) {
	l := backChannelLayout
	// These checks precede the check of the size, as in the handler, so that a wrong length is reported as such.
	if len(body) < l.Size {
		return nil, l.Check(body)
	}
	if err := l.Check(body[:l.Size]); err != nil {
		return nil, err
	}
	if n := l.get(body, 1); n != uint64(len(body)-l.Size) {
		return nil, bad(4, "length", n, fmt.Sprintf("the payload is %d bytes", len(body)-l.Size),
			"make length and size agree")
	}
	b := &BackChannel{Slot: uint32(l.get(body, 2))}
	if len(body) > l.Size {
		b.Payload = append([]byte(nil), body[l.Size:]...)
	}
	return b, nil
}

// RPCEventMap holds the outstanding back-channel calls of the firmware. The
// zero value is empty and ready.
type RPCEventMap struct {
	mu    sync.Mutex
	dirty [BackChannelSlots]bool
	made  uint64
	acked uint64
}

// Call takes a slot for a call. available is the number of free events of the direct procedure-call pool.
func (m *RPCEventMap) Call(payload []byte, available int) (*BackChannel, error) {
	if len(payload) > BackChannelCap {
		return nil, of(bad(4, "length", len(payload), "length <= 0x800000", "split the payload"),
			"CSNE_CMD_BACK_CHANNEL_RPC", HeaderSize)
	}
	if available < BackChannelEvents {
		return nil, fmt.Errorf("%w: direct procedure-call events: GetDirectProcCallEventPoolAvailNum() is %d, want >= "+
			"%d", ErrFull, available, BackChannelEvents)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.dirty {
		if !m.dirty[i] {
			m.dirty[i] = true
			m.made++
			return &BackChannel{uint32(i), append([]byte(nil), payload...)}, nil
		}
	}
	return nil, fmt.Errorf("%w: all %d slots wait for the driver; %v", ErrFull, BackChannelSlots, stuck(0))
}

// Ack frees the slot that the driver answered.
func (m *RPCEventMap) Ack(slot uint32) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if slot >= BackChannelSlots || !m.dirty[slot] {
		return fmt.Errorf("%w: RPCEventMap[%d] has no outstanding call", ErrDropped, slot)
	}
	m.dirty[slot] = false
	m.acked++
	return nil
}

// Dirty reports each slot without an acknowledgement, as the firmware does.
func (m *RPCEventMap) Dirty() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var s []string
	for i, d := range m.dirty {
		if d {
			s = append(s, stuck(i))
		}
	}
	return s
}

func stuck(i int) string {
	return fmt.Sprintf("RPCEventMap[%d] is dirty. (No ack from driver)", i)
}
