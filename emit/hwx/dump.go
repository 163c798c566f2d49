package hwx

import (
	"fmt"
	"iter"
	"strings"

	"github.com/zinc-compiler/zinc/internal/node"
)

// offsets returns the byte offset and size of every load command.
func (f *File) offsets() (at, size []int64, err error) {
	off := int64(headerSize)
	for _, c := range f.Commands {
		b, err := encodeCommand(nil, c)
		if err != nil {
			return nil, nil, err
		}
		at, size = append(at, off), append(size, int64(len(b)))
		off += int64(len(b))
	}
	return at, size, nil
}

// Describe describes the container: the header, every command with its offset, the numbers of symbols and relocations,
// and the bytes that belong to no part. Addresses, offsets and sizes are hexadecimal.
func Describe(f *File) (*node.Node, error) {
	at, size, err := f.offsets()
	if err != nil {
		return nil, err
	}
	h := &f.Header
	n := node.Row("headers", "container: {size:#x} bytes, {-commands} commands\n", f.Size, len(f.Commands))
	n.Add(node.Row("header", "header: {+magic}cputype {cputype}, cpusubtype {cpusubtype}, filetype {filetype}, flags "+
		"{flags}\n", node.Hex(Magic), node.Hex(h.CPUType), h.CPUSubtype, h.FileType, node.Hex(h.Flags)))
	commands, gaps, section := node.List("commands"), node.List("gaps"), 0
	for i, c := range f.Commands {
		x := node.Row("", "{+cmd}{offset:#06x} +{size:#x} ", node.Hex(c.Kind()), node.Hex(at[i]), size[i])
		switch c := c.(type) {
		case *Segment:
			x.Add(c.describe(section))
			section += len(c.Sections)
		case *Port:
			x.Add(node.Row("port", "port {name:q} at {addr}\n", c.Name, node.Hex(c.Addr)), extra("tail", c.Tail))
		case *Program:
			x.Add(c.describe())
		case *Tensor:
			x.Add(c.describe())
		case *Ident:
			lines := strings.Split(strings.TrimSuffix(c.Text, "\n"), "\n")
			x.Add(node.Row("", "banner\n{+banner}", lines))
			for _, l := range lines {
				x.Add(node.Row("", "    | {-line}\n", l))
			}
			x.Add(extra("tail", c.Tail))
		case *Symtab:
			x.Add(node.Row("", "symbols: {num_symbols} at {-at:#x}, strings at {-strings:#x}, {-bytes:#x} bytes\n",
				len(c.Symbols), c.SymOff, c.StrOff, c.StrSize), extra("strings kept", c.Strings), extra("tail", c.Tail))
		case *Raw:
			what := "not known"
			if commandNames[c.Cmd] != "" {
				what = commandNames[c.Cmd] + ", not decoded"
			}
			x.Add(node.Row("", "command {-cmd:#x}, {-what}, {raw_bytes} bytes\n", c.Cmd, what, len(c.Data)))
		}
		commands.Add(x)
	}
	for _, g := range f.Gaps {
		gaps.Add(node.Row("", "{offset:#06x} +{size:#x} bytes outside every part\n", node.Hex(g.Off), len(g.Data)))
	}
	return n.Add(commands).AddIf(f.Gaps != nil, gaps), nil
}

// commandNames contains the names of the load commands that this package knows.
var commandNames = map[uint32]string{
	CmdSymtab: "symbol table", CmdThread: "program or tensor", CmdPort: "port", CmdIdent: "banner",
	CmdSegment: "segment",
}

// extra says that a command has more bytes than its rule.
func extra(what string, b []byte) *node.Node {
	if len(b) == 0 {
		return node.Text("")
	}
	return node.Text("    %s: %d bytes off the rule\n", what, len(b))
}

// protection spells r, w, x for the bits set.
func protection(p uint32) string {
	b := []byte("---")
	for i, c := range "rwx" {
		if p>>i&1 == 1 {
			b[i] = byte(c)
		}
	}
	if p > 7 {
		return fmt.Sprintf("%s(%#x)", b, p)
	}
	return string(b)
}

// describe describes s, whose sections are numbered after n.
func (s *Segment) describe(n int) *node.Node {
	x := node.Row("segment", "segment {name} {vmaddr}+{vmsize} file {fileoff}+{filesize} prot {prot}/{-max} flags "+
		"{flags}\n", s.Name.String(), node.Hex(s.VMAddr), node.Hex(s.VMSize), node.Hex(s.FileOff), node.Hex(s.FileSize),
		protection(s.InitProt), protection(s.MaxProt), node.Hex(s.Flags))
	sections := node.List("sections")
	for i, c := range s.Sections {
		q := node.Row("", "    section {-n} {-segment},{name} {addr}+{size} file {offset} align 2^{align} flags "+
			"{flags}{+num_relocs}\n", n+i+1, c.Segment.String(), c.Name.String(), node.Hex(c.Addr), node.Hex(c.Size),
			node.Hex(c.Offset), c.Align, node.Hex(c.Flags), len(c.Relocs))
		if n := c.Present(); c.Parts != nil && n != c.Size {
			q.Add(node.Row("", "        {present:#x} of {-size:#x} bytes are present\n", n, c.Size))
		}
		q.AddIf(len(c.Relocs) > 0, node.Text("        %d relocations at %#x\n", len(c.Relocs), c.RelocOff))
		sections.Add(q)
	}
	return x.Add(sections, extra("tail", s.Tail))
}

