package driver

// ReferenceSize is the size of an asyncReference block in bytes (listing 27.2).
const ReferenceSize = 0x20

// Completion is the message that arrives at a wake port.
type Completion struct {
	Reference [ReferenceSize]byte // of the request
	Result    Return
	Reply     [ReplySize]byte // the output in table 27.6
}

// WakePort is the Mach port at which asynchronous requests complete, in the order in which they do.
type WakePort struct {
	deliver func(Completion)
}

// NewWakePort creates a port that calls f with each completion at the virtual time of the completion, with the command
// gate held: f must neither wait for a request nor advance the clock.
func NewWakePort(f func(Completion)) *WakePort { return &WakePort{deliver: f} }
