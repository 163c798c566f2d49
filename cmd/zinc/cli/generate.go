package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc"
	"github.com/zinc-compiler/zinc/cmd/zinc/gowrap"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/internal/atomicfile"
	"github.com/zinc-compiler/zinc/internal/jsonform"
)

// packageName matches valid names of the package and its files. Underscores are excluded because the go command gives
// some suffixes a meaning: digits_test.go, digits_linux.go.
var packageName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)

// reservedNames are names of packages that cannot be imported, or that the go
// command does not build.
var reservedNames = []string{"documentation", "init", "main"}

// generateCommand is the state of `zinc generate`.
type generateCommand struct {
	*env
	compileFlags
	dir  string
	json bool
}

// generateJSON is what zinc generate --json prints.
type generateJSON struct {
	Package   string     `json:"package"`   // name
	Functions []string   `json:"functions"` // of the model; each is a method
	Files     []fileJSON `json:"files"`     // that were written
}

func newGenerate(e *env) *cobra.Command {
	c := &generateCommand{env: e}
	cmd := &cobra.Command{
		Use:   "generate PACKAGE MODEL",
		Short: "Write a Go package that embeds a compiled pair and runs it",
		Long: `Generate compiles MODEL and writes the folder of a Go package, PACKAGE by default: the
pair and PACKAGE.go, which embeds it. The package has a method for each function of the
model, with a struct for its inputs and one for its outputs; shapes are in the comments.
A PACKAGE.go that was not generated is not replaced. The same model and flags produce
the same files, so they can be kept under version control and checked with go generate:

  //go:generate zinc generate digits ../digits.mlmodelc`,
		Example: `  zinc generate digits digits.mlmodelc
  zinc generate digits digits.mlmodelc -o internal/digits --precision fp16`,
		GroupID: groupServe,
		Args:    operands(2, 2, "PACKAGE and MODEL"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0], args[1]) },
	}
	f := cmd.Flags()
	f.StringVarP(&c.dir, "output", "o", "", "`FOLDER` of the package, created if missing (default PACKAGE)")
	f.BoolVar(&c.json, "json", false, "print what was written as JSON")
	c.model(f)
	c.cache.register(f)
	return cmd
}

func (c *generateCommand) run(ctx context.Context, pkg, path string) error {
	if err := c.check(); err != nil {
		return err
	}
	if !packageName.MatchString(pkg) || token.IsKeyword(pkg) || slices.Contains(reservedNames, pkg) {
		return usagef("generate: %q is not a valid package name; want a letter, then ASCII letters and digits, "+
			"not a keyword and not one of %s", pkg, strings.Join(reservedNames, ", "))
	}
	dir := c.dir
	dir = cmp.Or(dir, pkg)
	if err := generatedOnly(filepath.Join(dir, pkg+".go")); err != nil {
		return err
	}
	p, err := c.pairOf(ctx, c.env, path)
	if err != nil {
		return err
	}
	m, err := (&zinc.Pair{Container: p.Container, Descriptor: p.Descriptor}).Open(ctx, zinc.RunOptions{Direct: true})
	if err != nil {
		return &internalError{err: fmt.Errorf("loading the compiled pair: %w", err)}
	}
	defer m.Close()
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	source, err := gowrap.Source(&gowrap.Package{
		Name: pkg, Model: filepath.Base(abs), Container: pkg + pair.ContainerExt, Descriptor: pkg + pair.DescriptorExt,
		Functions: m.Functions(),
	})
	if err != nil {
		return err
	}
	files := append(p.Files(filepath.Join(dir, pkg+pair.ContainerExt)),
		atomicfile.Bytes(filepath.Join(dir, pkg+".go"), source))
	if err := c.writeFiles(ctx, files...); err != nil || !c.json {
		return err
	}
	out := generateJSON{Package: pkg, Functions: []string{}}
	for _, f := range m.Functions() {
		out.Functions = append(out.Functions, f.Name)
	}
	if out.Files, err = written(files); err != nil {
		return err
	}
	return jsonform.Document(c.out, out)
}

// generatedOnly returns an error if the file exists and was not generated.
func generatedOnly(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close() // only read from
	begin := make([]byte, len(gowrap.Header))
	if _, err := io.ReadFull(f, begin); err != nil || string(begin) != gowrap.Header {
		return fmt.Errorf("%s was not written by zinc generate and will not be replaced; choose another name for the "+
			"package, or another folder with -o", path)
	}
	return nil
}
