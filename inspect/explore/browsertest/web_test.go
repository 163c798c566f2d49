package browsertest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/zinc-compiler/zinc/cmd/zinc/cli"
	"github.com/zinc-compiler/zinc/frontend/blobfile"
	"github.com/zinc-compiler/zinc/inspect/explore"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/internal/testform"
)

var web = flag.String("web", "", "folder that make web wrote; without it the page is not tested")

// dropped is a model for the page that make web writes.
type dropped struct {
	Name string `json:"name"`
	Path string `json:"path"`
	// Most is how long the first answer may take, in milliseconds; 0 for any time.
	Most int `json:"most"`
	// Want are files with what the command prints, by view.
	Want map[string]string `json:"want"`
	// Explorer are answers of zinc explore, by path.
	Explorer map[string]string `json:"explorer,omitempty"`
}

// asked are the views of the page that have a document, with their commands.
var asked = map[string][]string{
	"check":  {"check", "MODEL", "--json"},
	"coreml": {"check", "MODEL", "--as", "coreml", "--json"},
	"lint":   {"lint", "MODEL", "--json"},
}

// command returns a file with what a command prints about the model, which is in the current folder.
func command(t *testing.T, to, name string, words []string) string {
	t.Helper()
	args := strings.Split(strings.ReplaceAll(strings.Join(words, " "), "MODEL", name), " ")
	var out, msg bytes.Buffer
	if status := cli.Main(args, strings.NewReader(""), &out, &msg); status != 0 {
		t.Fatalf("zinc %s: exit status %d: %s", strings.Join(args, " "), status, &msg)
	}
	file := filepath.Join(to, strings.Join(args, "_"))
	if err := os.WriteFile(file, out.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// explored are what zinc explore answers about the model at path: the name of the model, and bodies by path.
func explored(t *testing.T, path string) map[string]string {
	t.Helper()
	s, err := explore.New(explore.Options{Models: []explore.Source{{Path: path}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h, out := s.Handler(), map[string]string{}
	answer := func(path, body string) string {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/"+path, nil)
		if body != "" {
			r = httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/"+path,
				strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
		}
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Fatalf("%s: status %d: %s", path, w.Code, w.Body)
		}
		return w.Body.String()
	}
	var models struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	out["api/models"] = answer("api/models", "")
	if err := json.Unmarshal([]byte(out["api/models"]), &models); err != nil || len(models.Models) == 0 {
		t.Fatalf("%v: %s", err, out["api/models"])
	}
	var view struct {
		Key string `json:"key"`
	}
	compiled := answer("api/compile", `{"model":"`+models.Models[0].Name+`"}`)
	if err := json.Unmarshal([]byte(compiled), &view); err != nil || view.Key == "" {
		t.Fatalf("%v: %s", err, compiled)
	}
	for _, part := range []string{"cost", "graph", "statements", "tasks", "container", "chain"} {
		path := "api/view/" + view.Key + "/" + part
		out[path] = answer(path, "")
	}
	return out
}

// sparse writes a file with holes for what is zero.
type sparse struct{ *os.File }

func (f sparse) Write(b []byte) (int, error) {
	if len(b) < 1<<20 || bytes.ContainsFunc(b, func(r rune) bool { return r != 0 }) {
		return f.File.Write(b)
	}
	_, err := f.Seek(int64(len(b)), io.SeekCurrent)
	return len(b), err
}

// wide returns a folder with wide.mlmodelc, whose weights are over 1 GB of zeros: more than the page may hold.
func wide(t *testing.T) string {
	t.Helper()
	const layers, width = 9, 8192
	dir := t.TempDir()
	model := filepath.Join(dir, "wide.mlmodelc")
	if err := os.MkdirAll(filepath.Join(model, "weights"), 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(model, "weights", "weight.bin"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	weights, zeros := blobfile.NewWriter(sparse{f}, layers+1), make([]byte, 2*width*width)
	var text strings.Builder
	fmt.Fprintf(&text, "program(1.3)\n{\nfunc main<ios18>(tensor<fp16, [1, %d]> x0) {\n", width)
	matrix := fmt.Sprintf("tensor<fp16, [%d, %d]>", width, width)
	for i := range layers {
		at, err := weights.Append(blobfile.Float16, width*width, zeros)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, `%s w%d = const()[name = string("w%d"), val = %s(BLOBFILE(path = `+
			`string("@model_path/weights/weight.bin"), offset = uint64(%d)))];`+"\n", matrix, i, i, matrix, at)
		fmt.Fprintf(&text, `tensor<fp16, [1, %d]> x%d = linear(x = x%d, weight = w%d)[name = string("x%d")];`+"\n",
			width, i+1, i, i, i+1)
	}
	fmt.Fprintf(&text, "} -> (x%d);\n}\n", layers)
	if _, err := weights.Append(blobfile.Float16, 1, []byte{0, 0}); err != nil { // the file ends after its last hole
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(model, "model.mil"), []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestStaticPageAnswersAsTheCommand drops models on the page that make web writes and compares what it says with what
// the command prints.
func TestStaticPageAnswersAsTheCommand(t *testing.T) {
	if *chromium == "" || *web == "" {
		t.Skip("no browser or no page is given; make browser-test gives both")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node")
	}
	script, err := filepath.Abs("web.mjs")
	if err != nil {
		t.Fatal(err)
	}
	digits, err := filepath.Abs(filepath.Join("..", "..", "..", "examples", "digits"))
	if err != nil {
		t.Fatal(err)
	}
	models := []dropped{{Name: "digits.mlmodelc", Path: digits}}
	corpus := ""
	t.Run("corpus", func(t *testing.T) { corpus = filepath.Join(shareddir.Find(t), "corpus") })
	if corpus != "" {
		largest := corpus // without weights, which take a minute
		if testform.Long() {
			largest = filepath.Dir(shareddir.WithWeights(t, filepath.Dir(corpus), filepath.Join(corpus, large)))
		}
		models = []dropped{
			{Name: "silero-vad-unified-v6.0.0.mlpackage", Path: corpus, Most: 2000},
			{Name: large, Path: largest, Most: 6000},
			models[0],
		}
		if testform.Long() {
			models = append(models, dropped{Name: "silero-v6-fp16", Path: corpus, Most: 2000},
				dropped{Name: "wide.mlmodelc", Path: wide(t)})
		}
	}
	expected := t.TempDir()
	for i := range models {
		m := &models[i]
		t.Chdir(m.Path)
		m.Path = filepath.Join(m.Path, m.Name)
		m.Want = map[string]string{}
		if m.Name == models[0].Name {
			m.Explorer = explored(t, m.Name)
		}
		for view, words := range asked {
			if view == "check" || m.Name != large { // the search for hazards of a large model takes long
				m.Want[view] = command(t, expected, m.Name, words)
			}
		}
	}
	var mu sync.Mutex
	var requests []string
	files := http.FileServer(http.Dir(*web))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path == "/requests" { // of the test
			json.NewEncoder(w).Encode(requests)
			return
		}
		requests = append(requests, r.URL.Path)
		files.ServeHTTP(w, r)
	}))
	defer server.Close()
	config, err := json.Marshal(map[string]any{
		"chromium": *chromium,
		"modules":  *modules,
		"pictures": *pictures,
		"url":      server.URL + "/",
		"models":   models,
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, script, string(config))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
}
