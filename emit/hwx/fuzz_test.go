package hwx_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"

	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/test/addition"
	"github.com/zinc-compiler/zinc/internal/testform"
)

// readHolds checks what must be true for any bytes: an error has an offset in the file; what Read accepts is written
// again equal, and can be printed and checked.
func readHolds(t *testing.T, data []byte) {
	t.Helper()
	got, err := hwx.Read(data)
	if err != nil {
		var fe *hwx.FormatError
		if !errors.As(err, &fe) || fe.Off < 0 || fe.Off > int64(len(data)) {
			t.Fatalf("error without a place in the file: %v", err)
		}
		return
	}
	b, err := hwx.Encode(got)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b, data) {
		t.Fatal("written file differs")
	}
	again, err := hwx.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, again) {
		t.Fatal("reading the written file gives another File")
	}
	hwx.Validate(got)
	describe(t, io.Discard, got)
	symbols(t, io.Discard, got)
}

// tight moves the segments of a container right after its tables: the same structure in a few kilobytes, which a fuzzer
// changes faster.
func tight(t testing.TB, b []byte) []byte {
	t.Helper()
	f, err := hwx.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	end := uint32(0)
	for _, c := range f.Commands {
		if c, ok := c.(*hwx.Symtab); ok {
			end = c.StrOff + c.StrSize
		}
	}
	for _, s := range f.Sections() {
		if n := len(s.Relocs); n > 0 {
			end = s.RelocOff + 8*uint32(n)
		}
	}
	for _, s := range f.Segments() {
		if s.FileSize == 0 {
			continue
		}
		s.FileOff = uint64(end)
		for _, c := range s.Sections {
			if c.Size > 0x280 {
				c.Size, c.Parts = 0x40, [][]byte{c.Bytes()[:0x40]}
			}
			c.Offset = end
			end += uint32(c.Size)
		}
		s.FileSize = uint64(end) - s.FileOff
	}
	f.Size = int64(end)
	if b, err = hwx.Encode(f); err != nil {
		t.Fatal(err)
	}
	return b
}

// FuzzRead checks that no bytes make Read panic, and that what it accepts is written again equal. By default the fuzzer
// spends its time on making inputs smaller: run it with -fuzzminimizetime=20x.
func FuzzRead(f *testing.F) {
	for _, img := range []*hwx.Image{identity(true), identity(false), several(2, true), several(1, false)} {
		_, _, b := build(f, img)
		f.Add(tight(f, b))
	}
	for _, b := range addition.Containers(f) {
		f.Add(tight(f, b))
	}
	f.Add(fewCommands(f))
	f.Add(make([]byte, 40))
	f.Fuzz(func(t *testing.T, data []byte) { readHolds(t, data) })
}

// fewCommands is a file with one command of each kind, without a program.
func fewCommands(t testing.TB) []byte {
	b, err := hwx.Encode(&hwx.File{Header: hwx.Header{
		CPUType:    0x80,
		CPUSubtype: 4,
		FileType:   2,
	}, Commands: []hwx.Command{
		&hwx.Port{Name: "a", Addr: 0x30000000},
		&hwx.Tensor{Name: "a", Procedure: "net", Name2: "a"},
		&hwx.Ident{Text: "zinc\n"},
		&hwx.Symtab{SymOff: 0x300, StrOff: 0x320, StrSize: 3, Symbols: []hwx.Symbol{{Name: "a"}}},
		&hwx.Segment{Name: hwx.MakeName("__TEXT"), FileOff: 0x340, FileSize: 8, VMSize: 8, Sections: []*hwx.Section{
			{Name: hwx.MakeName("__text"), Size: 8, Offset: 0x340, Parts: [][]byte{make([]byte, 8)}, RelocOff: 0x348,
				Relocs: make([]hwx.Reloc, 1)}}},
		&hwx.Raw{Cmd: 0x99, Data: []byte{1, 2, 3}},
	}, Size: 0x350})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// everyByte changes each byte of the header, commands and tables in turn, in two ways, and makes the checks of
// readHolds. In a run of zero words, such as the buffer-access registers that are not in use, only some are changed;
// the short form of the tests takes a sample of all.
func everyByte(t *testing.T, b []byte) {
	b = tight(t, b)
	for i := range testform.Sample(len(b), 1000, len(b)) {
		if i > 64 && i%32 != 0 && bytes.Count(b[i-16:i+1], []byte{0}) == 17 {
			continue
		}
		was := b[i]
		for _, v := range [...]byte{0xff, was + 1} {
			b[i] = v
			readHolds(t, b)
		}
		b[i] = was
	}
}

// TestEveryByteBuilt changes every byte of a built container.
func TestEveryByteBuilt(t *testing.T) {
	_, _, b := build(t, identity(false))
	everyByte(t, b)
}

// TestEveryByteGolden changes every byte of real containers.
func TestEveryByteGolden(t *testing.T) {
	for _, name := range testform.Of([]string{"sum"}, []string{"conv", "sum"}, []string{"conv", "sum"}) {
		everyByte(t, golden(t, name))
	}
}

// TestHostileSizes reads files whose tables state wrong sizes or share bytes: the time and memory that a reader uses
// must stay in proportion to the file's length.
func TestHostileSizes(t *testing.T) {
	// Thousands of sections, each claiming the whole file for its relocations.
	var sections []*hwx.Section
	for range 3000 {
		sections = append(sections, &hwx.Section{Name: hwx.MakeName("s"), Addr: 1})
	}
	f := &hwx.File{Commands: []hwx.Command{&hwx.Segment{Sections: sections}}, Size: 1 << 20}
	b, err := hwx.Encode(f)
	if err != nil {
		t.Fatal(err)
	}
	for i := range sections {
		put(b, 32+72+80*i+56, 300000)
		put(b, 32+72+80*i+60, 90000)
	}
	if _, err := hwx.Read(b); err == nil {
		t.Error("relocation tables that share bytes were taken")
	}
	// Thousands of symbols, all naming the same long string.
	tab := &hwx.Symtab{SymOff: 0x1000, StrOff: 0x80000, StrSize: 0x80000}
	tab.Strings = bytes.Repeat([]byte{'a'}, 0x80000)
	tab.Strings[0x7ffff] = 0
	for range 20000 {
		tab.Symbols = append(tab.Symbols, hwx.Symbol{})
	}
	if b, err = hwx.Encode(&hwx.File{Commands: []hwx.Command{tab}, Size: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	if _, err := hwx.Read(b); err == nil {
		t.Error("a symbol of half a megabyte was taken")
	}
}
