package afpp

import (
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"text/tabwriter"
)

// Dump prints a container as text.
func Dump(w io.Writer, p *Package) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(tw, "firmware container, %s, %d programs\n", versionText(p.Version), len(p.Programs))
	for _, s := range p.Warnings() {
		fmt.Fprintf(tw, "warning: %s\n", s)
	}
	for i, g := range p.Programs {
		dumpProgram(tw, i, g)
	}
	return tw.Flush()
}

func dumpProgram(w io.Writer, i int, g *Program) {
	fmt.Fprintf(w, "\n%s, %s\n", programField(i), versionText(g.Version))
	fmt.Fprintln(w, "section\tat\tbytes\tcount\tcrc")
	for k := range kinds {
		body, n := kinds[k].body(g)
		fmt.Fprintf(w, "%s\t%#x\t%#x\t%d %s\t%08x\n", kinds[k].name, g.Offsets[k], len(body), n, kinds[k].counts, crc32.ChecksumIEEE(body))
	}
	fmt.Fprintf(w, "\nidentity %#016x, image version %d\nwindow %#x to %#x\ncontainer sha256 %x\n",
		g.Generic.Identity, g.Generic.Image, g.Generic.Base, g.Generic.Base+g.Generic.Size, g.Generic.Container)
	for _, p := range g.Procedures {
		dumpProcedure(w, g, p)
	}
	fmt.Fprintf(w, "\n%d records\ntask\tgroup\tregister\tbits\toperands\tslot\tbar\n", len(g.Text.Records))
	for _, r := range g.Text.Records {
		dumpRecord(w, r)
	}
	for i, m := range g.Text.Images {
		fmt.Fprintf(w, "\nimage of task %d, crc %08x\n", i, crc32.ChecksumIEEE(m))
		dumpImage(w, m)
	}
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
		fmt.Fprintf(w, "bar %d\t%s\t%#x\t%#x bytes\n", b.ID, b.Usage, b.Address, b.Size)
	}
}

func dumpRecord(w io.Writer, r Record) {
	ops := make([]string, r.Operands)
	for k := range ops {
		ops[k] = fmt.Sprintf("%#x", r.Operand[k])
	}
	slot, bar := "value", ""
	if r.Slot != 0 {
		slot, bar = strings.TrimSpace(fmt.Sprintf("%#x %s", r.Slot, slotNames[r.Slot])), fmt.Sprintf("%d+%#x", r.Bar, int(r.BarOffset)*Align)
	}
	shift := ""
	if r.Shift != 0 {
		shift = fmt.Sprintf(">>%d", r.Shift)
	}
	fmt.Fprintf(w, "%d\t%s\t%#x\t[%d:%d]%s\t%s\t%s\t%s\n", r.Task, Groups[r.Group].Name, r.Register,
		int(r.BitOffset)+int(r.BitWidth)-1, r.BitOffset, shift, strings.Join(ops, " "), slot, bar)
}

// dumpImage prints the words of an image that are not zero, group by group.
func dumpImage(w io.Writer, m []byte) {
	for _, g := range Groups {
		for i := range g.Words {
			if v := word(m, g.Image+4*i); v != 0 {
				fmt.Fprintf(w, "%s\t%#04x\t%#08x\n", g.Name, g.Register+4*i, v)
			}
		}
	}
}

func word(m []byte, at uint32) uint32 {
	return uint32(m[at]) | uint32(m[at+1])<<8 | uint32(m[at+2])<<16 | uint32(m[at+3])<<24
}
