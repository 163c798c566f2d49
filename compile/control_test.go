package compile_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// loop doubles a matrix product's input until a counter reaches a bound.
func loop(params, bound string) string {
	return `func main<ios18>(tensor<fp16, [1, 4]> x` + params + `) {
	tensor<int32, [1]> zero = const()[val = tensor<int32, [1]>([0])];
	tensor<int32, [1]> end, tensor<fp16, [1, 4]> y = while_loop(loop_vars = (zero, x)) (tensor<int32, [1]> i, ` +
		`tensor<fp16, [1, 4]> a) {
		tensor<bool, [1]> go = less(x = i, y = ` + bound + `);
	} -> (go) (tensor<int32, [1]> j, tensor<fp16, [1, 4]> b) {
		tensor<int32, [1]> k = add(x = j, y = int32(1));
		tensor<fp16, [1, 4]> p = linear(x = b, weight = tensor<fp16, [4, 4]>([[0, 2, 0, 0], [0, 0, 2, 0], [0, 0, ` +
		`0, 2], [2, 0, 0, 0]]));
	} -> (k, p);
	} -> (y);`
}

func TestCountedLoopRunsOnTheEngine(t *testing.T) {
	r, m := compiled(t, loop("", "int32(5)"), compile.Options{Target: target.H13})
	if r.Report.CPUOps != 0 || r.Report.EngineOps != 5 || r.Report.Dispatches != 1 {
		t.Errorf("%s", r.Report.Line())
	}
	y := step(t, m, map[string]interp.Tensor{"x": fp16s(t, []int64{1, 4}, 1, 2, 3, 4)})["y"].Floats32()
	if !slices.Equal(y, []float32{64, 96, 128, 32}) {
		t.Errorf("y is %v", y)
	}
}

func TestLoopOnDataRunsOnTheCPU(t *testing.T) {
	r, m := compiled(t, loop(", tensor<int32, [1]> n", "n"), compile.Options{Target: target.H13})
	said := false
	for _, o := range r.Report.Ops {
		if o.Op == "while_loop" {
			said = o.Unit == ir.CPU.String() && strings.Contains(o.Reason, "depends on data")
			if !said {
				t.Errorf("while_loop is on %s: %q", o.Unit, o.Reason)
			}
		}
	}
	if !said || r.Report.EngineOps != 0 {
		t.Errorf("%s", r.Report.Line())
	}
	for n, want := range [][]float32{{1, 2, 3, 4}, {4, 6, 8, 2}, {12, 16, 4, 8}} {
		trips, err := interp.FromInts(ir.Int32, []int64{int64(n)}, 1)
		if err != nil {
			t.Fatal(err)
		}
		y := step(t, m, map[string]interp.Tensor{"x": fp16s(t, []int64{1, 4}, 1, 2, 3, 4), "n": trips})["y"].Floats32()
		if !slices.Equal(y, want) {
			t.Errorf("%d trips: y is %v, want %v", n, y, want)
		}
	}
}

// Past the limit a loop stays a loop, and still runs.
func TestLongLoopStaysALoop(t *testing.T) {
	r, m := compiled(t, `func main<ios18>(tensor<fp16, [4]> x) {
	tensor<int32, [1]> zero = const()[val = tensor<int32, [1]>([0])];
	tensor<int32, [1]> end, tensor<fp16, [4]> y = while_loop(loop_vars = (zero, x)) (tensor<int32, [1]> i, `+
		`tensor<fp16, [4]> a) {
		tensor<bool, [1]> go = less(x = i, y = int32(65));
	} -> (go) (tensor<int32, [1]> j, tensor<fp16, [4]> b) {
		tensor<int32, [1]> k = add(x = j, y = int32(1));
		tensor<fp16, [4]> p = add(x = b, y = fp16(1));
	} -> (k, p);
	} -> (y);`, compile.Options{Target: target.H13})
	if r.Report.CPUOps != 1 || !strings.Contains(r.Report.Ops[0].Reason, "more than 64 trips") {
		t.Errorf("%s: %q", r.Report.Line(), r.Report.Ops[0].Reason)
	}
	if y := step(t, m, map[string]interp.Tensor{"x": fp16s(t, []int64{4}, 1, 2, 3, 4)})["y"].Floats32(); !slices.Equal(
		y, []float32{66, 67, 68, 69}) {
		t.Errorf("y is %v", y)
	}
}

