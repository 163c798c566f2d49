package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link  = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	named = regexp.MustCompile("`((?:cache|cmd|compile|docs|emit|examples|frontend|internal|ir|layout|lower|" +
		"numerics|passes|patch|provenance|reduce|report|runtime|split|target|verify)/[A-Za-z0-9_./-]+)`")
)

// TestLinks checks that every file that a document links to or names exists.
func TestLinks(t *testing.T) {
	files, err := filepath.Glob("*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	for _, f := range append(files, "../README.md") {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Error(err)
			continue
		}
		check := func(base, path string) {
			if _, err := fs.Stat(os.DirFS(".."),
				filepath.ToSlash(filepath.Join(base, strings.TrimSuffix(path, "/")))); err != nil {
				t.Errorf("%s names %s: %v", f, path, err)
			}
		}
		base := "docs"
		if strings.HasPrefix(f, "..") {
			base = "."
		}
		for _, m := range link.FindAllStringSubmatch(string(b), -1) {
			check(base, m[1])
		}
		for _, m := range named.FindAllStringSubmatch(string(b), -1) {
			check(".", m[1])
		}
	}
}
