package hazard_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/emit/hazard"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/internal/test/addition"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// program compiles a chain with everything that hazards concern: coefficients, two DMA sources, and several values that
// stay in L2.
func program(t testing.TB, split bool) []byte {
	t.Helper()
	g := irbuild.New(1)
	x, y := g.Input(1, 64, 8, 8), g.Input(1, 64, 8, 8)
	v := g.Op("conv", "x", x, "weight", g.Weights(64, 64, 1, 1), "pad_type", "valid", "strides", []int64{1, 1}, "pad",
		[]int64{0, 0, 0, 0}, "dilations", []int64{1, 1}, "groups", int64(1))
	v = g.Op("softmax", "x", v, "axis", int64(1))
	g.Output(g.Op("add", "x", v, "y", y))
	r, err := compile.All(context.Background(), g.Program(), compile.Options{Target: target.H13, SplitKernel: split})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := r.HWX.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// branches compiles two values that are both in L2 before one task reads them.
func branches(t testing.TB) []byte {
	t.Helper()
	g := irbuild.New(1)
	a := g.Op("relu", "x", g.Input(1, 64, 8, 8))
	b := g.Op("abs", "x", g.Input(1, 64, 8, 8))
	g.Output(g.Op("softmax", "x", g.Op("mul", "x", a, "y", b), "axis", int64(1)))
	r, err := compile.All(context.Background(), g.Program(), compile.Options{Target: target.H13, SplitKernel: true})
	if err != nil {
		t.Fatal(err)
	}
	b2, err := hwx.Encode(r.HWX)
	if err != nil {
		t.Fatal(err)
	}
	return b2
}

// tasks decodes the tasks of the only procedure, and returns where the task section is in the file.
func tasks(t testing.TB, container []byte) (f *hwx.File, l []td.Placed, at int) {
	t.Helper()
	f, err := hwx.Read(container)
	if err != nil {
		t.Fatal(err)
	}
	p := f.Procedures()[0]
	text, entry, _ := f.Text().Of(p)
	if l, err = td.V7.DecodeChain(text, entry, p.FirstWords); err != nil {
		t.Fatal(err)
	}
	return f, l, int(f.Section(hwx.SegText, hwx.SectText).Offset)
}

func check(t testing.TB, container []byte) *hazard.Report {
	t.Helper()
	f, err := hwx.Read(container)
	if err != nil {
		t.Fatal(err)
	}
	r, err := hazard.Check(f)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestInjectedFaultsAreReported injects one fault at a time into a valid container: into one field of one task, or into
// the command's count. Each must be found, with task, field, value and limit.
func TestInjectedFaultsAreReported(t *testing.T) {
	// image is the bytes of 64x8x8 in L2, from the first to the last it takes.
	const window, l2, image = 64 * 512, 2 << 20, 7*1056 + 63*16 + 16
	for _, c := range []struct {
		name     string
		branches bool
		task     int
		set      td.Field
		to       int
		field    string // reported; the changed field if empty
		at       int    // task reported, counted from task
		value    int64
		limit    int64 // -1: not fixed here, being an address of another task
	}{
		{name: "source past its buffer", task: 0, set: td.SrcBase, to: 0x8000, value: 0x8000 + 63*512 + 7*64 + 16,
			limit: window},
		{name: "result stride past its buffer", task: 6, set: td.DstPlane, to: 1024, value: 63*1024 + 7*64 + 16,
			limit: window},
		{name: "result into an input", task: 6, set: td.WBase, to: 5, value: 5, limit: 0},
		{name: "register without a buffer", task: 0, set: td.RBase0, to: 9, value: 9, limit: hwx.Bars},
		{name: "DMA without a register", task: 6, set: td.WBE, to: 0, value: 0, limit: 1},
		{name: "result past L2", task: 3, set: td.L2Res, to: l2 - 16, value: l2 - 16 + image, limit: l2},
		{name: "L2 that nothing wrote", task: 1, set: td.L2Src, to: 0x100000, value: 0x100000, limit: 0x100000},
		{name: "overwritten before its first reader", branches: true, task: 1, set: td.L2Res, to: 16,
			field: td.L2Src.String(), at: 1, value: 0x100, limit: 16 + image},
		{name: "overwritten before its second reader", task: 4, set: td.L2Res, to: 0x1000, field: td.L2Src2.String(),
			at: 1, value: 0x100, limit: 0x1000 + 7*32 + 16},
		{name: "result over its own source", task: 1, set: td.L2Res, to: 0x2300, value: 0x2300, limit: 0x2200 + 64*128},
		{name: "result over itself", task: 6, set: td.DstPlane, to: 0, value: 0, limit: 16},
		{name: "coefficients past their section", task: 0, set: td.CoeffBase.At(3), to: 1 << 20, value: 1 << 20,
			limit: -1},
		{name: "coefficients longer than their section", task: 0, set: td.CoeffSize.At(15), to: 1 << 20, value: -1,
			limit: -1},
		{name: "size of the next task", task: 1, set: td.NextSize, to: 124, value: 125, limit: -1},
		{name: "chain that comes back", task: 3, set: td.NextPointer, to: 768, value: 768, limit: -1},
		{name: "index in the chain", task: 4, set: td.TID, to: 9, value: 9, limit: 4},
		{name: "last task without its mark", task: 6, set: td.EON, to: 0, value: 0, limit: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := program(t, true)
			if c.branches {
				b = branches(t)
			}
			if r := check(t, b); len(r.Hazards) != 0 {
				t.Fatalf("sound container: %v", r.Hazards)
			}
			_, l, at := tasks(t, b)
			x := l[c.task]
			if x.Set(c.set, c.to).Err() != nil {
				t.Fatal(x.Err())
			}
			ws, err := td.V7.EncodeWords(x.Task)
			if err != nil {
				t.Fatal(err)
			}
			for i, w := range ws {
				binary.LittleEndian.PutUint32(b[at+x.Off+4*i:], w)
			}
			want := c.field
			if want == "" {
				want = c.set.String()
			}
			r := check(t, b)
			for _, h := range r.Hazards {
				t.Log(h)
				if h.Task == c.task+c.at && h.Field == want && (c.value < 0 || h.Value == c.value) &&
					(c.limit < 0 || h.Limit == c.limit) {
					return
				}
			}
			t.Errorf("not found: task %d, %s, value %#x, limit %#x", c.task+c.at, want, c.value, c.limit)
		})
	}
}

// TestSoundChainsHaveNoHazards compiles programs that could be taken for hazards from addresses alone: a buffer that is
// filled before a part of it, or all of it, is written; a result in place of its source whose axes of extent 1 have
// other strides; results that nothing reads, and whose space another buffer takes.
func TestSoundChainsHaveNoHazards(t *testing.T) {
	pad := func(g *irbuild.Graph, x *ir.Value, by ...int64) *ir.Value {
		return g.Op("pad", "x", x, "pad", by, "mode", "constant", "constant_val", 0.5)
	}
	conv := func(g *irbuild.Graph, x *ir.Value, in, out int64) *ir.Value {
		return g.Op("conv", "x", x, "weight", g.Weights(out, in, 1, 1), "pad_type", "valid")
	}
	for _, c := range []struct {
		name  string
		build func(g *irbuild.Graph) *ir.Value
	}{
		{"a fill and a copy over it in one granule", func(g *irbuild.Graph) *ir.Value {
			return g.Op("mul", "x", pad(g, g.Input(1), 0, 1), "y", 0.5)
		}},
		{"a fill and a copy over all of it", func(g *irbuild.Graph) *ir.Value {
			return g.Op("abs", "x", pad(g, g.Op("relu", "x", g.Input(2, 31)), 2, 0))
		}},
		{"a fill of several dimensions", func(g *irbuild.Graph) *ir.Value {
			return g.Op("abs", "x", pad(g, g.Op("relu", "x", g.Input(1, 4, 6, 30)), 1, 1, 2, 0, 3, 1))
		}},
		{"a constant product and an elementwise chain", func(g *irbuild.Graph) *ir.Value {
			y := g.Op("linear", "x", g.Input(1, 14, 12), "weight", g.Weights(20, 12))
			y = g.Op("clip", "x", y, "alpha", -2.0, "beta", 2.0)
			return g.Op("layer_norm", "x", y, "axes", []int64{2}, "epsilon", 1e-3)
		}},
		{"a slice of a stack, and a convolution", func(g *irbuild.Graph) *ir.Value {
			a, b := g.Op("relu", "x", g.Input(8, 8, 8)), g.Op("relu", "x", g.Input(8, 8, 8))
			s := g.Op("stack", "values", []*ir.Value{a, b}, "axis", 0)
			s = g.Op("slice_by_size", "x", s, "begin", []int64{1, 0, 0, 0}, "size", []int64{1, 8, 8, 8})
			s = g.Op("expand_dims", "x", g.Op("squeeze", "x", s, "axes", []int64{0}), "axes", []int64{0})
			return g.Op("softmax", "x", conv(g, s, 8, 16), "axis", 1)
		}},
		{"a slice of a convolution of several images", func(g *irbuild.Graph) *ir.Value {
			y := conv(g, g.Op("relu", "x", g.Input(16, 64, 1, 1)), 64, 256)
			y = g.Op("slice_by_size", "x", y, "begin", []int64{3, 0, 0, 0}, "size", []int64{1, 25, 1, 1})
			return g.Op("softmax", "x", g.Op("erf", "x", y), "axis", 1)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := irbuild.New(1)
			g.Output(c.build(g))
			r, err := compile.All(context.Background(), g.Program(), compile.Options{Target: target.H13})
			if err != nil {
				t.Fatal(err)
			}
			b, err := hwx.Encode(r.HWX)
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range check(t, b).Hazards {
				t.Error(h)
			}
		})
	}
}

// TestWrongTaskCountIsReported has a command that names fewer tasks than the chain has.
func TestWrongTaskCountIsReported(t *testing.T) {
	f, l, _ := tasks(t, program(t, false))
	f.Procedures()[0].Program.Tasks--
	r, err := hazard.Check(f)
	if err != nil || len(r.Hazards) != 1 || r.Hazards[0].Field != "Procedure.Tasks" ||
		r.Hazards[0].Value != int64(len(l)-1) || r.Hazards[0].Limit != int64(len(l)) {
		t.Errorf("%v, %v", r, err)
	}
}

func golden(t testing.TB) (out [][]byte) {
	files, err := filepath.Glob(filepath.Join(shareddir.Find(t), "golden", "apple-h13", "*.hwx"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no containers: %v", err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

// TestSilent checks that nothing is found in what Apple's compiler wrote.
func TestSilent(t *testing.T) {
	for _, b := range golden(t) {
		if r := check(t, b); len(r.Hazards) != 0 || r.Tasks != 1 {
			t.Errorf("%d tasks, %v", r.Tasks, r.Hazards)
		}
	}
}

// FuzzCheck checks that any container that can be read leads to findings, not to a panic.
func FuzzCheck(f *testing.F) {
	f.Add(program(f, true))
	f.Add(program(f, false))
	f.Add(branches(f))
	for _, b := range addition.Containers(f) {
		f.Add(b)
	}
	if os.Getenv(shareddir.Env) != "" {
		for _, b := range golden(f) {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := hwx.Read(b)
		if err != nil {
			return
		}
		if r, err := hazard.Check(x); err == nil && len(r.Hazards) > hazard.MaxFindings {
			t.Errorf("%d findings", len(r.Hazards))
		}
	})
}
