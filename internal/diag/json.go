package diag

// Place is a span for editors: lines and columns count from 1, columns are in bytes, and the end is the first byte
// after the span.
type Place struct {
	File      string `json:"file,omitempty"`       // path
	Line      int    `json:"line,omitempty"`       // first line, from 1
	Column    int    `json:"column,omitempty"`     // first byte of the line, from 1
	EndLine   int    `json:"end_line,omitempty"`   // line of the first byte after the place
	EndColumn int    `json:"end_column,omitempty"` // column of the first byte after the place
	Offset    *int   `json:"offset,omitempty"`     // bytes before the place
	Length    *int   `json:"length,omitempty"`     // bytes of the place
}

// NoteDocument is the form of a note in JSON.
type NoteDocument struct {
	Message string `json:"message"` // what the note says
	Place
}

// DiagnosticDocument is the form of a diagnostic in JSON.
type DiagnosticDocument struct {
	Severity string `json:"severity"`       // error or warning
	Code     string `json:"code,omitempty"` // short name of what is wrong
	Place
	Op      string         `json:"op,omitempty"`    // operation that it is about
	Message string         `json:"message"`         // what is wrong, and what is allowed
	Notes   []NoteDocument `json:"notes,omitempty"` // other places that have to do with it
	Hint    string         `json:"hint,omitempty"`  // what to do
}

// Document is the form of a list in JSON.
type Document struct {
	Errors      int                  `json:"errors"`      // number of them
	Warnings    int                  `json:"warnings"`    // number of them
	Omitted     int                  `json:"omitted"`     // of both, those that are counted and not listed
	Diagnostics []DiagnosticDocument `json:"diagnostics"` // in the order of their places
}

func place(s Span) Place {
	p := s.Position()
	out := Place{File: p.Filename, Line: p.Line, Column: p.Column}
	if p.Line == 0 {
		return out
	}
	end := max(s.End, s.Start)
	if e := s.File.Position(end); e.Line != 0 {
		out.EndLine, out.EndColumn = e.Line, e.Column
	}
	length := int(end - s.Start)
	out.Offset, out.Length = &p.Offset, &length
	return out
}

// Document returns the counts and every kept diagnostic.
func (l *List) Document() *Document {
	out := &Document{Errors: l.Errors(), Warnings: l.Warnings(), Diagnostics: []DiagnosticDocument{}}
	if l != nil {
		out.Omitted = l.dropped
	}
	for _, d := range l.All() {
		one := DiagnosticDocument{
			Severity: d.Severity.String(),
			Code:     d.Code,
			Place:    place(d.Span),
			Op:       d.Op,
			Message:  d.Message,
			Hint:     d.Hint,
		}
		for _, n := range d.Notes {
			one.Notes = append(one.Notes, NoteDocument{Message: n.Message, Place: place(n.Span)})
		}
		out.Diagnostics = append(out.Diagnostics, one)
	}
	return out
}
