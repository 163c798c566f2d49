package ir_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/ir"
)

// TestCorpusRoundTripsAndFolds prints and parses every model of the corpus whose weights are available, and folds all
// its compressed weights.
func TestCorpusRoundTripsAndFolds(t *testing.T) {
	shared := shareddir.Find(t)
	files, err := filepath.Glob(filepath.Join(shared, "corpus", "*", frontend.TextName))
	if err != nil || len(files) < 31 {
		t.Fatalf("%d models, want 31: %v", len(files), err)
	}
	read := 0
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if w, _ := filepath.Glob(filepath.Join(filepath.Dir(f), "weights", "*")); len(w) == 0 &&
			bytes.Contains(text, []byte("BLOBFILE")) {
			continue
		}
		read++
		t.Run(filepath.Base(filepath.Dir(f)), func(t *testing.T) {
			m, err := frontend.Open(f, frontend.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			var b bytes.Buffer
			var d ir.Data
			if err := ir.PrintTo(&b, m.Program, &d); err != nil {
				t.Fatal(err)
			}
			p, err := ir.Parse("again", b.Bytes(), d.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if !ir.Equal(m.Program, p) {
				t.Error("parsing the text form returns a different program")
			}
			if err := ir.Verify(p); err != nil {
				t.Error(err)
			}
			for _, fn := range p.Funcs {
				ir.Walk(fn, func(op *ir.Op) {
					cs, err := ir.FoldOp(op)
					if err != nil {
						t.Errorf("%s: %v", op.Name, err)
					}
					if cs == nil && ir.IsConstexpr(op) {
						t.Errorf("%s %s is not folded", op.Def.Name, op.Name)
					}
					for i, c := range cs {
						if !c.Type.Fits(op.Results[i].Type) || int64(len(c.Data)) != c.Type.Bytes() {
							t.Errorf("%s: folded to %s of %d bytes, declared %s", op.Name, c.Type, len(c.Data),
								op.Results[i].Type)
						}
					}
				})
			}
		})
	}
	if read == 0 {
		t.Fatal("no model has its weights")
	}
}
