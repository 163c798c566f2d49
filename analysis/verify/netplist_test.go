package verify_test

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend/netplist"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// described returns a program with every operation that a network description supports.
func described() *ir.Program {
	g := irbuild.New(5)
	x := g.Input(2, 4, 8, 8)
	u := g.Input(4, 1, 8)
	c := g.Op("conv", "x", x, "weight", g.Weights(6, 4, 3, 3), "bias", g.Weights(6), "pad_type", "same", "strides",
		[]int{2, 2})
	r := g.Op("tanh", "x", g.Op("relu", "x", c))
	s := g.Op("add", "x", g.Op("mul", "x", r, "y", 0.75), "y", g.Weights(6, 1, 1))
	v := g.Op("slice_by_size", "x", g.Op("sub", "x", s, "y", 1.5), "begin", []int{0, 1, 0, 2}, "size",
		[]int{-1, 4, 4, 2})
	b := g.Op("slice_by_index", "x", u, "begin", []int{0, 0, 2}, "end", []int{4, 1, 4})
	m := g.Op("minimum", "x", v, "y", b)
	j := g.Op("concat", "values", []*ir.Value{m, v}, "axis", -3)
	g.Output(g.Op("reshape", "x", j, "shape", []int{4, 32}), g.Op("sigmoid", "x", b), r)
	return g.Program()
}

// TestDescriptionRoundTrip writes a program as a network description, reads it back,
// checks that both compute the same values, and verifies the program it read.
func TestDescriptionRoundTrip(t *testing.T) {
	src := described()
	d, err := netplist.Write(src.Funcs[0], "w.weights")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := netplist.Write(described().Funcs[0], "w.weights"); err != nil || !bytes.Equal(again.List,
		d.List) || !bytes.Equal(again.Weights, d.Weights) {
		t.Errorf("written twice, the description differs: %v", err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/w.weights", d.Weights, 0o666); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	p, err := netplist.Read("net.plist", d.List, root)
	if err != nil {
		t.Fatal(err)
	}
	if err := ir.Verify(p); err != nil {
		t.Fatal(err)
	}
	want, got := outputs(t, src.Funcs[0]), outputs(t, p.Funcs[0])
	for name, w := range want {
		if g, ok := got[name]; !ok || !bytes.Equal(g, w) {
			t.Errorf("output %s differs", name)
		}
	}
	// Writing and reading the program a second time must not add or remove operations.
	d2, err := netplist.Write(p.Funcs[0], "w.weights")
	if err != nil {
		t.Fatal(err)
	}
	p2, err := netplist.Read("net.plist", d2.List, root)
	if err != nil {
		t.Fatal(err)
	}
	if len(p2.Funcs[0].Body.Ops) != len(p.Funcs[0].Body.Ops) {
		t.Errorf("%d operations, then %d", len(p.Funcs[0].Body.Ops), len(p2.Funcs[0].Body.Ops))
	}
	r, err := verify.Run(context.Background(), p, verify.Options{Compile: compile.Options{Target: target.H13}, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Pass {
		t.Errorf("%s differ", r.Failed())
	}
}

// outputs runs a function on fixed inputs and returns the bytes of its results.
func outputs(t *testing.T, f *ir.Func) map[string][]byte {
	t.Helper()
	in := map[string]interp.Tensor{}
	for _, p := range f.Body.Params {
		var b []byte
		for i := range p.Type.Elems() {
			b = ir.AppendElem(b, ir.FP16, float64(i%23-11)/8)
		}
		x, err := interp.NewTensor(p.Type, b)
		if err != nil {
			t.Fatal(err)
		}
		in[p.Name] = x
	}
	out, err := interp.Run(context.Background(), f, in, interp.Options{Numerics: numerics.IEEE})
	if err != nil {
		t.Fatal(err)
	}
	data := map[string][]byte{}
	for n, x := range out {
		data[n] = x.Data
	}
	return data
}

// TestWriteRefusesWhatADescriptionCannotContain checks the reasons that netplist.Write returns.
func TestWriteRefusesWhatADescriptionCannotContain(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(g *irbuild.Graph)
		want  string
	}{
		{"no unit", func(g *irbuild.Graph) {
			g.Output(g.Op("softmax", "x", g.Input(1, 4)))
		}, `cannot contain softmax "softmax_`},
		{"groups", func(g *irbuild.Graph) {
			g.Output(g.Op("conv", "x", g.Input(1, 4, 3, 3), "weight", g.Weights(4, 2, 1, 1), "groups", 2))
		}, "a convolution has one group; it is 2"},
		{"dilations", func(g *irbuild.Graph) {
			g.Output(g.Op("conv", "x", g.Input(1, 4, 9, 9), "weight", g.Weights(4, 4, 3, 3), "dilations", []int{2, 2}))
		}, "dilations of 1"},
		{"fp32", func(g *irbuild.Graph) { g.Output(g.Op("relu", "x", g.InputOf(ir.FP32, 4))) }, "its tensors are fp16"},
		{"rank", func(g *irbuild.Graph) {
			g.Output(g.Op("relu", "x", g.Input(1, 1, 1, 1, 4)))
		}, "one to four dimensions"},
		{"constant", func(g *irbuild.Graph) {
			g.Output(g.Op("maximum", "x", g.Input(4), "y", 1.0))
		}, "a constant is added to"},
		{"column", func(g *irbuild.Graph) {
			g.Output(g.Op("add", "x", g.Input(1, 4, 2, 2), "y", g.Weights(1, 1, 2, 2)))
		}, "one number per channel"},
		{"stride", func(g *irbuild.Graph) {
			g.Output(g.Op("slice_by_index", "x", g.Input(8), "begin", []int{0}, "end", []int{8}, "stride", []int{2}))
		}, "a slice takes consecutive elements"},
		{"repeated", func(g *irbuild.Graph) {
			g.Output(g.Op("tile", "x", g.Input(2, 2), "reps", []int{1, 2}))
		}, "only axes of one element are repeated"},
	} {
		g := irbuild.New(1)
		c.build(g)
		_, err := netplist.Write(g.Program().Funcs[0], "w.weights")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want %s", c.name, err, c.want)
		}
	}
}
