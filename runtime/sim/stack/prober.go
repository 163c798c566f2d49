package stack

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/broker"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/coprocessor"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/driver"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/loader"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
)

// Role is a kind of task that opens the device.
type Role struct {
	Name, Doc string
	keys      func() []string
	vm        bool // has privileged access to the virtual machine
}

// Roles are the tasks of a prober; the first one is the usual one.
var Roles = []Role{
	{Name: "prober", Doc: "holds every entitlement of the driver", vm: true, keys: func() (keys []string) {
		for _, e := range driver.Entitlements {
			keys = append(keys, e.Key)
		}
		return keys
	}},
	{Name: "broker", Doc: "holds those of the broker and of its per-user sibling", keys: broker.KernelKeys},
	{Name: "app", Doc: "an application, which holds none", keys: func() []string { return nil }},
}

// Prober is a task that calls the driver without the broker: any selector of the three user clients, any method of the
// direct-path client, and any command of the firmware. It serves for looking at a device.
type Prober struct {
	// Unsigned makes a program of the container without its signature.
	Unsigned bool

	dev     *driver.Device
	task    *driver.Task
	control *driver.Services
	direct  *driver.Services
	admin   *driver.Services // for the methods

	container []byte // of the program; nil for none
	program   driver.Handle
	prepared  bool
	request   *driver.Request
	outputs   [][]byte
	chain     driver.Chain
	chained   bool
	mapped    uint64
	stats     []byte
	debug     bool
	mask      uint32 // of the doorbells that signalled events ring
}

// proberPID is the process number of a prober, which is modelled.
const proberPID = 77

// statsBytes is the size of a prober's statistics buffer: a header and one record of each kind.
const statsBytes = 0x100

// NewProber opens a control and a direct-path client of the machine's device for a task with the role, one of Roles,
// and further entitlements. Selectors that need a program use the first procedure of the container; without one they
// fail.
//
// If team is not "", the direct-path client is of a task of that team, whose requests name what the control client has
// created.
func (s *Stack) NewProber(container []byte, role, team string, keys []string) (*Prober, error) {
	p := &Prober{dev: s.Device, container: container, stats: make([]byte, statsBytes)}
	i := slices.IndexFunc(Roles, func(r Role) bool { return r.Name == role })
	if i < 0 {
		return nil, fmt.Errorf("unknown role %q", role)
	}
	p.task = &driver.Task{PID: proberPID, TeamID: "PROBE", PrivilegedVMAccess: Roles[i].vm,
		Entitlements: slices.Concat(Roles[i].keys(), keys)}
	var err error
	if p.control, err = s.Device.OpenServices(p.task); err != nil {
		return nil, err
	}
	direct := p.task
	if team != "" {
		direct = &driver.Task{PID: proberPID + 1, TeamID: team, PrivilegedVMAccess: p.task.PrivilegedVMAccess,
			Entitlements: p.task.Entitlements}
	}
	if p.direct, err = s.Device.OpenDirect(direct); err != nil {
		return nil, errors.Join(err, p.control.Close())
	}
	if p.admin, err = s.Device.OpenHardware(direct); err != nil {
		return nil, errors.Join(err, p.direct.Close(), p.control.Close())
	}
	return p, nil
}

// Close closes the clients.
func (p *Prober) Close() error {
	return errors.Join(p.admin.Close(), p.direct.Close(), p.control.Close())
}

// Create passes the container to the kernel.
func (p *Prober) create() error {
	if p.program != 0 {
		return nil
	}
	if p.container == nil {
		return errors.New("the selector needs a program; name a compiled pair or a model")
	}
	h, err := driver.Handle(0), error(nil)
	if p.Unsigned {
		h, err = p.control.ProgramCreateSigned(p.container, nil)
	} else {
		h, err = p.control.ProgramCreate(p.container)
	}
	if err != nil {
		return err
	}
	p.program = h
	prog, err := loader.Read(p.container)
	if err != nil {
		return err
	}
	r := &driver.Request{Handle: h, Priority: driver.PriorityDefault, Stats: p.task.CreateSurface(p.stats)}
	ports, bytes := prog.Procedures()[0].Ports, int64(0)
	for _, port := range ports {
		bytes += int64(port.Size)
	}
	if err := room(bytes); err != nil {
		return err
	}
	for _, port := range ports {
		b := make([]byte, port.Size)
		to := &r.Inputs
		if port.Output {
			to = &r.Outputs
			p.outputs = append(p.outputs, b)
		} else {
			fill(b)
		}
		*to = append(*to, p.task.CreateSurface(b))
	}
	p.request = r
	return nil
}

