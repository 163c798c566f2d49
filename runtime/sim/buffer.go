package sim

// Buffer is memory on the host that ports and states are bound to. The value of a buffer that is bound to a state, or
// to both an output and the inputs that read it back, stays on the device between runs where it can; the host's memory
// gets it when Bytes is called. A Buffer must be used by one goroutine at a time.
type Buffer struct {
	data  []byte
	on    *resident // has the value on the device too; nil for none
	stale bool      // the value on the device is newer than data
}

// NewBuffer returns a buffer whose memory is b.
func NewBuffer(b []byte) *Buffer { return &Buffer{data: b} }

// Size returns the number of bytes.
func (b *Buffer) Size() int { return len(b.data) }

// Bytes returns the memory with its newest value. It may be written to until the next run, and must be requested again
// after it.
func (b *Buffer) Bytes() []byte {
	b.fetch()
	b.on = nil
	return b.data
}

// Read returns the memory with its newest value, which must not be written to and must be requested again after a run.
// Unlike Bytes it leaves the value on the device.
func (b *Buffer) Read() []byte {
	b.fetch()
	return b.data
}

// fetch copies the value from the device if it is newer there.
func (b *Buffer) fetch() {
	if b.stale {
		b.on.fetch(b.data)
		b.stale = false
	}
}
