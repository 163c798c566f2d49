package e5rt

import (
	"context"
	"fmt"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// ExecutionStream holds encoded operations and runs them in order, one at a time.
type ExecutionStream struct {
	rt *Runtime
	id uint64

	// The runtime's lock guards these fields, except ops while the stream is in flight: then only the goroutine that
	// runs it reads them.
	state streamState
	ops   []*ExecutionStreamOperation
}

type streamState uint8

const (
	empty streamState = iota
	encoded
	inFlight
	executed
)

// NewExecutionStream is e5rt_execution_stream_create.
func (rt *Runtime) NewExecutionStream() (*ExecutionStream, error) {
	rt.mu.Lock()
	s := &ExecutionStream{rt: rt, id: rt.id("stream")}
	rt.mu.Unlock()
	return s, rt.called(callStreamCreate, s, nil)
}

// String names the stream.
func (s *ExecutionStream) String() string { return fmt.Sprintf("stream %d", s.id) }

// EncodeOperation is e5rt_execution_stream_encode_operation: the operation runs after those already encoded. It can be
// encoded once, on one stream, until that stream is reset.
func (s *ExecutionStream) EncodeOperation(op *ExecutionStreamOperation) error {
	s.rt.mu.Lock()
	err := s.encode(op)
	s.rt.mu.Unlock()
	if op == nil || !s.rt.log.On() {
		return s.rt.called(callEncode, s, err)
	}
	return s.rt.called(callEncode, s, err, trace.Text("operation", op.String()))
}

func (s *ExecutionStream) encode(op *ExecutionStreamOperation) error {
	switch {
	case op == nil:
		return refused(callEncode, s, ErrArgument, "no operation", "create one with "+callOperationCreate)
	case op.fn.lib.rt != s.rt:
		return refused(callEncode, s, ErrArgument, fmt.Sprintf("%s belongs to another runtime", op),
			"create the stream with the same runtime")
	case s.state == inFlight:
		return refused(callEncode, s, ErrInFlight, "it is in flight",
			"wait for its completion, then reset it with "+callReset)
	case s.state == executed:
		return refused(callEncode, s, ErrOrder, "it has been executed", "reset it with "+callReset)
	}
	if err := op.free(callEncode); err != nil {
		return err
	}
	if err := op.prepare(callEncode); err != nil {
		return err
	}
	s.ops = append(s.ops, op)
	op.stream = s
	op.fn.encoded++
	s.state = encoded
	return nil
}

// start puts the stream in flight and numbers the request. It returns lost if the completion will not fire. The caller
// holds the runtime's lock.
func (s *ExecutionStream) start(call string) (request uint64, lost bool, err error) {
	switch s.state {
	case empty:
		return 0, false, refused(call, s, ErrOrder, "nothing is encoded on it",
			"encode an operation with "+callEncode)
	case inFlight:
		return 0, false, refused(call, s, ErrInFlight, "it is already in flight",
			"wait for its completion, then reset it with "+callReset)
	case executed:
		return 0, false, refused(call, s, ErrOrder, "it has been executed",
			"reset it with "+callReset+", then encode")
	}
	s.state = inFlight
	s.rt.requests++
	if s.rt.o.OverlapStreams {
		lost = s.rt.holder != nil && !s.rt.o.LowLatency
		if !lost {
			s.rt.holder = s
		}
		if s.rt.running++; s.rt.running == 1 {
			s.rt.idle = make(chan struct{})
		}
	}
	return s.rt.requests, lost, nil
}

// ran records that the operations have been run.
func (s *ExecutionStream) ran() {
	if !s.rt.o.OverlapStreams {
		s.rt.order.leave()
		return
	}
	s.rt.mu.Lock()
	if s.rt.running--; s.rt.running == 0 {
		close(s.rt.idle)
	}
	s.rt.mu.Unlock()
}

// ended records that the stream is no longer in flight.
func (s *ExecutionStream) ended(to streamState) {
	s.rt.mu.Lock()
	s.state = to
	s.rt.mu.Unlock()
}

// collected records that the stream's completion has been observed.
func (s *ExecutionStream) collected() {
	s.rt.mu.Lock()
	if s.rt.holder == s {
		s.rt.holder = nil
	}
	s.rt.mu.Unlock()
}

// ExecuteSync is e5rt_execution_stream_execute_sync: the operations are run, and the buffers hold their results when it
// returns. When it fails, or ctx ends before the stream's turn has come, the buffers of the operation that failed and
// of the later ones are unchanged.
func (s *ExecutionStream) ExecuteSync(ctx context.Context) error {
	s.rt.mu.Lock()
	request, lost, err := s.start(callExecute)
	s.rt.mu.Unlock()
	if err != nil {
		return s.rt.called(callExecute, s, err)
	}
	if !s.rt.o.OverlapStreams {
		if granted := s.rt.order.join(); granted != nil {
			select {
			case <-granted:
			case <-ctx.Done():
				s.rt.order.quit(granted)
				s.ended(encoded)
				return s.rt.refuse(callExecute, s, ctx.Err(), "other streams were in flight", "execute it again")
			}
		}
	}
	err = s.dispatch(ctx, callExecute, request)
	s.ran()
	if lost {
		<-ctx.Done()
		return s.rt.refuse(callExecute, s, ctx.Err(), lostRule, lostDo)
	}
	s.ended(executed)
	s.collected()
	return err
}

// The error message for a completion that does not fire.
const (
	lostRule = "its completion has not fired because it was submitted while another stream was in flight"
	lostDo   = "serialise the streams (Options.OverlapStreams), or pass a timeout to " + callSubmit
)

// dispatch runs the operations. Each takes the time of this package's stage of table 2.3.
func (s *ExecutionStream) dispatch(ctx context.Context, call string, request uint64) (err error) {
	if log := s.rt.log; log.On() {
		object := trace.Text("object", s.String())
		defer log.Step(call, s.rt.o.Client, request, object).End(&err, object)
	}
	for _, op := range s.ops {
		if err := op.run.Run(ctx); err != nil {
			return refused(call, s, err, op.String(), "")
		}
	}
	return nil
}

// Reset is e5rt_execution_stream_reset: it empties the stream, whose operations may then be encoded and bound again.
func (s *ExecutionStream) Reset() error {
	s.rt.mu.Lock()
	err := error(nil)
	if s.state == inFlight {
		err = refused(callReset, s, ErrInFlight, "it is in flight", "wait for its completion")
	} else {
		for i, op := range s.ops {
			op.stream = nil
			op.fn.encoded--
			s.ops[i] = nil
		}
		s.ops = s.ops[:0]
		s.state = empty
		if s.rt.holder == s {
			s.rt.holder = nil
		}
	}
	s.rt.mu.Unlock()
	return s.rt.called(callReset, s, err)
}
