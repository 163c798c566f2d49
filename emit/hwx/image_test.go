package hwx_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/target"
)

// task makes one task of the given number of words (at least 12): a header that names the next task, one record of two
// registers, and records of one register to fill up.
func task(words int, next, nextWords uint32) []byte {
	w := make([]uint32, words)
	if next != 0 {
		w[1], w[7] = (nextWords-1)<<16, next
	}
	i := 10
	for i < words {
		n := min(words-i-1, 16)
		if words-i-1-n == 1 {
			n-- // no space for a record of its own after this one
		}
		w[i] = uint32(n-1) << 26
		i += 1 + n
	}
	b := make([]byte, 4*words)
	for i, v := range w {
		binary.LittleEndian.PutUint32(b[4*i:], v)
	}
	return b
}

// chain puts n tasks of the given words in sequence from offset base on.
func chain(base uint32, n, words int) []byte {
	step := uint32(4*words+hwx.TaskAlign-1) / hwx.TaskAlign * hwx.TaskAlign
	var b []byte
	for i := range n {
		next := uint32(0)
		if i < n-1 {
			next = base + uint32(i+1)*step
		}
		b = append(b, task(words, next, uint32(words))...)
		if i < n-1 {
			b = append(b, make([]byte, int(step)*(i+1)-len(b))...)
		}
	}
	return b
}

// vector is a surface of one row of 64 halves.
func vector(name, procedure string, binding uint32) hwx.Surface {
	return hwx.Surface{Name: name, Procedure: procedure, Binding: binding, Element: 5,
		Dims: [4]uint32{1, 1, 1, 64}, Strides: [4]uint64{128, 128, 128, 2}, BatchBytes: 128, Size: 128}
}

// put sets the word at byte off.
func put(b []byte, off int, v uint32) { binary.LittleEndian.PutUint32(b[off:], v) }

// identity is the 64 to 64 linear layer of chapter 23, table 23.6: text of 0x474
// bytes with two tasks, 0x2000 bytes of weights.
func identity(split bool) *hwx.Image {
	text := append(task(126, 0x200, 157), make([]byte, 0x200-4*126)...)
	text = append(text, task(157, 0, 0)...)
	text = text[:0x200+4*157]
	lanes := make([][]byte, 16)
	img := &hwx.Image{CPUSubtype: target.H13.Subtype, Split: split, Banner: []string{"zinc", "\t-t h13"}}
	e := hwx.Entry{Name: "main", FirstWords: 126, Tasks: 2, Bars: map[int]hwx.BarRef{
		0: {Kind: hwx.BarText}, 1: {Kind: hwx.BarConstants},
		4: {Kind: hwx.BarSurface, Surface: "t2"}, 5: {Kind: hwx.BarSurface, Surface: "t0"}}}
	for i := range lanes {
		lanes[i] = bytes.Repeat([]byte{byte(i + 1)}, 0x200)
		img.Kernels = append(img.Kernels, hwx.Kernel{
			Name:   fmt.Sprintf("K%064X_ne_%d", 7, i),
			Offset: uint64(0x200 * i),
			Live:   true,
		})
		at := 0x200 + 44 + 4*i
		put(text, at, uint32(0x200*i))
		e.Relocs = append(e.Relocs, uint32(at))
	}
	img.Text, img.Constants, img.Procedures = text, lanes, []hwx.Entry{e}
	img.Surfaces = []hwx.Surface{vector("t0", "main", hwx.BindInput), vector("t2", "main", hwx.BindOutput)}
	return img
}

// several is a program of n procedures, three tasks each, with scratch.
func several(n int, split bool) *hwx.Image {
	img := &hwx.Image{CPUSubtype: target.H13.Subtype, Split: split, Scratch: 0x8001, Banner: []string{"zinc"}}
	for i := range n {
		name := fmt.Sprintf("p%d", i)
		in, out := name+"_in", name+"_out"
		img.Surfaces = append(img.Surfaces, vector(out, name, hwx.BindOutput), vector(in, name, hwx.BindInput))
		img.Text = append(img.Text, make([]byte, (hwx.TaskAlign-len(img.Text)%hwx.TaskAlign)%hwx.TaskAlign)...)
		base := len(img.Text)
		img.Text = append(img.Text, chain(uint32(base), 3, 30)...)
		img.Procedures = append(img.Procedures, hwx.Entry{Name: name, Offset: uint64(base), FirstWords: 30, Tasks: 3,
			Bars: map[int]hwx.BarRef{0: {Kind: hwx.BarText}, 1: {Kind: hwx.BarConstants}, 2: {Kind: hwx.BarScratch},
				4: {Kind: hwx.BarSurface, Surface: out}, 5: {Kind: hwx.BarSurface, Surface: in}}})
	}
	return img
}

