package driver

import (
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/loader"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
	"github.com/zinc-compiler/zinc/target"
)

// space is an address space of the engine: a translation context with its entry
// in the stream table. It lives as long as its client or a program in it.
type space struct {
	ctx  *translation.Context
	user uint32
	refs int // guarded by Device.mu
}

// program is a container that a client has created. The command gate guards fields without a comment.
type program struct {
	owner  identity
	client *client
	prog   *loader.Program // does not change
	procs  []procedure     // do not change

	space    *space
	loaded   *loader.Loaded
	property properties
	slot     int32
	boot     uint32 // the bring-up in which slot is valid; 0: none
	handles  int    // existing instances
	running  int    // prepared instances
	used     uint64 // time of last use, in hardware.uses
}

// procedure holds a procedure's ports by direction.
type procedure struct {
	name            string
	inputs, outputs []loader.Port
}

// instance is what a token identifies: a program, or another process of one.
type instance struct {
	handle Handle
	client *client
	p      *program
	gone   atomic.Bool // destroyed

	prepared atomic.Bool
	waiting  atomic.Int32 // requests that have not completed
	depth    atomic.Int32
	priority atomic.Uint32
	network  atomic.Int32 // task queue of its requests at the gate

	// With the gate held.
	process int32
	boot    uint32 // the bring-up in which process is valid
	flags   uint32
}

// maxPrograms bounds the instances of a client, modelled.
const maxPrograms = 1024

// readContainer is the step of programCreate that checks the container.
func (c *client) readContainer(b []byte, digest [32]byte) (p *loader.Program, err error) {
	defer c.d.trace.Step("ANEDriver::ANE_ProgramCreate", c.id, 0, trace.Number("bytes", len(b))).End(&err)
	return loader.ReadDigested(b, digest)
}

// statsMasks is the number of masks that the driver passes on; it takes a larger one for 0 (chapter 33 of the guide).
const statsMasks = 16

// programCreate is selector 3: it reads and checks a container and creates a token.
func (c *client) programCreate(args *createArgs, _ *IOExternalMethodArguments) (Return, error) {
	switch args.flags {
	case LegacyResource:
	case RTResource:
		return Unsupported, fmt.Errorf("driver: ANEProgramRTResource, the runtime op-graph variant, is not " +
			"supported; create the program from its image")
	default:
		return BadArgument, fmt.Errorf("driver: ANEProgramCreateArgs, byte 0x18, representation = %d: 0 or 1",
			args.flags)
	}
	if args.stats != 0 && args.stats < statsMasks {
		return Unsupported, fmt.Errorf("driver: initStatsBufferSection: statsMask = %#x, and the program has no "+
			"stats-descriptor section, which only an internal compilation emits; create it with 0", args.stats)
	}
	result, ok := c.task.memory(args.result, 8)
	if !ok {
		return BadArgument, fmt.Errorf("driver: ANEProgramCreateArgs, byte 0x10, address %#x: no memory of the "+
			"task for the token", args.result)
	}
	container, ok := c.task.memory(args.addr, uint64(args.size))
	if !ok {
		return BadArgument, fmt.Errorf("driver: ANEProgramCreateArgs, byte 0x0: no %d bytes of the task at %#x",
			args.size, args.addr)
	}
	digest := sha256.Sum256(container)
	if sig, _ := c.task.memory(args.signature, ed25519.SignatureSize); !signed(digest, sig) {
		return NotPermitted, fmt.Errorf("driver: AneMachoSignatureCheck: the container with SHA-256 %x is not signed; "+
			"load it through the broker, whose daemon signs it", digest)
	}
	prog, err := c.readContainer(container, digest)
	if err != nil {
		return BadArgument, err
	}
	if have, want := prog.Subtype(), c.d.properties.CPUSubtype; have != want {
		return Unsupported, fmt.Errorf("driver: the container has CPU subtype %d, %s; this machine, %s, runs programs "+
			"of %d", have, target.BySubtype(have).Name, c.d.properties.ArchitectureType, want)
	}
	p := &program{owner: c.info.id, client: c, prog: prog}
	if c.d.trace.On() {
		c.d.trace.In(trace.Loader).Note("read container", c.id, 0, trace.Text("sha256", hex.EncodeToString(digest[:])))
	}
	for _, q := range prog.Procedures() {
		pr := procedure{name: q.Name}
		for _, port := range q.Ports {
			if port.Output {
				pr.outputs = append(pr.outputs, port)
			} else {
				pr.inputs = append(pr.inputs, port)
			}
		}
		p.procs = append(p.procs, pr)
	}
	i, r := c.addInstance(p)
	if r != Success {
		return r, fmt.Errorf("driver: the client has %d programs, which is the limit; destroy one", maxPrograms)
	}
	putToken(result, i.handle)
	return Success, nil
}

