package build

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/zinc-compiler/zinc/frontend/blobfile"
	"github.com/zinc-compiler/zinc/frontend/blobfile/blobfiletest"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/ir"
)

// mustBuild builds a text that must be sound.
func mustBuild(t testing.TB, text string, blobs *blobfile.Set) *ir.Program {
	t.Helper()
	tree, list := mil.ParseString("model.mil", text)
	p, more := Program(tree, blobs, Options{})
	list.Merge(more)
	if len(list.All()) > 0 {
		var b strings.Builder
		list.WriteText(&b)
		t.Fatalf("diagnostics:\n%s", &b)
	}
	if err := ir.Verify(p); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestBothDialectsBuild builds one text with the forms of both dialects.
func TestBothDialectsBuild(t *testing.T) {
	p := mustBuild(t, `program(1.3)
[buildInfo = dict<string, string>({{"a", "1"}, {"b", "2"}})]
{
    func main<ios18>(tensor<fp16, [?, 4]> x, state<tensor<fp16, [2, 4]>> k) [FlexibleShapeInformation = `+
		`tuple<tuple<string, dict<string, tensor<int32, [?]>>>, tuple<string, dict<string, list<tensor<int32, [2]>`+
		`, ?>>>, tuple<string, dict<string, dict<string, tensor<int32, [?]>>>>>((("DefaultShapes", {{"x", [2, `+
		`4]}}), ("RangeDims", {{"x", [[1, -1], [4, 4]]}}), ("EnumeratedShapes", {{"a", {{"x", [2, 4]}}}, {"b", `+
		`{{"x", [8, 4]}}}})))] {
            tensor<fp16, [2, 4]> r = read_state(input = k)[name = string("r0")];
            tensor<fp16, []> one = const()[name = tensor<string, []>("one"), val = tensor<fp16, []>(1)];
            tensor<fp16, [2, 4]> a = add(x = r, y = one);
            tensor<fp16, [2, 4]> b = softmax(axis = int32(-1), x = a);
            tensor<fp16, [2, 4]> c = softmax(axis = -1, x = b)[name = string("c")];
            tensor<fp16, [2, 4]> d = concat(axis = int32(0), interleave = false, values = c)[name = string("d")];
            tensor<fp16, [4, 4]> e = concat(axis = int32(0), interleave = bool(false), values = (c, d))[name = `+
		`string("e")];
            write_state(data = d, input = k)[name = string("w")];
            tensor<fp16, [2, 4]> f = constexpr_affine_dequantize<ios16>()[axis = int32(0), name = string("f"), `+
		`quantized_data = tensor<uint8, [2, 4]>([[1, 2, 3, 4], [5, 6, 7, 8]]), scale = tensor<fp16, [2]>([0x1p+0, `+
		`0x1p-1]), zero_point = uint8(1)];
            tensor<fp16, [2, 4]> g = constexpr_blockwise_shift_scale(data = tensor<int4, [2, 4]>([[1, 2, 3, 4], `+
		`[5, 6, 7, -8]]), scale = tensor<fp16, [2, 1]>([[1], [2]]))[name = string("g")];
            tensor<fp16, [2, 4]> h = add(x = f, y = g)[name = string("h")];
            tensor<fp16, [8, 4]> i = reshape(shape = tensor<int32, [2]>([8, -1]), x = x)[name = string("i")];
        } -> (e, h, i);
    func second<ios16>(tensor<bool, []> pred, tensor<fp32, [2]> x) {
            tensor<fp32, [2]> y = cond(pred = pred)[name = tensor<string, []>("y")] () {
                    tensor<fp32, [2]> t = relu(x = x);
                } -> (t)
            () {
                    tensor<fp32, [2]> t = tanh(x = x);
                } -> (t);
        } -> (y);
}
`, nil)
	if want := []ir.KeyValue{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}}; !reflect.DeepEqual(p.BuildInfo, want) ||
		p.Version != "1.3" {
		t.Errorf("version %s, buildInfo %v, want %v", p.Version, p.BuildInfo, want)
	}
	f := p.Func("main")
	if want := (ir.Flexible{
		Default: map[string][]int64{"x": {2, 4}},
		Ranges:  map[string][][2]int64{"x": {{1, -1}, {4, 4}}},
		Enums:   []map[string][]int64{{"x": {2, 4}}, {"x": {8, 4}}},
	}); !reflect.DeepEqual(f.Flex, want) {
		t.Errorf("shape information is %v, want %v", f.Flex, want)
	}
	ops := map[string]*ir.Op{}
	for _, op := range f.Body.Ops {
		if len(op.Results) > 0 {
			ops[op.Results[0].Name] = op
		}
	}
	if got := len(f.Body.Ops); got != 11 {
		t.Errorf("%d operations, want 11 without constants", got)
	}
	for _, c := range []struct{ name, value string }{{"b", "b.axis"}, {"c", "c.axis"}} {
		v := ops[c.name].Arg("axis")
		if v.Name != c.value || !v.IsConst() || v.Const.Int(0) != -1 || v.Type.Rank() != 0 {
			t.Errorf("axis of %s is %s %s", c.name, v.Name, v.Type)
		}
	}
	if got := len(ops["d"].ArgList("values")); got != 1 {
		t.Errorf("d concatenates %d values, want 1", got)
	}
	if got := ops["e"].ArgList("values"); len(got) != 2 || got[1] != ops["d"].Results[0] {
		t.Errorf("e concatenates %v", got)
	}
	if got := ops["r"].Name; got != "r0" {
		t.Errorf("name of r is %q", got)
	}
	if got := (ir.Pos{Line: 5, Col: 38}); ops["r"].Pos != got || ops["r"].Results[0].Pos != (ir.Pos{Line: 5, Col: 34}) {
		t.Errorf("r is at %v, its result at %v", ops["r"].Pos, ops["r"].Results[0].Pos)
	}
	if got := ops["f"].Arg("quantized_data").Const.Int(7); got != 8 {
		t.Errorf("last quantised number is %d, want 8", got)
	}
	if got := ops["g"].Arg("data").Const.Int(7); got != -8 {
		t.Errorf("last quantised number is %d, want -8", got)
	}
	// Only the text knows both dimensions.
	if got := ops["i"].Results[0].Type.String(); got != "tensor<fp16, [8, 4]>" {
		t.Errorf("type of i is %s", got)
	}
	// Two sibling blocks use one name for two values.
	g := p.Func("second")
	blocks := g.Body.Ops[0].Blocks
	if a, b := blocks[0].Outputs[0], blocks[1].Outputs[0]; a == b || a.Name == b.Name {
		t.Errorf("the branches return %s and %s", a.Name, b.Name)
	}
}

