package hwx

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
)

var le = binary.LittleEndian

// Read decodes a container. The File keeps slices of data: data must stay
// unchanged, and mapped, as long as the File is used. Errors are *FormatError.
func Read(data []byte) (*File, error) {
	r := &reader{data: data}
	f, err := r.file()
	if err != nil {
		return nil, err
	}
	return f, nil
}

// reader is the file and the ranges of it that its parts have claimed.
type reader struct {
	data   []byte
	claims []*claim
	// Contents and tables are read only after every claim was found to be disjoint from the others, because only then
	// does their size bound the cost of reading them.
	later []func() error
	scan  *scan // not nil for a reader that continues after faults
}

// claim is a range of the file that belongs to one part.
type claim struct {
	off, end int64
	at       int64 // offset of the field that claims
	field    string
	what     string // the part, as in "contents of section __TEXT,__text"
	lost     bool   // overlaps another part; used only by a scan
}

func (r *reader) file() (*File, error) {
	d := r.data
	if len(d) < headerSize {
		return nil, &FormatError{
			Off:   int64(len(d)),
			Field: "header",
			Msg:   fmt.Sprintf("file ends inside the %d-byte header", headerSize),
			Val:   len(d),
		}
	}
	if m := le.Uint32(d); m != Magic {
		return nil, &FormatError{
			Off:   0,
			Field: "header.magic",
			Msg:   fmt.Sprintf("not a hardware container: want %#x", uint32(Magic)),
			Val:   m,
		}
	}
	f := &File{data: d, Size: int64(len(d)), Header: Header{
		CPUType: le.Uint32(d[4:]), CPUSubtype: le.Uint32(d[8:]), FileType: le.Uint32(d[12:]),
		Flags: le.Uint32(d[24:]), Reserved: le.Uint32(d[28:]),
	}}
	if err := r.commands(f, le.Uint32(d[16:]), int64(le.Uint32(d[20:]))); err != nil {
		return nil, err
	}
	if err := r.disjoint(); err != nil {
		return nil, err
	}
	for _, load := range r.later {
		if err := load(); err != nil {
			return nil, err
		}
	}
	f.Gaps = r.gaps()
	return f, nil
}

// commands reads n load commands of size bytes in all.
func (r *reader) commands(f *File, n uint32, size int64) error {
	d := r.data
	end := headerSize + size
	r.claims = append(r.claims, &claim{off: 0, end: end, at: 20, field: "header.sizeofcmds", what: "load commands"})
	if end > int64(len(d)) {
		err := &FormatError{
			Off:   20,
			Field: "header.sizeofcmds",
			Msg:   fmt.Sprintf("load commands run past the end of the file (%#x)", len(d)),
			Val:   uint64(size),
		}
		if r.scan == nil {
			return err
		}
		end = int64(len(d))
	}
	off := int64(headerSize)
	for i := uint32(0); i < n; i++ {
		field := fmt.Sprintf("command %d", i)
		if end-off < 8 {
			return r.fail(f, &FormatError{
				Off:   16,
				Field: "header.ncmds",
				Msg:   fmt.Sprintf("only %d commands fit into sizeofcmds (%#x)", i, size),
				Val:   n,
			},
				off, field)
		}
		cmd, cs := le.Uint32(d[off:]), int64(le.Uint32(d[off+4:]))
		if cs < 8 || cs > end-off {
			return r.fail(f, &FormatError{
				Off:   off + 4,
				Field: field + ".size",
				Msg:   fmt.Sprintf("want 8 to %#x, what is left of sizeofcmds", end-off),
				Val:   uint64(cs),
			},
				off, field)
		}
		c, err := r.command(cmd, body{d[off : off+cs : off+cs], off, field})
		if err != nil {
			if r.scan == nil {
				return err
			}
			r.scan.fault(err)
			c = &Raw{Cmd: cmd, Data: d[off+8 : off+cs]}
		}
		f.Commands = append(f.Commands, c)
		off += cs
	}
	if off != end {
		err := &FormatError{
			Off:   20,
			Field: "header.sizeofcmds",
			Msg:   fmt.Sprintf("the %d commands end at %#x, %#x bytes short of it", n, off, end-off),
			Val:   uint64(size),
		}
		if r.scan == nil {
			return err
		}
		r.scan.fault(err)
	}
	return nil
}

