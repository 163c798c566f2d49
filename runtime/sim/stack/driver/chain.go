package driver

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/coprocessor"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
)

// chain is the driver's side of a resident cache request: an output set is enqueued, inputs are declared ready, and the
// output set of one execution is the input set of the next. The first trigger installs the chain with the inputs of the
// host; later triggers need no inputs. A reset of the firmware loses the chain, and the next trigger installs it again.
type chain struct {
	handle    Handle
	gone      atomic.Bool // dropped
	client    *client
	inst      *instance
	procedure uint32
	proc      *procedure

	// With the gate held.
	handler uint64 // of the firmware, 0 when it is not installed
	boot    uint32
	stamp   uint64 // last execution timestamp
	group   uint32
	outputs []chained // the enqueued output set
	inputs  []chained // by port; without a surface if the chain feeds it
	ready   bool      // an output set is enqueued but not yet written
}

// chained is a buffer that a chain keeps mapped.
type chained struct {
	bytes []byte
	m     *translation.Mapping
}

func (b *chained) release() {
	if b.m != nil {
		b.m.Release()
	}
	*b = chained{}
}

// maxChains bounds the chains of a client, modelled.
const maxChains = 256

// gateChaining is the data-chaining gate. It was decided when the client was created.
func (c *client) gateChaining() (Return, error) {
	if !c.info.AllowDataChaining {
		return NotPrivileged, fmt.Errorf("driver: data chaining needs %s", Entitlements[1].Key)
	}
	return Success, nil
}

// programChainingPrepare is selector 9: it creates a chain of a procedure.
func (c *client) programChainingPrepare(args *chainingArgs, a *IOExternalMethodArguments) (Return, error) {
	i, r, err := c.find(args.token)
	if r != Success {
		return r, err
	}
	if !i.prepared.Load() {
		return NotReady, fmt.Errorf("driver: token %#x is not prepared", args.token)
	}
	if uint64(args.procedure) >= uint64(len(i.p.procs)) {
		return BadArgument, fmt.Errorf("driver: ANEProgramChainingPrepareArgs, byte 0x8, procedure = %d: the "+
			"program has %d", args.procedure, len(i.p.procs))
	}
	x := &chain{client: c, inst: i, procedure: args.procedure, proc: &i.p.procs[args.procedure]}
	if len(x.proc.inputs) > protocol.MaxInputBuffers {
		return Unsupported, fmt.Errorf("driver: procedure %q has %d inputs; a trigger can have %d", x.proc.name,
			len(x.proc.inputs), protocol.MaxInputBuffers)
	}
	x.inputs, x.outputs = make([]chained, len(x.proc.inputs)), make([]chained, len(x.proc.outputs))
	r, err = c.d.gated(c, "ANEDriver::ANE_ProgramChainingPrepare", func(time.Duration) (Return, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch {
		case c.token.Load() == 0:
			return Closed, errClosed
		case i.gone.Load() || !i.prepared.Load():
			return NotReady, fmt.Errorf("driver: token %#x is no longer prepared", args.token)
		case len(c.chains) == maxChains:
			return NoResources, fmt.Errorf("driver: the client has %d chains, which is the limit; release one",
				maxChains)
		}
		c.chains = append(c.chains, x)
		c.d.mu.Lock()
		x.handle = c.d.mint()
		c.d.chains[x.handle] = x
		c.d.mu.Unlock()
		return Success, nil
	})
	if r != Success {
		return r, err
	}
	out := chainingReply{
		chain:   uint64(x.handle),
		inputs:  uint32(len(x.proc.inputs)),
		outputs: uint32(len(x.proc.outputs)),
	}
	clear(a.StructureOutput)
	chainingOut.encode(a.StructureOutput, &out)
	return Success, nil
}

// chain finds the chain of a token that the client may use.
func (c *client) chain(token uint64, procedure uint32) (*chain, Return, error) {
	c.d.mu.RLock()
	x := c.d.chains[Handle(token)]
	c.d.mu.RUnlock()
	switch {
	case x == nil:
		return nil, NotFound, fmt.Errorf("driver: token %#x does not name a chain", token)
	case x.client != c && !x.inst.p.owner.matches(c.info.id):
		return nil, NotPrivileged, fmt.Errorf(
			"driver: chain %#x belongs to another owner; team identifier and code-directory hash must match", token)
	case procedure != x.procedure:
		return nil, BadArgument, fmt.Errorf("driver: chain %#x belongs to procedure %d, not %d", token, x.procedure,
			procedure)
	}
	return x, Success, nil
}

