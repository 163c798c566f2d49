package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/patch"
)

// Exit statuses.
const (
	statusOK       = 0
	statusInput    = 1
	statusUsage    = 2
	statusInternal = 3
)

// usageError is a wrong command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// internalError is a fault of zinc.
type internalError struct {
	err   error
	stack []byte // of a panic
}

func (e *internalError) Error() string { return e.err.Error() }
func (e *internalError) Unwrap() error { return e.err }

// shownError is an error that was already printed, such as a failed verification.
type shownError struct{ err error }

func (e *shownError) Error() string { return e.err.Error() }
func (e *shownError) Unwrap() error { return e.err }

// statusOf returns the exit status of an error. An accepted operation that does not lower, and an inconsistent
// container or descriptor, are bugs in zinc, whatever the input.
func statusOf(err error) int {
	if err == nil {
		return statusOK
	}
	for _, c := range []struct {
		status int
		target any
	}{
		{statusUsage, new(*usageError)},
		{statusInternal, new(*internalError)},
		{statusInternal, new(*hwx.BuildError)},
		{statusInternal, new(*e5.ModelError)},
		{statusInternal, new(*lower.Error)},
		{statusInternal, new(*compile.FaultError)},
		{statusTrouble, new(*troubleError)},
	} {
		if errors.As(err, c.target) {
			return c.status
		}
	}
	return statusInput
}

// fail prints err, once, and returns the exit status.
func (e *env) fail(err error) int {
	status := statusOf(err)
	shown := (*shownError)(nil)
	if err == nil || errors.As(err, &shown) {
		return status
	}
	usage := (*usageError)(nil)
	wrongUsage := errors.As(err, &usage)
	if list := diag.AsList(err); list != nil && status != statusInternal && !wrongUsage {
		e.list(list)
		return status
	}
	message, hint := err.Error(), ""
	switch {
	case wrongUsage:
		hint = "see " + e.command + " --help"
	case status == statusInternal:
		message = "internal error: " + message
		hint = "this is a bug in zinc, not in the input; please report it with the model and the command line"
		if dir := e.subject.reproducer(err); dir != "" {
			hint = "this is a bug in zinc, not in the input; please report it with the folder " + dir +
				", which has the model and the command line"
		}
	case errors.Is(err, context.Canceled):
		message = "interrupted; nothing was written"
	default:
		hint = flagHint(err)
	}
	if e.diagnostics == "json" {
		var list diag.List
		list.Add(diag.Diagnostic{Severity: diag.Error, Message: message, Hint: hint})
		list.WriteJSON(e.err)
	} else {
		fmt.Fprintf(e.err, "zinc: %s\n", message)
		if hint != "" {
			fmt.Fprintf(e.err, "zinc: %s\n", hint)
		}
	}
	if stack := stackOf(err); stack != nil {
		fmt.Fprintf(e.err, "%s", stack)
	}
	return status
}

// stackOf returns the stack of a panic, nil for other errors.
func stackOf(err error) []byte {
	if in := (*internalError)(nil); errors.As(err, &in) {
		return in.stack
	}
	return nil
}

// flagHint returns advice that names the flag that resolves err, "" for none.
func flagHint(err error) string {
	entry, option, constant := (*ir.EntryError)(nil), (*compile.OptionError)(nil), (*patch.Refusal)(nil)
	switch {
	case errors.As(err, &entry) && entry.Name == "" && len(entry.Funcs) > 0,
		errors.As(err, &option) && option.Option == "Func":
		return "choose a function with --func"
	case option != nil && option.Option == "Shapes":
		return "choose one of the shapes with --shape"
	case errors.As(err, &constant) && constant.Model:
		return "set the model with --model"
	}
	return ""
}

// list prints diagnostics in the requested format.
func (e *env) list(l *diag.List) {
	if e.diagnostics == "json" {
		l.WriteJSON(e.err)
		return
	}
	l.WriteText(e.err)
}
