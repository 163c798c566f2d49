package mlmodel

import (
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// A Message is a message of a neural network with the fields that its schema lists. The functions that return a field
// return the default of the format for one that the file lacks, and panic on a name that the schema lacks.
type Message struct {
	d       *decoder
	parent  *Message
	step    step
	at      int64
	members members
	values  map[string]*memberValue // by field
}

// A memberValue is what the file has in a field.
type memberValue struct {
	at    int64
	n     uint64
	list  []uint64
	data  []byte // of numbers of 32 bits and of bytes: part of the file, unless the numbers have fields of their own
	texts []string
	subs  []*Message
}

// A member is a field of a message of a network.
type member struct {
	field
	many    bool    // repeated
	members members // of a message
}

type members []member

// The forms of a member: a number, a truth value or a value of an enumeration; a float; bytes; a text; a message; and
// several of them.
func val(n protowire.Number, name string) member { return member{field: field{n, name, varint}} }
func vals(n protowire.Number, name string) member {
	return member{field: field{n, name, varints}, many: true}
}
func flt(n protowire.Number, name string) member { return member{field: field{n, name, bits32}} }
func flts(n protowire.Number, name string) member {
	return member{field: field{n, name, many32}, many: true}
}
func data(n protowire.Number, name string) member { return member{field: field{n, name, bytes_}} }
func texts(n protowire.Number, name string) member {
	return member{field: field{n, name, bytes_}, many: true}
}
func node(n protowire.Number, name string, of members) member {
	return member{field: field{n, name, bytes_}, members: of}
}
func nodes(n protowire.Number, name string, of members) member {
	return member{field: field{n, name, bytes_}, many: true, members: of}
}

// schema returns the fields alone.
func (ps members) schema() schema {
	s := make(schema, len(ps))
	for i := range ps {
		s[i] = ps[i].field
	}
	return s
}

// Network reads the neural network, of one of the forms of neural networks, that is in the bytes b from offset at of
// the file name. Bytes and floats of the messages are members of b. Errors are *Error.
func Network(b []byte, at int64, name, form string) (*Message, error) {
	d := &decoder{file: name}
	schemas := map[*member]schema{}
	return d.message(nil, one(form), span{b, at}, networkParts, schemas)
}

func (d *decoder) message(parent *Message, s step, b span, ps members, schemas map[*member]schema) (*Message, error) {
	m := &Message{d: d, parent: parent, step: s, at: b.at, members: ps, values: map[string]*memberValue{}}
	if len(ps) == 0 {
		return m, nil // what is in it has no meaning here
	}
	if schemas[&ps[0]] == nil {
		schemas[&ps[0]] = ps.schema()
	}
	err := d.in(s, b.at, func() error {
		return d.each(b, schemas[&ps[0]], func(r *reader) error {
			p := &ps[slices.IndexFunc(ps, func(p member) bool { return p.num == r.num })]
			v := m.values[p.name]
			if v == nil {
				v = &memberValue{at: r.at}
				m.values[p.name] = v
			} else if !p.many && p.typ == bytes_ {
				return r.fail("duplicate field")
			}
			switch {
			case p.typ == varint || p.typ == bits32:
				v.n = r.n
			case p.typ == varints:
				r.numbers(func(n uint64) { v.list = append(v.list, n) })
				return r.err
			case p.typ == many32:
				return v.floats(r)
			case p.members != nil:
				s := one(p.name)
				if p.many {
					s = nth(p.name, len(v.subs))
				}
				sub, err := d.message(m, s, r.data, p.members, schemas)
				v.subs = append(v.subs, sub)
				return err
			case p.many:
				v.texts = append(v.texts, r.text())
			default:
				v.data = r.data.b
			}
			return nil
		})
	})
	return m, err
}

// floats adds the current field, numbers of 32 bits.
func (v *memberValue) floats(r *reader) error {
	switch {
	case r.wire != bytes_:
		v.data = protowire.AppendFixed32(slices.Clip(v.data), uint32(r.n))
	case len(r.data.b)%4 != 0:
		return r.fail("a list of numbers of 4 bytes has %d bytes", len(r.data.b))
	case v.data == nil:
		v.data = r.data.b
	default:
		v.data = append(slices.Clip(v.data), r.data.b...)
	}
	return nil
}

// Errorf returns an error about the message.
func (m *Message) Errorf(format string, args ...any) error { return m.errorAt(m.at, format, args...) }

// FieldErrorf returns an error about a field of the message.
func (m *Message) FieldErrorf(name, format string, args ...any) error {
	at := m.at
	if v := m.value(name); v != nil {
		at = v.at
	}
	return (&Message{d: m.d, parent: m, step: one(name)}).errorAt(at, format, args...)
}

func (m *Message) errorAt(at int64, format string, args ...any) error {
	var path []step
	for p := m; p != nil; p = p.parent {
		path = append(path, p.step)
	}
	slices.Reverse(path)
	return (&decoder{file: m.d.file, path: path}).errorf(at, format, args...)
}

// value returns what the file has in a field, or nil.
func (m *Message) value(name string) *memberValue {
	if !slices.ContainsFunc(m.members, func(p member) bool { return p.name == name }) {
		panic("mlmodel: the schema has no field " + name + " in " + m.step.name)
	}
	return m.values[name]
}

// field returns what the file has in a field, or nothing.
func (m *Message) field(name string) memberValue {
	if v := m.value(name); v != nil {
		return *v
	}
	return memberValue{}
}

// Has reports whether the file has the field.
func (m *Message) Has(name string) bool { return m.value(name) != nil }

// Int returns a number.
func (m *Message) Int(name string) int64 { return int64(m.field(name).n) }

// Bool returns a truth value.
func (m *Message) Bool(name string) bool { return m.field(name).n != 0 }

// Float returns a float.
func (m *Message) Float(name string) float64 {
	return float64(math.Float32frombits(uint32(m.field(name).n)))
}

// Text returns a text.
func (m *Message) Text(name string) string { return string(m.field(name).data) }

// Data returns bytes, or floats of 4 bytes each, with the offset of their field.
func (m *Message) Data(name string) (data []byte, at int64) {
	v := m.field(name)
	return v.data, v.at
}

// Ints returns the numbers of a repeated field.
func (m *Message) Ints(name string) []int64 {
	var out []int64
	for _, n := range m.field(name).list {
		out = append(out, int64(n))
	}
	return out
}

// Bools returns the truth values of a repeated field.
func (m *Message) Bools(name string) []bool {
	var out []bool
	for _, n := range m.field(name).list {
		out = append(out, n != 0)
	}
	return out
}

// Texts returns the texts of a repeated field.
func (m *Message) Texts(name string) []string { return m.field(name).texts }

// Messages returns the messages of a repeated field.
func (m *Message) Messages(name string) []*Message { return m.field(name).subs }

// Message returns a message, an empty one if the file has none.
func (m *Message) Message(name string) *Message {
	if v := m.value(name); v != nil {
		return v.subs[0]
	}
	i := slices.IndexFunc(m.members, func(p member) bool { return p.name == name })
	return &Message{d: m.d, parent: m, step: one(name), at: m.at, members: m.members[i].members}
}

// Choice returns the only message among the fields, with its name. None and several are errors.
func (m *Message) Choice() (name string, sub *Message, err error) {
	var found []string
	for _, p := range m.members {
		if v := m.values[p.name]; v != nil && len(v.subs) == 1 && !p.many {
			found, name, sub = append(found, p.name), p.name, v.subs[0]
		}
	}
	if len(found) != 1 {
		got := "none"
		if len(found) > 1 {
			got = strings.Join(found, ", ")
		}
		return "", nil, m.Errorf("want one of the %d kinds that are known, got %s", len(m.members), got)
	}
	return name, sub, nil
}
