package mil

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/diag"
)

// constructs has one statement or function for each construct of the grammar. want is what Print writes, "" if that is
// the same text.
var constructs = []struct {
	name, src, want string
}{
	{"call", `tensor<fp16, [1, 64]> y = relu(x = x)[name = string("y")];`, ""},
	{"no attributes", `fp16 y = relu(x = x);`, ""},
	{"empty attributes", `fp16 y = relu(x = x)[];`, `fp16 y = relu(x = x);`},
	{"no arguments", `int32 g = const()[name = string("g"), val = int32(1)];`, ""},
	{"old scalars", `tensor<string, []> s = const()[val = tensor<string, []>("valid")];`, ""},
	{"results", `fp16 a, tensor<fp16, [2]> b = split(x = x);`, ""},
	{"results in parentheses", `(fp16 a, tensor<fp16, [2]> b) = split(x = x);`,
		`fp16 a, tensor<fp16, [2]> b = split(x = x);`},
	{"no left side", `write_state(data = x, input = s)[name = string("w")];`, ""},
	{"no left side, own opset", `write_state<ios18>(data = x, input = s);`, ""},
	{"own opset", `fp16 y = relu<ios17>(x = x);`, ""},
	{"literal argument", `fp16 y = pow(epsilon = fp16(0x1.5p-17), x = x, axis = int32(-3));`, ""},
	{"tuple of names", `fp16 y = concat(values = (a, b), axis = int32(0));`, ""},
	{"tuple of literals", `fp16 y = concat(values = (fp16(1.0), b, tensor<int32, [2]>([1, 2])));`, ""},
	{"tuple of one", `fp16 y = concat(values = (a));`, ""},
	{"empty tuple", `fp16 y = concat(values = ());`, ""},
	{"state", `state<tensor<fp16, [1, 2]>> y = f(x = x);`, ""},
	{"list", `list<tensor<fp32, [2]>, 2> y = make_list(x = x);`, ""},
	{"list of any length", `list<tensor<fp32, [2]>, ?> y = make_list(x = x);`, ""},
	{"unknown dimensions", `tensor<fp16, [?, 3, batch, ...]> y = relu(x = x);`, ""},
	{"words as names", `tensor<fp16, [4]> state = identity(ones = identity, tensor = string, func = program, list ` +
		`= BLOBFILE);`, ""},
	{"atom words as names", `fp16 true = f(x = inf, y = (nan, false));`, ""},
	{"names with marks", `fp16 a.b/c = f(x.1 = model/layer.0/w, y = _z, w = 1st, v = 0x1p);`, ""},
	{"name of digits", `fp16 12 = f(x = x);`, ""},
	{"numbers", `tensor<fp32, [9]> y = const()[val = tensor<fp32, [9]>([0x1.5p-3, -0x0p+0, inf, -inf, nan, 1, ` +
		`-2.5, 1e-5, .5])];`, ""},
	{"bools", `tensor<bool, [2]> y = const()[val = tensor<bool, [2]>([true, false])];`, ""},
	{"nested list", `tensor<int32, [2, 3]> y = const()[val = tensor<int32, [2, 3]>([[1, 2, 3], [4, 5, 6]])];`, ""},
	{"flat list", `tensor<int32, [2, 3]> y = const()[val = tensor<int32, [2, 3]>([1, 2, 3, 4, 5, 6])];`, ""},
	{"scalar for one element", `tensor<int32, [1]> y = const()[val = tensor<int32, [1]>(-1)];`, ""},
	{"empty list", `tensor<int32, [0]> y = const()[val = tensor<int32, [0]>([])];`, ""},
	{"empty rows", `tensor<int32, [2, 0]> y = const()[val = tensor<int32, [2, 0]>([[], []])];`, ""},
	{"escapes", `string y = const()[val = string("a\"b\\c\n\x41\u00e9\101")];`, ""},
	{"untyped", `fp16 y = f(a = 3, b = "s", c = [1, 2], d = [[1], [2, 3]]);`, ""},
	{"list of words", `fp16 y = f(a = [true, nan], b = [x, true], c = [(1, 2), {{1, 2}}]);`, ""},
	{"dictionary", `dict<string, int32> d = const()[val = dict<string, int32>({{"a", 1}, {"b", 2}})];`, ""},
	{"empty dictionary", `dict<string, string> d = const()[val = dict<string, string>({})];`, ""},
	{"typed tuple", `tuple<string, tuple<int32>> d = const()[val = tuple<string, tuple<int32>>(("a", (1)))];`, ""},
	{"empty tuple type", `tuple<> d = const()[val = tuple<>(())];`, ""},
	{"blob", `tensor<fp16, [64]> w = const()[val = tensor<fp16, [64]>(BLOBFILE(path = ` +
		`string("@model_path/weights/weight.bin"), offset = uint64(64)))];`, ""},
	{"old blob", `tensor<fp16, [64]> w = const()[val = tensor<fp16, [64]>(BLOBFILE(path = tensor<string, []>` +
		`("@model_path/w.bin"), offset = tensor<uint64, []>(18446744073709551615)))];`, ""},
	{"blob, offset first", `fp16 w = const()[val = fp16(BLOBFILE(offset = 64, path = "w"))];`,
		`fp16 w = const()[val = fp16(BLOBFILE(path = "w", offset = 64))];`},
	{"comments", "/* a */ fp16 /* b */ y // c\n = f(x = [1, /* 2, */ 3 // 4\n], y = a/b/* c */);",
		`fp16 y = f(x = [1, 3], y = a/b);`},
	{"tight", `tensor<int32,[2]>st=const()[name=string("st"),val=tensor<int32,[2]>([1,1])];`,
		`tensor<int32, [2]> st = const()[name = string("st"), val = tensor<int32, [2]>([1, 1])];`},
}

