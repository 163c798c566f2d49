// Gogenerate runs a model that is part of the program:
//
//	go generate ./examples/gogenerate
//	go run ./examples/gogenerate IMAGE.npy...
//
// The package digits beside this file is generated: zinc compiles the digit
// classifier and writes a Go package that embeds the pair, with typed inputs and
// outputs. What is built needs neither the model nor the compiler's inputs, and
// nothing of the files that it was made of.
package main

//go:generate go run github.com/zinc-compiler/zinc/cmd/zinc generate digits ../digits/digits.mlmodelc

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/zinc-compiler/zinc"
	"github.com/zinc-compiler/zinc/examples/gogenerate/digits"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: gogenerate IMAGE.npy...")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gogenerate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, images []string) error {
	model, err := digits.Load(ctx, zinc.RunOptions{Direct: true})
	if err != nil {
		return err
	}
	defer model.Close()
	for _, path := range images {
		file, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		image, err := zinc.DecodeNPY(file)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		pixels, err := zinc.Values[float32](image)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		scores, err := model.Main(ctx, digits.MainInput{Image: pixels})
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		best := 0
		for i, s := range scores.Probs {
			if s > scores.Probs[best] {
				best = i
			}
		}
		fmt.Fprintf(out, "%d, with a score of %.3f\n", best, scores.Probs[best])
	}
	return nil
}
