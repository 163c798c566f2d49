package loader_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/test/addition"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/loader"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
	"github.com/zinc-compiler/zinc/target"
)

// changed is a container with one change.
func changed(t testing.TB, b []byte, change func(f *hwx.File)) []byte {
	t.Helper()
	f, err := hwx.Read(bytes.Clone(b))
	if err != nil {
		t.Fatal(err)
	}
	change(f)
	out, err := hwx.Encode(f)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func program(f *hwx.File) *hwx.Program { return f.Procedures()[0].Program }

// segment finds the i-th segment of a name.
func segment(f *hwx.File, name string, i int) *hwx.Segment {
	for _, s := range f.Segments() {
		if s.Name.String() == name {
			if i == 0 {
				return s
			}
			i--
		}
	}
	return nil
}

// inTask changes a field of a task of the first procedure.
func inTask(task int, f td.Field, v uint32) func(*hwx.File) {
	return func(h *hwx.File) {
		p := h.Procedures()[0]
		text, off, _ := h.Text().Of(p)
		chain, err := td.V7.DecodeChain(text, off, p.FirstWords)
		if err != nil {
			panic(err)
		}
		c := chain[task]
		w, ok := td.V7.WordIndex(c.Task, f)
		if !ok {
			panic("not written")
		}
		c.Set(f, int(v))
		ws, err := td.V7.EncodeWords(c.Task)
		if err != nil {
			panic(err)
		}
		binary.LittleEndian.PutUint32(text[c.Off+4*w:], ws[w])
	}
}

// TestWrongContainersAreRefused checks each rule of Read beyond the rules of the container format.
func TestWrongContainersAreRefused(t *testing.T) {
	split, whole, cut := built(t)["split"], built(t)["whole"], built(t)["cut"]
	for _, tt := range []struct {
		name   string
		from   []byte
		change func(f *hwx.File)
		want   string
	}{
		{name: "another generation", from: split, change: func(f *hwx.File) {
			f.Header.CPUSubtype = target.H12.Subtype
		}, want: "header.cpusubtype: the tasks of CPU subtype 3 are not decoded"},
		{name: "bar in no segment", from: split, change: func(f *hwx.File) {
			program(f).Bars[5] = 0x20000000
		}, want: "container: procedure \"a\": buffer-access register 5 is 0x20000000"},
		{name: "bar inside a window", from: split, change: func(f *hwx.File) {
			program(f).Bars[5] += 0x40
		}, want: "register 5: points into a window, but not at the first byte of a port"},
		{name: "bar off the tile", from: split, change: func(f *hwx.File) {
			program(f).Bars[3] += 4
		}, want: "register 3: a buffer must begin on a tile"},
		{name: "port bound twice", from: split, change: func(f *hwx.File) {
			program(f).Bars[6] = program(f).Bars[5]
		}, want: "register 6: the port is already bound to another register (found \"a_in\")"},
		{name: "window of no bytes", from: split, change: func(f *hwx.File) {
			segment(f, hwx.SegPort, 0).Sections[0].Size = 0
		}, want: "port a_in: the window is empty"},
		{name: "stream's bar not bound", from: split, change: func(f *hwx.File) {
			program(f).Bars[5] = 0
		}, want: "procedure \"a\", task 0 at text byte 0x0, input tile (0x1344): the procedure's command does not " +
			"set the buffer-access register (found 5)"},
		{name: "stream through the text", from: split, change: func(f *hwx.File) {
			program(f).Bars[3] = 0
		}, want: "task 0 at text byte 0x0, output tile"},
		{name: "result into the text", from: split, change: inTask(0, td.WBase, 0),
			want: "output tile (0x1442): no task reads or writes the text"},
		{name: "result into constants", from: split, change: inTask(0, td.WBase, 1),
			want: "buffer-access register 1 is weights"},
		{name: "result into an input", from: split, change: inTask(0, td.WBase, 5),
			want: "buffer-access register 5 is input"},
		{name: "stream without a bar", from: split, change: inTask(0, td.RBE0, 0),
			want: "input tile (0x1344): the stream is enabled but names no buffer-access register"},
		{name: "offset past the bar", from: split, change: inTask(1, td.SrcBase, 0x8000),
			want: "task 1 at text byte 0x200, input tile (0x1344): the offset is outside buffer-access register 3 " +
				"(found 0x8000, limit 0x7fff)"},
		{name: "lane past the constants", from: split, change: inTask(1, td.CoeffSize.At(15), 0x240),
			want: "KernelDMA.CoeffBase[15]: 0x240 bytes from there exceed buffer-access register 1, weights"},
		{name: "stream past the constants", from: split, change: func(f *hwx.File) {
			inTask(1, td.StreamConfig, 1)(f)
			inTask(1, td.StreamSize, 0x2040)(f)
		}, want: "KernelDMA.StreamBase[0]: 0x2040 bytes from there exceed buffer-access register 1, weights"},
		{name: "constants off the tile", from: whole, change: func(f *hwx.File) {
			s := f.Section(hwx.SegText, hwx.SectConst)
			s.Align, s.Addr, s.Size = 0, s.Addr+4, s.Size-4
			s.Parts[0] = s.Parts[0][4:]
			s.Offset += 4
			noSymbols(f)
		}, want: "section __TEXT,__const: constants must begin on a tile"},
		{name: "text elsewhere in the file", from: whole, change: func(f *hwx.File) {
			s := f.Section(hwx.SegText, hwx.SectConst)
			s.Addr, s.Size = s.Addr+0x40, s.Size-0x40
			s.Parts[0] = s.Parts[0][:s.Size]
			noSymbols(f)
		}, want: "section __TEXT,__const: its address and its file offset differ within the segment"},
		{name: "kernel section not on a page", from: cut, change: func(f *hwx.File) {
			s := f.Section("__KERN_0", "__kern_0")
			s.Size -= 0x40
			s.Parts[0] = s.Parts[0][:s.Size]
		}, want: "section __KERN_1,__kern_1: kernel sections must begin with their segments, a page after each other"},
		{name: "name", from: split, change: func(f *hwx.File) {
			rename(f, "a\nb")
		}, want: "name \"a\\nb\": a name has only printable characters"},
		{name: "long name", from: split, change: func(f *hwx.File) {
			rename(f, strings.Repeat("n", 256))
		}, want: "want a name of 1 to 255 bytes, got 256"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := changed(t, tt.from, tt.change)
			_, err := loader.Read(b)
			var le *loader.Error
			if err == nil || !errors.As(err, &le) || le.Where == "" || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v\nwant %s", err, tt.want)
			}
		})
	}
	for n := range split {
		if n%97 == 0 {
			if _, err := loader.Read(split[:n]); err == nil {
				t.Errorf("%d of %d bytes are taken", n, len(split))
			}
		}
	}
}

