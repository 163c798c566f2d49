package compile_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/irbuild"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/verify"
)

// TestNetlists opens every recorded network description: it compiles and its
// engine agrees with the interpreter, or it is refused with the stated reason.
// The weight files that descriptions name were not recorded, so numbers stand in
// for them.
func TestNetlists(t *testing.T) {
	dir := filepath.Join(shareddir.Find(t), "golden", "netplists")
	names, err := filepath.Glob(filepath.Join(dir, "*.plist"))
	if err != nil || len(names) < 22 {
		t.Skipf("%d network descriptions in %s: %v", len(names), dir, err)
	}
	refused := map[string]string{
		"convuint8.plist": `network "net": unit "image": InputType: must be Float16; it is "UInt8"; zinc lays tensors out as Float16 only`,
	}
	weights := t.TempDir()
	var b []byte
	for i := range 512 * 512 {
		b = binary.LittleEndian.AppendUint32(b, 0x3c003c00+uint32(i%61)<<20) // small, as fp16 and as fp32
	}
	for _, n := range []string{"twos.weights", "min.weights", "min_uint8.weights", "zero", "model.espresso.weights", "net.additional.weights"} {
		if err := os.WriteFile(filepath.Join(weights, n), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range names {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name == "gemm.plist" {
				t.Skip("512 tasks")
			}
			m, err := frontend.Open(path, frontend.Options{WeightsDir: weights})
			if want := refused[name]; want != "" {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Fatalf("the error is %v, want %s", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			if err := ir.Verify(m.Program); err != nil {
				t.Fatal(err)
			}
			r, err := verify.Run(context.Background(), m.Program, verify.Options{Compile: compile.Options{InputName: name}, Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			if !r.Pass {
				t.Errorf("%s differ", r.Failed())
			}
		})
	}
	// Without its weight files a description is refused, where it uses one.
	_, err = frontend.Open(filepath.Join(dir, "quadconv.plist"), frontend.Options{WeightsDir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), `unit "my_layer": Params.KernelIndex: weight file "../min.weights" cannot be read`) {
		t.Errorf("without weights: %v", err)
	}
}

// words returns the tasks of the only procedure of a container.
func words(t *testing.T, f *hwx.File) []td.Placed {
	t.Helper()
	ps := f.Procedures()
	if len(ps) != 1 {
		t.Fatalf("%d procedures", len(ps))
	}
	text, off, ok := f.TextOf(ps[0])
	if !ok {
		t.Fatal("no task section")
	}
	tasks, err := td.DecodeChain(text, off, ps[0].FirstWords)
	if err != nil {
		t.Fatal(err)
	}
	return tasks
}

// surface is what a container says of a port, but for where it lies.
type surface struct {
	Name           string
	Binding        uint32
	Element, Depth uint32
	Dims           [4]uint32
	Strides        [4]uint64
	Batch, Span    uint64
}

func surfaces(f *hwx.File) map[string]surface {
	out := map[string]surface{}
	for _, s := range f.Tensors() {
		out[s.Name] = surface{s.Name, s.Binding, s.Element, s.Depth, s.Dims, s.Strides, s.BatchBytes, s.Span}
	}
	return out
}

// TestOldContainers compiles the networks behind the recorded containers of an old
// compiler in its form, and compares every task word, the constants and the
// surfaces. What differs is listed by word, and the list must be right both ways.
// Besides, the order of segments and with it every address differs: the old
// compiler put __TEXT in front of the ports. Banner and symbols are not compared.
func TestOldContainers(t *testing.T) {
	dir := filepath.Join(shareddir.Find(t), "golden", "apple-h13")
	for _, c := range []struct {
		name, list string
		edit       [2]string // of the description
		words      []string  // known differences: index, first field, zinc's word, the container's
		constants  []string  // known differences: offset, zinc's half, the container's
	}{
		{name: "relu", list: "neuron.plist", edit: [2]string{"Sigmoid", "ReLU"}},
		// The old table ends at 8.32, not 9.94, and has another line above its end.
		{name: "sigmoid", list: "neuron.plist", constants: []string{
			"byte 0x2: 0x48f8, want 0x4829",
			"byte 0x4e: 0x0c21, want 0x163e",
			"byte 0x50: 0x3bfb, want 0x3be6",
		}},
		// The old compiler sends the result of a 1x1 convolution through L2.
		{name: "conv", list: "conv.plist", words: []string{
			"task 0 word 132 L2.ResType: 0x50017a, want 0x500172",
			"task 0 word 134 L2.ResCh: 0x0, want 0x10",
			"task 0 word 135 L2.ResRow: 0x0, want 0x30",
			"task 0 word 136 L2.ResDepth: 0x0, want 0x30",
			"task 0 word 137 L2.ResGroup: 0x0, want 0x30",
			"task 0 word 150 TileDMADst.DstEn: 0x40000c1, want 0xc1",
		}},
		{name: "sum", list: "sum.plist"},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join(dir, c.name+".hwx"))
			if err != nil {
				t.Skip(err)
			}
			want, err := hwx.Read(raw)
			if err != nil {
				t.Fatal(err)
			}
			src, err := os.ReadFile(filepath.Join(dir, c.list))
			if err != nil {
				t.Skip(err)
			}
			list := filepath.Join(t.TempDir(), c.list)
			if err := os.WriteFile(list, bytes.Replace(src, []byte(c.edit[0]), []byte(c.edit[1]), 1), 0o666); err != nil {
				t.Fatal(err)
			}
			m, err := frontend.Open(list, frontend.Options{WeightsDir: dir})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			r, err := compile.Compile(context.Background(), m.Program, compile.Options{FullTD: true})
			if err != nil {
				t.Fatal(err)
			}
			var buf bytes.Buffer
			if _, err := r.HWX.WriteTo(&buf); err != nil {
				t.Fatal(err)
			}
			got, err := hwx.Read(buf.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if g, w := surfaces(got), surfaces(want); !reflect.DeepEqual(g, w) {
				t.Errorf("surfaces are\n%+v\nwant\n%+v", g, w)
			}
			if diff := differentWords(t, words(t, got), words(t, want)); !reflect.DeepEqual(diff, c.words) {
				t.Errorf("task words that differ:\n%s\nknown:\n%s", strings.Join(diff, "\n"), strings.Join(c.words, "\n"))
			}
			if diff := differentHalves(got.ConstantBytes(), want.ConstantBytes()); !reflect.DeepEqual(diff, c.constants) {
				t.Errorf("constants that differ:\n%s\nknown:\n%s", strings.Join(diff, "\n"), strings.Join(c.constants, "\n"))
			}
		})
	}
}

// differentWords lists the words of two chains that differ.
func differentWords(t *testing.T, got, want []td.Placed) (out []string) {
	t.Helper()
	if len(got) != len(want) {
		return []string{fmt.Sprintf("%d tasks, want %d", len(got), len(want))}
	}
	for i := range got {
		g, err := got[i].Encode()
		if err != nil {
			t.Fatal(err)
		}
		w, err := want[i].Encode()
		if err != nil {
			t.Fatal(err)
		}
		if len(g) != len(w) {
			out = append(out, fmt.Sprintf("task %d: %d words, want %d", i, len(g), len(w)))
			continue
		}
		at := map[int]string{}
		for f, r := range td.Fields() {
			if n, ok := want[i].WordIndex(td.Field(f)); ok && at[n] == "" {
				at[n] = r.Name
			}
		}
		for k := range g {
			if g[k] != w[k] {
				out = append(out, fmt.Sprintf("task %d word %d %s: %#x, want %#x", i, k, at[k], g[k], w[k]))
			}
		}
	}
	return out
}

// differentHalves lists the 16-bit numbers of two constant sections that differ.
func differentHalves(got, want []byte) (out []string) {
	if len(got) != len(want) {
		return []string{fmt.Sprintf("%d bytes, want %d", len(got), len(want))}
	}
	for i := 0; i+1 < len(got); i += 2 {
		if g, w := binary.LittleEndian.Uint16(got[i:]), binary.LittleEndian.Uint16(want[i:]); g != w {
			out = append(out, fmt.Sprintf("byte %#x: %#04x, want %#04x", i, g, w))
		}
	}
	return out
}

// TestFullForm runs a model in both forms of tasks: the numbers are the same.
func TestFullForm(t *testing.T) {
	for _, full := range []bool{false, true} {
		g := irbuild.New(3)
		x := g.Input(2, 32, 8, 8)
		y := g.Op("relu", "x", g.Op("conv", "x", x, "weight", g.Weights(32, 16, 3, 3), "pad_type", "same", "groups", 2))
		z := g.Op("add", "x", y, "y", x)
		g.Output(g.Op("sigmoid", "x", g.Op("reduce_mean", "x", z, "axes", []int{2, 3}, "keep_dims", true)), g.Op("mul", "x", z, "y", x))
		r, err := verify.Run(context.Background(), g.Program(), verify.Options{Compile: compile.Options{FullTD: full, VerifyEach: true}, Seed: 4})
		if err != nil {
			t.Fatal(err)
		}
		if !r.Pass {
			t.Errorf("full = %t: %s differ", full, r.Failed())
		}
	}
}
