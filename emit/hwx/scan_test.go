package hwx_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"reflect"
	"testing"

	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/testform"
)

// part is a part of a container as text, and the offset at which it ends.
type part struct {
	end  int64
	text string
}

// partsOf lists the parts of a File by the offsets that its own commands state.
func partsOf(f *hwx.File) []part {
	var l []part
	add := func(end int64, format string, args ...any) { l = append(l, part{end, fmt.Sprintf(format, args...)}) }
	for _, c := range f.Commands {
		switch c := c.(type) {
		case *hwx.Segment:
			for _, s := range c.Sections {
				for k, r := range s.Relocs {
					add(int64(s.RelocOff)+8*int64(k+1), "reloc %d %v", k, r)
				}
				if s.Parts != nil {
					add(int64(s.Offset)+int64(s.Size), "section %s, %d bytes, %x", s.Name, len(s.Bytes()),
						s.Bytes()[:min(len(s.Bytes()), 32)])
				}
			}
		case *hwx.Symtab:
			for k, s := range c.Symbols {
				end := int64(c.SymOff) + 16*int64(k+1)
				add(end, "symbol %d %#x", k, s.Value)
				add(max(end, int64(c.StrOff)+int64(s.NameOff)+int64(len(s.Name))+1), "symbol %d %s", k, s.Name)
			}
		}
	}
	return l
}

// TestScanCut truncates containers at many offsets: the result of Scan has every part that ends before the cut, and a
// first fault at the cut.
func TestScanCut(t *testing.T) {
	for name, img := range images() {
		_, _, whole := build(t, img)
		strict, err := hwx.Read(whole)
		if err != nil {
			t.Fatal(err)
		}
		if f, faults := hwx.Scan(whole); len(faults) > 0 || !reflect.DeepEqual(f, strict) {
			t.Fatalf("%s: of a whole file Scan gives another File, or faults %v", name, faults)
		}
		if len(whole) > 1<<20 {
			continue // the same parts in more bytes
		}
		lines := linesOf(t, strict)
		var cuts []int
		step := len(lines)/testform.Of(8, 40, 40) + 1
		for i := 0; i < len(lines); i += step {
			cuts = append(cuts, int(lines[i].end)-1, int(lines[i].end), int(lines[i].end)+1)
		}
		for n := 0; n < len(whole); n += 31 + n/testform.Of(3, 16, 16) {
			cuts = append(cuts, n)
		}
		for _, n := range cuts {
			if n < 0 || n >= len(whole) {
				continue
			}
			cut := whole[:n:n]
			f, faults := hwx.Scan(cut)
			if _, err := hwx.Read(cut); err == nil {
				continue // what is missing belongs to no part
			}
			if len(faults) == 0 {
				t.Fatalf("%s cut at %#x: Read refuses it, Scan has no fault", name, n)
			}
			if e := faults[0]; e.Field == "" || e.Off > int64(n) {
				t.Errorf("%s cut at %#x: first fault %v", name, n, e)
			}
			if f == nil {
				if n >= 32 {
					t.Fatalf("%s cut at %#x: no File", name, n)
				}
				continue
			}
			have := map[string]bool{}
			for _, l := range linesOf(t, f) {
				have[l.text] = true
			}
			for _, l := range lines {
				if l.end <= int64(n) && !have[l.text] {
					t.Fatalf("%s cut at %#x: %.80q, which ends at %#x, is not there; %v", name, n, l.text, l.end,
						faults[0])
				}
			}
			describe(t, io.Discard, f)
			symbols(t, io.Discard, f)
		}
	}
}

// TestScanEmptyTable checks that a table without entries that is after the file's end takes no bytes, but is a fault.
func TestScanEmptyTable(t *testing.T) {
	le := binary.LittleEndian
	img := images()["identity_split"]
	_, _, b := build(t, img)
	at := 32
	for le.Uint32(b[at:]) != hwx.CmdSymtab {
		at += int(le.Uint32(b[at+4:]))
	}
	for _, table := range []int{8, 16} { // symbols, strings: offset, then the number of entries or bytes
		c := bytes.Clone(b)
		le.PutUint32(c[at+table:], uint32(len(b)+1))
		le.PutUint32(c[at+table+4:], 0)
		if _, err := hwx.Read(c); err == nil {
			t.Errorf("table at +%d: Read takes it", table)
		}
		scanHolds(t, c)
	}
}

// linesOf lists the parts of a File, each with the offset at which it ends.
func linesOf(t testing.TB, f *hwx.File) []part {
	t.Helper()
	l := []part{{32, fmt.Sprint(f.Header)}}
	var text bytes.Buffer
	describe(t, &text, f)
	for _, line := range bytes.Split(text.Bytes(), []byte("\n")) {
		var at, size int64
		if n, _ := fmt.Sscanf(string(line), "0x%x +0x%x ", &at, &size); n == 2 {
			// The counts after the name are left out: for a table they count the entries that are present.
			l = append(l, part{at + size, string(bytes.Join(bytes.Fields(line)[:3], []byte(" ")))})
		}
	}
	return append(l, partsOf(f)...)
}

// scanHolds checks what must be true for Scan of any bytes.
func scanHolds(t *testing.T, data []byte) {
	t.Helper()
	f, faults := hwx.Scan(data)
	strict, err := hwx.Read(data)
	switch {
	case err == nil && (len(faults) > 0 || !reflect.DeepEqual(f, strict)):
		t.Fatalf("Read takes it, Scan has faults %v or another File", faults)
	case err != nil && len(faults) == 0:
		t.Fatalf("Read says %v, Scan has no fault", err)
	}
	for _, e := range faults {
		if e.Off < 0 || e.Off > int64(len(data)) {
			t.Fatalf("fault without a place in the file: %v", e)
		}
	}
	if f == nil {
		return
	}
	total := 0
	for _, s := range f.Sections() {
		total += len(s.Bytes()) + 8*len(s.Relocs)
	}
	if total+16*len(f.Symbols()) > len(data) {
		t.Fatalf("the parts have %d bytes, the file %d", total, len(data))
	}
	describe(t, io.Discard, f)
	symbols(t, io.Discard, f)
	f.ConstantBytes()
	f.TextBytes()
	hwx.Validate(f)
}

// FuzzScan looks for bytes that the reader of broken files does not survive.
func FuzzScan(f *testing.F) {
	for _, img := range images() {
		_, _, b := build(f, img)
		b = tight(f, b)
		f.Add(b)
		for _, n := range []int{3, 33, 100, 700, 2000, len(b) - 1} {
			f.Add(b[:min(n, len(b))])
		}
	}
	f.Fuzz(scanHolds)
}
