package mil

import (
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/internal/diag"
)

// A Literal is an atom (number, string, boolean) or a list, nested or not, of atoms. It refers to its text and takes
// about 100 bytes for any number of elements; its accessors convert it.
type Literal struct {
	typed
	text   string // from the first byte of the payload to the last
	shape  []int32
	count  int
	atoms  atomSet
	list   bool
	ragged bool
}

// IsList reports whether the literal is written with brackets.
func (l *Literal) IsList() bool { return l.list }

// Len returns the number of atoms.
func (l *Literal) Len() int { return l.count }

// Shape returns the lengths of the nested lists, outermost first, or none for an atom. It can differ from the shape of
// the type: a single atom can be the element of a one-element tensor. ok is false for lists of unequal length.
func (l *Literal) Shape() (shape []int, ok bool) {
	if l.ragged {
		return nil, false
	}
	shape = make([]int, len(l.shape))
	for i, n := range l.shape {
		shape[i] = int(n)
	}
	return shape, true
}

// IsNumeric reports whether every atom is a number; an empty list is.
func (l *Literal) IsNumeric() bool { return l.atoms&^numericAtoms == 0 }

// IsInt reports whether every atom is an integer; an empty list is.
func (l *Literal) IsInt() bool { return l.atoms&^(numericAtoms&^floatAtom) == 0 }

// IsBool reports whether every atom is a boolean; an empty list is.
func (l *Literal) IsBool() bool { return l.atoms&^boolAtom == 0 }

// IsString reports whether every atom is a string; an empty list is.
func (l *Literal) IsString() bool { return l.atoms&^stringAtom == 0 }

// Atoms yields the atoms as written, strings with their quotes and escapes.
func (l *Literal) Atoms() iter.Seq[string] {
	return func(yield func(string) bool) {
		for c := (atomCursor{rest: l.text}); ; {
			tok := c.next()
			if tok == "" || !yield(tok) {
				return
			}
		}
	}
}

// atomCursor walks the atoms of a literal's text, which the parser has checked.
type atomCursor struct{ rest string }

// next returns the next atom, "" at the end.
func (c *atomCursor) next() string {
	s := c.rest
	for i := 0; i < len(s); i++ {
		switch b := s[i]; b {
		case ' ', '\t', '\r', '\n', '[', ']', ',':
		case '/':
			i += max(commentLen(s[i:]), 1) - 1
		case '"':
			n := stringLen(s[i:])
			c.rest = s[i+n:]
			return s[i : i+n]
		default:
			n, _ := scanNumber(s[i:])
			if n == 0 {
				n = max(nameLen(s[i:]), 1)
			}
			c.rest = s[i+n:]
			return s[i : i+n]
		}
	}
	c.rest = ""
	return ""
}

// atomNames are the names of the kinds of atoms in messages.
var atomNames = []struct {
	set  atomSet
	name string
}{
	{stringAtom, "strings"},
	{boolAtom, "bools"},
	{floatAtom, "fractions"},
	{bigAtom, "integers above the largest int64"},
	{negAtom, "negative integers"},
	{intAtom, "integers"},
}

// String names the kinds of atoms in s.
func (s atomSet) String() string {
	var names []string
	for _, k := range atomNames {
		if s&k.set != 0 {
			names = append(names, k.name)
		}
	}
	return strings.Join(names, " and ")
}

func (l *Literal) mismatch(want string) error {
	return fmt.Errorf("want a literal of %[2]s, got %[1]s", l.atoms, want)
}

