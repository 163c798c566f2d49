package dump

import (
	"fmt"
	"strings"

	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/internal/node"
)

// descriptorParts are the parts of a dispatch descriptor.
var descriptorParts = []filePart{
	{name: PartHeaders, print: (*fileDump).descriptorHeaders, raw: (*fileDump).rawFile, always: false},
	{name: PartConstants, print: (*fileDump).descriptorConstants, raw: (*fileDump).rawDescriptorConstants,
		always: false},
	{name: PartSymbols, print: (*fileDump).descriptorSymbols, raw: (*fileDump).rawFile, always: false},
	{name: PartE5, print: (*fileDump).descriptorWhole, raw: (*fileDump).rawFile, always: true},
}

// descriptorState is a descriptor, whole or cut.
type descriptorState struct {
	p     *e5.Program // nil if Read refuses it
	found []e5.Part   // the values that were found
	rest  []e5.Range  // bytes in which no value was found
	b     []byte
}

// readDescriptor reads a descriptor and notes its faults.
func (d *fileDump) readDescriptor(name string, b []byte) *descriptorState {
	p, err := e5.Read(b)
	if err == nil {
		return &descriptorState{p: p}
	}
	x := e5.Scan(b)
	if len(x.Faults) == 0 {
		d.fault(wrapFile(d, name, err))
	}
	for _, e := range x.Faults {
		d.fault(wrapFile(d, name, e))
	}
	return &descriptorState{found: x.Parts, rest: x.Rest, b: b}
}

// wrapFile adds the file to a fault if it is not the one that is printed.
func wrapFile(d *fileDump, name string, err error) error {
	if name == d.path {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// descriptor prints a dispatch descriptor.
func (c *printer) descriptor(path string, b []byte) error {
	return c.dump(path, b, "descriptor", "a dispatch descriptor", descriptorParts, func(d *fileDump) bool {
		d.e5 = d.readDescriptor(path, b)
		return d.e5.p != nil || len(d.e5.found) > 0
	})
}

// found prints the values of a truncated descriptor whose paths are requested.
func (d *fileDump) found(s *descriptorState, part string, wanted func(path string) bool) {
	d.title("found in the descriptor: %s\n", part)
	defer d.open(part, '{')()
	defer d.open("found", '[')()
	for i := range s.found {
		x := &s.found[i]
		if !wanted(x.Path) {
			continue
		}
		n := node.Row("", "  {offset:-#8x}  {path} = {value}", x.Off, x.Path, x.Value)
		n.AddIf(x.Bytes > 0, node.Value("bytes", x.Bytes))
		n.AddIf(x.Assumed, node.Row("", " (layout assumed){+assumed}", true))
		d.put(n.Add(node.Text("\n")))
	}
}

func (d *fileDump) descriptorHeaders() {
	if d.e5.p == nil {
		d.found(d.e5, PartHeaders, func(path string) bool {
			return !strings.HasPrefix(path, "symbol_names") && !strings.Contains(path, ".data")
		})
		return
	}
	d.show(e5.DescribeHeaders(d.e5.p))
}

func (d *fileDump) descriptorSymbols() {
	if d.e5.p == nil {
		d.found(d.e5, PartSymbols, func(path string) bool { return strings.HasPrefix(path, "symbol_names") })
		return
	}
	d.show(e5.DescribeSymbols(d.e5.p))
}

// headBytes are the first bytes of a constant whose type is not known here.
func headBytes(b []byte) string { return fmt.Sprintf("%x", b[:min(len(b), 2*headValues)]) }

// hostConstants calls visit for each constant of the segments that run on the CPU.
func hostConstants(p *e5.Program, visit func(f *e5.Function, op *e5.Operation, c *e5.Constant)) {
	for i := range p.Functions {
		f := &p.Functions[i]
		for k := range f.Blocks {
			for n := range f.Blocks[k].Operations {
				op := &f.Blocks[k].Operations[n]
				a, ok := op.Attrs.(*e5.CpuInferenceAttrs)
				for m := 0; ok && m < len(a.Constants); m++ {
					visit(f, op, &a.Constants[m])
				}
			}
		}
	}
}

func (d *fileDump) descriptorConstants() {
	p := d.e5.p
	if p == nil {
		constant := map[string]bool{}
		constantSections(d.e5.found, func(_ string, x *e5.Part) {
			constant[strings.TrimSuffix(x.Path, ".data")] = true
		})
		d.found(d.e5, PartConstants, func(path string) bool {
			s, _, ok := strings.Cut(path, ".")
			return ok && constant[s]
		})
		return
	}
	defer d.list(PartConstants)()
	found := false
	hostConstants(p, func(f *e5.Function, op *e5.Operation, c *e5.Constant) {
		found = true
		d.put(node.Row("", "{+function}{+operation}constant {name:q} of {-op:q} in function {-fn:q}: {bytes} "+
			"bytes, the first {head}\n", f.Name, op.Name, c.Name, op.Name, f.Name, len(c.Data), headBytes(c.Data)))
	})
	if !found && d.j == nil {
		d.printf("no constants: the operations on the CPU have none\n")
	}
}

// constantSections calls visit for each section of the descriptor with a constant, with its quoted name and the entry
// of its bytes.
func constantSections(found []e5.Part, visit func(name string, x *e5.Part)) {
	name, constant := "", ""
	for i := range found {
		x := &found[i]
		switch section, field, _ := strings.Cut(x.Path, "."); field {
		case "name":
			name = x.Value
		case "kind":
			if strings.HasSuffix(x.Value, "(constant)") {
				constant = section
			}
		case "data":
			if section == constant {
				visit(name, x)
			}
		}
	}
}

func (d *fileDump) rawDescriptorConstants() {
	found := d.e5.found
	if found == nil {
		found = e5.Scan(d.b).Parts
	}
	const length = 4 // before the bytes
	constantSections(found, func(name string, x *e5.Part) {
		d.words(PartConstants, name, int64(x.Off)+length, d.span(int64(x.Off)+length, int64(x.Bytes)))
	})
}

func (d *fileDump) descriptorWhole() { d.descriptorText(d.e5) }

func (d *fileDump) descriptorText(s *descriptorState) {
	if s.p == nil {
		d.found(s, PartE5, func(string) bool { return true })
		d.restOf(s)
		return
	}
	d.show(e5.Describe(s.p))
}

// rawFile prints the words of the whole file, once: the parts of a descriptor are interleaved.
func (d *fileDump) rawFile() {
	if d.printed {
		return
	}
	d.printed = true
	d.words("file", "", 0, d.b)
}

// restOf prints the words of a truncated descriptor in which nothing was found, because what refers to them or defines
// their meaning is missing.
func (d *fileDump) restOf(s *descriptorState) {
	defer d.open("undecoded", '[')()
	for _, r := range s.rest {
		d.words("not decoded", "", int64(r.Off), s.b[r.Off:r.Off+r.Bytes])
	}
}
