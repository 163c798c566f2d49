package engine

import (
	"fmt"

	"github.com/zinc-compiler/zinc/lower/td"
)

// Fault reports a task that cannot be executed.
type Fault struct {
	Task    int    // index of the task in its chain
	Off     int    // byte offset of the task in the task section
	Stream  string // what was being read or written: "source 1", "kernel lane 3"; empty for a fault of the whole task
	Address int64  // first byte concerned in the stream's buffer (or in L2), or -1
	Msg     string // rule, value and limit
	Err     error  // cause, when another component refused
}

// Error names the task, the stream, the address, and the rule.
func (f *Fault) Error() string {
	s := fmt.Sprintf("task %d at %#x: ", f.Task, f.Off)
	if f.Stream != "" {
		s += f.Stream
		if f.Address >= 0 {
			s += fmt.Sprintf(" at %#x", f.Address)
		}
		s += ": "
	}
	s += f.Msg
	if f.Err != nil {
		s += ": " + f.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// bad makes a fault of the whole task.
func bad(format string, args ...any) *Fault {
	return &Fault{Address: -1, Msg: fmt.Sprintf(format, args...)}
}

// badAt makes a fault of one stream.
func badAt(stream string, addr int64, format string, args ...any) *Fault {
	return &Fault{Stream: stream, Address: addr, Msg: fmt.Sprintf(format, args...)}
}

// badField makes a fault that names a field and its value.
func badField(t *td.Task, f td.Field, rule string) *Fault {
	return bad("%s = %d: %s", f, t.Int(f), rule)
}
