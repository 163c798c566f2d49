package compile_test

import (
	"math"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// The second dispatch reads what the first wrote in place: the only casts between them are the output to the CPU, the
// input from it, and one from surface to surface.
func TestDispatchesPassSurfaces(t *testing.T) {
	r, m := compiled(t, `func main<ios18>(tensor<fp16, [1, 4]> x) {
	tensor<fp16, [1, 4]> a = mul(x = x, y = fp16(2));
	tensor<fp16, [1, 4]> e = add(x = a, y = x);
	tensor<fp16, [1, 4]> b = mod(x = e, y = fp16(1000));
	tensor<fp16, [1, 4]> y = mul(x = b, y = a);
	} -> (y);`, compile.Options{Target: target.H13})
	if got, want := ops(&r.E5.Functions[0]),
		"1 Cast, 1 AneInference, 1 Cast, 1 CpuInference, 2 Cast, 1 AneInference, 1 Cast"; got != want {
		t.Errorf("chain is %s, want %s", got, want)
	}
	if r.Report.Casts != 5 {
		t.Errorf("the report counts %d layout conversions, want 5", r.Report.Casts)
	}
	y := step(t, m, map[string]interp.Tensor{"x": fp16s(t, []int64{1, 4}, 1, 2, 3, 4)})["y"].Floats32()
	if want := []float32{6, 24, 54, 96}; !slices.Equal(y, want) {
		t.Errorf("y is %v, want %v", y, want)
	}
}

// Conversions between int32 and fp16 next to the engine are transfers, and a value that passes through an integer is
// truncated.
func TestIntegerConversionsAreTransfers(t *testing.T) {
	r, m := compiled(t, `func main<ios18>(tensor<int32, [4]> i, tensor<fp16, [4]> x) {
	tensor<fp16, [4]> f = cast(x = i, dtype = string("fp16"));
	tensor<fp16, [4]> g = mul(x = f, y = x);
	tensor<int32, [4]> j = cast(x = g, dtype = string("int32"));
	tensor<fp16, [4]> k = cast(x = j, dtype = string("fp16"));
	tensor<fp16, [4]> y = mul(x = k, y = fp16(0.5));
	} -> (j, y);`, compile.Options{Target: target.H13})
	if r.Report.CPUOps != 0 || r.Report.Transfers != 3 {
		t.Errorf("%s; %d transfers, want 3", r.Report.Line(), r.Report.Transfers)
	}
	i, err := interp.FromInts(ir.Int32, []int64{3, -2, 2049, 7}, 4)
	if err != nil {
		t.Fatal(err)
	}
	out := step(t, m, map[string]interp.Tensor{"i": i, "x": fp16s(t, []int64{4}, 0.5, 1.25, 1, 60000)})
	if got, want := out["y"].Floats32(), []float32{0.5, -1, 1024, float32(math.Inf(1))}; !slices.Equal(got, want) {
		t.Errorf("y is %v, want %v", got, want)
	}
	if got, want := out["j"].Const().Ints(), []int64{1, -2, 2048, math.MaxInt32}; !slices.Equal(got, want) {
		t.Errorf("j is %v, want %v", got, want)
	}
}
