package mil

import (
	"fmt"
	"strconv"

	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/slab"
)

// MaxNesting limits the nesting of blocks, types and values.
const MaxNesting = 200

// Parse reads a MIL text. The Program has everything that could be read; use it only if the list has no errors. Rules,
// by code: mil-syntax, mil-string, mil-number, mil-comment, mil-nesting, mil-type, mil-literal, mil-blob,
// mil-duplicate, mil-size.
func Parse(filename string, src []byte) (*Program, *diag.List) {
	if len(src) > diag.MaxSource {
		l := new(diag.List)
		f := diag.NewFile(filename, "")
		l.Errorf(diag.Span{File: f}, "mil-size", "", "text has %d bytes, the limit is %d", len(src), diag.MaxSource)
		return &Program{File: f}, l
	}
	return ParseString(filename, string(src))
}

// ParseString is Parse for a string of at most diag.MaxSource bytes.
func ParseString(filename, src string) (*Program, *diag.List) {
	p := &parser{
		scanner: scanner{src: src},
		prog:    &Program{File: diag.NewFile(filename, src)},
		diags:   new(diag.List),
	}
	const bom = "\uFEFF"
	if len(src) >= len(bom) && src[:len(bom)] == bom {
		p.off = len(bom)
	}
	p.next()
	p.program()
	return p.prog, p.diags
}

// parser is a recursive descent over the tokens of one text. Its functions return false after an error, which they have
// reported; stmt then continues with the next statement.
type parser struct {
	scanner
	tok   token
	prev  int // end of the token before tok
	depth int
	ended bool   // the end of file has been reported
	op    string // operation whose statement is being read, for messages
	prog  *Program
	diags *diag.List

	// Sequences are collected on these stacks and copied when complete.
	params  []Param
	args    []Arg
	values  []Value
	entries []Entry
	dims    []Dim
	types   []*Type
	stmts   []*Stmt
	refs    []Ref
	blocks  []*Block

	slabs struct {
		params   slab.Slab[Param]
		args     slab.Slab[Arg]
		values   slab.Slab[Value]
		entries  slab.Slab[Entry]
		dims     slab.Slab[Dim]
		typePtrs slab.Slab[*Type]
		stmtPtrs slab.Slab[*Stmt]
		refs     slab.Slab[Ref]
		blockPtr slab.Slab[*Block]
		types    slab.Slab[Type]
		stmts    slab.Slab[Stmt]
		blocks   slab.Slab[Block]
		literals slab.Slab[Literal]
		tuples   slab.Slab[Tuple]
		lists    slab.Slab[List]
		dicts    slab.Slab[Dict]
		blobs    slab.Slab[BlobRef]
		ints     slab.Slab[int32]
	}
}

// next moves to the next token.
func (p *parser) next() {
	p.prev = p.tok.end
	p.tok = p.scanner.next()
}

// text returns the source of the current token.
func (p *parser) text() string { return p.src[p.tok.pos:p.tok.end] }

// pos returns the position of the current token.
func (p *parser) pos() diag.Pos { return diag.PosAt(p.tok.pos) }

// prevEnd returns the position just after the last token that was taken.
func (p *parser) prevEnd() diag.Pos { return diag.PosAt(p.prev) }

func (p *parser) errorAt(pos, end int, code, format string, args ...any) *diag.Diagnostic {
	return p.diags.Errorf(p.prog.Span(diag.PosAt(pos), diag.PosAt(end)), code, p.op, format, args...)
}

// expected reports that the current token is not what the grammar wants.
func (p *parser) expected(what string) bool {
	switch p.tok.kind {
	case illegalToken:
		d := p.errorAt(p.tok.pos, p.tok.end, p.fault.code, "%s", p.fault.msg)
		d.Hint = p.fault.hint
		p.ended = p.ended || p.tok.end == len(p.src) // an unclosed comment, which was reported
	case eofToken:
		if !p.ended { // only once, not for every open bracket
			p.errorAt(p.prev, p.prev, "mil-syntax", "expected %s, found end of file", what)
			p.ended = true
		}
	default:
		p.errorAt(p.tok.pos, p.tok.end, "mil-syntax", "expected %s, found %s", what, shorten(p.text()))
	}
	return false
}

