package coprocessor

import (
	"context"
	"fmt"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// Values of the bring-up handshakes. Chapter 29 states that 1 and 0 select a warm and a cold boot, which registers
// carry the wakes, and that the third handshake checks a magic number 1; the other values are modelled.
//
// The host's part, in order: power (PS, PWGATE), scratch registers to zero, boot
// arguments, boot kind, reset vector, reset released, then:
//
//	Run; scratch 7 is WakeAlive; write 0 to it
//	Run; scratch 7 is WakeChannels; walk Channels; write 0 to it
//	Run; scratch 3 is MagicReady; enable interrupts (RegIRQ)
//
// A write of 0 to scratch 7 acknowledges a wake.
const (
	ScratchWake  = 7 // boot kind before the release, wakes after it
	ScratchReady = 3 // the third handshake
	ScratchChip  = 0 // boot argument: chip revision, ChipRevision
	ScratchIPC   = 1 // boot argument: protocol version, IPCVersion
	ScratchHeap  = 2 // boot argument: bytes of the initial heap, 0 for the default

	BootCold = 0
	BootWarm = 1

	WakeAlive    = 0xa11fe001 // first wake: the controller is alive
	WakeChannels = 0xc4a17ab1 // second wake: the channel-description table is ready
	MagicReady   = 1          // "magic-number-1"

	ChipRevision = 0x60 // version 96 of table 27.9
	IPCVersion   = 1 << 16

	// EndpointID is the literal in EnableRTBuddyEndpoints.
	EndpointID = 0xe400
	// BootAddress is the entry of the preload image, which the host writes to
	// RVBAR.
	BootAddress = 0x1_0000_0000
	// RingVersion is the ring-buffer version that every channel must have.
	RingVersion = 3
)

// BootValue is a value that a bring-up finds instead of its own. It shows what host and firmware refuse.
type BootValue struct{ Name, Doc string }

// BootValues are the values of Config.Boot.
var BootValues = []BootValue{
	{"chip", "chip revision that the host passes"},
	{"ipc", "protocol version that the host passes"},
	{"heap", "bytes of the kernel's initial heap; the framework reserves 1 MiB"},
	{"ring", "ring-buffer version of the channels"},
	{"ready", "channels that the firmware marks ready, of 8"},
	{"depth", "places of each priority queue"},
	{"events", "places of the pool of direct procedure-call events"},
	{"queue", "hardware queue that calls go to, instead of that of their priority"},
	{"network", "task queue of every program"},
	{"content", "content type of every procedure, which no container names"},
	{"power", "power state of the engine after its power-up"},
	{"fabric", "fabric system register when its link has power"},
}

// bootValue returns a value of Config.Boot, or the device's own.
func (c *Config) bootValue(name string, own uint64) uint64 {
	if v, ok := c.Boot[name]; ok {
		return v
	}
	return own
}

// Handshake is a row of table 29.3.
type Handshake struct {
	Order    int
	Register string
	Scratch  int
	Value    uint32
	Meaning  string
}

// Handshakes are the three handshakes in order (table 29.3).
var Handshakes = []Handshake{
	{Order: 1, Register: "scratch 7, first wake", Scratch: ScratchWake, Value: WakeAlive,
		Meaning: "the engine controller is alive after the reset-vector handoff"},
	{Order: 2, Register: "scratch 7, second wake", Scratch: ScratchWake, Value: WakeChannels,
		Meaning: "the channel-description table the firmware published is ready"},
	{Order: 3, Register: "scratch 3, plus a magic-number-1 check", Scratch: ScratchReady, Value: MagicReady,
		Meaning: "final acknowledgement before interrupts are enabled"},
}

// phase is the progress of the bring-up.
type phase uint8

const (
	phaseOff      phase = iota // no power, or held in reset
	phaseReleased              // reset released, not yet run
	phaseAlive                 // first wake sent
	phaseHung                  // the second wake will not come
	phaseChannels              // second wake sent
	phaseReady                 // third handshake done
	phaseFault                 // stopped by a fault
)

// hold puts the controller into reset, which loses its state. d.mu is held.
func (d *Device) hold() {
	d.regs.cpu, d.regs.bells, d.regs.irq = false, 0, false
	d.phase, d.boot = phaseOff, nil
}

// releaseCPU releases the controller from reset. d.mu is held.
func (d *Device) releaseCPU(on bool) {
	if !on {
		d.hold()
		return
	}
	if !d.regs.cpu {
		d.regs.cpu, d.phase = true, phaseReleased
	}
}

// bringUp performs the steps of the bring-up that the host's writes allow.
func (d *Device) bringUp() {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch d.phase {
	case phaseReleased:
		d.wake()
	case phaseAlive:
		if d.regs.scratch[ScratchWake] == 0 {
			d.publish()
		}
	case phaseChannels:
		if d.regs.scratch[ScratchWake] == 0 {
			n := d.cfg.bootValue("ready", uint64(len(d.boot.channels)))
			for i := range min(n, uint64(len(d.boot.channels))) {
				d.boot.channels[i].Ready = true // one after the other
				d.log.Note("channel ready", 0, 0, trace.Text("channel", d.boot.channels[i].Name))
			}
			d.regs.scratch[ScratchReady] = MagicReady
			d.phase = phaseReady
			d.handshake(2)
		}
	}
}

func (d *Device) handshake(i int) {
	h := &Handshakes[i]
	d.log.Note(h.Register, 0, 0, trace.Number("scratch", h.Scratch), trace.Number("value", h.Value))
}

// wake is the reset vector: it runs when RVBAR points to the image.
func (d *Device) wake() {
	if d.regs.rvbar != BootAddress {
		d.last = fmt.Errorf("coprocessor: bring-up: rANE_H11_CHINOOK_IO_RVBAR is %#x, want the image's entry %#x; "+
			"write BootAddress before releasing the reset", d.regs.rvbar, uint64(BootAddress))
		return
	}
	kind := d.regs.scratch[ScratchWake]
	if kind != BootCold && kind != BootWarm {
		d.last = fmt.Errorf("coprocessor: bring-up: scratch 7 is %#x, want 1 (warm boot) or 0 (cold boot)", kind)
		d.phase = phaseHung
		return
	}
	if d.fault != nil {
		d.restarts++
		d.fault = nil
	}
	if kind == BootCold {
		d.dump = nil // a warm boot keeps a dump that has not been drained
	}
	d.stats.Boots++
	d.fabric.up(d.cfg.bootValue("fabric", linkUp))
	d.regs.scratch[ScratchReady] = 0
	d.regs.scratch[ScratchWake] = WakeAlive
	d.phase = phaseAlive
	d.handshake(0)
}

// publish checks the boot arguments, starts the kernel and its heap and publishes the channel table.
func (d *Device) publish() {
	d.phase = phaseHung
	if f := d.cfg.SecondWake; f != nil && !f(int(d.stats.Boots)) {
		d.last = fmt.Errorf("coprocessor: bring-up: the second wake of boot %d does not arrive; power the device "+
			"off and on", d.stats.Boots)
		return
	}
	s := &d.regs.scratch
	switch {
	case s[ScratchChip] != ChipRevision:
		d.last = fmt.Errorf("coprocessor: bring-up: chip revision %#x in scratch %d, want %#x",
			s[ScratchChip], ScratchChip, ChipRevision)
		return
	case s[ScratchIPC]>>16 != IPCVersion>>16:
		d.last = fmt.Errorf("coprocessor: bring-up: protocol version %#x in scratch %d, want %#x",
			s[ScratchIPC], ScratchIPC, IPCVersion)
		return
	case s[ScratchIPC] != IPCVersion: // a minor mismatch is only a warning
		d.log.Note("IPC protocol version", 0, 0, trace.Number("host", s[ScratchIPC]),
			trace.Number("firmware", IPCVersion))
	}
	cfg := *d.cfg.Kernel
	if n := s[ScratchHeap]; n != 0 {
		cfg.InitialHeap = uint64(n)
	}
	b, err := newBoot(d, cfg)
	if err != nil {
		d.last = fmt.Errorf("coprocessor: bring-up: %w", err)
		return
	}
	for _, step := range bootSteps {
		d.log.Note(step, 0, 0)
	}
	d.boot = b
	s[ScratchWake] = WakeChannels
	d.phase = phaseChannels
	d.handshake(1)
}

// bootSteps are the steps of the reset vector before the channel table is published (chapter 29).
var bootSteps = []string{
	"memory-management unit", "exception and interrupt stacks", "kernel heap", "boot arguments and chip revision",
	"inter-process-communication protocol version", "ring-buffer versions", "channel-description table",
}

// boot is the state of one boot of the firmware, which a reset discards.
type boot struct {
	d        *Device
	kernel   *firmware.Kernel
	tasks    [numPumps]*firmware.Task
	rings    *protocol.Controller
	channels []Channel
	table    *programTable
	queues   *firmware.TaskQueues
	sched    *firmware.Scheduler
	loop     *firmware.ExecLoop
	file     queueFile
	jobs     jobTable
	events   eventTable
	chains   map[uint64]*chain
	settings settings
	replies  []Reply // guarded by d.mu
	ring     commandRing
	stuck    *stuckQueue
	held     []heldNote
	run      runState
	lines    uint64 // of the log

	// State of the current Run.
	ctx         context.Context
	at          pump // the task whose message runs
	inInterrupt bool // taken from the interrupt queue
	died        bool
	far         uint64 // the fault address
}

// Modelled capacities.
const (
	maxCacheRequests = 64
	callDepth        = 64 // places of each priority queue
	callFlight       = 8  // requests that the firmware has in flight
	maxReplies       = 256
)

func newBoot(d *Device, kc firmware.KernelConfig) (*boot, error) {
	content := protocol.ContentType(d.cfg.bootValue("content", 0))
	b := &boot{
		d: d, table: &programTable{programs: firmware.NewPrograms(), content: content},
		queues: firmware.NewTaskQueues(), chains: map[uint64]*chain{},
	}
	var err error
	if b.kernel, err = firmware.Boot(kc); err != nil {
		return nil, err
	}
	if err = b.createPumps(); err != nil {
		return nil, err
	}
	if b.sched, err = firmware.NewScheduler(int(d.cfg.bootValue("depth", callDepth)), callFlight); err != nil {
		return nil, err
	}
	if err = b.jobs.init(int(min(d.cfg.bootValue("events", numJobs), numJobs))); err != nil {
		return nil, err
	}
	b.file.init()
	b.events.size = defaultEvents
	b.loop = firmware.NewExecLoop(b.quiesce)
	cfg := protocol.Config{
		Programs: b.table, Numbering: Numbering, CacheRequests: maxCacheRequests, Strict: d.cfg.Strict,
		RPCEvents: func() int { return b.jobs.pool.Report().Available }, Sealed: d.cfg.Inject != nil,
	}
	if d.cfg.Inject != nil {
		cfg.OnNote = b.onNote
	}
	if b.rings, err = protocol.NewController(cfg); err != nil {
		return nil, err
	}
	version := d.cfg.RingVersion
	if v, ok := d.cfg.Boot["ring"]; ok {
		version = func(string) uint32 { return uint32(v) }
	}
	b.channels, err = channelTable(version)
	for i := 0; err == nil && i < len(b.channels); i++ { // each has a mailbox
		_, err = b.kernel.Take(firmware.Mailboxes)
	}
	return b, err
}

// pools reports all pools of the boot.
func (b *boot) pools() []firmware.Report {
	out := b.kernel.Pools()
	r := b.table.programs.Report()
	out = append(out, r[0], r[1], b.queues.Report(), b.jobs.pool.Report())
	s := b.sched.Report()
	out = append(out, s.Waiting[:]...)
	out = append(out, s.Credits[:]...)
	out = append(out, s.Flight)
	free := b.rings.Cache().Free()
	return append(out, firmware.Report{Name: "cache request", Total: maxCacheRequests, Available: free})
}
