package hwx_test

import (
	"bytes"
	"errors"
	"runtime"
	"testing"
	"unsafe"

	"github.com/zinc-compiler/zinc/emit/hwx"
)

// samples are containers to read: built ones always, and real ones if there are any.
func samples(t *testing.T) map[string][]byte {
	m := map[string][]byte{}
	for name, img := range images() {
		if name != "many" {
			_, _, m[name] = build(t, img)
		}
	}
	return m
}

// TestRoundTripBuilt reads what Build made and writes it again.
func TestRoundTripBuilt(t *testing.T) {
	for name, img := range images() {
		_, _, b := build(t, img)
		f, err := hwx.Read(b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if bad := hwx.Validate(f); len(bad) != 0 {
			t.Errorf("%s: %v", name, bad)
		}
		if got, err := hwx.Encode(f); err != nil || !bytes.Equal(got, b) {
			t.Errorf("%s: written file differs, error %v", name, err)
		}
		for i, c := range f.Commands {
			if tail := tailOf(c); tail != nil {
				t.Errorf("%s: command %d (%T) kept %d bytes as they were", name, i, c, len(tail))
			}
		}
	}
}

// cutEverywhere reads every 64-byte prefix of b; each must fail with a place
// inside the whole file, and a field.
func cutEverywhere(t *testing.T, name string, b []byte) {
	for n := 0; n < len(b); n += 64 {
		_, err := hwx.Read(b[:n])
		var fe *hwx.FormatError
		if !errors.As(err, &fe) {
			t.Fatalf("%s cut at %#x: error %v, want a *FormatError", name, n, err)
		}
		if fe.Off < 0 || fe.Off > int64(n) || fe.Field == "" || fe.Msg == "" {
			t.Errorf("%s cut at %#x: %+v", name, n, fe)
		}
	}
}

// TestCutBuilt cuts the built containers at every 64th byte.
func TestCutBuilt(t *testing.T) {
	for name, b := range samples(t) {
		cutEverywhere(t, name, b)
	}
}

// TestCutGolden cuts the real containers at every 64th byte.
func TestCutGolden(t *testing.T) {
	for _, name := range goldenNames {
		cutEverywhere(t, name, golden(t, name))
	}
}

// offsetOf finds the file offset of the i-th command with number cmd, and for
// threads the flavour.
func offsetOf(t *testing.T, b []byte, cmd, flavor uint32) int {
	t.Helper()
	u := func(o int) uint32 {
		return uint32(b[o]) | uint32(b[o+1])<<8 | uint32(b[o+2])<<16 | uint32(b[o+3])<<24
	}
	for o := 32; o < 32+int(u(20)); o += int(u(o + 4)) {
		if u(o) == cmd && (flavor == 0 || u(o+8) == flavor) {
			return o
		}
	}
	t.Fatalf("no command %#x flavour %d", cmd, flavor)
	return 0
}

// TestReadErrors breaks one field of a valid container at a time; the error must name the offset of exactly that field.
func TestReadErrors(t *testing.T) {
	_, _, good := build(t, identity(true))
	port := offsetOf(t, good, hwx.CmdPort, 0)
	prog := offsetOf(t, good, hwx.CmdThread, hwx.FlavorProgram)
	tens := offsetOf(t, good, hwx.CmdThread, hwx.FlavorTensor)
	tab := offsetOf(t, good, hwx.CmdSymtab, 0)
	const guard, window = 32, 32 + 72
	text := 32 + 72 + 2*152 // the segment after guard and two windows
	symoff := int(good[tab+8]) | int(good[tab+9])<<8
	tests := []struct {
		name  string
		at    int
		value uint32
		want  int // offset the error names
	}{
		{name: "magic", at: 0, value: 0xfeedfacf, want: 0},
		{name: "ncmds one more", at: 16, value: uint32(good[16]) + 1, want: 16},
		{name: "ncmds one less", at: 16, value: uint32(good[16]) - 1, want: 20},
		{name: "ncmds huge", at: 16, value: 0xffffffff, want: 16},
		{name: "sizeofcmds past the file", at: 20, value: 0xfffffff0, want: 20},
		{name: "cmdsize zero", at: guard + 4, value: 0, want: guard + 4},
		{name: "cmdsize small", at: guard + 4, value: 16, want: guard + 4},
		{name: "cmdsize huge", at: guard + 4, value: 0xffffffff, want: guard + 4},
		{name: "nsects huge", at: window + 64, value: 0xffffffff, want: window + 64},
		{name: "nsects two", at: window + 64, value: 2, want: window + 64},
		{name: "filesize", at: text + 48, value: 0x7fffffff, want: text + 48},
		{name: "filesize high", at: text + 52, value: 0x7fffffff, want: text + 48},
		{name: "section size", at: text + 72 + 40, value: 0x7fffffff, want: text + 72 + 48},
		{name: "section size high", at: text + 72 + 44, value: 0xffffffff, want: text + 72 + 48},
		{name: "section over the commands", at: text + 72 + 48, value: 0x40, want: text + 72 + 48},
		{name: "nreloc huge", at: text + 72 + 60, value: 0xffffffff, want: text + 72 + 56},
		{name: "reloff past", at: text + 72 + 56, value: 0xfffffff0, want: text + 72 + 56},
		// both claim the same start: the later command is at fault
		{name: "reloff over the symbols", at: text + 72 + 56, value: uint32(symoff), want: tab + 8},
		{name: "port name", at: port + 8, value: 0x1000, want: port + 8},
		{name: "program words small", at: prog + 12, value: 4, want: prog + 12},
		{name: "program words huge", at: prog + 12, value: 0xffffffff, want: prog + 12},
		{name: "program name", at: prog + 0x83c, value: 0xffffffff, want: prog + 0x83c},
		{name: "tensor words", at: tens + 12, value: 0x7fffffff, want: tens + 12},
		{name: "tensor procedure", at: tens + 0x18, value: 0x7fffffff, want: tens + 0x18},
		{name: "tensor name", at: tens + 0x20, value: 0x7fffffff, want: tens + 0x20},
		{name: "tensor second name", at: tens + 0x7c, value: 0x7fffffff, want: tens + 0x7c},
		{name: "symoff", at: tab + 8, value: 0x7fffffff, want: tab + 8},
		{name: "nsyms", at: tab + 12, value: 0x10000001, want: tab + 8},
		{name: "stroff", at: tab + 16, value: 0xffffffff, want: tab + 16},
		{name: "strsize", at: tab + 20, value: 0xffffffff, want: tab + 16},
		{name: "strsize one less", at: tab + 20, value: uint32(good[tab+20]) | uint32(good[tab+21])<<8 - 1, want: -1},
		{name: "symbol name", at: symoff + 16, value: 0xffffffff, want: symoff + 16},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := bytes.Clone(good)
			put(b, tt.at, tt.value)
			_, err := hwx.Read(b)
			var fe *hwx.FormatError
			if !errors.As(err, &fe) {
				t.Fatalf("error %v, want a *FormatError", err)
			}
			if tt.want >= 0 && fe.Off != int64(tt.want) {
				t.Errorf("error at %#x, want %#x: %v", fe.Off, tt.want, err)
			}
		})
	}
}

