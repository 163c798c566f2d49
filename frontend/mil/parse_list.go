package mil

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// flatResult is what flatList found.
type flatResult uint8

const (
	flat    flatResult = iota // a list of atoms, which was read
	notFlat                   // the list has other elements; nothing was read
	failed                    // an error, which was reported
)

// flatList reads a list of atoms, nested to any regular or irregular shape, directly from the bytes, since most of a
// large file may be one. The current token is its opening bracket.
func (p *parser) flatList() (*Literal, flatResult) {
	var f flatScan
	s := p.src
	i := p.tok.pos
	for i < len(s) {
		switch c := s[i]; {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			i++
		case c == ',':
			if f.state != afterElem {
				return nil, notFlat
			}
			f.state = wantElem
			i++
		case c == '[':
			if f.state == afterElem || f.depth == maxRank {
				return nil, notFlat
			}
			f.open()
			i++
		case c == ']':
			if f.state == wantElem {
				return nil, notFlat
			}
			i++
			if f.close(); f.depth > 0 {
				continue
			}
			l := p.slabs.literals.One(Literal{text: s[p.tok.pos:i], count: f.count, atoms: f.atoms, list: true})
			l.ragged = f.ragged || f.count > 0 && f.atomDepth != f.rank
			l.shape = p.slabs.ints.Many(f.dims[:f.rank])
			p.off, p.tok.end = i, i
			p.next()
			return l, flat
		case c == '/':
			n := commentLen(s[i:])
			if n <= 0 {
				return nil, notFlat
			}
			i += n
		case f.state == afterElem:
			return nil, notFlat
		case c == '"':
			n := stringLen(s[i:])
			if n < 0 {
				return nil, notFlat
			}
			if !p.checkString(i, i+n) {
				return nil, failed
			}
			f.atom(stringAtom)
			i += n
		default:
			n, k := scanNumber(s[i:])
			switch {
			case n == 0:
				if n = nameLen(s[i:]); n == 0 || wordAtoms[s[i:i+n]] == 0 {
					return nil, notFlat
				}
				k = wordAtoms[s[i:i+n]]
			case i+n < len(s) && nameLen(s[i+n:]) > 0:
				return nil, notFlat
			case k == intAtom:
				if k = classifyInt(s[i : i+n]); k == 0 {
					p.intRange(i, i+n)
					return nil, failed
				}
			}
			f.atom(k)
			i += n
		}
	}
	return nil, notFlat
}

// scanState is the last token of a list.
type scanState uint8

const (
	afterOpen scanState = iota
	afterElem
	wantElem // after a comma
)

// flatScan computes the shape of a list while it is read.
type flatScan struct {
	state     scanState
	atoms     atomSet
	ragged    bool
	depth     int // of open brackets
	rank      int // greatest depth so far
	atomDepth int // of the first atom
	count     int
	dims      [maxRank]int32 // length of the first list closed at each depth
	known     [maxRank]bool
	lens      [maxRank]int32 // of the open lists
}

func (f *flatScan) open() {
	f.element()
	f.lens[f.depth] = 0
	f.depth++
	f.rank = max(f.rank, f.depth)
	f.state = afterOpen
}

// element counts an element of the innermost open list.
func (f *flatScan) element() {
	if f.depth > 0 && f.lens[f.depth-1] < math.MaxInt32 {
		f.lens[f.depth-1]++
	}
}

func (f *flatScan) atom(k atomSet) {
	f.element()
	if f.count == 0 {
		f.atomDepth = f.depth
	} else if f.atomDepth != f.depth {
		f.ragged = true
	}
	f.count++
	f.atoms |= k
	f.state = afterElem
}

func (f *flatScan) close() {
	f.depth--
	n := f.lens[f.depth]
	if !f.known[f.depth] {
		f.known[f.depth], f.dims[f.depth] = true, n
	} else if f.dims[f.depth] != n {
		f.ragged = true
	}
	f.state = afterElem
}

// conforms checks a literal against the type in front of it: kind of atoms, number of elements, shape. A single atom
// can be any tensor of one element, and a flat list any tensor of its number of elements.
func (p *parser) conforms(l *Literal, at token) bool {
	t := l.Type
	if t == nil || t.Kind != ScalarType && t.Kind != TensorType {
		return true
	}
	report := func(format string, args ...any) bool {
		p.errorAt(at.pos, p.prev, "mil-literal", format, args...)
		return false
	}
	if wrong := l.atoms &^ classAtoms[Scalars[t.Elem].Class]; wrong != 0 {
		return report("%s in a literal of %s", wrong, describe(t))
	}
	want, shape := int64(1), t.Dims
	if l.ragged {
		return report("lists of unequal length in a literal of %s", describe(t))
	}
	for _, d := range shape {
		if d.Kind != FixedDim {
			return true
		}
		if d.Size != 0 && want > math.MaxInt64/d.Size {
			return report("literal has %s, %s has more than %d", elements(int64(l.count)), describe(t),
				int64(math.MaxInt64))
		}
		want *= d.Size
	}
	if int64(l.count) != want {
		return report("literal has %s, %s has %d", elements(int64(l.count)), describe(t), want)
	}
	if t.IsScalar() && l.list {
		return report("list in a literal of %s", describe(t))
	}
	if len(l.shape) <= 1 || l.count == 0 {
		return true
	}
	same := len(l.shape) == len(shape)
	for i := 0; same && i < len(shape); i++ {
		same = int64(l.shape[i]) == shape[i].Size
	}
	if !same {
		return report("literal has shape %s, which does not match %s", dims(l.shape), describe(t))
	}
	return true
}

// classAtoms lists the atoms allowed as elements of a class.
var classAtoms = [...]atomSet{
	FloatClass:  numericAtoms,
	IntClass:    intAtom | negAtom,
	UintClass:   intAtom | bigAtom,
	BoolClass:   boolAtom,
	StringClass: stringAtom,
}

// dims writes a shape as MIL text does.
func dims(shape []int32) string {
	parts := make([]string, len(shape))
	for i, n := range shape {
		parts[i] = strconv.Itoa(int(n))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func elements(n int64) string {
	if n == 1 {
		return "1 element"
	}
	return fmt.Sprintf("%d elements", n)
}
