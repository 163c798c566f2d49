package patch_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/npy"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/target"
	"github.com/zinc-compiler/zinc/transform/patch"
)

// entries returns 2^bits fp16 numbers that differ.
func entries(bits, seed int) (out []uint16) {
	for i := range 1 << bits {
		out = append(out, numerics.Narrow(float32(i*(seed+3))/64-1+float32(seed)/1024))
	}
	return out
}

func halves(vs []uint16) (b []byte) {
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	return b
}

// indexAt returns the index of element i.
func indexAt(bits, seed int) func(i int64) float64 {
	return func(i int64) float64 { return float64((i*i/7 + int64(seed)*i*5 + i) % (1 << bits)) }
}

// lookedUp are products of weights that are looked up: the graph, and the shape of its weight.
var lookedUp = []struct {
	name  string
	shape []int64
	build func(g *irbuild.Graph, w *ir.Value) *ir.Value
}{
	{"conv", []int64{40, 200, 3, 3}, func(g *irbuild.Graph, w *ir.Value) *ir.Value {
		return g.Op("conv", "x", g.Input(1, 200, 9, 9), "weight", w, "bias", g.Weights(40), "pad_type", "same")
	}},
	{"conv with a table", []int64{64, 250, 1, 1}, func(g *irbuild.Graph, w *ir.Value) *ir.Value {
		return g.Op("sigmoid", "x", g.Op("conv", "x", g.Input(1, 250, 12, 12), "weight", w))
	}},
	{"grouped", []int64{96, 64, 3, 3}, func(g *irbuild.Graph, w *ir.Value) *ir.Value {
		return g.Op("conv", "x", g.Input(1, 256, 14, 14), "weight", w, "groups", 4, "pad_type", "same")
	}},
	{"channelwise", []int64{500, 1, 5, 5}, func(g *irbuild.Graph, w *ir.Value) *ir.Value {
		return g.Op("conv", "x", g.Input(1, 500, 14, 14), "weight", w, "groups", 500, "pad_type", "same")
	}},
	{"linear", []int64{77, 300}, func(g *irbuild.Graph, w *ir.Value) *ir.Value {
		return g.Op("linear", "x", g.Input(4, 300), "weight", w, "bias", g.Weights(77))
	}},
	{"matmul", []int64{150, 170}, func(g *irbuild.Graph, w *ir.Value) *ir.Value {
		return g.Op("matmul", "x", g.Input(30, 150), "y", w)
	}},
	{"matmul, square", []int64{160, 160}, func(g *irbuild.Graph, w *ir.Value) *ir.Value {
		return g.Op("matmul", "x", g.Input(30, 160), "y", w)
	}},
}

// TestPatchedCodebooksAreAsCompiled replaces codebooks, and weights by indices of the codebook that the pair has. The
// pair must be what the model compiles to with them, and differ from the old one in these bytes alone.
func TestPatchedCodebooksAreAsCompiled(t *testing.T) {
	for _, tab := range []*target.Table{target.H13, target.H14} {
		for _, c := range lookedUp {
			for _, bits := range []int{4, 8} {
				t.Run(fmt.Sprintf("%s, %s, %d bits", tab.Name, c.name, bits), func(t *testing.T) {
					build := func(lut []uint16, seed int) *model {
						g := irbuild.New(3)
						index := map[int]ir.DType{4: ir.UInt4, 8: ir.UInt8}[bits]
						ones := make([]int64, len(c.shape))
						for i := range ones {
							ones[i] = 1
						}
						book := g.Const(&ir.Const{Type: ir.TensorOf(ir.FP16, append(ones, 1<<bits, 1)...),
							Data: halves(lut)})
						book.Name = "lut"
						w := g.Op("constexpr_lut_to_dense", "indices", g.Filled(index, indexAt(bits, seed),
							c.shape...), "lut",
							book)
						w.Name = "w"
						g.Output(c.build(g, w))
						r, err := compile.All(t.Context(), g.Program(), compile.Options{Target: tab, SplitKernel: true,
							Provenance: true})
						if err != nil {
							t.Fatal(err)
						}
						p := &model{db: r.Provenance}
						if p.Pair, err = r.Pair(); err != nil {
							t.Fatal(err)
						}
						return p
					}
					old := build(entries(bits, 0), 0)
					checkCodebook(t, old, build(entries(bits, 1), 0), c.shape, bits)
					checkRequantised(t, old, build(entries(bits, 0), 2), c.shape, bits)
				})
			}
		}
	}
}

