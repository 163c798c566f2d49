package driver

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/coprocessor"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
)

// EndpointNames are the services that EnableRTBuddyEndpoints tries, in order
// (chapter 29).
var EndpointNames = []string{"ANE1Endpoint1", "ANEEndpoint1"}

// Bounds of the bring-up, modelled: the chapter says only that the retries are bounded.
const (
	bootAttempts = 4 // power cycles until a second wake arrives
	wakePolls    = 8 // polls of a scratch register
	wakePoll     = time.Millisecond
)

// kernelClient is the address space of the driver itself, and kernelUser its
// entry in the stream table.
const (
	kernelClient = 0
	kernelUser   = 0
)

// hardware is the host's side of the coprocessor: bring-up, commands, recovery.
// Its methods run with the command gate held; the atomics are read by anyone.
type hardware struct {
	d         *Device
	cop       *coprocessor.Device
	kernel    *translation.Context
	events    []byte // the shared-event page
	endpoint  string // the service that answered
	resources resources
	eventMap  *translation.Mapping
	job       uint32 // last job identifier
	uses      uint64 // of programs
	held      []heldSlot
	reset     bool // the firmware requested a reset
	served    served
	noted     func(*protocol.Message) // if not nil, gets each notification
	recovery  recovery
	rested    time.Duration // when the last request or power-up ended
	forgot    bool          // the firmware's image has gone

	powered  atomic.Bool
	ready    atomic.Bool
	boot     atomic.Uint32 // successful bring-ups; each discards what was loaded before
	failures atomic.Uint32 // second wakes that never came
	rung     atomic.Uint64 // doorbell stores of the firmware
	counters [coprocessor.NumCounters]atomic.Uint64
}

// resources is the answer to RESOURCE_INFO_GET.
type resources struct{ engines, maxCacheRequest, maxProcedures uint64 }

func newHardware(d *Device) (*hardware, error) {
	h := &hardware{d: d, kernel: d.unit.Context(kernelClient), events: make([]byte, translation.PageSize)}
	cfg := d.cfg
	var err error
	preempt := d.gate.before
	if !cfg.Preempt {
		preempt = nil
	}
	h.cop, err = coprocessor.New(coprocessor.Config{
		Unit: d.unit, Clock: d.clock, Trace: cfg.Trace, Inject: cfg.Inject, Strict: cfg.Strict,
		Target:   d.properties.target(),
		Numerics: cfg.Numerics, Workers: cfg.Workers, MaxWork: cfg.MaxWork,
		SecondWake: cfg.SecondWake, Terminal: cfg.Terminal, Doorbell: h.interrupt,
		Boot:  cfg.Boot,
		Tasks: cfg.Tasks,
		Ran:   cfg.Ran, Preempt: preempt,
	})
	return h, err
}

// interrupt handles a doorbell store of the firmware.
func (h *hardware) interrupt(reg uint64, value uint32) {
	h.rung.Add(1)
	h.d.trace.Note("interrupt", 0, 0, trace.Number("register", reg), trace.Number("value", value))
}

// start is ANEHWDevice::start: attach, provider, RTBuddy client, the seven
// apertures, clocks. The firmware is not touched.
func (h *hardware) start() {
	if !h.d.trace.On() {
		return
	}
	h.d.trace.Note("ANEHWDevice::start", 0, 0, trace.Text("provider", Kexts[0].Provider[0]),
		trace.Text("role", Kexts[0].ProviderRole))
	for _, b := range coprocessor.Banks {
		index := b.Index
		if b.Bank >= coprocessor.ANEHAL1 {
			if index = h.d.properties.HALApertures[b.Bank-coprocessor.ANEHAL1]; index == 0 {
				continue
			}
		}
		h.d.trace.Note("map register aperture", 0, 0, trace.Text("bank", b.Name), trace.Number("index", index))
	}
}

// powerOn is ANEHWDevice::power_on_hardware: clocks and power, then ANE_Init. It cycles the power a bounded number of
// times until the second wake arrives.
func (h *hardware) powerOn(kind uint32) error {
	var errs []error
	for range bootAttempts {
		h.event("ANEHWDevice::power_on_hardware")
		h.supply()
		err := h.init(kind)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
		h.powerOff()
	}
	return fmt.Errorf("driver: bring-up failed %d times: %w", bootAttempts, errors.Join(errs...))
}

