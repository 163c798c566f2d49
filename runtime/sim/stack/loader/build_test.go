package loader_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/loader"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
	"github.com/zinc-compiler/zinc/target"
)

// layer is an image of n procedures of the shape of chapter 23's identity layer:
// a pass into scratch, then a product with sixteen lanes of coefficients out of
// it. size is the bytes of a lane.
func layer(t testing.TB, n int, split bool, size int) *hwx.Image {
	t.Helper()
	img := &hwx.Image{CPUSubtype: target.H13.Subtype, Split: split, Scratch: 0x8000,
		Banner: []string{"zinc", "\t-t h13"}}
	for i := range td.Lanes {
		img.Constants = append(img.Constants, bytes.Repeat([]byte{byte(i + 1)}, size))
	}
	for k := range n {
		name := string(rune('a' + k))
		first := td.New().Set(td.NEOp, int(td.NEPass)).
			Set(td.SrcEn, 1).Set(td.SrcFmtMode, 1).Set(td.RBase0, 5).Set(td.RBE0, 1).
			Set(td.DstEn, 1).Set(td.WBase, 3).Set(td.WBE, 1).Set(td.DstBase, 0x40)
		second := td.New().Set(td.NEOp, int(td.NEMultiply)).Set(td.KernelOn, 1).Set(td.KBase0, td.BarConstants).
			Set(td.KBE0, 1).
			Set(td.SrcEn, 1).Set(td.RBase0, 3).Set(td.RBE0, 1).Set(td.SrcBase, 0x40).
			Set(td.DstEn, 1).Set(td.DstFmtMode, 1).Set(td.WBase, 4).Set(td.WBE, 1)
		for i := range td.Lanes {
			second.Set(td.CoeffEn.At(i), 1).Set(td.CoeffBase.At(i), i*size).Set(td.CoeffSize.At(i), size)
		}
		tasks := []*td.Task{first, second}
		text, offs, err := td.V7.AppendChain(img.Text, tasks)
		if err != nil {
			t.Fatal(err)
		}
		img.Text = text
		e := hwx.Entry{Name: name, Offset: uint64(offs[0]), FirstWords: uint32(td.V7.Words(first)), Tasks: 2,
			Bars: map[int]hwx.BarRef{
				0: {Kind: hwx.BarText}, 1: {Kind: hwx.BarConstants}, 3: {Kind: hwx.BarScratch},
				4: {Kind: hwx.BarSurface, Surface: name + "_out"}, 5: {Kind: hwx.BarSurface, Surface: name + "_in"}}}
		for i := range td.Lanes {
			w, ok := td.V7.WordIndex(second, td.CoeffBase.At(i))
			if !ok {
				t.Fatal("a lane is not written")
			}
			e.Relocs = append(e.Relocs, uint32(offs[1]+4*w))
		}
		img.Procedures = append(img.Procedures, e)
		for _, s := range []struct {
			name    string
			binding uint32
		}{{name + "_in", hwx.BindInput}, {name + "_out", hwx.BindOutput}} {
			img.Surfaces = append(img.Surfaces, hwx.Surface{Name: s.name, Procedure: name, Binding: s.binding,
				Element: 5,
				Dims:    [4]uint32{1, 1, 1, 64}, Strides: [4]uint64{128, 128, 128, 2}, BatchBytes: 128, Size: 128})
		}
	}
	for i := range td.Lanes {
		img.Kernels = append(img.Kernels, hwx.Kernel{
			Name:   "K0_ne_" + string(rune('a'+i)),
			Offset: uint64(i * size),
			Live:   true,
		})
	}
	return img
}

