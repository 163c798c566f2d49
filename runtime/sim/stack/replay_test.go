package stack_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/internal/testform"
	"github.com/zinc-compiler/zinc/runtime/sim/stack"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/broker"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/inject"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// crowd is a load of 64 clients of all classes of service on four models.
func crowd(t *testing.T, requests int) *stack.Load {
	t.Helper()
	l := &stack.Load{Seed: 3, Kills: 10, Retries: 20}
	for i, name := range []string{"tiny", "tinywide", "cache", "two"} {
		container := compiled(t, "e5rt/testdata/"+name+".mil").Container
		for k, q := range broker.QoSClasses {
			c := stack.LoadClass{
				Name:      q.Name + " " + name,
				Clients:   2,
				QoS:       q.QoS,
				Container: container,
				Requests:  requests,
				Think:     3 * time.Millisecond,
			}
			if (i+k)%2 == 0 {
				c.Rate, c.Think = 60, 0
			}
			l.Classes = append(l.Classes, c)
		}
	}
	return l
}

// TestCrowdLosesNothing replays a load with faults and killed clients twice: every request of a survivor is answered,
// the trace shows strict priority, and both replays give the same latencies and the same bytes of trace.
func TestCrowdLosesNothing(t *testing.T) {
	requests := testform.Of(20, 200, 1563) // of 64 clients: 100,000 in all
	l := crowd(t, requests)
	replay := func() (*stack.LoadResult, []byte) {
		spec, err := inject.Parse("translation:p=0.0015")
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
		var b bytes.Buffer
		if err := trace.WriteChrome(&b, events.Events, nil); err != nil {
			t.Fatal(err)
		}
		return r, b.Bytes()
	}
	a, first := replay()
	b, second := replay()
	if !reflect.DeepEqual(a, b) || !bytes.Equal(first, second) {
		t.Error("two replays of one load differ")
	}
	killed, retried := 0, 0
	for _, c := range a.Classes {
		lost := c.Sent - c.Completed - c.Failed
		if c.Failed != 0 || lost < 0 || lost > c.Killed || c.Killed == 0 && c.Sent != 2*requests {
			t.Errorf("%s: %+v", c.Name, c)
		}
		if c.P50 < 190*time.Microsecond || c.P50 > c.P90 || c.P90 > c.P99 || c.P99 > c.Max {
			t.Errorf("%s: percentiles %v, %v, %v, %v", c.Name, c.P50, c.P90, c.P99, c.Max)
		}
		killed += c.Killed
		retried += c.Retried
	}
	if killed == 0 || retried == 0 {
		t.Errorf("%d clients killed, %d requests repeated; the load must have some of both", killed, retried)
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
