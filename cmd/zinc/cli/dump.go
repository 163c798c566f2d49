package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/inspect/dump"
	"github.com/zinc-compiler/zinc/inspect/toolchain"
)

// dumpCommand is the state of `zinc dump`.
type dumpCommand struct {
	*env
	what      dump.Options
	ir        bool
	mil       bool
	constants bool // with ir
	hazard    bool
	loaded    []bool   // by loadedForms
	parts     []bool   // by dump.Parts
	tasks     []string // --task
}

func newDump(e *env) *cobra.Command {
	c := &dumpCommand{env: e, what: dump.Options{Name: flagName, Stdin: e.stdin}}
	cmd := &cobra.Command{
		Use:   "dump FILE...",
		Short: "Print a container, descriptor, model, weight file, array or tasks",
		Long: `Dump prints FILE as text or JSON: a hardware container with its tasks, a dispatch
descriptor, a firmware container with its records, MIL text in its canonical layout, the
records of a weight file, the intermediate form of a network description, the head of an
npy array, what --emit wrote (tasks as text, a record stream, register images, a program
for the Linux driver), or a debug database. The file type is detected from its content.
Several files are printed one after the other, each after a line with its name, or as a
document each. For a model folder, package or specification (.mlmodel), the metadata is
printed, then the program as MIL text; with --mil only the text is, as it is, with the
lines that messages of all commands count.

Flags choose parts of a container, descriptor, firmware container, record stream or file
of images, and can be combined: --headers, --tasks, --fields, --task N, --constants,
--symbols, --relocs, --records, --e5, or --all. Without any, dump prints the headers,
tasks and constants of a container, and other files completely. A part that the format
does not have is an error. With --raw the bytes of the chosen parts, or of the whole
file, are printed as offsets and words instead of their meaning.

--task prints one task with the fields that are set and whose meaning is known: place,
value in hexadecimal, decimal and by name, and meaning. --all-fields prints every field,
with the source of its meaning. Both come from the field table of docs/registers.md.
There is no table for tasks of targets other than h13; they are printed as words.

A truncated or damaged file is printed as far as it goes: every complete part, and the
bytes of a container's sections that are present. Standard error reports the byte and
field at which it ends, and why; the exit status is 1.

With --loaded or --firmware a container is loaded into an empty address space, and the
loaded image or the firmware container is printed.

With --source each task of a container is printed with the statements of the model, the
passes and the lowering rule that it came from, and what its words point at, according
to the debug database beside the container (--debug-db). With that database --constants
names the statements too.

With --hazards the tasks of a container are checked instead: DMA outside its buffer,
memory that is read before it is written or overwritten before it is read, and
inconsistent chains. Each hazard is a line with task, field, value and limit; the exit
status is 1 if there are any.

Text has colors on a terminal, unless NO_COLOR is set or --color says otherwise. They
add no information. docs/dump.md describes the JSON.`,
		Example: `  zinc dump digits.hwx
  zinc dump digits.hwx --task 2
  zinc dump digits.hwx --task 2 --all-fields
  zinc dump digits.hwx --fields --relocs
  zinc dump digits.hwx --constants --source
  zinc dump digits.hwx --task 0-3 --raw
  zinc dump digits.hwx --all --json
  zinc dump digits.e5 --headers --symbols
  zinc dump digits.hwx --hazards
  zinc dump digits.hwx --loaded
  zinc dump model.mil --ir
  zinc dump model.mlpackage --mil`,
		GroupID: groupUnderstand,
		Args:    operands(1, math.MaxInt, "a FILE"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(args) },
	}
	f := cmd.Flags()
	f.BoolVar(&c.what.JSON, "json", false, "print JSON")
	f.BoolVar(&c.what.Raw, "raw", false, "print the chosen parts as offsets and words")
	f.BoolVar(&c.ir, "ir", false, "print the intermediate form of a model, without the bytes of large constants")
	f.BoolVar(&c.mil, "mil", false,
		"print the text of a model whose lines messages count: that of a package has no file")
	f.BoolVar(&c.constants, "full-constants", false, "with --ir, print the bytes of large constants too")
	f.BoolVar(&c.hazard, "hazards", false, "check the tasks of a container for hazards")
	f.BoolVar(&c.what.Source, "source", false,
		"print the statements, passes and rule that each task of a container came from")
	f.StringVar(&c.what.Debug, "debug-db", "",
		"debug database, `FILE.zdb` (default the one beside the container)")
	c.parts = make([]bool, len(dump.Parts))
	for i, p := range dump.Parts {
		f.BoolVar(&c.parts[i], p.Name, false, p.Help)
	}
	f.BoolVar(&c.what.All, "all", false, "print every part that the file has")
	f.StringArrayVar(&c.tasks, dump.PartTask, nil, "print tasks with the place, value and meaning of the fields "+
		"that are set: `N`, N-M, N- or a comma-separated list; PROCEDURE:N if there are several; @ADDRESS or "+
		"@FIRST-LAST for those at places of a container's tasks, as in @0x300")
	f.BoolVar(&c.what.AllFields, "all-fields", false,
		"with --task, print every field with its source, also those that are zero or of unknown meaning")
	c.loaded = make([]bool, len(loadedForms))
	for i, l := range loadedForms {
		f.BoolVar(&c.loaded[i], l.name, false, l.help)
	}
	f.StringVar(&c.what.Weights, "weights", "", "`FOLDER` for @model_path, with --ir")
	return cmd
}

