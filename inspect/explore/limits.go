package explore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
	"time"
)

// Limits bound what requests may take.
type Limits struct {
	Body     int64         // bytes of a request's body
	Time     time.Duration // of one compilation, and of one run on top of it
	Heap     uint64        // bytes of the process's live heap; compilations stop above it
	Buffers  uint64        // bytes of operands, surfaces, scratch and constants of a model that runs
	Jobs     int           // compilations and runs at a time
	Waiting  int           // compilations and runs that wait; more are refused
	Requests int           // requests at a time
	Views    int           // compilations that are kept
	Kept     int64         // bytes of them, in memory and in temporary files
}

// Default are the limits of `zinc explore`.
var Default = Limits{
	Body: 4 << 20, Time: time.Minute, Heap: 3 << 30, Buffers: 1 << 30, Jobs: 2, Waiting: 16, Requests: 64, Views: 16,
	Kept: 2 << 30,
}

// limitError reports that a request has exceeded a limit.
type limitError struct {
	what  string // "compiling", "running"
	limit string
	retry bool // the same request may pass later
}

func (e *limitError) Error() string { return e.what + " stopped: " + e.limit }

// gate bounds the running and the waiting jobs.
type gate struct {
	slots   chan struct{}
	waiting chan struct{}
}

func newGate(jobs, waiting int) *gate {
	return &gate{make(chan struct{}, jobs), make(chan struct{}, jobs+waiting)}
}

// enter waits for a slot; leave returns it.
func (g *gate) enter(ctx context.Context, what string) (leave func(), err error) {
	select {
	case g.waiting <- struct{}{}:
	default:
		return nil, &limitError{what, fmt.Sprintf("%d jobs are already running or waiting; try again later",
			cap(g.waiting)),
			true}
	}
	select {
	case g.slots <- struct{}{}:
		return func() { <-g.slots; <-g.waiting }, nil
	case <-ctx.Done():
		<-g.waiting
		return nil, ctx.Err()
	}
}

var errHeap = errors.New("heap")

// heapPeriod is the interval between checks of the heap during a job.
const heapPeriod = 20 * time.Millisecond

// guard returns a context that ends at the limits of time and heap, and a function that converts the error of the job.
func (l *Limits) guard(ctx context.Context, what string) (_ context.Context, stop func(), explain func(error) error) {
	begin := time.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(l.Time, func() { cancel(context.DeadlineExceeded) })
	done := make(chan struct{})
	go func() {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		tick := time.NewTicker(heapPeriod)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				metrics.Read(sample)
				if sample[0].Value.Uint64() <= l.Heap {
					continue
				}
				runtime.GC() // what is dead already counts too
				if metrics.Read(sample); sample[0].Value.Uint64() > l.Heap {
					cancel(errHeap)
					return
				}
			}
		}
	}()
	stop = func() { timer.Stop(); close(done); cancel(nil) }
	explain = func(err error) error {
		switch cause := context.Cause(ctx); {
		case errors.Is(cause, context.DeadlineExceeded), time.Since(begin) > l.Time: // the timer may come late
			return &limitError{what, fmt.Sprintf("it took longer than the limit of %v", l.Time), false}
		case errors.Is(cause, errHeap):
			if err != nil {
				return &limitError{what, fmt.Sprintf("the heap exceeded the limit of %d bytes", l.Heap), false}
			}
		}
		return err
	}
	return ctx, stop, explain
}
