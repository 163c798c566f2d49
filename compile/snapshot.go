package compile

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// A Snapshot is a compilation between two passes. It is written as a header, which is JSON, and the
// text form of its program; large constants are in a section of their own.
type Snapshot struct {
	After   string // the pass that ran last
	options header
	units   []*unit
}

// header is the first part of the text.
type header struct {
	Format    string     `json:"zinc_ir"` // snapshotFormat
	After     string     `json:"after"`
	Target    string     `json:"target"`
	Precision string     `json:"precision"`
	Place     string     `json:"place,omitempty"`
	Input     string     `json:"input"`          // base name of the model
	Data      int64      `json:"data,omitempty"` // bytes of the section of constants
	Functions []funcPart `json:"functions"`
}

// funcPart is one function in one configuration. In the text it has the name of its unit, and its reference has that
// name with referenceMark, since configurations of one function share a name.
type funcPart struct {
	Name      string `json:"name"`     // of the unit
	Function  string `json:"function"` // in the source
	Reference bool   `json:"reference,omitempty"`
	// Shapes are the shapes that the pass resolve-shapes sets for the inputs.
	Shapes map[string][]int64 `json:"shapes,omitempty"`
	State  passes.Saved       `json:"state"`
}

const (
	snapshotFormat = "1"
	referenceMark  = "@reference"
)

// A SnapshotError reports text that is not a snapshot that this version of zinc can resume.
type SnapshotError struct {
	Name string // of the text
	Msg  string
}

func (e *SnapshotError) Error() string { return e.Name + ": " + e.Msg }

// Next returns the pass that runs first when the compilation is resumed, "" after the last.
func (s *Snapshot) Next() string {
	names := append(passes.Names(), "")
	return names[slices.Index(names, s.After)+1]
}

func (d *driver) snapshot() *Snapshot {
	return &Snapshot{
		After: d.o.Until,
		options: header{
			Format:    snapshotFormat,
			After:     d.o.Until,
			Target:    d.o.Target.Name,
			Precision: d.o.precision(),
			Place:     d.o.Place,
			Input:     d.o.InputName,
		},
		units: d.units,
	}
}

// Compile runs the remaining passes, up to Options.Until, and passes on the same parts as an uninterrupted compilation.
// Target, precision, place, functions, shapes and the name of the input are as in the interrupted compilation.
func (s *Snapshot) Compile(ctx context.Context, o Options, to Sink) error {
	at := func(name string) int { return slices.Index(passes.Names(), name) }
	if o.Until != "" && at(o.Until) < at(s.After) {
		return &SnapshotError{s.options.Input, fmt.Sprintf("pass %s runs before %s, which ran already", o.Until,
			s.After)}
	}
	t, err := target.Lookup(s.options.Target)
	if err != nil {
		return err
	}
	if o.Provenance {
		return &SnapshotError{s.options.Input, "a program between passes has no record of where it came from; " +
			"compile the model for a debug database"}
	}
	o.Target, o.Precision, o.Place, o.InputName = t, s.options.Precision, s.options.Place, s.options.Input
	d, err := newDriver(ctx, o, to)
	if err != nil {
		return err
	}
	for _, u := range s.units {
		o := d.passOptions(d.segments(u.state.Func))
		o.Shapes = u.shapes
		if err := passes.Resume(ctx, u.state, o); err != nil {
			return err
		}
		v := d.unit(u.name, u.state)
		v.shapes = u.shapes
		d.units = append(d.units, v)
	}
	return d.finish()
}

// Encode returns the text and the section of large constants, whose parts follow each other.
func (s *Snapshot) Encode() (text []byte, data *ir.Data, err error) {
	h := s.options
	all := &ir.Program{}
	for _, u := range s.units {
		p := u.state.Program
		if all.Funcs == nil {
			all.Version, all.BuildInfo, all.Files = p.Version, p.BuildInfo, p.Files
		}
		f := *u.state.Func
		h.Functions = append(h.Functions, funcPart{
			Name:      u.name,
			Function:  f.Name,
			Reference: u.state.Reference != nil,
			Shapes:    u.shapes,
			State:     u.state.Save(),
		})
		f.Name = u.name
		all.Funcs = append(all.Funcs, &f)
		if ref := u.state.Reference; ref != nil {
			r := *ref
			r.Name = u.name + referenceMark
			all.Funcs = append(all.Funcs, &r)
		}
	}
	data = &ir.Data{Share: true} // a function and its reference have the same constants
	var body bytes.Buffer
	if err := ir.PrintTo(&body, all, data); err != nil {
		return nil, nil, err
	}
	h.Data = data.Size()
	head, err := json.MarshalIndent(h, "", "  ")
	if err != nil {
		return nil, nil, err
	}
	return slices.Concat(head, []byte("\n"), body.Bytes()), data, nil
}

// IsSnapshot reports whether text begins like a snapshot.
func IsSnapshot(text []byte) bool {
	return bytes.HasPrefix(text, []byte("{\n  \"zinc_ir\": "))
}

// ReadSnapshot reads what Snapshot.Encode returned. Constants of the snapshot are slices of data, which must not be
// modified. Errors use name for the text: *SnapshotError, or what ir.Parse and ir.Verify return.
func ReadSnapshot(name string, text, data []byte) (*Snapshot, error) {
	bad := func(format string, args ...any) error { return &SnapshotError{name, fmt.Sprintf(format, args...)} }
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	var h header
	if err := dec.Decode(&h); err != nil {
		return nil, bad("header: %v", err)
	}
	if h.Format != snapshotFormat {
		return nil, bad("format %q, want %q", h.Format, snapshotFormat)
	}
	if h.Data != int64(len(data)) {
		return nil, bad("the constants have %d bytes, want %d", len(data), h.Data)
	}
	// Lines of the program count from the beginning of the text.
	at := dec.InputOffset()
	lines := bytes.Count(text[:at], []byte("\n"))
	p, err := ir.Parse(name, append(bytes.Repeat([]byte("\n"), lines), text[at:]...), data)
	if err != nil {
		return nil, err
	}
	if err := ir.Verify(p); err != nil {
		return nil, err
	}
	s := &Snapshot{After: h.After, options: h}
	s.options.Functions, s.options.Data = nil, 0
	if len(h.Functions) == 0 {
		return nil, bad("no functions")
	}
	byName := map[string]*ir.Func{}
	for _, f := range p.Funcs {
		byName[f.Name] = f
	}
	for _, part := range h.Functions {
		f, ref := byName[part.Name], byName[part.Name+referenceMark]
		delete(byName, part.Name)
		if f == nil || part.Reference != (ref != nil) {
			return nil, bad("no function %q, or none that is its reference", part.Name)
		}
		if part.State.After != h.After {
			return nil, bad("function %q is after pass %q, the program after %q", part.Name, part.State.After, h.After)
		}
		f.Name = part.Function
		if ref != nil {
			ref.Name = part.Function
		}
		own := &ir.Program{Version: p.Version, BuildInfo: p.BuildInfo, Files: p.Files, Funcs: []*ir.Func{f}}
		st, err := passes.Restore(own, ref, part.State)
		if err != nil {
			return nil, bad("%v", err)
		}
		s.units = append(s.units, &unit{name: part.Name, state: st, shapes: part.Shapes})
	}
	return s, nil
}
