package ir

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
)

// Data collects the bytes of large constants of a printed program. Slices are kept, not copied.
type Data struct {
	Parts [][]byte // in order, each followed by zeros up to dataAlign
	Share bool     // store constants that share memory once
	Plain bool     // leave out the packing of constants, which only lowering reads

	size  int64
	known map[*byte]window // with Share, by first byte
}

// window is a part of a section.
type window struct{ at, n int64 }

// dataAlign is the alignment of a constant in the data section.
const dataAlign = 64

var zeros [dataAlign]byte

// Size returns the number of bytes collected, including padding.
func (d *Data) Size() int64 { return d.size }

// Bytes returns the section in one piece.
func (d *Data) Bytes() []byte {
	out := make([]byte, 0, d.size)
	for _, p := range d.Parts {
		out = append(out, p...)
	}
	return out
}

func (d *Data) add(b []byte) int64 {
	if d.Share && len(b) > 0 {
		if w, ok := d.known[&b[0]]; ok && w.n == int64(len(b)) {
			return w.at
		}
	}
	if pad := -d.size & (dataAlign - 1); pad != 0 {
		d.Parts = append(d.Parts, zeros[:pad])
		d.size += pad
	}
	at := d.size
	d.Parts = append(d.Parts, b)
	d.size += int64(len(b))
	if d.Share && len(b) > 0 {
		if d.known == nil {
			d.known = map[*byte]window{}
		}
		d.known[&b[0]] = window{at, int64(len(b))}
	}
	return at
}

// Constants of at most inlineElems elements are written as numbers, others as hexadecimal bytes; constants of blobBytes
// and more are written to the data section.
const (
	inlineElems = 64
	blobBytes   = 256
)

// Print writes the program's complete text form, from which Parse restores the program.
func Print(w io.Writer, p *Program) error { return PrintTo(w, p, nil) }

// PrintTo is like Print but adds large constants to data, which is passed to Parse; if data is nil
// they stay in the text.
func PrintTo(w io.Writer, p *Program, data *Data) error {
	b := bufio.NewWriter(w)
	pr := &printer{w: b, data: data}
	pr.program(p)
	return b.Flush()
}

// PrintElided writes the text for people: the hexadecimal bytes of constants of ElidedBytes and
// more are replaced by the result of elide. Parse does not accept this text.
func PrintElided(w io.Writer, p *Program, elide func(data []byte) string) error {
	b := bufio.NewWriter(w)
	pr := &printer{w: b, elide: elide}
	pr.program(p)
	return b.Flush()
}

// PrintLines calls line with each line of the function's text, without positions in the source, and with what the line
// shows: the *Func, the *Value of a constant, an *Op, the *Block that returns, or nil. Constants are elided as by
// PrintElided. The text is valid until line returns.
func PrintLines(f *Func, elide func(data []byte) string, line func(shows any, text []byte)) {
	s := &lineSplitter{line: line}
	b := bufio.NewWriter(s)
	pr := &printer{w: b, elide: elide, shows: func(x any) {
		b.Flush() // the splitter returns no error
		s.shows = x
	}}
	pr.fn(f)
	b.Flush()
}

// lineSplitter is a writer that passes on the lines that are not empty.
type lineSplitter struct {
	line  func(shows any, text []byte)
	shows any
	text  []byte // of the line so far
}

func (s *lineSplitter) Write(p []byte) (int, error) {
	for l := range bytes.Lines(p) {
		s.text = append(s.text, l...)
		if n := len(s.text) - 1; s.text[n] == '\n' {
			if n > 0 {
				s.line(s.shows, s.text[:n])
			}
			s.shows, s.text = nil, s.text[:0]
		}
	}
	return len(p), nil
}

// ElidedBytes is the size from which PrintElided replaces a constant.
const ElidedBytes = blobBytes

type printer struct {
	w     *bufio.Writer
	data  *Data
	elide func([]byte) string
	shows func(any) // nil, or called with what the next line shows; the text then has no positions
	buf   []byte
}

