package compile_test

import (
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// Shapes that are known only at run time, between CPU calls, as inputs and as results, with the engine before them.
func TestUnknownShapesStayOnTheCPU(t *testing.T) {
	r, m := compiled(t, `func main<ios18>(tensor<fp16, [6]> x, tensor<fp16, [?]> free) {
	tensor<fp16, [6]> d = mul(x = x, y = fp16(2));
	tensor<int32, [?, 1]> at = non_zero(x = d);
	tensor<fp16, [?]> some = gather_nd(x = d, indices = at, batch_dims = int32(0), validate_indices = bool(false));
	tensor<fp16, [?]> y = add(x = some, y = fp16(1));
	tensor<fp16, [?]> z = add(x = free, y = fp16(1));
	tensor<fp16, []> e = reduce_sum(x = y, keep_dims = bool(false));
	tensor<fp16, [6]> w = mul(x = d, y = e);
	} -> (y, z, w, free);`, compile.Options{Target: target.H13})
	if r.Report.EngineOps == 0 {
		t.Error("nothing runs on the engine")
	}
	for _, x := range [][]float32{{0, 1, 0, 2, 0, 3}, {1, 2, 3, 4, 5, 6}, {0, 0, 0, 0, 0, 0}} {
		free := x[:len(x)/2]
		out := step(t, m, map[string]interp.Tensor{
			"x":    fp16s(t, []int64{6}, x...),
			"free": fp16s(t, []int64{3}, free...),
		})
		var y, z, w []float32
		sum := float32(0)
		for _, v := range x {
			if v != 0 {
				y = append(y, 2*v+1)
				sum += 2*v + 1
			}
		}
		for _, v := range free {
			z = append(z, v+1)
		}
		for _, v := range x {
			w = append(w, 2*v*sum)
		}
		for name, want := range map[string][]float32{"y": y, "z": z, "w": w, "free": free} {
			if got := out[name].Floats32(); !slices.Equal(got, want) {
				t.Errorf("x %v: %s is %v, want %v", x, name, got, want)
			}
		}
	}
}

// A list made before the engine's part and read after it.
func TestListPassesBetweenCalls(t *testing.T) {
	_, m := compiled(t, `func main<ios18>(tensor<fp16, [4]> x, tensor<int32, []> i) {
	list<tensor<fp16, [4]>, ?> l = make_list(init_length = int32(2), dynamic_length = bool(true), elem_shape = `+
		`(int32(4)), dtype = string("fp16"));
	tensor<fp16, [4]> s = mod(x = x, y = fp16(1000));
	list<tensor<fp16, [4]>, ?> l1 = list_write(ls = l, index = i, value = s);
	tensor<fp16, [4]> d = mul(x = s, y = fp16(2));
	tensor<fp16, [4]> e = exp(x = d);
	list<tensor<fp16, [4]>, ?> l2 = list_write(ls = l1, index = int32(0), value = e);
	tensor<fp16, [4]> y = list_read(ls = l2, index = i);
	} -> (y);`, compile.Options{Target: target.H13})
	one, err := interp.FromInts(ir.Int32, []int64{1})
	if err != nil {
		t.Fatal(err)
	}
	y := step(t, m, map[string]interp.Tensor{"x": fp16s(t, []int64{4}, 1, 2, 3, 4), "i": one})["y"]
	if got := y.Floats32(); !slices.Equal(got, []float32{1, 2, 3, 4}) {
		t.Errorf("y is %v", got)
	}
}
