package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zinc-compiler/zinc/analysis/coreml"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/inspect/report"
	"github.com/zinc-compiler/zinc/internal/atomicfile"
	"github.com/zinc-compiler/zinc/internal/filename"
)

// compileCommand is the state of `zinc MODEL`.
type compileCommand struct {
	*env
	compileFlags
	phaseFlags
	out     string
	emit    string
	reports reportFlag
	budgets budgetFlags
	path    string // of the model
	flags   *pflag.FlagSet
	debug   string
	dryRun  bool

	anecHeader string // size, of --emit=anec
	prove      bool
	json       bool
	beside     func(w io.Writer) error // writes what --emit has in a second file, nil for none
	plans      []*coreml.Plan          // where Core ML itself would run the model, for reports
	doc        *report.Document        // of what was compiled, nil before
}

func newCompile(e *env) *cobra.Command {
	c := &compileCommand{env: e}
	cmd := &cobra.Command{
		Use:   "zinc MODEL [-o OUT.hwx]",
		Short: "Compile Core ML models for the Apple Neural Engine, and run them on a simulator",
		Long: `Zinc compiles MODEL, a .mlmodelc or .mlpackage folder, a .mlmodel with an ML program, a
.mil file or a network description (.plist), to a pair of files: the hardware container
OUT.hwx and, beside it, the dispatch descriptor OUT.e5. Operations that the engine
cannot run become a program for the CPU inside the pair; the last line on standard
error says what was placed where.

With --emit=netplist it writes MODEL as a network description OUT.plist and, beside it,
OUT.weights, without compiling.

With a budget (--max-dispatches and the like) the exit status is 4 when it is exceeded.
The files are written anyway, and each exceeded budget has a line with its value, its
limit and the largest contributors.

`,
		Example: `  zinc digits.mlmodelc -o digits.hwx
  zinc model.mil --weights weights/ --report json >report.json
  zinc digits.mlmodelc --dry-run --report csv=layers.csv --report html=report.html
  zinc digits.mlmodelc --report markdown --max-dispatches 1 --max-weight-bytes 65536
  zinc model.mlmodelc --precision fp16 --dry-run
  zinc digits.mlmodelc -o digits.hwx --debug-db digits.zdb
  zinc digits.mlmodelc --emit=td -o -`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := e.unknownCommand(cmd, args); err != nil || len(args) == 0 && cmd.Flags().NFlag() == 0 {
				return err
			}
			return operands(1, 1, "one MODEL, a .mlmodelc or .mlpackage folder, a .mlmodel, a .mil file or a .plist")(
				cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return e.brief(cmd)
			}
			return c.run(cmd, args[0])
		},
	}
	f := cmd.Flags()
	f.StringVarP(&c.out, "output", "o", "",
		"container to write, `OUT.hwx`, with OUT.e5 beside it (default the model's name, in the current folder); "+
			"- writes the container alone to standard output")
	c.reports.register(f)
	f.BoolVar(&c.json, "json", false, "print JSON, as --report json does")
	f.Var(newChoice(&c.emit, emitWords()...), "emit", emitHelp())
	f.StringVar(&c.debug, "debug-db", "",
		"debug database to write, `OUT.zdb`: the statements, passes and rules that each part of the pair came from")
	f.Var(newChoice(&c.anecHeader, "0x1000", "0x800"), "anec-header",
		"size of the header that --emit=anec writes, in bytes: 0x1000 as the driver's converter writes it, or 0x800 "+
			"as later versions of the driver's library read it")
	f.BoolVar(&c.dryRun, "dry-run", false,
		"compile and write reports, but not the pair; print what would be written")
	f.BoolVar(&c.prove, "prove", false,
		"before writing, prove that the pair computes the program that was lowered (docs/prove.md)")
	c.model(f)
	c.cache.register(f)
	c.passes(f)
	c.phaseFlags.register(f)
	c.budgets.register(f)
	return cmd
}

