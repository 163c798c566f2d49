package opref

import (
	"embed"
	"fmt"
	"io"
	"strings"
	"text/template"
	"unicode/utf8"

	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// Document is what JSON holds.
type Document struct {
	Targets    []Target `json:"targets"`    // targets, oldest first
	Operations []Row    `json:"operations"` // operations, by name
	// Natives is what Operations say of each target against its hardware.
	Natives []Comparison `json:"natives"`
}

// Target is a target and its limits for every tensor.
type Target struct {
	Name   string   `json:"name"`          // name of the target
	Limits []string `json:"tensor_limits"` // limits of every tensor on the engine, as sentences
}

func targetsOf(ts []*target.Table) []Target {
	var out []Target
	for _, t := range ts {
		out = append(out, Target{t.Name, lower.TensorLimits(t)})
	}
	return out
}

func documentOf(ts []*target.Table, rows []Row) Document {
	return Document{targetsOf(ts), rows, Compare(ts, rows)}
}

// JSON writes rows as one JSON object.
func JSON(w io.Writer, ts []*target.Table, rows []Row) error {
	return jsonform.Document(w, documentOf(ts, rows))
}

// Text writes rows for a terminal: one line per operation, or everything with details.
func Text(w io.Writer, ts []*target.Table, rows []Row, details bool) error {
	if details {
		return templates.ExecuteTemplate(w, "details.tmpl", rows)
	}
	return templates.ExecuteTemplate(w, "lines.tmpl", documentOf(ts, rows))
}

// Markdown writes rows as a document.
func Markdown(w io.Writer, ts []*target.Table, rows []Row) error {
	return templates.ExecuteTemplate(w, "markdown.tmpl", documentOf(ts, rows))
}

//go:embed *.tmpl
var sources embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"signature":  func(p Param) string { return p.signature() },
	"types":      func(p Param) string { return p.types() },
	"text":       func(p Placement) string { return p.text() },
	"placements": grouped,
	"notes":      func(f Form) []string { return f.notes() },
	"units":      func(r Row) string { return r.units() },
	"newest":     func(r Row) Form { return r.Forms[len(r.Forms)-1] },
	"onEngine":   onEngine,
	"cell":       func(s string) string { return strings.ReplaceAll(s, "|", `\|`) }, // | would end the cell
}).ParseFS(sources, "*.tmpl"))

// onEngine counts the operations that the engine of a target takes.
func onEngine(target string, rows []Row) (n int) {
	for i := range rows {
		for _, p := range rows[i].Placement {
			if p.Target == target && p.Unit == ir.Engine.String() {
				n++
			}
		}
	}
	return n
}

// placed is what becomes of an operation on targets that treat it alike.
type placed struct {
	Targets string
	Lines   []string
}

// grouped lists the placements of an operation, each text once, with the limits on lines of their own.
func grouped(r Row) []*placed {
	var out []*placed
	seen := map[string]*placed{}
	for _, p := range r.Placement {
		if x := seen[p.text()]; x != nil {
			x.Targets += ", " + p.Target
			continue
		}
		limits, beyond := p.Limits, p.Beyond
		whole := p.text()
		p.Limits, p.Beyond = nil, nil
		x := &placed{Targets: p.Target, Lines: wrap(p.text(), "")}
		if len(limits) > 0 && p.Reason == "" {
			x.Lines = append(x.Lines, "limits:")
			for _, l := range limits {
				x.Lines = append(x.Lines, wrap(l, "  ")...)
			}
		}
		if len(beyond) > 0 {
			x.Lines = append(x.Lines, "other arguments, decomposed by:")
			for _, l := range beyond {
				x.Lines = append(x.Lines, wrap(l, "  ")...)
			}
		}
		seen[whole] = x
		out = append(out, x)
	}
	return out
}

// textWidth is the width of a paragraph of text.
const textWidth = 96

// wrap fills lines with the words of a text, each line after indent, the second and later ones two columns further.
func wrap(text, indent string) []string {
	var out []string
	line := indent
	for i, w := range strings.Fields(text) {
		switch {
		case i == 0:
			line += w
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(w) > textWidth:
			out = append(out, line)
			line = indent + "  " + w
		default:
			line += " " + w
		}
	}
	return append(out, line)
}

// units says in short where each target runs an operation.
func (r *Row) units() string {
	var units []string
	for _, p := range r.Placement {
		u := p.Unit
		if len(r.Placement) > 1 {
			u = p.Target + ":" + u
		}
		units = append(units, u+" "+p.Rule)
	}
	return strings.Join(units, " ")
}

// signature is a parameter in short: name, marks, default.
func (p *Param) signature() string {
	s := p.Name
	if p.Variadic {
		s += "..."
	}
	switch {
	case p.Default != "":
		s += "=" + p.Default
	case p.Optional:
		s += "?"
	}
	return s
}

// types says what a parameter takes.
func (p *Param) types() string {
	s := strings.Join(p.Types, ", ")
	if p.Same != "" {
		s = p.Same + ": " + s
	}
	if p.Kind != "" {
		s = p.Kind + " of " + s
	}
	return s
}

// by says what kind of thing Rule names.
func (p *Placement) by() string {
	if passes.Known(p.Rule) {
		return "pass "
	}
	return "rule "
}

func (p *Placement) text() string {
	if p.Reason != "" {
		s := "CPU, " + string(p.Verdict) + ": " + p.Reason
		if p.Native != "" && p.Verdict == target.ZincCannotYet {
			s += "; the hardware's verdict is " + p.Native
		}
		if p.Family != "" && p.Rule == target.RuleNoLowering {
			s += ", from family " + p.Family + " on"
		}
		if p.Rewrite != "" {
			s += ". Rewrite: " + p.Rewrite
		}
		return s
	}
	s := p.Unit + ", " + p.by() + p.Rule + ": " + p.How
	if p.Rule == passes.RuleDecomposed {
		s = p.Unit + ", " + p.Rule + " by " + p.How
	}
	if len(p.Limits) > 0 {
		s += ". Limits: " + strings.Join(p.Limits, "; ")
	}
	if len(p.Beyond) > 0 {
		s += ". Other arguments: decomposed by " + strings.Join(p.Beyond, "; or ")
	}
	return s
}

// notes are the facts of a form beside its parameters.
func (f *Form) notes() []string {
	var ns []string
	if f.Folds {
		ns = append(ns, "folds when its arguments are constant")
	}
	if f.Effect != "" {
		ns = append(ns, f.Effect)
	}
	if f.Blocks > 0 {
		ns = append(ns, fmt.Sprintf("%d nested blocks", f.Blocks))
	}
	return ns
}
