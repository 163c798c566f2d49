package computeplan

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// published are the operations of the model that every published example plans.
var published = []Op{
	{[]string{"x_1_cast_fp16"}, "pad"},
	{[]string{"input_3_cast_fp16"}, "conv"},
	{[]string{"var_124_cast_fp16"}, "sigmoid"},
}

// answers are the devices and weights of published.
var answers = []struct {
	device    Device
	supported Devices // GPU is in some formats only
	weight    float64
}{
	{CPU, Devices(CPU | Engine), 0.36},
	{Engine, Devices(CPU | Engine), 0.4},
	{CPU, Devices(CPU), 0.24},
}

// forms are the examples, and what each does not have.
var forms = []struct {
	file                      string
	noSupport, byOrder, noOps bool
}{
	{"voice.mlperf", false, false, false},
	{"voice.mlperf/report.json", false, false, false},
	{"coremltools-remote.json", false, false, false},
	{"python-api.json", false, false, false},
	{"flat-swift.json", true, false, false},
	{"coremlprofiler", false, false, false},
	{"coremlprofiler/compute_plan_operation_table.json", false, false, false},
	{"coreml-rs.json", false, false, false},
	{"mlx2coreml.json", false, false, false},
	{"executorch-metadata.jsonl", false, false, false},
	{"computeplan.tsv", false, false, false},
	{"coremlinspect.txt", false, false, false},
	{"analytics.mil", false, false, false},
	{"analytics-dictionary.txt", false, false, false},
	{"analytics-dictionary.csv", false, true, false},
	{"objc-log.txt", true, true, false},
	{"onnxsim-trace.json", true, true, false},
	{"placement-study.json", false, true, false},
	{"summary-executorch.txt", true, true, true},
	{"summary-meridian.json", true, true, true},
	{"summary-anemll.json", true, true, true},
}

// answered checks that a plan says about published what all do.
func answered(t *testing.T, p *Plan, noSupport bool) {
	t.Helper()
	j := p.Join("main", published)
	if len(j.Extra) > 0 || j.Other > 0 || len(j.Renamed) > 0 || !j.Whole {
		t.Errorf("join is %+v", j)
	}
	for i, at := range j.Of {
		want := answers[i]
		if at < 0 {
			if !p.Rest || want.device != Engine {
				t.Errorf("%s is not in the plan", published[i].Outputs[0])
			}
			continue
		}
		o := &p.Operations[at]
		if o.Preferred != want.device || !o.Weighed || math.Abs(o.Weight-want.weight) > 1e-9 {
			t.Errorf("%s is on %s with weight %g (%t), want %s and %g", published[i].Outputs[0], o.Preferred, o.Weight,
				o.Weighed, want.device, want.weight)
		}
		if got := o.Supported &^ Devices(GPU); got != want.supported && !noSupport {
			t.Errorf("%s is supported on %s, want %s", published[i].Outputs[0], got, want.supported)
		}
	}
}

// TestFormsGiveTheSameAnswer reads each published example.
func TestFormsGiveTheSameAnswer(t *testing.T) {
	dir := filepath.Join(shareddir.Find(t), "coreml", "plan-forms")
	for _, f := range forms {
		t.Run(f.file, func(t *testing.T) {
			p, err := Read(filepath.Join(dir, filepath.FromSlash(f.file)), nil)
			if err != nil {
				t.Fatal(err)
			}
			if f.noOps {
				if s := p.Summary; s == nil || s.Engine != 1 || s.CPU != 2 || s.Total() != 3 {
					t.Errorf("summary is %+v", p.Summary)
				}
				return
			}
			if p.ByOrder != f.byOrder {
				t.Errorf("by order: %t, want %t", p.ByOrder, f.byOrder)
			}
			answered(t, p, f.noSupport)
		})
	}
}

