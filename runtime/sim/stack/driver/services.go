package driver

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/coprocessor"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// Handle is the kernel's token of a session, a program, an instance or a chain.
type Handle uint64

// The user-space front ends (chapter 27).
const (
	ForInference      = "ANEServicesDevice"
	ForAdministration = "ANEHWDevice"
)

// Services is a front end: it packs the structs of the control client's selectors, or of the direct-path client's, and
// calls them. ANEHWDevice calls the methods of table 27.5 instead of requests. Its methods may be called
// from several goroutines; errors are *Error.
type Services struct {
	d      *Device
	task   *Task
	front  string
	object [ConnectionOffset + 8]byte // the device handle, with the connection
	client UserClient                 // of the connection, also when it is closed
	token  Handle
	info   DeviceInfo
	seq    atomic.Uint32

	mu         sync.Mutex
	containers map[Handle]uint64 // address of each program's container
	buffers    sync.Pool         // *requestBuffer
}

// DeviceInfo is the result of the handshake (table 27.3).
type DeviceInfo struct {
	Token      Handle
	Version    [2]uint32
	Engines    uint32
	CPUSubtype uint32
	Timeout    time.Duration
}

// requestBuffer holds a packed request.
type requestBuffer struct {
	in   [RequestSize]byte
	out  [ReplySize]byte
	scal [1]uint64
	args IOExternalMethodArguments
}

// OpenServices opens the device for a task with usage 1: a control client and
// selector 0.
func (d *Device) OpenServices(task *Task) (*Services, error) {
	return d.OpenServicesUsage(task, UsageStandard)
}

// OpenServicesUsage is OpenServices with another usage type.
func (d *Device) OpenServicesUsage(task *Task, usage byte) (*Services, error) {
	return d.open(task, ForInference, ControlClient, usage)
}

// OpenDirect opens the device for a task over the direct path.
func (d *Device) OpenDirect(task *Task) (*Services, error) {
	return d.open(task, ForInference, DirectPathClient, UsageStandard)
}

// OpenHardware opens the device for a task for administration.
func (d *Device) OpenHardware(task *Task) (*Services, error) {
	return d.open(task, ForAdministration, DirectPathClient, UsageStandard)
}

func (d *Device) open(task *Task, front string, typ uint32, usage byte) (*Services, error) {
	c, r := d.NewUserClient(task, typ)
	if r != Success {
		e := &Error{Call: "IOServiceOpen", Return: r}
		if r == NotPrivileged {
			e.Cause = fmt.Errorf("the task lacks %s", UserAccess)
		}
		return nil, e
	}
	s := &Services{d: d, task: task, front: front, client: c, containers: map[Handle]uint64{}}
	id := c.(*client).id
	binary.LittleEndian.PutUint64(s.object[ConnectionOffset:], id)
	d.trace.Note("IOServiceOpen", id, 0, trace.Text("front", front), trace.Data(s.object[:]))
	s.buffers.New = func() any {
		b := &requestBuffer{}
		b.args = IOExternalMethodArguments{ScalarInput: b.scal[:], StructureInput: b.in[:], StructureOutput: b.out[:]}
		return b
	}
	a := IOExternalMethodArguments{
		StructureInput:  make([]byte, openIn.size),
		StructureOutput: make([]byte, openOut.size),
	}
	openIn.encode(a.StructureInput, &openInput{usage: usage, callback: BoardID, timeout: HandshakeTimeout})
	if r := c.ExternalMethod(SelDeviceOpen, &a); r != Success {
		e := &Error{Call: "ANE_DeviceOpen", Return: r, Cause: a.cause}
		if usage == UsageUnsupported && r == Unsupported {
			e.Status = StatusUnsupported
		}
		c.Close()
		return nil, e
	}
	var info openOutput
	_ = openOut.decode(a.StructureOutput, &info) // its size is the layout's
	s.token = Handle(info.token)
	s.info = DeviceInfo{
		Token:      s.token,
		Version:    [2]uint32{info.version, info.version2},
		Engines:    info.engines,
		CPUSubtype: info.cpuSubtype,
		Timeout:    time.Duration(info.timeout) * time.Millisecond,
	}
	return s, nil
}

// Info returns the result of the handshake.
func (s *Services) Info() DeviceInfo { return s.info }

// Front returns the name of the front end.
func (s *Services) Front() string { return s.front }

