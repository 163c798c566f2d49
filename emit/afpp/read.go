package afpp

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/zinc-compiler/zinc/lower/td"
)

// IsPackage reports whether b begins like a firmware container.
func IsPackage(b []byte) bool {
	return len(b) >= 4 && binary.LittleEndian.Uint32(b) == MagicPackage
}

// Read returns the typed form of a container, which shares the bytes of b. An
// error is a *FormatError.
func Read(b []byte) (*Package, error) {
	h, err := readHeader(b, 0, MagicPackage, "package")
	if err != nil {
		return nil, err
	}
	switch {
	case h.size != uint64(len(b)):
		return nil, &FormatError{
			Off:   12,
			Field: "package.size",
			Rule:  "must be the length of the container",
			Val:   h.size,
			Limit: uint64(len(b)),
		}
	case h.count < 1 || h.count > MaxPrograms:
		return nil, &FormatError{
			Off:   8,
			Field: "package.count",
			Rule:  "a package has at least one program and no more than the firmware has slots",
			Val:   int64(h.count),
			Limit: MaxPrograms,
		}
	}
	p := &Package{Version: h.version}
	at := uint64(HeaderSize)
	for i := range int(h.count) {
		field := programField(i)
		next := alignUp(at)
		if next > uint64(len(b)) {
			return nil, &FormatError{
				Off:   int64(at),
				Field: field,
				Rule:  "the container is truncated before it",
				Val:   uint64(len(b)),
				Limit: next,
			}
		}
		if err := zeros(b, at, next, field+".padding before"); err != nil {
			return nil, err
		}
		r := &programReader{b: b, base: next, field: field, p: &Program{base: next}}
		if at, err = r.read(); err != nil {
			return nil, err
		}
		p.Programs = append(p.Programs, r.p)
	}
	if at != uint64(len(b)) {
		return nil, &FormatError{
			Off:   int64(at),
			Field: "package",
			Rule:  "bytes after the last program",
			Val:   uint64(len(b)) - at,
			Limit: uint64(0),
		}
	}
	return p, nil
}

// header is what every header begins with.
type header struct {
	version, count uint32
	size           uint64
}

// readHeader reads the first words of a header.
func readHeader(b []byte, at uint64, magic uint32, field string) (header, error) {
	if at > uint64(len(b)) || uint64(len(b))-at < HeaderSize {
		return header{}, &FormatError{
			Off:   int64(at),
			Field: field,
			Rule:  "the container is truncated inside the header",
			Val:   len(b) - int(at),
			Limit: HeaderSize,
		}
	}
	le := binary.LittleEndian
	b = b[at:]
	if v := le.Uint32(b); v != magic {
		return header{}, &FormatError{
			Off:   int64(at),
			Field: field + ".magic",
			Rule:  "not the magic number of this level",
			Val:   v,
			Limit: magic,
		}
	}
	v := le.Uint32(b[4:])
	if v>>16 != Version>>16 {
		return header{}, &FormatError{
			Off:   int64(at) + 4,
			Field: field + ".version",
			Rule:  "this major version is unknown; pack the program again",
			Val:   versionText(v),
			Limit: versionText(Version),
		}
	}
	return header{v, le.Uint32(b[8:]), uint64(le.Uint32(b[12:]))}, nil
}

// sectionHeader is a section's header.
type sectionHeader struct {
	header
	kind         uint32
	offset, body uint64 // place and size of the body
	crc          uint32
}

// readSectionHeader reads a section's header, whose bytes are known to be present.
func readSectionHeader(b []byte, at uint64, field string) (sectionHeader, error) {
	h, err := readHeader(b, at, MagicSection, field)
	if err != nil {
		return sectionHeader{}, err
	}
	le, b := binary.LittleEndian, b[at:]
	return sectionHeader{
		header: h,
		kind:   le.Uint32(b[0x10:]),
		offset: le.Uint64(b[0x14:]),
		body:   le.Uint64(b[0x1c:]),
		crc:    le.Uint32(b[0x24:]),
	}, nil
}

// zeros checks padding.
func zeros(b []byte, from, to uint64, field string) error {
	for i := from; i < to; i++ {
		if b[i] != 0 {
			return &FormatError{Off: int64(i), Field: field, Rule: "must be zero", Val: b[i], Limit: uint8(0)}
		}
	}
	return nil
}

// programReader reads one program. The indices from table to table are checked
// as the sections, which are in order, are read.
type programReader struct {
	b     []byte // the container
	base  uint64 // of the program in it
	size  uint64
	field string
	p     *Program

	tasks, operationCount, procedureCount int    // as generic says
	kernelSize                            uint64 // bytes of coefficients, as the section's header says
	records                               int64  // where the first record is in the container
}

