// First prints what `zinc check MODEL --target TARGET --precision PRECISION --advice=false --json` prints. It is a
// fraction of the whole command, so that a page that runs zinc has its first answer soon.
//
//	first MODEL TARGET PRECISION
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/zinc-compiler/zinc/analysis/coreml"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/inspect/check"
	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/internal/memlimit"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

func main() {
	memlimit.Start()
	memlimit.Set(0)
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "zinc:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, w io.Writer) error {
	if len(args) != 3 {
		return errors.New("want MODEL TARGET PRECISION")
	}
	path, precision := args[0], args[2]
	on, err := target.Lookup(args[1])
	if err != nil {
		return err
	}
	open := func() (*frontend.Model, error) {
		return frontend.Open(path, frontend.Options{AssumeWeights: true})
	}
	m, err := open()
	if err != nil {
		return err
	}
	defer m.Close()
	rules, err := coreml.Named(coreml.Names()[0])
	if err != nil {
		return err
	}
	// A program for which there is no forecast has an error that placing it reports.
	forecast, _ := coreml.Functions(ctx, m.Program, coreml.Options{Units: coreml.All, Rules: rules})
	o := check.Options{
		Path: path,
		Compile: compile.Options{
			Target: on, Precision: precision, Place: passes.PlaceAuto, SplitKernel: true,
			InputName: filepath.Base(m.Path),
		},
		Open:     open,
		Forecast: forecast,
		Tables:   true,
	}
	if precision != passes.PrecisionDeclared {
		o.SourceFlags = []string{"--precision", precision}
	}
	t, err := check.Place(ctx, m, &o)
	if err != nil {
		return err
	}
	return jsonform.Document(w, check.Result{Model: filepath.ToSlash(m.Path), Targets: []check.Target{t}})
}
