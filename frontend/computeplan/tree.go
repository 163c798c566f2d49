package computeplan

import (
	"encoding/json"
	"strconv"
	"strings"
)

// maxValues is the number of values in a document: MaxBytes of them have eight bytes each.
const maxValues = MaxBytes / 8

// A tree is a JSON document or an old-style property list: its values, in the order of the text.
type tree struct {
	file  string
	src   string
	nodes []node
}

// A node is a value. Texts and keys are where they are in the source.
type node struct {
	kind             nodeKind
	keyStart, keyEnd int32 // key of a member of an object, with its quotes
	start, end       int32
	next             int32 // the next element or member; 0 if there is none
	child            int32 // first element or member; 0 if there is none
}

type nodeKind uint8

const (
	object nodeKind = iota
	array
	quote // a text in quotes
	word  // a number, a literal, or a text without quotes
)

// A syntax says how values are written.
type syntax struct {
	openArray, closeArray byte
	assign, endMember     byte
}

var (
	jsonSyntax = syntax{openArray: '[', closeArray: ']', assign: ':', endMember: ','}
	listSyntax = syntax{openArray: '(', closeArray: ')', assign: '=', endMember: ';'}
)

// A treeParser reads one value of a text.
type treeParser struct {
	syntax
	*tree
	at int
}

// parseTree reads the value at an offset of a text, and returns the offset after it. The root is the first node.
func parseTree(t *tree, at int, s syntax) (int, error) {
	p := treeParser{syntax: s, tree: t, at: at}
	p.nodes = p.nodes[:0]
	_, err := p.value(0)
	return p.at, err
}

// errorAt returns an error with the place of an offset.
func (t *tree) errorAt(at int, rule, value, hint string) error {
	return errorAt(t.file, t.src, at, rule, value, hint)
}

// errorAt returns an error with the place of an offset in a text.
func errorAt(file, src string, at int, rule, value, hint string) error {
	at = min(at, len(src))
	line := 1 + strings.Count(src[:at], "\n")
	return &Error{
		File:   file,
		Line:   line,
		Column: at - strings.LastIndexByte(src[:at], '\n'),
		Rule:   rule,
		Value:  value,
		Hint:   hint,
	}
}

func (p *treeParser) space() {
	for p.at < len(p.src) && strings.IndexByte(" \t\r\n", p.src[p.at]) >= 0 {
		p.at++
	}
}

// expect reads a byte.
func (p *treeParser) expect(c byte) error {
	p.space()
	if p.at < len(p.src) && p.src[p.at] == c {
		p.at++
		return nil
	}
	return p.errorAt(p.at, "want "+strconv.Quote(string(c)), p.found(), "")
}

// found describes what is at the current offset.
func (p *treeParser) found() string {
	if p.at >= len(p.src) {
		return "the end of the file"
	}
	return quoted(p.src[p.at:min(p.at+8, len(p.src))])
}

// skip reads a byte if it is next.
func (p *treeParser) skip(c byte) bool {
	p.space()
	if p.at < len(p.src) && p.src[p.at] == c {
		p.at++
		return true
	}
	return false
}

// value reads a value and returns its node.
func (p *treeParser) value(depth int) (int32, error) {
	p.space()
	if depth >= MaxDepth {
		return 0, p.errorAt(p.at, "values are nested deeper than "+strconv.Itoa(MaxDepth)+" levels", "", "")
	}
	if len(p.nodes) >= maxValues {
		return 0, p.errorAt(p.at, "the document has more than "+strconv.Itoa(maxValues)+" values", "", "")
	}
	i := int32(len(p.nodes))
	p.nodes = append(p.nodes, node{start: int32(p.at)})
	var err error
	switch {
	case p.skip('{'):
		p.nodes[i].kind = object
		err = p.members(i, depth)
	case p.skip(p.openArray):
		p.nodes[i].kind = array
		err = p.elements(i, depth)
	default:
		p.nodes[i].kind, err = p.scalar()
	}
	p.nodes[i].end = int32(p.at)
	return i, err
}

// link makes a node the last child of another.
func (p *treeParser) link(parent, last, n int32) int32 {
	if last == 0 {
		p.nodes[parent].child = n
	} else {
		p.nodes[last].next = n
	}
	return n
}

