package afpp

import (
	"fmt"
	"hash/crc32"
	"io"
	"text/tabwriter"

	"github.com/zinc-compiler/zinc/internal/node"
	"github.com/zinc-compiler/zinc/lower/td"
)

// Describe describes the headers of a container and of its programs and sections, and the contents of all sections
// except text and kernel.
func Describe(p *Package) (*node.Node, error) {
	n := node.Row("headers", "{+version}firmware container, {-text}, {-programs} programs\n", node.Hex(p.Version),
		versionText(p.Version), len(p.Programs))
	warnings := p.Warnings()
	n.AddIf(warnings != nil, node.Value("warnings", warnings))
	for _, s := range warnings {
		n.Add(node.Text("warning: %s\n", s))
	}
	programs := node.List("programs")
	for i, g := range p.Programs {
		x, err := g.describe(i)
		if err != nil {
			return nil, err
		}
		programs.Add(x)
	}
	return n.Add(programs), nil
}

// SectionInfo is the header of a section, and how much of the section is present.
type SectionInfo struct {
	Kind    Kind
	Version uint32
	Offset  uint64 // of the body, from the program's header
	At      int64  // of the body, in the container
	Size    uint64 // of the body
	Present uint64 // bytes of the body that are there
	Count   int
	CRC     uint32 // as the header has it
}

// Sections returns the sections of a program that was read, in the order of their kinds.
func (g *Program) Sections() ([]SectionInfo, error) {
	if g.scanned != nil {
		return g.scanned, nil
	}
	var out []SectionInfo
	for k := range kinds {
		body, n, err := kinds[k].body(g)
		if err != nil {
			return nil, err
		}
		out = append(out, SectionInfo{
			Kind:    Kind(k + 1),
			Version: g.Versions[k],
			Offset:  g.Offsets[k],
			At:      int64(g.base + g.Offsets[k]),
			Size:    uint64(len(body)),
			Present: uint64(len(body)),
			Count:   n,
			CRC:     crc32.ChecksumIEEE(body),
		})
	}
	return out, nil
}

func (g *Program) describe(i int) (*node.Node, error) {
	list, err := g.Sections()
	if err != nil {
		return nil, err
	}
	n := node.Row("", "\n{-program}, {+version}{-text}\nsection\tat\tbytes\tcount\tcrc\n", programField(i),
		node.Hex(g.Version), versionText(g.Version))
	sections := node.List("sections")
	for _, s := range list {
		x := node.Row("", "{kind}\t{+version}{offset}\t{size:#x}\t{+present}{count} {-counts}\t{crc32:08x}",
			s.Kind.String(), node.Hex(s.Version), node.Hex(s.Offset), s.Size, s.Present, s.Count,
			kinds[s.Kind-1].counts, node.Hex(s.CRC))
		x.AddIf(s.Present != s.Size, node.Text("\t%#x bytes are present", s.Present))
		sections.Add(x.Add(node.Text("\n")))
	}
	n.Add(sections)
	if g.scanned == nil || len(g.scanned) > 0 && g.scanned[0].Present == g.scanned[0].Size {
		x := &g.Generic
		n.Add(node.Row("", "\nidentity {identity:#016x}, image version {image_version}\nwindow {window_base}"+
			"{+window_size} to {-end}\ncontainer sha256 {container_sha256}\n", node.Hex(x.Identity), x.Image,
			node.Hex(x.Base), node.Hex(x.Size), node.Hex(x.Base+x.Size), fmt.Sprintf("%x", x.Container)))
	}
	procedures := node.List("procedures")
	for i := range g.Procedures {
		procedures.Add(g.procedure(&g.Procedures[i]))
	}
	return n.Add(procedures), nil
}

// DumpRecords prints the records of program i.
func DumpRecords(w io.Writer, i int, g *Program) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(tw, "%s: %d records\ntask\tgroup\tregister\tbits\toperand\tslot\tbar\n", programField(i),
		len(g.Text.Records))
	for i := range g.Text.Records {
		dumpRecord(tw, &g.Text.Records[i])
	}
	return tw.Flush()
}

func (g *Program) procedure(p *Procedure) *node.Node {
	operations, bars := node.List("operations"), node.List("bars")
	for _, o := range g.Operations[p.FirstOperation : p.FirstOperation+p.Operations] {
		operations.Add(node.Row("", "operation {name}\tclass {class} of {-classes} {class_name}\tmicro-operation "+
			"{opcode} of {-opcodes} {opcode_name}\ttasks {first_task}{+tasks} to {-last}\n", o.Name, o.Class,
			len(Classes)-1, Classes[o.Class], o.Micro, len(MicroOperations), MicroOperations[o.Micro], o.FirstTask,
			o.Tasks, o.FirstTask+o.Tasks-1))
	}
	ports := func(key, word string, list []Port) *node.Node {
		n := node.List(key)
		for _, q := range list {
			n.Add(node.Row("", word+" {name}\tbar {bar}\n", q.Name, q.Bar))
		}
		return n
	}
	for _, b := range p.Bars {
		at := node.Hex(b.Address).String()
		if b.ByCall() {
			at = "bound by the call"
		}
		bars.Add(node.Row("", "bar {id}\t{usage}\t{+address}{-at}\t{size} bytes\n", b.ID, b.Usage.String(),
			node.Hex(b.Address), at, node.Hex(b.Size)))
	}
	return node.Row("", "\nprocedure {name}\n", p.Name).Add(operations, ports("inputs", "input", p.Inputs),
		ports("outputs", "output", p.Outputs), bars)
}

func dumpRecord(w io.Writer, r *td.Record) {
	value, bar := fmt.Sprintf("%#x", r.Operand), ""
	if r.Slot != 0 {
		bar = fmt.Sprintf("%d+%#x", r.Bar, r.Offset)
		switch {
		case !r.Resolved:
			value = "open"
		case r.Offset != 0: // the second address is the buffer's
			value += fmt.Sprintf(" %#x", r.Operand-uint64(r.Offset))
		}
	}
	shift := ""
	if r.Place.Shift != 0 {
		shift = fmt.Sprintf(">>%d", r.Place.Shift)
	}
	fmt.Fprintf(w, "%d\t%s\t%#x\t[%d:%d]%s\t%s\t%s\t%s\n", r.Task, td.Groups[r.Group].Name, r.Register,
		int(r.Place.Bit)+int(r.Place.Width)-1, r.Place.Bit, shift, value, r.What(), bar)
}
