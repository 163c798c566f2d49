package td

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// randomTask returns a task with values in a share of its fields.
func randomTask(rng *rand.Rand) *Task {
	t := New()
	share := rng.Float64()
	for f := range table {
		if rng.Float64() < share {
			t.setRaw(Field(f), uint32(rng.Uint64()&(limits[f]/uint64(units[f]))))
		}
	}
	t.Spans = forms[rng.IntN(len(forms))].spans(t)
	return t
}

func sameTask(a, b *Task) bool {
	return a.val == b.val && reflect.DeepEqual(V7.spans(a), V7.spans(b))
}

// difference names the first field in which two tasks differ.
func difference(a, b *Task) string {
	for f := range Field(len(table)) {
		if a.raw(f) != b.raw(f) {
			return fmt.Sprintf("%s is %#x, was %#x", f, a.raw(f), b.raw(f))
		}
	}
	return fmt.Sprintf("records are %v, were %v", V7.spans(a), V7.spans(b))
}

// roundTrip checks every way through version 10 for each task, and for the tasks of one program together.
func roundTrip(t *testing.T, name string, tasks []*Task) {
	t.Helper()
	for i, task := range tasks {
		img, err := EncodeV10(task)
		if err != nil {
			t.Fatalf("%s task %d: %v", name, i, err)
		}
		back, err := DecodeV10(img)
		if err != nil {
			t.Fatalf("%s task %d: %v", name, i, err)
		}
		if !sameTask(back, task) {
			t.Errorf("%s task %d: not the same task after version 10", name, i)
		}
	}
	images, rs, err := Split(tasks)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	stream, err := EncodeRecords(rs)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	file, err := EncodeImages(images)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if rs, err = ScanRecords(stream); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if images, err = ScanImages(file); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	back, err := Join(images, rs)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var text bytes.Buffer
	if err := WriteText(&text, []Program{{name, tasks}}); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	read, err := ReadText(text.String())
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(back) != len(tasks) || len(read) != 1 || read[0].Name != name || len(read[0].Tasks) != len(tasks) {
		t.Fatalf("%s: %d tasks become %d from the records and %d programs from the text", name, len(tasks), len(back),
			len(read))
	}
	for i := range tasks {
		if !sameTask(back[i], tasks[i]) {
			t.Errorf("%s task %d: records and image rebuild another task: %s", name, i, difference(back[i], tasks[i]))
		}
		if !sameTask(read[0].Tasks[i], tasks[i]) {
			t.Errorf("%s task %d: the text gives another task", name, i)
		}
	}
}

func TestRandomTasksV10(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 7))
	for range 300 {
		tasks := make([]*Task, 1+rng.IntN(3))
		for i := range tasks {
			tasks[i] = randomTask(rng)
		}
		roundTrip(t, "random", tasks)
	}
}

