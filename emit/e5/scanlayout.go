package e5

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// In a FlatBuffer tables of one layout share a vtable, which comes after all of them except the one written first. In a
// truncated file most tables have therefore lost theirs. This package writes one layout for each table, so such a table
// can still be read, marked as having an assumed layout.

// writtenLayouts returns the vtables of the tables that this package writes.
var writtenLayouts func() map[*table][]byte

func init() { // a scanner collects them, and uses them
	writtenLayouts = sync.OnceValue(func() map[*table][]byte {
		s := &scanner{layouts: map[*table][]byte{}}
		if b, err := Bytes(sample()); err == nil {
			_ = walkBuffer(b, 0, "", programTable, s) // the written file has no faults
		}
		return s.layouts
	})
}

// sample is a Program with a table of each kind that a file has several of.
func sample() *Program {
	operand := func(name string, a Aperture) Operand {
		return Operand{Name: name, Aperture: a, Port: IOPort{Name: name, ByteSize: 2},
			Desc: TensorDescriptor{Dim: []uint64{1}, Stride: []uint64{2}, Storage: FP16}}
	}
	f := Function{Name: "f", AneHashPath: strings.Repeat("0", 64)}
	x, y := f.AddOperand(operand("x", HostInput)), f.AddOperand(operand("y", HostOutput))
	f.AddOp([]uint32{x}, []uint32{y}, &CastAttrs{SrcDType: FP16, DstDType: FP16})
	f.Inputs, f.Outputs = []uint32{x}, []uint32{y}
	return &Program{BuildInfo: []KV{{KeyTarget, "h13"}}, Functions: []Function{f}}
}

// assume walks a table without its vtable using the layout that this package writes, if what the table refers to fits.
func (w *walk) assume(path string, t *table, pos int64) {
	if w.scan == nil {
		return
	}
	if vtab := writtenLayouts()[t]; vtab != nil && w.fits(t, pos, vtab) {
		w.scan.assumed++
		w.fieldsOf(&placed{table: t, path: path, pos: pos, vt: pos, vtab: vtab})
		w.scan.assumed--
	}
}

// fits reports whether the fields of a table at byte pos, laid out as in vtab, are in place and refer to what their
// kinds allow, as far as the data is present.
func (w *walk) fits(t *table, pos int64, vtab []byte) bool {
	size := int64(len(w.buf))
	for i := range t.fields {
		f := &t.fields[i]
		off, l := slotOf(vtab, i), layouts[f.kind]
		at := pos + off
		if off == 0 || f.kind == kUnion || at+4 > size {
			continue
		}
		if at%int64(l.size) != 0 {
			return false
		}
		if l.elem == 0 && f.kind != kTable {
			continue
		}
		to := at + w.u32(at)
		switch {
		case to == at || to%4 != 0:
			return false
		case f.kind != kString || to+4 > size:
			continue
		}
		n := w.u32(to)
		end := to + 4 + n
		if end >= size {
			continue
		}
		// A writer never shares strings, so those of all tables together fit the buffer.
		if w.texts -= n; w.texts < 0 || w.buf[end] != 0 || !utf8.Valid(w.buf[to+4:end]) {
			return false
		}
	}
	return true
}
