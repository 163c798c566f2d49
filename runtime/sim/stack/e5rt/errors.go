package e5rt

import (
	"errors"
	"fmt"
	"strings"
)

// Error is a call that was refused or failed.
type Error struct {
	Call   string // such as e5rt_execution_stream_execute_sync
	Object string // such as "stream 1"
	Rule   string // what is wrong
	Do     string // what to do about it
	Err    error  // the kind, one of the Err variables, or the cause
}

// Error returns the call, object, rule, cause and advice.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Call + ": " + e.Object)
	if e.Rule != "" {
		b.WriteString(": " + e.Rule)
	}
	if e.Err != nil && !errors.As(e.Err, new(kind)) {
		b.WriteString(": " + e.Err.Error())
	}
	if e.Do != "" {
		b.WriteString("; " + e.Do)
	}
	return b.String()
}

// refused returns the error of a call: its kind or cause, what is wrong, and what to do about it.
func refused(call string, object fmt.Stringer, err error, rule, do string) error {
	return &Error{Call: call, Object: object.String(), Rule: rule, Do: do, Err: err}
}

// refuse is refused, and traces the call.
func (rt *Runtime) refuse(call string, object fmt.Stringer, err error, rule, do string) error {
	return rt.called(call, object, refused(call, object, err, rule, do))
}

// Unwrap returns the kind or the cause.
func (e *Error) Unwrap() error { return e.Err }

// kind is the class of an Error.
type kind string

func (k kind) Error() string { return string(k) }

// Kinds of errors, for errors.Is.
var (
	ErrOrder    error = kind("e5rt: a call in the wrong order")
	ErrUnbound  error = kind("e5rt: a port without a buffer object")
	ErrSize     error = kind("e5rt: a buffer object that is too small")
	ErrArgument error = kind("e5rt: an argument that does not exist or is out of range")
	ErrInFlight error = kind("e5rt: an object that is in use by a stream in flight")
	ErrTimeout  error = kind("e5rt: the wait for a completion was broken by its timeout")
)
