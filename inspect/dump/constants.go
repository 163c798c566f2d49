package dump

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/node"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
)

// headValues is the number of values of a constant that are printed.
const headValues = 8

// maxReaders is the number of readers of a constant that the text names.
const maxReaders = 6

// constantReader is a task that reads a constant, with the role of the constant in it.
type constantReader struct {
	Procedure string `json:"procedure"`
	Task      int    `json:"task"`
	By        string `json:"by"` // "16 lanes", "stream 0", "source 1"
}

// constant is a range of the constants with the same readers.
type constant struct {
	from, to uint64 // in the constants, with all sections in sequence; to is 0 if the reader does not state it
	form     string // of its values, as named in the field table
	decode   func(b []byte) []string
	task     *td.Task // that reads it as coefficients, nil without one
	readers  []constantReader
}

// constants prints the sections of constants and their contents.
func (d *fileDump) constants() {
	f := d.hwx.f
	if d.hwx.db == nil {
		// A debug database of this container has more detail.
		d.hwx.db, _ = d.OpenDebug(d.path, d.b)
	}
	sections := f.ConstantSections()
	tiles := map[int]int{}
	for _, y := range f.Symbols() {
		if y.Live() {
			tiles[int(y.Sect)]++
		}
	}
	number := map[*hwx.Section]int{}
	for i, s := range f.Sections() {
		number[s] = i + 1
	}
	d.title("")
	defer d.open(PartConstants, '{')()
	end := d.open("sections", '[')
	off := uint64(0)
	for _, s := range sections {
		present := len(s.Bytes())
		n := node.Row("", "constants {section}: {-bytes:#x} bytes at {address}{+offset}, byte {file_offset:#x} of "+
			"the file, {+bytes}{+present}{tiles} live kernel tiles\n", s.Title(), s.Size, node.Hex(s.Addr), off,
			s.Offset, s.Size, present, tiles[number[s]])
		n.AddIf(uint64(present) != s.Size && s.Flags&0xff != hwx.SectZero, node.Text("  %#x of the bytes are present\n",
			present))
		off += s.Size
		d.put(n)
	}
	if len(sections) == 0 && d.j == nil {
		d.printf("no section of constants is present\n")
	}
	end()
	defer d.open("parts", '[')()
	d.constantParts(newConstantSpace(sections))
}

// constantSpace describes the constants of a container, with all sections in sequence.
type constantSpace struct {
	sections []*hwx.Section
	starts   []uint64 // offset of each section's first byte
	size     uint64
	byAddr   []int // indices of sections, by engine address
}

func newConstantSpace(sections []*hwx.Section) *constantSpace {
	c := &constantSpace{sections: sections}
	for i, s := range sections {
		c.starts, c.byAddr = append(c.starts, c.size), append(c.byAddr, i)
		if c.size += s.Size; c.size < s.Size {
			c.size = math.MaxUint64 // of a corrupt file
		}
	}
	slices.SortStableFunc(c.byAddr, func(a, b int) int { return cmp.Compare(sections[a].Addr, sections[b].Addr) })
	return c
}

// at returns the offset in the constants of an engine address.
func (c *constantSpace) at(addr uint64) (uint64, bool) {
	i, found := slices.BinarySearchFunc(c.byAddr, addr, func(i int, a uint64) int {
		return cmp.Compare(c.sections[i].Addr, a)
	})
	if !found {
		i--
	}
	if i < 0 {
		return 0, false
	}
	s := c.sections[c.byAddr[i]]
	return c.starts[c.byAddr[i]] + addr - s.Addr, addr-s.Addr < s.Size
}

// bytes returns at most n bytes from off on, those that are present and in one section.
func (c *constantSpace) bytes(off uint64, n int) []byte {
	i, found := slices.BinarySearch(c.starts, off)
	if !found {
		i--
	}
	if i < 0 || i >= len(c.sections) {
		return nil
	}
	b := c.sections[i].Bytes()
	off -= c.starts[i]
	if off >= uint64(len(b)) {
		return nil
	}
	return b[off:min(off+uint64(n), uint64(len(b)))]
}