// Client returns the user client of the connection that the handle's object has at its offset; calls of one that is
// closed return Closed.
func (s *Services) Client() UserClient {
	s.d.mu.RLock()
	defer s.d.mu.RUnlock()
	if c := s.d.clients[binary.LittleEndian.Uint64(s.object[ConnectionOffset:])]; c != nil {
		return c
	}
	return s.client
}

// Method calls a method of table 27.5.
func (s *Services) Method(name string, a *MethodArguments) error {
	if s.front != ForAdministration {
		return &Error{Call: name, Return: Unsupported, Cause: fmt.Errorf("the method belongs to %s", ForAdministration)}
	}
	if r := s.Client().Method(name, a); r != Success {
		return &Error{Call: name, Return: r, Cause: s.Client().LastError()}
	}
	return nil
}

// method calls a selector and converts its failure to an error.
func (s *Services) method(call string, selector uint32, a *IOExternalMethodArguments) error {
	if r := s.Client().ExternalMethod(selector, a); r != Success {
		return &Error{Call: call, Return: r, Cause: a.cause}
	}
	return nil
}

// of refuses a method on a client of the other class, whose selector of that number is another method.
func (s *Services) of(class, call string) error {
	if s.client.Class() != class {
		return &Error{Call: call, Return: Unsupported, Cause: fmt.Errorf("the method belongs to %s", class)}
	}
	return nil
}

// send calls a selector whose input is a struct.
func send[In any](s *Services, class, name string, selector uint32, in *layout[In], v *In) error {
	_, err := ask(s, class, name, selector, in, v, (*layout[struct{}])(nil))
	return err
}

// ask calls a selector whose input and output are structs; nil for none.
func ask[In, Out any](s *Services, class, name string, selector uint32, in *layout[In], v *In,
	out *layout[Out]) (reply Out, err error) {
	if err := s.of(class, name); err != nil {
		return reply, err
	}
	var a IOExternalMethodArguments
	if in != nil {
		a.StructureInput = make([]byte, in.size)
		in.encode(a.StructureInput, v)
	}
	if out != nil {
		a.StructureOutput = make([]byte, out.size)
	}
	if err := s.method(name, selector, &a); err != nil || out == nil {
		return reply, err
	}
	return reply, out.decode(a.StructureOutput, &reply)
}

// The classes of the functional clients.
var (
	controlClass = ClientTypes[0].Class
	directClass  = ClientTypes[1].Class
)

// ProgramCreate passes a container to the kernel, signed as the daemon does; the bytes must stay unchanged until
// Destroy.
func (s *Services) ProgramCreate(container []byte) (Handle, error) {
	return s.ProgramCreateSigned(container, Sign(sha256.Sum256(container)))
}

// ProgramCreateSigned is ProgramCreate with this signature.
func (s *Services) ProgramCreateSigned(container, signature []byte) (Handle, error) {
	if uint64(len(container)) > math.MaxUint32 {
		return 0, fmt.Errorf("driver: a container of %d bytes, want less than 4 GiB", len(container))
	}
	var result [8]byte
	at, to, by := s.task.Map(container), s.task.Map(result[:]), s.task.Map(signature)
	defer s.task.Unmap(to)
	defer s.task.Unmap(by)
	args := createArgs{addr: at, size: uint32(len(container)), result: to, signature: by}
	if err := send(s, controlClass, "ANE_ProgramCreate", SelProgramCreate, &createIn, &args); err != nil {
		s.task.Unmap(at)
		return 0, err
	}
	h := Handle(binary.LittleEndian.Uint64(result[:]))
	s.mu.Lock()
	s.containers[h] = at
	s.mu.Unlock()
	return h, nil
}

// PrepareOptions are the residency and power arguments of an instance.
type PrepareOptions struct {
	QoS uint32 // quality-of-service class, such as 21
	// Priority is the execution priority, 0 to 7; 0 and 1 are the system's. Zero means PriorityDefault unless Realtime
	// is set.
	Priority    uint32
	Realtime    bool   // Priority 0 means 0
	QueueDepth  uint32 // requests that may wait; 0 means DefaultQueueDepth
	PowerSaving bool   // enablePowerSaving
	Aggressive  bool   // more aggressive power saving; requires PowerSaving
	KeepWired   bool   // never unwire the model's memory
}

func (o *PrepareOptions) priority() uint32 {
	if o.Priority == 0 && !o.Realtime {
		return PriorityDefault
	}
	return o.Priority
}

func (o *PrepareOptions) flags() uint32 {
	return word(o.PowerSaving)*FlagPowerSaving | word(o.Aggressive)*FlagAggressive | word(o.KeepWired)*FlagKeepWired
}

