package explain

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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

// cases has models for which a row of Recipes is offered, in addition to the models in testdata.
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
		if len(r.Rules) > 0 && !offered[r.Name] {
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

// faster has models for rows of Recipes without rules: the row applies to the statement that computes y. Where the note
// is empty, the parts of the model that the row looks at are in the order of a converter.
var faster = []struct {
	recipe, params string
	body           []string
}{
	{"island-in-fp16", "tensor<fp16, [2, 8]> x", []string{
		`tensor<fp32, [2, 8]> a = cast(dtype = string("fp32"), x = x)`,
		"tensor<fp32, [2, 8]> b = softmax(axis = int32(-1), x = a)",
		"tensor<fp32, [2, 8]> c = mul(x = b, y = fp32(0.5))",
		`tensor<fp16, [2, 8]> y = cast(dtype = string("fp16"), x = c)`, "tensor<fp16, [2, 8]> z = relu(x = y)"}},
	{"island-in-fp16", "tensor<fp32, [2, 8]> x", []string{ // a scale before the cast
		"tensor<fp32, [2, 8]> a = mul(x = x, y = fp32(0.25))",
		`tensor<fp16, [2, 8]> y = cast(dtype = string("fp16"), x = a)`, "tensor<fp16, [2, 8]> z = relu(x = y)"}},
	{"fp16-inputs", "tensor<fp32, [2, 8]> x", []string{
		`tensor<fp16, [2, 8]> y = cast(dtype = string("fp16"), x = x)`, "tensor<fp16, [2, 8]> a = relu(x = y)",
		`tensor<fp32, [2, 8]> z = cast(dtype = string("fp32"), x = a)`}},
	{"attention-by-head", attentionParams, attentionBody},
	{"attention-in-channels", attentionParams, attentionBody},
	{"attention-by-head", apartParams, apartBody},
	{"attention-in-channels", apartParams, apartBody},
	{"attention-by-head", groupedParams, groupedAttention},
	{"attention-in-channels", groupedParams, groupedAttention},
	{"group-queries", groupedParams, groupedAttention},
	{"group-queries", "tensor<fp16, [1, 4, 3, 8]> q, tensor<fp16, [1, 2, 5, 8]> k", []string{
		"tensor<fp16, [1, 2, 1, 5, 8]> e = reshape(shape = tensor<int32, [5]>([1, 2, 1, 5, 8]), x = k)",
		"tensor<fp16, [1, 2, 2, 5, 8]> t = tile(reps = tensor<int32, [5]>([1, 1, 2, 1, 1]), x = e)",
		"tensor<fp16, [1, 4, 5, 8]> r = reshape(shape = tensor<int32, [4]>([1, 4, 5, 8]), x = t)",
		"tensor<fp16, [1, 4, 3, 5]> y = matmul(transpose_x = bool(false), transpose_y = bool(true), x = q, y = r)",
		"tensor<fp16, [1, 4, 3, 5]> z = relu(x = y)"}},
	{"normalise-late", "tensor<fp16, [1, 3, 40]> x, tensor<fp16, [1, 40, 8]> v", []string{
		"tensor<fp16, [1, 3, 40]> p = softmax(axis = int32(-1), x = x)",
		"tensor<fp16, [1, 3, 8]> y = matmul(transpose_x = bool(false), transpose_y = bool(false), x = p, y = v)",
		"tensor<fp16, [1, 3, 8]> z = relu(x = y)"}},
	{"softmax-over-channels", "tensor<fp16, [1, 2, 3, 8]> x", []string{
		"tensor<fp16, [1, 2, 3, 8]> y = softmax(axis = int32(3), x = x)",
		"tensor<fp16, [1, 2, 3, 8]> z = relu(x = y)"}},
	{"merge-convolutions", "tensor<fp16, [1, 2, 6, 7]> x", []string{conv("a", "x", "[1, 3, 6, 7]", "[3, 2, 3, 3]",
		"1, 1, 1, 1", "1, 1", "bias = tensor<fp16, [3]>([1, -2, 0.5]), "),
		conv("y", "a", "[1, 2, 4, 3]", "[2, 3, 3, 2]", "0, 0, 0, 0", "1, 2", "bias = tensor<fp16, [2]>([3, 0.25]), "),
		"tensor<fp16, [1, 2, 4, 3]> z = relu(x = y)"}},
	{"merge-convolutions", "tensor<fp16, [1, 2, 6, 7]> x", []string{conv("a", "x", "[1, 3, 3, 4]", "[3, 2, 3, 3]",
		"1, 1, 1, 1", "2, 2", ""), conv("y", "a", "[1, 2, 3, 4]", "[2, 3, 1, 1]", "0, 0, 0, 0", "1, 1", ""),
		"tensor<fp16, [1, 2, 3, 4]> z = relu(x = y)"}},
	{"merge-convolutions", "tensor<fp16, [1, 2, 6, 7]> x", []string{conv("a", "x", "[1, 3, 6, 7]", "[3, 2, 1, 1]",
		"0, 0, 0, 0", "1, 1", ""), conv("y", "a", "[1, 2, 6, 7]", "[2, 3, 3, 3]", "1, 1, 1, 1", "1, 1", ""),
		"tensor<fp16, [1, 2, 6, 7]> z = relu(x = y)"}},
	{"merge-linears", "tensor<fp16, [1, 5, 4]> x", []string{
		linear("a", "x", 5, 6, 4, "bias = tensor<fp16, [6]>([1, -1, 2, -2, 0.5, 0.25]), "),
		linear("y", "a", 5, 2, 6, ""),
		"tensor<fp16, [1, 5, 2]> z = relu(x = y)"}},
	{"join-linears", "tensor<fp16, [1, 5, 4]> x", []string{
		linear("y", "x", 5, 6, 4, ""), linear("b", "x", 5, 2, 4, "bias = tensor<fp16, [2]>([1, -1]), "),
		"tensor<fp16, [1, 5, 6]> u = relu(x = y)",
		"tensor<fp16, [1, 5, 2]> v = slice_by_size(begin = tensor<int32, [3]>([0, 0, 1]), " +
			"size = tensor<int32, [3]>([1, 5, 2]), x = u)", "tensor<fp16, [1, 5, 2]> z = add(x = b, y = v)"}},
	{"linear-as-convolution", "tensor<fp16, [1, 5, 4]> x", []string{
		linear("y", "x", 5, 6, 4, "bias = tensor<fp16, [6]>([1, -1, 2, -2, 0.5, 0.25]), "),
		"tensor<fp16, [1, 5, 6]> z = relu(x = y)"}},
	{"convolve-parts", "tensor<fp16, [1, 2, 6, 7]> x, tensor<fp16, [1, 1, 6, 7]> w", []string{
		"tensor<fp16, [1, 3, 6, 7]> a = concat(axis = int32(1), interleave = bool(false), values = (x, w))",
		conv("y", "a", "[1, 2, 6, 7]", "[2, 3, 3, 3]", "1, 1, 1, 1", "1, 1", "bias = tensor<fp16, [2]>([3, 0.25]), "),
		"tensor<fp16, [1, 2, 6, 7]> z = relu(x = y)"}},
	{"widen-rows", "tensor<fp16, [1, 8, 16, 1]> x, tensor<fp16, [1, 8, 16, 1]> w", []string{
		"tensor<fp16, [1, 8, 16, 1]> y = add(x = x, y = w)", "tensor<fp16, [1, 8, 16, 1]> z = relu(x = y)"}},
	{"slice-first", "tensor<fp16, [1, 8, 16]> x", []string{"tensor<fp16, [1, 8, 16]> a = tanh(x = x)",
		"tensor<fp16, [1, 1, 16]> y = slice_by_size(begin = tensor<int32, [3]>([0, 7, 0]), " +
			"size = tensor<int32, [3]>([1, 1, 16]), x = a)", "tensor<fp16, [1, 1, 16]> z = relu(x = y)"}},
	{"upsample-by-convolution", "tensor<fp16, [1, 3, 4, 5]> x", []string{"tensor<fp16, [1, 3, 8, 15]> y = " +
		"upsample_nearest_neighbor(scale_factor_height = fp32(2), scale_factor_width = fp32(3), x = x)",
		"tensor<fp16, [1, 3, 8, 15]> z = relu(x = y)"}},
	{"mean-by-pooling", "tensor<fp16, [1, 3, 4, 5]> x", []string{"tensor<fp16, [1, 3]> y = reduce_mean(axes = " +
		"tensor<int32, [2]>([2, 3]), keep_dims = bool(false), x = x)", "tensor<fp16, [1, 3]> z = relu(x = y)"}},
	{"silu", "tensor<fp16, [1, 8]> x", []string{"tensor<fp16, [1, 8]> a = sigmoid(x = x)",
		"tensor<fp16, [1, 8]> y = mul(x = a, y = x)", "tensor<fp16, [1, 8]> z = relu(x = y)"}},
	{"silu-by-parts", "tensor<fp16, [1, 8]> x", []string{"tensor<fp16, [1, 8]> y = silu(x = x)",
		"tensor<fp16, [1, 8]> z = relu(x = y)"}},
	{"tanh-by-sigmoid", "tensor<fp16, [1, 8]> x", []string{"tensor<fp16, [1, 8]> y = tanh(x = x)",
		"tensor<fp16, [1, 8]> z = relu(x = y)"}},
}

// conv is a convolution of x with a weight of small numbers.
func conv(y, x, shape, weight, pad, strides, more string) string {
	return "tensor<fp16, " + shape + "> " + y + " = conv(" + more + `dilations = tensor<int32, [2]>([1, 1]), ` +
		"groups = int32(1), pad = tensor<int32, [4]>([" + pad + `]), pad_type = string("custom"), ` +
		"strides = tensor<int32, [2]>([" + strides + "]), weight = " + nested(weight) + ", x = " + x + ")"
}

// linear is a linear layer of rows [1, s, in].
func linear(y, x string, s, out, in int, more string) string {
	shape := dims([]int64{1, int64(s), int64(out)})
	return "tensor<fp16, [" + strings.ReplaceAll(shape, "x", ", ") + "]> " + y + " = linear(" + more + "weight = " +
		nested("["+itoa(out)+", "+itoa(in)+"]") + ", x = " + x + ")"
}

// nested is a constant of a shape, whose elements differ.
func nested(shape string) string {
	var extents []int
	for _, d := range strings.Split(strings.Trim(shape, "[]"), ", ") {
		n, _ := strconv.Atoi(d)
		extents = append(extents, n)
	}
	n := 0
	var write func(at int) string
	write = func(at int) string {
		if at == len(extents) {
			n++
			return strconv.FormatFloat(float64(n%7-3)/4, 'g', -1, 64)
		}
		var parts []string
		for range extents[at] {
			parts = append(parts, write(at+1))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return "tensor<fp16, " + shape + ">(" + write(0) + ")"
}

// Attention over 2 heads: with projections as a converter writes it, of matrices that are inputs with a mask for each
// head, and with keys and values that 2 queries share.
var (
	attentionParams = "tensor<fp16, [1, 6, 8]> x"
	attentionBody   = []string{
		linear("q0", "x", 6, 8, 8, ""), linear("k0", "x", 6, 8, 8, ""), linear("v0", "x", 6, 8, 8, ""),
		"tensor<fp16, [1, 6, 2, 4]> q1 = reshape(shape = tensor<int32, [4]>([1, 6, 2, 4]), x = q0)",
		"tensor<fp16, [1, 6, 2, 4]> k1 = reshape(shape = tensor<int32, [4]>([1, 6, 2, 4]), x = k0)",
		"tensor<fp16, [1, 6, 2, 4]> v1 = reshape(shape = tensor<int32, [4]>([1, 6, 2, 4]), x = v0)",
		"tensor<fp16, [1, 2, 6, 4]> q = transpose(perm = tensor<int32, [4]>([0, 2, 1, 3]), x = q1)",
		"tensor<fp16, [1, 2, 4, 6]> k = transpose(perm = tensor<int32, [4]>([0, 2, -1, -3]), x = k1)",
		"tensor<fp16, [1, 2, 6, 4]> v = transpose(perm = tensor<int32, [4]>([0, 2, 1, 3]), x = v1)",
		"tensor<fp16, [1, 2, 6, 6]> s = matmul(transpose_x = bool(false), transpose_y = bool(false), x = q, y = k)",
		"tensor<fp16, [1, 2, 6, 6]> t = mul(x = s, y = fp16(0.5))",
		"tensor<fp16, [1, 2, 6, 6]> p = softmax(axis = int32(-1), x = t)",
		"tensor<fp16, [1, 2, 6, 4]> y = matmul(transpose_x = bool(false), transpose_y = bool(false), x = p, y = v)",
		"tensor<fp16, [1, 6, 2, 4]> o1 = transpose(perm = tensor<int32, [4]>([0, 2, 1, 3]), x = y)",
		"tensor<fp16, [1, 6, 8]> o = reshape(shape = tensor<int32, [3]>([1, 6, 8]), x = o1)",
		linear("l", "o", 6, 8, 8, "bias = tensor<fp16, [8]>([1, -1, 2, -2, 0.5, 0.25, 3, 4]), "),
		"tensor<fp16, [1, 6, 8]> z = relu(x = l)"}
	apartParams = "tensor<fp16, [1, 2, 3, 4]> q, tensor<fp16, [1, 2, 5, 4]> k, tensor<fp16, [1, 2, 5, 4]> v, " +
		"tensor<fp16, [1, 2, 3, 5]> m"
	apartBody = []string{
		"tensor<fp16, [1, 2, 3, 5]> s = matmul(transpose_x = bool(false), transpose_y = bool(true), x = q, y = k)",
		"tensor<fp16, [1, 2, 3, 5]> t = add(x = s, y = m)",
		"tensor<fp16, [1, 2, 3, 5]> p = softmax(axis = int32(3), x = t)",
		"tensor<fp16, [1, 2, 3, 4]> y = matmul(transpose_x = bool(false), transpose_y = bool(false), x = p, y = v)",
		"tensor<fp16, [1, 2, 3, 4]> z = relu(x = y)"}
	groupedParams = "tensor<fp16, [1, 4, 3, 8]> q, tensor<fp16, [1, 2, 5, 8]> k, tensor<fp16, [1, 2, 5, 8]> v, " +
		"tensor<fp16, [1, 1, 3, 5]> m"
	groupedAttention = []string{
		"tensor<fp16, [1, 2, 1, 5, 8]> k1 = expand_dims(axes = tensor<int32, [1]>([2]), x = k)",
		"tensor<fp16, [1, 2, 2, 5, 8]> k2 = tile(reps = tensor<int32, [5]>([1, 1, 2, 1, 1]), x = k1)",
		"tensor<fp16, [1, 4, 5, 8]> k3 = reshape(shape = tensor<int32, [4]>([1, 4, 5, 8]), x = k2)",
		"tensor<fp16, [1, 2, 1, 5, 8]> v1 = expand_dims(axes = tensor<int32, [1]>([2]), x = v)",
		"tensor<fp16, [1, 2, 2, 5, 8]> v2 = tile(reps = tensor<int32, [5]>([1, 1, 2, 1, 1]), x = v1)",
		"tensor<fp16, [1, 4, 5, 8]> v3 = reshape(shape = tensor<int32, [4]>([1, 4, 5, 8]), x = v2)",
		"tensor<fp16, [1, 4, 3, 8]> y = scaled_dot_product_attention(attn_mask = m, key = k3, query = q, value = v3)",
		"tensor<fp16, [1, 4, 3, 8]> z = relu(x = y)"}
)

// TestFasterRecipesComputeTheSame applies each row without rules to a small model, and runs both.
func TestFasterRecipesComputeTheSame(t *testing.T) {
	tried := map[string]bool{}
	for _, c := range faster {
		t.Run(c.recipe, func(t *testing.T) {
			p := model(t, c.params, c.body...)
			s, err := find(p, Place{Name: "y"}, "")
			if err != nil {
				t.Fatal(err)
			}
			w, err := recipeNamed(c.recipe).try(t.Context(), p, s, options())
			if err != nil {
				t.Fatal(err)
			}
			if len(w.Diff) == 0 || len(w.Outputs) == 0 || len(w.Engine) == 0 {
				t.Errorf("%+v", w)
			}
			tried[c.recipe] = true
		})
	}
	for _, r := range Recipes {
		if len(r.Rules) == 0 && r.Retrain == "" && !tried[r.Name] {
			t.Errorf("%s is not tried on any model", r.Name)
		}
	}
}

// TestSearchAcceptsLayersWithoutElements looks for changes of linear layers that read or compute nothing.
func TestSearchAcceptsLayersWithoutElements(t *testing.T) {
	for _, c := range []struct {
		params string
		body   []string
	}{
		{"tensor<fp16, [1, 4, 0]> x", []string{linear("y", "x", 4, 8, 0, ""), linear("b", "x", 4, 8, 0, ""),
			"tensor<fp16, [1, 4, 8]> z = add(x = y, y = b)"}},
		{"tensor<fp16, [1, 4, 8]> x", []string{linear("y", "x", 4, 0, 8, ""), linear("z", "y", 4, 8, 0, "")}},
		{"tensor<fp16, [1, 4, 0]> x", []string{linear("y", "x", 4, 8, 0, ""), linear("z", "y", 4, 8, 8, "")}},
	} {
		p, o := model(t, c.params, c.body...), options()
		var now *compile.Report
		to := compile.Sink{Estimate: compile.To(&now)}
		if err := compile.Compile(t.Context(), ir.CloneProgram(p), o.Compile, to); err != nil {
			t.Fatal(err)
		}
		s, err := Advise(t.Context(), p, now, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range s.Advice {
			if a.Recipe != "" && !a.Ran {
				t.Errorf("%q: %s was not run", c.body, a.Recipe)
			}
		}
	}
}

// TestWhatNeedsTrainingIsSaidAsSuch pads by reflection and convolves with a large kernel: changes that compute
// something else say so, and are not run.
func TestWhatNeedsTrainingIsSaidAsSuch(t *testing.T) {
	p := model(t, "tensor<fp16, [1, 32, 64, 64]> x",
		"tensor<fp16, [1, 32, 72, 72]> y = pad(constant_val = fp16(0), mode = string(\"reflect\"), "+
			"pad = tensor<int32, [8]>([0, 0, 0, 0, 4, 4, 4, 4]), x = x)",
		conv("a", "y", "[1, 32, 64, 64]", "[32, 32, 9, 9]", "0, 0, 0, 0", "1, 1", ""),
		"tensor<fp16, [1, 32, 64, 64]> z = relu(x = a)")
	o := options()
	var now *compile.Report
	to := compile.Sink{Estimate: compile.To(&now)}
	if err := compile.Compile(t.Context(), ir.CloneProgram(p), o.Compile, to); err != nil {
		t.Fatal(err)
	}
	s, err := Advise(t.Context(), p, now, o)
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	for _, a := range s.Tried {
		tried[a.Name] = true
	}
	if !tried["zero-padding"] || !tried["smaller-kernels"] {
		t.Errorf("tried %+v", s.Tried)
	}
	k := slices.IndexFunc(s.Advice, func(a Advice) bool { return a.Recipe == "smaller-kernels" })
	if k < 0 || s.Advice[k].Retrain == "" || s.Advice[k].Ran {
		t.Errorf("%+v", s.Advice)
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
			e.become(e.Do(ir.OpMul, arg("x", e.op.Arg("x")), arg("y", e.Num(ir.FP16, 1.5))))
		}},
		{"on the CPU", "runs on the CPU: the engine has no sinh", func(e *edit) { e.become(e.again()) }},
		{"another shape", "the replacement has the type", func(e *edit) { e.become(e.Slice(e.op.Arg("x"), 2, 0, 8)) }},
		{"no such operation", "has no parameter", func(e *edit) { e.become(e.Do(ir.OpRelu, arg("y", e.op.Arg("x")))) }},
		{"moves only", "nothing of the replacement runs on the engine", func(e *edit) {
			e.become(e.Reshape(e.Reshape(e.op.Arg("x"), 4, 16), 1, 4, 16))
		}},
		{"wrong arguments", "reshape", func(e *edit) { e.become(e.Reshape(e.op.Arg("x"), 5, 16)) }},
		{"a name twice", "not valid", func(e *edit) {
			v := e.Do(ir.OpRelu, arg("x", e.op.Arg("x")))
			v.Name = "x"
			e.become(e.Do(ir.OpTanh, arg("x", v)))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &Recipe{Name: "wrong", Rules: []string{target.RuleNoLowering}, apply: c.apply}
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

// manyOps is the length of a long function.
const manyOps = 300

// TestStatementsOfLargeFunctionsAreRewrittenAlone rewrites a statement of a function that is too large to run as a
// whole.
func TestStatementsOfLargeFunctionsAreRewrittenAlone(t *testing.T) {
	body := []string{"tensor<fp16, [1, 16]> h0 = relu(x = x)"}
	for i := range manyOps {
		body = append(body, strings.NewReplacer("B", "h"+itoa(i), "A", "h"+itoa(i+1)).
			Replace("tensor<fp16, [1, 16]> A = tanh(x = B)"))
	}
	body = append(body, `tensor<fp32, [1, 16]> w = cast(dtype = string("fp32"), x = h`+itoa(manyOps)+")",
		"tensor<fp32, [1, 16]> y = exp(x = w)", `tensor<fp16, [1, 16]> z = cast(dtype = string("fp16"), x = y)`)
	a, err := Explain(context.Background(), model(t, "tensor<fp16, [1, 16]> x", body...), Place{Name: "y"}, options())
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Rewrites) != 1 || a.Rewrites[0].Whole || len(a.Rewrites[0].Program().Funcs[0].Body.Ops) != manyOps+6 {
		t.Errorf("%+v %+v", a.Rewrites, a.Tried)
	}
}

// TestStatementsAreRewrittenWithTheirStates rewrites a statement between accesses of two states, one of them wide
// enough, in such a function.
func TestStatementsAreRewrittenWithTheirStates(t *testing.T) {
	body := []string{"tensor<fp16, [1, 2, 40]> r = read_state(input = s)",
		"tensor<fp16, [1, 2, 40]> r2 = read_state(input = s2)", "tensor<fp16, [1, 2, 40]> k = read_state(input = s)",
		"tensor<fp16, [1, 2, 40]> h0 = relu(x = x)"}
	for i := range manyOps {
		body = append(body, strings.NewReplacer("B", "h"+itoa(i), "A", "h"+itoa(i+1)).
			Replace("tensor<fp16, [1, 2, 40]> A = tanh(x = B)"))
	}
	body = append(body, "tensor<fp16, [1, 2, 40]> y = add(x = r, y = h"+itoa(manyOps)+")",
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
	if len(a.Rewrites) != 1 || !a.Rewrites[0].Whole || a.Rewrites[0].Ran != "h13" || len(a.Rewrites[0].Host) > 0 ||
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
