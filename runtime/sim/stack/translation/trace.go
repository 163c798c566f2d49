package translation

// StepKind says what a step of the unit did.
type StepKind uint8

// The steps.
const (
	Mapped    StepKind = iota + 1 // a buffer got pages
	Found                         // a buffer was already mapped
	Evicted                       // an idle mapping was evicted
	Unmaps                        // a mapping was removed by its owner
	StreamIn                      // a context got a stream
	StreamOut                     // a context lost its stream to another
	Faulted
)

var stepKinds = [...]string{
	Mapped:    "map",
	Found:     "found",
	Evicted:   "evict",
	Unmaps:    "unmap",
	StreamIn:  "stream in",
	StreamOut: "stream out",
	Faulted:   "fault",
}

func (k StepKind) String() string {
	if int(k) < len(stepKinds) && stepKinds[k] != "" {
		return stepKinds[k]
	}
	return "unknown step"
}

// Step is one line of the unit's trace.
type Step struct {
	Kind   StepKind
	Client uint64
	Stream int    // of StreamIn, StreamOut and Faulted; otherwise 0
	Addr   uint64 // device address
	Len    uint64 // bytes
	Usage  Usage
	Task   string
	Fault  *Fault // of Faulted
}

func (u *Unit) trace(s Step) {
	if u.cfg.Trace != nil {
		u.cfg.Trace(s)
	}
}

func (m *Mapping) trace(k StepKind, task string) {
	m.ctx.unit.trace(Step{
		Kind:   k,
		Client: m.ctx.client,
		Addr:   m.addr,
		Len:    uint64(len(m.host)),
		Usage:  m.usage,
		Task:   task,
	})
}
