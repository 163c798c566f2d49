package ir

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden files with the current output")

// TestTextFormAndErrorsMatchGolden reads the program of each archive and compares its printed form and the
// verifier's errors; parsing and printing the printed form must not change it.
func TestTextFormAndErrorsMatchGolden(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "text", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			ar, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if len(ar.Files) != 3 || ar.Files[0].Name != "in" || ar.Files[1].Name != "out" ||
				ar.Files[2].Name != "errors" {
				t.Fatalf("%s needs in, out and errors", name)
			}
			p, err := Parse("in", ar.Files[0].Data, nil)
			if err != nil {
				t.Fatal(err)
			}
			var out, again, errs bytes.Buffer
			if err := Print(&out, p); err != nil {
				t.Fatal(err)
			}
			q, err := Parse("out", out.Bytes(), nil)
			if err != nil || !Equal(p, q) {
				t.Errorf("the printed form parses to a different program: %v", err)
			} else if err := Print(&again, q); err != nil || !bytes.Equal(out.Bytes(), again.Bytes()) {
				t.Errorf("the printed form changes when it is parsed and printed: %v\n%s", err, again.String())
			}
			if err := Verify(p); err != nil {
				errs.WriteString(err.Error() + "\n")
			}
			if *update {
				ar.Files[1].Data, ar.Files[2].Data = out.Bytes(), errs.Bytes()
				if err := os.WriteFile(name, txtar.Format(ar), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			for i, got := range []string{out.String(), errs.String()} {
				if f := ar.Files[i+1]; got != string(f.Data) {
					t.Errorf("%s is\n%s\nwant\n%s", f.Name, got, f.Data)
				}
			}
		})
	}
}