// TestPlaces checks that every field has one place of its own, the upper bits of wide fields included, and that the
// places stated by the chapters are as they state them.
// Listing 23.3.
func TestPlaces(t *testing.T) {
	bits := map[[2]int]string{}
	for i := range table {
		r := &table[i]
		p := r.Place(V10)
		if p.Block == nil || p.Source == "" {
			t.Fatalf("%s has no place or source", r.Name)
		}
		if p.Word >= p.Block.Words {
			t.Errorf("%s: word %d of %s, which has %d", r.Name, p.Word, p.Block.Name, p.Block.Words)
		}
		for b := range int(p.Width) {
			k := [2]int{p.Offset(), int(p.Bit) + b}
			if other, ok := bits[k]; ok || k[1] > 31 {
				t.Errorf("%s: bit %v is %s's", r.Name, k, other)
			}
			bits[k] = r.Name
		}
	}
	for _, u := range uppers {
		for b := 0; u.mask>>b != 0; b++ {
			k := [2]int{4 * u.word, int(u.bit) + b}
			if other, ok := bits[k]; ok || k[1] > 31 {
				t.Errorf("%s: upper bit %v is %s's", u.field, k, other)
			}
			bits[k] = u.field.String()
		}
	}
	end := 0
	for _, g := range V10.Blocks {
		if g.Image() < end {
			t.Errorf("%s begins at %#x, before %#x", g.Name, g.Image(), end)
		}
		end = g.Image() + 4*g.Words
	}
	if end != ImageSize {
		t.Errorf("the groups end at %#x, the image at %#x", end, ImageSize)
	}
	for _, c := range []struct {
		f      Field
		off    int // in the image, listing 23.3
		bit    uint8
		width  uint8
		reg    uint32 // 0: none stated
		lookup string
	}{
		{f: Win, off: 0xf4, bit: 0, width: 15, reg: 0, lookup: "listing 23.3"},
		{f: Hin, off: 0xf4, bit: 16, width: 15, reg: 0, lookup: "listing 23.3"},
		{f: Cin, off: 0x100, bit: 0, width: 17, reg: 0, lookup: "listing 23.3"},
		{f: Cout, off: 0x104, bit: 0, width: 17, reg: 0, lookup: "listing 23.3"},
		{f: OCGSize, off: 0x118, bit: 0, width: 3, reg: 0, lookup: "listing 23.3"},
		{f: NumGroups, off: 0x11c, bit: 0, width: 13, reg: 0, lookup: "listing 23.3"},
		{f: PlanarType, off: 0xf4 + 0x38, bit: 4, width: 4, reg: 0, lookup: "task type"},
		{f: CoeffEn, off: 0x2c, bit: 0, width: 1, reg: 0x5508, lookup: "listing 23.3"},
		{f: StreamConfig, off: 0x24 + 0x48, bit: 0, width: 32, reg: 0x5548, lookup: "enables"},
		{f: StreamConfig.At(3), off: 0x24 + 0x78, bit: 0, width: 32, reg: 0x5578, lookup: "enables"},
		{f: StreamBase, off: 0x24 + 0x4c, bit: 6, width: 26, reg: 0x554c, lookup: "offsets"},
		{f: StreamBase.At(3), off: 0x24 + 0x7c, bit: 6, width: 26, reg: 0x557c, lookup: "offsets"},
		{f: SrcBase, off: 0x148 + 0x10, bit: 6, width: 26, reg: 4 * 0x1344, lookup: "table 23.5"},
		{f: Src2Base, off: 0x148 + 0x28, bit: 6, width: 26, reg: 4 * 0x134a, lookup: "table 23.5"},
		{f: DstBase, off: 0x358 + 0x08, bit: 6, width: 26, reg: 4 * 0x1442, lookup: "table 23.5"},
		{f: SrcRow, off: 0x148 + 0x18, bit: 6, width: 26, reg: 0, lookup: assigned},
		{f: L2Src, off: 0x2e4 + 0x08, bit: 4, width: 17, reg: 0, lookup: assigned},
	} {
		r := c.f.Row()
		p := r.Place(V10)
		reg, _ := p.Register()
		if p.Offset() != c.off || p.Bit != c.bit || p.Width != c.width || c.reg != 0 && reg != c.reg ||
			!strings.Contains(p.Source, c.lookup) {
			t.Errorf("%s: image %#x bit %d width %d register %#x (%s), want %+v", r.Name, p.Offset(), p.Bit,
				p.Width, reg, p.Source, c)
		}
	}
}

// TestSlotRegisters checks that the registers of every slot's address pair, low and high, contain no field except the
// offset that is part of the record, so that loading may write them. The weight lanes have no pair: each lane's own
// offset counts from the address.
// Table 23.5.
func TestSlotRegisters(t *testing.T) {
	for _, s := range slotRows {
		g, reg := s.group, s.slot.Register()
		if reg < g.Base || reg >= g.Base+4*uint32(g.Words) {
			t.Errorf("%s: register %#x is not in %s", s.slot, s.slot.Register(), s.group.Name)
		}
		if s.slot == SlotWeights {
			continue
		}
		for i := range uint32(2) {
			off := g.Image() + int(s.slot.Register()-g.Base) + 4*int(i)
			if V10.block(off/4) != g {
				t.Errorf("%s: its pair leaves %s", s.slot, g.Name)
			}
			for _, f := range V10.fields[off/4] {
				if f != s.offset && table[f].Known != Unknown {
					t.Errorf("%s: %s lies in its pair", s.slot, f)
				}
			}
		}
	}
}