func checkCodebook(t *testing.T, old, want *model, shape []int64, bits int) {
	t.Helper()
	dims := append(make([]int64, len(shape)), 1<<bits, 1)
	for i := range shape {
		dims[i] = 1
	}
	lut := npy.Array{Type: "f2", Shape: dims, Data: halves(entries(bits, 1))}
	r, err := patch.Apply(old.Pair, old.db, []patch.Weight{{Name: "lut", Array: lut}})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(r.Container, want.Container) {
		t.Errorf("another codebook: %s", difference(t, r.Container, want.Container))
	}
	if !changes(t, old, r, "codebook") || r.Changes[0].Error != nil {
		t.Errorf("%+v: more than the codebook changed", r.Changes[0])
	}
	lut.Data, lut.Shape[len(shape)] = lut.Data[:16], 8
	if _, err := patch.Apply(old.Pair, old.db, []patch.Weight{{Name: "lut", Array: lut}}); err == nil {
		t.Error("a codebook of 8 entries was taken")
	}
}

// changes reports whether the constants of a patched pair differ from the constants of the old one in the bytes of a
// role alone.
func changes(t *testing.T, old *model, r *patch.Result, role string) bool {
	t.Helper()
	was, err := hwx.Read(old.Container)
	if err != nil {
		t.Fatal(err)
	}
	now, err := hwx.Read(r.Container)
	if err != nil {
		t.Fatal(err)
	}
	var a, b []byte
	for _, s := range was.ConstantSections() {
		a = append(a, s.Bytes()...)
	}
	for _, s := range now.ConstantSections() {
		b = append(b, s.Bytes()...)
	}
	if len(a) != len(b) || !bytes.Equal(was.TextBytes(), now.TextBytes()) {
		return false
	}
	for _, x := range r.DB.Extents {
		at := x.Offset
		for _, l := range x.Layout {
			for range l.Times {
				for _, run := range l.Runs {
					same := bytes.Equal(a[at:at+uint64(run.Size)], b[at:at+uint64(run.Size)])
					if !same && run.Role != role {
						return false
					}
					at += uint64(run.Size)
				}
			}
		}
	}
	return !bytes.Equal(a, b)
}

func checkRequantised(t *testing.T, old, want *model, shape []int64, bits int) {
	t.Helper()
	book := entries(bits, 0)
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	exact := make([]uint16, n)
	for i := range exact {
		exact[i] = book[int(indexAt(bits, 2)(int64(i)))]
	}
	shaped := func(values []uint16, most float64, shape []int64) (*patch.Result, error) {
		return patch.Apply(old.Pair, old.db, []patch.Weight{{
			Name: "w", Array: npy.Array{Type: "f2", Shape: shape, Data: halves(values)}, MaxError: most,
		}})
	}
	apply := func(values []uint16, most float64) (*patch.Result, error) { return shaped(values, most, shape) }
	r, err := apply(exact, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(r.Container, want.Container) {
		t.Errorf("other indices: %s", difference(t, r.Container, want.Container))
	}
	if e := r.Changes[0].Error; !changes(t, old, r, "indices") || e == nil || e.Largest != 0 || e.Ratio != 0 {
		t.Errorf("%+v, %+v: more than the indices changed, or there is an error", r.Changes[0], e)
	}
	// Values off the entries by less than half of the distance of two.
	const off = 1.0 / 128
	near := make([]uint16, n)
	for i, v := range exact {
		near[i] = numerics.Narrow(numerics.Widen(v) + off)
	}
	_, err = apply(near, off/2)
	var no *patch.Refusal
	if !errors.As(err, &no) || !strings.Contains(no.Reason, "its codebook cannot express the values") ||
		!strings.Contains(no.Reason, "0.00781") {
		t.Errorf("values %g off: %v", off, err)
	}
	r, err = apply(near, off*1.2)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(r.Container, want.Container) {
		t.Errorf("values near entries: %s", difference(t, r.Container, want.Container))
	}
	if e := r.Changes[0].Error; e == nil || math.Abs(e.Largest-off) > off/5 || !(e.Ratio > 30) {
		t.Errorf("values %g off: %+v", off, e)
	}
	if _, err := shaped(near[1:], 1, []int64{n - 1}); err == nil {
		t.Error("an array of another size was taken")
	}
	var b bytes.Buffer
	if err := r.DB.Write(&b); err != nil {
		t.Fatal(err)
	}
	if _, err := provenance.Read(b.Bytes()); err != nil {
		t.Error(err)
	}
}
