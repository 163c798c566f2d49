package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/inspect/plandiff"
	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// mobileNet writes MobileNetEdgeTPU, whose operations mobilenet-edgetpu-m1.csv has in the same order: the network of
// the publication, with an image of 224 x 224 that is scaled and shifted in fp32, and 1,001 classes.
type mobileNet struct {
	b     strings.Builder
	shape [4]int
	at    string // the last value
	count int
	elem  string
}

// add writes a statement with a result of a shape.
func (m *mobileNet) add(op string, shape [4]int, args string) string {
	m.count++
	name := fmt.Sprintf("v%d", m.count)
	dims := fmt.Sprintf("[%d, %d, %d, %d]", shape[0], shape[1], shape[2], shape[3])
	fmt.Fprintf(&m.b, "            tensor<%s, %s> %s = %s(%s)[name = string(%q)];\n", m.elem, dims, name, op, args,
		name)
	m.shape, m.at = shape, name
	return name
}

// conv writes a convolution with a bias and same padding.
func (m *mobileNet) conv(out, kernel, stride, groups int) {
	in := m.shape
	const blob = `(BLOBFILE(path = string("@model_path/w.bin"), offset = uint64(64)))`
	w := fmt.Sprintf("tensor<fp16, [%d, %d, %d, %d]>", out, in[1]/groups, kernel, kernel) + blob
	bias := fmt.Sprintf("tensor<fp16, [%d]>", out) + blob
	shape := [4]int{1, out, (in[2] + stride - 1) / stride, (in[3] + stride - 1) / stride}
	m.add("conv", shape, fmt.Sprintf("x = %s, weight = %s, bias = %s, pad_type = string(\"same\"), strides = "+
		"tensor<int32, [2]>([%d, %d]), dilations = tensor<int32, [2]>([1, 1]), groups = int32(%d), pad = "+
		"tensor<int32, [4]>([0, 0, 0, 0])", m.at, w, bias, stride, stride, groups))
}

func (m *mobileNet) relu() { m.add("relu", m.shape, "x = "+m.at) }

// block writes an inverted bottleneck: one convolution that expands, or a pointwise and a depthwise one, then a
// pointwise one, and an addition if shapes allow it and residual is set.
func (m *mobileNet) block(fused bool, expand, out, kernel, stride int, residual bool) {
	before := m.at
	if fused {
		m.conv(expand, kernel, stride, 1)
	} else {
		m.conv(expand, 1, 1, 1)
		m.relu()
		m.conv(expand, kernel, stride, expand)
	}
	m.relu()
	m.conv(out, 1, 1, 1)
	if residual {
		m.add("add", m.shape, "x = "+m.at+", y = "+before)
	}
}

// mobileNetText is the network as MIL.
func mobileNetText() string {
	m := &mobileNet{shape: [4]int{1, 3, 224, 224}, at: "image", elem: "fp32"}
	m.b.WriteString("program(1.3)\n{\n    func main<ios17>(tensor<fp32, [1, 3, 224, 224]> image) {\n")
	m.add("mul", m.shape, "x = image, y = fp32(0.0078125)")
	m.add("add", m.shape, "x = v1, y = tensor<fp32, [1, 3, 1, 1]>([[[[-1]], [[-1]], [[-1]]]])")
	m.elem = "fp16"
	m.add("cast", m.shape, `x = v2, dtype = string("fp16")`)
	m.conv(32, 3, 2, 1)
	m.relu()
	m.conv(16, 1, 1, 1)
	stages := []struct {
		fused                                bool
		first, rest, out, kernel, stride, of int
	}{
		{true, 128, 128, 32, 3, 2, 4}, {true, 256, 192, 48, 3, 2, 4}, {false, 384, 384, 96, 3, 2, 4},
		{false, 768, 384, 96, 3, 1, 4}, {false, 768, 640, 160, 5, 2, 4}, {false, 1280, 0, 192, 3, 1, 1},
	}
	for _, s := range stages {
		m.block(s.fused, s.first, s.out, s.kernel, s.stride, false)
		for range s.of - 1 {
			m.block(s.fused, s.rest, s.out, s.kernel, 1, true)
		}
	}
	m.conv(1280, 1, 1, 1)
	m.relu()
	m.add("avg_pool", [4]int{1, 1280, 1, 1}, "x = "+m.at+`, kernel_sizes = tensor<int32, [2]>([7, 7]), strides = `+
		`tensor<int32, [2]>([1, 1]), pad_type = string("valid"), pad = tensor<int32, [4]>([0, 0, 0, 0]), `+
		`ceil_mode = bool(false), exclude_padding_from_average = bool(false)`)
	m.conv(1001, 1, 1, 1)
	m.add("transpose", [4]int{1, 1, 1, 1001}, "x = "+m.at+", perm = tensor<int32, [4]>([0, 2, 3, 1])")
	fmt.Fprintf(&m.b, "            tensor<fp16, [1, 1001]> q = squeeze(x = %s, axes = tensor<int32, [2]>([1, 2]))"+
		"[name = string(\"q\")];\n", m.at)
	m.b.WriteString(`            tensor<fp16, [1, 1001]> s = softmax(x = q, axis = int32(-1))[name = string("s")];
            tensor<fp32, [1, 1001]> out = cast(x = s, dtype = string("fp32"))[name = string("out")];
        } -> (out);
}
`)
	return m.b.String()
}

