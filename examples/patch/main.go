// Patch puts new weights into a compiled pair, without compiling:
//
//	go run ./examples/patch
//
// The last layer of the digit classifier has a filter for each digit. The files in testdata hold its weights and
// biases, with 1 and 7 exchanged. With them in the pair, what was classified as a 7 is classified as a 1; the tasks
// that the engine runs are the same bytes as before.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/zinc-compiler/zinc"
	"github.com/zinc-compiler/zinc/emit/hwx"
)

func main() {
	if err := run(context.Background(), os.Stdout, "examples", ""); err != nil {
		fmt.Fprintln(os.Stderr, "patch:", err)
		os.Exit(1)
	}
}

// run patches and runs; examples is the folder of the examples, and keep one for both
// pairs, "" for none.
func run(ctx context.Context, out io.Writer, examples, keep string) error {
	old, err := zinc.Compile(ctx, filepath.Join(examples, "digits", "digits.mlmodelc"), zinc.Options{DebugDB: true})
	if err != nil {
		return err
	}
	weights := map[string]zinc.Tensor{}
	for _, name := range []string{"conv3_weight", "conv3_bias"} {
		if weights[name], err = load(filepath.Join(examples, "patch", "testdata", name+".npy")); err != nil {
			return err
		}
	}
	patched, err := old.Patch(weights)
	if err != nil {
		return err
	}
	for _, digit := range []string{"1", "7", "5"} {
		image, err := load(filepath.Join(examples, "digits", "testdata", digit+".npy"))
		if err != nil {
			return err
		}
		before, err := told(ctx, old, image)
		if err != nil {
			return err
		}
		after, err := told(ctx, patched, image)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "the image of a %s is told as %d, with the patched pair as %d\n", digit, before, after)
	}
	same, err := sameTasks(old.Container, patched.Container)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "the tasks are the same: %t\n", same)
	if keep == "" {
		return nil
	}
	if err := old.Write(ctx, filepath.Join(keep, "old.hwx")); err != nil {
		return err
	}
	return patched.Write(ctx, filepath.Join(keep, "patched.hwx"))
}

func load(path string) (zinc.Tensor, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return zinc.Tensor{}, err
	}
	return zinc.DecodeNPY(b)
}

// told returns the digit with the largest score.
func told(ctx context.Context, p *zinc.Pair, image zinc.Tensor) (int, error) {
	m, err := p.Open(ctx, zinc.RunOptions{})
	if err != nil {
		return 0, err
	}
	defer m.Close()
	out, err := m.Run(ctx, map[string]zinc.Tensor{"image": image})
	if err != nil {
		return 0, err
	}
	scores, err := zinc.Values[float32](out["probs"])
	best := 0
	for i, s := range scores {
		if s > scores[best] {
			best = i
		}
	}
	return best, err
}

func sameTasks(a, b []byte) (bool, error) {
	f, err := hwx.Read(a)
	if err != nil {
		return false, err
	}
	g, err := hwx.Read(b)
	if err != nil {
		return false, err
	}
	return bytes.Equal(f.TextBytes(), g.TextBytes()), nil
}
