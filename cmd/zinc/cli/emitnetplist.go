package cli

import (
	"context"
	"io"
	"path/filepath"
	"strings"

	"github.com/zinc-compiler/zinc/frontend/netplist"
	"github.com/zinc-compiler/zinc/internal/atomicfile"
)

const (
	listExt    = ".plist"
	weightsExt = ".weights"
)

// netplist writes the model as a network description, with a weight file beside it if it has coefficients.
func (c *compileCommand) netplist(ctx context.Context, path string) error {
	if len(c.reports.list) > 0 || len(c.budgets.limits) > 0 {
		return usagef("--emit=netplist cannot be combined with --report or a budget: it does not compile")
	}
	if len(c.shapes) > 0 {
		return usagef("--emit=netplist cannot be combined with --shape: the description has the shapes that the " +
			"model declares")
	}
	out := c.out
	if out == "" {
		var err error
		if out, err = defaultName(path, listExt); err != nil {
			return err
		}
	}
	if filepath.Ext(out) != listExt {
		return usagef("-o %s: the name of a network description must end in %s", c.out, listExt)
	}
	weights := strings.TrimSuffix(out, listExt) + weightsExt
	m, err := c.open(c.env, path)
	if err != nil {
		return err
	}
	defer m.Close()
	for _, p := range []string{out, weights} {
		if sameFile(p, m.Path) {
			return usagef("-o %s would replace the model's own text", out)
		}
	}
	f, err := m.Program.Entry(c.function)
	if err != nil {
		return err
	}
	d, err := netplist.Write(f, filepath.Base(weights))
	if err != nil {
		return err
	}
	files := []atomicfile.File{{Path: out, Write: content(d.List)}}
	if len(d.Weights) > 0 {
		files = append(files, atomicfile.File{Path: weights, Write: content(d.Weights)})
	}
	return c.write(ctx, files, nil)
}

// content returns a function that writes these bytes to a file.
func content(b []byte) func(w io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}
