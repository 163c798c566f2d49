package explain

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// model opens the program of a function's statements. The statement that tests explain has the result y, and the
// function returns z, which has the same shape.
func model(t testing.TB, params string, body ...string) *ir.Program {
	t.Helper()
	text := "program(1.3)\n{\n    func main<ios18>(" + params + ") {\n"
	for _, l := range body {
		text += "            " + l + ";\n"
	}
	text += "        } -> (z);\n}\n"
	path := filepath.Join(t.TempDir(), "m.mil")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := frontend.Open(path, frontend.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	t.Cleanup(func() { m.Close() })
	return m.Program
}

func options() Options {
	return Options{Compile: compile.Options{Target: target.H13, SplitKernel: true}, Rewrites: true, Seed: 3}
}

// list is the text of n numbers, n even.
func list(n int) string { return "[" + strings.Repeat("0.25, -0.5, ", n/2-1) + "0.25, -0.5]" }

// cases has models for which a row of Recipes is offered, in addition to those of testdata.
var cases = []struct {
	recipe, params string
	body           []string
}{
	{"fix-shape", "tensor<fp16, [1, ?, 8]> x", []string{"tensor<fp16, [1, ?, 8]> y = relu(x = x)",
		"tensor<fp16, [1, ?, 8]> z = tanh(x = y)"}},
	{"fix-shape", "tensor<fp16, [?, 8]> x, tensor<fp16, [?, 8]> w",
		[]string{"tensor<fp16, [?, 8]> y = add(x = x, y = w)", "tensor<fp16, [?, 8]> z = relu(x = y)"}},
	{"compute-in-fp16", "tensor<fp32, [1, 8]> x, tensor<fp32, [1, 8]> w",
		[]string{"tensor<fp32, [1, 8]> y = mul(x = x, y = w)", "tensor<fp32, [1, 8]> z = exp(x = y)"}},
	{"compute-in-fp16", "tensor<fp32, [2, 8]> x", []string{"tensor<fp32, [2, 8]> y = softmax(axis = int32(1), x = x)",
		"tensor<fp32, [2, 8]> z = identity(x = y)"}},
	{"fold-rows", "tensor<fp16, [2, 30000]> x", []string{"tensor<fp16, [2, 30000]> y = mul(x = x, y = fp16(0.5))",
		"tensor<fp16, [2, 30000]> z = identity(x = y)"}},
	{"fold-rows", "tensor<fp16, [4, 8192]> x",
		[]string{"tensor<fp16, [1, 32768]> r = reshape(shape = tensor<int32, [2]>([1, 32768]), x = x)",
			"tensor<fp16, [1, 32768]> y = clip(alpha = fp16(-1), beta = fp16(1), x = r)",
			"tensor<fp16, [4, 8192]> z = reshape(shape = tensor<int32, [2]>([4, 8192]), x = y)"}},
	{"fold-rows", "tensor<fp16, [1, 32768]> x",
		[]string{"tensor<fp16, [1, 1, 1, 32768]> y = mul(x = x, y = tensor<fp16, [1, 1, 1, 1]>([2]))",
			"tensor<fp16, [1, 1, 1, 32768]> z = identity(x = y)"}},
	{"split-outputs", "tensor<fp16, [3, 2]> x", []string{"tensor<fp16, [3, 20000]> y = matmul(x = x, y = " +
		"tensor<fp16, [2, 20000]>([" + list(20000) + ", " + list(20000) + "]), transpose_x = bool(false), " +
		"transpose_y = bool(false))", "tensor<fp16, [3, 20000]> z = identity(x = y)"}},
	{"split-outputs", "tensor<fp16, [1, 2, 4]> x", []string{"tensor<fp16, [1, 70000, 4]> y = conv(x = x, weight = " +
		"tensor<fp16, [70000, 2, 1]>([" + strings.Repeat("[[0.5], [2]], ", 69999) + "[[3], [0.25]]]), pad_type = " +
		`string("valid"), strides = tensor<int32, [1]>([1]), pad = tensor<int32, [2]>([0, 0]), dilations = ` +
		"tensor<int32, [1]>([1]), groups = int32(1))", "tensor<fp16, [1, 70000, 4]> z = identity(x = y)"}},
	{"merge-dimensions", "tensor<fp16, [1, 2, 3, 2, 3, 8]> x",
		[]string{"tensor<fp16, [1, 2, 3, 2, 3, 8]> y = relu(x = x)",
			"tensor<fp16, [1, 2, 3, 2, 3, 8]> z = identity(x = y)"}},
	{"split-kernel", "tensor<fp16, [1, 2, 40]> x",
		[]string{"tensor<fp16, [2, 2, 16]> w = const()[val = tensor<fp16, [2, 2, 16]>([[" + list(16) + ", " + list(16) +
			"], [" + list(16) + ", " + list(16) + "]])]",
			`tensor<fp16, [1, 2, 13]> y = conv(dilations = tensor<int32, [1]>([2]), groups = int32(1), pad = ` +
				`tensor<int32, [2]>([10, 5]), pad_type = string("custom"), strides = tensor<int32, [1]>([2]), ` +
				`weight = w, x = x)`, "tensor<fp16, [1, 2, 13]> z = relu(x = y)"}},
}

// TestEveryRecipeIsOfferedForAModel explains a small model for each row of the table.
func TestEveryRecipeIsOfferedForAModel(t *testing.T) {
	// TestExplanationsOfComplaintsMatchGolden is offered these.
	offered := map[string]bool{"split-channels": true, "one-hot": true, "pad-states": true}
	for _, c := range cases {
		t.Run(c.recipe, func(t *testing.T) {
			a, err := Explain(context.Background(), model(t, c.params, c.body...), Place{Name: "y"}, options())
			if err != nil {
				t.Fatal(err)
			}
			if len(a.Rewrites) == 0 || a.Rewrites[0].Name != c.recipe {
				t.Fatalf("refused for %+v, offered %+v, tried %+v", a.Refused(), a.Rewrites, a.Tried)
			}
			if len(a.Rewrites[0].Diff) == 0 || len(a.Rewrites[0].Engine) == 0 || len(a.Rewrites[0].Outputs) == 0 {
				t.Errorf("%+v", a.Rewrites[0])
			}
			offered[c.recipe] = true
		})
	}
	for _, r := range Recipes {
		if !offered[r.Name] {
			t.Errorf("%s is not offered for any model", r.Name)
		}
		for _, id := range r.Rules {
			if _, ok := target.RuleOf(id); !ok {
				t.Errorf("%s is for rule %q, which does not exist", r.Name, id)
			}
		}
		if r.Doc == "" && (len(r.Ops) == 0 || r.Writes(r.Ops[0]) == "") {
			t.Errorf("%s does not state what it writes", r.Name)
		}
	}
}

// TestWrongRecipesAreNotOffered tries recipes each of which is wrong in another way.
func TestWrongRecipesAreNotOffered(t *testing.T) {
	p := model(t, "tensor<fp16, [1, 4, 16]> x",
		"tensor<fp16, [1, 4, 16]> y = sinh(x = x)",
		"tensor<fp16, [1, 4, 16]> z = relu(x = y)")
	s, err := find(p, Place{Name: "y"}, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, want string
		apply      func(e *edit)
	}{
		{"other values", "from the original", func(e *edit) {
			e.become(e.do(ir.OpMul, arg{"x", e.op.Arg("x")}, arg{"y", e.num(ir.FP16, 1.5)}))
		}},
		{"on the CPU", "runs on the CPU: the engine has no sinh", func(e *edit) { e.become(e.again()) }},
		{"another shape", "the replacement has the type", func(e *edit) { e.become(e.slice(e.op.Arg("x"), 2, 0, 8)) }},
		{"no such operation", "has no parameter", func(e *edit) { e.become(e.do(ir.OpRelu, arg{"y", e.op.Arg("x")})) }},
		{"moves only", "nothing of the replacement runs on the engine", func(e *edit) {
			e.become(e.reshape(e.reshape(e.op.Arg("x"), 4, 16), 1, 4, 16))
		}},
		{"wrong arguments", "reshape", func(e *edit) { e.become(e.reshape(e.op.Arg("x"), 5, 16)) }},
		{"a name twice", "not valid", func(e *edit) {
			v := e.do(ir.OpRelu, arg{"x", e.op.Arg("x")})
			v.Name = "x"
			e.become(e.do(ir.OpTanh, arg{"x", v}))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Recipe{Name: "wrong", apply: c.apply}
			w, err := r.try(context.Background(), p, s, options())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v, %v; wanted %q", w, err, c.want)
			}
		})
	}
	if err := ir.Verify(p); err != nil {
		t.Errorf("the program was changed: %v", err)
	}
}

