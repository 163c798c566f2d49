package td

import (
	"fmt"
	"strings"
	"testing"
)

// TestMeaning checks that values have the words that their rows state.
func TestMeaning(t *testing.T) {
	for _, c := range []struct {
		f    Field
		v    uint32
		want string
	}{
		{PEOp, uint32(PEMultiply), "multiply"}, {PEOp, uint32(PEMin), "minimum"}, {PoolMode, uint32(PoolMax),
			"maximum"},
		{PoolMode, uint32(PoolAverage), "average (modelled)"}, {NEOp, uint32(NEPass), "pass through"}, {NEOp, 5, ""},
		{InFmt, uint32(FmtFP16), "fp16"}, {In2Fmt, uint32(FmtInt8), "int8"}, {OutFmt, uint32(FmtUint8), "uint8"},
		{DstMemFmt, uint32(FmtFP16), "fp16"}, {KernelFmt, uint32(KernelInt8), "int8"},
		{PlanarType, uint32(PlanarPair), "source and parameter pair"}, {KBase0, BarScratch, "scratch"},
		{CoeffCacheHint, 2, ""}, {CoeffSize, 64, ""}, {ENE, 1, ""}, {ENE, 0, "planar"},
		{PENonlinear, uint32(PERsqrt), "reciprocal square root"}, {TID, 0, ""},
	} {
		if got := c.f.Row().Meaning(c.v); got != c.want {
			t.Errorf("%s = %d is %q, want %q", c.f, c.v, got, c.want)
		}
	}
}

// TestValuesFitTheirRows checks that a row names each value once and only values that fit, and that its Doc has all
// their words.
func TestValuesFitTheirRows(t *testing.T) {
	for i := range table {
		r := &table[i]
		seen := map[uint32]bool{}
		for _, v := range r.Values {
			if seen[v.V] {
				t.Errorf("%s: %d has two words", r.Name, v.V)
			}
			seen[v.V] = true
			if uint64(v.V) > r.Max() {
				t.Errorf("%s: %q is for %d, the field holds 0..%d", r.Name, v, v.V, r.Max())
			}
			if v.Word == "" || !strings.Contains(r.Doc, fmt.Sprintf("%d %s", v.V, v)) {
				t.Errorf("%s: the word %q for %d is not in %q", r.Name, v, v.V, r.Doc)
			}
		}
	}
}

// TestKindsFitTheirRows checks that floating-point fields are as wide as their numbers, and that fields with a unit are
// bytes.
func TestKindsFitTheirRows(t *testing.T) {
	for i := range table {
		r := &table[i]
		if w := r.Home().Width; r.Kind == FP16 && w != 16 || r.Kind == FP32 && w != 32 {
			t.Errorf("%s: %s in %d bits", r.Name, r.Kind, w)
		}
		if bytes := r.Kind == Address || r.Kind == Size || r.Kind == Stride; bytes != (r.Unit > 1) {
			t.Errorf("%s: kind %s with unit %d", r.Name, r.Kind, r.Unit)
		}
	}
}

// TestArrays checks that the elements of an indexed field follow each other, in rows that differ only in place.
func TestArrays(t *testing.T) {
	for i := range table {
		r := &table[i]
		a := r.Array
		if a.Len == 0 {
			continue
		}
		if want := fmt.Sprintf("%s[%d]", a.Name, a.Index); a.Base.At(a.Index) != Field(i) || r.Name != want {
			t.Errorf("%s is at %d of %s, want %s", r.Name, i, a.Base, want)
		}
		base := *a.Base.Row()
		if a.Index >= a.Len || r.Kind != base.Kind || r.Doc != base.Doc ||
			!r.Follows(&table[max(i-1, int(a.Base))]) && a.Index > 0 {
			t.Errorf("%s does not go with %s", r.Name, a.Base)
		}
		for _, c := range []*Codec{V7, V11} {
			if p, q := r.Place(c), base.Place(c); p.Block != q.Block || p.Block != nil && p.Word != q.Word+a.Index {
				t.Errorf("version %d: %s is not %d words after %s", c.Version, r.Name, a.Index, a.Base)
			}
		}
	}
	if a := CoeffBase.At(3).Row().Array; a != (Array{
		Name:  "KernelDMA.CoeffBase",
		Base:  CoeffBase,
		Index: 3,
		Len:   Lanes,
	}) {
		t.Errorf("CoeffBase[3] is %+v", a)
	}
}

// TestText checks that floating-point fields are printed as numbers.
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

// TestReadings checks that Readings with all set yields every bit of every word once, at the word that WordIndex and
// FieldsAt report, with a source.
func TestReadings(t *testing.T) {
	task := New().SetBool(KernelOn, true).Set(Cin, 7).SetBool(KBE0, true).Set(KBase0, 3)
	ws, err := V7.EncodeWords(task)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]uint32, len(ws))
	seen := make([]uint32, len(ws))
	for r := range V7.Readings(task, true) {
		if at, ok := V7.WordIndex(task, r.Field); !ok || at != r.Word {
			t.Errorf("%s is at word %d, WordIndex says %d", r.Name, r.Word, at)
		}
		found := false
		for _, f := range V7.FieldsAt(task, r.Word) {
			found = found || f == r.Field
		}
		if !found {
			t.Errorf("FieldsAt(%d) has no %s", r.Word, r.Name)
		}
		mask := uint32(1<<r.At.Width-1) << r.At.Bit
		if seen[r.Word]&mask != 0 {
			t.Errorf("%s: bits of word %d are there twice", r.Name, r.Word)
		}
		seen[r.Word] |= mask
		got[r.Word] |= r.Value / r.Unit << r.At.Bit
		if r.Provenance() == "" || r.At.Bits() == "" {
			t.Errorf("%s has no source", r.Name)
		}
	}
	for i, w := range ws {
		if seen[i] == 0 { // the header of a record
			if V7.FieldsAt(task, i) != nil {
				t.Errorf("word %d: Readings has no field of it, FieldsAt does", i)
			}
			continue
		}
		if seen[i] != 0xffffffff || got[i] != w {
			t.Errorf("word %d is %#x, its fields give %#x in bits %#x", i, w, got[i], seen[i])
		}
	}
	n := 0
	for r := range V7.Readings(task, false) {
		if r.Value == 0 {
			t.Errorf("%s is zero", r.Name)
		}
		n++
	}
	if n != 4 || V7.FieldsAt(task, -1) != nil || V7.FieldsAt(task, len(ws)) != nil {
		t.Errorf("%d fields that are not zero, want 4", n)
	}
}

// TestWalkChainCut checks that the tasks before the cut are visited if a chain is cut.
func TestWalkChainCut(t *testing.T) {
	tasks := []*Task{New().Set(Cin, 1), New().Set(Cin, 2), New().Set(Cin, 3)}
	text, offs, err := V7.AppendChain(nil, tasks)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(text); n += 4 {
		want := 0
		for i, o := range offs {
			if o+4*V7.Words(tasks[i]) <= n {
				want++
			}
		}
		got := 0
		err := V7.WalkChain(text[:n], 0, V7.Words(tasks[0]), func(p Placed) error {
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

// TestScanRecordsCut checks that the records before the cut are returned if a stream is cut.
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
