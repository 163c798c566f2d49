package hwx_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/lower/td"
)

// retyped rebuilds a task from the named fields and records of another: nothing is copied as words.
func retyped(from *td.Task) *td.Task {
	to := td.New()
	to.Spans = slices.Clone(from.Spans)
	for i := range td.Fields() {
		f := td.Field(i)
		if from.Get(f) != 0 {
			to.Set(f, from.Int(f))
		}
	}
	return to
}

// TestGoldenRewrite decodes every task of the real files to fields, rebuilds tasks from those, encodes them in the
// records that were read, and builds the container from them: the result has the same bytes. Links, indices and marks
// of the chain are written by the encoder.
func TestGoldenRewrite(t *testing.T) {
	for _, name := range goldenNames {
		t.Run(name, func(t *testing.T) {
			want := golden(t, name)
			f, err := hwx.Read(want)
			if err != nil {
				t.Fatal(err)
			}
			img := imageOf(t, f)
			text := make([]byte, 0, len(img.Text))
			for _, p := range f.Procedures() {
				old, at, ok := f.Text().Of(p)
				if !ok {
					t.Fatalf("procedure %q has no tasks", p.Name)
				}
				placed, err := td.V7.DecodeChain(old, at, p.FirstWords)
				if err != nil {
					t.Fatal(err)
				}
				var tasks []*td.Task
				for _, x := range placed {
					tasks = append(tasks, retyped(x.Task))
				}
				if text, _, err = td.V7.AppendChain(text[:at:at], tasks); err != nil {
					t.Fatal(err)
				}
			}
			img.Text = text
			built, _, err := hwx.Build(img)
			if err != nil {
				t.Fatal(err)
			}
			got, err := hwx.Encode(built)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Error("the file made of typed tasks differs from the one read")
			}
		})
	}
}

// TestGoldenFields checks that every word of every task of the real files is accounted for by name: each record is in
// one register block and ends with the task, the named fields together produce the word, and no unnamed bit is set.
func TestGoldenFields(t *testing.T) {
	rows := td.Fields()
	for _, name := range goldenNames {
		t.Run(name, func(t *testing.T) {
			f, err := hwx.Read(golden(t, name))
			if err != nil {
				t.Fatal(err)
			}
			p := f.Procedures()[0]
			text, at, _ := f.Text().Of(p)
			tasks, err := td.V7.DecodeChain(text, at, p.FirstWords)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range tasks {
				words := make([]uint32, x.Words())
				seen := make([]bool, len(words)) // words that fields or record heads account for
				at := td.V7.HeaderWords(x.Task)
				for _, s := range x.Spans {
					seen[at] = true
					at += 1 + s.Count
				}
				if at != len(words) {
					t.Fatalf("records end at word %d of %d", at, len(words))
				}
				for i := range rows {
					fd := td.Field(i)
					w, ok := td.V7.WordIndex(x.Task, fd)
					if !ok {
						if x.Get(fd) != 0 {
							t.Errorf("%s = %d in a register that is not written", fd, x.Get(fd))
						}
						continue
					}
					seen[w] = true
					words[w] |= x.Get(fd) / rows[i].Unit << rows[i].Place(td.V7).Bit
					if rows[i].Known == td.Unknown && x.Get(fd) != 0 {
						t.Errorf("%s = %#x: a value that the table does not explain", fd, x.Get(fd))
					}
				}
				at = td.V7.HeaderWords(x.Task)
				for _, s := range x.Spans {
					words[at] = uint32(s.Count-1)<<26 | s.Addr
					at += 1 + s.Count
				}
				for i, w := range words {
					if raw := binary.LittleEndian.Uint32(text[x.Off+4*i:]); !seen[i] || raw != w {
						t.Errorf("word %d is %#x, its fields give %#x (named: %t)", i, raw, w, seen[i])
					}
				}
			}
		})
	}
}
