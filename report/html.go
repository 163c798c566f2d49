package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/cost"
	"github.com/zinc-compiler/zinc/ir"
)

//go:embed report.html.tmpl
var pageText string

var page = template.Must(template.New("report").Funcs(template.FuncMap{
	"grouped": grouped, "estimate": estimate,
	"share": func(part, rest int64) string { return fmt.Sprintf("%.4g %%", Percent(part, rest)) },
	"int64": func(n int) int64 { return int64(n) },
	"sum":   func(a, b int) int { return a + b },
	"kib":   func(n int64) string { return fmt.Sprintf("%.1f KiB", float64(n)/1024) },
}).Parse(pageText))

// Measures of the charts, in the units of their drawing.
const (
	chartWidth = 720 // of a bar of the whole
	labelWidth = 250 // before the bars of layers
	rowHeight  = 24
	htmlLayers = 16 // bars of layers
)

// bar is one rectangle of a chart.
type bar struct {
	X, Y, Width float64
	Class       string // says term or unit: a pattern and a colour
	Label       string
	Value       string
	Text        bool // the label fits inside
}

// chart is one drawing.
type chart struct {
	Title, Desc   string
	Width, Height int
	Bars          []bar
}

// legend is one entry of a legend.
type legend struct{ Class, Label string }

// pageData is what the page is made from.
type pageData struct {
	*Document
	Each    []*compile.Report // functions
	Charts  []chart           // bars of a whole
	Rank    chart             // bars of layers
	Rows    []Layer
	CPU     []cpuGroup
	Stages  []cost.Stage
	Legends []legend
	Several bool
}

// stacked draws the parts of a whole side by side.
func stacked(title, unit string, parts []bar, values []float64, texts []string) chart {
	c := chart{Title: title, Width: chartWidth, Height: 40}
	all := 0.0
	for _, v := range values {
		all += v
	}
	x := 0.0
	for i, p := range parts {
		if values[i] <= 0 {
			continue
		}
		p.X, p.Width = x, chartWidth*values[i]/all
		p.Value = texts[i] + unit
		p.Text = p.Width > 7*float64(len(p.Label)+len(p.Value)+2)
		x += p.Width
		c.Bars = append(c.Bars, p)
		if c.Desc != "" {
			c.Desc += ", "
		}
		c.Desc += p.Label + " " + p.Value
	}
	return c
}

// charts draws the distribution of operations, products and time.
func charts(r *compile.Report) []chart {
	units := []bar{{Class: ir.Engine.String(), Label: "engine"}, {Class: ir.CPU.String(), Label: "CPU"}}
	var out []chart
	add := func(c chart) {
		if len(c.Bars) > 0 {
			out = append(out, c)
		}
	}
	add(stacked("Operations", "", units, []float64{float64(r.EngineOps), float64(r.CPUOps)},
		[]string{fmt.Sprint(r.EngineOps), fmt.Sprint(r.CPUOps)}))
	add(stacked("Multiply-accumulates", "", units, []float64{float64(r.EngineMACs), float64(r.CPUMACs)},
		[]string{grouped(r.EngineMACs), grouped(r.CPUMACs)}))
	if r.Estimate != nil {
		var parts []bar
		var values []float64
		var texts []string
		for i, t := range r.Estimate.Terms {
			n := cost.Term(i).String()
			parts = append(parts, bar{Class: n, Label: n})
			values, texts = append(values, float64(t)), append(texts, t.String())
		}
		add(stacked("Estimated time on the engine, by binding term", " us", parts, values, texts))
	}
	return out
}

// ranking draws the layers that take the most time.
func ranking(r *compile.Report) chart {
	layers := biggest(r, htmlLayers)
	c := chart{Title: "Biggest layers, estimated us", Width: chartWidth, Height: rowHeight * len(layers)}
	value := func(l *Layer) float64 { return float64(l.Time) }
	if r.Estimate == nil {
		c.Title = "Biggest layers, multiply-accumulates"
		value = func(l *Layer) float64 { return float64(l.MACs) }
	}
	for i := range layers {
		l := &layers[i]
		b := bar{
			X:     labelWidth,
			Y:     float64(i * rowHeight),
			Class: l.Bound,
			Label: clip(fmt.Sprintf("%s %s", l.Op, l.Name), 34),
		}
		if top := value(&layers[0]); top > 0 {
			b.Width = max(1, value(l)/top*(chartWidth-labelWidth-150))
		}
		b.Value = l.Time.String() + " " + l.Bound
		if l.Bound == "" {
			b.Class, b.Value = l.Unit, grouped(l.MACs)+" on the "+l.Unit
		}
		c.Bars = append(c.Bars, b)
	}
	return c
}

// clip shortens a text to n characters.
func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

func writeHTML(w io.Writer, d *Document) error {
	p := pageData{
		Document: d, Each: functions(d.Report), Charts: charts(d.Report), Rank: ranking(d.Report),
		Rows: Layers(d.Report), CPU: cpuGroups(d.Report),
		Legends: []legend{{ir.Engine.String(), "engine"}, {ir.CPU.String(), "CPU"}},
		Several: len(d.Report.Functions) > 1,
	}
	if e := d.Report.Estimate; e != nil {
		for i := range cost.Terms {
			n := cost.Term(i).String()
			p.Legends = append(p.Legends, legend{n, "bound by " + n})
		}
		p.Stages = e.Stages
	}
	var b bytes.Buffer
	if err := page.Execute(&b, &p); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}
