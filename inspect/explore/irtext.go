package explore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/ir"
)

// irLine is one line of the program after a pass.
type irLine struct {
	Text string `json:"text"`
	// Kind is func, const, op, return or end.
	Kind string `json:"kind"`
	Name string `json:"name,omitempty"` // of the first result
	Unit string `json:"unit,omitempty"` // where a placed operation runs
	// Statements lists up to maxSources statements that the line came from, nearest first.
	Statements []int32 `json:"statements,omitempty"`
}

// snapshot is the program after a pass.
type snapshot struct {
	Pass    string `json:"pass"`
	What    string `json:"what"`
	Func    string `json:"function"`
	Changed bool   `json:"changed"`
	Ops     int    `json:"ops"`
	Lines   int    `json:"lines"`

	lines []irLine
}

// Bounds of the text of snapshots. The last line says what was omitted.
const (
	maxSources   = 64
	maxLineBytes = 4 << 10
	maxSnapshots = 64 << 20 // bytes of all lines that are kept
)

// leftOut is the line that replaces a program beyond maxSnapshots.
func leftOut(before int) irLine {
	return irLine{Text: fmt.Sprintf("omitted: the programs before take %d bytes", before), Kind: "end"}
}

// clip shortens a line that is shown to maxLineBytes.
func clip(s string) string {
	if len(s) > maxLineBytes {
		return strings.ToValidUTF8(s[:maxLineBytes], "") + " ..."
	}
	return s
}

// observer keeps the program after each pass.
type observer struct {
	what    map[string]string // of each pass
	stmts   []*ir.Stmt
	index   map[*ir.Stmt]int32
	sources map[*ir.Origin][]int32
	shots   []*snapshot
	bytes   int
}

func newObserver(what map[string]string) *observer {
	return &observer{what: what, index: map[*ir.Stmt]int32{}, sources: map[*ir.Origin][]int32{}}
}

// observe is compile.Options.Observe.
func (o *observer) observe(pass string, p *ir.Program) {
	for _, f := range p.Funcs {
		s := &snapshot{Pass: pass, What: o.what[pass], Func: f.Name}
		if o.bytes < maxSnapshots {
			w := &irWriter{o: o}
			w.function(f)
			s.lines = w.lines
		} else {
			s.lines = []irLine{leftOut(o.bytes)}
		}
		ir.Walk(f, func(*ir.Op) { s.Ops++ })
		s.Lines = len(s.lines)
		o.add(s)
	}
}

// add stores a snapshot, which shares its lines with an equal predecessor.
func (o *observer) add(s *snapshot) {
	if n := len(o.shots); n > 0 && o.shots[n-1].Func == s.Func && s.Pass != o.shots[0].Pass {
		before := o.shots[n-1]
		if slices.EqualFunc(before.lines, s.lines, func(a, b irLine) bool { return a.Text == b.Text }) {
			s.lines = before.lines
			o.shots = append(o.shots, s)
			return
		}
	}
	s.Changed = true
	for i := range s.lines {
		o.bytes += len(s.lines[i].Text) + len(s.lines[i].Name) + 64 + 4*len(s.lines[i].Statements)
	}
	o.shots = append(o.shots, s)
}