// TestHazardsAreThoseOfTheStatement checks that the exponential of numbers that can be large has a hazard, and the
// multiplication before it has none.
func TestHazardsAreThoseOfTheStatement(t *testing.T) {
	p := model(t, "tensor<fp16, [1, 8]> x", "tensor<fp16, [1, 8]> h = mul(x = x, y = fp16(8))",
		"tensor<fp16, [1, 8]> y = exp(x = h)", "tensor<fp16, [1, 8]> z = relu(x = y)")
	o := options()
	o.Hazards = true
	for name, rule := range map[string]string{"y": "exp-overflow", "h": ""} {
		a, err := Explain(context.Background(), p, Place{Name: name}, o)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, h := range a.Hazards {
			got += h.Rule
		}
		if got != rule {
			t.Errorf("%s: %q, wanted %q", name, got, rule)
		}
	}
}

// TestStatementsOfLargeFunctionsAreRewrittenAlone rewrites a statement of a function that is too large to run as a
// whole.
func TestStatementsOfLargeFunctionsAreRewrittenAlone(t *testing.T) {
	body := []string{"tensor<fp16, [1, 16]> h0 = relu(x = x)"}
	for i := range maxWhole {
		body = append(body, strings.NewReplacer("B", "h"+itoa(i), "A", "h"+itoa(i+1)).
			Replace("tensor<fp16, [1, 16]> A = tanh(x = B)"))
	}
	body = append(body, `tensor<fp32, [1, 16]> w = cast(dtype = string("fp32"), x = h`+itoa(maxWhole)+")",
		"tensor<fp32, [1, 16]> y = exp(x = w)", `tensor<fp16, [1, 16]> z = cast(dtype = string("fp16"), x = y)`)
	a, err := Explain(context.Background(), model(t, "tensor<fp16, [1, 16]> x", body...), Place{Name: "y"}, options())
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Rewrites) != 1 || a.Rewrites[0].Whole || len(a.Rewrites[0].Program().Funcs[0].Body.Ops) > 8 {
		t.Errorf("%+v %+v", a.Rewrites, a.Tried)
	}
}

