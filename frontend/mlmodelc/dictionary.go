package mlmodelc

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A pair is an entry of a dictionary: its value is a string, an int, a []any or a dictionary.
type pair struct {
	key   string
	value any
}

// A dictionary is a JSON object whose entries are in the order in which they were added. It is written in the order in
// which NSMutableDictionary enumerates it.
type dictionary []pair

// tables are the numbers of slots of NSMutableDictionary with the entries that they have room for. Tables of up to 23
// slots were seen; the larger ones come from CFBasicHash.
var tables = []struct{ slots, entries int }{
	{3, 3}, {7, 6}, {13, 12}, {23, 19}, {41, 32}, {71, 52}, {127, 85}, {191, 118}, {251, 155}, {383, 237}, {631, 390},
	{1087, 672}, {1723, 1065}, {2803, 1732},
}

// enumerated returns the entries in the order of NSMutableDictionary: every key is in the slot that its hash names or
// in the next free one, and growing moves the entries in the order of the slots. A dictionary beyond the largest table
// is returned as it is.
func (d dictionary) enumerated() dictionary {
	var slots []*pair
	table, used := -1, 0
	put := func(p *pair) {
		i := int(hash(p.key) % uint64(len(slots)))
		for slots[i] != nil {
			i = (i + 1) % len(slots)
		}
		slots[i] = p
	}
	for i := range d {
		if table < 0 || used == tables[table].entries {
			if table++; table == len(tables) {
				return d
			}
			old := slots
			slots = make([]*pair, tables[table].slots)
			for _, p := range old {
				if p != nil {
					put(p)
				}
			}
		}
		put(&d[i])
		used++
	}
	out := make(dictionary, 0, len(d))
	for _, p := range slots {
		if p != nil {
			out = append(out, *p)
		}
	}
	return out
}

// hashed is the number of units of a long string that are in its hash, at its start, middle and end.
const hashed = 32

// hash is CFString's hash, as in swift-corelibs-foundation.
func hash(s string) uint64 {
	u := utf16.Encode([]rune(s))
	h := uint64(len(u))
	parts := [][]uint16{u}
	if n := len(u); n > 3*hashed {
		parts = [][]uint16{u[:hashed], u[n/2-hashed/2 : n/2+hashed/2], u[n-hashed:]}
	}
	for _, p := range parts {
		for ; len(p) >= 4; p = p[4:] {
			h = h*67503105 + uint64(p[0])*16974593 + uint64(p[1])*66049 + uint64(p[2])*257 + uint64(p[3])
		}
		for _, c := range p {
			h = h*257 + uint64(c)
		}
	}
	return h + h<<(len(u)&31)
}

// appendJSON writes a value as NSJSONSerialization does when it prints for readers.
func appendJSON(b []byte, v any, indent int) []byte {
	switch v := v.(type) {
	case string:
		return appendText(b, v)
	case []any:
		return appendItems(b, "[]", len(v), indent, func(b []byte, i int) []byte {
			return appendJSON(b, v[i], indent+1)
		})
	case dictionary:
		es := v.enumerated()
		return appendItems(b, "{}", len(es), indent, func(b []byte, i int) []byte {
			return appendJSON(append(appendText(b, es[i].key), " : "...), es[i].value, indent+1)
		})
	}
	return fmt.Append(b, v)
}

// appendItems writes n items between two brackets, a line each. Nothing between brackets is an empty line.
func appendItems(b []byte, brackets string, n, indent int, item func(b []byte, i int) []byte) []byte {
	margin := strings.Repeat("  ", indent)
	b = append(b, brackets[0])
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = item(append(append(b, '\n'), margin+"  "...), i)
	}
	if n == 0 {
		b = append(b, '\n')
	}
	return append(append(append(b, '\n'), margin...), brackets[1])
}

// appendText writes a string, with "/" escaped and other characters than ASCII as they are.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\' || c == '/':
			b = append(b, '\\', byte(c))
		case c >= ' ' && c != 0x7f:
			b = utf8.AppendRune(b, c)
		default:
			if i := strings.IndexRune("\b\f\n\r\t", c); i >= 0 {
				b = append(b, '\\', "bfnrt"[i])
			} else {
				b = fmt.Appendf(b, "\\u%04x", c)
			}
		}
	}
	return append(b, '"')
}
