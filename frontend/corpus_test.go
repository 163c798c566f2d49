package frontend

import (
	"os"
	"os/exec"
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

// weights returns a folder with the weight files of the model in dir: dir itself
// when it has them or needs none, else one that is made.
func weights(t testing.TB, shared, dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, TextName))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "BLOBFILE") {
		return dir
	}
	if e, err := os.ReadDir(filepath.Join(dir, "weights")); err == nil && len(e) > 0 {
		return dir
	}
	if testing.Short() {
		t.Skip("making the weights of this model takes seconds")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3: the weights of this model must be made")
	}
	tmp := t.TempDir()
	if err := os.WriteFile(filepath.Join(tmp, TextName), text, 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(python, filepath.Join(shared, "tools", "mkweights.py"), tmp).CombinedOutput(); err != nil {
		t.Fatalf("making weights: %v\n%s", err, out)
	}
	return tmp
}

// TestCorpus opens every model of the corpus and verifies its program.
func TestCorpus(t *testing.T) {
	shared := shareddir.Find(t)
	files, err := filepath.Glob(filepath.Join(shared, "corpus", "*", TextName))
	if err != nil || len(files) < 31 {
		t.Fatalf("%d models, want 31: %v", len(files), err)
	}
	for _, f := range files {
		dir := filepath.Dir(f)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			m, err := Open(f, Options{WeightsDir: weights(t, shared, dir)})
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
