package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/npy"
	"github.com/zinc-compiler/zinc/internal/values"
	"github.com/zinc-compiler/zinc/ir"
)

// dumpCommand is the state of `zinc dump`.
type dumpCommand struct {
	*env
	json    bool
	ir      bool
	hazard  bool
	source  bool
	raw     bool
	color   string
	debug   string // debug database, "" for the one beside the container
	loaded  []bool // by loadedForms
	weights string
	parts   selection
	tasks   []taskRange // of --task

	metadata *frontend.Metadata // of the model whose text is printed, nil when there is none
}

func newDump(e *env) *cobra.Command {
	c := &dumpCommand{env: e}
	cmd := &cobra.Command{
		Use:   "dump FILE",
		Short: "Print a container, descriptor, MIL text, network description, weight file, array, tasks or records",
		Long: `Dump prints FILE as text, or as JSON: a hardware container with its tasks, a
dispatch descriptor, a firmware container with its records, MIL text in its
canonical layout, the records of a weight file, the intermediate form of a network
description, the head of an npy array, or what --emit wrote: tasks as text, a record
stream, register images, a firmware container; or what --debug-db wrote. A file's
kind is told by its content. Of a model's folder, a package or a specification
(.mlmodel) what it says of itself is printed, then its program as MIL text.

Flags choose parts of a container, descriptor, firmware container, record stream or
file of images, and can be combined: --headers, --tasks, --fields, --task N,
--constants, --symbols, --relocs, --records, --e5, or --all. Without any, a
container's headers, tasks and constants are printed, and the other kinds whole. A
part that the kind of file does not have is an error. With --raw the bytes of the
chosen parts, or of the whole file, are printed as offsets and words in the stead of
what they mean.

--task prints one task with every field: where it stands, its value in hexadecimal,
in decimal and in words, what it means, and where that is known from. All of it comes
from the field table of docs/registers.md. Tasks of other targets than h13, of which
there is no table, are printed as words.

A file that is cut off, or broken, is printed as far as it goes: every part that is
whole, and of a container's sections what there is. Standard error says at which byte,
in which field and why it ends; the exit status is 1.

With --loaded or --firmware a container is loaded into an empty address space and
what the load makes of it is printed: the loaded image, or the firmware container.

With --source each task of a container is printed with the statements of the model,
the passes and the lowering rule that it came from, and what its words point at, out
of the debug database that --debug-db made beside the container. --constants names
the statements too where that database is there.

With --hazards the tasks of a container are checked instead: DMA outside its
buffer, memory that is read before anything wrote it or overwritten before its
reader ran, and chains that contradict themselves. Each hazard is a line with task,
field, value and limit; the exit status is 1 when there is any.

Text has colours on a terminal, unless NO_COLOR is set or --color says otherwise;
they tell nothing that the text does not. docs/dump.md describes the JSON.`,
		Example: `  zinc dump digits.hwx
  zinc dump digits.hwx --task 2
  zinc dump digits.hwx --fields --relocs
  zinc dump digits.hwx --constants --source
  zinc dump digits.hwx --task 0-3 --raw
  zinc dump digits.hwx --all --json
  zinc dump digits.e5 --headers --symbols
  zinc dump digits.hwx --hazards
  zinc dump digits.hwx --loaded
  zinc dump model.mil --ir`,
		GroupID: groupInspect,
		Args:    operands(1, 1, "one FILE"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(args[0]) },
	}
	f := cmd.Flags()
	f.BoolVar(&c.json, "json", false, "print JSON")
	f.BoolVar(&c.raw, "raw", false, "print the chosen parts as offsets and words")
	f.Var(newChoice(&c.color, "auto", "always", "never"), "color",
		"colours in text: auto (on a terminal), always or never")
	f.BoolVar(&c.ir, "ir", false, "print the intermediate form of a model")
	f.BoolVar(&c.hazard, "hazards", false, "check the tasks of a container for hazards")
	f.BoolVar(&c.source, "source", false,
		"print with each task of a container the statements, passes and rule that it came from")
	f.StringVar(&c.debug, "debug-db", "",
		"debug database for --source and --constants, `FILE.zdb` (default the one beside the container)")
	c.parts.flags(f)
	c.loaded = make([]bool, len(loadedForms))
	for i, l := range loadedForms {
		f.BoolVar(&c.loaded[i], l.name, false, l.help)
	}
	f.StringVar(&c.weights, "weights", "", "`FOLDER` that stands for @model_path, with --ir")
	return cmd
}

// dumpers prints each kind of file.
var dumpers = map[kind]func(c *dumpCommand, path string, b []byte) error{
	kindContainer:  (*dumpCommand).container,
	kindText:       (*dumpCommand).text,
	kindWeights:    (*dumpCommand).weightFile,
	kindArray:      (*dumpCommand).array,
	kindNetplist:   (*dumpCommand).netplist,
	kindRecords:    (*dumpCommand).records,
	kindImages:     (*dumpCommand).images,
	kindTasks:      (*dumpCommand).taskText,
	kindFirmware:   (*dumpCommand).firmware,
	kindDatabase:   (*dumpCommand).database,
	kindDescriptor: (*dumpCommand).descriptor,
	kindOther:      (*dumpCommand).other,
}

// wholeKinds names the kinds that are printed whole, for messages.
var wholeKinds = map[kind]string{
	kindText: "MIL text", kindWeights: "a weight file", kindArray: "an array", kindNetplist: "a network description",
	kindDatabase: "a debug database",
}

