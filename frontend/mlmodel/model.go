package mlmodel

import (
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/zinc-compiler/zinc/frontend/metadata"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/internal/diag"
)

// A Model is a decoded specification.
type Model struct {
	Metadata *metadata.Model
	// Description is the message that describes the model, as it is in the file: Metadata lacks the fields that zinc
	// has no use for.
	Description []byte
	// Order has the inputs of functions in the order of the file; a function that is not in it has the order of its
	// description. The program has them by name.
	Order map[string][]string
	// Program is the ML program, without positions; nil if the model is in another form (Metadata.Form). Of a pipeline
	// it is the program of the only model that is one.
	Program *mil.Program
	// Pipeline has the forms of a pipeline's models, in order, and Parts the models; Names are their names, which it
	// may lack.
	Pipeline []string
	Parts    []*Model
	Names    []string
	// Start and End are where the model of Metadata.Form is in the file.
	Start, End int64
}

// maxHead is the maximum size of a field's tag and length, in bytes.
const maxHead = 20

// Decode reads the specification of size bytes in r. name is the name of the file in errors. Only the parts that are
// understood are read; the layers and weights of other forms of models are skipped. Errors come from r or are *Error.
func Decode(r io.ReaderAt, size int64, name string) (*Model, error) {
	d := &decoder{file: name}
	if size == 0 {
		return nil, d.errorf(0, "the file is empty; a model specification has at least a version")
	}
	return d.model(r, 0, size)
}

// DecodeDescription reads the message that describes a model. name is the name of its file in errors.
func DecodeDescription(b []byte, name string) (*metadata.Model, error) {
	d := &decoder{file: name}
	m := &metadata.Model{Source: name, Form: ProgramForm}
	return m, d.in(one("description"), 0, func() error { return d.description(span{b, 0}, m) })
}

// An extent is a field in the file: its number, and its content from start to end or its value.
type extent struct {
	num        protowire.Number
	typ        protowire.Type
	value      uint64 // of a varint
	start, end int64
}

