package e5

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// rootTag is the start of the vtable of the root table (table 23.1).
var rootTag = []byte{0x0c, 0, 0x14, 0, 4, 0, 8, 0}

// Is reports whether b begins like a descriptor, even a truncated one: by the vtable of its root table. Fewer than six
// bytes are not enough.
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
	Bytes int    `json:"bytes,omitempty"` // of an array of bytes, those that are present; they are at Off+4
	// Assumed reports that the vtable that describes the layout of the table is missing, and that the layout is assumed
	// to be the one that this package writes.
	Assumed bool `json:"assumed,omitempty"`
}

// maxFaults limits the faults that Scan reports.
const maxFaults = 100

// Range is a stretch of a file.
type Range struct{ Off, Bytes int }

// Scanned is the result of Scan.
type Scanned struct {
	Parts []Part
	// Faults begin with the first object in the file that is incomplete.
	Faults []*FormatError
	// Rest are the ranges of bytes in which no object was found, by offset: they belong to objects whose vtable or
	// whose reference is missing.
	Rest []Range
}

// Scan lists the values that are present in a descriptor that is truncated or breaks the rules, in the order of the
// schema: those that can be reached from the root through bytes that are present. The faults, up to a hundred, say what
// cannot be reached. Time and memory are in proportion to the length of b. Scan does not check the meaning of the
// values.
func Scan(b []byte) *Scanned {
	s := &scanner{}
	_ = walkBuffer(b, 0, "", programTable, s) // the first of the faults
	slices.SortStableFunc(s.faults, func(a, b scanFault) int { return cmp.Compare(a.at, b.at) })
	out := &Scanned{Parts: s.parts}
	for _, f := range s.faults {
		out.Faults = append(out.Faults, f.err)
	}
	slices.SortFunc(s.seen, func(a, b Range) int {
		return cmp.Or(cmp.Compare(a.Off, b.Off), cmp.Compare(a.Bytes, b.Bytes))
	})
	end := 0
	for _, r := range append(s.seen, Range{len(b), 0}) {
		// An object ends on a word boundary.
		if at := (end + 3) &^ 3; r.Off > at && at < len(b) {
			if n := min(r.Off, len(b)) - at; len(bytes.Trim(b[at:at+n], "\x00")) > 0 { // else padding
				out.Rest = append(out.Rest, Range{at, n})
			}
		}
		end = max(end, r.Off+r.Bytes)
	}
	return out
}

// scanFault is a fault, and the position in the file of the object that it is about.
type scanFault struct {
	at  int64
	err *FormatError
}

// scanner collects the findings of a walk.
type scanner struct {
	parts  []Part
	faults []scanFault
	seen   []Range // objects; nested ones are together with their vector

	assumed int               // number of enclosing tables with an assumed layout
	layouts map[*table][]byte // the vtables found, if they are collected
}

// fault records an error about an object at byte at of the file.
func (s *scanner) fault(at int64, e *FormatError) {
	if len(s.faults) < maxFaults {
		s.faults = append(s.faults, scanFault{at, e})
	}
}

func (s *scanner) see(off, n int) {
	if n > 0 {
		s.seen = append(s.seen, Range{off, n})
	}
}

func (s *scanner) put(path string, off int, value string) {
	s.parts = append(s.parts, Part{Path: path, Off: off, Value: value, Assumed: s.assumed > 0})
}

func (s *scanner) layout(o *placed) {
	if s.layouts != nil && s.layouts[o.table] == nil {
		s.layouts[o.table] = o.vtab
	}
}

// number returns the text of a number of a kind, or of an element of a vector of numbers.
func (w *walk) number(k kind, at int64) string {
	if k == kUint8 {
		return strconv.Itoa(int(w.buf[at]))
	}
	x := uint32(w.u32(at))
	switch k {
	case kInt32, kInt32s:
		return strconv.Itoa(int(int32(x)))
	case kUint64, kUint64s:
		return strconv.FormatUint(uint64(x)|uint64(w.u32(at+4))<<32, 10)
	case kFloat32s:
		return strconv.FormatFloat(float64(math.Float32frombits(x)), 'g', -1, 32)
	}
	return strconv.FormatUint(uint64(x), 10)
}

// sectionKindNames names the kinds of sections.
var sectionKindNames = map[int32]string{
	kindFunction: "function", kindBlock: "block", kindOperation: "operation", kindArgFrame: "argument frame",
	kindOpAttrs: "attributes", kindAlias: "alias", kindConstant: "constant",
}

// scalar lists a number; the number that is the kind of a section determines its data.
func (w *walk) scalar(o *placed, f *field, path string, at int64) {
	text := w.number(f.kind, at)
	if o.table == sectionTable {
		o.kind = int32(w.u32(at))
		if n := sectionKindNames[o.kind]; n != "" {
			text += " (" + n + ")"
		}
	}
	w.put(path, at, text)
}

// elements lists a vector of n numbers or bytes, of which have are present, and walks the FlatBuffer in a section.
func (w *walk) elements(o *placed, f *field, path string, pos, n, have int64) {
	at, elem := pos+4, int64(layouts[f.kind].elem)
	if f.kind != kBytes {
		w.see(pos, 4+have*elem)
		for i := range have {
			w.put(w.element(path, i), at+elem*i, w.number(f.kind, at+elem*i))
		}
		return
	}
	b := w.buf[at : at+have]
	if root, nested := sectionRoots[o.kind]; nested && o.table == sectionTable {
		w.see(pos, 4)
		_ = walkBuffer(b, w.base+int(at), path, root, w.scan) // reported to the scan
		return
	}
	w.see(pos, 4+have)
	text := summarise(b).String()
	if have < n {
		text += fmt.Sprintf(", of %d", n)
	}
	w.put(path, pos, text)
	w.scan.parts[len(w.scan.parts)-1].Bytes = len(b)
}
