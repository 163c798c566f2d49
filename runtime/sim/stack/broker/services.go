package broker

import "time"

// Handle is the driver's token of a program or of an instance of one.
type Handle uint64

// Kernel is the driver as the broker uses it.
type Kernel interface {
	// Procedures reads a container without loading it: its procedures in the
	// order of their indices, their ports in the order in which a request names
	// surfaces.
	Procedures(container []byte) ([]Procedure, error)
	// Open opens the device on behalf of a tenant. The opening task is the
	// broker's, which holds the kernel's gate; programs belong to the tenant.
	Open(tenant Identity) (Services, error)
}

// Services is one connection to the driver: the calls of its front end that the
// broker makes. Any number of goroutines may call.
type Services interface {
	// ProgramCreate passes a container to the driver; the bytes must stay unchanged until Destroy.
	ProgramCreate(container []byte) (Handle, error)
	// Prepare makes a program resident; Unprepare of the last handle of a program
	// ends that.
	Prepare(program Handle, o PrepareOptions) (Prepared, error)
	// CreateInstance creates another process of a resident program.
	CreateInstance(program Handle, o PrepareOptions) (Handle, error)
	Unprepare(h Handle) error
	// Destroy removes a program or an instance.
	Destroy(h Handle) error
	// PrepareChain creates a chain of a procedure of a prepared program or instance, of this connection or of another
	// of the same tenant. The chain ends with the connection that created it, and its program cannot be removed before.
	PrepareChain(h Handle, procedure int) (chain Handle, err error)
	// Chain creates a chain of the index-th procedure of a prepared instance of this connection, with the broker's own
	// grant of data chaining.
	Chain(h Handle, index int, p *Procedure) (Chain, error)
	// SendRequest runs a procedure and returns when it has run.
	SendRequest(r *Request) error
	// SendRequestAsync queues a request, which must not change before done is called with its result, in the virtual
	// time of the completion. done must not wait for another request. After an error it is not called.
	SendRequestAsync(r *Request, done func(error)) error
	// CreateSurface creates a surface of bytes, which must stay allocated until ReleaseSurface; 0 means that no surface
	// is left.
	CreateSurface(b []byte) uint32
	ReleaseSurface(id uint32) bool
	Close() error
}

// Chain is a resident request of the firmware.
type Chain interface {
	// Trigger runs the procedure of the chain and returns when it has run. It is passed all surfaces of the request;
	// surfaces of the inputs in fed are not sent, because the chain feeds them with its last output set.
	Trigger(r *Request, fed []bool) error
	Close() error
}

// PrepareOptions are the arguments of residency, power and quality of service.
type PrepareOptions struct {
	QoS         QoS
	Priority    int
	QueueDepth  int
	PowerSaving bool
	Aggressive  bool
	KeepWired   bool
}

// Prepared describes a prepared program.
type Prepared struct {
	Intermediate uint32 // handle of the intermediate buffer
	Resident     int64  // bytes mapped; 0 if unknown
}

// Request is one call of a procedure.
type Request struct {
	Handle    Handle
	Procedure int // index
	Further   int // procedures after it that the firmware runs without the host
	Priority  int // 0 the most urgent of 8
	QoS       QoS
	Inputs    []uint32 // surfaces, one per port in the procedures' order
	Outputs   []uint32
	Timeout   time.Duration // virtual; 0 means the driver's default
}

// returner is an error of the driver that has a return code.
type returner interface{ IOReturn() uint32 }
