package stack

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// RecordVersion is the version of the record that this package writes and reads.
const RecordVersion = 1

// recordFormat marks a trace that has a record.
const recordFormat = "zinc trace"

// Record is the part of a trace besides its events: enough to repeat the runs.
type Record struct {
	Format     string `json:"format"`
	Version    int    `json:"version"`
	Container  string `json:"container"`            // SHA-256
	Descriptor string `json:"descriptor,omitempty"` // SHA-256; empty for a container alone
	Compiled   bool   `json:"compiled,omitempty"`   // the runtime compiled a model
	Function   string `json:"function,omitempty"`   // empty: the first
	Numerics   string `json:"numerics"`             // a numerics.Mode
	// Timeout is the virtual time that a run may take, in nanoseconds; 0 means no limit.
	Timeout time.Duration `json:"timeout,omitempty"`
	Strict  bool          `json:"strict,omitempty"`
	Calls   bool          `json:"calls,omitempty"`  // the broker had no grant of data chaining
	Keep    [][2]string   `json:"keep,omitempty"`   // outputs and the inputs that are bound to their buffers
	Inject  string        `json:"inject,omitempty"` // faults, as inject.Spec writes them
	Seed    uint64        `json:"seed"`             // of the faults
	Runs    []Run         `json:"runs"`
}

// Run is one run of the model with its inputs and outputs.
type Run struct {
	Inputs  []Value           `json:"inputs"`
	States  []Value           `json:"states,omitempty"`  // set before the run
	Outputs map[string]string `json:"outputs,omitempty"` // SHA-256 of the bytes, by name
	Error   string            `json:"error,omitempty"`
}

// Value is a tensor by name.
type Value struct {
	Name  string  `json:"name"`
	DType string  `json:"dtype"`
	Shape []int64 `json:"shape"`
	Data  []byte  `json:"data"` // base64 in JSON
}

// NewRecord returns a record for runs of a pair, or of a container alone.
func NewRecord(p pair.Pair) *Record {
	r := &Record{Format: recordFormat, Version: RecordVersion, Container: digest(p.Container)}
	if !p.Alone() {
		r.Descriptor = digest(p.Descriptor)
	}
	return r
}

func digest(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// Check returns an error unless the record is of runs of this pair.
func (r *Record) Check(p pair.Pair) error {
	if got := digest(p.Container); got != r.Container {
		return fmt.Errorf("the trace is of a container with SHA-256 %s; this one has %s; replay it with the pair "+
			"that was recorded", r.Container, got)
	}
	if r.Descriptor != "" && r.Descriptor != digest(p.Descriptor) {
		return fmt.Errorf("the trace is of a descriptor with SHA-256 %s; this one has %s; replay it with the pair "+
			"that was recorded", r.Descriptor, digest(p.Descriptor))
	}
	return nil
}

// Add appends a run.
func (r *Record) Add(inputs, states, outputs map[string]interp.Tensor, err error) {
	n := Run{Inputs: values(inputs), States: values(states)}
	if err != nil {
		n.Error = err.Error()
	} else {
		n.Outputs = map[string]string{}
		for name, t := range outputs {
			n.Outputs[name] = digest(t.Data)
		}
	}
	r.Runs = append(r.Runs, n)
}

func values(ts map[string]interp.Tensor) []Value {
	out := []Value{}
	for _, name := range slices.Sorted(maps.Keys(ts)) {
		t := ts[name]
		out = append(out, Value{Name: name, DType: t.Type.DType.String(), Shape: t.Type.Shape, Data: t.Data})
	}
	return out
}

// Tensors returns values by name.
func Tensors(vs []Value) (map[string]interp.Tensor, error) {
	out := map[string]interp.Tensor{}
	for _, v := range vs {
		dt, ok := ir.ParseDType(v.DType)
		if !ok {
			return nil, fmt.Errorf("%q: unknown element type %q", v.Name, v.DType)
		}
		t := ir.Type{Kind: ir.Tensor, DType: dt, Shape: v.Shape}
		if n := t.Bytes(); n < 0 || n != int64(len(v.Data)) {
			return nil, fmt.Errorf("%q: %s has %d bytes of data", v.Name, t, len(v.Data))
		}
		out[v.Name] = interp.Tensor{Type: t, Data: v.Data}
	}
	return out, nil
}

// Write writes the record and the events of its runs as a Chrome trace.
func (r *Record) Write(w io.Writer, events []trace.Event) error {
	return trace.WriteChrome(w, events, r)
}

// ReadRecord returns the record of a trace that Write wrote.
func ReadRecord(b []byte) (*Record, error) {
	var f struct {
		OtherData *Record `json:"otherData"`
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("not a trace: %w", err)
	}
	r := f.OtherData
	switch {
	case r == nil || r.Format != recordFormat:
		return nil, errors.New("the trace has no record of runs (otherData.format)")
	case r.Version != RecordVersion:
		return nil, fmt.Errorf("the record has version %d; this zinc reads version %d", r.Version, RecordVersion)
	}
	return r, nil
}

// Difference compares a trace with its replay, both written by Write. It returns nil if the bytes are equal, otherwise
// an error that shows the first different line.
func Difference(recorded, replayed []byte) error {
	if bytes.Equal(recorded, replayed) {
		return nil
	}
	a, b := bytes.Split(recorded, []byte("\n")), bytes.Split(replayed, []byte("\n"))
	i := 0
	for i < len(a) && i < len(b) && bytes.Equal(a[i], b[i]) {
		i++
	}
	line := func(ls [][]byte) string {
		if i >= len(ls) {
			return "the end"
		}
		return clip(string(ls[i]))
	}
	return fmt.Errorf("line %d of the trace differs:\n  recorded %s\n  replayed %s", i+1, line(a), line(b))
}

// clip shortens a line for a message.
func clip(s string) string {
	const most = 240
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
