package hwx_test

import (
	"encoding/binary"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/target"
)

// packedText is a stream of n tasks of the given words after 16 zero bytes. Each has one record that fills it.
func packedText(text []byte, n, words int) []byte {
	text = append(text, make([]byte, (16-len(text)%16)%16+16)...)
	for i := range n {
		w := make([]uint32, words)
		w[0], w[1] = uint32(i)|uint32(words)<<16, uint32(40+i)
		w[8] = uint32(words-10) << 15
		text = append(text, make([]byte, (16-len(text)%16)%16)...)
		for _, x := range w {
			text = binary.LittleEndian.AppendUint32(text, x)
		}
	}
	return text
}

// packed is a program of n procedures of packed tasks, with scratch and constants.
func packed(n int) *hwx.Image {
	img := &hwx.Image{CPUSubtype: target.H14.Subtype, Scratch: 0x8001, Banner: []string{"zinc"},
		Constants: [][]byte{make([]byte, 0x240)}}
	for i := range n {
		name := string(rune('a' + i))
		in, out := name+"_in", name+"_out"
		img.Surfaces = append(img.Surfaces, vector(out, name, hwx.BindOutput), vector(in, name, hwx.BindInput))
		at := (len(img.Text)+15)&^15 + 16
		img.Text = packedText(img.Text, i+2, 21)
		img.Procedures = append(img.Procedures, hwx.Entry{
			Name: name, Offset: uint64(at), FirstWords: 21, Tasks: uint32(i + 2),
			Bars: map[int]hwx.BarRef{0: {Kind: hwx.BarText}, 1: {Kind: hwx.BarConstants}, 3: {Kind: hwx.BarScratch},
				4: {Kind: hwx.BarSurface, Surface: out}, 5: {Kind: hwx.BarSurface, Surface: in}},
		})
	}
	return img
}

func TestPackedProcedures(t *testing.T) {
	img := packed(3)
	f, addrs, b := build(t, img)
	for i, p := range f.Procedures() {
		e := img.Procedures[i]
		if p.Entry != addrs.Text+e.Offset || p.FirstWords != 21 || p.Tasks != i+2 || p.Main != (i == 0) {
			t.Errorf("procedure %d: %+v", i, p)
		}
		if p.Bars[1] != addrs.Constants || p.Bars[3] != addrs.Scratch || p.Bars[5] != addrs.Surfaces[p.Name+"_in"] ||
			len(p.Bars) != 5 {
			t.Errorf("procedure %d: registers %x", i, p.Bars)
		}
	}
	// The words that h14's descriptors have at places of their own.
	at := offsetOf(t, b, hwx.CmdThread, hwx.FlavorPacked)
	for _, w := range []struct {
		off  int
		want uint32
	}{{0x04, 0x890}, {0x0c, 0x21e}, {0x10 + 16*3, uint32(addrs.Scratch)}, {0x810, uint32(addrs.Text)}, {0x820, 4},
		{0x824, 4 + 24 + 21}, {0x830, 2}, {0x838, 0xffffffff}, {0x83c, 0xffffffff}, {0x844, 0xffff}, {0x848, 0x888},
		{0x858, 0x8001}, {0x860, 0x15}, {0x868, 3}, {0x870, 1}, {0x878, 9}, {0x87c, 8}, {0x880, 41}} {
		if got := binary.LittleEndian.Uint32(b[at+w.off:]); got != w.want {
			t.Errorf("+%#x is %#x, want %#x", w.off, got, w.want)
		}
	}
}

// TestPackedFaults breaks one word of a packed program at a time; Validate must report it.
func TestPackedFaults(t *testing.T) {
	_, _, good := build(t, packed(1))
	program := offsetOf(t, good, hwx.CmdThread, hwx.FlavorPacked)
	f, err := hwx.Read(good)
	if err != nil {
		t.Fatal(err)
	}
	text := int(f.Section(hwx.SegText, hwx.SectText).Offset)
	for _, c := range []struct {
		name  string
		at    int
		value uint32
		want  string
	}{
		{"target of chained tasks", 8, target.H13.Subtype, "flavour 4"},
		{"second half of a register", program + 0x10 + 16*5 + 8, 1, "second half of buffer-access register 5"},
		{"register past the segments", program + 0x10 + 16*5, 0xf0000000, "buffer-access register 5 is 0xf0000000"},
		{"one task more", program + 0x830, 3, "task 2"},
		{"one task fewer", program + 0x830, 1, "states 1 tasks"},
		{"words of the stream", program + 0x824, 48, "ends at"},
		{"zero bytes before the tasks", text + 8, 1, "does not begin with 0x10 zero bytes"},
		{"size of a task", text + 16, 22 << 16, "task 0 at 0x10"},
		{"size of nothing", text + 16, 0, "has 0 words"},
		{"record past the task", text + 16 + 32, 12 << 15, "runs past the task's 21 words"},
	} {
		b := append([]byte(nil), good...)
		put(b, c.at, c.value)
		f, err := hwx.Read(b)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		found := ""
		for _, e := range hwx.Validate(f) {
			found += e.Error() + "\n"
		}
		if !strings.Contains(found, c.want) {
			t.Errorf("%s: %q, want %q", c.name, found, c.want)
		}
	}
}

