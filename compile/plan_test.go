package compile_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// plan places a function with the given parameters, statements and results.
func plan(t *testing.T, tab *target.Table, params, body, results string) *compile.Report {
	t.Helper()
	return planWith(t, compile.Options{Target: tab}, params, body, results)
}

// planWith is plan with other options.
func planWith(t *testing.T, o compile.Options, params, body, results string) *compile.Report {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.mil")
	text := fmt.Sprintf("program(1.3)\n{\n    func main<ios18>(%s) {\n%s\n        } -> (%s);\n}\n", params, body,
		results)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := frontend.Open(path, frontend.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	defer m.Close()
	var r *compile.Report
	to := compile.Sink{Plan: compile.To(&r)}
	if err := compile.Compile(context.Background(), m.Program, o, to); err != nil {
		t.Fatal(err)
	}
	return r
}

const half = "tensor<fp16, [1, 8, 4, 4]>"

// TestReportNamesWhatSeparatesDispatches checks the causes of dispatches.
func TestReportNamesWhatSeparatesDispatches(t *testing.T) {
	// The program has relu on the engine, sin on the CPU, then relu again; the second sin reads no result of the
	// engine.
	r := plan(t, target.H13, half+" x", `
            `+half+` a = relu(x = x)[name = string("a")];
            `+half+` b = sin(x = a)[name = string("b")];
            `+half+` c = sin(x = x)[name = string("c")];
            `+half+` d = relu(x = b)[name = string("d")];
            `+half+` e = add(x = d, y = c)[name = string("e")];`, "e")
	if len(r.DispatchList) != 2 || r.Dispatches != 2 {
		t.Fatalf("%+v", r.DispatchList)
	}
	if d := r.DispatchList[0]; d.Cause != compile.CauseFirst || d.CutBy != nil {
		t.Errorf("first: %+v", d)
	}
	d := r.DispatchList[1]
	if d.Cause != compile.CauseCPU || len(d.CutBy) != 1 || r.Ops[d.CutBy[0]].Name != "b" {
		t.Errorf("second: %+v, %+v", d, r.Ops)
	}
	if d.Ops != 2 || d.Inputs != 2 || d.Outputs != 1 {
		t.Errorf("second: %+v", d)
	}

	// The body has more results than a procedure has registers.
	var body strings.Builder
	var names []string
	for i := range 40 {
		fmt.Fprintf(&body, "            %s r%d = mul(x = x, y = fp16(%d.5))[name = string(\"r%d\")];\n", half, i, i+1,
			i)
		names = append(names, fmt.Sprintf("r%d", i))
	}
	r = plan(t, target.H13, half+" x", body.String(), strings.Join(names, ", "))
	if len(r.DispatchList) != 2 || r.DispatchList[1].Cause != compile.CauseRegisters || r.DispatchList[1].CutBy != nil {
		t.Errorf("40 results: %+v", r.DispatchList)
	}
}

// TestRefusalsDependOnTheTarget checks the facts of refusals for each target.
func TestRefusalsDependOnTheTarget(t *testing.T) {
	body := `
            string pt = const()[name = string("pt"), val = string("valid")];
            tensor<int32, [2]> st = const()[name = string("st"), val = tensor<int32, [2]>([1, 1])];
            tensor<int32, [4]> pd = const()[name = string("pd"), val = tensor<int32, [4]>([0, 0, 0, 0])];
            tensor<fp16, [1, 1, 1, 15]> w = const()[name = string("w"), val = tensor<fp16, [1, 1, 1, 15]>([[[[1,1,` +
		`1,1,1,1,1,1,1,1,1,1,1,1,1]]]])];
            tensor<fp16, [1, 1, 4, 6]> y = conv(x = x, weight = w, pad_type = pt, pad = pd, strides = st, ` +
		`dilations = st, groups = int32(1))[name = string("y")];
            tensor<fp16, [1, 1, 4, 6]> z = sin(x = y)[name = string("z")];`
	h15, err := target.Lookup("h15")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		t        *target.Table
		op       string
		rule     string // "" on the engine
		value    string
		limit    string
		rewrites bool
	}{
		{t: target.H13, op: "conv", rule: target.RuleKernel, value: "15", limit: "13", rewrites: true},
		{t: target.H14, op: "conv", rewrites: false},
		{t: target.H13, op: "sin", rule: target.RuleFamily, value: "A13", limit: "A15", rewrites: true},
		{t: target.H14, op: "sin", rule: target.RuleFamily, value: "A14", limit: "A15", rewrites: true},
		{t: h15, op: "sin", rule: target.RuleNoLowering, value: "sin of fp16", limit: "one that a rule lowers",
			rewrites: true},
	} {
		r := plan(t, c.t, "tensor<fp16, [1, 1, 4, 20]> x", body, "z")
		found := false
		for _, o := range r.Ops {
			if o.Op != c.op {
				continue
			}
			found = true
			no := o.Refusal
			switch {
			case (no == nil) != (c.rule == ""):
				t.Errorf("%s on %s: %+v", c.op, c.t.Name, o)
			case no != nil && (no.Rule != c.rule || no.Value != c.value || no.Limit != c.limit ||
				(no.Rewrite != "") != c.rewrites):
				t.Errorf("%s on %s: %+v", c.op, c.t.Name, no)
			}
		}
		if !found {
			t.Errorf("%s on %s: no such operation in %+v", c.op, c.t.Name, r.Ops)
		}
	}
}