// programOutputSetEnqueue is direct-path selector 3: it enqueues the output
// buffer set that the next execution writes.
func (c *client) programOutputSetEnqueue(args *outputSetArgs, _ *IOExternalMethodArguments) (Return, error) {
	x, r, err := c.chain(args.chain, args.procedure)
	if r != Success {
		return r, err
	}
	switch {
	case args.set != 0:
		return BadArgument, fmt.Errorf("driver: ANEProgramOutputSetEnqueueArgs, byte 0xc, output buffer set is %d, "+
			"want 0, the only set", args.set)
	case int(args.count) != len(x.proc.outputs):
		return BadArgument, fmt.Errorf("driver: ANEProgramOutputSetEnqueueArgs, byte 0x18, surfaces = %d: "+
			"procedure %q has %d outputs", args.count, x.proc.name, len(x.proc.outputs))
	}
	ids, ok := c.task.memory(args.surfaces, 4*uint64(args.count))
	if !ok {
		return BadArgument, fmt.Errorf("driver: ANEProgramOutputSetEnqueueArgs, byte 0x10: no %d surface "+
			"identifiers at %#x", args.count, args.surfaces)
	}
	set := make([][]byte, args.count)
	for i := range set {
		if set[i], r, err = c.portSurface(binary.LittleEndian.Uint32(ids[4*i:]), x.proc.outputs[i].Name,
			x.proc.outputs[i].Size); r != Success {
			return r, err
		}
	}
	return c.d.queued(c, int(x.inst.priority.Load()), "ANEDriver::ANE_ProgramOutputSetEnqueue",
		func(deadline time.Duration) (Return, error) { return c.d.hw.enqueue(x, set, deadline) })
}

// portSurface finds a surface for a port.
func (c *client) portSurface(id uint32, port string, size uint64) ([]byte, Return, error) {
	b, ok := c.task.surface(id)
	switch {
	case !ok:
		return nil, NotFound, fmt.Errorf("driver: the task has no surface %#x", id)
	case uint64(len(b)) < size:
		return nil, BadArgument, fmt.Errorf("driver: surface %#x has %d bytes; port %q takes %d", id, len(b), port,
			size)
	}
	return b[:size:size], Success, nil
}

// same reports whether two buffers are identical.
func same(a, b []byte) bool { return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] }

// alive reports whether a chain can be used; the gate is held.
func (x *chain) alive() (Return, error) {
	if err := x.client.d.hw.tenantOnly(x.inst.client); err != nil {
		return Busy, err
	}
	if x.gone.Load() || x.inst.gone.Load() || !x.inst.prepared.Load() {
		return NotFound, fmt.Errorf("driver: the chain's program is no longer prepared")
	}
	return Success, nil
}

// enqueue enqueues an output set. If an execution has written one, its buffers are recycled, which returns them to the
// firmware: those that changed, or one that says that the set is free.
func (h *hardware) enqueue(x *chain, set [][]byte, deadline time.Duration) (Return, error) {
	h.d.stage(cost.Enter)
	if r, err := x.alive(); r != Success {
		return r, err
	}
	if x.ready {
		return Busy, fmt.Errorf("driver: chain %#x: an output set is already enqueued", uint64(x.handle))
	}
	if r, err := h.makeReady(x.inst, deadline); r != Success {
		return r, err
	}
	var changed []int
	for i, b := range set {
		if same(b, x.outputs[i].bytes) {
			continue
		}
		m, err := x.inst.p.space.ctx.Map(b, translation.Intermediate, "chain output")
		if err != nil {
			return NoMemory, err
		}
		x.exchange(x.outputs[i], b)
		// The old buffer stays mapped: it may be the next input.
		x.outputs[i].release()
		x.outputs[i] = chained{b, m}
		changed = append(changed, i)
	}
	if x.live(h) {
		if changed == nil {
			changed = []int{0}
		}
		if err := h.recycle(x, changed, deadline); err != nil {
			return h.failed(err), err
		}
	}
	x.ready = true
	return Success, nil
}

