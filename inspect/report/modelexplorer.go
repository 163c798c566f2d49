package report

import (
	"fmt"
	"io"
	"strconv"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/ir"
)

// The types of Google's Model Explorer, with the fields that zinc writes. They are declared in the repository
// google-ai-edge/model-explorer, in src/ui/src/components/visualizer/common: input_graph.ts has GraphCollection, Graph
// and GraphNode, types.ts the others. Fields without omitempty are required there. Values to show over a graph are a
// file of their own, by the graph's id: NodeDataProviderData.
type (
	explorerCollection struct {
		Label  string          `json:"label"`
		Graphs []explorerGraph `json:"graphs"`
	}
	explorerGraph struct {
		ID    string         `json:"id"`
		Nodes []explorerNode `json:"nodes"`
		// GroupAttributes are attributes of namespaces; the graph's are under "".
		GroupAttributes map[string]map[string]string `json:"groupNodeAttributes,omitempty"`
	}
	explorerNode struct {
		ID        string             `json:"id"`
		Label     string             `json:"label"`
		Namespace string             `json:"namespace"` // separated by "/"
		Attrs     []explorerAttr     `json:"attrs,omitempty"`
		Incoming  []explorerEdge     `json:"incomingEdges,omitempty"`
		Outputs   []explorerMetadata `json:"outputsMetadata,omitempty"`
		Style     *explorerStyle     `json:"style,omitempty"`
	}
	explorerStyle struct {
		Border string `json:"borderColor,omitempty"`
	}
	explorerAttr struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	}
	explorerEdge struct {
		Source string `json:"sourceNodeId"`
		Output string `json:"sourceNodeOutputId"`
		Input  string `json:"targetNodeInputId"`
	}
	explorerMetadata struct {
		ID    string         `json:"id"`
		Attrs []explorerAttr `json:"attrs"`
	}
	// explorerData are values of nodes, which Model Explorer shows over a graph: NodeDataProviderGraphData.
	explorerData struct {
		Name     string                    `json:"name,omitempty"`
		Results  map[string]explorerResult `json:"results"` // by a node's id
		Gradient []explorerStop            `json:"gradient,omitempty"`
	}
	explorerResult struct {
		Value      any    `json:"value"` // a number or a string
		Background string `json:"bgColor,omitempty"`
		Text       string `json:"textColor,omitempty"`
	}
	explorerStop struct {
		Stop       float64 `json:"stop"` // 0 is the smallest value, 1 the largest
		Background string  `json:"bgColor,omitempty"`
		Text       string  `json:"textColor,omitempty"`
	}
)

// placeColors are the backgrounds of units, with text that is legible on them.
var placeColors = map[string]explorerResult{
	ir.Engine.String():   {Value: "engine", Background: "#2b6cb0", Text: "#ffffff"},
	ir.CPU.String():      {Value: "CPU", Background: "#c05621", Text: "#ffffff"},
	ir.Transfer.String(): {Value: "transfer", Background: "#718096", Text: "#ffffff"},
}

// heat is the gradient of times and errors.
var heat = []explorerStop{
	{Stop: 0, Background: "#fffff0", Text: "#1a202c"}, {Stop: 0.5, Background: "#f6ad55", Text: "#1a202c"},
	{Stop: 1, Background: "#9b2c2c", Text: "#ffffff"},
}

// writeModelExplorer writes each function as a graph of its operations, with place, time and error as attributes.
func writeModelExplorer(w io.Writer, d *Document) error {
	c := explorerCollection{Label: d.Title()}
	for _, f := range d.Report.Each() {
		c.Graphs = append(c.Graphs, explore(f))
	}
	return jsonform.Write(w, c)
}

func explore(f *compile.Report) explorerGraph {
	g := explorerGraph{
		ID: f.Function, Nodes: []explorerNode{},
		GroupAttributes: map[string]map[string]string{"": {
			"target": f.Target, "precision": f.Precision, "dispatches": strconv.Itoa(f.Dispatches),
			"time of a call, estimated": f.CallText(),
		}},
	}
	worst := worstOf(f)
	for i := range f.Ops {
		o := &f.Ops[i]
		n := exploreOp(o, i)
		if t := o.Time(); t > 0 {
			n.Attrs = append(n.Attrs, explorerAttr{"time", t.Short()})
		}
		if e, ok := worst[o.Name]; ok {
			n.Attrs = append(n.Attrs, explorerAttr{"worst error of its table", fmt.Sprintf("%.3g", e)})
		}
		g.Nodes = append(g.Nodes, n)
	}
	return g
}

