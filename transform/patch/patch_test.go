package patch_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/npy"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/internal/testform"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
	"github.com/zinc-compiler/zinc/transform/patch"
)

// graph is a program whose weights the tests change: w, and bias if it has one.
type graph struct {
	*irbuild.Graph
	weights map[string]*ir.Value
}

func (g *graph) weight(name string, shape ...int64) *ir.Value {
	v := g.Weights(shape...)
	v.Name = name
	g.weights[name] = v
	return v
}

// made compiles the program of build, with new values for some weights.
func made(t testing.TB, build func(g *graph), values map[string][]byte) *model {
	t.Helper()
	return madeFor(t, target.H13, build, values)
}

func madeFor(t testing.TB, on *target.Table, build func(g *graph), values map[string][]byte) *model {
	t.Helper()
	g := &graph{irbuild.New(1), map[string]*ir.Value{}}
	build(g)
	for name, data := range values {
		v := g.weights[name]
		v.Const = &ir.Const{Type: v.Type, Data: data}
	}
	r, err := compile.All(context.Background(), g.Program(),
		compile.Options{Target: on, SplitKernel: true, Provenance: true})
	if err != nil {
		t.Fatal(err)
	}
	p := &model{db: r.Provenance}
	if p.Pair, err = r.Pair(); err != nil {
		t.Fatal(err)
	}
	return p
}

// arrays returns new values for the weights of a graph: the old values negated and in
// reverse order, so that no weight becomes equal to another.
func arrays(build func(g *graph), names ...string) []patch.Weight {
	g := &graph{irbuild.New(1), map[string]*ir.Value{}}
	build(g)
	var out []patch.Weight
	for _, n := range names {
		v := g.weights[n]
		data := make([]byte, len(v.Const.Data))
		for i := 0; i < len(data); i += 2 {
			k := len(data) - 2 - i
			data[i], data[i+1] = v.Const.Data[k], v.Const.Data[k+1]^0x80
		}
		out = append(out, patch.Weight{Name: n, Array: npy.Array{Type: "f2", Shape: v.Type.Shape, Data: data}})
	}
	return out
}

// conv is a convolution with a bias.
func conv(in, out, groups, h, w, kh, kw int64) func(g *graph) {
	return func(g *graph) {
		x := g.Input(1, in, h, w)
		g.Output(g.Op("conv", "x", x, "weight", g.weight("w", out, in/groups, kh, kw), "bias", g.weight("bias", out),
			"groups", groups,
			"strides", []int64{1, 1}, "dilations", []int64{1, 1}, "pad_type", "same", "pad", []int64{0, 0, 0, 0}))
	}
}