// fail ends the reading of commands at the command at byte off: with an error, or in a scan with what is present of the
// command.
func (r *reader) fail(f *File, err *FormatError, off int64, field string) error {
	if r.scan == nil {
		return err
	}
	rest := r.data[off:]
	r.scan.commandsEnd(err, r.data, off, field)
	if len(rest) < segmentSize || le.Uint32(rest) != CmdSegment || int64(le.Uint32(rest[4:])) <= int64(len(rest)) {
		return nil
	}
	// If a segment is truncated, its complete sections are read.
	n := min(uint32((len(rest)-segmentSize)/sectionSize), le.Uint32(rest[64:]))
	b := append([]byte(nil), rest[:segmentSize+sectionSize*int(n)]...)
	le.PutUint32(b[64:], n)
	if c, err := r.segment(body{b, off, field}); err == nil {
		f.Commands = append(f.Commands, c)
	}
	return nil
}

// disjoint sorts the claims and checks that no two share bytes.
func (r *reader) disjoint() error {
	slices.SortStableFunc(r.claims, func(a, b *claim) int { return cmp.Compare(a.off, b.off) })
	last := &claim{}
	for _, c := range r.claims {
		if c.off < last.end {
			err := &FormatError{
				Off:   c.at,
				Field: c.field,
				Msg: fmt.Sprintf("range %#x to %#x overlaps that of %s (%#x to %#x)", c.off, c.end, last.field,
					last.off, last.end),
			}
			if r.scan == nil {
				return err
			}
			r.scan.fault(err)
			c.lost = true
			continue
		}
		last = c
	}
	if r.scan != nil {
		r.claims = slices.DeleteFunc(r.claims, func(c *claim) bool { return c.lost })
		r.scan.cut(r.claims, int64(len(r.data)))
	}
	return nil
}

// claim records that the field at offset at takes size bytes from off for what.
func (r *reader) claim(off, size uint64, at int64, field, what string) (*claim, error) {
	n := uint64(len(r.data))
	c := &claim{off: int64(min(off, math.MaxInt64)), at: at, field: field, what: what}
	if off > n || size > n-off {
		err := &FormatError{
			Off:   at,
			Field: field,
			Msg:   fmt.Sprintf("range of %#x bytes from %#x runs past the end of the file (%#x)", size, off, n),
			Val:   off,
		}
		if r.scan == nil {
			return nil, err
		}
		if size == 0 { // otherwise the claim reports that it is truncated
			r.scan.past(err)
		}
		size = min(size, math.MaxInt64-uint64(c.off))
	}
	c.end = c.off + int64(size)
	if size > 0 {
		r.claims = append(r.claims, c)
	}
	return c, nil
}

// bytes returns the part of a claimed range that is present.
func (r *reader) bytes(c *claim) []byte {
	n := int64(len(r.data))
	if c.lost || c.off > n {
		return nil
	}
	end := min(c.end, n)
	return r.data[c.off:end:end]
}

// gaps returns the unclaimed ranges that are not all zero.
func (r *reader) gaps() []Gap {
	var gaps []Gap
	at := int64(0)
	add := func(end int64) {
		if b := r.data[at:end:end]; !allZero(b) {
			gaps = append(gaps, Gap{Off: at, Data: b})
		}
	}
	for _, c := range r.claims {
		if end := min(c.off, int64(len(r.data))); end > at {
			add(end)
		}
		at = c.end
	}
	if n := int64(len(r.data)); n > at {
		add(n)
	}
	return gaps
}

func allZero(b []byte) bool {
	for len(b) > len(zeros) {
		if !bytes.Equal(b[:len(zeros)], zeros[:]) {
			return false
		}
		b = b[len(zeros):]
	}
	return bytes.Equal(b, zeros[:len(b)])
}

// command decodes one load command. A typed command is written back at once: if its names or padding are not where the
// rules put them, those bytes are kept.
func (r *reader) command(cmd uint32, b body) (Command, error) {
	decode := r.raw
	switch cmd {
	case CmdSegment:
		decode = r.segment
	case CmdPort:
		decode = r.port
	case CmdIdent:
		decode = r.ident
	case CmdSymtab:
		decode = r.symtab
	case CmdThread:
		flavor, err := b.u32(8, "flavour")
		if err != nil {
			return nil, err
		}
		switch flavor {
		case FlavorProgram, FlavorProcedure:
			decode = r.program
		case FlavorPacked, FlavorPackedProcedure:
			decode = r.packed
		case FlavorTensor:
			decode = r.tensor
		}
	}
	return decode(b)
}