// supply gives the engine what its power status lacks: power, and then the full clock rate.
func (h *hardware) supply() {
	power, ramp := cost.PoweringUp()
	if h.status() == 0 {
		h.cop.Write32(coprocessor.PS, coprocessor.RegPower, 1)
		h.cop.Write32(coprocessor.PWGATE, coprocessor.RegGate, 1)
		h.d.spend(cost.PowerUp, time.Duration(power))
	}
	h.powered.Store(true)
	if h.status() != coprocessor.PowerOn {
		h.cop.Write32(coprocessor.PS, coprocessor.RegClock, 1)
		h.d.spend(cost.PowerUp, time.Duration(ramp))
	}
}

// status reads the engine's power status of the performance-monitoring unit.
func (h *hardware) status() uint32 {
	v := h.cop.PMU(coprocessor.PMUBase)
	h.d.trace.Note("power status", 0, 0, trace.Text("value", fmt.Sprintf("%#x", v)))
	return v
}

// powerOff powers the device off, which discards all state of the firmware.
func (h *hardware) powerOff() {
	h.ready.Store(false)
	h.held = nil
	h.cop.Write32(coprocessor.PWGATE, coprocessor.RegGate, 0)
	h.cop.Write32(coprocessor.PS, coprocessor.RegPower, 0)
	h.powered.Store(false)
	h.d.trace.Note("ANEHWDevice::power_off_hardware", 0, 0,
		trace.Number("gate", h.cop.Read32(coprocessor.PWGATE, coprocessor.RegGate)),
		trace.Text("S3_3_C15_C8_0", fmt.Sprintf("%#x", h.cop.Fabric())))
}

// init is ANEHWDevice::ANE_Init: it quiesces, brings up the endpoint, then the
// scratch handshakes, the channel table and the first commands.
func (h *hardware) init(kind uint32) (err error) {
	defer h.d.trace.Step("ANEHWDevice::ANE_Init", 0, 0, trace.Bool("warm", kind == coprocessor.BootWarm)).End(&err)
	if err = h.handshake(kind); err == nil {
		err = h.firstCommands()
	}
	if err != nil {
		return err
	}
	h.boot.Add(1)
	h.forgot, h.rested = false, h.d.clock.Now()
	h.ready.Store(true)
	return nil
}

func (h *hardware) handshake(kind uint32) error {
	w := func(b coprocessor.Bank, off, v uint32) { h.cop.Write32(b, off, v) }
	h.ready.Store(false)
	h.held = nil
	w(coprocessor.ANE, coprocessor.RegIRQ, 0)
	w(coprocessor.ANE, coprocessor.RegCPU, 0)
	if err := h.enableEndpoints(); err != nil {
		return err
	}
	for i := range coprocessor.NumScratch {
		w(coprocessor.ANE, coprocessor.Scratch(i), 0)
	}
	for _, a := range []struct {
		name    string
		scratch int
		value   uint32
	}{
		{"chip", coprocessor.ScratchChip, coprocessor.ChipRevision},
		{"ipc", coprocessor.ScratchIPC, coprocessor.IPCVersion},
		{"heap", coprocessor.ScratchHeap, 0},
	} {
		if v, ok := h.d.cfg.Boot[a.name]; ok {
			a.value = uint32(v)
		}
		w(coprocessor.ANE, coprocessor.Scratch(a.scratch), a.value)
	}
	w(coprocessor.ANE, coprocessor.Scratch(coprocessor.ScratchWake), kind)
	entry := uint64(coprocessor.BootAddress)
	w(coprocessor.ANE, coprocessor.RegRVBAR, uint32(entry))
	w(coprocessor.ANE, coprocessor.RegRVBAR+4, uint32(entry>>32))
	w(coprocessor.ANE, coprocessor.RegCPU, 1)
	if err := h.poll(coprocessor.ScratchWake, coprocessor.WakeAlive, "first wake"); err != nil {
		return err
	}
	w(coprocessor.ANE, coprocessor.Scratch(coprocessor.ScratchWake), 0)
	if err := h.poll(coprocessor.ScratchWake, coprocessor.WakeChannels, "second wake"); err != nil {
		h.failures.Add(1)
		return err
	}
	if err := h.resolveChannels(); err != nil {
		return err
	}
	w(coprocessor.ANE, coprocessor.Scratch(coprocessor.ScratchWake), 0)
	if err := h.poll(coprocessor.ScratchReady, coprocessor.MagicReady, "third handshake"); err != nil {
		return err
	}
	h.event("engine controller is ready")
	w(coprocessor.ANE, coprocessor.RegIRQ, 1)
	return nil
}

