package verify

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/analysis/prove"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/internal/testform"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/target"
)

// weighted is a product; w makes the weights of a shape.
type weighted struct {
	name  string
	axis  int  // of the outputs in the weights
	folds bool // its weights do not stream
	small bool // they do not as indices, since codebooks take more
	build func(g *irbuild.Graph, w func(shape ...int64) *ir.Value) *ir.Value
}

// conv returns a convolution with weights of a shape and other arguments.
func conv(name string, x, weight []int64, more ...any) weighted {
	return weighted{name: "conv " + name, build: func(g *irbuild.Graph, w func(shape ...int64) *ir.Value) *ir.Value {
		return g.Op("conv", append([]any{"x", g.Input(x...), "weight", w(weight...)}, more...)...)
	}}
}

// linear returns a product of rows with weights [n, k] and a bias.
func linear(name string, rows, k, n int64) weighted {
	return weighted{name: "linear " + name, build: func(g *irbuild.Graph, w func(shape ...int64) *ir.Value) *ir.Value {
		return g.Op("linear", "x", g.Input(rows, k), "weight", w(n, k), "bias", g.Weights(n))
	}}
}

// matmul returns a product with a constant on one side.
func matmul(name string, x, y []int64, tx, ty, first bool) weighted {
	axis := len(y) - 1
	if ty || first && !tx {
		axis = len(y) - 2
	}
	return weighted{name: "matmul " + name, axis: axis, build: func(g *irbuild.Graph,
		w func(shape ...int64) *ir.Value) *ir.Value {
		var a, b *ir.Value
		if first {
			b = g.Input(y...)
			a = w(x...)
		} else {
			a = g.Input(x...)
			b = w(y...)
		}
		return g.Op("matmul", "x", a, "y", b, "transpose_x", tx, "transpose_y", ty)
	}}
}

func (p weighted) folded() weighted {
	p.folds = true
	return p
}

func (p weighted) dear() weighted {
	p.small = true
	return p
}

// then returns the product with operations after it.
func (p weighted) then(name string, args ...any) weighted {
	of := p.build
	p.name += ", " + name
	p.build = func(g *irbuild.Graph, w func(shape ...int64) *ir.Value) *ir.Value {
		return g.Op(name, append([]any{"x", of(g, w)}, args...)...)
	}
	return p
}

// weightedProducts are products of all forms that multiply with constants.
func weightedProducts() []weighted {
	same := []any{"pad_type", "same"}
	with := func(more ...any) []any { return append(slices.Clone(same), more...) }
	return []weighted{
		conv("1x1", []int64{1, 200, 12, 12}, []int64{96, 200, 1, 1}),
		conv("1x1 of many outputs", []int64{1, 16, 8, 8}, []int64{1100, 16, 1, 1}),
		conv("1x1 whose dense form is cut", []int64{1, 1024, 12, 12}, []int64{640, 1024, 1, 1}),
		conv("3x3", []int64{1, 39, 20, 20}, []int64{77, 39, 3, 3}, same...),
		conv("3x3, table", []int64{1, 40, 9, 9}, []int64{32, 40, 3, 3}, same...).then("sigmoid"),
		conv("1x1, clamp", []int64{1, 250, 9, 9}, []int64{80, 250, 1, 1}).then("relu"),
		conv("in groups", []int64{1, 96, 14, 14}, []int64{96, 24, 3, 3}, with("groups", 4)...),
		conv("in two large groups", []int64{1, 256, 12, 12}, []int64{512, 128, 3, 3}, with("groups", 2)...),
		conv("channelwise", []int64{1, 500, 14, 14}, []int64{500, 1, 5, 5}, with("groups", 500)...),
		conv("of a row", []int64{1, 64, 50}, []int64{52, 64, 5}, same...),
		conv("of two images", []int64{2, 128, 6, 6}, []int64{140, 128, 1, 1}),
		conv("of stride 2", []int64{1, 12, 14, 14}, []int64{20, 12, 3, 3}, with("strides", []int{2, 2})...).folded(),
		conv("dilated", []int64{1, 12, 14, 14}, []int64{20, 12, 3, 3}, with("dilations", []int{2, 2})...).folded(),
		conv("of pairs of columns", []int64{1, 16, 1, 375}, []int64{16, 1, 1, 9}, with("groups", 16)...).folded(),
		linear("of one row", 1, 300, 77),
		linear("of some rows", 40, 165, 96),
		linear("of many rows", 200, 64, 600),
		linear("folded to an image", 64, 64, 256),
		linear("of 16 rows", 16, 2048, 64),
		linear("with a table", 9, 123, 133).then("gelu", "mode", "EXACT"),
		linear("scaled", 9, 123, 133).then("mul", "y", 0.5),
		matmul("by rows", []int64{30, 150}, []int64{170, 150}, false, true, false),
		matmul("by columns", []int64{30, 150}, []int64{150, 170}, false, false, false),
		matmul("of columns", []int64{150, 30}, []int64{150, 170}, true, false, false),
		matmul("of a constant", []int64{160, 150}, []int64{150, 30}, false, false, true),
		matmul("of constants", []int64{2, 160, 150}, []int64{2, 150, 30}, false, false, true),
		linear("whose codebooks take more", 9, 8, 16).dear(),
		matmul("of matrices", []int64{2, 20, 50}, []int64{2, 50, 30}, false, false, false).folded(),
	}
}

