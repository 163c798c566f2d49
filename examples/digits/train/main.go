// Train fits the digit classifier and writes it, with its test images, into
// the example's folder; with -check it compares what it would write with what
// is there and changes nothing.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/zinc-compiler/zinc/examples/digits"
)

func main() {
	dir := flag.String("dir", filepath.Join("examples", "digits"), "`folder` of the example")
	seed := flag.Uint64("seed", digits.TrainSeed, "seed of the drawings to fit")
	check := flag.Bool("check", false, "compare with the files instead of writing them")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "train: unexpected argument %q\n", flag.Arg(0))
		os.Exit(2)
	}
	if err := run(os.Stdout, *dir, *seed, *check); err != nil {
		fmt.Fprintln(os.Stderr, "train:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, dir string, seed uint64, check bool) error {
	net, err := digits.Train(seed, out)
	if err != nil {
		return err
	}
	report := digits.NewReport(net, seed)
	fmt.Fprintf(out, "fp16 weights, train:    %6.2f %% of %d right\n", 100*report.Train, digits.Measured)
	fmt.Fprintf(out, "fp16 weights, held out: %6.2f %% of %d right\n", 100*report.HeldOut, digits.Measured)
	if report.HeldOut < digits.MinAccuracy {
		return fmt.Errorf("held-out accuracy %.4f is below %.2f: nothing written; try another seed", report.HeldOut,
			digits.MinAccuracy)
	}
	bundle, err := digits.BundleFiles(net, report)
	if err != nil {
		return err
	}
	images, err := digits.ImageFiles()
	if err != nil {
		return err
	}
	folders := []struct {
		name  string
		files map[string][]byte
	}{
		{"digits.mlmodelc", bundle},
		{"testdata", images},
	}
	for _, f := range folders {
		folder := filepath.Join(dir, f.name)
		if !check {
			if err := digits.WriteFiles(folder, f.files); err != nil {
				return err
			}
			fmt.Fprintf(out, "wrote %s (%d files)\n", folder, len(f.files))
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(f.files)) {
			path := filepath.Join(folder, filepath.FromSlash(name))
			have, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if !bytes.Equal(have, f.files[name]) {
				return fmt.Errorf("%s is not what training from seed %d gives", path, seed)
			}
		}
		fmt.Fprintf(out, "%s is as training gives it\n", folder)
	}
	return nil
}
