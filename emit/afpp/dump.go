package afpp

import (
	"fmt"
	"hash/crc32"
	"io"
	"text/tabwriter"

	"github.com/zinc-compiler/zinc/lower/td"
)

func newTable(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 8, 2, ' ', 0) }

// DumpHeaders prints the headers of a container and of its programs and sections, and the contents of all sections
// except text and kernel.
func DumpHeaders(w io.Writer, p *Package) error {
	tw := newTable(w)
	fmt.Fprintf(tw, "firmware container, %s, %d programs\n", versionText(p.Version), len(p.Programs))
	for _, s := range p.Warnings() {
		fmt.Fprintf(tw, "warning: %s\n", s)
	}
	for i, g := range p.Programs {
		if err := dumpProgram(tw, i, g); err != nil {
			return err
		}
	}
	return tw.Flush()
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

func dumpProgram(w io.Writer, i int, g *Program) error {
	fmt.Fprintf(w, "\n%s, %s\n", programField(i), versionText(g.Version))
	fmt.Fprintln(w, "section\tat\tbytes\tcount\tcrc")
	list, err := g.Sections()
	if err != nil {
		return err
	}
	for _, s := range list {
		fmt.Fprintf(w, "%s\t%#x\t%#x\t%d %s\t%08x", s.Kind, s.Offset, s.Size, s.Count, kinds[s.Kind-1].counts, s.CRC)
		if s.Present != s.Size {
			fmt.Fprintf(w, "\t%#x bytes are present", s.Present)
		}
		fmt.Fprintln(w)
	}
	if g.scanned == nil || len(g.scanned) > 0 && g.scanned[0].Present == g.scanned[0].Size {
		fmt.Fprintf(w, "\nidentity %#016x, image version %d\nwindow %#x to %#x\ncontainer sha256 %x\n",
			g.Generic.Identity, g.Generic.Image, g.Generic.Base, g.Generic.Base+g.Generic.Size, g.Generic.Container)
	}
	for _, p := range g.Procedures {
		dumpProcedure(w, g, p)
	}
	return nil
}

// DumpRecords prints the records of program i.
func DumpRecords(w io.Writer, i int, g *Program) error {
	tw := newTable(w)
	fmt.Fprintf(tw, "%s: %d records\ntask\tgroup\tregister\tbits\toperand\tslot\tbar\n", programField(i),
		len(g.Text.Records))
	for i := range g.Text.Records {
		dumpRecord(tw, &g.Text.Records[i])
	}
	return tw.Flush()
}

func dumpProcedure(w io.Writer, g *Program, p Procedure) {
	fmt.Fprintf(w, "\nprocedure %s\n", p.Name)
	for _, o := range g.Operations[p.FirstOperation : p.FirstOperation+p.Operations] {
		fmt.Fprintf(w, "operation %s\tclass %d\ttasks %d to %d\n", o.Name, o.Class, o.FirstTask, o.FirstTask+o.Tasks-1)
	}
	for _, q := range p.Inputs {
		fmt.Fprintf(w, "input %s\tbar %d\n", q.Name, q.Bar)
	}
	for _, q := range p.Outputs {
		fmt.Fprintf(w, "output %s\tbar %d\n", q.Name, q.Bar)
	}
	for _, b := range p.Bars {
		at := fmt.Sprintf("%#x", b.Address)
		if b.ByCall() {
			at = "bound by the call"
		}
		fmt.Fprintf(w, "bar %d\t%s\t%s\t%#x bytes\n", b.ID, b.Usage, at, b.Size)
	}
}

func dumpRecord(w io.Writer, r *td.Record) {
	value, slot, bar := fmt.Sprintf("%#x", r.Operand), "value", ""
	if r.Slot != 0 {
		slot, bar = r.Slot.String(), fmt.Sprintf("%d+%#x", r.Bar, r.Offset)
		if !r.Resolved {
			value = "open"
		}
	}
	shift := ""
	if r.Place.Shift != 0 {
		shift = fmt.Sprintf(">>%d", r.Place.Shift)
	}
	fmt.Fprintf(w, "%d\t%s\t%#x\t[%d:%d]%s\t%s\t%s\t%s\n", r.Task, td.Groups[r.Group].Name, r.Register,
		int(r.Place.Bit)+int(r.Place.Width)-1, r.Place.Bit, shift, value, slot, bar)
}
