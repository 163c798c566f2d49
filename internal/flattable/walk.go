package flattable

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// walk checks one FlatBuffer against the table of tables. A strict walk, which has no scan, ends at the first fault; if
// there is none, no accessor can leave the buffer afterwards. A walk with a scan reports each fault and each value to
// the scan and continues; if the buffer ends early, its message is worded for a truncated file.
//
// Offsets may make two fields share an object, so a small buffer could expand to a very large tree. A writer
// shares only vtables, so the bytes of all objects walked, except vtables, must fit the buffer: time and
// memory stay linear in its length.
type walk struct {
	buf   []byte
	base  int    // offset of buf in the file
	left  int64  // bytes not yet walked over
	texts int64  // bytes of strings that assume may still look at
	end   int64  // of the object that reaches furthest
	err   *Fault // the first fault
	scan  *findings
}

// placed is a table in the buffer.
type placed struct {
	*Table
	path   string // of a walk with a scan
	pos    int64
	vt     int64 // place of the vtable
	layout Layout
	kind   int32 // value of the field with names, once it was walked
}

// Verify checks that buf, at offset base of the file, is a FlatBuffer whose root is a t.
func Verify(buf []byte, base int, t *Table) *Fault { return walkBuffer(buf, base, "", t, nil) }

// walkBuffer returns the first fault.
func walkBuffer(buf []byte, base int, path string, t *Table, s *findings) *Fault {
	w := &walk{buf: buf, base: base, left: int64(len(buf)), texts: int64(len(buf)), scan: s}
	head := 4 + len(t.Identifier)
	if len(buf) < head {
		w.fail(path, 0, t, "", "%d bytes, a root offset needs %d", len(buf), head)
		return w.err
	}
	w.see(0, int64(head))
	w.table(path, t, w.u32(0))
	// A buffer is built from its end: nothing but the padding of the last object
	// to a word can follow it.
	if end := (w.end + 3) &^ 3; w.err == nil && end != int64(len(buf)) {
		w.fail(path, w.end, t, "", "the last object ends at byte %d, so the buffer must have %d bytes, but it has %d",
			w.end, end, len(buf))
	}
	return w.err
}

// over reports whether a fault has ended the walk.
func (w *walk) over() bool { return w.err != nil && w.scan == nil }

// fail notes a fault of the object at byte pos.
func (w *walk) fail(path string, pos int64, t *Table, field, format string, args ...any) {
	w.failFor(pos, path, pos, t, field, format, args...)
}

// failFor records a fault at byte pos of the object at byte at.
func (w *walk) failFor(at int64, path string, pos int64, t *Table, field, format string, args ...any) {
	if w.over() {
		return
	}
	e := &Fault{
		Off:   w.base + int(min(pos, int64(len(w.buf)))),
		Table: t.Name,
		Field: field,
		Msg:   fmt.Sprintf(format, args...),
	}
	if path != "" {
		e.Msg = path + ": " + e.Msg
	}
	if w.err == nil {
		w.err = e
	}
	if w.scan != nil {
		w.scan.fault(int64(w.base)+at, e)
	}
}

// see reports an object to the scan, as far as it is present.
func (w *walk) see(pos, n int64) {
	if w.scan != nil {
		w.scan.see(w.base+int(pos), int(min(n, int64(len(w.buf))-pos)))
	}
}

// put reports a value to the scan.
func (w *walk) put(path string, pos int64, value string) {
	if w.scan != nil {
		w.scan.put(path, w.base+int(pos), value)
	}
}

// member names a field of the object at path, and element names an element; both are used only by a scan.
func (w *walk) member(path, field string) string {
	switch {
	case w.scan == nil:
		return ""
	case path == "":
		return field
	}
	return path + "." + field
}

func (w *walk) element(path string, i int64) string {
	if w.scan == nil {
		return ""
	}
	return path + "[" + strconv.FormatInt(i, 10) + "]"
}

func (w *walk) u16(pos int64) int64 { return int64(binary.LittleEndian.Uint16(w.buf[pos:])) }
func (w *walk) u32(pos int64) int64 { return int64(binary.LittleEndian.Uint32(w.buf[pos:])) }

