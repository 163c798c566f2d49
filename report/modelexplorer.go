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
// and GraphNode, types.ts the others. Fields without omitempty are required there.
type (
	explorerCollection struct {
		Label  string          `json:"label"`
		Graphs []explorerGraph `json:"graphs"`
	}
	explorerGraph struct {
		ID    string         `json:"id"`
		Nodes []explorerNode `json:"nodes"`
		// GroupAttributes are attributes of namespaces; those of the graph are under "".
		GroupAttributes map[string]map[string]string `json:"groupNodeAttributes,omitempty"`
		// Overlays are data of nodes, by the name of the overlay and the graph's id.
		Overlays map[string]map[string]explorerOverlay `json:"overlays,omitempty"`
	}
	explorerNode struct {
		ID        string             `json:"id"`
		Label     string             `json:"label"`
		Namespace string             `json:"namespace"` // separated by "/"
		Attrs     []explorerAttr     `json:"attrs,omitempty"`
		Incoming  []explorerEdge     `json:"incomingEdges,omitempty"`
		Outputs   []explorerMetadata `json:"outputsMetadata,omitempty"`
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
	explorerOverlay struct {
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

// Names of the overlays.
const (
	overlayPlace = "place"
	overlayTime  = "estimated time, us"
	overlayError = "worst error of a table"
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

// writeModelExplorer writes each function as a graph of its operations, with place, time and error as overlays and as
// attributes.
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
			"time of a call, estimated": f.Total().Short(),
		}},
	}
	place := explorerOverlay{Name: overlayPlace, Results: map[string]explorerResult{}}
	times := explorerOverlay{Name: overlayTime, Results: map[string]explorerResult{}, Gradient: heat}
	errs := explorerOverlay{Name: overlayError, Results: map[string]explorerResult{}, Gradient: heat}
	worst := map[string]float64{}
	for _, t := range f.Tables {
		worst[t.Name] = max(worst[t.Name], t.Abs)
	}
	for i := range f.Ops {
		o := &f.Ops[i]
		n := exploreOp(o, i)
		place.Results[n.ID] = placeColors[o.Unit]
		if t := o.Time(); t > 0 {
			times.Results[n.ID] = explorerResult{Value: inMicros(t)}
			n.Attrs = append(n.Attrs, explorerAttr{"time", t.Short()})
		}
		if e, ok := worst[o.Name]; ok {
			errs.Results[n.ID] = explorerResult{Value: e}
			n.Attrs = append(n.Attrs, explorerAttr{"worst error of its table", fmt.Sprintf("%.3g", e)})
		}
		g.Nodes = append(g.Nodes, n)
	}
	g.Overlays = map[string]map[string]explorerOverlay{}
	for _, o := range []explorerOverlay{place, times, errs} {
		if len(o.Results) > 0 {
			g.Overlays[o.Name] = map[string]explorerOverlay{g.ID: o}
		}
	}
	return g
}

func exploreOp(o *compile.OpReport, i int) explorerNode {
	n := explorerNode{ID: strconv.Itoa(i), Label: o.Op, Namespace: o.Scope}
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
	n.Outputs = []explorerMetadata{{ID: "0", Attrs: []explorerAttr{{"name", o.Name}, {"type", o.Type}}}}
	return n
}