// graphs cover the layouts of coefficients.
var graphs = []struct {
	name  string
	build func(g *graph)
	names []string
}{
	{"dense", conv(24, 40, 1, 20, 20, 3, 3), []string{"w", "bias"}},
	{"dense small", conv(24, 96, 1, 4, 4, 1, 1), []string{"w", "bias"}},
	{"bias alone", conv(24, 40, 1, 20, 20, 3, 3), []string{"bias"}},
	{"weight alone", conv(24, 40, 1, 20, 20, 3, 3), []string{"w"}},
	{"cut", conv(300, 200, 1, 20, 20, 3, 3), []string{"w", "bias"}},
	{"grouped", conv(24, 48, 4, 20, 20, 3, 3), []string{"w", "bias"}},
	{"grouped in runs", conv(512, 512, 4, 20, 20, 3, 3), []string{"w", "bias"}},
	{"depthwise", conv(40, 40, 40, 20, 20, 3, 3), []string{"w", "bias"}},
	{"depthwise in pairs", conv(40, 40, 40, 1, 200, 1, 9), []string{"w", "bias"}},
	{"one dimension", func(g *graph) {
		x := g.Input(1, 8, 30)
		g.Output(g.Op("conv", "x", x, "weight", g.weight("w", 12, 8, 5), "strides", []int64{1}, "dilations", []int64{1},
			"pad_type", "same", "pad", []int64{0, 0}, "groups", 1))
	}, []string{"w"}},
	{"with a table", func(g *graph) {
		x := g.Input(1, 8, 12, 12)
		c := g.Op("conv", "x", x, "weight", g.weight("w", 20, 8, 1, 1), "bias", g.weight("bias", 20), "strides",
			[]int64{1, 1}, "dilations", []int64{1, 1}, "pad_type", "valid", "pad", []int64{0, 0, 0, 0}, "groups", 1)
		g.Output(g.Op("tanh", "x", c))
	}, []string{"w", "bias"}},
	{"two that read one", func(g *graph) {
		x := g.Input(1, 8, 12, 12)
		w := g.weight("w", 8, 8, 1, 1)
		args := []any{"strides", []int64{1, 1}, "dilations", []int64{1, 1}, "pad_type", "valid", "pad",
			[]int64{0, 0, 0, 0}, "groups", 1}
		c := g.Op("conv", append([]any{"x", x, "weight", w}, args...)...)
		g.Output(g.Op("conv", append([]any{"x", c, "weight", w}, args...)...))
	}, []string{"w"}},
	{"linear", func(g *graph) {
		g.Output(g.Op("linear", "x", g.Input(1, 50, 64), "weight", g.weight("w", 40, 64), "bias", g.weight("bias", 40)))
	}, []string{"w", "bias"}},
	{"linear cut", func(g *graph) {
		g.Output(g.Op("linear", "x", g.Input(1, 300, 2048), "weight", g.weight("w", 500, 2048), "bias",
			g.weight("bias", 500)))
	}, []string{"w", "bias"}},
	{"linear square", func(g *graph) {
		g.Output(g.Op("linear", "x", g.Input(1, 50, 64), "weight", g.weight("w", 64, 64)))
	}, []string{"w"}},
	{"chain of linears", func(g *graph) {
		x := g.Op("linear", "x", g.Input(1, 50, 64), "weight", g.weight("w", 40, 64))
		g.Output(g.Op("linear", "x", x, "weight", g.weight("bias", 30, 40)))
	}, []string{"w", "bias"}},
	{"matmul", func(g *graph) {
		g.Output(g.Op("matmul", "x", g.Input(1, 50, 64), "y", g.weight("w", 64, 40)))
	}, []string{"w"}},
	{"matmul transposed", func(g *graph) {
		g.Output(g.Op("matmul", "x", g.Input(1, 50, 64), "y", g.weight("w", 40, 64), "transpose_y", true))
	}, []string{"w"}},
	{"matmul by a constant", func(g *graph) {
		g.Output(g.Op("matmul", "x", g.weight("w", 40, 64), "y", g.Input(64, 50)))
	}, []string{"w"}},
	{"matmul by a transposed constant", func(g *graph) {
		g.Output(g.Op("matmul", "x", g.weight("w", 64, 40), "y", g.Input(64, 50), "transpose_x", true))
	}, []string{"w"}},
	{"matmul square", func(g *graph) {
		g.Output(g.Op("matmul", "x", g.Input(1, 50, 64), "y", g.weight("w", 64, 64)))
	}, []string{"w"}},
	{"matmul square transposed", func(g *graph) {
		g.Output(g.Op("matmul", "x", g.Input(1, 50, 64), "y", g.weight("w", 64, 64), "transpose_y", true))
	}, []string{"w"}},
	{"matmul by a square", func(g *graph) {
		g.Output(g.Op("matmul", "x", g.weight("w", 64, 64), "y", g.Input(64, 50)))
	}, []string{"w"}},
	{"matmul by a square transposed, and relu", func(g *graph) {
		g.Output(g.Op("relu", "x", g.Op("matmul", "x", g.weight("w", 64, 64), "y", g.Input(64, 50), "transpose_x",
			true)))
	}, []string{"w"}},
	{"chain of square products", func(g *graph) {
		x := g.Op("matmul", "x", g.Input(1, 50, 64), "y", g.weight("w", 64, 64))
		g.Output(g.Op("matmul", "x", x, "y", g.weight("v", 64, 64), "transpose_y", true))
	}, []string{"w", "v"}},
	{"a source", func(g *graph) {
		x := g.Input(1, 6, 9, 10)
		g.Output(g.Op("add", "x", x, "y", g.weight("w", 1, 6, 9, 10)))
	}, []string{"w"}},
}

