package compare

import (
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/frontend/mil"
)

const someText = `program(1.3)
[buildInfo = dict<string, string>({{"tool", "one"}})]
{
    func main<ios18>(tensor<fp16, [1, 4]> x) {
        int32 axis = const()[name = string("axis"), val = int32(1)];
        tensor<fp16, [1, 4]> a = relu(x = x)[name = string("a")];
        tensor<fp16, [1, 4]> b = tanh(x = x)[name = string("b")];
        tensor<fp16, [1, 8]> c = concat(axis = axis, values = (a, b))[name = string("c")];
    } -> (c);
}
`

// TestStatements holds the comparison of syntax trees against single changes of a
// text: each gives the lines that name it and no others.
func TestStatements(t *testing.T) {
	for _, c := range []struct {
		name     string
		old, new string // pairs of replacements, parted by |
		want     []string
	}{
		{"nothing", "", "", nil},
		{"layout and comments", "        int32", "  /* here */ int32", nil},
		{"operation", "relu", "sigmoid", []string{"relu a changed: operation: relu -> sigmoid"}},
		{"argument", "(a, b)", "(b, a)", []string{"concat c changed: values: (a, b) -> (b, a)"}},
		{"type", "<fp16, [1, 8]>", "<fp32, [1, 8]>", []string{"concat c changed: type of c: tensor<fp16, [1, 8]> -> tensor<fp32, [1, 8]>"}},
		{"removed", "tensor<fp16, [1, 4]> b = tanh(x = x)[name = string(\"b\")];|(a, b)", "|(a, a)", []string{
			"tanh b removed: it was values of concat c", "concat c changed: values: (a, b) -> (a, a)"}},
		{"added", "tensor<fp16, [1, 8]>", "tensor<fp16, [1, 4]> n = abs(x = b)[name = string(\"n\")]; tensor<fp16, [1, 8]>", []string{"abs n added: x = b"}},
		{"input", "fp16, [1, 4]> x)", "fp16, [1, 4]> x, fp16 y)", []string{"function main changed: input y: none -> fp16"}},
		{"output", "-> (c)", "-> (a)", []string{"function main changed: outputs: c -> a"}},
		{"opset", "ios18", "ios17", []string{"function main changed: opset: ios18 -> ios17"}},
		{"version", "program(1.3)", "program(1.0)", []string{"program version changed: 1.3 -> 1.0"}},
		{"build", `"one"`, `"two"`, []string{"attributes of program changed: buildInfo: {\"tool\": \"one\"} -> {\"tool\": \"two\"}"}},
		{"renamed", "> a =|(a, b)", "> z =|(z, b)", []string{"relu a changed: name: a -> z"}},
		{"function", "func main", "func other", []string{"function main removed", "function other added"}},
		{"constant", "int32(1)", "int32(2)", []string{"const axis changed: val: 1 -> 2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := someText
			olds, news := strings.Split(c.old, "|"), strings.Split(c.new, "|")
			for i := range olds {
				text = strings.Replace(text, olds[i], news[i], 1)
			}
			if c.old != "" && text == someText {
				t.Fatal("the text is as it was")
			}
			var trees [2]*mil.Program
			for i, s := range []string{someText, text} {
				p, list := mil.ParseString("model.mil", s)
				if err := list.Err(); err != nil {
					t.Fatal(err)
				}
				trees[i] = p
			}
			p := newPairing(&Side{text: trees[0]}, &Side{text: trees[1]})
			found, err := p.statements()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, x := range found {
				s := x.Subject + " " + string(x.Kind)
				if len(x.Details) > 0 {
					s += ": " + strings.Join(x.Details, "; ")
				}
				got = append(got, s)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q\nwant %q", got, c.want)
			}
		})
	}
}