// DefaultQueueDepth and MaxQueueDepth bound the waiting requests of an instance, modelled.
const (
	DefaultQueueDepth = 127
	MaxQueueDepth     = 1024
)

// Prepared describes a prepared program.
type Prepared struct {
	Handle             Handle
	ProgramID          int32  // the firmware's slot
	ProcessID          int32  // the firmware's process
	IntermediateHandle uint32 // of the resident scratch memory
	Procedures         int
	QueueDepth         uint32
	Resident           uint64 // bytes of device address space of the program
}

// Prepare makes a program resident: the firmware loads it and creates a process.
func (s *Services) Prepare(h Handle, o PrepareOptions) (Prepared, error) {
	args := prepareArgs{token: uint64(h), qos: o.QoS, priority: o.priority(), flags: o.flags(), depth: o.QueueDepth}
	out, err := ask(s, controlClass, "ANE_ProgramPrepare", SelProgramPrepare, &prepareStruct, &args, &prepareStruct)
	if err != nil {
		return Prepared{}, err
	}
	return Prepared{
		Handle:             h,
		ProgramID:          int32(out.programID),
		ProcessID:          int32(out.processID),
		IntermediateHandle: out.intermediate,
		Procedures:         int(out.procedures),
		QueueDepth:         out.depth,
		Resident:           out.resident,
	}, nil
}

// CreateInstance creates another process of a resident program of this client or of one with the same team identifier
// and code-directory hash, in whose memory it then runs.
func (s *Services) CreateInstance(h Handle, o PrepareOptions) (Handle, error) {
	var result [8]byte
	to := s.task.Map(result[:])
	defer s.task.Unmap(to)
	args := instanceArgs{
		token:    uint64(h),
		result:   to,
		qos:      o.QoS,
		priority: o.priority(),
		flags:    o.flags(),
		depth:    o.QueueDepth,
	}
	err := send(s, controlClass, "ANE_ProgramCreateInstance", SelCreateInstance, &instanceIn, &args)
	return Handle(binary.LittleEndian.Uint64(result[:])), err
}

// Unprepare ends the process of a program or an instance, and with the last one
// the program's residency.
func (s *Services) Unprepare(h Handle) error {
	return send(s, controlClass, "ANE_ProgramUnprepare", SelProgramUnprepare, &prepareStruct,
		&prepareArgs{token: uint64(h)})
}

// Destroy removes a program or an instance.
func (s *Services) Destroy(h Handle) error {
	err := send(s, controlClass, "ANE_ProgramDestroy", SelProgramDestroy, &destroyIn, &destroyArgs{token: uint64(h)})
	if err != nil {
		return err
	}
	s.mu.Lock()
	at, ok := s.containers[h]
	delete(s.containers, h)
	s.mu.Unlock()
	if ok {
		s.task.Unmap(at)
	}
	return nil
}

// Request is one call of a procedure, or of consecutive ones.
type Request struct {
	Handle    Handle
	Procedure uint32
	// Further is the number of procedures after Procedure that the firmware runs one after another for this request,
	// without the host. Inputs and Outputs then have the surfaces of all, procedure by procedure. A surface that is an
	// output and an input passes a value on.
	Further  uint32
	Priority uint32 // execution priority 0 to 7
	QoS      uint32 // quality-of-service class; 0 means QoSDefault
	Inputs   []uint32
	Outputs  []uint32 // surfaces, one per port in the order of the procedure's ports
	// Intermediate lists other surfaces that the request keeps mapped.
	Intermediate []uint32
	Waits        []protocol.Event
	Signals      []protocol.Event
	Stats        uint32        // surface for the statistics buffer; 0 for none
	Doorbell     uint32        // index; 0 means the execution loop's
	Timeout      time.Duration // virtual; 0 means the session's
}

// Reply is the 40-byte output of a request (table 27.6).
type Reply struct {
	Sequence uint32
	Result   Return
	Handle   Handle
	Status   uint32 // the status flag at +0x20: 1 if the procedure ran
}

