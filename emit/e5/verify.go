package e5

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// maxFile is the limit of a FlatBuffer: offsets between table and vtable are
// signed 32-bit numbers.
const maxFile = 1<<31 - 1

// verifier walks one FlatBuffer by the table of tables, so that no accessor can
// leave the buffer afterwards.
//
// Offsets may make two fields share an object, and a small buffer could in that
// way unfold to a very large tree. A writer of descriptors shares vtables only,
// so the bytes of all objects walked, vtables apart, must fit the buffer: time
// and memory stay linear in its length.
type verifier struct {
	buf  []byte
	base int   // offset of buf in the file
	left int64 // bytes not yet walked over
	end  int64 // of the object that reaches furthest
}

// verify checks that buf, at offset base of the file, is a FlatBuffer whose root
// is a t.
func verify(buf []byte, base int, t *table) error {
	v := &verifier{buf: buf, base: base, left: int64(len(buf))}
	if len(buf) < 4 {
		return v.fail(0, t, "", "%d bytes, a root offset needs 4", len(buf))
	}
	if err := v.table(t, v.u32(0)); err != nil {
		return err
	}
	// A buffer is built from its end: nothing but the padding of the last object
	// to a word can follow it.
	if end := (v.end + 3) &^ 3; end != int64(len(buf)) {
		return v.fail(v.end, t, "", "the last object ends at byte %d, so the buffer must have %d bytes, but it has %d", v.end, end, len(buf))
	}
	return nil
}

func (v *verifier) fail(pos int64, t *table, field, format string, args ...any) error {
	return &FormatError{Off: v.base + int(min(pos, int64(len(v.buf)))), Table: t.name, Field: field, Msg: fmt.Sprintf(format, args...)}
}

func (v *verifier) u16(pos int64) int64 { return int64(binary.LittleEndian.Uint16(v.buf[pos:])) }
func (v *verifier) u32(pos int64) int64 { return int64(binary.LittleEndian.Uint32(v.buf[pos:])) }

// claim takes n bytes at pos for one object.
func (v *verifier) claim(pos, n int64, t *table, field string) error {
	size := int64(len(v.buf))
	if pos < 0 || n < 0 || pos > size || n > size-pos {
		return v.fail(max(pos, 0), t, field, "%d bytes do not fit the buffer of %d", n, size)
	}
	if v.left -= n; v.left < 0 {
		return v.fail(pos, t, field, "objects share bytes: together they are larger than the buffer of %d", size)
	}
	v.end = max(v.end, pos+n)
	return nil
}

func (v *verifier) table(t *table, pos int64) error {
	size := int64(len(v.buf))
	if pos%4 != 0 {
		return v.fail(pos, t, "", "table at 0x%x is not on a multiple of 4", pos)
	}
	if pos > size-4 {
		return v.fail(pos, t, "", "table at 0x%x is past the buffer of %d", pos, size)
	}
	vt := pos - int64(int32(v.u32(pos)))
	if vt < 0 || vt > size-4 || vt%2 != 0 {
		return v.fail(pos, t, "", "vtable at %d is not an even place in the buffer of %d", vt, size)
	}
	vsize, osize := v.u16(vt), v.u16(vt+2)
	if vsize < 4 || vsize%2 != 0 || vsize > size-vt {
		return v.fail(vt, t, "", "vtable of %d bytes, want an even number from 4 to %d", vsize, size-vt)
	}
	if osize < 4 {
		return v.fail(vt+2, t, "", "object of %d bytes, want at least 4", osize)
	}
	if err := v.claim(pos, osize, t, ""); err != nil {
		return err
	}
	for i := range t.fields {
		f := &t.fields[i]
		if f.kind == kUnion {
			if err := v.union(t, f, i, pos, vt, vsize, osize); err != nil {
				return err
			}
			continue
		}
		at, err := v.slot(t, f, i, layouts[f.kind].size, pos, vt, vsize, osize)
		if err != nil {
			return err
		}
		if at == 0 {
			if f.required {
				return v.fail(pos, t, f.name, "field is required")
			}
			continue
		}
		if err := v.value(t, f, at); err != nil {
			return err
		}
	}
	return nil
}

