package broker

import (
	"context"
	"errors"
	"slices"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/driver"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/loader"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// Device adapts the driver of package driver to a broker's Kernel.
type Device struct {
	d    *driver.Device
	pid  int
	keys []string
}

// KernelKeys are the entitlements of the broker's own task: the hard gate, which only it and its per-user sibling hold,
// data chaining, and the two grants of priorities, because the driver sees the broker's task and not its callers'
// (modelled except the first).
func KernelKeys() []string {
	return []string{KeyUserClient, KeyDataChaining, kernelKey("realtimePriority"),
		kernelKey("systemReservedPriorities")}
}

// NewDevice returns the Kernel of a broker whose task has the process number and the entitlements, such as KernelKeys.
func NewDevice(d *driver.Device, pid int, entitlements []string) *Device {
	return &Device{d: d, pid: pid, keys: slices.Clone(entitlements)}
}

// kernelKey returns the key of a field of the driver's table of entitlements.
func kernelKey(field string) string {
	for i := range driver.Entitlements {
		if driver.Entitlements[i].Field == field {
			return driver.Entitlements[i].Key
		}
	}
	return field // no key has this name, so nobody has it
}

// Procedures reads a container as the driver will.
func (k *Device) Procedures(container []byte) ([]Procedure, error) {
	p, err := loader.Read(container)
	if err != nil {
		return nil, err
	}
	var procs []Procedure
	for _, q := range p.Procedures() {
		proc := Procedure{Name: q.Name}
		for _, port := range q.Ports {
			proc.Ports = append(proc.Ports, Port{Name: port.Name, Output: port.Output, Size: port.Size})
		}
		procs = append(procs, proc)
	}
	return procs, nil
}

// Open opens a control client: the broker's task, on behalf of the tenant.
func (k *Device) Open(tenant Identity) (Services, error) {
	task := &driver.Task{PID: k.pid, Entitlements: k.keys, OnBehalfOf: &driver.Task{
		PID: tenant.PID, TeamID: tenant.TeamID, CodeDirectoryHash: tenant.CodeDirectoryHash,
		Entitlements: tenant.Entitlements,
	}}
	s, err := k.d.OpenServices(task)
	if err != nil {
		return nil, wrap(err)
	}
	return &services{d: k.d, s: s, task: task}, nil
}

// openDirect opens a direct-path client for a task: the privilege to open is the broker's, the client's other
// properties are the task's.
func (k *Device) openDirect(task *driver.Task) (*driver.Services, error) {
	keys := []string{}
	for _, e := range task.Entitlements {
		if e != KeyUserClient {
			keys = append(keys, e)
		}
	}
	if slices.Contains(k.keys, KeyUserClient) {
		keys = append(keys, KeyUserClient)
	}
	s, err := k.d.OpenDirect(&driver.Task{PID: k.pid, Entitlements: keys, OnBehalfOf: task})
	return s, wrap(err)
}

// services is a control client.
type services struct {
	d    *driver.Device
	s    *driver.Services
	task *driver.Task
}

func (s *services) ProgramCreate(container []byte) (Handle, error) {
	h, err := s.s.ProgramCreate(container)
	return Handle(h), wrap(err)
}

func (o *PrepareOptions) driver() driver.PrepareOptions {
	return driver.PrepareOptions{
		QoS: uint32(o.QoS), Priority: uint32(o.Priority), Realtime: true, QueueDepth: uint32(o.QueueDepth),
		PowerSaving: o.PowerSaving || o.Aggressive, Aggressive: o.Aggressive, KeepWired: o.KeepWired,
	}
}

func (s *services) Prepare(h Handle, o PrepareOptions) (Prepared, error) {
	p, err := s.s.Prepare(driver.Handle(h), o.driver())
	return Prepared{Intermediate: p.IntermediateHandle, Resident: int64(p.Resident)}, wrap(err)
}

func (s *services) CreateInstance(h Handle, o PrepareOptions) (Handle, error) {
	in, err := s.s.CreateInstance(driver.Handle(h), o.driver())
	return Handle(in), wrap(err)
}

func (s *services) Unprepare(h Handle) error { return wrap(s.s.Unprepare(driver.Handle(h))) }
func (s *services) Destroy(h Handle) error   { return wrap(s.s.Destroy(driver.Handle(h))) }

func (s *services) PrepareChain(h Handle, procedure int) (Handle, error) {
	c, err := s.s.ChainingPrepare(driver.Handle(h), uint32(procedure))
	return Handle(c.Handle), wrap(err)
}

// Chain opens the two connections of a chain, which ends with them. They are of the same task, whose surfaces it uses.
func (s *services) Chain(h Handle, index int, p *Procedure) (Chain, error) {
	x := &chain{}
	for i := range p.Ports {
		if port := &p.Ports[i]; !port.Output {
			x.inputs = append(x.inputs, port.Size)
		}
	}
	var err error
	if x.control, err = s.d.OpenServices(s.task); err == nil {
		x.chain, err = x.control.ChainingPrepare(driver.Handle(h), uint32(index))
	}
	if err == nil {
		x.direct, err = s.d.OpenDirect(s.task)
	}
	if err != nil {
		return nil, errors.Join(wrap(err), x.Close())
	}
	return x, nil
}

// chain is a chain with its connections: it is created on the control client and triggered on the direct path.
type chain struct {
	control, direct *driver.Services
	chain           driver.Chain
	inputs          []uint64 // sizes
	ready           []driver.ReadyBuffer
}

func (x *chain) Trigger(r *Request, fed []bool) error {
	x.ready = x.ready[:0]
	for i, size := range x.inputs {
		if !fed[i] {
			x.ready = append(x.ready, driver.ReadyBuffer{Port: uint32(i), Surface: r.Inputs[i], Size: size})
		}
	}
	err := x.direct.OutputSetEnqueue(x.chain, r.Outputs)
	if err == nil {
		err = x.direct.InputsReady(x.chain, x.ready, 0)
	}
	return wrap(err)
}

func (x *chain) Close() (err error) {
	for _, c := range []*driver.Services{x.direct, x.control} {
		if c != nil {
			err = errors.Join(err, wrap(c.Close()))
		}
	}
	return err
}

func (r *Request) driver() driver.Request {
	return driver.Request{
		Handle: driver.Handle(r.Handle), Procedure: uint32(r.Procedure), Further: uint32(r.Further),
		Priority: uint32(r.Priority), QoS: uint32(r.QoS), Inputs: r.Inputs, Outputs: r.Outputs, Timeout: r.Timeout,
	}
}

func (s *services) SendRequest(r *Request) error {
	q := r.driver()
	_, err := s.s.SendRequest(&q)
	return wrap(err)
}

func (s *services) SendRequestAsync(r *Request, done func(error)) error {
	q := r.driver()
	port := driver.NewWakePort(func(m driver.Completion) {
		if m.Result == driver.Success {
			done(nil)
			return
		}
		done(wrap(&driver.Error{Call: "ANE_ProgramSendRequest", Return: m.Result}))
	})
	return wrap(s.s.SendRequestAsync(&q, port, [driver.ReferenceSize]byte{}))
}

func (s *services) CreateSurface(b []byte) uint32 { return s.task.CreateSurface(b) }
func (s *services) ReleaseSurface(id uint32) bool { return s.task.ReleaseSurface(id) }
func (s *services) Close() error                  { return wrap(s.s.Close()) }

// deviceError is an error of the driver with its return code.
type deviceError struct{ err *driver.Error }

func (e deviceError) Error() string    { return e.err.Error() }
func (e deviceError) IOReturn() uint32 { return uint32(e.err.Return) }
func (e deviceError) Unwrap() error    { return e.err }

// wrap adds the broker's method to an error of the driver.
func wrap(err error) error {
	var e *driver.Error
	if errors.As(err, &e) {
		return deviceError{e}
	}
	return err
}

// Direct is the direct path of a client in the broker's process: its own
// connection to the driver, and the handles for it.
type Direct struct {
	*driver.Services
	Program      driver.Handle
	Intermediate uint32
}

// OpenDirectConnection opens a direct-path client of the driver for an instance, for a holder of the temporary
// exception. The task must be the caller's: requests name its surfaces, and its entitlements say what it may do
// besides. The connection is closed with the instance, or by its owner.
func (s *Session) OpenDirectConnection(ctx context.Context, req DirectPathRequest, task *driver.Task) (*Direct, error) {
	k, ok := s.b.cfg.Kernel.(*Device)
	if !ok {
		return nil, errorf(mDirect, Failed, "the broker's Kernel is not a Device")
	}
	if task == nil || task.PID != s.id.PID || task.TeamID != s.id.TeamID ||
		task.CodeDirectoryHash != s.id.CodeDirectoryHash {
		return nil, errorf(mDirect, BadArgument, "the task does not belong to %v", &s.id)
	}
	h, err := s.OpenDirectPath(ctx, req)
	if err != nil {
		return nil, err
	}
	svc, err := k.openDirect(task)
	if err != nil {
		return nil, failed(mDirect, "open", err)
	}
	s.b.mu.Lock()
	in := s.instances[req.Instance]
	if in != nil {
		in.revoke = append(in.revoke, svc)
	}
	s.b.mu.Unlock()
	if in == nil {
		svc.Close()
		return nil, errorf(mDirect, NotFound, "instance %d is released", req.Instance)
	}
	s.b.log.Note("directConnection", s.num, 0, trace.Number("program", h.Program))
	return &Direct{svc, driver.Handle(h.Program), uint32(h.IntermediateBuffer)}, nil
}