// indexed returns what makes weights with a palette: as an operation that looks them up in it, or else as numbers.
func indexed(g *irbuild.Graph, bits int, lookup bool) func(shape ...int64) *ir.Value {
	return func(shape ...int64) *ir.Value {
		entry := func(i int64) float64 { return float64(i*37%64-20)/64 + float64(i)/512 }
		at := func(i int64) int64 { return (i*i/7 + 3*i) % (1 << bits) }
		if !lookup {
			return g.Filled(ir.FP16, func(i int64) float64 { return entry(at(i)) }, shape...)
		}
		index := map[int]ir.DType{1: ir.UInt1, 2: ir.UInt2, 3: ir.UInt3, 4: ir.UInt4, 6: ir.UInt6, 8: ir.UInt8}[bits]
		idx := g.Filled(index, func(i int64) float64 { return float64(at(i)) }, shape...)
		table := append(slices.Repeat([]int64{1}, len(shape)), 1<<bits, 1)
		return g.Op("constexpr_lut_to_dense", "indices", idx, "lut", g.Filled(ir.FP16, entry, table...))
	}
}

// form is a compressed form of weights.
type form struct {
	name string
	on   []*target.Table // that stream it
	book bool            // it has codebooks
	// make makes weights of a shape, whose outputs are along an axis: as the operation that expands them, or else as
	// numbers.
	make func(g *irbuild.Graph, axis int, expand bool) func(shape ...int64) *ir.Value
	// reads reports whether a task reads the form.
	reads func(t *td.Task) bool
}

// sparse returns what makes weights where one in so many is not zero.
func sparse(one int64) func(g *irbuild.Graph, axis int, expand bool) func(shape ...int64) *ir.Value {
	return func(g *irbuild.Graph, _ int, expand bool) func(shape ...int64) *ir.Value {
		return func(shape ...int64) *ir.Value {
			kept := func(i int64) bool { return (i*i/5+i)%one == 0 }
			value := func(i int64) float64 { return float64(i*29%61-30)/64 + 1.0/256 }
			if !expand {
				return g.Filled(ir.FP16, func(i int64) float64 {
					if kept(i) {
						return value(i)
					}
					return 0
				}, shape...)
			}
			mask := g.Filled(ir.UInt1, func(i int64) float64 {
				if kept(i) {
					return 1
				}
				return 0
			}, shape...)
			var values []float64
			for i := range mask.Type.Elems() {
				if kept(i) {
					values = append(values, value(i))
				}
			}
			nonzero := g.Filled(ir.FP16, func(i int64) float64 { return values[i] }, int64(len(values)))
			return g.Op("constexpr_sparse_to_dense", "nonzero_data", nonzero, "mask", mask)
		}
	}
}

// octets returns what makes weights of bytes, with a scale for each output or one for all.
func octets(each bool) func(g *irbuild.Graph, axis int, expand bool) func(shape ...int64) *ir.Value {
	return func(g *irbuild.Graph, axis int, expand bool) func(shape ...int64) *ir.Value {
		return func(shape ...int64) *ir.Value {
			of := slices.Repeat([]int64{1}, len(shape))
			if each {
				of[axis] = shape[axis]
			}
			byteAt := func(i int64) float64 { return float64((i*37+i*i/3)%256 - 128) }
			scaleAt := func(i int64) float64 { return 1 / float64(97+i%31) }
			if expand {
				return g.Op("constexpr_blockwise_shift_scale", "data", g.Filled(ir.Int8, byteAt, shape...),
					"scale", g.Filled(ir.FP16, scaleAt, of...))
			}
			inner := int64(1)
			for _, n := range shape[axis+1:] {
				inner *= n
			}
			return g.Filled(ir.FP16, func(i int64) float64 {
				scale := numerics.Round16(float32(scaleAt(i / inner % of[axis])))
				return ir.ScaledByte(int8(byteAt(i)), float64(scale), ir.FP16)
			}, shape...)
		}
	}
}

