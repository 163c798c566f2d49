package e5rt

import (
	"context"
	"fmt"
	"time"
)

// Submission is a stream in flight.
type Submission struct {
	s        *ExecutionStream
	deadline time.Duration // virtual; 0: none
	lost     bool          // its completion does not fire
	done     func(error)
	finished chan struct{} // the operations have been run
	fired    chan struct{} // err is final
	err      error
	breaking chan struct{} // holds one token, for the goroutine that breaks the wait
}

// SubmitAsync is e5rt_execution_stream_submit_async: it returns at once, and the operations run after the streams
// submitted before. The completion function, which may be nil, is called once from another goroutine when the
// operations have been run, or from a Wait that the timeout has broken. By then the stream may be reset, encoded and
// submitted again.
//
// The timeout is virtual time from the call; 0 means none. It breaks the wait, not the work: a completion after the
// timeout is an error of kind ErrTimeout, although the operations were run and the buffers hold their results.
func (s *ExecutionStream) SubmitAsync(ctx context.Context, timeout time.Duration, completion func(error)) (*Submission,
	error) {
	if timeout < 0 {
		return nil, s.rt.refuse(callSubmit, s, ErrArgument, fmt.Sprintf("the timeout is %v, want >= 0", timeout),
			"pass 0 for no timeout")
	}
	s.rt.mu.Lock()
	request, lost, err := s.start(callSubmit)
	s.rt.mu.Unlock()
	if err != nil {
		return nil, s.rt.called(callSubmit, s, err)
	}
	b := &Submission{
		s:        s,
		lost:     lost,
		done:     completion,
		finished: make(chan struct{}),
		fired:    make(chan struct{}),
		breaking: make(chan struct{}, 1),
	}
	b.breaking <- struct{}{}
	if timeout > 0 {
		b.deadline = s.rt.clock.Now() + timeout
	}
	granted := (chan struct{})(nil)
	if !s.rt.o.OverlapStreams {
		granted = s.rt.order.join() // here, so that the order is the order of submissions
	}
	go b.run(ctx, granted, request)
	return b, nil
}

// run runs the stream when the lock is granted.
func (b *Submission) run(ctx context.Context, granted chan struct{}, request uint64) {
	s := b.s
	if granted != nil {
		<-granted
	}
	err := s.dispatch(ctx, callSubmit, request)
	if err == nil && !b.lost && b.deadline > 0 {
		if late := s.rt.clock.Now() - b.deadline; late > 0 {
			err = b.timedOut(fmt.Sprintf("its completion came %v after the timeout", late))
		}
	}
	if !b.lost {
		b.publish(err)
	}
	s.ran() // before the completion function, which may want the lock
	if !b.lost {
		b.complete()
	}
	close(b.finished)
}

// publish publishes the result.
func (b *Submission) publish(err error) {
	b.err = err
	b.s.ended(executed)
	_ = b.s.rt.called(callCompletion, b.s, err)
	close(b.fired)
}

// complete calls the completion function.
func (b *Submission) complete() {
	if b.done != nil {
		b.done(b.err)
		b.s.collected()
	}
}

func (b *Submission) timedOut(rule string) error {
	return refused(callSubmit, b.s, ErrTimeout, rule, "")
}

// Wait returns the error of the completion when it fires. If it does not fire (Options.OverlapStreams), Wait advances
// virtual time to the timeout and returns an error of kind ErrTimeout; without a timeout it blocks until ctx ends. If
// ctx ends the wait, the stream stays in flight.
func (b *Submission) Wait(ctx context.Context) error {
	if b.lost && b.deadline > 0 {
		select {
		case <-b.finished:
		case <-ctx.Done():
			return b.gaveUp(ctx.Err())
		}
		select {
		case <-b.breaking:
			err := b.s.rt.wait(ctx, b.deadline)
			if err != nil && err == ctx.Err() {
				b.breaking <- struct{}{}
				return b.gaveUp(err)
			}
			if err == nil {
				err = b.timedOut(lostRule)
			}
			b.publish(err)
			b.complete()
		default: // another Wait breaks it
		}
	}
	select {
	case <-b.fired:
		b.s.collected()
		return b.err
	case <-ctx.Done():
		return b.gaveUp(ctx.Err())
	}
}

func (b *Submission) gaveUp(err error) error {
	if b.lost {
		return refused(callSubmit, b.s, err, lostRule, lostDo)
	}
	return refused(callSubmit, b.s, err, "ctx ended the wait", "wait again")
}
