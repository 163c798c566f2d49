package broker

import (
	"fmt"
)

// Code is the kind of a refusal or failure.
type Code uint8

// The codes.
const (
	NotEntitled Code = iota + 1 // an entitlement or a tier is missing
	NotFound                    // no such program, instance, model or procedure of this caller
	BadArgument                 // a value outside its limit
	NoMemory                    // a byte budget
	NoResources                 // a count
	Mismatch                    // the owner of a resident program has another identity
	Aborted                     // cancelled, or the connection closed
	Failed                      // the compiler or the driver failed
)

// codes has the name of each code and the kernel's number for it.
var codes = [...]struct {
	name string
	ret  uint32
}{
	NotEntitled: {"not entitled", 0xe00002c1},
	NotFound:    {"not found", 0xe00002f0},
	BadArgument: {"bad argument", 0xe00002c2},
	NoMemory:    {"no memory", 0xe00002bd},
	NoResources: {"no resources", 0xe00002be},
	Mismatch:    {"not the owner", 0xe00002c1},
	Aborted:     {"aborted", 0xe00002eb},
	Failed:      {"failed", 0xe00002bc},
}

// String returns the code's name.
func (c Code) String() string {
	if c == 0 || int(c) >= len(codes) {
		return fmt.Sprintf("code %d", uint8(c))
	}
	return codes[c].name
}

// Error is a refusal or a failure of a method. It crosses the socket without its cause, whose text is in Msg.
type Error struct {
	Method string // of Methods, or "connect"
	Code   Code
	Key    string // the missing entitlement, if any
	Msg    string // the rule, the value, the limit, and what to do
	Return uint32 // the kernel's return code; the driver's if the driver failed
	cause  error  // of a failure; nil for a client on the socket
}

// Error returns the method, the kind and the message.
func (e *Error) Error() string { return fmt.Sprintf("broker: %s: %s: %s", e.Method, e.Code, e.Msg) }

// Unwrap returns the cause if the broker is in the same process.
func (e *Error) Unwrap() error { return e.cause }

// Is makes an Error match one that has only a code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Method == "" && t.Msg == "" && t.Code == e.Code
}

func errorf(method string, c Code, format string, args ...any) *Error {
	return &Error{Method: method, Code: c, Msg: fmt.Sprintf(format, args...), Return: codes[c].ret}
}

// errNoSurface reports that a task has no room for another surface.
var errNoSurface = errorf(mEvaluate, NoResources,
	"the tenant's task has no surface left; evaluate on the same slices from run to run, or release instances")