// EncodeRequest packs a request into RequestSize bytes.
func EncodeRequest(b []byte, r *Request, sequence uint32) error {
	switch {
	case len(b) != RequestSize:
		return fmt.Errorf("driver: want a request of %d bytes, got %d", RequestSize, len(b))
	case len(r.Inputs) > maxPorts || len(r.Outputs) > maxPorts || len(r.Intermediate) > maxPorts:
		return fmt.Errorf("driver: got %d input, %d output and %d intermediate surfaces, want at most %d each",
			len(r.Inputs),
			len(r.Outputs), len(r.Intermediate), maxPorts)
	case len(r.Waits) > maxEvents || len(r.Signals) > maxEvents:
		return fmt.Errorf("driver: got %d wait and %d signal events, want at most %d each", len(r.Waits),
			len(r.Signals),
			maxEvents)
	case r.Timeout < 0:
		return fmt.Errorf("driver: timeout is %v, want >= 0", r.Timeout)
	}
	q := programRequest{
		token: uint64(r.Handle), sequence: sequence, procedure: r.Procedure, priority: r.Priority,
		qos: cmp.Or(r.QoS, QoSDefault), category: IOCategory, doorbell: cmp.Or(r.Doorbell, coprocessor.BellLoop),
		timeout: uint64(r.Timeout), stats: r.Stats, further: r.Further,
	}
	q.nInputs, q.nOutputs = uint32(copy(q.inputs[:], r.Inputs)), uint32(copy(q.outputs[:], r.Outputs))
	q.nIntermediates = uint32(copy(q.intermediates[:], r.Intermediate))
	q.nWaits, q.nSignals = uint32(copy(q.waits[:], r.Waits)), uint32(copy(q.signals[:], r.Signals))
	requestStruct.encode(b, &q)
	return nil
}

// SendRequest runs a procedure and returns when it has run. It does not keep r.
func (s *Services) SendRequest(r *Request) (Reply, error) {
	b := s.buffers.Get().(*requestBuffer)
	defer s.buffers.Put(b)
	if err := s.pack(b, r); err != nil {
		return Reply{}, err
	}
	ret := s.Client().ExternalMethod(SelSendRequest, &b.args)
	if ret != Success {
		e := &Error{Call: "ANE_ProgramSendRequest", Return: ret, Cause: b.args.cause}
		return Reply{Result: ret, Handle: r.Handle}, e
	}
	le := binary.LittleEndian
	return Reply{
		Sequence: le.Uint32(b.out[0:]),
		Result:   Return(le.Uint32(b.out[4:])),
		Handle:   Handle(le.Uint64(b.out[8:])),
		Status:   le.Uint32(b.out[0x20:]),
	}, nil
}

// SendRequestAsync queues a request; its completion arrives at the port with ref.
func (s *Services) SendRequestAsync(r *Request, port *WakePort, ref [ReferenceSize]byte) error {
	if port == nil {
		return &Error{Call: "ANE_ProgramSendRequest", Return: BadArgument, Cause: fmt.Errorf("the wake port is nil")}
	}
	b := s.buffers.Get().(*requestBuffer)
	defer s.buffers.Put(b)
	if err := s.pack(b, r); err != nil {
		return err
	}
	b.args.AsyncWakePort, b.args.AsyncReference = port, ref
	defer func() { b.args.AsyncWakePort = nil }()
	return s.method("ANE_ProgramSendRequest", SelSendRequest, &b.args)
}

func (s *Services) pack(b *requestBuffer, r *Request) error {
	if s.front != ForInference {
		return &Error{Call: "ANE_ProgramSendRequest", Return: Unsupported,
			Cause: fmt.Errorf("requests belong to %s", ForInference)}
	}
	if err := EncodeRequest(b.in[:], r, s.seq.Add(1)-1); err != nil {
		return &Error{Call: "ANE_ProgramSendRequest", Return: BadArgument, Cause: err}
	}
	b.scal[0] = uint64(s.token)
	return nil
}

// Status returns the device's status: selector 7.
func (s *Services) Status() (Status, error) {
	return ask(s, controlClass, "ANE_GetStatus", SelGetStatus, (*layout[struct{}])(nil), nil, &statusOut)
}

// Version returns the driver's version: selector 10.
func (s *Services) Version() (uint64, error) {
	if err := s.of(controlClass, "ANE_GetVersion"); err != nil {
		return 0, err
	}
	a := IOExternalMethodArguments{ScalarOutput: make([]uint64, 1)}
	err := s.method("ANE_GetVersion", SelGetVersion, &a)
	return a.ScalarOutput[0], err
}

// Close closes the device for the task, and the connection.
func (s *Services) Close() error {
	r := s.Client().Close()
	s.mu.Lock()
	for _, at := range s.containers {
		s.task.Unmap(at)
	}
	s.containers = nil
	s.mu.Unlock()
	if r != Success {
		return &Error{Call: "IOServiceClose", Return: r}
	}
	return nil
}
