package mil

import (
	"maps"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/internal/diag"
)

// scalarNames lists the element types for a hint.
var scalarNames = strings.Join(slices.Sorted(maps.Keys(Scalars)), ", ")

// typ reads a type.
func (p *parser) typ() (*Type, bool) {
	first := p.tok
	if first.kind != nameToken {
		return nil, p.expected("a type")
	}
	p.next()
	return p.typeAfter(first)
}

// typeAfter reads a type after word, its first word.
func (p *parser) typeAfter(first token) (*Type, bool) {
	word := p.src[first.pos:first.end]
	t := Type{Pos: diag.PosAt(first.pos)}
	if p.tok.kind != '<' {
		if !p.scalar(first) {
			return nil, false
		}
		t.Elem, t.End = word, diag.PosAt(first.end)
		return p.slabs.types.One(t), true
	}
	k, ok := compound[word]
	if !ok {
		p.errorAt(first.pos, first.end, "mil-type", "unknown type %s<...>", word).
			WithHint("the types with parameters are tensor, list, state, dict and tuple")
		return nil, false
	}
	t.Kind = k
	p.next()
	if k == TensorType {
		ok = p.tensor(&t)
	} else {
		ok = p.enter()
		if ok {
			ok = p.typeArgs(&t)
			p.leave()
		}
	}
	if !ok || !p.expect('>', " after the type's parameters") {
		return nil, false
	}
	t.End = p.prevEnd()
	return p.slabs.types.One(t), true
}

// scalar checks that a word is an element type.
func (p *parser) scalar(word token) bool {
	name := p.src[word.pos:word.end]
	if _, ok := Scalars[name]; ok {
		return true
	}
	p.errorAt(word.pos, word.end, "mil-type", "unknown element type %s", shorten(name)).
		WithHint("the element types are %s", scalarNames)
	return false
}

// tensor reads the part between tensor< and >.
func (p *parser) tensor(t *Type) bool {
	elem := p.tok
	if elem.kind != nameToken {
		return p.expected("an element type")
	}
	p.next()
	if !p.scalar(elem) {
		return false
	}
	t.Elem = p.src[elem.pos:elem.end]
	if !p.expect(',', " and the dimensions after the element type") {
		return false
	}
	if !p.expect('[', " before the dimensions") {
		return false
	}
	base := len(p.dims)
	defer func() { p.dims = p.dims[:base] }()
	for more := p.tok.kind != ']'; more; {
		d, ok := p.dim()
		if !ok {
			return false
		}
		p.dims = append(p.dims, d)
		more = p.comma()
	}
	t.Dims = p.slabs.dims.Many(p.dims[base:])
	return p.expect(']', " after the dimensions")
}

// dim reads one dimension.
func (p *parser) dim() (Dim, bool) {
	d := Dim{Pos: p.pos()}
	switch p.tok.kind {
	case numberToken:
		text := p.text()
		n, err := parseInt(text)
		if err != nil || n < 0 || text[0] == '-' || text[0] == '+' {
			p.errorAt(p.tok.pos, p.tok.end, "mil-number", "dimension %s: want an integer from 0 to %d",
				shorten(text), int64(1<<63-1))
			return d, false
		}
		d.Size = n
	case '?':
		d.Kind = UnknownDim
	case ellipsisToken:
		d.Kind = VariadicDim
	case nameToken:
		d.Kind, d.Name = NamedDim, p.text()
	default:
		return d, p.expected(`a dimension (a number, "?" or a name)`)
	}
	p.next()
	return d, true
}

// typeArgs reads the part between list<, state<, dict< or tuple< and >.
func (p *parser) typeArgs(t *Type) bool {
	base := len(p.types)
	defer func() { p.types = p.types[:base] }()
	want := map[TypeKind]int{ListType: 1, StateType: 1, DictType: 2}[t.Kind]
	for more := p.tok.kind != '>'; more; {
		a, ok := p.typ()
		if !ok {
			return false
		}
		p.types = append(p.types, a)
		more = (t.Kind == TupleType || len(p.types)-base < want) && p.comma()
	}
	if have := len(p.types) - base; t.Kind != TupleType && have != want {
		p.errorAt(t.Pos.Offset(), p.tok.pos, "mil-type", "%s has %d element types, want %d", compoundNames[t.Kind],
			have, want)
		return false
	}
	t.Args = p.slabs.typePtrs.Many(p.types[base:])
	if t.Kind != ListType {
		return true
	}
	if !p.expect(',', " and the length after the list's element type") {
		return false
	}
	d, ok := p.dim()
	if !ok {
		return false
	}
	t.Dims = p.slabs.dims.Many([]Dim{d})
	return true
}
