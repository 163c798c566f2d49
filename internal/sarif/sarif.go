package sarif

import (
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/zinc-compiler/zinc/internal/jsonform"
)

// Levels of a finding.
const (
	Error   = "error"
	Warning = "warning"
	Note    = "note"
)

// Run is one run of a tool on an input.
type Run struct {
	Tool, Version, URI string
	ID                 string // distinguishes the runs of one log, as in "zinc/h13/"
	Rules              []Rule
	Findings           []Finding
	Properties         map[string]any // facts about the whole run
}

// Rule is one kind of finding.
type Rule struct {
	ID, Doc, Help string
}

// Finding is one result of a run.
type Finding struct {
	Rule      string // ID of one of the run's rules
	Level     string
	Message   string
	File      string // path as the user wrote it, or ""
	Line, Col int    // from 1, columns in bytes; 0 if not known
	Name      string // of the value, or ""
	// Properties are additional facts for programs.
	Properties map[string]any
}

type text struct {
	Text string `json:"text"`
}

type log struct {
	Schema  string   `json:"$schema"`
	Version string   `json:"version"`
	Runs    []runOut `json:"runs"`
}

type runOut struct {
	Tool       toolOut        `json:"tool"`
	Automation *automation    `json:"automationDetails,omitempty"`
	ColumnKind string         `json:"columnKind"`
	Results    []resultOut    `json:"results"`
	Properties map[string]any `json:"properties,omitempty"`
}

type automation struct {
	ID string `json:"id"`
}

type toolOut struct {
	Driver driver `json:"driver"`
}

type driver struct {
	Name    string    `json:"name"`
	Version string    `json:"version,omitempty"`
	URI     string    `json:"informationUri,omitempty"`
	Rules   []ruleOut `json:"rules"`
}

type ruleOut struct {
	ID    string `json:"id"`
	Short text   `json:"shortDescription"`
	Help  *text  `json:"help,omitempty"`
}

type resultOut struct {
	RuleID     string         `json:"ruleId"`
	RuleIndex  int            `json:"ruleIndex"`
	Level      string         `json:"level"`
	Message    text           `json:"message"`
	Locations  []location     `json:"locations,omitempty"`
	Properties map[string]any `json:"properties,omitempty"`
}

type location struct {
	Physical *physical `json:"physicalLocation,omitempty"`
	Logical  []logical `json:"logicalLocations,omitempty"`
}

type physical struct {
	Artifact artifact `json:"artifactLocation"`
	Region   *region  `json:"region,omitempty"`
}

type artifact struct {
	URI string `json:"uri"`
}

type region struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn,omitempty"`
}

type logical struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// Write writes the runs as one log. It returns an error for a finding whose rule is
// not in its run.
func Write(w io.Writer, runs ...Run) error {
	out := log{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []runOut{}}
	for _, r := range runs {
		o, err := r.out()
		if err != nil {
			return err
		}
		out.Runs = append(out.Runs, o)
	}
	return jsonform.Write(w, out)
}

func (r *Run) out() (runOut, error) {
	// Columns of MIL text are bytes, while the standard has UTF-16 units and code
	// points; they are equal because MIL text is ASCII outside string literals.
	o := runOut{ColumnKind: "unicodeCodePoints", Results: []resultOut{}, Properties: r.Properties}
	o.Tool.Driver = driver{Name: r.Tool, Version: r.Version, URI: r.URI, Rules: []ruleOut{}}
	if r.ID != "" {
		o.Automation = &automation{r.ID}
	}
	index := map[string]int{}
	for i, rule := range r.Rules {
		ro := ruleOut{ID: rule.ID, Short: text{rule.Doc}}
		if rule.Help != "" {
			ro.Help = &text{rule.Help}
		}
		index[rule.ID] = i
		o.Tool.Driver.Rules = append(o.Tool.Driver.Rules, ro)
	}
	for _, f := range r.Findings {
		i, ok := index[f.Rule]
		if !ok {
			return o, fmt.Errorf("sarif: a finding has rule %q, which is missing from its run", f.Rule)
		}
		o.Results = append(o.Results, resultOut{
			RuleID: f.Rule, RuleIndex: i, Level: f.Level, Message: text{f.Message},
			Locations: f.locations(), Properties: f.Properties,
		})
	}
	return o, nil
}

func (f *Finding) locations() []location {
	var l location
	if f.File != "" {
		l.Physical = &physical{Artifact: artifact{URI(f.File)}}
		if f.Line > 0 {
			l.Physical.Region = &region{f.Line, max(f.Col, 0)}
		}
	}
	if f.Name != "" {
		l.Logical = []logical{{f.Name, "variable"}}
	}
	if l.Physical == nil && l.Logical == nil {
		return nil
	}
	return []location{l}
}

// URI returns a path as a URI reference: a relative path unchanged, an absolute one as
// a file URI.
func URI(path string) string {
	p := filepath.ToSlash(path)
	u := url.URL{Path: p}
	if filepath.IsAbs(path) {
		if !strings.HasPrefix(p, "/") {
			u.Path = "/" + p
		}
		u.Scheme = "file"
	}
	return u.String()
}