// TestPatchedPairIsAsCompiled checks that a patched pair is, byte for byte, the pair that
// the source compiles to with the new values, and that its tasks do not change.
func TestPatchedPairIsAsCompiled(t *testing.T) {
	for _, c := range graphs {
		t.Run(c.name, func(t *testing.T) {
			old, want, ws := before(t, target.H13, c.build, c.names)
			r, err := patch.Apply(old.Pair, old.db, ws)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Equal(r.Container, old.Container) {
				t.Error("nothing changed")
			}
			if !bytes.Equal(r.Container, want.Container) {
				t.Errorf("the container differs from the compiled one: %s", difference(t, r.Container,
					want.Container))
			}
			if !bytes.Equal(r.Descriptor, want.Descriptor) {
				t.Error("the descriptor differs from the compiled one")
			}
			if !bytes.Equal(text(t, r.Container), text(t, old.Container)) {
				t.Error("the tasks changed")
			}
			if _, err := sim.Open(r.Pair); err != nil {
				t.Error(err)
			}
			for _, ch := range r.Changes {
				if ch.Bytes == 0 || ch.Tasks == 0 {
					t.Errorf("%+v", ch)
				}
			}
			// Patch the old values back.
			back := arrays(c.build, c.names...)
			for i := range back {
				back[i].Array.Data = original(c.build, back[i].Name)
			}
			again, err := patch.Apply(r.Pair, r.DB, back)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(again.Container, old.Container) || !bytes.Equal(again.Descriptor, old.Descriptor) {
				t.Error("patching the old values back gives another pair")
			}
		})
	}
}

// before returns a compiled graph, the one that the same source compiles to with new values, and those values.
func before(
	t testing.TB, on *target.Table, build func(g *graph), names []string,
) (old, want *model, ws []patch.Weight) {
	t.Helper()
	ws = arrays(build, names...)
	values := map[string][]byte{}
	for _, w := range ws {
		values[w.Name] = w.Array.Data
	}
	return madeFor(t, on, build, nil), madeFor(t, on, build, values), ws
}

// TestPatchedPairsOfLaterTargets checks that pairs of later targets are patched like pairs of h13, or refused with a
// reason: on h15 and later zinc writes only the tasks of products.
func TestPatchedPairsOfLaterTargets(t *testing.T) {
	for _, on := range []*target.Table{target.H14, target.H15, target.H16, target.H17, target.H18, target.H18g} {
		patched := 0
		for _, c := range graphs {
			old, want, ws := before(t, on, c.build, c.names)
			r, err := patch.Apply(old.Pair, old.db, ws)
			switch {
			case err == nil:
				patched++
				if !bytes.Equal(r.Container, want.Container) || !bytes.Equal(r.Descriptor, want.Descriptor) {
					t.Errorf("%s, %s: the pair differs from the compiled one: %s", on.Name, c.name,
						difference(t, r.Container, want.Container))
				}
			case !strings.Contains(err.Error(), "cannot be patched"):
				t.Errorf("%s, %s: %v", on.Name, c.name, err)
			case on == target.H14:
				t.Errorf("%s, %s, which h13 patches: %v", on.Name, c.name, err)
			}
		}
		t.Logf("%s: %d of %d graphs patched", on.Name, patched, len(graphs))
		if patched < 8 {
			t.Errorf("%s: only %d graphs are patched", on.Name, patched)
		}
	}
}

func original(build func(g *graph), name string) []byte {
	g := &graph{irbuild.New(1), map[string]*ir.Value{}}
	build(g)
	return g.weights[name].Const.Data
}

func text(t testing.TB, container []byte) []byte {
	t.Helper()
	f, err := hwx.Read(container)
	if err != nil {
		t.Fatal(err)
	}
	return f.TextBytes()
}

// difference describes where two containers first differ.
func difference(t testing.TB, a, b []byte) string {
	t.Helper()
	for _, part := range []struct {
		name string
		of   func(f *hwx.File) []byte
	}{
		{"tasks", (*hwx.File).TextBytes}, {"constants", (*hwx.File).ConstantBytes},
	} {
		f, err := hwx.Read(a)
		if err != nil {
			return err.Error()
		}
		h, err := hwx.Read(b)
		if err != nil {
			return err.Error()
		}
		x, y := part.of(f), part.of(h)
		n := 0
		for i := range min(len(x), len(y)) {
			if x[i] != y[i] {
				n++
			}
		}
		if n > 0 || len(x) != len(y) {
			return part.name + " differ"
		}
	}
	return "names differ"
}

