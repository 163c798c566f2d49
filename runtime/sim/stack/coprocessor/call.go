package coprocessor

import (
	"errors"
	"slices"
	"time"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/inject"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
)

// before is the part of the firmware's time before the engine's work. Chapter 2 says that it cannot be measured apart;
// half is modelled.
var before = cost.Firmware.Fixed() / 2

// call accepts a procedure call of any class.
func (b *boot) call(d *protocol.Delivery, a *answer) error { return b.accept(d, a, nil, nil) }

// inference accepts an inference call, whose property buffer must have been mapped before, and expands it into its
// sub-packets. They run one after another; only the last one's end is the end of the call.
func (b *boot) inference(d *protocol.Delivery, a *answer) error {
	in, ok := d.Body.(*protocol.Inference)
	if !ok {
		return refusef(StatusMalformed, "the inference call has no body")
	}
	p, err := b.table.process(d.Header)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(b.settings.premaps, func(m premap) bool {
		return m.user == p.user && in.PropertyBuffer >= m.address && in.PropertyBuffer-m.address < m.size
	})
	if i < 0 {
		return refusef(StatusBuffer, "property buffer %#x is not mapped; send PREMAP_BUFFER first", in.PropertyBuffer)
	}
	if in.Packets > 1 {
		m := &b.settings.premaps[i]
		size := m.size - (in.PropertyBuffer - m.address)
		mem, err := b.d.user(p.user).Window(in.PropertyBuffer, size, translation.Read, "inference call")
		if err != nil {
			return err
		}
		subs, err := protocol.DecodeSubPackets(mem, in.Packets-1)
		if err != nil {
			return refusef(StatusMalformed, "property buffer %#x: %w", in.PropertyBuffer, err)
		}
		return b.expand(d, a, subs)
	}
	b.traceSubPacket(d.Header, 0, 1)
	return b.accept(d, a, nil, nil)
}

// expand queues the calls of an inference with several sub-packets.
func (b *boot) expand(d *protocol.Delivery, a *answer, subs []protocol.SubPacket) (err error) {
	var jobs []*job
	defer func() {
		if err != nil {
			for _, j := range jobs {
				b.jobs.free(j)
			}
		}
	}()
	add := func(h protocol.Header, call protocol.ProcedureCall) error {
		b.traceSubPacket(h, len(jobs), 1+len(subs))
		j, err := b.job(d, h, call)
		if err != nil {
			return err
		}
		j.reply = d.Header
		if n := len(jobs); n > 0 {
			j.follows, jobs[n-1].next = true, j
		}
		jobs = append(jobs, j)
		return b.bind(j)
	}
	if err := add(d.Header, d.Calls[0]); err != nil {
		return err
	}
	for i := range subs {
		s := &subs[i]
		h := d.Header
		h.ProcedureID = s.Procedure
		call := s.Of(&d.Calls[0])
		err := protocol.CheckCall(b.table, h, protocol.VariantOf(d.Row.ID), &call,
			&protocol.Inference{Buffers: s.Buffers})
		if err != nil {
			return refusef(StatusMalformed, "sub-packet %d: %w", i+1, err)
		}
		if err := add(h, call); err != nil {
			return err
		}
	}
	if err := b.queue(jobs[0]); err != nil {
		return err
	}
	a.later = true
	b.taken()
	return nil
}

// accept queues the calls of a message: dispatch event, request list, priority queue.
func (b *boot) accept(d *protocol.Delivery, a *answer, c *chain, t *protocol.Trigger) error {
	h := d.Header
	if c != nil {
		h = c.header // a trigger names only the request
	}
	for i := range d.Calls {
		j, err := b.job(d, h, d.Calls[i])
		if err != nil {
			return err
		}
		if c != nil {
			j.chain, j.handler, j.stamp = c, t.Handler, t.Timestamp
			c.apply(&j.call, t)
		}
		err = b.bind(j)
		if err == nil {
			err = b.queue(j)
		}
		if err != nil {
			b.jobs.free(j)
			return err
		}
	}
	a.later = true
	b.taken()
	return nil
}