// images are the containers that the tests build, by name.
func images() map[string]*hwx.Image {
	big := identity(true)
	big.MaxKernelSection = hwx.Page
	big.Constants = nil
	for i := range 33 { // 0x9240 bytes: two full sections and a part of one
		big.Constants = append(big.Constants, bytes.Repeat([]byte{byte(i)}, 0x11a+i%2*2))
	}
	big.Constants = append(big.Constants, make([]byte, 0x9240-partsLen(big.Constants)))
	put(big.Text, 0x200+44, 0x8000)
	big.Kernels = append(big.Kernels, hwx.Kernel{Name: "Kend_ne_15", Offset: 0x9240})
	return map[string]*hwx.Image{
		"identity_split": identity(true), "identity_whole": identity(false), "kernels_cut": big,
		"several_split": several(3, true), "several_whole": several(3, false),
		"many": several(200, true), "packed": packed(3),
	}
}

func partsLen(parts [][]byte) (n int) {
	for _, p := range parts {
		n += len(p)
	}
	return n
}

func build(t testing.TB, img *hwx.Image) (*hwx.File, *hwx.Addresses, []byte) {
	t.Helper()
	f, a, err := hwx.Build(img)
	if err != nil {
		t.Fatal(err)
	}
	b, err := hwx.Encode(f)
	if err != nil {
		t.Fatal(err)
	}
	return f, a, b
}

// TestIdentityHasTheSegmentsOfTheChapter builds the identity layer and compares its segments with the
// table: order, protections and sizes. (The table's addresses leave out segments
// it does not list, so they are not compared.)
// Table 23.6.
func TestIdentityHasTheSegmentsOfTheChapter(t *testing.T) {
	_, addrs, b := build(t, identity(true))
	f, err := hwx.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	want := []struct {
		segment, section string
		size             uint64
		prot             uint32
	}{
		{segment: "__PAGEZERO", size: 0x4000, prot: 0},
		{segment: "__FVMLIB", section: "__const", size: 0x80, prot: hwx.ProtRead},
		{segment: "__FVMLIB", section: "__data", size: 0x80, prot: hwx.ProtWrite},
		{segment: "__TEXT", section: "__text", size: 0x474, prot: hwx.ProtRead | hwx.ProtExec},
		{segment: "__KERN_0", section: "__kern_0", size: 0x2000, prot: hwx.ProtRead},
	}
	got := f.Segments()
	if len(got) != len(want) {
		t.Fatalf("%d segments, want %d", len(got), len(want))
	}
	next := uint64(hwx.Base)
	for i, w := range want {
		s := got[i]
		if s.Name.String() != w.segment || s.InitProt != w.prot || s.MaxProt != w.prot {
			t.Errorf("segment %d: %s, protection %d/%d; want %s, %d", i, s.Name, s.InitProt, s.MaxProt, w.segment,
				w.prot)
		}
		if w.section == "" {
			if s.VMAddr != 0 || s.VMSize != w.size || len(s.Sections) != 0 {
				t.Errorf("guard: %+v", s)
			}
			continue
		}
		if c := s.Sections[0]; len(s.Sections) != 1 || c.Name.String() != w.section || c.Size != w.size ||
			c.Addr != s.VMAddr {
			t.Errorf("segment %d: section %s at %#x of %#x bytes; want %s of %#x", i, c.Name, c.Addr, c.Size, w.section,
				w.size)
		}
		if s.VMAddr != next || s.VMSize != hwx.Page {
			t.Errorf("segment %d at %#x of %#x bytes, want %#x of a page", i, s.VMAddr, s.VMSize, next)
		}
		next += s.VMSize
	}
	if addrs.Surfaces["t0"] != 0x30000000 || addrs.Surfaces["t2"] != 0x30004000 || addrs.Text != 0x30008000 ||
		addrs.Constants != 0x3000c000 || addrs.Scratch != 0 {
		t.Errorf("addresses %+v", addrs)
	}
	if got, want := f.ConstantBytes(), bytes.Join(identity(true).Constants, nil); !bytes.Equal(got, want) {
		t.Error("constants differ")
	}
	if !bytes.Equal(f.TextBytes(), identity(true).Text) {
		t.Error("text differs")
	}
	text := f.Section("__TEXT", "__text")
	if len(text.Relocs) != 16 || text.Relocs[3] != (hwx.Reloc{
		Addr: 0x200 + 44 + 12,
		Info: 0x05000004,
	}) || text.Flags != 0x128 {
		t.Errorf("text flags %#x, relocations %v", text.Flags, text.Relocs)
	}
}

