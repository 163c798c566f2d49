package coprocessor

import (
	"errors"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/inject"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// stuckQueue is a hardware queue that does not drain because its doorbell was lost. The firmware waits for it until the
// software deadline.
type stuckQueue struct {
	b      *boot
	job    *job
	queue  int
	timer  int  // the kernel's, until the deadline
	clears bool // an abort clears it
	idle   bool
	ended  bool
	how    firmware.Outcome
}

// Idle implements firmware.Target.
func (s *stuckQueue) Idle() bool { return s.idle }

// Abort implements firmware.Target: the engine driver's hardware abort.
func (s *stuckQueue) Abort() {
	s.b.d.log.Note("hardware abort", 0, 0, trace.Number("task queue", s.job.program.network))
	s.idle = s.clears
}

// jam makes a submission stick. The fault's value says whether an abort clears it.
func (b *boot) jam(j *job, f inject.Fault) {
	queue, ok := b.file.rung()
	if !ok {
		return
	}
	b.injectedNote(f, "hardware queue")
	s := &stuckQueue{b: b, job: j, queue: queue, clears: f.Value&1 == 0}
	b.stuck = s
	err := b.kernel.Change(b.tasks[callManager], firmware.TaskBlock) // until the deadline
	if err == nil {
		s.timer, err = b.kernel.Take(firmware.Timers)
	}
	if err != nil {
		b.fail(synchronousAbort, err)
		return
	}
	if err := firmware.Quiesce(b.d.cfg.Clock, s, func(o firmware.Outcome) { s.ended, s.how = true, o }); err != nil {
		b.fail(synchronousAbort, err)
	}
}

// wait advances the clock to the deadline of a stuck queue when nothing else is left to run. The dedicated timeout
// interrupt does the rest.
func (b *boot) wait() error {
	s := b.stuck
	for i := 0; i < 2 && !s.ended; i++ {
		if err := b.d.cfg.Clock.Advance(firmware.SoftwareDeadline); err != nil {
			return err
		}
	}
	if !s.ended {
		return errors.New("coprocessor: the software deadline has passed without its timer")
	}
	return b.kernel.Interrupt(b.tasks[interruptManager], wordStuck)
}

// deadline does the work that the timeout interrupt deferred: the aborted call completes or, if the abort did not
// clear, the host gets the range of task queues that the reset covers, and the firmware panics.
func (b *boot) deadline() {
	s := b.stuck
	if s == nil || !s.ended {
		return
	}
	b.stuck = nil
	_ = b.kernel.Release(firmware.Timers, s.timer) // never fails: jam has taken it
	network := uint64(s.job.program.network)
	b.d.log.Note("software deadline", 0, 0, trace.Number("task queue", network))
	if s.how == firmware.Stuck {
		b.d.count(func(s *Stats) { s.Resets++ })
		b.note(&protocol.Rows[protocol.IDResetNote], protocol.Header{
			ProgramID: protocol.Unbound,
			ProcessID: protocol.Unbound,
		}, network, network)
		b.ringControl()
		b.fail(synchronousAbort, &StuckError{s.job.program.network})
		return
	}
	b.d.count(func(s *Stats) { s.Aborts++ })
	b.file.drained(s.queue)
	if err := b.kernel.Change(b.tasks[callManager], firmware.TaskUnblock); err != nil {
		b.fail(synchronousAbort, err)
		return
	}
	s.job.status, s.job.err = StatusAborted, &AbortError{s.job.program.network}
	b.complete(s.job)
}

// AbortError reports a call whose task queue was aborted.
type AbortError struct{ Network int }

// Error names the queue.
func (e *AbortError) Error() string {
	return "task queue " + itoa(e.Network) + " did not quiesce within two seconds and was aborted"
}

// StuckError reports a task queue that an abort did not clear.
type StuckError struct{ Network int }

// Error names the queue.
func (e *StuckError) Error() string {
	return "the abort of task queue " + itoa(e.Network) + " did not clear within two seconds"
}