// TestHintsLeaveOutThePrecision checks that no refusal advises fp16 precision: whether that makes the model faster is
// for advice to weigh.
func TestHintsLeaveOutThePrecision(t *testing.T) {
	const body = `
            tensor<fp32, [1, 8]> a = sinh(x = x)[name = string("a")];
            tensor<fp16, [1, 8]> b = cast(x = a, dtype = string("fp16"))[name = string("b")];
            tensor<fp16, [1, 8]> c = sinh(x = b)[name = string("c")];
            tensor<fp32, [1, 8]> d = cast(x = c, dtype = string("fp32"))[name = string("d")];
            tensor<fp32, [1, 8]> y = relu(x = d)[name = string("y")];`
	for _, precision := range []string{passes.PrecisionDeclared, passes.PrecisionFP16} {
		r := planWith(t, compile.Options{Target: target.H13, Precision: precision}, "tensor<fp32, [1, 8]> x", body, "y")
		found, refused := false, map[string]bool{}
		for _, o := range r.Ops {
			if no := o.Refusal; no != nil {
				refused[no.Rule] = true
				found = found || strings.Contains(no.Rewrite+o.Reason+no.Limit, "fp16 precision")
			}
		}
		if found || !refused[target.RuleConversion] {
			t.Errorf("precision %s: hint of fp16 precision %v, refused for %v", precision, found, refused)
		}
	}
}

// TestIntegerWeightsStayOnTheCPU checks that integers that fp16 cannot represent do not become coefficients of the
// engine.
func TestIntegerWeightsStayOnTheCPU(t *testing.T) {
	body := `
            tensor<int32, [3, 2]> w = const()[name = string("w"), val = tensor<int32, [3, 2]>([[1, 2], [3, 4], [5,` +
		` 2049]])];
            tensor<fp16, [1, 3]> y = linear(x = x, weight = w)[name = string("y")];`
	r := plan(t, target.H13, "tensor<fp16, [1, 2]> x", body, "y")
	no := r.Ops[len(r.Ops)-1].Refusal
	if no == nil || no.Rule != target.RuleElementType || no.Value != "int32" {
		t.Errorf("%+v", no)
	}
}