// TestStatementsAreRewrittenWithTheirStates rewrites a statement between accesses of two states, one of which is wide
// enough, in such a function.
func TestStatementsAreRewrittenWithTheirStates(t *testing.T) {
	body := []string{"tensor<fp16, [1, 2, 40]> r = read_state(input = s)",
		"tensor<fp16, [1, 2, 40]> r2 = read_state(input = s2)", "tensor<fp16, [1, 2, 40]> k = read_state(input = s)",
		"tensor<fp16, [1, 2, 40]> h0 = relu(x = x)"}
	for i := range maxWhole {
		body = append(body, strings.NewReplacer("B", "h"+itoa(i), "A", "h"+itoa(i+1)).
			Replace("tensor<fp16, [1, 2, 40]> A = tanh(x = B)"))
	}
	body = append(body, "tensor<fp16, [1, 2, 40]> y = add(x = r, y = h"+itoa(maxWhole)+")",
		"tensor<fp16, [1, 2, 40]> u = coreml_update_state(state = s, value = y)",
		"tensor<fp16, [1, 2, 40]> v = mul(x = r2, y = k)", "tensor<fp16, [1, 2, 40]> z = sub(x = u, y = v)")
	o := options()
	o.Compile.Target = target.H16
	a, err := Explain(context.Background(),
		model(t, "tensor<fp16, [1, 2, 40]> x, state<tensor<fp16, [1, 2, 40]>> s, state<tensor<fp16, [1, 2, 40]>> s2",
			body...), Place{Name: "y"}, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Rewrites) != 1 || a.Rewrites[0].Whole || a.Rewrites[0].Ran != "h13" || len(a.Rewrites[0].Host) > 0 ||
		!strings.Contains(strings.Join(a.Rewrites[0].Engine, "; "), `add "y"`) {
		t.Errorf("%+v %+v", a.Rewrites, a.Tried)
	}
}