func (c *compileCommand) run(cmd *cobra.Command, path string) error {
	c.path, c.flags = path, cmd.Flags()
	if err := c.compileFlags.check(); err != nil {
		return err
	}
	if c.json {
		if err := c.reports.Set("json"); err != nil {
			return usagef("--json: %w", err)
		}
	}
	if err := c.phaseFlags.check(); err != nil {
		return err
	}
	if err := c.budgets.check(); err != nil {
		return err
	}
	switch ctx := cmd.Context(); {
	case isIR(path):
		return c.compileIR(ctx, path)
	case c.from != "":
		return fmt.Errorf("%s: not IR text, want what --to=%s writes", path, c.from)
	case c.to != "":
		return c.modelToIR(ctx, path)
	case headIs(path, compile.IsTaskText):
		return c.compileTasks(ctx, path)
	case headIs(path, isTaskView):
		return fmt.Errorf("%s: records and images are views of a program, from which it cannot be built; want the "+
			"model, or its tasks as --emit=td writes them", path)
	case c.emission() != nil:
		return c.runEmit(ctx, c.emission(), path)
	default:
		return c.compileModel(ctx, path)
	}
}

// tell prints the report, and the placement in one line. It returns an error if a budget was exceeded.
func (c *compileCommand) tell() error {
	if err := c.reports.print(c.env, c.doc); err != nil {
		return err
	}
	c.note("%s", c.doc.Line())
	return c.violations("", c.doc.Violations)
}

// write writes the files and the reports. With --dry-run it writes only the reports and prints
// which files it would write.
func (c *compileCommand) write(ctx context.Context, files, reports []atomicfile.File) error {
	if i := slices.IndexFunc(files, func(f atomicfile.File) bool { return f.Path == stdoutName }); i >= 0 && !c.dryRun {
		if err := c.stream(&files[i]); err != nil {
			return err
		}
		files = slices.DeleteFunc(files, func(f atomicfile.File) bool {
			return f.Path == stdoutName || f.Path == stdoutName+pair.DescriptorExt
		})
	}
	if !c.dryRun {
		return c.writeFiles(ctx, append(files, reports...)...)
	}
	for _, f := range files {
		n, err := sizeOf(f)
		if err != nil {
			return err
		}
		c.note("would write %s, %d bytes", f.Path, n)
	}
	return c.writeFiles(ctx, reports...)
}

// stream writes a file to standard output.
func (c *compileCommand) stream(f *atomicfile.File) error {
	if f.From == "" {
		return f.Write(c.env.out)
	}
	from, err := os.Open(f.From)
	if err != nil {
		return err
	}
	defer from.Close()
	_, err = io.Copy(c.env.out, from)
	return err
}

// sizeOf returns the number of bytes that would be written to a file.
func sizeOf(f atomicfile.File) (counter, error) {
	if f.From != "" {
		info, err := os.Stat(f.From)
		if err != nil {
			return 0, err
		}
		return counter(info.Size()), nil
	}
	var n counter
	err := f.Write(&n)
	return n, err
}

// counter counts the bytes written to it.
type counter int64

func (n *counter) Write(p []byte) (int, error) {
	*n += counter(len(p))
	return len(p), nil
}

// pairPaths returns the files of a pair. An empty out takes the model's base name, in
// the current folder.
func (e *env) pairPaths(out, model string) (_ pair.Paths, err error) {
	if out == "" && e.stdin.IsStdin(model) {
		return pair.Paths{}, usagef("a model from standard input has no name; name the container with -o OUT.hwx, or " +
			"-o - for standard output")
	}
	if out == "" {
		if out, err = defaultName(model, pair.ContainerExt); err != nil {
			return pair.Paths{}, err
		}
	}
	at := pair.PathsOf(out)
	if out == at.Descriptor {
		return at, usagef("-o %s: want the container's name, %s; the descriptor is written beside it", out,
			at.Container)
	}
	return at, nil
}

// defaultName is the model's base name with another extension, in the current folder. The model's path may be ".", so
// the name is taken from the absolute path.
func defaultName(model, ext string) (string, error) {
	abs, err := filepath.Abs(model)
	if err != nil {
		return "", err
	}
	base := filepath.Base(abs)
	return filename.Join(strings.TrimSuffix(base, filepath.Ext(base)), ext, filename.Max), nil
}

// sameFile reports whether two paths are one existing file.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
