package translation

import "fmt"

// Reason says which rule an access or a mapping broke.
type Reason uint8

// The reasons of a fault.
const (
	Unmapped   Reason = iota + 1 // no valid leaf
	Unaligned                    // not on the boundary that the use asks for
	Protection                   // the usage does not allow the direction
	PastEnd                      // behind the buffer's last byte, inside its last page
	Outside                      // not inside the aperture
	HighBits                     // bits 63:32 of a device address are not zero
	NoSpace                      // nothing free and nothing idle to evict
	NoStream                     // every stream belongs to a context in use
	Overlap                      // the pages asked for are taken
	BadUsage                     // not a usage code
	Empty                        // no bytes
	Closed                       // the context is gone
	InUse                        // a pinned mapping cannot go
	Stale                        // the mapping was evicted
)

var reasons = [...]string{
	Unmapped: "is not mapped", Unaligned: "is not aligned", Protection: "forbids this direction",
	PastEnd: "lies behind the buffer's end", Outside: "lies outside the aperture",
	HighBits: "has high 32 bits that are not zero", NoSpace: "finds no free pages and nothing idle to evict",
	NoStream: "finds no free stream", Overlap: "overlaps a mapping", BadUsage: "has no known usage code",
	Empty: "has no bytes", Closed: "belongs to a closed context", InUse: "is in use", Stale: "was evicted",
}

func (r Reason) String() string {
	if int(r) < len(reasons) && reasons[r] != "" {
		return reasons[r]
	}
	return fmt.Sprintf("reason %d", uint8(r))
}

// NoSlot is the stream of a context that has none.
const NoSlot = -1

// Fault is a translation fault: fatal to the load or the request it belongs to.
type Fault struct {
	Stream int    // the context's stream, NoSlot when it had none
	Client uint64 // whose address space
	Task   string // what touched the address, as the caller named it
	Addr   uint64 // device address, bytes
	Len    uint64 // bytes asked for
	Access Access // 0 when nothing was transferred
	Reason Reason
	Limit  uint64 // the limit that was broken, in the reason's unit
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

// Is reports whether target is a *Fault with the same reason and, where target
// names them, the same address and task.
func (f *Fault) Is(target error) bool {
	t, ok := target.(*Fault)
	return ok && t.Reason == f.Reason && (t.Addr == 0 || t.Addr == f.Addr) && (t.Task == "" || t.Task == f.Task)
}
