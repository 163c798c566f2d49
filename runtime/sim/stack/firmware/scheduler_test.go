package firmware

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// TestSchedulerProperties: levels, weights, no preemption, the identifiers and the
// deadline.
// Table 29.6.
func TestSchedulerProperties(t *testing.T) {
	if NumPriorities != 8 || Weights != [8]int{1, 2, 3, 4, 5, 6, 30, 31} {
		t.Error(NumPriorities, Weights)
	}
	if SoftwareDeadline != 2*time.Second {
		t.Error(SoftwareDeadline)
	}
	s, err := NewScheduler(4, 1)
	must(t, err)
	for i, p := range []int{7, 3, 7, 0, 3, 2} {
		must(t, s.Submit(Request{ID: uint64(i), Priority: p, Network: 1}))
	}
	var order []uint64
	for range 6 {
		r, ok := s.Next()
		if !ok {
			t.Fatal("nothing runs")
		}
		if order = append(order, r.ID); r.ID == 3 {
			// A more urgent request does not preempt the one in flight.
			must(t, s.Submit(Request{ID: 9, Priority: 0, Network: 255}))
		}
		if _, ok := s.Next(); ok {
			t.Error("two in flight of one")
		}
		must(t, s.Complete(r.ID))
	}
	if want := []uint64{3, 9, 5, 1, 4, 0}; !slices.Equal(order, want) {
		t.Errorf("order %d, want %d", order, want)
	}
	for _, r := range []Request{{Priority: 8, Network: 1}, {Priority: -1, Network: 1}, {Network: 0}, {Network: 256},
		{ID: 2, Priority: 1, Network: 1}} {
		if s.Submit(r) == nil {
			t.Errorf("%+v is taken", r)
		}
	}
	if s.Complete(0) == nil || s.Complete(77) == nil {
		t.Error("what is not in flight completes")
	}
}

// TestCreditsLimitRequestsInFlight checks that a priority has at most as many requests in flight as its weight, and
// that less urgent ones continue meanwhile.
// Table 29.6.
func TestCreditsLimitRequestsInFlight(t *testing.T) {
	const depth = 40
	s, err := NewScheduler(depth, 1000)
	must(t, err)
	id := uint64(0)
	for p := range NumPriorities {
		for range depth {
			must(t, s.Submit(Request{ID: id, Priority: p, Network: 1}))
			id++
		}
		var over *CapacityError
		if err := s.Submit(Request{ID: 1 << 20, Priority: p, Network: 1}); !errors.As(err, &over) ||
			over.Capacity != depth {
			t.Error(err)
		}
	}
	var ran [NumPriorities]int
	var flight []Request
	last := 0
	for {
		r, ok := s.Next()
		if !ok {
			break
		}
		if r.Priority < last {
			t.Errorf("priority %d behind %d", r.Priority, last)
		}
		last = r.Priority
		ran[last]++
		flight = append(flight, r)
	}
	if ran != Weights {
		t.Errorf("in flight %d, want the weights", ran)
	}
	if rep := s.Report(); rep.Throttled != 1 || rep.Refused != NumPriorities {
		t.Errorf("throttled %d, refused %d", rep.Throttled, rep.Refused)
	}
	// A completion returns the credit to its own priority.
	must(t, s.Complete(flight[1].ID))
	if r, ok := s.Next(); !ok || r.Priority != flight[1].Priority {
		t.Error(r, ok)
	} else {
		flight[1] = r
	}
	for len(flight) > 0 {
		must(t, s.Complete(flight[0].ID))
		flight = flight[1:]
		if r, ok := s.Next(); ok {
			flight = append(flight, r)
		}
	}
	rep := s.Report()
	full(t, rep.Waiting[:]...)
	full(t, rep.Credits[:]...)
	full(t, rep.Flight)
}

