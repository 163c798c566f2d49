package compare

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/target"
)

func open(t *testing.T, path, tgt string) *Side {
	t.Helper()
	x, err := target.Lookup(tgt)
	if err != nil {
		t.Fatal(err)
	}
	s, err := OpenModel(t.Context(), path, frontend.Options{}, compile.Options{Target: x, Precision: "declared", SplitKernel: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestTry(t *testing.T) {
	m := os.Getenv("TRYA")
	n := os.Getenv("TRYB")
	if m == "" {
		m = filepath.Join("..", "examples", "digits", "digits.mlmodelc")
	}
	if n == "" {
		n = m
	}
	r, err := Compare(context.Background(), open(t, m, "h13"), open(t, n, "h13"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	r.Text(os.Stdout, TextOptions{20})
	r, err = Compare(context.Background(), open(t, m, "h13"), open(t, n, "h14"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	r.Text(os.Stdout, TextOptions{20})
}
