// Package shareddir finds the folder of shared test material (corpus, golden
// containers, recorded cases), which a user's clone does not have.
package shareddir

import (
	"os"
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
		return d
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		d := filepath.Join(dir, "shared")
		if _, err := os.Stat(filepath.Join(d, "corpus")); err == nil {
			return d
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Skipf("no shared folder (set %s): test needs real files that are not part of the repository", Env)
		}
		dir = up
	}
}
