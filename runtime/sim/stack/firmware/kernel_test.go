package firmware

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

func boot(t *testing.T, c KernelConfig) *Kernel {
	t.Helper()
	k, err := Boot(c)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func create(t *testing.T, k *Kernel, name string, priority, depth int, h Handler) *Task {
	t.Helper()
	x, err := k.Create(TaskConfig{Name: name, Priority: priority, Depth: depth, Width: 16, Handler: h})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func full(t *testing.T, rs ...Report) {
	t.Helper()
	for _, r := range rs {
		if r.Available != r.Total {
			t.Errorf("%s: %d of %d available", r.Name, r.Available, r.Total)
		}
	}
}

func states(k *Kernel) (out []string) {
	for _, r := range k.TaskList() {
		out = append(out, r.State.String())
	}
	return out
}

func TestBootHeap(t *testing.T) {
	for _, tt := range []struct {
		heap, reserved uint64
		ok             bool
	}{{2, 1, false}, {3, 1, true}, {1, 1, false}, {1<<64 - 1, 1 << 63, false}, {1<<64 - 1, 1<<63 - 1, true},
		{0, 0, false}} {
		c := DefaultKernel
		c.InitialHeap, c.Reserved = tt.heap, tt.reserved
		if _, err := Boot(c); (err == nil) != tt.ok {
			t.Errorf("heap %d, reserved %d: %v", tt.heap, tt.reserved, err)
		}
	}
	c := DefaultKernel
	c.Capacity[Queues] = 0
	if _, err := Boot(c); err == nil {
		t.Error("a pool of nothing is made")
	}
}

// TestTasksPassThroughAllStates takes tasks through all five states.
// Table 29.1.
func TestTasksPassThroughAllStates(t *testing.T) {
	k := boot(t, DefaultKernel)
	var log []string
	sink := create(t, k, "server", 1, 2, func(m Message) []Post { log = append(log, string(m.Data)); return nil })
	src := create(t, k, "call manager", 2, 4, func(m Message) []Post {
		var out []Post
		for i := range 4 {
			out = append(out, Post{sink, fmt.Appendf(nil, "%s%d", m.Data, i)})
		}
		return out
	})
	if got := states(k); !slices.Equal(got, []string{"WAITING", "WAITING"}) {
		t.Error(got)
	}
	must(t, k.Change(sink, TaskSuspend))
	must(t, k.Post(src, []byte("a")))
	if got := states(k); !slices.Equal(got, []string{"SUSPENDED", "RUNNABLE"}) {
		t.Error(got)
	}
	_, err := k.Run(100)
	var stall *StallError
	if !errors.As(err, &stall) || !strings.Contains(err.Error(),
		"call manager waits for room in the queue of task server") {
		t.Error(err)
	}
	if got := states(k); !slices.Equal(got, []string{"SUSPENDED", "SEMWAIT"}) {
		t.Error(got)
	}
	if err := k.Change(src, TaskSuspend); err == nil {
		t.Error("a task in SEMWAIT is suspended")
	}
	if err := k.Terminate(sink); err == nil {
		t.Error("a task that another waits for ends")
	}
	must(t, k.Change(sink, TaskResume))
	n, err := k.Run(100)
	must(t, err)
	if want := []string{"a0", "a1", "a2", "a3"}; !slices.Equal(log, want) || n != 4 {
		t.Errorf("%d messages, %q", n, log)
	}
	must(t, k.Change(src, TaskBlock))
	must(t, k.Post(src, []byte("b")))
	if n, err := k.Run(100); n != 0 || err != nil || states(k)[1] != "BLOCKED" {
		t.Error(n, err, states(k))
	}
	must(t, k.Change(src, TaskUnblock))
	if n, err := k.Run(100); n != 5 || err != nil {
		t.Error(n, err)
	}
	must(t, k.Terminate(src))
	must(t, k.Terminate(sink))
	full(t, k.Pools()...)
	if k.Post(src, nil) == nil || k.Terminate(src) == nil || k.Post(nil, nil) == nil {
		t.Error("a task that has ended takes part")
	}
}

// TestPumpOrder checks that interrupts come before messages, priorities before order, and that a send preempts.
func TestPumpOrder(t *testing.T) {
	k := boot(t, DefaultKernel)
	var log []string
	note := func(name string) Handler {
		return func(m Message) []Post { log = append(log, fmt.Sprint(name, m.Interrupt, string(m.Data))); return nil }
	}
	high := create(t, k, "high", 9, 4, note("high "))
	same := create(t, k, "same", 5, 4, note("same "))
	low := create(t, k, "low", 1, 4, note("low "))
	mid := create(t, k, "mid", 5, 4, func(m Message) []Post {
		log = append(log, fmt.Sprint("mid ", m.Interrupt, string(m.Data)))
		return []Post{{low, m.Data}, {high, m.Data}, {same, m.Data}}
	})
	must(t, k.Post(mid, []byte("1")))
	must(t, k.Post(mid, []byte("2")))
	must(t, k.Interrupt(mid, []byte("i")))
	if len(log) != 0 {
		t.Errorf("logic ran in interrupt context: %q", log)
	}
	if n, err := k.Run(0); n != 0 || !errors.Is(err, ErrLimit) {
		t.Error(n, err)
	}
	if n, err := k.Run(1); n != 1 || !errors.Is(err, ErrLimit) {
		t.Error(n, err)
	}
	if _, err := k.Run(100); err != nil {
		t.Error(err)
	}
	want := []string{
		"mid truei", "high falsei", "same falsei", "mid false1", "high false1", "same false1", "mid false2",
		"high false2", "same false2",
		"low falsei", "low false1", "low false2",
	}
	if !slices.Equal(log, want) {
		t.Errorf("%q", log)
	}
	full(t, k.Pools()[NumObjects])
}

// TestPoolsRefuseBeyondTheirCapacity also checks that a refusal takes nothing, and that pools are full again
// afterwards.
func TestPoolsRefuseBeyondTheirCapacity(t *testing.T) {
	c := DefaultKernel
	c.Capacity[Semaphores], c.Interrupts = 10, 2
	k := boot(t, c)
	nop := func(Message) []Post { return nil }
	a, b := create(t, k, "a", 1, 2, nop), create(t, k, "b", 1, 3, nop)
	before := k.Pools()
	var over *CapacityError
	if _, err := k.Create(TaskConfig{
		Name:     "c",
		Priority: 1,
		Depth:    2,
		Width:    2,
		Handler:  nop,
	}); !errors.As(err, &over) || over.What != "semaphore" || over.Capacity != 10 {
		t.Error(err)
	}
	if !reflect.DeepEqual(before, k.Pools()) {
		t.Error("a refused task took objects")
	}
	must(t, k.Post(a, nil))
	must(t, k.Post(a, nil))
	if err := k.Post(a, nil); !errors.As(err, &over) || over.Capacity != 2 {
		t.Error(err)
	}
	var bound *ValueError
	if err := k.Post(b, make([]byte, 17)); !errors.As(err, &bound) || bound.Max != 16 {
		t.Error(err)
	}
	must(t, k.Interrupt(b, nil))
	must(t, k.Interrupt(b, nil))
	if err := k.Interrupt(b, nil); !errors.As(err, &over) || over.What != "interrupt record" {
		t.Error(err)
	}
	if err := k.Terminate(a); err == nil {
		t.Error("a task with messages ends")
	}
	if _, err := k.Run(10); err != nil {
		t.Error(err)
	}
	must(t, k.Terminate(a))
	must(t, k.Terminate(b))
	full(t, k.Pools()...)
	for _, c := range []TaskConfig{{Name: "d", Priority: 1, Depth: 0, Width: 1, Handler: nop}, {Name: "d", Priority: 1,
		Depth: 1, Width: 0, Handler: nop}, {Name: "d", Priority: 1, Depth: 1 << 16, Width: 1 << 16, Handler: nop},
		{Name: "d", Priority: 1, Depth: 1, Width: 1}} {
		if _, err := k.Create(c); err == nil {
			t.Errorf("%+v is made", c)
		}
	}
	full(t, k.Pools()...)
	p, err := NewPool("x", 2)
	must(t, err)
	if p.Release(0) == nil || p.Release(2) == nil || p.Release(-1) == nil {
		t.Error("what is not taken is released")
	}
}

// TestPumpConcurrent checks that interrupts and messages from many goroutines all arrive.
func TestPumpConcurrent(t *testing.T) {
	k := boot(t, DefaultKernel)
	got := 0
	end := create(t, k, "end", 1, 4, func(Message) []Post { got++; return nil })
	hub := create(t, k, "hub", 2, 4, func(m Message) []Post { return []Post{{end, m.Data}} })
	var wg sync.WaitGroup
	const senders, each = 8, 100
	for i := range senders {
		wg.Go(func() {
			for n := 0; n < each; {
				send := k.Post
				if (n+i)%3 == 0 {
					send = k.Interrupt
				}
				var over *CapacityError
				switch err := send(hub, []byte{byte(n)}); {
				case err == nil:
					n++
				case !errors.As(err, &over):
					t.Error(err)
					return
				default:
					runtime.Gosched() // full: let the pump run
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for posted := false; !posted; {
		select {
		case <-done:
			posted = true
		default:
		}
		if _, err := k.Run(1 << 20); err != nil {
			t.Fatal(err)
		}
	}
	if got != senders*each {
		t.Errorf("%d messages of %d", got, senders*each)
	}
	must(t, k.Terminate(hub))
	must(t, k.Terminate(end))
	full(t, k.Pools()...)
}

// Terminate ends a task that is idle and that no task waits for.
func (k *Kernel) Terminate(t *Task) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.live(t); err != nil {
		return err
	}
	if s := t.machine.State(); s != Waiting && s != Suspended || t.pending() || t.current {
		return fmt.Errorf("firmware: task %s is %s or has messages; terminate it when it is idle", t.Name, s)
	}
	for _, o := range k.tasks {
		if slices.ContainsFunc(o.outbox, func(p Post) bool { return p.To == t }) {
			return fmt.Errorf("firmware: task %s waits to send to task %s, which cannot end", o.Name, t.Name)
		}
	}
	k.tasks = slices.DeleteFunc(k.tasks, func(o *Task) bool { return o == t })
	t.gone = true
	return k.release(t)
}
