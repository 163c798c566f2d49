package compare

import (
	"bufio"
	"bytes"
	"os"
	"strings"

	"github.com/zinc-compiler/zinc/inspect/toolchain"
	"github.com/zinc-compiler/zinc/ir"
)

// trace holds the programs of a side after each pass, as numbers of lines: an unchanged line is stored once, whatever
// the number of passes.
type trace struct {
	lines []string          // text without positions; long ones are truncated as by toolchain.Lines
	index map[string]uint32 // in lines
	shots []shot
	elide func(data []byte) string
}

// shot is the program after a pass.
type shot struct {
	pass, function string
	lines          []uint32
}

func newTrace() *trace { return &trace{index: map[string]uint32{}, elide: toolchain.Eliding()} }

// observe is compile.Options.Observe.
func (t *trace) observe(pass string, p *ir.Program) {
	t.begin(pass)
	w := &toolchain.Lines{Line: func(l []byte) error { t.add(l); return nil }}
	ir.PrintElided(w, p, t.elide) // neither the text nor the writer can fail
	w.Flush()
}

// begin begins the program after a pass.
func (t *trace) begin(pass string) { t.shots = append(t.shots, shot{pass: pass}) }

// add adds a line to the current program, without its source positions.
func (t *trace) add(line []byte) {
	for _, head := range []string{"program ", "file ", "build "} {
		if bytes.HasPrefix(line, []byte(head)) {
			return
		}
	}
	s := &t.shots[len(t.shots)-1]
	line = placeless(line)
	if len(line) == 0 {
		return
	}
	if name, ok := bytes.CutPrefix(line, []byte("func %")); ok && s.function == "" {
		name, _, _ := bytes.Cut(name, []byte(" "))
		s.function = string(name)
	}
	n, ok := t.index[string(line)]
	if !ok {
		n = uint32(len(t.lines))
		x := string(line)
		t.lines = append(t.lines, x)
		t.index[x] = n
	}
	s.lines = append(s.lines, n)
}

// read adds the programs that an executable printed.
func (t *trace) read(passes []toolchain.Pass) error {
	for i := range passes {
		p := &passes[i]
		t.begin(p.Name)
		f, err := os.Open(p.Path)
		if err != nil {
			return err
		}
		w := &toolchain.Lines{Line: func(l []byte) error { t.add(l); return nil }}
		_, err = bufio.NewReader(f).WriteTo(w)
		f.Close()
		if err != nil {
			return err
		}
		w.Flush()
	}
	return nil
}

// fromMark begins the position of a constant in its weight file.
const fromMark = ` from "`

// ReadPrinted reads a line of a program that a zinc printed: its text without positions in the source, the first of
// them, such as "0:12:36", and its subject: "%x" for an operation, "const %w", "func %main", "return".
func ReadPrinted(line string) (text, place, subject string) {
	b, place := strip([]byte(line), false)
	return string(b), place, subjectOf(line)
}

// placeless removes source positions and positions in weight files from a line of a program, except within quotes.
func placeless(line []byte) []byte {
	line, _ = strip(line, true)
	return line
}

// strip removes source positions such as " @0:12:36" and, if from is set, positions in weight files. It returns the
// first source position.
func strip(line []byte, from bool) (_ []byte, place string) {
	if !bytes.Contains(line, []byte(" @")) && !bytes.Contains(line, []byte(fromMark)) {
		return line, ""
	}
	out := make([]byte, 0, len(line))
	in := false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case in && c == '\\' && i+1 < len(line):
			out = append(out, c, line[i+1])
			i++
			continue
		case c == '"':
			in = !in
		case !in && from && bytes.HasPrefix(line[i:], []byte(fromMark)):
			for i += len(fromMark); i < len(line) && line[i] != '"'; i++ {
				if line[i] == '\\' {
					i++
				}
			}
			continue
		case !in && c == ' ' && i+1 < len(line) && line[i+1] == '@':
			k := i + 2
			for k < len(line) && (line[k] == ':' || line[k] >= '0' && line[k] <= '9') {
				k++
			}
			if place == "" {
				place = string(line[i+2 : k])
			}
			i = k - 1
			continue
		}
		out = append(out, c)
	}
	return out, place
}

// subjectOf returns the subject of a line of a program.
func subjectOf(line string) string {
	s := strings.TrimLeft(line, " ")
	for _, head := range []string{"const ", "func "} {
		if name, ok := strings.CutPrefix(s, head); ok {
			return head + name[:nameEnd(name)]
		}
	}
	if strings.HasPrefix(s, "%") {
		return s[:nameEnd(s)]
	}
	if i := strings.IndexAny(s, " ({"); i > 0 {
		return s[:i]
	}
	return s
}

// nameEnd returns the end of a name at the beginning of s.
func nameEnd(s string) int {
	if strings.HasPrefix(s, `%"`) {
		for i := 2; i < len(s); i++ {
			switch s[i] {
			case '\\':
				i++
			case '"':
				return i + 1
			}
		}
		return len(s)
	}
	if i := strings.IndexAny(s, ": (,)"); i >= 0 {
		return i
	}
	return len(s)
}
