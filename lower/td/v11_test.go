package td

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// recordedStreams returns the words of the tasks of the recorded programs of some folders, by case.
func recordedStreams(t testing.TB, dirs ...string) map[string][][]uint32 {
	t.Helper()
	var files []string
	for _, dir := range dirs {
		l, err := filepath.Glob(filepath.Join(shareddir.Find(t), "oracles", dir, "*.json"))
		if err != nil || len(l) == 0 {
			t.Fatalf("no recorded cases in %s: %v", dir, err)
		}
		files = append(files, l...)
	}
	streams := map[string][][]uint32{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var c struct {
			Case  string
			Tasks []struct {
				Header  []string
				Records []struct {
					Head  string
					Words []string
				}
			}
		}
		if err := json.Unmarshal(data, &c); err != nil {
			t.Fatal(err)
		}
		for _, task := range c.Tasks {
			list := slices.Clone(task.Header)
			for _, r := range task.Records {
				list = append(append(list, r.Head), r.Words...)
			}
			var ws []uint32
			for _, s := range list {
				v, err := strconv.ParseUint(s, 0, 32)
				if err != nil {
					t.Fatal(err)
				}
				ws = append(ws, uint32(v))
			}
			streams[c.Case] = append(streams[c.Case], ws)
		}
	}
	return streams
}

// section returns the words of tasks as a task section of version 11.
func section(tasks [][]uint32) []byte {
	text := make([]byte, V11.Lead)
	for _, ws := range tasks {
		text = append(text, make([]byte, V11.AlignUp(len(text))-len(text))...)
		for _, w := range ws {
			text = binary.LittleEndian.AppendUint32(text, w)
		}
	}
	return text
}

// TestRecordedStreams checks that every recorded program of h14 decodes, that its tasks have the records that the codec
// writes, and that a chain of its tasks has the recorded bytes, with the marks, sizes and padding that follow from its
// tasks' places.
func TestRecordedStreams(t *testing.T) {
	n := 0
	for name, tasks := range recordedStreams(t, "h14", "h14-words") {
		text := section(tasks)
		chain, err := V11.DecodeChain(text, V11.Lead, 0)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(chain) != len(tasks) {
			t.Errorf("%s: %d tasks came back as %d", name, len(tasks), len(chain))
			continue
		}
		var plain []*Task
		for i, p := range chain {
			n++
			if p.Spans != nil {
				t.Errorf("%s task %d: records %v, the codec writes %v", name, i, p.Spans, V11.form.spans(p.Task))
			}
			if ws, err := V11.EncodeWords(p.Task); err != nil || !reflect.DeepEqual(ws, tasks[i]) {
				t.Errorf("%s task %d: words differ after decode and encode (%v)", name, i, err)
			}
			x := p.Task.Clone()
			x.Padding = 0
			for f := range table {
				if table[f].Kind == Chain && Field(f) != DTID {
					x.setRaw(Field(f), 0)
				}
			}
			plain = append(plain, x)
		}
		back, offs, err := V11.AppendChain(nil, plain)
		if err != nil || !slices.Equal(back, text) {
			t.Errorf("%s: the chain of its tasks at %#x has other bytes (%v)", name, offs, err)
		}
		roundTrip(t, name, plain)
	}
	if n < 200 {
		t.Errorf("only %d tasks", n)
	}
}

// TestWordsOfVersion11 checks where version 11 has the fields of each word of a recorded task.
func TestWordsOfVersion11(t *testing.T) {
	for name, tasks := range recordedStreams(t, "h14", "h14-words") {
		for i, ws := range tasks {
			task, err := V11.DecodeWords(ws)
			if err != nil {
				t.Fatal(err)
			}
			for w := range ws {
				for _, f := range V11.FieldsAt(task, w) {
					p := table[f].Place(V11)
					if got, ok := V11.WordIndex(task, f); !ok || got != w && f != KBase0 && f != KBE0 {
						t.Fatalf("%s task %d: %s is in word %d and in %d (%v)", name, i, f, w, got, ok)
					}
					if v := ws[w] >> p.Bit & p.mask(); v != task.raw(f) {
						t.Fatalf("%s task %d: %s = %#x, its word has %#x", name, i, f, task.raw(f), v)
					}
				}
			}
			if got := V11.FieldsAt(task, len(ws)); got != nil {
				t.Fatalf("%s task %d: %v after its end", name, i, got)
			}
		}
	}
}

