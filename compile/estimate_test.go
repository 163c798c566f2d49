package compile

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// TestEstimatesAddUp checks that the products of a task's registers equal the products of the operation, and that every
// sum of the report is the sum of its parts.
func TestEstimatesAddUp(t *testing.T) {
	m, err := frontend.Open(filepath.Join("..", "examples", "digits", "digits.mlmodelc"), frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	r, err := All(context.Background(), m.Program, Options{Target: target.H13})
	if err != nil {
		t.Fatal(err)
	}
	rep := r.Report
	var ops, dispatches, tasks Estimate
	weights, n := int64(0), 0
	for _, o := range rep.Ops {
		weights += o.Weights
		n += o.Tasks
		if o.Estimate != nil {
			ops.merge(o.Estimate)
		}
	}
	for _, d := range rep.DispatchList {
		dispatches.merge(d.Estimate)
	}
	for _, x := range rep.TaskList {
		tasks.merge(x.Estimate)
	}
	once := cost.Overhead(target.H13) * cost.Time(rep.Dispatches)
	all := rep.Estimate
	in, out := handedBytes(r)
	io := cost.Handing(in, out, target.H13)
	if ops.Time != tasks.Time || ops.Time+once+io != all.Time || dispatches.Time != all.Time ||
		all.Terms[cost.Dispatch] != once || all.Terms[cost.Hand] != io || io == 0 {
		t.Errorf("operations %s us, tasks %s, dispatches %s, in all %s", ops.Time, tasks.Time, dispatches.Time,
			all.Time)
	}
	if n != rep.Tasks || ops.Cycles != all.Cycles || ops.DMABytes != all.DMABytes || ops.L2Peak != all.L2Peak ||
		weights > rep.Weights || weights == 0 {
		t.Errorf("operations %+v, %d tasks, %d bytes of weights; in all %+v, %d, %d", ops, n, weights, all, rep.Tasks,
			rep.Weights)
	}
	macs := map[string]int64{}
	k := 0
	for _, p := range r.HWX.Procedures() {
		text, off, _ := r.HWX.Text().Of(p)
		chain, err := td.V7.DecodeChain(text, off, p.FirstWords)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range chain {
			macs[rep.TaskList[k].Op] += cost.Estimate(x.Task, target.H13).MACs
			k++
		}
	}
	seen := 0
	for _, o := range rep.Ops {
		if o.Op == "conv" {
			seen++
			if macs[o.Name] != o.MACs {
				t.Errorf("%s: registers say %d products, the operation %d", o.Name, macs[o.Name], o.MACs)
			}
		}
	}
	if seen == 0 {
		t.Error("no convolution")
	}
}

// TestConstantsAreCountedForTheirFirstReader checks that of two equal constants one is stored, and that it counts for
// the first of two functions.
func TestConstantsAreCountedForTheirFirstReader(t *testing.T) {
	w := "tensor<fp16, [4, 64]> w = const()[val = tensor<fp16, [4, 64]>([" +
		strings.TrimSuffix(strings.Repeat("["+strings.TrimSuffix(strings.Repeat("0.5, -0.25, ", 32), ", ")+"], ", 4),
			", ") + "])];"
	fn := func(name string) string {
		return "func " + name + "<ios18>(tensor<fp16, [1, 64]> x) {" + w + `
			tensor<fp16, [1, 4]> a = linear(bias = tensor<fp16, [4]>([1, 2, 3, 4]), weight = w, x = x);
			tensor<fp16, [1, 64]> h = relu(x = x);
			tensor<fp16, [1, 4]> b = linear(bias = tensor<fp16, [4]>([1, 2, 3, 4]), weight = w, x = h);
		} -> (a, b);`
	}
	path := filepath.Join(t.TempDir(), "m.mil")
	if err := os.WriteFile(path, []byte("program(1.3)\n{\n"+fn("main")+fn("other")+"}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := frontend.Open(path, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	r, err := All(context.Background(), m.Program, Options{Target: target.H13})
	if err != nil {
		t.Fatal(err)
	}
	first := int64(0)
	for i, o := range r.Report.Ops {
		switch {
		case o.Op != "linear":
			if o.Weights != 0 || o.Shared != 0 {
				t.Errorf("%s %q has %d bytes and shares %d", o.Op, o.Name, o.Weights, o.Shared)
			}
		case first == 0:
			first = o.Weights
			if o.Shared != 0 || o.Weights-o.Padding != 4*64*2+4*2 {
				t.Errorf("%s %q has %d bytes, %d of them padding, and shares %d; its coefficients and biases are 520",
					o.Op, o.Name, o.Weights, o.Padding, o.Shared)
			}
		case o.Weights != 0 || o.Shared != first:
			t.Errorf("linear %d has %d bytes and shares %d, wanted 0 and %d", i, o.Weights, o.Shared, first)
		}
	}
	if first == 0 {
		t.Error("no linear has bytes")
	}
}

// handedBytes returns the bytes of all surfaces of a pair without states.
func handedBytes(r *Result) (in, out int64) {
	for _, p := range r.Functions[0].Procedures {
		for _, s := range p.Inputs {
			in += s.Size
		}
		for _, s := range p.Outputs {
			out += s.Size
		}
	}
	return in, out
}

// TestStatesAreNotTransferred checks that the surfaces of states do not count as transferred.
func TestStatesAreNotTransferred(t *testing.T) {
	times := map[bool]cost.Time{}
	for _, state := range []bool{false, true} {
		text := "func main<ios18>(tensor<fp16, [1, 64]> x, tensor<fp16, [1, 64]> s) { tensor<fp16, [1, 64]> z = " +
			"add(x = s, y = x); } -> (z);"
		if state {
			text = "func main<ios18>(tensor<fp16, [1, 64]> x, state<tensor<fp16, [1, 64]>> s) { tensor<fp16, [1, " +
				"64]> r = read_state(input = s); tensor<fp16, [1, 64]> y = add(x = r, y = x); tensor<fp16, [1, " +
				"64]> u = coreml_update_state(state = s, value = y); tensor<fp16, [1, 64]> z = relu(x = u); } -> (z);"
		}
		path := filepath.Join(t.TempDir(), "m.mil")
		if err := os.WriteFile(path, []byte("program(1.3)\n{\n"+text+"\n}\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		m, err := frontend.Open(path, frontend.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := All(context.Background(), m.Program, Options{Target: target.H13})
		m.Close()
		if err != nil {
			t.Fatal(err)
		}
		times[state] = r.Report.Estimate.Terms[cost.Hand]
	}
	if want := cost.Handing(2*128, 128, target.H13); times[false] != want {
		t.Errorf("two inputs and an output of 128 bytes take %s us, wanted %s", times[false], want)
	}
	if want := cost.Handing(128, 128, target.H13); times[true] != want {
		t.Errorf("an input and an output beside a state take %s us, wanted %s", times[true], want)
	}
}

// TestCompressedFormsCountConstantWeights compares what a form saves with the bytes that DMA would not read: the
// savings of a product bound by its weights, and none of a product of two values.
func TestCompressedFormsCountConstantWeights(t *testing.T) {
	const rows, inner, outer = 16, 1024, 2048
	for _, c := range []struct {
		on       *target.Table
		constant bool
	}{{target.H13, true}, {target.H13, false}, {target.H14, true}, {target.H14, false}} {
		on, constant := c.on, c.constant
		g := irbuild.New(1)
		x, w := g.Input(rows, inner), (*ir.Value)(nil)
		if constant {
			w = g.Weights(outer, inner)
		} else {
			w = g.Input(outer, inner)
		}
		g.Output(g.Op("matmul", "x", x, "y", w, "transpose_y", true))
		r, err := All(context.Background(), g.Program(), Options{Target: on, Place: passes.PlaceEngine})
		if err != nil {
			t.Fatal(err)
		}
		e := r.Report.Estimate
		if len(e.Forms) != len(on.StreamForms) {
			t.Errorf("%d forms, want %v", len(e.Forms), on.StreamForms)
		}
		bytes := int64(2 * inner * outer)
		if !constant {
			bytes = 0
		}
		if e.DenseBytes < bytes || e.DenseBytes > bytes+bytes/50 {
			t.Errorf("%s, constant %t: %d bytes of dense weights, want %d and at most 2 %% more", on.Name, constant,
				e.DenseBytes, bytes)
		}
		for _, f := range e.Forms {
			left := map[string]int64{"palette4": 4, "palette8": 8, "int8": 8, "sparse": 9}[f.Form]
			s := cost.Stream{Bytes: e.DenseBytes * left / 16, Expanded: e.DenseBytes / 2}
			if f.Form == "sparse" {
				s.Values = s.Expanded / 2
			}
			want := cost.Coefficients(cost.Stream{Bytes: e.DenseBytes}, on) - cost.Coefficients(s, on)
			if d := f.Saves - want; left == 0 || max(d, -d) > cost.Microsecond {
				t.Errorf("%s, constant %t: %s saves %s us, want %s", on.Name, constant, f.Form, f.Saves, want)
			}
		}
	}
}

// TestOutputsInPartsAreWeighed checks that a product with more outputs than a tensor of the engine has is on the engine
// in parts where that takes less time, joined by the CPU, and otherwise one operation of the CPU as before.
func TestOutputsInPartsAreWeighed(t *testing.T) {
	for _, c := range []struct {
		rows, inputs int64
		want         string
	}{{1, 4, "linear cpu"}, {16, 512, "linear engine, linear engine, concat cpu"}} {
		g := irbuild.New(1)
		x := g.Input(c.rows, c.inputs)
		g.Output(g.Op("linear", "x", x, "weight", g.Weights(20000, c.inputs)))
		r, err := All(t.Context(), g.Program(), Options{Target: target.H13, Place: passes.PlaceAuto})
		if err != nil {
			t.Fatal(err)
		}
		var ops []string
		for _, o := range r.Report.Ops {
			ops = append(ops, o.Op+" "+o.Unit)
		}
		if got := strings.Join(ops, ", "); got != c.want {
			t.Errorf("%d rows of %d inputs: %s, want %s", c.rows, c.inputs, got, c.want)
		}
	}
}