// addInstance creates a token for a program and adds it to the client. A program without an address space gets the
// client's.
func (c *client) addInstance(p *program) (*instance, Return) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed.Load() || c.token.Load() == 0 {
		return nil, Closed
	}
	if len(c.instances) == maxPrograms {
		return nil, NoResources
	}
	if c.space == nil && p.space == nil {
		c.space = c.d.newSpace(c)
	}
	i := &instance{client: c, p: p}
	i.depth.Store(DefaultQueueDepth)
	i.priority.Store(PriorityDefault)
	c.d.enterInstance(i, c.space)
	c.instances = append(c.instances, i)
	return i, Success
}

// find returns the instance of a token that the client may use: its own, or one
// of a client with the same identity.
func (c *client) find(token uint64) (*instance, Return, error) {
	i := c.d.instance(Handle(token))
	if i == nil {
		return nil, NotFound, fmt.Errorf("driver: token %#x does not name a program or instance", token)
	}
	if i.client != c && !i.p.owner.matches(c.info.id) {
		return nil, NotPrivileged, fmt.Errorf(
			"driver: token %#x belongs to another owner; team identifier and code-directory hash must match", token)
	}
	return i, Success, nil
}

// own is find for calls that only the instance's client may make.
func (c *client) own(token uint64) (*instance, Return, error) {
	i, r, err := c.find(token)
	if r == Success && i.client != c {
		return nil, NotPrivileged, fmt.Errorf("driver: token %#x belongs to another client", token)
	}
	return i, r, err
}

// admitPriority checks the entitlements that a priority requires: level 1 is for real-time clients, level 0 for the
// system (this split of the band between the two grants is modelled).
func (c *client) admitPriority(p uint32) (Return, error) {
	switch {
	case p >= protocol.Priorities:
		return BadArgument, fmt.Errorf("driver: priority is %d, want less than %d", p, protocol.Priorities)
	case p == 0 && !c.info.SystemReservedPriorities:
		return NotPrivileged, fmt.Errorf("driver: priority 0 needs %s", Entitlements[3].Key)
	case p == 1 && !c.info.SystemReservedPriorities && !c.info.RealtimePriority:
		return NotPrivileged, fmt.Errorf("driver: priority 1 needs %s", Entitlements[2].Key)
	}
	return Success, nil
}

// setArguments checks and stores the arguments of prepare and of a new instance.
func (c *client) setArguments(i *instance, priority, flags, depth uint32) (Return, error) {
	if r, err := c.admitPriority(priority); r != Success {
		return r, err
	}
	switch {
	case flags&^knownFlags != 0:
		return BadArgument, fmt.Errorf("driver: flags are %#x; the known ones are %#x", flags, knownFlags)
	case flags&FlagAggressive != 0 && flags&FlagPowerSaving == 0:
		return BadArgument, fmt.Errorf("driver: flags are %#x; aggressive power saving requires plain power saving",
			flags)
	case depth > MaxQueueDepth:
		return BadArgument, fmt.Errorf("driver: queue depth is %d, want at most %d", depth, MaxQueueDepth)
	}
	depth = cmp.Or(depth, DefaultQueueDepth)
	i.depth.Store(int32(depth))
	i.priority.Store(priority)
	return Success, nil
}

// programPrepare is selector 4: the program becomes resident, and gets a process.
func (c *client) programPrepare(args *prepareArgs, a *IOExternalMethodArguments) (Return, error) {
	i, r, err := c.own(args.token)
	if r != Success {
		return r, err
	}
	if r, err := c.setArguments(i, args.priority, args.flags, args.depth); r != Success {
		return r, err
	}
	r, err = c.d.gated(c, "ANEDriver::ANE_ProgramPrepare", func(deadline time.Duration) (Return, error) {
		if i.gone.Load() {
			return NotFound, fmt.Errorf("driver: token %#x was destroyed", args.token)
		}
		i.flags = args.flags
		if r, err := c.d.balancer.engine(i.p).makeReady(i, deadline); r != Success {
			return r, err
		}
		args.programID, args.processID = uint32(i.p.slot), uint32(i.process)
		args.intermediate = i.p.space.user
		args.procedures, args.depth = uint32(len(i.p.procs)), uint32(i.depth.Load())
		args.resident, args.boot = i.p.residentBytes(), c.d.hw.boot.Load()
		return Success, nil
	})
	if r != Success {
		return r, err
	}
	clear(a.StructureOutput)
	prepareStruct.encode(a.StructureOutput, args)
	return Success, nil
}

func (p *program) residentBytes() uint64 {
	n, err := p.prog.Memory()
	if err != nil {
		return 0
	}
	return n
}