// job takes a job for a call.
func (b *boot) job(d *protocol.Delivery, h protocol.Header, call protocol.ProcedureCall) (*job, error) {
	process, err := b.table.process(h)
	if err != nil {
		return nil, err
	}
	j, err := b.jobs.take()
	if err != nil {
		return nil, err
	}
	j.row, j.header, j.reply, j.call = d.Row, h, h, call
	j.process, j.program = process, process.program
	j.proc = &j.program.procs[h.ProcedureID]
	j.key = protocol.QueueKey{
		UserID:              process.user,
		JobID:               j.call.JobID,
		Priority:            h.Priority,
		HWQueue:             uint32(b.d.cfg.bootValue("queue", uint64(firmware.QueueOf(int(h.Priority))))),
		TaskQueue:           uint32(j.program.task),
		ScheduleInfoQueueID: h.Priority,
	}
	if b.tracing() {
		before := b.lines
		b.logCall(d, h, &j.call)
		j.logged = b.lines - before
	}
	return j, nil
}

// taken interrupts the host when a call has left its ring, as the completion does later: the chapter counts about two
// interrupts an inference; that this is the first of them is modelled.
func (b *boot) taken() {
	if loop := b.rings.Endpoint(protocol.Loop); loop.Bound() {
		b.ringOne(loop.DoorBell())
	}
}

// spend lets virtual time pass for a call's stage.
func (b *boot) spend(c cost.Cause, d cost.Time) error {
	return b.d.cfg.Clock.Spend(c, time.Duration(d))
}

// drive delivers an event to the execution loop. One that violates an invariant stops the firmware.
func (b *boot) drive(e firmware.ExecEvent) error {
	err := b.loop.Post(e)
	var broken *firmware.InvariantError
	if errors.As(err, &broken) {
		b.fail(synchronousAbort, err)
	}
	return err
}

// queue makes a job wait for its events or for its turn.
func (b *boot) queue(j *job) error {
	if err := b.drive(firmware.EventDispatch); err != nil {
		return err
	}
	b.run.flight++
	if err := b.enlist(j); err != nil {
		b.landed()
		return err
	}
	b.d.count(func(s *Stats) { s.Calls++ })
	return nil
}

// landed notes that a call is no longer in flight, and reports whether the firmware still runs.
func (b *boot) landed() bool {
	if b.run.flight--; b.run.flight == 0 {
		if err := b.loop.Post(firmware.EventDrain); err != nil {
			b.fail(synchronousAbort, err)
		}
	}
	return !b.dead()
}

// enlist parks a job that waits for events, and schedules others.
func (b *boot) enlist(j *job) error {
	if len(j.call.Waits) > 0 && !b.events.satisfied(j.call.Waits) {
		if len(b.jobs.parked)+1 >= protocol.MaxSharedEvents {
			return refusef(StatusFull, "sharedEventsActiveNbr is %d; fewer than %d calls may wait for shared events",
				len(b.jobs.parked)+1, protocol.MaxSharedEvents)
		}
		var err error
		if j.signal, err = b.kernel.Take(firmware.Signals); err == nil {
			j.waiting = true
			b.jobs.parked = append(b.jobs.parked, j)
		}
		return err
	}
	return b.schedule(j)
}

// schedule queues a job under its key.
func (b *boot) schedule(j *job) error {
	err := b.sched.Submit(firmware.Request{
		ID:       uint64(j.slot),
		Priority: int(j.key.Priority),
		Network:  j.program.task,
	})
	if err != nil {
		b.printf("[isHWReady] priority queue is full!")
		return err
	}
	j.queued = true
	b.run.waiting++
	return nil
}

// calls starts the call that is first.
func (b *boot) calls(firmware.Message) []firmware.Post {
	b.run.kicked = false
	if b.stuck != nil {
		return nil
	}
	r, ok := b.sched.Next()
	if !ok {
		return nil
	}
	b.run.waiting--
	j := &b.jobs.jobs[r.ID]
	b.execute(j)
	if b.stuck != nil || b.dead() {
		return nil
	}
	b.interrupt(j)
	return nil
}

// interrupt is the engine's completion interrupt: a record to the interrupt
// manager.
func (b *boot) interrupt(j *job) {
	b.run.done = append(b.run.done[:0], 1, byte(j.slot))
	if err := b.kernel.Interrupt(b.tasks[interruptManager], b.run.done); err != nil {
		b.fail(synchronousAbort, err)
	}
}

