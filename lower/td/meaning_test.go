package td

import (
	"regexp"
	"strings"
	"testing"
)

// TestMeaning: the words for values are those of the table's own Doc.
func TestMeaning(t *testing.T) {
	for _, c := range []struct {
		f    Field
		v    uint32
		want string
	}{
		{PEOp, 1, "multiply"}, {PEOp, 3, "minimum"}, {PoolMode, 2, "maximum"}, {PoolMode, 1, "average (modelled)"},
		{NEOp, 12, "pass through"}, {NEOp, 5, ""}, {InFmt, 2, "fp16"}, {In2Fmt, 1, "int8"}, {In2Fmt, 0, ""},
		{OutFmt, 0, "uint8"}, {DstMemFmt, 2, "fp16"}, {PlanarType, 4, "source and parameter pair"},
		{KBase0, 3, "scratch"},
		{CoeffCacheHint, 2, ""}, {CoeffSize, 64, ""}, {ENE, 1, ""}, {ENE, 0, "planar"},
		{PENonlinear, 2, "reciprocal square root"}, {TID, 0, ""},
	} {
		if got := c.f.Row().Meaning(c.v); got != c.want {
			t.Errorf("%s = %d is %q, want %q", c.f, c.v, got, c.want)
		}
	}
	for i := range table {
		r := &table[i]
		for v, s := range meanings[r.Name] {
			if !strings.Contains(r.Doc, s) && !likeField.MatchString(r.Doc) {
				t.Errorf("%s: %q for %d is not in %q", r.Name, s, v, r.Doc)
			}
			if uint64(v) > r.Max() {
				t.Errorf("%s: %q is for %d, the field holds 0..%d", r.Name, s, v, r.Max())
			}
		}
	}
}

// TestEnumerations: a Doc that counts values in a row gives a word for each of them.
func TestEnumerations(t *testing.T) {
	list := regexp.MustCompile(`(?:^|: )0 \w[^,]*, 1 `)
	n := 0
	for i := range table {
		if r := &table[i]; list.MatchString(r.Doc) {
			n++
			if r.Meaning(0) == "" || r.Meaning(1) == "" {
				t.Errorf("%s: %q gives no words for 0 and 1", r.Name, r.Doc)
			}
		}
	}
	if n < 7 {
		t.Errorf("%d fields with enumerations, want 7 and more", n)
	}
}

// TestText: floating-point fields are printed as numbers.
func TestText(t *testing.T) {
	for _, c := range []struct {
		f    Field
		v    uint32
		want string
	}{{PEScale, 0x3c00, "1"}, {AccBias, 0xc000, "-2"}, {PEFinal, 0x3f000000, "0.5"}, {Win, 28, "28"},
		{SrcRow, 64, "64"}} {
		if got := c.f.Row().Text(c.v); got != c.want {
			t.Errorf("%s = %#x is %q, want %q", c.f, c.v, got, c.want)
		}
	}
}

// TestReadings: of all fields, every bit of every word is there once, at the word that
// WordIndex and FieldsAt have it, with a source.
func TestReadings(t *testing.T) {
	task := New().SetBool(KernelOn, true).Set(Cin, 7).SetBool(KBE0, true).Set(KBase0, 3)
	ws, err := task.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got := make([]uint32, len(ws))
	seen := make([]uint32, len(ws))
	for r := range task.Readings(true) {
		if at, ok := task.WordIndex(r.Field); !ok || at != r.Word {
			t.Errorf("%s is at word %d, WordIndex says %d", r.Name, r.Word, at)
		}
		found := false
		for _, f := range task.FieldsAt(r.Word) {
			found = found || f == r.Field
		}
		if !found {
			t.Errorf("FieldsAt(%d) has no %s", r.Word, r.Name)
		}
		mask := uint32(1<<r.Width-1) << r.Bit
		if seen[r.Word]&mask != 0 {
			t.Errorf("%s: bits of word %d are there twice", r.Name, r.Word)
		}
		seen[r.Word] |= mask
		got[r.Word] |= r.Value / r.Unit << r.Bit
		if r.Provenance() == "" || r.Bits() == "" {
			t.Errorf("%s has no source", r.Name)
		}
	}
	for i, w := range ws {
		if seen[i] == 0 { // the header of a record
			if task.FieldsAt(i) != nil {
				t.Errorf("word %d: Readings has no field of it, FieldsAt does", i)
			}
			continue
		}
		if seen[i] != 0xffffffff || got[i] != w {
			t.Errorf("word %d is %#x, its fields give %#x in bits %#x", i, w, got[i], seen[i])
		}
	}
	n := 0
	for r := range task.Readings(false) {
		if r.Value == 0 {
			t.Errorf("%s is zero", r.Name)
		}
		n++
	}
	if n != 4 || task.FieldsAt(-1) != nil || task.FieldsAt(len(ws)) != nil {
		t.Errorf("%d fields that are not zero, want 4", n)
	}
}

// TestWalkChainCut: of a chain that is cut, the tasks before the cut are visited.
func TestWalkChainCut(t *testing.T) {
	tasks := []*Task{New().Set(Cin, 1), New().Set(Cin, 2), New().Set(Cin, 3)}
	text, offs, err := EncodeChain(tasks, 0)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(text); n += 4 {
		want := 0
		for i, o := range offs {
			if o+4*tasks[i].Words() <= n {
				want++
			}
		}
		got := 0
		err := WalkChain(text[:n], 0, tasks[0].Words(), func(p Placed) error {
			if p.Off != offs[got] || p.Int(Cin) != got+1 {
				t.Errorf("cut at %#x: task %d is at %#x", n, got, p.Off)
			}
			got++
			return nil
		})
		if got != want || err == nil {
			t.Fatalf("cut at %#x: %d tasks, want %d; %v", n, got, want, err)
		}
	}
}

// TestScanRecordsCut: of a stream that is cut, the records before the cut are there.
func TestScanRecordsCut(t *testing.T) {
	_, rs, b := splitTwo(t)
	for n := range b {
		got, err := ScanRecords(b[:n])
		want := max(0, n-StreamHeader) / RecordSize
		if len(got) != want || err == nil && n != StreamHeader+want*RecordSize {
			t.Fatalf("cut at %d: %d records, want %d; %v", n, len(got), want, err)
		}
		for i := range got {
			if got[i] != rs[i] {
				t.Fatalf("cut at %d: record %d is %v", n, i, got[i])
			}
		}
	}
}