// span is a body's position, from the program's header.
type span struct {
	kind     int
	from, to uint64
}

// read returns where the program ends in the container.
func (r *programReader) read() (uint64, error) {
	h, err := readHeader(r.b, r.base, MagicProgram, r.field)
	if err != nil {
		return 0, err
	}
	r.size, r.p.Version = h.size, h.version
	switch {
	case h.count != NumKinds:
		return 0, r.fault(8, "count", "a program has one section of each kind", int64(h.count), NumKinds)
	case h.size < bodiesAt:
		return 0, r.fault(12, "size", "the headers do not fit", h.size, uint64(bodiesAt))
	case h.size > uint64(len(r.b))-r.base:
		return 0, r.fault(12, "size", "extends past the end of the container", h.size, uint64(len(r.b))-r.base)
	}
	var spans []span
	var cursors [NumKinds]*cursor
	var counts [NumKinds]int
	for k := range kinds {
		s, c, n, err := r.section(k)
		if err != nil {
			return 0, err
		}
		spans, cursors[k], counts[k] = append(spans, s), c, n
	}
	if err := r.layout(spans); err != nil {
		return 0, err
	}
	for k := range kinds {
		kinds[k].read(r, cursors[k], counts[k])
		cursors[k].done()
		if err := cursors[k].err; err != nil {
			return 0, err
		}
	}
	if err := r.bind(); err != nil {
		return 0, err
	}
	return r.base + r.size, nil
}

// fault is an error at an offset from the program's header.
func (r *programReader) fault(at uint64, field, rule string, val, limit any) error {
	return &FormatError{Off: int64(r.base + at), Field: r.field + "." + field, Rule: rule, Val: val, Limit: limit}
}

// section reads the header of section k and returns its body.
func (r *programReader) section(k int) (span, *cursor, int, error) {
	at := uint64(HeaderSize + k*SectionHeaderSize)
	name := kinds[k].name
	h, err := readSectionHeader(r.b, r.base+at, r.field+"."+name)
	if err != nil {
		return span{}, nil, 0, err
	}
	off, size := h.offset, h.body
	switch {
	case h.kind != uint32(k+1):
		err = r.fault(at+0x10, name+".kind", "sections must be in the order of their kinds", h.kind, uint32(k+1))
	case off < bodiesAt:
		err = r.fault(at+0x14, name+".offset", "the body overlaps the headers", off, uint64(bodiesAt))
	case off%Align != 0:
		err = r.fault(at+0x14, name+".offset", "a body must begin at a multiple of the alignment", off, uint64(Align))
	case off > r.size:
		err = r.fault(at+0x14, name+".offset", "is past the end of the program", off, r.size)
	case size > r.size-off:
		err = r.fault(at+0x1c, name+".size", "extends past the end of the program", size, r.size-off)
	case h.size != SectionHeaderSize+size:
		err = r.fault(at+12, name+".total size", "must be header and body together", h.size, SectionHeaderSize+size)
	}
	if err != nil {
		return span{}, nil, 0, err
	}
	body := r.b[r.base+off:][:size:size]
	if got := crc32.ChecksumIEEE(body); got != h.crc {
		return span{}, nil, 0, r.fault(at+0x24, name+".crc", "is not the checksum of the body", h.crc, got)
	}
	// A count beyond the body's bytes cannot be valid.
	if uint64(h.count) > max(size, 1) {
		return span{}, nil, 0, r.fault(at+8, name+".count", "more "+kinds[k].counts+" than the body has bytes",
			int64(h.count), int64(size))
	}
	r.p.Versions[k], r.p.Offsets[k] = h.version, off
	c := &cursor{b: body, size: size, base: int64(r.base + off), where: r.field + "." + name}
	return span{k, off, off + size}, c, int(h.count), nil
}

// layout checks that bodies do not overlap, that padding is zero and that the
// program ends where the last body does.
func (r *programReader) layout(spans []span) error {
	slices.SortStableFunc(spans, func(a, b span) int {
		if a.from != b.from {
			return int(int64(a.from) - int64(b.from))
		}
		return int(int64(a.to) - int64(b.to)) // an empty body first
	})
	end := uint64(bodiesAt)
	for _, s := range spans {
		name := kinds[s.kind].name
		if s.from < end {
			return r.fault(HeaderSize+uint64(s.kind)*SectionHeaderSize+0x14, name+".offset",
				"the body overlaps the one before it", s.from, end)
		}
		if err := zeros(r.b, r.base+end, r.base+s.from, r.field+"."+name+".padding before"); err != nil {
			return err
		}
		end = s.to
	}
	if end != r.size {
		return r.fault(12, "size", "must be the end of the last body", r.size, end)
	}
	return nil
}

