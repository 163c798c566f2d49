package cli

import (
	"context"
	"io"
	"path/filepath"
	"strings"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/inspect/dump"
	"github.com/zinc-compiler/zinc/internal/atomicfile"
	"github.com/zinc-compiler/zinc/lower/td"
)

// emission is a format that --emit writes instead of the pair. The default file is the model's base
// name with a dot and the format's name. A format of several files has run instead of write.
type emission struct {
	name, help string
	run        func(c *compileCommand, ctx context.Context, path string) error
	write      func(c *compileCommand, ctx context.Context, m *frontend.Model) (func(w io.Writer) error, error)
	// container writes it from the bytes of a container; nil: from models alone.
	container func(c *compileCommand, data []byte) (func(w io.Writer) error, error)
}

// emissions are the formats of --emit other than the pair.
var emissions = []emission{
	{name: "e5", help: "the descriptor alone", write: (*compileCommand).emitDescriptor},
	{name: "netplist", help: "the model as a network description, and its weight file", run: (*compileCommand).
		netplist},
	{name: "td", help: "the tasks as text, which zinc dump reads", write: (*compileCommand).emitTasks},
	{name: "records", help: "a view of what loading resolves, the 44-byte records of the tasks; the program cannot " +
		"be built from it, as it can from td", write: (*compileCommand).emitRecords},
	{name: "images", help: "the version-10 register images that the records complete", write: (*compileCommand).
		emitImages},
	{name: "afpp", help: "the firmware container that loading the pair produces", write: (*compileCommand).
		emitFirmware},
	{name: "anec", help: "the program for the Linux driver of the engine, of a model or an h13 container " +
		"(docs/hardware.md)", write: (*compileCommand).emitANEC, container: (*compileCommand).anecOf},
}

// emitPair is the value of --emit for the pair.
const emitPair = "pair"

// emitWords are the values of --emit, the default first.
func emitWords() []string {
	words := []string{emitPair}
	for _, e := range emissions {
		words = append(words, e.name)
	}
	return words
}

// emitHelp describes the values of --emit.
func emitHelp() string {
	parts := []string{"what to write: pair, the container and its descriptor"}
	for _, e := range emissions {
		parts = append(parts, e.name+", "+e.help)
	}
	return strings.Join(parts, "; ") + "; -o - writes to standard output, except for pair and netplist"
}

// emission returns the format of --emit, nil for the pair.
func (c *compileCommand) emission() *emission {
	for i := range emissions {
		if emissions[i].name == c.emit {
			return &emissions[i]
		}
	}
	return nil
}

// runEmit writes one format of the model instead of the pair.
func (c *compileCommand) runEmit(ctx context.Context, e *emission, path string) error {
	if c.debug != "" {
		return usagef("--debug-db describes a pair and cannot be combined with --emit")
	}
	if e.run != nil {
		return e.run(c, ctx, path)
	}
	out := c.out
	if out == "" {
		var err error
		if out, err = defaultName(path, "."+e.name); err != nil {
			return err
		}
	}
	if ext := filepath.Ext(out); ext != "."+e.name && (ext == pair.ContainerExt || ext == pair.DescriptorExt) {
		return usagef("-o %s names a file of a pair, which --emit=%s does not write; use %s.%s", out, e.name,
			strings.TrimSuffix(out, ext), e.name)
	}
	if out == stdoutName && c.reports.stdout() != nil {
		return usagef("-o - and --report would both write to standard output")
	}
	if headIs(path, isContainer) {
		return c.containerTo(ctx, e, path, out)
	}
	m, err := c.open(c.env, path)
	if err != nil {
		return err
	}
	defer m.Close()
	if out != stdoutName && sameFile(out, m.Path) {
		return usagef("-o %s would replace the model's own text", out)
	}
	if err := c.reports.apart(out, m.Path); err != nil {
		return err
	}
	write, err := e.write(c, ctx, m)
	if err != nil {
		return err
	}
	var files []atomicfile.File
	if out == stdoutName && !c.dryRun {
		if err := write(c.env.out); err != nil {
			return err
		}
	} else {
		files = append(files, atomicfile.File{Path: out, Write: write})
		if c.beside != nil {
			files = append(files, atomicfile.File{Path: beside(out, tdDataExt), Write: c.beside})
		}
	}
	if err := c.write(ctx, files, c.reports.files(c.doc)); err != nil {
		return err
	}
	return c.tell()
}

// stdoutName is the value of -o for standard output.
const stdoutName = "-"

// programs compiles the model and returns the tasks of its procedures, as in the container.
func (c *compileCommand) programs(ctx context.Context, m *frontend.Model) (*compile.Result, []td.Program, error) {
	r, err := c.compile(ctx, c.env, m, c.sink)
	if err != nil {
		return nil, nil, err
	}
	if err := c.judge(ctx, m, r); err != nil {
		return nil, nil, err
	}
	ps, err := dump.Programs(r.HWX)
	return r, ps, err
}

// emitDescriptor writes the dispatch descriptor without its container.
func (c *compileCommand) emitDescriptor(ctx context.Context, m *frontend.Model) (func(w io.Writer) error, error) {
	r, _, err := c.programs(ctx, m)
	if err != nil {
		return nil, err
	}
	return func(w io.Writer) error { return e5.Write(w, r.E5) }, nil
}

// emitTasks writes the tasks as text. A file also contains the rest of the container, so that the pair can be
// built from it.
func (c *compileCommand) emitTasks(ctx context.Context, m *frontend.Model) (func(w io.Writer) error, error) {
	r, ps, err := c.programs(ctx, m)
	if err != nil || c.out == stdoutName {
		return func(w io.Writer) error { return td.WriteText(w, ps) }, err
	}
	text, data, err := r.TaskText(ps)
	if err != nil {
		return nil, err
	}
	c.beside = parts(data)
	return content(text), nil
}

// split compiles the model and returns the tasks of all procedures, in sequence, as images and records.
func (c *compileCommand) split(ctx context.Context, m *frontend.Model) ([][]byte, []td.Record, error) {
	_, ps, err := c.programs(ctx, m)
	if err != nil {
		return nil, nil, err
	}
	var tasks []*td.Task
	for _, p := range ps {
		tasks = append(tasks, p.Tasks...)
	}
	return td.Split(tasks)
}

func (c *compileCommand) emitRecords(ctx context.Context, m *frontend.Model) (func(w io.Writer) error, error) {
	_, rs, err := c.split(ctx, m)
	if err != nil {
		return nil, err
	}
	b, err := td.EncodeRecords(rs)
	return content(b), err
}

func (c *compileCommand) emitImages(ctx context.Context, m *frontend.Model) (func(w io.Writer) error, error) {
	images, _, err := c.split(ctx, m)
	if err != nil {
		return nil, err
	}
	b, err := td.EncodeImages(images)
	return content(b), err
}