// TestUnknownKept puts things that the rules do not cover into a container: an unknown command, an unknown flavour, a
// nonzero byte between two parts and displaced names. All of it must survive.
func TestUnknownKept(t *testing.T) {
	_, _, good := build(t, identity(true))
	tens := offsetOf(t, good, hwx.CmdThread, hwx.FlavorTensor)
	port := offsetOf(t, good, hwx.CmdPort, 0)
	for _, edit := range []struct {
		name string
		do   func(b []byte)
		want func(f *hwx.File) bool
	}{
		{"command", func(b []byte) {
			put(b, port, 0x77)
		}, func(f *hwx.File) bool { return raw(f, 0x77) == 1 && len(f.Ports()) == 1 }},
		{"flavour", func(b []byte) {
			put(b, tens+8, 9)
		}, func(f *hwx.File) bool { return raw(f, 4) == 1 && len(f.Tensors()) == 1 }},
		{"gap", func(b []byte) { b[0x3fff] = 7 }, func(f *hwx.File) bool { return len(f.Gaps) == 1 }},
		{"gap behind", func(b []byte) { b[len(b)-1] = 7 }, func(f *hwx.File) bool { return len(f.Gaps) == 1 }},
		{"port padding", func(b []byte) {
			b[port+0x17] = 7
		}, func(f *hwx.File) bool { return f.Ports()[0].Tail != nil && f.Ports()[0].Name == "t0" }},
		{"second name on the first", func(b []byte) {
			put(b, tens+0x7c, uint32(b[tens+0x20]))
		}, func(f *hwx.File) bool { return f.Tensors()[0].Tail != nil && f.Tensors()[0].Name2 == "t0" }},
	} {
		t.Run(edit.name, func(t *testing.T) {
			b := bytes.Clone(good)
			edit.do(b)
			f, err := hwx.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			if !edit.want(f) {
				t.Error("not kept as expected")
			}
			if got, err := hwx.Encode(f); err != nil || !bytes.Equal(got, b) {
				t.Errorf("written file differs, error %v", err)
			}
		})
	}
}

