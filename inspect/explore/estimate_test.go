package explore

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/memlimit"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/target"
)

// byName lists costs by the names of their statements, without the numbers of those.
func byName(t *testing.T, list []statement, costs []opCost) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, c := range costs {
		fused := ""
		if c.Fused >= 0 {
			fused = list[c.Fused].Name
		}
		s := &list[c.Statement]
		c.Statement, c.Fused = 0, 0
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		out[s.Op+" "+s.Name] = string(b) + fused
	}
	return out
}

// TestEstimateIsWhatCompilingCosts compares the estimate of texts, edited and not, with what their pairs cost.
func TestEstimateIsWhatCompilingCosts(t *testing.T) {
	c := newClient(t, small, digits)
	for _, model := range []string{"digits", "sample", "digits"} {
		var src sourceText
		c.must("/api/source?model="+model, nil, &src)
		edited := strings.Replace(src.Text, "relu(", "tanh(", 1)
		for _, cfg := range []Config{
			{Model: model}, {Model: model, Text: &edited}, {Model: model, Precision: "fp16", Text: &edited},
			{Model: model, Target: "h19", Text: &edited},
		} {
			var got estimateAnswer
			c.must("/api/estimate", cfg, &got)
			made := c.compile(cfg)
			var want costAnswer
			c.must("/api/view/"+made.Key+"/cost", nil, &want)
			var list paged[statement]
			c.must("/api/view/"+made.Key+"/statements", nil, &list)
			if !got.OK || got.Line != made.Line || got.Cost.Total != want.Total || got.Dispatches != made.Dispatches {
				t.Errorf("%s: estimate %s us, %q; compiled %s us, %q", model, got.Cost.Total, got.Line, want.Total,
					made.Line)
			}
			a, b := byName(t, got.Statements, got.Cost.Statements), byName(t, list.Rows, want.Statements)
			for name, x := range b {
				if a[name] != x {
					t.Errorf("%s: estimate of %s is %s, compiled %s", model, name, a[name], x)
				}
			}
			if len(a) != len(b) || len(b) == 0 {
				t.Errorf("%s: %d statements have an estimate, %d when compiled", model, len(a), len(b))
			}
		}
	}
}

// TestGenerationsAreComparedFromAView holds that the view's own target has the same estimate among the generations.
func TestGenerationsAreComparedFromAView(t *testing.T) {
	c := newClient(t, small, digits)
	for _, cfg := range []Config{{Model: "digits"}, {Model: "digits", Target: "h19"}} {
		made := c.compile(cfg)
		var own costAnswer
		c.must("/api/view/"+made.Key+"/cost", nil, &own)
		var got generationsAnswer
		c.must("/api/view/"+made.Key+"/generations", struct{}{}, &got)
		if len(got.Generations) != 6 || len(got.Table.Rows) != 6 {
			t.Fatalf("%d generations, %d rows", len(got.Generations), len(got.Table.Rows))
		}
		for _, g := range got.Generations {
			if g.Call == 0 {
				t.Errorf("%s has no estimate: %s", g.Chip, g.Known)
			}
			if own.Estimated && g.Target == made.Target && g.Call != own.Total {
				t.Errorf("%s takes %s us, alone %s", g.Chip, g.Call, own.Total)
			}
		}
	}
}

// TestEstimateRefuses has what cannot be estimated: texts with errors, whose diagnostics are as for compiling, and
// other versions.
func TestEstimateRefuses(t *testing.T) {
	c := newClient(t, small, digits)
	var src sourceText
	c.must("/api/source?model=digits", nil, &src)
	wrong := strings.Replace(src.Text, "relu(", "rleu(", 1)
	var got estimateAnswer
	c.must("/api/estimate", Config{Model: "digits", Text: &wrong}, &got)
	made := c.compile(Config{Model: "digits", Text: &wrong})
	if got.OK || got.Error != made.Error || len(got.Places) == 0 || got.Places[0] != made.Places[0] {
		t.Errorf("estimate: %+v; compiled: %q %+v", got, made.Error, made.Places)
	}
	for _, cfg := range []Config{{Model: "digits", Version: "other"}, {Model: "digits", Target: "h1"}} {
		if status, b := c.ask("/api/estimate", cfg); status != http.StatusBadRequest {
			t.Errorf("%+v: status %d: %s", cfg, status, b)
		}
	}
}

// TestEditsShareAMemoryWhileWeightsStay holds that the memory of a model's edits ends when a weight file changes, and
// that an estimate that runs beside another one has none.
func TestEditsShareAMemoryWhileWeightsStay(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(digits)); err != nil {
		t.Fatal(err)
	}
	m, err := openModel(Source{Path: dir})
	if err != nil {
		t.Fatal(err)
	}
	take := func() (*compile.Memory, func()) {
		opened, err := m.open(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer opened.Close()
		return m.edits.take(&compile.Options{Target: target.H13}, opened.WeightStamp())
	}
	first, end := take()
	if beside, done := take(); beside != nil {
		t.Error("two estimates at a time have the memory")
	} else {
		done()
	}
	end()
	if again, end := take(); again != first || first == nil {
		t.Error("the memory of the edit before is lost")
	} else {
		end()
	}
	files, err := filepath.Glob(filepath.Join(dir, "weights", "*.bin"))
	if err != nil || len(files) == 0 {
		t.Fatalf("weight files: %v, %v", files, err)
	}
	b, err := os.ReadFile(files[0])
	if err == nil {
		err = os.WriteFile(files[0], append(b, 0), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if now, end := take(); now == first {
		t.Error("the memory outlives a change of the weights")
	} else {
		end()
	}
}

// BenchmarkEdit takes the time from an edit of a statement of an encoder of 1,174 operations to its estimate, with the
// connection. Collections run while nobody waits.
func BenchmarkEdit(b *testing.B) {
	dir := filepath.Join(shareddir.Find(b), "corpus", "parakeet-eou-encoder-1280ms")
	text, err := os.ReadFile(filepath.Join(dir, frontend.TextName))
	if err != nil {
		b.Fatal(err)
	}
	s, err := New(Options{Models: []Source{{Path: dir}}})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	h := httptest.NewServer(s.Handler())
	defer h.Close()
	lines, adds := strings.Split(string(text), "\n"), []int{}
	for i, l := range lines {
		if strings.Contains(l, "= add(") {
			adds = append(adds, i)
		}
	}
	edit := 0
	for b.Loop() {
		b.StopTimer()
		at := adds[edit*37%len(adds)]
		edit++
		own := lines[at]
		lines[at] = strings.Replace(own, "= add(", "= sub(", 1)
		edited := strings.Join(lines, "\n")
		lines[at] = own
		q, err := json.Marshal(Config{Model: s.models[0].Name, Text: &edited})
		if err != nil {
			b.Fatal(err)
		}
		memlimit.Rest()
		b.StartTimer()
		r, err := http.Post(h.URL+"/api/estimate", "application/json", strings.NewReader(string(q)))
		if err != nil {
			b.Fatal(err)
		}
		answer, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || r.StatusCode != http.StatusOK {
			b.Fatalf("status %d, %v: %.200s", r.StatusCode, err, answer)
		}
	}
}