// fill writes small fp16 values of a fixed pattern.
func fill(b []byte) {
	for i := 0; i+1 < len(b); i += 2 {
		binary.LittleEndian.PutUint16(b[i:], uint16(0x3000+i/2%0x400))
	}
}

// prepare makes the program resident.
func (p *Prober) prepare() error {
	if err := p.create(); err != nil || p.prepared {
		return err
	}
	_, err := p.control.Prepare(p.program, driver.PrepareOptions{})
	p.prepared = err == nil
	return err
}

// Run calls the first procedure of the container once, with a statistics buffer.
func (p *Prober) Run() error {
	if err := p.prepare(); err != nil {
		return err
	}
	_, err := p.control.SendRequest(p.request)
	return err
}

// Fence calls the first procedure of the container once for each event of signals, which the call signals when it has
// run, and then once with all of waits, for which that call waits. It also signals them, because a call with events
// signals at least one (chapter 30).
func (p *Prober) Fence(signals, waits []protocol.Event) error {
	if err := p.prepare(); err != nil {
		return err
	}
	for i := range signals {
		signals[i].TargetMask |= p.mask
		r := *p.request
		r.Signals = signals[i : i+1]
		if _, err := p.control.SendRequest(&r); err != nil {
			return err
		}
	}
	r := *p.request
	r.Waits, r.Signals = waits, waits
	_, err := p.control.SendRequest(&r)
	return err
}

// SetTarget makes a host doorbell resident, which the calls of Fence ring besides the client's.
func (p *Prober) SetTarget(slot int, reg uint64, index uint32) error {
	p.mask |= 1 << slot
	return p.dev.Coprocessor().SetTarget(slot, reg, index)
}

// Clients returns the control client and the direct-path clients, for inference and for administration.
func (p *Prober) Clients() []*driver.Services {
	return []*driver.Services{p.control, p.direct, p.admin}
}

// Stats returns the record that the firmware wrote to the statistics buffer, or nil before a run.
func (p *Prober) Stats() (*firmware.StatsHeader, []firmware.EngineStats, firmware.Totals, error) {
	if binary.LittleEndian.Uint16(p.stats) == 0 {
		return nil, nil, firmware.Totals{}, nil
	}
	h, engines, err := firmware.ReadStats(p.stats)
	return h, engines, firmware.ReadTotals(p.stats), err
}

// Command is a command for Send.
type Command struct {
	Name    string
	Channel protocol.Channel
	// Header is the command's; its identifier is set, and its size if it is 0.
	Header protocol.Header
	// Values are for the body's fields, or for a body without known fields its 32-bit words.
	Values []uint64
	Wire   uint16 // identifier on the execution loop's channel; 0: the command's
	Post   bool   // do not wait for its completion
	Mute   bool   // do not ring the doorbell either, which the next command does
}

// Send sends a command to the firmware, or to the driver if it serves the command, and returns the answer and the
// notifications as text, a line each. A container is made resident first.
func (p *Prober) Send(c Command) (string, error) {
	row, h := protocol.ByName(c.Name), c.Header
	if row == nil {
		return "", fmt.Errorf("unknown command %q", c.Name)
	}
	if row.Disposition == protocol.Emitted {
		return "", fmt.Errorf("%s is a notification: the firmware sends it", c.Name)
	}
	body, err := body(row, c.Values)
	if err != nil {
		return "", fmt.Errorf("%s: %w", c.Name, err)
	}
	if p.container != nil {
		if err := p.prepare(); err != nil {
			return "", err
		}
	}
	size := cmp.Or(h.Size, uint32(len(body)))
	words := []uint32{coprocessor.Numbering.Of(row), size, h.Priority, uint32(h.ProgramID), uint32(h.ProcessID),
		h.ProcedureID}
	if c.Channel == protocol.Loop {
		words = []uint32{size, uint32(cmp.Or(c.Wire, row.Wire)), uint32(h.ProgramID), uint32(h.ProcessID),
			h.ProcedureID, h.Priority}
	}
	var msg []byte
	for _, v := range words {
		msg = binary.LittleEndian.AppendUint32(msg, v)
	}
	a := &driver.MethodArguments{In: []uint64{uint64(c.Channel)}, Data: append(msg, body...), Post: c.Post,
		Mute: c.Mute}
	return p.method("ANE_SendCommand", a)
}

// body writes a command's body.
func body(row *protocol.Row, values []uint64) ([]byte, error) {
	l := row.Request
	if len(values) < len(l.Fields) || len(values) > len(l.Fields)+l.Tail/4 {
		var names []string
		for _, f := range l.Fields {
			names = append(names, f.Name)
		}
		return nil, fmt.Errorf("got %d values, want %d %q and up to %d words", len(values), len(l.Fields), names,
			l.Tail/4)
	}
	var tail []byte
	for _, v := range values[len(l.Fields):] {
		if v>>32 != 0 {
			return nil, fmt.Errorf("the word %#x exceeds 32 bits", v)
		}
		tail = binary.LittleEndian.AppendUint32(tail, uint32(v))
	}
	r, err := protocol.NewRecord(l, tail, values[:len(l.Fields)]...)
	if err != nil {
		return nil, err
	}
	return r.Append(nil), nil
}

