package hwx_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// goldenNames are the containers that Apple's compiler wrote.
var goldenNames = []string{"conv", "conv3", "relu", "sigmoid", "sum"}

func golden(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(shareddir.Find(t), "golden", "apple-h13", name+".hwx"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestGoldenRoundTrip reads the real files and writes them again, byte for byte. They must not need the raw forms that
// keep what the rules do not cover.
func TestGoldenRoundTrip(t *testing.T) {
	for _, name := range goldenNames {
		t.Run(name, func(t *testing.T) {
			b := golden(t, name)
			f, err := hwx.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			got, err := hwx.Encode(f)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, b) {
				t.Errorf("written file differs from the one read")
			}
			if len(f.Gaps) != 0 {
				t.Errorf("%d gaps kept, want none: the room between the parts is zero", len(f.Gaps))
			}
			for i, c := range f.Commands {
				if tail := tailOf(c); tail != nil {
					t.Errorf("command %d (%T) kept %d bytes as they were", i, c, len(tail))
				}
			}
		})
	}
}

func tailOf(c hwx.Command) []byte {
	switch c := c.(type) {
	case *hwx.Segment:
		return c.Tail
	case *hwx.Port:
		return c.Tail
	case *hwx.Program:
		return c.Tail
	case *hwx.Tensor:
		return c.Tail
	case *hwx.Ident:
		return c.Tail
	case *hwx.Symtab:
		if c.Strings != nil {
			return c.Strings
		}
		return c.Tail
	case *hwx.Raw:
		return c.Data
	}
	return nil
}

// TestGoldenValid checks that the real files obey the rules.
func TestGoldenValid(t *testing.T) {
	for _, name := range goldenNames {
		f, err := hwx.Read(golden(t, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range hwx.Validate(f) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// imageOf extracts from a real container what Build needs to know.
func imageOf(t *testing.T, f *hwx.File) *hwx.Image {
	t.Helper()
	img := &hwx.Image{CPUSubtype: f.Header.CPUSubtype, Layout: hwx.TextFirst, Text: f.TextBytes(),
		Banner: strings.Split(strings.TrimSuffix(f.Banner(), "\n"), "\n")}
	consts := f.Section("__TEXT", "__const")
	relocs := f.Section("__TEXT", "__text").Relocs
	if len(relocs) > 0 {
		img.Constants = [][]byte{consts.Bytes()}
	}
	surface := map[uint64]string{}
	for _, p := range f.Ports() {
		surface[uint64(p.Addr)] = p.Name
	}
	tensors := map[string]*hwx.Tensor{}
	for _, x := range f.Tensors() {
		tensors[x.Name] = x
		img.TensorOrder = append(img.TensorOrder, x.Name)
	}
	for _, p := range f.Ports() {
		x := tensors[p.Name]
		img.Surfaces = append(img.Surfaces, hwx.Surface{Name: x.Name, Procedure: x.Procedure, Binding: x.Binding,
			Element: x.Element, Dims: x.Dims, Strides: x.Strides, BatchBytes: x.BatchBytes,
			Size: f.SegmentAt(uint64(p.Addr)).Sections[0].Size})
	}
	for _, p := range f.Procedures() {
		e := hwx.Entry{Name: p.Name, Offset: p.Entry - f.Section("__TEXT", "__text").Addr,
			FirstWords: uint32(p.FirstWords), Tasks: uint32(p.Tasks), Bars: map[int]hwx.BarRef{}}
		for i, a := range p.Bars {
			switch {
			case surface[a] != "":
				e.Bars[i] = hwx.BarRef{Kind: hwx.BarSurface, Surface: surface[a]}
			case a == consts.Addr:
				e.Bars[i] = hwx.BarRef{Kind: hwx.BarConstants}
			default:
				e.Bars[i] = hwx.BarRef{Kind: hwx.BarText}
			}
		}
		for _, r := range relocs {
			e.Relocs = append(e.Relocs, r.Addr)
		}
		img.Procedures = append(img.Procedures, e)
	}
	for _, s := range f.Symbols() {
		if strings.HasPrefix(s.Name, "K") && s.Type == hwx.SymSection {
			img.Kernels = append(img.Kernels, hwx.Kernel{
				Name:   s.Name,
				Offset: s.Value - consts.Addr,
				Live:   s.Desc == hwx.DescLive,
			})
		}
	}
	return img
}

// TestGoldenRebuild takes each real file apart and builds it again: Build's rules for addresses, commands, symbols and
// layout produce exactly the same bytes.
func TestGoldenRebuild(t *testing.T) {
	for _, name := range goldenNames {
		t.Run(name, func(t *testing.T) {
			want := golden(t, name)
			f, err := hwx.Read(want)
			if err != nil {
				t.Fatal(err)
			}
			built, _, err := hwx.Build(imageOf(t, f))
			if err != nil {
				t.Fatal(err)
			}
			got, err := hwx.Encode(built)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(want) {
				t.Errorf("built %#x bytes, the real file has %#x", len(got), len(want))
			}
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] {
					t.Fatalf("first difference at byte %#x: %#x, want %#x", i, got[i], want[i])
				}
			}
		})
	}
}