// TestConstantsCanExchangeValues checks that their tiles exchange names too.
func TestConstantsCanExchangeValues(t *testing.T) {
	build := func(g *graph) {
		x := g.Input(1, 8, 12, 12)
		args := []any{"strides", []int64{1, 1}, "dilations", []int64{1, 1}, "pad_type", "valid", "pad",
			[]int64{0, 0, 0, 0}, "groups", 1}
		c := g.Op("conv", append([]any{"x", x, "weight", g.weight("w", 8, 8, 1, 1)}, args...)...)
		g.Output(g.Op("conv", append([]any{"x", c, "weight", g.weight("v", 8, 8, 1, 1)}, args...)...))
	}
	old := made(t, build, nil)
	values := map[string][]byte{"w": original(build, "v"), "v": original(build, "w")}
	want := made(t, build, values)
	var ws []patch.Weight
	for _, n := range []string{"w", "v"} {
		ws = append(ws, patch.Weight{
			Name:  n,
			Array: npy.Array{Type: "f2", Shape: []int64{8, 8, 1, 1}, Data: values[n]},
		})
	}
	r, err := patch.Apply(old.Pair, old.db, ws)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(r.Container, want.Container) {
		t.Errorf("the container differs from the compiled one: %s", difference(t, r.Container,
			want.Container))
	}
}

