package report

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/zinc-compiler/zinc/compile/cost"
)

func TestPprofAddsUpToTheCallAndNamesLines(t *testing.T) {
	for _, d := range []*Document{{Model: "digits.mil", Report: digits(t)}, {Report: several(t)}} {
		text := output(t, "pprof", d)
		p, err := profile.ParseData([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(p.SampleType, func(v *profile.ValueType) bool { return v.Type == p.DefaultSampleType })
		all := int64(0)
		lines := map[int64]bool{}
		for _, s := range p.Sample {
			all += s.Value[at]
			if top := s.Location[0].Line[0]; top.Line > 0 {
				lines[top.Line] = true
			}
		}
		if cost.Time(all) != d.Report.CallTime() || p.SampleType[at].Unit != "nanoseconds" {
			t.Errorf("the samples add up to %d %s, the report to %s us", all, p.SampleType[at].Unit,
				d.Report.CallTime())
		}
		for _, o := range d.Report.Ops {
			if o.Time() > 0 && !lines[int64(o.Line)] {
				t.Errorf("no sample at line %d, %s takes %s us", o.Line, o.Name, o.Time())
			}
		}
	}
}

func TestGoToolPprofOpensTheProfile(t *testing.T) {
	if testing.Short() {
		t.Skip("the go command may have to build pprof first")
	}
	path := filepath.Join(t.TempDir(), "model.pb.gz")
	write(t, path, output(t, "pprof", &Document{Model: "digits.mil", Report: digits(t)}))
	out, err := exec.Command("go", "tool", "pprof", "-top", "-lines", "-nodefraction=0", path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"212.99us", "digits.mil:", "conv conv2 digits.mil:"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// TestPerfettoFollowsTheRulesOfTheFormat checks what the trace event format requires of each phase, and that the trace
// has the times of the report.
func TestPerfettoFollowsTheRulesOfTheFormat(t *testing.T) {
	r := several(t)
	var file struct {
		Events []map[string]any `json:"traceEvents"`
	}
	if err := json.Unmarshal([]byte(output(t, "perfetto", &Document{Report: r})), &file); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	ends := map[string]float64{}
	for _, e := range file.Events {
		key := fmt.Sprint(e["pid"], " ", e["tid"])
		switch e["ph"] {
		case "M":
			if e["name"] == "thread_name" {
				names[key] = e["args"].(map[string]any)["name"].(string)
			}
		case "X":
			ts, dur := e["ts"].(float64), e["dur"].(float64)
			if names[key] == "" || e["name"] == "" || dur <= 0 {
				t.Errorf("%v", e)
			}
			if ts < ends[key]-1e-6 {
				t.Errorf("%v begins before the event before it ends, at %v", e, ends[key])
			}
			ends[key] = ts + dur
		default:
			t.Errorf("phase %v", e["ph"])
		}
	}
	for i, f := range r.Functions {
		end := 0.0
		for track := range Track(Tracks) {
			end = max(end, ends[fmt.Sprint(i+1, " ", int(track))])
		}
		if want := inMicros(f.CallTime()); end < want-1e-6 || end > want+1e-6 {
			t.Errorf("%s ends at %v us, want %v", f.Function, end, want)
		}
	}
}

// explorerSchema is what Model Explorer requires of each of its types and the other fields that zinc writes, from
// src/ui/src/components/visualizer/common/input_graph.ts and types.ts of google-ai-edge/model-explorer. "[]T" is a list
// and "{}T" a map of strings to T.
var explorerSchema = map[string]struct{ required, optional map[string]string }{
	"GraphCollection": {required: map[string]string{"label": "string", "graphs": "[]Graph"}},
	"Graph": {
		required: map[string]string{"id": "string", "nodes": "[]GraphNode"},
		optional: map[string]string{"groupNodeAttributes": "{}{}string"},
	},
	"GraphNode": {
		required: map[string]string{"id": "string", "label": "string", "namespace": "string"},
		optional: map[string]string{"attrs": "[]KeyValue", "incomingEdges": "[]IncomingEdge",
			"outputsMetadata": "[]MetadataItem", "style": "GraphNodeStyle"},
	},
	"GraphNodeStyle": {optional: map[string]string{"borderColor": "string"}},
	"KeyValue":       {required: map[string]string{"key": "string", "value": "string"}},
	"IncomingEdge": {required: map[string]string{"sourceNodeId": "string", "sourceNodeOutputId": "string",
		"targetNodeInputId": "string"}},
	"MetadataItem": {required: map[string]string{"id": "string", "attrs": "[]KeyValue"}},
	"NodeDataProviderGraphData": {
		required: map[string]string{"results": "{}NodeDataProviderResultData"},
		optional: map[string]string{"name": "string", "gradient": "[]GradientItem"},
	},
	"NodeDataProviderResultData": {
		required: map[string]string{"value": "any"},
		optional: map[string]string{"bgColor": "string", "textColor": "string"},
	},
	"GradientItem": {
		required: map[string]string{"stop": "number"},
		optional: map[string]string{"bgColor": "string", "textColor": "string"},
	},
}

// fits checks a decoded value against a type of the schema.
func fits(t *testing.T, at, typ string, v any) {
	t.Helper()
	if of, ok := strings.CutPrefix(typ, "[]"); ok {
		list, ok := v.([]any)
		if !ok {
			t.Fatalf("%s is a %T, want a list", at, v)
		}
		for i, x := range list {
			fits(t, fmt.Sprintf("%s[%d]", at, i), of, x)
		}
		return
	}
	if of, ok := strings.CutPrefix(typ, "{}"); ok {
		for k, x := range v.(map[string]any) {
			fits(t, at+"."+k, of, x)
		}
		return
	}
	ok := typ == "any"
	switch v := v.(type) {
	case string:
		ok = ok || typ == "string"
	case float64:
		ok = ok || typ == "number"
	case map[string]any:
		schema, known := explorerSchema[typ]
		ok = known
		for k, x := range v {
			of := schema.required[k] + schema.optional[k]
			if of == "" {
				t.Errorf("%s: %s has no field %q", at, typ, k)
				continue
			}
			fits(t, at+"."+k, of, x)
		}
		for k := range schema.required {
			if _, has := v[k]; !has {
				t.Errorf("%s: missing field %q of %s", at, k, typ)
			}
		}
	}
	if !ok {
		t.Errorf("%s is a %T, want a %s", at, v, typ)
	}
}

func TestModelExplorerFitsThePublishedSchema(t *testing.T) {
	for _, r := range []*Document{{Model: "digits.mlmodelc/model.mil", Report: digits(t)}, {Report: several(t)}} {
		var v map[string]any
		if err := json.Unmarshal([]byte(output(t, "modelexplorer", r)), &v); err != nil {
			t.Fatal(err)
		}
		fits(t, "file", "GraphCollection", any(v))
		for _, g := range v["graphs"].([]any) {
			g := g.(map[string]any)
			known := map[string]bool{}
			edges := 0
			for _, n := range g["nodes"].([]any) {
				n := n.(map[string]any)
				for _, e := range list(n["incomingEdges"]) {
					edges++
					if from := e.(map[string]any)["sourceNodeId"].(string); !known[from] {
						t.Errorf("node %v reads node %s, which is not before it", n["id"], from)
					}
				}
				known[n["id"].(string)] = true
			}
			if len(known) > 1 && edges == 0 {
				t.Errorf("graph %v has no edges", g["id"])
			}
			for i, x := range explorerValues {
				var data map[string]any
				if err := json.Unmarshal([]byte(output(t, "modelexplorer-"+x.name, r)), &data); err != nil {
					t.Fatal(err)
				}
				fits(t, x.name, "{}NodeDataProviderGraphData", data)
				of := data[g["id"].(string)].(map[string]any)
				results := of["results"].(map[string]any)
				for id := range results {
					if !known[id] {
						t.Errorf("%s is of node %s, which the graph does not have", x.name, id)
					}
				}
				if i < 2 && len(results) == 0 {
					t.Errorf("no values of %s", x.name)
				}
			}
		}
	}
}

func list(v any) []any { l, _ := v.([]any); return l }

func TestTitleNamesTheModel(t *testing.T) {
	for path, want := range map[string]string{
		"/tmp/corpus/silero-v6-fp16/model.mil": "silero-v6-fp16",
		"digits.mlmodelc/model.mil":            "digits",
		`C:\models\a.mlmodelc\model.mil`:       "a",
		"net.mil":                              "net",
		"a/b.mlpackage/Data/x.mlmodel":         "b",
		"":                                     "model",
		"model.mil":                            "model",
	} {
		if got := (&Document{Model: path}).Title(); got != want {
			t.Errorf("Title of %q is %q, want %q", path, got, want)
		}
	}
}