// contradictions are the command lines that cannot be meant.
func (c *dumpCommand) contradictions() error {
	loaded := -1
	for i, on := range c.loaded {
		switch {
		case on && (c.ir || c.hazard || loaded >= 0):
			return usagef("--%s with --ir, --hazards or another form: one of them at a time", loadedForms[i].name)
		case on:
			loaded = i
		}
	}
	for _, x := range []struct {
		wrong bool
		why   string
	}{
		{c.ir && c.json, "--ir and --json: the intermediate form has no JSON"},
		{c.ir && c.hazard, "--ir and --hazards: hazards are a container's, the intermediate form a model's"},
		{c.source && (c.ir || c.hazard || loaded >= 0),
			"--source with --ir, --hazards or another form: it is about the tasks of a container"},
		{c.debug != "" && !c.source && !c.parts.all && !c.parts.on[partIndex(partConstants)],
			"--debug-db names the database for --source and --constants"},
		{(c.ir || c.hazard) && (c.parts.any() || c.raw), "--ir and --hazards print something else than parts of " +
			"the file: leave out the flags that choose parts, and --raw"},
		{c.source && c.raw, "--source and --raw: words are printed as they are"},
	} {
		if x.wrong {
			return usagef("%s", x.why)
		}
	}
	return nil
}

func partIndex(name string) int {
	return slices.IndexFunc(dumpParts, func(p dumpPart) bool { return p.name == name })
}

func (c *dumpCommand) run(path string) (err error) {
	if err := c.contradictions(); err != nil {
		return err
	}
	if c.tasks, err = parseTasks(c.parts.task); err != nil {
		return err
	}
	if !c.json && c.colours(c.color) {
		out, p := c.out, &paint{w: c.out}
		c.out = p
		defer func() {
			c.out = out
			if len(p.line) > 0 {
				err = errors.Join(err, p.flush(""))
			}
		}()
	}
	if i := slices.Index(c.loaded, true); i >= 0 {
		return c.load(&loadedForms[i], path)
	}
	if c.ir {
		return c.program(path)
	}
	if c.hazard {
		b, err := readFile(path)
		if err != nil {
			return err
		}
		return c.hazards(path, b)
	}
	if !c.source {
		if done, err := c.model(path); done || err != nil {
			return err
		}
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, frontend.TextName)
	}
	b, err := readFile(path)
	if err != nil {
		return err
	}
	k := kindOf(b)
	if c.source && k != kindContainer {
		return fmt.Errorf("%s: no container by its first bytes; --source is about the tasks of one", path)
	}
	if noun := wholeKinds[k]; noun != "" {
		if c.raw {
			return c.dump(path, b, "raw", noun, nil, func(*fileDump) bool { return false })
		}
		if err := c.wholeOnly(path, noun); err != nil {
			return err
		}
	}
	return dumpers[k](c, path, b)
}

// wholeOnly refuses flags that choose parts of what is printed whole.
func (c *dumpCommand) wholeOnly(path, noun string) error {
	if _, err := c.parts.of(nil, noun); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (c *dumpCommand) program(path string) error {
	m, err := frontend.Open(path, frontend.Options{WeightsDir: c.weights})
	if err != nil {
		return err
	}
	defer m.Close()
	return ir.Print(c.out, m.Program)
}

func (c *dumpCommand) text(path string, b []byte) error {
	p, list := mil.Parse(path, b)
	if err := list.Err(); err != nil {
		return c.brokenText(p, list, err)
	}
	if c.json {
		j := textJSON(p)
		return c.whole("model", modelJSON{c.metadata, &j}, nil)
	}
	if err := c.metadata.WriteText(c.out, "// "); err != nil {
		return err
	}
	return mil.Print(c.out, p)
}

// brokenText prints the lines of a text before the first that does not parse, as they
// stand, and returns the errors.
func (c *dumpCommand) brokenText(p *mil.Program, list *diag.List, err error) error {
	line := 0
	for _, d := range list.All() {
		if at := p.File.Position(d.Span.Start).Line; d.Severity == diag.Error && d.Span.File == p.File &&
			(line == 0 || at < line) {
			line = at
		}
	}
	end := 0
	for l := range strings.Lines(p.File.Src) {
		if line--; line < 1 {
			break
		}
		end += len(l)
	}
	text := p.File.Src[:end]
	if c.json {
		return errors.Join(c.whole("text", text, nil), err)
	}
	if _, e := io.WriteString(c.out, text); e != nil {
		return e
	}
	return err
}

// netplist prints a network description in the intermediate form; one that cannot be
// read, as the text that it is.
func (c *dumpCommand) netplist(path string, b []byte) error {
	if c.json {
		return usagef("--json: a network description is printed in the intermediate form, which has no JSON")
	}
	err := c.program(path)
	if err != nil && isText(b) {
		_, e := c.out.Write(b)
		return errors.Join(err, e)
	}
	return err
}

// other prints nothing: the file is none of the kinds.
func (c *dumpCommand) other(path string, b []byte) error {
	_, err := e5.Read(b)
	if err == nil {
		return c.descriptor(path, b)
	}
	return fmt.Errorf("%s: no container, firmware container, MIL text, network description, weight file or array "+
		"by its first bytes, and no descriptor: %w", path, err)
}

// arrayJSON is the JSON form of an npy file.
type arrayJSON struct {
	Type  string  `json:"type"`
	Shape []int64 `json:"shape"`
	Bytes int     `json:"bytes"`
}

func (c *dumpCommand) array(path string, b []byte) error {
	a, err := npy.Decode(b)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if c.json {
		return c.whole("array", arrayJSON{a.Type, a.Shape, len(a.Data)}, nil)
	}
	t, err := values.FromArray(a, ir.TensorOf(values.TypeOf(a.Type), a.Shape...))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return summarise(c.out, filepath.Base(path), t)
}
