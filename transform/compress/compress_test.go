package compress

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/atomicfile"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/internal/testform"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
	"github.com/zinc-compiler/zinc/transform/convert"
	"github.com/zinc-compiler/zinc/transform/reduce"
)

// layers is a program with a weight of every kind, the axes of whose output channels differ.
func layers(opset string, t ir.DType) *ir.Program {
	g, r := irbuild.NewIn(opset, 1), rand.New(rand.NewPCG(1, 1))
	weights := func(shape ...int64) *ir.Value {
		return g.Filled(t, func(int64) float64 { return r.NormFloat64() / 10 }, shape...)
	}
	x := g.InputOf(t, 1, 64, 4, 4)
	x = g.Op("conv", "x", x, "weight", weights(64, 64, 1, 1))
	x = g.Op("conv", "x", x, "weight", weights(96, 64, 3, 3), "pad_type", "same")
	x = g.Op("conv_transpose", "x", x, "weight", weights(96, 64, 2, 2))
	x = g.Op("reshape", "x", x, "shape", []int64{64, 25})
	x = g.Op("matmul", "x", weights(64, 128), "y", x, "transpose_x", true)
	x = g.Op("matmul", "x", x, "y", weights(25, 96))
	x = g.Op("linear", "x", x, "weight", weights(64, 96), "bias", weights(64))
	g.Output(g.Op("linear", "x", x, "weight", weights(64, 64), "bias", weights(64)))
	return g.Program()
}

func TestFormsKeepTheirPromises(t *testing.T) {
	for _, opset := range []string{"ios16", "ios18"} {
		for _, dtype := range []ir.DType{ir.FP16, ir.FP32} {
			ws := weights(layers(opset, dtype))
			if axes := fmt.Sprint(axesOf(ws)); axes != "[0 0 1 1 1 0 0]" {
				t.Fatalf("axes %s, want [0 0 1 1 1 0 0]", axes)
			}
			for _, w := range ws {
				for _, f := range Forms {
					t.Run(fmt.Sprint(opset, dtype, w.data.Type, f.Name), func(t *testing.T) {
						checkForm(t, f, w, opset)
					})
				}
			}
		}
	}
}

func axesOf(ws []*weight) (axes []int) {
	for _, w := range ws {
		axes = append(axes, w.axis)
	}
	return axes
}

func checkForm(t *testing.T, f *Form, w *weight, opset string) {
	if blocks(f.Since) && !blocks(opset) {
		return
	}
	e, err := f.in(w, opset)
	if err != nil {
		t.Fatal(err)
	}
	before, channels, after := w.channels()
	if e == nil {
		if !strings.HasSuffix(f.Name, "groups") || channels%groupChannels == 0 && channels != groupChannels {
			t.Error("the weight has no such form")
		}
		return
	}
	dense, err := e.expand(opset)
	if err != nil {
		t.Fatal(err)
	}
	if !dense.Type.Equal(w.data.Type) {
		t.Fatalf("it expands to %s, want %s", dense.Type, w.data.Type)
	}
	want, got := w.data.Floats(), dense.Floats()
	if r := ratio(w.data, dense); r != e.ratio || r < map[string]Decibels{
		"palette4": 19, "palette4-groups": 19, "palette8": 42, "int8": 38, "sparse50": 10, "sparse75": 4,
	}[f.Name] {
		t.Errorf("signal to noise %s, recorded %s", r, e.ratio)
	}
	distinct := map[float64]bool{}
	for c := range channels {
		top, steps := 0.0, map[float64]bool{}
		for b := range before {
			for i := (b*channels + c) * after; i < (b*channels+c+1)*after; i++ {
				top = max(top, math.Abs(want[i]))
				distinct[got[i]], steps[got[i]] = true, true
			}
		}
		if f.Name != "int8" {
			continue
		}
		if len(steps) > 255 {
			t.Errorf("channel %d has %d values", c, len(steps))
		}
		for b := range before {
			for i := (b*channels + c) * after; i < (b*channels+c+1)*after; i++ {
				if d := math.Abs(want[i] - got[i]); d > top/largestInt8*0.6+top/1024 {
					t.Fatalf("value %d of channel %d is %g, want %g within half a step of %g", i, c, got[i], want[i],
						top/largestInt8)
				}
			}
		}
	}
	switch n := len(distinct); {
	case f.Name == "palette4" && n != 16, f.Name == "palette8" && (n > 256 || n < 250):
		t.Errorf("%d distinct values", n)
	case f.Name == "palette4-groups" && n <= 16:
		t.Errorf("%d distinct values in all groups", n)
	case strings.HasPrefix(f.Name, "sparse"):
		checkSparse(t, f, want, got)
	}
}

