package broker

import "context"

// Kernel opens connections to the driver. The task that opens is the broker's.
type Kernel interface {
	// Open opens a control client on behalf of a tenant.
	Open(on Identity) (Services, error)
}

// Services is what the broker needs of one connection to the driver. Any number
// of goroutines may call.
type Services interface {
	// Create hands a container over and returns the program's handle.
	Create(container []byte) (uint64, error)
	// Procedures lists what a created program can run.
	Procedures(program uint64) ([]Procedure, error)
	// Prepare maps a program's memory and loads it; Unprepare undoes it.
	Prepare(program uint64) error
	Unprepare(program uint64) error
	// CreateInstance makes an instance of a prepared program.
	CreateInstance(program uint64) (instance, intermediate uint64, err error)
	// Send runs one request and returns when it is complete.
	Send(ctx context.Context, r Request) error
	// Destroy ends a program or an instance.
	Destroy(handle uint64) error
	Close() error
}

// Request is one submission.
type Request struct {
	Handle    uint64
	Procedure string
	Surfaces  map[string][]byte
	Priority  int
	Queue     int
	QoS       QoS
}
