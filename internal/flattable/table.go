// Package flattable checks, reads and writes FlatBuffers by tables of tables: a [Table] has the fields of one
// FlatBuffer table in the order of their slots, and is all that any part of this package knows about a format.
//
//   - [Verify] checks a whole buffer, in time and memory that its length bounds. [Scanner] lists what is left of a
//     buffer that is truncated or breaks the rules.
//   - A [Record] reads the fields of a table in a verified buffer, by name.
//   - A [Node] is a table to be written; [Encode] writes it. The same node gives the same bytes.
//   - [Strings] fills Go structs from records, and makes nodes of them.
//
// The Go module of FlatBuffers lacks a verifier, and its accessors panic on a malformed buffer.
package flattable

import "fmt"

// MaxFile is the limit of a FlatBuffer: offsets between table and vtable are signed 32-bit numbers.
const MaxFile = 1<<31 - 1

// Kind is how a field is stored.
type Kind uint8

// The kinds of fields.
const (
	Uint8 Kind = iota
	Int32
	Uint32
	Uint64
	String
	Bytes    // vector of bytes, or a nested FlatBuffer
	Sub      // offset of a table
	Union    // tag and offset; takes two slots
	Texts    // vector of strings
	Subs     // vector of tables
	Uint32s  // vector of 32-bit integers
	Uint64s  // vector of 64-bit integers
	Int32s   // vector of signed 32-bit integers
	Float32s // vector of floats
)

// layouts contains, for each kind, the bytes that a field takes in its table and the bytes of one element of its vector
// (0: not a vector).
var layouts = [...]struct{ size, elem int }{
	Uint8: {1, 0}, Int32: {4, 0}, Uint32: {4, 0}, Uint64: {8, 0},
	String: {4, 1}, Bytes: {4, 1}, Sub: {4, 0}, Union: {4, 0},
	Texts: {4, 4}, Subs: {4, 4}, Uint32s: {4, 4}, Uint64s: {4, 8}, Int32s: {4, 4}, Float32s: {4, 4},
}

// Field is one field of a table.
type Field struct {
	Name     string
	Kind     Kind
	Required bool
	Of       []*Table         // of Sub and Subs: the table; of Union: the members, the first of them with tag 1
	Names    map[int32]string // of an Int32: names of its values
	Nested   map[int32]*Table // of Bytes: the root of the FlatBuffer in it, by the value of the field with Names
}

// Req and Opt return a required and an optional field.
func Req(name string, k Kind, of ...*Table) Field {
	return Field{Name: name, Kind: k, Required: true, Of: of}
}
func Opt(name string, k Kind, of ...*Table) Field { return Field{Name: name, Kind: k, Of: of} }

// Table describes a FlatBuffer table. The slot of a field is its position in the list; a union takes two slots, and
// must come last.
type Table struct {
	Name       string
	Fields     []Field
	Sparse     bool   // a field that is 0 or empty is not written
	Identifier string // four bytes that follow the root offset of a file whose root is the table, or empty
}

// New returns a table.
func New(name string, fields ...Field) *Table { return &Table{Name: name, Fields: fields} }

// slots returns the number of vtable entries.
func (t *Table) slots() int {
	n := len(t.Fields)
	if n > 0 && t.Fields[n-1].Kind == Union {
		n++
	}
	return n
}

// slot returns the slot of a field. The names are those in the program, so a name that the table lacks is a mistake of
// the program.
func (t *Table) slot(name string) int {
	for i := range t.Fields {
		if t.Fields[i].Name == name {
			return i
		}
	}
	panic("flattable: table " + t.Name + " has no field " + name)
}

// Fault is an error in the bytes of a buffer.
type Fault struct {
	Off          int    // byte offset in the file
	Table, Field string // position in the schema; Field may be empty
	Msg          string // the rule, the value found and the limit
}

func (f *Fault) Error() string {
	at := f.Table
	if f.Field != "" {
		at += "." + f.Field
	}
	return fmt.Sprintf("byte 0x%x: %s: %s", f.Off, at, f.Msg)
}
