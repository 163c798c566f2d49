package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/inspect/dump"
	"github.com/zinc-compiler/zinc/inspect/report"
	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/target"
)

// container prints what the container at path takes. It reports false, without an error, for any other file.
func (c *checkCommand) container(path string) (bool, error) {
	if pair, err := c.isPair(path); err != nil || !pair {
		return false, nil // opening the model says what is wrong
	}
	b, unmap, err := dump.Whole(path, c.stdin)
	if err != nil {
		return false, err
	}
	defer unmap() // only read from
	if dump.KindOf(b) != dump.KindContainer {
		return false, nil
	}
	if err := c.containerAlone(path); err != nil {
		return true, err
	}
	f, err := hwx.Read(b)
	if err != nil {
		return true, fmt.Errorf("%s: %w", path, err)
	}
	on, err := c.targetOf(path, f)
	if err != nil {
		return true, err
	}
	programs, err := dump.Programs(f)
	if err != nil {
		return true, fmt.Errorf("%s: %w", path, err)
	}
	r := report.NewContainer(filepath.ToSlash(path), f, programs, on)
	if c.json {
		return true, jsonform.Document(c.env.out, r)
	}
	return true, c.printText(answerTints, func(w io.Writer) error { return r.Text(w, c.all) })
}

// containerFlags are the flags of check that say something about a container alone.
var containerFlags = []string{"json", "all", "target"}

// containerAlone reports flags that are about a model.
func (c *checkCommand) containerAlone(path string) error {
	var wrong []string
	c.flags.Visit(func(f *pflag.Flag) {
		if !slices.Contains(containerFlags, f.Name) {
			wrong = append(wrong, "--"+f.Name)
		}
	})
	if len(wrong) == 0 {
		return nil
	}
	return usagef("check: %s is a compiled container, for which only --%s are allowed, not %s; check the model that "+
		"it was compiled from", path, strings.Join(containerFlags, ", --"), strings.Join(wrong, ", "))
}

// targetOf returns the target of --target, which must be one whose containers have the container's CPU subtype, or the
// oldest of those.
func (c *checkCommand) targetOf(path string, f *hwx.File) (*target.Table, error) {
	on, err := f.Target()
	if err != nil || !c.flags.Changed("target") {
		if err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
		return on, err
	}
	t, err := target.Lookup(c.target)
	if err != nil {
		return nil, usagef("check: --target: %v", err)
	}
	if t.Subtype != f.Header.CPUSubtype {
		return nil, usagef("check: --target %s: containers of %s have CPU subtype %d, that of %s is %d, of %s",
			c.target, t.Name, t.Subtype, path, f.Header.CPUSubtype, on.Name)
	}
	return t, nil
}
