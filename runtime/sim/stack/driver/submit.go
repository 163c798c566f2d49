package driver

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/coprocessor"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/loader"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
)

// call is a request from the shim to its completion. Calls are reused, so that a request does not allocate.
type call struct {
	action
	req      programRequest
	client   *client
	inst     *instance
	proc     *procedure  // the first
	procs    []procedure // of a chain all, otherwise the first
	seq      uint64      // of the client's requests, for the trace
	deadline time.Duration
	job      uint32
	again    bool // it was preempted, and is posted once more

	surfaces [3*maxPorts + 1][]byte // inputs, outputs, intermediates, statistics
	bound    int                    // of them
	maps     []*translation.Mapping
	wire     protocol.ProcedureCall
	msg      []byte
	reply    programReply
	cause    error

	port *WakePort
	ref  [ReferenceSize]byte
}

var calls = sync.Pool{New: func() any {
	k := &call{}
	k.action.call = k
	k.action.run = runCall
	return k
}}

func runCall(a *action)    { a.result = a.call.client.d.balancer.engine(a.call.inst.p).run(a.call) }
func finishCall(a *action) { a.call.complete() }

// recycle returns a call to the pool without references of the request.
func (k *call) recycle() {
	clear(k.surfaces[:k.bound])
	k.bound = 0
	k.client, k.inst, k.proc, k.procs, k.port, k.cause = nil, nil, nil, nil, nil, nil
	k.action.finish, k.again = nil, false
	calls.Put(k)
}

// Procedure calls on the execution loop's channel (table 30.6).
const (
	wireCall       = 0x204
	wireCallBars   = 0x20c
	wireCallEvents = 0x211
)

// programSendRequest is the shim of selector 2 and of the selectors that ring the same doorbell: it checks the sizes
// again and decodes the arguments.
func (c *client) programSendRequest(a *IOExternalMethodArguments) Return {
	if len(a.StructureInput) != RequestSize || len(a.StructureOutput) != ReplySize || len(a.ScalarInput) != 1 {
		return BadArgument
	}
	var err error
	defer c.d.trace.Step("ANE_ProgramSendRequest", c.id, 0).End(&err)
	k := calls.Get().(*call)
	k.client = c
	r := c.sendRequest(a, k)
	if r != Success {
		err = r
	}
	return r
}

func (c *client) sendRequest(a *IOExternalMethodArguments, k *call) Return {
	session, r := c.session(a)
	if r == Success && a.ScalarInput[0] != uint64(session) {
		r = c.failf(a, BadArgument, "driver: scalar 0 = %#x is not the session's token", a.ScalarInput[0])
	}
	if r == Success {
		if err := k.req.decode(a.StructureInput); err != nil {
			r = c.fail(a, BadArgument, err)
		}
	}
	if r == Success {
		var err error
		if r, err = c.prepareRequest(k); r != Success {
			r = c.fail(a, r, err)
		}
	}
	if r != Success {
		k.recycle()
		return r
	}
	if a.AsyncWakePort != nil {
		return c.sendAsync(a, k)
	}
	r = c.d.gate.do(&k.action)
	k.inst.waiting.Add(-1)
	if r != Success {
		_ = c.fail(a, r, k.cause)
	}
	// The output is also written if the call fails, with the error.
	k.reply.result, k.reply.status = uint32(r), word(r == Success)
	k.reply.encode(a.StructureOutput)
	k.recycle()
	return r
}

// sendAsync queues a request whose completion arrives at the port.
func (c *client) sendAsync(a *IOExternalMethodArguments, k *call) Return {
	k.port, k.ref = a.AsyncWakePort, a.AsyncReference
	k.action.finish = finishCall
	queued := programReply{sequence: k.req.sequence, token: k.req.token}
	queued.encode(a.StructureOutput)
	if r := c.d.gate.post(&k.action); r != Success {
		k.inst.waiting.Add(-1)
		k.recycle()
		return c.failf(a, r, "driver: the command gate has no room")
	}
	return Success
}

// complete sends the completion of an asynchronous request.
func (k *call) complete() {
	m := Completion{Reference: k.ref, Result: k.action.result}
	k.reply.result, k.reply.status = uint32(m.Result), word(m.Result == Success)
	k.reply.encode(m.Reply[:])
	if d := k.client.d; d.trace.On() {
		d.trace.Note("completion at the wake port", k.client.id, k.seq, trace.Data(m.Reply[:]),
			trace.Failure(m.Result.failure()))
	}
	k.inst.waiting.Add(-1)
	port := k.port
	k.recycle()
	port.deliver(m)
}