// flagName returns the flag of an option.
func flagName(option string) string { return "--" + option }

// contradictions returns an error for flags that cannot be combined.
func (c *dumpCommand) contradictions() error {
	anyPart := c.what.All || len(c.tasks) > 0 || slices.Contains(c.parts, true)
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
		{c.mil && (c.ir || c.hazard || loaded >= 0 || anyPart || c.what.JSON || c.what.Raw || c.what.Source),
			"--mil cannot be combined with other formats or parts: it prints the text as it is"},
		{c.ir && c.what.JSON, "--ir cannot be combined with --json: the intermediate form has no JSON format"},
		{c.ir && c.hazard, "--ir cannot be combined with --hazards: --ir is for models, --hazards for containers"},
		{c.what.Source && (c.ir || c.hazard || loaded >= 0),
			"--source cannot be combined with --ir, --hazards or another format: it is for the tasks of a container"},
		{c.what.Debug != "" && !c.what.Source && !c.what.All && !c.chosen(dump.PartConstants),
			"--debug-db requires --source or --constants"},
		{(c.ir || c.hazard) && (anyPart || c.what.Raw), "--ir and --hazards cannot be combined with part-selecting " +
			"flags or --raw"},
		{c.what.AllFields && len(c.tasks) == 0, "--all-fields requires --task"},
		{c.what.Source && c.what.Raw, "--source cannot be combined with --raw, which prints plain words"},
	} {
		if x.wrong {
			return usagef("%s", x.why)
		}
	}
	return nil
}

// chosen reports whether the flag of the part is set.
func (c *dumpCommand) chosen(part string) bool {
	return c.parts[slices.IndexFunc(dump.Parts, func(p dump.Part) bool { return p.Name == part })]
}

func (c *dumpCommand) run(paths []string) (err error) {
	if err := c.contradictions(); err != nil {
		return err
	}
	if c.what.Tasks, err = dump.ParseTasks(c.tasks); err != nil {
		return usagef("--%s %w", dump.PartTask, err)
	}
	for i, on := range c.parts {
		if on {
			c.what.Parts = append(c.what.Parts, dump.Parts[i].Name)
		}
	}
	w := c.out
	if !c.what.JSON {
		var end func() error
		w, end = c.painted(w, c.terminal, dumpTints)
		defer func() { err = cmp.Or(err, end()) }()
	}
	for i, path := range paths {
		if len(paths) > 1 && !c.what.JSON {
			if i > 0 {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "%s:\n", path)
		}
		if e2 := c.print(w, path); e2 != nil && len(paths) > 1 && statusOf(e2) == statusInput {
			// What is wrong with a file does not keep the others from being printed.
			c.fail(e2)
			err = &exitError{err: e2, status: statusInput, shown: true}
		} else if e2 != nil {
			err = e2
			break
		}
	}
	if o := (*dump.OptionError)(nil); errors.As(err, &o) {
		return usagef("%s: %s", flagName(o.Option), o.Reason)
	}
	return err
}

// print prints what the flags choose of the file.
func (c *dumpCommand) print(w io.Writer, path string) error {
	if i := slices.Index(c.loaded, true); i >= 0 {
		return c.load(w, &loadedForms[i], path)
	}
	if c.mil {
		return dump.MIL(w, path, c.stdin)
	}
	if c.ir {
		elide := toolchain.Eliding()
		if c.constants {
			elide = nil
		}
		return dump.Program(w, path, frontend.Options{WeightsDir: c.what.Weights, Stdin: c.stdin}, elide)
	}
	if !c.hazard {
		return dump.File(w, path, c.what)
	}
	b, err := c.whole(path)
	if err != nil {
		return err
	}
	n, err := dump.Hazards(w, path, b, c.what)
	if err == nil && n > 0 {
		return &exitError{err: errors.New("the container has hazards"), status: statusInput, shown: true}
	}
	return err
}