// streamTargets stream more and more forms.
var streamTargets = []*target.Table{target.H13, target.H14, target.H16}

func streamedForms() (forms []form) {
	both, late := streamTargets, streamTargets[1:]
	for _, bits := range []int{1, 2, 3, 4, 6, 8} {
		on := both
		if bits != 4 && bits != 8 {
			on = streamTargets[2:]
		}
		forms = append(forms, form{
			name: fmt.Sprintf("%d bits", bits), on: on, book: true,
			make: func(g *irbuild.Graph, _ int, expand bool) func(shape ...int64) *ir.Value {
				return indexed(g, bits, expand)
			},
			reads: func(t *td.Task) bool { return t.On(td.PalettizedEn) && t.Int(td.PalettizeBits) == bits },
		})
	}
	skips := func(t *td.Task) bool { return t.On(td.SparseFmt) && !t.On(td.SparseBinary) && t.Int(td.Sx) == 1 }
	scaled := func(t *td.Task) bool { return t.On(td.PostScaleMode) }
	return append(forms,
		form{name: "one in 4", on: both, make: sparse(4), reads: skips},
		form{name: "one in 2", on: both, make: sparse(2), reads: skips},
		form{name: "bytes", on: late, make: octets(false), reads: scaled},
		form{name: "bytes with scales", on: late, make: octets(true), reads: scaled})
}

// TestCompressedWeightsStream compiles products whose weights are compressed. Their tasks must read the compressed
// form, where the target and the form of the product allow it, the outputs must have the same bits as the outputs of
// the program with the same numbers as weights, and the pair must verify and be proved.
func TestCompressedWeightsStream(t *testing.T) {
	for k, tab := range streamTargets {
		for i, p := range weightedProducts() {
			for j, f := range streamedForms() {
				// The usual form runs what streams on several targets on one of them.
				if (i+j+k)%testform.Of(16, len(f.on), 1) > 0 {
					continue
				}
				t.Run(fmt.Sprintf("%s, %s, %s", tab.Name, p.name, f.name), func(t *testing.T) {
					streams(t, tab, &f, &p)
				})
			}
		}
	}
}

func streams(t *testing.T, tab *target.Table, f *form, p *weighted) {
	folds := p.folds || f.book && p.small || !slices.Contains(f.on, tab)
	var read [2]int64
	var out [2][]float32
	for i, expand := range []bool{false, true} {
		g := irbuild.New(7)
		g.Output(p.build(g, f.make(g, p.axis, expand)))
		r, err := compile.All(t.Context(), g.Program(), compile.Options{Target: tab})
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case tab == target.H16 && (strings.HasPrefix(p.name, "conv") || p.name == "matmul of matrices"):
			t.Skip("no task of h16 is recorded for convolutions and products of several matrices")
		case r.Report.CPUOps > 0:
			t.Fatalf("%d operations are on the CPU", r.Report.CPUOps)
		}
		packed := 0
		for _, task := range r.Functions[0].Procedures[0].Tasks {
			for part := range task.LaneParts() {
				read[i] += part.To - part.From
			}
			if f.reads(task) {
				packed++
			}
		}
		if want := expand && !folds; packed > 0 != want {
			t.Errorf("compressed %t: %d tasks read %s, want some: %t", expand, packed, f.name, want)
		}
		if c := r.Report.Compressed; expand && (len(c) != 1 || c[0].Streams == folds) {
			t.Errorf("the report says %+v", c)
		}
		o := Options{Seed: 1, Numerics: numerics.ANE, Compile: compile.Options{Target: tab}}
		m, err := Open(r)
		if err != nil {
			t.Fatal(err)
		}
		in, err := inputs(r.Functions[0], o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.Run(t.Context(), in[0], sim.Options{Numerics: numerics.ANE})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range got {
			out[i] = v.Floats32()
		}
		if !expand || folds {
			continue
		}
		if res, err := Check(t.Context(), r, m, nil, o); err != nil || res.Verdict != Pass {
			t.Errorf("verify: %v, %+v", err, res)
		}
		if testing.Short() || strings.Contains(p.name, "cut") {
			continue
		}
		if res, err := prove.Pair(t.Context(), m, Provable(r), prove.Options{Seed: 1}); err != nil ||
			res.Verdict == prove.Wrong {
			t.Errorf("prove: %v, %v", err, res.Err())
		}
	}
	same := func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }
	if !slices.EqualFunc(out[0], out[1], same) {
		t.Error("outputs differ from those with numbers as weights")
	}
	if !folds && (read[1] > read[0] || read[1] == read[0] && !p.small) { // a few bytes are a granule in either form
		t.Errorf("tasks read %d compressed bytes, %d of numbers", read[1], read[0])
	}
}