// begin begins a line that shows x.
func (p *printer) begin(x any) {
	if p.shows != nil {
		p.shows(x)
	}
}

func (p *printer) put(ss ...string) {
	for _, s := range ss {
		p.w.WriteString(s) // the buffer stores the first error and Flush returns it
	}
}

func (p *printer) program(x *Program) {
	p.put("program ", strconv.Quote(x.Version), "\n")
	for _, f := range x.Files {
		p.put("file ", strconv.Quote(f), "\n")
	}
	for _, kv := range x.BuildInfo {
		p.put("build ", strconv.Quote(kv.Key), " ", strconv.Quote(kv.Value), "\n")
	}
	for _, f := range x.Funcs {
		p.fn(f)
	}
}

func (p *printer) fn(f *Func) {
	p.put("\n")
	p.begin(f)
	p.put("func ", valueName(f.Name), " ", strconv.Quote(f.Opset), "(")
	p.values(f.Body.Params)
	p.put(")")
	p.pos(f.Pos)
	p.put(" {\n")
	p.flex(f.Flex)
	seen := map[*Value]bool{}
	p.constants(f.Body, seen)
	p.body(f.Body, "  ")
	p.put("}\n")
}

func (p *printer) flex(f Flexible) {
	for _, n := range slices.Sorted(maps.Keys(f.Default)) {
		p.put("  flex default ", strconv.Quote(n), " ", intsText(f.Default[n]), "\n")
	}
	for _, n := range slices.Sorted(maps.Keys(f.Ranges)) {
		var flat []int64
		for _, r := range f.Ranges[n] {
			flat = append(flat, r[0], r[1])
		}
		p.put("  flex range ", strconv.Quote(n), " ", intsText(flat), "\n")
	}
	for _, m := range f.Enums {
		p.put("  flex enum {")
		for _, n := range slices.Sorted(maps.Keys(m)) {
			p.put(" ", strconv.Quote(n), " ", intsText(m[n]))
		}
		p.put(" }\n")
	}
}

// constants writes the constants that the block reads, in order of first use.
func (p *printer) constants(b *Block, seen map[*Value]bool) {
	visit := func(v *Value) {
		if v != nil && v.Const != nil && !seen[v] {
			seen[v] = true
			p.constant(v)
		}
	}
	for _, op := range b.Ops {
		for _, a := range op.Args {
			for _, v := range a {
				visit(v)
			}
		}
		for _, n := range op.Blocks {
			p.constants(n, seen)
		}
	}
	for _, v := range b.Outputs {
		visit(v)
	}
}

func (p *printer) constant(v *Value) {
	c := v.Const
	p.begin(v)
	p.put("  const ", valueName(v.Name), ": ", v.Type.String(), " = ")
	n := int64(len(c.Data))
	switch {
	case c.Type.DType == String:
		p.put("[")
		for i, s := range c.Strings {
			if i > 0 {
				p.put(", ")
			}
			p.put(strconv.Quote(s))
		}
		p.put("]")
	case p.data != nil && n >= blobBytes:
		p.put("blob(", itoa(p.data.add(c.Data)), ", ", itoa(n), ")")
	case c.Elems() >= 0 && c.Elems() <= inlineElems && int64(len(c.Data)) == c.Type.Bytes() && p.numbers(c):
	case p.elide != nil && n >= ElidedBytes:
		p.put(p.elide(c.Data))
	default:
		p.put(`hex "`)
		enc := hex.NewEncoder(p.w)
		enc.Write(c.Data)
		p.put(`"`)
	}
	if c.Packing != nil && c.Assumed == nil && (p.data == nil || !p.data.Plain) {
		switch k := c.Packing; {
		case k.Zeros > 0:
			p.put(" sparse")
		case k.Scales != nil:
			p.put(" int8 ", strconv.Itoa(k.Axis), ` "`, hex.EncodeToString(k.Scales), `"`)
		default:
			p.put(` palette "`, hex.EncodeToString(k.Codebook), `"`)
		}
	}
	if c.Blob != "" {
		p.put(" from ", strconv.Quote(c.Blob))
	}
	p.pos(v.Pos)
	p.put("\n")
}