// TestNamesOfTheTextAreKept checks that names of the text have priority over names of literals.
func TestNamesOfTheTextAreKept(t *testing.T) {
	p := mustBuild(t, `program(1.3)
{
    func main<ios18>(tensor<fp16, [4]> x) {
            tensor<fp16, [4]> y = softmax(axis = int32(0), x = x);
            tensor<fp16, [4]> y.axis = relu(x = y);
            tensor<fp16, [4]> y.axis.1 = relu(x = y.axis);
        } -> (y.axis, y.axis.1);
}
`, nil)
	body := p.Funcs[0].Body
	seen := map[string]bool{body.Ops[0].Arg("axis").Name: true}
	for i, want := range []string{"y", "y.axis", "y.axis.1"} {
		v := body.Ops[i].Results[0]
		if v.Name != want || seen[v.Name] {
			t.Errorf("result %d is %s, want %s", i, v.Name, want)
		}
		seen[v.Name] = true
	}
}

// TestConstantsAreWindowsOfTheFile checks that a constant is the bytes of the mapped file.
func TestConstantsAreWindowsOfTheFile(t *testing.T) {
	dir := t.TempDir()
	data := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	records := blobfiletest.Write(t, filepath.Join(dir, "w.bin"),
		blobfiletest.Blob{Type: blobfile.Float16, Elems: 4, Data: data},
		blobfiletest.Blob{Type: blobfile.Uint8, Elems: 4, Data: []byte{1, 0, 0, 1}})
	at, flags := records[0], records[1]
	blobs, err := blobfile.OpenSet(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	defer blobs.Close()
	ref := func(typ string, off uint64) string {
		return fmt.Sprintf(`%s(BLOBFILE(path = string("@model_path/w.bin"), offset = uint64(%d)))`, typ, off)
	}
	p := mustBuild(t, `program(1.3)
{
    func main<ios18>(tensor<fp16, [2, 2]> x) {
            tensor<fp16, [2, 2]> c = const()[name = string("c"), val = `+ref("tensor<fp16, [2, 2]>", at)+`];
            tensor<bool, [4]> m = const()[name = string("m"), val = `+ref("tensor<bool, [4]>", flags)+`];
            tensor<fp16, [2, 2]> y = add(x = x, y = c)[name = string("y")];
        } -> (y, m);
}
`, blobs)
	c := p.Funcs[0].Body.Ops[0].Arg("y").Const
	file, err := blobs.Open("@model_path/w.bin")
	if err != nil {
		t.Fatal(err)
	}
	blob, err := file.Blob(at)
	if err != nil {
		t.Fatal(err)
	}
	if unsafe.SliceData(c.Data) != unsafe.SliceData(blob.Data) || len(c.Data) != len(data) {
		t.Error("the constant is a copy of the file's bytes")
	}
	if want := fmt.Sprintf("w.bin@%d", at); c.Blob != want {
		t.Errorf("the constant comes from %s, want %s", c.Blob, want)
	}
	if m := p.Funcs[0].Body.Outputs[1].Const; !m.Bool(0) || m.Bool(1) || !m.Bool(3) {
		t.Error("booleans are not those of the file")
	}
}

// TestEachFaultIsOneError puts one fault into each of many statements and uses every result; each fault is one error.
func TestEachFaultIsOneError(t *testing.T) {
	faults := []string{
		`tensor<fp16, [4]> V = add(x = x, y = tensor<fp16, [3]>([1, 2, 3]));`,
		`tensor<fp16, [4]> V = reluu(x = x);`,
		`tensor<fp16, [4]> V = relu(x = x, z = x);`,
		`tensor<fp16, [4]> V = relu(x = missingV);`,
		`tensor<fp16, [4]> V = relu();`,
		`tensor<fp32, [4]> V = relu(x = x);`,
		`tensor<fp16, [4]> V = softmax(axis = int32(7), x = x);`,
		`tensor<fp16, [4]> V = softmax(axis = string("a"), x = x);`,
		`tensor<fp16, [4]> V = softmax(axis = int64(0), x = x);`,
		`tensor<fp16, [4]> V = relu(x = (x, x));`,
		`tensor<fp16, [4]> V, tensor<fp16, [4]> WV = relu(x = x);`,
		`tensor<fp16, [4]> V = const();`,
		`tensor<fp16, [4]> V = const()[val = tensor<fp16, [5]>([1, 2, 3, 4, 5])];`,
		`tensor<fp16, [4]> V = const()[val = tensor<fp16, [4]>(BLOBFILE(path = string("@model_path/w"), offset = ` +
			`uint64(64)))];`,
		`tensor<int32, [4]> V = const()[val = tensor<int32, [4]>([1, 2, 3, 9999999999])];`,
		`tensor<fp16, [4]> V = constexpr_cast<ios16>(source_val = x, output_dtype = string("fp16"));`,
		`tensor<fp16, [...]> V = relu(x = x);`,
		`dict<string, int32> V = relu(x = x);`,
		`tensor<fp16, [4]> x = relu(x = x);`,
	}
	var b strings.Builder
	for i, f := range faults {
		v := fmt.Sprintf("v%d", i)
		fmt.Fprintf(&b, "%s\n", strings.ReplaceAll(f, "V", v))
		// A weight must be known, so a failed constant would cause an error here.
		fmt.Fprintf(&b, "tensor<fp16, [4]> u%d = linear(x = x, weight = %s);\n", i, v)
	}
	text := "program(1.3)\n{\nfunc main<ios15>(tensor<fp16, [4]> x) {\n" + b.String() + "} -> (x);\n}\n"
	tree, list := mil.ParseString("model.mil", text)
	if list.HasErrors() {
		t.Fatal(list.Err())
	}
	p, list := Program(tree, nil, Options{})
	if p != nil {
		t.Error("a program despite errors")
	}
	at := map[int]int{}
	for _, d := range list.All() {
		at[d.Span.Position().Line]++
	}
	for i, f := range faults {
		if at[4+2*i] != 1 {
			t.Errorf("%d errors for %s", at[4+2*i], f)
		}
	}
}

// FuzzProgram builds any text that parses: it must not panic, and a program without errors must pass the verifier.
func FuzzProgram(f *testing.F) {
	for _, s := range []string{
		"tensor<fp16, [4]> y = relu(x = x)[name = string(\"y\")];",
		"tensor<fp16, [4]> y = conv(x = x, weight = x, strides = [1], pad_type = \"valid\");",
		"tensor<fp16, [8]> y = concat(axis = 0, interleave = false, values = (x, x));",
		"tensor<fp16, [4]> y = const()[val = tensor<fp16, [4]>([1, 2.5, 0x1p-3, -inf])];",
		"tensor<fp16, [2]> a, tensor<fp16, [2]> y = split(axis = int32(0), num_splits = int32(2), x = x);",
		"list<tensor<fp16, [4]>, ?> y = make_list(elem_shape = int32(4), dtype = \"fp16\");",
		"tensor<fp16, [4]> y = slice_by_index(x = x, begin = [0], end = [4], stride = [1]);",
		"tensor<fp16, [4]> y = while_loop(loop_vars = x) (tensor<fp16, [4]> a) { bool t = const()[val = " +
			"bool(true)]; } -> (t) (tensor<fp16, [4]> a) { } -> (a);",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, stmts string) {
		tree, list := mil.ParseString("model.mil", "program(1.3)\n{\nfunc main<ios17>(tensor<fp16, [4]> x) {\n"+stmts+
			"\n} -> (y);\n}\n")
		p, more := Program(tree, nil, Options{Partial: list.HasErrors()})
		if list.HasErrors() || more.HasErrors() {
			return
		}
		if err := ir.Verify(p); err != nil {
			t.Errorf("built, but %v", err)
		}
	})
}

