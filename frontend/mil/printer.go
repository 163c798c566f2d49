package mil

import (
	"fmt"
	"io"
	"strconv"

	"github.com/zinc-compiler/zinc/internal/diag"
)

// Indentation in compiled models, in columns.
const (
	funcIndent = 4
	stmtIndent = 12 // of statements in a function
	stepIndent = 8  // more for every nested block
	closeBack  = 4  // less for the brace that closes a body
)

// Print writes p as MIL text in the layout of compiled models: one statement per line, one space after commas and
// around "=". Atoms are written as they were read. Parsing the text returns a program Equal to p.
func Print(w io.Writer, p *Program) error {
	pr := printer{w: w}
	pr.program(p)
	pr.flush()
	return pr.err
}

// Layout sets the positions of all nodes of p, and its file with the name, to those in the text that Print writes, as
// if p had been parsed from it. No node may be in p twice.
func Layout(name string, p *Program) error {
	pr := printer{place: true}
	pr.program(p)
	if len(pr.b) > diag.MaxSource {
		return fmt.Errorf("%s has %d bytes, the limit is %d", name, len(pr.b), int64(diag.MaxSource))
	}
	p.File = diag.NewFile(name, string(pr.b))
	return nil
}

// printer collects text and writes it in pieces.
type printer struct {
	w     io.Writer // nil: the text stays in b
	b     []byte
	place bool // set the positions of nodes
	err   error
}

// pieceSize is the size of text that is collected before it is written.
const pieceSize = 64 << 10

func (pr *printer) flush() {
	if pr.err == nil && len(pr.b) > 0 {
		_, pr.err = pr.w.Write(pr.b)
	}
	pr.b = pr.b[:0]
}

// at sets the position of a node to where the next text is written.
func (pr *printer) at(p *diag.Pos) {
	if pr.place {
		*p = diag.PosAt(len(pr.b))
	}
}

func (pr *printer) str(parts ...string) {
	for _, s := range parts {
		pr.b = append(pr.b, s...)
	}
}

func (pr *printer) line(indent int) {
	if pr.w != nil && len(pr.b) >= pieceSize {
		pr.flush()
	}
	pr.b = append(pr.b, '\n')
	for range indent {
		pr.b = append(pr.b, ' ')
	}
}

