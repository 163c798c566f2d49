package coprocessor

import (
	"errors"
	"fmt"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
)

// answer is the result of a command: identifiers for the completion's header, and data for the reply.
type answer struct {
	header protocol.Header
	reply  []uint64
	later  bool // the completion comes later, from the call
}

// commandRow is the handler of one command.
type commandRow struct {
	pump  pump // idleTask means the pump that took it
	early bool // before START
	do    func(b *boot, d *protocol.Delivery, a *answer) error
}

// commands lists the handlers by the logger's identifier. Commands that the protocol's controller performs itself
// (endpoints, cache requests) have a handler that only completes.
var commands [128]commandRow

// startRow is START's, which has no identifier of the logger's.
var startRow commandRow

// Initialised in init, since the handlers refer to the table.
func init() {
	startRow = commandRow{early: true, do: (*boot).start}
	commands = [128]commandRow{
		0x03: {early: true, do: (*boot).printEnable},
		0x0b: {early: true, do: (*boot).setPMUBase},
		0x12: {do: (*boot).powerOn},
		0x14: {early: true, do: (*boot).done},
		0x15: {early: true, do: (*boot).done},
		0x1e: {early: true, do: (*boot).propertyWrite},
		0x1f: {early: true, do: (*boot).propertyRead},
		0x21: {early: true, do: (*boot).resourceInfo},
		0x22: {early: true, do: (*boot).statsSizes},
		0x29: {early: true, do: (*boot).done},
		0x2a: {early: true, do: (*boot).done},
		0x2b: {pump: tunableLoader, do: (*boot).dataFile},
		0x2d: {do: (*boot).defaultSetting},
		0x2e: {do: (*boot).initEvents},
		0x3d: {do: (*boot).loadProgram},
		0x3e: {pump: taskTerminator, do: (*boot).unloadProgram},
		0x3f: {do: (*boot).createProcess},
		0x40: {pump: taskTerminator, do: (*boot).terminateProcess},
		0x41: {do: (*boot).call},
		0x42: {do: (*boot).loadProgram},
		0x43: {pump: taskTerminator, do: (*boot).unloadProgram},
		0x44: {do: (*boot).versionCheck},
		0x45: {do: (*boot).installed},
		0x46: {do: (*boot).trigger},
		0x47: {do: (*boot).recycled},
		0x48: {do: (*boot).invalidated},
		0x49: {do: (*boot).call},
		0x4a: {pump: translationManager, do: (*boot).premap},
		0x4b: {do: (*boot).installed},
		0x4c: {do: (*boot).installed},
		0x4d: {do: (*boot).forceDisabled},
		0x4e: {do: (*boot).call},
		0x4f: {do: (*boot).done},
		0x56: {do: (*boot).requestProgramID},
		0x57: {do: (*boot).returnProgramID},
		0x58: {do: (*boot).requestProcessID},
		0x59: {do: (*boot).returnProcessID},
		0x5a: {do: (*boot).inference},
		0x5b: {pump: hostRPC, do: (*boot).done},
	}
}

// refusal is an error with the status for the host.
type refusal struct {
	status Status
	err    error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

func refusef(s Status, format string, args ...any) error {
	return &refusal{s, fmt.Errorf("coprocessor: "+format, args...)}
}

// command runs a valid message and completes it.
func (b *boot) command(d *protocol.Delivery) {
	row := &commands[d.Row.ID&0x7f]
	if d.Row == &protocol.Start {
		row = &startRow
	}
	a := answer{header: d.Header}
	var err error
	switch {
	case row.do == nil:
		err = refusef(StatusUnsupported, "CSNE_CMD_%s has no handler", d.Row.Name)
	case !row.early && b.loop.State() == firmware.ExecInit:
		err = refusef(StatusNotReady, "CSNE_CMD_%s came before START, which arms the execution loop", d.Row.Name)
	default:
		err = row.do(b, d, &a)
	}
	if a.later || b.dead() {
		return
	}
	status := StatusOK
	if err != nil {
		status = StatusMalformed
		var r *refusal
		var full *firmware.CapacityError
		var fault *translation.Fault
		switch {
		case errors.As(err, &r):
			status = r.status
		case errors.As(err, &full):
			status = StatusFull
		case errors.As(err, &fault):
			status = StatusTranslation
		}
		b.fault(status, err)
	} else if a.reply != nil {
		b.reply(d.Row, a.reply)
	}
	b.programEvent(a.header, d.Row, status, 0)
	b.ringControl()
}

// done completes a command that the protocol's controller has performed.
func (b *boot) done(*protocol.Delivery, *answer) error { return nil }

// start arms the execution loop.
func (b *boot) start(*protocol.Delivery, *answer) error {
	if b.loop.State() != firmware.ExecInit {
		return refusef(StatusBusy, "CSNE_CMD_START: the execution loop is already armed")
	}
	return b.loop.Post(firmware.EventDrain)
}

func (b *boot) reply(row *protocol.Row, values []uint64) {
	l := protocol.ReplyOf(row.ID)
	if l == nil {
		return
	}
	r := Reply{row, &protocol.Record{Layout: l, Values: values}}
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	if len(b.replies) == maxReplies {
		b.replies = b.replies[1:] // a host that does not read loses the oldest
	}
	b.replies = append(b.replies, r)
}