// TestWholeForm checks the form without a kernel section: constants after the tasks, aligned to 64 bytes; without
// constants a section of 0x4000 zero bytes.
func TestWholeForm(t *testing.T) {
	f, a, _ := build(t, identity(false))
	c := f.Section("__TEXT", "__const")
	if c == nil || c.Addr != 0x30008480 || c.Size != 0x2000 || c.Align != 6 || a.Constants != c.Addr ||
		c.Offset != 0x4480 {
		t.Errorf("constants %+v at %#x", c, a.Constants)
	}
	if f.Section("__KERN_0", "__kern_0") != nil {
		t.Error("kernel section beside __TEXT,__const")
	}
	f, a, _ = build(t, several(1, false))
	if c := f.Section("__TEXT", "__const"); c == nil || c.Size != 0x4000 ||
		len(bytes.Trim(f.ConstantBytes(), "\x00")) != 0 {
		t.Errorf("zero section %+v", c)
	}
	if got := f.Procedures()[0].Bars[1]; got != a.Constants || got == 0 {
		t.Errorf("register 1 is %#x, constants at %#x", got, a.Constants)
	}
	f, a, _ = build(t, several(1, true))
	if f.ConstantBytes() != nil || a.Constants != 0 || f.Procedures()[0].Bars[1] != 0 {
		t.Error("split form without constants has some")
	}
}

// TestProcedures checks scratch, and that every procedure has one command, bar table and chain.
func TestProcedures(t *testing.T) {
	img := several(3, true)
	_, a, b := build(t, img)
	f, err := hwx.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	if s := f.Section("__DATA", "__bss"); s == nil || s.Addr != 0x30000000 || s.Size != 0x8001 || s.Bytes() != nil ||
		a.Scratch != s.Addr {
		t.Errorf("scratch %+v, %#x", s, a.Scratch)
	}
	if got, want := a.Surfaces["p0_out"], uint64(0x3000c000); got != want {
		t.Errorf("first surface at %#x, want %#x behind scratch", got, want)
	}
	procs := f.Procedures()
	if len(procs) != 3 {
		t.Fatalf("%d procedures", len(procs))
	}
	for i, p := range procs {
		text, off, ok := f.Text().Of(p)
		if !ok || uint64(off) != img.Procedures[i].Offset || !bytes.Equal(text, img.Text) {
			t.Errorf("procedure %d: text %v at %#x", i, ok, off)
		}
		want := map[int]uint64{0: a.Text, 2: a.Scratch, 4: a.Surfaces[p.Name+"_out"], 5: a.Surfaces[p.Name+"_in"]}
		if fmt.Sprint(p.Bars) != fmt.Sprint(want) {
			t.Errorf("procedure %d: registers %v, want %v", i, p.Bars, want)
		}
		if p.Main != (i == 0) || p.Tasks != 3 || p.FirstWords != 30 || p.Name != img.Procedures[i].Name {
			t.Errorf("procedure %d: %+v", i, p)
		}
	}
	var order []string
	for _, x := range f.Tensors() {
		order = append(order, x.Procedure+"/"+x.Name)
	}
	if got, want := strings.Join(order, " "), "p0/p0_in p0/p0_out p1/p1_in p1/p1_out p2/p2_in p2/p2_out"; got != want {
		t.Errorf("tensors %s, want %s", got, want)
	}
}