// packedTask returns the words of a task of version 11 that reads, streams and writes.
func packedTask(t testing.TB) []uint32 {
	x := New()
	V11.unpack(x, V11.defaults)
	x.Set(Win, 16).Set(Hin, 8).Set(Wout, 16).Set(Hout, 8).Set(TileHeight, 8).SetBool(EON, true).SetBool(TSR, true)
	x.SetBool(KernelOn, true).SetBool(KBE0, true).Set(KBase0, 1).Set(KernelBase, 0x80)
	x.SetBool(SrcEn, true).SetBool(RBE0, true).Set(RBase0, 4).Set(SrcRow, 64)
	x.SetBool(DstEn, true).SetBool(WBE, true).Set(WBase, 5).Set(DstRow, 64).Set(DstFmtMode, 1)
	ws, err := V11.EncodeWords(x)
	if err != nil {
		t.Fatal(err)
	}
	return ws
}

// TestPackedStreamsAreRefused checks that what breaks a rule of the stream is an error that names it.
func TestPackedStreamsAreRefused(t *testing.T) {
	good := packedTask(t)
	head := func(addr uint32) int {
		return slices.IndexFunc(good[8:], func(w uint32) bool { return w&0x7fff == addr/4 && w>>29 == 1 }) + 8
	}
	for _, c := range []struct {
		name, want string
		spoil      func(ws []uint32) []uint32
	}{
		{"short", "the header alone takes 8", func(ws []uint32) []uint32 { return ws[:7] }},
		{"count", "header word 0 counts", func(ws []uint32) []uint32 { ws[0] += 1 << 16; return ws }},
		{"extra word", "calls for another header word", func(ws []uint32) []uint32 { ws[7] |= 3; return ws[:8] }},
		{"free bits of the header", "bits 0x80000000 belong to no field",
			func(ws []uint32) []uint32 { ws[0] |= 1 << 31; return ws }},
		{"head", "begins no record", func(ws []uint32) []uint32 { ws[head(0x1508)] |= 1 << 22; return ws }},
		{"head of an address", "are no address of a stream",
			func(ws []uint32) []uint32 { ws[head(0x1508)]++; return ws }},
		{"block", "outside every register block",
			func(ws []uint32) []uint32 { ws[head(0x1508)] = 0x400; return ws }},
		{"end", "runs past the task's", func(ws []uint32) []uint32 { ws[head(0x1508)] += 1 << 15; return ws }},
		{"twice", "is written twice",
			func(ws []uint32) []uint32 { ws[head(0x1508)] = ws[head(0x1110)]; return ws }},
		{"free bits", "belong to no field", func(ws []uint32) []uint32 { ws[head(0x1508)+2] = 1; return ws }},
		{"filler", "only fills a task", func(ws []uint32) []uint32 { return append(ws, 0x549, 1) }},
		{"two registers", "name buffer-access registers 1 and 2", func(ws []uint32) []uint32 {
			return append(ws, 1<<29|2<<23|0x19f4/4, 0)
		}},
	} {
		ws := c.spoil(slices.Clone(good))
		if c.name != "count" && len(ws) >= 8 {
			ws[0] = ws[0]&^(0x7ff<<16) | uint32(len(ws))<<16
		}
		if _, err := V11.DecodeWords(ws); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := V11.DecodeWords(good); err != nil {
		t.Error(err)
	}
}

// TestFieldsWithoutAPlace checks that a value that a version has no place for, or that none of its records writes, is
// an error.
func TestFieldsWithoutAPlace(t *testing.T) {
	for _, c := range []struct {
		codec *Codec
		set   func(t *Task)
		want  string
	}{
		{V11, func(t *Task) { t.Set(Word40, 0x100) }, "Word40 = 256: descriptor version 11 has no place"},
		{V11, func(t *Task) { t.Set(NextPointer, 64) }, "NextPointer = 64: descriptor version 11 has no place"},
		{V11, func(t *Task) { t.Set(SrcBase, 64) }, "no record of the task writes it"},
		{V7, func(t *Task) { t.Set(LiveOuts, 1) }, "LiveOuts = 1: descriptor version 7 has no place"},
		{V7, func(t *Task) { t.Set(Kh, 32) }, "Kh = 32: the field holds 0..31"},
	} {
		task := New()
		c.set(task)
		if _, err := c.codec.EncodeWords(task); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.codec.Name, err, c.want)
		}
	}
}

// FuzzDecodePacked checks that no section makes the decoder of version 11 panic, and that what it reads is what the
// encoder writes.
func FuzzDecodePacked(f *testing.F) {
	f.Add(section([][]uint32{packedTask(f)}), V11.Lead)
	f.Fuzz(func(t *testing.T, text []byte, entry int) {
		_ = V11.WalkChain(text, entry, 0, func(p Placed) error {
			ws, err := V11.EncodeWords(p.Task)
			if err != nil {
				t.Fatalf("task at %#x: %v", p.Off, err)
			}
			for i, w := range ws {
				if binary.LittleEndian.Uint32(text[p.Off+4*i:]) != w {
					t.Fatalf("task at %#x: word %d changed", p.Off, i)
				}
			}
			return nil
		})
	})
}
