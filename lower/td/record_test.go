package td

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// twoTasks returns a program with every kind of record: a task that reads two sources and streams coefficients and a
// bias, and one that writes at a large offset in its buffer.
func twoTasks() []*Task {
	a := New().SetBool(SrcEn, true).Set(RBase0, 5).SetBool(RBE0, true).Set(SrcBase, 0x40).Set(SrcFmtMode, 1)
	a.SetBool(Source1, true).SetBool(Source2DMA, true).Set(RBase1, 6).SetBool(RBE1, true).Set(Src2Base, 0xffff*64)
	a.SetBool(KernelOn, true).Set(KBase0, 1).SetBool(KBE0, true).Set(StreamConfig.At(0), 0x81).
		Set(StreamBase.At(0), 0x80)
	b := New().SetBool(LNID, true).SetBool(EON, true).Set(TID, 1)
	b.SetBool(DstEn, true).Set(WBase, 4).SetBool(WBE, true).Set(DstBase, 0x10000*64).Set(DstFmtMode, 1)
	return []*Task{a, b}
}

func splitTwo(t testing.TB) ([][]byte, []Record, []byte) {
	t.Helper()
	images, rs, err := Split(twoTasks())
	if err != nil {
		t.Fatal(err)
	}
	stream, err := EncodeRecords(rs)
	if err != nil {
		t.Fatal(err)
	}
	return images, rs, stream
}

