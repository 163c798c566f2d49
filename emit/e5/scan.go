package e5

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// rootTag is how the vtable of the root table begins (table 23.1).
var rootTag = []byte{0x0c, 0, 0x14, 0, 4, 0, 8, 0}

// Is reports whether b begins as a descriptor does, also one that was cut off: by the
// vtable of its root table. Less than six bytes tell nothing.
func Is(b []byte) bool {
	if len(b) < 6 {
		return false
	}
	at := int64(4) // where a writer puts it
	if root := int64(binary.LittleEndian.Uint32(b)); root <= int64(len(b))-4 {
		at = root - int64(int32(binary.LittleEndian.Uint32(b[root:])))
	}
	if at < 0 || at > int64(len(b)) {
		return false
	}
	n := min(len(b)-int(at), len(rootTag))
	return n >= 2 && bytes.Equal(b[at:int(at)+n], rootTag[:n])
}

// Part is a value of a descriptor that [Scan] found, named as the schema names it.
type Part struct {
	Path  string `json:"path"` // "sections[2].data.operands[0].name"
	Off   int    `json:"offset"`
	Value string `json:"value"`           // a string quoted; an array of more than 32 bytes as size and SHA-256
	Bytes int    `json:"bytes,omitempty"` // of an array of bytes, those that are there; they stand at Off+4
	// Assumed: the vtable that says how the table is laid out is not there, and the
	// layout is that which this package writes.
	Assumed bool `json:"assumed,omitempty"`
}

// maxFaults bounds what Scan tells of a file that is wrong all over.
const maxFaults = 100

// Range is a stretch of a file.
type Range struct{ Off, Bytes int }

// Scanned is what Scan found.
type Scanned struct {
	Parts []Part
	// Faults begin with the object nearest to the beginning that is not there whole.
	Faults []*FormatError
	// Rest are the bytes that no object was found in, by offset: those of objects
	// whose vtable or whose reference is not there.
	Rest []Range
}

// Scan lists the values that there are in a descriptor which was cut off or breaks
// the rules, in the order of the schema: those that can be reached from the root
// through bytes that are there. The faults, up to a hundred, say what cannot be
// reached. Time and memory are in proportion to the length of b. What
// the values say is not checked.
func Scan(b []byte) *Scanned {
	s := &scanner{}
	s.buffer("", b, 0, programTable)
	slices.SortStableFunc(s.faults, func(a, b scanFault) int { return cmp.Compare(a.at, b.at) })
	out := &Scanned{Parts: s.parts}
	for _, f := range s.faults {
		out.Faults = append(out.Faults, f.err)
	}
	slices.SortFunc(s.seen, func(a, b Range) int { return cmp.Or(cmp.Compare(a.Off, b.Off), cmp.Compare(a.Bytes, b.Bytes)) })
	end := 0
	for _, r := range append(s.seen, Range{len(b), 0}) {
		// An object ends on a word.
		if at := (end + 3) &^ 3; r.Off > at && at < len(b) {
			if n := min(r.Off, len(b)) - at; len(bytes.Trim(b[at:at+n], "\x00")) > 0 { // else padding
				out.Rest = append(out.Rest, Range{at, n})
			}
		}
		end = max(end, r.Off+r.Bytes)
	}
	return out
}

// scanFault is a fault, and where in the file the object begins that it is about.
type scanFault struct {
	at  int64
	err *FormatError
}

// scanner walks a descriptor as a verifier does, but goes on behind a fault.
type scanner struct {
	parts  []Part
	faults []scanFault
	seen   []Range // objects, nested ones with the vector that they lie in

	assumed int               // how many tables around what is walked have an assumed layout
	layouts map[*table][]byte // the vtables met, where they are collected
}

// fault notes an error about an object at byte at of the file.
func (s *scanner) fault(at int64, err error) {
	if e, ok := err.(*FormatError); ok && len(s.faults) < maxFaults {
		s.faults = append(s.faults, scanFault{at, e})
	}
}

// see notes an object, as far as it is there.
func (q *scanBuffer) see(pos, n int64) {
	n = min(n, int64(len(q.v.buf))-pos)
	if n > 0 {
		q.seen = append(q.seen, Range{q.v.base + int(pos), int(n)})
	}
}