var errNoService = errors.New("no such service; cleaned up")

// enableEndpoints is EnableRTBuddyEndpoints: it tries the names in order and cleans up after a missing one.
func (h *hardware) enableEndpoints() error {
	for _, name := range EndpointNames {
		err := errNoService
		if slices.Contains(h.d.cfg.Endpoints, name) {
			err = nil
		}
		h.d.trace.Note("EnableRTBuddyEndpoints", 0, 0, trace.Text("endpoint", name),
			trace.Number("id", coprocessor.EndpointID), trace.Failure(err))
		if err == nil {
			h.endpoint = name
			return nil
		}
	}
	h.endpoint = ""
	return fmt.Errorf("driver: EnableRTBuddyEndpoints: no service %v exists", EndpointNames)
}

// poll runs the firmware until a scratch register has a value.
func (h *hardware) poll(scratch int, want uint32, what string) error {
	for range wakePolls {
		if err := h.cop.Run(context.Background()); err != nil {
			return fmt.Errorf("driver: %s: %w", what, err)
		}
		if h.cop.Read32(coprocessor.ANE, coprocessor.Scratch(scratch)) == want {
			h.d.trace.Note(what, 0, 0, trace.Number("scratch", scratch), trace.Number("value", want))
			return nil
		}
		h.d.advance(wakePoll)
	}
	return fmt.Errorf("driver: %s: scratch %d is %#x after %d polls, want %#x: %w", what, scratch,
		h.cop.Read32(coprocessor.ANE, coprocessor.Scratch(scratch)), wakePolls, want, h.because())
}

// because returns the coprocessor's description of the last failure.
func (h *hardware) because() error {
	if err := h.cop.LastError(); err != nil {
		return err
	}
	return errors.New("no reason given")
}

// ChannelNames are the inter-process channels that the driver looks up in the firmware's table (chapter 29).
var ChannelNames = []string{"SHAREDMALLOC", "TERMINAL", "BUF_H2T", "BUF_T2H", "IO", "IO_T2H", "DEBUG", "DATA_CHAIN_H2T"}

func (h *hardware) resolveChannels() error {
	table := h.cop.Channels()
	for _, name := range ChannelNames {
		i := slices.IndexFunc(table, func(c coprocessor.Channel) bool { return c.Name == name })
		if i < 0 {
			return fmt.Errorf("driver: the channel table has no %s", name)
		}
		h.d.trace.Note("resolve channel", 0, 0, trace.Text("name", name), trace.Number("index", table[i].Index))
	}
	return nil
}

// event emits an event without arguments.
func (h *hardware) event(name string) {
	h.d.trace.Note(name, 0, 0)
}

// sleep quiesces the firmware and powers the device off.
func (h *hardware) sleep() {
	if h.powered.Load() {
		h.powerOff()
	}
}

// bell rings the firmware: ANEHWDevice::doorBellRing and, below it,
// ANERegisterControl::write32 with the mask of the doorbell's index.
func (h *hardware) doorBellRing(index uint32) error {
	if index >= maxDoorbell {
		return fmt.Errorf("driver: doorbell index is %d, want less than %d", index, maxDoorbell)
	}
	mask := uint32(1) << index
	if h.d.trace.On() {
		h.d.trace.Note("ANEHWDevice::doorBellRing", 0, 0, trace.Number("db", index))
		h.d.trace.Note("ANERegisterControl::write32", 0, 0, trace.Number("reg", coprocessor.RegDoorbell),
			trace.Number("value", mask), trace.Data(binary.LittleEndian.AppendUint32(nil, mask)))
	}
	h.cop.Write32(coprocessor.ANE, coprocessor.RegDoorbell, mask)
	h.d.stage(cost.Kick)
	return nil
}

// bells holds the doorbell indices of the channels.
var bells = [...]uint32{protocol.Control: coprocessor.BellControl, protocol.Loop: coprocessor.BellLoop}