func TestDecodeV10Refuses(t *testing.T) {
	good, err := EncodeV10(New())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		off  int
		want string
	}{
		{0xac, "image byte 0xac: a word between the groups = 0x80: bits 0x80 belong to no field"},
		{0x15c, "image byte 0x15c: G2 register 0x4d14 = 0x80: bits 0x80 belong to no field"},
		{0x118, "image byte 0x118: G1 register 0x0024 = 0x80: bits 0x80 belong to no field"},
	} {
		bad := bytes.Clone(good)
		bad[c.off] = 0x80
		if _, err := DecodeV10(bad); err == nil || err.Error() != c.want {
			t.Errorf("%#x: %v, want %s", c.off, err, c.want)
		}
	}
	bad := bytes.Clone(good)
	bad[formAt] = 3
	if _, err := DecodeV10(bad); err == nil || !strings.Contains(err.Error(), "form 3: forms are 0 to 2") {
		t.Error(err)
	}
	bad = bytes.Clone(good)
	bad[formAt], bad[KernelOn.Row().Place(V10).Offset()] = 1, 1<<6
	if _, err := DecodeV10(bad); err == nil || !strings.Contains(err.Error(),
		"form 1 (full): the task's records are those of form 0 (current)") {
		t.Error(err)
	}
	for _, n := range []int{0, 1, ImageSize - 1, ImageSize + 1} {
		if _, err := DecodeV10(make([]byte, n)); err == nil {
			t.Errorf("%d bytes decode", n)
		}
	}
	odd := New()
	odd.Spans = []Span{{Addr: Common.Base, Count: 3}}
	if _, err := EncodeV10(odd); err == nil || !strings.Contains(err.Error(), "none of the forms") {
		t.Error(err)
	}
	if _, err := EncodeV10(New().Set(Win, -1)); err == nil {
		t.Error("a value that does not fit is encoded")
	}
}

func TestVersions(t *testing.T) {
	task := New().Set(Win, 5).SetBool(KernelOn, true)
	task.Spans = wholeSpans
	for _, c := range Codecs {
		task := task
		if c.Heads != nil {
			task = wholeTask(c, Win).Set(Win, 5)
		}
		if back, err := back(c, task); err != nil || !sameTask(back.Set(TaskWords, 0), task) {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
	ws, err := V7.EncodeWords(task)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := V7.DecodeWords(ws[:len(ws)-1]); err == nil {
		t.Error("version 7: a cut task decodes")
	}
	image, err := EncodeV10(task)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := DecodeV10(image[:len(image)-3]); err == nil {
		t.Error("version 10: a cut image decodes")
	}
	const want = "task descriptor version 12 (ZinAneTdHw_v12) is not known: known are 7 (ZinAneTd<7>), 10 " +
		"(ZinAneTdHw_v10), 11 (ZinAneTd<11>), 8 (ZinAneTd<8>), 17 (ZinAneTd<17>), 19 (ZinAneTd<19>), 20 " +
		"(ZinAneTd<20>) and 24 (ZinAneTd<24>)"
	if _, err := CodecOf(12); err == nil || err.Error() != want {
		t.Error(err)
	}
	file, err := EncodeImages([][]byte{make([]byte, ImageSize)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		off  int
		v    byte
		want string
	}{
		{0, 'X', "byte 0x0"},
		{4, 12, "byte 0x4: version: task descriptor version 12"},
		{4, 7, "version 7 has no register image"},
		{6, 1, "byte 0x6: image size"},
	} {
		bad := bytes.Clone(file)
		bad[c.off] = c.v
		if _, err := ScanImages(bad); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	if _, err := ScanImages(file[:len(file)-1]); err == nil {
		t.Error("a cut image decodes")
	}
	for _, c := range []struct{ text, want string }{
		{"", "nothing in it"},
		{"zinc tasks, descriptor 12, text 1", "line 1: task descriptor version 12"},
		{textHead + "\ntask 0, records none", "line 2: a task before the first procedure"},
		{textHead + "\nprocedure x", "wanted its name in quotes"},
		{textHead + "\nprocedure \"x\"\ntask 1, records none", "line 3: task 1"},
		{textHead + "\nprocedure \"x\"\ntask 0, records many", "forms are current, full and none"},
		{textHead + "\nprocedure \"x\"\ntask 0, records none\nG1+0x00.0 Common.Win = 131072",
			"line 4: Common.Win = 131072: the field holds 0..131071"},
		{textHead + "\nprocedure \"x\"\ntask 0, records none\nG1+0x04.0 Common.Win = 1",
			"its place in version 10 is G1+0x00.0"},
		{textHead + "\nprocedure \"x\"\ntask 0, records none\nG1+0x00.0 Common.Wim = 1", "not a field"},
		{textHead + "\nprocedure \"x\"\ntask 0, records none\nG1+0x00.0 Common.Win = 1\nG1+0x00.0 Common.Win = 1",
			"line 5: Common.Win is there twice"},
	} {
		if _, err := ReadText(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
}

func FuzzDecodeV10(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 4 {
		img, err := EncodeV10(randomTask(rng))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(img)
	}
	f.Fuzz(func(t *testing.T, img []byte) {
		task, err := DecodeV10(img)
		if err != nil {
			return
		}
		back, err := EncodeV10(task)
		if err != nil || !bytes.Equal(back, img) {
			t.Fatalf("the image changed (%v)", err)
		}
	})
}
