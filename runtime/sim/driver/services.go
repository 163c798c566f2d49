package driver

import (
	"time"

	"github.com/zinc-compiler/zinc/runtime/sim/protocol"
)

// Handle is a token of a program or an instance of one, as the kernel minted it.
type Handle uint64

// Services is ANEServicesDevice, the user-space front end of the control client:
// it packs the structs and calls the selectors.
type Services struct {
}

// OpenServices opens the device for a task with usage 1: a control client and
// selector 0. Errors are *Error.
func (d *Device) OpenServices(task *Task) (*Services, error) { return nil, Unsupported }

// OpenServicesUsage is OpenServices with a usage type of the caller's choice.
func (d *Device) OpenServicesUsage(task *Task, usage byte) (*Services, error) {
	return nil, Unsupported
}

// PrepareOptions are the residency and power arguments of an instance.
type PrepareOptions struct {
	QoS         uint32 // quality-of-service class, such as 21
	Priority    uint32 // execution priority 0 to 7; 0 and 1 are the system's
	QueueDepth  uint32 // requests that may wait; 0 means DefaultQueueDepth
	PowerSaving bool   // enablePowerSaving
	KeepWired   bool   // opt out of unwiring the model's memory
	Aggressive  bool   // the more aggressive power saving
}

// DefaultQueueDepth and MaxQueueDepth bound the requests of an instance that
// wait at a time, modelled.
const (
	DefaultQueueDepth = 127
	MaxQueueDepth     = 1024
)

// Prepared is what the kernel says of a prepared program.
type Prepared struct {
	Handle             Handle
	ProgramID          int32  // the firmware's slot
	ProcessID          int32  // the firmware's process
	IntermediateHandle uint32 // names the resident scratch memory
	Procedures         int
	QueueDepth         uint32
	Resident           uint64 // bytes mapped for the program
}

// Request is one call of a procedure.
type Request struct {
	Handle    Handle
	Procedure uint32
	Priority  uint32 // execution priority 0 to 7
	QoS       uint32 // quality-of-service class; 0 means 21, the default class
	Inputs    []uint32
	Outputs   []uint32 // surfaces, one a port in the procedure's order
	// Intermediate are surfaces that the request keeps mapped besides.
	Intermediate []uint32
	Waits        []protocol.Event
	Signals      []protocol.Event
	Stats        uint32 // surface for the statistics buffer; 0 for none
	Doorbell     uint32 // index of the doorbell, below 32
	Timeout      time.Duration
	Sequence     uint32
}

// Reply is the 40-byte output of a request (table 27.6).
type Reply struct {
	Sequence uint32
	Result   Return
	Handle   Handle
	Status   uint32 // the status flag at +0x20: 1 when the procedure ran
}

// SendRequest runs a procedure and returns when it has run. It does not keep r.
func (s *Services) SendRequest(r *Request) (Reply, error) { return Reply{}, Unsupported }

// SendRequestAsync queues a call; its completion arrives at the port.
func (s *Services) SendRequestAsync(r *Request, port *WakePort, ref [ReferenceSize]byte) error {
	return Unsupported
}

// ProgramCreate hands the kernel a container; the bytes stay in use until
// Destroy.
func (s *Services) ProgramCreate(container []byte) (Handle, error) { return 0, Unsupported }

// Prepare makes a program resident: the firmware loads it and makes a process.
func (s *Services) Prepare(h Handle, o PrepareOptions) (Prepared, error) {
	return Prepared{}, Unsupported
}

// CreateInstance makes a further process of a resident program, of this client or
// of one with the same team identifier and code-directory hash.
func (s *Services) CreateInstance(h Handle, o PrepareOptions) (Handle, error) { return 0, Unsupported }

// Unprepare ends the process of a program or an instance, and with the last one
// the program's residency.
func (s *Services) Unprepare(h Handle) error { return Unsupported }

// Destroy forgets a program or an instance.
func (s *Services) Destroy(h Handle) error { return Unsupported }

// Close closes the device for the task.
func (s *Services) Close() error { return Unsupported }
