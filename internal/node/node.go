package node

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"
)

// kind is what a Node is in JSON.
type kind byte

const (
	ofText   kind = iota // nothing: only the text has it
	ofValue              // its Value
	ofObject             // its parts by their keys
	ofList               // its parts in order
)

// Node is a part of an object: a value, or further parts.
type Node struct {
	Key   string  // in JSON; "" of an element of a list
	Value any     // of a value; encoding/json writes it
	Parts []*Node // of an object or a list, in order

	kind kind
	text string // what the text has of it, before its parts
}

// Hex is a number that text and JSON have in hexadecimal: 64-bit addresses do not survive every reader's floating
// point.
type Hex uint64

// String returns the number with the prefix 0x.
func (h Hex) String() string { return fmt.Sprintf("%#x", uint64(h)) }

// MarshalText implements encoding.TextMarshaler.
func (h Hex) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// Value returns a value that only JSON has. One with a String method is text, unless it says how it is encoded.
func Value(key string, v any) *Node {
	switch x := v.(type) {
	case json.Marshaler, encoding.TextMarshaler:
	case fmt.Stringer:
		v = x.String()
	}
	return &Node{Key: key, Value: v, kind: ofValue}
}

// Text returns lines that only the text has.
func Text(format string, args ...any) *Node { return &Node{text: fmt.Sprintf(format, args...)} }

// TextOnly reports whether JSON has nothing of the node.
func (n *Node) TextOnly() bool { return n.kind == ofText }

// Object returns a node whose parts have keys.
func Object(key string, parts ...*Node) *Node { return &Node{Key: key, Parts: parts, kind: ofObject} }

// List returns a node whose parts have no keys.
func List(key string, parts ...*Node) *Node { return &Node{Key: key, Parts: parts, kind: ofList} }

// Row returns an object of values with the text that shows them. The format names the values by their keys in braces:
// {size}, or with a verb of package fmt {size:#x}. {-size} is in the text only, and {+size} in JSON only. {} is the
// single value of a row that is not an object. A tab ends a column; the columns of adjacent lines are aligned.
func Row(key, format string, values ...any) *Node {
	n := Object(key)
	var b strings.Builder
	for _, v := range values {
		before, rest, _ := strings.Cut(format, "{")
		field, after, ok := strings.Cut(rest, "}")
		if !ok {
			panic("node: more values than fields: " + format)
		}
		b.WriteString(before)
		format = after
		name, verb, _ := strings.Cut(field, ":")
		switch {
		case name == "":
			n.Value, n.kind = Value("", v).Value, ofValue
		case name[0] != '-':
			n.Parts = append(n.Parts, Value(strings.TrimPrefix(name, "+"), v))
		}
		if !strings.HasPrefix(name, "+") {
			b.WriteString(shown(v, verb))
		}
	}
	n.text = b.String() + format
	return n
}

// shown formats a value for a tabwriter: its tabs are no columns.
func shown(v any, verb string) string {
	if h, ok := v.(Hex); ok && verb != "" {
		v = uint64(h)
	}
	verb = cmp.Or(verb, "v")
	cells := strings.Split(fmt.Sprintf("%"+verb, v), "\t")
	for i, s := range cells {
		cells[i] = Printable(s)
	}
	const tab = "\xff\t\xff" // between two tabwriter.Escape
	return strings.Join(cells, tab)
}

// Printable replaces the characters of a text that control a terminal.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// Add appends parts.
func (n *Node) Add(parts ...*Node) *Node {
	n.Parts = append(n.Parts, parts...)
	return n
}

// AddIf appends a part if a condition is true.
func (n *Node) AddIf(ok bool, part *Node) *Node {
	if ok {
		n.Add(part)
	}
	return n
}

// Part returns the part with the key of another node, which it adds if there is none.
func (n *Node) Part(other *Node) *Node {
	for _, p := range n.Parts {
		if p.Key == other.Key && p.kind == other.kind {
			return p
		}
	}
	n.Add(other)
	return other
}

// Get returns the part of an object with a key, an empty node if there is none.
func (n *Node) Get(key string) *Node {
	for _, p := range n.Entries() {
		if p.Key == key {
			return p
		}
	}
	return &Node{}
}

// Entries returns the parts that JSON has, those of parts without a key among them.
func (n *Node) Entries() []*Node { return n.entries(nil) }

// WriteText writes the text of the node and its parts.
func (n *Node) WriteText(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.StripEscape)
	n.write(tw)
	return tw.Flush()
}

// write writes to a tabwriter, which keeps its first error for Flush.
func (n *Node) write(w io.Writer) {
	io.WriteString(w, n.text)
	for _, p := range n.Parts {
		p.write(w)
	}
}
