package driver

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/coprocessor"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/inject"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
)

// Config configures a device. The zero value is an M1 without trace and faults.
type Config struct {
	Unit     *translation.Unit // nil: a new one with Streams streams
	Clock    *firmware.Clock   // nil: a new one
	Trace    *trace.Tracer
	Inject   *inject.Injector
	Strict   bool // the firmware reports faults where the real one does
	Numerics engine.Numerics
	Workers  int   // goroutines of one engine task; results do not depend on it
	MaxWork  int64 // limit of one task; 0 means the engine's default

	// Properties are the published properties; nil means M1.
	Properties *Properties
	// Endpoints are the existing RTBuddy services; nil means the M1's, ANEEndpoint1.
	Endpoints []string
	// SecondWake reports whether the second wake of boot n, counted from 1,
	// arrives. Nil: always.
	SecondWake func(n int) bool
	Tasks      func(coprocessor.TaskTime) // is called after each task of the engine; may be nil
	Ran        func()                     // is called when the engine has computed a task; may be nil
	// Preempt aborts a running request between two tasks when a more urgent one waits. The request is posted again.
	Preempt bool
	// Boot has values that the bring-up finds instead of its own, by the names of coprocessor.BootValues.
	Boot map[string]uint64
	// Terminal gets the firmware's log lines. It may be nil.
	Terminal func(line string)
}

// Streams is the number of translation streams of a device if Config.Unit is nil: a loaded program keeps its client's
// stream, and there are 144 program slots, so the unit's default of sixteen would limit the clients (both numbers are
// modelled).
const Streams = 256

// clockTimers is the size of the timer pool of a new clock.
const clockTimers = 256

// Device is the engine's device object: ANEHWDevice, and the ANEDriver above it.
type Device struct {
	cfg        Config
	properties Properties
	unit       *translation.Unit
	clock      *firmware.Clock
	trace      trace.Log
	gate       *gate
	hw         *hardware
	balancer   balancer
	tokens     atomic.Uint64
	region     [translation.PageSize]byte // the multi-process managed memory
	standing   *client                    // the hints client that always exists; it has no task

	mu         sync.RWMutex
	clients    map[uint64]*client
	lastClient uint64
	persistent map[uint64]bool // clients that keep the device resident
	instances  map[Handle]*instance
	chains     map[Handle]*chain
	dumps      []Dump
	closed     bool
}

// NewDevice attaches the device (ANEHWDevice::start). The firmware is brought up
// when the first client opens.
func NewDevice(cfg Config) (*Device, error) {
	d := &Device{
		cfg: cfg, properties: M1, unit: cfg.Unit, clock: cfg.Clock,
		clients: map[uint64]*client{}, persistent: map[uint64]bool{}, instances: map[Handle]*instance{},
		chains: map[Handle]*chain{},
	}
	d.trace = trace.Log{Tracer: cfg.Trace, Layer: trace.Driver, Now: func() time.Duration { return d.clock.Now() }}
	if cfg.Properties != nil {
		d.properties = *cfg.Properties
	}
	if cfg.Endpoints == nil {
		d.cfg.Endpoints = EndpointNames[1:]
	}
	var err error
	if d.unit == nil {
		if d.unit, err = translation.NewUnit(translation.Config{
			Slots: Streams,
			Trace: translationTrace(d),
			Now:   func() time.Duration { return d.clock.Now() },
		}); err != nil {
			return nil, err
		}
	}
	if d.clock == nil {
		if d.clock, err = firmware.NewClock(clockTimers); err != nil {
			return nil, err
		}
	}
	if d.gate, err = newGate(); err != nil {
		return nil, err
	}
	if d.hw, err = newHardware(d); err != nil {
		return nil, err
	}
	d.balancer = balancer{[]*hardware{d.hw}, map[*program]int{}}
	d.gate.note = d.noteGate
	d.standing = &client{d: d, row: &ClientTypes[HintsClient-1], task: &Task{}}
	d.hw.recovery.tokens = RecoveryBurst
	d.hw.start()
	return d, nil
}

// noteGate traces the queue of the command gate.
func (d *Device) noteGate(start bool, a *action) {
	if !d.trace.On() || a.call == nil {
		return
	}
	name := "ANEScheduler::enqueue"
	if start {
		name = "ANEScheduler::dequeue"
	}
	d.trace.Note(name, a.call.client.id, a.call.seq, trace.Number("priority", a.priority), trace.Number("action", a.id))
}

// translationTrace traces the steps of the translation unit.
func translationTrace(d *Device) func(translation.Step) {
	if !d.trace.On() {
		return nil
	}
	return func(s translation.Step) {
		err := error(nil)
		if s.Fault != nil {
			err = s.Fault
		}
		d.trace.In(trace.Translation).Note(s.Kind.String(), s.Client, 0, trace.Number("address", s.Addr),
			trace.Number("bytes", s.Len), trace.Text("usage", s.Usage.String()), trace.Number("stream", s.Stream),
			trace.Text("task", s.Task), trace.Failure(err))
	}
}

