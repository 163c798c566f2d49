package protocol

import (
	"cmp"
	"errors"
	"fmt"
)

// Error reports a message that breaks a rule.
type Error struct {
	Command string // the command's name, "" before the identifier is known
	Off     int    // byte offset in the decoded bytes
	Field   string // the field at that offset
	Value   string // the value found
	Limit   string // the rule, in the firmware's words if known
	Advice  string // what to do
}

func (e *Error) Error() string {
	s := "protocol: "
	if e.Command != "" {
		s += e.Command + ": "
	}
	s += fmt.Sprintf("byte %#x, %s = %s: %s", e.Off, e.Field, e.Value, e.Limit)
	if e.Advice != "" {
		s += "; " + e.Advice
	}
	return s
}

// The ways in which the firmware treats a message that it does not run. Every error of this package matches one of
// these with errors.Is.
var (
	// ErrMalformed reports a message that fails integrity or argument validation; it is rejected without running.
	ErrMalformed = errors.New("protocol: malformed message")
	// ErrUnsupported reports an identifier without a handler on the channel; it is dropped and counted, or faults if
	// the controller is strict.
	ErrUnsupported = errors.New("protocol: unsupported command")
	// ErrDropped reports a process that does not run or a cache handle in the wrong state; the message is dropped and
	// counted.
	ErrDropped = errors.New("protocol: command dropped")
	// ErrUnbound reports that no endpoint is bound, so nothing was posted.
	ErrUnbound = errors.New("protocol: endpoint not bound")
	// ErrFull reports that a queue or a pool has no room; nothing was posted.
	ErrFull = errors.New("protocol: queue is full")
	// ErrFault reports a command that faults the firmware of a strict controller.
	ErrFault = errors.New("protocol: firmware fault")
)

// Is makes every *Error a malformed message.
func (e *Error) Is(target error) bool { return target == ErrMalformed }

func bad(off int, field string, value any, limit, advice string) *Error {
	v := fmt.Sprint(value)
	switch x := value.(type) {
	case uint64:
		v = fmt.Sprintf("%#x", x)
	case uint32:
		v = fmt.Sprintf("%#x", x)
	}
	return &Error{Off: off, Field: field, Value: v, Limit: limit, Advice: advice}
}

// of sets the command of an error and shifts its offset.
func of(err error, command string, base int) error {
	var e *Error
	if errors.As(err, &e) {
		e.Command = cmp.Or(e.Command, command)
		e.Off += base
	}
	return err
}