func raw(f *hwx.File, cmd uint32) (n int) {
	for _, c := range f.Commands {
		if c, ok := c.(*hwx.Raw); ok && c.Cmd == cmd {
			n++
		}
	}
	return n
}

// TestNoCopy reads a container with large constants: they must be the same bytes as in the input, and reading must
// allocate next to nothing else.
func TestNoCopy(t *testing.T) {
	img := identity(true)
	img.Constants = [][]byte{make([]byte, 64<<20)}
	_, _, b := build(t, img)
	f, err := hwx.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	c := f.Section("__KERN_0", "__kern_0")
	if got := f.ConstantBytes(); unsafe.SliceData(got) != unsafe.SliceData(b[c.Offset:]) || len(got) != 64<<20 {
		t.Error("constants were copied")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := hwx.Read(b); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("reading allocates %d bytes", n)
	}
	// Building and writing refer to the constants too.
	f, _, err = hwx.Build(img)
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&before)
	if _, err := f.WriteTo(&countWriter{}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("writing allocates %d bytes", n)
	}
}

// countWriter counts bytes.
type countWriter struct{ total int64 }

func (w *countWriter) Write(p []byte) (int, error) {
	w.total += int64(len(p))
	return len(p), nil
}

// failWriter fails after n bytes.
type failWriter struct{ n int }

var errFull = errors.New("full")

func (w *failWriter) Write(p []byte) (int, error) {
	if len(p) > w.n {
		n := w.n
		w.n = 0
		return n, errFull
	}
	w.n -= len(p)
	return len(p), nil
}

// TestWriteTo checks the count, and that a writer's error comes through with it.
func TestWriteTo(t *testing.T) {
	f, _, b := build(t, identity(true))
	var w countWriter
	if n, err := f.WriteTo(&w); err != nil || n != int64(len(b)) || w.total != n || n != f.Size {
		t.Errorf("wrote %d, counted %d, size %d, error %v", n, w.total, f.Size, err)
	}
	for _, limit := range []int{0, 100, 0x3000, 0x4100, len(b) - 1} {
		if n, err := f.WriteTo(&failWriter{limit}); !errors.Is(err, errFull) || n != int64(limit) {
			t.Errorf("limit %#x: wrote %#x, error %v", limit, n, err)
		}
	}
}

// TestWriteRefuses checks that a File changed into a contradiction is not written.
func TestWriteRefuses(t *testing.T) {
	for name, edit := range map[string]func(f *hwx.File){
		"overlap": func(f *hwx.File) { f.Section("__KERN_0", "__kern_0").Offset = 0x4000 },
		"size":    func(f *hwx.File) { f.Section("__KERN_0", "__kern_0").Size++ },
		"short":   func(f *hwx.File) { f.Size = 0x4000 },
		"strings": func(f *hwx.File) { f.Commands[len(f.Commands)-1].(*hwx.Symtab).Symbols[0].Name += "x" },
		"NUL":     func(f *hwx.File) { f.Ports()[0].Name = "a\x00" },
	} {
		f, _, _ := build(t, identity(true))
		edit(f)
		if _, err := hwx.Encode(f); err == nil {
			t.Errorf("%s: written without an error", name)
		}
	}
}

