package decoder

import (
	"testing"

	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/frontend/mil/build"
)

// TestTokensOfACall reads how many positions a call adds from each way to write a cache.
func TestTokensOfACall(t *testing.T) {
	const head = `program(1.3)
{
	func main<ios18>(tensor<fp16, [1, 2, 3, 8]> x, tensor<int32, [4]> at, tensor<int32, [4]> to,
		tensor<int32, [1, 5]> ids, state<tensor<fp16, [1, 2, 16, 8]>> s, state<tensor<fp16, [6, 2, 16, 8]>> all) {
		tensor<fp16, [1, 2, 16, 8]> old = read_state(input = s)[name = string("old")];
		tensor<fp16, [6, 2, 16, 8]> olds = read_state(input = all)[name = string("olds")];
		tensor<fp16, [9, 2]> table = const()[name = string("table"), val = tensor<fp16, [9, 2]>([` +
		`1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9])];
		tensor<fp16, [1, 5, 2]> rows = gather(x = table, indices = ids, axis = int32(0), batch_dims = int32(0), ` +
		`validate_indices = bool(false))[name = string("rows")];
`
	const tail = "\n\t} -> (rows);\n}\n"
	state, layers, both := "[1, 2, 16, 8]", "[6, 2, 16, 8]", "[1, 2, 19, 8]"
	op := func(shape, name, text string) string {
		return "tensor<fp16, " + shape + "> " + name + " = " + text + "[name = string(\"" + name + "\")];\n"
	}
	update := func(shape, old, with string) string {
		return op(shape, "new", "slice_update(x = "+old+", update = "+with+", begin = at, end = to)")
	}
	newest := func(name, of, shape, end string) string {
		return op(shape, name, "slice_by_index(x = "+of+", begin = tensor<int32, [4]>([0, 0, 3, 0]), "+
			"end = tensor<int32, [4]>("+end+"))")
	}
	join := func(name, shape, old string) string {
		return op(shape, name, "concat(values = ("+old+", x), axis = int32(2), interleave = bool(false))")
	}
	write := func(state string) string {
		return "write_state(data = new, input = " + state + ")[name = string(\"w\")];"
	}
	rest := newest("rest", "old", "[1, 2, 13, 8]", state)
	for _, c := range []struct {
		name, body string
		want       int64
	}{
		{"update at a position", update(state, "old", "x") + write("s"), 3},
		{"layers in one state", update(layers, "olds", "x") + write("all"), 3},
		{"shift before", rest + join("new", state, "rest") + write("s"), 3},
		{"shift after", join("both", both, "old") + newest("new", "both", state, both) + write("s"), 3},
		{"assignment of the whole", rest + join("next", state, "rest") + update(state, "old", "next") + write("s"), 3},
		{"no position", op(state, "new", "add(x = old, y = old)") + write("s"), 5},
	} {
		tree, list := mil.Parse("model.mil", []byte(head+c.body+tail))
		if list.HasErrors() {
			t.Fatalf("%s: %v", c.name, list.Err())
		}
		p, more := build.Program(tree, nil, build.Options{})
		if more.HasErrors() {
			t.Fatalf("%s: %v", c.name, more.Err())
		}
		if got := tokens(p.Funcs[0]); got != c.want {
			t.Errorf("%s: %d tokens a call, want %d", c.name, got, c.want)
		}
	}
}
