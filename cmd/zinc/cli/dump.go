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

	metadata *frontend.Metadata // of the model whose text is printed, nil for none
}

func newDump(e *env) *cobra.Command {
	c := &dumpCommand{env: e}
	cmd := &cobra.Command{
		Use:   "dump FILE",
		Short: "Print a container, descriptor, MIL text, network description, weight file, array, tasks or records",
		Long: `Dump prints FILE as text or JSON: a hardware container with its tasks, a dispatch
descriptor, a firmware container with its records, MIL text in its canonical layout, the
records of a weight file, the intermediate form of a network description, the head of an
npy array, what --emit wrote (tasks as text, a record stream, register images), or a
debug database. The file type is detected from its content. For a model folder, package
or specification (.mlmodel), the metadata is printed, then the program as MIL text.

Flags choose parts of a container, descriptor, firmware container, record stream or file
of images, and can be combined: --headers, --tasks, --fields, --task N, --constants,
--symbols, --relocs, --records, --e5, or --all. Without any, the headers, tasks and
constants of a container are printed, and other files whole. A part that the format does
not have is an error. With --raw the bytes of the chosen parts, or of the whole file,
are printed as offsets and words instead of their meaning.

--task prints one task with every field: its place, its value in hexadecimal, decimal
and by name, its meaning, and the source of that meaning, all from the field table of
docs/registers.md. There is no table for tasks of targets other than h13; they are
printed as words.

A truncated or damaged file is printed as far as it goes: every complete part, and the
bytes of a container's sections that are there. Standard error says at which byte, in
which field and why it ends; the exit status is 1.

With --loaded or --firmware a container is loaded into an empty address space, and the
loaded image or the firmware container is printed.

With --source each task of a container is printed with the statements of the model, the
passes and the lowering rule that it came from, and what its words point at, according
to the debug database beside the container (--debug-db). With that database --constants
names the statements too.

With --hazards the tasks of a container are checked instead: DMA outside its buffer,
memory that is read before it is written or overwritten before it is read, and
inconsistent chains. Each hazard is a line with task, field, value and limit; the exit
status is 1 when there is any.

Text has colours on a terminal, unless NO_COLOR is set or --color says otherwise. They
add no information. docs/dump.md describes the JSON.`,
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
		"colours: auto (on a terminal), always or never")
	f.BoolVar(&c.ir, "ir", false, "print the intermediate form of a model")
	f.BoolVar(&c.hazard, "hazards", false, "check the tasks of a container for hazards")
	f.BoolVar(&c.source, "source", false,
		"print the statements, passes and rule that each task of a container came from")
	f.StringVar(&c.debug, "debug-db", "",
		"debug database, `FILE.zdb` (default the one beside the container)")
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

// contradictions are the combinations of flags that are refused.
func (c *dumpCommand) contradictions() error {
	loaded := -1
	for i, on := range c.loaded {
		switch {
		case on && (c.ir || c.hazard || loaded >= 0):
			return usagef("--%s cannot be combined with --ir, --hazards or another format", loadedForms[i].name)
		case on:
			loaded = i
		}
	}
	for _, x := range []struct {
		wrong bool
		why   string
	}{
		{c.ir && c.json, "--ir cannot be combined with --json: the intermediate form has no JSON format"},
		{c.ir && c.hazard, "--ir cannot be combined with --hazards: --ir is for models, --hazards for containers"},
		{c.source && (c.ir || c.hazard || loaded >= 0),
			"--source cannot be combined with --ir, --hazards or another format: it is for the tasks of a container"},
		{c.debug != "" && !c.source && !c.parts.all && !c.parts.on[partIndex(partConstants)],
			"--debug-db requires --source or --constants"},
		{(c.ir || c.hazard) && (c.parts.any() || c.raw),
			"--ir and --hazards cannot be combined with part-selecting flags " +
				"or --raw"},
		{c.source && c.raw, "--source cannot be combined with --raw, which prints plain words"},
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
		return fmt.Errorf("%s: not a container by its first bytes; --source is for the tasks of a container", path)
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

// wholeOnly refuses part-selecting flags for files that are printed whole.
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

// brokenText prints the lines of a text before the first that does not parse, unchanged, and returns the errors.
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
		return usagef("--json: a network description is printed in the intermediate form, which has no JSON format")
	}
	err := c.program(path)
	if err != nil && isText(b) {
		_, e := c.out.Write(b)
		return errors.Join(err, e)
	}
	return err
}

// other prints nothing: the file is of an unknown kind.
func (c *dumpCommand) other(path string, b []byte) error {
	_, err := e5.Read(b)
	if err == nil {
		return c.descriptor(path, b)
	}
	return fmt.Errorf("%s: not a container, firmware container, MIL text, network description, weight file or array "+
		"by its first bytes, nor a descriptor: %w", path, err)
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
