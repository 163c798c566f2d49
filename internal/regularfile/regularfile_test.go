package regularfile

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/memlimit"
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

// TestLongFilesAreRefused reads a file of 1 TiB without contents, and one that is a byte too long.
func TestLongFilesAreRefused(t *testing.T) {
	defer memlimit.Set(0)
	memlimit.Set(1 << 30)
	path := filepath.Join(t.TempDir(), "long")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, c := range []struct{ size, limit int64 }{{1 << 40, 1 << 50}, {11, 10}} {
		if err := f.Truncate(c.size); err != nil {
			t.Skip(err)
		}
		_, err := ReadUpTo(path, c.limit)
		size := strconv.FormatInt(c.size, 10)
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), size) {
			t.Errorf("%d bytes: %v; want the path and the size", c.size, err)
		}
	}
	if b, err := ReadUpTo(path, 11); err != nil || len(b) != 11 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if _, err := NewInput(strings.NewReader("abc")).ReadUpTo(Stdin, 2); err == nil {
		t.Error("standard input that is too long is not an error")
	}
}
