package explore

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// FuzzBodies posts any body to the requests that have one: every answer is JSON, and none blames the server.
func FuzzBodies(f *testing.F) {
	model := filepath.Join(f.TempDir(), "m.mil")
	if err := os.WriteFile(model, []byte(`program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 16, 1, 16]> x) {
        tensor<fp16, [1, 16, 1, 16]> y = relu(x = x);
    } -> (y);
}
`), 0o666); err != nil {
		f.Fatal(err)
	}
	s, err := New(Options{Limits: small, Models: []Source{{Path: model}}, Log: io.Discard})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	h := s.Handler()
	post := func(path string, body []byte) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "http://localhost"+path, bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	var view struct{ Key string }
	if w := post("/api/compile", []byte(`{"model": "m"}`)); json.Unmarshal(w.Body.Bytes(), &view) != nil ||
		view.Key == "" {
		f.Fatalf("compiling: status %d: %s", w.Code, w.Body)
	}
	paths := []string{"/api/compile", "/api/diff", "/api/view/" + view.Key + "/run",
		"/api/view/" + view.Key + "/advice", "/api/view/" + view.Key + "/explain",
		"/api/view/" + view.Key + "/rewrite"}
	for i, s := range []string{
		`{"model": "m", "target": "h13", "precision": "fp16", "place": "engine", "td_form": "full"}`,
		`{"a": {"model": "m"}, "b": {"model": "m", "place": "compute"}, "seed": 1, "outputs": true}`,
		`{"seed": 1, "engine": "direct", "numerics": "ane", "inputs": {"x": "AAAA"}}`,
		`{"model": "m", "text": "program(1.3)\n{}", "shapes": {"x": [1, -1]}, "func": "main"}`,
		`{}`,
		`{"statement": 1}`,
		`{"recipe": "fold-rows", "function": "main", "names": ["y"]}`,
		`{"model": `, `null`, `[]`, `{} {}`, `{"unknown": 1}`,
	} {
		f.Add(byte(i), []byte(s))
	}
	f.Fuzz(func(t *testing.T, which byte, body []byte) {
		path := paths[int(which)%len(paths)]
		w := post(path, body)
		if w.Code == http.StatusInternalServerError || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: status %d: %s", path, w.Code, w.Body)
		}
	})
}