// scanBuffer is one FlatBuffer on the way: the file's, or one nested in a section.
type scanBuffer struct {
	*scanner
	v *verifier
}

// buffer walks a FlatBuffer at offset base of the file, of which b is what there is.
func (s *scanner) buffer(path string, b []byte, base int, t *table) {
	q := &scanBuffer{s, &verifier{buf: b, base: base, left: int64(len(b))}}
	if len(b) < 4 {
		q.fail(0, t, "", "the file ends inside the offset of the root: %d bytes are there, it has 4", len(b))
		return
	}
	q.see(0, 4)
	before := len(s.faults)
	q.table(path, t, q.v.u32(0))
	if end := (q.v.end + 3) &^ 3; len(s.faults) == before && end != int64(len(b)) {
		q.fail(q.v.end, t, "", "the last object ends at byte %d, so the buffer must have %d bytes, but it has %d", q.v.end, end, len(b))
	}
}

// fail notes a fault of the object at byte pos of the buffer.
func (q *scanBuffer) fail(pos int64, t *table, field, format string, args ...any) {
	q.fault(int64(q.v.base)+pos, q.v.fail(pos, t, field, format, args...))
}

// join names a field of what path names.
func join(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}

func (q *scanBuffer) table(path string, t *table, pos int64) {
	v, size := q.v, int64(len(q.v.buf))
	what := cmp.Or(path, "root")
	fail := func(at int64, format string, args ...any) { q.fail(at, t, "", what+": "+format, args...) }
	if pos < 0 || pos%4 != 0 || pos > size-4 {
		fail(pos, "the table at 0x%x is not there: the file has 0x%x bytes", int64(v.base)+pos, int64(v.base)+size)
		return
	}
	vt := pos - int64(int32(v.u32(pos)))
	if vt >= 0 && vt%2 == 0 && (vt > size-4 || v.u16(vt) > size-vt) {
		fail(vt, "the vtable at 0x%x of the table at 0x%x is not there whole: the file has 0x%x bytes", int64(v.base)+vt, int64(v.base)+pos, int64(v.base)+size)
		q.assume(path, t, pos)
		return
	}
	if vt < 0 || vt%2 != 0 {
		fail(max(vt, 0), "the vtable at 0x%x of the table at 0x%x is not there: the file has 0x%x bytes", int64(v.base)+vt, int64(v.base)+pos, int64(v.base)+size)
		return
	}
	vsize, osize := v.u16(vt), v.u16(vt+2)
	if vsize < 4 || vsize%2 != 0 || osize < 4 || vsize > size-vt {
		fail(vt, "the vtable at 0x%x has %d bytes for an object of %d, which is not there whole", int64(v.base)+vt, vsize, osize)
		return
	}
	q.see(vt, vsize)
	vtab := v.buf[vt : vt+vsize]
	if q.layouts != nil && q.layouts[t] == nil {
		q.layouts[t] = vtab
	}
	q.object(path, t, pos, vtab)
}

// object walks the table at byte pos, whose layout vtab is.
func (q *scanBuffer) object(path string, t *table, pos int64, vtab []byte) {
	v, size := q.v, int64(len(q.v.buf))
	osize := int64(binary.LittleEndian.Uint16(vtab[2:]))
	// Objects share no bytes, so what is walked is no more than there is.
	if v.left -= min(osize, size-pos); v.left < 0 {
		q.fail(pos, t, "", "%s: objects share bytes", cmp.Or(path, "root"))
		return
	}
	v.end = max(v.end, pos+osize)
	q.see(pos, osize)
	if t == sectionTable {
		q.section(path, pos, vtab)
		return
	}
	for i := range t.fields {
		q.field(path, t, i, pos, vtab)
	}
}

// slotOf returns where in its object a vtable has the field of slot i, 0 for nowhere.
func slotOf(vtab []byte, i int) int64 {
	if entry := 4 + 2*i; entry+2 <= len(vtab) {
		return int64(binary.LittleEndian.Uint16(vtab[entry:]))
	}
	return 0
}

