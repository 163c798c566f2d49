package provenance

import (
	"fmt"
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
