package report

import (
	"io"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/jsonform"
)

// Document is one report and what belongs to it.
type Document struct {
	Model string `json:"model,omitempty"` // path of the model's text
	*compile.Report
	Violations []Violation `json:"violations,omitempty"`
	Advice     []Advice    `json:"advice,omitempty"` // what to change, the largest saving first
	// Explain returns the command that explains what to write instead of an operation
	// on the CPU, or nil if there is none.
	Explain func(o *compile.OpReport) string `json:"-"`
}

// Form is an output format of a document.
type Form struct {
	Name  string
	Doc   string
	Write func(w io.Writer, d *Document) error
}

// Forms are the output formats of a document.
var Forms = []Form{
	{"text", "tables to read", writeText},
	{"json", "everything, for programs", func(w io.Writer, d *Document) error { return jsonform.Write(w, d) }},
	{"csv", "a line an operation", writeLayers},
	{"summary", "CSV with a line a function", writeSummary},
	{"html", "one page with charts", writeHTML},
	{"markdown", "for a comment of a continuous integration", writeMarkdown},
	{"sarif", "operations on the CPU and exceeded budgets, for code review", writeSARIF},
}

// Lookup returns a form by name, or nil.
func Lookup(name string) *Form {
	for i := range Forms {
		if Forms[i].Name == name {
			return &Forms[i]
		}
	}
	return nil
}

// Names returns the names of the forms.
func Names() []string {
	var ns []string
	for _, f := range Forms {
		ns = append(ns, f.Name)
	}
	return ns
}

func writeText(w io.Writer, d *Document) error {
	if err := d.Report.Text(w); err != nil {
		return err
	}
	return WriteViolations(w, d.Violations)
}

// functions returns the report of each function.
func functions(r *compile.Report) []*compile.Report {
	if len(r.Functions) > 0 {
		return r.Functions
	}
	return []*compile.Report{r}
}

// Percent returns the share of part in part and rest, or 100 if both are zero.
func Percent(part, rest int64) float64 {
	if part+rest == 0 {
		return 100
	}
	return 100 * float64(part) / float64(part+rest)
}
