package protocol

import (
	"encoding/binary"
	"fmt"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/wire"
)

// The records of the arrays.
var (
	eventRecord  = wire.New[Event](EventSize)
	barRecord    = wire.New[CustomBar](CustomBarSize)
	bufferRecord = wire.New[Buffer](BufferSize)
)

// appendRecords appends the records of an array.
func appendRecords[T any](p []byte, l *wire.Layout[T], records []T) []byte {
	for i := range records {
		p = l.Append(p, &records[i])
	}
	return p
}

// decodeRecords reads the n records of an array, which are inside the body, and checks each. It returns where the array
// ends.
func decodeRecords[T any](body []byte, at, n int, l *wire.Layout[T], check func(i, at int, r *T) error) ([]T, int,
	error) {
	if n == 0 {
		return nil, at, nil
	}
	records := make([]T, n)
	for i := range records {
		l.Decode(body[at:], &records[i])
		if check != nil {
			if err := check(i, at, &records[i]); err != nil {
				return nil, at, err
			}
		}
		at += l.Size
	}
	return records, at, nil
}

// Event is a wait or signal event: { uint32 type; uint32 targetMask; uint64 id;
// uint64 value; }.
type Event struct {
	Type       uint32 `at:"0x00" name:"type"`
	TargetMask uint32 `at:"0x04" name:"targetMask"`
	ID         uint64 `at:"0x08" name:"id"`
	Value      uint64 `at:"0x10" name:"value"`
}

// EventSize is the size of an event record in bytes.
const EventSize = 24

// Log formats the event as the firmware logs it; which is "waitEvent" or "signalEvent".
func (e *Event) Log(which string, i int) string {
	return fmt.Sprintf("%s[%d]: type=%d mask=%x id=%d value=%d", which, i, e.Type, e.TargetMask, int64(e.ID),
		int64(e.Value))
}

// Values of a custom bar's type and config. The names are from the chapter, the numbers are modelled.
const (
	CustomBarGeneric = 0 // ANE_CUSTOM_BAR_GENERIC
	CustomBarHW32Bit = 0 // ANE_CUSTOM_BAR_HW_32BIT
)

// CustomBar overrides the base of one buffer-access register for a call. Type and config have one legal value each and
// are not stored.
type CustomBar struct {
	BarID      uint32 `at:"0x08" name:"barId"`   // buffer-access register, 0 to 31
	Value      uint64 `at:"0x0c" name:"value"`   // device address; the high 32 bits are zero
	BufferSize uint64 `at:"0x14" name:"bufSize"` // bytes
}

// CustomBarSize is the size of a custom bar in bytes: three words and two
// double words, packed as the other structs are (modelled).
const CustomBarSize = 28

// Log formats the bar as the firmware logs it.
func (c *CustomBar) Log(i int) string {
	return fmt.Sprintf("bar[%d]: type=%d cfg=%d barId=%d value=%#x bufSize=%d", i, CustomBarGeneric, CustomBarHW32Bit,
		c.BarID, c.Value, c.BufferSize)
}

func decodeBars(body []byte, at, n int) ([]CustomBar, int, error) {
	return decodeRecords(body, at, n, barRecord, func(i, at int, b *CustomBar) error {
		le := binary.LittleEndian
		name := func(f string) string { return fmt.Sprintf("bar[%d].%s", i, f) }
		typ, config := le.Uint32(body[at:]), le.Uint32(body[at+4:])
		switch {
		case typ != CustomBarGeneric:
			return bad(at, name("type"), typ, "type == ANE_CUSTOM_BAR_GENERIC", "")
		case config != CustomBarHW32Bit:
			return bad(at+4, name("config"), config, "config == ANE_CUSTOM_BAR_HW_32BIT", "")
		case b.BarID >= MaxWireBars:
			return bad(at+8, name("barId"), b.BarID, "barId < 32", "there are 32 buffer-access registers")
		case b.Value>>32 != 0:
			return bad(at+12, name("value"), b.Value, "(value >> 32) == 0", "a hardware bar is 32 bits wide")
		}
		return nil
	})
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
	Type   BufferType `at:"0x00" name:"type"`
	BarID  uint32     `at:"0x04" name:"barId"`
	Buffer uint64     `at:"0x08" name:"buffer"` // device address; (buffer >> 32) == 0
	Size   uint64     `at:"0x10" name:"size"`   // bytes
}

// BufferSize is the size of a buffer descriptor in bytes, modelled.
const BufferSize = 24

// decodeBuffers reads n descriptors, all of one type; 0 admits both.
func decodeBuffers(body []byte, at, n int, want BufferType, what string) ([]Buffer, int, error) {
	return decodeRecords(body, at, n, bufferRecord, func(i, at int, b *Buffer) error {
		name := func(f string) string { return fmt.Sprintf("%s[%d].%s", what, i, f) }
		switch {
		case want == OutputBuffer && b.Type != want:
			return bad(at, name("type"), uint32(b.Type), "buffer.type == eCSneBufferDescriptorType_OutputBuffer", "")
		case want != 0 && b.Type != want, b.Type != InputBuffer && b.Type != OutputBuffer:
			return bad(at, name("type"), uint32(b.Type), "an input or output buffer, according to the array", "")
		case b.BarID >= MaxWireBars:
			return bad(at+4, name("barId"), b.BarID, "barId < 32", "there are 32 buffer-access registers")
		case b.Buffer>>32 != 0:
			return bad(at+8, name("buffer"), b.Buffer, "(buffer >> 32) == 0",
				"chained buffers must be in the low window")
		}
		return nil
	})
}