func (r *programReader) generic(c *cursor, count int) {
	g := &r.p.Generic
	c.check(count == 1, "count", "there is one generic entry", count, 1)
	g.Identity = c.u64("identity")
	g.Image = c.u32("image version")
	c.check(int(g.Image) == td.V10.Version, "image version", "register images of this version are unknown",
		int64(g.Image), td.V10.Version)
	n := [3]uint32{}
	for i, name := range [...]string{"tasks", "operations", "procedures"} {
		n[i] = c.u32(name)
		c.check(n[i] >= 1 && n[i] <= td.MaxTasks, name, "a program has at least one, and as many as records count",
			int64(n[i]), td.MaxTasks)
	}
	r.tasks, r.operationCount, r.procedureCount = int(n[0]), int(n[1]), int(n[2])
	g.Base = c.u64("window base")
	c.check(g.Base%PageSize == 0, "window base", "must be a multiple of the page", g.Base, uint64(PageSize))
	c.check(g.Base < AddressLimit, "window base", "device addresses are below the limit", g.Base, uint64(AddressLimit))
	g.Size = c.u64("window size")
	c.check(g.Size >= 1 && g.Size <= AddressLimit-g.Base, "window size",
		"the window has bytes and ends at the address limit", g.Size, AddressLimit-g.Base)
	copy(g.Container[:], c.take(len(g.Container), "container hash"))
}

func (r *programReader) kernel(c *cursor, count int) {
	r.p.Kernel = c.take(c.left(), "coefficients")
	r.kernelSize = c.size
	c.check(c.size%Align == 0, "size", "coefficients are whole tiles", int64(c.size), Align)
	c.check(uint64(count) == c.size/Align, "count", "must be the number of tiles", count, int64(c.size/Align))
}

func (r *programReader) text(c *cursor, count int) {
	stream := td.StreamHeader + int64(count)*td.RecordSize
	want := stream + int64(r.tasks)*td.ImageSize
	c.check(int64(c.size) == want, "size",
		"must contain the records that the header counts and an image for each task of generic", int64(c.size), want)
	if c.err != nil {
		return
	}
	r.records = c.base + td.StreamHeader
	rs, err := td.ScanRecords(c.take(int(min(stream, int64(c.left()))), "stream"))
	if err != nil {
		c.tell(inStream(err, c))
	}
	for i := range rs {
		if rs[i].Task >= r.tasks && c.err == nil {
			c.checkAt(false, td.StreamHeader+i*td.RecordSize, recordField(i, "task"), "no such task", rs[i].Task,
				r.tasks-1)
		}
	}
	r.p.Text.Records = rs
	if int(r.p.Generic.Image) != td.V10.Version {
		r.p.Text.Other = c.take(c.left(), "images")
		return
	}
	for c.err == nil && len(r.p.Text.Images) < r.tasks && c.left() >= td.ImageSize {
		r.p.Text.Images = append(r.p.Text.Images, c.take(td.ImageSize, "image"))
	}
	c.checkAt(c.left() == 0, c.at, fmt.Sprintf("image %d", len(r.p.Text.Images)),
		"bytes that are not a whole image of a task", c.left(), td.ImageSize)
}

// recordField names a field of a record.
func recordField(i int, field string) string { return fmt.Sprintf("record %d.%s", i, field) }

// inStream adds the position in the container to an error of the record stream.
func inStream(err error, c *cursor) *FormatError {
	e, ok := err.(*td.StreamError)
	if !ok {
		return &FormatError{Off: c.base, Field: c.where + ".stream", Rule: err.Error()}
	}
	field := "stream." + e.Field
	if e.Record >= 0 {
		field = recordField(e.Record, e.Field)
	}
	return &FormatError{Off: c.base + e.Off, Field: c.where + "." + field, Rule: e.Msg}
}

// names refuses a duplicate name.
type names map[string]bool

func (n names) add(c *cursor, at int, field, s string) {
	if n[s] {
		c.fail(at, field, "duplicate name", s, nil)
	}
	n[s] = true
}