// TestSchedulerConcurrent has many clients: every request is scheduled once.
func TestSchedulerConcurrent(t *testing.T) {
	s, err := NewScheduler(64, 3)
	must(t, err)
	const clients, each = 8, 50
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for i := range each {
				if err := s.Submit(Request{ID: uint64(c*each + i), Priority: c, Network: c + 1}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	seen := map[uint64]bool{}
	for len(seen) < clients*each {
		if r, ok := s.Next(); ok {
			if seen[r.ID] {
				t.Fatal("twice", r)
			}
			seen[r.ID] = true
			must(t, s.Complete(r.ID))
		}
	}
	wg.Wait()
	rep := s.Report()
	full(t, rep.Waiting[:]...)
	full(t, rep.Credits[:]...)
}

// TestProgramSlotsAreLimited checks 144 program slots, 288 processes, and the results of calls to them.
func TestProgramSlotsAreLimited(t *testing.T) {
	p := NewPrograms()
	for i := range 144 {
		if got, err := p.Load(); err != nil || got != i {
			t.Fatal(got, err)
		}
	}
	var over *CapacityError
	if _, err := p.Load(); !errors.As(err, &over) || over.Capacity != 144 {
		t.Error(err)
	}
	for i := range 288 {
		if got, err := p.Attach(i % 144); err != nil || got != i {
			t.Fatal(got, err)
		}
	}
	if _, err := p.Attach(0); !errors.As(err, &over) || over.Capacity != 288 {
		t.Error(err)
	}
	if p.Running(3, 3) {
		t.Error("a process runs before it is started")
	}
	must(t, p.Fire(3, ProcessStart))
	if !p.Running(3, 3) || p.Running(4, 3) {
		t.Error("a started process does not run, or runs for another program")
	}
	if p.Unload(3) == nil || p.Detach(3) == nil || p.Fire(3, ProcessStart) == nil || p.Fire(288, ProcessStop) == nil {
		t.Error("a running process is let go")
	}
	must(t, p.Fire(3, ProcessStop))
	for i := range 288 {
		must(t, p.Detach(i))
	}
	for i := range 144 {
		must(t, p.Unload(i))
	}
	if p.Unload(0) == nil || p.Detach(0) == nil {
		t.Error("freed twice")
	}
	r := p.Report()
	full(t, r[:]...)
}

// TestTaskQueueIdentifiers: 255 task queues, identifier 0 reserved.
// Table 29.6.
func TestTaskQueueIdentifiers(t *testing.T) {
	q := NewTaskQueues()
	for i := range 255 {
		if n, err := q.Open(); err != nil || n != i+1 {
			t.Fatal(n, err)
		}
	}
	if n, err := q.Open(); n != 0 || err == nil {
		t.Error(n, err)
	}
	for _, n := range []int{0, 256, -1} {
		if q.Close(n) == nil {
			t.Errorf("queue %d is closed", n)
		}
	}
	must(t, q.Close(7))
	if q.Close(7) == nil {
		t.Error("closed twice")
	}
	if n, err := q.Open(); n != 7 || err != nil {
		t.Error(n, err)
	}
	for i := range 255 {
		must(t, q.Close(i+1))
	}
	full(t, q.Report())
}

// aperture is a register aperture that logs.
type aperture struct {
	vacant int // the read that finds a vacancy; 0 never
	reads  int
	log    []string
}

func (a *aperture) Read(addr uint32) uint32 {
	a.reads++
	if a.reads == a.vacant {
		a.log = append(a.log, fmt.Sprintf("read %#x", addr))
		return 1
	}
	return 0
}

func (a *aperture) Write(addr, v uint32) { a.log = append(a.log, fmt.Sprintf("%#x=%#x", addr, v)) }

// TestSubmitWritesTheQueueRegisters checks the registers of a queue, their order in a submission, and what is refused
// before anything is written.
// Table 29.7.
func TestSubmitWritesTheQueueRegisters(t *testing.T) {
	for _, r := range []struct {
		name             string
		register, offset uint32
	}{
		{"submit doorbell", RegDoorbell, 0x24000}, {"size and count", RegSize, 0x24004},
		{"priority and network identifier", RegPriority, 0x24008}, {"queue enable", RegEnable, 0x25000},
		{"queue status and vacancy", RegStatus, 0x2500c}, {"buffer-access-register file", RegBars, 0x250a0},
	} {
		if r.register != r.offset {
			t.Errorf("%s at %#x, want %#x", r.name, r.register, r.offset)
		}
	}
	if QueueStride != 0x148 {
		t.Errorf("stride %#x", QueueStride)
	}
	a := &aperture{vacant: 3}
	s := Submission{Queue: 2, Priority: 5, Network: 255, Words: 0x40, Count: 3}
	for i := range s.Block {
		s.Block[i] = uint32(i)
	}
	must(t, Submit(a, s))
	log := []string{"read 0x2529c", "0x25290=0x1"}
	for i := range 35 {
		log = append(log, fmt.Sprintf("%#x=%#x", 0x25330+4*i, i))
	}
	log = append(log, "0x24294=0x400003", "0x24298=0x500ff", "0x24290=0x1")
	if !slices.Equal(a.log, log) {
		t.Errorf("%q", a.log)
	}
	for _, s := range []Submission{{Queue: 8, Network: 1}, {Queue: -1, Network: 1}, {Network: 0}, {Network: 256},
		{Priority: 8, Network: 1}, {Queue: 7, Network: 1}} {
		a := &aperture{}
		if Submit(a, s) == nil || len(a.log) > 0 {
			t.Errorf("%d: %q", s.Queue, a.log)
		}
	}
}

// jammed is a queue that becomes idle at a time, or when it is aborted.
type jammed struct {
	idle, clears bool
	aborts       int
}

func (j *jammed) Idle() bool { return j.idle }
func (j *jammed) Abort()     { j.aborts++; j.idle = j.clears }

// TestSoftwareDeadlineAbortsAQueue: the queue-idle wait, the abort, and the abort that does
// not clear.
// Table 29.6.
func TestSoftwareDeadlineAbortsAQueue(t *testing.T) {
	for _, tt := range []struct {
		name   string
		queue  jammed
		idleAt time.Duration // when the queue is idle by itself, 0 never
		want   Outcome
		at     time.Duration
		aborts int
	}{
		{name: "idle", queue: jammed{idle: true}, idleAt: 0, want: Quiesced, at: 0, aborts: 0},
		{name: "idle in time", queue: jammed{}, idleAt: 1999 * time.Millisecond, want: Quiesced,
			at: 2 * time.Second, aborts: 0},
		{name: "aborted", queue: jammed{clears: true}, idleAt: 0, want: Aborted, at: 2 * time.Second, aborts: 1},
		{name: "abort clears late", queue: jammed{}, idleAt: 3 * time.Second, want: Aborted, at: 4 * time.Second,
			aborts: 1},
		{name: "stuck", queue: jammed{}, idleAt: 0, want: Stuck, at: 4 * time.Second, aborts: 1},
	} {
		c, err := NewClock(4)
		must(t, err)
		q := tt.queue
		got, at, calls := Outcome(-1), time.Duration(-1), 0
		must(t, Quiesce(c, &q, func(o Outcome) { got, at = o, c.Now(); calls++ }))
		if tt.idleAt > 0 {
			_, err := c.After(tt.idleAt, func() { q.idle = true })
			must(t, err)
		}
		must(t, c.Advance(time.Minute))
		if got != tt.want || at != tt.at || q.aborts != tt.aborts || calls != 1 {
			t.Errorf("%s: %v at %v, %d aborts, %d calls", tt.name, got, at, q.aborts, calls)
		}
		full(t, c.Timers())
	}
}

func TestClock(t *testing.T) {
	c, err := NewClock(3)
	must(t, err)
	var log []string
	after := func(d time.Duration, name string) *Timer {
		x, err := c.After(d, func() { log = append(log, fmt.Sprint(name, c.Now())) })
		must(t, err)
		return x
	}
	after(2, "b")
	gone := after(1, "a")
	after(2, "c")
	var over *CapacityError
	if _, err := c.After(1, func() {}); !errors.As(err, &over) || over.Capacity != 3 {
		t.Error(err)
	}
	if !c.Stop(gone) || c.Stop(gone) {
		t.Error("stop")
	}
	_, err = c.After(1, func() {
		log = append(log, fmt.Sprint("d", c.Now()))
		after(1, "e")
		if c.Advance(1) == nil {
			t.Error("a call advances the clock")
		}
	})
	must(t, err)
	must(t, c.Advance(1))
	must(t, c.Advance(9))
	if want := []string{"d1ns", "b2ns", "c2ns", "e2ns"}; !slices.Equal(log, want) || c.Now() != 10 {
		t.Errorf("%q at %v", log, c.Now())
	}
	if _, err := c.After(0, nil); err == nil || c.Advance(-1) == nil || c.Advance(1<<63-1) == nil {
		t.Error("time that is none")
	}
	full(t, c.Timers())
}
