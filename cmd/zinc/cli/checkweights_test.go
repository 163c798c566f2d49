package cli

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// TestCheckWithoutWeightsGivesTheSamePlacement checks each real model alone, without its weight files, with git-lfs
// pointers instead of them, and with them: operations, tasks and dispatches are the same.
func TestCheckWithoutWeightsGivesTheSamePlacement(t *testing.T) {
	shared := shareddir.Find(t)
	texts, err := filepath.Glob(filepath.Join(shared, "corpus", "*", "model.mil"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		name := filepath.Base(filepath.Dir(text))
		t.Run(name, func(t *testing.T) {
			whole := shareddir.WithWeights(t, shared, filepath.Dir(text))
			src, err := os.ReadFile(text)
			if err != nil {
				t.Fatal(err)
			}
			alone := t.TempDir()
			put(t, filepath.Join(alone, "model.mil"), src)
			want := checkModel(t, whole, "--advice=false")
			for _, pointers := range []bool{false, true} {
				if pointers {
					pointersOf(t, whole, alone)
				}
				got := checkModel(t, alone, "--advice=false")
				if len(got.Targets) != len(want.Targets) {
					t.Fatalf("%d targets, want %d", len(got.Targets), len(want.Targets))
				}
				for i := range got.Targets {
					g, w := &got.Targets[i], &want.Targets[i]
					if (len(g.Assumed) > 0) != strings.Contains(string(src), "BLOBFILE") || len(w.Assumed) > 0 {
						t.Errorf("assumed %q without the weights and %q with them", g.Assumed, w.Assumed)
					}
					if len(g.Ops) != len(w.Ops) || g.Tasks != w.Tasks || g.Dispatches != w.Dispatches ||
						!reflect.DeepEqual(g.DispatchList, w.DispatchList) {
						t.Fatalf("pointers %t: %d operations, %d tasks and %d dispatches, want %d, %d and %d", pointers,
							len(g.Ops), g.Tasks, g.Dispatches, len(w.Ops), w.Tasks, w.Dispatches)
					}
					for k := range g.Ops {
						if a, b := &g.Ops[k], &w.Ops[k]; a.Name != b.Name || a.Unit != b.Unit || a.Tasks != b.Tasks ||
							a.Reason != b.Reason {
							t.Errorf("pointers %t: %s is on %s in %d tasks (%s), want %s, %s, %d (%s)", pointers,
								a.Name, a.Unit, a.Tasks, a.Reason, b.Name, b.Unit, b.Tasks, b.Reason)
						}
					}
				}
			}
		})
	}
}

// pointersOf writes into the folder to what git-lfs leaves of the weight files of the model from.
func pointersOf(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(from, "weights"), func(path string, d os.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Join(to, filepath.Dir(rel)), 0o777); err != nil {
			return err
		}
		put(t, filepath.Join(to, rel), []byte("version https://git-lfs.github.com/spec/v1\noid sha256:"+
			strings.Repeat("0", 64)+"\nsize 12345\n"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestOneMissingFileIsOneError compiles a model whose weights are missing: one error names the file and what needs it.
func TestOneMissingFileIsOneError(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join(digits(t), "digits.mlmodelc", "model.mil"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "model.mil"), text)
	n := strings.Count(string(text), "BLOBFILE")
	for _, pointer := range []bool{false, true} {
		said, want := "weight file weights/", "not found"
		if pointer {
			pointersOf(t, filepath.Join(digits(t), "digits.mlmodelc"), dir)
			said, want = "is a git-lfs pointer", "only a git-lfs pointer"
		}
		s, _, msg := call(t, dir, "-o", filepath.Join(dir, "m.hwx"))
		if s != statusInput || strings.Count(msg, "error") != 1 || !strings.Contains(msg, said) || n < 2 ||
			!strings.Contains(msg, "constants are in the file") {
			t.Errorf("pointer %t: status %d\n%s", pointer, s, msg)
		}
		if s, out, msg := call(t, "check", dir); s != statusOK || !strings.Contains(msg, want) ||
			strings.Count(msg, "\n") != 1 || out == "" {
			t.Errorf("pointer %t: check has status %d and says\n%s", pointer, s, msg)
		}
	}
}
