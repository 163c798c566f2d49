package dump

import (
	"encoding/binary"
	"fmt"

	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/lower/td"
)

// span returns up to n bytes of the file from off on.
func (d *fileDump) span(off, n int64) []byte {
	end := min(max(off+n, off), int64(len(d.b)))
	if off < 0 || off > end {
		return nil
	}
	return d.b[off:end]
}

func (d *fileDump) rawHeaders() {
	const sizeofcmds, header = 20, 32
	n := int64(header)
	if len(d.b) >= header {
		n += int64(binary.LittleEndian.Uint32(d.b[sizeofcmds:]))
	}
	d.words(PartHeaders, "", 0, d.span(0, n))
}

// rawTasks prints the words of each task.
func (d *fileDump) rawTasks() {
	f := d.hwx.f
	if noFields(f) != "" {
		d.words(PartTasks, hwx.SegText+","+hwx.SectText, d.hwx.textOff, f.TextBytes())
		return
	}
	for _, p := range f.Procedures() {
		n, rest, words := d.walk(p, func(i int, t td.Placed) { d.rawOf(p, i, t.Off, t.Words()) })
		if rest >= 0 {
			d.rawOf(p, n, rest, words)
		}
	}
}

func (d *fileDump) rawOf(p hwx.Procedure, i, off, words int) {
	text := d.hwx.f.TextBytes()
	b := text[min(off, len(text)):]
	b = b[:min(len(b), 4*max(words, 0))]
	d.words(PartTask, fmt.Sprintf("%d of procedure %s", i, p.Name), d.hwx.textOff+int64(off), b)
}

func (d *fileDump) rawTask() {
	d.chosenTasks(func(p hwx.Procedure, i int, t td.Placed) { d.rawOf(p, i, t.Off, t.Words()) })
}

func (d *fileDump) rawConstants() {
	for _, s := range d.hwx.f.ConstantSections() {
		d.words(PartConstants, s.Title(), int64(s.Offset), s.Bytes())
	}
}

func (d *fileDump) rawSymbols() {
	for _, c := range d.hwx.f.Commands {
		if t, ok := c.(*hwx.Symtab); ok {
			symbols := d.span(int64(t.SymOff), hwx.SymbolSize*int64(len(t.Symbols)))
			d.words(PartSymbols, "table", int64(t.SymOff), symbols)
			d.words(PartSymbols, "strings", int64(t.StrOff), d.span(int64(t.StrOff), int64(t.StrSize)))
		}
	}
}

func (d *fileDump) rawRelocs() {
	for _, s := range d.hwx.f.Sections() {
		if len(s.Relocs) > 0 {
			d.words(PartRelocs, s.Title(), int64(s.RelocOff), d.span(int64(s.RelocOff),
				hwx.RelocSize*int64(len(s.Relocs))))
		}
	}
}
