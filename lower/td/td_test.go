package td

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/internal/testform"
)

// TestTableCoversEveryBit checks that every bit of every word belongs to a field. That none belongs to two is checked
// by init, which would panic.
func TestTableCoversEveryBit(t *testing.T) {
	for w, fields := range V7.fields {
		var mask uint32
		for _, f := range fields {
			p := table[f].Place(V7)
			mask |= p.mask() << p.Bit
		}
		if b := V7.block(w); mask != 0xffffffff {
			t.Errorf("%s word %d: fields cover %#x", b.Name, w-b.first, mask)
		}
	}
}

// back encodes a task in a version and decodes it again.
func back(c *Codec, t *Task) (*Task, error) {
	if c.Version == V10.Version {
		image, err := EncodeV10(t)
		if err != nil {
			return nil, err
		}
		return DecodeV10(image)
	}
	ws, err := c.EncodeWords(t)
	if err != nil {
		return nil, err
	}
	return c.DecodeWords(ws)
}

// TestEveryValueOfEveryField writes the values of each field, one after the other, and checks in every version that the
// value comes back from the bytes and that no other field changes. The long form takes all values of fields of up to 17
// bits; the others take the limits of each bit and a sample.
func TestEveryValueOfEveryField(t *testing.T) {
	const most = 17 // bits of the widest field whose values are all taken
	for f := range table {
		r := &table[f]
		for _, c := range Codecs {
			p := r.Place(c)
			if p.Block == nil || Field(f) == TaskWords && c.Version != V10.Version { // those codecs count the words
				continue
			}
			task := wholeTask(c, Field(f))
			n := 1 << min(p.Width, most)
			values := slices.Collect(testform.Sample(n, 4, 64))
			for bit := range int(p.Width) {
				values = append(values, 1<<bit, 1<<(bit+1)-1)
			}
			others := *task
			others.setRaw(Field(f), 0)
			for _, v := range values {
				task.setRaw(Field(f), uint32(v))
				back, err := back(c, task)
				if err != nil {
					t.Fatalf("version %d: %s = %#x: %v", c.Version, r.Name, v, err)
				}
				if c.Version != V10.Version {
					back.setRaw(TaskWords, others.raw(TaskWords))
				}
				for _, x := range c.derived {
					back.setRaw(x, others.raw(x))
				}
				for _, x := range c.implied {
					back.setRaw(x.field, others.raw(x.field))
				}
				got := back.raw(Field(f))
				if back.setRaw(Field(f), 0); got != uint32(v) || back.val != others.val {
					back.setRaw(Field(f), got)
					t.Fatalf("version %d: %s = %#x: %s", c.Version, r.Name, v, difference(back, task))
				}
			}
		}
	}
}

// wholeTask returns a task that writes every field of a version: each record, and a header with the word of f.
func wholeTask(c *Codec, f Field) *Task {
	task := New()
	p := table[f].Place(c)
	if c.Heads != nil {
		// The defaults, and the addresses of every stream.
		c.unpack(task, c.defaults)
		for _, e := range []Field{KBE0, RBE0, RBE1, WBE, TagOn, TagOn + 1, TagOn + 2} {
			if e != f && c.Has(e) {
				task.SetBool(e, true)
			}
		}
		if p.Block == c.Blocks[1] && c.addressed[p.Block.first+p.Word] && p.Word != table[KernelBase].Place(c).Word {
			task.Set(StreamConfig.At(TableStream), 1)
		}
		if f == DTID {
			task.SetBool(TSR, true).SetBool(TDE, true)
		}
		return task
	}
	task.Spans = wholeSpans
	if p = table[f].Place(V7); p.Block == Header && p.Word >= V7.header {
		task.Set(KBase0, 3).SetBool(KBE0, true) // a header of eleven words
	}
	return task
}

