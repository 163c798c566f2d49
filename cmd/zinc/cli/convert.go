package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/atomicfile"
	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/transform/convert"
)

// convertCommand is the state of `zinc convert`.
type convertCommand struct {
	*env
	compileFlags
	buildInfo string
	dryRun    bool
	json      bool
}

// convertJSON is what zinc convert --json prints.
type convertJSON struct {
	Files []fileJSON `json:"files"` // that were written, or would be without --dry-run
}

func newConvert(e *env) *cobra.Command {
	c := &convertCommand{env: e}
	cmd := &cobra.Command{
		Use:   "convert MODEL OUTPUT",
		Short: "Write a model as a package, a compiled model or MIL text",
		Long: `Convert writes MODEL, an ML program or a neural network, in the form that the end of OUTPUT
names:

  .mlpackage  a model package: the specification, the weights and a manifest
  .mlmodelc   a compiled model: the text, the weights and what describes them, byte for byte
              as Apple's model compiler writes it but for its name and the order of the
              entries that users add to the metadata
  .mil        MIL text with its weights

The program is the same in all of them, statement by statement and value by value. Weight
files are copied. A package that is written from a text describes its inputs and outputs
by their types, or by the metadata.json beside the text. A neural network is written as the
ML program that computes the same, and a pipeline of ML programs as a compiled model. What a
form cannot represent is refused: other pipelines and forms of models and, for .mlmodelc,
regressors.

A compiled model names zinc in its buildInfo. --build-info sets other names, as in
{"coremlc-version": "3500.32.1", "coremlc-component-MIL": "3500.14.1"}.`,
		Example: `  zinc convert model.mlpackage model.mlmodelc
  zinc convert model.mlmodelc model.mlpackage
  zinc convert model.mlpackage text/model.mil
  zinc convert old.mlmodel new.mlpackage
  zinc convert edited.mil edited.mlpackage --dry-run`,
		GroupID: groupChange,
		Args:    operands(2, 2, "a MODEL and an OUTPUT"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0], args[1]) },
	}
	f := cmd.Flags()
	f.StringVar(&c.buildInfo, "build-info", "", "`FILE` with a JSON object of the texts that name the model compiler "+
		"in a compiled model")
	f.BoolVar(&c.dryRun, "dry-run", false, "print what would be written without writing it")
	f.BoolVar(&c.json, "json", false, "print what was written as JSON")
	c.files(f)
	return cmd
}

func (c *convertCommand) run(ctx context.Context, from, to string) error {
	form, ok := convert.FormOf(to)
	if !ok {
		return usagef("convert: %s: want an OUTPUT that ends in .mlpackage, .mlmodelc or .mil", to)
	}
	if c.buildInfo != "" && form != convert.Compiled {
		return usagef("--build-info names the compiler of a compiled model, and %s is not one", to)
	}
	info, err := c.compiler()
	if err != nil {
		return err
	}
	src, err := frontend.OpenSource(from, frontend.Options{WeightsDir: c.weights, Follow: c.follow, Stdin: c.stdin})
	if err != nil {
		return err
	}
	defer src.Close()
	if src.Warnings.Warnings() > 0 {
		c.list(src.Warnings)
	}
	files, err := convert.Plan(src, to, convert.Options{BuildInfo: info})
	if err != nil {
		return err
	}
	if err := c.replaces(c.env, from, from, "convert: "+to, files...); err != nil {
		return err
	}
	if err := foreign(to, files); err != nil {
		return err
	}
	return c.store(ctx, files)
}

// compiler returns the build information that names the model compiler.
func (c *convertCommand) compiler() (map[string]string, error) {
	if c.buildInfo == "" {
		return map[string]string{convert.VersionKey: ownVersion().Version}, nil
	}
	data, err := os.ReadFile(c.buildInfo)
	if err != nil {
		return nil, err
	}
	var info map[string]string
	if err := json.Unmarshal(data, &info); err != nil {
		return nil, fmt.Errorf("--build-info %s: want a JSON object of texts, as in "+
			`{"coremlc-version": "3500.32.1"}: %w`, c.buildInfo, err)
	}
	return info, nil
}

// foreign returns an error if there are files in the folder of a model that are not part of it, or if the weights of a
// text would be beside another text.
func foreign(to string, files []atomicfile.File) error {
	root := to
	if form, _ := convert.FormOf(to); form == convert.Text {
		if len(files) == 1 {
			return nil
		}
		others, _ := filepath.Glob(filepath.Join(filepath.Dir(to), "*"+string(convert.Text)))
		for _, o := range others {
			if !sameFile(o, to) {
				return fmt.Errorf("%s is in the folder of %s, and its weights may have the same paths; choose another "+
					"folder", o, to)
			}
		}
		return nil
	}
	return filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		switch {
		case os.IsNotExist(err):
			return nil
		case err != nil:
			return err
		case d.IsDir():
			return nil
		}
		if !slices.ContainsFunc(files, func(f atomicfile.File) bool { return filepath.Clean(f.Path) == path }) {
			return fmt.Errorf("%s exists and has %s, which is not a file of the model; remove it or choose another "+
				"OUTPUT", to, path)
		}
		return nil
	})
}

// store writes the files, unless nothing is to be written, and prints them.
func (c *convertCommand) store(ctx context.Context, files []atomicfile.File) error {
	list, err := save(ctx, c.dryRun, files)
	if err != nil {
		return err
	}
	if c.json {
		return jsonform.Document(c.out, convertJSON{list})
	}
	for _, f := range list {
		fmt.Fprintf(c.out, "%s\t%d bytes\n", f.Path, f.Bytes)
	}
	return nil
}
