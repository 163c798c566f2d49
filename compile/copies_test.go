package compile_test

import (
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// The second dispatch reads what the first wrote where it lies: between them are
// the way out for the CPU, the way in from it, and one from surface to surface.
func TestDispatchesPassSurfaces(t *testing.T) {
	r, m := compiled(t, `func main<ios18>(tensor<fp16, [1, 4]> x) {
	tensor<fp16, [1, 4]> a = mul(x = x, y = fp16(2));
	tensor<fp16, [1, 4]> e = add(x = a, y = x);
	tensor<fp16, [1, 4]> b = mod(x = e, y = fp16(1000));
	tensor<fp16, [1, 4]> y = mul(x = b, y = a);
	} -> (y);`, compile.Options{})
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