// TestDataSetsAreInRecords splits a task with identifiers of data sets, and rebuilds it.
func TestDataSetsAreInRecords(t *testing.T) {
	task := New().SetBool(LNID, true).SetBool(EON, true).Set(SrcDataSet, 14).Set(SrcTag, 3).Set(DstDataSet, 7)
	images, records, err := Split([]*Task{task})
	if err != nil || len(records) != 2 || records[0].Operand != 14 || records[1].Operand != 7 {
		t.Fatalf("%+v, %v", records, err)
	}
	if open, err := DecodeV10(images[0]); err != nil || open.On(SrcDataSet) || open.Int(SrcTag) != 3 {
		t.Errorf("%v, %v", open, err)
	}
	back, err := Join(images, records)
	if err != nil || back[0].Int(SrcDataSet) != 14 || back[0].Int(DstDataSet) != 7 {
		t.Errorf("%v, %v", back, err)
	}
	for _, r := range []Record{{Operand: 0}, {Operand: 256}, {Place: Placement{Bit: 9, Width: 8}}} {
		bad := records[0]
		bad.Operand = r.Operand
		if r.Place.Width > 0 {
			bad.Place, bad.Operand = r.Place, 1
		}
		if _, err := EncodeRecords([]Record{bad}); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

func TestRecordBytes(t *testing.T) {
	images, rs, stream := splitTwo(t)
	roundTrip(t, "two", twoTasks())
	if len(rs) != 7 || len(stream) != 8+7*44 {
		t.Fatalf("%d records in %d bytes", len(rs), len(stream))
	}
	le := binary.LittleEndian
	rec := func(i int) []byte { return stream[8+44*i:][:44] }
	if string(stream[:8]) != "ZTDR\x02\x00\x2c\x00" {
		t.Errorf("header % x", stream[:8])
	}
	for i, c := range []struct {
		marker           uint32
		register, second uint64
		key, place, bar  uint32
		operand          uint64
	}{
		{marker: 0x0202, register: 0x4d10, second: 0x40, key: 0x80001344, place: 0x062406, bar: 5, operand: 0},
		{marker: 0x0202, register: 0x4d28, second: 0xffff * 64, key: 0x8000134a, place: 0x062406, bar: 6, operand: 0},
		{marker: 0x0001, register: 0x5508, second: 0, key: 0x80001542, place: 0x062406, bar: 1, operand: 0},
		{marker: 0x0002, register: 0x5550, second: 0x80, key: 0x80001554, place: 0x062406, bar: 1, operand: 0},
		{marker: 0x0201, register: 0x4d48, second: 0, key: 0, place: 0x002000, bar: 0xffff, operand: 1},
		{marker: 0x10602, register: 0x5108, second: 0x10000 * 64, key: 0x80001442, place: 0x062406, bar: 4, operand: 0},
		{marker: 0x10601, register: 0x5120, second: 0, key: 0, place: 0x002000, bar: 0xffff, operand: 1},
	} {
		b := rec(i)
		if le.Uint32(b) != c.marker || le.Uint64(b[4:]) != c.register || le.Uint64(b[12:]) != c.operand ||
			le.Uint64(b[20:]) != c.second ||
			le.Uint32(b[28:]) != c.key || le.Uint32(b[32:]) != c.place || le.Uint32(b[36:]) != c.bar ||
			le.Uint32(b[40:]) != crc32.ChecksumIEEE(b[:40]) {
			t.Errorf("record %d: % x, want %+v", i, b, c)
		}
	}
	// What the records carry is not in the images.
	for i, img := range images {
		task, err := DecodeV10(img)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []Field{RBase0, RBE0, SrcBase, RBase1, RBE1, Src2Base, KBase0, KBE0, StreamBase, WBase, WBE,
			DstBase, SrcFmtMode, DstFmtMode} {
			if task.Get(f) != 0 {
				t.Errorf("image %d has %s = %d", i, f, task.Get(f))
			}
		}
	}
}

func TestResolve(t *testing.T) {
	images, rs, _ := splitTwo(t)
	const base = 0x1bc400008000
	for i := range rs {
		if err := rs[i].Resolve(base, 0x30004000); err != nil {
			t.Fatal(err)
		}
	}
	if r := rs[5]; r.Operand != 0x30004000+0x10000*64 || r.Register != base+0x5108 || !r.Resolved {
		t.Errorf("resolved to %+v", r)
	}
	stream, err := EncodeRecords(rs)
	if err != nil {
		t.Fatal(err)
	}
	back, err := ScanRecords(stream)
	if err != nil || !reflect.DeepEqual(back, rs) {
		t.Fatalf("%v, %v", back, err)
	}
	// A resolved stream rebuilds the same tasks, and resolves again.
	tasks, err := Join(images, back)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range twoTasks() {
		if !sameTask(tasks[i], want) {
			t.Errorf("task %d: %s", i, difference(tasks[i], want))
		}
	}
	for _, c := range []struct {
		base, address uint64
		want          string
	}{
		{0x4000, 0, "register base 0x4000: not a multiple of 0x8000"},
		{base, 0x30004020, "operand 0: device address 0x30004060"},
		{base, 1 << 42, "operand 0: device address"},
	} {
		r := rs[0]
		if err := r.Resolve(c.base, c.address); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
		if r != rs[0] {
			t.Error("a refused resolution changed the record")
		}
	}
}

// TestScanRecordsRefuses checks that each fault in a stream is refused with the byte offset and the field.
func TestScanRecordsRefuses(t *testing.T) {
	_, _, good := splitTwo(t)
	at := func(i, off int) int { return 8 + 44*i + off }
	for _, c := range []struct {
		name  string
		spoil func(b []byte) []byte
		fix   bool // the checksums are corrected afterwards
		off   int
		field string
	}{
		{name: "magic", spoil: func(b []byte) []byte { b[0] = 'X'; return b }, fix: false, off: 0, field: "magic"},
		{name: "version", spoil: func(b []byte) []byte { b[4] = 3; return b }, fix: false, off: 4, field: "version"},
		{name: "record size", spoil: func(b []byte) []byte {
			b[6] = 40
			return b
		}, fix: false, off: 6, field: "record size"},
		{name: "empty", spoil: func([]byte) []byte { return nil }, fix: false, off: 0, field: "magic"},
		{name: "cut", spoil: func(b []byte) []byte { return b[:len(b)-1] }, fix: false, off: at(6, 0), field: "size"},
		{name: "checksum", spoil: func(b []byte) []byte {
			b[at(2, 9)] ^= 1
			return b
		}, fix: false, off: at(2, 0x28), field: "CRC-32"},
		{name: "no operands", spoil: func(b []byte) []byte {
			b[at(0, 0)] = 0
			return b
		}, fix: true, off: at(0, 0), field: "operand count"},
		{name: "three operands", spoil: func(b []byte) []byte {
			b[at(0, 0)] = 3
			return b
		}, fix: true, off: at(0, 0), field: "operand count"},
		{name: "second operand uncounted", spoil: func(b []byte) []byte {
			b[at(5, 0)] = 1
			return b
		}, fix: true, off: at(5, 0x14), field: "operand 1"},
		{name: "second operand without need", spoil: func(b []byte) []byte {
			b[at(2, 0)] = 2
			return b
		}, fix: true, off: at(2, 0x14), field: "operand 1"},
		{name: "bits beyond the register", spoil: func(b []byte) []byte {
			b[at(5, 0x26)] = 1
			return b
		}, fix: true, off: at(5, 0x24), field: "buffer-access register"},
		{name: "group", spoil: func(b []byte) []byte {
			b[at(1, 1)] = 7
			return b
		}, fix: true, off: at(1, 0), field: "group"},
		{name: "group of another slot", spoil: func(b []byte) []byte {
			b[at(1, 1)] = 6
			return b
		}, fix: true, off: at(1, 0), field: "group"},
		{name: "unknown slot", spoil: func(b []byte) []byte {
			b[at(1, 0x1c)] = 0x45
			return b
		}, fix: true, off: at(1, 0x1c), field: "slot"},
		{name: "unresolved nothing", spoil: func(b []byte) []byte {
			b[at(4, 0x1f)] = 0x80
			return b
		}, fix: true, off: at(4, 0x1c), field: "slot"},
		{name: "register", spoil: func(b []byte) []byte {
			b[at(1, 4)] = 0
			return b
		}, fix: true, off: at(1, 4), field: "register"},
		{name: "register of a value", spoil: func(b []byte) []byte {
			b[at(4, 4)] = 0
			return b
		}, fix: true, off: at(4, 4), field: "register"},
		{name: "address while unresolved", spoil: func(b []byte) []byte {
			b[at(1, 0x0c)] = 64
			return b
		}, fix: true, off: at(1, 0x0c), field: "operand 0"},
		{name: "reset value", spoil: func(b []byte) []byte {
			b[at(4, 0x0c)] = 0
			return b
		}, fix: true, off: at(4, 0x0c), field: "operand 0"},
		{name: "wide value", spoil: func(b []byte) []byte {
			b[at(4, 0x10)] = 1
			return b
		}, fix: true, off: at(4, 0x0c), field: "operand 0"},
		{name: "placement", spoil: func(b []byte) []byte {
			b[at(1, 0x21)] = 30
			return b
		}, fix: true, off: at(1, 0x20), field: "placement"},
		{name: "placement's high byte", spoil: func(b []byte) []byte {
			b[at(1, 0x23)] = 1
			return b
		}, fix: true, off: at(1, 0x20), field: "placement"},
		{name: "bar", spoil: func(b []byte) []byte {
			b[at(1, 0x24)] = 32
			return b
		}, fix: true, off: at(1, 0x24), field: "buffer-access register"},
		{name: "bar of a value", spoil: func(b []byte) []byte {
			b[at(4, 0x24)] = 1
			return b
		}, fix: true, off: at(4, 0x24), field: "buffer-access register"},
		{name: "offset of the lanes", spoil: func(b []byte) []byte {
			b[at(2, 0)], b[at(2, 0x14)] = 2, 64
			return b
		}, fix: true, off: at(2, 0x24), field: "offset"},
		{name: "order of tasks", spoil: func(b []byte) []byte {
			b[at(0, 2)] = 1
			return b
		}, fix: true, off: at(1, 0), field: "order"},
		{name: "twice", spoil: func(b []byte) []byte {
			copy(b[at(1, 0):], b[at(0, 0):at(1, 0)])
			return b
		}, fix: true, off: at(1, 0), field: "order"},
	} {
		b := c.spoil(bytes.Clone(good))
		for i := range 7 {
			if c.fix {
				rec := b[at(i, 0):][:44]
				binary.LittleEndian.PutUint32(rec[40:], crc32.ChecksumIEEE(rec[:40]))
			}
		}
		_, err := ScanRecords(b)
		var e *StreamError
		if !errors.As(err, &e) || e.Off != int64(c.off) || e.Field != c.field {
			t.Errorf("%s: %v, want byte %#x, %s", c.name, err, c.off, c.field)
		}
	}
}

// TestJoinRefuses checks that images and records that do not belong together are refused.
func TestJoinRefuses(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(images *[][]byte, rs *[]Record)
		want  string
	}{
		{"a record too few", func(_ *[][]byte, rs *[]Record) {
			*rs = (*rs)[1:]
		}, "task 0: TileDMASrc.SrcEn is set, but no record is for input tile (0x1344)"},
		{"an image too few", func(is *[][]byte, _ *[]Record) {
			*is = (*is)[:1]
		}, "record 5: task index: 1: there are 1 images"},
		{"a stream that is off", func(is *[][]byte, _ *[]Record) {
			(*is)[0][StreamConfig.Row().Place(V10).Offset()] = 0
		}, "record 3: slot: bias (0x1554): the image has KernelDMA.StreamConfig[0] = 0"},
		{"no buffer for a stream that is off", func(is *[][]byte, rs *[]Record) {
			(*is)[0][SrcEn.Row().Place(V10).Offset()] = 0
			(*rs)[0].Bar = NoBar
		}, "record 0: slot: input tile (0x1344): the image has TileDMASrc.SrcEn = 0"},
		{"an offset in both", func(is *[][]byte, _ *[]Record) {
			(*is)[0][SrcBase.Row().Place(V10).Offset()] = 64
		}, "record 0: offset: 0x40: the image has TileDMASrc.SrcBase = 0x40 already"},
		{"a register in both", func(is *[][]byte, _ *[]Record) {
			(*is)[0][RBase0.Row().Place(V10).Offset()] = 3
		}, "record 0: buffer-access register: 5: the task has Header.RBase0 = 3 already"},
		{"two registers for the kernel", func(_ *[][]byte, rs *[]Record) {
			(*rs)[3].Bar = 2
		}, "record 3: buffer-access register: 2: the task has Header.KBase0 = 1 already"},
		{"a value in both", func(is *[][]byte, _ *[]Record) {
			(*is)[0][SrcFmtMode.Row().Place(V10).Offset()] = 2
		}, "record 4: register: 0x4d48: the image has 0x2 there already"},
		{"an end in the middle", func(is *[][]byte, _ *[]Record) {
			(*is)[1][EON.Row().Place(V10).Offset()+3] = 1
		}, "record 6: register: 0x5120: the task is not the end of its chain"},
		{"order", func(_ *[][]byte, rs *[]Record) { (*rs)[0], (*rs)[1] = (*rs)[1], (*rs)[0] }, "record 1: order"},
		{"image size", func(is *[][]byte, _ *[]Record) { (*is)[1] = nil }, "task 1: image byte 0x3ac"},
	} {
		images, rs, _ := splitTwo(t)
		c.spoil(&images, &rs)
		if _, err := Join(images, rs); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

func TestRecordsAreDescribed(t *testing.T) {
	_, rs, _ := splitTwo(t)
	var b strings.Builder
	writeAll(t, &b, rs)
	for _, want := range []string{
		"record 0: task 0, G2 register 0x4d10, input tile (0x1344) unresolved, buffer-access register 5 + 0x40\n",
		"record 4: task 0, G2 register 0x4d48, value 0x00000001, op-config start\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no line %q in\n%s", want, b.String())
		}
	}
}

func writeAll(t *testing.T, w io.Writer, rs []Record) {
	t.Helper()
	for i := range rs {
		if err := rs[i].Describe(i).WriteText(w); err != nil {
			t.Fatal(err)
		}
	}
}

func FuzzRecords(f *testing.F) {
	images, rs, stream := splitTwo(f)
	f.Add(stream, bytes.Join(images, nil))
	for i := range rs {
		if err := rs[i].Resolve(0x8000, 0x4000); err != nil {
			f.Fatal(err)
		}
	}
	stream, err := EncodeRecords(rs)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(stream, bytes.Join(images, nil))
	binary.LittleEndian.PutUint16(stream[StreamHeader+2:], wrap) // the first task is far from 0
	f.Add(stream, bytes.Join(images, nil))
	f.Fuzz(func(t *testing.T, b, imgs []byte) {
		rs, err := ScanRecords(b)
		if err != nil {
			// With correct checksums the fuzzer reaches the fields.
			b = bytes.Clone(b)
			for p := StreamHeader; p+RecordSize <= len(b); p += RecordSize {
				binary.LittleEndian.PutUint32(b[p+offCRC:], crc32.ChecksumIEEE(b[p:p+offCRC]))
			}
			if rs, err = ScanRecords(b); err != nil {
				return
			}
		}
		back, err := EncodeRecords(rs)
		if err != nil || !bytes.Equal(back, b) {
			t.Fatalf("the stream changed (%v)", err)
		}
		writeAll(t, io.Discard, rs)
		var images [][]byte
		for ; len(imgs) >= ImageSize; imgs = imgs[ImageSize:] {
			images = append(images, imgs[:ImageSize])
		}
		tasks, err := Join(images, rs)
		if err != nil {
			return
		}
		if _, _, err := Split(tasks); err != nil {
			t.Fatal(err)
		}
	})
}

func TestRecordsOfMoreTasksThanAnIndexHolds(t *testing.T) {
	const tasks = 3*taskSpan + 5
	_, two, _ := splitTwo(t)
	rs := slices.Repeat(two[:1], tasks)
	for i := range rs {
		rs[i].Task = i
	}
	stream, err := EncodeRecords(rs)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ScanRecords(stream)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, rs) {
		t.Error("the records that were read are not those that were written")
	}

	rs[1].Task = wrap + 1
	if _, err := EncodeRecords(rs[:2]); err == nil || !strings.Contains(err.Error(), "32769 follows 0") {
		t.Errorf("a stream that leaves %d tasks out: error %v", wrap, err)
	}
	rs[1].Task = MaxTasks
	if _, err := EncodeRecords(rs[1:2]); err == nil {
		t.Errorf("a record of task %d was written", MaxTasks)
	}
}