func (r *programReader) operations(c *cursor, count int) {
	c.check(count == r.operationCount, "count", "must be what generic says", count, r.operationCount)
	seen, next := names{}, 0
	for i := 0; i < count && c.err == nil; i++ {
		f := fmt.Sprintf("entry %d.", i)
		code := c.u32(f + "class")
		o := Operation{Class: uint16(code), Micro: uint16(code >> 16)}
		c.check(int(o.Class) < len(Classes), f+"class", "no such operation class", int64(o.Class), len(Classes)-1)
		c.check(int(o.Micro) < len(MicroOperations), f+"micro-operation", "no such micro-operation", int64(o.Micro),
			len(MicroOperations)-1)
		o.FirstTask = c.u32(f + "first task")
		c.check(int64(o.FirstTask) == int64(next), f+"first task", "an operation begins where the one before it ends",
			int64(o.FirstTask), next)
		o.Tasks = c.u32(f + "tasks")
		c.check(o.Tasks >= 1 && int64(o.Tasks) <= int64(r.tasks-next), f+"tasks",
			"an operation has tasks of the program", int64(o.Tasks), r.tasks-next)
		at := c.at
		o.Name = c.name(f + "name")
		seen.add(c, at, f+"name", o.Name)
		if c.err != nil {
			return
		}
		next += int(o.Tasks)
		r.p.Operations = append(r.p.Operations, o)
	}
	if c.err == nil && next != r.tasks {
		c.fail(c.at, "tasks", "every task belongs to an operation", next, r.tasks)
	}
}

func (r *programReader) procedures(c *cursor, count int) {
	c.check(count == r.procedureCount, "count", "must be what generic says", count, r.procedureCount)
	seen, next := names{}, 0
	for i := 0; i < count && c.err == nil; i++ {
		f := fmt.Sprintf("entry %d.", i)
		p := Procedure{FirstOperation: c.u32(f + "first operation")}
		c.check(int64(p.FirstOperation) == int64(next), f+"first operation",
			"a procedure begins where the one before it ends", int64(p.FirstOperation), next)
		p.Operations = c.u32(f + "operations")
		c.check(p.Operations >= 1 && int64(p.Operations) <= int64(len(r.p.Operations)-next), f+"operations",
			"a procedure has operations of the program", int64(p.Operations), len(r.p.Operations)-next)
		next += int(p.Operations)
		in, out := c.count(f+"inputs", 12), c.count(f+"outputs", 12)
		n := c.count(f+"bars", 24)
		c.check(n <= MaxBars, f+"bars", "there are 32 buffer-access registers", n, MaxBars)
		at := c.at
		p.Name = c.name(f + "name")
		seen.add(c, at, f+"name", p.Name)
		portAt := c.at
		ports := names{}
		p.Inputs = readPorts(c, f+"input", in, ports)
		p.Outputs = readPorts(c, f+"output", out, ports)
		p.Bars = r.bars(c, f, n)
		checkPorts(c, portAt, f, &p)
		if c.err != nil {
			return
		}
		r.p.Procedures = append(r.p.Procedures, p)
	}
	if c.err == nil && next != len(r.p.Operations) {
		c.fail(c.at, "operations", "every operation belongs to a procedure", next, len(r.p.Operations))
	}
}

func readPorts(c *cursor, f string, n int, seen names) (ps []Port) {
	for i := 0; i < n && c.err == nil; i++ {
		q := Port{Bar: c.u32(fmt.Sprintf("%s %d.bar", f, i))}
		at, field := c.at, fmt.Sprintf("%s %d.name", f, i)
		q.Name = c.name(field)
		seen.add(c, at, field, q.Name)
		ps = append(ps, q)
	}
	return ps
}

// bars reads the buffers of a procedure, which are in the program's window.
func (r *programReader) bars(c *cursor, f string, n int) (bs []Bar) {
	var used [MaxBars]bool
	g := r.p.Generic
	for i := 0; i < n && c.err == nil; i++ {
		f := fmt.Sprintf("%sbar %d.", f, i)
		b := Bar{ID: c.u32(f + "id")}
		c.check(b.ID < MaxBars, f+"id", "there are 32 buffer-access registers", int64(b.ID), MaxBars-1)
		if c.err == nil {
			c.check(!used[b.ID], f+"id", "duplicate register", int64(b.ID), nil)
			used[b.ID] = true
		}
		b.Usage = Usage(c.u32(f + "usage"))
		c.check(b.Usage.String() != "", f+"usage", "no such usage code", int64(b.Usage), int64(UsageConstants))
		b.Address = c.u64(f + "address")
		c.check(b.Address%Align == 0, f+"address", "a buffer begins at a multiple of the tile", b.Address,
			uint64(Align))
		left := uint64(AddressLimit)
		if !b.ByCall() {
			c.check(b.Address != 0, f+"address",
				"0 means a buffer that the call brings, which is an input or an output", b.Usage.String(), nil)
			c.check(b.Address >= g.Base && b.Address-g.Base < g.Size, f+"address", "is outside the program's window",
				b.Address, g.Base+g.Size)
			left = g.Size - (b.Address - g.Base)
		}
		b.Size = c.u64(f + "size")
		c.check(b.Size >= 1 && b.Size <= left, f+"size", "a buffer has bytes, inside the program's window", b.Size,
			left)
		kernel := b.Usage == UsageWeights || b.Usage == UsageConstants
		c.check(!kernel || b.Size <= r.kernelSize, f+"size", "extends past the kernel section", b.Size, r.kernelSize)
		bs = append(bs, b)
	}
	return bs
}

