package provenance

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

// briefNodes limits the nodes visited for one printed answer, so that the time to
// print is proportional to the file.
const briefNodes = 1024

// StatementString returns file:line:col, the operation and the name.
func (db *DB) StatementString(i int) string {
	s := &db.Statements[i]
	var b strings.Builder
	if f := db.File(s); f != "" {
		fmt.Fprintf(&b, "%s:%d:%d ", f, s.Line, s.Col)
	}
	b.WriteString(s.Op)
	if s.Name != "" {
		fmt.Fprintf(&b, " %q", s.Name)
	}
	return b.String()
}

// typeString returns a space and the element type and shape of a constant, or "" for
// other statements.
func (s *Statement) typeString() string {
	if s.Type == "" {
		return ""
	}
	return fmt.Sprintf(" %s %s", s.Type, ShapeString(s.Shape))
}

// ShapeString returns a shape as MIL writes it: [2, 3], or [] for a scalar.
func ShapeString(shape []int64) string { return strings.ReplaceAll(fmt.Sprint(shape), " ", ", ") }

// SourceLines returns an answer as lines of text: a "from" line for each statement,
// a "for" line for each user, a "with" line for each constant, then the passes and
// the rule. Each list has at most max lines; 0 means no limit.
func (db *DB) SourceLines(s Source, max int) (lines []string) {
	some := func(word string, list []int) {
		if len(list) == 0 {
			return
		}
		shown := list
		if max > 0 && len(list) > max {
			shown = list[:max]
		}
		for _, i := range shown {
			lines = append(lines, word+" "+db.StatementString(i))
		}
		if n := len(list) - len(shown); n > 0 || s.More {
			lines = append(lines, fmt.Sprintf("%s %d more", word, n))
			if s.More {
				lines[len(lines)-1] = word + " more that are not listed"
			}
		}
	}
	some("from", s.Statements)
	some("for", s.Users)
	some("with", s.With)
	if len(s.Passes) > 0 {
		lines = append(lines, "pass "+strings.Join(s.Passes, ", "))
	}
	if s.Rule != "" {
		lines = append(lines, "rule "+s.Rule)
	}
	return lines
}

// printer writes a DB as text.
type printer struct {
	*bufio.Writer
	db *DB
}

// printed is the number of statements printed for one answer.
const printed = 12

func (p *printer) source(r Ref) {
	for _, l := range p.db.SourceLines(p.db.Brief(r, briefNodes), printed) {
		fmt.Fprintf(p, "  %s\n", l)
	}
}

// Print writes the database as text.
func (db *DB) Print(w io.Writer) error {
	p := &printer{bufio.NewWriter(w), db}
	fmt.Fprintf(p, "debug database, %s for %s, of the container with SHA-256 %x\n", db.Compiler, db.Target, db.SHA256)
	fmt.Fprintf(p, "files: %s\n", strings.Join(db.Files, ", "))
	fmt.Fprintf(p, "%#x bytes of tasks, %#x bytes of constants; %d statements, %d nodes\n", db.TextSize,
		db.ConstantSize, len(db.Statements), len(db.Nodes)-1)
	fmt.Fprintf(p, "\nstatements: %d\n", len(db.Statements))
	for i := range db.Statements {
		s := &db.Statements[i]
		fmt.Fprintf(p, "%d %s%s in %s\n", i, db.StatementString(i), s.typeString(), s.Func)
	}
	fmt.Fprintf(p, "\noperations as lowered: %d\n", len(db.Operators))
	for i := range db.Operators {
		o := &db.Operators[i]
		fmt.Fprintf(p, "%s step %d %s %q on %s", o.Func, o.Step, o.Op, o.Name, o.Unit)
		if o.Reason != "" {
			fmt.Fprintf(p, ": %s", o.Reason)
		}
		fmt.Fprintln(p)
		p.source(o.Ref())
	}
	fmt.Fprintf(p, "\noperations removed by passes: %d\n", len(db.Gone))
	for i := range db.Gone {
		p.gone(&db.Gone[i])
	}
	fmt.Fprintf(p, "\ntasks: %d\n", len(db.Tasks))
	for i := range db.Tasks {
		t := &db.Tasks[i]
		fmt.Fprintf(p, "%s task %d at %#x, %d words\n", db.Procedures[t.Procedure].Name, t.Index, t.Offset, t.Words)
		p.source(t.Ref())
		for _, l := range t.Links {
			fmt.Fprintf(p, "  word %d points at %s\n", l.Word, db.LinkString(l))
		}
	}
	fmt.Fprintf(p, "\nconstants: %d\n", len(db.Extents))
	for i := range db.Extents {
		p.extent(&db.Extents[i])
	}
	fmt.Fprintf(p, "\nsurfaces: %d\n", len(db.Surfaces))
	for i := range db.Surfaces {
		s := &db.Surfaces[i]
		way := "input"
		if s.Output {
			way = "output"
		}
		fmt.Fprintf(p, "%s %s %q at %#x, %d bytes, value %q\n", db.Procedures[s.Procedure].Name, way, s.Name, s.Address,
			s.Size, s.Value)
		p.source(s.Ref())
	}
	fmt.Fprintf(p, "\noperations of the descriptor: %d\n", len(db.Operations))
	for i := range db.Operations {
		o := &db.Operations[i]
		fmt.Fprintf(p, "%s %d %s\n", o.Func, o.Index, o.Name)
		p.source(o.Ref())
	}
	return p.Flush()
}

func (p *printer) gone(g *Gone) {
	fmt.Fprintf(p, "by %s\n", g.Pass)
	p.source(Ref{Node: g.Node})
	if g.By != 0 {
		for _, l := range p.db.SourceLines(p.db.Brief(Ref{Node: g.By}, briefNodes), printed) {
			fmt.Fprintf(p, "  replaced by: %s\n", l)
		}
	}
}

// LinkString describes what a word points at.
func (db *DB) LinkString(l Link) string {
	if l.Kind == LinkSurface {
		return fmt.Sprintf("%s %q", l.Kind, db.Surfaces[l.Target].Name)
	}
	return fmt.Sprintf("%s byte %#x", l.Kind, l.Target)
}

// Roles returns the roles of an extent's bytes, in order of appearance.
func (x *Extent) Roles() (out []string) {
	for _, r := range x.Layout {
		for _, run := range r.Runs {
			if !slices.Contains(out, run.Role) {
				out = append(out, run.Role)
			}
		}
	}
	return out
}

// bytesOf returns the number of bytes of a role.
func (x *Extent) bytesOf(role string) (n uint64) {
	for _, r := range x.Layout {
		for _, run := range r.Runs {
			if run.Role == role {
				n += uint64(r.Times) * uint64(run.Size)
			}
		}
	}
	return n
}

func (p *printer) extent(x *Extent) {
	fmt.Fprintf(p, "%#x, %d bytes\n", x.Offset, x.Size)
	for _, role := range x.Roles() {
		fmt.Fprintf(p, "  %s, %d bytes\n", role, x.bytesOf(role))
		if role == RolePadding || role == RoleReserved {
			continue
		}
		for _, r := range x.Refs(role) {
			for _, l := range p.db.SourceLines(p.db.Brief(r, briefNodes), printed) {
				fmt.Fprintf(p, "    %s\n", l)
			}
		}
	}
}