func TestEveryConstructIsParsedAndPrinted(t *testing.T) {
	for _, c := range constructs {
		t.Run(c.name, func(t *testing.T) {
			p := mustParse(t, "model.mil", []byte(wrap(c.src)))
			out := roundTrip(t, "model.mil", p)
			want := c.want
			if want == "" {
				want = c.src
			}
			if !bytes.Contains(out, []byte("\n            "+want+"\n")) {
				t.Errorf("printed\n%swant\n%s", out, want)
			}
		})
	}
}

func TestTreesHavePositionsAndNames(t *testing.T) {
	src := `// a comment
program(1.3)
[buildInfo = dict<string, string>({{"coremlc-version", "3520.5.1"}, {"x", ""}})]
{
    func first<ios17>(tensor<fp32, [?]> input, state<tensor<fp16, [2]>> k) [FlexibleShapeInformation = ` +
		`tuple<tuple<string, dict<string, tensor<int32, [?]>>>, tuple<string, dict<string, list<tensor<int32, [2]>` +
		`, ?>>>>((("DefaultShapes", {{"input", [4]}}), ("RangeDims", {{"input", [[0, 4]]}})))] {
            tensor<fp32, [1]> a, tensor<fp32, [1]> b = while_loop<ios18>(loop_vars = (x, y))[name = ` +
		`string("w\"0")] (tensor<fp32, [1]> i) {
                    bool c = less(x = i, y = i);
                } -> (c)
            (tensor<fp32, [1]> i) {
                } -> (i, i);
        } -> (a, b);
    func second() {
        } -> ();
}
`
	p := mustParse(t, "model.mil", []byte(src))
	if p.Version != "1.3" || len(p.Funcs) != 2 {
		t.Fatalf("version %s, %d functions", p.Version, len(p.Funcs))
	}
	if v, ok := p.BuildInfo("coremlc-version"); v != "3520.5.1" || !ok {
		t.Errorf("BuildInfo is %q, %v", v, ok)
	}
	if _, ok := p.BuildInfo("none"); ok {
		t.Error("BuildInfo finds a missing key")
	}
	f := p.Func("first")
	if f == nil || f.Opset != "ios17" || len(f.Params) != 2 || f.Params[1].Type.Kind != StateType ||
		p.Func("third") != nil {
		t.Fatalf("function first is %+v", f)
	}
	if d := f.Params[0].Type.Dims; len(d) != 1 || d[0].Kind != UnknownDim {
		t.Errorf("dimensions are %+v", d)
	}
	flex, ok := f.Attrs[0].Value.(*Tuple)
	if !ok || flex.Type.String() != `tuple<tuple<string, dict<string, tensor<int32, [?]>>>, tuple<string, `+
		`dict<string, list<tensor<int32, [2]>, ?>>>>` {
		t.Fatalf("flexible shapes are %+v", f.Attrs[0].Value)
	}
	ranges := flex.Elems[1].(*Tuple).Elems[1].(*Dict).Entries[0].Value.(*Literal)
	if v, err := ranges.Ints(); err != nil || !slices.Equal(v, []int64{0, 4}) {
		t.Errorf("range is %v, %v", v, err)
	}
	s := f.Body.Stmts[0]
	if s.Op != "while_loop" || s.OpOpset != "ios18" || len(s.Results) != 2 || s.NameAttr() != `w"0` ||
		len(s.Blocks) != 2 {
		t.Fatalf("statement is %+v", s)
	}
	if b := s.Blocks[1]; len(b.Params) != 1 || len(b.Stmts) != 0 || len(b.Outputs) != 2 {
		t.Errorf("second block is %+v", b)
	}
	vars := FindArg(s.Args, "loop_vars").Value
	for _, c := range []struct {
		what string
		pos  diag.Pos
		text string
	}{
		{"program", p.Pos, "program(1.3)"},
		{"function", f.Pos, "func first"},
		{"function's name", f.NamePos, "first<"},
		{"opset", f.OpsetPos, "ios17>"},
		{"parameter", f.Params[1].Pos, "k)"},
		{"type", f.Params[1].Type.Pos, "state<"},
		{"type's end", f.Params[1].Type.End, " k)"},
		{"element of a type", f.Params[1].Type.Args[0].Pos, "tensor<fp16, [2]>"},
		{"dimension", f.Params[0].Type.Dims[0].Pos, "?]> input"},
		{"attribute", f.Attrs[0].Pos, "FlexibleShape"},
		{"attribute's value", flex.Pos(), "tuple<tuple<string, dict"},
		{"attribute's end", flex.End(), "] {"},
		{"untyped literal", ranges.Pos(), "[[0, 4]]"},
		{"untyped literal's end", ranges.End(), "}})))] {"},
		{"body", f.Body.Pos, "{\n            tensor"},
		{"body's end", f.Body.End, ";\n    func second"},
		{"statement", s.Pos, "tensor<fp32, [1]> a,"},
		{"statement's end", s.End, "\n        } -> (a, b)"},
		{"operation", s.OpPos, "while_loop<"},
		{"operation's opset", s.OpsetPos, "ios18>(loop"},
		{"argument", s.Args[0].Pos, "loop_vars ="},
		{"tuple", vars.Pos(), "(x, y)"},
		{"tuple's end", vars.End(), ")[name"},
		{"name in a tuple", vars.(*Tuple).Elems[1].Pos(), "y)"},
		{"output", f.Body.Outputs[1].NamePos, "b);"},
	} {
		if !c.pos.IsValid() || !strings.HasPrefix(src[c.pos.Offset():], c.text) {
			t.Errorf("%s is at %s, want it before %q", c.what, p.File.Position(c.pos), c.text)
		}
	}
	if at := p.OpSpan(s).Position().String(); at != "model.mil:6:56" {
		t.Errorf("operation is at %s", at)
	}
}

