package coprocessor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zinc-compiler/zinc/internal/locked"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// Host doorbells. A completion rings up to three: the inference client's, which the endpoint's descriptor names, a
// cross-agent waiter's and a telemetry sink's.
const (
	TargetClient    = 0
	TargetWaiter    = 1
	TargetTelemetry = 2
	numTargets      = 3

	// GPUDoorbell is the fixed target of the engine-to-graphics doorbell, which
	// gets the value 1.
	GPUDoorbell = 0x2_0646_8000
	// Mailbox is the register through which completions of control commands, and
	// of calls without a bound endpoint, interrupt the host (modelled).
	Mailbox = 0x2_8c00_0000
)

// maxRetries bounds the retries of a rejected doorbell (modelled: the chapter only says that it is retried).
const maxRetries = 8

// hostBell is a host doorbell: a register and a bit.
type hostBell struct {
	reg  uint64
	mask uint32
	set  bool
}

// SetTarget makes a host doorbell resident in slot TargetWaiter or TargetTelemetry. A completion rings it when a
// signalled event's target mask has the slot's bit. (How the mask selects the slots, and how their descriptors arrive,
// is modelled; the client's descriptor is in IPC_ENDPOINT_SET.)
func (d *Device) SetTarget(slot int, reg uint64, index uint32) error {
	if slot <= TargetClient || slot >= numTargets {
		return fmt.Errorf("coprocessor: doorbell slot is %d, want %d or %d", slot, TargetWaiter,
			TargetTelemetry)
	}
	if index > 31 {
		return fmt.Errorf("coprocessor: doorbell index is %d, want 0 to 31", index)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.targets[slot] = hostBell{reg, 1 << index, true}
	return nil
}

// ringHost notifies the host of a completion. mask has a bit for each additional slot that the call's events name.
func (b *boot) ringHost(mask uint32) {
	loop := b.rings.Endpoint(protocol.Loop)
	if loop.Bound() {
		reg, m := loop.DoorBell()
		b.ringOne(reg, m)
	} else {
		b.ringOne(Mailbox, 1<<BellControl)
	}
	if mask&^1 == 0 {
		return
	}
	targets := locked.Get(&b.d.mu, &b.d.targets)
	for i := TargetWaiter; i < numTargets; i++ {
		if mask>>i&1 == 1 && targets[i].set {
			b.ringOne(targets[i].reg, targets[i].mask)
		}
	}
}

// ringControl notifies the host of a control command's completion.
func (b *boot) ringControl() { b.ringOne(Mailbox, 1<<BellControl) }

var errL2C = errors.New("fatal: Uncorrectable L2C error overflow")

// ringOne rings a doorbell until it is accepted.
func (b *boot) ringOne(reg uint64, value uint32) {
	if b.dead() {
		return
	}
	for try := 1; ; try++ {
		b.d.accesses = b.d.accesses[:0]
		rc, fatal := b.d.fabric.ringDoorbell(reg, value, b.d.store)
		if fatal {
			b.far = reg
			b.fail(synchronousAbort, errL2C)
			return
		}
		b.d.count(func(s *Stats) {
			s.Doorbells++
			s.Retries += uint64(rc)
		})
		b.d.log.Note("ring_doorbell", 0, 0, trace.Number("DoorBellReg", reg), trace.Number("DoorBellBit", value),
			trace.Number("rc", rc), trace.Text("accesses", strings.Join(b.d.accesses, ", ")))
		if rc == 0 {
			return
		}
		if try == maxRetries {
			b.fault(StatusAborted, fmt.Errorf(
				"the host rejected doorbell %#x %d times; its notification waits in the ring", reg, try))
			return
		}
	}
}

// store is the effect of the doorbell store on the fabric.
func (d *Device) store(reg uint64, value uint32) (reject, uncorrectable bool) {
	if d.cfg.Fabric != nil {
		reject, uncorrectable = d.cfg.Fabric(reg, value)
	}
	if !reject && !uncorrectable && d.cfg.Doorbell != nil {
		d.cfg.Doorbell(reg, value)
	}
	return reject, uncorrectable
}
