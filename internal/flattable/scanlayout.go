package flattable

import (
	"encoding/binary"
	"unicode/utf8"
)

// In a FlatBuffer tables of one layout share a vtable, which comes after all of them except the one written first. In a
// truncated file most tables have therefore lost theirs. A writer that writes every field of a table has one layout for
// it, so such a table can still be read, marked as having an assumed layout.

// Layout is a vtable: where the fields of a table are.
type Layout []byte

// Slot returns where in its object the field of slot i is, or 0 if it is absent.
func (l Layout) Slot(i int) int64 {
	if entry := 4 + 2*i; entry+2 <= len(l) {
		return int64(binary.LittleEndian.Uint16(l[entry:]))
	}
	return 0
}

// size returns the size of the object.
func (l Layout) size() int64 { return int64(binary.LittleEndian.Uint16(l[2:])) }

// assume walks a table without its vtable using the layout of the sample, if what the table refers to fits.
func (w *walk) assume(path string, t *Table, pos int64) {
	if w.scan == nil {
		return
	}
	if l := w.scan.layouts()[t]; l != nil && w.fits(t, pos, l) {
		w.scan.assumed++
		w.fieldsOf(&placed{Table: t, path: path, pos: pos, vt: pos, layout: l})
		w.scan.assumed--
	}
}

// fits reports whether the fields of a table at byte pos, laid out as in layout, are in place and refer to what their
// kinds allow, as far as the data is present.
func (w *walk) fits(t *Table, pos int64, layout Layout) bool {
	size := int64(len(w.buf))
	for i := range t.Fields {
		f := &t.Fields[i]
		off, l := layout.Slot(i), layouts[f.Kind]
		at := pos + off
		if off == 0 || f.Kind == Union || at+4 > size {
			continue
		}
		if at%int64(l.size) != 0 {
			return false
		}
		if l.elem == 0 && f.Kind != Sub {
			continue
		}
		to := at + w.u32(at)
		switch {
		case to == at || to%4 != 0:
			return false
		case f.Kind != String || to+4 > size:
			continue
		}
		n := w.u32(to)
		end := to + 4 + n
		if end >= size {
			continue
		}
		// A writer never shares strings, so the strings of all tables together fit the buffer.
		if w.texts -= n; w.texts < 0 || w.buf[end] != 0 || !utf8.Valid(w.buf[to+4:end]) {
			return false
		}
	}
	return true
}
