package stack_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/stack"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/broker"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/driver"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
)

const (
	clients    = 64
	dispatches = 10_000
)

// TestManyProcessesDispatch has 64 processes of all eight priorities dispatch 10,000 times between them on mixed
// models: all complete with the engine's own bits, the trace shows strict priority, and nobody reaches another's
// buffers.
func TestManyProcessesDispatch(t *testing.T) {
	ctx := context.Background()
	// A process names its own input, so that each has results of its own.
	type work struct {
		pair   pair.Pair
		direct *sim.Machine
	}
	var models []work
	for _, name := range []string{"tiny", "tinywide", "cache", "two"} {
		p := compiled(t, "e5rt/testdata/"+name+".mil")
		m, err := sim.Open(p)
		if err != nil {
			t.Fatal(err)
		}
		models = append(models, work{p, m})
	}
	events := &trace.Recording{MaxData: 1}
	s, err := stack.New(stack.Options{Workers: 1, Trace: events.Tracer()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	keeper, err := s.Device.OpenServices(&driver.Task{PID: 1, Entitlements: []string{driver.UserAccess}})
	if err != nil {
		t.Fatal(err)
	}
	defer keeper.Close()
	frames := s.Device.Unit().Stats().FramesInUse
	var wg sync.WaitGroup
	var procs []*stack.Process
	var loaded []*stack.Model
	for i := range clients {
		class := broker.QoSClasses[i%len(broker.QoSClasses)]
		id := stack.Application(1000 + i)
		id.Entitlements = append(id.Entitlements, class.Keys...)
		p, err := s.Connect(id, class.QoS)
		if err != nil {
			t.Fatal(err)
		}
		own := models[i%len(models)].pair
		own.Container = bytes.Clone(own.Container) // each has its own file
		m := load(t, p, own)
		procs, loaded = append(procs, p), append(loaded, m)
	}
	for i, m := range loaded {
		w := models[i%len(models)]
		in := inputs(t, w.direct, uint64(i))
		want, err := w.direct.Run(ctx, in, sim.Options{Numerics: numerics.ANE, Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		n := dispatches / clients
		if i < dispatches%clients {
			n++
		}
		wg.Go(func() {
			for k := range n {
				got, err := m.Run(ctx, in)
				if err != nil {
					t.Errorf("client %d, dispatch %d: %v", i, k, err)
					return
				}
				for name, x := range want {
					if !bytes.Equal(got[name].Data, x.Data) {
						t.Errorf("client %d, dispatch %d: output %q differs", i, k, name)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	if n := s.Device.Unit().Stats().Faults; n != 0 {
		t.Errorf("%d translation faults", n)
	}
	apart(t, s, events.Events)
	for i := range procs {
		if err := loaded[i].Close(); err != nil {
			t.Error(err)
		}
		if err := procs[i].Close(); err != nil {
			t.Error(err)
		}
	}
	if n := s.Device.Unit().Stats().FramesInUse; n != frames {
		t.Errorf("%d frames are in use, %d were before the clients came", n, frames)
	}
	requests, overtaken := strict(t, events.Events)
	if requests < dispatches {
		t.Errorf("the trace has %d requests of %d dispatches", requests, dispatches)
	}
	if overtaken == 0 {
		t.Error("no request ever went before an older one: the load does not show priorities")
	}
	t.Logf("%d requests, %d times one went before an older one of less priority", requests, overtaken)
}

// strict checks in the trace that the command gate takes the most urgent of the waiting requests, and within a priority
// the oldest. It returns the number of requests and how often one went before an older one of less priority.
func strict(t *testing.T, events []trace.Event) (requests, overtaken int) {
	t.Helper()
	type request struct {
		priority int
		action   uint64
	}
	arg := func(e *trace.Event, key string) string {
		for _, a := range e.Args {
			if a.Key == key {
				return fmt.Sprint(a.Value)
			}
		}
		return ""
	}
	var waiting []request
	for i := range events {
		e := &events[i]
		if e.Name != "ANEScheduler::enqueue" && e.Name != "ANEScheduler::dequeue" {
			continue
		}
		var r request
		if _, err := fmt.Sscan(arg(e, "priority")+" "+arg(e, "action"), &r.priority, &r.action); err != nil {
			t.Fatalf("event %d: %v: %v", e.Seq, e.Args, err)
		}
		if e.Name == "ANEScheduler::enqueue" {
			waiting = append(waiting, r)
			requests++
			continue
		}
		at := -1
		for k, w := range waiting {
			switch {
			case w == r:
				at = k
			case w.priority < r.priority:
				t.Fatalf("event %d: a request of priority %d goes before one of priority %d", e.Seq, r.priority,
					w.priority)
			case w.priority == r.priority && w.action < r.action:
				t.Fatalf("event %d: request %d goes before request %d of the same priority", e.Seq, r.action, w.action)
			case w.action < r.action:
				overtaken++ // the younger is more urgent
			}
		}
		if at < 0 {
			t.Fatalf("event %d: request %d was not waiting", e.Seq, r.action)
		}
		waiting = append(waiting[:at], waiting[at+1:]...)
	}
	if len(waiting) != 0 {
		t.Errorf("%d requests wait still", len(waiting))
	}
	return requests, overtaken
}

// apart checks that no client can read what another has mapped: another's address space has nothing, or other bytes, at
// the address.
func apart(t *testing.T, s *stack.Stack, events []trace.Event) {
	t.Helper()
	type mapping struct {
		client uint64
		addr   uint64
	}
	seen := map[mapping]bool{}
	of := map[uint64]bool{}
	for _, e := range events {
		if e.Layer != trace.Translation || e.Name != translation.Mapped.String() {
			continue
		}
		for _, a := range e.Args {
			if addr, ok := a.Value.(uint64); ok && a.Key == "address" {
				seen[mapping{e.Client, addr}] = true
				of[e.Client] = true
			}
		}
	}
	if len(of) < clients {
		t.Fatalf("%d clients have mapped anything, want %d", len(of), clients)
	}
	pairs := 0
	for m := range seen {
		own, err := s.Device.Unit().Context(m.client).Window(m.addr, 1, translation.Read, "test")
		if err != nil {
			if own, err = s.Device.Unit().Context(m.client).Window(m.addr, 1, translation.Write, "test"); err != nil {
				continue // it has gone since
			}
		}
		for other := range of {
			if other == m.client {
				continue
			}
			pairs++
			for _, way := range []translation.Access{translation.Read, translation.Write} {
				if got, err := s.Device.Unit().Context(other).Window(m.addr, 1, way, "test"); err == nil &&
					&got[0] == &own[0] {
					t.Fatalf("client %d reaches %#x of client %d", other, m.addr, m.client)
				}
			}
		}
	}
	if pairs == 0 {
		t.Error("nothing is mapped any more")
	}
}
