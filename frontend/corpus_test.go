package frontend

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/ir"
)

// report returns the text form of an error's diagnostics.
func report(err error) string {
	l := diag.AsList(err)
	if l == nil {
		return err.Error()
	}
	var b strings.Builder
	l.WriteText(&b)
	return b.String()
}

// TestCorpusModelsBuild opens every model of the corpus and verifies its program.
func TestCorpusModelsBuild(t *testing.T) {
	shared := shareddir.Find(t)
	files, err := filepath.Glob(filepath.Join(shared, "corpus", "*", TextName))
	if err != nil || len(files) < 31 {
		t.Fatalf("%d models, want 31: %v", len(files), err)
	}
	for _, f := range files {
		dir := filepath.Dir(f)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			m, err := Open(f, Options{WeightsDir: shareddir.WithWeights(t, shared, dir)})
			if err != nil {
				t.Fatal(report(err))
			}
			defer m.Close()
			if n := m.Warnings.Warnings(); n > 0 {
				t.Errorf("%d warnings: %s", n, m.Warnings.All()[0].Text())
			}
			if err := ir.Verify(m.Program); err != nil {
				t.Error(err)
			}
		})
	}
}
