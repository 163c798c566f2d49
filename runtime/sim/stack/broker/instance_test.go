package broker

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// TestQueueDepthIsShared checks that a connection gets the requested depth while enough is free, its share under
// contention, and at least 1.
func TestQueueDepthIsShared(t *testing.T) {
	b, k := room(t, func(c *Config) { c.Limits.QueueSlots = 16 })
	c := container(t, 8, 1)
	one, two, three := connect(t, b, caller(1, "A")), connect(t, b, caller(2, "B")), connect(t, b, caller(3, "C"))
	depth := func(s *Session, want int) int {
		t.Helper()
		m := load(t, s, LoadRequest{Container: c})
		return instantiate(t, s, InstanceRequest{Model: m.Model, QueueDepth: want}).QueueDepth
	}
	for i, x := range []struct {
		s         *Session
		ask, want int
	}{
		{one, 2, 2}, // alone: as asked
		{one, 0, 1},
		{two, 20, 8},  // 13 are free, and the share of one of two is half of 16
		{two, 20, 5},  // as many are free
		{three, 4, 1}, // nothing is free
		{three, 1, 1},
	} {
		if got := depth(x.s, x.ask); got != x.want {
			t.Errorf("step %d: asked for %d, granted %d, wanted %d", i, x.ask, got, x.want)
		}
	}
	two.Close()
	if got := depth(three, 20); got != 8 {
		t.Errorf("after a connection closed: granted %d of 20, wanted the share of 8", got)
	}
	for _, p := range k.programs {
		if p.base != 0 && p.options.QueueDepth < 1 {
			t.Error("the driver was not told the depth")
		}
	}
	m := load(t, one, LoadRequest{Container: c})
	for _, bad := range []int{-1, 128} {
		_, err := one.CreateInstance(t.Context(), InstanceRequest{Model: m.Model, QueueDepth: bad})
		refused(t, err, BadArgument)
	}
}

