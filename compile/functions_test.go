package compile_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/frontend/blobfile"
	"github.com/zinc-compiler/zinc/frontend/blobfile/blobfiletest"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// sharing writes a model whose functions, with the given names, share one weight
// matrix of 10 MB, and returns its folder.
func sharing(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "weights"), 0o777); err != nil {
		t.Fatal(err)
	}
	const in, out = 2048, 2560
	data := make([]byte, 2*in*out)
	seed := uint32(1)
	for i := range in * out {
		seed = seed*1664525 + 1013904223
		data[2*i], data[2*i+1] = byte(seed>>16), byte(seed>>24)&0x83|0x28 // small numbers of both signs
	}
	at := blobfiletest.Write(t, filepath.Join(dir, "weights", "weight.bin"),
		blobfiletest.Blob{Type: blobfile.Float16, Elems: in * out, Data: data})[0]
	var text strings.Builder
	text.WriteString("program(1.3)\n{\n")
	for i, n := range names {
		fmt.Fprintf(&text, `func %s<ios18>(tensor<fp16, [1, 2048]> x) {
	tensor<fp16, [2560, 2048]> w = const()[val = tensor<fp16, [2560, 2048]>(BLOBFILE(path = `+
			`string("@model_path/weights/weight.bin"), offset = uint64(%d)))];
	tensor<fp16, [1, 2560]> p = linear(x = x, weight = w);
	tensor<fp16, [1, 2560]> y = %s(x = p);
} -> (y);
`, n, at, []string{"identity", "abs"}[i])
	}
	text.WriteString("}\n")
	if err := os.WriteFile(filepath.Join(dir, "model.mil"), []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// bytesOf compiles the model of a folder and returns the result with its bytes.
func bytesOf(t *testing.T, dir string, o compile.Options) (*compile.Result, pair.Pair) {
	t.Helper()
	m, err := frontend.Open(filepath.Join(dir, "model.mil"), frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	r, err := compile.All(context.Background(), m.Program, o)
	if err != nil {
		t.Fatal(err)
	}
	return r, written(t, r)
}

func TestFunctionsShareWeights(t *testing.T) {
	const weights = 2 * 2048 * 2560
	dir := sharing(t, "first", "second")
	_, one := bytesOf(t, dir, compile.Options{Target: target.H13, Func: "second"})
	r, both := bytesOf(t, dir, compile.Options{Target: target.H13})
	if len(one.Container) < weights {
		t.Fatalf("one function makes a container of %d bytes, its weights alone are %d", len(one.Container), weights)
	}
	if more := len(both.Container) - len(one.Container); more > 64<<10 {
		t.Errorf("the second function makes the container %d bytes longer", more)
	}
	if r.Report.CPUOps != 0 || len(one.Descriptor) > 64<<10 || len(both.Descriptor) > 64<<10 {
		t.Errorf("%d operations on the CPU, descriptors of %d and %d bytes", r.Report.CPUOps, len(one.Descriptor),
			len(both.Descriptor))
	}
	m, err := sim.Open(both)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Functions(); !slices.Equal(got, []string{"first", "second"}) {
		t.Fatalf("functions %v", got)
	}
	x := make([]float32, 2048)
	for i := range x {
		x[i] = float32(i%7) - 3
	}
	in := map[string]interp.Tensor{"x": fp16s(t, []int64{1, 2048}, x...)}
	y := map[string][]float32{}
	for _, n := range m.Functions() {
		if err := m.Select(n); err != nil {
			t.Fatal(err)
		}
		y[n] = step(t, m, in)["y"].Floats32()
	}
	negative := 0
	for i, v := range y["first"] {
		if y["second"][i] != max(v, -v) {
			t.Fatalf("element %d: first gives %g, second %g, want its magnitude", i, v, y["second"][i])
		}
		if v < 0 {
			negative++
		}
	}
	if negative < 500 || negative > 2000 {
		t.Errorf("%d of 2560 elements of the product are negative", negative)
	}
	alone, err := sim.Open(one)
	if err != nil {
		t.Fatal(err)
	}
	if got := step(t, alone, in)["y"].Floats32(); !slices.Equal(got, y["second"]) {
		t.Error("second alone computes something else than in the pair of both")
	}
	if err := m.Select("third"); err == nil || !strings.Contains(err.Error(),
		`no function "third"; want one of first, second`) {
		t.Errorf("choosing third: %v", err)
	}
}

// main comes first, regardless of its position in the source.
func TestMainIsTheDefault(t *testing.T) {
	_, m := compiled(t, `func zero<ios18>(tensor<fp16, [4]> x) { tensor<fp16, [4]> y = mul(x = x, y = fp16(0)); } `+
		`-> (y);
	func main<ios18>(tensor<fp16, [4]> x) { tensor<fp16, [4]> y = mul(x = x, y = fp16(3)); } -> (y);`,
		compile.Options{Target: target.H13})
	if got := step(t, m, map[string]interp.Tensor{"x": fp16s(t, []int64{4}, 1, 2, 3,
		4)})["y"].Floats32(); !slices.Equal(got, []float32{3, 6, 9, 12}) {
		t.Errorf("y is %v", got)
	}
}

const flexible = `func main<ios18>(tensor<fp16, [1, ?]> x) [FlexibleShapeInformation = tuple<tuple<string, ` +
	`dict<string, tensor<int32, [?]>>>, tuple<string, dict<string, list<tensor<int32, [2]>, ?>>>>` +
	`((("DefaultShapes", {{"x", [1, 4]}}), ("RangeDims", {{"x", [[1, 1], [2, 16]]}})))] {
	tensor<fp16, [1, ?]> y = mul(x = x, y = fp16(3));
} -> (y);`

const enumerated = `func main<ios18>(tensor<fp16, [1, ?]> x) [FlexibleShapeInformation = tuple<tuple<string, ` +
	`dict<string, tensor<int32, [?]>>>, tuple<string, dict<string, dict<string, tensor<int32, [?]>>>>>` +
	`((("DefaultShapes", {{"x", [1, 4]}}), ("EnumeratedShapes", {{"a", {{"x", [1, 2]}}}, {"b", {{"x", [1, 4]}}}, ` +
	`{"c", {{"x", [1, 6]}}}})))] {
	tensor<fp16, [1, ?]> y = mul(x = x, y = fp16(3));
} -> (y);`

func TestRequestedShapesAreCompiled(t *testing.T) {
	for _, c := range []struct {
		funcs string
		given map[string][]int64
		want  string // of the input, or the error
	}{
		{flexible, nil, "tensor<fp16, [1, 4]>"},
		{flexible, map[string][]int64{"x": {1, 16}}, "tensor<fp16, [1, 16]>"},
		{flexible, map[string][]int64{"x": {1, 17}}, "shape of x: dimension 1 is 17, outside its range 2 to 16"},
		{flexible, map[string][]int64{"x": {2, 4}}, "shape of x: dimension 0 is 2 and must be 1"},
		{flexible, map[string][]int64{"x": {4}}, "shape of x: [4] has 1 dimensions, the input is tensor<fp16, [1, ?]>"},
		{flexible, map[string][]int64{"z": {4}}, "shape of z: function main has no such input; inputs: x"},
		{enumerated, map[string][]int64{"x": {1, 6}}, "tensor<fp16, [1, 6]>"},
		{enumerated, map[string][]int64{"x": {1, 5}},
			"shapes of x are not a configuration of function main; those are: x [1, 2]; x [1, 4]; x [1, 6]"},
		{accumulator, map[string][]int64{"total": {1, 8}},
			"shape of total: the input is state<tensor<fp16, [1, 4]>>, whose shape is fixed"},
	} {
		r, err := compile.All(context.Background(), program(t, c.funcs), compile.Options{
			Target: target.H13,
			Shapes: []map[string][]int64{c.given},
		})
		switch {
		case err != nil && !strings.Contains(err.Error(), c.want):
			t.Errorf("%v: error %v, want %q", c.given, err, c.want)
		case err == nil && r.Reference.Body.Params[0].Type.String() != c.want:
			t.Errorf("%v: x is %s, want %s", c.given, r.Reference.Body.Params[0].Type, c.want)
		}
	}
}

// TestOnePairHasSeveralShapesOfARange also checks that the configurations share their constants, that duplicates are
// dropped and that the default shape comes first.
func TestOnePairHasSeveralShapesOfARange(t *testing.T) {
	sets := func(ns ...int64) (out []map[string][]int64) {
		for _, n := range ns {
			out = append(out, map[string][]int64{"x": {1, n, 64}})
		}
		return out
	}
	of := func(shapes []map[string][]int64) (*compile.Result, *sim.Machine) {
		return compiled(t, ranged, compile.Options{Target: target.H13, Shapes: shapes, Place: "engine"})
	}
	r, m := of(sets(2, 9, 4, 16, 9))
	if got := m.Configurations("main"); !slices.Equal(got, []string{"main", "main@1", "main@2", "main@3"}) {
		t.Fatalf("configurations %v", got)
	}
	if got := m.Inputs()[0].Type.String(); got != "tensor<fp16, [1, 4, 64]>" {
		t.Errorf("the first configuration takes %s, want the default shape", got)
	}
	alone, _ := of(sets(9))
	one, four := len(alone.HWX.ConstantBytes()), len(r.HWX.ConstantBytes())
	if one < 64*64*2 || four != one {
		t.Errorf("four configurations have %d bytes of constants, one has %d", four, one)
	}
	for i, f := range r.Functions {
		if f.Report.EngineOps == 0 || f.Report.CPUOps != 0 {
			t.Errorf("configuration %d: %s", i, f.Report.Line())
		}
	}
	for _, n := range []int64{2, 9, 16} {
		x := make([]float32, 64*n)
		for i := range x {
			x[i] = float32(i%7) - 3
		}
		in := map[string]interp.Tensor{"x": fp16s(t, []int64{1, n, 64}, x...)}
		i := slices.Index(m.Configurations("main"), m.Configuration(in))
		want, err := interp.Run(t.Context(), r.Functions[i].Reference, in, interp.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if y := step(t, m, in)["y"]; !y.Type.Equal(want["y"].Type) || !bytes.Equal(y.Data, want["y"].Data) {
			t.Errorf("%d rows: %s differs from the interpreter's %s", n, y.Type, want["y"].Type)
		}
	}
	many := make([]int64, compile.MaxConfigurations+1)
	for i := range many {
		many[i] = int64(i)
	}
	for want, ns := range map[string][]int64{"outside its range 2 to 16": {4, 17}, "has 129 configurations": many} {
		_, err := compile.All(t.Context(), program(t, ranged), compile.Options{Target: target.H13, Shapes: sets(ns...)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// ranged is a model of any number of rows from 2 to 16. Its values are small integers, so every order of summation
// gives the same bits.
var ranged = func() string {
	w := strings.TrimSuffix(strings.Repeat("1, -1, 0, 2, 0, 1, -2, 0, ", 64*64/8), ", ")
	return `func main<ios18>(tensor<fp16, [1, ?, 64]> x) [FlexibleShapeInformation = tuple<tuple<string, ` +
		`dict<string, tensor<int32, [?]>>>, tuple<string, dict<string, list<tensor<int32, [2]>, ?>>>>` +
		`((("DefaultShapes", {{"x", [1, 4, 64]}}), ("RangeDims", {{"x", [[1, 1], [2, 16], [64, 64]]}})))] {
	tensor<fp16, [1, ?, 64]> h = linear(x = x, weight = tensor<fp16, [64, 64]>([` + w + `]));
	tensor<fp16, [1, ?, 64]> r = relu(x = h);
	tensor<fp16, [1, ?, 64]> y = add(x = r, y = x);
} -> (y);`
}()

// One pair contains the whole set; the input selects.
func TestEnumeratedShapes(t *testing.T) {
	r, m := compiled(t, enumerated, compile.Options{Target: target.H13})
	if len(r.Functions) != 3 || !slices.Equal(m.Functions(), []string{"main"}) || len(m.Configurations("main")) != 3 {
		t.Fatalf("%d functions, %v, %v", len(r.Functions), m.Functions(), m.Configurations("main"))
	}
	if got := m.Inputs()[0].Type.String(); got != "tensor<fp16, [1, 4]>" {
		t.Errorf("the default configuration takes %s", got)
	}
	for _, n := range []int64{2, 6, 4, 2} {
		x := []float32{1, 2, 3, 4, 5, 6}[:n]
		y := step(t, m, map[string]interp.Tensor{"x": fp16s(t, []int64{1, n}, x...)})["y"]
		if y.Type.Shape[1] != n || y.Floats32()[n-1] != 3*x[n-1] {
			t.Errorf("%d elements give %s %v", n, y.Type, y.Floats32())
		}
	}
	_, err := m.Run(context.Background(), map[string]interp.Tensor{"x": fp16s(t, []int64{1, 3}, 1, 2, 3)},
		sim.Options{})
	if err == nil || !strings.Contains(err.Error(),
		`input "x" is tensor<fp16, [1, 3]>, want tensor<fp16, [1, 2..6:2]>`) {
		t.Errorf("three elements: %v", err)
	}
}
