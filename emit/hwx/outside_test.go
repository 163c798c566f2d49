package hwx_test

import (
	"bytes"
	"debug/macho"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// asMachO replaces the magic, after which the file is a 64-bit Mach-O.
func asMachO(b []byte) []byte {
	b = bytes.Clone(b)
	copy(b, []byte{0xcf, 0xfa, 0xed, 0xfe})
	return b
}

// TestMachO opens every built container with Go's Mach-O reader: segments, section contents, relocations and symbols
// must be as built.
func TestMachO(t *testing.T) {
	for name, img := range images() {
		t.Run(name, func(t *testing.T) {
			f, _, b := build(t, img)
			m, err := macho.NewFile(bytes.NewReader(asMachO(b)))
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			if int(m.Ncmd) != len(f.Commands) || m.Type != macho.TypeExec {
				t.Errorf("%d commands of type %v, want %d", m.Ncmd, m.Type, len(f.Commands))
			}
			sections := f.Sections()
			if len(m.Sections) != len(sections) {
				t.Fatalf("%d sections, want %d", len(m.Sections), len(sections))
			}
			for i, s := range m.Sections {
				w := sections[i]
				if s.Name != w.Name.String() || s.Seg != w.Segment.String() || s.Addr != w.Addr || s.Size != w.Size ||
					len(s.Relocs) != len(w.Relocs) {
					t.Errorf("section %d: %+v, want %+v", i, s.SectionHeader, w)
				}
				if w.Parts == nil {
					continue
				}
				if got, err := s.Data(); err != nil || !bytes.Equal(got, w.Bytes()) {
					t.Errorf("section %d: contents differ, error %v", i, err)
				}
			}
			want := f.Symbols()
			if len(m.Symtab.Syms) != len(want) {
				t.Fatalf("%d symbols, want %d", len(m.Symtab.Syms), len(want))
			}
			for i, s := range m.Symtab.Syms {
				if w := want[i]; s.Name != w.Name || s.Value != w.Value || s.Type != w.Type || s.Sect != w.Sect ||
					s.Desc != w.Desc {
					t.Errorf("symbol %d: %+v, want %+v", i, s, w)
				}
			}
			for _, l := range m.Loads {
				if s, ok := l.(*macho.Segment); ok && s.Filesz > 0 {
					if head := uint64(32 + m.Cmdsz); s.Offset < head {
						t.Errorf("segment %s starts at %#x of the file, inside the headers (%#x)", s.Name, s.Offset,
							head)
					}
				}
			}
		})
	}
}

// TestChecker runs the independent checker, which shares no code with this
// package, over every built container.
func TestChecker(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 to run the independent checker")
	}
	checker := filepath.Join(shareddir.Find(t), "tools", "hwx.py")
	dir := t.TempDir()
	for name, img := range images() {
		_, _, b := build(t, img)
		path := filepath.Join(dir, name+".hwx")
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(python, checker, "check", path).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		// The checker must be able to fail: a container with a wrong task count.
		flavor, tasks := uint32(hwx.FlavorProgram), 0x81c
		if name == "packed" {
			flavor, tasks = hwx.FlavorPacked, 0x830
		}
		put(b, offsetOf(t, b, hwx.CmdThread, flavor)+tasks, 77)
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := exec.Command(python, checker, "check", path).CombinedOutput(); err == nil {
			t.Errorf("%s: the checker takes a wrong task count", name)
		}
	}
}