func (p *Program) describe() *node.Node {
	what := "program"
	if !p.Main() {
		what = "procedure"
	}
	bars, step := node.Object("bars"), p.barWords()
	for i, a := range p.Bars {
		if a != 0 && i%step == 0 {
			bars.Add(node.Text("    bar %d = %#x\n", i/step, a), node.Value(fmt.Sprint(i/step), node.Hex(a)))
		}
	}
	if p.Packed != nil {
		n := node.Row("program", "{-what} {name:q}{+flavor} stream at {entry}, {stream_words} words, {tasks} tasks, "+
			"{-state:#x} words of state\n", what, p.Name, p.Flavor, node.Hex(p.Entry), p.Packed.words(), p.Tasks,
			(progFirst-stateOff)/4+len(p.Packed))
		return p.Packed.describe(n.Add(bars)).Add(extra("tail", p.Tail))
	}
	return node.Row("program", "{-what} {name:q}{+flavor} entry {entry} first task {first_words} words, {tasks} "+
		"tasks, {-state:#x} words of state\n", what, p.Name, p.Flavor, node.Hex(p.Entry), p.FirstWords(), p.Tasks,
		minProgWords+len(p.Unknown840)).Add(bars, node.Value("unknown_840", p.Unknown840),
		node.Text("    not known: +820 %#x, +824 %#x, +828 %x, +840 %x\n", p.Unknown820, p.Mask, p.Unknown828,
			p.Unknown840), extra("tail", p.Tail))
}

// bindingNames names the bindings of a tensor.
var bindingNames = map[uint32]string{BindInput: "input", BindOutput: "output"}

func bindingName(b uint32) string {
	if s, ok := bindingNames[b]; ok {
		return s
	}
	return fmt.Sprintf("binding %d", b)
}

func (t *Tensor) describe() *node.Node {
	n := node.Row("tensor", "tensor {name:q}{+procedure} {binding} of {-procedure:q}\n    element {element}, n c h w "+
		"{dims}, depth {-depth}, strides {strides}, batch {batch_bytes}, span {span}\n", t.Name, t.Procedure,
		bindingName(t.Binding), t.Procedure, t.Element, t.Dims, t.Depth, t.Strides, t.BatchBytes, t.Span)
	n.Add(node.Text("    not known: +10 %#x, +1c %#x, +3c %x, +78 %#x, more %x\n", t.Unknown10, t.Unknown1C,
		t.Unknown3C, t.Unknown78, t.More))
	n.AddIf(t.Name2 != t.Name, node.Text("    second name %q\n", t.Name2))
	return n.Add(extra("tail", t.Tail))
}

// symbolKinds names the types of symbols.
var symbolKinds = map[uint8]string{
	SymSection:  "section",
	SymShape:    "shape",
	SymType:     "element type",
	symAbsolute: "absolute",
}

// Live reports whether the symbol is that of a kernel tile or an input.
func (s *Symbol) Live() bool { return s.Type == SymSection && s.Desc == DescLive }

// DescribeSymbols returns a line for each symbol table, and then an entry for each symbol.
func (f *File) DescribeSymbols() iter.Seq[*node.Node] {
	sections := f.Sections()
	return func(yield func(*node.Node) bool) {
		for _, t := range all[*Symtab](f) {
			if !yield(node.Text("symbols: %d at %#x, strings at %#x\n", len(t.Symbols), t.SymOff, t.StrOff)) {
				return
			}
		}
		for i, s := range f.Symbols() {
			kind, ok := symbolKinds[s.Type]
			if !ok {
				kind = fmt.Sprintf("type %#x", s.Type)
			}
			n := node.Row("", "{-i:5d}  {+name}type 0x{type:02x}  {+section}desc {desc:-#4x}  value {value:-#10x}  "+
				"{-name:q}  {kind}", i, s.Name, node.Hex(s.Type), s.Sect, s.Desc, node.Hex(s.Value), s.Name, kind)
			if s.Sect > 0 && int(s.Sect) <= len(sections) {
				n.Add(node.Row("", " {section_name}", sections[s.Sect-1].Title()))
			}
			n.AddIf(s.Live(), node.Row("", ", live{+live}", true))
			if !yield(n.Add(node.Text("\n"))) {
				return
			}
		}
	}
}

// Title returns segment and name of a section, for display.
func (s *Section) Title() string { return node.Printable(s.Segment.String() + "," + s.Name.String()) }
