package e5rt_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/e5rt"
)

// streams returns n streams, each with an operation of its own encoded.
func streams(t *testing.T, d *bed, n int) (ss []*e5rt.ExecutionStream, outs []e5rt.View) {
	t.Helper()
	for range n {
		op, _, views := d.operation(t)
		s := got[*e5rt.ExecutionStream](t)(d.rt.NewExecutionStream())
		check(t, s.EncodeOperation(op))
		ss, outs = append(ss, s), append(outs, views["state_out"])
	}
	return ss, outs
}

// Streams that are submitted together are serialised in the order of submission, and
// each completion fires.
func TestSubmitSerialised(t *testing.T) {
	ctx := context.Background()
	hold := make(chan struct{})
	d := newBed(t, newRuntime(t, e5rt.Options{Engine: &fakeEngine{run: func(string, map[string][]byte) error {
		<-hold
		return nil
	}}}), "testdata/accumulator.mil")
	ss, _ := streams(t, d, 4)
	var subs []*e5rt.Submission
	for i, s := range ss {
		subs = append(subs, got[*e5rt.Submission](t)(s.SubmitAsync(ctx, time.Second, func(err error) {
			if err != nil {
				t.Error(err)
			}
			for k := range i {
				select {
				case <-subs[k].Fired():
				default:
					t.Errorf("completion %d fired before completion %d", i, k)
				}
			}
		})))
	}
	// All are in flight now: none of their objects can be changed.
	for what, err := range map[string]error{
		"reset":   ss[3].Reset(),
		"execute": ss[3].ExecuteSync(ctx),
		"encode":  ss[3].EncodeOperation(d.op),
	} {
		if !errors.Is(err, e5rt.ErrInFlight) {
			t.Errorf("%s of a stream in flight: %v", what, err)
		}
	}
	select {
	case <-subs[0].Fired():
		t.Error("a completion fired before the engine was done")
	default:
	}
	// A later caller that gives up leaves no trace in the queue.
	check(t, d.stream.EncodeOperation(d.op))
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := d.stream.ExecuteSync(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("a place that was given up: %v", err)
	}
	go func() {
		for range 5 {
			hold <- struct{}{}
		}
	}()
	check(t, d.stream.ExecuteSync(ctx)) // after the four
	for i, b := range subs {
		check(t, b.Wait(ctx))
		check(t, b.Wait(ctx)) // again
		check(t, ss[i].Reset())
	}
}

// The timeout is in virtual time from the submission, and only limits the wait: the results are there anyway.
func TestSubmitTimeout(t *testing.T) {
	ctx := context.Background()
	own := newBed(t, newRuntime(t, e5rt.Options{}), "testdata/accumulator.mil").own
	for _, c := range []struct {
		timeout time.Duration
		late    bool
	}{{own - 1, true}, {own, false}, {0, false}} {
		d := newBed(t, newRuntime(t, e5rt.Options{}), "testdata/accumulator.mil")
		check(t, d.stream.EncodeOperation(d.op))
		b := got[*e5rt.Submission](t)(d.stream.SubmitAsync(ctx, c.timeout, nil))
		err := b.Wait(ctx)
		if late := errors.Is(err, e5rt.ErrTimeout); late != c.late || !late && err != nil {
			t.Errorf("timeout of %v: %v", c.timeout, err)
		}
		if c.late && !strings.Contains(err.Error(), "stream 1: its completion came 1ns after the timeout") {
			t.Errorf("the error is %q", err)
		}
		if y := d.views["state_out"].Tensor().Floats32()[0]; y != 1 {
			t.Errorf("timeout of %v: the output holds %g", c.timeout, y)
		}
		check(t, d.stream.Reset())
		d.once(t)
	}
}

// TestLowLatencyPathFinishesOverlappedStreams submits two streams at a time on the event path on which both complete.
func TestLowLatencyPathFinishesOverlappedStreams(t *testing.T) {
	d := newBed(t, newRuntime(t, e5rt.Options{OverlapStreams: true, LowLatency: true}), "testdata/accumulator.mil")
	ss, _ := streams(t, d, 2)
	var waits []*e5rt.Submission
	for _, s := range ss {
		waits = append(waits, got[*e5rt.Submission](t)(s.SubmitAsync(context.Background(), 500*time.Microsecond, nil)))
	}
	for i, w := range waits {
		check(t, w.Wait(context.Background()))
		check(t, ss[i].Reset())
	}
}

