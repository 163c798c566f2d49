package cli

import (
	"context"
	"errors"

	"github.com/zinc-compiler/zinc/internal/atomicfile"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// traceFile writes the events of a machine to a file while it runs: many clients may have more than can be kept. A nil
// traceFile writes nothing.
type traceFile struct {
	path   string
	staged *atomicfile.Staged
	chrome *trace.Chrome
}

// tracedBytes is the number of bytes of an event's data that a traceFile writes.
const tracedBytes = 16

// traceTo starts a trace file at a path; nil for "".
func traceTo(path string) (*traceFile, error) {
	if path == "" {
		return nil, nil
	}
	s, err := atomicfile.Stage(path)
	if err != nil {
		return nil, err
	}
	return &traceFile{path, s, trace.NewChrome(s, nil)}, nil
}

// tracer returns a tracer that writes to the file, nil for none.
func (t *traceFile) tracer() *trace.Tracer {
	if t == nil {
		return nil
	}
	return trace.New(func(e trace.Event) { t.chrome.Add(e.Clip(tracedBytes)) })
}

// commit ends the trace, after the last event, and gives the file its name.
func (t *traceFile) commit() error {
	if t == nil {
		return nil
	}
	// An interrupt ends a served machine, but must not cost its trace.
	return errors.Join(t.chrome.Close(), atomicfile.Write(context.Background(),
		atomicfile.File{Path: t.path, Staged: t.staged}))
}

// discard removes a file that was not committed.
func (t *traceFile) discard() {
	if t != nil {
		t.staged.Close()
	}
}