func TestApplyRefusesWithReason(t *testing.T) {
	args := []any{"strides", []int64{1, 1}, "dilations", []int64{1, 1}, "pad_type", "valid", "pad", []int64{0, 0, 0, 0},
		"groups", 1}
	pointwise := func(g *graph, x, w *ir.Value) *ir.Value {
		return g.Op("conv", append([]any{"x", x, "weight", w}, args...)...)
	}
	for _, c := range []struct {
		name, want string
		build      func(g *graph)
		change     func(w *patch.Weight)
	}{
		{name: "folded", want: "rewritten by fold-scale-bias together with", build: func(g *graph) {
			c := pointwise(g, g.Input(1, 8, 12, 12), g.weight("w", 20, 8, 1, 1))
			g.Output(g.Op("mul", "x", c, "y", g.Weights(1, 20, 1, 1)))
		}},
		{name: "the factor", want: "rewritten by fold-scale-bias together with", build: func(g *graph) {
			c := pointwise(g, g.Input(1, 8, 12, 12), g.Weights(20, 8, 1, 1))
			g.Output(g.Op("mul", "x", c, "y", g.weight("w", 1, 20, 1, 1)))
		}},
		{name: "a register", want: "more than coefficients", build: func(g *graph) {
			g.Output(g.Op("mul", "x", g.Input(1, 8, 12, 12), "y", g.weight("w")))
		}},
		{name: "dilated", want: "its shape is [8, 8, 3, 3], that of its tasks' coefficients [8, 8, 5, 5]",
			build: func(g *graph) {
				g.Output(g.Op("conv", "x", g.Input(1, 8, 12, 12), "weight", g.weight("w", 8, 8, 3, 3), "strides",
					[]int64{1, 1}, "dilations", []int64{2, 2}, "pad_type", "valid", "pad", []int64{0, 0, 0, 0},
					"groups", 1))
			}},
		{name: "zeros left out", want: "without its zeros", build: func(g *graph) {
			g.Output(g.Op("conv", "x", g.Input(1, 8, 12, 12), "weight", g.weight("w", 8, 8, 3, 3), "strides",
				[]int64{2, 2}, "dilations", []int64{1, 1}, "pad_type", "valid", "pad", []int64{0, 0, 0, 0}, "groups",
				1))
		}},
		{name: "on the CPU", want: "cpu unit", build: func(g *graph) {
			x := g.Input(1, 8, 12, 12)
			w := g.weight("w", 1, 8, 12, 12)
			g.Output(g.Op("add", "x", x, "y", w), g.Op("mod", "x", x, "y", w))
		}},
		{name: "equal to another", want: "stored once", build: func(g *graph) {
			w := g.weight("w", 8, 8, 1, 1)
			other := g.Const(&ir.Const{Type: w.Type, Data: slices.Clone(w.Const.Data)})
			other.Name = "other"
			g.Output(pointwise(g, pointwise(g, g.Input(1, 8, 12, 12), w), other))
		}},
		{name: "no such constant", want: "no constant \"v\"", build: conv(8, 8, 1, 12, 12, 1, 1),
			change: func(w *patch.Weight) {
				w.Name = "v"
			}},
		{name: "no such function", want: "no constant", build: conv(8, 8, 1, 12, 12, 1, 1),
			change: func(w *patch.Weight) {
				w.Name = "f/w"
			}},
		{name: "no constant", want: "it is the result of conv", build: func(g *graph) {
			c := pointwise(g, g.Input(1, 8, 12, 12), g.weight("w", 20, 8, 1, 1))
			c.Name = "c"
			g.Output(c)
		}, change: func(w *patch.Weight) { w.Name = "c" }},
		{name: "another type", want: "f2 (fp16)", build: conv(8, 8, 1, 12, 12, 1, 1), change: func(w *patch.Weight) {
			w.Array.Type = "f4"
		}},
		{name: "another shape", want: "the file's shape is [64], the constant's [8, 8, 1, 1]", build: conv(8, 8, 1, 12,
			12, 1, 1), change: func(w *patch.Weight) {
			w.Array.Shape = []int64{64}
		}},
		{name: "transposed", want: "the file's shape is [40, 64], the constant's [64, 40]", build: func(g *graph) {
			g.Output(g.Op("matmul", "x", g.Input(1, 50, 64), "y", g.weight("w", 64, 40)))
		}, change: func(w *patch.Weight) { w.Array.Shape = []int64{40, 64} }},
		{name: "transposed the other way", want: "the file's shape is [64, 40], the constant's [40, 64]",
			build: func(g *graph) {
				g.Output(g.Op("matmul", "x", g.Input(1, 50, 64), "y", g.weight("w", 40, 64), "transpose_y", true))
			}, change: func(w *patch.Weight) { w.Array.Shape = []int64{64, 40} }},
		{name: "a source of another shape", want: "the file's shape is [540], the constant's [1, 6, 9, 10]",
			build: func(g *graph) {
				g.Output(g.Op("add", "x", g.Input(1, 6, 9, 10), "y", g.weight("w", 1, 6, 9, 10)))
			}, change: func(w *patch.Weight) { w.Array.Shape = []int64{540} }},
		{name: "an empty array", want: "the file's shape is [0], the constant's [8, 8, 1, 1]", build: conv(8, 8, 1, 12,
			12, 1, 1), change: func(w *patch.Weight) {
			w.Array.Shape, w.Array.Data = []int64{0}, nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := made(t, c.build, nil)
			ws := arrays(c.build, "w")
			if c.change != nil {
				c.change(&ws[0])
			}
			if _, err := patch.Apply(p.Pair, p.db, ws); err == nil || !strings.Contains(err.Error(),
				c.want) {
				t.Errorf("%v, want an error with %q", err, c.want)
			}
		})
	}
	p := made(t, conv(8, 8, 1, 12, 12, 1, 1), nil)
	ws := arrays(conv(8, 8, 1, 12, 12, 1, 1), "w", "w")
	if _, err := patch.Apply(p.Pair, p.db, ws); err == nil || !strings.Contains(err.Error(),
		"set twice") {
		t.Errorf("twice the same: %v", err)
	}
	other := made(t, conv(8, 8, 1, 12, 12, 3, 3), nil)
	if _, err := patch.Apply(p.Pair, other.db, ws[:1]); err == nil ||
		errors.As(err, new(*patch.Refusal)) {
		t.Errorf("another pair's database: %v", err)
	}
}

