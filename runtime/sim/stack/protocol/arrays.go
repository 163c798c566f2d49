package protocol

import (
	"encoding/binary"
	"fmt"
)

// Event is a wait or signal event: { uint32 type; uint32 targetMask; uint64 id;
// uint64 value; }.
type Event struct {
	Type, TargetMask uint32
	ID, Value        uint64
}

// EventSize is the size of an event record in bytes.
const EventSize = 24

func (e *Event) append(p []byte) []byte {
	le := binary.LittleEndian
	return le.AppendUint64(le.AppendUint64(le.AppendUint32(le.AppendUint32(p, e.Type), e.TargetMask), e.ID), e.Value)
}

// Log formats the event as the firmware logs it; which is "waitEvent" or "signalEvent".
func (e *Event) Log(which string, i int) string {
	return fmt.Sprintf("%s[%d]: type=%d mask=%x id=%d value=%d", which, i, e.Type, e.TargetMask, int64(e.ID),
		int64(e.Value))
}

func decodeEvents(body []byte, at, n int) ([]Event, int) {
	if n == 0 {
		return nil, at
	}
	le := binary.LittleEndian
	es := make([]Event, n)
	for i := range es {
		p := body[at:]
		es[i] = Event{Type: le.Uint32(p), TargetMask: le.Uint32(p[4:]), ID: le.Uint64(p[8:]), Value: le.Uint64(p[16:])}
		at += EventSize
	}
	return es, at
}

// Values of a custom bar's type and config. The names are from the chapter, the numbers are modelled.
const (
	CustomBarGeneric = 0 // ANE_CUSTOM_BAR_GENERIC
	CustomBarHW32Bit = 0 // ANE_CUSTOM_BAR_HW_32BIT
)

// CustomBar overrides the base of one buffer-access register for a call. Type and config have one legal value each and
// are not stored.
type CustomBar struct {
	BarID      uint32 // buffer-access register, 0 to 31
	Value      uint64 // device address; the high 32 bits are zero
	BufferSize uint64 // bytes
}

// CustomBarSize is the size of a custom bar in bytes: three words and two
// double words, packed as the other structs are (modelled).
const CustomBarSize = 28

func (c *CustomBar) append(p []byte) []byte {
	le := binary.LittleEndian
	p = le.AppendUint32(le.AppendUint32(le.AppendUint32(p, CustomBarGeneric), CustomBarHW32Bit), c.BarID)
	return le.AppendUint64(le.AppendUint64(p, c.Value), c.BufferSize)
}

// Log formats the bar as the firmware logs it.
func (c *CustomBar) Log(i int) string {
	return fmt.Sprintf("bar[%d]: type=%d cfg=%d barId=%d value=%#x bufSize=%d", i, CustomBarGeneric, CustomBarHW32Bit,
		c.BarID, c.Value, c.BufferSize)
}

func decodeBars(body []byte, at, n int) ([]CustomBar, int, error) {
	if n == 0 {
		return nil, at, nil
	}
	le := binary.LittleEndian
	bars := make([]CustomBar, n)
	for i := range bars {
		p := body[at:]
		name := func(f string) string { return fmt.Sprintf("bar[%d].%s", i, f) }
		if v := le.Uint32(p); v != CustomBarGeneric {
			return nil, at, bad(at, name("type"), v, "type == ANE_CUSTOM_BAR_GENERIC", "")
		}
		if v := le.Uint32(p[4:]); v != CustomBarHW32Bit {
			return nil, at, bad(at+4, name("config"), v, "config == ANE_CUSTOM_BAR_HW_32BIT", "")
		}
		b := CustomBar{le.Uint32(p[8:]), le.Uint64(p[12:]), le.Uint64(p[20:])}
		if b.BarID >= MaxWireBars {
			return nil, at, bad(at+8, name("barId"), b.BarID, "barId < 32", "there are 32 buffer-access registers")
		}
		if b.Value>>32 != 0 {
			return nil, at, bad(at+12, name("value"), b.Value, "(value >> 32) == 0", "a hardware bar is 32 bits wide")
		}
		bars[i] = b
		at += CustomBarSize
	}
	return bars, at, nil
}

// BufferType is eCSneBufferDescriptorType. The name of the output's value is from the chapter; the numbers are
// modelled.
type BufferType uint32

// The buffer types.
const (
	InputBuffer  BufferType = 1
	OutputBuffer BufferType = 2 // eCSneBufferDescriptorType_OutputBuffer
)

// Buffer is a buffer descriptor: a device address in the low window, bound to
// a buffer-access register.
type Buffer struct {
	Type   BufferType
	BarID  uint32
	Buffer uint64 // device address; (buffer >> 32) == 0
	Size   uint64 // bytes
}

// BufferSize is the size of a buffer descriptor in bytes, modelled.
const BufferSize = 24

func (b *Buffer) append(p []byte) []byte {
	le := binary.LittleEndian
	return le.AppendUint64(le.AppendUint64(le.AppendUint32(le.AppendUint32(p, uint32(b.Type)), b.BarID), b.Buffer),
		b.Size)
}

// decodeBuffers reads n descriptors, all of one type; 0 admits both.
func decodeBuffers(body []byte, at, n int, want BufferType, what string) ([]Buffer, int, error) {
	if n == 0 {
		return nil, at, nil
	}
	le := binary.LittleEndian
	bs := make([]Buffer, n)
	for i := range bs {
		p := body[at:]
		b := Buffer{
			Type:   BufferType(le.Uint32(p)),
			BarID:  le.Uint32(p[4:]),
			Buffer: le.Uint64(p[8:]),
			Size:   le.Uint64(p[16:]),
		}
		name := func(f string) string { return fmt.Sprintf("%s[%d].%s", what, i, f) }
		switch {
		case want == OutputBuffer && b.Type != want:
			return nil, at, bad(at, name("type"), uint32(b.Type),
				"buffer.type == eCSneBufferDescriptorType_OutputBuffer", "")
		case want != 0 && b.Type != want, b.Type != InputBuffer && b.Type != OutputBuffer:
			return nil, at, bad(at, name("type"), uint32(b.Type), "an input or output buffer, according to the array",
				"")
		case b.BarID >= MaxWireBars:
			return nil, at, bad(at+4, name("barId"), b.BarID, "barId < 32", "there are 32 buffer-access registers")
		case b.Buffer>>32 != 0:
			return nil, at, bad(at+8, name("buffer"), b.Buffer, "(buffer >> 32) == 0",
				"chained buffers must be in the low window")
		}
		bs[i] = b
		at += BufferSize
	}
	return bs, at, nil
}
