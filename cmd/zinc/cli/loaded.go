package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/inspect/dump"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/loader"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
)

// loadAlone loads a container as the first program of a client that has nothing
// else mapped, so that the addresses are the same each time.
func loadAlone(container []byte) (*loader.Loaded, error) {
	p, err := loader.Read(container)
	if err != nil {
		return nil, err
	}
	u, err := translation.NewUnit(translation.Config{})
	if err != nil {
		return nil, err
	}
	return p.Load(u.Context(1), "load")
}

// emitFirmware compiles the model and loads its container.
func (c *compileCommand) emitFirmware(ctx context.Context, m *frontend.Model) (func(w io.Writer) error, error) {
	r, err := c.compile(ctx, c.env, m, c.sink)
	if err != nil {
		return nil, err
	}
	if err := c.judge(ctx, m, r); err != nil {
		return nil, err
	}
	b, err := hwx.Encode(r.HWX)
	if err != nil {
		return nil, err
	}
	l, err := loadAlone(b)
	if err != nil {
		return nil, err
	}
	return content(l.Firmware()), nil
}

// loadedForm is a format that loading a container produces, and the dump flag that prints it.
type loadedForm struct {
	name, help string
	bytes      func(l *loader.Loaded) ([]byte, error)
}

// loadedForms are the formats that loading a container produces.
var loadedForms = []loadedForm{
	{"loaded", "load a container and print the loaded image, with its bases resolved", (*loader.Loaded).Image},
	{"firmware", "load a container and print the resulting firmware container",
		func(l *loader.Loaded) ([]byte, error) { return l.Firmware(), nil }},
}

// load loads a container and prints it in one of the formats.
func (c *dumpCommand) load(w io.Writer, f *loadedForm, path string) error {
	b, err := c.stdin.Read(path)
	if err != nil {
		return err
	}
	if dump.KindOf(b) != dump.KindContainer {
		return fmt.Errorf("%s: --%s requires a hardware container, which begins with %#x", path, f.name,
			uint32(hwx.Magic))
	}
	l, err := loadAlone(b)
	if err == nil {
		b, err = f.bytes(l)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return dump.Bytes(w, path, b, c.what)
}