// claim takes n bytes at pos, which is inside the buffer, for one object, and returns how many of them are present. If
// that is less than least, none is usable.
func (w *walk) claim(path string, pos, n, least int64, t *Table, field string) (have int64, ok bool) {
	size := int64(len(w.buf))
	have = min(n, size-pos)
	switch {
	case have < n && w.scan == nil:
		w.fail(path, pos, t, field, "%d bytes do not fit the buffer of %d", n, size)
	case have < n:
		w.failFor(pos, path, size, t, field, "the data ends after %d of the %d bytes at 0x%x", have, n, int64(w.base)+
			pos)
	}
	if have < least || w.over() {
		return 0, false
	}
	if w.left -= have; w.left < 0 {
		w.fail(path, pos, t, field, "objects share bytes: together they are larger than the buffer of %d", size)
		return 0, false
	}
	w.end = max(w.end, pos+n)
	return have, true
}

func (w *walk) table(path string, t *Table, pos int64) {
	size := int64(len(w.buf))
	if pos%4 != 0 {
		w.fail(path, pos, t, "", "table at 0x%x is not at a multiple of 4", pos)
		return
	}
	if pos > size-4 {
		w.fail(path, pos, t, "", "table at 0x%x is past the buffer of %d", pos, size)
		return
	}
	vt := pos - int64(int32(w.u32(pos)))
	if vt < 0 || vt > size-4 || vt%2 != 0 {
		w.failFor(max(vt, 0), path, pos, t, "", "vtable at %d is not at an even offset in the buffer of %d", vt, size)
		if vt > size-4 && vt%2 == 0 {
			w.assume(path, t, pos)
		}
		return
	}
	vsize, osize := w.u16(vt), w.u16(vt+2)
	if vsize < 4 || vsize%2 != 0 || vsize > size-vt {
		w.fail(path, vt, t, "", "vtable of %d bytes, want an even number from 4 to %d", vsize, size-vt)
		if vsize > size-vt {
			w.assume(path, t, pos)
		}
		return
	}
	if osize < 4 {
		w.fail(path, vt+2, t, "", "object of %d bytes, want at least 4", osize)
		return
	}
	w.see(vt, vsize)
	o := &placed{Table: t, path: path, pos: pos, vt: vt, layout: w.buf[vt : vt+vsize]}
	if w.scan != nil {
		w.scan.layout(o)
	}
	w.fieldsOf(o)
}

func (w *walk) fieldsOf(o *placed) {
	if _, ok := w.claim(o.path, o.pos, o.layout.size(), 4, o.Table, ""); !ok {
		return
	}
	w.see(o.pos, o.layout.size())
	for i := range o.Fields {
		f := &o.Fields[i]
		if f.Kind == Union {
			w.union(o, f, i)
		} else if at := w.slot(o, f, i, layouts[f.Kind].size); at != 0 {
			w.value(o, f, w.member(o.path, f.Name), at)
		} else if f.Required && o.layout.Slot(i) == 0 {
			w.fail(o.path, o.pos, o.Table, f.Name, "field is required")
		}
		if w.over() {
			return
		}
	}
}

// slot returns the position of the field of slot i, or 0 if the table does not have it or it is invalid. claim has
// reported what the end of the buffer truncates.
func (w *walk) slot(o *placed, f *Field, i, size int) int64 {
	off, n := o.layout.Slot(i), int64(size)
	at, entry := o.pos+off, o.vt+int64(4+2*i)
	switch {
	case off == 0:
		return 0
	case off < 4 || off+n > o.layout.size():
		w.fail(o.path, entry, o.Table, f.Name, "field of %d bytes at %d is outside its object of %d", n, off,
			o.layout.size())
		return 0
	case at%n != 0:
		w.fail(o.path, entry, o.Table, f.Name, "field of %d bytes at 0x%x is not aligned", n, at)
		return 0
	case at+n > int64(len(w.buf)):
		return 0
	}
	return at
}