// constantParts prints the contents of the constants: as the debug database describes them, or without one as the tasks
// read them.
func (d *fileDump) constantParts(space *constantSpace) {
	list := d.readConstants(space)
	db := d.hwx.db
	if db == nil {
		for i := range list {
			c := &list[i]
			end := c.to
			if end == 0 { // to the next one
				end = space.size
				if i+1 < len(list) {
					end = list[i+1].from
				}
			}
			d.constant(space, c, c.from, end, nil)
		}
		return
	}
	next := 0
	for i := range db.Extents {
		x := &db.Extents[i]
		for next < len(list) && list[next].from < x.Offset {
			next++
		}
		c := constant{form: "read by no task of the chain", decode: decoderOf(nil)}
		for ; next < len(list) && list[next].from < x.Offset+x.Size; next++ {
			if len(c.readers) == 0 {
				c.form, c.decode, c.task = list[next].form, list[next].decode, list[next].task
			}
			c.readers = append(c.readers, list[next].readers...)
		}
		d.constant(space, &c, x.Offset, x.Offset+x.Size, x)
	}
}

// constant prints one range of constants.
func (d *fileDump) constant(space *constantSpace, c *constant, from, to uint64, x *provenance.Extent) {
	head := c.decode(space.bytes(from, int(min(to-from, 4*headValues))))
	n := node.Row("", "  {+offset}{-from:-#8x} {+bytes}{-bytes:#8x} bytes, {form}: {+readers}{+head}{-values}\n", from,
		from, to-from, to-from, c.form, append([]constantReader{}, c.readers...), head, strings.Join(head, " "))
	if count := len(c.readers); count > 0 {
		var names []string
		for _, r := range c.readers[:min(count, maxReaders)] {
			names = append(names, fmt.Sprintf("%s task %d (%s)", node.Printable(r.Procedure), r.Task, r.By))
		}
		if count > maxReaders {
			names = append(names, fmt.Sprintf("and %d more", count-maxReaders))
		}
		n.Add(node.Text("      read by %s\n", strings.Join(names, ", ")))
	}
	if c.task != nil {
		codebook(n, c.task, space.bytes(from, int(min(to-from, 1<<16))))
	}
	if x == nil {
		d.put(n)
		return
	}
	db := d.hwx.db
	var source []provenance.SourceView
	for _, role := range x.Roles() {
		for _, r := range x.Refs(role) {
			if d.j != nil {
				source = append(source, db.SourceView(r))
				continue
			}
			if role == provenance.RolePadding || role == provenance.RoleReserved {
				continue
			}
			for _, l := range db.SourceLines(db.Brief(r, briefConstant), maxReaders) {
				n.Add(node.Text("      %s %s\n", role, l))
			}
		}
	}
	n.AddIf(len(x.Roles()) > 0, node.Value("roles", x.Roles()))
	d.put(n.AddIf(source != nil, node.Value("source", source)))
}

// briefConstant is the number of nodes of the debug database that are examined for a constant.
const briefConstant = 256