// interrupts does the work that the engine's interrupts deferred.
func (b *boot) interrupts(m firmware.Message) []firmware.Post {
	switch {
	case len(m.Data) == 2 && int(m.Data[1]) < numJobs:
		b.complete(&b.jobs.jobs[m.Data[1]])
	case len(m.Data) == 1:
		b.deadline()
	}
	return b.kick()
}

// execute submits a job to its hardware queue, whose doorbell starts the engine.
func (b *boot) execute(j *job) {
	j.began = b.now()
	j.step = b.traceExec(j)
	if !j.follows {
		if err := b.spend(cost.Firmware, before); err != nil {
			j.status, j.err = StatusAborted, err
			return
		}
	}
	b.d.runs = j.key
	if !b.loop.MayTouchHardware() {
		b.fail(synchronousAbort, &firmware.InvariantError{State: b.loop.State(), Event: firmware.EventDispatch})
		return
	}
	s := firmware.Submission{
		Queue: int(j.key.HWQueue), Priority: int(j.key.Priority), Network: j.program.task,
		Words: j.proc.words, Count: uint16(len(j.proc.tasks)),
	}
	for i := range j.addr {
		if j.bound>>i&1 == 1 {
			runtime, err := b.runtime(j.addr[i], j.proc.name)
			if err != nil {
				j.status, j.err = StatusTranslation, err
				return
			}
			s.Block[i] = uint32(runtime)
		}
	}
	s.Block[blockText], s.Block[blockFirst], s.Block[blockCount] = j.proc.text, j.proc.first, uint32(len(j.proc.tasks))
	done := b.traceSubmit(&s, j)
	err := firmware.Submit(&b.file, s)
	done()
	if err != nil {
		j.status, j.err = StatusFull, err
		return
	}
	if f, ok := b.d.cfg.Inject.At(inject.Queue); ok {
		b.jam(j, f)
		return
	}
	if queue, ok := b.file.rung(); ok {
		j.err = b.startEngine(queue, j)
		b.file.drained(queue)
	}
	switch {
	case j.err == nil:
		j.status = StatusOK
	case errors.Is(j.err, errPreempted):
		j.status, j.err = StatusPreempted, nil
		b.d.count(func(s *Stats) { s.Preempted++ })
	case b.ctx.Err() != nil:
		j.status = StatusAborted
	default:
		j.status = StatusEngine
		var f *translation.Fault
		if errors.As(j.err, &f) {
			j.status = StatusTranslation
		}
	}
}

// startEngine is the engine's reaction to a queue's doorbell: it reads the buffer bases from the queue's register file
// and runs the tasks.
func (b *boot) startEngine(queue int, j *job) error {
	m := &j.process.caches[j.header.ProcedureID]
	if err := m.begin(b, queue, j); err != nil {
		return err
	}
	d := b.d
	if d.tenant != j.process.ctx {
		if d.tenant != nil {
			clear(d.engine.L2[:]) // a client must not read another's data
			if err := b.spend(cost.Switch, cost.Switching(d.cfg.Target)); err != nil {
				return err
			}
		}
		d.tenant = j.process.ctx
	}
	if err := b.spend(cost.Start, cost.Start.Fixed()); err != nil {
		return err
	}
	d.proc = j.proc
	err := b.runTasks(j, m)
	d.proc = nil
	m.b, m.job = nil, nil
	return err
}

// work lets the time of tasks pass that no trace has spent.
func (b *boot) work(first, n int) error {
	if b.d.log.On() {
		return nil
	}
	sum := cost.Time(0)
	for i := first; i < first+n; i++ {
		sum += b.d.taskTime(i)
		b.d.worked(i)
	}
	return b.spend(cost.Tasks, sum)
}

// MaxThrottle is the greatest part of its time, in per cent, that an engine can be throttled by (modelled).
const MaxThrottle = 99

// Throttle makes the tasks idle for a part of their time, in per cent of at most MaxThrottle, as a power budget does
// that holds back their issue. The clock keeps its rate.
func (d *Device) Throttle(percent uint32) { d.throttle.Store(percent) }

// taskTime returns how long a task of the running procedure takes.
func (d *Device) taskTime(i int) cost.Time {
	return d.proc.times[i] * 100 / cost.Time(100-d.throttle.Load())
}

