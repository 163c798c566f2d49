package afpp

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"text/tabwriter"

	"github.com/zinc-compiler/zinc/lower/td"
)

// Dump prints a container as text.
func Dump(w io.Writer, p *Package) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
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

func dumpProgram(w io.Writer, i int, g *Program) error {
	fmt.Fprintf(w, "\n%s, %s\n", programField(i), versionText(g.Version))
	fmt.Fprintln(w, "section\tat\tbytes\tcount\tcrc")
	for k := range kinds {
		body, n, err := kinds[k].body(g)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\t%#x\t%#x\t%d %s\t%08x\n", kinds[k].name, g.Offsets[k], len(body), n, kinds[k].counts, crc32.ChecksumIEEE(body))
	}
	fmt.Fprintf(w, "\nidentity %#016x, image version %d\nwindow %#x to %#x\ncontainer sha256 %x\n",
		g.Generic.Identity, g.Generic.Image, g.Generic.Base, g.Generic.Base+g.Generic.Size, g.Generic.Container)
	for _, p := range g.Procedures {
		dumpProcedure(w, g, p)
	}
	fmt.Fprintf(w, "\n%d records\ntask\tgroup\tregister\tbits\toperand\tslot\tbar\n", len(g.Text.Records))
	for i := range g.Text.Records {
		dumpRecord(w, &g.Text.Records[i])
	}
	for i, m := range g.Text.Images {
		fmt.Fprintf(w, "\nimage of task %d, crc %08x\n", i, crc32.ChecksumIEEE(m))
		dumpImage(w, m)
	}
	return nil
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

// dumpImage prints the words of an image that are not zero, group by group.
func dumpImage(w io.Writer, m []byte) {
	eachWord(m, func(g *td.Group, at int, v uint32) {
		if g == td.HeaderV10 {
			fmt.Fprintf(w, "%s\tword %d\t%#08x\n", g.Name, at, v)
			return
		}
		fmt.Fprintf(w, "%s\t%#04x\t%#08x\n", g.Name, int(g.Base)+4*at, v)
	})
}

// eachWord calls do for each word of an image that is not zero, with its group
// and its index there.
func eachWord(m []byte, do func(g *td.Group, at int, v uint32)) {
	for _, g := range append([]*td.Group{td.HeaderV10}, td.Groups...) {
		for i := range g.Words {
			if v := binary.LittleEndian.Uint32(m[g.Image+4*i:]); v != 0 {
				do(g, i, v)
			}
		}
	}
}
