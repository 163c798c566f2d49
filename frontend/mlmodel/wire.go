package mlmodel

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// MaxDepth limits the nesting of messages.
const MaxDepth = 256

// An Error is a fault of a model specification.
type Error struct {
	File   string
	Offset int64  // in bytes from the start of the file
	Field  string // path of fields, as in mlProgram.functions[main].inputs[0]
	Msg    string // the rule, the offending value, the limit
}

// Error returns the place and the fault.
func (e *Error) Error() string {
	s := fmt.Sprintf("%s: byte %#x: ", e.File, e.Offset)
	if e.Field != "" {
		s += e.Field + ": "
	}
	return s + e.Msg
}

// A field is a field of a message.
type field struct {
	num  protowire.Number
	name string
	typ  protowire.Type
}

// A schema has the fields of a message that are read and written; others are skipped.
type schema []field

// number returns the field of that number.
func (s schema) number(n protowire.Number) (field, bool) {
	for _, f := range s {
		if f.num == n {
			return f, true
		}
	}
	return field{}, false
}

// Wire types, as in the tables of the schema.
const (
	varint = protowire.VarintType
	bits32 = protowire.Fixed32Type
	bits64 = protowire.Fixed64Type
	bytes_ = protowire.BytesType // strings and messages

	// Repeated numbers, packed into one length-delimited field or one by one.
	varints protowire.Type = 16 + protowire.VarintType
	many32  protowire.Type = 16 + protowire.Fixed32Type
	many64  protowire.Type = 16 + protowire.Fixed64Type
)

var wireNames = map[protowire.Type]string{
	varint: "varint", bits32: "32-bit", bits64: "64-bit", bytes_: "length-delimited",
}

// A span is a run of bytes with its offset in the file.
type span struct {
	b  []byte
	at int64
}

// A step is one element of the path to a field: its name and, if it is repeated or a map, its index or key.
type step struct {
	name  string
	index int // -1 if the step has a key or neither
	key   string
}

// A decoder reads a specification.
type decoder struct {
	file string
	path []step
	bare bool // types of scalars are the bare element types, as in texts of the later version
}

// errorf returns an error about the field that the path names.
func (d *decoder) errorf(at int64, format string, args ...any) error {
	return &Error{File: d.file, Offset: at, Field: d.place(), Msg: fmt.Sprintf(format, args...)}
}

// shownSteps is the number of steps shown at either end of a long path.
const shownSteps = 8

func (d *decoder) place() string {
	var b strings.Builder
	for i, s := range d.path {
		if i >= shownSteps && i < len(d.path)-shownSteps {
			if i == shownSteps {
				fmt.Fprintf(&b, " ... (%d more) ...", len(d.path)-2*shownSteps)
			}
			continue
		}
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(s.name)
		switch {
		case s.key != "":
			b.WriteString("[" + shown(s.key) + "]")
		case s.index >= 0:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		}
	}
	return b.String()
}

// shown returns a string of the file in the form for messages.
func shown(s string) string {
	if len(s) > 80 {
		s = s[:80] + "..."
	}
	if isName(s) {
		return s
	}
	return strconv.Quote(s)
}

// in calls f with a step on the path. The path of an error is the path at which it was created.
func (d *decoder) in(s step, at int64, f func() error) error {
	d.path = append(d.path, s)
	if len(d.path) > MaxDepth {
		return d.errorf(at, "messages nest deeper than %d", MaxDepth)
	}
	if err := f(); err != nil {
		return err
	}
	d.path = d.path[:len(d.path)-1]
	return nil
}

// one returns the step of a single field.
func one(name string) step { return step{name: name, index: -1} }

// nth returns the step of element i of a repeated field.
func nth(name string, i int) step { return step{name: name, index: i} }

// keyed returns the step of the entry of a map.
func keyed(name, key string) step { return step{name: name, index: -1, key: key} }

// A reader yields the known fields of one message in the order of the file.
type reader struct {
	d    *decoder
	sch  schema
	rest []byte
	next int64 // offset of rest
	err  error

	// The current field.
	field
	wire protowire.Type
	n    uint64 // varint and fixed
	data span   // length-delimited
	at   int64  // of its tag
}

func (d *decoder) read(m span, sch schema) *reader {
	return &reader{d: d, sch: sch, rest: m.b, next: m.at}
}

