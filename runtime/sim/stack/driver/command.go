package driver

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/coprocessor"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/inject"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// commandDeadline is the virtual time that the driver waits for the completion of a command other than a request: the
// handshake's timeout in milliseconds (the unit is modelled).
const commandDeadline = HandshakeTimeout * time.Millisecond

// Waits for a completion double from firstWait to lastWait, modelled.
const (
	firstWait = 50 * time.Microsecond
	lastWait  = 250 * time.Millisecond
)

// outcome is the result of a command.
type outcome struct {
	status coprocessor.Status
	header protocol.Header // of the completion
	event  uint32
	note   *protocol.Message
}

// errLost reports that no completion came before the deadline.
var errLost = errors.New("driver: no completion before the deadline; outstanding commands are cancelled")

// statusReturns maps the firmware's statuses to return codes, modelled: no source states the numbers or the mapping.
var statusReturns = [coprocessor.NumStatuses]Return{
	coprocessor.StatusOK: Success, coprocessor.StatusNotReady: NotReady, coprocessor.StatusIntegrity: GeneralError,
	coprocessor.StatusMalformed: BadArgument, coprocessor.StatusUnsupported: Unsupported,
	coprocessor.StatusDropped: Aborted,
	coprocessor.StatusFull:    NoResources, coprocessor.StatusProgram: BadArgument, coprocessor.StatusBusy: Busy,
	coprocessor.StatusBuffer: BadArgument, coprocessor.StatusTranslation: GeneralError,
	coprocessor.StatusEngine:  GeneralError,
	coprocessor.StatusAborted: Timeout, coprocessor.StatusReset: Aborted,
	coprocessor.StatusPreempted: Aborted,
}

func returnOf(s coprocessor.Status) Return {
	if s < coprocessor.NumStatuses {
		return statusReturns[s]
	}
	return GeneralError
}

// errReset reports that the firmware requested a reset.
var errReset = errors.New("driver: the firmware requested a reset")

// post puts a message into a ring and rings the doorbell, with the faults injected at the site Post.
func (h *hardware) post(ch protocol.Channel, msg []byte, bell uint32) error {
	rings := h.cop.Rings()
	if rings == nil {
		return errors.New("driver: the channel is not ready")
	}
	if h.d.trace.On() {
		h.d.trace.Note("post "+commandName(ch, msg), 0, 0, trace.Data(msg))
	}
	f, ok := h.d.cfg.Inject.At(inject.Post)
	if !ok {
		if err := rings.Post(ch, msg); err != nil {
			return err
		}
		return h.announce(bell)
	}
	return h.fault(f, rings, ch, msg, bell)
}

// noBell is the doorbell of a message that is announced with the next one.
const noBell = ^uint32(0)

// announce rings a doorbell for a message.
func (h *hardware) announce(bell uint32) error {
	if bell == noBell {
		return nil
	}
	return h.doorBellRing(bell)
}

// heldSlot is a message that a fault holds back.
type heldSlot struct {
	ch   protocol.Channel
	slot []byte
	bell uint32
}

// fault posts a message with a fault.
func (h *hardware) fault(f inject.Fault, rings *protocol.Controller, ch protocol.Channel, msg []byte,
	bell uint32) error {
	h.d.trace.Note("inject "+f.Kind.String(), 0, 0, trace.Text("site", f.Site.String()))
	slot := protocol.Seal(msg)
	switch f.Kind {
	case inject.Drop:
		return h.announce(bell)
	case inject.Delay:
		h.d.advance(f.Delay)
	case inject.Corrupt:
		// One byte changes: the high half of Value says how, and it never stays the same.
		slot[f.Value%uint64(len(slot))] ^= byte(f.Value>>32%255) + 1
	case inject.Reorder:
		h.held = append(h.held, heldSlot{ch, slot, bell})
		return h.announce(bell)
	case inject.Crash:
		// The controller stops when the message arrives: it goes into reset and loses its state.
		h.cop.Write32(coprocessor.ANE, coprocessor.RegCPU, 0)
		return nil
	}
	if err := rings.PostSlot(ch, slot); err != nil {
		return err
	}
	return h.announce(bell)
}

// letGo posts the messages that a fault held back, after those posted since.
func (h *hardware) letGo() {
	rings := h.cop.Rings()
	for _, s := range h.held {
		if rings != nil && rings.PostSlot(s.ch, s.slot) == nil {
			_ = h.announce(s.bell) // its index was valid when it was held
		}
	}
	h.held = nil
}

func commandName(ch protocol.Channel, msg []byte) string {
	var row *protocol.Row
	switch {
	case ch == protocol.Loop && len(msg) >= 6:
		if l := protocol.LoopRowOf(binary.LittleEndian.Uint16(msg[4:])); l != nil {
			row = &protocol.Rows[l.Body]
		}
	case ch == protocol.Control && len(msg) >= 4:
		row = coprocessor.Numbering.Row(binary.LittleEndian.Uint32(msg))
	}
	if row == nil {
		return "unknown command"
	}
	return "CSNE_CMD_" + row.Name
}

