package coprocessor

import (
	"context"
	"errors"
	"fmt"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/inject"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
)

// runSlice is the number of messages between two checks of the context.
const runSlice = 4096

// serve runs the pumps until nothing is runnable.
func (b *boot) serve(ctx context.Context, bells uint32) error {
	b.ctx = ctx
	b.releaseNotes(false)
	b.hostSignals()
	var err error
	for i, p := range [...]pump{BellControl: server, BellLoop: exeLoopPump} {
		if bells>>i&1 == 1 && err == nil {
			err = b.kernel.Interrupt(b.tasks[p], wordBell)
		}
	}
	if k := b.kick(); k != nil && err == nil {
		err = b.kernel.Post(k[0].To, k[0].Data)
	}
	for err == nil || errors.Is(err, firmware.ErrLimit) {
		if err = ctx.Err(); err != nil {
			break
		}
		_, err = b.kernel.Run(runSlice)
		if err == nil {
			if b.stuck == nil || b.dead() {
				break
			}
			err = b.wait()
		}
	}
	if f := b.faulted(); f != nil {
		return f
	}
	if err != nil && ctx.Err() == nil {
		// A pump that cannot continue is a failed invariant of the kernel.
		b.fail(synchronousAbort, err)
		return b.faulted()
	}
	return ctx.Err()
}

func (b *boot) dead() bool { return b.died }

func (b *boot) faulted() error {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	if b.d.fault == nil {
		return nil
	}
	return b.d.fault
}

// notReady answers a message to a channel that is not ready.
func (b *boot) notReady() {
	b.fault(StatusNotReady, errors.New("coprocessor: the channel is not ready; finish the third handshake first"))
	b.d.count(func(s *Stats) { s.Rejected++ })
	b.errorNote(protocol.Header{ProgramID: protocol.Unbound, ProcessID: protocol.Unbound}, StatusNotReady)
}

// take performs the steps common to all messages and returns the task that must run the message, or the idle task if it
// has already run.
func (b *boot) take(d *protocol.Delivery) pump {
	b.ring.put(b.now(), d)
	b.d.count(func(s *Stats) {
		switch d.Outcome {
		case protocol.Ran:
			s.Ran++
		case protocol.Dropped:
			s.Dropped++
		case protocol.Refused:
			s.Refused++
		default:
			s.Rejected++
		}
	})
	b.traceMessage(d)
	if f, ok := b.d.cfg.Inject.At(inject.Step); ok {
		b.injected(f, "a handler")
		return idleTask
	}
	if d.Err != nil {
		if errors.Is(d.Err, protocol.ErrFault) {
			b.fail(synchronousAbort, d.Err)
			return idleTask
		}
		b.refuse(d, statusOf(d.Err), d.Err)
		return idleTask
	}
	to := commands[d.Row.ID&0x7f].pump
	if to == hostRPC {
		_ = b.kernel.Change(b.tasks[to], firmware.TaskSignal) // it waits, or the answer comes again
	}
	if d.Row == &protocol.Start {
		to = idleTask
	}
	if to == idleTask {
		b.command(d)
	}
	return to
}

// statusOf returns the status for the error of a refused message.
func statusOf(err error) Status {
	var damage *protocol.DamageError
	switch {
	case errors.As(err, &damage):
		return StatusIntegrity
	case errors.Is(err, protocol.ErrUnsupported):
		return StatusUnsupported
	case errors.Is(err, protocol.ErrDropped):
		return StatusDropped
	case errors.Is(err, protocol.ErrFull):
		return StatusFull
	}
	return StatusMalformed
}

// refuse answers a refused message.
func (b *boot) refuse(d *protocol.Delivery, s Status, err error) {
	b.fault(s, err)
	h := d.Header
	if h.ProgramID < protocol.Unbound || h.ProgramID >= protocol.MaxPrograms || h.ProcessID < protocol.Unbound ||
		h.ProcessID >= protocol.MaxProcesses || h.Priority >= protocol.Priorities ||
		len(d.Bytes) < protocol.HeaderSize {
		h = protocol.Header{ProgramID: protocol.Unbound, ProcessID: protocol.Unbound}
	}
	b.errorNote(h, s)
}

// fault records why a message failed, for LastError.
func (b *boot) fault(s Status, err error) {
	b.d.mu.Lock()
	b.d.last = &StatusError{s, err}
	b.d.mu.Unlock()
	b.traceFailure(s, err)
}

// StatusError reports a message that failed: the status that the host sees, and the cause.
type StatusError struct {
	Status Status
	Err    error
}

// Error returns the status and the cause.
func (e *StatusError) Error() string { return fmt.Sprintf("coprocessor: %s: %v", e.Status, e.Err) }

// Unwrap returns the cause.
func (e *StatusError) Unwrap() error { return e.Err }
