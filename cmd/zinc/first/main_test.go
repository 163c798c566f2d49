package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/cmd/zinc/cli"
	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// TestPrintsWhatCheckPrints compares the document with the one of zinc check on the example and on every real model.
func TestPrintsWhatCheckPrints(t *testing.T) {
	paths := []string{filepath.Join("..", "..", "..", "examples", "digits", "digits.mlmodelc")}
	t.Run("corpus", func(t *testing.T) {
		found, err := os.ReadDir(filepath.Join(shareddir.Find(t), "corpus"))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range found {
			if e.IsDir() {
				paths = append(paths, filepath.Join(shareddir.Find(t), "corpus", e.Name()))
			}
		}
	})
	for _, path := range paths {
		for _, options := range [][2]string{{"h13", "declared"}, {"h14", "fp16"}} {
			var got, want, msg bytes.Buffer
			err := run(t.Context(), []string{path, options[0], options[1]}, &got)
			args := []string{"check", path, "--advice=false", "--json", "--target", options[0]}
			if options[1] != "declared" {
				args = append(args, "--precision", options[1])
			}
			status := cli.Main(args, strings.NewReader(""), &want, &msg)
			if (err != nil) != (status != 0 && want.Len() == 0) || !bytes.Equal(got.Bytes(), want.Bytes()) {
				t.Errorf("%s, %s: %d bytes, error %v; want %d bytes, exit status %d: %s", path, options, got.Len(), err,
					want.Len(), status, &msg)
			}
		}
	}
}