// slotAt returns the place of a field of n bytes that is there whole, 0 where the table
// has none.
func (q *scanBuffer) slotAt(path string, t *table, f *field, i, n int, pos int64, vtab []byte) int64 {
	off, osize := slotOf(vtab, i), int64(binary.LittleEndian.Uint16(vtab[2:]))
	at := pos + off
	switch {
	case off == 0:
		return 0
	case off < 4 || off+int64(n) > osize || at%int64(n) != 0:
		q.fail(pos, t, f.name, "field of %d bytes at %d is outside its object of %d, or not aligned", n, off, osize)
		return 0
	case at+int64(n) > int64(len(q.v.buf)):
		q.fail(at, t, f.name, "%s: the file ends before it", join(path, f.name))
		return 0
	}
	return at
}

func (q *scanBuffer) field(path string, t *table, i int, pos int64, vtab []byte) {
	f := &t.fields[i]
	if f.kind == kUnion {
		tagAt := q.slotAt(path, t, f, i, 1, pos, vtab)
		at := q.slotAt(path, t, f, i+1, 4, pos, vtab)
		if tagAt == 0 || at == 0 {
			return
		}
		tag := int(q.v.buf[tagAt])
		if tag < 1 || tag > len(attrTables) {
			q.fail(tagAt, t, f.name, "union tag %d, want 1 to %d", tag, len(attrTables))
			return
		}
		q.table(join(path, attrTables[tag-1].name), attrTables[tag-1], at+q.v.u32(at))
		return
	}
	at := q.slotAt(path, t, f, i, layouts[f.kind].size, pos, vtab)
	if at == 0 {
		if f.required {
			q.missing(path, t, f, i, pos, vtab)
		}
		return
	}
	q.value(join(path, f.name), t, f, at)
}

// missing tells of a required field that the table does not have; one that is cut off
// has been told.
func (q *scanBuffer) missing(path string, t *table, f *field, i int, pos int64, vtab []byte) {
	if slotOf(vtab, i) == 0 {
		q.fail(pos, t, f.name, "%s: field is required", path)
	}
}

func (q *scanBuffer) put(path string, at int64, value string) {
	q.parts = append(q.parts, Part{Path: path, Off: q.v.base + int(at), Value: value, Assumed: q.assumed > 0})
}

// blob lists an array of bytes of which n should be there and b is.
func (q *scanBuffer) blob(path string, at, n int64, b []byte) {
	q.put(path, at, summariseCut(b, n))
	q.parts[len(q.parts)-1].Bytes = len(b)
}

// value lists what a field at byte at holds or refers to.
func (q *scanBuffer) value(path string, t *table, f *field, at int64) {
	v := q.v
	switch f.kind {
	case kUint8:
		q.put(path, at, strconv.Itoa(int(v.buf[at])))
		return
	case kInt32:
		q.put(path, at, strconv.Itoa(int(int32(v.u32(at)))))
		return
	case kUint32:
		q.put(path, at, strconv.FormatInt(v.u32(at), 10))
		return
	case kUint64:
		q.put(path, at, strconv.FormatUint(uint64(v.u32(at))|uint64(v.u32(at+4))<<32, 10))
		return
	case kTable:
		q.table(path, f.of, at+v.u32(at))
		return
	case kString:
		if s, ok := q.text(path, t, f, at+v.u32(at)); ok {
			q.put(path, at+v.u32(at), strconv.Quote(s))
		}
		return
	}
	to, n, have := q.vector(path, t, f, at)
	elem := int64(layouts[f.kind].elem)
	switch f.kind {
	case kStrings, kTables:
		for i := range have {
			each, p := to+4+4*i, fmt.Sprintf("%s[%d]", path, i)
			if f.kind == kTables {
				q.table(p, f.of, each+v.u32(each))
			} else if s, ok := q.text(p, t, f, each+v.u32(each)); ok {
				q.put(p, each+v.u32(each), strconv.Quote(s))
			}
		}
	case kBytes:
		if to >= 0 {
			q.blob(path, to, n, v.buf[to+4:to+4+have])
		}
	default:
		for i := range have {
			e := to + 4 + elem*i
			x := v.u32(e)
			text := strconv.FormatInt(x, 10)
			switch f.kind {
			case kInt32s:
				text = strconv.Itoa(int(int32(x)))
			case kUint64s:
				text = strconv.FormatUint(uint64(x)|uint64(v.u32(e+4))<<32, 10)
			case kFloat32s:
				text = strconv.FormatFloat(float64(math.Float32frombits(uint32(x))), 'g', -1, 32)
			}
			q.put(fmt.Sprintf("%s[%d]", path, i), e, text)
		}
	}
}

