package mil

import (
	"io"
	"strconv"
)

// Indentation of compiled models, in columns.
const (
	funcIndent = 4
	stmtIndent = 12 // of statements in a function
	stepIndent = 8  // more for every nested block
	closeBack  = 4  // less for the brace that closes a body
)

// Print writes p as MIL text in the layout of compiled models: one statement a
// line, one space after commas and around "=". Atoms are written as they were
// read. Parsing the text returns a program Equal to p.
func Print(w io.Writer, p *Program) error {
	pr := printer{w: w}
	pr.program(p)
	pr.flush()
	return pr.err
}

// printer collects text and writes it in pieces.
type printer struct {
	w   io.Writer
	b   []byte
	err error
}

// pieceSize is how much text is collected before it is written.
const pieceSize = 64 << 10

func (pr *printer) flush() {
	if pr.err == nil && len(pr.b) > 0 {
		_, pr.err = pr.w.Write(pr.b)
	}
	pr.b = pr.b[:0]
}

func (pr *printer) str(parts ...string) {
	for _, s := range parts {
		pr.b = append(pr.b, s...)
	}
}

func (pr *printer) line(indent int) {
	if len(pr.b) >= pieceSize {
		pr.flush()
	}
	pr.b = append(pr.b, '\n')
	for range indent {
		pr.b = append(pr.b, ' ')
	}
}

func (pr *printer) program(p *Program) {
	pr.str("program(", p.Version, ")")
	if p.Attrs != nil {
		pr.line(0)
		pr.attrs(p.Attrs)
	}
	pr.line(0)
	pr.str("{")
	for _, f := range p.Funcs {
		pr.line(funcIndent)
		pr.str("func ", f.Name)
		pr.opset(f.Opset)
		pr.paramList(f.Params)
		if f.Attrs != nil {
			pr.str(" ")
			pr.attrs(f.Attrs)
		}
		pr.str(" ")
		pr.body(f.Body, stmtIndent)
		pr.str(";")
	}
	pr.line(0)
	pr.str("}\n")
}

func (pr *printer) opset(name string) {
	if name != "" {
		pr.str("<", name, ">")
	}
}

func (pr *printer) paramList(params []Param) {
	pr.str("(")
	pr.paramSeq(params)
	pr.str(")")
}

func (pr *printer) paramSeq(params []Param) {
	for i := range params {
		if i > 0 {
			pr.str(", ")
		}
		pr.b = appendType(pr.b, params[i].Type)
		pr.str(" ", params[i].Name)
	}
}

func (pr *printer) attrs(args []Arg) {
	pr.str("[")
	pr.argSeq(args)
	pr.str("]")
}

func (pr *printer) argSeq(args []Arg) {
	for i := range args {
		if i > 0 {
			pr.str(", ")
		}
		pr.str(args[i].Name, " = ")
		pr.b = appendValue(pr.b, args[i].Value)
	}
}

// body writes a block from its brace on, with its statements at column indent.
func (pr *printer) body(b *Block, indent int) {
	pr.str("{")
	for _, s := range b.Stmts {
		pr.line(indent)
		pr.stmt(s, indent)
	}
	pr.line(indent - closeBack)
	pr.str("} -> (")
	for i := range b.Outputs {
		if i > 0 {
			pr.str(", ")
		}
		pr.str(b.Outputs[i].Name)
	}
	pr.str(")")
}

func (pr *printer) stmt(s *Stmt, indent int) {
	if len(s.Results) > 0 {
		pr.paramSeq(s.Results)
		pr.str(" = ")
	}
	pr.str(s.Op)
	pr.opset(s.OpOpset)
	pr.str("(")
	pr.argSeq(s.Args)
	pr.str(")")
	if s.Attrs != nil {
		pr.attrs(s.Attrs)
	}
	for i, b := range s.Blocks {
		if i > 0 {
			pr.line(indent)
		} else {
			pr.str(" ")
		}
		pr.paramList(b.Params)
		pr.str(" ")
		pr.body(b, indent+stepIndent)
	}
	pr.str(";")
}

func appendType(b []byte, t *Type) []byte {
	if t.Kind == ScalarType {
		return append(b, t.Elem...)
	}
	b = append(b, compoundNames[t.Kind]...)
	b = append(b, '<')
	switch t.Kind {
	case TensorType:
		b = append(b, t.Elem...)
		b = append(b, ", ["...)
		for i := range t.Dims {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = appendDim(b, &t.Dims[i])
		}
		b = append(b, ']')
	default:
		for i, a := range t.Args {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = appendType(b, a)
		}
		if t.Kind == ListType {
			b = append(b, ", "...)
			b = appendDim(b, &t.Dims[0])
		}
	}
	return append(b, '>')
}

func appendDim(b []byte, d *Dim) []byte {
	switch d.Kind {
	case UnknownDim:
		return append(b, '?')
	case VariadicDim:
		return append(b, "..."...)
	case NamedDim:
		return append(b, d.Name...)
	}
	return strconv.AppendInt(b, d.Size, 10)
}

// appendTyped wraps the payload in the type, if there is one.
func appendTyped(b []byte, t *Type, payload func([]byte) []byte) []byte {
	if t == nil {
		return payload(b)
	}
	b = append(appendType(b, t), '(')
	return append(payload(b), ')')
}

func appendValue(b []byte, v Value) []byte {
	switch v := v.(type) {
	case *Ref:
		return append(b, v.Name...)
	case *Literal:
		return appendTyped(b, v.Type, v.appendPayload)
	case *BlobRef:
		return appendTyped(b, v.Type, v.appendPayload)
	case *Tuple:
		return appendTyped(b, v.Type, func(b []byte) []byte { return appendSeq(b, '(', v.Elems, ')') })
	case *List:
		return appendTyped(b, v.Type, func(b []byte) []byte { return appendSeq(b, '[', v.Elems, ']') })
	case *Dict:
		return appendTyped(b, v.Type, func(b []byte) []byte {
			b = append(b, '{')
			for i, e := range v.Entries {
				if i > 0 {
					b = append(b, ", "...)
				}
				b = appendSeq(b, '{', []Value{e.Key, e.Value}, '}')
			}
			return append(b, '}')
		})
	}
	return b
}

func appendSeq(b []byte, open byte, elems []Value, end byte) []byte {
	b = append(b, open)
	for i, e := range elems {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = appendValue(b, e)
	}
	return append(b, end)
}

func (v *BlobRef) appendPayload(b []byte) []byte {
	b = append(b, blobWord...)
	b = append(b, "(path = "...)
	b = appendTyped(b, v.PathType, func(b []byte) []byte { return appendQuoted(b, v.Path) })
	b = append(b, ", offset = "...)
	b = appendTyped(b, v.OffsetType, func(b []byte) []byte { return strconv.AppendUint(b, v.Offset, 10) })
	return append(b, ')')
}

// appendPayload writes the atoms as they were read, with one space after commas
// and no comments.
func (l *Literal) appendPayload(b []byte) []byte {
	s := l.text
	for i := 0; i < len(s); {
		switch c := s[i]; c {
		case ' ', '\t', '\r', '\n':
			i++
		case '[', ']':
			b = append(b, c)
			i++
		case ',':
			b = append(b, ", "...)
			i++
		case '/':
			i += max(commentLen(s[i:]), 1)
		case '"':
			n := stringLen(s[i:])
			b = append(b, s[i:i+n]...)
			i += n
		default:
			n, _ := scanNumber(s[i:])
			if n == 0 {
				n = max(nameLen(s[i:]), 1)
			}
			b = append(b, s[i:i+n]...)
			i += n
		}
	}
	return b
}
