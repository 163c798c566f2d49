package mil

import (
	"errors"

	"github.com/zinc-compiler/zinc/internal/diag"
)

// maxRank is the deepest nesting of a literal of atoms.
const maxRank = 32

// blobWord opens a reference to a weight file.
const blobWord = "BLOBFILE"

// wordAtoms are the atoms that look like names. Where a bare name is allowed, they are names; inside a typed value or a
// list they are atoms.
var wordAtoms = map[string]atomSet{"true": boolAtom, "false": boolAtom, "inf": floatAtom, "nan": floatAtom}

// value reads a value. typed means that it is inside a typed one, where a bare name is an atom if it can be one.
func (p *parser) value(typed bool) (Value, bool) {
	if p.tok.kind != nameToken {
		return p.payload(nil, p.pos(), typed)
	}
	first, pos := p.tok, p.pos()
	name := p.text()
	if typed && wordAtoms[name] != 0 {
		return p.payload(nil, pos, typed)
	}
	p.next()
	_, isType := compound[name]
	if p.tok.kind != '(' && (p.tok.kind != '<' || !isType) {
		return p.slabs.refs.One(Ref{NamePos: pos, Name: name}), true
	}
	t, ok := p.typeAfter(first)
	if !ok || !p.expect('(', " before the value") {
		return nil, false
	}
	v, ok := p.payload(t, pos, true)
	if !ok || !p.expect(')', " after the value") {
		return nil, false
	}
	p.setEnd(v)
	return v, true
}

// setEnd extends a typed value to the closing parenthesis.
func (p *parser) setEnd(v Value) {
	if t := v.base(); t != nil {
		t.end = p.prevEnd()
	}
}

// payload reads an atom, a list, a dictionary, a tuple or a reference to a weight
// file. t is the type before it, nil for none; pos is where that type or
// the payload starts; typed is as for value.
func (p *parser) payload(t *Type, pos diag.Pos, typed bool) (Value, bool) {
	if !p.enter() {
		return nil, false
	}
	defer p.leave()
	switch p.tok.kind {
	case numberToken, stringToken:
		return p.atom(t, pos)
	case '[':
		return p.list(t, pos)
	case '(':
		return p.tuple(t, pos, typed)
	case '{':
		return p.dict(t, pos)
	case nameToken:
		switch name := p.text(); {
		case wordAtoms[name] != 0:
			return p.atom(t, pos)
		case name == blobWord:
			return p.blob(t, pos)
		}
	}
	return nil, p.expected("a value")
}

// atom reads one number, string or boolean.
func (p *parser) atom(t *Type, pos diag.Pos) (Value, bool) {
	l := Literal{text: p.text(), count: 1}
	switch p.tok.kind {
	case numberToken:
		_, k := scanNumber(l.text)
		if k == intAtom {
			if k = classifyInt(l.text); k == 0 {
				return nil, p.intRange(p.tok.pos, p.tok.end)
			}
		}
		l.atoms = k
	case stringToken:
		if !p.checkString(p.tok.pos, p.tok.end) {
			return nil, false
		}
		l.atoms = stringAtom
	default:
		l.atoms = wordAtoms[l.text]
	}
	at := p.tok
	p.next()
	l.typed = typed{pos, p.prevEnd(), t}
	v := p.slabs.literals.One(l)
	return v, p.conforms(v, at)
}

func (p *parser) intRange(pos, end int) bool {
	p.errorAt(pos, end, "mil-number", "integer %s is outside the range of 64 bits", shorten(p.src[pos:end]))
	return false
}

// checkString reports a bad escape in the string at pos.
func (p *parser) checkString(pos, end int) bool {
	_, err := unquote(p.src[pos:end])
	if err == nil {
		return true
	}
	var e *escapeError
	off := 0
	if errors.As(err, &e) {
		off = e.off
	}
	p.errorAt(pos+off, min(pos+off+2, end), "mil-string", "%s", err)
	return false
}