// members reads the members of an object, after its brace.
func (p *treeParser) members(i int32, depth int) error {
	last := int32(0)
	for !p.skip('}') {
		if last != 0 && p.endMember == ',' {
			if err := p.expect(','); err != nil {
				return err
			}
			p.space()
		}
		if p.endMember == ',' && (p.at == len(p.src) || p.src[p.at] != '"') {
			return p.errorAt(p.at, "want a key in quotes", p.found(), "")
		}
		start := p.at
		if _, err := p.scalar(); err != nil {
			return err
		}
		end := p.at
		if err := p.expect(p.assign); err != nil {
			return err
		}
		n, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		p.nodes[n].keyStart, p.nodes[n].keyEnd = int32(start), int32(end)
		last = p.link(i, last, n)
		if p.endMember == ';' {
			if err := p.expect(';'); err != nil {
				return err
			}
		}
	}
	return nil
}

// elements reads the elements of an array, after its bracket.
func (p *treeParser) elements(i int32, depth int) error {
	last := int32(0)
	for !p.skip(p.closeArray) {
		if last != 0 {
			if err := p.expect(','); err != nil {
				return err
			}
			if p.endMember == ';' && p.skip(p.closeArray) {
				return nil
			}
		}
		n, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		last = p.link(i, last, n)
	}
	return nil
}

// scalar reads a text, a number or a literal.
func (p *treeParser) scalar() (nodeKind, error) {
	start := p.at
	if p.at < len(p.src) && p.src[p.at] == '"' {
		for p.at++; p.at < len(p.src); p.at++ {
			switch p.src[p.at] {
			case '\\':
				p.at++
			case '"':
				p.at++
				return quote, nil
			}
		}
		return quote, p.errorAt(start, "the text has no closing quote", "", "")
	}
	for p.at < len(p.src) && strings.IndexByte(" \t\r\n,;:=(){}[]\"<>", p.src[p.at]) < 0 {
		p.at++
	}
	if p.at == start {
		return word, p.errorAt(p.at, "want a value", p.found(), "")
	}
	w := p.src[start:p.at]
	if p.endMember == ',' && w != "true" && w != "false" && w != "null" && !isNumber(w) {
		p.at = start
		return word, p.errorAt(start, "want a JSON value", quoted(w), "")
	}
	return word, nil
}

// isNumber reports whether a word is a finite number. JSON has no others, but Python writes NaN and Infinity; where
// they are weights they are errors.
func isNumber(w string) bool {
	switch w {
	case "NaN", "Infinity", "-Infinity":
		return true
	}
	c := w[len(w)-1]
	_, err := strconv.ParseFloat(w, 64)
	return (err == nil || strings.Contains(err.Error(), strconv.ErrRange.Error())) && c >= '0' && c <= '9' &&
		(w[0] == '-' || w[0] >= '0' && w[0] <= '9')
}

// key returns the key of a member.
func (t *tree) key(n int32) string {
	x := &t.nodes[n]
	s, _ := unquote(t.src[x.keyStart:x.keyEnd])
	return s
}

// text returns the text of a value that is neither an object nor an array; a null is "".
func (t *tree) text(n int32) (string, bool) {
	x := &t.nodes[n]
	raw := t.src[x.start:x.end]
	switch x.kind {
	case quote:
		return unquote(raw)
	case word:
		if raw == "null" {
			return "", true
		}
		return raw, true
	}
	return "", false
}

// unquote returns what a text in quotes means, and other texts as they are.
func unquote(s string) (string, bool) {
	if s == "" || s[0] != '"' {
		return s, true
	}
	if strings.IndexByte(s, '\\') < 0 {
		return s[1 : len(s)-1], true
	}
	s = strings.ReplaceAll(s, `\U`, `\u`) // as property lists have it
	var out string
	if err := json.Unmarshal([]byte(s), &out); err != nil {
		return s[1 : len(s)-1], false
	}
	return out, true
}

// isNull reports whether a value is null.
func (t *tree) isNull(n int32) bool {
	x := &t.nodes[n]
	return x.kind == word && t.src[x.start:x.end] == "null"
}

// children calls yield for each member or element.
func (t *tree) children(n int32) func(yield func(int32) bool) {
	return func(yield func(int32) bool) {
		for c := t.nodes[n].child; c != 0; c = t.nodes[c].next {
			if !yield(c) {
				return
			}
		}
	}
}
