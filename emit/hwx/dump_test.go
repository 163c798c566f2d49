package hwx_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/zinc-compiler/zinc/emit/hwx"
)

var update = flag.Bool("update", false, "rewrite the expected files")

// TestDump compares text and JSON of two containers with testdata.
func TestDump(t *testing.T) {
	for _, name := range []string{"identity_split", "several_whole"} {
		_, _, b := build(t, images()[name])
		f, err := hwx.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := hwx.DumpHeaders(&text, f); err != nil {
			t.Fatal(err)
		}
		if err := hwx.DumpSymbols(&text, f); err != nil {
			t.Fatal(err)
		}
		js, err := hwx.HeadersJSON(f)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(js) {
			t.Errorf("%s: not JSON", name)
		}
		for ext, got := range map[string][]byte{".txt": text.Bytes(), ".json": js} {
			path := filepath.Join("testdata", name+ext)
			if *update {
				if err := os.WriteFile(path, got, 0o666); err != nil {
					t.Fatal(err)
				}
				continue
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s differs from what is printed; run with -update and read the difference", path)
			}
		}
	}
}