// list reads "[" ... "]": one Literal if it has only atoms, else a List.
func (p *parser) list(t *Type, pos diag.Pos) (Value, bool) {
	open := p.tok
	if l, res := p.flatList(); res != notFlat {
		if res == failed {
			return nil, false
		}
		l.typed = typed{pos, p.prevEnd(), t}
		return l, p.conforms(l, open)
	}
	p.next()
	elems, ok := p.seq(']', true)
	return p.slabs.lists.One(List{typed{pos, p.prevEnd(), t}, elems}), ok
}

// tuple reads "(" ... ")".
func (p *parser) tuple(t *Type, pos diag.Pos, inType bool) (Value, bool) {
	p.next()
	elems, ok := p.seq(')', inType)
	return p.slabs.tuples.One(Tuple{typed{pos, p.prevEnd(), t}, elems}), ok
}

// seq reads [value {"," value}] and the end mark.
func (p *parser) seq(end kind, inType bool) ([]Value, bool) {
	base := len(p.values)
	defer func() { p.values = p.values[:base] }()
	for more := p.tok.kind != end; more; {
		v, ok := p.value(inType)
		if !ok {
			return nil, false
		}
		p.values = append(p.values, v)
		more = p.comma()
	}
	return p.slabs.values.Many(p.values[base:]), p.expect(end, " after the values")
}

// dict reads "{" [pair {"," pair}] "}", a pair being "{" key "," value "}".
func (p *parser) dict(t *Type, pos diag.Pos) (Value, bool) {
	p.next()
	base := len(p.entries)
	defer func() { p.entries = p.entries[:base] }()
	for more := p.tok.kind != '}'; more; {
		if !p.expect('{', " before a dictionary's key") {
			return nil, false
		}
		key, ok := p.value(true)
		if !ok || !p.expect(',', " after the key") {
			return nil, false
		}
		val, ok := p.value(true)
		if !ok || !p.expect('}', " after the value") {
			return nil, false
		}
		p.entries = append(p.entries, Entry{key, val})
		more = p.comma()
	}
	if !p.expect('}', " after the dictionary") {
		return nil, false
	}
	return p.slabs.dicts.One(Dict{typed{pos, p.prevEnd(), t}, p.slabs.entries.Many(p.entries[base:])}), true
}

// blob reads BLOBFILE(path = ..., offset = ...).
func (p *parser) blob(t *Type, pos diag.Pos) (Value, bool) {
	word := p.tok
	p.next()
	if !p.expect('(', " after "+blobWord) {
		return nil, false
	}
	args, ok := p.argSeq(')')
	if !ok || !p.expect(')', " after the arguments of "+blobWord) {
		return nil, false
	}
	b := p.slabs.blobs.One(BlobRef{typed: typed{pos, p.prevEnd(), t}})
	for i := range args {
		a := &args[i]
		l, _ := a.Value.(*Literal)
		switch {
		case l != nil && a.Name == "path" && l.IsString() && l.count == 1 && !l.list:
			b.Path, _ = unquote(l.text) // checked when it was read
			b.PathPos, b.PathType = a.Pos, l.Type
		case l != nil && a.Name == "offset" && l.IsInt() && l.atoms&negAtom == 0 && l.count == 1 && !l.list:
			b.Offset, _ = parseUint(l.text) // checked when it was read
			b.OffsetPos, b.OffsetType = a.Pos, l.Type
		default:
			p.diags.Errorf(p.prog.Span(a.Pos, a.Value.End()), "mil-blob", p.op, "unexpected argument %s of %s",
				shorten(a.Name), blobWord).
				WithHint("%s has two arguments: path, a string, and offset, an unsigned integer", blobWord)
			return nil, false
		}
	}
	missing := ""
	switch diag.NoPos {
	case b.PathPos:
		missing = "path"
	case b.OffsetPos:
		missing = "offset"
	default:
		return b, true
	}
	p.errorAt(word.pos, word.end, "mil-blob", "%s lacks %s", blobWord, missing)
	return nil, false
}
