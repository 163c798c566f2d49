package regularfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInputReadsStandardInputOnce(t *testing.T) {
	in := NewInput(strings.NewReader("abc"))
	for range 2 {
		if b, err := in.Read(Stdin); err != nil || string(b) != "abc" {
			t.Errorf("%q, %v", b, err)
		}
	}
	if !in.IsStdin("-") || in.IsStdin("./-") {
		t.Error("another path is standard input")
	}
	if _, err := NewInput(strings.NewReader("")).Read(Stdin); err == nil {
		t.Error("empty standard input is not an error")
	}
	var none *Input
	if b, err := none.Read(Stdin); err == nil || none.IsStdin(Stdin) {
		t.Errorf("without an Input: %q", b)
	}
}

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
