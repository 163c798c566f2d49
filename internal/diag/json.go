package diag

import (
	"encoding/json"
	"io"
)

// jsonPlace is a span for editors: lines and columns count from 1, columns are in
// bytes, and the end is the first byte after the span.
type jsonPlace struct {
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
	Column    int    `json:"column,omitempty"`
	EndLine   int    `json:"endLine,omitempty"`
	EndColumn int    `json:"endColumn,omitempty"`
	Offset    *int   `json:"offset,omitempty"`
	Length    *int   `json:"length,omitempty"`
}

type jsonNote struct {
	Message string `json:"message"`
	jsonPlace
}

type jsonDiagnostic struct {
	Severity string `json:"severity"`
	Code     string `json:"code,omitempty"`
	jsonPlace
	Op      string     `json:"op,omitempty"`
	Message string     `json:"message"`
	Notes   []jsonNote `json:"notes,omitempty"`
	Hint    string     `json:"hint,omitempty"`
}

type jsonList struct {
	Errors      int              `json:"errors"`
	Warnings    int              `json:"warnings"`
	Omitted     int              `json:"omitted"` // counted above, not listed below
	Diagnostics []jsonDiagnostic `json:"diagnostics"`
}

func place(s Span) jsonPlace {
	p := s.Position()
	out := jsonPlace{File: p.Filename, Line: p.Line, Column: p.Column}
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

// WriteJSON writes one JSON object with the counts and every kept diagnostic,
// indented, and a newline.
func (l *List) WriteJSON(w io.Writer) error {
	out := jsonList{Errors: l.Errors(), Warnings: l.Warnings(), Diagnostics: []jsonDiagnostic{}}
	if l != nil {
		out.Omitted = l.dropped
	}
	for _, d := range l.All() {
		jd := jsonDiagnostic{
			Severity: d.Severity.String(), Code: d.Code, jsonPlace: place(d.Span),
			Op: d.Op, Message: d.Message, Hint: d.Hint,
		}
		for _, n := range d.Notes {
			jd.Notes = append(jd.Notes, jsonNote{Message: n.Message, jsonPlace: place(n.Span)})
		}
		out.Diagnostics = append(out.Diagnostics, jd)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}
