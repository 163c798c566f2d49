package flattable

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
)

// Part is a value of a buffer that a [Scanner] found, named as the schema names it.
type Part struct {
	Path  string `json:"path"` // "sections[2].data.operands[0].name"
	Off   int    `json:"offset"`
	Value string `json:"value"`           // a string quoted; an array of more than 32 bytes as size and SHA-256
	Bytes int    `json:"bytes,omitempty"` // of an array of bytes, those that are present; they are at Off+4
	// Assumed reports that the vtable that describes the layout of the table is missing, and that the layout is assumed
	// to be the one that zinc writes.
	Assumed bool `json:"assumed,omitempty"`
}

// MaxFaults limits the faults that a scan reports.
const MaxFaults = 100

// Range is a stretch of a file.
type Range struct{ Off, Bytes int }

// Scanned is the result of a scan.
type Scanned struct {
	Parts []Part
	// Faults begin with the first object in the file that is incomplete.
	Faults []*Fault
	// Rest are the ranges of bytes in which no object was found, by offset: they belong to objects whose vtable or
	// whose reference is missing.
	Rest []Range
}

// Scanner lists the values that are present in files that are truncated or break the rules.
type Scanner struct {
	root    *Table
	summary func([]byte) string // the text of an array of bytes
	layouts func() map[*Table]Layout
}

// NewScanner returns a scanner of files with this root. A table without its vtable is assumed to have the layout that
// it has in the sample, which is written when it is first needed.
func NewScanner(root *Table, summary func([]byte) string, sample func() ([]byte, error)) *Scanner {
	return &Scanner{root, summary, sync.OnceValue(func() map[*Table]Layout {
		b, err := sample()
		if err != nil {
			return nil
		}
		return Layouts(b, root)
	})}
}

// Scan lists the values of b in the order of the schema: those that can be reached from the root through bytes that are
// present. The faults, up to MaxFaults, say what cannot be reached. Time and memory are in proportion to the length of
// b. Scan does not check the meaning of the values.
func (s *Scanner) Scan(b []byte) *Scanned {
	f := &findings{Scanner: s}
	_ = walkBuffer(b, 0, "", s.root, f) // the first of the faults
	slices.SortStableFunc(f.faults, func(a, b placedFault) int { return cmp.Compare(a.at, b.at) })
	out := &Scanned{Parts: f.parts}
	for _, x := range f.faults {
		out.Faults = append(out.Faults, x.err)
	}
	slices.SortFunc(f.seen, func(a, b Range) int {
		return cmp.Or(cmp.Compare(a.Off, b.Off), cmp.Compare(a.Bytes, b.Bytes))
	})
	end := 0
	for _, r := range append(f.seen, Range{len(b), 0}) {
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

// Layouts returns the layouts of the tables in a file.
func Layouts(b []byte, root *Table) map[*Table]Layout {
	none := &Scanner{root, func([]byte) string { return "" }, func() map[*Table]Layout { return nil }}
	f := &findings{Scanner: none, found: map[*Table]Layout{}}
	_ = walkBuffer(b, 0, "", root, f) // the layouts up to a fault
	return f.found
}

// placedFault is a fault, and the position in the file of the object that it is about.
type placedFault struct {
	at  int64
	err *Fault
}

// findings are what a scan collects from its walk.
type findings struct {
	*Scanner
	parts  []Part
	faults []placedFault
	seen   []Range // objects; nested ones are together with their vector

	assumed int               // number of enclosing tables with an assumed layout
	found   map[*Table]Layout // if they are collected
}

// fault records an error about an object at byte at of the file.
func (s *findings) fault(at int64, e *Fault) {
	if len(s.faults) < MaxFaults {
		s.faults = append(s.faults, placedFault{at, e})
	}
}

func (s *findings) see(off, n int) {
	if n > 0 {
		s.seen = append(s.seen, Range{off, n})
	}
}

func (s *findings) put(path string, off int, value string) {
	s.parts = append(s.parts, Part{Path: path, Off: off, Value: value, Assumed: s.assumed > 0})
}

func (s *findings) layout(o *placed) {
	if s.found != nil && s.found[o.Table] == nil {
		s.found[o.Table] = o.layout
	}
}

// number returns the text of a number of a kind, or of an element of a vector of numbers.
func (w *walk) number(k Kind, at int64) string {
	if k == Uint8 {
		return strconv.Itoa(int(w.buf[at]))
	}
	x := uint32(w.u32(at))
	switch k {
	case Int32, Int32s:
		return strconv.Itoa(int(int32(x)))
	case Uint64, Uint64s:
		return strconv.FormatUint(uint64(x)|uint64(w.u32(at+4))<<32, 10)
	case Float32s:
		return strconv.FormatFloat(float64(math.Float32frombits(x)), 'g', -1, 32)
	}
	return strconv.FormatUint(uint64(x), 10)
}

// scalar lists a number; one with names determines what is nested in its table.
func (w *walk) scalar(o *placed, f *Field, path string, at int64) {
	text := w.number(f.Kind, at)
	if f.Names != nil {
		o.kind = int32(w.u32(at))
		if n := f.Names[o.kind]; n != "" {
			text += " (" + n + ")"
		}
	}
	w.put(path, at, text)
}

// elements lists a vector of n numbers or bytes, have of them present, and walks a FlatBuffer in
// the bytes.
func (w *walk) elements(o *placed, f *Field, path string, pos, n, have int64) {
	at, elem := pos+4, int64(layouts[f.Kind].elem)
	if f.Kind != Bytes {
		w.see(pos, 4+have*elem)
		for i := range have {
			w.put(w.element(path, i), at+elem*i, w.number(f.Kind, at+elem*i))
		}
		return
	}
	b := w.buf[at : at+have]
	if root, nested := f.Nested[o.kind]; nested {
		w.see(pos, 4)
		_ = walkBuffer(b, w.base+int(at), path, root, w.scan) // reported to the scan
		return
	}
	w.see(pos, 4+have)
	text := w.scan.summary(b)
	if have < n {
		text += fmt.Sprintf(", of %d", n)
	}
	w.put(path, pos, text)
	w.scan.parts[len(w.scan.parts)-1].Bytes = len(b)
}