// slot returns the place of the field of slot i, 0 when the table does not have
// it.
func (v *verifier) slot(t *table, f *field, i, size int, pos, vt, vsize, osize int64) (int64, error) {
	entry := int64(4 + 2*i)
	if entry+2 > vsize {
		return 0, nil
	}
	off := v.u16(vt + entry)
	if off == 0 {
		return 0, nil
	}
	if off < 4 || off+int64(size) > osize {
		return 0, v.fail(vt+entry, t, f.name, "field of %d bytes at %d is outside its object of %d", size, off, osize)
	}
	if (pos+off)%int64(size) != 0 {
		return 0, v.fail(vt+entry, t, f.name, "field of %d bytes at 0x%x is not aligned", size, pos+off)
	}
	return pos + off, nil
}

// union checks the tag in slot i and the member in slot i+1.
func (v *verifier) union(t *table, f *field, i int, pos, vt, vsize, osize int64) error {
	tagAt, err := v.slot(t, f, i, 1, pos, vt, vsize, osize)
	if err != nil {
		return err
	}
	at, err := v.slot(t, f, i+1, 4, pos, vt, vsize, osize)
	if err != nil {
		return err
	}
	if tagAt == 0 || at == 0 {
		return v.fail(pos, t, f.name, "union is required")
	}
	tag := int(v.buf[tagAt])
	if tag < 1 || tag > len(attrTables) {
		return v.fail(tagAt, t, f.name, "union tag %d, want 1 to %d", tag, len(attrTables))
	}
	to, err := v.follow(t, f, at)
	if err != nil {
		return err
	}
	return v.table(attrTables[tag-1], to)
}

// follow returns where the offset at pos leads.
func (v *verifier) follow(t *table, f *field, pos int64) (int64, error) {
	off := v.u32(pos)
	if to := pos + off; off != 0 && to <= int64(len(v.buf))-4 {
		return to, nil
	}
	return 0, v.fail(pos, t, f.name, "offset %d leaves the buffer of %d", off, len(v.buf))
}

// value checks what a field at pos refers to.
func (v *verifier) value(t *table, f *field, pos int64) error {
	elem := int64(layouts[f.kind].elem)
	if elem == 0 && f.kind != kTable {
		return nil // a scalar
	}
	to, err := v.follow(t, f, pos)
	if err != nil {
		return err
	}
	if f.kind == kTable {
		return v.table(f.of, to)
	}
	if f.kind == kString {
		return v.text(t, f, to)
	}
	if to%4 != 0 {
		return v.fail(to, t, f.name, "vector at 0x%x is not on a multiple of 4", to)
	}
	n := v.u32(to)
	if (to+4)%elem != 0 && n > 0 {
		return v.fail(to, t, f.name, "elements of %d bytes at 0x%x are not aligned", elem, to+4)
	}
	if err := v.claim(to, 4+n*elem, t, f.name); err != nil {
		return err
	}
	if f.kind != kStrings && f.kind != kTables {
		return nil
	}
	for i := range n {
		to, err := v.follow(t, f, to+4+4*i)
		if err != nil {
			return err
		}
		if f.kind == kStrings {
			err = v.text(t, f, to)
		} else {
			err = v.table(f.of, to)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) text(t *table, f *field, pos int64) error {
	if pos%4 != 0 {
		return v.fail(pos, t, f.name, "string at 0x%x is not on a multiple of 4", pos)
	}
	n := v.u32(pos)
	if err := v.claim(pos, 4+n+1, t, f.name); err != nil {
		return err
	}
	s := v.buf[pos+4 : pos+4+n]
	if v.buf[pos+4+n] != 0 {
		return v.fail(pos+4+n, t, f.name, "string of %d bytes does not end in a zero byte", n)
	}
	if !utf8.Valid(s) {
		return v.fail(pos+4, t, f.name, "string of %d bytes is not UTF-8", n)
	}
	return nil
}
