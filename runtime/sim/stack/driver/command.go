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

// commandDeadline is how long the driver waits for the completion of a command
// that is no request, in virtual time: the handshake's timeout in milliseconds
// (the unit is modelled).
const commandDeadline = HandshakeTimeout * time.Millisecond

// Waits for a completion double from the first to the last, modelled.
const (
	firstWait = 50 * time.Microsecond
	lastWait  = 250 * time.Millisecond
)

// outcome is how a command ended.
type outcome struct {
	status coprocessor.Status
	header protocol.Header // of the completion
	event  uint32
	note   *protocol.Message
}

// errLost: no completion came by the deadline.
var errLost = errors.New("driver: no completion by the deadline; what is outstanding is cancelled")

// statusReturns maps the firmware's statuses to return codes, modelled: sources
// give neither numbers nor the mapping.
var statusReturns = [coprocessor.NumStatuses]Return{
	coprocessor.StatusOK: Success, coprocessor.StatusNotReady: NotReady, coprocessor.StatusIntegrity: GeneralError,
	coprocessor.StatusMalformed: BadArgument, coprocessor.StatusUnsupported: Unsupported,
	coprocessor.StatusDropped: Aborted,
	coprocessor.StatusFull:    NoResources, coprocessor.StatusProgram: BadArgument, coprocessor.StatusBusy: Busy,
	coprocessor.StatusBuffer: BadArgument, coprocessor.StatusTranslation: GeneralError,
	coprocessor.StatusEngine:  GeneralError,
	coprocessor.StatusAborted: Timeout, coprocessor.StatusReset: Aborted,
}

func returnOf(s coprocessor.Status) Return {
	if s < coprocessor.NumStatuses {
		return statusReturns[s]
	}
	return GeneralError
}

// errReset: the firmware asked the host for a reset.
var errReset = errors.New("driver: the firmware asked for a reset")

// post puts a message into a ring and rings the doorbell. It passes the site
// Post, whose faults it makes.
func (h *hardware) post(ch protocol.Channel, msg []byte, bell uint32) error {
	rings := h.cop.Rings()
	if rings == nil {
		return errors.New("driver: the channel is not ready")
	}
	if h.d.trace.On() {
		h.d.emit(trace.Event{Name: "post " + commandName(ch, msg), Data: msg})
	}
	f, ok := h.d.cfg.Inject.At(inject.Post)
	if !ok {
		if err := rings.Post(ch, msg); err != nil {
			return err
		}
		return h.doorBellRing(bell)
	}
	return h.fault(f, rings, ch, msg, bell)
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
	if h.d.trace.On() {
		h.d.emit(trace.Event{
			Name: "inject " + f.Kind.String(),
			Args: []trace.Arg{{Key: "site", Value: f.Site.String()}},
		})
	}
	slot := protocol.Seal(msg)
	switch f.Kind {
	case inject.Drop:
		return h.doorBellRing(bell)
	case inject.Delay:
		h.d.advance(f.Delay)
	case inject.Corrupt:
		// One byte changes: the high half of Value says how, and never not at all.
		slot[f.Value%uint64(len(slot))] ^= byte(f.Value>>32%255) + 1
	case inject.Reorder:
		h.held = append(h.held, heldSlot{ch, slot, bell})
		return h.doorBellRing(bell)
	case inject.Crash:
		// The controller stops as the message arrives: it goes into reset, and
		// what it held is lost.
		h.cop.Write32(coprocessor.ANE, coprocessor.RegCPU, 0)
		return nil
	}
	if err := rings.PostSlot(ch, slot); err != nil {
		return err
	}
	return h.doorBellRing(bell)
}

// letGo posts what a fault held back, behind what was posted since.
func (h *hardware) letGo() {
	rings := h.cop.Rings()
	for _, s := range h.held {
		if rings != nil && rings.PostSlot(s.ch, s.slot) == nil {
			_ = h.doorBellRing(s.bell) // its index was good when it was held
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

// await runs the firmware until the completion that match accepts is there, the
// firmware faults, or the deadline passes. Virtual time passes while nothing
// comes.
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

// notifications takes what the firmware has sent.
func (h *hardware) notifications(match func(*protocol.Message) (outcome, bool)) (o outcome, ok bool) {
	for {
		m, more, err := h.cop.TakeNotification()
		if !more {
			return o, ok
		}
		if h.d.trace.On() {
			e := trace.Event{Name: "notification"}
			if err != nil {
				e.Err = err.Error()
			} else {
				e.Name, e.Data = "CSNE_CMD_"+m.Row.Name, m.Bytes()
			}
			h.d.emit(e)
		}
		if err != nil {
			continue // damaged: the command that it was of runs into its deadline
		}
		if b, is := m.Body.(*protocol.BackChannel); is {
			h.acknowledge(b)
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

// acknowledge answers a back-channel call. A lost answer is the firmware's to
// report.
func (h *hardware) acknowledge(b *protocol.BackChannel) {
	row := &protocol.Rows[protocol.IDBackChannel]
	m, err := protocol.New(coprocessor.Numbering, row, protocol.Header{
		ProgramID: protocol.Unbound,
		ProcessID: protocol.Unbound,
	}, &protocol.BackChannel{Slot: b.Slot})
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
	for { // answers that nobody took are of commands that failed
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

// maxPosts is how often a message is posted that arrives damaged: it was rejected
// without running (modelled).
const maxPosts = 2

// finish sends a command that takes something down. When the firmware does not do
// it, a reset does.
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

// statusError is a command that the firmware completed with a status.
type statusError struct {
	status coprocessor.Status
	err    error
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

// completed accepts the completion of a command that is no request: one is in
// flight, and those that a reset cancelled went with their rings.
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

// errorNote is the status of an error notification: the firmware could not tell
// which command it was of, and one is in flight.
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

// unbound is the header of a command that names no program.
var unbound = protocol.Header{ProgramID: protocol.Unbound, ProcessID: protocol.Unbound}
