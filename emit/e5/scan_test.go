package e5

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/flattable"
)

// TestScan checks that Scan finds every value of a whole descriptor without a fault and nothing else. For a truncated
// descriptor, it finds some of those values, and more the later the cut is; every byte is either found or reported, and
// the first fault is at the end.
func TestScan(t *testing.T) {
	for name, p := range map[string]*Program{"fused": fused(0, 64), "every": every()} {
		b := mustBytes(t, p)
		whole := Scan(b)
		if len(whole.Faults) > 0 || len(whole.Rest) > 0 || len(whole.Parts) == 0 {
			t.Fatalf("%s: faults %v, rest %v", name, whole.Faults, whole.Rest)
		}
		all := map[Part]bool{}
		for _, x := range whole.Parts {
			all[x] = true
		}
		for _, s := range p.Symbols {
			found := false
			for _, x := range whole.Parts {
				found = found || strings.HasPrefix(x.Path, "symbol_names[") && x.Value == `"`+s+`"`
			}
			if !found {
				t.Errorf("%s: symbol %q is not found", name, s)
			}
		}
		last := -1
		for n := 0; n < len(b); n += 1 + n%7 + n/200 {
			cut := Scan(b[:n])
			if len(cut.Faults) == 0 {
				t.Fatalf("%s cut at %d of %d: no fault", name, n, len(b))
			}
			if e := cut.Faults[0]; e.Off > n || e.Table == "" || e.Msg == "" {
				t.Errorf("%s cut at %d: first fault %v", name, n, e)
			}
			count := 0
			for _, x := range cut.Parts {
				if strings.Contains(x.Value, ", of ") {
					continue // an array that is not whole
				}
				x.Assumed = false
				if x.Off > n || !all[x] {
					t.Fatalf("%s cut at %d: %v is not in the whole file", name, n, x)
				}
				count++
			}
			if count < last {
				t.Errorf("%s cut at %d: %d values, a shorter file has %d", name, n, count, last)
			}
			last = count
			end := 0
			for _, r := range cut.Rest {
				if r.Off < end || r.Bytes < 1 || r.Off+r.Bytes > n {
					t.Fatalf("%s cut at %d: rest %v", name, n, cut.Rest)
				}
				end = r.Off + r.Bytes
			}
			if n >= int(binary.LittleEndian.Uint32(b))+4 && !Is(b[:n]) {
				t.Errorf("%s cut at %d is not told to be a descriptor", name, n)
			}
		}
	}
}

// TestScanSections checks that in a truncated file of this package every complete section is found, even if its shared
// vtable is missing.
func TestScanSections(t *testing.T) {
	b := mustBytes(t, fused(2, 64))
	root := int(binary.LittleEndian.Uint32(b))
	at := root + 12 // of the third field, as table 23.2 has it
	vector := at + int(binary.LittleEndian.Uint32(b[at:]))
	found := 0
	for i := range int(binary.LittleEndian.Uint32(b[vector:])) {
		at := vector + 4 + 4*i
		table := at + int(binary.LittleEndian.Uint32(b[at:]))
		path := "sections[" + strconv.Itoa(i) + "]"
		end := 0
		for _, slot := range []int{0, 2} { // name and data
			o := table + int(layoutsOf(t, b)[sectionTable].Slot(slot))
			to := o + int(binary.LittleEndian.Uint32(b[o:]))
			end = max(end, to+4+int(binary.LittleEndian.Uint32(b[to:]))+1)
		}
		if end+4 >= len(b) {
			continue
		}
		cut := Scan(b[:end+4])
		names := 0
		for _, x := range cut.Parts {
			if strings.HasPrefix(x.Path, path+".") {
				names++
			}
		}
		if names < 3 {
			t.Errorf("cut at %#x: %s, which ends at %#x, has %d values; %v", end+4, path, end, names, cut.Faults[0])
		}
		found++
	}
	if found < 5 {
		t.Errorf("%d sections were cut behind their end", found)
	}
}

// layoutsOf returns the layouts of a descriptor.
func layoutsOf(t *testing.T, b []byte) map[*flattable.Table]flattable.Layout {
	t.Helper()
	if err := flattable.Verify(b, 0, programTable); err != nil {
		t.Fatal(err)
	}
	return flattable.Layouts(b, programTable)
}