// from returns the statements that an origin goes back to, numbered by the observer.
func (o *observer) from(x *ir.Origin) []int32 {
	if x == nil {
		return nil
	}
	if s, ok := o.sources[x]; ok {
		return s
	}
	queue, seen := []*ir.Origin{x}, map[*ir.Origin]bool{x: true}
	var out []int32
	for i := 0; i < len(queue) && i < 4*maxSources && len(out) < maxSources; i++ {
		if s := queue[i].Stmt; s != nil {
			n, ok := o.index[s]
			if !ok {
				n = int32(len(o.stmts))
				o.index[s] = n
				o.stmts = append(o.stmts, s)
			}
			if !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
		for _, f := range queue[i].From {
			if !seen[f] && len(queue) < 4*maxSources {
				seen[f] = true
				queue = append(queue, f)
			}
		}
	}
	o.sources[x] = out
	return out
}

// irWriter writes a function as lines.
type irWriter struct {
	o     *observer
	lines []irLine
	b     strings.Builder
}

func (w *irWriter) line(l irLine) {
	l.Text = clip(w.b.String())
	w.b.Reset()
	w.lines = append(w.lines, l)
}

func (w *irWriter) put(ss ...string) {
	for _, s := range ss {
		if w.b.Len() <= maxLineBytes {
			w.b.WriteString(s)
		}
	}
}

func (w *irWriter) function(f *ir.Func) {
	w.put("func ", f.Name, " <", f.Opset, ">(")
	w.params(f.Body.Params)
	w.put(") {")
	var st []int32
	for _, p := range f.Body.Params {
		st = merge(st, w.o.from(p.Source()))
	}
	w.line(irLine{Kind: "func", Name: f.Name, Statements: st})
	w.block(f.Body, "  ", map[*ir.Value]bool{})
	w.put("}")
	w.line(irLine{Kind: "end"})
}

func merge(a, b []int32) []int32 {
	for _, x := range b {
		if len(a) < maxSources && !slices.Contains(a, x) {
			a = append(a, x)
		}
	}
	return a
}

// shownName returns a value's name with the prefix of values, which names from passes already have.
func shownName(v *ir.Value) string {
	if strings.HasPrefix(v.Name, "%") {
		return v.Name
	}
	return "%" + v.Name
}

func (w *irWriter) params(vs []*ir.Value) {
	for i, v := range vs {
		if i > 0 {
			w.put(", ")
		}
		w.put(shownName(v), ": ", v.Type.String())
	}
}

// block writes operations, each after the constants that it reads first.
func (w *irWriter) block(b *ir.Block, indent string, seen map[*ir.Value]bool) {
	for _, op := range b.Ops {
		op.Operands(func(_ *ir.Param, v *ir.Value) {
			if v != nil && v.IsConst() && !seen[v] {
				seen[v] = true
				w.constant(v, indent)
			}
		})
		w.op(op, indent, seen)
	}
	w.put(indent, "return ")
	var st []int32
	for i, v := range b.Outputs {
		if i > 0 {
			w.put(", ")
		}
		w.put(shownName(v))
		st = merge(st, w.o.from(v.Source()))
	}
	w.line(irLine{Kind: "return", Statements: st})
}

// shownElements is the number of elements of a constant in a line.
const shownElements = 8

func (w *irWriter) constant(v *ir.Value, indent string) {
	w.put(indent, "const ", shownName(v), ": ", v.Type.String(), " = ")
	c := v.Const
	if n := c.Elems(); c.Type.DType == ir.String {
		for i, s := range c.Strings[:min(len(c.Strings), shownElements)] {
			if i > 0 {
				w.put(", ")
			}
			w.put(strconv.Quote(cut(s)))
		}
	} else if c.Type.Kind == ir.Tensor && c.Blob == "" && n <= 4*shownElements {
		w.put("[")
		for i := range n {
			if i > 0 {
				w.put(", ")
			}
			w.put(strconv.FormatFloat(c.Float(i), 'g', -1, 32))
		}
		w.put("]")
	} else {
		w.put(strconv.Itoa(len(c.Data)), " bytes")
	}
	if c.Blob != "" {
		w.put(" from ", c.Blob)
	}
	w.line(irLine{Kind: "const", Name: v.Name, Statements: w.o.from(v.Source())})
}

func (w *irWriter) op(op *ir.Op, indent string, seen map[*ir.Value]bool) {
	l := irLine{Kind: "op", Statements: w.o.from(op.Origin)}
	w.put(indent)
	if len(op.Results) > 0 {
		l.Name = op.Results[0].Name
		w.params(op.Results)
		w.put(" = ")
	}
	w.put(op.Def.Name, "(")
	first := true
	for i, a := range op.Args {
		for k, v := range a {
			switch {
			case k > 0:
				w.put(" ")
			case !first:
				w.put(", ")
				fallthrough
			default:
				w.put(string(op.Def.Params[i].Name), "=")
			}
			first = false
			w.put(shownName(v))
		}
	}
	w.put(")")
	if op.Place.Unit != ir.Unplaced {
		l.Unit = op.Place.Unit.String()
		w.put("  on ", l.Unit)
		if op.Place.Rule != "" {
			w.put(" by ", op.Place.Rule)
		}
		if op.Place.Reason != "" {
			w.put(": ", op.Place.Reason)
		}
	}
	if len(op.Blocks) == 0 {
		w.line(l)
		return
	}
	w.put(" {")
	w.line(l)
	for i, b := range op.Blocks {
		if i > 0 {
			w.put(indent, "} {")
			w.line(irLine{Kind: "end"})
		}
		w.block(b, indent+"  ", seen)
	}
	w.put(indent, "}")
	w.line(irLine{Kind: "end"})
}