// The unfinished path of the M1: of two overlapped streams the first one's completion
// fires; the second one's does not, though its work is done, and its waiter blocks
// until the timeout of its submission breaks the wait.
func TestOverlapUnfinished(t *testing.T) {
	ctx := context.Background()
	d := newBed(t, newRuntime(t, e5rt.Options{OverlapStreams: true}), "testdata/accumulator.mil")
	const timeout = 500 * time.Microsecond
	for range 2 { // the break ends with the wait
		ss, outs := streams(t, d, 2)
		start := d.rt.Now()
		first := got[*e5rt.Submission](t)(ss[0].SubmitAsync(ctx, timeout, nil))
		fired := make(chan error, 1)
		second := got[*e5rt.Submission](t)(ss[1].SubmitAsync(ctx, timeout, func(err error) { fired <- err }))
		check(t, first.Wait(ctx))

		select {
		case <-second.Fired():
			t.Fatal("the second completion fired")
		default:
		}
		if err := ss[1].Reset(); !errors.Is(err, e5rt.ErrInFlight) {
			t.Errorf("reset of the stream that waits: %v", err)
		}
		err := second.Wait(ctx)
		if !errors.Is(err, e5rt.ErrTimeout) || !strings.Contains(err.Error(), "stream") ||
			!strings.Contains(err.Error(), "has not fired") {
			t.Errorf("the second wait ends with %v", err)
		}
		if e := <-fired; e != err {
			t.Errorf("the completion function got %v", e)
		}
		// The second submission is made at the time of the first, or after its dispatch.
		if took := d.rt.Now() - start; took != timeout && took != timeout+d.own {
			t.Errorf("the wait ended %v after the first submission, want %v behind the second", took, timeout)
		}
		for i, v := range outs {
			if v.Tensor().Floats32()[0] != 1 {
				t.Errorf("stream %d has not been run", i)
			}
			check(t, ss[i].Reset())
		}
	}

	// Without a timeout the waiter blocks for good.
	ss, _ := streams(t, d, 3)
	first := got[*e5rt.Submission](t)(ss[0].SubmitAsync(ctx, 0, nil))
	second := got[*e5rt.Submission](t)(ss[1].SubmitAsync(ctx, 0, nil))
	short, cancel := context.WithCancel(ctx)
	go func() {
		check(t, first.Wait(ctx))
		cancel()
	}()
	if err := second.Wait(short); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "has not fired") {
		t.Errorf("a wait without timeout ends with %v", err)
	}
	if err := ss[1].Reset(); !errors.Is(err, e5rt.ErrInFlight) {
		t.Errorf("reset of a stream that waits for good: %v", err)
	}

	// The synchronous call blocks in the same way while another completion is outstanding, and works if none is.
	check(t, d.stream.EncodeOperation(d.op))
	check(t, d.stream.ExecuteSync(ctx))
	check(t, d.stream.Reset())
	check(t, ss[0].Reset())
	op, _, _ := d.operation(t)
	check(t, ss[0].EncodeOperation(op))
	first = got[*e5rt.Submission](t)(ss[0].SubmitAsync(ctx, 0, nil))
	gone, cancel := context.WithCancel(ctx)
	time.AfterFunc(0, cancel)
	if err := ss[2].ExecuteSync(gone); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(),
		"has not fired") {
		t.Errorf("the synchronous call beside another stream ends with %v", err)
	}
	check(t, first.Wait(ctx))
}

// Many goroutines, each with its own streams, use one runtime.
func TestConcurrentStreams(t *testing.T) {
	ctx := context.Background()
	d := newBed(t, newRuntime(t, e5rt.Options{}), "testdata/accumulator.mil")
	const workers, steps = 8, 20
	var wg sync.WaitGroup
	for w := range workers {
		op, buffers, views := d.operation(t)
		s := got[*e5rt.ExecutionStream](t)(d.rt.NewExecutionStream())
		check(t, got[*e5rt.IOPort](t)(op.RetainInputPort("state_in")).BindBufferObject(buffers["state_out"]))
		wg.Go(func() {
			for step := range steps {
				err := s.EncodeOperation(op)
				if err == nil && (w+step)%2 == 0 {
					err = s.ExecuteSync(ctx)
				} else if err == nil {
					var b *e5rt.Submission
					if b, err = s.SubmitAsync(ctx, time.Second, func(error) {}); err == nil {
						err = b.Wait(ctx)
					}
				}
				if err = errors.Join(err, s.Reset()); err != nil {
					t.Error(err)
					return
				}
				if y := views["state_out"].Tensor().Floats32()[0]; y != float32(step+1) {
					t.Errorf("worker %d, step %d: %g", w, step, y)
				}
			}
		})
	}
	wg.Wait()
	if want := workers * steps * d.own; d.rt.Now() != want {
		t.Errorf("%v of virtual time went by, want %v", d.rt.Now(), want)
	}
}

// What overlapped streams compute is right all the same.
func TestOverlapComputes(t *testing.T) {
	ctx := context.Background()
	d := newBed(t, newRuntime(t, e5rt.Options{OverlapStreams: true}), "testdata/accumulator.mil")
	ss, outs := streams(t, d, 6)
	var subs []*e5rt.Submission
	for _, s := range ss {
		subs = append(subs, got[*e5rt.Submission](t)(s.SubmitAsync(ctx, time.Millisecond, nil)))
	}
	failed := ""
	for i := len(subs) - 1; i >= 0; i-- {
		if err := subs[i].Wait(ctx); err != nil {
			failed = fmt.Sprint(i, failed)
		}
		if outs[i].Tensor().Floats32()[0] != 1 {
			t.Errorf("stream %d gives %v", i, outs[i].Tensor().Floats32())
		}
	}
	if failed != "12345" {
		t.Errorf("the waits %s were broken, want 12345", failed)
	}
}