// TestScanLayouts checks that real files have the assumed layouts.
func TestScanLayouts(t *testing.T) {
	sample, err := writeSample()
	if err != nil {
		t.Fatal(err)
	}
	assumed := layoutsOf(t, sample)
	for _, x := range []*flattable.Table{sectionTable, operandTable, descriptorTable, ioPortTable, buildInfoEntryTable,
		operationTable} {
		want := assumed[x]
		if want == nil {
			t.Fatalf("no layout of %s", x.Name)
		}
		for _, p := range []*Program{fused(0, 64), fused(3, 256)} {
			if got := layoutsOf(t, mustBytes(t, p))[x]; !bytes.Equal(got, want) {
				t.Errorf("%s: layout %x, assumed is %x", x.Name, got, want)
			}
		}
	}
}

// TestIs: other files are no descriptors.
func TestIs(t *testing.T) {
	for _, s := range []string{"", "\x10\x00\x00\x00\x0c", "\x10\x00\x00\x00\x00\x00", "program(1.0)",
		"\xce\xfa\xef\xbe\x80\x00\x00\x00"} {
		if Is([]byte(s)) {
			t.Errorf("%q is told to be a descriptor", s)
		}
	}
}

// FuzzScan looks for bytes that the reader of broken files does not survive.
func FuzzScan(f *testing.F) {
	for _, p := range []*Program{fused(0, 64), every()} {
		b, err := Bytes(p)
		if err != nil {
			f.Fatal(err)
		}
		for _, n := range []int{len(b), len(b) / 2, 60, 8} {
			f.Add(b[:min(n, len(b))])
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		Is(b)
		x := Scan(b)
		size := 0
		for _, p := range x.Parts {
			size += len(p.Value)
		}
		// A byte of a string is four at most in quotes, a number of eight bytes twenty.
		if size > 32*len(b)+100*len(x.Parts) || len(x.Parts) > len(b) {
			t.Fatalf("%d values of %d bytes from a file of %d", len(x.Parts), size, len(b))
		}
		if e := flattable.Verify(b, 0, programTable); e != nil && len(x.Faults) < flattable.MaxFaults &&
			!slices.ContainsFunc(x.Faults, func(f *FormatError) bool {
				return f.Table == e.Table && f.Field == e.Field
			}) {
			t.Fatalf("the strict walk says %v, Scan %v", e, x.Faults)
		}
		if _, err := Read(b); err == nil && len(x.Faults) > 0 {
			t.Fatalf("Read takes it, Scan says %v", x.Faults[0])
		}
	})
}

// TestScanOneLongName checks that many references to one table without a vtable, whose name is long, cost time in
// proportion to the file.
func TestScanOneLongName(t *testing.T) {
	const names, refs = 2 << 20, 1 << 19
	le := binary.LittleEndian
	layout := layoutsOf(t, mustBytes(t, &Program{}))[programTable]
	b := le.AppendUint32(nil, uint32(4+len(layout)))
	b = append(b, layout...)
	root := len(b)
	b = le.AppendUint32(b, uint32(len(layout)))
	for range int(le.Uint16(layout[2:]))/4 - 1 {
		b = le.AppendUint32(b, 0)
	}
	at := root + int(layout.Slot(2)) // sections
	le.PutUint32(b[at:], uint32(len(b)-at))
	b = le.AppendUint32(b, refs)
	section := len(b) + 4*refs
	for range refs {
		b = le.AppendUint32(b, uint32(section-len(b)))
	}
	// The section's vtable is far beyond the end; its name ends in invalid UTF-8.
	b = le.AppendUint32(b, 1<<31)
	b = le.AppendUint32(b, 12)
	b = append(b, make([]byte, 8)...)
	b = le.AppendUint32(b, names)
	b = append(append(b, bytes.Repeat([]byte("n"), names-1)...), 0xff)
	b = append(b, make([]byte, 8)...)
	s := Scan(b)
	if !slices.ContainsFunc(s.Faults, func(e *FormatError) bool { return e.Table == sectionTable.Name }) {
		t.Errorf("no section is told of: %v", s.Faults)
	}
}