// TestKernelsLargerThanTheirBytesAreRefused checks that no memory is allocated for a
// kernel that is larger than the bytes that its tasks load.
func TestKernelsLargerThanTheirBytesAreRefused(t *testing.T) {
	build := conv(24, 40, 1, 20, 20, 3, 3)
	p := made(t, build, nil)
	f, err := hwx.Read(p.Container)
	if err != nil {
		t.Fatal(err)
	}
	text := p.Container[f.Section(hwx.SegText, hwx.SectText).Offset:]
	for i := range p.db.Tasks {
		x := &p.db.Tasks[i]
		words := make([]uint32, x.Words)
		for k := range words {
			words[k] = binary.LittleEndian.Uint32(text[x.Offset+4*uint64(k):])
		}
		task, err := td.V7.DecodeWords(words)
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range []td.Field{td.NumGroups, td.Cin, td.Cout, td.Kh, td.Kw} {
			row := &td.Fields()[field]
			w, ok := td.V7.WordIndex(task, field)
			if !ok {
				t.Fatalf("task %d has no %s", i, row.Name)
			}
			at := row.Place(td.V7)
			words[w] |= (1<<at.Width - 1) << at.Bit
			binary.LittleEndian.PutUint32(text[x.Offset+4*uint64(w):], words[w])
		}
	}
	p.db.SHA256 = sha256.Sum256(p.Container)
	for i := range p.db.Statements {
		p.db.Statements[i].Type, p.db.Statements[i].Shape = "", nil
	}
	for _, name := range []string{"w", "bias"} {
		ws := arrays(build, name)
		if name == "bias" {
			// One element represents any number of outputs.
			ws[0].Array.Shape, ws[0].Array.Data = []int64{1}, ws[0].Array.Data[:2]
		}
		_, err := patch.Apply(p.Pair, p.db, ws)
		if !errors.As(err, new(*patch.Refusal)) || !strings.Contains(err.Error(),
			"bytes of coefficients, the pair has") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUniformBiasIsInATask: a bias that is the same everywhere may stand in a register of
// a task, where no patch reaches it.
func TestUniformBiasIsInATask(t *testing.T) {
	for _, c := range graphs {
		if c.name != "linear cut" {
			continue
		}
		ws := arrays(c.build, c.names...)
		uniform := bytes.Repeat([]byte{0, 0x3c}, len(ws[1].Array.Data)/2)
		old := made(t, c.build, map[string][]byte{"bias": uniform})
		if _, err := patch.Apply(old.Pair, old.db, ws[1:]); !errors.As(err, new(*patch.Refusal)) {
			t.Errorf("patching a bias in a register: %v", err)
		}
	}
}

// TestSpecialValuesAreAsCompiled patches with zeros, NaNs and infinities: the tasks must
// not depend on the values of a constant that can be patched.
func TestSpecialValuesAreAsCompiled(t *testing.T) {
	special := []struct {
		name string
		two  [2]byte
	}{
		{"zero", [2]byte{}}, {"negative zero", [2]byte{0, 0x80}}, {"one", [2]byte{0, 0x3c}}, {"NaN", [2]byte{1, 0x7e}},
		{"signalling NaN", [2]byte{1, 0x7d}}, {"infinity", [2]byte{0, 0x7c}}, {"65504", [2]byte{0xff, 0x7b}},
		{"subnormal", [2]byte{1, 0}},
	}
	all := len(graphs) * len(special)
	for i := range testform.Sample(all, 2*len(graphs), all) {
		c, v := graphs[i/len(special)], special[i%len(special)]
		t.Run(c.name+", "+v.name, func(t *testing.T) {
			ws := arrays(c.build, c.names...)
			values := map[string][]byte{}
			for _, w := range ws {
				for i := 0; i < len(w.Array.Data); i += 2 {
					copy(w.Array.Data[i:], v.two[:])
				}
				if w.Name == "bias" && c.name == "linear cut" {
					// A bias that is the same everywhere goes to a register there, which the
					// pair that is patched has no place for.
					copy(w.Array.Data, []byte{0, 0x40})
				}
				for g := range byte(4) {
					if c.name == "grouped in runs" { // which, if they were equal, would be compiled once
						copy(w.Array.Data[int(g)*len(w.Array.Data)/4:], []byte{g, 0x40})
					}
				}
				values[w.Name] = w.Array.Data
			}
			if len(ws) == 2 && bytes.Equal(ws[0].Array.Data, ws[1].Array.Data) {
				return // see TestConstantsThatBecomeEqualStaySeparate
			}
			old := made(t, c.build, nil)
			r, err := patch.Apply(old.Pair, old.db, ws)
			if err != nil {
				t.Fatal(err)
			}
			if want := made(t, c.build, values); !bytes.Equal(r.Container, want.Container) {
				t.Errorf("the container differs from the compiled one: %s", difference(t, r.Container, want.Container))
			}
		})
	}
}

// TestConstantsThatBecomeEqualStaySeparate checks that a constant patched with another's
// values keeps its place, and that the pair computes the same as the compiled one, in
// which they are stored once.
func TestConstantsThatBecomeEqualStaySeparate(t *testing.T) {
	build := func(g *graph) {
		x := g.Input(1, 8, 12, 12)
		args := []any{"strides", []int64{1, 1}, "dilations", []int64{1, 1}, "pad_type", "valid", "pad",
			[]int64{0, 0, 0, 0}, "groups", 1}
		c := g.Op("conv", append([]any{"x", x, "weight", g.weight("w", 8, 8, 1, 1)}, args...)...)
		g.Output(g.Op("conv", append([]any{"x", c, "weight", g.weight("v", 8, 8, 1, 1)}, args...)...))
	}
	old := made(t, build, nil)
	same := original(build, "v")
	once := made(t, build, map[string][]byte{"w": same})
	r, err := patch.Apply(old.Pair, old.db, []patch.Weight{{Name: "w", Array: npy.Array{
		Type:  "f2",
		Shape: []int64{8, 8, 1, 1},
		Data:  same,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	ran := func(p pair.Pair) map[string]interp.Tensor {
		m, err := sim.Open(p)
		if err != nil {
			t.Fatal(err)
		}
		in := map[string]interp.Tensor{}
		for _, p := range m.Accepts() {
			fs := make([]float32, 8*12*12)
			for i := range fs {
				fs[i] = float32(i%13) - 6
			}
			x, err := interp.FromFloats(p.Type.DType, fs, p.Type.Shape...)
			if err != nil {
				t.Fatal(err)
			}
			in[p.Name] = x
		}
		out, err := m.Run(context.Background(), in, sim.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if got, want := ran(r.Pair), ran(once.Pair); !reflect.DeepEqual(got,
		want) {
		t.Errorf("the outputs are %v, want those of the compiled pair, %v", got, want)
	}
	// Patch the old values back: the outputs equal the outputs of the old pair.
	back, err := patch.Apply(r.Pair, r.DB, []patch.Weight{{Name: "w", Array: npy.Array{
		Type:  "f2",
		Shape: []int64{8, 8, 1, 1},
		Data:  original(build, "w"),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := ran(back.Pair), ran(old.Pair); !reflect.DeepEqual(got,
		want) {
		t.Errorf("with the old values the outputs are %v, want %v", got, want)
	}
}

// TestOldDatabasePatchesUnambiguousLayouts uses a database without shapes: only constants
// with one possible layout can be patched.
func TestOldDatabasePatchesUnambiguousLayouts(t *testing.T) {
	for _, c := range graphs {
		old := made(t, c.build, nil)
		for i := range old.db.Statements {
			old.db.Statements[i].Type, old.db.Statements[i].Shape = "", nil
		}
		_, err := patch.Apply(old.Pair, old.db, arrays(c.build, c.names...))
		if strings.HasPrefix(c.name, "matmul") || c.name == "chain of square products" {
			if no := (*patch.Refusal)(nil); !errors.As(err, &no) || !strings.Contains(no.Reason,
				"whether it was transposed") {
				t.Errorf("%s: %v", c.name, err)
			}
		} else if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// FuzzApply checks that a database that does not fit its container causes an error and no
// panic.
func FuzzApply(f *testing.F) {
	build := conv(8, 8, 1, 12, 12, 1, 1)
	p := made(f, build, nil)
	ws := arrays(build, "w")
	f.Add(uint16(0), uint64(1), uint8(0))
	f.Fuzz(func(t *testing.T, at uint16, to uint64, what uint8) {
		db := *p.db
		db.Extents, db.Tasks = slices.Clone(db.Extents), slices.Clone(db.Tasks)
		x, k := &db.Extents[int(at)%len(db.Extents)], &db.Tasks[int(at)%len(db.Tasks)]
		switch what % 6 {
		case 0:
			x.Offset = to
		case 1:
			x.Size = to
		case 2:
			k.Offset = to
		case 3:
			k.Words = uint32(to)
		case 4:
			db.ConstantSize = to
		case 5:
			k.Links = slices.Clone(k.Links)
			if len(k.Links) > 0 {
				k.Links[int(at)%len(k.Links)].Target = to
			}
		}
		_, _ = patch.Apply(p.Pair, &db, ws)
	})
}