// TestReportDescribesCompressedConstants checks their forms and sizes, and what became of them.
func TestReportDescribesCompressedConstants(t *testing.T) {
	const (
		w2 = "tensor<fp16, [2, 4]>"
		q  = `constexpr_blockwise_shift_scale(data = tensor<int8, [2, 4]>([[1, 2, 3, 4], [5, 6, 7, 8]]), scale = `
	)
	mul := func(x string) string {
		return "\n            " + w2 + " y = mul(x = x, y = " + x + ")[name = string(\"y\")];"
	}
	for _, c := range []struct {
		name, body       string
		results          string
		tab              *target.Table
		form             string
		stored, streamed int64
		could            bool
		why              string
	}{
		{name: "affine by the channel", tab: target.H13, form: "affine int8", stored: 8 + 4, streamed: 16,
			why:  "int8 folds on h13 (M1); it streams from h14 (M2) on",
			body: w2 + ` w = ` + q + `tensor<fp16, [2, 1]>([[1.0], [2.0]]))[name = string("w")];` + mul("w")},
		{name: "affine streams from h14", tab: target.H14, form: "affine int8", stored: 8 + 4, streamed: 16,
			could: true, why: `mul "y" does not multiply with it`,
			body: w2 + ` w = ` + q + `tensor<fp16, [2, 1]>([[1.0], [2.0]]))[name = string("w")];` + mul("w")},
		{name: "blocks", tab: target.H14, form: "blockwise int8", stored: 8 + 8, streamed: 16,
			why:  "blockwise folds on h14 (M2); it streams from h15 (M3) on",
			body: w2 + ` w = ` + q + `tensor<fp16, [2, 2]>([[1.0, 2.0], [2.0, 1.0]]))[name = string("w")];` + mul("w")},
		{name: "blocks stream from h15", tab: target.H15, form: "blockwise int8", stored: 8 + 8, streamed: 16,
			could: true, why: "h15 could stream blockwise",
			body: w2 + ` w = ` + q + `tensor<fp16, [2, 2]>([[1.0, 2.0], [2.0, 1.0]]))[name = string("w")];` + mul("w")},
		{name: "read by the CPU", tab: target.H13, form: "affine int8", stored: 8 + 2, streamed: 0,
			why: "dense: the CPU reads it",
			body: w2 + ` w = ` + q + `tensor<fp16, [1, 1]>([[1.0]]))[name = string("w")];
            ` + w2 + ` y = mod(x = x, y = w)[name = string("y")];`},
		{name: "returned", tab: target.H13, form: "affine int8", stored: 8 + 2, streamed: 0,
			why: "dense: the function returns it", results: "y, w",
			body: w2 + ` w = ` + q + `tensor<fp16, [1, 1]>([[1.0]]))[name = string("w")];
            ` + w2 + ` y = relu(x = x)[name = string("y")];`},
	} {
		t.Run(c.name, func(t *testing.T) {
			results := c.results
			if results == "" {
				results = "y"
			}
			r := plan(t, c.tab, w2+" x", "            "+c.body, results)
			if len(r.Compressed) != 1 {
				t.Fatalf("%+v", r.Compressed)
			}
			got := r.Compressed[0]
			if got.Name != "w" || got.Line != 4 || got.Form != c.form || got.Stored != c.stored ||
				got.Streamed != c.streamed || got.CouldStream != c.could || !strings.Contains(got.Why, c.why) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestLongChainsAreSeveralDispatches checks operations that each fit a chain of tasks but together do not. The report
// states the cause.
func TestLongChainsAreSeveralDispatches(t *testing.T) {
	const s = "tensor<fp16, [64, 128, 1, 1]>"
	body, x := "            bool f = const()[name = string(\"f\"), val = bool(false)];\n", "x"
	for i := range 5 {
		body += fmt.Sprintf("            %s z%d = matmul(x = %s, y = y, transpose_x = f, transpose_y = f)[name = "+
			"string(\"z%d\")];\n", s, i, x, i)
		x = fmt.Sprintf("z%d", i)
	}
	r := plan(t, target.H13, s+" x, "+s+" y", body, x)
	if len(r.DispatchList) != 2 || r.DispatchList[0].Ops != 4 || r.DispatchList[1].Cause != compile.CauseTasks {
		t.Errorf("%+v", r.DispatchList)
	}
}
