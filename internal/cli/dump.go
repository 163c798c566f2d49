package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/internal/jsonform"
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
	debug   string // debug database, "" for the one beside the container
	loaded  []bool // by loadedForms
	weights string

	metadata *frontend.Metadata // of the model whose text is printed, nil when there is none
}

func newDump(e *env) *cobra.Command {
	c := &dumpCommand{env: e}
	cmd := &cobra.Command{
		Use:   "dump FILE",
		Short: "Print a container, descriptor, MIL text, network description, weight file, array, tasks or records",
		Long: `Dump prints FILE as text, or as JSON: a hardware container with its tasks, a
dispatch descriptor, a firmware container with its records, MIL text in its
canonical layout, the records of a weight file, the intermediate form of a network description, the head of an npy array,
or what --emit wrote: tasks as text, a record stream, register images, a
firmware container; or what --debug-db wrote. A file's
kind is told by its content. Of a
model's folder, a package or a specification (.mlmodel) what it says of itself is
printed, then its program as MIL text.

With --loaded or --firmware a container is loaded into an empty address space and
what the load makes of it is printed: the loaded image, or the firmware container.

With --source each task of a container is printed with the statements of the model,
the passes and the lowering rule that it came from, and what its words point at, out
of the debug database that --debug-db made beside the container.

With --hazards the tasks of a container are checked instead: DMA outside its
buffer, memory that is read before anything wrote it or overwritten before its
reader ran, and chains that contradict themselves. Each hazard is a line with task,
field, value and limit; the exit status is 1 when there is any.`,
		Example: `  zinc dump digits.hwx
  zinc dump digits.e5 --json
  zinc dump digits.hwx --hazards
  zinc dump digits.hwx --source
  zinc dump digits.hwx --loaded
  zinc dump model.mil --ir`,
		GroupID: groupInspect,
		Args:    operands(1, 1, "one FILE"),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(args[0]) },
	}
	f := cmd.Flags()
	f.BoolVar(&c.json, "json", false, "print JSON")
	f.BoolVar(&c.ir, "ir", false, "print the intermediate form of a model")
	f.BoolVar(&c.hazard, "hazards", false, "check the tasks of a container for hazards")
	f.BoolVar(&c.source, "source", false, "print with each task of a container the statements, passes and rule that it came from")
	f.StringVar(&c.debug, "debug-db", "", "debug database for --source, `FILE.zdb` (default the one beside the container)")
	c.loaded = make([]bool, len(loadedForms))
	for i, l := range loadedForms {
		f.BoolVar(&c.loaded[i], l.name, false, l.help)
	}
	f.StringVar(&c.weights, "weights", "", "`FOLDER` that stands for @model_path, with --ir")
	return cmd
}

// dumpers prints each kind of file.
var dumpers = map[kind]func(c *dumpCommand, path string, b []byte) error{
	kindContainer: (*dumpCommand).container,
	kindText:      (*dumpCommand).text,
	kindWeights:   (*dumpCommand).weightFile,
	kindArray:     (*dumpCommand).array,
	kindNetplist:  (*dumpCommand).netplist,
	kindRecords:   (*dumpCommand).records,
	kindImages:    (*dumpCommand).images,
	kindTasks:     (*dumpCommand).tasks,
	kindFirmware:  (*dumpCommand).firmware,
	kindDatabase:  (*dumpCommand).database,
	kindOther:     (*dumpCommand).descriptor,
}

func (c *dumpCommand) run(path string) error {
	if c.ir && c.json {
		return usagef("--ir and --json: the intermediate form has no JSON")
	}
	if c.ir && c.hazard {
		return usagef("--ir and --hazards: hazards are a container's, the intermediate form a model's")
	}
	if c.source && (c.ir || c.hazard || slices.Contains(c.loaded, true)) {
		return usagef("--source with --ir, --hazards or another form: it is about the tasks of a container")
	}
	if c.debug != "" && !c.source {
		return usagef("--debug-db names the database for --source")
	}
	for i, on := range c.loaded {
		if !on {
			continue
		}
		f := &loadedForms[i]
		if c.ir || c.hazard || slices.Contains(c.loaded[i+1:], true) {
			return usagef("--%s with --ir, --hazards or another form: one of them at a time", f.name)
		}
		return c.load(f, path)
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
	return dumpers[k](c, path, b)
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
		return err
	}
	if c.json {
		j := textJSON(p)
		return jsonform.Write(c.out, modelJSON{c.metadata, &j})
	}
	if err := c.metadata.WriteText(c.out, "// "); err != nil {
		return err
	}
	return mil.Print(c.out, p)
}

// netplist prints a network description in the intermediate form, the only text
// of it beside the property list itself.
func (c *dumpCommand) netplist(path string, _ []byte) error {
	if c.json {
		return usagef("--json: a network description is printed in the intermediate form, which has no JSON")
	}
	return c.program(path)
}

// descriptor prints a file that is none of the other kinds.
func (c *dumpCommand) descriptor(path string, b []byte) error {
	p, err := e5.Read(b)
	if err != nil {
		return fmt.Errorf("%s: no container, MIL text, weight file or array by its first bytes, and no descriptor: %w", path, err)
	}
	if !c.json {
		return e5.Dump(c.out, p)
	}
	j, err := e5.JSON(p)
	if err == nil {
		_, err = c.out.Write(j)
	}
	return err
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
		return jsonform.Write(c.out, arrayJSON{a.Type, a.Shape, len(a.Data)})
	}
	t, err := values.FromArray(a, ir.TensorOf(values.TypeOf(a.Type), a.Shape...))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return summarise(c.out, filepath.Base(path), t)
}