// summariseCut is the text of a byte array of which b is what there is.
func summariseCut(b []byte, n int64) string {
	s := summarise(b).String()
	if int64(len(b)) < n {
		s += fmt.Sprintf(", of %d", n)
	}
	return s
}

// vector returns the place of a vector, -1 where it is not there, how many elements it
// should have, and how many there are.
func (q *scanBuffer) vector(path string, t *table, f *field, at int64) (to, n, have int64) {
	v, size, elem := q.v, int64(len(q.v.buf)), int64(layouts[f.kind].elem)
	to = at + v.u32(at)
	if to > size-4 || to%4 != 0 {
		q.fail(to, t, f.name, "%s: the vector at 0x%x is not there: the file has 0x%x bytes", path, int64(v.base)+to, int64(v.base)+size)
		return -1, 0, 0
	}
	n = v.u32(to)
	have = min(n, (size-to-4)/elem)
	if have < n {
		q.fault(int64(v.base)+to, v.fail(size, t, f.name, "%s: the file ends behind %d of %d elements", path, have, n))
	}
	if v.left -= 4 + have*elem; v.left < 0 {
		q.fail(to, t, f.name, "%s: objects share bytes", path)
		return -1, 0, 0
	}
	v.end = max(v.end, to+4+n*elem)
	if f.kind != kBytes || t != sectionTable {
		q.see(to, 4+have*elem)
	}
	return to, n, have
}

// text returns a string that is there whole.
func (q *scanBuffer) text(path string, t *table, f *field, pos int64) (string, bool) {
	v, size := q.v, int64(len(q.v.buf))
	if pos > size-4 || pos%4 != 0 {
		q.fail(pos, t, f.name, "%s: the string at 0x%x is not there: the file has 0x%x bytes", path, int64(v.base)+pos, int64(v.base)+size)
		return "", false
	}
	n := v.u32(pos)
	if n > size-pos-5 {
		q.fault(int64(v.base)+pos, v.fail(size, t, f.name, "%s: the file ends inside the string of %d bytes at 0x%x", path, n, int64(v.base)+pos))
		return "", false
	}
	if v.left -= 5 + n; v.left < 0 {
		q.fail(pos, t, f.name, "%s: objects share bytes", path)
		return "", false
	}
	v.end = max(v.end, pos+5+n)
	q.see(pos, 5+n)
	s := v.buf[pos+4 : pos+4+n]
	if !utf8.Valid(s) || v.buf[pos+4+n] != 0 {
		q.fail(pos, t, f.name, "%s: the string of %d bytes is no UTF-8 with a zero byte behind it", path, n)
		return "", false
	}
	return string(s), true
}

// sectionKindNames names the kinds of sections.
var sectionKindNames = map[int32]string{
	kindFunction: "function", kindBlock: "block", kindOperation: "operation", kindArgFrame: "argument frame",
	kindOpAttrs: "attributes", kindAlias: "alias", kindConstant: "constant",
}

// section walks a section: its name, its kind, and what it holds by its kind.
func (q *scanBuffer) section(path string, pos int64, vtab []byte) {
	t := sectionTable
	const name, kind, data = 0, 1, 2
	q.field(path, t, name, pos, vtab)
	k := int32(0)
	if at := q.slotAt(path, t, &t.fields[kind], kind, 4, pos, vtab); at != 0 {
		k = int32(q.v.u32(at))
		text := strconv.Itoa(int(k))
		if n := sectionKindNames[k]; n != "" {
			text += " (" + n + ")"
		}
		q.put(join(path, "kind"), at, text)
	}
	f := &t.fields[data]
	at := q.slotAt(path, t, f, data, 4, pos, vtab)
	if at == 0 {
		q.missing(path, t, f, data, pos, vtab)
		return
	}
	to, n, have := q.vector(join(path, "data"), t, f, at)
	if to < 0 {
		return
	}
	b := q.v.buf[to+4 : to+4+have]
	root, nested := sectionRoots[k]
	q.see(to, 4)
	if !nested {
		q.see(to+4, have)
		q.blob(join(path, "data"), to, n, b)
		return
	}
	q.buffer(join(path, "data"), b, q.v.base+int(to)+4, root)
}
