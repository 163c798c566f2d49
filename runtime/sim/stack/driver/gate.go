package driver

import (
	"slices"
	"sync"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
)

// gateDepth is the number of actions of a priority that may wait at the gate, modelled.
const gateDepth = 4096

// controlPriority is the priority of actions other than requests (bring-up, loading, mapping): in the system's band, so
// that they never wait for applications, below the most urgent requests (modelled).
const controlPriority = 1

// action is work that runs with the command gate held.
type action struct {
	priority int
	network  int // task queue, 1 to 255
	run      func(*action)
	// finish is called after run if nobody waits for the action.
	finish func(*action)
	result Return
	again  bool  // set by run: the action goes back to the front of its priority
	call   *call // of a request

	id uint64
	// wake, if somebody waits for the action, receives false when it is done, or true when its owner must work through
	// the queue.
	wake chan bool
	done bool
}

// gate is the command gate. It runs one action at a time, in the order of the scheduler. The goroutine that finds it
// free works through the queue until its own action is done, then passes the gate to another waiting goroutine; actions
// that nobody waits for are run before the gate is freed.
type gate struct {
	sched *firmware.Scheduler
	// note, if not nil, is called with the lock held when an action enters and when it starts.
	note func(start bool, a *action)

	mu      sync.Mutex
	busy    bool
	last    uint64
	pending map[uint64]*action
	waiters []*action
	calls   [firmware.NumPriorities]int // requests that wait, by priority
}

func newGate() (*gate, error) {
	s, err := firmware.NewScheduler(gateDepth, 1)
	if err != nil {
		return nil, err
	}
	return &gate{sched: s, pending: map[uint64]*action{}}, nil
}

// idle reports whether nothing waits behind the running action.
func (g *gate) idle() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.pending) == 0
}

// before reports whether a request that is more urgent than a priority waits.
func (g *gate) before(priority int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, n := range g.calls[:priority] {
		if n > 0 {
			return true
		}
	}
	return false
}

// count adds n to the requests that wait if the action is one. The lock is held.
func (g *gate) count(a *action, n int) {
	if a.call != nil {
		g.calls[a.priority] += n
	}
}

// enter queues an action. It returns holds if the caller now has the gate.
func (g *gate) enter(a *action) (holds bool, r Return) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last++
	a.id, a.done = g.last, false
	if err := g.sched.Submit(firmware.Request{ID: a.id, Priority: a.priority, Network: max(a.network, 1)}); err != nil {
		return false, NoResources
	}
	g.pending[a.id] = a
	g.count(a, 1)
	if g.note != nil {
		g.note(false, a)
	}
	if a.finish == nil && g.busy {
		if a.wake == nil {
			a.wake = make(chan bool, 1)
		}
		g.waiters = append(g.waiters, a)
	}
	holds = !g.busy
	g.busy = true
	return holds, Success
}

// do runs an action and returns when it has run.
func (g *gate) do(a *action) Return {
	a.finish = nil
	holds, r := g.enter(a)
	if r != Success {
		return r
	}
	if holds || <-a.wake {
		g.drain(a)
	}
	return a.result
}

// post queues an action without waiting; its finish is called when it has run.
func (g *gate) post(a *action) Return {
	holds, r := g.enter(a)
	if r == Success && holds {
		g.drain(nil)
	}
	return r
}

// back puts an action that has started back at the front of its priority. If somebody waits for it, own is that
// owner's action or not.
func (g *gate) back(a, own *action) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = g.sched.Requeue(a.id) // never fails: Next has put it in flight
	g.pending[a.id] = a
	g.count(a, 1)
	if a.finish == nil && a != own {
		g.waiters = append(g.waiters, a)
	}
}

// drain runs waiting actions, with the gate held, until own is done, then frees the gate or passes it on.
func (g *gate) drain(own *action) {
	for {
		g.mu.Lock()
		if own == nil || own.done {
			if len(g.pending) == 0 {
				g.busy = false
				g.mu.Unlock()
				return
			}
			if len(g.waiters) > 0 {
				w := g.waiters[0]
				g.mu.Unlock()
				w.wake <- true
				return
			}
		}
		req, ok := g.sched.Next()
		if !ok { // impossible: pending and the scheduler hold the same actions
			g.busy = false
			g.mu.Unlock()
			return
		}
		a := g.pending[req.ID]
		delete(g.pending, req.ID)
		g.count(a, -1)
		if i := slices.Index(g.waiters, a); i >= 0 {
			g.waiters = slices.Delete(g.waiters, i, i+1)
		}
		if g.note != nil {
			g.note(true, a)
		}
		g.mu.Unlock()
		a.again = false
		a.run(a)
		if a.again {
			g.back(a, own)
			continue
		}
		_ = g.sched.Complete(a.id) // never fails: Next has put it in flight
		switch {
		case a == own:
			a.done = true
		case a.finish != nil:
			a.finish(a)
		default:
			a.wake <- false
		}
	}
}
