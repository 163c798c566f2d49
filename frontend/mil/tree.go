package mil

import "github.com/zinc-compiler/zinc/internal/diag"

// A Program is one MIL text.
type Program struct {
	File    *diag.File
	Pos     diag.Pos // of the word program
	Version string   // as written, "1.0" or "1.3"
	Attrs   []Arg    // [buildInfo = ...]
	Funcs   []*Func
}

// A Func is one function of a Program.
type Func struct {
	Pos      diag.Pos // of the word func
	NamePos  diag.Pos
	OpsetPos diag.Pos
	Name     string
	Opset    string // operation set, such as "ios18"; "" if the text has none
	Params   []Param
	Attrs    []Arg // [FlexibleShapeInformation = ...]
	Body     *Block
}

// A Param declares a name with a type: a function's or block's parameter, or a
// result of a statement.
type Param struct {
	Pos  diag.Pos // of the name; the type has its own
	Name string
	Type *Type
}

// A Block is a body of statements, of a function or nested in a statement.
type Block struct {
	Pos     diag.Pos // of the opening brace
	End     diag.Pos // just after the list of outputs
	Params  []Param  // of a nested block; nil for a function's body
	Stmts   []*Stmt
	Outputs []Ref
}

// A Stmt is one operation. A statement without a left side has no Results.
type Stmt struct {
	Pos      diag.Pos // of its first byte
	End      diag.Pos // just after its semicolon
	OpPos    diag.Pos
	OpsetPos diag.Pos // NoPos if OpOpset is ""
	Results  []Param
	Op       string
	OpOpset  string // overrides the function's Opset for this statement; "" if absent
	Args     []Arg
	Attrs    []Arg
	Blocks   []*Block
}

// An Arg is NAME = VALUE, in parentheses or in an attribute list.
type Arg struct {
	Pos   diag.Pos // of the name
	Name  string
	Value Value
}

// FindArg returns the first argument of that name in args, or nil.
func FindArg(args []Arg, name string) *Arg {
	for i := range args {
		if args[i].Name == name {
			return &args[i]
		}
	}
	return nil
}

// Attr returns the argument of that name in the attribute list, or nil.
func (s *Stmt) Attr(name string) *Arg { return FindArg(s.Attrs, name) }

// NameAttr returns the string of the name attribute, or "".
func (s *Stmt) NameAttr() string {
	if a := s.Attr("name"); a != nil {
		if l, ok := a.Value.(*Literal); ok {
			if v, err := l.Text(); err == nil {
				return v
			}
		}
	}
	return ""
}

// Func returns the function of that name, or nil.
func (p *Program) Func(name string) *Func {
	for _, f := range p.Funcs {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// Stmts calls visit for every statement of the program, statements of nested blocks after the statement they are in.
func (p *Program) Stmts(visit func(s *Stmt)) {
	for _, f := range p.Funcs {
		f.Body.each(visit)
	}
}

func (b *Block) each(visit func(s *Stmt)) {
	for _, s := range b.Stmts {
		visit(s)
		for _, inner := range s.Blocks {
			inner.each(visit)
		}
	}
}

// Blobs calls visit for every constant in a weight file.
func (p *Program) Blobs(visit func(b *BlobRef)) {
	p.Stmts(func(s *Stmt) {
		for _, args := range [][]Arg{s.Args, s.Attrs} {
			for _, a := range args {
				eachBlob(a.Value, visit)
			}
		}
	})
}

func eachBlob(v Value, visit func(b *BlobRef)) {
	switch v := v.(type) {
	case *BlobRef:
		visit(v)
	case *Tuple:
		for _, e := range v.Elems {
			eachBlob(e, visit)
		}
	case *List:
		for _, e := range v.Elems {
			eachBlob(e, visit)
		}
	}
}

// BuildInfo returns the value of key in the buildInfo dictionary, as written by the tools that produced the text.
func (p *Program) BuildInfo(key string) (string, bool) {
	a := FindArg(p.Attrs, "buildInfo")
	if a == nil {
		return "", false
	}
	d, ok := a.Value.(*Dict)
	if !ok {
		return "", false
	}
	for _, e := range d.Entries {
		k, ok := e.Key.(*Literal)
		if !ok {
			continue
		}
		if s, err := k.Text(); err != nil || s != key {
			continue
		}
		if v, ok := e.Value.(*Literal); ok {
			s, err := v.Text()
			return s, err == nil
		}
	}
	return "", false
}

// Span returns the range from pos to end in the program's file.
func (p *Program) Span(pos, end diag.Pos) diag.Span {
	return diag.Span{File: p.File, Start: pos, End: end}
}

// NameSpan returns the range of the name at pos.
func (p *Program) NameSpan(pos diag.Pos, name string) diag.Span {
	return diag.Span{File: p.File, Start: pos, End: pos + diag.Pos(len(name))}
}

// OpSpan returns the range of the operation's name in s.
func (p *Program) OpSpan(s *Stmt) diag.Span { return p.NameSpan(s.OpPos, s.Op) }

// ValueSpan returns the range of v.
func (p *Program) ValueSpan(v Value) diag.Span { return p.Span(v.Pos(), v.End()) }

// A Value is the part after "=" in an Arg: *Ref, *Literal, *BlobRef,
// *Tuple, *List or *Dict.
type Value interface {
	Pos() diag.Pos // of its first byte, the type included
	End() diag.Pos // just after its last byte
	base() *typed  // nil for a Ref
}

// TypeOf returns the type before a value, nil if the text has none.
func TypeOf(v Value) *Type {
	if t := v.base(); t != nil {
		return t.Type
	}
	return nil
}

// TextOf returns the text that a value is, or false.
func TextOf(v Value) (string, bool) {
	l, ok := v.(*Literal)
	if !ok {
		return "", false
	}
	s, err := l.Text()
	return s, err == nil
}

// typed is the common part of all values with an optional type.
type typed struct {
	pos, end diag.Pos
	Type     *Type // nil if the text has none
}

// Pos returns the position of the first byte.
func (t *typed) Pos() diag.Pos { return t.pos }

// End returns the position just after the last byte.
func (t *typed) End() diag.Pos { return t.end }

// A Ref is the use of a name.
type Ref struct {
	NamePos diag.Pos
	Name    string
}

// Pos returns the position of the first byte.
func (r *Ref) Pos() diag.Pos { return r.NamePos }

// End returns the position just after the last byte.
func (r *Ref) End() diag.Pos { return r.NamePos + diag.Pos(len(r.Name)) }

// A BlobRef is a constant in a weight file.
type BlobRef struct {
	typed
	PathPos, OffsetPos diag.Pos
	Path               string // as written, as in "@model_path/weights/weight.bin"
	Offset             uint64 // of the blob's metadata record, in bytes
	PathType           *Type  // string or tensor<string, []>; nil if the text has none
	OffsetType         *Type  // uint64 or tensor<uint64, []>; nil if the text has none
}

// A Tuple is a parenthesised sequence: an argument of several values, or a typed
// tuple.
type Tuple struct {
	typed
	Elems []Value
}

// A List is a bracketed sequence with elements other than numbers, strings and booleans; a list of only those is a
// Literal.
type List struct {
	typed
	Elems []Value
}

// A Dict is a braced sequence of pairs.
type Dict struct {
	typed
	Entries []Entry
}

// An Entry is one pair of a Dict.
type Entry struct {
	Key, Value Value
}

func (*Ref) base() *typed     { return nil }
func (t *typed) base() *typed { return t }
