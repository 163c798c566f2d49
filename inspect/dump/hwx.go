package dump

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/regularfile"
	"github.com/zinc-compiler/zinc/lower/td"
)

// containerParts are the parts of a hardware container.
var containerParts []filePart

func init() { // functions of the table print the state
	containerParts = []filePart{
		{name: PartHeaders, print: (*fileDump).containerHeaders, raw: (*fileDump).rawHeaders, always: true},
		{name: PartTasks, print: (*fileDump).containerTasks, raw: (*fileDump).rawTasks, always: true},
		{name: PartFields, print: (*fileDump).containerTasks, raw: (*fileDump).rawTasks, always: false},
		{name: PartTask, print: (*fileDump).containerTask, raw: (*fileDump).rawTask, always: false},
		{name: PartConstants, print: (*fileDump).constants, raw: (*fileDump).rawConstants, always: true},
		{name: PartSymbols, print: (*fileDump).symbols, raw: (*fileDump).rawSymbols, always: false},
		{name: PartRelocs, print: (*fileDump).relocs, raw: (*fileDump).rawRelocs, always: false},
		{name: PartRecords, print: (*fileDump).containerRecords, raw: (*fileDump).rawRecords, always: false},
		{name: PartE5, print: (*fileDump).beside, raw: (*fileDump).rawBeside, always: false},
	}
}

// containerState is shared by the parts of a container.
type containerState struct {
	f       *hwx.File
	db      *provenance.DB        // nil without Options.Source or a database beside the container
	told    map[*hwx.Program]bool // faults of its chain were printed
	owner   map[int]*hwx.Program  // the relocations of the task at an offset of the task section
	text    hwx.Text
	textOff int64             // of __TEXT,__text in the file
	symbols map[uint64]string // of tasks, by offset in __TEXT,__text
}

func (c *printer) container(path string, b []byte) error {
	s := &containerState{told: map[*hwx.Program]bool{}, owner: map[int]*hwx.Program{}}
	if c.Source || c.Debug != "" {
		var err error
		if s.db, err = c.OpenDebug(path, b); err != nil {
			return err
		}
	}
	return c.dump(path, b, "container", "a hardware container", containerParts, func(d *fileDump) bool {
		d.hwx = s
		f, faults := hwx.Scan(b)
		for _, e := range faults {
			d.fault(e)
		}
		s.f = f
		if f == nil {
			return false
		}
		s.text = f.Text()
		if t := f.Section(hwx.SegText, hwx.SectText); t != nil {
			s.textOff, s.symbols = int64(t.Offset), map[uint64]string{}
			for _, y := range f.Symbols() {
				if y.Type == hwx.SymSection && y.Value >= t.Addr && y.Value-t.Addr < t.Size {
					s.symbols[y.Value-t.Addr] = y.Name
				}
			}
		}
		return true
	})
}

func (d *fileDump) containerHeaders() {
	n, err := hwx.Describe(d.hwx.f)
	if err != nil {
		d.fail(err)
		return
	}
	d.show(n)
}

func (d *fileDump) symbols() {
	defer d.list(PartSymbols)()
	for n := range d.hwx.f.DescribeSymbols() {
		d.put(n)
	}
}

// beside prints the descriptor beside a container.
func (d *fileDump) beside() {
	name := pair.PathsOf(d.path).Descriptor
	b, err := regularfile.Read(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && d.All:
		d.title("there is no descriptor beside the container\n")
	case err != nil:
		d.fail(fmt.Errorf("%s: --%s: the descriptor beside it: %w", d.path, PartE5, err))
	default:
		d.descriptorText(d.readDescriptor(name, b))
	}
}

func (d *fileDump) rawBeside() {
	name := pair.PathsOf(d.path).Descriptor
	b, err := regularfile.Read(name)
	switch {
	case err == nil:
		d.words(PartE5, "", 0, b)
	case !d.All || !errors.Is(err, fs.ErrNotExist):
		d.fail(err)
	}
}

// Programs decodes the tasks of a container's procedures.
func Programs(f *hwx.File) ([]td.Program, error) {
	var ps []td.Program
	chains := ChainsOf(f)
	for _, p := range f.Procedures() {
		tasks, err := chains.Tasks(p)
		if err != nil {
			return nil, fmt.Errorf("procedure %s: %w", p.Name, err)
		}
		tp := td.Program{Name: p.Name}
		for _, t := range tasks {
			tp.Tasks = append(tp.Tasks, t.Task)
		}
		ps = append(ps, tp)
	}
	return ps, nil
}

// Chains decodes the tasks of a container's procedures.
type Chains struct {
	text    hwx.Text
	codec   *td.Codec
	noCodec error
}

// ChainsOf returns the chains of a container.
func ChainsOf(f *hwx.File) *Chains {
	c := &Chains{text: f.Text()}
	c.codec, c.noCodec = td.CodecFor(f.TaskVersion())
	return c
}

// Tasks decodes the tasks of a procedure.
func (c *Chains) Tasks(p hwx.Procedure) ([]td.Placed, error) {
	if c.noCodec != nil {
		return nil, c.noCodec
	}
	text, off, ok := c.text.Of(p)
	if !ok {
		return nil, fmt.Errorf("its entry %#x is not in __TEXT,__text", p.Entry)
	}
	return c.codec.DecodeChain(text, off, p.FirstWords)
}

// noFields returns why the tasks of a container cannot be decoded, "" if they can.
func noFields(f *hwx.File) string {
	if _, err := f.TaskVersion(); err != nil {
		return err.Error()
	}
	return ""
}