// shorten quotes a token for a message.
func shorten(s string) string {
	const limit = 40
	if len(s) > limit {
		s = s[:limit] + "..."
	}
	if s != "" && s[0] == '"' {
		return s
	}
	return strconv.Quote(s)
}

// expect takes a token of kind k; context states where it is expected.
func (p *parser) expect(k kind, context string) bool {
	if p.tok.kind != k {
		return p.expected(k.String() + context)
	}
	p.next()
	return true
}

// comma takes a comma if there is one; another element must follow it.
func (p *parser) comma() bool {
	if p.tok.kind != ',' {
		return false
	}
	p.next()
	return true
}

// enter counts one level of nesting. If it returns true, leave must follow.
func (p *parser) enter() bool {
	if p.depth >= MaxNesting {
		p.errorAt(p.tok.pos, p.tok.end, "mil-nesting", "nested deeper than %d levels", MaxNesting)
		return false
	}
	p.depth++
	return true
}

func (p *parser) leave() { p.depth-- }

// name takes a name, which may consist of digits alone.
func (p *parser) name(what string) (name string, pos diag.Pos, ok bool) {
	t := p.tok
	if t.kind != nameToken && !(t.kind == numberToken && nameLen(p.text()) == t.end-t.pos) {
		return "", 0, p.expected(what)
	}
	name, pos = p.text(), p.pos()
	p.next()
	return name, pos, true
}

// program reads the whole text.
func (p *parser) program() {
	p.prog.Pos = p.pos()
	if !p.header() {
		if p.skipToFunc(); p.tok.kind == eofToken {
			return
		}
	}
	for {
		switch {
		case p.atFunc():
			if f := p.function(); f != nil {
				p.prog.Funcs = append(p.prog.Funcs, f)
				continue
			}
			p.skipToFunc()
		case p.tok.kind == '}':
			p.next()
			if p.tok.kind != eofToken {
				p.expected("end of file after the program")
			}
			return
		default:
			p.expected(`"func" or "}"`)
			p.skipToFunc()
			if p.tok.kind == eofToken {
				return
			}
		}
		if p.tok.kind == eofToken {
			if !p.diags.HasErrors() {
				p.expected(`"}" at the end of the program`)
			}
			return
		}
	}
}

// header reads program(VERSION) [attrs] {.
func (p *parser) header() bool {
	if p.tok.kind != nameToken || p.text() != "program" {
		p.expected(`"program"`)
		return false
	}
	p.next()
	if !p.expect('(', ` after "program"`) {
		return false
	}
	if p.tok.kind != numberToken {
		return p.expected("the version of the program, such as 1.0 or 1.3")
	}
	p.prog.Version = p.text()
	p.next()
	if !p.expect(')', " after the version") {
		return false
	}
	if p.tok.kind == '[' {
		attrs, ok := p.attrs()
		if !ok {
			return false
		}
		p.prog.Attrs = attrs
	}
	return p.expect('{', " before the functions")
}

// atFunc reports whether a function starts here: the word func and a name, which
// no statement starts with.
func (p *parser) atFunc() bool {
	if p.tok.kind != nameToken || p.text() != "func" {
		return false
	}
	ahead := p.scanner
	k := ahead.next().kind
	return k == nameToken || k == numberToken
}

func (p *parser) skipToFunc() {
	for p.tok.kind != eofToken && !p.atFunc() {
		p.next()
	}
}

// function reads one function and returns nil after an error outside its
// statements.
func (p *parser) function() *Func {
	f := &Func{Pos: p.pos()}
	p.next()
	var ok bool
	if f.Name, f.NamePos, ok = p.name("the function's name"); !ok {
		return nil
	}
	if f.Opset, f.OpsetPos, ok = p.opset(); !ok {
		return nil
	}
	if f.Params, ok = p.paramList("parameters"); !ok {
		return nil
	}
	if p.tok.kind == '[' {
		if f.Attrs, ok = p.attrs(); !ok {
			return nil
		}
	}
	if f.Body, ok = p.body(); !ok {
		return nil
	}
	if !p.semicolon("function") {
		return nil
	}
	return f
}