// TestValidate breaks one rule at a time in a container that was read.
func TestValidate(t *testing.T) {
	for name, edit := range map[string]func(f *hwx.File){
		"cputype":         func(f *hwx.File) { f.Header.CPUType = 7 },
		"guard":           func(f *hwx.File) { f.Segments()[0].Name = hwx.MakeName("__X") },
		"page":            func(f *hwx.File) { f.Segments()[4].VMAddr += 64 },
		"overlap":         func(f *hwx.File) { f.Segments()[3].VMSize += hwx.Page },
		"past 4 GiB":      func(f *hwx.File) { f.Segments()[4].VMSize = 1 << 40 },
		"window in file":  func(f *hwx.File) { f.Segments()[1].FileSize = 4 },
		"alignment":       func(f *hwx.File) { f.Section("__KERN_0", "__kern_0").Align = 31 },
		"reloc place":     func(f *hwx.File) { f.Section("__TEXT", "__text").Relocs[0].Addr = 0x471 },
		"reloc section":   func(f *hwx.File) { f.Section("__TEXT", "__text").Relocs[0].Info = 0x05000009 },
		"two programs":    func(f *hwx.File) { f.Commands = append(f.Commands, f.Procedures()[0].Program) },
		"bar":             func(f *hwx.File) { f.Procedures()[0].Program.Bars[9] = 0x20000000 },
		"text bar":        func(f *hwx.File) { f.Procedures()[0].Program.Bars[0] = 0x30000000 },
		"entry":           func(f *hwx.File) { f.Procedures()[0].Program.Entry = 0x30000000 },
		"task count":      func(f *hwx.File) { f.Procedures()[0].Program.Tasks = 9 },
		"port":            func(f *hwx.File) { f.Ports()[0].Addr = 0x30008000 },
		"tensor proc":     func(f *hwx.File) { f.Tensors()[0].Procedure = "x" },
		"tensor port":     func(f *hwx.File) { f.Tensors()[0].Name = "x" },
		"same tensor":     func(f *hwx.File) { f.Tensors()[0].Name = "t2" },
		"no output":       func(f *hwx.File) { f.Tensors()[1].Binding = 1 },
		"symbol":          func(f *hwx.File) { f.Commands[len(f.Commands)-1].(*hwx.Symtab).Symbols[0].Value = 1 },
		"symbol section":  func(f *hwx.File) { f.Commands[len(f.Commands)-1].(*hwx.Symtab).Symbols[0].Sect = 99 },
		"section outside": func(f *hwx.File) { f.Segments()[1].Sections[0].Size = 0x4001 },
	} {
		_, _, b := build(t, identity(true))
		f, err := hwx.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		edit(f)
		if len(hwx.Validate(f)) == 0 {
			t.Errorf("%s: no rule broken", name)
		}
	}
}

// TestSegmentAt checks both ends of a segment.
func TestSegmentAt(t *testing.T) {
	f, a, _ := build(t, identity(true))
	for addr, want := range map[uint64]string{0: "__PAGEZERO", 0x3fff: "__PAGEZERO", 0x4000: "", a.Text - 1: "__FVMLIB",
		a.Text: "__TEXT", a.Text + 0x3fff: "__TEXT", a.Constants: "__KERN_0", a.Constants + 0x4000: "", 1<<64 - 1: ""} {
		got := ""
		if s := f.SegmentAt(addr); s != nil {
			got = s.Name.String()
		}
		if got != want {
			t.Errorf("segment at %#x is %q, want %q", addr, got, want)
		}
		if s, m := f.SegmentAt(addr), f.AddressMap().At(addr); s != m {
			t.Errorf("address map at %#x has %v, want %v", addr, m, s)
		}
	}
}