// convert converts every atom, in order. It fails if they are not of the wanted kind, which may says.
func convert[T any](l *Literal, may bool, want string, atom func(tok string) (T, error)) ([]T, error) {
	if !may {
		return nil, l.mismatch(want)
	}
	out := make([]T, 0, l.count)
	for c := (atomCursor{rest: l.text}); ; {
		tok := c.next()
		if tok == "" {
			return out, nil
		}
		v, err := atom(tok)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
}

// Floats converts every atom, in order, to float64. It fails if one is not a number. Numbers that float64 cannot
// represent are rounded to nearest even.
func (l *Literal) Floats() ([]float64, error) {
	return convert(l, l.IsNumeric(), "numbers", func(tok string) (float64, error) { return parseFloat(tok), nil })
}

// Ints converts every atom to int64. It fails if one is not an integer or does not fit.
func (l *Literal) Ints() ([]int64, error) {
	return convert(l, l.IsInt(), "integers", func(tok string) (int64, error) {
		v, err := parseInt(tok)
		if err != nil {
			err = fmt.Errorf("integer %s is above the largest int64, %d", tok, uint64(1<<63-1))
		}
		return v, err
	})
}

// Uints converts every atom to uint64. It fails if one is not an integer or is negative.
func (l *Literal) Uints() ([]uint64, error) {
	return convert(l, l.IsInt(), "integers", func(tok string) (uint64, error) {
		v, err := parseUint(tok)
		if err != nil {
			err = fmt.Errorf("want an unsigned integer, got %s", tok)
		}
		return v, err
	})
}

// Bools converts every atom to a bool. It fails if one is something else.
func (l *Literal) Bools() ([]bool, error) {
	return convert(l, l.IsBool(), "bools", func(tok string) (bool, error) { return tok == "true", nil })
}

// Strings converts every atom to the string that it denotes. It fails if one is something else.
func (l *Literal) Strings() ([]string, error) {
	return convert(l, l.IsString(), "strings", func(tok string) (string, error) {
		s, _ := unquote(tok) // checked by the parser
		return s, nil
	})
}

func one[T any](l *Literal, all []T, err error) (v T, _ error) {
	if err != nil {
		return v, err
	}
	if len(all) != 1 {
		return v, fmt.Errorf("want a literal of one element, got %d", len(all))
	}
	return all[0], nil
}

// Float returns the value of a literal of one number.
func (l *Literal) Float() (float64, error) {
	if l.count > 1 {
		return one[float64](l, make([]float64, l.count), nil)
	}
	v, err := l.Floats()
	return one(l, v, err)
}

// Text returns the value of a literal of one string.
func (l *Literal) Text() (string, error) {
	v, err := l.Strings()
	return one(l, v, err)
}

// FloatLiteral returns a literal of type t with values in row-major order, nested according to shape (an atom if shape
// is nil).
func FloatLiteral(t *Type, shape []int, values []float64) *Literal {
	return makeLiteral(t, shape, len(values), floatAtom, func(b []byte, i int) []byte {
		return appendHexFloat(b, values[i])
	})
}

// IntLiteral is FloatLiteral for integers.
func IntLiteral(t *Type, shape []int, values []int64) *Literal {
	atoms := intAtom
	for _, v := range values {
		if v < 0 {
			atoms |= negAtom
		}
	}
	return makeLiteral(t, shape, len(values), atoms, func(b []byte, i int) []byte {
		return strconv.AppendInt(b, values[i], 10)
	})
}

// UintLiteral is FloatLiteral for integers that are not negative.
func UintLiteral(t *Type, shape []int, values []uint64) *Literal {
	var atoms atomSet
	for _, v := range values {
		if v > math.MaxInt64 {
			atoms |= bigAtom
		} else {
			atoms |= intAtom
		}
	}
	return makeLiteral(t, shape, len(values), atoms, func(b []byte, i int) []byte {
		return strconv.AppendUint(b, values[i], 10)
	})
}

// BoolLiteral is FloatLiteral for booleans.
func BoolLiteral(t *Type, shape []int, values []bool) *Literal {
	return makeLiteral(t, shape, len(values), boolAtom, func(b []byte, i int) []byte {
		return strconv.AppendBool(b, values[i])
	})
}

// StringLiteral is FloatLiteral for strings.
func StringLiteral(t *Type, shape []int, values []string) *Literal {
	return makeLiteral(t, shape, len(values), stringAtom, func(b []byte, i int) []byte {
		return appendQuoted(b, values[i])
	})
}

// NewList returns a bracketed sequence as the parser does: a Literal where the elements
// are literals without types, else a List.
func NewList(t *Type, elems []Value) Value {
	list := &List{typed{Type: t}, elems}
	b := []byte{'['}
	for i, e := range elems {
		l, ok := e.(*Literal)
		if !ok || l.Type != nil {
			return list
		}
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, l.text...)
	}
	src := string(append(b, ']'))
	p := parser{scanner: scanner{src: src}, prog: &Program{File: diag.NewFile("", src)}, diags: new(diag.List)}
	p.next()
	if l, res := p.flatList(); res == flat {
		l.Type = t
		return l
	}
	return list // nested too deep for a literal
}

// makeLiteral writes n atoms as nested lists. If the shape does not have n elements it writes one flat list, so that no
// value is lost.
func makeLiteral(t *Type, shape []int, n int, atoms atomSet, atom func([]byte, int) []byte) *Literal {
	l := &Literal{typed: typed{Type: t}, count: n, list: shape != nil || n != 1}
	size := 1
	for _, d := range shape {
		size *= d
	}
	if size != n {
		shape = []int{n}
	}
	for _, d := range shape {
		l.shape = append(l.shape, int32(d))
	}
	if n > 0 {
		l.atoms = atoms
	}
	var b []byte
	next := 0
	var write func(dims []int32)
	write = func(dims []int32) {
		if len(dims) == 0 {
			b = atom(b, next)
			next++
			return
		}
		b = append(b, '[')
		for i := range dims[0] {
			if i > 0 {
				b = append(b, ", "...)
			}
			write(dims[1:])
		}
		b = append(b, ']')
	}
	write(l.shape)
	l.text = string(b)
	if n == 0 { // an empty dimension hides those inside it
		for i, d := range l.shape {
			if d == 0 {
				l.shape = l.shape[:i+1]
				break
			}
		}
	}
	return l
}

// commentLen returns the length of the comment at the start of s: 0 if there is none, -1 if it is not closed.
func commentLen(s string) int {
	if len(s) < 2 || s[0] != '/' {
		return 0
	}
	switch s[1] {
	case '/':
		if n := strings.IndexByte(s, '\n'); n >= 0 {
			return n
		}
		return len(s)
	case '*':
		if n := strings.Index(s[2:], "*/"); n >= 0 {
			return n + 4
		}
		return -1
	}
	return 0
}