func itoa(i int) string { return strings.TrimLeft(dims([]int64{int64(i)}), " ") }

func TestStatementsAreFoundByLineAndName(t *testing.T) {
	p := model(t, "tensor<fp16, [1, 16]> x", "tensor<fp16, [16]> c = const()[val = tensor<fp16, [16]>("+list(16)+")]",
		"tensor<fp16, [1, 16]> y = mul(x = x, y = c)",
		"tensor<fp16, [1, 16]> w = relu(x = y); tensor<fp16, [1, 16]> z = tanh(x = w)")
	for _, c := range []struct {
		at         Place
		want, fail string
	}{
		{Place{Line: 5}, `mul "y" (line 5)`, ""},
		{Place{Line: 4}, `const "c" (line 4)`, ""},
		{Place{Name: "c"}, `const "c" (line 4)`, ""},
		{Place{Name: "x"}, `input "x" (line 3)`, ""},
		{Place{Name: "z"}, `tanh "z" (line 6)`, ""},
		{Place{Line: 6}, "", `several statements at line 6; there are relu "w" (line 6), tanh "z" (line 6); ` +
			`use the name of one`},
		{Place{Line: 99}, "", `no statement at line 99; near it there are relu "w" (line 6)`},
		{Place{Line: 1}, "", `no statement at line 1; near it there are input "x" (line 3)`},
		{Place{Name: "Z"}, "", `no statement at "Z"; near it there are tanh "z" (line 6)`},
		{Place{Name: "zz"}, "", `no statement at "zz"`},
		{Place{Name: "none"}, "", `no statement at "none"`},
	} {
		s, err := find(p, c.at, "")
		switch {
		case err != nil && err.Error() != c.fail:
			t.Errorf("%s: %v, wanted %q", c.at, err, c.fail)
		case err == nil && (s.String() != c.want || c.fail != ""):
			t.Errorf("%s: %s, wanted %q %q", c.at, s, c.want, c.fail)
		}
	}
	if _, err := find(p, Place{Name: "y"}, "other"); err == nil {
		t.Error("a statement was found in an unknown function")
	}
}

// TestSimilarNamesAreSuggested also checks their order.
func TestSimilarNamesAreSuggested(t *testing.T) {
	var all []*found
	for _, n := range []string{"encoder_layer_1_norm", "query_cast", "query_1_cast", "key_1_cast",
		strings.Repeat("q", 500)} {
		all = append(all, &found{value: &ir.Value{Name: n, Const: &ir.Const{}}})
	}
	for _, c := range []struct{ name, want string }{
		{"query_cst", "query_cast query_1_cast"}, {"Query_1_Cast", "query_1_cast query_cast key_1_cast"},
		{"norm", "encoder_layer_1_norm"},
		{"", ""}, {"nothing like it", ""}, {strings.Repeat("z", 1000), ""},
	} {
		var got []string
		for _, s := range alike(all, c.name) {
			got = append(got, s.name())
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q: %q, wanted %q", c.name, got, c.want)
		}
	}
}