// mobileNetFiles writes the network, and returns its path and the path of the published dump of it.
func mobileNetFiles(t *testing.T) (model, dump string) {
	t.Helper()
	dump = filepath.Join(shareddir.Find(t), "coreml", "mobilenet-edgetpu-m1.csv")
	model = filepath.Join(t.TempDir(), "mobilenet.mil")
	put(t, model, []byte(mobileNetText()))
	return model, dump
}

// compared runs check --compare-plan.
func compared(t *testing.T, model, dump string, flags ...string) *plandiff.Result {
	t.Helper()
	status, out, errs := call(t, append([]string{"check", model, "--compare-plan", dump, "--json"}, flags...)...)
	if status != statusOK {
		t.Fatalf("status %d\n%s", status, errs)
	}
	r := new(plandiff.Result)
	if err := json.Unmarshal([]byte(out), r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestForecastOfMobileNetIsWhatCoreMLSays compares the published dump with the forecast by the rules of its chip.
func TestForecastOfMobileNetIsWhatCoreMLSays(t *testing.T) {
	model, dump := mobileNetFiles(t)
	r := compared(t, model, dump, "--rules", "m1-macos14")
	if r.Operations != 119 || r.Joined != 118 || r.Inserted != 1 || r.OnlyInPlan != 0 || r.OnlyInModel != 0 {
		t.Errorf("joined %d of %d, %d inserted, %d and %d alone", r.Joined, r.Operations, r.Inserted, r.OnlyInPlan,
			r.OnlyInModel)
	}
	if r.Compared != 118 || r.Agree != 118 || r.Engine.Plan != 114 || r.Engine.Forecast != 114 {
		t.Errorf("%d of %d agree, on the engine %+v", r.Agree, r.Compared, r.Engine)
	}
	estimatesWithin1(t, r)
}

// estimatesWithin1 checks that the estimates of the convolutions on each of four backends are within 1 %.
func estimatesWithin1(t *testing.T, r *plandiff.Result) {
	t.Helper()
	found := 0
	for _, g := range r.Estimates {
		if g.Kind == "conv" {
			found++
			if g.Count != 59 || g.Within1 != 59 {
				t.Errorf("conv on %s: %d of %d within 1 %%, the worst %g", g.Backend, g.Within1, g.Count, g.Worst)
			}
		}
	}
	if found != 4 {
		t.Errorf("estimates of conv on %d backends, want 4", found)
	}
}

// convTable is the published table of the M1's rates of convolutions: engine, bnns, classic_cpu and mps_graph. Its row
// of one shape, 95.4 flops a byte, is not in it: with a kernel of 1 x 1 that operation follows the first row.
var convTable = [][4]float64{
	{436.8, 31.37, 27.28, 114.07},
	{5980.9, 298.10, 259.18, 737.86},
	{11582.2, 729.20, 633.98, 1572.25},
}

// TestRatesReproduceThePublishedTable fits the published dump, and uses the file of the result.
func TestRatesReproduceThePublishedTable(t *testing.T) {
	model, dump := mobileNetFiles(t)
	rules := filepath.Join(t.TempDir(), "m1.tsv")
	status, out, errs := call(t, "coreml", "rates", dump, "--model", model, "-o", rules, "--chip", "M1", "--json")
	if status != statusOK {
		t.Fatalf("status %d\n%s", status, errs)
	}
	var r ratesJSON
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if r.Operations != 119 || r.Joined != 118 || len(r.Residuals) != 118 || len(r.Unfitted) != 0 {
		t.Errorf("%d operations, %d joined, %d residuals, not fitted %v", r.Operations, r.Joined, len(r.Residuals),
			r.Unfitted)
	}
	row := 0
	for _, x := range r.Rates {
		for b, worst := range x.Worst {
			if worst > 1e-4 {
				t.Errorf("%s on %s is off by %g", x.Operation, b, worst)
			}
		}
		if x.Operation != "conv" || row == len(convTable) {
			continue
		}
		for i, b := range []string{"ane", "bnns", "classic_cpu", "mps_graph"} {
			var giga float64
			var measure string
			if _, err := fmt.Sscanf(x.Times[b], "%g %s", &giga, &measure); err != nil || measure != "bias" ||
				math.Abs(giga/convTable[row][i]-1) > 3e-4 {
				t.Errorf("row %d: %s on %s, want %g", row, x.Times[b], b, convTable[row][i])
			}
		}
		row++
	}
	if row != len(convTable) {
		t.Errorf("%d rates of conv, want %d", row, len(convTable))
	}
	estimatesWithin1(t, compared(t, model, dump, "--rules", rules))
	if status, out, errs := call(t, "check", model, "--as", "coreml", "--rules", rules); status != statusOK ||
		!strings.Contains(out, "M1") {
		t.Errorf("status %d\n%s\n%s", status, out, errs)
	}
}
