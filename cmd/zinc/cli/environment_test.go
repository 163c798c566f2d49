package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestVariablesAreListed compares Variables with what the sources of zinc read from the environment.
func TestVariablesAreListed(t *testing.T) {
	read := regexp.MustCompile(`os\.(?:Getenv|LookupEnv)\((?:"(\w+)"|(\w+))\)`)
	root := filepath.Join("..", "..", "..")
	// These are of tests and of the tools that test zinc.
	foreign := []string{".ci", "dist", "examples", filepath.Join("internal", "test"),
		filepath.Join("internal", "shareddir"), filepath.Join("internal", "testform")}
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains(foreign, rel) || strings.HasPrefix(rel, ".") && rel != "." {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range read.FindAllStringSubmatch(string(b), -1) {
			name := m[1]
			if name == "" {
				v := regexp.MustCompile(`\b` + m[2] + `\s*=\s*"(\w+)"`).FindStringSubmatch(string(b))
				if v == nil {
					t.Errorf("%s: the variable %s is not in the file", rel, m[2])
					continue
				}
				name = v[1]
			}
			found[name] = rel
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range Variables {
		if found[v.Name] == "" {
			t.Errorf("nothing reads %s", v.Name)
		}
		delete(found, v.Name)
	}
	for name, path := range found {
		t.Errorf("%s reads %s, which is not in the list", path, name)
	}
}
