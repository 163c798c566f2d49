package dump

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/node"
	"github.com/zinc-compiler/zinc/internal/npy"
	"github.com/zinc-compiler/zinc/internal/regularfile"
	"github.com/zinc-compiler/zinc/internal/values"
	"github.com/zinc-compiler/zinc/ir"
)

// Options select what is printed of a file, and the format.
type Options struct {
	JSON   bool // JSON instead of text
	Raw    bool // the parts as offsets and words
	Source bool // print where each task came from, from the debug database

	Debug   string // debug database of a container; "" means the one beside it
	Weights string // folder for @model_path, for a model's program

	// The parts to print; without any, the default parts.
	Parts []string // names, of Parts
	All   bool     // every part that the file has
	Tasks []TaskRange

	// AllFields prints every field of the chosen Tasks with its source, also those that are zero or of unknown meaning.
	AllFields bool

	// Name returns the name in messages of an option: "json", "raw", "source", "hazards", "debug-db", "all-fields" or a
	// part. Nil means the name itself.
	Name func(option string) string

	// Stdin reads the path regularfile.Stdin; nil if that is the name of a file.
	Stdin *regularfile.Input
}

func (o *Options) name(option string) string {
	if o.Name == nil {
		return option
	}
	return o.Name(option)
}

// OptionError reports an option with which a file cannot be printed.
type OptionError struct {
	Option string // "json" or "raw"
	Reason string
}

func (e *OptionError) Error() string { return e.Option + ": " + e.Reason }

// printer prints a file.
type printer struct {
	Options
	out      io.Writer
	metadata *frontend.Metadata // of the model whose text is printed, or nil
}

// dumpers prints each kind of file.
var dumpers = map[Kind]func(c *printer, path string, b []byte) error{
	KindContainer:  (*printer).container,
	KindText:       (*printer).text,
	KindWeights:    (*printer).weightFile,
	KindArray:      (*printer).array,
	KindNetplist:   (*printer).netplist,
	KindRecords:    (*printer).records,
	KindImages:     (*printer).images,
	KindTasks:      (*printer).taskText,
	KindFirmware:   (*printer).firmware,
	KindDatabase:   (*printer).database,
	KindDescriptor: (*printer).descriptor,
	KindANEC:       (*printer).anec,
	KindOther:      (*printer).other,
}

// wholeKinds names the kinds that are printed whole, for messages.
var wholeKinds = map[Kind]string{
	KindText: "MIL text", KindWeights: "a weight file", KindArray: "an array", KindNetplist: "a network description",
	KindDatabase: "a debug database",
}

// File prints the file, or the model's folder, at path. A corrupt file is printed as far as
// it can be read, and the error describes its faults.
func File(w io.Writer, path string, o Options) error {
	c := &printer{Options: o, out: w}
	if !c.Source {
		if done, err := c.model(path); done || err != nil {
			return err
		}
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, frontend.TextName)
	}
	b, unmap, err := Whole(path, o.Stdin)
	if err != nil {
		return err
	}
	defer unmap() // only read from
	return c.bytes(path, b)
}

// Bytes prints b as File prints a file at path with these contents.
func Bytes(w io.Writer, path string, b []byte, o Options) error {
	return (&printer{Options: o, out: w}).bytes(path, b)
}

func (c *printer) bytes(path string, b []byte) error {
	k := KindOf(b)
	if c.Source && k != KindContainer {
		return fmt.Errorf("%s: the file does not begin as a container; %s is for the tasks of a container", path,
			c.name("source"))
	}
	if noun := wholeKinds[k]; noun != "" {
		if c.Raw {
			return c.dump(path, b, "raw", noun, nil, func(*fileDump) bool { return false })
		}
		if err := c.wholeOnly(path, noun); err != nil {
			return err
		}
	}
	return dumpers[k](c, path, b)
}

// wholeOnly refuses part-selecting options for files that are printed whole.
func (c *printer) wholeOnly(path, noun string) error {
	if _, err := c.of(nil, noun); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Program prints the intermediate form of the model at path. elide, if not nil, is what is printed instead of the bytes
// of a large constant.
func Program(w io.Writer, path string, o frontend.Options, elide func(data []byte) string) error {
	m, err := frontend.Open(path, o)
	if err != nil {
		return err
	}
	defer m.Close()
	if elide != nil {
		return ir.PrintElided(w, m.Program, elide)
	}
	return ir.Print(w, m.Program)
}

func (c *printer) text(path string, b []byte) error {
	p, list := mil.Parse(path, b)
	if err := list.Err(); err != nil {
		return c.brokenText(p, list, err)
	}
	if c.JSON {
		return c.whole("model", describeModel(c.metadata).Add(describeText(p)), nil)
	}
	if err := c.metadata.WriteText(c.out, "// "); err != nil {
		return err
	}
	return mil.Print(c.out, p)
}

// brokenText prints the lines of a text before the first that does not parse, unchanged,
// and returns the errors.
func (c *printer) brokenText(p *mil.Program, list *diag.List, err error) error {
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
	if c.JSON {
		return errors.Join(c.whole("text", text, nil), err)
	}
	if _, e := io.WriteString(c.out, text); e != nil {
		return e
	}
	return err
}

// netplist prints a network description in the intermediate form or, if it cannot be read,
// as text.
func (c *printer) netplist(path string, b []byte) error {
	if c.JSON {
		return &OptionError{"json", "a network description is printed in the intermediate form, which lacks a JSON " +
			"format"}
	}
	err := Program(c.out, path, frontend.Options{WeightsDir: c.Weights, Stdin: c.Stdin}, nil)
	if err != nil && isText(b) {
		_, e := c.out.Write(b)
		return errors.Join(err, e)
	}
	return err
}

// other refuses a file of an unknown kind.
func (c *printer) other(path string, b []byte) error {
	_, err := e5.Read(b)
	if err == nil {
		return c.descriptor(path, b)
	}
	return fmt.Errorf("%s: the file does not begin as a container, firmware container, MIL text, network "+
		"description, weight file or array, and is not a descriptor: %w", path, err)
}

func (c *printer) array(path string, b []byte) error {
	a, err := npy.Decode(b)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if c.JSON {
		return c.whole("array", node.Row("", "{+type}{+shape}{+bytes}", a.Type, a.Shape, len(a.Data)), nil)
	}
	t, err := values.FromArray(a, ir.TensorOf(values.TypeOf(a.Type), a.Shape...))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return Tensor(c.out, filepath.Base(path), t)
}
