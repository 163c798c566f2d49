package stack_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/internal/testform"
	"github.com/zinc-compiler/zinc/internal/testmodel"
	"github.com/zinc-compiler/zinc/runtime/sim/stack"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/broker"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/inject"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
	"github.com/zinc-compiler/zinc/target"
)

// crowd is a load of 64 clients of all classes of service on four models, each with an adapter of its own.
func crowd(t *testing.T, requests int) *stack.Load {
	t.Helper()
	dir := t.TempDir()
	container := func(kind int, seed uint64) []byte {
		path := filepath.Join(dir, fmt.Sprintf("%d_%d.mil", kind, seed))
		if err := os.WriteFile(path, []byte(testmodel.Layer(kind, seed)), 0o666); err != nil {
			t.Fatal(err)
		}
		return compiled(t, path).Container
	}
	l := &stack.Load{Seed: 3, Kills: 10, Retries: 20}
	for kind := range testmodel.Layers {
		base := container(kind, 0)
		for k, q := range broker.QoSClasses {
			c := stack.LoadClass{
				Name:      fmt.Sprint(q.Name, " ", kind),
				Clients:   2,
				QoS:       q.QoS,
				Container: base,
				Team:      fmt.Sprint("TEAM", kind),
				Requests:  requests,
				Think:     3 * time.Millisecond,
				// The keys of the class, and the key of adapters.
				Entitlements: append([]string{broker.KeyAdapterWeight}, q.Keys...),
			}
			for a := range c.Clients {
				c.Adapters = append(c.Adapters, container(kind, uint64(1+k*c.Clients+a)))
			}
			if (kind+k)%2 == 0 {
				c.Rate, c.Think = 60, 0
			}
			l.Classes = append(l.Classes, c)
		}
	}
	return l
}

// faulty are the faults of the crowd: of one dispatch in a hundred, most in the engine's accesses, the others ends of
// the firmware and queues that do not drain.
const faulty = "translation:p=0.0006; exception@task:p=0.0003; crash@post:p=0.0003; stuck:p=0.0005"

