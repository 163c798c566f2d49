package reported

import (
	"fmt"
	"io"
	"strings"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/sarif"
)

// Title is the title of the section that WriteText writes.
const Title = "Reported by others, apart from zinc's own verdict (docs/reported.md)"

// maxAlike is how many places of a finding WriteText names after the first.
const maxAlike = 6

// Public returns the findings that are not of records.
func Public(fs []*Finding) (out []*Finding) {
	for _, f := range fs {
		if f.Effect != Record {
			out = append(out, f)
		}
	}
	return out
}

// WriteText writes a section with the findings, nothing if there are none. Without all, a finding has the first of its
// reports.
func WriteText(w io.Writer, fs []*Finding, all bool) error {
	if len(fs) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n", Title)
	for _, f := range fs {
		p, first := f.Places[0], f.Reports[0]
		fmt.Fprintf(&b, "  %s: %s (%s): %s, %s: %s; %s\n", p, f.Effect, first.Where(), f.Rule, p.Detail, first.Says,
			first.Link)
		if all {
			for _, r := range f.Reports[1:] {
				fmt.Fprintf(&b, "    also (%s): %s; %s\n", r.Where(), r.Says, r.Link)
			}
		}
		if s := f.more(all); s != "" {
			fmt.Fprintf(&b, "    and %s\n", s)
		}
		if s := f.rewrite(); s != "" {
			fmt.Fprintf(&b, "    instead: %s\n", s)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// more names the other places of a finding, and counts the reports that are left out; "" if there are neither.
func (f *Finding) more(all bool) string {
	var parts []string
	if rest := f.Places[1:]; len(rest) > 0 {
		parts = append(parts, alike(rest))
	}
	if n := len(f.Reports) - 1; n > 0 && !all {
		parts = append(parts, diag.Count(n, "more report", "more reports")+" (--all)")
	}
	return strings.Join(parts, "; ")
}

// String returns a place as text: line 4, y.
func (p Place) String() string {
	switch {
	case p.Line == 0 && p.Name == "":
		return "function " + p.Function
	case p.Line == 0:
		return p.Name
	}
	return fmt.Sprintf("line %d, %s", p.Line, p.Name)
}

// alike names further places.
func alike(ps []Place) string {
	var names []string
	for i, p := range ps {
		if i == maxAlike {
			names = append(names, fmt.Sprintf("%d more", len(ps)-i))
			break
		}
		names = append(names, p.String())
	}
	return strings.Join(names, "; ")
}

// rewrite returns what to write instead, "" if that is not known.
func (f *Finding) rewrite() string {
	if f.Recipe == "" {
		return f.Instead
	}
	return fmt.Sprintf("%s; zinc explain has the recipe %s", f.Instead, f.Recipe)
}

// WriteTable writes the table of reports for people.
func WriteTable(w io.Writer) error {
	var b strings.Builder
	for i := range Rules {
		r := &Rules[i]
		fmt.Fprintf(&b, "%s: %s: %s\n", r.Name, r.Effect, r.Doc)
		for _, x := range of(r.Name) {
			fmt.Fprintf(&b, "  %s (%s): %s; %s\n", x.ID, x.Where(), x.Says, x.Link)
		}
		if s := (&Finding{Instead: r.Instead, Recipe: r.Recipe}).rewrite(); s != "" {
			fmt.Fprintf(&b, "  instead: %s\n", s)
		}
	}
	fmt.Fprintf(&b, "\n%s, %s\n", diag.Count(len(Rules), "rule", "rules"),
		diag.Count(len(Reports()), "report", "reports"))
	_, err := io.WriteString(w, b.String())
	return err
}

// Row is a rule with its reports, as JSON has the table.
type Row struct {
	Rule    string    `json:"rule"`              // name of the rule
	Effect  Effect    `json:"effect"`            // what the reports say happens
	Pattern string    `json:"pattern"`           // what the rule looks for
	Instead string    `json:"instead,omitempty"` // what to write instead, where that is known
	Recipe  string    `json:"recipe,omitempty"`  // recipe of zinc explain that writes it
	Reports []*Report `json:"reports"`           // the reports
}

// Table returns the table of reports, a row for each rule.
func Table() (rows []Row) {
	for i := range Rules {
		r := &Rules[i]
		rows = append(rows, Row{
			Rule: r.Name, Effect: r.Effect, Pattern: r.Doc, Instead: r.Instead, Recipe: r.Recipe, Reports: of(r.Name),
		})
	}
	return rows
}

// SARIF returns a run with a result for each place. Its rules are those that apply, by the identifiers of this package.
func SARIF(model string, fs []*Finding) sarif.Run {
	run := sarif.Run{Tool: "zinc", Version: compile.Version, ID: "zinc lint/reported/"}
	for _, f := range fs {
		id := "reported-" + f.Rule
		var links []string
		for _, r := range f.Reports {
			links = append(links, r.Link)
		}
		r := rule(f.Rule)
		run.Rules = append(run.Rules, sarif.Rule{ID: id, Doc: r.Doc, Help: f.rewrite()})
		for _, p := range f.Places {
			run.Findings = append(run.Findings, sarif.Finding{
				Rule: id, Level: sarif.Note, File: model, Line: int(p.Line), Col: int(p.Col), Name: p.Name,
				Message: fmt.Sprintf("Reported: %s (%s): %s; %s. %s", f.Effect, f.Reports[0].Where(), r.Doc, p.Detail,
					links[0]),
				Properties: map[string]any{"effect": f.Effect, "links": links, "function": p.Function},
			})
		}
	}
	return run
}

// rule returns the rule of a name.
func rule(name string) *Rule {
	for i := range Rules {
		if Rules[i].Name == name {
			return &Rules[i]
		}
	}
	return nil
}