// TestRepeatedFindsPatternsOfTasks has a letter for what a task does.
func TestRepeatedFindsPatternsOfTasks(t *testing.T) {
	for _, c := range []struct {
		tasks         string
		period, times int
	}{
		{"a", 1, 1}, {"ab", 1, 1}, {"aaab", 1, 3}, {"ababab", 2, 3}, {"abababa", 2, 3}, {"abcabcabd", 3, 2},
		{"aabaab", 3, 2}, {"abcdefghiabcdefghi", 1, 1}, {"aab", 1, 2}, {"aa-aa", 1, 2},
	} {
		var ts []Task
		for i, r := range strings.ReplaceAll(c.tasks, "-", "") {
			x := Task{Index: i, Kind: string(r)}
			if cut := strings.IndexByte(c.tasks, '-'); cut >= 0 && i >= cut {
				x.Index++ // another operation's is between
			}
			ts = append(ts, x)
		}
		if p, n := repeated(ts); p != c.period || n != c.times {
			t.Errorf("%s: %d times %d, wanted %d times %d", c.tasks, n, p, c.times, c.period)
		}
	}
}

// TestConstantsNameTheirReadersInTheSource explains a constant whose reader passes rewrote without it.
func TestConstantsNameTheirReadersInTheSource(t *testing.T) {
	p := model(t, "tensor<fp16, [1, 2, 16]> x", "tensor<int32, [1]> s = const()[val = tensor<int32, [1]>([4])]",
		"tensor<fp16, [2, 2, 3]> w = const()[val = tensor<fp16, [2, 2, 3]>([[[1, 2, 3], [3, 2, 1]], [[1, 2, 3], "+
			"[4, 5, 6]]])]",
		`tensor<fp16, [1, 2, 4]> y = conv(dilations = tensor<int32, [1]>([1]), groups = int32(1), pad = `+
			`tensor<int32, [2]>([0, 0]), pad_type = string("valid"), strides = s, weight = w, x = x)`,
		"tensor<fp16, [1, 2, 4]> z = relu(x = y)")
	a, err := Explain(context.Background(), p, Place{Name: "s"}, options())
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Operators) == 0 || len(a.Notes) != 1 || !strings.Contains(a.Notes[0], `conv "y", line 6, names it`) {
		t.Errorf("%+v, %q", a.Operators, a.Notes)
	}
}

func TestLongListsOfValuesAreShortened(t *testing.T) {
	long := strings.Repeat("0.125, ", 20)
	for _, c := range [][2]string{
		{"y = relu(x = x);", "y = relu(x = x);"},
		{"a([1, 2]) b([[1], [2]]);", "a([1, 2]) b([[1], [2]]);"},
		{"a([1, 2]) b([[" + long + "1], [" + long + "2]]) c([3]);",
			"a([1, 2]) b([[0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125, ...]) c([3]);"},
		{"broken([1, 2", "broken([1, 2"},
	} {
		if got := elide(c[0]); got != c[1] {
			t.Errorf("%q is shortened to %q, wanted %q", c[0], got, c[1])
		}
	}
}

func TestDiffListsRemovedAndAddedLines(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"a b c", "a x c", "- b|+ x"},
		{"a b", "a b", ""},
		{"", "a", "+ a"},
		{"a", "", "- a"},
		{"a b c d", "b x d e", "- a|- c|+ x|+ e"},
	} {
		if got := strings.Join(diff(strings.Fields(c.a), strings.Fields(c.b)), "|"); got != c.want {
			t.Errorf("%q to %q: %q, wanted %q", c.a, c.b, got, c.want)
		}
	}
}