// TestLiteralsBeyondTheirTypeAreWarned reads numbers that their type rounds to an infinity, and infinities as such.
func TestLiteralsBeyondTheirTypeAreWarned(t *testing.T) {
	for literal, want := range map[string]string{
		"tensor<fp16, [3]>([1, -1e400, 1e5])": "c: element 1 is -1e400, which becomes -Inf; the largest fp16 is 65504",
		"tensor<fp16, [1]>([65520])":          "c: element 0 is 65520, which becomes +Inf; the largest fp16 is 65504",
		"tensor<fp32, [1]>([3.5e38])":         "which becomes +Inf; the largest fp32 is 3.4028234663852886e+38",
		"tensor<fp16, [3]>([inf, -inf, nan])": "",
		"tensor<fp16, [2]>([65519, -65504])":  "",
		"tensor<int32, [1]>([1000000])":       "",
	} {
		typ, _, _ := strings.Cut(literal, "(")
		tree, list := mil.ParseString("model.mil", `program(1.3)
{
    func main<ios18>(tensor<fp32, [1]> x) {
            `+typ+` c = const()[name = string("c"), val = `+literal+`];
            tensor<fp32, [1]> y = exp(x = x);
        } -> (y);
}
`)
		_, more := Program(tree, nil, Options{})
		list.Merge(more)
		switch all := list.All(); {
		case list.HasErrors(), len(all) > 1, want == "" && len(all) > 0:
			t.Errorf("%s: %v", literal, all)
		case want != "" && (len(all) == 0 || !strings.Contains(all[0].Text(), want)):
			t.Errorf("%s: %v, want %q", literal, all, want)
		}
	}
}

