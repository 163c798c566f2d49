package compile_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/frontend/mil/build"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// program builds the IR of MIL functions.
func program(t testing.TB, funcs string) *ir.Program {
	t.Helper()
	tree, list := mil.Parse("test.mil", []byte("program(1.3)\n{\n"+funcs+"\n}\n"))
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	p, list := build.Program(tree, nil, build.Options{})
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return p
}

// compiled compiles MIL functions and loads the bytes of the pair.
func compiled(t testing.TB, funcs string, o compile.Options) (*compile.Result, *sim.Machine) {
	t.Helper()
	o.VerifyEach = true
	r, err := compile.All(context.Background(), program(t, funcs), o)
	if err != nil {
		t.Fatal(err)
	}
	m, err := sim.Open(written(t, r))
	if err != nil {
		t.Fatal(err)
	}
	return r, m
}

func fp16s(t testing.TB, shape []int64, vs ...float32) interp.Tensor {
	t.Helper()
	x, err := interp.FromFloats(ir.FP16, vs, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func step(t testing.TB, m *sim.Machine, in map[string]interp.Tensor) map[string]interp.Tensor {
	t.Helper()
	out, err := m.Run(context.Background(), in, sim.Options{Numerics: numerics.ANE})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// ops counts the operations of each type of a function.
func ops(f *e5.Function) string {
	var s []string
	for _, b := range f.Blocks {
		for _, o := range b.Operations {
			n := o.Type.String()
			if k := len(s); k > 0 && strings.HasSuffix(s[k-1], " "+n) {
				var c int
				fmt.Sscan(s[k-1], &c)
				s[k-1] = fmt.Sprint(c+1, " ", n)
				continue
			}
			s = append(s, "1 "+n)
		}
	}
	return strings.Join(s, ", ")
}

const accumulator = `func main<ios18>(state<tensor<fp16, [1, 4]>> total) {
	tensor<fp16, [1, 4]> before = read_state(input = total);
	tensor<fp16, [1, 4]> after = add(x = before, y = fp16(1));
	tensor<fp16, [1, 4]> now = coreml_update_state(state = total, value = after);
	tensor<fp16, [1, 4]> y = relu(x = now);
} -> (y);`

func TestAccumulatorCountsWithNothingSent(t *testing.T) {
	r, m := compiled(t, accumulator, compile.Options{Target: target.H13})
	if r.Report.EngineOps != 2 {
		t.Errorf("%d operations on the engine, want 2", r.Report.EngineOps)
	}
	for round := range 2 {
		for want := float32(1); want <= 4; want++ {
			y := step(t, m, nil)["y"].Floats32()
			for _, v := range y {
				if v != want {
					t.Fatalf("round %d: call %g gives %v", round, want, y)
				}
			}
		}
		m.Reset()
	}
	if err := m.SetState("total", fp16s(t, []int64{1, 4}, 10, 20, 30, 40)); err != nil {
		t.Fatal(err)
	}
	if y := step(t, m, nil)["y"].Floats32(); !slices.Equal(y, []float32{11, 21, 31, 41}) {
		t.Errorf("after setting the state: %v", y)
	}
	s, err := m.State("total")
	if err != nil || !slices.Equal(s.Floats32(), []float32{11, 21, 31, 41}) {
		t.Errorf("the state holds %v, %v", s.Floats32(), err)
	}
}

// The state's result is also a result of the function, and so is the old value.
func TestStateValueIsResult(t *testing.T) {
	_, m := compiled(t, `func main<ios18>(tensor<fp16, [1, 4]> x, state<tensor<fp16, [1, 4]>> s) {
	tensor<fp16, [1, 4]> before = read_state(input = s);
	tensor<fp16, [1, 4]> sum = add(x = before, y = x);
	tensor<fp16, [1, 4]> after = coreml_update_state(state = s, value = sum);
	} -> (before, after);`, compile.Options{Target: target.H13})
	for i := range 3 {
		out := step(t, m, map[string]interp.Tensor{"x": fp16s(t, []int64{1, 4}, 1, 2, 3, 4)})
		f := float32(i)
		got := append(out["before"].Floats32(), out["after"].Floats32()...)
		if want := []float32{f, 2 * f, 3 * f, 4 * f, f + 1, 2*f + 2, 3*f + 3, 4*f + 4}; !slices.Equal(got, want) {
			t.Fatalf("call %d gives %v, want %v", i, got, want)
		}
	}
}

// Two states that are swapped, one that takes an input and one that takes a constant: their old contents must not be
// lost on the way.
func TestStatesChangePlaces(t *testing.T) {
	_, m := compiled(t, `func main<ios18>(tensor<fp16, [2]> x, state<tensor<fp16, [2]>> a, state<tensor<fp16, [2]>`+
		`> b, state<tensor<fp16, [2]>> c, state<tensor<fp16, [2]>> d) {
	tensor<fp16, [2]> av = read_state(input = a);
	tensor<fp16, [2]> bv = read_state(input = b);
	write_state(input = a, data = bv);
	write_state(input = b, data = av);
	write_state(input = c, data = x);
	write_state(input = d, data = tensor<fp16, [2]>([7, 8]));
	tensor<fp16, [2]> cv = read_state(input = c);
	tensor<fp16, [2]> y = sub(x = av, y = cv);
	} -> (y);`, compile.Options{Target: target.H13})
	for name, v := range map[string]float32{"a": 1, "b": 2, "c": 3, "d": 4} {
		if err := m.SetState(name, fp16s(t, []int64{2}, v, v)); err != nil {
			t.Fatal(err)
		}
	}
	x := fp16s(t, []int64{2}, 5, 6)
	y := step(t, m, map[string]interp.Tensor{"x": x})["y"].Floats32()
	if !slices.Equal(y, []float32{-4, -5}) {
		t.Errorf("y is %v", y)
	}
	for name, want := range map[string][]float32{"a": {2, 2}, "b": {1, 1}, "c": {5, 6}, "d": {7, 8}} {
		if s, err := m.State(name); err != nil || !slices.Equal(s.Floats32(), want) {
			t.Errorf("state %s holds %v, want %v", name, s.Floats32(), want)
		}
	}
}

// A masked positional write: cache*(1-mask) + mask*value.
func TestCacheFillsSlotBySlot(t *testing.T) {
	const slots = 4
	r, m := compiled(t, `func main<ios18>(tensor<fp16, [1, 1, 1, 8]> value, tensor<fp16, [1, 1, 4, 1]> mask, `+
		`state<tensor<fp16, [1, 1, 4, 8]>> cache) {
	tensor<fp16, [1, 1, 4, 8]> old = read_state(input = cache);
	tensor<fp16, [1, 1, 4, 1]> keep = sub(x = fp16(1), y = mask);
	tensor<fp16, [1, 1, 4, 8]> kept = mul(x = old, y = keep);
	tensor<fp16, [1, 1, 4, 8]> put = mul(x = value, y = mask);
	tensor<fp16, [1, 1, 4, 8]> sum = add(x = kept, y = put);
	tensor<fp16, [1, 1, 4, 8]> new = coreml_update_state(state = cache, value = sum);
	tensor<fp16, [1, 1, 1, 8]> y = reduce_sum(x = new, axes = tensor<int32, [1]>([2]), keep_dims = bool(true));
	} -> (y);`, compile.Options{Target: target.H13})
	if r.Report.CPUOps != 0 {
		t.Errorf("%d operations on the CPU, want 0: %s", r.Report.CPUOps, r.Report.Line())
	}
	sum := float32(0)
	for i := range slots {
		v := make([]float32, 8)
		for k := range v {
			v[k] = float32(10*i + k + 1)
		}
		mask := make([]float32, slots)
		mask[i] = 1
		y := step(t, m, map[string]interp.Tensor{
			"value": fp16s(t, []int64{1, 1, 1, 8}, v...),
			"mask":  fp16s(t, []int64{1, 1, slots, 1}, mask...),
		})["y"].Floats32()
		if sum += v[0]; y[0] != sum {
			t.Errorf("step %d: the first column sums to %g, want %g", i, y[0], sum)
		}
		s, err := m.State("cache")
		if err != nil {
			t.Fatal(err)
		}
		for j := range slots {
			for k := range 8 {
				want := float32(0)
				if j <= i {
					want = float32(10*j + k + 1)
				}
				if got := s.Floats32()[8*j+k]; got != want {
					t.Fatalf("step %d: slot %d element %d is %g, want %g", i, j, k, got, want)
				}
			}
		}
	}
}

func recurrent(states int) string {
	var params, body strings.Builder
	last := "x"
	for i := range states {
		fmt.Fprintf(&params, ", state<tensor<fp16, [1, 64]>> s%d", i)
		fmt.Fprintf(&body, "tensor<fp16, [1, 64]> r%[1]d = read_state(input = s%[1]d); tensor<fp16, [1, 64]> "+
			"a%[1]d = add(x = r%[1]d, y = %[2]s);\n", i, last)
		fmt.Fprintf(&body, "tensor<fp16, [1, 64]> u%[1]d = coreml_update_state(state = s%[1]d, value = a%[1]d);\n", i)
		last = fmt.Sprintf("u%d", i)
	}
	return fmt.Sprintf("func main<ios18>(tensor<fp16, [1, 64]> x%s) {\n%stensor<fp16, [1, 64]> y = mul(x = %s, y = "+
		"fp16(0.5));\n} -> (y);", &params, &body, last)
}

func TestFiveStatesSixCasts(t *testing.T) {
	r, _ := compiled(t, recurrent(5), compile.Options{Target: target.H13})
	f := &r.E5.Functions[0]
	if got, want := ops(f), "6 Cast, 1 AneInference, 6 Cast"; got != want {
		t.Errorf("chain is %s, want %s", got, want)
	}
	if r.Report.Casts != 12 {
		t.Errorf("the report counts %d layout conversions, want 12", r.Report.Casts)
	}
	var last uint64
	for i, id := range f.States {
		va := f.Operands[id].Port.ApertureVA
		if va%e5.StateStride != 0 || i > 0 && va-last != e5.StateStride {
			t.Errorf("state %d lies at %#x, the one before at %#x; want %#x between", i, va, last, e5.StateStride)
		}
		last = va
	}
}

// The engine's part, a part on the CPU after it, and states on both sides.
func TestStateReadAfterWriteOnTheOtherUnit(t *testing.T) {
	_, m := compiled(t, `func main<ios18>(tensor<fp16, [1, 4]> x, state<tensor<fp16, [1, 4]>> s) {
	tensor<fp16, [1, 4]> old = read_state(input = s);
	tensor<fp16, [1, 4]> sum = add(x = old, y = x);
	write_state(input = s, data = sum);
	tensor<fp16, [1, 4]> back = mod(x = old, y = fp16(1000));
	tensor<fp16, [1, 4]> y = add(x = back, y = sum);
	} -> (y);`, compile.Options{Target: target.H13})
	held := make([]float32, 4)
	for i := range 4 {
		x := []float32{1, 2, 3, 4}
		want := make([]float32, 4)
		for k := range want {
			want[k] = 2*held[k] + x[k]
		}
		for k := range held {
			held[k] += x[k]
		}
		if y := step(t, m, map[string]interp.Tensor{"x": fp16s(t, []int64{1, 4}, x...)})["y"].Floats32(); !slices.Equal(
			y, want) {
			t.Fatalf("call %d gives %v, want %v", i, y, want)
		}
	}
}

// States that nested blocks read and write.
func TestStatesInNestedBlocks(t *testing.T) {
	_, m := compiled(t, `func main<ios18>(tensor<int32, [1]> n, tensor<bool, []> up, state<tensor<fp16, [1]>> s, `+
		`state<tensor<fp16, [1]>> c) {
	tensor<int32, [1]> out = while_loop(loop_vars = (n)) (tensor<int32, [1]> i) {
		tensor<bool, [1]> go = greater(x = i, y = int32(0));
	} -> (go) (tensor<int32, [1]> j) {
		tensor<fp16, [1]> r = read_state(input = s);
		tensor<fp16, [1]> r1 = add(x = r, y = fp16(1));
		write_state(input = s, data = r1);
		tensor<int32, [1]> j1 = sub(x = j, y = int32(1));
	} -> (j1);
	tensor<fp16, [1]> y = cond(pred = up) () {
		tensor<fp16, [1]> r2 = read_state(input = s);
		write_state(input = c, data = r2);
	} -> (r2) () {
		tensor<fp16, [1]> r3 = read_state(input = c);
	} -> (r3);
	} -> (out, y);`, compile.Options{Target: target.H13})
	bit := func(v int64) interp.Tensor {
		x, err := interp.FromInts(ir.Bool, []int64{v})
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	for i, c := range []struct{ n, up, s, c int64 }{{n: 3, up: 1, s: 3, c: 3}, {n: 2, up: 0, s: 5, c: 3},
		{n: 0, up: 1, s: 5, c: 5}, {n: 1, up: 0, s: 6, c: 5}} {
		n, err := interp.FromInts(ir.Int32, []int64{c.n}, 1)
		if err != nil {
			t.Fatal(err)
		}
		out := step(t, m, map[string]interp.Tensor{"n": n, "up": bit(c.up)})
		if y := out["y"].Floats32()[0]; y != float32(c.c) {
			t.Errorf("call %d gives %g, want %d", i, y, c.c)
		}
		for name, want := range map[string]int64{"s": c.s, "c": c.c} {
			if s, err := m.State(name); err != nil || s.Floats32()[0] != float32(want) {
				t.Errorf("call %d: state %s holds %v, want %d", i, name, s.Floats32(), want)
			}
		}
	}
}

// TestStateOfUnknownExtentsIsRefused: a state has one size, so a value whose extents only a run knows is refused before
// a pair is written that its loader would refuse. With shapes it compiles.
func TestStateOfUnknownExtentsIsRefused(t *testing.T) {
	const text = `func main<ios18>(tensor<fp16, [?, 3]> x, state<tensor<fp16, [1, 3]>> s)
	[FlexibleShapeInformation = tuple<tuple<string, dict<string, list<tensor<int32, [2]>, ?>>>>((("RangeDims",
	{{"x", [[1, 5], [3, 3]]}})))] {
	tensor<fp16, [1, 3]> y = coreml_update_state(state = s, value = x);
	} -> (y);`
	_, err := compile.All(t.Context(), program(t, text), compile.Options{Target: target.H13})
	if err == nil || !strings.Contains(err.Error(), "writes a value of type tensor<fp16, [?, 3]> to state s") {
		t.Errorf("got %v", err)
	}
	compiled(t, text, compile.Options{Target: target.H13, Shapes: []map[string][]int64{{"x": {1, 3}}}})
}
