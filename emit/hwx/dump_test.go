package hwx_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
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
		n, err := hwx.Describe(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := n.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		symbols(t, &text, f)
		js, err := json.MarshalIndent(n, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		for ext, got := range map[string][]byte{".txt": text.Bytes(), ".json": append(js, '\n')} {
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

// symbols prints the symbols of a container.
func symbols(t testing.TB, w io.Writer, f *hwx.File) {
	t.Helper()
	for n := range f.DescribeSymbols() {
		if err := n.WriteText(w); err != nil {
			t.Fatal(err)
		}
	}
}

// describe prints the headers of a container.
func describe(t testing.TB, w io.Writer, f *hwx.File) {
	t.Helper()
	n, err := hwx.Describe(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.WriteText(w); err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(n); err != nil {
		t.Fatal(err)
	}
}
