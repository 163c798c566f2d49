package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/internal/atomicfile"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/filename"
	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/transform/reduce"
	"github.com/zinc-compiler/zinc/transform/split"
)

// splitBytes is the default of the constants of a part: a container has 3.25 GiB of addresses for them, its tasks and
// its surfaces (hwx.SpaceError).
const splitBytes = 3 << 30

// splitCommand is the state of `zinc split`.
type splitCommand struct {
	*env
	compileFlags
	out    string
	form   string
	parts  int
	bytes  byteCount
	dryRun bool
	json   bool
}

// splitJSON is what zinc split --json prints.
type splitJSON struct {
	Parts []partJSON `json:"parts"` // in the order in which they run
}

// partJSON is a model of a pipeline.
type partJSON struct {
	Path       string     `json:"path"`           // of the model's folder
	Operations int        `json:"operations"`     // of its function
	Bytes      int64      `json:"constant_bytes"` // size of its constants
	Inputs     []portJSON `json:"inputs"`         // the whole model's first
	Outputs    []portJSON `json:"outputs"`        // what later parts read, and results of the model
}

// portJSON is an input or an output.
type portJSON struct {
	Name string `json:"name"` // in the text
	Type string `json:"type"` // as in MIL
}

func newSplit(e *env) *cobra.Command {
	c := &splitCommand{env: e}
	cmd := &cobra.Command{
		Use:   "split MODEL -o FOLDER",
		Short: "Cut a model that is too large for one container into a pipeline of models",
		Long: `Split writes a function of MODEL as several models that run one after the other, each with
the weights that it reads: FOLDER/NAME-1.mlmodelc, FOLDER/NAME-2.mlmodelc and so on, or
packages with --form mlpackage. An output of one is the input of the same name of those
after it. Each is a model as any other: zinc compiles, checks, proves and verifies it
alone, and zinc run runs all of them.

The parts have about the same bytes of constants, and near those places cuts are where
the fewest bytes cross. Only fp16, fp32 and int32 tensors of known shape cross, because
inputs and outputs of models have no other types. A state stays in one part.`,
		Example: `  zinc split big.mlmodelc -o parts
  zinc split big.mlmodelc --parts 4 -o parts
  zinc split big.mlmodelc --max-weight-bytes 1GiB -o parts --dry-run`,
		GroupID: groupChange,
		Args:    operands(1, 1, "one MODEL"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	f.StringVarP(&c.out, "output", "o", "", "`FOLDER` to write the models to")
	f.Var(newChoice(&c.form, "mlmodelc", "mlpackage"), "form", "form of the models: folders with MIL text, or packages")
	f.IntVar(&c.parts, "parts", 0, "number of models (default as few as --max-weight-bytes allows)")
	f.Var(&c.bytes, "max-weight-bytes", "limit of the constants of each model (default 3GiB, what a container has "+
		"room for)")
	f.StringVar(&c.function, "func", "", "`FUNCTION` to split (default the only one, or main)")
	f.BoolVar(&c.dryRun, "dry-run", false, "print the models without writing them")
	f.BoolVar(&c.json, "json", false, "print the models as JSON")
	c.files(f)
	return cmd
}

func (c *splitCommand) run(ctx context.Context, path string) error {
	switch {
	case c.out == "":
		return usagef("split: missing output; set -o FOLDER")
	case c.parts < 0 || c.parts > split.MaxParts:
		return usagef("--parts=%d: must be 0 to %d", c.parts, split.MaxParts)
	}
	m, err := c.open(c.env, path)
	if err != nil {
		return err
	}
	defer m.Close()
	f, err := m.Program.Entry(c.function)
	if err != nil {
		return err
	}
	parts, err := split.Cut(m.Program, f, split.Options{Parts: c.parts, Bytes: int64(cmp.Or(c.bytes, splitBytes))})
	if err != nil {
		return err
	}
	stem, err := c.stem(path)
	if err != nil {
		return err
	}
	out := splitJSON{}
	var files []atomicfile.File
	for i := range parts {
		dir := filepath.Join(c.out, filename.Join(stem, fmt.Sprintf("-%d.%s", i+1, c.form), filename.Max))
		_, fs, err := reduce.Plan(parts[i].Program, dir)
		if err != nil {
			return err
		}
		files = append(files, fs...)
		out.Parts = append(out.Parts, describe(dir, &parts[i]))
	}
	if err := c.store(ctx, path, files); err != nil {
		return err
	}
	if len(parts) == 1 && c.parts == 0 {
		c.note("the constants are within the limit of one part; set --parts to cut the model nevertheless")
	}
	if c.json {
		return jsonform.Document(c.env.out, out)
	}
	w := tabwriter.NewWriter(c.env.out, 0, 8, 2, ' ', 0)
	for _, p := range out.Parts {
		fmt.Fprintf(w, "%s\t%s\t%d bytes of constants\t%s -> %s\n", p.Path, diag.Count(p.Operations, "operation",
			"operations"), p.Bytes, portNames(p.Inputs), portNames(p.Outputs))
	}
	return w.Flush()
}

// stem is the name of the parts without their number.
func (c *splitCommand) stem(path string) (string, error) {
	if c.stdin.IsStdin(path) {
		return "model", nil
	}
	return defaultName(path, "")
}

// store writes the files, all of them or none.
func (c *splitCommand) store(ctx context.Context, path string, files []atomicfile.File) error {
	if err := c.replaces(c.env, path, path, "-o "+c.out, files...); err != nil || c.dryRun {
		return err
	}
	return c.writeFiles(ctx, files...)
}

// describe describes a part.
func describe(dir string, p *split.Part) partJSON {
	f := p.Program.Funcs[0]
	return partJSON{
		Path: filepath.ToSlash(dir), Operations: p.Operations, Bytes: p.Bytes,
		Inputs: listPorts(f.Body.Params), Outputs: listPorts(f.Body.Outputs),
	}
}

func listPorts(vs []*ir.Value) []portJSON {
	ps := []portJSON{}
	for _, v := range vs {
		ps = append(ps, portJSON{v.Name, v.Type.String()})
	}
	return ps
}

// portNames lists the names of ports.
func portNames(ps []portJSON) string {
	var names []string
	for _, p := range ps {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}