// opset reads <NAME>, if it is there.
func (p *parser) opset() (name string, pos diag.Pos, ok bool) {
	if p.tok.kind != '<' {
		return "", diag.NoPos, true
	}
	p.next()
	if name, pos, ok = p.name("an operation set, such as ios18"); !ok {
		return "", 0, false
	}
	return name, pos, p.expect('>', " after the operation set")
}

// paramList reads "(" [type name {"," type name}] ")".
func (p *parser) paramList(what string) ([]Param, bool) {
	if !p.expect('(', " before the "+what) {
		return nil, false
	}
	base := len(p.params)
	defer func() { p.params = p.params[:base] }()
	if p.tok.kind != ')' && !p.paramSeq() {
		return nil, false
	}
	return p.slabs.params.Many(p.params[base:]), p.expect(')', " after the "+what)
}

// paramSeq pushes type name {"," type name} onto p.params.
func (p *parser) paramSeq() bool {
	for {
		t, ok := p.typ()
		if !ok {
			return false
		}
		if !p.paramName(t) {
			return false
		}
		if !p.comma() {
			return true
		}
	}
}

func (p *parser) paramName(t *Type) bool {
	name, pos, ok := p.name("a name after the type")
	if ok {
		p.params = append(p.params, Param{Pos: pos, Name: name, Type: t})
	}
	return ok
}

// body reads "{" statements "}" "->" "(" names ")". If it returns true, the statements are as complete as their errors
// allow.
func (p *parser) body() (*Block, bool) {
	open := p.tok
	b := p.slabs.blocks.One(Block{Pos: p.pos()})
	if !p.expect('{', " before the statements") {
		return nil, false
	}
	if !p.enter() {
		return nil, false
	}
	defer p.leave()
	base := len(p.stmts)
	defer func() { p.stmts = p.stmts[:base] }()
	op := p.op
	for p.tok.kind != '}' {
		if p.tok.kind == eofToken || p.atFunc() {
			if n := p.diags.Errors(); !p.expected(`"}" after the statements`) && p.diags.Errors() > n {
				p.note(open, "the block is opened")
			}
			return nil, false
		}
		if s := p.stmt(); s != nil {
			p.stmts = append(p.stmts, s)
		} else {
			p.skipStmt()
		}
		p.op = op
	}
	p.next()
	b.Stmts = p.slabs.stmtPtrs.Many(p.stmts[base:])
	var ok bool
	if b.Outputs, ok = p.outputs(); !ok {
		return nil, false
	}
	b.End = p.prevEnd()
	return b, true
}

// note adds a note to the last diagnostic.
func (p *parser) note(t token, msg string) {
	if all := p.diags.All(); len(all) > 0 {
		all[len(all)-1].Note(p.prog.Span(diag.PosAt(t.pos), diag.PosAt(t.end)), "%s", msg)
	}
}

// outputs reads "->" "(" [name {"," name}] ")".
func (p *parser) outputs() ([]Ref, bool) {
	if !p.expect(arrowToken, " and the outputs after the block") {
		return nil, false
	}
	if !p.expect('(', " before the outputs") {
		return nil, false
	}
	base := len(p.refs)
	defer func() { p.refs = p.refs[:base] }()
	for more := p.tok.kind != ')'; more; {
		name, pos, ok := p.name("the name of an output")
		if !ok {
			return nil, false
		}
		p.refs = append(p.refs, Ref{NamePos: pos, Name: name})
		more = p.comma()
	}
	return p.slabs.refs.Many(p.refs[base:]), p.expect(')', " after the outputs")
}

// describe returns the description of a type in messages.
func describe(t *Type) string {
	const limit = 80
	s := t.String()
	if len(s) > limit {
		s = s[:limit] + "..."
	}
	return fmt.Sprintf("type %s", s)
}