// TestBufferAccessRegistersAreLimited checks that a procedure has at most 32 of them: 32 are accepted, and the error
// for one more names its number.
// Table 29.4.
func TestBufferAccessRegistersAreLimited(t *testing.T) {
	all := func(n int) []byte {
		return changed(t, built(t)["split"], func(f *hwx.File) {
			p := program(f)
			for i := range n {
				if p.Bars[i] == 0 {
					p.Bars[i] = p.Bars[3]
				}
			}
		})
	}
	c := unit(t, translation.Config{}).Context(1)
	if g := firmware(t, c, load(t, read(t, all(32)), c)); len(g.Procedures[0].Bars) != 32 {
		t.Errorf("%d bars", len(g.Procedures[0].Bars))
	}
	if _, err := loader.Read(all(33)); err == nil || !strings.Contains(err.Error(),
		"procedure \"a\", buffer-access register 32: a task can name only 32 registers") {
		t.Errorf("%v", err)
	}
}

// TestScratchIsLimited: --bss-limit bounds the scratch of a container.
// Listing 23.4.
func TestScratchIsLimited(t *testing.T) {
	at := func(n uint64) []byte {
		return changed(t, built(t)["split"], func(f *hwx.File) { scratch(f, n) })
	}
	if _, err := loader.Read(at(3221225472)); err != nil {
		t.Error(err)
	}
	_, err := loader.Read(at(3221225472 + hwx.Page))
	if want := "segment __DATA: the scratch segments together exceed the limit of the compiler; split the model " +
		"(found 0xc0004000, limit 0xc0000000)"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
}