// prepareRequest is ANEClientDevice::programSendRequest: it finds the program, checks the request, and finds the
// surfaces.
func (c *client) prepareRequest(k *call) (Return, error) {
	q := &k.req
	k.seq = c.requests.Add(1)
	c.d.trace.Note("ANEClientDevice::programSendRequest", c.id, k.seq, trace.Number("token", q.token),
		trace.Number("procedure", q.procedure), trace.Number("priority", q.priority), trace.Number("qos", q.qos))
	i, r, err := c.find(q.token)
	if r != Success {
		return r, err
	}
	if !i.prepared.Load() {
		return NotReady, fmt.Errorf("driver: token %#x is not prepared", q.token)
	}
	if r, err := c.admitPriority(q.priority); r != Success {
		return r, err
	}
	if n := uint64(len(i.p.procs)); uint64(q.procedure)+uint64(q.further) >= n {
		return BadArgument, fmt.Errorf("driver: request, byte %#x, procedure is %d, with %d after it; the program "+
			"has %d", reqProcedure, q.procedure, q.further, n)
	}
	if q.further > 0 && (q.nWaits > 0 || q.nSignals > 0 || q.stats != 0) {
		return Unsupported, fmt.Errorf("driver: request, byte %#x, further procedures are %d; an inference call has "+
			"no events and no statistics buffer", reqFurther, q.further)
	}
	if q.doorbell != coprocessor.BellLoop {
		return BadArgument, fmt.Errorf("driver: request, byte %#x, doorbell index is %d: no channel for "+
			"requests has it; use %d", reqDoorbell, q.doorbell, coprocessor.BellLoop)
	}
	k.inst, k.procs = i, i.p.procs[q.procedure:q.procedure+1+q.further]
	k.proc = &k.procs[0]
	if r, err := k.bind(); r != Success {
		return r, err
	}
	if i.waiting.Add(1) > i.depth.Load() {
		i.waiting.Add(-1)
		return NoResources, fmt.Errorf("driver: token %#x: %d requests wait, which is the queue depth; wait for "+
			"completions",
			q.token, i.depth.Load())
	}
	timeout := time.Duration(c.timeout.Load())
	if q.timeout != 0 {
		timeout = time.Duration(min(q.timeout, uint64(maxTimeout)))
	}
	k.deadline = c.d.clock.Now() + timeout
	k.action.priority, k.action.network = int(q.priority), int(i.network.Load())
	k.reply = programReply{sequence: q.sequence, token: q.token}
	return Success, nil
}

// bind finds the request's surfaces: one per port in the order of the ports, each at least as large as its port.
func (k *call) bind() (Return, error) {
	q := &k.req
	nIn, nOut := 0, 0
	for i := range k.procs {
		nIn += len(k.procs[i].inputs)
		nOut += len(k.procs[i].outputs)
	}
	if int(q.nInputs) != nIn || int(q.nOutputs) != nOut {
		return BadArgument, fmt.Errorf("driver: request: got %d input and %d output surfaces; procedure %q, with %d "+
			"after it, has %d and %d ports", q.nInputs, q.nOutputs, k.proc.name, q.further, nIn, nOut)
	}
	inputs, outputs := q.inputs[:nIn], q.outputs[:nOut]
	for i := range k.procs {
		n := len(k.procs[i].inputs)
		if r, err := k.take(inputs[:n], k.procs[i].inputs, "input"); r != Success {
			return r, err
		}
		inputs = inputs[n:]
	}
	for i := range k.procs {
		n := len(k.procs[i].outputs)
		if r, err := k.take(outputs[:n], k.procs[i].outputs, "output"); r != Success {
			return r, err
		}
		outputs = outputs[n:]
	}
	if r, err := k.take(q.intermediates[:q.nIntermediates], nil, "intermediate"); r != Success {
		return r, err
	}
	if q.stats != 0 {
		return k.take([]uint32{q.stats}, nil, "statistics")
	}
	return Success, nil
}

// take finds the next surfaces of the request.
func (k *call) take(ids []uint32, ports []loader.Port, what string) (Return, error) {
	for i, id := range ids {
		b, ok := k.client.task.surface(id)
		if !ok {
			return NotFound, fmt.Errorf("driver: request: %s surface %d: the task has no surface %#x", what, i, id)
		}
		if ports != nil {
			if uint64(len(b)) < ports[i].Size {
				return BadArgument, fmt.Errorf("driver: request: %s surface %#x has %d bytes; port %q takes %d",
					what, id, len(b), ports[i].Name, ports[i].Size)
			}
		}
		k.surfaces[k.bound] = b
		k.bound++
	}
	return Success, nil
}

