package loader_test

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"testing"

	"github.com/zinc-compiler/zinc/emit/afpp"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
)

// relocated marks the bytes of a container that contain an address or a relocated word, found only from its bytes.
func relocated(b []byte) []bool {
	le := binary.LittleEndian
	mark := make([]bool, len(b))
	field := func(at, n int) {
		for i := range n {
			mark[at+i] = true
		}
	}
	off := 32
	for range le.Uint32(b[16:]) {
		c := b[off:]
		switch {
		case le.Uint32(c) == 0x19: // segment
			field(off+0x18, 8)
			for i := range int(le.Uint32(c[0x40:])) {
				s := 72 + 80*i
				field(off+s+0x20, 8)
				for k := range int(le.Uint32(c[s+0x3c:])) {
					r := b[int(le.Uint32(c[s+0x38:]))+8*k:]
					field(int(le.Uint32(c[s+0x30:])+le.Uint32(r)), 4)
				}
			}
		case le.Uint32(c) == 0x04 && le.Uint32(c[8:]) <= 2: // program, procedure
			field(off+0x10, 256*8)
			field(off+0x810, 8)
		case le.Uint32(c) == 0x02: // symbols
			for i := range int(le.Uint32(c[12:])) {
				field(int(le.Uint32(c[8:]))+16*i+8, 8)
			}
		}
		off += int(le.Uint32(c[4:]))
	}
	return mark
}

// TestLoadedImageIsTheRelocatedContainer checks that the loaded program image is a valid container in the same layout,
// and that two loads of one file differ only in relocated fields.
// Table 23.1.
func TestLoadedImageIsTheRelocatedContainer(t *testing.T) {
	eachContainer(t, func(t *testing.T, container []byte) {
		before := bytes.Clone(container)
		p := read(t, container)
		u := unit(t, translation.Config{})
		mark := relocated(container)
		var images [2][]byte
		for i := range images {
			// Another client, which has mapped something else before.
			c := u.Context(uint64(i))
			if _, err := c.Map(make([]byte, 1+i*3*translation.PageSize), translation.Input, "another"); err != nil {
				t.Fatal(err)
			}
			var err error
			if images[i], err = load(t, p, c).Image(); err != nil {
				t.Fatal(err)
			}
			if len(images[i]) != len(container) {
				t.Fatalf("%d bytes, the container has %d", len(images[i]), len(container))
			}
			f, err := hwx.Read(images[i])
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range hwx.Validate(f) {
				t.Error(err)
			}
			for k := range container {
				if images[i][k] != container[k] && !mark[k] {
					t.Fatalf("load %d: byte %#x differs and holds no address", i, k)
				}
			}
			checkImage(t, f, c, container)
		}
		if bytes.Equal(images[0], images[1]) {
			t.Error("two loads have the same addresses")
		}
		if !bytes.Equal(before, container) {
			t.Error("the container was changed")
		}
	})
}

// checkImage checks that what the image's addresses name is in memory there.
func checkImage(t *testing.T, f *hwx.File, c *translation.Context, container []byte) {
	t.Helper()
	old, err := hwx.Read(container)
	if err != nil {
		t.Fatal(err)
	}
	holds := func(what string, addr uint64, want []byte) {
		t.Helper()
		got, err := c.Window(addr, uint64(len(want)), translation.Read, "test")
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s at %#x: %v", what, addr, err)
		}
	}
	for i, s := range f.Sections() {
		was := old.Sections()[i]
		if s.Segment.String() == hwx.SegPort {
			if s.Addr != was.Addr {
				t.Errorf("the window at %#x was moved to %#x; the call binds it", was.Addr, s.Addr)
			}
			continue
		}
		if s.Parts != nil {
			holds(s.Name.String(), s.Addr, was.Bytes())
		}
	}
	// A word that a relocation names contains the address of a constant; in the container it contains the constant's
	// offset.
	text, consts := f.Section(hwx.SegText, hwx.SectText), old.ConstantBytes()
	for _, r := range text.Relocs {
		off := binary.LittleEndian.Uint32(old.TextBytes()[r.Addr:])
		holds("relocated word", uint64(binary.LittleEndian.Uint32(text.Bytes()[r.Addr:])), consts[off:off+0x40])
	}
	for i, s := range f.Symbols() {
		if was := old.Symbols()[i]; s.Type == hwx.SymSection && s.Desc == hwx.DescLive && s.Name[0] == 'K' {
			at := was.Value - old.ConstantSections()[0].Addr
			holds("symbol "+s.Name, s.Value, consts[at:at+0x40])
		}
	}
}

// TestFirmwareDiffersOnlyInRelocatedFields compares two loads of one container.
func TestFirmwareDiffersOnlyInRelocatedFields(t *testing.T) {
	eachContainer(t, func(t *testing.T, container []byte) {
		p := read(t, container)
		c := unit(t, translation.Config{}).Context(1)
		var programs [2]*afpp.Program
		var bases [2]uint64
		for i := range programs {
			l := load(t, p, c)
			g := firmware(t, c, l)
			base, ok := g.Text.RegisterBase()
			if !ok && len(g.Text.Records) > 0 {
				t.Error("no register base")
			}
			bases[i] = base
			g.Generic.Base, g.Generic.Size = translation.PageSize, translation.ApertureSize-translation.PageSize
			for k := range g.Text.Records {
				r := &g.Text.Records[k]
				if r.Slot == 0 {
					r.Register -= base
				} else {
					r.Register, r.Operand, r.Resolved = uint64(r.Slot.Register()), 0, false
				}
			}
			// Addresses that every load could have: the records wait again.
			for k := range g.Procedures {
				for j := range g.Procedures[k].Bars {
					g.Procedures[k].Bars[j].Address = 0
				}
			}
			programs[i] = g
		}
		if !reflect.DeepEqual(programs[0], programs[1]) {
			t.Error("more than addresses differ")
		}
		if bases[0] == bases[1] && bases[0] != 0 || bases[0]%td.RegisterWindow != 0 {
			t.Errorf("register bases %#x and %#x", bases[0], bases[1])
		}
	})
}