// union follows the tag in slot i to the member in slot i+1.
func (w *walk) union(o *placed, f *Field, i int) {
	tagAt, at := w.slot(o, f, i, 1), w.slot(o, f, i+1, 4)
	if o.layout.Slot(i) == 0 || o.layout.Slot(i+1) == 0 {
		w.fail(o.path, o.pos, o.Table, f.Name, "union is required")
	}
	if tagAt == 0 || at == 0 {
		return
	}
	tag := int(w.buf[tagAt])
	if tag < 1 || tag > len(f.Of) {
		w.fail(o.path, tagAt, o.Table, f.Name, "union tag %d, want 1 to %d", tag, len(f.Of))
		return
	}
	t := f.Of[tag-1]
	if to, ok := w.follow(o, f, o.path, at); ok {
		w.table(w.member(o.path, t.Name), t, to)
	}
}

// follow returns the target of the offset at pos.
func (w *walk) follow(o *placed, f *Field, path string, pos int64) (int64, bool) {
	off, size := w.u32(pos), int64(len(w.buf))
	to := pos + off
	switch {
	case off != 0 && to <= size-4:
		return to, true
	case off == 0 || w.scan == nil:
		w.fail(path, pos, o.Table, f.Name, "offset %d leaves the buffer of %d", off, size)
	default:
		w.failFor(to, path, pos, o.Table, f.Name, "the object at 0x%x is missing: the data ends at 0x%x",
			int64(w.base)+to, int64(w.base)+size)
	}
	return 0, false
}

// value walks the content of a field at pos, or the object that it refers to.
func (w *walk) value(o *placed, f *Field, path string, pos int64) {
	elem := int64(layouts[f.Kind].elem)
	if elem == 0 && f.Kind != Sub {
		if w.scan != nil {
			w.scalar(o, f, path, pos)
		}
		return
	}
	to, ok := w.follow(o, f, path, pos)
	switch {
	case !ok:
	case f.Kind == Sub:
		w.table(path, f.Of[0], to)
	case f.Kind == String:
		w.text(o, f, path, to)
	default:
		w.vector(o, f, path, to, elem)
	}
}

func (w *walk) vector(o *placed, f *Field, path string, pos, elem int64) {
	if pos%4 != 0 {
		w.fail(path, pos, o.Table, f.Name, "vector at 0x%x is not at a multiple of 4", pos)
		return
	}
	n := w.u32(pos) // elements
	if (pos+4)%elem != 0 && n > 0 {
		w.fail(path, pos, o.Table, f.Name, "elements of %d bytes at 0x%x are not aligned", elem, pos+4)
	}
	have, ok := w.claim(path, pos, 4+n*elem, 4, o.Table, f.Name)
	if !ok {
		return
	}
	have = (have - 4) / elem
	if f.Kind != Texts && f.Kind != Subs {
		if w.scan != nil {
			w.elements(o, f, path, pos, n, have)
		}
		return
	}
	w.see(pos, 4+have*elem)
	for i := range have {
		p := w.element(path, i)
		if to, ok := w.follow(o, f, p, pos+4+4*i); !ok {
			// follow has reported it
		} else if f.Kind == Texts {
			w.text(o, f, p, to)
		} else {
			w.table(p, f.Of[0], to)
		}
		if w.over() {
			return
		}
	}
}

func (w *walk) text(o *placed, f *Field, path string, pos int64) {
	if pos%4 != 0 {
		w.fail(path, pos, o.Table, f.Name, "string at 0x%x is not at a multiple of 4", pos)
		return
	}
	n := w.u32(pos)
	if _, ok := w.claim(path, pos, 4+n+1, 4+n+1, o.Table, f.Name); !ok {
		return
	}
	w.see(pos, 4+n+1)
	s := w.buf[pos+4 : pos+4+n]
	switch {
	case w.buf[pos+4+n] != 0:
		w.fail(path, pos+4+n, o.Table, f.Name, "string of %d bytes does not end in a zero byte", n)
	case !utf8.Valid(s):
		w.fail(path, pos+4, o.Table, f.Name, "string of %d bytes is not UTF-8", n)
	case w.scan != nil:
		w.put(path, pos, strconv.Quote(string(s)))
	}
}
