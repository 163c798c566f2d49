package compile_test

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// sample is the sample program of chapter 23: a 3x3 convolution from 8 channels to 8 over 16x16 pixels, a clamp, a
// mean, and a product from 8 to 4.
func sample(g *irbuild.Graph) {
	fill := func(i int64) float64 { return float64(i%7) / 8 }
	w := g.Filled(ir.FP16, fill, 8, 8, 3, 3)
	x := g.Op("relu", "x", g.Op("conv", "x", g.Input(1, 8, 16, 16), "weight", w, "pad_type", "same"))
	m := g.Op("reduce_mean", "x", x, "axes", []int64{2, 3}, "keep_dims", true)
	flat := g.Op("reshape", "x", m, "shape", []int64{1, 8})
	g.Output(g.Op("matmul", "x", flat, "y", g.Filled(ir.FP16, fill, 8, 4)))
}

// TestSampleProgramHasThePublishedTasks compiles the chapter's sample: three chained tasks at 0x000, 0x300 and 0x500,
// each with the offset of the next at +0x1c.
// Table 23.11.
func TestSampleProgramHasThePublishedTasks(t *testing.T) {
	_, p := built(t, compile.Options{Target: target.H13, SplitKernel: true}, sample)
	text, chain := chainOf(t, p.Container)
	var offs []int
	for _, c := range chain {
		offs = append(offs, c.Off)
	}
	if !slices.Equal(offs, []int{0, 0x300, 0x500}) {
		t.Fatalf("the tasks are at %#x, the chapter has 0x0, 0x300 and 0x500", offs)
	}
	for i, next := range []uint32{0x300, 0x500, 0} {
		if got := binary.LittleEndian.Uint32(text[offs[i]+0x1c:]); got != next {
			t.Errorf("task %d: the word at +0x1c is %#x, want %#x", i, got, next)
		}
	}
}

// TestSampleProgramHasThePublishedWeightTiles finds the tiles of the convolution 0xc0 apart and the tiles of the
// product 0x40 apart, each with a relocation.
// Table 23.10.
func TestSampleProgramHasThePublishedWeightTiles(t *testing.T) {
	_, p := built(t, compile.Options{Target: target.H13, SplitKernel: true}, sample)
	f, err := hwx.Read(p.Container)
	if err != nil {
		t.Fatal(err)
	}
	at := map[string][]uint64{}
	for _, s := range f.Symbols() {
		if kernel, _, ok := strings.Cut(s.Name, "_ne_"); ok && s.Desc == hwx.DescLive {
			at[kernel] = append(at[kernel], s.Value)
		}
	}
	strides := map[uint64]int{} // tiles by stride
	for _, vs := range at {
		slices.Sort(vs)
		for i := 1; i < len(vs); i++ {
			if vs[i]-vs[i-1] != vs[1]-vs[0] {
				t.Errorf("tiles at %#x", vs)
			}
		}
		strides[vs[1]-vs[0]] += len(vs)
	}
	if len(strides) != 2 || strides[0xc0] != 8 || strides[0x40] != 4 {
		t.Errorf("tiles by stride are %v, the chapter has 8 at 0xc0 and 4 at 0x40", strides)
	}
	if n := len(f.Section("__TEXT", "__text").Relocs); n != 12 {
		t.Errorf("%d relocations, the chapter has 8 and 4", n)
	}
}

// TestSampleProgramHasThePublishedShapes finds the strides of the input and of the product's operand in the symbols.
// Listing 23.6.
func TestSampleProgramHasThePublishedShapes(t *testing.T) {
	_, p := built(t, compile.Options{Target: target.H13, SplitKernel: true}, sample)
	f, err := hwx.Read(p.Container)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, s := range f.Symbols() {
		all = append(all, s.Name)
	}
	text := strings.Join(all, "\n")
	for _, axis := range []string{"s8192n", "s1024c", "s64h", "s2w", "s64n", "s64c"} {
		if !strings.Contains(text, axis) {
			t.Errorf("no symbol has %q", axis)
		}
	}
}

// TestContainersHaveThePublishedHeader reads the header of the identity layer's container from its bytes.
// Table 23.9.
func TestContainersHaveThePublishedHeader(t *testing.T) {
	_, p := built(t, compile.Options{Target: target.H13, SplitKernel: true}, identity)
	for _, c := range []struct {
		off  int
		want uint32
		what string
	}{
		{0, 0xbeefface, "magic"}, {4, 0x80, "cputype"}, {8, 4, "cpusubtype"}, {12, 2, "filetype"},
		{24, 0x200000, "flags"},
	} {
		if got := binary.LittleEndian.Uint32(p.Container[c.off:]); got != c.want {
			t.Errorf("%s at byte %d is %#x, want %#x", c.what, c.off, got, c.want)
		}
	}
}