// advance lets virtual time pass for a wait.
func (d *Device) advance(t time.Duration) { d.spend(cost.Waiting, t) }

// stage lets the time of a dispatch's stage pass.
func (d *Device) stage(c cost.Cause) { d.spend(c, time.Duration(c.Fixed())) }

// spend advances virtual time for a cause. It retries while another goroutine serves the clock's timers.
func (d *Device) spend(c cost.Cause, t time.Duration) {
	for range 1 << 16 {
		if d.clock.Spend(c, t) == nil {
			return
		}
		runtime.Gosched()
	}
}

// Elapse advances virtual time for a cause above the driver. It does so inside the command gate, since timers that
// become due belong to the device.
func (d *Device) Elapse(c cost.Cause, t time.Duration) error {
	e := elapses.Get().(*elapse)
	e.d, e.cause, e.time = d, c, t
	for d.gate.do(&e.action) == NoResources { // the queue is full
		runtime.Gosched()
	}
	e.d = nil
	elapses.Put(e)
	return nil
}

// elapse is an action that lets time pass. They are reused, so that a dispatch does not allocate them.
type elapse struct {
	action
	d     *Device
	cause cost.Cause
	time  time.Duration
}

var elapses = sync.Pool{New: func() any {
	e := &elapse{}
	e.action.priority = controlPriority
	e.action.run = func(*action) { e.d.spend(e.cause, e.time) }
	return e
}}

// Call calls f with the command gate held.
func (d *Device) Call(f func()) error {
	a := &action{priority: controlPriority, run: func(*action) { f() }}
	for d.gate.do(a) == NoResources { // the queue is full
		runtime.Gosched()
	}
	return nil
}

// Properties returns the published properties (table 27.9).
func (d *Device) Properties() Properties { return d.properties }

// Clock returns the device's virtual clock.
func (d *Device) Clock() *firmware.Clock { return d.clock }

// Unit returns the device's translation unit.
func (d *Device) Unit() *translation.Unit { return d.unit }

// Coprocessor returns the controller, for its pools and statistics. Only the driver may run it.
func (d *Device) Coprocessor() *coprocessor.Device { return d.hw.cop }

// Status returns what selector 7 returns.
func (d *Device) Status() Status { return d.status() }

// Recoveries returns how often the device was re-initialised after a fault or a lost completion.
func (d *Device) Recoveries() int {
	n := 0
	_, _ = d.hold(nil, "recoveries", func(time.Duration) (Return, error) {
		n = d.hw.recovery.count
		return Success, nil
	})
	return n
}

// Dumps returns the last firmware dumps that were drained, oldest first.
func (d *Device) Dumps() []Dump {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return append([]Dump(nil), d.dumps...)
}

// Scheduler reports the queue of the command gate.
func (d *Device) Scheduler() firmware.SchedulerReport { return d.gate.sched.Report() }

// Sleep powers the device off once nothing runs, as the system does when it sleeps. The firmware loses its state; Wake
// brings it up again, and each program is reloaded with its next request.
func (d *Device) Sleep() error {
	_, err := d.hold(nil, "sleep", func(time.Duration) (Return, error) {
		d.hw.sleep()
		return Success, nil
	})
	return err
}

// Close closes all clients and powers the device off.
func (d *Device) Close() error {
	d.mu.Lock()
	d.closed = true
	clear(d.persistent)
	d.mu.Unlock()
	for _, c := range d.openClients() {
		c.Close()
	}
	return d.Sleep()
}

func isFault(err error, r translation.Reason) bool {
	return errors.Is(err, &translation.Fault{Reason: r})
}

// UserClient is a connection to the device.
type UserClient interface {
	// ExternalMethod calls a selector.
	ExternalMethod(selector uint32, args *IOExternalMethodArguments) Return
	// ExternalMethodBytes calls a selector with the kernel's block of bytes.
	ExternalMethodBytes(selector uint32, block []byte) Return
	// Method calls a method of table 27.5, which only the direct-path client
	// exports.
	Method(name string, args *MethodArguments) Return
	// Class returns the name of the client's class.
	Class() string
	// Info returns the properties recorded when the client was created.
	Info() ANEClientInfo
	// LastError returns the error of the client's last failed call.
	LastError() error
	// Close closes the connection and unloads its programs. Further calls return Closed.
	Close() Return
}

// ConnectionOffset is where the object of a front end stores its connection (chapter 27).
const ConnectionOffset = 0x40

// The types of user clients (listing 27.1). The numbers are modelled.
const (
	ControlClient    = 1
	DirectPathClient = 2
	HintsClient      = 3
)