func parseLiteral(t *testing.T, src string) *Literal {
	t.Helper()
	p := mustParse(t, "model.mil", []byte(wrap("fp16 y = f(v = "+src+");")))
	l, ok := p.Funcs[0].Body.Stmts[0].Args[0].Value.(*Literal)
	if !ok {
		t.Fatalf("%s is not a literal", src)
	}
	return l
}

func TestLiteralsAreConvertedExactly(t *testing.T) {
	hex := []string{
		"0x1.5p-3", "-0x1p+0", "0x0p+0", "-0x0p+0", "0x1.fffffep+127", "0x1p-149", "0x1p-1074",
		"0x1.fffffffffffffp+1023",
		"0x1.00000000000008p+0", "0x1.000000000000081p+0", "0x1p+99999", "0X1.8P1", "0x.8p0", "0x8", "0xfF", "0x1.8",
		"0x1.",
		"0x123456789abcdef01p-4", "inf", "-inf", "+inf", "1", "-2.5", "1e-5", "1E+5", ".5", "5.", "1e400", "1e-400",
		"+7",
		"0x1.0000000000001p-1022", "0x0.0000000000001p-1022", "0x1p-899", "0x1p+899", "0x1fffffffffffffp0",
		"0x20000000000001p0",
	}
	l := parseLiteral(t, "["+strings.Join(hex, ", ")+"]")
	got, err := l.Floats()
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range hex {
		ref := s
		if strings.Contains(strings.ToLower(s), "0x") && !strings.ContainsAny(s, "pP") {
			ref += "p0"
		}
		want, err := strconv.ParseFloat(ref, 64)
		if err != nil && !math.IsInf(want, 0) {
			t.Fatal(err)
		}
		if math.Float64bits(got[i]) != math.Float64bits(want) {
			t.Errorf("%s is %x, want %x", s, got[i], want)
		}
	}
	nan, err := parseLiteral(t, "[nan, -nan]").Floats()
	if err != nil || !math.IsNaN(nan[0]) || !math.IsNaN(nan[1]) || math.Signbit(nan[0]) || !math.Signbit(nan[1]) {
		t.Errorf("[nan, -nan] is %v, %v", nan, err)
	}
	ints, err := parseLiteral(t, "[0, -1, 010, 0x10, -0x10, 9223372036854775807, -9223372036854775808, 123456789, "+
		"1234567890]").Ints()
	if want := []int64{0, -1, 10, 16, -16, math.MaxInt64, math.MinInt64, 123456789, 1234567890}; err != nil ||
		!slices.Equal(ints, want) {
		t.Errorf("integers are %v, %v, want %v", ints, err, want)
	}
	big := parseLiteral(t, "[18446744073709551615, 9223372036854775808]")
	if u, err := big.Uints(); err != nil || u[0] != math.MaxUint64 || u[1] != 1<<63 {
		t.Errorf("unsigned integers are %v, %v", u, err)
	}
	if _, err := big.Ints(); err == nil {
		t.Error("2^64-1 became an int64")
	}
	if _, err := parseLiteral(t, "[-1]").Uints(); err == nil {
		t.Error("-1 became a uint64")
	}
	if b, err := parseLiteral(t, "[true, false]").Bools(); err != nil || !slices.Equal(b, []bool{true, false}) {
		t.Errorf("booleans are %v, %v", b, err)
	}
	s, err := parseLiteral(t, `["a]b,\"[", "", "\x41\u00e9\n"]`).Strings()
	if err != nil || !slices.Equal(s, []string{`a]b,"[`, "", "Aé\n"}) {
		t.Errorf("strings are %q, %v", s, err)
	}
	mixed := parseLiteral(t, `[1, "a", true, 1.5]`)
	for name, err := range map[string]error{
		"Floats": second(mixed.Floats()), "Ints": second(mixed.Ints()), "Uints": second(mixed.Uints()),
		"Bools": second(mixed.Bools()), "Strings": second(mixed.Strings()),
		"Text": second(parseLiteral(t, `["a", "b"]`).Text()),
	} {
		if err == nil {
			t.Errorf("%s: missing error", name)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestShapesOfLiterals(t *testing.T) {
	for _, c := range []struct {
		src   string
		shape []int // nil when irregular
		n     int
	}{
		{"1", []int{}, 1},
		{"[]", []int{0}, 0},
		{"[1]", []int{1}, 1},
		{"[[1, 2], [3, 4], [5, 6]]", []int{3, 2}, 6},
		{"[[[1]], [[2]]]", []int{2, 1, 1}, 2},
		{"[[], []]", []int{2, 0}, 0},
		{"[[1], [2, 3]]", nil, 3},
		{"[1, [2]]", nil, 2},
		{"[[1], 2]", nil, 2},
		{"[[], [1]]", nil, 1},
		{"[[], 1]", nil, 1},
		{"[[[]], []]", nil, 0},
	} {
		l := parseLiteral(t, c.src)
		shape, ok := l.Shape()
		if ok != (c.shape != nil) || ok && !slices.Equal(shape, c.shape) || l.Len() != c.n {
			t.Errorf("%s has shape %v, %v and %d atoms, want %v and %d", c.src, shape, ok, l.Len(), c.shape, c.n)
		}
	}
}

// TestGeneratedLiteralsAreParsedBack checks that literals built from values are those that the parser reads from their
// text.
func TestGeneratedLiteralsAreParsedBack(t *testing.T) {
	typ := func(elem string, dims ...int64) *Type {
		t := &Type{Kind: TensorType, Elem: elem}
		for _, d := range dims {
			t.Dims = append(t.Dims, Dim{Size: d})
		}
		return t
	}
	floats := []float64{0, math.Copysign(0, -1), 1, -1.5, math.Inf(1), math.Inf(-1), math.NaN(), 1e-310,
		math.MaxFloat64, 0.1}
	for _, l := range []*Literal{
		FloatLiteral(typ("fp32", 2, 5), []int{2, 5}, floats),
		FloatLiteral(typ("fp32"), nil, []float64{0.25}),
		FloatLiteral(typ("fp32", 3, 0), []int{3, 0}, nil),
		FloatLiteral(typ("fp32", 0, 3), []int{0, 3}, nil),
		IntLiteral(typ("int32", 3), []int{3}, []int64{1, -2, math.MinInt64}),
		UintLiteral(typ("uint64", 2), []int{2}, []uint64{1, math.MaxUint64}),
		BoolLiteral(&Type{Elem: "bool"}, nil, []bool{true}),
		StringLiteral(typ("string", 2), []int{2}, []string{"a\"\\\n\x01\xff", "é"}),
	} {
		got := parseLiteral(t, string(valueText(l)))
		if !EqualValue(l, got) || got.count != l.count || !slices.Equal(got.shape, l.shape) || got.list != l.list {
			t.Errorf("%s is read as %s", valueText(l), valueText(got))
		}
	}
	got, err := FloatLiteral(nil, []int{2, 5}, floats).Floats()
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range floats {
		if math.Float64bits(v) != math.Float64bits(got[i]) && !(math.IsNaN(v) && math.IsNaN(got[i])) {
			t.Errorf("%x is read back as %x", v, got[i])
		}
	}
}

func TestProgramsThatDifferAreNotEqual(t *testing.T) {
	base := `tensor<fp16, [4]> y = f<ios17>(a = x, b = [1, 2], c = (u, v), d = "s")[name = string("y")] (fp16 p) ` +
		`{ } -> (p);`
	p := mustParse(t, "a.mil", []byte(wrap(base)))
	if !equal(p, mustParse(t, "b.mil", []byte(wrap("\n\n/**/ "+strings.ReplaceAll(base, `"s"`, `"\x73"`))))) {
		t.Error("layout or escapes are compared")
	}
	for old, repl := range map[string]string{
		"fp16, [4]": "fp16, [5]", "[4]> y": "[?]> y", "y = f": "z = f", "f<": "g<", "ios17": "ios18", "a = x": "a = z",
		"a =": "e =", "[1, 2]": "[2, 1]", "1, 2": "1, 2, 3", "(u, v)": "(v, u)", `"s"`: `"t"`, `name = string("y")`: "",
		"fp16 p": "fp32 p", "(p);": "(p, p);", "{ }": "{ fp16 q = f(); }", "b = [1, 2]": "b = [[1, 2]]",
		"d =": `e = 1, d =`,
	} {
		src := strings.Replace(base, old, repl, 1)
		if src == base {
			t.Fatalf("%q is not in the text", old)
		}
		if equal(p, mustParse(t, "b.mil", []byte(wrap(src)))) {
			t.Errorf("%q instead of %q is not noticed", repl, old)
		}
	}
}

// TestHostileTextsAreBounded parses texts that are meant to exhaust stack, memory or time.
func TestHostileTextsAreBounded(t *testing.T) {
	const n = 200_000
	rep := strings.Repeat
	for _, c := range []struct{ name, src string }{
		{"lists", wrap("fp16 y = f(a = " + rep("[", n) + ");")},
		{"lists of names", wrap("fp16 y = f(a = " + rep("[x,", n) + ");")},
		{"tuples", wrap("fp16 y = f(a = " + rep("(", n) + ");")},
		{"dictionaries", wrap("fp16 y = f(a = " + rep("{{1,", n) + ");")},
		{"types", wrap(rep("list<", n) + " y = f();")},
		{"tuple types", wrap(rep("tuple<", n) + " y = f();")},
		{"typed values", wrap("fp16 y = f(a = " + rep("tuple<fp16>(", n) + ");")},
		{"blobs", wrap("fp16 y = f(a = " + rep("fp16(BLOBFILE(path = ", n) + ");")},
		{"blocks", wrap(rep("f() () {", n))},
		{"functions", "program(1.0) {" + rep(" func f() {", n)},
		{"statements", wrap(rep("@;", n))},
		{"braces", wrap(rep("{", n))},
		{"quotes", wrap(rep(`"`, n))},
		{"open strings", wrap(rep("\"\n", n))},
		{"open comments", wrap(rep("/* ", n))},
		{"long name", wrap(rep("a", n))},
		{"long number", wrap("int32 y = const()[val = int32(" + rep("9", n) + ")];")},
		{"long fraction", wrap("fp16 y = const()[val = fp16(0." + rep("9", n) + "e" + rep("9", n) + ")];")},
		{"many arguments", wrap("f(" + rep("a = x,", n) + ");")},
		{"zero bytes", rep("\x00", n)},
		{"declared size", wrap("tensor<fp16, [300000000, 300000000, 300000000]> y = const()[val = tensor<fp16, " +
			"[300000000, 300000000, 300000000]>([1])];")},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, l := Parse("model.mil", []byte(c.src))
			runtime.ReadMemStats(&after)
			if c.name != "long fraction" && !l.HasErrors() {
				t.Error("no error")
			}
			// A node takes some hundred bytes, and a few bytes of text are enough for one.
			if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(1<<20+400*len(c.src)); got > limit {
				t.Errorf("%d bytes of text made %d bytes of tree and messages, limit %d", len(c.src), got, limit)
			}
			var out bytes.Buffer
			if err := l.WriteText(&out); err != nil {
				t.Fatal(err)
			}
			if out.Len() > 20*1000 {
				t.Errorf("the messages have %d bytes", out.Len())
			}
		})
	}
}

// TestNestingUpToTheLimitIsRead checks that nesting up to MaxNesting is accepted.
func TestNestingUpToTheLimitIsRead(t *testing.T) {
	n := MaxNesting - 2
	src := wrap("fp16 y = f(a = " + strings.Repeat("(", n) + "x" + strings.Repeat(")", n) + ");")
	roundTrip(t, "model.mil", mustParse(t, "model.mil", []byte(src)))
	list := wrap("fp16 y = f(a = " + strings.Repeat("[", n) + "1" + strings.Repeat("]", n) + ");")
	roundTrip(t, "model.mil", mustParse(t, "model.mil", []byte(list)))
}

// TestDuplicatesInLongListsAreFound checks the search for duplicates in a long list of arguments.
func TestDuplicatesInLongListsAreFound(t *testing.T) {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, "a%d = x, ", i)
	}
	mustParse(t, "model.mil", []byte(wrap("f("+b.String()+"z = x);")))
	if _, l := Parse("model.mil", []byte(wrap("f("+b.String()+"a7 = x);"))); l.Errors() != 1 {
		t.Errorf("%d errors, want 1", l.Errors())
	}
}

// valueText writes a value as text.
func valueText(v Value) []byte {
	var pr printer
	pr.value(v)
	return pr.b
}