func build(t testing.TB, img *hwx.Image) []byte {
	t.Helper()
	f, _, err := hwx.Build(img)
	if err != nil {
		t.Fatal(err)
	}
	b, err := hwx.Encode(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// built are the containers that the tests make themselves, by name.
func built(t testing.TB) map[string][]byte {
	cut := layer(t, 1, true, 0xc00)
	cut.MaxKernelSection = hwx.Page // 0xc000 bytes: three kernel sections
	return map[string][]byte{
		"split": build(t, layer(t, 1, true, 0x200)), "whole": build(t, layer(t, 1, false, 0x200)),
		"several": build(t, layer(t, 3, true, 0x40)), "cut": build(t, cut),
	}
}

// goldens are the containers that Apple's compiler wrote, by name.
func goldens(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(shareddir.Find(t), "golden", "apple-h13", "*.hwx"))
	if err != nil || len(paths) != 5 {
		t.Fatalf("%d golden containers, %v", len(paths), err)
	}
	out := map[string][]byte{}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(p)] = b
	}
	return out
}

// corpus contains the real models whose weights are available: the compiled containers have one procedure or two,
// chains of one task to hundreds, with and without constants, scratch and work for the engine.
var corpus = []string{
	"DTLN_AEC_128_Part1.mlpackage", "coremlrs-test-linear", "coremltools-add", "espresso-full-fused",
	"espresso-fused-ffn",
	"espresso-fused-qkv", "espresso-matmul", "espresso-sdpa-bwd2", "fluid-argmax", "fluid-token-duration",
	"mnist-cnn-inline",
	"rb-flexible-gather", "rb-multifunction-flexible", "rb-neg-scalar", "rb-pipeline-dynamic-relu",
	"silero-v6-256ms-fp16",
	"silero-v6-fp16", "silero-v6-int8", "silero-v6-palette-2bit", "silero-v6-palette-4bit", "silero-v6-pruned-int8",
	"silero-vad-unified-v6.0.0.mlpackage",
}

// containers are the compiled models, which several tests load. No load changes
// them; TestLoadedImageIsTheRelocatedContainer says so.
var containers sync.Map

// compiled compiles a model of the corpus, with the constants in their own segments or after the tasks.
func compiled(t testing.TB, name string, split bool) []byte {
	t.Helper()
	key := fmt.Sprint(name, split)
	if b, ok := containers.Load(key); ok {
		return b.([]byte)
	}
	m, err := frontend.Open(filepath.Join(shareddir.Find(t), "corpus", name), frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	r, err := compile.All(context.Background(), m.Program, compile.Options{Target: target.H13, SplitKernel: split})
	if err != nil {
		t.Fatal(err)
	}
	b, err := hwx.Encode(r.HWX)
	if err != nil {
		t.Fatal(err)
	}
	containers.Store(key, b)
	return b
}

// eachContainer runs a test on every container there is: those built here,
// Apple's, and the corpus in both forms.
func eachContainer(t *testing.T, test func(t *testing.T, container []byte)) {
	run := func(kind string, m map[string][]byte) {
		for name, b := range m {
			t.Run(kind+"/"+name, func(t *testing.T) { test(t, b) })
		}
	}
	run("built", built(t))
	t.Run("golden", func(t *testing.T) {
		for name, b := range goldens(t) {
			t.Run(name, func(t *testing.T) { test(t, b) })
		}
	})
	t.Run("corpus", func(t *testing.T) {
		if testing.Short() {
			t.Skip("the corpus takes seconds")
		}
		for _, name := range corpus {
			t.Run(name+"/split", func(t *testing.T) { test(t, compiled(t, name, true)) })
			t.Run(name+"/whole", func(t *testing.T) { test(t, compiled(t, name, false)) })
		}
	})
}

func unit(t testing.TB, c translation.Config) *translation.Unit {
	t.Helper()
	u, err := translation.NewUnit(c)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func read(t testing.TB, container []byte) *loader.Program {
	t.Helper()
	p, err := loader.Read(container)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func load(t testing.TB, p *loader.Program, c *translation.Context) *loader.Loaded {
	t.Helper()
	l, err := p.Load(c, "load")
	if err != nil {
		t.Fatal(err)
	}
	return l
}