// checkPorts checks that each port names a bar of its direction.
func checkPorts(c *cursor, at int, f string, p *Procedure) {
	if c.err != nil {
		return
	}
	for _, d := range []struct {
		name  string
		ports []Port
		usage Usage
	}{{"input", p.Inputs, UsageInput}, {"output", p.Outputs, UsageOutput}} {
		for i, q := range d.ports {
			b := p.bar(q.Bar)
			if b == nil || b.Usage != d.usage {
				c.fail(at, fmt.Sprintf("%s%s %d.bar", f, d.name, i), "the procedure has no "+d.usage.String()+
					" bar of this identifier", int64(q.Bar), nil)
				return
			}
			at += 8 + (len(q.Name)+3)&^3
		}
	}
}

// bar returns the bar of an identifier, or nil.
func (p *Procedure) bar(id uint32) *Bar {
	i := slices.IndexFunc(p.Bars, func(b Bar) bool { return b.ID == id })
	if i < 0 {
		return nil
	}
	return &p.Bars[i]
}

// bind checks the operands of every record against the buffers of the procedure
// that runs its task.
func (r *programReader) bind() error {
	owner := make([]*Procedure, 0, r.tasks)
	for i := range r.p.Procedures {
		p := &r.p.Procedures[i]
		for _, o := range r.p.Operations[p.FirstOperation : p.FirstOperation+p.Operations] {
			for range o.Tasks {
				owner = append(owner, p)
			}
		}
	}
	base, known := r.p.Text.RegisterBase()
	for i := range r.p.Text.Records {
		if err := r.bindRecord(i, owner, base, known); err != nil {
			return err
		}
	}
	return nil
}

// bindRecord checks record i: its buffer, its address, its aperture.
func (r *programReader) bindRecord(i int, owner []*Procedure, base uint64, known bool) error {
	rec := &r.p.Text.Records[i]
	fault := func(at int64, field, rule string, val, limit any) error {
		return &FormatError{
			Off:   r.records + int64(i)*td.RecordSize + at,
			Field: r.field + ".text." + recordField(i, field),
			Rule:  rule,
			Val:   val,
			Limit: limit,
		}
	}
	if got := rec.Register - rec.Register%td.RegisterWindow; (rec.Slot == 0 || rec.Resolved) && known && got != base {
		return fault(0x04, "register", "all registers of a load must have one aperture", got, base)
	}
	if rec.Slot == 0 {
		return nil
	}
	p := owner[rec.Task]
	b := p.bar(uint32(rec.Bar))
	switch {
	case b == nil:
		return fault(0x24, "bar", fmt.Sprintf("procedure %q, which runs the task, has no such bar", p.Name), rec.Bar,
			nil)
	case uint64(rec.Offset) >= b.Size:
		return fault(0x14, "bar offset", fmt.Sprintf("is outside bar %d", b.ID), rec.Offset, b.Size-1)
	case rec.Resolved && b.ByCall():
		return fault(0x1c, "slot", fmt.Sprintf("has an address, but each call brings the buffer of bar %d", b.ID),
			rec.Operand, nil)
	case !rec.Resolved && !b.ByCall():
		return fault(0x1c, "slot", "lacks its address; resolve the relocations before packing", uint32(rec.Slot),
			nil)
	case rec.Operand>>32 != 0:
		return fault(0x0c, "operand 0", "the high 32 bits of a device address are zero before the firmware rebases it",
			rec.Operand, uint64(1<<32-1))
	case rec.Resolved && rec.Operand != b.Address+uint64(rec.Offset):
		return fault(0x0c, "operand 0", fmt.Sprintf("does not match its offset in bar %d, which begins at %#x", b.ID,
			b.Address), rec.Operand, b.Address+uint64(rec.Offset))
	}
	return nil
}
