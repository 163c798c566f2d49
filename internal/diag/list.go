package diag

import (
	"errors"
	"fmt"
	"sort"
)

// Severity reports whether a Diagnostic stops the compilation.
type Severity uint8

// The severities, gravest first.
const (
	Error   Severity = iota // the input is wrong; nothing is written
	Warning                 // the input is odd; compilation goes on
)

var severityNames = [...]string{Error: "error", Warning: "warning"}

// String returns the word that the text format prints.
func (s Severity) String() string {
	if int(s) < len(severityNames) {
		return severityNames[s]
	}
	return fmt.Sprintf("severity(%d)", uint8(s))
}

// A Note adds a fact to a Diagnostic, with its position.
type Note struct {
	Span    Span
	Message string // as in "x is declared"; the text format adds " at FILE:LINE:COL"
}

// A Diagnostic is one error or warning.
type Diagnostic struct {
	Severity Severity
	Code     string // short identifier of the rule, as in "mil-syntax"; stable between releases
	Span     Span
	Op       string // operation at fault, "" when none is known
	Message  string // the facts that disagree, without position, operation or full stop
	Notes    []Note
	Hint     string // what to do, or "" if nothing beyond the message is known
}

// MaxKept is the number of diagnostics that a List keeps; the rest are counted.
const MaxKept = 1000

// A List collects diagnostics. The zero value is ready. It is not safe for
// concurrent use.
type List struct {
	kept    []*Diagnostic
	counts  [len(severityNames)]int
	dropped int
}

// Add records d and returns it, so that notes and a hint may be set. If the List
// already has MaxKept diagnostics, it only counts d.
func (l *List) Add(d Diagnostic) *Diagnostic {
	if int(d.Severity) >= len(l.counts) {
		d.Severity = Error
	}
	p := &d
	l.counts[d.Severity]++
	if len(l.kept) < MaxKept {
		l.kept = append(l.kept, p)
	} else {
		l.dropped++
	}
	return p
}

// Errorf records an error of rule code about operation op (which may be "").
func (l *List) Errorf(at Span, code, op, format string, args ...any) *Diagnostic {
	return l.Add(Diagnostic{Severity: Error, Code: code, Span: at, Op: op, Message: fmt.Sprintf(format, args...)})
}

// Warningf records a warning of rule code about operation op (which may be "").
func (l *List) Warningf(at Span, code, op, format string, args ...any) *Diagnostic {
	return l.Add(Diagnostic{Severity: Warning, Code: code, Span: at, Op: op, Message: fmt.Sprintf(format, args...)})
}

// Note adds a note to d and returns d.
func (d *Diagnostic) Note(at Span, format string, args ...any) *Diagnostic {
	d.Notes = append(d.Notes, Note{Span: at, Message: fmt.Sprintf(format, args...)})
	return d
}

// WithHint sets the hint of d and returns d.
func (d *Diagnostic) WithHint(format string, args ...any) *Diagnostic {
	d.Hint = fmt.Sprintf(format, args...)
	return d
}

// Merge appends the diagnostics and counts of m to l.
func (l *List) Merge(m *List) {
	if m == nil {
		return
	}
	for s, n := range m.counts {
		l.counts[s] += n
	}
	room := min(MaxKept-len(l.kept), len(m.kept))
	l.kept = append(l.kept, m.kept[:room]...)
	l.dropped += m.dropped + len(m.kept) - room
}

// All returns the kept diagnostics in the order of Add, or of Sort if that came
// later. The slice belongs to l.
func (l *List) All() []*Diagnostic {
	if l == nil {
		return nil
	}
	return l.kept
}

// Errors returns how many errors were added, kept or not.
func (l *List) Errors() int {
	if l == nil {
		return 0
	}
	return l.counts[Error]
}

// Warnings returns how many warnings were added, kept or not.
func (l *List) Warnings() int {
	if l == nil {
		return 0
	}
	return l.counts[Warning]
}

// HasErrors reports whether an error was added.
func (l *List) HasErrors() bool { return l.Errors() > 0 }

// Sort orders the kept diagnostics by file name, offset, severity, and then the order
// in which they were added, and removes repeated ones.
func (l *List) Sort() {
	sort.SliceStable(l.kept, func(i, j int) bool {
		a, b := l.kept[i], l.kept[j]
		if x, y := a.fileName(), b.fileName(); x != y {
			return x < y
		}
		if a.Span.Start != b.Span.Start {
			return a.Span.Start < b.Span.Start
		}
		return a.Severity < b.Severity
	})
	type key struct {
		at            Span
		code, op, msg string
	}
	seen := make(map[key]bool, len(l.kept))
	out := l.kept[:0]
	for _, d := range l.kept {
		k := key{at: d.Span, code: d.Code, op: d.Op, msg: d.Message}
		if seen[k] {
			l.counts[d.Severity]--
			continue
		}
		seen[k] = true
		out = append(out, d)
	}
	clear(l.kept[len(out):])
	l.kept = out
}

func (d *Diagnostic) fileName() string {
	if d.Span.File == nil {
		return ""
	}
	return d.Span.File.Name
}

// Err returns nil if l contains no error, else l as an error.
func (l *List) Err() error {
	if !l.HasErrors() {
		return nil
	}
	return (*listError)(l)
}

// listError is a List with at least one error in it.
type listError List

// Error returns the line of the first error and the number of further errors.
func (e *listError) Error() string {
	l := (*List)(e)
	for _, d := range l.kept {
		if d.Severity != Error {
			continue
		}
		if more := l.Errors() - 1; more > 0 {
			return fmt.Sprintf("%s (and %d more)", d.headline(), more)
		}
		return d.headline()
	}
	return fmt.Sprintf("%d errors", l.Errors())
}

// AsList returns the List of an error that Err returned, or that wraps such an error;
// otherwise nil.
func AsList(err error) *List {
	var e *listError
	if errors.As(err, &e) {
		return (*List)(e)
	}
	return nil
}
