package dump

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/zinc-compiler/zinc/emit/afpp"
	"github.com/zinc-compiler/zinc/emit/anec"
	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/internal/node"
	"github.com/zinc-compiler/zinc/lower/td"
)

// dumpShape is the version of the JSON format; docs/dump.md describes it.
const dumpShape = 1

// MaxFaults is the number of faults of a file that an error lists.
const MaxFaults = 10

// fileDump is the state of printing one file.
type fileDump struct {
	*printer
	path   string
	b      []byte
	j      *jsonform.Stream // nil if the output is text
	blank  bool             // something was printed: the next part begins with an empty line
	faults []error
	err    error // ends the printing
	out    steady

	printed bool // the words of the whole file were printed

	// By kind of file.
	hwx      *containerState
	e5       *descriptorState
	firm     *afpp.Package
	stream   []td.Record
	imageSet []imageTask
	text10   []td.Program
	anecFile *anec.File
}

// steady is a writer that keeps its first error; later writes are ignored.
type steady struct {
	w   io.Writer
	err error
}

// Write implements io.Writer.
func (s *steady) Write(b []byte) (int, error) {
	if s.err == nil {
		_, s.err = s.w.Write(b)
	}
	return len(b), nil
}

// fail ends the printing after the part.
func (d *fileDump) fail(err error) { d.err = cmp.Or(d.err, err) }

// fault records a fault of the file. Printing continues.
func (d *fileDump) fault(err error) {
	if err != nil {
		d.faults = append(d.faults, err)
	}
}

// printf prints text.
func (d *fileDump) printf(format string, args ...any) { fmt.Fprintf(&d.out, format, args...) }

// part begins a part's text.
func (d *fileDump) part() {
	if d.blank {
		d.printf("\n")
	}
	d.blank = true
}

// show prints a part that is described as a whole.
func (d *fileDump) show(n *node.Node) {
	if d.j != nil {
		d.j.Put(n.Key, n)
		return
	}
	d.part()
	n.WriteText(&d.out) // which keeps its error
}

// list begins a part whose entries put prints. The function that it returns ends the part.
func (d *fileDump) list(part string) func() {
	if d.j == nil {
		d.part()
	}
	return d.open(part, '[')
}

// open begins an object or a list that only JSON has. The function that it returns ends it.
func (d *fileDump) open(key string, bracket byte) func() {
	if d.j == nil {
		return func() {}
	}
	d.j.Open(key, bracket)
	return d.j.Close
}

// put prints an entry of a list.
func (d *fileDump) put(n *node.Node) {
	switch {
	case d.j == nil:
		n.WriteText(&d.out) // which keeps its error
	case !n.TextOnly():
		d.j.Put("", n)
	}
}

// title begins a part's text with a line that JSON does not have.
func (d *fileDump) title(format string, args ...any) {
	if d.j == nil {
		d.part()
		d.printf(format, args...)
	}
}

// begin begins an entry of a list, whose text begins a part and that has more values than n. The function that it
// returns ends the entry.
func (d *fileDump) begin(n *node.Node) func() {
	if d.j == nil {
		d.part()
		n.WriteText(&d.out) // which keeps its error
	}
	end := d.open("", '{')
	for _, p := range n.Parts {
		if d.j != nil {
			d.j.Put(p.Key, p)
		}
	}
	return end
}

// dump prints the selected parts of a file. kind is the name of its kind in JSON, and noun that in messages. open reads
// the file and records its faults; if it returns false, nothing could be decoded and dump prints the words of the file.
func (c *printer) dump(path string, b []byte, kind, noun string, parts []filePart,
	open func(d *fileDump) bool) error {
	chosen, err := c.of(parts, noun)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	d := &fileDump{printer: c, path: path, b: b, out: steady{w: c.out}}
	if c.JSON {
		d.j = jsonform.NewStream(c.out)
		d.j.Open("", '{')
		d.j.Put(jsonform.SchemaKey, jsonform.Schema)
		d.j.Put("dump", dumpShape)
		d.j.Put("kind", kind)
		d.j.Put("bytes", len(b))
	}
	ok := open(d)
	switch {
	case !ok:
		d.undecoded()
	case c.Raw:
		d.raws(chosen)
	default:
		for _, p := range chosen {
			if d.err == nil && d.out.err == nil && (d.j == nil || d.j.Err == nil) {
				p.print(d)
			}
		}
	}
	return errors.Join(d.err, d.out.err, d.finish())
}

// undecoded prints the words of a file that could not be decoded at all.
func (d *fileDump) undecoded() {
	if d.j == nil && !d.Raw {
		d.printf("%d bytes, not decoded\n", len(d.b))
	}
	d.raws(nil)
}

// raws prints the words of parts, or of the whole file if no parts are selected or nothing could be decoded.
func (d *fileDump) raws(parts []filePart) {
	defer d.open("raw", '[')()
	if !d.any() || len(parts) == 0 {
		d.words("file", "", 0, d.b)
		return
	}
	for _, p := range parts {
		if p.raw != nil && d.err == nil {
			p.raw(d)
		}
	}
}

// finish ends the output and returns the file's faults. The error that ended the printing is also in the JSON.
func (d *fileDump) finish() error {
	if d.j != nil {
		d.j.Open("faults", '[')
		if d.err != nil {
			d.j.Put("", d.err.Error())
		}
		for _, err := range d.faults {
			d.j.Put("", err.Error())
		}
		d.j.Close()
		d.j.Close()
		if d.j.Err != nil {
			return d.j.Err
		}
	}
	if len(d.faults) == 0 {
		return nil
	}
	var lines []string
	for i, err := range d.faults {
		if i == MaxFaults {
			lines = append(lines, fmt.Sprintf("%s: and %d more", d.path, len(d.faults)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("%s: %v", d.path, err))
	}
	return errors.New(strings.Join(lines, "\n"))
}

// whole writes the JSON of a kind without parts: what was decoded, under the kind's name, and the fault that ends the
// file.
func (c *printer) whole(kind string, v any, fault error) error {
	return c.wholeOf(kind, func(j *jsonform.Stream) { j.Put(kind, v) }, fault)
}

// wholeOf is whole for what put writes.
func (c *printer) wholeOf(kind string, put func(j *jsonform.Stream), fault error) error {
	j := jsonform.NewStream(c.out)
	j.Open("", '{')
	j.Put(jsonform.SchemaKey, jsonform.Schema)
	j.Put("dump", dumpShape)
	j.Put("kind", kind)
	put(j)
	j.Open("faults", '[')
	if fault != nil {
		j.Put("", fault.Error())
	}
	j.Close()
	j.Close()
	return errors.Join(j.Err, fault)
}
