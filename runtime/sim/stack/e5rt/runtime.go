package e5rt

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// Engine gives access to an engine through the layers below.
type Engine interface {
	// Open makes a container resident and returns a Dispatcher that runs its procedures and a Closer that unloads it.
	// The slice must stay unchanged until then. The Dispatcher may be called from several goroutines. stateful says
	// that the dispatches of a procedure are steps of a computation with states.
	Open(ctx context.Context, container []byte, stateful bool) (sim.Dispatcher, io.Closer, error)
}

// Clock is a virtual clock such as *firmware.Clock. A runtime calls it from the goroutines that dispatch, one Advance
// at a time. If several runtimes or the layers below advance one clock with timers from other goroutines, Advance must
// wait for them: a timer's function runs in the goroutine that advances.
type Clock interface {
	Now() time.Duration
	Advance(d time.Duration) error
	// Spend advances the clock for a cause.
	Spend(c cost.Cause, d time.Duration) error
}

// Options configure a Runtime.
type Options struct {
	Engine Engine // nil: the engine's simulator, driven directly
	Clock  Clock  // nil: a new one
	Trace  *trace.Tracer
	Client uint64 // of the events traced
	// Numerics is the engine's arithmetic.
	Numerics engine.Numerics
	Workers  int // goroutines of one task; 0: one per processor
	// CallBytes limits the live bytes of a CPU call; 0 for the interpreter's own limit.
	CallBytes int64
	// OverlapStreams disables the serialisation of streams and shows what the M1 then does: a stream submitted while
	// another one's completion is outstanding is run, but its completion never fires and its waiter blocks. A timeout
	// given to SubmitAsync breaks the wait. A completion is outstanding from the submission until a Wait, ExecuteSync
	// or the completion function has returned, or the stream is reset.
	OverlapStreams bool
	// LowLatency selects the low-latency event path, on which the completion of each stream that overlaps fires
	// (modelled: the chapter says only that this control would change it).
	LowLatency bool
}

// Runtime holds the runtime's objects of one process. They may be used from several goroutines; objects of different
// runtimes must not be mixed.
type Runtime struct {
	o     Options
	clock Clock
	log   trace.Log
	order fifoLock

	mu       sync.Mutex // guards the state of all objects
	ids      map[string]uint64
	requests uint64
	holder   *ExecutionStream // with OverlapStreams: whose completion is outstanding and will fire

	running int           // with OverlapStreams: streams whose operations are being run
	idle    chan struct{} // closed when none is

	tick sync.Mutex // one Advance at a time
}

// New returns a runtime.
func New(o Options) (*Runtime, error) {
	rt := &Runtime{o: o, clock: o.Clock, ids: map[string]uint64{}}
	if rt.clock == nil {
		c, err := firmware.NewClock(1)
		if err != nil {
			return nil, err
		}
		rt.clock = c
	}
	rt.log = trace.Log{Tracer: o.Trace, Layer: trace.E5RT, Now: rt.clock.Now}
	return rt, nil
}

// spend lets virtual time pass for a cause, and traces it as a span. No time is no step.
func (rt *Runtime) spend(c cost.Cause, op string, t cost.Time) (err error) {
	if t == 0 {
		return nil
	}
	object := trace.Text("object", op)
	defer rt.log.Step(c.String(), rt.o.Client, 0, object).End(&err, object)
	rt.tick.Lock()
	defer rt.tick.Unlock()
	return rt.clock.Spend(c, time.Duration(t))
}

// host lets the time of the host's work pass.
type host struct{ rt *Runtime }

// Bind implements sim.Host.
func (h host) Bind(op string, in, out int64) error {
	if err := h.rt.spend(cost.Bind, op, cost.Bind.Fixed()); err != nil {
		return err
	}
	return h.rt.spend(cost.Handover, op, cost.Handing(in, out, cost.Simulated))
}

// EventCast is the name of a trace event: a cast of a chain that was run.
const EventCast = "cast"

// Cast implements sim.Host. Casts are part of the stages before and after the inference and take no time of their own.
func (h host) Cast(op, from, to string) error {
	h.rt.log.Note(EventCast, h.rt.o.Client, 0, trace.Text("object", op), trace.Text("from", from), trace.Text("to", to))
	return nil
}

// Return implements sim.Host.
func (h host) Return(op string) error { return h.rt.spend(cost.Return, op, cost.Return.Fixed()) }

// Compute implements sim.Host.
func (h host) Compute(op string, t cost.Time) error { return h.rt.spend(cost.CPUWork, op, t) }

// Host accounts for the host's work on the runtime's clock.
func (rt *Runtime) Host() sim.Host { return host{rt} }

// wait advances the clock to a deadline. Running operations advance the clock themselves, so it waits for them first.
func (rt *Runtime) wait(ctx context.Context, deadline time.Duration) error {
	for {
		rt.mu.Lock()
		n, idle := rt.running, rt.idle
		rt.mu.Unlock()
		if n == 0 {
			break
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	rt.tick.Lock()
	defer rt.tick.Unlock()
	if d := deadline - rt.clock.Now(); d > 0 {
		return rt.clock.Advance(d)
	}
	return nil
}

// id returns the next number, from 1, of a kind of object. The runtime's lock is held.
func (rt *Runtime) id(kind string) uint64 {
	rt.ids[kind]++
	return rt.ids[kind]
}

func (rt *Runtime) simOptions(d sim.Dispatcher) sim.Options {
	return sim.Options{
		Numerics:   sim.Mode(rt.o.Numerics),
		Workers:    rt.o.Workers,
		CallBytes:  rt.o.CallBytes,
		Dispatcher: d,
		Host:       host{rt},
	}
}

// called traces a call that takes no time and returns its error.
func (rt *Runtime) called(call string, object fmt.Stringer, err error, args ...trace.Value) error {
	if rt.log.On() { // only then does the name of the object need memory
		args = append([]trace.Value{trace.Text("object", object.String()), trace.Failure(err)}, args...)
		rt.log.Note(call, rt.o.Client, 0, args...)
	}
	return err
}