// live reports whether the chain is installed in this boot of the firmware.
func (x *chain) live(h *hardware) bool { return x.handler != 0 && x.boot == h.boot.Load() }

// exchange notes that inputs which have read a buffer that an output now gets read what the output has written, as the
// firmware does.
func (x *chain) exchange(written chained, now []byte) {
	for i := range x.inputs {
		if in := &x.inputs[i]; written.m != nil && same(in.bytes, now) {
			in.release()
			m, err := x.inst.p.space.ctx.Map(written.bytes, translation.Intermediate, "chain input")
			if err == nil { // otherwise it is missing when the chain is installed again
				*in = chained{written.bytes, m}
			}
		}
	}
}

// recycle returns buffers of the last execution's output set to the firmware, with one doorbell for all.
func (h *hardware) recycle(x *chain, outputs []int, deadline time.Duration) error {
	for n, i := range outputs {
		port := x.proc.outputs[i]
		body, err := protocol.NewRecord(cacheRecycle.Request, nil, x.handler, 0, uint64(protocol.OutputBuffer),
			uint64(port.Bar), x.outputs[i].m.Addr(), port.Size)
		if err != nil {
			return err
		}
		bell := uint32(coprocessor.BellLoop)
		if n < len(outputs)-1 {
			bell = noBell
		}
		msg := &protocol.LoopMessage{Header: x.header(wireRecycle), Body: body}
		if err := h.post(protocol.Loop, msg.Bytes(), bell); err != nil {
			return err
		}
	}
	answers := 0
	o, err := h.await(deadline, func(m *protocol.Message) (outcome, bool) {
		o, ok := completed(m)
		if ok && o.status == coprocessor.StatusOK {
			answers++
			ok = answers == len(outputs)
		}
		return o, ok
	})
	if err == nil && o.status != coprocessor.StatusOK {
		err = x.refused(h, o.status)
	}
	return err
}

// header returns the header of a message about the chain on the execution loop's channel.
func (x *chain) header(wire uint16) protocol.LoopHeader {
	return protocol.LoopHeader{
		Wire: wire, ProgramID: x.inst.p.slot, ProcessID: x.inst.process, ProcedureID: x.procedure,
		Priority: x.inst.priority.Load(),
	}
}

// refused returns the error of a message about the chain that the firmware has refused.
func (x *chain) refused(h *hardware, s coprocessor.Status) error {
	return &statusError{s, fmt.Errorf("driver: chain %#x: status %d, %v: %w", uint64(x.handle), uint32(s), s,
		h.because())}
}

// programInputsReady is direct-path selector 4: it triggers the chain, over the
// same doorbell path as selector 2.
func (c *client) programInputsReady(args *inputsReadyArgs, _ *IOExternalMethodArguments) (Return, error) {
	x, r, err := c.chain(args.chain, args.procedure)
	if r != Success {
		return r, err
	}
	switch {
	case args.count > uint32(len(x.proc.inputs)):
		return BadArgument, fmt.Errorf("driver: ANEProgramInputsReadyArgs, byte 0x14, buffers = %d: procedure %q "+
			"has %d inputs", args.count, x.proc.name, len(x.proc.inputs))
	case args.doorbell != coprocessor.BellLoop:
		return BadArgument, fmt.Errorf("driver: ANEProgramInputsReadyArgs, byte 0x18, doorbell index = %d: "+
			"requests ring %d", args.doorbell, coprocessor.BellLoop)
	}
	given := make([][]byte, len(x.proc.inputs))
	for i := range args.buffers[:args.count] {
		b := &args.buffers[i]
		if uint64(b.port) >= uint64(len(given)) || given[b.port] != nil {
			return BadArgument, fmt.Errorf("driver: ANEProgramInputsReadyArgs, byte %#x, port is %d; want each of the "+
				"%d ports once", 0x24+24*i, b.port, len(given))
		}
		port := x.proc.inputs[b.port]
		s, ok := c.task.surface(b.surface)
		if !ok {
			return NotFound, fmt.Errorf("driver: the task has no surface %#x", b.surface)
		}
		if b.offset > uint64(len(s)) || b.size != port.Size || b.size > uint64(len(s))-b.offset {
			return BadArgument, fmt.Errorf("driver: ANEProgramInputsReadyArgs, byte %#x: got %d bytes at %d of a "+
				"surface of %d; port %q takes %d", 0x28+24*i, b.size, b.offset, len(s), port.Name, port.Size)
		}
		given[b.port] = s[b.offset : b.offset+b.size : b.offset+b.size]
	}
	return c.d.queued(c, int(x.inst.priority.Load()), "ANEDriver::ANE_ProgramInputsReady",
		func(deadline time.Duration) (Return, error) {
			return c.d.hw.trigger(x, given, args.timestamp, args.doorbell, deadline)
		})
}