// await runs the firmware until the completion that match accepts arrives, the firmware faults, or the deadline passes.
// It advances virtual time while nothing arrives.
func (h *hardware) await(deadline time.Duration, match func(*protocol.Message) (outcome, bool)) (outcome, error) {
	wait := firstWait
	for {
		err := h.cop.Run(context.Background())
		if o, ok := h.notifications(match); ok {
			return o, nil
		}
		if err != nil {
			return outcome{}, err
		}
		now := h.d.clock.Now()
		if now >= deadline {
			return outcome{}, errLost
		}
		if len(h.held) > 0 {
			h.letGo()
			continue
		}
		h.d.advance(min(wait, deadline-now))
		wait = min(2*wait, lastWait)
	}
}

// notifications takes the notifications that the firmware has sent.
func (h *hardware) notifications(match func(*protocol.Message) (outcome, bool)) (o outcome, ok bool) {
	for {
		m, more, err := h.cop.TakeNotification()
		if !more {
			return o, ok
		}
		if h.d.trace.On() {
			name, content := "notification", []byte(nil)
			if err == nil {
				name, content = "CSNE_CMD_"+m.Row.Name, m.Bytes()
			}
			h.d.trace.Note(name, 0, 0, trace.Data(content), trace.Failure(err))
		}
		if err != nil {
			continue // damaged: its command runs into the deadline
		}
		if h.noted != nil {
			h.noted(m)
		}
		if b, is := m.Body.(*protocol.BackChannel); is {
			if !h.served.noRPC {
				h.acknowledge(b)
			}
			continue
		}
		if m.Row.ID == protocol.IDResetNote {
			h.reset = true
		}
		if got, hit := match(m); hit && !ok {
			o, ok = got, true
			o.note = m
		}
	}
}

// acknowledge answers a back-channel call. The firmware reports a lost answer.
func (h *hardware) acknowledge(b *protocol.BackChannel) {
	row := &protocol.Rows[protocol.IDBackChannel]
	m, err := protocol.New(coprocessor.Numbering, row, unbound, &protocol.BackChannel{Slot: b.Slot})
	if err == nil {
		_ = h.post(protocol.Control, m.Bytes(), coprocessor.BellControl)
	}
}

// command sends a command on the control channel and waits for its completion.
func (h *hardware) command(row *protocol.Row, hd protocol.Header, values ...uint64) (outcome, error) {
	rec, err := protocol.NewRecord(row.Request, nil, values...)
	if err != nil {
		return outcome{}, err
	}
	return h.send(row, hd, rec)
}

func (h *hardware) send(row *protocol.Row, hd protocol.Header, body protocol.Body) (outcome, error) {
	m, err := protocol.New(coprocessor.Numbering, row, hd, body)
	if err != nil {
		return outcome{}, err
	}
	for { // discard the answers of failed commands
		if _, ok := h.cop.TakeReply(); !ok {
			break
		}
	}
	for posts := 1; ; posts++ {
		if err := h.post(protocol.Control, m.Bytes(), coprocessor.BellControl); err != nil {
			return outcome{}, err
		}
		o, err := h.await(h.d.clock.Now()+commandDeadline, completed)
		switch {
		case err != nil:
			return o, err
		case h.reset:
			o.status = coprocessor.StatusReset
		case o.status == coprocessor.StatusOK:
			return o, nil
		case o.status == coprocessor.StatusIntegrity && posts < maxPosts:
			continue
		}
		err = fmt.Errorf("driver: %s: status %d, %v: %w", row, uint32(o.status), o.status, h.because())
		return o, &statusError{o.status, err}
	}
}

// maxPosts is how often a message is posted if it arrives damaged and is rejected without running (modelled).
const maxPosts = 2

// finish sends a command that tears something down. If the firmware fails to do so, a reset does it.
func (h *hardware) finish(row *protocol.Row, hd protocol.Header, values ...uint64) {
	boot := h.boot.Load()
	_, err := h.command(row, hd, values...)
	if err == nil {
		return
	}
	h.failed(err)
	if h.ready.Load() && h.boot.Load() == boot {
		h.recover(err)
	}
}

// statusError reports a command that the firmware completed with an error status.
type statusError struct {
	status coprocessor.Status
	err    error
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

// completed accepts the completion of a command other than a request: only one is in flight, and a reset discards the
// rings of cancelled ones.
func completed(m *protocol.Message) (outcome, bool) {
	if m.Row.ID != protocol.IDProgramEvent {
		return errorNote(m)
	}
	r, ok := m.Body.(*protocol.Record)
	if !ok {
		return outcome{}, false
	}
	return outcome{
		status: coprocessor.Status(r.Value("status")),
		header: m.Header,
		event:  uint32(r.Value("event")),
	}, true
}

// errorNote returns the status of an error notification. The firmware could not identify the command, but only one is
// in flight.
func errorNote(m *protocol.Message) (outcome, bool) {
	r, ok := m.Body.(*protocol.Record)
	if !ok {
		return outcome{}, false
	}
	switch m.Row.ID {
	case protocol.IDErrorNote:
		return outcome{status: coprocessor.Status(r.Value("error")), header: m.Header}, true
	case protocol.IDResetNote:
		return outcome{status: coprocessor.StatusReset, header: m.Header}, true
	}
	return outcome{}, false
}

// unbound is the header of a command without a program.
var unbound = protocol.Header{ProgramID: protocol.Unbound, ProcessID: protocol.Unbound}