// TestCrowdLosesNothing replays a load with faults and killed clients twice: every request of a survivor is answered
// with the outputs of its own adapter on its own inputs, the trace shows strict priority, and both replays give the
// same latencies and the same bytes of trace.
func TestCrowdLosesNothing(t *testing.T) {
	requests := testform.Of(20, 200, 1880) // of 64 clients, ten of them killed: over 100,000 in the long form
	l := crowd(t, requests)
	replay := func() (*stack.LoadResult, [sha256.Size]byte) {
		spec, err := inject.Parse(faulty)
		if err != nil {
			t.Fatal(err)
		}
		events := &trace.Recording{MaxData: 1}
		s, err := stack.New(stack.Options{Trace: events.Tracer(), Inject: inject.New(spec, l.Seed), Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		r, err := s.Replay(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		if requests, overtaken := strict(t, events.Events); requests == 0 || overtaken == 0 {
			t.Errorf("%d requests, of which %d went before older ones", requests, overtaken)
		}
		h := sha256.New()
		if err := trace.WriteChrome(h, events.Events, nil); err != nil {
			t.Fatal(err)
		}
		return r, [sha256.Size]byte(h.Sum(nil))
	}
	a, first := replay()
	b, second := replay()
	if !reflect.DeepEqual(a, b) || first != second {
		t.Error("two replays of one load differ")
	}
	sent, killed, retried := 0, 0, 0
	priorities := map[int]bool{}
	for _, c := range a.Classes {
		lost := c.Sent - c.Completed - c.Failed
		if c.Failed != 0 || c.Wrong != 0 || lost < 0 || lost > c.Killed || c.Killed == 0 && c.Sent != 2*requests {
			t.Errorf("%s: %+v", c.Name, c)
		}
		if c.P50 < 190*time.Microsecond || c.P50 > c.P90 || c.P90 > c.P99 || c.P99 > c.Max {
			t.Errorf("%s: percentiles %v, %v, %v, %v", c.Name, c.P50, c.P90, c.P99, c.Max)
		}
		priorities[c.Priority] = true
		sent += c.Sent
		killed += c.Killed
		retried += c.Retried
	}
	t.Logf("%d requests of %d priorities, %d repeated after faults, %d clients killed", sent, len(priorities), retried,
		killed)
	if killed != l.Kills || len(priorities) != 8 {
		t.Errorf("%d clients killed, want %d; %d priorities, want 8", killed, l.Kills, len(priorities))
	}
	// An end of the firmware repeats every request that it has, so more are repeated than are faulty.
	if share := float64(retried) / float64(sent); share < .007 || share > .02 {
		t.Errorf("%.2f %% of the requests are repeated, want about 1 %%", 100*share)
	}
}

// TestUrgentClientsWaitLess compares the latencies of two classes that differ in priority alone.
func TestUrgentClientsWaitLess(t *testing.T) {
	container := compiled(t, "e5rt/testdata/tiny.mil").Container
	l := &stack.Load{Seed: 1, Classes: []stack.LoadClass{
		{Name: "urgent", Clients: 8, QoS: broker.QoSUserInteractive, Container: container, Rate: 300, Requests: 50},
		{Name: "patient", Clients: 8, QoS: broker.QoSBackground, Container: container, Rate: 300, Requests: 50},
	}}
	s, err := stack.New(stack.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := s.Replay(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if u, p := r.Classes[0], r.Classes[1]; u.P90 >= p.P90 || u.Completed != 400 || p.Completed != 400 {
		t.Errorf("%+v, %+v", u, p)
	}
}

// TestLoadsOutOfRangeAreRefused checks the limits of a load.
func TestLoadsOutOfRangeAreRefused(t *testing.T) {
	s, err := stack.New(stack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ok := stack.LoadClass{Clients: 1, Requests: 1}
	for _, l := range []stack.Load{
		{}, {Classes: []stack.LoadClass{{Clients: 0, Requests: 1}}}, {Classes: []stack.LoadClass{{Clients: 1}}},
		{Classes: []stack.LoadClass{{Clients: 1000, Requests: 1}}},
		{Classes: []stack.LoadClass{{Clients: 1, Requests: 1, Rate: -1}}},
		{Classes: []stack.LoadClass{ok}, Kills: 2}, {Classes: []stack.LoadClass{ok}, Retries: -1},
	} {
		if _, err := s.Replay(t.Context(), &l); err == nil || strings.Contains(err.Error(), "container") {
			t.Errorf("%+v: %v", l, err)
		}
	}
}

// TestUrgentRequestsPreempt replays a load of urgent clients beside background ones whose requests have many tasks.
// With preemption the urgent ones wait less and the background ones longer, and all outputs are the engine's.
func TestUrgentRequestsPreempt(t *testing.T) {
	g := irbuild.New(1)
	x := g.Input(1, 64, 32, 32)
	for range 24 { // tasks of some microseconds
		x = g.Op("sigmoid", "x", g.Op("tanh", "x", x))
	}
	g.Output(x)
	r, err := compile.All(t.Context(), g.Program(), compile.Options{Target: target.H13})
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Pair()
	if err != nil {
		t.Fatal(err)
	}
	long := p.Container
	l := &stack.Load{Seed: 5, Classes: []stack.LoadClass{
		{Name: "urgent", Clients: 1, QoS: broker.QoSUserInteractive, Container: long, Rate: 900, Requests: 60},
		{Name: "background", Clients: 2, QoS: broker.QoSBackground, Container: long, Requests: 40},
	}}
	var results [2]*stack.LoadResult
	for i := range results {
		s, err := stack.New(stack.Options{Workers: 1, Preempt: i == 1})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if results[i], err = s.Replay(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		for _, c := range results[i].Classes {
			if c.Completed != c.Sent || c.Failed+c.Wrong > 0 {
				t.Errorf("%+v", c)
			}
		}
	}
	whole, cut := results[0], results[1]
	if whole.Aborted != 0 || cut.Aborted == 0 {
		t.Errorf("%d runs were aborted without preemption and %d with it", whole.Aborted, cut.Aborted)
	}
	if whole.Classes[0].P90 <= cut.Classes[0].P90 || whole.Classes[1].Max >= cut.Classes[1].Max {
		t.Errorf("latencies %+v, with preemption %+v", whole.Classes, cut.Classes)
	}
}