// TestDepthBoundsEvaluations starts more evaluations than an instance has places.
func TestDepthBoundsEvaluations(t *testing.T) {
	b, k := room(t, nil)
	k.hold, k.started = make(chan struct{}), make(chan struct{}, 100)
	s := connect(t, b, caller(1, "A"))
	c := container(t, 8, 1)
	m := load(t, s, LoadRequest{Container: c})
	in := instantiate(t, s, InstanceRequest{Model: m.Model, QueueDepth: 3})
	p := in.Procedures[0]
	var all []map[string][]byte
	done := make(chan error, 10)
	for i := range 8 {
		all = append(all, surfacesOf(p, byte(i)))
		s.EvaluateAsync(t.Context(), EvaluateRequest{
			Instance: in.Instance,
			Surfaces: all[i],
		}, func(err error) { done <- err })
	}
	for range 3 {
		<-k.started
	}
	if n := len(k.started); n != 0 {
		t.Errorf("%d evaluations beyond the depth of 3 were sent", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	refused(t, s.Evaluate(ctx, EvaluateRequest{Instance: in.Instance, Surfaces: surfacesOf(p, 1)}), Aborted)
	close(k.hold)
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	for i := range all {
		if !bytes.Equal(output(p, all[i]), expected(c, p, byte(i))) {
			t.Errorf("evaluation %d has the output of another", i)
		}
	}
}

// TestAsyncCallsStayInOrder checks that the asynchronous calls of one caller get their places in order, in the broker's
// process and over a socket.
func TestAsyncCallsStayInOrder(t *testing.T) {
	b, k := room(t, nil)
	path := listen(t, b)
	for what, s := range map[string]Client{
		"in process":    connect(t, b, caller(1, "A")),
		"over a socket": dial(t, path, caller(2, "A")),
	} {
		m := load(t, s, LoadRequest{Container: container(t, 8, 1)})
		in := instantiate(t, s, InstanceRequest{Model: m.Model})
		k.requests = nil
		var wg sync.WaitGroup
		classes := []QoS{QoSBackground, QoSUtility, QoSDefault, QoSUserInitiated, QoSUserInteractive}
		for i := range 100 {
			wg.Add(1)
			s.EvaluateAsync(t.Context(), EvaluateRequest{
				Instance: in.Instance,
				Surfaces: surfacesOf(in.Procedures[0], 1),
				QoS:      classes[i%5],
			}, func(err error) {
				if err != nil {
					t.Error(err)
				}
				wg.Done()
			})
		}
		wg.Wait()
		for i, r := range k.requests {
			if r.QoS != classes[i%5] {
				t.Fatalf("%s: request %d is out of order", what, i)
			}
		}
	}
}

// TestCloseAbortsWaitingCalls also checks that running calls finish and that everything is released.
func TestCloseAbortsWaitingCalls(t *testing.T) {
	b, k := room(t, nil)
	k.hold, k.started = make(chan struct{}), make(chan struct{}, 10)
	s := connect(t, b, caller(1, "A"))
	m := load(t, s, LoadRequest{Container: container(t, 8, 1)})
	in := instantiate(t, s, InstanceRequest{Model: m.Model})
	done := make(chan error, 10)
	for range 4 {
		s.EvaluateAsync(context.Background(), EvaluateRequest{
			Instance: in.Instance,
			Surfaces: surfacesOf(in.Procedures[0], 1),
		}, func(err error) { done <- err })
	}
	<-k.started
	closed := make(chan bool)
	go func() { s.Close(); close(closed) }()
	for range 3 {
		refused(t, <-done, Aborted)
	}
	close(k.hold)
	if err := <-done; err != nil {
		t.Errorf("the evaluation under way: %v", err)
	}
	<-closed
	if r := b.Report(); r.Instances != 0 || r.Residents != 0 || r.Connections != 0 || r.QueueSlots != 0 {
		t.Errorf("left: %+v", r)
	}
	k.clean(t)
}

// TestSurfacesAreBoundOnce checks that equal slices are bound once, and that the contents of new ones are copied.
func TestSurfacesAreBoundOnce(t *testing.T) {
	b, k := room(t, nil)
	s := connect(t, b, caller(1, "A"))
	c := container(t, 8, 1)
	m := load(t, s, LoadRequest{Container: c})
	in := instantiate(t, s, InstanceRequest{Model: m.Model})
	p := in.Procedures[0]
	made := func() uint32 {
		k.mu.Lock()
		defer k.mu.Unlock()
		for _, q := range k.programs {
			return q.svc.next
		}
		return 0
	}
	same := surfacesOf(p, 1)
	for range 5 {
		if err := s.Evaluate(t.Context(), EvaluateRequest{Instance: in.Instance, Surfaces: same}); err != nil {
			t.Fatal(err)
		}
	}
	if n := made(); n != 2 {
		t.Errorf("%d surfaces for two slices", n)
	}
	for i := range 50 {
		evaluate(t, s, in, c, byte(i))
	}
	if n := made(); n > 2*(maxBound+2) {
		t.Errorf("%d surfaces for an instance with 2 ports", n)
	}
	for what, change := range map[string]func(map[string][]byte){
		"missing": func(m map[string][]byte) { delete(m, p.Ports[0].Name) },
		"short":   func(m map[string][]byte) { m[p.Ports[0].Name] = m[p.Ports[0].Name][1:] },
		"more":    func(m map[string][]byte) { m["more"] = nil },
	} {
		bad := surfacesOf(p, 1)
		change(bad)
		if err := s.Evaluate(t.Context(), EvaluateRequest{Instance: in.Instance, Surfaces: bad}); !isCode(err,
			BadArgument) {
			t.Errorf("%s surface: %v", what, err)
		}
	}
	refused(t, s.Evaluate(t.Context(), EvaluateRequest{
		Instance:  in.Instance,
		Procedure: "other",
		Surfaces:  same,
	}), NotFound)
}

// TestTraceHasEveryCall checks that every call is a span with its caller, and that refusals have a reason.
func TestTraceHasEveryCall(t *testing.T) {
	var rec trace.Recording
	b, _ := room(t, func(c *Config) { c.Trace = rec.Tracer() })
	s := connect(t, b, caller(1, "A"))
	m := load(t, s, LoadRequest{Container: container(t, 8, 1)})
	in := instantiate(t, s, InstanceRequest{Model: m.Model, QoS: QoSUserInitiated})
	evaluate(t, s, in, container(t, 8, 1), 1)
	_, err := s.Purge(t.Context(), PurgeRequest{AllPartitions: true})
	refused(t, err, NotEntitled)
	s.Close()
	var got []string
	for _, e := range rec.Events {
		if e.Layer != trace.Broker {
			t.Errorf("an event of layer %v", e.Layer)
		}
		got = append(got, fmt.Sprintf("%s/%d/%v", e.Name, e.Phase, e.Err != ""))
	}
	want := []string{"connect/0/false", "loadModel/1/false", "wireModel/0/false", "loadModel/2/false",
		"createInstance/1/false", "createInstance/2/false",
		"evaluate/1/false", "evaluate/2/false", "purgeModels/1/false", "purgeModels/2/true", "unwireModel/0/false",
		"disconnect/0/false"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("events\n%v\nwanted\n%v", got, want)
	}
}