func (r *reader) raw(b body) (Command, error) {
	return &Raw{Cmd: le.Uint32(b.b), Data: b.b[8:]}, nil
}

// body is the bytes of one load command.
type body struct {
	b     []byte
	at    int64  // absolute offset
	field string // "command 3"
}

// bad makes an error about the field at offset off of the command.
func (b body) bad(off int, field, msg string, val any) error {
	return &FormatError{Off: b.at + int64(off), Field: b.field + "." + field, Msg: msg, Val: val}
}

// need requires n bytes in the command for its fixed fields.
func (b body) need(n int, what string) error {
	if len(b.b) < n {
		return &FormatError{
			Off:   b.at + 4,
			Field: b.field + ".size",
			Msg:   fmt.Sprintf("%s needs %#x bytes", what, n),
			Val:   len(b.b),
		}
	}
	return nil
}

func (b body) u32(off int, field string) (uint32, error) {
	if off+4 > len(b.b) {
		return 0, &FormatError{
			Off:   b.at + 4,
			Field: b.field + "." + field,
			Msg:   fmt.Sprintf("the command ends before its word at +%#x", off),
			Val:   len(b.b),
		}
	}
	return le.Uint32(b.b[off:]), nil
}

// w and q are words at offsets already covered by need.
func (b body) w(off int) uint32 { return le.Uint32(b.b[off:]) }
func (b body) q(off int) uint64 { return le.Uint64(b.b[off:]) }

// name reads the string whose offset inside the command is the word at off.
func (b body) name(off int, field string) (string, uint32, error) {
	p := b.w(off)
	if uint64(p) >= uint64(len(b.b)) {
		return "", 0, b.bad(off, field, fmt.Sprintf("string offset must be inside the command of %#x bytes", len(b.b)),
			p)
	}
	n := cstringLen(b.b[p:])
	if n < 0 {
		return "", 0, b.bad(off, field, fmt.Sprintf("string has no NUL within the command or %d bytes", maxName), p)
	}
	return string(b.b[p : int(p)+n]), p, nil
}

// withTail sets *tail to the command's bytes from fixed on if c without a tail would not be written as b.
func withTail(c Command, b body, tail *[]byte, fixed int) (Command, error) {
	if got, err := encodeCommand(nil, c); err == nil && bytes.Equal(got, b.b) {
		return c, nil
	}
	*tail = b.b[fixed:]
	got, err := encodeCommand(nil, c)
	if err != nil {
		return nil, &FormatError{Off: b.at, Field: b.field, Msg: "cannot be written again", Err: err}
	}
	if !bytes.Equal(got, b.b) {
		return nil, &FormatError{Off: b.at, Field: b.field, Msg: "does not write itself again"}
	}
	return c, nil
}

// encodeCommand appends c with its number and size.
func encodeCommand(b []byte, c Command) ([]byte, error) {
	start := len(b)
	b = le.AppendUint32(b, c.Kind())
	b = le.AppendUint32(b, 0)
	b, err := c.append(b)
	if err != nil {
		return nil, err
	}
	n := len(b) - start
	if int64(n) > 1<<32-1 {
		return nil, fmt.Errorf("hwx: command %#x of %d bytes does not fit a 32-bit size", c.Kind(), n)
	}
	le.PutUint32(b[start+4:], uint32(n))
	return b, nil
}

// appendNames appends the strings, each with its NUL, and pads the command that
// began at start to 8 bytes.
func appendNames(b []byte, start int, names ...string) []byte {
	for _, s := range names {
		b = append(b, s...)
		b = append(b, 0)
	}
	for (len(b)-start)%8 != 0 {
		b = append(b, 0)
	}
	return b
}

// checkName returns an error for a string that a C string cannot represent.
func checkName(what, s string) error {
	if i := strings.IndexByte(s, 0); i >= 0 {
		return fmt.Errorf("hwx: %s %q contains a NUL", what, s)
	}
	if len(s) > maxName {
		return fmt.Errorf("hwx: %s has %d bytes, limit %d", what, len(s), maxName)
	}
	return nil
}

// cstringLen returns the length of the C string at the start of b, or -1 without a NUL within b and maxName.
func cstringLen(b []byte) int {
	if len(b) > maxName+1 {
		b = b[:maxName+1]
	}
	return bytes.IndexByte(b, 0)
}
