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
	// Program is the ML program, without positions; nil if the model is in another form (Metadata.Form).
	Program *mil.Program
}

// maxHead is the maximum size of a field's tag and length, in bytes.
const maxHead = 20

// Decode reads the specification of size bytes in r. name is the name of the file in errors. Only the parts that are
// understood are read; the layers and weights of other forms of models are skipped. Errors are those of r, or an
// *Error.
func Decode(r io.ReaderAt, size int64, name string) (*Model, error) {
	d := &decoder{file: name}
	m := &Model{Metadata: &metadata.Model{Source: name}}
	parts := map[protowire.Number]span{}
	if size == 0 {
		return nil, d.errorf(0, "the file is empty; a model specification has at least a version")
	}
	for at := int64(0); at < size; {
		head := make([]byte, min(maxHead, size-at))
		if _, err := r.ReadAt(head, at); err != nil && err != io.EOF {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		num, typ, n := protowire.ConsumeTag(head)
		if n < 0 {
			return nil, d.errorf(at, "no field begins here: the file is not a model specification, or damaged")
		}
		step := one(fmt.Sprintf("field %d", num))
		if f, ok := modelSchema[num]; ok {
			step = one(f.name)
		} else if form, ok := modelForms[int32(num)]; ok {
			step = one(form)
		}
		var length int64
		err := d.in(step, at, func() error {
			var err error
			length, err = d.topField(m, r, parts, field{step.name, typ}, num, head[n:], at+int64(n), size)
			return err
		})
		if err != nil {
			return nil, err
		}
		at += int64(n) + length
	}
	if m.Metadata.Form == "" {
		return nil, d.errorf(size, "the specification lacks a model of any of the %d forms",
			len(modelForms))
	}
	if p, ok := parts[2]; ok {
		if err := d.in(one("description"), p.at, func() error { return d.description(p, m.Metadata) }); err != nil {
			return nil, err
		}
	}
	if p, ok := parts[programField]; ok {
		err := d.in(one(ProgramForm), p.at, func() (err error) {
			m.Program, err = d.program(p, m.Metadata)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

// topField reads one field of the model, after its tag, and returns the number of bytes that follow the tag. b are
// those of them that have been read, at their offset.
func (d *decoder) topField(m *Model, r io.ReaderAt, parts map[protowire.Number]span, f field, num protowire.Number,
	b []byte, at, size int64) (int64, error) {
	if f.typ != bytes_ {
		n := protowire.ConsumeFieldValue(num, f.typ, b)
		switch {
		case f.typ != varint && f.typ != bits32 && f.typ != bits64:
			return 0, d.errorf(at, "the field has wire type %d: the file is not a model "+
				"specification, or damaged", f.typ)
		case n < 0:
			return 0, d.errorf(at, "the %s number is truncated or too long", wireNames[f.typ])
		}
		if num == 1 && f.typ == varint {
			v, _ := protowire.ConsumeVarint(b)
			m.Metadata.SpecificationVersion = int64(v)
		}
		return int64(n), nil
	}
	length, n := protowire.ConsumeVarint(b)
	if n < 0 {
		return 0, d.errorf(at, "the length of the field is truncated or too long")
	}
	start := at + int64(n)
	if length > uint64(size-start) {
		return 0, d.errorf(at, "the field has %d bytes, but %d are left in the file: it is truncated or damaged",
			length,
			size-start)
	}
	form := modelForms[int32(num)]
	if form != "" {
		if m.Metadata.Form != "" {
			return 0, d.errorf(at, "the specification contains two models, %s and %s", m.Metadata.Form, form)
		}
		m.Metadata.Form = form
	}
	if num == 2 || num == programField {
		if _, twice := parts[num]; twice {
			return 0, d.errorf(at, "duplicate field")
		}
		if length > diag.MaxSource {
			return 0, d.errorf(at, "the field has %d bytes, the limit is %d", length, int64(diag.MaxSource))
		}
		data := make([]byte, length)
		if _, err := r.ReadAt(data, start); err != nil && err != io.EOF {
			return 0, fmt.Errorf("%s: %w", d.file, err)
		}
		parts[num] = span{data, start}
	}
	return int64(n) + int64(length), nil
}
