package firmware

import (
	"fmt"
	"slices"
	"sync"

	"github.com/zinc-compiler/zinc/internal/locked"
)

// NumPriorities is the number of levels; 0 is the most urgent. Levels 0 and 1
// are the system's, 2 to 7 the applications' (table 29.6).
const NumPriorities = 8

// Weights are the queue weights of the eight priorities, a fixed table of the
// firmware.
var Weights = [NumPriorities]int{1, 2, 3, 4, 5, 6, 30, 31}

// Request is a job that waits for the engine.
type Request struct {
	ID       uint64 // chosen by the caller; unique among incomplete requests
	Priority int
	Network  int // task queue, 1 to 255
}

// Scheduler orders requests: strictly by priority, in order of submission within one, without preemption. The credits
// of a priority, equal to its weight, limit its requests in flight; there is also a limit for all priorities together.
type Scheduler struct {
	mu        sync.Mutex
	depth     int
	flight    int
	waiting   [NumPriorities][]Request // of fixed capacity
	credit    [NumPriorities]int
	running   []Request
	known     map[uint64]bool
	throttled int
	refused   int
}

// NewScheduler returns a scheduler in which depth requests of each priority may wait and flight requests may be in
// flight.
func NewScheduler(depth, flight int) (*Scheduler, error) {
	if err := between("scheduler's depth", int64(depth), 1, maxPool); err != nil {
		return nil, err
	}
	if err := between("scheduler's requests in flight", int64(flight), 1, maxPool); err != nil {
		return nil, err
	}
	return &Scheduler{depth: depth, flight: flight, credit: Weights, known: map[uint64]bool{}}, nil
}

// Submit queues a request. It returns an error if the priority's queue is full.
func (s *Scheduler) Submit(r Request) error {
	if err := between("request's priority", int64(r.Priority), 0, NumPriorities-1); err != nil {
		return err
	}
	if err := between("request's network", int64(r.Network), 1, NumTaskQueues); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[r.ID] {
		return fmt.Errorf("firmware: request %d is not complete; it cannot be submitted again", r.ID)
	}
	if len(s.waiting[r.Priority]) == s.depth {
		s.refused++
		return &CapacityError{fmt.Sprintf("priority %d queue", r.Priority), s.depth}
	}
	s.known[r.ID] = true
	s.waiting[r.Priority] = append(s.waiting[r.Priority], r)
	return nil
}

// Next starts the first request of the most urgent priority that has a request and a credit. It returns false if
// nothing waits, or if the engine is saturated, which it counts; the caller calls Next again after a completion.
func (s *Scheduler) Next() (Request, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := false
	for p := range s.waiting {
		if len(s.waiting[p]) == 0 {
			continue
		}
		if len(s.running) == s.flight || s.credit[p] == 0 {
			held = true
			continue
		}
		r := s.waiting[p][0]
		s.waiting[p] = slices.Delete(s.waiting[p], 0, 1)
		s.credit[p]--
		s.running = append(s.running, r)
		return r, true
	}
	if held {
		s.throttled++
	}
	return Request{}, false
}

// Complete ends a request in flight and returns its credit.
func (s *Scheduler) Complete(id uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.running, func(r Request) bool { return r.ID == id })
	if i < 0 {
		return fmt.Errorf("firmware: request %d is not in flight", id)
	}
	s.credit[s.running[i].Priority]++
	s.running = slices.Delete(s.running, i, i+1)
	delete(s.known, id)
	return nil
}

// Requeue returns a request in flight to the front of its priority, with its credit.
func (s *Scheduler) Requeue(id uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.running, func(r Request) bool { return r.ID == id })
	if i < 0 {
		return fmt.Errorf("firmware: request %d is not in flight", id)
	}
	r := s.running[i]
	s.credit[r.Priority]++
	s.running = slices.Delete(s.running, i, i+1)
	s.waiting[r.Priority] = slices.Insert(s.waiting[r.Priority], 0, r)
	return nil
}

// Credits returns how many further requests of a priority may start.
func (s *Scheduler) Credits(priority int) int { return locked.Get(&s.mu, &s.credit[priority]) }

// SchedulerReport is the state of a scheduler.
type SchedulerReport struct {
	Waiting   [NumPriorities]Report // waiting requests
	Credits   [NumPriorities]Report
	Flight    Report
	Throttled int // calls of Next that held a request back
	Refused   int // submissions to a full queue
}

// Report returns capacities and counts.
func (s *Scheduler) Report() SchedulerReport {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := SchedulerReport{
		Flight:    Report{"in flight", s.flight, s.flight - len(s.running)},
		Throttled: s.throttled,
		Refused:   s.refused,
	}
	for p := range s.waiting {
		name := fmt.Sprintf("priority %d", p)
		out.Waiting[p] = Report{name, s.depth, s.depth - len(s.waiting[p])}
		out.Credits[p] = Report{name, Weights[p], s.credit[p]}
	}
	return out
}
