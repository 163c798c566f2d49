package coprocessor

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/internal/locked"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/inject"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
	"github.com/zinc-compiler/zinc/target"
)

// Numbering is the numbering of the control channel: the packed enum, the only one that has START.
const Numbering = protocol.Wire

// Config configures a device.
type Config struct {
	Unit     *translation.Unit      // required
	Clock    *firmware.Clock        // required: the one clock of the device
	Trace    *trace.Tracer          // may be nil
	Inject   *inject.Injector       // may be nil
	Strict   bool                   // unimplemented identifiers in the execution loop fault
	Numerics engine.Numerics        // of the engine
	Workers  int                    // goroutines of one task; 0 means GOMAXPROCS
	MaxWork  int64                  // limit of the products or elements of one task; 0 means the engine's own
	Target   *target.Table          // whose times the tasks take
	Kernel   *firmware.KernelConfig // nil: firmware.DefaultKernel
	// Doorbell is called from Run with the register and the value of each store of the firmware to a host doorbell.
	Doorbell func(reg uint64, value uint32)
	// Fabric returns two status bits of S3_3_C15_C8_0 for a doorbell store: rejected (bit 7) and uncorrectable (bit 1).
	// Nil means neither.
	Fabric func(reg uint64, value uint32) (rejected, uncorrectable bool)
	// SecondWake reports whether the second wake of boot n, counted from 1,
	// arrives. Nil: always.
	SecondWake func(n int) bool
	// RingVersion is the ring-buffer version of the rings that the host set up,
	// by the channel's name. Nil: RingVersion for all.
	RingVersion func(channel string) uint32
	// Boot has values that the bring-up finds instead of its own, by the names of BootValues.
	Boot map[string]uint64
	// Tasks is called after each task of the engine. It may be nil.
	Tasks func(TaskTime)
	// Ran is called when the engine has computed a task, which may be before Tasks reports its time. It may be nil.
	Ran func()
	// Preempt reports whether a call of a priority is to be aborted for a more urgent one. It is asked before each
	// task. Nil: calls run to completion.
	Preempt func(priority int) bool
	// Terminal gets the firmware's log lines when printing is enabled. It may be nil.
	Terminal func(line string)
}

// TaskTime is the virtual time of one task.
type TaskTime struct {
	Procedure string
	Task      int       // in the procedure
	Bound     cost.Term // what limits it
	Time      cost.Time
}

// Device is the controller with its firmware and the engine.
type Device struct {
	cfg    Config
	log    trace.Log
	window translation.Rebase // the firmware's view of device addresses
	fabric fabric
	// accesses are the accesses of the last doorbell, if the device is traced.
	accesses []string
	engine   *engine.Engine
	tenant   *translation.Context // the process whose data is in the engine's L2
	runs     protocol.QueueKey    // of the running call
	proc     *procedure           // the running one
	throttle atomic.Uint32        // per cent

	running sync.Mutex // held by Run

	// Guarded by mu.
	mu       sync.Mutex
	regs     registers
	phase    phase
	boot     *boot // nil in reset
	fault    *Fault
	dump     *CoreDump
	restarts int
	saved    uint32 // RegSaved
	captured uint32 // RegCapture
	users    map[uint32]*translation.Context
	targets  [numTargets]hostBell
	stats    Stats
	last     error
}

// New returns a device without power.
func New(cfg Config) (*Device, error) {
	switch {
	case cfg.Unit == nil:
		return nil, errors.New("coprocessor: Config.Unit is nil; every access of the engine is translated")
	case cfg.Clock == nil:
		return nil, errors.New("coprocessor: Config.Clock is nil; the firmware's deadlines need one")
	case cfg.Target == nil:
		return nil, errors.New("coprocessor: Config.Target is nil; the times of tasks are those of a target")
	}
	if cfg.Kernel == nil {
		k := firmware.DefaultKernel
		cfg.Kernel = &k
	}
	w, err := translation.NewRebase(translation.FirmwareHigh<<32, 0, translation.ApertureSize)
	if err != nil {
		return nil, err
	}
	d := &Device{cfg: cfg, window: w, users: map[uint32]*translation.Context{}}
	d.log = trace.Log{Tracer: cfg.Trace, Layer: trace.Firmware, Now: cfg.Clock.Now}
	if d.log.On() {
		d.fabric.see = d.sawFabric
	}
	d.engine = engine.New(engine.Options{
		L2Bytes:  cfg.Target.L2Bytes,
		Numerics: cfg.Numerics,
		Workers:  cfg.Workers,
		MaxWork:  cfg.MaxWork,
		Trace:    d.engineTrace(),
	})
	return d, nil
}

