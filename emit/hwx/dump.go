package hwx

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"
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

// DumpHeaders prints the container: the header, every command with its offset, the numbers of symbols and relocations,
// and the bytes that belong to no part. Addresses, offsets and sizes are hexadecimal.
func DumpHeaders(w io.Writer, f *File) error {
	at, size, err := f.offsets()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	d := dumper{out}
	h := f.Header
	d.line("container: %#x bytes, %d commands", f.Size, len(f.Commands))
	d.line("header: cputype %#x, cpusubtype %d, filetype %d, flags %#x", h.CPUType, h.CPUSubtype, h.FileType, h.Flags)
	section := 0
	for i, c := range f.Commands {
		title := fmt.Sprintf("%#06x +%#x", at[i], size[i])
		switch c := c.(type) {
		case *Segment:
			section = d.segment(title, c, section)
		case *Port:
			d.line("%s port %q at %#x", title, c.Name, c.Addr)
			d.extra("tail", c.Tail)
		case *Program:
			d.program(title, c)
		case *Tensor:
			d.tensor(title, c)
		case *Ident:
			d.line("%s banner", title)
			for _, l := range strings.Split(strings.TrimSuffix(c.Text, "\n"), "\n") {
				d.line("    | %s", printable(l))
			}
			d.extra("tail", c.Tail)
		case *Symtab:
			d.line("%s symbols: %d at %#x, strings at %#x, %#x bytes", title, len(c.Symbols), c.SymOff, c.StrOff,
				c.StrSize)
			d.extra("strings kept", c.Strings)
			d.extra("tail", c.Tail)
		case *Raw:
			what := "not known"
			if commandNames[c.Cmd] != "" {
				what = commandNames[c.Cmd] + ", not decoded"
			}
			d.line("%s command %#x, %s, %d bytes", title, c.Cmd, what, len(c.Data))
		}
	}
	for _, g := range f.Gaps {
		d.line("%#06x +%#x bytes outside every part", g.Off, len(g.Data))
	}
	return out.Flush()
}

// commandNames contains the names of the load commands that this package knows.
var commandNames = map[uint32]string{
	CmdSymtab: "symbol table", CmdThread: "program or tensor", CmdPort: "port", CmdIdent: "banner",
	CmdSegment: "segment",
}

// DumpSymbols prints the entries of the symbol table, one line each.
func DumpSymbols(w io.Writer, f *File) error {
	out := bufio.NewWriter(w)
	d := dumper{out}
	each(f, func(t *Symtab) { d.line("symbols: %d at %#x, strings at %#x", len(t.Symbols), t.SymOff, t.StrOff) })
	i := 0
	for v := range f.SymbolViews() {
		at := v.Kind
		if v.SectionName != "" {
			at += " " + v.SectionName
		}
		if v.Live {
			at += ", live"
		}
		d.line("%5d  type 0x%02x  desc %-4s  value %-10s  %q  %s", i, uint64(v.Type), fmt.Sprintf("%#x", v.Desc),
			fmt.Sprintf("%#x", uint64(v.Value)), v.Name, at)
		i++
	}
	return out.Flush()
}

type dumper struct{ w *bufio.Writer }

// line prints one line; a write error stays in the buffered writer.
func (d dumper) line(format string, args ...any) { fmt.Fprintf(d.w, format+"\n", args...) }

func (d dumper) extra(what string, b []byte) {
	if len(b) > 0 {
		d.line("    %s: %d bytes off the rule", what, len(b))
	}
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

// segment prints s, whose sections are numbered after n, and returns the last number.
func (d dumper) segment(title string, s *Segment, n int) int {
	d.line("%s segment %s %#x+%#x file %#x+%#x prot %s/%s flags %#x", title, printable(s.Name.String()), s.VMAddr,
		s.VMSize, s.FileOff, s.FileSize,
		protection(s.InitProt), protection(s.MaxProt), s.Flags)
	for _, c := range s.Sections {
		n++
		d.line("    section %d %s,%s %#x+%#x file %#x align 2^%d flags %#x", n, printable(c.Segment.String()),
			printable(c.Name.String()), c.Addr, c.Size, c.Offset, c.Align, c.Flags)
		if n := c.Present(); c.Parts != nil && n != c.Size {
			d.line("        %#x of %#x bytes are present", n, c.Size)
		}
		if len(c.Relocs) > 0 {
			d.line("        %d relocations at %#x", len(c.Relocs), c.RelocOff)
		}
	}
	d.extra("tail", s.Tail)
	return n
}

func (d dumper) program(title string, p *Program) {
	what := "program"
	if p.Flavor != FlavorProgram {
		what = "procedure"
	}
	d.line("%s %s %q entry %#x first task %d words, %d tasks, %#x words of state", title, what, p.Name, p.Entry,
		p.FirstWords(), p.Tasks, minProgWords+len(p.Unknown840))
	for i, a := range p.Bars {
		if a != 0 {
			d.line("    bar %d = %#x", i, a)
		}
	}
	d.line("    not known: +820 %#x, +824 %#x, +828 %x, +840 %x", p.Unknown820, p.Mask, p.Unknown828, p.Unknown840)
	d.extra("tail", p.Tail)
}

// bindingNames names the bindings of a tensor.
var bindingNames = map[uint32]string{BindInput: "input", BindOutput: "output"}

func bindingName(b uint32) string {
	if s, ok := bindingNames[b]; ok {
		return s
	}
	return fmt.Sprintf("binding %d", b)
}

func (d dumper) tensor(title string, t *Tensor) {
	d.line("%s tensor %q %s of %q", title, t.Name, bindingName(t.Binding), t.Procedure)
	d.line("    element %d, n c h w %v, depth %d, strides %v, batch %d, span %d", t.Element, t.Dims, t.Depth, t.Strides,
		t.BatchBytes, t.Span)
	d.line("    not known: +10 %#x, +1c %#x, +3c %x, +78 %#x, more %x", t.Unknown10, t.Unknown1C, t.Unknown3C,
		t.Unknown78, t.More)
	if t.Name2 != t.Name {
		d.line("    second name %q", t.Name2)
	}
	d.extra("tail", t.Tail)
}

// printable keeps control bytes of a hostile file off the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}