// ofMappings are the methods that are about the memory that the client has mapped.
var ofMappings = []string{"ANE_FlushInactiveDARTMappings", "ANE_UnmapDartBuffers", "ANE_ShowSharedMemoryAllocations"}

// Method calls a method of the direct-path client (table 27.5), for methods of mappings after mapping a page, and
// returns its results as text.
func (p *Prober) Method(name string, in []uint64) (string, error) {
	i := slices.IndexFunc(driver.Methods, func(m driver.Method) bool { return m.Name == name })
	if i < 0 {
		return "", fmt.Errorf("unknown method %q", name)
	}
	if slices.Contains(ofMappings, name) {
		if err := p.mapTo(p.admin); err != nil {
			return "", err
		}
	}
	return p.method(name, &driver.MethodArguments{In: in, Out: make([]uint64, driver.Methods[i].Out)})
}

func (p *Prober) method(name string, a *driver.MethodArguments) (string, error) {
	err := p.admin.Method(name, a)
	text := a.Text
	for i, v := range a.Out {
		text += fmt.Sprintf("out[%d]: %#x\n", i, v)
	}
	return text, err
}

// Selector calls a selector of a user client: "control", "direct" or "hints". What must come before it, such as the
// creation of a program, is done first.
func (p *Prober) Selector(client string, n uint32) error {
	var calls []func(*Prober) error
	switch client {
	case "control":
		calls = controlCalls
	case "direct":
		calls = directCalls
	case "hints":
		calls = hintsCalls
	default:
		return fmt.Errorf("unknown client %q; want control, direct or hints", client)
	}
	if int64(n) >= int64(len(calls)) {
		return fmt.Errorf("selector %d: the %s client has selectors 0 to %d", n, client, len(calls)-1)
	}
	return calls[n](p)
}

// raw calls a selector with scalars alone, by the kernel's block of bytes.
func (p *Prober) raw(c driver.UserClient, n uint32, scalars ...uint64) error {
	if r := p.task.CallWithBlock(c, n, driver.BlockArguments{Scalars: scalars}); r != driver.Success {
		return &driver.Error{Call: fmt.Sprintf("selector %d", n), Return: r, Cause: c.LastError()}
	}
	return nil
}

// Raw calls a selector of a user client with the bytes of a structure and zeros up to its size, or with none if that is
// negative: the record's. Its scalars are zeros. Nothing is done before.
func (p *Prober) Raw(client string, n uint32, structure []byte, size int) error {
	s, typ := p.control, driver.ClientTypes[0]
	switch client {
	case "control":
	case "direct":
		s, typ = p.direct, driver.ClientTypes[1]
	default:
		return fmt.Errorf("a structure is for the control and the direct client, not %q", client)
	}
	r, _ := driver.DecodeDispatch(typ.Methods, n) // the driver refuses a selector that is not in the array
	if size < 0 {
		size = int(r.Sizes.StructIn)
	}
	if len(structure) > size {
		return fmt.Errorf("the structure has %d bytes, more than the %d of the call", len(structure), size)
	}
	a := driver.BlockArguments{
		Scalars:      make([]uint64, r.Sizes.ScalarIn),
		Structure:    append(slices.Clone(structure), make([]byte, size-len(structure))...),
		ScalarsOut:   int(r.Sizes.ScalarOut),
		StructureOut: int(r.Sizes.StructOut),
	}
	if r := p.task.CallWithBlock(s.Client(), n, a); r != driver.Success {
		return &driver.Error{Call: fmt.Sprintf("selector %d", n), Return: r, Cause: s.Client().LastError()}
	}
	return nil
}