// readConstants lists the constants that tasks read, by offset; tasks that read the same
// range share an entry.
func (d *fileDump) readConstants(space *constantSpace) []constant {
	f := d.hwx.f
	if len(space.sections) == 0 {
		return nil
	}
	if noFields(f) != "" {
		return namedConstants(f, space)
	}
	type key struct{ from, to uint64 }
	index, list := map[key]int{}, []constant(nil)
	add := func(p hwx.Procedure, i int, t *td.Task, bar td.Field, from, to uint64, by string, decode *td.Task,
		form string) {
		base, ok := space.at(p.Bars[t.Int(bar)])
		if !ok {
			return
		}
		k := key{base + from, base + to}
		if to == 0 {
			k.to = 0
		}
		if k.from >= space.size {
			return
		}
		k.to = min(k.to, space.size)
		n, ok := index[k]
		if !ok {
			n = len(list)
			index[k] = n
			list = append(list, constant{from: k.from, to: k.to, form: form, decode: decoderOf(decode), task: decode})
		}
		list[n].readers = append(list[n].readers, constantReader{p.Name, i, by})
	}
	for _, p := range f.Procedures() {
		d.walk(p, func(i int, t td.Placed) {
			if t.On(td.KernelOn) && t.On(td.KBE0) {
				if from, to := t.Lanes(); to > from {
					n := 0
					for range t.LaneParts() {
						n++
					}
					add(p, i, t.Task, td.KBase0, from, to, fmt.Sprintf("%d lanes", n), t.Task, formOf(t.Task))
				}
				for s := range t.StreamParts() {
					add(p, i, t.Task, td.KBase0, uint64(s.From), uint64(s.To), fmt.Sprintf("stream %d", s.Index), nil,
						"fp16")
				}
			}
			for k := range td.Streams {
				if s := &td.Streams[k]; !s.Result && s.Moved(t.Task) && t.On(s.BarValid) {
					add(p, i, t.Task, s.Bar, uint64(t.Get(s.Base)), 0, s.Name, nil, t.Word(s.MemFormat))
				}
			}
		})
	}
	slices.SortStableFunc(list, func(a, b constant) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	return list
}

// namedConstants lists the constants that live kernel tiles name, for containers whose tasks do not show the readers.
func namedConstants(f *hwx.File, space *constantSpace) (list []constant) {
	last := ""
	for _, y := range f.Symbols() {
		name, _, tile := strings.Cut(y.Name, tileMark)
		from, ok := space.at(y.Value)
		if !y.Live() || !tile || !ok || name == last {
			continue
		}
		last = name
		list = append(list, constant{from: from, form: "tiles of " + node.Printable(name), decode: decoderOf(nil)})
	}
	slices.SortStableFunc(list, func(a, b constant) int { return cmp.Compare(a.from, b.from) })
	return list
}

// tileMark separates constant and lane in the name of a kernel tile.
const tileMark = "_ne_"

// formOf returns the format of a task's coefficients, as named in the field table.
func formOf(t *td.Task) string {
	var parts []string
	if t.Multiplies() {
		parts = append(parts, t.Word(td.KernelFmt))
		for _, f := range []td.Field{td.PalettizedEn, td.SparseFmt, td.SparseBinary, td.PostScaleMode, td.NEBias} {
			if t.On(f) {
				parts = append(parts, f.Row().Doc)
			}
		}
	}
	if t.UsesTable() {
		parts = append(parts, t.Word(td.Nonlinear))
	}
	return strings.Join(parts, "; ")
}

// shownEntries is the number of entries of a codebook that the text has.
const shownEntries = 16

// codebook adds the codebook of the first core and its first indices to a node. b is the part of that core, or its
// beginning.
func codebook(n *node.Node, t *td.Task, b []byte) {
	if !t.Multiplies() || !t.On(td.PalettizedEn) {
		return
	}
	if t.UsesTable() {
		b = b[min(weights.TableBytes, len(b)):]
	}
	bits := t.Int(td.PalettizeBits)
	book := weights.NewPalette(b[:min(2<<bits, len(b))])
	b = b[min((2<<bits+weights.Granule-1)&^(weights.Granule-1), len(b)):]
	entries := []string{}
	for _, v := range book {
		entries = append(entries, strconv.FormatFloat(weights.FromFP16(v), 'g', -1, 32))
	}
	more := ""
	if k := len(entries) - shownEntries; k > 0 {
		more = fmt.Sprintf(" and %d more", k)
	}
	n.Add(node.Value("codebook", entries), node.Text("      codebook of %d: %s%s\n", len(entries),
		strings.Join(entries[:min(len(entries), shownEntries)], " "), more))
	if t.On(td.SparseBinary) {
		return // masks, no indices
	}
	lanes := 1
	if !t.On(td.UnicastEn) {
		if gs := weights.SplitOCGs(t.Int(td.Cout), 1<<min(t.Get(td.ActiveNE), 8), t.Int(td.OCGSize)); len(gs) > 0 {
			lanes = gs[0].Lanes
		}
	}
	if t.On(td.NEBias) {
		b = b[min(2*lanes, len(b)):]
	}
	first := []int{}
	for i := range headValues {
		if at := i * bits; at/8 < len(b) {
			v := int(b[at/8]) >> (at % 8)
			if at%8+bits > 8 && at/8+1 < len(b) {
				v |= int(b[at/8+1]) << (8 - at%8)
			}
			first = append(first, v&(1<<bits-1))
		}
	}
	n.Add(node.Value("indices", first), node.Text("      indices of %d bits, side by "+
		"side of %s: %s\n", bits, diag.Count(lanes, "output", "outputs"), strings.Trim(fmt.Sprint(first), "[]")))
}

// decoderOf returns the function that reads the first values of coefficients: of bytes if the task's KernelFmt is one
// of those, else nil, which means fp16, as for codebooks and biases.
func decoderOf(t *td.Task) func(b []byte) []string {
	size, value := 2, func(b []byte) string {
		return strconv.FormatFloat(weights.FromFP16(binary.LittleEndian.Uint16(b)), 'g', -1, 32)
	}
	if t != nil && t.Multiplies() && !t.On(td.PalettizedEn) && !t.On(td.PostScaleMode) && !t.On(td.NEBias) {
		switch td.KernelFormat(t.Get(td.KernelFmt)) {
		case td.KernelInt8:
			size, value = 1, func(b []byte) string { return strconv.Itoa(int(int8(b[0]))) }
		case td.KernelUint8:
			size, value = 1, func(b []byte) string { return strconv.Itoa(int(b[0])) }
		}
	}
	return func(b []byte) []string {
		out := []string{}
		for len(b) >= size && len(out) < headValues {
			out = append(out, value(b))
			b = b[size:]
		}
		return out
	}
}
