package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/cmd/zinc/cli"
)

func TestGeneratedPackageRuns(t *testing.T) {
	var images []string
	for d := range 10 {
		images = append(images, filepath.Join("..", "digits", "testdata", fmt.Sprintf("%d.npy", d)))
	}
	var out bytes.Buffer
	if err := run(context.Background(), &out, images); err != nil {
		t.Fatal(err)
	}
	for d, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		if !strings.HasPrefix(line, fmt.Sprintf("%d, ", d)) {
			t.Errorf("%d is told as %s", d, line)
		}
	}
	bad := filepath.Join(t.TempDir(), "bad.npy")
	if err := os.WriteFile(bad, []byte("no array"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := run(context.Background(), &out, []string{bad}); err == nil || !strings.Contains(err.Error(), bad) {
		t.Errorf("a file that is no array: %v", err)
	}
}

// TestGeneratedPackageIsCurrent generates the package again.
func TestGeneratedPackageIsCurrent(t *testing.T) {
	t.Setenv("ZINC_CACHE", "off") // a test must not use the user's cache
	dir := t.TempDir()
	var out, diag bytes.Buffer
	if status := cli.Main([]string{"generate", "digits", "../digits/digits.mlmodelc", "-o", dir}, strings.NewReader(""),
		&out, &diag); status != 0 {
		t.Fatalf("exit status %d\n%s", status, &diag)
	}
	for _, name := range []string{"digits.go", "digits.hwx", "digits.e5"} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		have, err := os.ReadFile(filepath.Join("digits", name))
		if err != nil || !bytes.Equal(have, want) {
			t.Errorf("digits/%s is not current (go generate ./examples/gogenerate): %v", name, err)
		}
	}
}
