package split_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/internal/test/difftest"
	"github.com/zinc-compiler/zinc/internal/test/irmodels"
	"github.com/zinc-compiler/zinc/internal/testform"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
	"github.com/zinc-compiler/zinc/transform/split"
)

// text opens a function body with fp16 input x as a program.
func text(t *testing.T, params, body, outputs string) *ir.Program {
	t.Helper()
	src := fmt.Sprintf("program(1.3)\n{\n    func main<ios18>(%s) {\n%s\n        } -> (%s);\n}\n", params, body,
		outputs)
	path := filepath.Join(t.TempDir(), "model.mil")
	if err := os.WriteFile(path, []byte(src), 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := frontend.Open(path, frontend.Options{Name: "model.mil"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m.Program
}

// run runs functions one after the other, each with the inputs that it names.
func run(t *testing.T, fs []*ir.Func, known, states map[string]interp.Tensor) map[string]interp.Tensor {
	t.Helper()
	for _, f := range fs {
		in := map[string]interp.Tensor{}
		for _, p := range f.Body.Params {
			if x, ok := known[p.Name]; ok {
				in[p.Name] = x
			}
		}
		out, err := interp.Run(t.Context(), f, in, interp.Options{States: states, Seed: 1})
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		for n, x := range out {
			known[n] = x
		}
	}
	return known
}

// compare checks that the parts compute what the function computes, bit for bit.
func compare(t *testing.T, f *ir.Func, parts []split.Part) {
	t.Helper()
	inputs := func() map[string]interp.Tensor {
		in := map[string]interp.Tensor{}
		for _, p := range f.Body.Params {
			if p.Type.Kind == ir.Tensor {
				x, err := verify.Random(p.Type, p.Name, 1)
				if err != nil {
					t.Fatal(err)
				}
				in[p.Name] = x
			}
		}
		return in
	}
	fs := []*ir.Func{}
	for _, p := range parts {
		fs = append(fs, p.Program.Funcs[0])
	}
	held, cut := map[string]interp.Tensor{}, map[string]interp.Tensor{}
	want, got := run(t, []*ir.Func{f}, inputs(), held), run(t, fs, inputs(), cut)
	for _, v := range f.Body.Outputs {
		if a, b := want[v.Name], got[v.Name]; !a.Type.Equal(b.Type) || !bytes.Equal(a.Data, b.Data) {
			t.Errorf("%q differs", v.Name)
		}
	}
	for n, a := range held {
		if !bytes.Equal(a.Data, cut[n].Data) {
			t.Errorf("state %q differs", n)
		}
	}
}

// TestPartsComputeTheFunction cuts random programs and models with the structure of published ones.
func TestPartsComputeTheFunction(t *testing.T) {
	cut := 0
	check := func(t *testing.T, p *ir.Program, parts int) {
		f := p.Funcs[0]
		ps, err := split.Cut(p, f, split.Options{Parts: parts})
		if err != nil {
			return // that errors are right is for the other tests
		}
		cut++
		compare(t, f, ps)
	}
	for n := range uint64(testform.Of(300, 1500, 20000)) {
		p, _ := difftest.Trial(n, target.H13)
		t.Run(fmt.Sprint(n), func(t *testing.T) { check(t, p.IR, 2+int(n%3)) })
	}
	if cut < 100 {
		t.Errorf("only %d programs were cut", cut)
	}
	for i := range irmodels.Models {
		m := &irmodels.Models[i]
		t.Run(m.Name, func(t *testing.T) {
			if testing.Short() {
				t.Skip("two runs of a large model take seconds")
			}
			before := cut
			if check(t, m.Program(), 4); cut == before {
				t.Error("it was not cut")
			}
		})
	}
}

// TestCorpusIsCut cuts every function of the real models whose weights are there.
func TestCorpusIsCut(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(shareddir.Find(t), "corpus", "*"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, dir := range dirs {
		m, err := frontend.Open(dir, frontend.Options{})
		if err != nil {
			continue
		}
		for _, f := range m.Program.Funcs {
			parts, err := split.Cut(m.Program, f, split.Options{Parts: min(3, len(f.Body.Ops))})
			if err != nil {
				t.Logf("%s: %s: %v", filepath.Base(dir), f.Name, err)
				continue
			}
			n++
			if ops := sum(parts); ops < len(f.Body.Ops) {
				t.Errorf("%s: %s: the parts have %d operations, the function %d", dir, f.Name, ops, len(f.Body.Ops))
			}
		}
		m.Close()
	}
	if n == 0 {
		t.Error("nothing was cut")
	}
}

func sum(parts []split.Part) (n int) {
	for i := range parts {
		n += parts[i].Operations
	}
	return n
}

// vector returns the statement of a constant of 64 elements.
func vector(name string, value int) string {
	return fmt.Sprintf("tensor<fp16, [64]> %s = const()[val = tensor<fp16, [64]>([%s])];\n", name,
		strings.Repeat(fmt.Sprintf("%d, ", value), 63)+fmt.Sprint(value))
}

// TestLimitHolds checks that the constants of each part are within the limit, that there are as few parts as that
// allows, and that a constant that two parts read is in both.
func TestLimitHolds(t *testing.T) {
	var body strings.Builder
	for i := range 4 {
		body.WriteString(vector(fmt.Sprintf("w%d", i), i+1))
	}
	x := "x"
	for i := range 8 {
		fmt.Fprintf(&body, "tensor<fp16, [64]> y%d = add(x = %s, y = w%d);\n", i, x, i%4)
		x = fmt.Sprintf("y%d", i)
	}
	p := text(t, "tensor<fp16, [64]> x", body.String(), "y7")
	for _, c := range []struct {
		limit int64
		want  []int64
	}{{128, []int64{128, 128, 128, 128, 128, 128, 128, 128}}, {512, []int64{512}}, {256, []int64{256, 256, 256, 256}}} {
		ps, err := split.Cut(p, p.Funcs[0], split.Options{Bytes: c.limit})
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, q := range ps {
			got = append(got, q.Bytes)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("limit %d: the parts have %d bytes of constants, want %d", c.limit, got, c.want)
		}
		compare(t, p.Funcs[0], ps)
	}
}

// TestCutsAreWhereLittleCrosses checks that a cut is moved from between operations on a large tensor to the small one
// beside them.
func TestCutsAreWhereLittleCrosses(t *testing.T) {
	var body strings.Builder
	x := "x"
	for i := range 32 {
		fmt.Fprintf(&body, "tensor<fp16, [4, 64]> r%d = relu(x = %s);\n", i, x)
		x = fmt.Sprintf("r%d", i)
		if i == 17 {
			fmt.Fprintf(&body, "tensor<fp16, [1, 64]> s = reduce_sum(x = %s, axes = tensor<int32, [1]>([0]), "+
				"keep_dims = bool(true));\n", x)
			fmt.Fprintf(&body, "tensor<fp16, [4, 64]> t = tile(x = s, reps = tensor<int32, [2]>([4, 1]));\n")
			x = "t"
		}
	}
	p := text(t, "tensor<fp16, [4, 64]> x", body.String(), x)
	ps, err := split.Cut(p, p.Funcs[0], split.Options{Parts: 2})
	if err != nil {
		t.Fatal(err)
	}
	if out := ps[0].Program.Funcs[0].Body.Outputs; len(out) != 1 || out[0].Name != "s" {
		t.Errorf("%s crosses, want s", out[0].Name)
	}
}

// TestUnpackedConstantsAreCopied checks that an operation that unpacks a constant is in each part that reads its
// result, and that its result does not cross.
func TestUnpackedConstantsAreCopied(t *testing.T) {
	p := text(t, "tensor<fp16, [64]> x", "tensor<fp16, [64]> w = constexpr_affine_dequantize(axis = int32(0), "+
		"quantized_data = tensor<int8, [64]>(["+strings.Repeat("3, ", 63)+"4]), scale = fp16(0.5), "+
		"zero_point = int8(1));\ntensor<fp16, [64]> a = add(x = x, y = w);\n"+
		"tensor<fp16, [64]> b = mul(x = a, y = w);\n", "b, w")
	ps, err := split.Cut(p, p.Funcs[0], split.Options{Parts: 2})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"x -> a", "a -> b, w"} {
		f := ps[i].Program.Funcs[0]
		var in, out []string
		for _, v := range f.Body.Params {
			in = append(in, v.Name)
		}
		for _, v := range f.Body.Outputs {
			out = append(out, v.Name)
		}
		if got := strings.Join(in, ", ") + " -> " + strings.Join(out, ", "); got != want || ps[i].Operations != 2 {
			t.Errorf("part %d: %s, %d operations; want %s, 2", i+1, got, ps[i].Operations, want)
		}
	}
	compare(t, p.Funcs[0], ps)
}

// TestResultsThatAreInputs checks that results that no operation computes come from the last part.
func TestResultsThatAreInputs(t *testing.T) {
	p := text(t, "tensor<fp16, [4]> x, tensor<fp16, [4]> z", "tensor<fp16, [4]> a = relu(x = x);\n"+
		"tensor<fp16, [4]> b = relu(x = a);\n", "z, a, b")
	ps, err := split.Cut(p, p.Funcs[0], split.Options{Parts: 2})
	if err != nil {
		t.Fatal(err)
	}
	compare(t, p.Funcs[0], ps)
}

// TestBarredCuts checks the errors: what may not cross, states on both sides, too few operations, too large constants.
func TestBarredCuts(t *testing.T) {
	const vec, state = "tensor<fp16, [64]>", "state<tensor<fp16, [64]>>"
	for _, c := range []struct {
		params, body, outputs string
		o                     split.Options
		want                  string
	}{
		{
			params: vec + " x", o: split.Options{Parts: 2}, outputs: "y",
			body: "tensor<bool, [64]> b = greater(x = x, y = fp16(0));\n" +
				vec + " y = cast(x = b, dtype = string(\"fp16\"));\n",
			want: `before cast "y" of line 5: "b", tensor<bool, [64]>, would cross`,
		},
		{
			params: vec + " x, " + state + " s", o: split.Options{Parts: 2}, outputs: "c",
			body: vec + " a = read_state(input = s);\n" + vec + " b = add(x = a, y = x);\n" +
				vec + " c = coreml_update_state(state = s, value = b);\n",
			want: `state "s" has operations on both sides`,
		},
		{
			params: vec + " x", o: split.Options{Parts: 2}, outputs: "y", body: vec + " y = relu(x = x);\n",
			want: "want at most 1 parts, one for each operation; got 2",
		},
		{
			params: vec + " x", o: split.Options{Bytes: 100}, outputs: "y",
			body: vector("w", 1) + vec + " y = add(x = x, y = w);\n",
			want: `model.mil:3:5: function main: add "y" of line 5 has 128 bytes of constants, ` +
				"more than the 100 of a part",
		},
		{
			params: vec + " x", o: split.Options{Bytes: 200}, outputs: "y",
			body: vector("w", 1) + vector("u", 2) + "tensor<bool, [64]> b = greater(x = x, y = w);\n" +
				"tensor<bool, [64]> c = logical_not(x = b);\n" + vec + " y = select(cond = c, a = u, b = x);\n",
			want: "no cut keeps the constants of a part within 200 bytes: before",
		},
	} {
		p := text(t, c.params, c.body, c.outputs)
		if _, err := split.Cut(p, p.Funcs[0], c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.body, err, c.want)
		}
	}
}
