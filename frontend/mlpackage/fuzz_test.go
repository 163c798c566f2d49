package mlpackage

import (
	"encoding/json"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzManifest reads any manifest: the path that it names stays inside the package.
func FuzzManifest(f *testing.F) {
	for _, p := range []string{"com.apple.CoreML/model.mlmodel", "../x", "/x", "a/../../x", `C:\x`, "", ".", "a\x00b"} {
		b, err := json.Marshal(manifest{
			Version: "1.0.0",
			Root:    "A",
			Items:   map[string]*item{"A": {Name: "model.mlmodel", Path: p}},
		})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"fileFormatVersion": "2.0", "itemInfoEntries": {"A": null}}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := find("Manifest.json", data)
		if err != nil {
			return
		}
		if p != path.Clean(p) || !filepath.IsLocal(filepath.FromSlash(p)) || strings.ContainsAny(p, "\\\x00") {
			t.Errorf("the specification is at %q", p)
		}
	})
}