// Identifiers of a trigger and of a recycled buffer on the execution loop's channel.
const (
	wireTrigger = 0x209
	wireRecycle = 0x20a
)

// trigger triggers a chain. A timestamp of zero means the next one.
func (h *hardware) trigger(x *chain, given [][]byte, stamp uint64, bell uint32, deadline time.Duration) (Return,
	error) {
	h.d.stage(cost.Enter)
	if r, err := x.alive(); r != Success {
		return r, err
	}
	if !x.ready {
		return NotReady, fmt.Errorf("driver: chain %#x: no output set is enqueued", uint64(x.handle))
	}
	stamp = cmp.Or(stamp, x.stamp+1)
	if stamp <= x.stamp {
		return BadArgument, fmt.Errorf("driver: chain %#x: execTimestamp is %d, want more than the last, %d",
			uint64(x.handle),
			stamp, x.stamp)
	}
	if r, err := h.makeReady(x.inst, deadline); r != Success {
		return r, err
	}
	space := x.inst.p.space
	t := protocol.Trigger{Timestamp: stamp}
	for i, b := range given {
		if b == nil {
			continue
		}
		m, err := space.ctx.Map(b, translation.Intermediate, "chain input")
		if err != nil {
			return NoMemory, err
		}
		x.inputs[i].release()
		x.inputs[i] = chained{b, m}
		t.Inputs = append(t.Inputs, bufferOf(protocol.InputBuffer, &x.proc.inputs[i], m.Addr()))
	}
	if !x.live(h) {
		if r, err := h.install(x); r != Success {
			return r, err
		}
	}
	t.Handler = x.handler
	msg := (&protocol.LoopMessage{Header: x.header(wireTrigger), Body: &t}).Bytes()
	for posts := 1; ; posts++ {
		if err := h.post(protocol.Loop, msg, bell); err != nil {
			return h.failed(err), err
		}
		o, err := h.await(deadline, func(m *protocol.Message) (outcome, bool) {
			r, ok := m.Body.(*protocol.Record)
			switch {
			case ok && m.Row.ID == protocol.IDChainingEvent && r.Value("cacheHandler") == x.handler &&
				r.Value("execTimestamp") == stamp:
				return outcome{status: coprocessor.Status(r.Value("status")), header: m.Header}, true
			case ok && m.Row.ID == protocol.IDProgramEvent && r.Value("status") != uint64(coprocessor.StatusOK):
				return outcome{status: coprocessor.Status(r.Value("status")), header: m.Header}, true
			}
			return errorNote(m)
		})
		if err == nil && o.status == coprocessor.StatusIntegrity && posts < maxPosts && !h.reset {
			continue
		}
		if err == nil && o.status != coprocessor.StatusOK {
			err = x.refused(h, o.status)
		}
		if err != nil {
			return h.failed(err), err
		}
		break
	}
	x.stamp, x.ready = stamp, false
	if h.reset { // another queue failed: the result is valid, but the firmware is restarted
		h.recover(errReset)
	}
	h.d.stage(cost.Completion)
	h.rest()
	return Success, nil
}

