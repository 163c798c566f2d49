package stack

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/broker"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/coprocessor"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/driver"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/e5rt"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/inject"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
	"github.com/zinc-compiler/zinc/target"
)

// Options configure a machine. The zero value is an M1 without trace and faults.
type Options struct {
	Target   *target.Table // whose programs the machine runs; nil for the M1's
	Trace    *trace.Tracer
	Inject   *inject.Injector
	Strict   bool            // the firmware reports faults where the real one does
	Numerics engine.Numerics // engine.ANE for the target's
	Workers  int             // goroutines of one task; 0: one per processor; results do not depend on it
	Compile  broker.Compiler
	// InternalBuild has the driver's debug selectors, which a release build refuses.
	InternalBuild bool
	// Boot has values that the bring-up finds instead of its own, by the names of coprocessor.BootValues.
	Boot map[string]uint64
	// CallBytes limits the live bytes of a CPU call; 0 for the interpreter's own limit.
	CallBytes int64
	// Timeout is the virtual time that a run of a model may take; 0 means no limit. A run that takes longer ends with
	// an error.
	Timeout time.Duration
	// Overlap submits each run of a model a second time, on a stream of its own, while the first is in flight. The M1
	// does not finish it: the run ends with an error when the Timeout is over, which must not be 0.
	Overlap bool
	// LowLatency selects the low-latency event path, on which both of them complete.
	LowLatency bool
	Limits     broker.Limits
	// Preempt has the firmware abort a call between two tasks for a more urgent one (chapter 2). Otherwise calls run to
	// completion (chapter 29).
	Preempt bool
	// NoChaining takes the grant of data chaining from the broker's task: every step of a computation with resident
	// values is then a call.
	NoChaining bool
	// PerUser makes the broker serve user UID alone.
	PerUser bool
	UID     int
	// Seats is the number of clients on the socket of a machine whose clients run in lockstep; 0 if they run as they
	// come.
	Seats    int
	Tasks    func(TaskTime)    // is called after each task of the engine; may be nil
	Ran      func()            // is called when the engine has computed a task; may be nil
	Terminal func(line string) // gets the firmware's log lines
}

// TaskTime is the virtual time of one task.
type TaskTime = coprocessor.TaskTime

// Stack is a machine: device, driver and broker.
type Stack struct {
	Device *driver.Device
	Broker *broker.Broker
	o      Options
}

// brokerPID is the process number of the broker, which is modelled.
const brokerPID = 100

// New builds a machine. The firmware is brought up when a process first needs the
// device.
func New(o Options) (*Stack, error) {
	props := driver.M1
	if o.Target != nil {
		props = driver.PropertiesOf(o.Target)
		o.Numerics = sim.EngineNumerics(sim.Mode(o.Numerics).On(o.Target.Arithmetic))
	}
	props.InternalBuild = o.InternalBuild
	d, err := driver.NewDevice(driver.Config{
		Properties: &props,
		Trace:      o.Trace, Inject: o.Inject, Strict: o.Strict, Numerics: o.Numerics, Workers: o.Workers,
		Terminal: o.Terminal, Boot: o.Boot, Tasks: o.Tasks, Ran: o.Ran, Preempt: o.Preempt,
	})
	if err != nil {
		return nil, err
	}
	s := &Stack{Device: d, o: o}
	keys := broker.KernelKeys()
	if o.NoChaining {
		keys = slices.DeleteFunc(keys, func(k string) bool { return k == broker.KeyDataChaining })
	}
	c := broker.Config{
		Kernel: broker.NewDevice(d, brokerPID, keys), Compile: o.Compile, Limits: o.Limits,
		Trace: o.Trace, Now: d.Clock().Now, Device: s.device, PerUser: o.PerUser, UID: o.UID,
	}
	if o.Seats > 0 {
		c.Lockstep = &broker.Lockstep{Seats: o.Seats, Time: seatTime{d}}
	}
	s.Broker, err = broker.New(c)
	if err != nil {
		d.Close()
		return nil, err
	}
	return s, nil
}

// Close ends every process's connection and powers the device off.
func (s *Stack) Close() error {
	err := s.Broker.Close()
	err = cmp.Or(err, s.Device.Close())
	return err
}

// Application returns the identity of an ordinary application: process pid, of the team with that number, with the
// baseline entitlement.
func Application(pid int) broker.Identity {
	id := broker.Identity{
		PID:          pid,
		UID:          501,
		TeamID:       fmt.Sprintf("TEAM%06d", pid),
		Entitlements: []string{broker.KeyPrivate},
	}
	for i := range id.CodeDirectoryHash {
		id.CodeDirectoryHash[i] = byte(pid >> (8 * (i % 4)))
	}
	return id
}

// Process is an application with a connection to the broker. It is an
// e5rt.Engine.
type Process struct {
	s      *Stack  // nil: the machine is another process's
	o      Options // of the runtime
	client broker.Client
	qos    broker.QoS
	id     broker.Identity
	base   []byte // container of the base model; nil unless models are adapters
	depth  int
	seated *seatClock // of a client in lockstep; otherwise nil
	// share lets other processes of the identity use the programs that the process loads; resident is one of such a
	// process that this one uses, or 0.
	share    bool
	resident uint64
}