// variations are other spellings of the same text.
var variations = []struct {
	name   string
	change func(t *testing.T, text string) string
}{
	{"CRLF", func(_ *testing.T, s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }},
	{"byte order mark", func(_ *testing.T, s string) string { return "\ufeff" + s }},
	{"no newline at the end", func(_ *testing.T, s string) string { return strings.TrimRight(s, "\n") }},
	{"white space around", func(_ *testing.T, s string) string { return "\n\n" + s + "\n\n" }},
	{"keys in the order of the alphabet", func(t *testing.T, s string) string {
		var v any
		if json.Unmarshal([]byte(s), &v) != nil {
			return s
		}
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}},
	{"capitals in keys", func(t *testing.T, s string) string {
		var v any
		if json.Unmarshal([]byte(s), &v) != nil {
			return s
		}
		out, err := json.MarshalIndent(capitals(v, ""), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}},
	{"extra keys", func(t *testing.T, s string) string {
		var v any
		if json.Unmarshal([]byte(s), &v) != nil {
			return s
		}
		out, err := json.Marshal(extra(v))
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}},
}

// capitals writes keys with capitals, but not those that are names of functions.
func capitals(v any, parent string) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = capitals(v[i], parent)
		}
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			key := strings.ToUpper(k[:1]) + k[1:]
			if k == "main" || k == "_0" {
				key = k
			}
			out[key] = capitals(x, k)
		}
		return out
	}
	return v
}

// extra adds members that say nothing to every object.
func extra(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = extra(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = extra(v[k])
		}
		for _, device := range []string{"cpu", "gpu", "neuralEngine"} { // an object whose keys are devices
			if v[device] != nil {
				return v
			}
		}
		v["zz note"] = []any{1.5, nil, true}
		v["a remark"] = map[string]any{"text": `a "quoted" \ text`}
	}
	return v
}

// TestSpellingsOfFormsDoNotMatter reads each example in other spellings.
func TestSpellingsOfFormsDoNotMatter(t *testing.T) {
	dir := filepath.Join(shareddir.Find(t), "coreml", "plan-forms")
	for _, f := range forms {
		path := filepath.Join(dir, filepath.FromSlash(f.file))
		if info, err := os.Stat(path); err != nil || info.IsDir() || f.noOps {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range variations {
			t.Run(f.file+"/"+v.name, func(t *testing.T) {
				if v.name == "keys in the order of the alphabet" && f.file == "executorch-metadata.jsonl" {
					t.Skip("a document a line")
				}
				p, err := Parse(f.file, []byte(v.change(t, string(text))))
				if err != nil {
					t.Fatal(err)
				}
				answered(t, p, f.noSupport)
			})
		}
	}
}

// TestMobileNetOfTheAnalyticsIsRead reads the one published dump of a whole network.
func TestMobileNetOfTheAnalyticsIsRead(t *testing.T) {
	p, err := Read(filepath.Join(shareddir.Find(t), "coreml", "mobilenet-edgetpu-m1.csv"), nil)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	engine, sum := 0, 0.0
	for i := range p.Operations {
		o := &p.Operations[i]
		counts[o.Kind]++
		sum += o.Weight
		if o.Preferred == Engine {
			engine++
		}
		if n := len(o.Estimates); n != 4 && n != 3 || n == 3 && len(o.Reasons) != 1 {
			t.Errorf("line %d: %v, %v", o.Line, o.Estimates, o.Reasons)
		}
	}
	if len(p.Operations) != 119 || counts["conv"] != 59 || engine != 114 || math.Abs(sum-1) > 1e-9 {
		t.Errorf("%d operations, %d on the engine, weights of %g, %v", len(p.Operations), engine, sum, counts)
	}
}

// TestPersonalFieldsAreNotRead puts identifiers beside the chip and the system.
func TestPersonalFieldsAreNotRead(t *testing.T) {
	p, err := Parse("report.json", []byte(`{"deviceInfo": {"modelName": "Mac", "serialNumber": "C02SECRET",
		"deviceID": "SECRET", "deviceName": "A. Person's Mac"}, "operations": [{"operator": "relu", "outputs": ["y"],
		"preferred": "cpu"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(p)
	if err != nil || p.Machine != "Mac" || bytes.Contains(text, []byte("SECRET")) ||
		bytes.Contains(text, []byte("Person")) {
		t.Errorf("%v: %s", err, text)
	}
}
