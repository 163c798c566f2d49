package reported

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// open reads a model, whose weights may be missing.
func open(t *testing.T, path string) *frontend.Model {
	t.Helper()
	m, err := frontend.Open(path, frontend.Options{AssumeWeights: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// found returns the names of the rules that apply to a model.
func found(t *testing.T, path string) (names []string) {
	t.Helper()
	for _, f := range Find(open(t, path).Program, Options{Records: true}) {
		names = append(names, f.Rule)
	}
	return names
}

// TestSharedCasesAreFound checks the shared cases of patterns that are reported, and the case that is right.
func TestSharedCasesAreFound(t *testing.T) {
	dir := filepath.Join(shareddir.Find(t), "cases")
	for name, rule := range map[string]string{
		"state-270":                        "state-width",
		"enumerated-layer-norm":            "layer-norm-enumerated",
		"int4-blockwise":                   "blocks-int4",
		"image-5568":                       "tensor-1gb",
		"log-softmax":                      "log-softmax",
		"sdpa-8192":                        "softmax-long",
		"softmax-long-loses-mass":          "softmax-long",
		"llm-kv-cache":                     "state-runtime-write",
		"llm-kv-cache-small":               "state-runtime-write",
		"lm-head-32000":                    "outputs-16384",
		"conv-1x1-109MB-refused":           "weight-dma-notch",
		"placement-auto-worse-than-engine": "state-runtime-write",
	} {
		if got := found(t, filepath.Join(dir, name+".mil")); !slices.Contains(got, rule) {
			t.Errorf("%s: found %s, want %s", name, got, rule)
		} else {
			t.Logf("%s: %s", name, rule)
		}
	}
	right := filepath.Join(dir, "softmax-long-late-normalised.mil")
	for _, f := range Find(open(t, right).Program, Options{}) {
		t.Errorf("%s: %s at %+v, want none", right, f.Rule, f.Places)
	}
}

// trueReports are the findings in converted packages: each is the form that the report is about, written by Apple's
// converter.
var trueReports = []string{
	"kv-a.mlpackage state-runtime-write",           // one position of a cache, written at a place from an input
	"llm-s16.mlpackage state-runtime-write",        // likewise, the caches of a decoder
	"lnenum.mlpackage layer-norm-enumerated",       // the program of the report
	"lnrange.mlpackage ranges",                     // an input with a range, and a linear layer
	"mlp-int4block.mlpackage blocks-int4",          // int4 in blocks of 32
	"mlp-palscale.mlpackage palette-channel-scale", // enable_per_channel_scale, the option of the report
	"prefill8192.mlpackage softmax-long",           // attention over 8,192 keys
}

// TestNoFalseAlarms looks at real models and at programs that are known to work.
func TestNoFalseAlarms(t *testing.T) {
	shared := shareddir.Find(t)
	for _, folder := range []string{"corpus", "conformance/cases", "converted"} {
		paths, err := filepath.Glob(filepath.Join(shared, folder, "*"))
		if err != nil {
			t.Fatal(err)
		}
		models, alarms, known := 0, 0, 0
		for _, path := range paths {
			m, err := frontend.Open(path, frontend.Options{AssumeWeights: true})
			if err != nil {
				continue // the reader's tests deal with models that it refuses
			}
			models++
			for _, f := range Find(m.Program, Options{}) {
				if slices.Contains(trueReports, filepath.Base(path)+" "+f.Rule) {
					known++
					continue
				}
				alarms++
				t.Errorf("%s: %s at %+v", path, f.Rule, f.Places[0])
			}
			m.Close()
		}
		t.Logf("%s: %d models, %d false alarms, %d findings that are right", folder, models, alarms, known)
	}
}