// programCreateInstance is selector 8: it creates another process of a resident program of this client or of one with
// the same team identifier and code-directory hash.
func (c *client) programCreateInstance(args *instanceArgs, _ *IOExternalMethodArguments) (Return, error) {
	result, ok := c.task.memory(args.result, 8)
	if !ok {
		return BadArgument, fmt.Errorf("driver: ANEProgramCreateInstanceArgs, byte 0x8, address %#x: no memory of "+
			"the task for the token", args.result)
	}
	base, r, err := c.find(args.token)
	if r != Success {
		return r, err
	}
	if !base.prepared.Load() {
		return NotReady, fmt.Errorf("driver: token %#x: the program is not resident; prepare it first", args.token)
	}
	probe := &instance{}
	if r, err := c.setArguments(probe, args.priority, args.flags, args.depth); r != Success {
		return r, err
	}
	var i *instance
	r, err = c.d.gated(c, "ANEDriver::ANE_ProgramCreateInstance", func(deadline time.Duration) (Return, error) {
		if base.gone.Load() || base.p.running == 0 {
			return NotReady, fmt.Errorf("driver: token %#x: the program is no longer resident", args.token)
		}
		var r Return
		if i, r = c.addInstance(base.p); r != Success {
			return r, fmt.Errorf("driver: no instance of token %#x", args.token)
		}
		i.depth.Store(probe.depth.Load())
		i.priority.Store(args.priority)
		i.flags = args.flags
		r, err := c.d.balancer.engine(i.p).makeReady(i, deadline)
		if r != Success {
			c.forget(i)
			c.d.dropInstance(i)
		}
		return r, err
	})
	if r != Success {
		return r, err
	}
	putToken(result, i.handle)
	return Success, nil
}

// forget removes an instance from the client's list.
func (c *client) forget(i *instance) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range c.instances {
		if c.instances[k] == i {
			c.instances = append(c.instances[:k], c.instances[k+1:]...)
			return
		}
	}
}

// programUnprepare is selector 5: the instance's process ends, and with the last
// one the program's residency.
func (c *client) programUnprepare(args *prepareArgs, _ *IOExternalMethodArguments) (Return, error) {
	return c.end(args.token, "ANEDriver::ANE_ProgramUnprepare", func(i *instance) (Return, error) {
		if !i.prepared.Load() {
			return NotReady, fmt.Errorf("driver: token %#x is not prepared", args.token)
		}
		return Success, nil
	}, func(*instance) {})
}

// end terminates a token's process, and with the last one its program's residency; then it calls the selector's
// function. It does nothing if may refuses or the token has chains.
func (c *client) end(token uint64, method string, may func(i *instance) (Return, error),
	then func(i *instance)) (Return, error) {
	i, r, err := c.own(token)
	if r != Success {
		return r, err
	}
	return c.d.gated(c, method, func(time.Duration) (Return, error) {
		if r, err := may(i); r != Success {
			return r, err
		}
		if c.d.chained(i) {
			return Busy, fmt.Errorf("driver: token %#x has chains", token)
		}
		c.d.hw.unprepare(i)
		then(i)
		return Success, nil
	})
}

// programDestroy is selector 6: the token ends, regardless of its state.
func (c *client) programDestroy(args *destroyArgs, _ *IOExternalMethodArguments) (Return, error) {
	return c.end(args.token, "ANEDriver::ANE_ProgramDestroy", func(i *instance) (Return, error) {
		if i.gone.Load() {
			return NotFound, fmt.Errorf("driver: token %#x was destroyed", args.token)
		}
		return Success, nil
	}, func(i *instance) {
		c.forget(i)
		c.d.dropInstance(i)
	})
}

// makeReady makes an instance's program resident in this boot of the firmware and creates the instance's process. It
// unwires idle programs if there is no room.
func (h *hardware) makeReady(i *instance, deadline time.Duration) (Return, error) {
	if r, err := h.ensure(deadline); r != Success {
		return r, err
	}
	h.uses++
	i.p.used = h.uses
	if i.boot == h.boot.Load() && i.prepared.Load() {
		return Success, nil
	}
	for {
		r, err := h.wire(i)
		if r == Success {
			if !i.prepared.Swap(true) {
				i.p.running++
			}
			return Success, nil
		}
		if r != NoResources && r != NoMemory || !h.unwire(i.p, r == NoMemory) {
			h.evict(i.p)
			return r, err
		}
	}
}

