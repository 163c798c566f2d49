package reported

import (
	_ "embed"
	"strings"
	"sync"
)

// Report is one public report.
type Report struct {
	ID      string `json:"id"`                // identifies the report, and names its smallest program in testdata
	Rule    string `json:"rule"`              // name of the rule that finds what it is about
	Chips   string `json:"chips,omitempty"`   // chips that the report names
	Systems string `json:"systems,omitempty"` // systems that the report names
	Says    string `json:"says"`              // what the report says, in one sentence
	Link    string `json:"link"`              // where the report is
}

// Where returns the chips and systems that a report names.
func (r *Report) Where() string {
	switch {
	case r.Chips == "" && r.Systems == "":
		return "chip not stated"
	case r.Chips == "" || r.Systems == "":
		return r.Chips + r.Systems
	}
	return r.Chips + ", " + r.Systems
}

// reportsTSV has a line for each report, below a line with the names of the columns, which are Report's fields in
// order; "-" is an empty field.
//
//go:embed reports.tsv
var reportsTSV string

// Reports returns the table, in the order of the rules.
var Reports = sync.OnceValue(func() []*Report {
	byRule := map[string][]*Report{}
	for i, line := range strings.Split(strings.TrimSpace(reportsTSV), "\n") {
		f := strings.Split(line, "\t")
		if i == 0 || len(f) != 6 {
			continue // TestTable checks the lines
		}
		for k := range f {
			if f[k] == "-" {
				f[k] = ""
			}
		}
		r := &Report{ID: f[0], Rule: f[1], Chips: f[2], Systems: f[3], Says: f[4], Link: f[5]}
		byRule[r.Rule] = append(byRule[r.Rule], r)
	}
	var out []*Report
	for i := range Rules {
		out = append(out, byRule[Rules[i].Name]...)
	}
	return out
})

// of returns the reports of a rule.
func of(rule string) (rs []*Report) {
	for _, r := range Reports() {
		if r.Rule == rule {
			rs = append(rs, r)
		}
	}
	return rs
}