// numbers writes the elements as exact numbers. It writes nothing for packed types, 8-bit floats and NaNs, which are
// written as bytes.
func (p *printer) numbers(c *Const) bool {
	t := c.Type.DType
	if t.Bits() < 8 || t == FP8E4M3 || t == FP8E5M2 || t == UInt64 {
		return false
	}
	b := append(p.buf[:0], '[')
	for i := range c.Elems() {
		if i > 0 {
			b = append(b, ", "...)
		}
		if !t.IsFloat() {
			b = strconv.AppendInt(b, c.Int(i), 10)
			continue
		}
		v := c.Float(i)
		if v != v {
			return false
		}
		if math.IsInf(v, 0) {
			if v < 0 {
				b = append(b, '-')
			}
			b = append(b, "inf"...)
			continue
		}
		b = strconv.AppendFloat(b, v, 'x', -1, 64)
	}
	p.buf = append(b, ']')
	p.w.Write(p.buf)
	return true
}

func (p *printer) body(b *Block, indent string) {
	for _, op := range b.Ops {
		p.op(op, indent)
	}
	p.begin(b)
	p.put(indent, "return ")
	p.names(b.Outputs)
	p.put("\n")
}

func (p *printer) op(op *Op, indent string) {
	p.begin(op)
	p.put(indent)
	if len(op.Results) == 0 {
		p.put("do ")
	} else {
		p.values(op.Results)
		p.put(" = ")
	}
	p.put(op.Def.Name)
	if op.Def.Since != "" {
		p.put("<", op.Def.Since, ">")
	}
	p.put("(")
	first := true
	for i, a := range op.Args {
		if len(a) == 0 {
			continue
		}
		if !first {
			p.put(", ")
		}
		first = false
		p.put(string(op.Def.Params[i].Name), " = ")
		if len(a) == 1 {
			p.put(valueName(a[0].Name))
			continue
		}
		p.put("(")
		p.names(a)
		p.put(")")
	}
	p.put(")")
	if op.Name != "" {
		p.put(" name ", strconv.Quote(op.Name))
	}
	if pl := op.Place; pl != (Place{}) {
		p.put(" on ", pl.Unit.String(), " ", strconv.Quote(pl.Rule), " ", strconv.Quote(pl.Reason))
	}
	if op.InPlace {
		p.put(" in place")
	}
	p.pos(op.Pos)
	for _, b := range op.Blocks {
		p.put(" block (")
		p.values(b.Params)
		p.put(") {\n")
		p.body(b, indent+"  ")
		p.put(indent, "}")
	}
	p.put("\n")
}

// values writes definitions: name, type and position.
func (p *printer) values(vs []*Value) {
	for i, v := range vs {
		if i > 0 {
			p.put(", ")
		}
		p.put(valueName(v.Name), ": ", v.Type.String())
		p.pos(v.Pos)
	}
}

func (p *printer) names(vs []*Value) {
	for i, v := range vs {
		if i > 0 {
			p.put(", ")
		}
		p.put(valueName(v.Name))
	}
}

func (p *printer) pos(at Pos) {
	if at != (Pos{}) && p.shows == nil {
		p.put(" @", itoa(int64(at.File)), ":", itoa(int64(at.Line)), ":", itoa(int64(at.Col)))
	}
}

// valueName writes a name after its mark, quoted unless all its characters are allowed without quotes.
func valueName(s string) string {
	bare := s != ""
	for i := 0; i < len(s) && bare; i++ {
		bare = isNameByte(s[i])
	}
	if bare {
		return "%" + s
	}
	return "%" + strconv.Quote(s)
}

func isNameByte(c byte) bool {
	return c == '_' || c == '.' || c == '/' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