// checkSparse checks that the wanted number of values is left, and none is smaller than a value that is not.
func checkSparse(t *testing.T, f *Form, want, got []float64) {
	left, most, least := 0, 0.0, math.Inf(1)
	for i, x := range got {
		switch {
		case x != 0 && math.Abs(x-want[i]) > math.Abs(want[i])/1024:
			t.Fatalf("value %d is %g, want %g", i, x, want[i])
		case x != 0:
			left++
			least = min(least, math.Abs(x))
		default:
			most = max(most, math.Abs(want[i]))
		}
	}
	n := map[string]int{"sparse50": len(got) - len(got)/2, "sparse75": len(got) - len(got)*3/4}[f.Name]
	if left != n {
		t.Errorf("%d values are left, want %d", left, n)
	}
	if most > least*(1+1.0/1024) {
		t.Errorf("a value of %g is left out and one of %g is not", most, least)
	}
}

// TestOddWeightsHaveForms has values that forms must not fail on: zeros, subnormal ones, equal ones, and ties where
// half of the values is left out.
func TestOddWeightsHaveForms(t *testing.T) {
	for name, at := range map[string]func(i int64) float64{
		"zeros":     func(int64) float64 { return 0 },
		"subnormal": func(i int64) float64 { return float64(i%3) * 0x1p-24 },
		"equal":     func(int64) float64 { return -0.25 },
		"signs":     func(i int64) float64 { return math.Copysign(0.5, float64(i%2)-0.5) },
		"largest":   func(i int64) float64 { return 65504 * float64(i%5-2) / 2 },
	} {
		g := irbuild.New(1)
		g.Output(g.Op("linear", "x", g.Input(1, 64), "weight", g.Filled(ir.FP16, at, 64, 64)))
		w := weights(g.Program())[0]
		for _, f := range Forms {
			e, err := f.in(w, "ios18")
			if err != nil || e == nil {
				t.Errorf("%s: %s: %v", name, f.Name, err)
				continue
			}
			if strings.HasPrefix(f.Name, "palette") && !math.IsInf(float64(e.ratio), 1) {
				t.Errorf("%s: %s of at most 16 values has a ratio of %s, want equality", name, f.Name, e.ratio)
			}
		}
	}
	g := irbuild.New(1)
	wide := g.Filled(ir.FP32, func(i int64) float64 { return float64(i) * 1e6 }, 64, 64)
	g.Output(g.Op("linear", "x", g.InputOf(ir.FP32, 1, 64), "weight", wide))
	if w := weights(g.Program())[0]; w.fp16() != nil {
		t.Error("values beyond fp16 are in fp16")
	}
}