// Connect creates a process whose work has a class of service; zero means the default class.
func (s *Stack) Connect(id broker.Identity, qos broker.QoS) (*Process, error) {
	c, err := s.Broker.Connect(id)
	if err != nil {
		return nil, err
	}
	return &Process{s: s, o: s.o, client: c, qos: qos, id: id}, nil
}

// With returns the process with other options of the runtime and, if base is not nil, with a base model as SetBase sets
// it. It has the same connection.
func (p *Process) With(o Options, base []byte) *Process {
	q := *p
	q.o, q.base = o, base
	return &q
}

// SetBase makes the models that the process opens from now on adapters of a base model, which the process shares with
// others: their containers may differ from the base's in coefficients only. Nil ends it.
func (p *Process) SetBase(container []byte) { p.base = container }

// SetSharing sets whether other processes of the same identity may use the programs that the process opens from now on,
// and, unless it is 0, the resident program of such a process that it uses instead of loading its own. It must be a
// program of the container that is opened.
func (p *Process) SetSharing(share bool, resident uint64) { p.share, p.resident = share, resident }

// SetQueueDepth sets the number of requests of each model that the process opens from now on that may be under way at
// once; 0 for the broker's default.
func (p *Process) SetQueueDepth(n int) { p.depth = n }

// clock returns the device's clock or, for a client in lockstep of another process's machine, its own; nil for other
// clients of such a machine.
func (p *Process) clock() e5rt.Clock {
	switch {
	case p.s != nil:
		return p.s.Clock()
	case p.seated != nil:
		return p.seated
	}
	return nil
}

// Now returns the virtual time of a client in lockstep, 0 in others.
func (p *Process) Now() time.Duration {
	if p.seated == nil {
		return 0
	}
	return p.seated.Now()
}

// Think lets virtual time pass in a client in lockstep, and does nothing in others.
func (p *Process) Think(d time.Duration) {
	if p.seated != nil {
		_ = p.seated.Advance(d) // never fails
	}
}

// Close ends the connection and unloads everything that the process has loaded.
func (p *Process) Close() error { return p.client.Close() }

// Open makes a container resident for the process and creates an instance of it.
func (p *Process) Open(ctx context.Context, container []byte, stateful bool) (sim.Dispatcher, io.Closer, error) {
	instance := broker.InstanceRequest{QoS: p.qos, QueueDepth: p.depth, Stateful: stateful}
	if p.base != nil {
		r, err := broker.OpenAdapter(ctx, p.client, p.base, container, instance)
		if err != nil {
			return nil, nil, err
		}
		return dispatcher{r}, r, nil
	}
	var r *broker.Runner
	var err error
	if p.resident != 0 {
		load := broker.AttachRequest{Resident: p.resident, QoS: p.qos}
		r, err = broker.OpenResident(ctx, p.client, container, load, instance)
	} else {
		load := broker.LoadRequest{Container: container, QoS: p.qos, Share: p.share}
		r, err = broker.Open(ctx, p.client, load, instance)
	}
	if err != nil {
		return nil, nil, err
	}
	return dispatcher{r}, r, nil
}

// dispatcher is a runner of the broker for a machine of package sim.
type dispatcher struct{ *broker.Runner }

// Chain runs consecutive procedures for one request.
func (d dispatcher) Chain(ctx context.Context, segments []sim.Segment) error {
	out := make([]broker.Segment, len(segments))
	for i, s := range segments {
		out[i] = broker.Segment(s)
	}
	return d.Runner.Chain(ctx, out)
}

// clock is the device's clock for a process. It advances inside the command gate, since timers that become due belong
// to the device.
type clock struct{ d *driver.Device }

func (c clock) Now() time.Duration { return c.d.Clock().Now() }

func (c clock) Advance(t time.Duration) error { return c.Spend(cost.Waiting, t) }

func (c clock) Spend(cause cost.Cause, t time.Duration) error { return c.d.Elapse(cause, t) }

// Clock returns the device's virtual clock, which processes may advance.
func (s *Stack) Clock() e5rt.Clock { return clock{s.Device} }

// seatClock is the clock of a client in lockstep.
type seatClock struct{ *broker.RemoteClock }

// Spend lets time pass for a cause.
func (c *seatClock) Spend(_ cost.Cause, d time.Duration) error { return c.Advance(d) }

// seatTime is the device's virtual time for clients in lockstep.
type seatTime struct{ d *driver.Device }

func (t seatTime) Now() time.Duration           { return t.d.Clock().Now() }
func (t seatTime) Elapse(d time.Duration) error { return t.d.Elapse(cost.Waiting, d) }
func (t seatTime) Call(f func()) error          { return t.d.Call(f) }
func (t seatTime) After(d time.Duration, f func()) (stop func(), err error) {
	timer, err := t.d.Clock().After(d, f)
	return func() { t.d.Clock().Stop(timer) }, err
}
