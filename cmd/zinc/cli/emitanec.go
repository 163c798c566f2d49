package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/zinc-compiler/zinc/emit/anec"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/inspect/dump"
	"github.com/zinc-compiler/zinc/internal/atomicfile"
)

// isContainer reports whether a file begins as a container does.
func isContainer(b []byte) bool { return dump.KindOf(b) == dump.KindContainer }

// driverFlags are the flags with the form of containers that the Linux driver's tools read, and their values. The
// driver is for the hardware of the default target.
var driverFlags = []struct{ flag, value string }{
	{"td-form", "full"}, {"split-kernel-section", "false"}, {"target", defaultTarget},
}

// driverForm sets the form of containers that the Linux driver's tools read.
func (c *compileFlags) driverForm(flags *pflag.FlagSet) error {
	for _, f := range driverFlags {
		if given := flags.Lookup(f.flag); given != nil && given.Changed && given.Value.String() != f.value {
			return usagef("programs for the Linux driver have --%s=%s, not %s", f.flag, f.value, given.Value)
		}
	}
	c.tdForm, c.split, c.textFirst = "full", false, true
	return nil
}

// emitANEC writes the program for the Linux driver, from a container in the form of older compilers.
func (c *compileCommand) emitANEC(ctx context.Context, m *frontend.Model) (func(w io.Writer) error, error) {
	if err := c.driverForm(c.flags); err != nil {
		return nil, err
	}
	r, _, err := c.programs(ctx, m)
	if err != nil {
		return nil, err
	}
	if rep := r.Report; rep.Dispatches != 1 || rep.CPUCalls > 0 {
		return nil, fmt.Errorf("--emit=anec: the model runs in %d programs of the engine and %d calls of the CPU; "+
			"the driver runs one program. zinc check shows why, zinc split cuts a model", rep.Dispatches, rep.CPUCalls)
	}
	data, err := hwx.Encode(r.HWX)
	if err != nil {
		return nil, err
	}
	return c.anecOf(data)
}

// anecHeaders are the values of --anec-header.
var anecHeaders = map[string]int{"0x1000": anec.HeaderSize, "0x800": anec.ShortSize}

// anecOf returns what writes the program of a container.
func (c *compileCommand) anecOf(container []byte) (func(w io.Writer) error, error) {
	f, err := anec.FromContainer(container)
	if err != nil {
		return nil, err
	}
	f = f.WithHeader(anecHeaders[c.anecHeader])
	return func(w io.Writer) error { _, err := f.WriteTo(w); return err }, nil
}

// containerTo writes a format of a container instead of a model.
func (c *compileCommand) containerTo(ctx context.Context, e *emission, path, out string) error {
	if e.container == nil {
		return fmt.Errorf("%s is a container, and --emit=%s wants a model", path, e.name)
	}
	data, unmap, err := dump.Whole(path, c.stdin)
	if err != nil {
		return err
	}
	defer unmap() // only read from
	write, err := e.container(c, data)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	if out == stdoutName && !c.dryRun {
		_, err := c.env.out.Write(b.Bytes())
		return err
	}
	return c.write(ctx, []atomicfile.File{atomicfile.Bytes(out, b.Bytes())}, nil)
}