// model reads the model between two offsets.
func (d *decoder) model(r io.ReaderAt, at, end int64) (*Model, error) {
	m := &Model{Metadata: &metadata.Model{Source: d.file}}
	parts := map[protowire.Number]span{}
	var form extent // the field of Model.Type
	err := d.fields(r, at, end, func(num protowire.Number) step {
		if f, ok := modelSchema.number(num); ok {
			return one(f.name)
		}
		if form, ok := modelForms[int32(num)]; ok {
			return one(form)
		}
		return one(fmt.Sprintf("field %d", num))
	}, func(x extent) error {
		if x.num == 1 && x.typ == varint {
			m.Metadata.SpecificationVersion = int64(x.value)
		}
		if x.typ != bytes_ {
			return nil
		}
		if name := modelForms[int32(x.num)]; name != "" {
			if m.Metadata.Form != "" {
				return d.errorf(x.start, "the specification contains two models, %s and %s", m.Metadata.Form, name)
			}
			m.Metadata.Form, form = name, x
		}
		if x.num != 2 && x.num != programField {
			return nil
		}
		if _, twice := parts[x.num]; twice {
			return d.errorf(x.start, "duplicate field")
		}
		length := x.end - x.start
		if length > diag.MaxSource {
			return d.errorf(x.start, "the field has %d bytes, the limit is %d", length, int64(diag.MaxSource))
		}
		data := make([]byte, length)
		if _, err := r.ReadAt(data, x.start); err != nil && err != io.EOF {
			return fmt.Errorf("%s: %w", d.file, err)
		}
		parts[x.num] = span{data, x.start}
		return nil
	})
	if err != nil {
		return nil, err
	}
	m.Start, m.End = form.start, form.end
	if m.Metadata.Form == "" {
		return nil, d.errorf(end, "the specification lacks a model of any of the %d forms", len(modelForms))
	}
	if p, ok := parts[2]; ok {
		m.Description = p.b
		if err := d.in(one("description"), p.at, func() error { return d.description(p, m.Metadata) }); err != nil {
			return nil, err
		}
	}
	if p, ok := parts[programField]; ok {
		err := d.in(one(ProgramForm), p.at, func() (err error) {
			m.Program, m.Order, err = d.program(p, m.Metadata)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	switch form.num {
	case pipelineClassifierField, pipelineRegressorField:
		err = d.fields(r, form.start, form.end, pipelineStep, func(x extent) error {
			if x.num != 1 || x.typ != bytes_ {
				return nil
			}
			return d.pipeline(r, x, m)
		})
	case pipelineField:
		err = d.in(one(m.Metadata.Form), form.start, func() error { return d.pipeline(r, form, m) })
	}
	return m, err
}

// pipeline reads the models of a pipeline. The program and the ports of the only ML program among them become m's,
// which keeps its own author, license and description.
func (d *decoder) pipeline(r io.ReaderAt, x extent, m *Model) error {
	var programs []*Model
	err := d.fields(r, x.start, x.end, func(num protowire.Number) step {
		switch num {
		case 1:
			return nth("models", len(m.Pipeline))
		case 2:
			return nth("names", len(m.Names))
		}
		return one(fmt.Sprintf("field %d", num))
	}, func(x extent) error {
		if x.num == 2 && x.typ == bytes_ {
			name := make([]byte, x.end-x.start)
			_, err := r.ReadAt(name, x.start)
			m.Names = append(m.Names, string(name))
			return err
		}
		if x.num != 1 || x.typ != bytes_ {
			return nil
		}
		part, err := d.model(r, x.start, x.end)
		if err != nil {
			return err
		}
		m.Pipeline, m.Parts = append(m.Pipeline, part.Metadata.Form), append(m.Parts, part)
		if part.Program != nil {
			programs = append(programs, part)
		}
		return nil
	})
	if err != nil || len(programs) != 1 {
		return err
	}
	m.Program, m.Order = programs[0].Program, programs[0].Order
	m.Metadata.Functions, m.Metadata.Default = programs[0].Metadata.Functions, programs[0].Metadata.Default
	return nil
}

func pipelineStep(protowire.Number) step { return one("pipeline") }

// fields calls visit for each field between two offsets, with the step that name returns on the path.
func (d *decoder) fields(r io.ReaderAt, at, end int64, name func(protowire.Number) step,
	visit func(extent) error) error {
	for at < end {
		head := make([]byte, min(maxHead, end-at))
		if _, err := r.ReadAt(head, at); err != nil && err != io.EOF {
			return fmt.Errorf("%s: %w", d.file, err)
		}
		num, typ, n := protowire.ConsumeTag(head)
		if n < 0 {
			return d.errorf(at, "no field begins here: the file is not a model specification, or damaged")
		}
		err := d.in(name(num), at, func() error {
			x, err := d.region(num, typ, head[n:], at+int64(n), end)
			at = x.end
			if err != nil {
				return err
			}
			return visit(x)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// region returns where a field's content is. b are the bytes after its tag, at is their offset, and end is the end of
// the message.
func (d *decoder) region(num protowire.Number, typ protowire.Type, b []byte, at, end int64) (extent, error) {
	x := extent{num: num, typ: typ, start: at}
	if typ != bytes_ {
		n := protowire.ConsumeFieldValue(num, typ, b)
		switch {
		case typ != varint && typ != bits32 && typ != bits64:
			return x, d.errorf(at, "the field has wire type %d: the file is not a model "+
				"specification, or damaged", typ)
		case n < 0:
			return x, d.errorf(at, "the %s number is truncated or too long", wireNames[typ])
		}
		if typ == varint {
			x.value, _ = protowire.ConsumeVarint(b)
		}
		x.end = at + int64(n)
		return x, nil
	}
	length, n := protowire.ConsumeVarint(b)
	if n < 0 {
		return x, d.errorf(at, "the length of the field is truncated or too long")
	}
	x.start = at + int64(n)
	if length > uint64(end-x.start) {
		return x, d.errorf(at, "the field has %d bytes, but %d are left in the file: it is truncated or damaged",
			length, end-x.start)
	}
	x.end = x.start + int64(length)
	return x, nil
}