// run is ANEDriver::ANE_ProgramSendRequest: the gated part. It maps the surfaces,
// sends the call and waits for its completion.
func (h *hardware) run(k *call) Return {
	if !k.again {
		h.d.stage(cost.Enter)
	}
	var failed error
	defer h.d.trace.Step("ANEDriver::ANE_ProgramSendRequest", k.client.id, k.seq,
		trace.Number("priority", k.req.priority)).End(&failed)
	r, err := h.dispatch(k)
	k.release()
	if err == errPreempted {
		k.again, k.action.again = true, true
		return r
	}
	if err == nil {
		h.d.stage(cost.Completion)
	}
	h.rest()
	k.cause = err
	k.client.debugWork(k, r)
	if err != nil {
		failed = fmt.Errorf("%w: %w", r, err)
	}
	return r
}

// tenantOnly returns an error if a secure tenant owns the engine and the client is another.
func (h *hardware) tenantOnly(c *client) error {
	if h.served.secure && h.served.tenant != c.id {
		return errors.New("driver: the secure tenant owns the engine")
	}
	return nil
}

// rest powers the device off after a request if nothing waits, the power gate is dynamic and has no hysteresis.
func (h *hardware) rest() {
	h.rested = h.d.clock.Now()
	if s := &h.served; s.gating && !s.unmanaged && s.hysteresis == 0 && h.d.gate.idle() {
		h.sleep()
	}
}

// gateIdle powers the device off if the power gate is dynamic and its hysteresis has passed since the last request or
// power-up. It is called before the driver looks at the power, since nothing sees a device that is idle.
func (h *hardware) gateIdle() {
	s := &h.served
	if s.gating && !s.unmanaged && s.hysteresis > 0 && h.d.clock.Now()-h.rested >= s.hysteresis {
		h.sleep()
	}
}

// errPreempted reports a call that was aborted for a more urgent one. It goes back to the gate and is posted again.
var errPreempted = errors.New("driver: preempted")

func (h *hardware) dispatch(k *call) (Return, error) {
	if h.d.clock.Now() > k.deadline {
		return Timeout, fmt.Errorf("driver: the request's deadline passed while it waited")
	}
	if err := h.tenantOnly(k.client); err != nil {
		return Busy, err
	}
	switch {
	case !k.inst.prepared.Load():
		return Aborted, fmt.Errorf("driver: token %#x was unprepared while the request waited", k.req.token)
	case k.client.token.Load() == 0:
		return Aborted, fmt.Errorf("driver: the client closed while the request waited")
	}
	if r, err := h.makeReady(k.inst, k.deadline); r != Success {
		return r, err
	}
	build, channel, bell := h.build, protocol.Loop, k.req.doorbell
	if len(k.procs) > 1 {
		build, channel, bell = h.buildChain, protocol.Control, bells[protocol.Control]
	}
	for {
		r, err := build(k)
		if r == Success {
			break
		}
		if !isFault(err, translation.NoSpace) || !h.unwire(k.inst.p, true) {
			return r, err
		}
		k.release()
	}
	if !k.again { // its message is the same again
		h.d.stage(cost.Request)
	}
	h.cop.Write32(coprocessor.ANEHAL1, coprocessor.RegArm, 1)
	defer h.drainCounters()
	for posts := 1; ; posts++ {
		if err := h.post(channel, k.msg, bell); err != nil {
			return h.failed(err), err
		}
		o, err := h.awaitCall(k)
		switch {
		case err != nil:
			return h.failed(err), err
		case o.status == coprocessor.StatusPreempted:
			return Busy, errPreempted
		case o.status == coprocessor.StatusIntegrity && posts < maxPosts && !h.reset:
			continue
		case o.status != coprocessor.StatusOK:
			err = &statusError{o.status, fmt.Errorf("driver: job %d: status %d, %v: %w", k.job, uint32(o.status),
				o.status, h.because())}
			return h.failed(err), err
		case h.reset: // another queue failed: the result is valid, but the firmware is restarted
			h.recover(errReset)
		}
		return Success, nil
	}
}

// drainCounters stops the performance counters and takes what they have counted.
func (h *hardware) drainCounters() {
	h.cop.Write32(coprocessor.ANEHAL1, coprocessor.RegArm, 0)
	for i := range h.counters {
		h.counters[i].Add(uint64(h.cop.Read32(coprocessor.ANEHAL1, coprocessor.RegCounters+4*uint32(i))))
	}
}

