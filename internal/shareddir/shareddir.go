// Package shareddir finds the folder of shared test material (corpus, golden
// containers, recorded cases), which a user's clone does not have.
package shareddir

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Env names the environment variable that overrides the folder's place.
const Env = "ZINC_SHARED"

// Find returns the shared folder, or skips the test, saying so. It takes
// ZINC_SHARED when set, else the first folder named shared with a corpus in it
// beside the module or beside one of its parents.
func Find(t testing.TB) string {
	t.Helper()
	if d := os.Getenv(Env); d != "" {
		if _, err := os.Stat(d); err != nil {
			t.Fatalf("%s=%s: %v", Env, d, err)
		}
		return resolve(t, d)
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		d := filepath.Join(dir, "shared")
		if _, err := os.Stat(filepath.Join(d, "corpus")); err == nil {
			return resolve(t, d)
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Skipf("no shared folder (set %s): test needs real files that are not part of the repository", Env)
		}
		dir = up
	}
}

// resolve follows links, since tests walk the folder and a walk does not.
func resolve(t testing.TB, dir string) string {
	t.Helper()
	d, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// WithWeights returns a folder with the model of dir, a folder of the corpus, and
// its weight files: dir itself when it has them or needs none, else a temporary
// one for which the shared folder's mkweights.py makes them.
func WithWeights(t testing.TB, shared, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "model.mil"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte("BLOBFILE")) {
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
	if err := os.WriteFile(filepath.Join(tmp, "model.mil"), text, 0o666); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(shared, "tools", "mkweights.py")
	if out, err := exec.Command(python, script, tmp).CombinedOutput(); err != nil {
		t.Fatalf("making weights: %v\n%s", err, out)
	}
	return tmp
}