func TestSetRefuses(t *testing.T) {
	for _, c := range []struct {
		f    Field
		v    int
		want string
	}{
		{Win, 1 << 15, "Common.Win = 32768: the field holds 0..32767"},
		{Cin, -1, "Common.Cin = -1: the field holds 0..131071"},
		{SrcRow, 65, "TileDMASrc.SrcRow = 65: not a multiple of 64"},
		{L2Res, 1 << 21, "L2.Res = 2097152: the field holds 0..2097136"},
	} {
		task := New().Set(c.f, c.v)
		if _, err := V7.EncodeWords(task); err == nil || err.Error() != c.want {
			t.Errorf("%s = %d: error %v, want %q", c.f, c.v, err, c.want)
		}
	}
}

// recordedTask is a task of a recorded case with its words.
type recordedTask struct {
	task  *Task
	words []uint32
}

// recordedTasks returns the tasks of the recorded cases of h13, by case.
func recordedTasks(t *testing.T) map[string][]recordedTask {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(shareddir.Find(t), "oracles", "h13", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded cases: %v", err)
	}
	word := func(s string) uint32 {
		v, err := strconv.ParseUint(s, 0, 32)
		if err != nil {
			t.Fatal(err)
		}
		return uint32(v)
	}
	cases := map[string][]recordedTask{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var c struct {
			Case  string
			Tasks []struct {
				Header  []string
				Extra   any
				Records []struct {
					Addr  string
					Words []string
				}
			}
		}
		if err := json.Unmarshal(data, &c); err != nil {
			t.Fatal(err)
		}
		for i, task := range c.Tasks {
			var ws []uint32
			for _, h := range task.Header {
				ws = append(ws, word(h))
			}
			for _, r := range task.Records {
				ws = append(ws, uint32(len(r.Words)-1)<<26|word(r.Addr))
				for _, w := range r.Words {
					ws = append(ws, word(w))
				}
			}
			d, err := V7.DecodeWords(ws)
			if err != nil {
				t.Errorf("%s task %d: %v", c.Case, i, err)
				continue
			}
			cases[c.Case] = append(cases[c.Case], recordedTask{d, ws})
		}
	}
	return cases
}

// TestRecordedTasks checks that every recorded task decodes and encodes to the same words, and goes through version 10
// unchanged. None uses a separate kernel stream for biases, factors, a codebook or a table: they are at the beginning
// of the lanes' parts.
func TestRecordedTasks(t *testing.T) {
	var with [3]int // tasks whose coefficients have biases, a table, a codebook
	for name, tasks := range recordedTasks(t) {
		var decoded []*Task
		for i, r := range tasks {
			d := r.task
			back, err := V7.EncodeWords(d)
			if err != nil || !reflect.DeepEqual(back, r.words) {
				t.Errorf("%s task %d: words differ after decode and encode (%v)", name, i, err)
			}
			if want := V7.spans(&Task{val: d.val}); !reflect.DeepEqual(d.Spans, want) {
				t.Errorf("%s task %d: records %v, the default is %v", name, i, d.Spans, want)
			}
			decoded = append(decoded, d)
			biases, tables, codebooks := d.On(NEBias), d.Get(Nonlinear) == 2, d.On(PalettizedEn)
			for i, has := range []bool{biases, tables, codebooks} {
				if has {
					with[i]++
				}
			}
			if d.Get(BiasMode) != 0 || d.Get(PostScaleMode) != 0 {
				t.Errorf("%s: biases or factors are in a stream of their own", name)
			}
			for i := range 4 {
				if d.Get(StreamConfig.At(i)) != IdleStreamConfig || d.Get(StreamBase.At(i)) != 0 ||
					d.Get(StreamSize.At(i)) != 64 {
					t.Errorf("%s: kernel stream %d of its own is used: %#x", name, i, d.Get(StreamConfig.At(i)))
				}
			}
		}
		roundTrip(t, name, decoded)
	}
	if slices.Contains(with[:], 0) {
		t.Errorf("%v tasks have biases, a table, a codebook: the kernel streams of some are not tested", with)
	}
}

