package computeplan

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// parsed reads a text that is a plan.
func parsed(t *testing.T, text string) *Plan {
	t.Helper()
	p, err := Parse("plan", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestKinOfFormsAreRead reads texts that no public tool writes in this spelling: one convolution that prefers the
// engine.
func TestKinOfFormsAreRead(t *testing.T) {
	for name, text := range map[string]string{
		"list of lists": `{"results": [[{"opName": "ios18.conv", "outputName": "y", "preferredComputeDevice":
			"<MLNeuralEngineComputeDevice: 0x1>", "supported": "MLCPUComputeDevice|MLNeuralEngineComputeDevice",
			"cost": "50%"}]]}`,
		"functions in a list": `{"functions": [{"name": "main", "operations": [{"type": "conv", "identity": "y",
			"deviceUsage": {"preferred": {"neuralEngine": {}},
			"supported": {"cpu": true, "gpu": false, "neuralEngine": true}}, "estimated_cost_weight": 0.5}]}]}`,
		"nested blocks": `{"main": {"block": {"operations": [{"operatorName": "cond", "outputs": [], "blocks": [` +
			`{"operations": [{"operatorName": "conv", "outputs": [{"name": "y"}], "preferred_device": "ANE", ` +
			`"supported_devices": "CPU, ANE", "cost": 0.5}]}]}]}}}`,
		"table with a header": "Name;Operator;Supported Devices;Preferred Device;Cost (percent)\n" +
			"y;conv;\"CPU, ANE\";ANE;50\n",
		"table with tabs": "output\tkind\tpreferred\tsupported\tweight\textra\n" +
			"y\tios17.conv\tNE\tCPU,NE\t0.5\tz\n",
		"lines after a log": `compute plan:
{"operatorName": "conv", "outputNames": ["y"], "preferredComputeUnit": "NE", "supportedComputeUnits": ["NE", "CPU"],
	"estimatedCost": 0.5}`,
		"lines with a prefix": `[ETDump 1] {"operatorName": "conv", "outputNames": ["y"], ` +
			`"preferredComputeUnit": "NE", "supportedComputeUnits": ["NE", "CPU"], "estimatedCost": 0.5}`,
		"analytics after a comment": "// one\nprogram(1.3)\n{\n    func main<ios17>(tensor<fp16, [1]> x) {\n" +
			"tensor<fp16, [1]> y = conv(x = x)[BackendSupport = list<string, 2>([\"ane\", \"bnns\"]), " +
			"SelectedBackend = string(\"ane\"), " +
			"EstimatedRuntime = dict<string, fp64>({{\"ane\", 1}, {\"bnns\", 3}})];\n" +
			"tensor<fp16, [1]> z = relu(x = y)[BackendSupport = list<string, 1>([\"bnns\"]), SelectedBackend = " +
			"string(\"bnns\"), EstimatedRuntime = dict<string, fp64>({{\"bnns\", 1}})];\n    } -> (z);\n}\n",
		"operation as a string": `[{"operation": "conv", "output": "y", "device": "ne", "supported": ["c", "n"],
			"weight": {"weight": 0.5}}]`,
		"row without a header": "m\t0\tios18.conv\ty\tANE\tCPU,ANE\t0.5000\n",
		"listing": "Analyzing model for compute unit [cpuAndNeuralEngine]...\nfunc main(x) {\n" +
			" 50.00% N|C  y = conv(x: [\"x\"])\n}\n",
	} {
		t.Run(name, func(t *testing.T) {
			p := parsed(t, text)
			at := p.Join("main", []Op{{[]string{"y"}, "conv"}}).Of[0]
			if at < 0 {
				t.Fatalf("not joined: %+v", p.Operations)
			}
			o := &p.Operations[at]
			if o.Preferred != Engine || o.Supported != Devices(CPU|Engine) || o.Weight != 0.5 || !o.Weighed {
				t.Errorf("%+v", o)
			}
		})
	}
}

// TestMissingWeightsAreNotZero reads operations without a cost, with a null, and of a dump whose costs are all 0.
func TestMissingWeightsAreNotZero(t *testing.T) {
	for _, text := range []string{
		`[{"operator": "relu", "outputs": ["y"], "preferred": "cpu"}]`,
		`[{"operator": "relu", "outputs": ["y"], "preferred": "cpu", "estimatedCost": null}]`,
		`[{"operator": "relu", "outputs": ["y"], "preferred": "cpu", "estimated_cost": 0}]`,
		"m\t0\trelu\ty\tCPU\tCPU\t-\n",
		"operation relu, device <MLCPUComputeDevice: 0x6>\n",
	} {
		if o := parsed(t, text).Operations[0]; o.Weighed || o.Preferred != CPU {
			t.Errorf("%s gives %+v", text, o)
		}
	}
	p := parsed(t, `[{"operator": "relu", "outputs": ["y"], "preferred": "cpu", "cost": 0},
		{"operator": "conv", "outputs": ["z"], "preferred": "cpu", "cost": 1}]`)
	if !p.Operations[0].Weighed {
		t.Error("a weight of 0 beside others is missing")
	}
}

// TestRefusalsWithCommasAreRead reads reasons that have the separator of the table.
func TestRefusalsWithCommasAreRead(t *testing.T) {
	p := parsed(t, "DebugName, OpType, SelectedBackend, backend_0, backend_1, backend_2, est_time_0, est_time_1, "+
		"est_time_2, invalid_0, invalid_1, invalid_2\n"+
		`a:1:2, relu, "ane", ane, bnns, classic_cpu, 1, 2, 3, , , `+"\n"+
		`a:2:2, ios17.conv, "bnns", , bnns, classic_cpu, , 2, 3, kernel 17, want 1, 2, or 16, , `+"\n"+
		`a:3:2, ios17.conv, "classic_cpu", , , classic_cpu, , , 3, no, not so, why, `+"\n")
	want := []Reason{{"ane", "kernel 17, want 1, 2, or 16"}}
	if got := p.Operations[1].Reasons; !reflect.DeepEqual(got, want) {
		t.Errorf("reasons are %q, want %q", got, want)
	}
	if o := p.Operations[2]; len(o.Reasons) == 0 || o.Reasons[0].Backend != "ane" || o.Supported != Devices(CPU) {
		t.Errorf("%+v", o)
	}
}

// TestLongReasonsAreRead reads a reason of many commas.
func TestLongReasonsAreRead(t *testing.T) {
	reason := strings.Repeat("x, ", 1<<18) + "x"
	p := parsed(t, "OpType, SelectedBackend, backend_0, backend_1, est_time_0, est_time_1, invalid_0, invalid_1\n"+
		"relu, \"ane\", ane, bnns, 1, 2, , \nconv, \"bnns\", , bnns, , 2, "+reason+", \n")
	if got := p.Operations[1].Reasons; len(got) != 1 || got[0].Backend != "ane" || got[0].Text != reason {
		t.Errorf("%d reasons of the wrong text", len(got))
	}
}

// TestAnalyticsHaveTheCostOfCrossings reads the head of the analytics' text.
func TestAnalyticsHaveTheCostOfCrossings(t *testing.T) {
	p := parsed(t, `program(1.3)
{
    func main<ios17>(tensor_buffer<fp32, shape=[1, 4], strides=[4, 1]> x) [Launch_ane_ms = fp64(0x1p-3), `+
		`Src_ane_Dest_bnns_ms = fp64(0.25)] {
            tensor<fp32, [1, 4]> y = ios18.relu(x = x)[BackendSupport = list<string, 2>(["bnns", "unsupported"]),`+
		` EstimatedRuntime = dict<string, fp64>({{"bnns", 1.5e-3}}), SelectedBackend = string("bnns"),`+
		` ValidationMessage = dict<string, string>({{"ane", "say \"no\", twice"}}), milId = uint64(1)];
        } -> (y);
}
`)
	if want := []Crossing{{"", "ane", 0.125}, {"ane", "bnns", 0.25}}; !reflect.DeepEqual(p.Crossings, want) {
		t.Errorf("crossings are %v, want %v", p.Crossings, want)
	}
	o := p.Operations[0]
	if o.Kind != "relu" || o.Opset != "ios18" || o.Line != 4 || len(o.Reasons) != 1 ||
		o.Reasons[0].Text != `say "no", twice` || o.Weight != 1 {
		t.Errorf("%+v", o)
	}
}

// TestErrorsHaveAPlace reads texts that are wrong.
func TestErrorsHaveAPlace(t *testing.T) {
	op := func(members string) string {
		return "[\n {\"operator\": \"relu\", \"outputs\": [\"y\"],\n  " + members + "}]"
	}
	for _, c := range []struct {
		text         string
		line, column int
		want         string
	}{
		{"", 0, 0, "the file is empty"},
		{" \n", 0, 0, "the file is empty"},
		{"hello\n", 0, 0, "zinc reads Xcode's"},
		{"program(1.0)\n{\n}\n", 0, 0, "not a plan of it"},
		{"{}", 0, 0, "not a dump"},
		{`{"a": 1}`, 0, 0, "not a dump"},
		{`{"operations": []}`, 0, 0, "no operations"},
		{op(`"preferred": "tpu"`), 3, 16, `got "tpu"`},
		{op(`"preferred": "cpu", "weight": 1.5`), 3, 33, "from 0 to 1"},
		{op(`"preferred": "cpu", "weight": -1`), 3, 33, "from 0 to 1"},
		{op(`"preferred": "cpu", "weight": NaN`), 3, 33, "from 0 to 1"},
		{op(`"preferred": "cpu", "weight": "a"`), 3, 33, "from 0 to 1"},
		{op(`"preferred": "cpu", "weight": []`), 3, 33, "want a weight"},
		{op(`"preferred": {"abacus": {}}`), 3, 17, `got "abacus"`},
		{op(`"preferred": "cpu",}`), 3, 22, "want a key"},
		{"[\n {\"operator\": \"relu\"", 2, 21, `want ",", got the end`},
		{"[{\"operator\": \"relu", 1, 15, "no closing quote"},
		{"[{\"operator\": relu}]", 1, 15, "want a JSON value"},
		{strings.Repeat(`{"a":`, 70), 1, 321, "deeper than 64"},
		{"m\t0\trelu\ty\tCPU\tCPU\t0.5\nm\t1\trelu\tz\tCPU\tCPU\t2\n", 2, 0, "from 0 to 1"},
		{"m\t0\trelu\ty\tCPU\tCPU\t0.5\nn\t1\trelu\tz\tCPU\tCPU\t0.5\n", 2, 0, "several models"},
		{"operation relu, device <MLCPUComputeDevice: 0x6>, cost 400 %\n", 1, 0, "from 0 to"},
		{"OpType, SelectedBackend, backend_0, est_time_0\nrelu, \"ane\", ane, x\n", 2, 0, "want an estimate"},
		{"OpType, SelectedBackend, backend_0, est_time_0\nrelu, \"ane\"\n", 2, 0, "want 4 columns"},
		{"\xff\xfeo\x00", 0, 0, "UTF-16"},
		{"\x1f\x8b\x08", 0, 0, "gzip"},
		{"OpType = relu;\n{\n OpType = relu;\n", 4, 1, "the end of the file"},
	} {
		_, err := Parse("plan", []byte(c.text))
		e := (*Error)(nil)
		if !errors.As(err, &e) {
			t.Errorf("%q: %v, want an Error", c.text, err)
			continue
		}
		if e.Line != c.line || e.Column != c.column || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %d:%d and %q", c.text, err, c.line, c.column, c.want)
		}
	}
}

// TestJoinFollowsTheRules joins a dump with what Core ML puts in around the operations of a model.
func TestJoinFollowsTheRules(t *testing.T) {
	var b strings.Builder
	row := func(kind, output string) {
		fmt.Fprintf(&b, "m\t0\t%s\t%s\tCPU\tCPU\t-\n", kind, output)
	}
	row("ios17.tensor_buffer_to_tensor", "image_4D454D5F4F5054")
	row("ios17.mul", "image__scaled__")
	row("ios17.add", "image__biased__")
	row("ios17.cast", "x_to_fp16")        // of the model
	row("ios17.cast", "indices_to_int16") // of Core ML
	row("ios17.greater_equal", "greater_equal_0")
	row("ios17.add", "add_7")
	row("ios17.select", "select_7")
	row("ios17.gather", "g")
	row("split", "s0,s1")
	row("ios18.leaky_relu", "p") // prelu in the model
	row("ios17.exp", "elsewhere")
	row("ios17.tanh", "out_4D454D5F4F5054")
	row("ios17.tensor_to_tensor_buffer", "out")
	p := parsed(t, b.String())
	ops := []Op{{[]string{"x_to_fp16"}, "cast"}, {[]string{"g"}, "gather"}, {[]string{"s0", "s1"}, "split"},
		{[]string{"p"}, "prelu"}, {[]string{"gone"}, "relu"}, {[]string{"out"}, "tanh"}}
	j := p.Join("main", ops)
	if want := []int{3, 8, 9, 10, -1, 12}; !reflect.DeepEqual(j.Of, want) {
		t.Errorf("joined %v, want %v", j.Of, want)
	}
	if want := []int{0, 1, 2, 4, 5, 6, 7, 13}; !reflect.DeepEqual(j.Inserted, want) {
		t.Errorf("inserted %v, want %v", j.Inserted, want)
	}
	if !reflect.DeepEqual(j.Extra, []int{11}) || j.Missing != 1 || !reflect.DeepEqual(j.Renamed, []int{3}) {
		t.Errorf("%+v", j)
	}
}

// TestSeveralOutputsJoinByAny joins an operation by an output that is not its first.
func TestSeveralOutputsJoinByAny(t *testing.T) {
	p := parsed(t, `[{"operator": "split", "outputs": ["b"], "preferred": "cpu"}]`)
	if j := p.Join("main", []Op{{[]string{"a", "b"}, "split"}}); j.Of[0] != 0 {
		t.Errorf("%+v", j)
	}
}

// TestFunctionsAreKeptApart joins one function of a dump with two.
func TestFunctionsAreKeptApart(t *testing.T) {
	p := parsed(t, `{"functions": {
		"prefill": {"operations": [{"operator": "relu", "outputs": ["y"], "preferred": "cpu"}]},
		"decode": {"operations": [{"operator": "relu", "outputs": ["y"], "preferred": "ane"}]}}}`)
	ops := []Op{{[]string{"y"}, "relu"}}
	if j := p.Join("decode", ops); j.Of[0] != 1 || j.Other != 1 {
		t.Errorf("%+v", j)
	}
	if j := p.Join("main", ops); j.Of[0] != -1 || len(j.Functions()) != 2 {
		t.Errorf("%+v, functions %q", j, j.Functions())
	}
}

// TestOrderJoinsByKinds aligns a dump without names that has operations which the model does not have.
func TestOrderJoinsByKinds(t *testing.T) {
	p := parsed(t, `{"operations": [{"operator": "ios17.cast", "preferred": "cpu"}, {"operator": "ios17.conv",
		"preferred": "ane"}, {"operator": "const"}, {"operator": "relu", "preferred": "ane"},
		{"operator": "ios17.conv", "preferred": "cpu"}]}`)
	ops := []Op{{nil, "conv"}, {nil, "relu"}, {nil, "softmax"}, {nil, "conv"}}
	j := p.Join("main", ops)
	if want := []int{1, 2, -1, 3}; !reflect.DeepEqual(j.Of, want) || !reflect.DeepEqual(j.Extra, []int{0}) {
		t.Errorf("%+v", j)
	}
}

// FuzzParse reads any text: it is a plan or an error, and a plan joins.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"main": {"block": {"operations": [{"operatorName": "ios17.conv", "outputs": [{"name": "y"}], "cost": 0.4,
			"preferred_device": "ANE", "supported_devices": "CPU, GPU, ANE", "blocks": []}]}}}`,
		`{"infos": [{"path": {"components": [{"programOperation": {"data": {"outputName": "y"}}}]},
			"estimatedCost": null,
			"deviceUsage": {"preferred": {"neuralEngine": {"totalCoreCount": 16}}, "supported": [{"cpu": {}}]}}]}`,
		`{"traceEvents": [{"name": "conv", "ph": "X", "args": {"preferred_device": "<MLCPUComputeDevice: 0x6>"}}]}`,
		`{"per_op_type": {"conv": {"ANE": 1}}}`, `{"ops_by_device": {"ane": ["ios17.conv:y"]}}`,
		"m\t0\tconv\ty\tANE\tCPU,ANE\t0.4\n", "36.00% C|GN x, y = pad(x: [\"a\"])\n",
		"operation pad, device <MLCPUComputeDevice: 0x6>, cost 36.0000%\n", "  ANE:     1 / 3 ( 33.3%)\n",
		"DebugName, OpType, SelectedBackend, backend_0, est_time_0, invalid_0\na, conv, \"ane\", ane, 1, \n",
		"{\n OpType = \"ios17.conv\";\n SelectedBackend = \"\\\"ane\\\"\";\n" +
			" OpPath = ({ Output = y; Type = Operation; });\n}",
		"program(1.3)\n{\n func main<ios17>(tensor_buffer<fp16, shape=[1], strides=[1]> x) {\n  tensor<fp16, [1]> y =" +
			" relu(x = x)[SelectedBackend = string(\"ane\")];\n } -> (y);\n}\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse("plan", data)
		if err != nil {
			return
		}
		if IsAnalytics(data) {
			if _, err := ModelText("plan", data); err != nil {
				t.Fatalf("%q is a plan and has no model: %v", data, err)
			}
		}
		if (len(p.Operations) == 0) == (p.Summary == nil) {
			t.Fatalf("%q gives %+v", data, p)
		}
		for i := range p.Operations {
			if o := &p.Operations[i]; !(o.Weight >= 0 && o.Weight <= 1+weightSlack) || o.Line < 1 {
				t.Fatalf("%q gives %+v", data, o)
			}
		}
		p.Join("main", []Op{{[]string{"y"}, "conv"}, {[]string{"x", "y"}, "relu"}})
	})
}