func studied(t *testing.T, p *ir.Program, o Options) *Result {
	t.Helper()
	if o.Compile.Target == nil {
		o.Compile.Target = target.H13
	}
	r, err := New(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestStudyMeasuresWhatIsWritten checks the error of each row by a run of the model that is written for it, in every
// form of models.
func TestStudyMeasuresWhatIsWritten(t *testing.T) {
	for _, opset := range []string{"ios15", "ios18"} {
		path := filepath.Join(t.TempDir(), "model.mil")
		p := layers(opset, ir.FP16)
		if _, err := reduce.Write(t.Context(), p, path); err != nil {
			t.Fatal(err)
		}
		m, err := frontend.Open(path, frontend.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		r := studied(t, m.Program, Options{Seed: 1, Metric: PSNR, Limit: 30})
		if r.Reference != "fp32" {
			t.Errorf("%s: the reference is %s", opset, r.Reference)
		}
		for _, form := range convert.Forms {
			for _, row := range r.Rows[1:] {
				out := filepath.Join(t.TempDir(), "out", "model"+string(form))
				checkWritten(t, path, out, m.Program, r, &row)
			}
		}
	}
}

func checkWritten(t *testing.T, from, path string, dense *ir.Program, r *Result, row *Row) {
	t.Helper()
	p, err := r.Apply(row.Form)
	if err != nil {
		t.Fatal(err)
	}
	src, err := frontend.OpenSource(from, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	files, err := Plan(src, p, path, convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(t.Context(), files...); err != nil {
		t.Fatal(err)
	}
	m, err := frontend.Open(path, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	in := map[string]interp.Tensor{}
	for _, v := range dense.Funcs[0].Body.Params {
		if in[v.Name], err = verify.Random(v.Type, v.Name, r.Seed); err != nil {
			t.Fatal(err)
		}
	}
	run := func(f *ir.Func) map[string]interp.Tensor {
		out, err := interp.Run(t.Context(), f, in, interp.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	got := run(m.Program.Funcs[0])
	wide, _ := ir.Widen(dense.Funcs[0])
	for _, v := range wide.Body.Params {
		in[v.Name] = interp.Share32(v.Type.Shape, in[v.Name].Floats32())
	}
	e, err := compare(wide.Body.Outputs, run(wide), got)
	if err != nil {
		t.Fatal(err)
	}
	if *e != *row.Error {
		t.Errorf("%s, %s: the written model has the error %v, the study says %v", path, row.Form, *e, *row.Error)
	}
	if n := ir.ConstantBytes(m.Program); n > row.Bytes+1024 || n < row.Bytes-1024 {
		t.Errorf("%s, %s: the written model has %d bytes of constants, the study says %d", path, row.Form, n, row.Bytes)
	}
}

// TestMixturesAreWithinTheirLimit has limits by each metric, and compares the mixture of each with its neighbours.
func TestMixturesAreWithinTheirLimit(t *testing.T) {
	for m, limits := range map[Metric][]float64{PSNR: {55, 40, 25, 15}, Cosine: {0.9999, 0.99}, ULP: {10, 200}} {
		var bytes []int64
		for _, limit := range limits {
			r := studied(t, layers("ios18", ir.FP16), Options{Seed: 1, Metric: m, Limit: limit, Ends: true})
			row := r.Rows[len(r.Rows)-1]
			if row.Form != Mixture || !m.within(row.Error, limit) {
				t.Errorf("%s %g: the last row is %s with %v", m, limit, row.Form, *row.Error)
			}
			bytes = append(bytes, row.Bytes)
			if row.Predicted {
				t.Errorf("%s %g: the errors of a small model are predicted", m, limit)
			}
		}
		if !slices.IsSortedFunc(bytes, func(a, b int64) int { return int(b - a) }) {
			t.Errorf("%s: the mixtures of %v have %v bytes", m, limits, bytes)
		}
	}
	_, err := New(t.Context(), layers("ios18", ir.FP16), Options{
		Compile: compile.Options{Target: target.H13}, Metric: ULP, Limit: 0.001,
	})
	if err == nil || !strings.Contains(err.Error(), "the model as it is has ulp") {
		t.Errorf("a limit that no model keeps: %v", err)
	}
}

// TestStudiesDoNotDependOnWorkers compares the documents of a study.
func TestStudiesDoNotDependOnWorkers(t *testing.T) {
	var first []byte
	for _, workers := range []int{1, 3} {
		r := studied(t, layers("ios18", ir.FP16), Options{
			Metric: PSNR, Limit: 30, Compile: compile.Options{Target: target.H13, Workers: workers},
		})
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b
		} else if !bytes.Equal(first, b) {
			t.Error("the documents differ")
		}
	}
}

func TestFirstAndLastLayersStayDense(t *testing.T) {
	r := studied(t, layers("ios18", ir.FP16), Options{})
	for i, w := range r.Weights {
		if end := i == 0 || i == len(r.Weights)-1; end != (w.Kept != "") {
			t.Errorf("weight %d of %d: %q", i, len(r.Weights), w.Kept)
		}
	}
}

// TestOpsetsAreRaised: a program of ios15 becomes one of ios16, unless an operation has another form there.
func TestOpsetsAreRaised(t *testing.T) {
	if r := studied(t, layers("ios15", ir.FP16), Options{}); r.Opset != "ios16" {
		t.Errorf("opset %s, want ios16", r.Opset)
	}
	g := irbuild.NewIn("ios16", 1)
	g.Output(g.Op("linear", "x", g.Input(1, 64), "weight", g.Weights(64, 64)))
	_, err := New(context.Background(), g.Program(), Options{
		Compile: compile.Options{Target: target.H13}, Forms: []*Form{FormOf("palette4-groups")},
	})
	if err == nil || !strings.Contains(err.Error(), "in which linear has another form") {
		t.Errorf("an operation that changes: %v", err)
	}
}

// TestRealModelsAreCompressed writes real models as packages and reads them again.
func TestRealModelsAreCompressed(t *testing.T) {
	shared := shareddir.Find(t)
	models := map[string]int{"silero-v6-fp16": 7}
	if testform.Long() {
		models["whisper-tiny-encoder"], models["parakeet-eou-encoder-1280ms"] = 26, 210
	}
	for name, want := range models {
		dir := shareddir.WithWeights(t, shared, filepath.Join(shared, "corpus", name))
		m, err := frontend.Open(dir, frontend.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := studied(t, m.Program, Options{Seed: 1, Metric: PSNR, Limit: 35, Forms: Forms[:1]})
		if len(r.Weights) != want {
			t.Errorf("%s: %d weights, want %d", name, len(r.Weights), want)
		}
		for _, row := range r.Rows[1:] {
			checkWritten(t, dir, filepath.Join(t.TempDir(), "model.mlpackage"), m.Program, r, &row)
		}
		m.Close()
	}
}
