package compare

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// foreign is a pair of digits whose container says another CPU subtype, with its
// task section changed.
func foreign(t *testing.T, m *Side, change func(text []byte)) *Side {
	t.Helper()
	b := bytes.Clone(m.pair.Container)
	const subtype = 8 // of the Mach-O header
	binary.LittleEndian.PutUint32(b[subtype:], target.H12.Subtype)
	if change != nil {
		f, err := hwx.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		x := f.Section(hwx.SegText, hwx.SectText)
		change(b[x.Offset : uint64(x.Offset)+x.Size])
	}
	s, err := OpenPair("foreign", pair.Pair{Container: b, Descriptor: m.pair.Descriptor}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// put changes a word of a task, by its place in the chain of a pair.
func put(t *testing.T, m *Side, task, word int, v uint32) func([]byte) {
	t.Helper()
	chains, err := m.tasksOf()
	if err != nil {
		t.Fatal(err)
	}
	off := chains[0].tasks[task].off
	return func(text []byte) { binary.LittleEndian.PutUint32(text[off+4*word:], v) }
}

func noteOf(r *Result, l Level) string {
	for _, x := range r.Levels {
		if x.Level == l {
			return x.Note
		}
	}
	return ""
}

// TestTasksWithoutFieldsAreComparedByWord compares tasks whose fields are unknown.
func TestTasksWithoutFieldsAreComparedByWord(t *testing.T) {
	m := open(t, digits(t), "h13")
	a := foreign(t, m, nil)
	t.Run("the same", func(t *testing.T) {
		r := compared(t, a, foreign(t, m, nil), Options{})
		expect(t, r)
		for _, want := range []string{"compared as words, by their offset within a task, as CPU subtype 3 has no " +
			"field table", "words 1 and 7 of each task lead to the next"} {
			if n := noteOf(r, Tasks); !strings.Contains(n, want) {
				t.Errorf("note %q has no %q", n, want)
			}
		}
	})
	t.Run("a word", func(t *testing.T) {
		b := foreign(t, m, put(t, m, 3, 11, 0xabcd))
		r := compared(t, a, b, Options{})
		expect(t, r, "tasks: task 3 of net changed")
		expectDetail(t, r.Changes[0].Details, "word 11: 0x")
		expectDetail(t, r.Changes[0].Details, " -> 0x0000abcd")
		rs, err := Bytes(a, b)
		if err != nil || len(rs) == 0 || rs[0].Owner != "task 3 of net: word 11" {
			t.Errorf("%+v %v", rs, err)
		}
	})
	t.Run("a chain that breaks", func(t *testing.T) {
		r := compared(t, a, foreign(t, m, put(t, m, 3, td.NextPointer.Row().Place(td.V7).Word, 0x77)), Options{})
		expect(t, r, "tasks: task 3 of net changed")
		expectDetail(t, r.Changes[0].Details, "word 7: 0x")
		if n := noteOf(r, Tasks); !strings.Contains(n, "tasks begin where those of the procedure") {
			t.Errorf("note %q", n)
		}
	})
	t.Run("both chains break", func(t *testing.T) {
		link := td.NextPointer.Row().Place(td.V7).Word
		x, y := foreign(t, m, put(t, m, 0, link, 0x77)), foreign(t, m, func(text []byte) {
			put(t, m, 0, link, 0x77)(text)
			put(t, m, 3, 11, 0xabcd)(text)
		})
		r := compared(t, x, y, Options{})
		expect(t, r, "tasks: tasks after the first of net changed")
		if n := noteOf(r, Tasks); !strings.Contains(n, "are compared as one") {
			t.Errorf("note %q", n)
		}
	})
	t.Run("with a database", func(t *testing.T) {
		x, y := *a, *foreign(t, m, put(t, m, 1, 11, 0xabcd))
		x.db, x.told, y.db, y.told = m.db, m.db, m.db, m.db
		r := compared(t, &x, &y, Options{Levels: []Level{Tasks}})
		if len(r.Changes) != 1 || !strings.HasPrefix(r.Changes[0].Subject, "task 1 of net, of ") ||
			!strings.Contains(noteOf(r, Tasks), "the debug database states where tasks begin") {
			t.Errorf("%q %q", lines(r.Changes), noteOf(r, Tasks))
		}
	})
	// Tasks of a target with a field table that do not decode are compared as words too.
	t.Run("damaged", func(t *testing.T) {
		b := bytes.Clone(m.pair.Container)
		x := m.file.Section(hwx.SegText, hwx.SectText)
		put(t, m, 2, 10, 0xffffffff)(b[x.Offset : uint64(x.Offset)+x.Size])
		s, err := OpenPair("damaged", pair.Pair{Container: b, Descriptor: m.pair.Descriptor}, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := compared(t, bare(t, m), s, Options{})
		got := only(Tasks, r.Changes)
		if len(got) != 1 || got[0].Subject != "task 2 of net" || !strings.Contains(noteOf(r, Tasks),
			"its tasks do not decode") {
			t.Errorf("%q, note %q", lines(r.Changes), noteOf(r, Tasks))
		}
	})
}
