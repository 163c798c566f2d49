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

	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// TestRecordedDescriptionsCompile opens every recorded network description: either it compiles and its engine agrees
// with the interpreter in both forms of tasks, or it is rejected with the stated reason. The weight files that
// descriptions name were not recorded, so made-up numbers replace them.
func TestRecordedDescriptionsCompile(t *testing.T) {
	dir := filepath.Join(shareddir.Find(t), "golden", "netplists")
	names, err := filepath.Glob(filepath.Join(dir, "*.plist"))
	if err != nil || len(names) < 22 {
		t.Fatalf("%d network descriptions in %s, want 22 at least: %v", len(names), dir, err)
	}
	refused := map[string]string{
		"convuint8.plist": `network "net": unit "image": InputType: must be Float16; got "UInt8"; zinc ` +
			`supports only tensors of Float16`,
	}
	weights := t.TempDir()
	var b []byte
	for i := range 512 * 512 {
		b = binary.LittleEndian.AppendUint32(b, 0x3c003c00+uint32(i%61)<<20) // small, as fp16 and as fp32
	}
	for _, n := range []string{"twos.weights", "min.weights", "min_uint8.weights", "zero", "model.espresso.weights",
		"net.additional.weights"} {
		if err := os.WriteFile(filepath.Join(weights, n), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range names {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name == "gemm.plist" {
				t.Skip("512 tasks take seconds")
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
			for _, full := range []bool{false, true} {
				r, err := verify.Run(context.Background(), m.Program, verify.Options{
					Compile: compile.Options{Target: target.H13, InputName: name, FullTD: full},
					Seed:    1,
				})
				if err != nil {
					t.Fatalf("full = %t: %v", full, err)
				}
				if !r.Pass {
					t.Errorf("full = %t: %s differ", full, r.Failed())
				}
			}
		})
	}
	// Without its weight files a description that uses one is rejected.
	_, err = frontend.Open(filepath.Join(dir, "quadconv.plist"), frontend.Options{WeightsDir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(),
		`unit "my_layer": Params.KernelIndex: weight file "../min.weights" cannot be read`) {
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
	text, off, ok := f.Text().Of(ps[0])
	if !ok {
		t.Fatal("no task section")
	}
	tasks, err := td.V7.DecodeChain(text, off, ps[0].FirstWords)
	if err != nil {
		t.Fatal(err)
	}
	return tasks
}

// surface is a container's description of a port, except its address.
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
		out[s.Name] = surface{
			Name:    s.Name,
			Binding: s.Binding,
			Element: s.Element,
			Depth:   s.Depth,
			Dims:    s.Dims,
			Strides: s.Strides,
			Batch:   s.BatchBytes,
			Span:    s.Span,
		}
	}
	return out
}

// TestTasksOfOldContainersAreEqual compiles the networks of the recorded containers of an old compiler in its form, and
// compares every task word, the constants and the surfaces: all are equal. The order of segments, and with it every
// address, differs: the old compiler put __TEXT in front of the ports. Banner and symbols are not compared.
func TestTasksOfOldContainersAreEqual(t *testing.T) {
	dir := filepath.Join(shareddir.Find(t), "golden", "apple-h13")
	for _, c := range []struct {
		name, list string
		edit       [2]string // of the description
	}{
		{name: "relu", list: "neuron.plist", edit: [2]string{"Sigmoid", "ReLU"}},
		{name: "sigmoid", list: "neuron.plist"},
		{name: "conv", list: "conv.plist"},
		{name: "sum", list: "sum.plist"},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join(dir, c.name+".hwx"))
			if err != nil {
				t.Fatal(err)
			}
			want, err := hwx.Read(raw)
			if err != nil {
				t.Fatal(err)
			}
			src, err := os.ReadFile(filepath.Join(dir, c.list))
			if err != nil {
				t.Fatal(err)
			}
			got := oldContainer(t, bytes.Replace(src, []byte(c.edit[0]), []byte(c.edit[1]), 1), dir)
			if g, w := surfaces(got), surfaces(want); !reflect.DeepEqual(g, w) {
				t.Errorf("surfaces are\n%+v\nwant\n%+v", g, w)
			}
			if diff := differentWords(t, words(t, got), words(t, want)); diff != nil {
				t.Errorf("task words that differ:\n%s", strings.Join(diff, "\n"))
			}
			if diff := differentHalves(got.ConstantBytes(), want.ConstantBytes()); diff != nil {
				t.Errorf("constants that differ:\n%s", strings.Join(diff, "\n"))
			}
		})
	}
}