// controlCalls are the selectors of the control client (table 27.2).
var controlCalls = []func(*Prober) error{
	func(p *Prober) error { return p.reopen(p.dev.OpenServices) },
	func(p *Prober) error { return p.raw(p.control.Client(), driver.SelDeviceClose) },
	(*Prober).Run,
	(*Prober).create,
	(*Prober).prepare,
	func(p *Prober) error {
		if err := p.prepare(); err != nil {
			return err
		}
		p.prepared = false
		return p.control.Unprepare(p.program)
	},
	func(p *Prober) error {
		if err := p.create(); err != nil {
			return err
		}
		h := p.program
		p.program, p.prepared = 0, false
		return p.control.Destroy(h)
	},
	func(p *Prober) error { _, err := p.control.Status(); return err },
	func(p *Prober) error {
		if err := p.prepare(); err != nil {
			return err
		}
		_, err := p.control.CreateInstance(p.program, driver.PrepareOptions{})
		return err
	},
	(*Prober).prepareChain,
	func(p *Prober) error { _, err := p.control.Version(); return err },
	(*Prober).registerDebug,
	func(p *Prober) error {
		return errors.Join(p.registerDebug(), p.raw(p.control.Client(), driver.SelUnregisterDebugWP))
	},
	func(p *Prober) error {
		return errors.Join(p.registerDebug(), p.Run(), p.raw(p.control.Client(), driver.SelGetDebugWPItem, 0, 0))
	},
	func(p *Prober) error {
		return errors.Join(p.registerDebug(), p.Run(), p.raw(p.control.Client(), driver.SelGetDebugWPItem, 0, 0),
			p.raw(p.control.Client(), driver.SelCompleteDebugWPItem, 1, 0))
	},
	func(p *Prober) error {
		return errors.Join(p.registerDebug(), p.raw(p.control.Client(), driver.SelReleaseDebugWP))
	},
	func(p *Prober) error { return p.raw(p.control.Client(), driver.SelLoadFirmware, 0, 0, 0) },
}

// reopen opens another client of the device and closes it.
func (p *Prober) reopen(open func(*driver.Task) (*driver.Services, error)) error {
	s, err := open(p.task)
	if err != nil {
		return err
	}
	return s.Close()
}

// registerDebug registers the debug work processor, which only an internal build has.
func (p *Prober) registerDebug() error {
	if p.debug {
		return nil
	}
	p.debug = true
	return p.control.RegisterDebugWorkProcessor(make([]byte, 1<<12), 8)
}

// prepareChain creates a chain of the first procedure.
func (p *Prober) prepareChain() error {
	if err := p.prepare(); err != nil || p.chained {
		return err
	}
	c, err := p.control.ChainingPrepare(p.program, 0)
	p.chain, p.chained = c, err == nil
	return err
}

// enqueue enqueues an output set of the chain.
func (p *Prober) enqueue() error {
	if err := p.prepareChain(); err != nil {
		return err
	}
	return p.direct.OutputSetEnqueue(p.chain, p.request.Outputs)
}

// directCalls are the selectors of the direct-path client (table 27.4).
var directCalls = []func(*Prober) error{
	func(p *Prober) error { return p.reopen(p.dev.OpenDirect) },
	func(p *Prober) error { return p.raw(p.direct.Client(), driver.SelDeviceClose) },
	func(p *Prober) error {
		if err := p.prepare(); err != nil {
			return err
		}
		_, err := p.direct.SendRequest(p.request)
		return err
	},
	(*Prober).enqueue,
	func(p *Prober) error {
		if err := p.enqueue(); err != nil {
			return err
		}
		prog, err := loader.Read(p.container)
		if err != nil {
			return err
		}
		var in []driver.ReadyBuffer
		for _, port := range prog.Procedures()[0].Ports {
			if !port.Output {
				i := len(in)
				in = append(in, driver.ReadyBuffer{Port: uint32(i), Surface: p.request.Inputs[i], Size: port.Size})
			}
		}
		return p.direct.InputsReady(p.chain, in, 0)
	},
	(*Prober).mapMemory,
	func(p *Prober) error {
		if err := p.mapMemory(); err != nil {
			return err
		}
		at := p.mapped
		p.mapped = 0
		return p.direct.MemoryUnmap(0, at)
	},
	func(p *Prober) error { _, err := p.direct.SessionHint(1, 1); return err },
	func(p *Prober) error {
		if err := p.prepareChain(); err != nil {
			return err
		}
		return p.direct.SetActiveProcedure(p.chain, 1)
	},
}

func (p *Prober) mapMemory() error { return p.mapTo(p.direct) }

// mapTo maps a page of the task for the engine.
func (p *Prober) mapTo(s *driver.Services) error {
	if p.mapped != 0 {
		return nil
	}
	b := make([]byte, translation.PageSize)
	at := p.task.Map(b)
	addr, err := s.MemoryMap(0, []driver.Range{{Addr: at, Size: uint64(len(b))}}, translation.Input)
	p.mapped = addr
	return err
}

// hintsCalls are the selectors of the hint-only client.
var hintsCalls = []func(*Prober) error{
	func(p *Prober) error {
		c, r := p.dev.NewUserClient(p.task, driver.HintsClient)
		if r != driver.Success {
			return &driver.Error{Call: "IOServiceOpen", Return: r}
		}
		defer c.Close()
		return p.raw(c, 0, 1, 1)
	},
}