// TestClassifyIsLeftOut reads the last statement of a classifier, whose results no port can have.
func TestClassifyIsLeftOut(t *testing.T) {
	for _, c := range []struct{ results, outputs, want string }{
		{"string l, dict<string, fp64> d", "l, d", "p"},
		{"tensor<string, []> l, dict<tensor<string, []>, tensor<fp64, []>> d", "d, q, l", "p q"},
		{"string l, dict<string, fp64> d", "p, l, d", "p"},
		{"string l, dict<string, fp64> d", "d, p", "p"},
	} {
		tree, list := mil.ParseString("model.mil", `program(1.3)
{
    func main<ios18>(tensor<fp32, [1, 2]> p) {
            tensor<fp32, [1, 2]> q = exp(x = p);
            `+c.results+` = classify(probabilities = p, classes = list<string, 2>(["a", "b"]))[name = string("l")];
        } -> (`+c.outputs+`);
}
`)
		p, more := Program(tree, nil, Options{})
		list.Merge(more)
		if list.HasErrors() || len(list.All()) != 1 || !strings.Contains(list.All()[0].Text(), "it gives p") {
			t.Fatalf("%s: %v", c.outputs, list.All())
		}
		if err := ir.Verify(p); err != nil {
			t.Error(err)
		}
		var got []string
		for _, v := range p.Funcs[0].Body.Outputs {
			got = append(got, v.Name)
		}
		if s := strings.Join(got, " "); s != c.want || len(p.Funcs[0].Body.Ops) != 1 {
			t.Errorf("%s: outputs %s, want %s; %d operations", c.outputs, s, c.want, len(p.Funcs[0].Body.Ops))
		}
	}
}

// TestProbabilitiesOfClassifyAreRead: a statement may read the probabilities, which have the type of a tensor.
func TestProbabilitiesOfClassifyAreRead(t *testing.T) {
	tree, list := mil.ParseString("model.mil", `program(1.3)
{
    func main<ios18>(tensor<fp32, [2]> p) {
            string l, tensor<fp32, [2]> d = classify(probabilities = p, classes = list<string, 2>(["a", "b"]));
            tensor<fp32, [2]> y = abs(x = d);
        } -> (y);
}
`)
	p, more := Program(tree, nil, Options{})
	list.Merge(more)
	if list.HasErrors() {
		t.Fatal(list.Err())
	}
	if err := ir.Verify(p); err != nil {
		t.Error(err)
	}
	if ops := p.Funcs[0].Body.Ops; len(ops) != 1 || ops[0].Arg(ir.ParamX) != p.Funcs[0].Body.Params[0] {
		t.Errorf("%d operations", len(ops))
	}
}