func (pr *printer) program(p *Program) {
	pr.at(&p.Pos)
	pr.str("program(", p.Version, ")")
	if p.Attrs != nil {
		pr.line(0)
		pr.attrs(p.Attrs)
	}
	pr.line(0)
	pr.str("{")
	for _, f := range p.Funcs {
		pr.line(funcIndent)
		pr.at(&f.Pos)
		pr.str("func ")
		pr.at(&f.NamePos)
		pr.str(f.Name)
		pr.opset(f.Opset, &f.OpsetPos)
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

func (pr *printer) opset(name string, p *diag.Pos) {
	if name != "" {
		pr.str("<")
		pr.at(p)
		pr.str(name, ">")
	}
}

// sep separates the elements of a sequence: it is called before the i-th.
func (pr *printer) sep(i int) {
	if i > 0 {
		pr.str(", ")
	}
}

func (pr *printer) paramList(params []Param) {
	pr.str("(")
	pr.paramSeq(params)
	pr.str(")")
}

func (pr *printer) paramSeq(params []Param) {
	for i := range params {
		pr.sep(i)
		pr.typ(params[i].Type)
		pr.str(" ")
		pr.at(&params[i].Pos)
		pr.str(params[i].Name)
	}
}

func (pr *printer) attrs(args []Arg) {
	pr.str("[")
	pr.argSeq(args)
	pr.str("]")
}

func (pr *printer) argSeq(args []Arg) {
	for i := range args {
		pr.sep(i)
		pr.at(&args[i].Pos)
		pr.str(args[i].Name, " = ")
		pr.value(args[i].Value)
	}
}

// body writes a block from its brace on, with its statements at column indent.
func (pr *printer) body(b *Block, indent int) {
	pr.at(&b.Pos)
	pr.str("{")
	for _, s := range b.Stmts {
		pr.line(indent)
		pr.stmt(s, indent)
	}
	pr.line(indent - closeBack)
	pr.str("} -> (")
	for i := range b.Outputs {
		pr.sep(i)
		pr.ref(&b.Outputs[i])
	}
	pr.str(")")
	pr.at(&b.End)
}

func (pr *printer) ref(r *Ref) {
	pr.at(&r.NamePos)
	pr.str(r.Name)
}

func (pr *printer) stmt(s *Stmt, indent int) {
	pr.at(&s.Pos)
	if len(s.Results) > 0 {
		pr.paramSeq(s.Results)
		pr.str(" = ")
	}
	pr.at(&s.OpPos)
	pr.str(s.Op)
	pr.opset(s.OpOpset, &s.OpsetPos)
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
	pr.at(&s.End)
}

func (pr *printer) typ(t *Type) {
	pr.at(&t.Pos)
	switch t.Kind {
	case ScalarType:
		pr.str(t.Elem)
	case TensorType:
		pr.str(compoundNames[t.Kind], "<", t.Elem, ", [")
		for i := range t.Dims {
			pr.sep(i)
			pr.dim(&t.Dims[i])
		}
		pr.str("]>")
	default:
		pr.str(compoundNames[t.Kind], "<")
		for i, a := range t.Args {
			pr.sep(i)
			pr.typ(a)
		}
		if t.Kind == ListType {
			pr.str(", ")
			pr.dim(&t.Dims[0])
		}
		pr.str(">")
	}
	pr.at(&t.End)
}

func (pr *printer) dim(d *Dim) {
	pr.at(&d.Pos)
	switch d.Kind {
	case UnknownDim:
		pr.str("?")
	case VariadicDim:
		pr.str("...")
	case NamedDim:
		pr.str(d.Name)
	default:
		pr.b = strconv.AppendInt(pr.b, d.Size, 10)
	}
}

// wrap writes the payload in the type, if there is one.
func (pr *printer) wrap(t *Type, payload func()) {
	if t == nil {
		payload()
		return
	}
	pr.typ(t)
	pr.str("(")
	payload()
	pr.str(")")
}

// typed writes a value and sets its positions.
func (pr *printer) typed(v *typed, payload func()) {
	pr.at(&v.pos)
	pr.wrap(v.Type, payload)
	pr.at(&v.end)
}

func (pr *printer) value(v Value) {
	switch v := v.(type) {
	case *Ref:
		pr.ref(v)
	case *Literal:
		pr.typed(&v.typed, func() { pr.b = v.appendPayload(pr.b) })
	case *BlobRef:
		pr.typed(&v.typed, func() { pr.blob(v) })
	case *Tuple:
		pr.typed(&v.typed, func() { pr.seq("(", v.Elems, ")") })
	case *List:
		pr.typed(&v.typed, func() { pr.seq("[", v.Elems, "]") })
	case *Dict:
		pr.typed(&v.typed, func() {
			pr.str("{")
			for i, e := range v.Entries {
				pr.sep(i)
				pr.seq("{", []Value{e.Key, e.Value}, "}")
			}
			pr.str("}")
		})
	}
}

func (pr *printer) seq(open string, elems []Value, end string) {
	pr.str(open)
	for i, e := range elems {
		pr.sep(i)
		pr.value(e)
	}
	pr.str(end)
}

func (pr *printer) blob(v *BlobRef) {
	pr.str(blobWord, "(")
	pr.at(&v.PathPos)
	pr.str("path = ")
	pr.wrap(v.PathType, func() { pr.b = appendQuoted(pr.b, v.Path) })
	pr.str(", ")
	pr.at(&v.OffsetPos)
	pr.str("offset = ")
	pr.wrap(v.OffsetType, func() { pr.b = strconv.AppendUint(pr.b, v.Offset, 10) })
	pr.str(")")
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
