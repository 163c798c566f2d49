package explore

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/inspect/report"
)

const digits = "../../examples/digits/digits.mlmodelc"

// small are limits that tests can reach.
var small = Limits{
	Body:     1 << 20,
	Time:     time.Hour,
	Heap:     1 << 30,
	Buffers:  1 << 28,
	Jobs:     2,
	Waiting:  16,
	Requests: 64,
	Views:    8,
	Kept:     64 << 20,
}

// client asks a test server.
type client struct {
	t   *testing.T
	s   *Server
	url string
}

func newClient(t *testing.T, l Limits, models ...string) *client {
	t.Helper()
	o := Options{Limits: l, Log: io.Discard}
	for _, m := range models {
		o.Models = append(o.Models, Source{Path: m})
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		h.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(s.folder); err == nil {
			t.Errorf("the server left %s", s.folder)
		}
	})
	return &client{t, s, h.URL}
}

// ask returns status and body. A body is posted as JSON where it is not a string.
func (c *client) ask(path string, body any) (int, []byte) {
	c.t.Helper()
	status, b, err := c.try(path, body)
	if err != nil {
		c.t.Fatal(err)
	}
	return status, b
}

func (c *client) try(path string, body any) (int, []byte, error) {
	var r *http.Response
	var err error
	if body == nil {
		r, err = http.Get(c.url + path)
	} else {
		text, ok := body.(string)
		if !ok {
			b, err := json.Marshal(body)
			if err != nil {
				return 0, nil, err
			}
			text = string(b)
		}
		r, err = http.Post(c.url+path, "application/json", strings.NewReader(text))
	}
	if err != nil {
		return 0, nil, err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	return r.StatusCode, b, err
}

// must decodes a good answer.
func (c *client) must(path string, body, into any) {
	c.t.Helper()
	status, b := c.ask(path, body)
	if status != http.StatusOK {
		c.t.Fatalf("%s: status %d: %s", path, status, b)
	}
	if err := json.Unmarshal(b, into); err != nil {
		c.t.Fatalf("%s: %v", path, err)
	}
}

func (c *client) compile(cfg Config) summary {
	c.t.Helper()
	var s summary
	c.must("/api/compile", cfg, &s)
	return s
}

// all reads a list to its end, in pages of n.
func all[T any](c *client, path string, n int) (out []T) {
	c.t.Helper()
	for {
		var p paged[T]
		c.must(fmt.Sprintf("%s&offset=%d&limit=%d", path, len(out), n), nil, &p)
		out = append(out, p.Rows...)
		if len(p.Rows) == 0 || int64(len(out)) >= p.Total {
			return out
		}
	}
}

func TestLinksBothWays(t *testing.T) {
	c := newClient(t, small, digits)
	s := c.compile(Config{Model: "digits"})
	if !s.OK || s.Tasks == 0 || s.Key == "" {
		t.Fatalf("%+v", s)
	}
	view := "/api/view/" + s.Key
	statements := all[statement](c, view+"/statements?", 7)
	tasks := all[taskRow](c, view+"/tasks?", 3)
	if len(tasks) != s.Tasks || len(statements) != s.Statements {
		t.Fatalf("%d tasks, %d statements, the summary says %d and %d", len(tasks), len(statements), s.Tasks,
			s.Statements)
	}
	text, err := os.ReadFile(filepath.Join(digits, "model.mil"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	ops := 0
	for i, st := range statements {
		if !strings.Contains(lines[st.Line-1], st.Name) {
			t.Errorf("statement %d: line %d does not hold %q", i, st.Line, st.Name)
		}
		if st.Op == "const" || st.Op == "input" || st.Op == "func" {
			continue
		}
		ops++
		var l linked
		c.must(fmt.Sprintf("%s/links?kind=statement&id=%d", view, i), nil, &l)
		if len(l.Tasks) == 0 || len(l.Bytes) == 0 {
			t.Errorf("%s %s: %d tasks, %d stretches", st.Op, st.Name, len(l.Tasks), len(l.Bytes))
		}
		for _, task := range l.Tasks {
			var back linked
			c.must(fmt.Sprintf("%s/links?kind=text&id=%d", view, tasks[task].Offset+4), nil, &back)
			found := false
			for _, x := range append(back.Statements, back.With...) {
				found = found || x == i
			}
			if !found {
				t.Errorf("%s %s has task %d, whose bytes lead to %v with %v", st.Op, st.Name, task, back.Statements,
					back.With)
			}
			if len(back.Operations) != 1 {
				t.Errorf("task %d is dispatched by %v", task, back.Operations)
			}
		}
	}
	if ops == 0 {
		t.Fatal("no operations")
	}
	// Lines of every pass name statements that are there.
	for i, p := range s.Passes {
		rows := all[irLine](c, fmt.Sprintf("%s/ir?pass=%d", view, i), 1000)
		if len(rows) != p.Lines {
			t.Errorf("%s: %d lines, want %d", p.Pass, len(rows), p.Lines)
		}
		for _, r := range rows {
			if r.Kind == "op" && len(r.Statements) == 0 {
				t.Errorf("%s: %q came from nothing", p.Pass, r.Text)
			}
			for _, x := range r.Statements {
				if x < 0 || int(x) >= len(statements) {
					t.Errorf("%s: %q: statement %d of %d", p.Pass, r.Text, x, len(statements))
				}
			}
		}
	}
	// Bytes: the window is the container's, and its runs cover it.
	for _, section := range []string{"text", "constants", "file"} {
		var w byteWindow
		c.must(view+"/bytes?section="+section+"&offset=16&count=512", nil, &w)
		if len(w.Hex) != 1024 || w.Offset != 16 {
			t.Errorf("%s: %d digits from %d on", section, len(w.Hex), w.Offset)
		}
		if section == "file" {
			continue
		}
		at := uint64(16)
		for _, r := range w.Runs {
			if r.Offset != at {
				t.Errorf("%s: a run begins at %d, want %d", section, r.Offset, at)
			}
			at = r.Offset + r.Size
		}
		if at != 16+512 {
			t.Errorf("%s: runs end at %d", section, at)
		}
	}
	var task taskView
	c.must(view+"/task?task=0", nil, &task)
	if len(task.Fields) < 50 || len(task.WordValues) != int(tasks[0].Words) {
		t.Errorf("%d fields, %d words", len(task.Fields), len(task.WordValues))
	}
	for _, f := range task.Fields {
		if f.Width < 32 && uint32(f.Value/f.Unit) != task.WordValues[f.Word]>>f.Bit&(1<<f.Width-1) {
			t.Errorf("%s is %d, its word %#x", f.Name, f.Value, task.WordValues[f.Word])
		}
	}
	// The whole stack and the engine alone give the same bits.
	var runs [2]runAnswer
	for i, by := range engines {
		c.must(view+"/run", runRequest{Seed: 3, Numerics: "ane", Engine: by}, &runs[i])
		if run := &runs[i]; len(run.Outputs) != 1 || run.Outputs[0].Name != "probs" ||
			float64(run.Outputs[0].Max) <= 0 || run.Engine != by {
			t.Errorf("%s: outputs %+v", by, run.Outputs)
		}
	}
	if !reflect.DeepEqual(runs[0].Outputs, runs[1].Outputs) {
		t.Errorf("outputs %+v and %+v", runs[0].Outputs, runs[1].Outputs)
	}
}

func TestErrorsHavePlaces(t *testing.T) {
	c := newClient(t, small)
	var src sourceText
	c.must("/api/source?model=sample", nil, &src)
	wrong := strings.Replace(src.Text, "cast(x = scaled,", "cast(x = scald,", 1)
	s := c.compile(Config{Model: "sample", Text: &wrong})
	if s.OK || len(s.Places) != 1 || s.Places[0].Line != 10 || !strings.Contains(s.Places[0].Text, "^~~~~") {
		t.Fatalf("%+v", s)
	}
	if strings.Contains(fmt.Sprint(s.Places), c.s.folder) {
		t.Errorf("a diagnostic names a folder of the machine: %s", s.Places[0].Text)
	}
	again := c.compile(Config{Model: "sample", Text: &src.Text})
	own := c.compile(Config{Model: "sample"})
	if !again.OK || again.Key != own.Key || again.Key == s.Key {
		t.Errorf("keys %s, %s, %s", again.Key, own.Key, s.Key)
	}
	// A target that is placed only.
	placed := c.compile(Config{Model: "sample", Target: "h19"})
	if !placed.OK || !placed.Placed || placed.EngineOps != 2 || len(placed.Passes) == 0 {
		t.Errorf("%+v", placed)
	}
	if status, b := c.ask("/api/view/"+placed.Key+"/container", nil); status != http.StatusConflict {
		t.Errorf("status %d: %s", status, b)
	}
}

func TestWrongRequestsAreRefused(t *testing.T) {
	c := newClient(t, small)
	key := c.compile(Config{Model: "sample"}).Key
	view := "/api/view/" + key
	for _, x := range []struct {
		path   string
		body   any
		status int
	}{
		{"/api/nothing", nil, 404},
		{"/assets/../server.go", nil, 404},
		{"/style.css", nil, 200},
		{"/sample.mil", nil, 404},
		{"/api/source?model=none", nil, 404},
		{"/api/view/none/tasks", nil, 404},
		{view + "/ir?pass=99", nil, 400},
		{view + "/ir?offset=-1", nil, 400},
		{view + "/tasks?limit=1000000000", nil, 400},
		{view + "/task", nil, 400},
		{view + "/task?task=x", nil, 400},
		{view + "/links?kind=task&id=99999", nil, 400},
		{view + "/links?kind=surface&id=0", nil, 400},
		{view + "/bytes?section=heap", nil, 400},
		{view + "/bytes?section=text&offset=18446744073709551615", nil, 400},
		{view + "/bytes?section=text&count=99999999", nil, 400},
		{view + "/run", `{"seed":-1}`, 400},
		{view + "/run", `{"numerics":"best"}`, 400},
		{view + "/run", `{"engine":"none"}`, 400},
		{view + "/run", `{"numerics":"ane","function":"none"}`, 400},
		{"/api/compile", `{`, 400},
		{"/api/compile", `{"model":"sample"} {}`, 400},
		{"/api/compile", `{"model":"sample","weights":"/etc"}`, 400},
		{"/api/compile", `{"model":"sample","target":"h99"}`, 400},
		{"/api/compile", `{"model":"sample","function":"none"}`, 400},
		{"/api/compile", `{"model":"../sample"}`, 404},
		{"/api/compile", "{\"model\":\"sample\",\"text\":\"" + strings.Repeat("a", 2<<20) + "\"}", 413},
		{"/api/diff", `{"a":{"model":"sample"},"b":{"model":"sample"},"levels":["soul"]}`, 400},
		{"/api/diff", `{"a":{"model":"sample"},"b":{"model":"sample","target":"h19"},"level":"tasks"}`, 400},
	} {
		status, b := c.ask(x.path, x.body)
		if status != x.status {
			t.Errorf("%s: status %d, want %d: %.200s", x.path, status, x.status, b)
		}
		if status != 200 && strings.HasPrefix(x.path, "/api/") && x.path != "/api/nothing" {
			var a answer
			if err := json.Unmarshal(b, &a); err != nil || a.Error == "" {
				t.Errorf("%s: no message: %.200s", x.path, b)
			}
		}
	}
	// What another page, or a name that was made to point here, may not.
	for _, x := range []struct {
		host, origin, kind string
		status             int
	}{
		{host: "evil.example", kind: "application/json", status: 403},
		{host: "evil.example:80", kind: "application/json", status: 403},
		{origin: "http://evil.example", kind: "application/json", status: 403},
		{origin: "null", kind: "application/json", status: 403},
		{kind: "text/plain", status: 415},
		{host: "localhost:1", kind: "application/json", status: 200},
		{host: "[::1]:1", kind: "application/json", status: 200},
	} {
		r, err := http.NewRequest("POST", c.url+"/api/compile", strings.NewReader(`{"model":"sample"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = x.host
		r.Header.Set("Content-Type", x.kind)
		if x.origin != "" {
			r.Header.Set("Origin", x.origin)
		}
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if a.StatusCode != x.status {
			t.Errorf("host %q, origin %q, %s: status %d, want %d", x.host, x.origin, x.kind, a.StatusCode, x.status)
		}
		if !strings.HasPrefix(a.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Error("no policy")
		}
	}
}

func TestLimitsAreEnforced(t *testing.T) {
	l := small
	l.Time = time.Nanosecond
	c := newClient(t, l)
	if status, b := c.ask("/api/compile", Config{Model: "sample"}); status != 422 || !strings.Contains(string(b),
		"1ns") {
		t.Errorf("time: status %d: %s", status, b)
	}
	l = small
	l.Heap = 1
	c = newClient(t, l, digits)
	// The heap is looked at now and then, so a compilation that is quick may pass.
	g, stop, explain := c.s.limits.guard(t.Context(), "compiling")
	<-g.Done()
	if err := explain(g.Err()); !strings.Contains(err.Error(), "limit of 1 bytes") {
		t.Error(err)
	}
	stop()
	l = small
	l.Buffers = 100
	c = newClient(t, l)
	if status, b := c.ask("/api/view/"+c.compile(Config{Model: "sample"}).Key+"/run", `{}`); status != 422 ||
		!strings.Contains(string(b), "the limit is 100") {
		t.Errorf("buffers: status %d: %s", status, b)
	}
	// Past compilations are let go, with their files.
	l = small
	l.Views = 2
	c = newClient(t, l)
	var keys []string
	var src sourceText
	c.must("/api/source?model=sample", nil, &src)
	for i := range 4 {
		text := strings.Replace(src.Text, "0x1p-4", fmt.Sprintf("0x1p-%d", i+5), 1)
		keys = append(keys, c.compile(Config{Model: "sample", Text: &text}).Key)
	}
	for i, k := range keys {
		want := http.StatusOK
		if i < 2 {
			want = http.StatusNotFound
		}
		if status, _ := c.ask("/api/view/"+k+"/tasks", nil); status != want {
			t.Errorf("view %d: status %d, want %d", i, status, want)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(c.s.folder, "pair-*")); len(files) != 4 {
		t.Errorf("%d files of 2 pairs", len(files))
	}
}

// TestFirstAnswerHasTheStyle compares the page's style sheet with the digest in the policy: a browser paints it without
// a second request.
func TestFirstAnswerHasTheStyle(t *testing.T) {
	c := newClient(t, small)
	colors, err := report.Shared.ReadFile("parts.css")
	if err != nil {
		t.Fatal(err)
	}
	style, err := assetFiles.ReadFile("assets/style.css")
	if err != nil {
		t.Fatal(err)
	}
	style = slices.Concat(colors, style)
	for _, path := range []string{"/", "/index.html"} {
		a, err := http.Get(c.url + path)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(a.Body)
		a.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(page), "<style>")
		got, _, _ := strings.Cut(rest, "</style>")
		if got != string(style) || strings.Contains(string(page), `rel="stylesheet"`) {
			t.Errorf("%s: the page has a style sheet of %d bytes, want the %d of parts.css and style.css", path,
				len(got), len(style))
		}
		digest := sha256.Sum256([]byte(got))
		want := "style-src 'sha256-" + base64.StdEncoding.EncodeToString(digest[:]) + "';"
		if policy := a.Header.Get("Content-Security-Policy"); !strings.Contains(policy, want) {
			t.Errorf("%s: the policy is %q, want %s in it", path, policy, want)
		}
	}
}

// TestAssetsNameNoOtherHost holds the page to what its policy and the rule of no network allow.
func TestAssetsNameNoOtherHost(t *testing.T) {
	outside := regexp.MustCompile(`(?i)(https?:)?//[a-z0-9.-]+\.[a-z]{2,}|@import|url\([^#]|innerHTML|outerHTML|` +
		`insertAdjacentHTML|document\.write|\beval\(|new Function`)
	err := filepath.WalkDir("assets", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := strings.ReplaceAll(string(b), "http://www.w3.org/2000/svg", "")
		if m := outside.FindString(text); m != "" {
			t.Errorf("%s: %q", path, m)
		}
		if strings.HasSuffix(path, ".html") && regexp.MustCompile(`<script(?:[^>]*[^>/])?>[^<]|\son[a-z]+=|style=`).
			MatchString(text) {
			t.Errorf("%s: script or style in the page, which the policy forbids", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnswersAreCompressedOnRequest(t *testing.T) {
	c := newClient(t, small)
	r, err := http.NewRequest("GET", c.url+"/style.css", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "gzip")
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	if a.Header.Get("Content-Encoding") != "gzip" {
		t.Fatal("not compressed")
	}
	z, err := gzip.NewReader(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(z)
	want, err2 := assetFiles.ReadFile("assets/style.css")
	if err != nil || err2 != nil || !bytes.Equal(got, want) {
		t.Errorf("%v, %v, %d bytes, want %d", err, err2, len(got), len(want))
	}
}

// TestMissingWeightsAreAssumed compiles a model without its weight file. It shows the same placement as with the file,
// says so, and refuses to run.
func TestMissingWeightsAreAssumed(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join(digits, "model.mil"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "digits.mil"), text, 0o666); err != nil {
		t.Fatal(err)
	}
	c := newClient(t, small, filepath.Join(dir, "digits.mil"), digits)
	bare, whole := c.compile(Config{Model: "digits"}), c.compile(Config{Model: "digits~2"})
	if !bare.OK || bare.Line != whole.Line || len(bare.Assumed) != 1 || len(whole.Assumed) != 0 {
		t.Errorf("without weights %q, assumed %q; with them %q, assumed %q", bare.Line, bare.Assumed, whole.Line,
			whole.Assumed)
	}
	if status, b := c.ask("/api/view/"+bare.Key+"/run", map[string]any{"seed": 1}); status != http.StatusConflict ||
		!strings.Contains(string(b), "not found, needed by 6 constants") {
		t.Errorf("a run has status %d: %s", status, b)
	}
}

// TestRoutesAreDocumented holds docs/explore.md to the routes.
func TestRoutesAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/explore.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range routes {
		if !strings.Contains(string(doc), "`"+r.pattern+"`") {
			t.Errorf("docs/explore.md has no row for %s", r.pattern)
		}
	}
}

// TestPageLoadsItsProgramAfterItIsPainted holds the page to a style sheet and one short module that imports the rest
// when it runs: nothing else is loaded before the first paint.
func TestPageLoadsItsProgramAfterItIsPainted(t *testing.T) {
	page, err := assetFiles.ReadFile("assets/index.html")
	if err != nil {
		t.Fatal(err)
	}
	loads := regexp.MustCompile(`(?:href|src)="([^"]*\.(?:js|css))"`)
	var got []string
	for _, m := range loads.FindAllSubmatch(page, -1) {
		got = append(got, string(m[1]))
	}
	if want := []string{"style.css", "js/start.js"}; !slices.Equal(got, want) {
		t.Errorf("the page loads %q, want %q", got, want)
	}
	start, err := assetFiles.ReadFile("assets/js/start.js")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(start, []byte("\nimport ")) {
		t.Error("start.js imports another module before it runs")
	}
}