// TestKernelsCut checks constants beyond the maximum of one section: they continue in the next, without a gap in
// addresses or in the file.
func TestKernelsCut(t *testing.T) {
	img := images()["kernels_cut"]
	_, a, b := build(t, img)
	f, err := hwx.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	l := f.ConstantSections()
	if len(l) != 3 || l[0].Size != 0x4000 || l[1].Size != 0x4000 || l[2].Size != 0x1240 {
		t.Fatalf("sections %v", l)
	}
	for i := 1; i < 3; i++ {
		if l[i].Addr != l[i-1].Addr+0x4000 || l[i].Offset != l[i-1].Offset+0x4000 {
			t.Errorf("section %d at %#x, file %#x, does not go on behind the one before", i, l[i].Addr, l[i].Offset)
		}
	}
	if !bytes.Equal(f.ConstantBytes(), bytes.Join(img.Constants, nil)) {
		t.Error("constants differ")
	}
	if unsafe.SliceData(f.ConstantBytes()) != unsafe.SliceData(b[l[0].Offset:]) {
		t.Error("constants in several sections were copied")
	}
	if got := f.Section("__TEXT", "__text").Relocs[0].Section(); got != 6 {
		t.Errorf("relocation of an offset in the third kernel section names section %d, want 6", got)
	}
	s := f.Symbols()[16]
	if s.Name != "Kend_ne_15" || s.Desc != 0 || s.Value != a.Constants+0x9240 || s.Sect != 6 {
		t.Errorf("unused lane %+v", s)
	}
}

// TestSymbols checks the table of the identity layer: tiles, ports, types, shapes.
// Listing 23.5.
func TestSymbols(t *testing.T) {
	f, a, _ := build(t, identity(true))
	l := f.Symbols()
	find := func(name string) hwx.Symbol {
		for _, s := range l {
			if s.Name == name {
				return s
			}
		}
		t.Errorf("no symbol %q", name)
		return hwx.Symbol{}
	}
	if s := find(fmt.Sprintf("K%064X_ne_3", 7)); s.Value != a.Constants+0x600 || s.Type != 0x0f || s.Desc != 2 ||
		s.Sect != 4 {
		t.Errorf("tile %+v", s)
	}
	if s := find("t0"); s.Value != a.Surfaces["t0"] || s.Desc != 2 || s.Sect != 1 || s.Type != 0x0f {
		t.Errorf("input %+v", s)
	}
	if s := find("t2"); s.Value != a.Surfaces["t2"] || s.Desc != 0 || s.Sect != 2 {
		t.Errorf("output %+v", s)
	}
	for _, n := range []string{"float16:t5=r1;2;0", "e4m3:t16=r1;1;0", "int4:t23=r1;-8;7"} {
		if s := find(n); s.Type != 0x80 {
			t.Errorf("type %+v", s)
		}
	}
	if s := find("t2:t30=ar1;0;1;31=s128n:ar1;0;1;32=s128c:ar1;0;1;33=s128h:ar1;0;64;34=s2w:5"); s.Type != 0x20 ||
		s.Desc != 30 {
		t.Errorf("shape %+v", s)
	}
}

// TestDeterministic builds each image again and again: maps inside must not show.
func TestDeterministic(t *testing.T) {
	for name := range images() {
		_, _, want := build(t, images()[name])
		for range 5 {
			if _, _, got := build(t, images()[name]); !bytes.Equal(got, want) {
				t.Errorf("%s: two builds differ", name)
			}
		}
	}
}