// more reads the next known field. It returns false at the end and after an error, which is then in err.
func (r *reader) more() bool {
	for r.err == nil && len(r.rest) > 0 {
		num, typ, n := protowire.ConsumeTag(r.rest)
		if n < 0 {
			r.err = r.d.errorf(r.next, "no field begins here, %d bytes before the end of the message: %v", len(r.rest),
				protowire.ParseError(n))
			return false
		}
		f, known := r.sch.number(num)
		r.field, r.wire, r.at = f, typ, r.next
		r.num = num
		body := r.rest[n:]
		var m int
		switch typ {
		case varint:
			r.n, m = protowire.ConsumeVarint(body)
		case bits32:
			var v uint32
			v, m = protowire.ConsumeFixed32(body)
			r.n = uint64(v)
		case bits64:
			r.n, m = protowire.ConsumeFixed64(body)
		case bytes_:
			r.data.b, m = protowire.ConsumeBytes(body)
			r.data.at = r.next + int64(n+m-len(r.data.b))
		default:
			r.fail("the field has wire type %d, which model specifications do not use", typ)
			return false
		}
		if m < 0 {
			r.cut(typ, body)
			return false
		}
		if known && typ != f.typ && (f.typ < varints || typ != bytes_ && typ != f.typ-varints) {
			r.fail("the field is %s, but the schema says %s", wireNames[typ], wireNames[f.typ&7])
			return false
		}
		r.rest = r.rest[n+m:]
		r.next += int64(n + m)
		if known {
			return true
		}
	}
	return false
}

// cut reports a truncated field.
func (r *reader) cut(typ protowire.Type, body []byte) {
	if typ == bytes_ {
		if size, n := protowire.ConsumeVarint(body); n > 0 {
			r.fail("the field has %d bytes, but %d are left in its message: the file is truncated or damaged", size,
				len(body)-n)
			return
		}
	}
	r.fail("the %s number is truncated or too long, %d bytes are left in its message", wireNames[typ], len(body))
}

// fail sets the error of the current field and returns it.
func (r *reader) fail(format string, args ...any) error {
	name := r.name
	if name == "" {
		name = "field " + strconv.Itoa(int(r.num))
	}
	r.err = r.d.in(one(name), r.at, func() error { return r.d.errorf(r.at, format, args...) })
	return r.err
}

// numbers calls f for each number of the current field, which is repeated.
func (r *reader) numbers(f func(n uint64)) bool {
	if r.wire != bytes_ {
		f(r.n)
		return true
	}
	for b := r.data.b; len(b) > 0; {
		var n uint64
		var m int
		switch r.typ {
		case varints:
			n, m = protowire.ConsumeVarint(b)
		case many32:
			var v uint32
			v, m = protowire.ConsumeFixed32(b)
			n = uint64(v)
		default:
			n, m = protowire.ConsumeFixed64(b)
		}
		if m < 0 {
			r.fail("the last number is truncated or too long, %d bytes are left of its list", len(b))
			return false
		}
		f(n)
		b = b[m:]
	}
	return true
}

// text returns the current field as a string.
func (r *reader) text() string { return string(r.data.b) }

// once reports a duplicate field.
func (r *reader) once(seen *bool) bool {
	if *seen {
		r.fail("duplicate field")
		return false
	}
	*seen = true
	return true
}

// entry splits the current field, an entry of a map from strings, into key and
// value.
func (r *reader) entry() (key string, value span, ok bool) {
	e := r.d.read(r.data, entrySchema)
	value.at = r.data.at
	for e.more() {
		if e.num == 1 {
			key = e.text()
		} else {
			value = e.data
		}
	}
	if e.err != nil {
		r.err = e.err
		return "", value, false
	}
	return key, value, true
}

// message runs f on every field of the current field, a message.
func (r *reader) message(sch schema, f func(r *reader) error) error {
	return r.d.in(one(r.name), r.at, func() error { return r.d.each(r.data, sch, f) })
}

// element appends what read makes of the current field, an element of a repeated one.
func element[T any](r *reader, list *[]T, read func(m span) (T, error)) error {
	return r.d.in(nth(r.name, len(*list)), r.at, func() error {
		x, err := read(r.data)
		*list = append(*list, x)
		return err
	})
}

// sorted calls f for each entry of a map, by key.
func (d *decoder) sorted(name string, m map[string]span, f func(key string, m span) error) error {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if err := d.in(keyed(name, k), m[k].at, func() error { return f(k, m[k]) }); err != nil {
			return err
		}
	}
	return nil
}

// each runs f on every field of the message m.
func (d *decoder) each(m span, sch schema, f func(r *reader) error) error {
	r := d.read(m, sch)
	for r.more() {
		if err := f(r); err != nil {
			return err
		}
	}
	return r.err
}
