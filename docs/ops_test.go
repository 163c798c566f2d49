package docs

import (
	"bytes"
	"os"
	"testing"

	"github.com/zinc-compiler/zinc/cmd/zinc/opref"
	"github.com/zinc-compiler/zinc/target"
)

// TestGeneratedOperations compares ops.md with the sheet of operations.
func TestGeneratedOperations(t *testing.T) {
	h13 := []*target.Table{target.H13}
	rows, err := opref.Rows(h13)
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := opref.Markdown(&want, h13, rows); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("ops.md")
	if err == nil && bytes.Equal(got, want.Bytes()) {
		return
	}
	if !*update {
		t.Fatalf("ops.md is not current (%v); go generate ./docs writes it again", err)
	}
	if err := os.WriteFile("ops.md", want.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}