// TestRecordedPackedPrograms builds a container around the recorded tasks, surfaces and constants of every case of h14
// to h18. Text and constants must be where the current compiler put them, and the descriptor must have its size and
// words.
func TestRecordedPackedPrograms(t *testing.T) {
	for _, of := range []struct {
		tab   *target.Table
		least int // cases whose addresses are recorded
	}{{target.H14, 40}, {target.H15, 3}, {target.H16, 5}, {target.H17, 6}, {target.H18, 6}} {
		paths, err := filepath.Glob(filepath.Join(shareddir.Find(t), "oracles", of.tab.Name, "*.json"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no recorded cases: %v", err)
		}
		scored := 0
		for _, path := range paths {
			t.Run(of.tab.Name+"/"+strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
				r := readRecorded(t, path)
				if r.Program.Text == 0 {
					t.Skip("the addresses of this case are not recorded")
				}
				scored++
				r.packedProgram(t, of.tab)
			})
		}
		if scored < of.least {
			t.Errorf("%d of %d cases of %s have addresses, want at least %d", scored, len(paths), of.tab.Name, of.least)
		}
	}
}

// packedProgram builds the container of a recorded program and compares its descriptor with the recorded one.
func (r *recorded) packedProgram(t *testing.T, tab *target.Table) {
	_, addrs, file := build(t, r.packedImage(tab))
	if addrs.Text != uint64(r.Program.Text) || addrs.Constants != uint64(r.Program.Constants) {
		t.Errorf("text at %#x, constants at %#x; recorded %#x and %#x", addrs.Text, addrs.Constants,
			r.Program.Text, r.Program.Constants)
	}
	at := offsetOf(t, file, hwx.CmdThread, hwx.FlavorPacked)
	word := func(off int) uint32 { return binary.LittleEndian.Uint32(file[at+off:]) }
	if word(4) != uint32(r.Program.Size) || word(0x824) != r.Program.Words || word(0x880) != r.Program.Time {
		t.Errorf("program of %#x bytes, %d words, time %d; recorded %#x, %d, %d", word(4), word(0x824),
			word(0x880), r.Program.Size, r.Program.Words, r.Program.Time)
	}
	// The third program of three tasks that is recorded has 0x23.
	if r.Program.Order != 0 && r.Program.Tasks < 3 && word(0x860) != r.Program.Order {
		t.Errorf("+0x860 is %#x, recorded %#x", word(0x860), r.Program.Order)
	}
}

// packedImage returns an image around the recorded tasks, which are packed.
func (r *recorded) packedImage(tab *target.Table) *hwx.Image {
	text := make([]byte, 16)
	for _, t := range r.Tasks {
		text = append(text, make([]byte, (16-len(text)%16)%16)...)
		for _, w := range t.Header {
			text = binary.LittleEndian.AppendUint32(text, uint32(w))
		}
		for _, rec := range t.Records {
			for _, w := range append([]word{rec.Head}, rec.Words...) {
				text = binary.LittleEndian.AppendUint32(text, uint32(w))
			}
		}
	}
	return &hwx.Image{CPUSubtype: tab.Subtype, Text: text, Constants: [][]byte{make([]byte, r.Constants.Size)},
		Surfaces: r.surfaces(), Procedures: []hwx.Entry{{Name: "main", Offset: 16,
			FirstWords: uint32(r.Tasks[0].Header[0]) >> 16, Tasks: r.Program.Tasks,
			Bars: map[int]hwx.BarRef{0: {Kind: hwx.BarText}, 1: {Kind: hwx.BarConstants}}}}}
}
