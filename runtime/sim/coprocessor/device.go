package coprocessor

import (
	"context"

	"github.com/zinc-compiler/zinc/runtime/sim/engine"
	"github.com/zinc-compiler/zinc/runtime/sim/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/inject"
	"github.com/zinc-compiler/zinc/runtime/sim/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/trace"
	"github.com/zinc-compiler/zinc/runtime/sim/translation"
)

// Numbering is the numbering of the control channel: the packed enum's, the only
// one that has START.
const Numbering = protocol.Wire

// Config says what a device is made of.
type Config struct {
	Unit     *translation.Unit      // required
	Clock    *firmware.Clock        // required: the one clock of the device
	Trace    *trace.Tracer          // may be nil
	Inject   *inject.Injector       // may be nil
	Strict   bool                   // an identifier that the execution loop does not implement faults
	Numerics engine.Numerics        // of the engine
	Workers  int                    // goroutines of one task; 0 stands for GOMAXPROCS
	Kernel   *firmware.KernelConfig // nil: firmware.DefaultKernel
	// Doorbell sees the firmware's stores to host doorbells: the register and
	// the value of each. It is called from Run.
	Doorbell func(reg uint64, value uint32)
	// Fabric answers a doorbell store with the two status bits of
	// S3_3_C15_C8_0: rejected (bit 7), uncorrectable (bit 1). Nil: neither.
	Fabric func(reg uint64, value uint32) (rejected, uncorrectable bool)
	// SecondWake reports whether the second wake of boot n, counted from 1,
	// arrives. Nil: always.
	SecondWake func(n int) bool
	// Terminal gets the firmware's log lines when printing is enabled. Nil: no
	// line is made.
	Terminal func(line string)
}

// Channel is a line of the channel-description table.
type Channel struct {
	Name    string
	Index   int
	Version uint32 // of its ring buffer, RingVersion
	Slots   int
	ToHost  bool
	Ready   bool // the firmware takes commands on it
}

// Device is the controller with its firmware and the engine.
type Device struct {
	cfg Config
}

// New returns a device without power.
func New(cfg Config) (*Device, error) { return &Device{cfg: cfg}, nil }

// Read32 reads a register. An aperture without power reads zero.
func (d *Device) Read32(b Bank, off uint32) uint32 { return 0 }

// Write32 writes a register.
func (d *Device) Write32(b Bank, off uint32, v uint32) {}

// Rings returns the rings of the current boot, nil until the second wake.
func (d *Device) Rings() *protocol.Controller { return nil }

// Channels returns the channel-description table of the current boot, nil until
// the second wake.
func (d *Device) Channels() []Channel { return nil }

// Bind enters a user's address space in the stream table: what LOAD_AFPP,
// CREATE_PROCESS and PREMAP_BUFFER name in the header's procedureId, and a call
// in userId (modelled).
func (d *Device) Bind(user uint32, ctx *translation.Context) {}

// Unbind removes a user's address space.
func (d *Device) Unbind(user uint32) {}

// Run runs the firmware until it is idle: after a doorbell, or a register write
// of the bring-up. One goroutine at a time may call it. The error is the
// context's, or a *Fault when the firmware has faulted, then or before.
func (d *Device) Run(ctx context.Context) error { return nil }

// TakeNotification is the host's side of the notification ring. ok is false when
// there is none; an error says that one came damaged.
func (d *Device) TakeNotification() (m *protocol.Message, ok bool, err error) { return nil, false, nil }

// Reply is the data of a completed command that protocol.Replies lists.
type Reply struct {
	Row    *protocol.Row
	Record *protocol.Record
}

// TakeReply returns the oldest reply. A completion of a command that has one
// stands behind its reply (modelled: a ring of its own, BUF_T2H).
func (d *Device) TakeReply() (Reply, bool) { return Reply{}, false }

// LastError says in words why the last message that failed did so. A debug aid:
// the host of a real device sees the status alone.
func (d *Device) LastError() error { return nil }

// SignalEvent is a signal of a shared event from outside the device: calls that
// wait for the value run at the next Run.
func (d *Device) SignalEvent(id, value uint64) error { return nil }

// EventValue returns what a shared event stands at.
func (d *Device) EventValue(id uint64) uint64 { return 0 }

// Pools reports every pool of the firmware.
func (d *Device) Pools() []firmware.Report { return nil }

// RestartCount is how often the firmware was started again after a fault.
func (d *Device) RestartCount() int { return 0 }

// Stats counts what the device has done since New.
type Stats struct {
	Boots, Faults, Calls, Completed, Dropped, Rejected, Refused uint64
	Doorbells, Retries, Aborts, Resets                          uint64
	Tasks                                                       uint64 // executed by the engine
}

// Stats returns the counts.
func (d *Device) Stats() Stats { return Stats{} }