// worstOf returns the worst error of the tables of each operation, by its first result.
func worstOf(f *compile.Report) map[string]float64 {
	worst := map[string]float64{}
	for _, t := range f.Tables {
		worst[t.Name] = max(worst[t.Name], t.Abs)
	}
	return worst
}

// explorerValues write values of the operations, each as a file that Model Explorer shows over the graph.
var explorerValues = []struct {
	name     string
	gradient []explorerStop
	// values returns the function that gives the value of an operation, nil for one without.
	values func(f *compile.Report) func(o *compile.OpReport) *explorerResult
}{
	{"place", nil, func(*compile.Report) func(o *compile.OpReport) *explorerResult {
		return func(o *compile.OpReport) *explorerResult { c := placeColors[o.Unit]; return &c }
	}},
	{"time", heat, func(*compile.Report) func(o *compile.OpReport) *explorerResult {
		return func(o *compile.OpReport) *explorerResult {
			if o.Time() <= 0 {
				return nil
			}
			return &explorerResult{Value: inMicros(o.Time())}
		}
	}},
	{"error", heat, func(f *compile.Report) func(o *compile.OpReport) *explorerResult {
		worst := worstOf(f)
		return func(o *compile.OpReport) *explorerResult {
			e, ok := worst[o.Name]
			if !ok {
				return nil
			}
			return &explorerResult{Value: e}
		}
	}},
}

func writePlaces(w io.Writer, d *Document) error { return writeModelExplorerData(w, d, 0) }
func writeTimes(w io.Writer, d *Document) error  { return writeModelExplorerData(w, d, 1) }
func writeErrors(w io.Writer, d *Document) error { return writeModelExplorerData(w, d, 2) }

// writeModelExplorerData writes the i-th of explorerValues.
func writeModelExplorerData(w io.Writer, d *Document, i int) error {
	x := &explorerValues[i]
	out := map[string]explorerData{}
	for _, f := range d.Report.Each() {
		data := explorerData{Name: x.name, Results: map[string]explorerResult{}, Gradient: x.gradient}
		value := x.values(f)
		for k := range f.Ops {
			if v := value(&f.Ops[k]); v != nil {
				data.Results[strconv.Itoa(k)] = *v
			}
		}
		out[f.Function] = data
	}
	return jsonform.Write(w, out)
}

func exploreOp(o *compile.OpReport, i int) explorerNode {
	n := explorerNode{ID: strconv.Itoa(i), Label: o.Op, Namespace: o.Scope,
		Style: &explorerStyle{Border: placeColors[o.Unit].Background}}
	attr := func(key, value string) {
		if value != "" && value != "0" {
			n.Attrs = append(n.Attrs, explorerAttr{key, value})
		}
	}
	attr("result", o.Name)
	attr("line", strconv.Itoa(int(o.Line)))
	attr("place", o.Unit)
	attr("why", o.Reason)
	attr("fused into", o.Fused)
	attr("multiply-accumulates", strconv.FormatInt(o.MACs, 10))
	attr("tasks", strconv.Itoa(o.Tasks))
	attr("bytes of constants", strconv.FormatInt(o.Weights, 10))
	if e := o.Estimate; e != nil {
		attr("bound by", e.Bound)
		attr("bytes of DMA", strconv.FormatInt(e.DMABytes, 10))
	}
	if no := o.Refusal; no != nil {
		attr("verdict", no.Phrase())
		attr("rewrite", no.Rewrite)
	}
	for k, from := range o.Reads {
		n.Incoming = append(n.Incoming, explorerEdge{strconv.Itoa(from), "0", strconv.Itoa(k)})
	}
	n.Outputs = []explorerMetadata{{ID: "0", Attrs: []explorerAttr{{"tensor_name", o.Name}, {"type", o.Type}}}}
	return n
}
