package report

import (
	"cmp"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/jsonform"
)

// Document is one report and what belongs to it.
type Document struct {
	Model string `json:"model,omitempty"` // path of the model's text
	*compile.Report
	// Exceeds says why no container has room for the program, if that is so. The report is then of a plan, or an
	// estimate of the tasks in several containers.
	Exceeds    string      `json:"exceeds,omitempty"`
	Violations []Violation `json:"violations,omitempty"` // budgets that were exceeded
	Advice     []Advice    `json:"advice,omitempty"`     // what to change, the largest saving first
	Search     *Search     `json:"search,omitempty"`     // how changes were looked for, nil if they were not
	CoreML     *CoreML     `json:"coreml,omitempty"`     // where Core ML itself would run it, nil if not forecast
	// Generations compare the smallest chip of each generation; only where all targets were asked for.
	Generations []Generation `json:"generations,omitempty"`
	// Refused counts the operations on the engine in a form that Apple's compiler refused in records.
	Refused int `json:"refused_in_records,omitempty"`
	// Explain returns the command that explains what to write instead of an operation
	// on the CPU, or nil if there is none.
	Explain func(o *compile.OpReport) string `json:"-"`
}

// Format is an output format of a document.
type Format struct {
	Name     string
	Doc      string // for help
	Contents string // for the documentation
	Advises  bool   // it shows Document.Advice
	Write    func(w io.Writer, d *Document) error
}

// TextFormat is the name of the format that people read on a terminal.
const TextFormat = "text"

// Formats are the output formats of a document.
var Formats = []Format{
	{
		Name: TextFormat, Doc: "tables to read", Contents: "tables to read",
		Write: writeText,
	},
	{
		Name: "json", Advises: true, Doc: "everything, for programs", Contents: "everything, including each task",
		Write: func(w io.Writer, d *Document) error { return jsonform.Document(w, d) },
	},
	{
		Name: "csv", Doc: "a line an operation",
		Contents: "a line for each operation: place and why, tasks, multiply-accumulates, cycles, microseconds, " +
			"bottleneck, DMA bytes, L2 peak, weight bytes, source line; a line for each dispatch, and one for " +
			"padding",
		Write: writeLayers,
	},
	{
		Name: "summary", Doc: "CSV with a line a function",
		Contents: "CSV with a line for each function, and one for all of them if there are several",
		Write:    writeSummary,
	},
	{
		Name: "html", Advises: true, Doc: "a page to look at",
		Contents: "a page to look at: where the time goes, what to change, a map of time by module, a timeline " +
			"with L2, a roofline, the weights by their form, and a table of layers, the slowest first, that sorts " +
			"and filters; it refers to nothing outside it",
		Write: writeHTML,
	},
	{
		Name: "markdown", Advises: true, Doc: "for a comment of a continuous integration",
		Contents: "for a comment in CI: summary, what is on the CPU and why, the largest layers",
		Write:    writeMarkdown,
	},
	{
		Name: "sarif", Doc: "operations on the CPU and exceeded budgets, for code review",
		Contents: "operations on the CPU, and budgets that were exceeded", Write: writeSARIF,
	},
	{
		Name: "pprof", Doc: "a profile of the text's lines, for go tool pprof",
		Contents: "a profile for `go tool pprof -http=: FILE`: time, DMA bytes and operations by module, operation " +
			"and line of the text",
		Write: writePprof,
	},
	{
		Name: "perfetto", Doc: "a timeline of one call, for Perfetto",
		Contents: "a timeline of one call for [Perfetto](https://ui.perfetto.dev), as a Chrome trace: dispatches, " +
			"CPU, tasks of the engine with their products, DMA and L2, in estimated microseconds",
		Write: writePerfetto,
	},
	{
		Name: "modelexplorer", Doc: "the graph, for Google's Model Explorer",
		Contents: "the graph for [Model Explorer](https://github.com/google-ai-edge/model-explorer): modules, and " +
			"places, times and errors of lookup tables as attributes",
		Write: writeModelExplorer,
	},
	{
		Name: "modelexplorer-place", Doc: "places, as its custom node data",
		Contents: "engine, CPU or transfer, as custom node data for the graph of `modelexplorer`",
		Write:    writePlaces,
	},
	{
		Name: "modelexplorer-time", Doc: "times in microseconds, likewise",
		Contents: "estimated microseconds, likewise", Write: writeTimes,
	},
	{
		Name: "modelexplorer-error", Doc: "errors of tables, likewise",
		Contents: "the worst error of an operation's lookup table, likewise", Write: writeErrors,
	},
}

// Lookup returns a format by name, or nil.
func Lookup(name string) *Format {
	for i := range Formats {
		if Formats[i].Name == name {
			return &Formats[i]
		}
	}
	return nil
}

// Names returns the names of the formats.
func Names() []string {
	var ns []string
	for _, f := range Formats {
		ns = append(ns, f.Name)
	}
	return ns
}

func writeText(w io.Writer, d *Document) error {
	if len(d.Generations) > 0 {
		if err := WriteGenerations(w, d.Title(), d.Generations); err != nil {
			return err
		}
	}
	if err := d.Report.Text(w); err != nil {
		return err
	}
	return WriteViolations(w, d.Violations)
}

// Title names the model: its folder, or its file, without the ending.
func (d *Document) Title() string {
	parts := strings.Split(strings.ReplaceAll(d.Model, `\`, "/"), "/")
	name := parts[len(parts)-1]
	if i := slices.IndexFunc(parts, func(p string) bool {
		return strings.HasSuffix(p, ".mlpackage") || strings.HasSuffix(p, ".mlmodelc")
	}); i >= 0 {
		name = parts[i]
	} else if n := len(parts) - 2; name == "model.mil" && n >= 0 && parts[n] != "" && parts[n] != "." {
		name = parts[n]
	}
	return cmp.Or(strings.TrimSuffix(name, path.Ext(name)), "model")
}

// Percent returns the share of part in part and rest, or 100 if both are zero.
func Percent(part, rest int64) float64 {
	if part+rest == 0 {
		return 100
	}
	return 100 * float64(part) / float64(part+rest)
}
