package zinc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/internal/diag"
)

// Errors for errors.Is. The types for errors.As are [*ModelError], [*FunctionError] and [*ValueError]; errors in a
// pair's bytes and refusals of Patch have the types of the packages below.
var (
	// ErrClosed is returned by a Model after Close.
	ErrClosed = errors.New("zinc: the model was closed")
	// ErrNoDebug says that a pair has no debug database.
	ErrNoDebug = errors.New("zinc: the pair lacks a debug database; compile it with Options.DebugDB")
	// ErrUnknownFiles says that the files of a model are not known, so it has no key.
	ErrUnknownFiles = pair.ErrUnknownFiles
)

// Diagnostic is one error in a model's text.
type Diagnostic struct {
	// File is the text's path, Line and Column count from 1, columns in bytes; 0 if the place is not known.
	File         string
	Line, Column int
	// Code names the rule and stays the same between versions.
	Code string
	// Op is the operation at fault, "" if it is not known.
	Op string
	// Message says what is wrong, Hint what to do, "" for none.
	Message, Hint string
}

// ModelError is the error of Compile for an invalid model.
type ModelError struct {
	// Diagnostics are its errors, at most a thousand.
	Diagnostics []Diagnostic
	err         error
}

// Error returns the first diagnostic with its place, and the number of others.
func (e *ModelError) Error() string { return e.err.Error() }

// modelError turns errors in a model's text into a *ModelError, and returns others unchanged.
func modelError(err error) error {
	l := diag.AsList(err)
	if l == nil {
		return err
	}
	e := &ModelError{err: err}
	for _, d := range l.All() {
		if d.Severity != diag.Error {
			continue
		}
		p := d.Span.Position()
		e.Diagnostics = append(e.Diagnostics, Diagnostic{
			File:    p.Filename,
			Line:    p.Line,
			Column:  p.Column,
			Code:    d.Code,
			Op:      d.Op,
			Message: d.Message,
			Hint:    d.Hint,
		})
	}
	return e
}

// ended wraps err with the context's error if the context has ended: the layers of the stack answer with their own
// codes.
func ended(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// FunctionError reports a function that a model does not have.
type FunctionError struct {
	Name string
	Has  []string // the model's functions
}

// Error names the function and the model's functions.
func (e *FunctionError) Error() string {
	return fmt.Sprintf("zinc: unknown function %q; the model has %s", e.Name, listed(e.Has))
}

// ValueError reports a value that a function does not accept: an unknown or missing name, a wrong type or shape.
type ValueError struct {
	Function string
	Kind     string // "input", "output" or "state"
	Name     string
	Err      error // what is wrong with it
}

// Error names the place and the fault.
func (e *ValueError) Error() string {
	return fmt.Sprintf("zinc: function %q, %s %q: %v", e.Function, e.Kind, e.Name, e.Err)
}

// Unwrap returns Err.
func (e *ValueError) Unwrap() error { return e.Err }

// listed joins names for a message.
func listed(names []string) string { return cmp.Or(strings.Join(names, ", "), "none") }
