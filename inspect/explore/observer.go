package explore

import (
	"fmt"
	"slices"
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
			s.lines = o.lines(f)
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

// lines writes a function as lines.
func (o *observer) lines(f *ir.Func) (out []irLine) {
	elide := func(data []byte) string { return fmt.Sprintf("%d bytes", len(data)) }
	ir.PrintLines(f, elide, func(shows any, text []byte) {
		l := irLine{Text: clip(string(text)), Kind: "end"}
		switch x := shows.(type) {
		case *ir.Func:
			l.Kind, l.Name, l.Statements = "func", x.Name, o.fromAll(x.Body.Params)
		case *ir.Value:
			l.Kind, l.Name, l.Statements = "const", x.Name, o.from(x.Source())
		case *ir.Op:
			l.Kind, l.Statements = "op", o.from(x.Origin)
			if len(x.Results) > 0 {
				l.Name = x.Results[0].Name
			}
			if x.Place.Unit != ir.Unplaced {
				l.Unit = x.Place.Unit.String()
			}
		case *ir.Block:
			l.Kind, l.Statements = "return", o.fromAll(x.Outputs)
		}
		out = append(out, l)
	})
	return out
}

// fromAll returns the statements that values go back to.
func (o *observer) fromAll(vs []*ir.Value) (out []int32) {
	for _, v := range vs {
		for _, x := range o.from(v.Source()) {
			if len(out) < maxSources && !slices.Contains(out, x) {
				out = append(out, x)
			}
		}
	}
	return out
}
