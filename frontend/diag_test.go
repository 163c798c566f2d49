package frontend

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/zinc-compiler/zinc/frontend/blobfile"
	"github.com/zinc-compiler/zinc/frontend/blobfile/blobfiletest"
	"github.com/zinc-compiler/zinc/internal/diag"
)

var update = flag.Bool("update", false, "rewrite the golden files with the current output")

// TestDiagnosticsMatchGolden opens the model.mil of each archive in testdata/diag, beside a weight file of two blobs,
// and compares the text form of the diagnostics.
func TestDiagnosticsMatchGolden(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "diag", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if len(ar.Files) != 2 || ar.Files[0].Name != TextName || ar.Files[1].Name != "text" {
				t.Fatalf("%s needs model.mil, then text", name)
			}
			dir := t.TempDir()
			writeModel(t, dir, ar.Files[0].Data)
			_, err = Open(dir, Options{})
			l := diag.AsList(err)
			if l == nil {
				t.Fatalf("no diagnostics: %v", err)
			}
			for _, d := range l.All() {
				if d.Code == "" || !d.Span.IsValid() {
					t.Errorf("no code or no place: %s", d.Message)
				}
			}
			var b strings.Builder
			if err := l.WriteText(&b); err != nil {
				t.Fatal(err)
			}
			// The path of the folder is not compared.
			got := strings.ReplaceAll(b.String(), dir+string(filepath.Separator), "")
			got = strings.ReplaceAll(got, dir, "FOLDER")
			if *update {
				ar.Files[1].Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(ar), 0o666); err != nil {
					t.Fatal(err)
				}
			} else if want := string(ar.Files[1].Data); got != want {
				t.Errorf("text is\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// writeModel writes a text and a weight file with fp16 [8], its record at byte
// 64, and fp32 [4], its record at byte 192.
func writeModel(t testing.TB, dir string, text []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, TextName), text, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "weights"), 0o777); err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 16)
	for i := range data {
		data[i] = byte(i + 1)
	}
	records := blobfiletest.Write(t, filepath.Join(dir, "weights", "weight.bin"),
		blobfiletest.Blob{Type: blobfile.Float16, Elems: 8, Data: data},
		blobfiletest.Blob{Type: blobfile.Float32, Elems: 4, Data: data})
	if want := []uint64{64, 192}; !slices.Equal(records, want) {
		t.Fatalf("records at bytes %d, want %d", records, want)
	}
}
