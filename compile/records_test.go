package compile_test

import (
	"encoding/binary"
	"reflect"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// chainOf decodes the tasks of a container's only procedure.
func chainOf(t *testing.T, container []byte) (text []byte, tasks []td.Placed) {
	t.Helper()
	f, err := hwx.Read(container)
	if err != nil {
		t.Fatal(err)
	}
	p := f.Procedures()[0]
	text, off, ok := f.Text().Of(p)
	if !ok {
		t.Fatal("no task section")
	}
	tasks, err = td.V7.DecodeChain(text, off, p.FirstWords)
	if err != nil {
		t.Fatal(err)
	}
	return text, tasks
}

// TestIdentityHasThePublishedTasks compares the tasks of the identity layer with table 23.7, and rebuilds them from
// version-10 images and records.
// Table 23.7.
func TestIdentityHasThePublishedTasks(t *testing.T) {
	_, p := built(t, compile.Options{Target: target.H13, SplitKernel: true}, identity)
	text, chain := chainOf(t, p.Container)
	if len(text) != 0x474 || len(chain) != 2 || chain[1].Off != 0x200 {
		t.Fatalf("%#x bytes with %d tasks, want 0x474 with two, the second at 0x200", len(text), len(chain))
	}
	word := func(off int) uint32 { return binary.LittleEndian.Uint32(text[off:]) }
	for _, c := range []struct {
		off  int
		mask uint32
		want uint32
		row  string
	}{
		{off: 0x000, mask: 0xffffffff, want: 0, row: "header: first word"},
		// The low half is the estimated time.
		{off: 0x004, mask: 0xffff0000, want: 0x009c0000, row: "header: size of the next task"},
		{off: 0x008, mask: 0xffffffff, want: 0x408, row: "header: register-count base"},
		// The table has 0x28 here; every recorded first task without coefficients has 0x68 (docs/deviations.md).
		{off: 0x010, mask: 0xffffffff, want: 0x68, row: "TD-0 +0x010"},
		{off: 0x0c8, mask: 0xffffffff, want: 0x5000a021, row: "TD-0 +0x0c8"},
		{off: 0x0cc, mask: 0xffffffff, want: 0x2041, row: "TD-0 +0x0c8: register 0x5021 set to 0x2041"},
		{off: 0x128, mask: 0xffffffff, want: 0x01002031, row: "TD-0 +0x128: op-config"},
		{off: 0x470, mask: 0xffffffff, want: 0x01302031, row: "TD-1 +0x470: op-config, terminates"},
	} {
		if got := word(c.off) & c.mask; got != c.want {
			t.Errorf("%s: %#x, want %#x", c.row, got, c.want)
		}
	}
	for i := range 16 {
		for _, c := range []struct {
			off  int
			want uint32
			row  string
		}{
			{0x034 + 4*i, 0x80, "TD-0 +0x034, partition"},
			{0x234 + 4*i, 0x81, "TD-1 +0x234, partition"},
			{0x274 + 4*i, uint32(0x200 * i), "TD-1 +0x274, offset"},
		} {
			if got := word(c.off); got != c.want {
				t.Errorf("%s %d: %#x, want %#x", c.row, i, got, c.want)
			}
		}
	}

	var tasks []*td.Task
	for _, p := range chain {
		tasks = append(tasks, p.Task)
	}
	images, records, err := td.Split(tasks)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(records); n < 6 || n > 8 {
		t.Errorf("%d records, want six to eight", n)
	}
	type row struct {
		task  int
		slot  td.Slot
		value uint64
	}
	var got []row
	for _, r := range records {
		got = append(got, row{r.Task, r.Slot, r.Operand})
	}
	want := []row{
		{0, td.SlotSource, 0}, {0, td.SlotResult, 0}, {0, 0, 0x01002031},
		{1, td.SlotSource, 0}, {1, td.SlotWeights, 0}, {1, td.SlotResult, 0}, {1, 0, 0x01302031},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("records %v, want %v", got, want)
	}
	stream, err := td.EncodeRecords(records)
	if err != nil {
		t.Fatal(err)
	}
	if records, err = td.ScanRecords(stream); err != nil {
		t.Fatal(err)
	}
	rebuilt, err := td.Join(images, records)
	if err != nil {
		t.Fatal(err)
	}
	for i, task := range rebuilt {
		ws, err := td.V7.EncodeWords(task)
		if err != nil {
			t.Fatal(err)
		}
		for j, w := range ws {
			if w != word(chain[i].Off+4*j) {
				t.Errorf("task %d word %d: %#x, the container has %#x", i, j, w, word(chain[i].Off+4*j))
			}
		}
		// The image alone does not determine the task: the addresses are in the records.
		if bare, err := td.DecodeV10(images[i]); err != nil || bare.On(td.RBE0) || bare.On(td.WBE) {
			t.Errorf("image %d names buffers that records name (%v)", i, err)
		}
	}
}

// TestTasksAreRebuiltFromRecords converts the tasks of a graph with most rules to images and records and back.
func TestTasksAreRebuiltFromRecords(t *testing.T) {
	_, p := built(t, compile.Options{Target: target.H13}, block)
	f, err := hwx.Read(p.Container)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range f.Procedures() {
		text, off, ok := f.Text().Of(p)
		if !ok {
			t.Fatal("no task section")
		}
		chain, err := td.V7.DecodeChain(text, off, p.FirstWords)
		if err != nil {
			t.Fatal(err)
		}
		var tasks []*td.Task
		for _, c := range chain {
			tasks = append(tasks, c.Task)
		}
		images, records, err := td.Split(tasks)
		if err != nil {
			t.Fatal(err)
		}
		rebuilt, err := td.Join(images, records)
		if err != nil {
			t.Fatal(err)
		}
		for i := range tasks {
			want, err := td.V7.EncodeWords(tasks[i])
			if err != nil {
				t.Fatal(err)
			}
			if ws, err := td.V7.EncodeWords(rebuilt[i]); err != nil || !reflect.DeepEqual(ws, want) {
				t.Errorf("procedure %s task %d: other words after images and records (%v)", p.Name, i, err)
			}
		}
	}
}
