package diag

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxShown is the number of diagnostics that the text format shows; it counts the rest.
const MaxShown = 20

// windowWidth is the number of columns of a source line that are shown; a longer line
// is cut around the caret, because a whole model may be on one line.
const windowWidth = 100

// lead is the number of columns before the caret that a cut line keeps.
const lead = 40

// indent is the indentation of the source line and the caret.
const indent = "    "

// headline returns "FILE:LINE:COL: error: OP: MESSAGE".
func (d *Diagnostic) headline() string {
	var b strings.Builder
	if at := d.Span.String(); at != "" {
		b.WriteString(at)
		b.WriteString(": ")
	}
	b.WriteString(d.Severity.String())
	b.WriteString(": ")
	if d.Op != "" {
		b.WriteString(d.Op)
		b.WriteString(": ")
	}
	b.WriteString(d.Message)
	return b.String()
}

// Error returns the first line of the text format.
func (d *Diagnostic) Error() string { return d.headline() }

// Text returns the complete text of d: headline, source line with caret, notes and
// hint, each ended by a newline.
func (d *Diagnostic) Text() string {
	var b strings.Builder
	b.WriteString(d.headline())
	b.WriteByte('\n')
	if d.Span.IsValid() && d.Span.Start.Offset() <= len(d.Span.File.Src) {
		writeSource(&b, d.Span)
	}
	for _, n := range d.Notes {
		b.WriteString("note: ")
		b.WriteString(n.Message)
		if at := n.Span.String(); at != "" {
			b.WriteString(" at ")
			b.WriteString(at)
		}
		b.WriteByte('\n')
	}
	if d.Hint != "" {
		b.WriteString("hint: ")
		b.WriteString(d.Hint)
		b.WriteByte('\n')
	}
	return b.String()
}

// WriteText writes the first MaxShown diagnostics of l and the number of the rest.
func (l *List) WriteText(w io.Writer) error { return l.WriteTextMax(w, MaxShown) }

// WriteTextMax is WriteText with the limit max; 0 shows all kept diagnostics.
func (l *List) WriteTextMax(w io.Writer, limit int) error {
	if l == nil {
		return nil
	}
	shown := l.kept
	if limit > 0 && len(shown) > limit {
		shown = shown[:limit]
	}
	var rest [len(severityNames)]int
	copy(rest[:], l.counts[:])
	for _, d := range shown {
		rest[d.Severity]--
		if _, err := io.WriteString(w, d.Text()); err != nil {
			return err
		}
	}
	var parts []string
	for s, n := range rest {
		if n > 0 {
			parts = append(parts, Count(n, severityNames[s], severityNames[s]+"s"))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "and %s more\n", strings.Join(parts, ", "))
	return err
}

// Count returns a number with its noun, or with a phrase that begins with it: "1 task",
// "3 tasks".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// writeSource writes the line of s without its indentation, cut to a window
// around the caret, and the caret under it.
func writeSource(b *strings.Builder, s Span) {
	start := s.Start.Offset()
	line, lineStart := s.File.line(start)
	col := min(start-lineStart, len(line))
	end := col + 1
	if s.End > s.Start {
		end = min(col+int(s.End-s.Start), len(line))
	}
	from := 0
	for from < col && (line[from] == ' ' || line[from] == '\t') {
		from++
	}
	to := len(line)
	cutLeft := col-from > windowWidth-lead && to-from > windowWidth
	if cutLeft {
		from = runeStart(line, col-lead)
	}
	cutRight := to-from > windowWidth
	if cutRight {
		to = runeStart(line, from+windowWidth)
	}
	end = min(end, to)

	b.WriteString(indent)
	pad := len(indent)
	if cutLeft {
		b.WriteString("... ")
		pad += len("... ")
	}
	pad += writeVisible(b, line[from:col])
	tail := writeVisible(b, line[col:max(end, col)])
	writeVisible(b, line[max(end, col):to])
	if cutRight {
		b.WriteString(" ...")
	}
	b.WriteByte('\n')
	for range pad {
		b.WriteByte(' ')
	}
	b.WriteByte('^')
	for range tail - 1 {
		b.WriteByte('~')
	}
	b.WriteByte('\n')
}

// runeStart returns the start of the character at byte off.
func runeStart(s string, off int) int {
	for n := 0; n < utf8.UTFMax && off > 0 && off < len(s) && !utf8.RuneStart(s[off]); n++ {
		off--
	}
	return off
}

// writeVisible writes s with one column for each character: tabs as spaces, unprintable
// characters as dots. It returns the number of columns.
func writeVisible(b *strings.Builder, s string) int {
	n := 0
	for _, r := range s {
		switch {
		case r == '\t':
			r = ' '
		case r == utf8.RuneError, !unicode.IsPrint(r):
			r = '.'
		}
		b.WriteRune(r)
		n++
	}
	return n
}