func TestChain(t *testing.T) {
	a, b := New().Set(Win, 3), New().Set(Win, 5).SetBool(KernelOn, true)
	section, offs, err := V7.AppendChain(make([]byte, 0x1f4), []*Task{a, b})
	if err != nil {
		t.Fatal(err)
	}
	if want := []int{0x200, 0x400}; !reflect.DeepEqual(offs, want) {
		t.Fatalf("offsets %#x, want %#x", offs, want)
	}
	got, err := V7.DecodeChain(section, 0x200, V7.Words(a))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Get(Win) != 3 || got[1].Get(Win) != 5 || !got[1].On(EON) || got[0].On(EON) {
		t.Errorf("chain came back as %v", got)
	}
	for n := 0; n < len(section); n += 64 {
		if _, err := V7.DecodeChain(section[:n], 0x200, V7.Words(a)); err == nil {
			t.Errorf("section cut at %#x decodes", n)
		}
	}
}

// TestPages checks that no task lies on two pages, and that the chain leads over the gap.
func TestPages(t *testing.T) {
	tasks := make([]*Task, 2*V7.Page/V7.AlignUp(4*V7.Words(New())))
	for i := range tasks {
		tasks[i] = New().SetBool(KernelOn, true)
	}
	section, offs, err := V7.AppendChain(nil, tasks)
	if err != nil {
		t.Fatal(err)
	}
	size := 4 * V7.Words(tasks[0])
	var gaps int
	for i, off := range offs {
		if off/V7.Page != (off+size-1)/V7.Page {
			t.Errorf("task %d lies at %#x to %#x, on two pages", i, off, off+size)
		}
		if i > 0 && off != offs[i-1]+V7.AlignUp(size) {
			gaps++
		}
	}
	if gaps == 0 {
		t.Errorf("tasks of %d bytes follow each other over page ends: the test tests nothing", size)
	}
	if got, err := V7.DecodeChain(section, 0, V7.Words(tasks[0])); err != nil || len(got) != len(tasks) {
		t.Errorf("%d tasks came back as %d: %v", len(tasks), len(got), err)
	}
}

func FuzzDecodeChain(f *testing.F) {
	text, _, err := V7.AppendChain(nil, []*Task{New(), New().SetBool(KernelOn, true)})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text, 0, V7.Words(New()))
	f.Fuzz(func(t *testing.T, text []byte, entry, n int) {
		tasks, err := V7.DecodeChain(text, entry, n)
		if err != nil {
			return
		}
		for _, p := range tasks {
			ws, err := V7.EncodeWords(p.Task)
			if err != nil {
				t.Fatal(err)
			}
			for i, w := range ws {
				if binary.LittleEndian.Uint32(text[p.Off+4*i:]) != w {
					t.Fatalf("task at %#x: word %d changed", p.Off, i)
				}
			}
		}
	})
}

// TestRecordedTasksDifferFromAnyDefaultInManyRegisters compares the images of recorded tasks with the best defaults
// that there can be, for each register its most frequent value: if all that differs had a record, a task would have
// dozens, not the three or four of the chapter's small contraction.
func TestRecordedTasksDifferFromAnyDefaultInManyRegisters(t *testing.T) {
	var images [][]byte
	for _, recorded := range recordedTasks(t) {
		var tasks []*Task
		for _, r := range recorded {
			tasks = append(tasks, r.task)
		}
		made, _, err := Split(tasks)
		if err != nil {
			t.Fatal(err)
		}
		images = append(images, made...)
	}
	differ := 0
	for at := 0; at < ImageSize; at += 4 {
		count, most := map[uint32]int{}, 0
		for _, img := range images {
			v := binary.LittleEndian.Uint32(img[at:])
			count[v]++
			most = max(most, count[v])
		}
		differ += len(images) - most
	}
	n := float64(differ) / float64(len(images))
	t.Logf("%d tasks, of which each differs from the most frequent values in %.1f registers of %d", len(images), n,
		ImageSize/4)
	if n < 40 {
		t.Errorf("%.1f registers differ: the reason in docs/deviations.md no longer holds", n)
	}
}
