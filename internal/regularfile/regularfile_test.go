package regularfile

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReadRefusesAllButNonEmptyFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if b, err := Read(write("full", "abc")); err != nil || string(b) != "abc" {
		t.Errorf("a file gives %q, %v", b, err)
	}
	for name, path := range map[string]string{
		"a folder": dir, "an empty file": write("empty", ""), "no file": filepath.Join(dir, "none"),
		"a device": os.DevNull,
	} {
		if b, err := Read(path); err == nil {
			t.Errorf("%s gives %q", name, b)
		}
	}
}
