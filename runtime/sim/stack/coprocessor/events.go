package coprocessor

import (
	"maps"
	"slices"
	"sync"

	"github.com/zinc-compiler/zinc/internal/locked"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
)

// Shared events have a rising value for each identifier. A wait ends when the value is at least the one waited for.
// Types are modelled: EventShared is between host and engine; EventGPU is the graphics processor's, which is notified
// through its own doorbell.
const (
	EventShared = 0
	EventGPU    = 1

	defaultEvents = 64
	eventBytes    = 16 // of an event in the memory of INIT_SHARED_EVENT_INFO, modelled
	maxEvents     = 4096
)

// eventTable contains the shared events. The host may signal concurrently.
type eventTable struct {
	mu     sync.Mutex
	size   int
	values map[uint64]uint64
	fresh  bool // the host has signalled since the last check
}

func (t *eventTable) satisfied(waits []protocol.Event) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range waits {
		if t.values[w.ID] < w.Value {
			return false
		}
	}
	return true
}

// set raises an event. A full table refuses new identifiers.
func (t *eventTable) set(id, value uint64, host bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	old, ok := t.values[id]
	if !ok && len(t.values) >= t.size {
		return &firmware.CapacityError{What: "shared event", Capacity: t.size}
	}
	if t.values == nil {
		t.values = map[uint64]uint64{}
	}
	t.values[id] = max(old, value)
	t.fresh = t.fresh || host
	return nil
}

// initEvents sizes the table by the memory that the host provides.
func (b *boot) initEvents(d *protocol.Delivery, _ *answer) error {
	n := record(d).Values[1] / eventBytes
	if n < 1 || n > maxEvents {
		return refusef(StatusMalformed, "CSNE_CMD_INIT_SHARED_EVENT_INFO: the memory has room for %d events of %d "+
			"bytes, want 1 to %d",
			n, eventBytes, maxEvents)
	}
	b.events.mu.Lock()
	defer b.events.mu.Unlock()
	if int(n) < len(b.events.values) {
		return refusef(StatusBusy, "CSNE_CMD_INIT_SHARED_EVENT_INFO: the memory has room for %d events; %d are in use",
			n,
			len(b.events.values))
	}
	b.events.size = int(n)
	return nil
}

// signal raises the events of a completed call, starts the calls that waited for them, and returns the host doorbells
// that they name besides the client's.
func (b *boot) signal(signals []protocol.Event) (mask uint32) {
	for i := range signals {
		e := &signals[i]
		if err := b.events.set(e.ID, e.Value, false); err != nil {
			b.fault(StatusFull, err)
			continue
		}
		mask |= e.TargetMask
		if e.Type == EventGPU {
			b.ringOne(GPUDoorbell, 1)
		}
	}
	if len(signals) > 0 {
		b.unpark()
	}
	return mask
}

// unpark queues the calls whose events have come. A call whose priority queue is full keeps waiting.
func (b *boot) unpark() {
	parked := b.jobs.parked[:0]
	for _, j := range b.jobs.parked {
		if !b.events.satisfied(j.call.Waits) || b.schedule(j) != nil {
			parked = append(parked, j)
			continue
		}
		b.awake(j)
	}
	b.jobs.parked = parked
}

// awake ends a call's wait.
func (b *boot) awake(j *job) {
	j.waiting = false
	_ = b.kernel.Release(firmware.Signals, j.signal) // never fails: the call has taken it
}

// hostSignals processes the host's signals.
func (b *boot) hostSignals() {
	b.events.mu.Lock()
	fresh := b.events.fresh
	b.events.fresh = false
	b.events.mu.Unlock()
	if fresh {
		b.unpark()
	}
}

// abandon tears down a process: it drops its calls that wait for events and invalidates its cache requests.
func (b *boot) abandon(process int32) {
	for _, h := range slices.Sorted(maps.Keys(b.chains)) {
		if b.chains[h].header.ProcessID == process {
			_ = b.rings.Cache().Invalidate(h) // fails if it is already being invalidated
			delete(b.chains, h)
		}
	}
	parked := b.jobs.parked
	b.jobs.parked = nil
	for _, j := range parked {
		if j.header.ProcessID != process {
			b.jobs.parked = append(b.jobs.parked, j)
			continue
		}
		b.awake(j)
		j.status, j.err = StatusDropped,
			refusef(StatusDropped, "process %d was terminated while one of its calls waited for shared events", process)
		b.fault(j.status, j.err)
		b.finish(j, 0)
	}
}

// SignalEvent signals a shared event from outside the device: calls that wait for the value run in the next Run.
func (d *Device) SignalEvent(id, value uint64) error {
	b := locked.Get(&d.mu, &d.boot)
	if b == nil {
		return errNotUp
	}
	return b.events.set(id, value, true)
}

// Events returns the values of the shared events by identifier.
func (d *Device) Events() map[uint64]uint64 {
	b := locked.Get(&d.mu, &d.boot)
	if b == nil {
		return nil
	}
	b.events.mu.Lock()
	defer b.events.mu.Unlock()
	return maps.Clone(b.events.values)
}
