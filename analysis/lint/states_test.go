package lint

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// stateModel is a model that reads the state s as r, of type T, and writes w, which the lines compute from r and x.
func stateModel(lines string) string {
	return `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 4]> x, state<tensor<fp16, [1, 4]>> s, state<tensor<fp16, [1, 4]>> u) {
            tensor<fp16, [1, 4]> r = read_state(input = s)[name = string("r")];
            ` + strings.ReplaceAll(lines, "T ", "tensor<fp16, [1, 4]> ") + `
        } -> (y);
}
`
}

// TestStatesHoldWhatIsWritten checks the ranges of states that the function writes.
func TestStatesHoldWhatIsWritten(t *testing.T) {
	const inc = `coreml_update_state(state = s, value = w)[name = string("z")];`
	cases := []struct {
		name, text string
		ranges     map[string]Interval
		lo, hi     Interval // of s: its bounds
		unjudged   bool
	}{
		{name: "an input", text: `
			T z = coreml_update_state(state = s, value = x)[name = string("z")];
			T y = relu(x = r)[name = string("y")];`,
			lo: interval.Span(-3, -3), hi: interval.Span(3, 3)},
		{name: "nothing", text: `
			T y = add(x = r, y = x)[name = string("y")];`,
			lo: interval.Span(0, 0), hi: interval.Span(0, 0)},
		{name: "a mean that decays", text: `
			T h = mul(x = r, y = fp16(0.5))[name = string("h")];
			T w = add(x = h, y = x)[name = string("w")];
			T z = ` + inc + `
			T y = relu(x = w)[name = string("y")];`,
			lo: interval.Span(-8, -6), hi: interval.Span(6, 8)},
		{name: "a clipped counter", text: `
			T h = add(x = r, y = fp16(1))[name = string("h")];
			T w = minimum(x = h, y = fp16(99))[name = string("w")];
			T z = ` + inc + `
			T y = relu(x = w)[name = string("y")];`,
			lo: interval.Span(0, 0), hi: interval.Span(99, 99)},
		{name: "a sum without end", text: `
			T w = add(x = r, y = x)[name = string("w")];
			T z = ` + inc + `
			T y = relu(x = r)[name = string("y")];`,
			lo: interval.Span(-inf, -inf), hi: interval.Span(inf, inf), unjudged: true},
		{name: "a sum without end of a passed range", text: `
			T w = add(x = r, y = x)[name = string("w")];
			T z = ` + inc + `
			T y = relu(x = r)[name = string("y")];`,
			ranges: map[string]Interval{"s": interval.Span(-8, 8)},
			lo:     interval.Span(-8, -8), hi: interval.Span(8, 8)},
		{name: "what another state holds", text: `
			T q = read_state(input = u)[name = string("q")];
			T w = mul(x = q, y = fp16(2))[name = string("w")];
			T z = ` + inc + `
			T v = coreml_update_state(state = u, value = x)[name = string("v")];
			T y = relu(x = r)[name = string("y")];`,
			lo: interval.Span(-6, -6), hi: interval.Span(6, 6)},
		{name: "in a branch", text: `
			tensor<int32, [2]> ax = const()[name = string("ax"), val = tensor<int32, [2]>([0, 1])];
			tensor<fp16, []> m = reduce_max(x = x, axes = ax, keep_dims = bool(false))[name = string("m")];
			bool c = greater(x = m, y = fp16(1))[name = string("c")];
			T y = cond(pred = c)[name = string("y")] {
				T w = add(x = x, y = fp16(1))[name = string("w")];
				T z = ` + inc + `
			} -> (z) {
				T w2 = add(x = r, y = fp16(0))[name = string("w2")];
			} -> (w2);`,
			lo: interval.Span(-2, -2), hi: interval.Span(4, 4)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := lintText(t, []byte(stateModel(c.text)), c.ranges)
			f := r.Functions[0]
			i := slices.IndexFunc(f.States, func(x InputRange) bool { return x.Name == "s" })
			if i < 0 {
				t.Fatalf("states %v", f.States)
			}
			if s := f.States[i].Range; !c.lo.Has(float64(s[0])) || !c.hi.Has(float64(s[1])) {
				t.Errorf("the state is from %v to %v, want %v and %v", s[0], s[1], c.lo, c.hi)
			}
			if (f.Unjudged > 0) != c.unjudged {
				t.Errorf("%d statements are not judged", f.Unjudged)
			}
			if c.unjudged && (len(f.Roots) != 1 || !strings.Contains(f.Roots[0].Instead, "range of the state s")) {
				t.Errorf("roots %+v", f.Roots)
			}
			if c.ranges == nil {
				carried(t, []byte(stateModel(c.text)))
			}
		})
	}
}

// carried runs a model many times with its states kept, and compares every value with its range.
func carried(t *testing.T, text []byte) {
	t.Helper()
	f, err := openText(t, text).Program.Entry("")
	if err != nil {
		t.Fatal(err)
	}
	a := analyse(f, map[string]Interval{"x": interval.Span(-3, 3)})
	p, err := interp.Prepare(f)
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]interp.Tensor{}
	for k := range 200 {
		x, err := interp.FromFloats(ir.FP16, []float32{-3, 3, float32(k%7) - 3, 1}, 1, 4)
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Run(t.Context(), map[string]interp.Tensor{"x": x}, interp.Options{States: states, Workers: 1,
			Trace: func(op *ir.Op, results []interp.Tensor) {
				for i, v := range op.Results {
					for _, y := range results[i].Const().Floats() {
						if !a.Range(v).Has(y) {
							t.Fatalf("call %d: %s is %g, outside %v", k, v.Name, y, a.Range(v))
						}
					}
				}
			}})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestComponentsComeAfterWhatTheyNeed checks the order and the cycles of a graph.
func TestComponentsComeAfterWhatTheyNeed(t *testing.T) {
	got := components([][]int{{1}, {2, 4}, {3}, {1}, {}, {0, 5}})
	for _, c := range got {
		slices.Sort(c)
	}
	want := [][]int{{4}, {1, 2, 3}, {0}, {5}}
	if !slices.EqualFunc(got, want, slices.Equal[[]int]) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestDecodersAreJudged checks that key-value caches keep no statement from being judged: what is not, comes after a
// finding.
func TestDecodersAreJudged(t *testing.T) {
	for _, name := range []string{"llm-s16", "kvshift", "kv-a"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(shareddir.Find(t), "converted", name+".mlpackage")
			m, err := frontend.Open(path, frontend.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			r, err := Run(t.Context(), m.Program, Options{Compile: options, Work: -1})
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range r.Functions[0].Roots {
				if x.Rule == "" {
					t.Errorf("%d statements are not judged after %s: %s", x.Behind, x.Value, x.Instead)
				}
			}
		})
	}
}
