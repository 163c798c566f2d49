package coprocessor

import (
	"encoding/binary"
	"errors"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
)

// Registers of the property channel that make the firmware emit notifications. The chapters name the notifications, but
// not what turns them on, so the registers and their values are modelled.
const (
	PropTrace  = PropBase + 0x08 // TraceAll or TraceOff
	PropDSID   = PropBase + 0x0c // a data set to prefetch, answered by PREFETCH_DSID_EVENT
	PropSecure = PropBase + 0x10 // SecureEnter or SecureLeave, answered by SECURE_MODE_EVENT

	TraceAll    = 1
	TraceOff    = 2
	SecureEnter = 1
	SecureLeave = 2
)

// Codes of signposts and user events (modelled).
const (
	SignpostBegin = 1 // the engine starts a call; the value is the call's job
	SignpostEnd   = 2
	UserCallDone  = 1 // a call has completed; the value is its job
	prefetchDone  = 1
)

// applied reacts to a write of the property channel.
func (b *boot) applied(reg uint64, v uint32) error {
	switch reg {
	case PropTrace:
		b.settings.telemetry = v == TraceAll
	case PropDSID:
		b.printf("Dsid (%d) Event (0x%x)", v, prefetchDone)
		b.note(&protocol.Rows[protocol.IDPrefetchEvent], unboundHeader, uint64(v), prefetchDone)
	case PropSecure:
		return b.secure(v)
	}
	return nil
}

// unboundHeader is the header of a notification of no program.
var unboundHeader = protocol.Header{ProgramID: protocol.Unbound, ProcessID: protocol.Unbound}

// secure enters or leaves the secure phase. The execution loop quiesces the engine and passes through PAUSE.
func (b *boot) secure(v uint32) error {
	e := firmware.EventEnterSecure
	if v != SecureEnter {
		e = firmware.EventExitSecure
	}
	if err := b.drive(e); err != nil {
		return &refusal{StatusBusy, err}
	}
	if err := b.observe(v != SecureEnter); err != nil {
		return &refusal{StatusBusy, err}
	}
	b.note(&protocol.Rows[protocol.IDSecureEvent], unboundHeader, uint64(b.loop.State()), uint64(v))
	return nil
}

// observe suspends the load monitor in the secure phase and resumes it after that, so that nothing of the secure
// tenant's load is reported (modelled).
func (b *boot) observe(on bool) error {
	if on {
		return b.kernel.Change(b.tasks[loadMonitor], firmware.TaskResume)
	}
	return b.kernel.Change(b.tasks[loadMonitor], firmware.TaskSuspend)
}

// quiesce is called while the execution loop is in PAUSE: no call may be in flight, and the engine's memory must not
// keep one tenant's data for the other.
func (b *boot) quiesce() error {
	b.d.log.Note(b.loop.State().String(), 0, 0)
	if b.run.flight > 0 {
		return errors.New("calls are in flight")
	}
	clear(b.d.engine.L2[:])
	b.d.tenant = nil
	return nil
}

// Secure reports whether the firmware is in the secure phase.
func (d *Device) Secure() bool { return d.LoopState() == firmware.ExecSecure }

// LoopState returns the state of the execution loop, INIT without a boot.
func (d *Device) LoopState() firmware.ExecState {
	return ofBoot(d, func(b *boot) firmware.ExecState { return b.loop.State() })
}

// PowerOff takes power from one of the engine's devices, or returns false if it has none.
func (d *Device) PowerOff(id uint32) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.boot == nil {
		return false
	}
	for i, x := range d.boot.settings.devices {
		if x == id {
			d.boot.settings.devices = append(d.boot.settings.devices[:i], d.boot.settings.devices[i+1:]...)
			return true
		}
	}
	return false
}

// Load returns the share of virtual time, in percent, in which the firmware or the engine has worked.
func (d *Device) Load() int {
	spent, now := d.cfg.Clock.Spent(), d.cfg.Clock.Now()
	if now == 0 {
		return 0
	}
	return int(100 * (spent[cost.Firmware] + spent[cost.Start] + spent[cost.Tasks]) / now)
}

// posts emits the signposts and events of a call that ends, single and as groups of two, with 32 and with 64 bits.
func (b *boot) posts(j *job) {
	if !b.settings.telemetry {
		return
	}
	job := uint64(j.call.JobID)
	points := [2][3]uint64{{SignpostBegin, job, uint64(j.began)}, {SignpostEnd, job, uint64(b.now())}}
	var narrow, wide []byte
	le := binary.LittleEndian
	for _, p := range points {
		b.note(&protocol.Rows[protocol.IDSignpost], j.header, p[0], p[1], p[2])
		b.note(&protocol.Rows[protocol.IDSignpost64], j.header, p[0], p[1], p[2])
		narrow = le.AppendUint64(le.AppendUint32(le.AppendUint32(narrow, uint32(p[0])), uint32(p[1])), p[2])
		wide = le.AppendUint64(le.AppendUint64(le.AppendUint64(wide, p[0]), p[1]), p[2])
	}
	b.noteTail(&protocol.Rows[protocol.IDSignpostGroup], j.header, narrow, uint64(len(points)))
	b.noteTail(&protocol.Rows[protocol.IDSignpost64Group], j.header, wide, uint64(len(points)))
	b.note(&protocol.Rows[protocol.IDUserEvent], j.header, UserCallDone, job)
	b.note(&protocol.Rows[protocol.IDDebugEvent], j.header, uint64(b.loop.State()), uint64(j.status))
	if err := b.kernel.Post(b.tasks[loadMonitor], wordBell); err != nil {
		b.fault(StatusFull, err)
	}
}

// load is the load monitor: it reports the load after calls while telemetry is on.
func (b *boot) load(firmware.Message) []firmware.Post {
	b.note(&protocol.Rows[protocol.IDLoadNote], unboundHeader, uint64(b.d.Load()))
	return nil
}