// Rings returns the rings of the current boot, nil until the second wake.
func (d *Device) Rings() *protocol.Controller {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.boot == nil || d.phase < phaseChannels || d.phase > phaseReady {
		return nil
	}
	return d.boot.rings
}

// Bind enters a user's address space in the stream table. LOAD_AFPP, CREATE_PROCESS and PREMAP_BUFFER name the user in
// the header's procedureId (modelled: no source states how a message names its stream).
func (d *Device) Bind(user uint32, ctx *translation.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.users[user] = ctx
}

// Unbind removes a user's address space from the table: nothing can be loaded or started for the user afterwards. A
// process keeps the space it was created with, and faults once that space is closed.
func (d *Device) Unbind(user uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.users, user)
}

func (d *Device) user(id uint32) *translation.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.users[id]
}

// Run runs the firmware until it is idle. It is called after a doorbell or a register write of the bring-up, by one
// goroutine at a time. The error is the context's, or a *Fault if the firmware has faulted in this Run or before.
func (d *Device) Run(ctx context.Context) error {
	if !d.running.TryLock() {
		return errors.New("coprocessor: the firmware is already running; call Run from one goroutine at a time")
	}
	defer d.running.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	d.bringUp()
	d.mu.Lock()
	b, fault := d.boot, d.fault
	serve := b != nil && fault == nil && (d.phase == phaseChannels || d.phase == phaseReady)
	var bells uint32
	if serve {
		bells, d.regs.bells = d.regs.bells, 0
	}
	d.mu.Unlock()
	if fault != nil {
		return fault
	}
	if !serve {
		return nil
	}
	return b.serve(ctx, bells)
}

// TakeNotification is the host's side of the notification ring. ok is false if there is none; the error reports a
// damaged one.
func (d *Device) TakeNotification() (m *protocol.Message, ok bool, err error) {
	b := locked.Get(&d.mu, &d.boot)
	if b == nil || b.rings == nil {
		return nil, false, nil
	}
	b.releaseNotes(false)
	return b.rings.NextNotification()
}

// Reply is the data of a completed command that protocol.Replies lists.
type Reply struct {
	Row    *protocol.Row
	Record *protocol.Record
}

// TakeReply returns the oldest reply. The reply of a command arrives before its completion (modelled: a ring of its
// own, BUF_T2H).
func (d *Device) TakeReply() (Reply, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.boot == nil || len(d.boot.replies) == 0 {
		return Reply{}, false
	}
	r := d.boot.replies[0]
	d.boot.replies = d.boot.replies[1:]
	return r, true
}

// LastError describes why the last failed message failed. It is a debugging aid: the host of a real device sees only
// the status.
func (d *Device) LastError() error { return locked.Get(&d.mu, &d.last) }

// RestartCount returns how often the firmware was restarted after a fault.
func (d *Device) RestartCount() int { return locked.Get(&d.mu, &d.restarts) }

// Fabric returns the fabric's system register, S3_3_C15_C8_0.
func (d *Device) Fabric() uint64 { return locked.Get(&d.running, &d.fabric.value) }

// Stats counts what the device has done since New.
type Stats struct {
	Boots, Faults                         uint64
	Calls                                 uint64 // procedure calls passed to the engine
	Completed                             uint64 // of them, with StatusOK
	Ran, Rejected, Dropped, Refused       uint64 // messages by outcome
	Doorbells, Retries                    uint64 // stores to host doorbells, and rejected ones among them
	Aborts, Resets, Preempted             uint64
	Tasks                                 uint64 // executed by the engine
	LostNotes, DamagedNotes, DelayedNotes uint64 // by injection
}

// Stats returns the counts.
func (d *Device) Stats() Stats { return locked.Get(&d.mu, &d.stats) }

// count updates the counts.
func (d *Device) count(f func(*Stats)) {
	d.mu.Lock()
	f(&d.stats)
	d.mu.Unlock()
}

// Tasks lists the firmware's tasks with their states, nil without a boot.
func (d *Device) Tasks() []firmware.TaskReport {
	return ofBoot(d, func(b *boot) []firmware.TaskReport { return b.kernel.TaskList() })
}

// Processes lists the processes of the programs, nil without a boot.
func (d *Device) Processes() []firmware.ProcessReport {
	return ofBoot(d, func(b *boot) []firmware.ProcessReport { return b.table.programs.Processes() })
}

// Pools reports every pool of the firmware, nil without a boot.
func (d *Device) Pools() []firmware.Report { return ofBoot(d, (*boot).pools) }

// ofBoot returns what f makes of the current boot, or the zero value without one.
func ofBoot[T any](d *Device, f func(b *boot) T) (none T) {
	if b := locked.Get(&d.mu, &d.boot); b != nil {
		return f(b)
	}
	return none
}
