package td

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// laterCodecs are the codecs of the versions after 11, with the folders of their recorded programs.
var laterCodecs = []struct {
	*Codec
	dir string
}{{V8, "h15"}, {V17, "h16"}, {V19, "h17"}, {V20, "h18"}}

// TestRecordedStreamsOfLaterVersions checks that every recorded program of h15 to h18 decodes, that its tasks have the
// records that the codec writes, and that the section of its tasks has the recorded bytes.
func TestRecordedStreamsOfLaterVersions(t *testing.T) {
	for _, c := range laterCodecs {
		for name, tasks := range recordedStreams(t, c.dir) {
			text := section(tasks)
			chain, err := c.DecodeChain(text, c.Lead, 0)
			if err != nil || len(chain) != len(tasks) {
				t.Errorf("%s %s: %d tasks of %d (%v)", c.dir, name, len(chain), len(tasks), err)
				continue
			}
			for i, p := range chain {
				if p.Spans != nil {
					t.Errorf("%s %s task %d: records %v, the codec writes %v", c.dir, name, i, p.Spans,
						c.form.spans(p.Task))
				}
				if ws, err := c.EncodeWords(p.Task); err != nil || !reflect.DeepEqual(ws, tasks[i]) {
					t.Errorf("%s %s task %d: words differ after decode and encode (%v)", c.dir, name, i, err)
				}
			}
			var plain []*Task
			for _, p := range chain {
				x := p.Task.Clone()
				for f := range table {
					if table[f].Kind == Chain && Field(f) != DTID {
						x.setRaw(Field(f), 0)
					}
				}
				plain = append(plain, x)
			}
			if back, offs, err := c.AppendChain(nil, plain); err != nil || !slices.Equal(back, text) {
				t.Errorf("%s %s: the chain of its tasks at %#x has other bytes (%v)", c.dir, name, offs, err)
			}
		}
	}
}

// TestImagesOfLaterVersions checks that the image of every recorded task and its records give its values, and that
// extents have all bits there.
func TestImagesOfLaterVersions(t *testing.T) {
	for _, c := range laterCodecs {
		for name, tasks := range recordedStreams(t, c.dir) {
			for i, ws := range tasks {
				task, err := c.DecodeWords(ws)
				if err != nil {
					t.Fatal(err)
				}
				imageKeeps(t, c.dir+" "+name, i, task)
				if c.apart() {
					for _, f := range []Field{Win, Hin, Din, Wout, Hout, Dout, Cin, Cout} {
						imageKeeps(t, c.dir+" "+name+" "+f.String(), i, task.Clone().Set(f, 1<<16))
						imageKeeps(t, c.dir+" "+name+" "+f.String(), i, task.Clone().Set(f, 1<<15))
					}
				}
			}
		}
	}
}

// apart reports whether the extents of the version have words of their own.
func (c *Codec) apart() bool { return table[Win].Place(c).Width > 16 }

func imageKeeps(t *testing.T, name string, i int, task *Task) {
	t.Helper()
	images, records, err := Split([]*Task{task})
	if err != nil {
		t.Errorf("%s, task %d: %v", name, i, err)
		return
	}
	back, err := Join(images, records)
	if err != nil {
		t.Errorf("%s, task %d: %v", name, i, err)
	} else if back[0].val != task.val {
		t.Errorf("%s, task %d: its image and records give other values", name, i)
	}
}

// TestRecordedTasksOfVersion24 checks that the published tasks of h18g decode, and encode to their words.
func TestRecordedTasksOfVersion24(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(shareddir.Find(t), "oracles", "h18g-words.txt"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		n++
		var ws []uint32
		for _, w := range words[1:] {
			v, err := strconv.ParseUint(w, 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			ws = append(ws, uint32(v))
		}
		task, err := V24.DecodeWords(ws)
		if err != nil {
			t.Errorf("%s: %v", words[0], err)
			continue
		}
		back, err := V24.EncodeWords(task)
		if err != nil || !slices.Equal(back, ws) || task.Spans != nil {
			t.Errorf("%s: words differ after decode and encode (%v), records %v", words[0], err, task.Spans)
		}
		if task.Get(Win) != 32 || task.Get(Cin) != 256 || task.Get(PostScale) != FP16One {
			t.Errorf("%s: width %d, %d channels, factor %#x", words[0], task.Get(Win), task.Get(Cin),
				task.Get(PostScale))
		}
	}
	if n != 4 {
		t.Errorf("%d tasks, want 4", n)
	}
}

// TestWhatLaterVersionsRead reads values of recorded tasks by their fields.
func TestWhatLaterVersionsRead(t *testing.T) {
	for _, c := range []struct {
		codec     *Codec
		dir, name string
		task      int
		want      map[Field]uint32
	}{
		{codec: V8, dir: "h15", name: "binary_add_c64_constant_scalar", task: 0, want: map[Field]uint32{
			Win: 1, Hin: 1, Cin: 64, Cout: 64, PEBias32: 0x3f000000, SrcPlane: 64, DstPlane: 64, RBase0: 6, WBase: 7,
			TagBar: 4, L2SrcCh: 16, L2Res: 0x420}},
		{codec: V17, dir: "h16", name: "binary_add_1x64x8x8", task: 0, want: map[Field]uint32{
			Win: 8, Hin: 8, Cin: 64, Wout: 8, TileHeight: 8, PETwo: 1, Source1: 1, Source2DMA: 1, SrcRow: 64,
			Src2Plane: 512, RBase1: 8, L2Src2: 0x2100, L2Res: 0x4200}},
		{codec: V19, dir: "h17", name: "matmul_m1_k256_n512_ty1", task: 1, want: map[Field]uint32{
			Cin: 256, Cout: 512, KBase0: 8, CoeffBase + 1: 0x4000, CoeffSize: 0x4000, L2Res: 0x1000, PostScale: FP16One,
			OCGSize: 4, SwapNE: 1, TaskNID: 1, Source1: 1, Source2DMA: 0}},
		{codec: V20, dir: "h18", name: "unary_sigmoid_c64", task: 0, want: map[Field]uint32{
			Cin: 64, SrcPlane: 64, SrcInterleave: 1, DstInterleave: 1, DstCmpVec: 15, TagBar: 4,
			Nonlinear: uint32(NonlinTable)}},
	} {
		task, err := c.codec.DecodeWords(recordedStreams(t, c.dir)[c.name][c.task])
		if err != nil {
			t.Fatal(err)
		}
		for f, want := range c.want {
			if got := task.Get(f); got != want {
				t.Errorf("%s %s: %s = %#x, want %#x", c.dir, c.name, f, got, want)
			}
		}
	}
}

// FuzzDecodeLater checks that no section makes the decoders of later versions panic, and that what they read is what
// the encoders write.
func FuzzDecodeLater(f *testing.F) {
	codecs := []*Codec{V8, V17, V19, V20, V24}
	for i := range codecs {
		f.Add(make([]byte, 64), V8.Lead, uint8(i))
	}
	for i, c := range codecs {
		x := New()
		c.unpack(x, c.defaults)
		x.Set(Win, 16).Set(Cin, 8).SetBool(EON, true).SetBool(RBE0, true).Set(RBase0, 6).Set(SrcRow, 64)
		ws, err := c.EncodeWords(x)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(section([][]uint32{ws}), c.Lead, uint8(i))
	}
	f.Fuzz(func(t *testing.T, text []byte, entry int, version uint8) {
		c := codecs[int(version)%len(codecs)]
		_ = c.WalkChain(text, entry, 0, func(p Placed) error {
			ws, err := c.EncodeWords(p.Task)
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