// scratch adds another segment of scratch to the container, so that it has total bytes of it.
func scratch(f *hwx.File, total uint64) {
	have := segment(f, hwx.SegScratch, 0)
	f.Commands = append(f.Commands, &hwx.Segment{
		Name:     have.Name,
		VMAddr:   0x3fff0000,
		VMSize:   total - have.VMSize,
		MaxProt:  3,
		InitProt: 3,
	})
	shiftFile(f, hwx.Page)
}

// shiftFile moves everything after the commands, to make space for more.
func shiftFile(f *hwx.File, by uint32) {
	for _, c := range f.Commands {
		switch c := c.(type) {
		case *hwx.Segment:
			if c.FileSize == 0 {
				continue
			}
			c.FileOff += uint64(by)
			for _, s := range c.Sections {
				s.Offset += by
				if len(s.Relocs) > 0 {
					s.RelocOff += by
				}
			}
		case *hwx.Symtab:
			c.SymOff += by
			c.StrOff += by
		}
	}
	f.Size += int64(by)
}

// noSymbols removes the symbols of kernel tiles.
func noSymbols(f *hwx.File) {
	for _, c := range f.Commands {
		if c, ok := c.(*hwx.Symtab); ok {
			for i := range c.Symbols {
				if c.Symbols[i].Type == hwx.SymSection && c.Symbols[i].Name[0] == 'K' {
					c.Symbols[i].Type = hwx.SymType
				}
			}
		}
	}
}

// rename changes the name of the first procedure.
func rename(f *hwx.File, name string) {
	program(f).Name = name
	for _, t := range f.Tensors() {
		t.Procedure = name
	}
	shiftFile(f, 0x4000)
}

// TestReadAllocatesByLength checks that windows and scratch of gigabytes in a container of some kilobytes take no
// memory before they are loaded.
func TestReadAllocatesByLength(t *testing.T) {
	b := changed(t, built(t)["split"], func(f *hwx.File) { scratch(f, loader.MaxScratch) })
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p, err := loader.Read(b)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 20*uint64(len(b)) {
		t.Errorf("%d bytes for a container of %d", n, len(b))
	}
	if n, err := p.Memory(); err != nil || n < loader.MaxScratch {
		t.Errorf("Memory says %#x, %v", n, err)
	}
}

// FuzzLoad checks that no container, however hostile, makes Read or Load panic, take memory that neither its length nor
// the size of its mappings justifies, or leave anything mapped.
func FuzzLoad(f *testing.F) {
	m := built(f)
	var bases [][]byte
	for _, name := range []string{"split", "whole", "several", "cut"} {
		bases = append(bases, m[name])
		f.Add(uint8(len(bases)-1), []byte(nil))
	}
	for _, b := range addition.Containers(f) {
		bases = append(bases, b)
		f.Add(uint8(len(bases)-1), []byte(nil))
	}
	// Bytes of load commands, of the first task and of the symbols.
	f.Add(uint8(0), []byte{0x20, 0, 0, 0x19, 0, 0, 0x40, 0, 0xff, 0xff, 0x54, 0, 0, 1, 0})
	f.Add(uint8(2), []byte{0x00, 0x80, 0, 0xff, 0x0f, 0x1c, 0x80, 0, 0, 1})
	// A few bytes say what is changed in a container: every five of them are an offset and the two bytes there. A whole
	// container is too long to change.
	f.Fuzz(func(t *testing.T, base uint8, patches []byte) {
		b := bytes.Clone(bases[int(base)%len(bases)])
		for ; len(patches) >= 5; patches = patches[5:] {
			at := int(patches[0]) | int(patches[1])<<8 | int(patches[2])<<16
			copy(b[at%len(b):], patches[3:5])
		}
		p, err := loader.Read(b)
		if err != nil {
			var le *loader.Error
			if !errors.As(err, &le) || le.Where == "" {
				t.Fatalf("error without a place: %v", err)
			}
			return
		}
		n, err := p.Memory()
		if err != nil || n > 64<<20 {
			return // the caller asked first
		}
		u := unit(t, translation.Config{})
		c := u.Context(1)
		l, err := p.Load(c, "load")
		if err == nil {
			firmware(t, c, l)
			if img, err := l.Image(); err == nil && len(img) != len(b) {
				t.Error("the image has another size")
			}
			err = l.Close()
			if err != nil {
				t.Error(err)
			}
		}
		if s := u.Stats(); len(c.Entries()) != 0 || s.FramesInUse != 0 {
			t.Errorf("%d frames in use", s.FramesInUse)
		}
	})
}