func TestBranchesRunWhereTheyAreCheap(t *testing.T) {
	const cheap = `tensor<fp16, [1, 4]> y = cond(pred = p) () {
		tensor<fp16, [1, 4]> a = mul(x = x, y = fp16(2));
	} -> (a) () {
		tensor<fp16, [1, 4]> b = relu(x = x);
	} -> (b);`
	const costly = `tensor<fp16, [1, 4]> y = cond(pred = p) () {
		tensor<fp16, [1, 4]> a = mul(x = x, y = fp16(2));
	} -> (a) () {
		tensor<fp16, [1, 4]> b = mod(x = x, y = fp16(4));
		tensor<fp16, [1, 4]> c = relu(x = b);
	} -> (c);`
	x := []float32{-1, 2, -3, 4}
	for _, c := range []struct {
		name, body, cpu, why string
		whenFalse            []float32
	}{
		{name: "cheap", body: cheap, cpu: "select", whenFalse: []float32{0, 2, 0, 4}},
		{name: "costly", body: costly, cpu: "cond", why: "the condition depends on data", whenFalse: []float32{3, 2, 1,
			0}},
	} {
		r, m := compiled(t, "func main<ios18>(tensor<fp16, [1, 4]> x, tensor<bool, []> p) {\n"+c.body+"\n} -> (y);",
			compile.Options{Target: target.H13})
		for _, o := range r.Report.Ops {
			if o.Unit == ir.CPU.String() && (o.Op != c.cpu || !strings.Contains(o.Reason, c.why)) {
				t.Errorf("%s: %s is on the CPU: %q", c.name, o.Op, o.Reason)
			}
		}
		if (r.Report.EngineOps > 0) != (c.name == "cheap") {
			t.Errorf("%s: %s", c.name, r.Report.Line())
		}
		for v, want := range [][]float32{c.whenFalse, {-2, 4, -6, 8}} {
			p, err := interp.FromInts(ir.Bool, []int64{int64(v)})
			if err != nil {
				t.Fatal(err)
			}
			y := step(t, m, map[string]interp.Tensor{"x": fp16s(t, []int64{1, 4}, x...), "p": p})["y"].Floats32()
			if !slices.Equal(y, want) {
				t.Errorf("%s, %d: y is %v, want %v", c.name, v, y, want)
			}
		}
	}
}

// Nested loops multiply: unrolling soon stops at a bound of its own.
func TestDeepLoopsStop(t *testing.T) {
	const depth = 8
	body := "tensor<int32, [1]> k0 = add(x = j0, y = int32(1));\n"
	for i := range depth {
		body = fmt.Sprintf(`tensor<int32, [1]> z%[1]d = const()[val = tensor<int32, [1]>([0])];
	tensor<int32, [1]> e%[1]d = while_loop(loop_vars = (z%[1]d)) (tensor<int32, [1]> i%[1]d) {
		tensor<bool, [1]> go%[1]d = less(x = i%[1]d, y = int32(60));
	} -> (go%[1]d) (tensor<int32, [1]> j%[1]d) {
	%[2]s
	} -> (k%[1]d);
	tensor<int32, [1]> k%[3]d = add(x = %[4]s, y = int32(1));
	`, i, body, i+1, map[bool]string{true: fmt.Sprintf("j%d", i+1), false: fmt.Sprintf("e%d", i)}[i < depth-1])
	}
	r, err := compile.All(context.Background(), program(t, "func main<ios18>(tensor<fp16, [1]> x) {\n"+body+
		fmt.Sprintf("} -> (k%d);", depth)), compile.Options{Target: target.H13})
	if err != nil {
		t.Fatal(err)
	}
	stays := false
	for _, o := range r.Report.Ops {
		stays = stays || o.Op == "while_loop"
	}
	if !stays {
		t.Error("the outermost loop is gone")
	}
}
