package mil

// semicolon takes the ";" after a statement or function. A missing one at the end of a line is reported there, and
// reading continues with the next line.
func (p *parser) semicolon(what string) bool {
	if p.tok.kind == ';' {
		p.next()
		return true
	}
	if p.tok.kind == illegalToken || !p.newLine() {
		return p.expected(`";" after the ` + what)
	}
	p.errorAt(p.prev, p.prev+1, "mil-syntax", `expected ";" after the %s`, what)
	return true
}

// newLine reports whether the current token is the first of its line.
func (p *parser) newLine() bool {
	for i := p.prev; i < p.tok.pos; i++ {
		if p.src[i] == '\n' {
			return true
		}
	}
	return false
}

// skipStmt skips to the token after the next ";" that is not in braces, or to the "}" that ends the block.
func (p *parser) skipStmt() {
	for depth := 0; ; p.next() {
		switch p.tok.kind {
		case eofToken:
			return
		case '{':
			depth++
		case '}':
			if depth == 0 {
				return
			}
			depth--
		case ';':
			if depth == 0 {
				p.next()
				return
			}
		case illegalToken:
			// An unclosed string includes the rest of its line, with the end of the statement.
			if depth == 0 && p.fault.code == "mil-string" {
				p.next()
				return
			}
		case nameToken:
			if p.src[p.tok.pos] == 'f' && p.atFunc() {
				return
			}
		}
	}
}

// stmt reads one statement and returns nil after an error.
func (p *parser) stmt() *Stmt {
	p.op = ""
	s := p.slabs.stmts.One(Stmt{Pos: p.pos()})
	if !p.left(s) {
		return nil
	}
	if s.Op == "" {
		var ok bool
		if s.Op, s.OpPos, ok = p.name("an operation"); !ok {
			return nil
		}
	}
	p.op = s.Op
	var ok bool
	if s.OpOpset, s.OpsetPos, ok = p.opset(); !ok {
		return nil
	}
	if !p.expect('(', " before the arguments") {
		return nil
	}
	if s.Args, ok = p.argSeq(')'); !ok || !p.expect(')', " after the arguments") {
		return nil
	}
	if p.tok.kind == '[' {
		if s.Attrs, ok = p.attrs(); !ok {
			return nil
		}
	}
	if p.tok.kind == '(' || p.tok.kind == '{' {
		if !p.nested(s) {
			return nil
		}
	}
	if !p.semicolon("statement") {
		return nil
	}
	s.End = p.prevEnd()
	return s
}

// left reads the results and "=". If the statement has no left side, it has read the operation's name instead.
func (p *parser) left(s *Stmt) bool {
	base := len(p.params)
	defer func() { p.params = p.params[:base] }()
	if p.tok.kind == '(' {
		var ok bool
		if s.Results, ok = p.paramList("results"); !ok {
			return false
		}
		return p.expect('=', " after the results")
	}
	if p.tok.kind != nameToken {
		return p.expected("a statement")
	}
	first, pos := p.tok, p.pos()
	name := p.text()
	p.next()
	if p.tok.kind == '(' || p.tok.kind == '<' && p.atOpset(name) {
		s.Op, s.OpPos = name, pos
		return true
	}
	t, ok := p.typeAfter(first)
	if !ok || !p.paramName(t) {
		return false
	}
	if p.tok.kind == ',' {
		p.next()
		if !p.paramSeq() {
			return false
		}
	}
	s.Results = p.slabs.params.Many(p.params[base:])
	return p.expect('=', " after the results")
}

// atOpset reports whether the "<" after a name at the start of a statement opens
// an operation set, not the parameters of a type.
func (p *parser) atOpset(name string) bool {
	if _, isType := compound[name]; isType {
		return false
	}
	ahead := p.scanner
	ahead.next()
	return ahead.next().kind == '>'
}

// nested reads the blocks of a statement.
func (p *parser) nested(s *Stmt) bool {
	base := len(p.blocks)
	defer func() { p.blocks = p.blocks[:base] }()
	for p.tok.kind == '(' || p.tok.kind == '{' {
		var params []Param
		if p.tok.kind == '(' {
			var ok bool
			if params, ok = p.paramList("block's inputs"); !ok {
				return false
			}
		}
		b, ok := p.body()
		if !ok {
			return false
		}
		b.Params = params
		p.blocks = append(p.blocks, b)
	}
	s.Blocks = p.slabs.blockPtr.Many(p.blocks[base:])
	return true
}

// attrs reads "[" arguments "]".
func (p *parser) attrs() ([]Arg, bool) {
	p.next()
	args, ok := p.argSeq(']')
	return args, ok && p.expect(']', " after the attributes")
}

// argSeq reads name "=" value {"," name "=" value} up to, not including, end.
func (p *parser) argSeq(end kind) ([]Arg, bool) {
	base := len(p.args)
	defer func() { p.args = p.args[:base] }()
	for more := p.tok.kind != end; more; {
		name, pos, ok := p.name("the name of an argument")
		if !ok {
			return nil, false
		}
		if !p.expect('=', " after the argument's name") {
			return nil, false
		}
		v, ok := p.value(false)
		if !ok {
			return nil, false
		}
		p.args = append(p.args, Arg{Pos: pos, Name: name, Value: v})
		more = p.comma()
	}
	args := p.slabs.args.Many(p.args[base:])
	return args, p.unique(args)
}

// unique reports duplicate names in args.
func (p *parser) unique(args []Arg) bool {
	const few = 32
	if len(args) <= few {
		for i := range args {
			for j := range i {
				if args[i].Name == args[j].Name {
					return p.duplicate(&args[i], &args[j])
				}
			}
		}
		return true
	}
	seen := make(map[string]*Arg, len(args))
	for i := range args {
		if first := seen[args[i].Name]; first != nil {
			return p.duplicate(&args[i], first)
		}
		seen[args[i].Name] = &args[i]
	}
	return true
}

func (p *parser) duplicate(again, first *Arg) bool {
	d := p.diags.Errorf(p.prog.NameSpan(again.Pos, again.Name), "mil-duplicate", p.op, "duplicate argument %s",
		again.Name)
	d.Note(p.prog.NameSpan(first.Pos, first.Name), "%s is first set", first.Name)
	return false
}
