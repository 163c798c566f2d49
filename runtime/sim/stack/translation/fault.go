package translation

import "fmt"

// Reason says which rule an access or a mapping broke.
type Reason uint8

// The reasons of a fault.
const (
	Unmapped   Reason = iota + 1 // no valid leaf
	Unaligned                    // not on the boundary that the use requires
	Protection                   // the usage does not allow the direction
	PastEnd                      // after the buffer's last byte, inside its last page
	Outside                      // not inside the aperture
	HighBits                     // bits 63:32 of a device address are not zero
	NoSpace                      // no free pages and no idle mapping to evict
	NoStream                     // every stream belongs to a context in use
	Overlap                      // the requested pages are in use
	BadUsage                     // not a usage code
	Empty                        // no bytes
	Closed                       // the context is closed
	InUse                        // the mapping is pinned
	Stale                        // the mapping was evicted
)

var reasons = [...]string{
	Unmapped: "is not mapped", Unaligned: "is not aligned", Protection: "forbids this direction",
	PastEnd: "is past the buffer's end", Outside: "is outside the aperture",
	HighBits: "has nonzero high 32 bits", NoSpace: "finds neither free pages nor an idle mapping to evict",
	NoStream: "finds no free stream", Overlap: "overlaps a mapping", BadUsage: "has no known usage code",
	Empty: "has no bytes", Closed: "belongs to a closed context", InUse: "is in use", Stale: "was evicted",
}

func (r Reason) String() string {
	if int(r) < len(reasons) && reasons[r] != "" {
		return reasons[r]
	}
	return fmt.Sprintf("reason %d", uint8(r))
}

// NoSlot is the stream of a context without one.
const NoSlot = -1

// Fault is a translation fault, which ends its load or request.
type Fault struct {
	Stream int    // the context's stream, or NoSlot
	Client uint64 // the client of the address space
	Task   string // the caller's name of the task that used the address
	Addr   uint64 // device address, bytes
	Len    uint64 // bytes requested
	Access Access // 0 if there was no transfer
	Reason Reason
	Limit  uint64 // the limit, in the reason's unit
	Advice string // what to do
}

func (f *Fault) Error() string {
	what := ""
	if f.Access != 0 {
		what = ", " + f.Access.String()
	}
	s := fmt.Sprintf("translation: stream %d, task %q, address %#x, %d bytes%s: %s (limit %#x)",
		f.Stream, f.Task, f.Addr, f.Len, what, f.Reason, f.Limit)
	if f.Advice != "" {
		s += "; " + f.Advice
	}
	return s
}

// Is reports whether target is a *Fault with the same reason and, if set in target, the same address and task.
func (f *Fault) Is(target error) bool {
	t, ok := target.(*Fault)
	return ok && t.Reason == f.Reason && (t.Addr == 0 || t.Addr == f.Addr) && (t.Task == "" || t.Task == f.Task)
}