// TestBuildErrors checks that an image without a container is refused by name.
func TestBuildErrors(t *testing.T) {
	tests := []struct {
		name string
		edit func(*hwx.Image)
		want string
	}{
		{"no text", func(m *hwx.Image) { m.Text = nil }, "Text"},
		{"odd text", func(m *hwx.Image) { m.Text = m.Text[:5] }, "Text"},
		{"no procedure", func(m *hwx.Image) { m.Procedures = nil }, "Procedures"},
		{"same surface", func(m *hwx.Image) { m.Surfaces[1].Name = "t0" }, "Surfaces[1].Name"},
		{"no surface name", func(m *hwx.Image) { m.Surfaces[1].Name = "" }, "Surfaces[1].Name"},
		{"NUL", func(m *hwx.Image) { m.Surfaces[1].Name = "a\x00b" }, "Surfaces[1].Name"},
		{"unknown procedure", func(m *hwx.Image) { m.Surfaces[0].Procedure = "x" }, "Surfaces[0].Procedure"},
		{"binding", func(m *hwx.Image) { m.Surfaces[0].Binding = 7 }, "Surfaces[0].Binding"},
		{"zero extent", func(m *hwx.Image) { m.Surfaces[0].Dims[2] = 0 }, "Surfaces[0].Dims[2]"},
		{"strides", func(m *hwx.Image) { m.Surfaces[0].Dims[3] = 65 }, "Surfaces[0].Strides"},
		{"huge strides", func(m *hwx.Image) {
			m.Surfaces[0].Dims = [4]uint32{1<<32 - 1, 1<<32 - 1, 1<<32 - 1, 1}
			m.Surfaces[0].Strides = [4]uint64{1 << 32, 1 << 32, 1 << 32, 2}
		}, "Surfaces[0].Strides"},
		{"size", func(m *hwx.Image) { m.Surfaces[0].Size = 0 }, "Surfaces[0].Size"},
		{"too large", func(m *hwx.Image) {
			m.Surfaces[0].Size = 3 << 30
			m.Surfaces[1].Size = 3 << 30
		}, "address space"},
		{"scratch overflow", func(m *hwx.Image) { m.Scratch = 1<<64 - 1 }, "Scratch"},
		{"bar", func(m *hwx.Image) { m.Procedures[0].Bars[256] = hwx.BarRef{Kind: hwx.BarText} }, "Bars[256]"},
		{"bar surface", func(m *hwx.Image) {
			m.Procedures[0].Bars[5] = hwx.BarRef{Kind: hwx.BarSurface, Surface: "q"}
		}, "Bars[5]"},
		{"bar scratch", func(m *hwx.Image) { m.Procedures[0].Bars[5] = hwx.BarRef{Kind: hwx.BarScratch} }, "Bars[5]"},
		{"reloc place", func(m *hwx.Image) { m.Procedures[0].Relocs[0] = 0x472 }, "Relocs[0]"},
		{"reloc value", func(m *hwx.Image) { put(m.Text, 0x200+44, 0x2000) }, "Relocs[0]"},
		{"reloc twice", func(m *hwx.Image) { m.Procedures[0].Relocs[1] = m.Procedures[0].Relocs[0] }, "only once"},
		{"tile outside", func(m *hwx.Image) { m.Kernels[0].Offset = 0x2000 }, "Kernels[0].Offset"},
		{"tile of nothing", func(m *hwx.Image) { m.Constants = nil; m.Procedures[0].Relocs = nil }, "Kernels[0]"},
		{"entry", func(m *hwx.Image) {
			m.Procedures[0].Offset = 0x200
			m.Procedures[0].FirstWords = 157
		}, "Procedures[0].Offset"},
		{"first words", func(m *hwx.Image) { m.Procedures[0].FirstWords = 1 << 31 }, "FirstWords"},
		{"task count", func(m *hwx.Image) { m.Procedures[0].Tasks = 3 }, "3 tasks"},
		{"task loop", func(m *hwx.Image) { put(m.Text, 0x200+28, 0x200) }, "loop"},
		{"task words", func(m *hwx.Image) { put(m.Text, 4, 0) }, "words"},
		{"register", func(m *hwx.Image) { put(m.Text, 40, 0x1000) }, "outside every block"},
		{"banner", func(m *hwx.Image) { m.Banner[0] = "a\nb" }, "Banner[0]"},
		{"ceiling", func(m *hwx.Image) { m.MaxKernelSection = 100 }, "MaxKernelSection"},
		{"order", func(m *hwx.Image) { m.TensorOrder = []string{"t0", "t0"} }, "TensorOrder[1]"},
		{"no output", func(m *hwx.Image) { m.Surfaces[1].Binding = hwx.BindInput }, "missing input or output"},
		{"layout", func(m *hwx.Image) { m.Layout = 9 }, "Layout"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := identity(true)
			tt.edit(m)
			_, _, err := hwx.Build(m)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one about %q", err, tt.want)
			}
		})
	}
}
