package coprocessor

import (
	"errors"
	"time"

	"github.com/zinc-compiler/zinc/internal/locked"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/inject"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// programEvent emits the completion of a message: the event is the wire
// identifier of the command that completed.
func (b *boot) programEvent(h protocol.Header, row *protocol.Row, s Status, job uint32) {
	b.note(&protocol.Rows[protocol.IDProgramEvent], h, uint64(row.Wire), uint64(s), uint64(job))
}

// errorNote answers a message that did not run.
func (b *boot) errorNote(h protocol.Header, s Status) {
	b.note(&protocol.Rows[protocol.IDErrorNote], h, uint64(s))
	b.ringControl()
}

// note emits a notification. If the ring is full, the notification is lost and counted.
func (b *boot) note(row *protocol.Row, h protocol.Header, values ...uint64) {
	b.noteTail(row, h, nil, values...)
}

// noteTail is note for a notification with a payload.
func (b *boot) noteTail(row *protocol.Row, h protocol.Header, tail []byte, values ...uint64) {
	if b.dead() {
		return
	}
	err := b.rings.Notify(row, h, &protocol.Record{Layout: row.Request, Values: values, Tail: tail})
	if err != nil && !b.dead() {
		b.d.count(func(s *Stats) { s.LostNotes++ })
		b.fault(StatusFull, err)
	}
	if b.tracing() {
		b.traceNote(row, h, values, err)
	}
}

// heldNote is a notification that arrives later.
type heldNote struct {
	slot  []byte
	due   time.Duration
	after bool // delivered after its successor
}

// maxHeldNotes bounds the notifications that a lossy ring holds back.
const maxHeldNotes = 64

// onNote applies an injector's faults to a notification.
func (b *boot) onNote(slot []byte) [][]byte {
	out := [][]byte{slot}
	f, ok := b.d.cfg.Inject.At(inject.Note)
	if ok {
		b.injectedNote(f, "notification")
		switch f.Kind {
		case inject.Drop:
			out = nil
			b.d.count(func(s *Stats) { s.LostNotes++ })
		case inject.Delay, inject.Reorder:
			if len(b.held) < maxHeldNotes {
				b.held = append(b.held, heldNote{slot, b.now() + f.Delay, f.Kind == inject.Reorder})
				b.d.count(func(s *Stats) { s.DelayedNotes++ })
				return nil
			}
		case inject.Corrupt:
			i := int(f.Value % uint64(len(slot)))
			slot[i] ^= byte(f.Value>>32) | 1
			b.d.count(func(s *Stats) { s.DamagedNotes++ })
		default:
			b.injected(f, "a notification")
			return nil
		}
	}
	held := b.held[:0]
	for _, h := range b.held {
		if h.after {
			out = append(out, h.slot)
		} else {
			held = append(held, h)
		}
	}
	b.held = held
	return out
}

// releaseNotes delivers the notifications whose time has come.
func (b *boot) releaseNotes(all bool) {
	if len(b.held) == 0 {
		return
	}
	now := b.now()
	held := b.held[:0]
	for _, h := range b.held {
		if !all && (h.after || h.due > now) || b.rings.PutNote(h.slot) != nil {
			held = append(held, h)
		}
	}
	b.held = held
}

// HeldUntil returns when the next delayed notification arrives, or false if there is none. Only an injector delays
// notifications.
func (d *Device) HeldUntil() (at time.Duration, ok bool) {
	b := locked.Get(&d.mu, &d.boot)
	if b == nil {
		return 0, false
	}
	for _, h := range b.held {
		if !h.after && (!ok || h.due < at) {
			at, ok = h.due, true
		}
	}
	return at, ok
}

var errNotUp = errors.New("coprocessor: the firmware is not up; bring the device up first")

// CallHost is a call of the firmware into the host's driver on the back channel.
// It returns the slot that waits for the driver's acknowledgement.
func (d *Device) CallHost(payload []byte) (slot uint32, err error) {
	if !d.running.TryLock() {
		return 0, errors.New("coprocessor: the firmware is running; call CallHost after Run has returned")
	}
	defer d.running.Unlock()
	d.mu.Lock()
	b, ready := d.boot, d.phase == phaseReady
	d.mu.Unlock()
	if !ready {
		return 0, errNotUp
	}
	if slot, err = b.rings.CallHost(payload); err != nil {
		return 0, err
	}
	// The daemon waits for the answer; a second call may find it waiting.
	_ = b.kernel.Change(b.tasks[hostRPC], firmware.TaskWait)
	d.log.Note("CSNE_CMD_BACK_CHANNEL_RPC", 0, 0, trace.Number("slot", slot), trace.Data(payload))
	b.ringControl()
	return slot, nil
}
