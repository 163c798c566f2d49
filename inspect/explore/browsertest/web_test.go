package browsertest

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/zinc-compiler/zinc/cmd/zinc/cli"
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
			{Name: "silero-v6-fp16", Path: corpus, Most: 2000},
			{Name: large, Path: largest, Most: 6000},
			models[0],
		}
	}
	expected := t.TempDir()
	for i := range models {
		m := &models[i]
		t.Chdir(m.Path)
		m.Path = filepath.Join(m.Path, m.Name)
		m.Want = map[string]string{}
		for view, words := range asked {
			if view == "check" || m.Name != large { // the search for hazards of a large model takes long
				m.Want[view] = command(t, expected, m.Name, words)
			}
		}
	}
	var requests atomic.Int64
	files := http.FileServer(http.Dir(*web))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/requests" { // of the test
			json.NewEncoder(w).Encode(requests.Load())
			return
		}
		requests.Add(1)
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