// install makes the chain resident in the firmware. It builds the request that triggers refer to.
func (h *hardware) install(x *chain) (Return, error) {
	h.d.stage(cost.Request)
	call := protocol.ProcedureCall{UserID: x.inst.p.space.user}
	for i := range x.inputs {
		if x.inputs[i].m == nil {
			return BadArgument, fmt.Errorf("driver: chain %#x: the first execution needs all inputs; port %q has none",
				uint64(x.handle), x.proc.inputs[i].Name)
		}
		call.Inputs = append(call.Inputs, bufferOf(protocol.InputBuffer, &x.proc.inputs[i], x.inputs[i].m.Addr()))
	}
	for i := range x.outputs {
		call.Outputs = append(call.Outputs, bufferOf(protocol.OutputBuffer, &x.proc.outputs[i], x.outputs[i].m.Addr()))
	}
	hd := protocol.Header{
		ProgramID:   x.inst.p.slot,
		ProcessID:   x.inst.process,
		ProcedureID: x.procedure,
		Priority:    x.inst.priority.Load(),
	}
	if _, err := h.send(&protocol.Rows[protocol.IDCacheInstall], hd, &protocol.CacheCall{Call: call}); err != nil {
		return h.failed(err), err
	}
	r, ok := h.cop.TakeReply()
	if !ok || r.Record == nil {
		err := fmt.Errorf("driver: the install was not answered")
		h.recover(err)
		return GeneralError, err
	}
	x.handler, x.boot = r.Record.Value("cacheHandler"), h.boot.Load()
	if x.group != 0 {
		if _, err := h.command(setActive, unbound, x.handler, uint64(x.group)); err != nil {
			return h.failed(err), err
		}
	}
	return Success, nil
}

// invalidate removes a chain from the firmware, if installed, and releases its buffers.
func (h *hardware) invalidate(x *chain) {
	if x.live(h) && h.ready.Load() {
		h.finish(cacheInvalidate, unbound, x.handler)
	}
	x.handler, x.boot, x.ready = 0, 0, false
	for i := range x.outputs {
		x.outputs[i].release()
	}
	for i := range x.inputs {
		x.inputs[i].release()
	}
}

// programChainingSetActiveProcedure is direct-path selector 8: it makes the chain the active member of a group of
// chains that share buffers; group 0 removes it from its group.
func (c *client) programChainingSetActiveProcedure(args *activeArgs, _ *IOExternalMethodArguments) (Return, error) {
	x, r, err := c.chain(args.chain, args.procedure)
	if r != Success {
		return r, err
	}
	return c.d.gated(c, "ANEDriver::ANE_ProgramChainingSetActiveProcedure", func(deadline time.Duration) (Return,
		error) {
		if r, err := x.alive(); r != Success {
			return r, err
		}
		h := c.d.hw
		x.group = args.group
		if !x.live(h) {
			return Success, nil // the install will report it
		}
		if r, err := h.ensure(deadline); r != Success {
			return r, err
		}
		if _, err := h.command(setActive, unbound, x.handler, uint64(args.group)); err != nil {
			return h.failed(err), err
		}
		return Success, nil
	})
}

func byHandle(a, b *chain) int { return cmp.Compare(a.handle, b.handle) }

// chained reports whether an instance has chains; the gate is held.
func (d *Device) chained(i *instance) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, x := range d.chains {
		if x.inst == i {
			return true
		}
	}
	return false
}

// dropChains ends the chains of an instance; the gate is held.
func (d *Device) dropChains(i *instance) {
	d.mu.RLock()
	var gone []*chain
	for _, x := range d.chains {
		if x.inst == i {
			gone = append(gone, x)
		}
	}
	d.mu.RUnlock()
	slices.SortFunc(gone, byHandle)
	for _, x := range gone {
		d.dropChain(x)
	}
}

func (d *Device) dropChain(x *chain) {
	d.hw.invalidate(x)
	d.mu.Lock()
	delete(d.chains, x.handle)
	d.mu.Unlock()
	x.gone.Store(true)
}

// Commands of the cache-request family.
var (
	cacheRecycle    = &protocol.Rows[protocol.IDCacheRecycle]
	cacheInvalidate = &protocol.Rows[protocol.IDCacheInvalidate]
	setActive       = &protocol.Rows[protocol.IDSetActive]
)
