package zinc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/pair"
)

// Errors that say what a call found, for errors.Is. Their types for errors.As are
// [*ModelError], [*FunctionError] and [*ValueError]; what is wrong with a pair's
// bytes and what Patch refuses have the types of the packages below.
var (
	// ErrClosed is what a Model gives after Close.
	ErrClosed = errors.New("zinc: the model was closed")
	// ErrNoDebug says that a pair has no debug database.
	ErrNoDebug = errors.New("zinc: the pair has no debug database; compile it with Options.DebugDB")
	// ErrUnknownFiles says that it cannot be told which files a model is made of, so that
	// no key covers them.
	ErrUnknownFiles = pair.ErrUnknownFiles
)

// Diagnostic is one thing that is wrong about a model's text.
type Diagnostic struct {
	// File is the text's path, Line and Column count from 1, columns in bytes; 0 where
	// the place is not known.
	File         string
	Line, Column int
	// Code names the rule and stays the same between versions.
	Code string
	// Op is the operation at fault, "" where none is known.
	Op string
	// Message are the facts that disagree, Hint is what to do, "" for no advice.
	Message, Hint string
}

// ModelError is what Compile gives for a model that is wrong in itself.
type ModelError struct {
	// Diagnostics are its errors, of at most a thousand places.
	Diagnostics []Diagnostic
	err         error
}

// Error returns the first diagnostic with its place, and how many more there are.
func (e *ModelError) Error() string { return e.err.Error() }

// modelError makes errors of a model's text a *ModelError, and leaves others alone.
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

// ended gives an error the context's as its cause where that has ended: the layers of
// the stack answer with codes of their own.
func ended(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// FunctionError is a function that a model does not have.
type FunctionError struct {
	Name string
	Has  []string // the functions that there are
}

// Error names both.
func (e *FunctionError) Error() string {
	return fmt.Sprintf("zinc: the model has no function %q; it has %s", e.Name, listed(e.Has))
}

// ValueError is a value that a function does not take: a name that it does not have,
// one that is missing, another type or shape.
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

// listed names things in a message.
func listed(names []string) string { return cmp.Or(strings.Join(names, ", "), "none") }