// wire loads an instance's program if necessary and creates the instance's process.
func (h *hardware) wire(i *instance) (Return, error) {
	boot, p := h.boot.Load(), i.p
	if p.loaded == nil {
		l, err := p.prog.Load(p.space.ctx, fmt.Sprintf("load of client %d", i.client.id))
		if err != nil {
			return NoMemory, err
		}
		p.loaded = l
		h.d.balancer.resident[p] = slices.Index(h.d.balancer.engines, h)
		h.cop.Bind(p.space.user, p.space.ctx)
		if h.d.trace.On() {
			addr, size := l.AFPP()
			h.d.trace.In(trace.Loader).Note("load", i.client.id, 0, trace.Number("address", addr),
				trace.Text("registers", fmt.Sprintf("%#x", l.Registers())),
				trace.Number("bytes", size), trace.Number("procedures", len(p.procs)),
				trace.Number("resident", p.residentBytes()), trace.Data(l.Firmware()))
		}
	}
	if p.boot != boot {
		addr, size := p.loaded.AFPP()
		hd := protocol.Header{ProgramID: protocol.Unbound, ProcessID: protocol.Unbound, ProcedureID: p.space.user}
		o, err := h.command(loadAFPP, hd, addr, uint64(size))
		if err != nil {
			return h.failed(err), err
		}
		p.slot, p.boot = o.header.ProgramID, boot
	}
	if r, err := h.premap(p); r != Success {
		return r, err
	}
	if i.boot != boot {
		hd := protocol.Header{ProgramID: p.slot, ProcessID: protocol.Unbound, ProcedureID: p.space.user}
		o, err := h.command(createProcess, hd)
		if err != nil {
			return h.failed(err), err
		}
		i.process, i.boot = o.header.ProcessID, boot
		i.network.Store(o.header.ProgramID + 1)
	}
	return Success, nil
}

// unwire releases the memory and the slots of the least recently used resident program and reports whether there was
// one. The program stays prepared, and its next request loads it again. Programs whose client has opted out stay, and
// programs with chains while there are others; the chains then need all their inputs again. If near is not nil, only
// programs in that address space are considered.
func (h *hardware) unwire(p *program, near bool) bool {
	boot := h.boot.Load()
	instances := map[*program][]*instance{}
	var victim *program
	h.d.mu.RLock()
	for _, i := range h.d.instances {
		instances[i.p] = append(instances[i.p], i)
	}
	chains := map[*program][]*chain{}
	for _, x := range h.d.chains {
		chains[x.inst.p] = append(chains[x.inst.p], x)
	}
	h.d.mu.RUnlock()
	for q, is := range instances {
		keep := slices.ContainsFunc(is, func(i *instance) bool { return i.flags&FlagKeepWired != 0 })
		if q == p || keep || q.loaded == nil || q.boot != boot || near && q.space != p.space {
			continue
		}
		if victim == nil || cmp.Or(cmp.Compare(len(chains[q]), len(chains[victim])),
			cmp.Compare(q.used, victim.used)) < 0 {
			victim = q
		}
	}
	if victim == nil || !h.ready.Load() {
		return false
	}
	h.d.trace.Note("unwire", victim.client.id, 0, trace.Number("slot", victim.slot))
	slices.SortFunc(chains[victim], byHandle)
	for _, x := range chains[victim] {
		h.invalidate(x)
	}
	is := instances[victim]
	slices.SortFunc(is, func(a, b *instance) int { return cmp.Compare(a.handle, b.handle) })
	for _, i := range is {
		if i.boot == h.boot.Load() && h.ready.Load() {
			h.finish(terminateProcess, protocol.Header{ProgramID: victim.slot, ProcessID: i.process})
		}
		i.boot = 0
	}
	h.unload(victim)
	return h.ready.Load()
}

// evict unloads a program that no instance has prepared.
func (h *hardware) evict(p *program) {
	if p.running == 0 {
		h.unload(p)
	}
}

// unload releases the firmware's slot and the device memory of a program.
func (h *hardware) unload(p *program) {
	if p.boot != 0 && p.boot == h.boot.Load() && h.ready.Load() {
		h.finish(unloadAFPP, protocol.Header{ProgramID: p.slot, ProcessID: protocol.Unbound})
	}
	p.boot = 0
	delete(h.d.balancer.resident, p)
	p.property.release()
	if p.loaded == nil {
		return
	}
	// No request can pin it: requests run with the gate held.
	if err := p.loaded.Close(); err != nil {
		h.d.trace.Note("unload", 0, 0, trace.Failure(err))
	}
	p.loaded = nil
}

// unprepare ends an instance's process, and unloads the program with the last one. If the firmware fails, it is reset,
// which ends the process too.
func (h *hardware) unprepare(i *instance) {
	if !i.prepared.Swap(false) {
		return
	}
	p := i.p
	if i.boot == h.boot.Load() && h.ready.Load() {
		hd := protocol.Header{ProgramID: p.slot, ProcessID: i.process}
		h.finish(terminateProcess, hd)
	}
	i.boot = 0
	p.running--
	h.evict(p)
}

// Commands that the driver sends.
var (
	loadAFPP         = protocol.ByName("LOAD_AFPP")
	unloadAFPP       = protocol.ByName("UNLOAD_AFPP")
	createProcess    = protocol.ByName("CREATE_PROCESS")
	terminateProcess = protocol.ByName("TERMINATE_PROCESS")
)