// oldContainer compiles a network description in the older form.
func oldContainer(t *testing.T, src []byte, weights string) *hwx.File {
	t.Helper()
	list := filepath.Join(t.TempDir(), "net.plist")
	if err := os.WriteFile(list, src, 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := frontend.Open(list, frontend.Options{WeightsDir: weights})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	r, err := compile.All(context.Background(), m.Program, compile.Options{Target: target.H13, FullTD: true})
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if _, err := r.HWX.WriteTo(&buf); err != nil {
		t.Fatal(err)
	}
	f, err := hwx.Read(buf.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestTasksOfOldShapesAreEqual compares words of the old compiler for shapes without a recorded container: a 1x1
// convolution of 64 channels to 64 and of 3 to 2, and a clamp of rows of 16.
func TestTasksOfOldShapesAreEqual(t *testing.T) {
	dir := filepath.Join(shareddir.Find(t), "golden", "apple-h13")
	weights := t.TempDir()
	if err := os.WriteFile(filepath.Join(weights, "twos.weights"), make([]byte, 2*64*64), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, list string
		edits      []string // of the description, alternating between old and new, the first of each
		words      map[td.Field]int
	}{
		{name: "conv 64 to 64", list: "conv.plist", edits: []string{"<integer>3</integer>", "<integer>64</integer>",
			"<integer>3</integer>", "<integer>64</integer>"}, words: map[td.Field]int{
			td.ENE: 5, td.ActiveNE: 4, td.ShMin: 4, td.ShPref: 4, td.ShMax: 4,
			td.L2SrcCh: 0x10, td.L2SrcRow: 0x430, td.L2SrcDepth: 0x400, td.L2SrcGroup: 0x400,
			td.ResType: 2, td.ResBfrMode: 0, td.L2Res: 0x430, td.L2ResCh: 0x10, td.L2ResRow: 0x420,
			td.L2ResDepth: 0x400, td.L2ResGroup: 0x400, td.DstL2BfrMode: 0,
		}},
		{name: "conv 3 to 2", list: "conv.plist",
			edits: []string{"<key>OutputChannels</key>\n      <integer>3</integer>",
				"<key>OutputChannels</key>\n      <integer>2</integer>"}, words: map[td.Field]int{
				td.ENE: 2, td.ActiveNE: 1, td.ShMin: 4, td.ShPref: 4, td.ShMax: 4,
				td.L2SrcCh: 0x10, td.L2SrcRow: 0x30, td.L2SrcDepth: 0x30, td.L2SrcGroup: 0x30,
				td.ResType: 2, td.ResBfrMode: 0, td.L2Res: 0x30, td.L2ResCh: 0x10, td.L2ResRow: 0x20,
				td.L2ResDepth: 0x20,
				td.L2ResGroup: 0x20, td.DstL2BfrMode: 0,
			}},
		{name: "relu of 16", list: "neuron.plist", edits: []string{"Sigmoid", "ReLU", "<integer>77</integer>",
			"<integer>16</integer>"}, words: map[td.Field]int{
			td.ENE: 1, td.ActiveNE: 0, td.ShMin: 1, td.ShPref: 1, td.ShMax: 1,
			td.L2SrcCh: 0x20, td.L2SrcRow: 0x20, td.L2SrcDepth: 0x20, td.L2SrcGroup: 0x20,
			td.ResType: 2, td.ResBfrMode: 2, td.L2Res: 0x20, td.L2ResCh: 0, td.L2ResRow: 0, td.L2ResDepth: 0,
			td.L2ResGroup: 0, td.DstL2BfrMode: 1,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			src, err := os.ReadFile(filepath.Join(dir, c.list))
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(c.edits); i += 2 {
				if !bytes.Contains(src, []byte(c.edits[i])) {
					t.Fatalf("%s lacks %q", c.list, c.edits[i])
				}
				src = bytes.Replace(src, []byte(c.edits[i]), []byte(c.edits[i+1]), 1)
			}
			tasks := words(t, oldContainer(t, src, weights))
			if len(tasks) != 1 {
				t.Fatalf("%d tasks", len(tasks))
			}
			for f, want := range c.words {
				if got := tasks[0].Int(f); got != want {
					t.Errorf("%s is %#x, want %#x", td.Fields()[f].Name, got, want)
				}
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
		g, err := td.V7.EncodeWords(got[i].Task)
		if err != nil {
			t.Fatal(err)
		}
		w, err := td.V7.EncodeWords(want[i].Task)
		if err != nil {
			t.Fatal(err)
		}
		if len(g) != len(w) {
			out = append(out, fmt.Sprintf("task %d: %d words, want %d", i, len(g), len(w)))
			continue
		}
		at := map[int]string{}
		for f, r := range td.Fields() {
			if n, ok := td.V7.WordIndex(want[i].Task, td.Field(f)); ok && at[n] == "" {
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

// TestBothFormsOfTasksComputeTheSame runs a model in both forms.
func TestBothFormsOfTasksComputeTheSame(t *testing.T) {
	for _, full := range []bool{false, true} {
		g := irbuild.New(3)
		x := g.Input(2, 32, 8, 8)
		y := g.Op("relu", "x", g.Op("conv", "x", x, "weight", g.Weights(32, 16, 3, 3), "pad_type", "same", "groups", 2))
		z := g.Op("add", "x", y, "y", x)
		g.Output(g.Op("sigmoid", "x", g.Op("reduce_mean", "x", z, "axes", []int{2, 3}, "keep_dims", true)),
			g.Op("mul", "x", z, "y", x))
		r, err := verify.Run(context.Background(), g.Program(), verify.Options{
			Compile: compile.Options{Target: target.H13, FullTD: full, VerifyEach: true},
			Seed:    4,
		})
		if err != nil {
			t.Fatal(err)
		}
		if !r.Pass {
			t.Errorf("full = %t: %s differ", full, r.Failed())
		}
	}
}