// Counters returns the sums of the performance counters, which the kernel arms for a request and drains after it, in
// the order of coprocessor.CountTasks.
func (d *Device) Counters() (sums [coprocessor.NumCounters]uint64) {
	for i := range sums {
		sums[i] = d.hw.counters[i].Load()
	}
	return sums
}

// build maps the surfaces and writes the command.
func (h *hardware) build(k *call) (Return, error) {
	p, q, w := k.inst.p, &k.req, &k.wire
	nIn, nOut := len(k.proc.inputs), len(k.proc.outputs)
	w.Inputs, w.Outputs, w.Bars = w.Inputs[:0], w.Outputs[:0], w.Bars[:0]
	w.Stats = protocol.Stats{}
	id := wireCall
	n := 0
	for i := range k.proc.inputs {
		port := &k.proc.inputs[i]
		addr, err := k.mapSurface(p, n, port.Size, translation.Input)
		if err != nil {
			return NoMemory, err
		}
		n++
		if i < protocol.MaxInputBuffers {
			w.Inputs = append(w.Inputs, bufferOf(protocol.InputBuffer, port, addr))
		} else { // inputs beyond the inputs of a call are passed as register overrides
			w.Bars = append(w.Bars, protocol.CustomBar{BarID: port.Bar, Value: addr, BufferSize: port.Size})
			id = wireCallBars
		}
	}
	for i := range k.proc.outputs {
		port := &k.proc.outputs[i]
		addr, err := k.mapSurface(p, n, port.Size, translation.Output)
		if err != nil {
			return NoMemory, err
		}
		n++
		w.Outputs = append(w.Outputs, bufferOf(protocol.OutputBuffer, port, addr))
	}
	for range q.nIntermediates {
		if _, err := k.mapSurface(p, n, uint64(len(k.surfaces[n])), translation.Intermediate); err != nil {
			return NoMemory, err
		}
		n++
	}
	if q.stats != 0 {
		addr, err := k.mapSurface(p, nIn+nOut+int(q.nIntermediates), uint64(len(k.surfaces[n])), translation.Output)
		if err != nil {
			return NoMemory, err
		}
		w.Stats = protocol.Stats{Buffer: addr, Size: uint64(len(k.surfaces[n]))}
	}
	w.Waits, w.Signals = q.waits[:q.nWaits], q.signals[:q.nSignals]
	if q.nWaits+q.nSignals > 0 {
		id = wireCallEvents
	}
	k.job = h.nextJob()
	w.UserID, w.JobID = p.space.user, k.job

	hd := protocol.LoopHeader{Size: uint32(w.Size()), Wire: uint16(id), ProgramID: p.slot, ProcessID: k.inst.process,
		ProcedureID: q.procedure, Priority: q.priority}
	k.msg = w.Append(hd.Append(k.msg[:0]))
	return Success, nil
}

// bufferOf describes the memory of a port in a message.
func bufferOf(t protocol.BufferType, p *loader.Port, addr uint64) protocol.Buffer {
	return protocol.Buffer{Type: t, BarID: p.Bar, Buffer: addr, Size: p.Size}
}

// nextJob numbers a call.
func (h *hardware) nextJob() uint32 {
	h.job++
	if h.job == 0 {
		h.job++
	}
	return h.job
}

// mapSurface maps the n-th surface, with the port's size, into the program's address space. It finds a surface that an
// earlier request has mapped.
func (k *call) mapSurface(p *program, n int, size uint64, u translation.Usage) (uint64, error) {
	m, err := p.space.ctx.Map(k.surfaces[n][:size:size], u, "surface")
	if err != nil {
		return 0, err
	}
	k.maps = append(k.maps, m)
	return m.Addr(), nil
}

// release releases the surfaces; they stay mapped until the room is needed.
func (k *call) release() {
	for _, m := range k.maps {
		m.Release()
	}
	k.maps = k.maps[:0]
}

// awaitCall waits for the completion of a call by its job.
func (h *hardware) awaitCall(k *call) (outcome, error) {
	return h.await(k.deadline, func(m *protocol.Message) (outcome, bool) {
		if m.Row.ID != protocol.IDProgramEvent {
			return errorNote(m)
		}
		r, ok := m.Body.(*protocol.Record)
		if !ok {
			return outcome{}, false
		}
		// A call refused before it became a job completes without a job.
		s, job := coprocessor.Status(r.Value("status")), uint32(r.Value("jobId"))
		return outcome{status: s, header: m.Header}, job == k.job || job == 0 && s != coprocessor.StatusOK
	})
}