// worked reports the time of a task of the running procedure.
func (d *Device) worked(i int) {
	f, p := d.cfg.Tasks, d.proc
	t := d.taskTime(i)
	d.countTask(t, p.kinds[i])
	if f != nil {
		f(TaskTime{Procedure: p.name, Task: i, Bound: p.kinds[i], Time: t})
	}
}

// errPreempted ends the tasks of a call whose queue is aborted for a more urgent one.
var errPreempted = errors.New("preempted")

func (b *boot) runTasks(j *job, m engine.Memory) error {
	e, in := b.d.engine, b.d.cfg.Inject
	preempts := b.d.cfg.Preempt
	if j.chain != nil || j.next != nil || j.follows {
		preempts = nil
	}
	if in == nil && preempts == nil && len(j.call.Order) == 0 {
		b.d.count(func(s *Stats) { s.Tasks += uint64(len(j.proc.tasks)) })
		n := len(j.proc.tasks)
		err := e.Run(b.ctx, j.proc.tasks, m)
		if err != nil {
			var f *engine.Fault
			if errors.As(err, &f) {
				n = f.Task
			}
		}
		return errors.Join(err, b.work(0, n))
	}
	run := func(s span) error {
		for i := s.first; i < s.first+s.n; i++ {
			if preempts != nil && preempts(int(j.key.Priority)) {
				return errPreempted
			}
			if f, ok := in.At(inject.Task); ok {
				b.injected(f, "a task")
				return b.faulted()
			}
			b.d.count(func(s *Stats) { s.Tasks++ })
			if err := e.Run(b.ctx, j.proc.tasks[i:i+1], m); err != nil {
				var f *engine.Fault
				if errors.As(err, &f) {
					f.Task = i
				}
				return err
			}
			if err := b.work(i, 1); err != nil {
				return err
			}
		}
		return nil
	}
	if len(j.call.Order) == 0 {
		return run(span{0, len(j.proc.tasks)})
	}
	for i, k := range j.call.Order {
		b.printf("customExecuteOrder[%d]: operation %d", i, k)
		if err := run(j.proc.ops[k]); err != nil {
			return err
		}
	}
	return nil
}

// complete ends a job: statistics, events, notification, doorbells.
func (b *boot) complete(j *job) {
	if b.dead() {
		return
	}
	if j.status == StatusOK && j.next != nil && b.follow(j) {
		return
	}
	if j.status != StatusPreempted { // the way back is the restarted call's
		if err := b.spend(cost.Firmware, cost.Firmware.Fixed()-before); err != nil {
			j.status, j.err = StatusAborted, err
		}
	}
	if j.status == StatusOK {
		if err := b.writeStats(j); err != nil {
			j.status, j.err = StatusTranslation, err
		}
	}
	j.step.End(&j.err)
	if j.err != nil {
		b.fault(j.status, j.err)
	}
	var mask uint32
	if j.status == StatusOK {
		mask = b.signal(j.call.Signals)
	}
	b.finish(j, mask)
}

// follow schedules the sub-packet after a job that has ended without an error, and frees the job. It returns false, and
// the job has failed, if that is not possible.
func (b *boot) follow(j *job) bool {
	if err := b.schedule(j.next); err != nil {
		j.status, j.err = StatusFull, err
		return false
	}
	j.step.End(&j.err)
	if err := b.sched.Complete(uint64(j.slot)); err != nil {
		b.fail(synchronousAbort, err)
		return true
	}
	b.posts(j)
	b.jobs.free(j)
	return true
}

// finish notifies the host of the end of a job and frees its resources.
func (b *boot) finish(j *job, mask uint32) {
	b.posts(j)
	if j.chain != nil {
		b.chainCompleted(j)
	} else {
		b.programEvent(j.reply, j.row, j.status, j.call.JobID)
	}
	if j.status == StatusTranslation { // an error of data movement
		b.note(&protocol.Rows[protocol.IDTileSyncNote], j.header, uint64(j.status))
	}
	status := j.status
	if j.queued {
		if err := b.sched.Complete(uint64(j.slot)); err != nil {
			b.fail(synchronousAbort, err)
			return
		}
	}
	for n := j.next; n != nil; { // an earlier sub-packet has failed
		after := n.next
		b.jobs.free(n)
		n = after
	}
	b.jobs.free(j)
	b.d.count(func(s *Stats) {
		if status == StatusOK {
			s.Completed++
		}
	})
	if b.landed() {
		b.ringHost(mask)
	}
}
