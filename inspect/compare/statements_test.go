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

// TestSingleChangesOfStatementsAreNamed makes single changes of a text: the comparison of the syntax trees returns the
// lines that name the change and no others.
func TestSingleChangesOfStatementsAreNamed(t *testing.T) {
	for _, c := range []struct {
		name     string
		old, new string // pairs of replacements, separated by |
		want     []string
	}{
		{name: "nothing"},
		{name: "layout and comments", old: "        int32", new: "  /* here */ int32"},
		{name: "operation", old: "relu", new: "sigmoid", want: []string{"relu a changed: operation: relu -> sigmoid"}},
		{name: "argument", old: "(a, b)", new: "(b, a)", want: []string{"concat c changed: values: (a, b) -> (b, a)"}},
		{name: "type", old: "<fp16, [1, 8]>", new: "<fp32, [1, 8]>",
			want: []string{"concat c changed: type of c: tensor<fp16, [1, 8]> -> tensor<fp32, [1, 8]>"}},
		{name: "removed", old: "tensor<fp16, [1, 4]> b = tanh(x = x)[name = string(\"b\")];|(a, b)", new: "|(a, a)",
			want: []string{
				"tanh b removed: it was values of concat c", "concat c changed: values: (a, b) -> (a, a)"}},
		{name: "added", old: "tensor<fp16, [1, 8]>",
			new:  "tensor<fp16, [1, 4]> n = abs(x = b)[name = string(\"n\")]; tensor<fp16, [1, 8]>",
			want: []string{"abs n added: x = b"}},
		{name: "input", old: "fp16, [1, 4]> x)", new: "fp16, [1, 4]> x, fp16 y)",
			want: []string{"function main changed: input y: none -> fp16"}},
		{name: "output", old: "-> (c)", new: "-> (a)", want: []string{"function main changed: outputs: c -> a"}},
		{name: "opset", old: "ios18", new: "ios17", want: []string{"function main changed: opset: ios18 -> ios17"}},
		{name: "version", old: "program(1.3)", new: "program(1.0)",
			want: []string{"program version changed: 1.3 -> 1.0"}},
		{name: "build", old: `"one"`, new: `"two"`,
			want: []string{"attributes of program changed: buildInfo: {\"tool\": \"one\"} -> {\"tool\": \"two\"}"}},
		{name: "renamed", old: "> a =|(a, b)", new: "> z =|(z, b)", want: []string{"relu a changed: name: a -> z"}},
		{name: "function", old: "func main", new: "func other", want: []string{"function main removed",
			"function other added"}},
		{name: "constant", old: "int32(1)", new: "int32(2)", want: []string{"const axis changed: val: 1 -> 2"}},
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
